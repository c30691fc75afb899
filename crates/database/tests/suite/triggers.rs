//! Triggers: what survives a restart, what cannot be dropped, on every engine what they do.

use hotrow::{Config, Database};

use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use crate::views::{refusal, rows};

const SCHEMA: &str = "
    CREATE TABLE account (id integer PRIMARY KEY, cents bigint NOT NULL, changes integer DEFAULT 0);
    CREATE TABLE entry (id serial PRIMARY KEY, account integer NOT NULL, by bigint NOT NULL);
    CREATE FUNCTION count_change() RETURNS trigger AS $$
    BEGIN NEW.changes := OLD.changes + 1; RETURN NEW; END $$ LANGUAGE plpgsql;
    CREATE FUNCTION enter() RETURNS trigger AS $$
    BEGIN
        INSERT INTO entry (account, by) VALUES (NEW.id, NEW.cents - OLD.cents);
        RETURN NULL;
    END $$ LANGUAGE plpgsql;
    CREATE TRIGGER counts BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION count_change();
    CREATE TRIGGER enters AFTER UPDATE OF cents ON account FOR EACH ROW
        WHEN (OLD.cents <> NEW.cents) EXECUTE FUNCTION enter();
    CREATE FUNCTION pay(a integer, b integer, n bigint) RETURNS void AS $$
    BEGIN
        UPDATE account SET cents = cents - n WHERE id = a;
        UPDATE account SET cents = cents + n WHERE id = b;
    END $$ LANGUAGE plpgsql;
    INSERT INTO account VALUES (1, 100), (2, 100);";

#[test]
fn calls_and_statements_fire_them() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute("SELECT pay(1, 2, 30)")?;
        session.execute("UPDATE account SET cents = cents + 1")?;
        session.execute("UPDATE account SET cents = cents")?;
        let accounts = rows(&session, "SELECT id, cents, changes FROM account ORDER BY id");
        assert_eq!(accounts, ["1|71|3", "2|131|3"]);
        let entered = "SELECT account, count(*), sum(by) FROM entry GROUP BY account ORDER BY 1";
        assert_eq!(rows(&session, entered), ["1|2|-29", "2|2|31"]);
        Ok(())
    });
}

#[test]
fn they_survive_a_restart_and_go_with_their_table() {
    let directory = Directory::new("triggers");
    let reopen = || Database::open(&directory.0, Config::default().threads(1)).expect("it opens");
    {
        let db = reopen();
        db.session().execute(SCHEMA).unwrap();
        db.session().execute("SELECT pay(1, 2, 30)").unwrap();
        db.shutdown();
    }
    let db = reopen();
    let session = db.session();
    session.execute("SELECT pay(1, 2, 5)").unwrap();
    let accounts = "SELECT cents, changes FROM account ORDER BY id";
    assert_eq!(rows(&session, accounts), ["65|2", "135|2"]);
    assert_eq!(rows(&session, "SELECT count(*) FROM entry"), ["4"]);
    assert_eq!(refusal(&session, "DROP FUNCTION enter")[..5], *"2BP01");
    session.execute("DROP FUNCTION pay; DROP TABLE account; DROP FUNCTION enter").unwrap();
}
