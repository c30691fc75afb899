//! What sessions begin with: settings that ALTER ROLE and ALTER DATABASE have kept.

use hotrow::{Config, Database, Error, Session};

use crate::scratch::Directory;

fn shown(session: &Session, setting: &str) -> String {
    let shown = session.execute(&format!("SHOW {setting}")).expect("it is a setting");
    shown[0].rows.clone().one::<String>().expect("a text")
}

fn begun(db: &Database, user: &str, asked: &[(&str, &str)]) -> Session {
    let session = db.session();
    session.identify(user, "app", 7);
    session.start_settings(user, asked.iter().copied()).expect("a session begins");
    session
}

const SETTINGS: &str = "CREATE ROLE ann LOGIN;
    CREATE ROLE bob LOGIN;
    CREATE ROLE staff;
    GRANT staff TO ann;
    CREATE SCHEMA shop;
    CREATE TABLE shop.item (id integer PRIMARY KEY);
    ALTER ROLE ALL SET lock_timeout = '1s';
    ALTER ROLE ALL SET statement_timeout = '1s';
    ALTER DATABASE app SET statement_timeout = '2s';
    ALTER DATABASE app SET idle_session_timeout = '2s';
    ALTER ROLE ann SET idle_session_timeout = '3s';
    ALTER ROLE ann SET extra_float_digits = 0;
    ALTER ROLE ann SET search_path TO shop, public;
    ALTER ROLE ann SET role TO staff;
    ALTER ROLE ann IN DATABASE app SET extra_float_digits = -1;
    ALTER ROLE bob SET my.own = 'here'";

fn check(db: &Database) {
    let ann = begun(db, "ann", &[]);
    let all = ["lock_timeout", "statement_timeout", "idle_session_timeout", "extra_float_digits"];
    let told: Vec<_> = all.iter().map(|name| shown(&ann, name)).collect();
    assert_eq!(told, ["1s", "2s", "3s", "-1"]);
    assert_eq!(shown(&ann, "search_path"), "shop, public");
    assert_eq!(shown(&ann, "role"), "staff");
    // What a client asks for wins, and RESET goes back to what a session began with.
    let ann = begun(db, "ann", &[("idle_session_timeout", "9s")]);
    assert_eq!(shown(&ann, "idle_session_timeout"), "9s");
    ann.execute("SET statement_timeout = 0; RESET statement_timeout").expect("they are settings");
    assert_eq!(shown(&ann, "statement_timeout"), "2s");
    let bob = begun(db, "bob", &[]);
    assert_eq!(
        (shown(&bob, "my.own"), shown(&bob, "extra_float_digits")),
        ("here".into(), "1".into())
    );
    assert_eq!(shown(&begun(db, "zoe", &[]), "statement_timeout"), "2s");
}

#[test]
fn sessions_begin_with_what_was_kept_for_them() -> Result<(), Error> {
    let db = Database::open_in_memory(Config::default().threads(1))?;
    db.session().execute(SETTINGS)?;
    check(&db);
    db.session().execute("DROP ROLE bob; ALTER ROLE ann RESET ALL; ALTER ROLE ALL RESET ALL")?;
    let ann = begun(&db, "ann", &[]);
    assert_eq!(
        (shown(&ann, "lock_timeout"), shown(&ann, "extra_float_digits")),
        ("0".into(), "-1".into())
    );
    let told = db.session().execute("ALTER ROLE ann SET enable_seqscan = off")?;
    assert_eq!(
        told[0].notices[0].said.message,
        "setting \"enable_seqscan\" is PostgreSQL's: it has no effect here"
    );
    Ok(())
}

#[test]
fn what_was_kept_survives() -> Result<(), Error> {
    let directory = Directory::new("session-begins");
    let db = Database::open(&directory.0, Config::default().threads(1))?;
    db.session().execute(SETTINGS)?;
    drop(db);
    let db = Database::open(&directory.0, Config::default().threads(1))?;
    check(&db);
    db.session().execute("CHECKPOINT")?;
    drop(db);
    check(&Database::open(&directory.0, Config::default().threads(1))?);
    Ok(())
}
