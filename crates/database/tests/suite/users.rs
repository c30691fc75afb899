//! Users and their passwords: what is kept, what survives, and what is nowhere to be found.

use std::path::Path;

use crate::asking::code;
use crate::scratch::Directory;
use hotrow::{Config, Database, Error, NamedBy};

const PASSWORD: &str = "tr0ub4dor-and-3";

fn config() -> Config {
    Config::default().threads(1).memory_bytes(64 << 20)
}

/// Whether any file below a directory holds these bytes.
fn holds(directory: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).expect("it is there").any(|entry| {
        let path = entry.expect("it is there").path();
        match path.is_dir() {
            true => holds(&path, bytes),
            false => {
                let held = std::fs::read(&path).expect("it is there");
                held.windows(bytes.len()).any(|window| window == bytes)
            }
        }
    })
}

#[test]
fn users_survive_by_log_and_by_checkpoint_and_no_file_has_a_password() -> Result<(), Error> {
    let directory = Directory::new("users");
    let verifier = {
        let db = Database::open(&directory.0, config())?;
        assert!(!db.has_passwords());
        let session = db.session();
        session.execute(&format!(
            "CREATE TABLE t (id int PRIMARY KEY);
             CREATE USER ann WITH LOGIN PASSWORD '{PASSWORD}';
             CREATE USER bob; CREATE USER carl PASSWORD 'another-{PASSWORD}'; DROP USER carl",
        ))?;
        assert!(db.has_passwords());
        db.verifier_of("ann").expect("she has a password")
    };
    assert!(verifier.is_of(PASSWORD) && !verifier.is_of("another"));
    assert!(holds(&directory.0, b"SCRAM-SHA-256$4096:"), "the log has what is kept");
    assert!(!holds(&directory.0, PASSWORD.as_bytes()));
    {
        let db = Database::open(&directory.0, config())?;
        assert_eq!(db.verifier_of("ann"), Some(verifier.clone()), "by the log");
        db.session().execute(&format!("ALTER USER bob PASSWORD '{PASSWORD}'; CHECKPOINT"))?;
    }
    assert!(!holds(&directory.0, PASSWORD.as_bytes()));
    let db = Database::open(&directory.0, config())?;
    assert_eq!(db.verifier_of("ann"), Some(verifier), "by the checkpoint");
    assert!(db.verifier_of("bob").expect("he has one").is_of(PASSWORD));
    assert_eq!(db.verifier_of("carl"), None);
    let session = db.session();
    let names = session
        .execute("SELECT rolname, rolpassword FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1")?;
    let names = names[0].rows.clone().all::<(String, String)>()?;
    let names: Vec<_> = names.iter().map(|(name, hidden)| (&**name, &**hidden)).collect();
    let hidden = "********";
    assert_eq!(names, [("ann", hidden), ("bob", hidden), ("hotrow", hidden)]);
    session.execute("ALTER USER ann PASSWORD NULL")?;
    for last in ["DROP USER bob", "ALTER USER bob PASSWORD NULL", "DROP USER ann, bob"] {
        let error = session.execute(last).expect_err("nobody could log in");
        assert_eq!(error.sqlstate(), Some("55000"), "{error}");
    }
    assert!(db.has_passwords() && db.asks_for_passwords());
    Ok(())
}

#[test]
fn no_error_and_no_value_shows_a_password() -> Result<(), Error> {
    let db = Database::open_in_memory(config())?;
    let session = db.session();
    session.execute("CREATE USER ann")?;
    let texts = [
        format!("CREATE USER ann PASSWORD '{PASSWORD}'"),
        format!("CREATE USER bob PASSWORD '{PASSWORD}' NOLOGIN LOGIN"),
        format!("CREATE USER bob PASSWORD '{PASSWORD}' nonsense"),
        format!("CREATE USER bob PASSWORD {PASSWORD}"),
        format!("CREATE USER bob PASSWORD 'SCRAM-SHA-256${PASSWORD}'"),
        format!("ALTER USER nobody PASSWORD '{PASSWORD}'"),
        format!("BEGIN READ ONLY; ALTER USER ann PASSWORD '{PASSWORD}'"),
    ];
    for text in &texts {
        let error = session.execute(text).expect_err("it is wrong");
        assert!(!format!("{error} {error:?}").contains(PASSWORD), "{error:?}");
        let _ = session.execute("ROLLBACK");
    }
    let prepared = session.prepare(&format!("ALTER USER ann PASSWORD '{PASSWORD}'"), &[])?;
    assert!(!format!("{prepared:?}").contains(PASSWORD), "{prepared:?}");
    assert!(!format!("{prepared:?}").contains("SCRAM"), "{prepared:?}");
    let done = session.execute_prepared(&prepared, &[])?;
    assert_eq!(done.tag, "ALTER ROLE");
    session.note_name("p", &format!("ALTER USER ann PASSWORD '{PASSWORD}'"), &[], NamedBy::Sql);
    let listed = session.execute("SELECT statement FROM pg_prepared_statements")?;
    let listed = listed[0].rows.clone().one::<String>()?;
    assert_eq!(listed, "ALTER ROLE \"ann\" PASSWORD '********'");
    assert!(db.verifier_of("ann").expect("she has one").is_of(PASSWORD));
    Ok(())
}

#[test]
fn what_has_gone_wrong_is_told() -> Result<(), Error> {
    let db = Database::open_in_memory(config())?;
    let session = db.session();
    assert_eq!(session.execute("CREATE USER ann PASSWORD 'a'")?[0].tag, "CREATE ROLE");
    assert_eq!(code(session.execute("CREATE ROLE ann")), "42710");
    assert_eq!(code(session.execute("ALTER ROLE bob PASSWORD 'b'")), "42704");
    assert_eq!(code(session.execute("DROP USER bob")), "42704");
    let dropped = session.execute("DROP USER IF EXISTS bob")?;
    assert_eq!(dropped[0].notices[0].said.message, "role \"bob\" does not exist, skipping");
    session.identify("ann", "app", 1);
    assert_eq!(code(session.execute("DROP USER ann")), "55006");
    session.identify("other", "app", 1);
    assert_eq!(code(session.execute("DROP USER ann")), "55000", "nobody else has a password");
    session.execute("CREATE USER zoe PASSWORD 'z'")?;
    assert_eq!(session.execute("DROP USER ann")?[0].tag, "DROP ROLE");
    assert_eq!(
        session.execute("SHOW password_encryption")?[0].rows.clone().one::<String>()?,
        "scram-sha-256"
    );
    // A procedure compiled before is good afterwards.
    session.execute(
        "CREATE FUNCTION one() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
         CREATE USER ann",
    )?;
    assert_eq!(session.call("one", ())?.one::<i32>()?, 1);
    Ok(())
}
