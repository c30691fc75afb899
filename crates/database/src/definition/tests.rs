use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_transaction::compiled::CompiledProcedure;

use crate::{Config, Database};

fn open() -> Database {
    Database::open_in_memory(Config::default()).expect("the default configuration opens")
}

fn execute(db: &Database, script: &str) {
    db.session().execute(script).unwrap_or_else(|error| panic!("{script}: {error}"));
}

fn refusal(db: &Database, script: &str) -> String {
    let refused = db.session().execute(script).expect_err(script);
    refused.sqlstate().expect("a statement is refused").to_owned()
}

type Compiled = BTreeMap<String, Arc<CompiledProcedure>>;

/// All procedures by name.
fn compiled(db: &Database) -> Compiled {
    let schema = db.core().schema.current();
    let named =
        |compiled: &Arc<CompiledProcedure>| (compiled.procedure.name.clone(), Arc::clone(compiled));
    schema.procedures.iter().flatten().map(named).collect()
}

/// The names of procedures that are not the same as before.
fn compiled_again(before: &Compiled, now: &Compiled) -> Vec<String> {
    let is_other = |(name, compiled): &(&String, &Arc<CompiledProcedure>)| {
        before.get(*name).is_none_or(|before| !Arc::ptr_eq(before, compiled))
    };
    now.iter().filter(is_other).map(|(name, _)| name.clone()).collect()
}

const TABLES: &str = "
    CREATE TABLE a (id bigint PRIMARY KEY, n bigint);
    CREATE TABLE b (id bigint PRIMARY KEY, n bigint, t text);
    CREATE FUNCTION read_a(k bigint) RETURNS bigint AS $$
    DECLARE found bigint; BEGIN SELECT n INTO found FROM a WHERE id = k; RETURN found; END
    $$ LANGUAGE plpgsql;
    CREATE PROCEDURE drop_a(k bigint) AS $$ BEGIN DELETE FROM a WHERE id = k; END
    $$ LANGUAGE plpgsql;
    CREATE PROCEDURE write_b(k bigint) AS $$ BEGIN INSERT INTO b VALUES (k, k, 'x'); END
    $$ LANGUAGE plpgsql;
    CREATE FUNCTION alone(k bigint) RETURNS bigint AS $$ BEGIN RETURN k + 1; END
    $$ LANGUAGE plpgsql;";

/// What each definition compiles again: what it may concern, and nothing else, so that its costs do
/// not grow with what there is beside it.
#[test]
fn a_definition_compiles_what_it_concerns() {
    let db = open();
    execute(&db, TABLES);
    for (definition, expected) in [
        ("CREATE TABLE c (id bigint PRIMARY KEY)", &[][..]),
        ("CREATE INDEX c_id ON c (id)", &[]),
        ("CREATE INDEX b_n ON b (n)", &["write_b"]),
        ("DROP INDEX b_n", &["write_b"]),
        ("ALTER TABLE b ALTER COLUMN t SET DEFAULT 'y'", &["write_b"]),
        ("TRUNCATE b", &[]),
        // Whoever deletes from its parent looks for its rows.
        ("CREATE TABLE d (id bigint PRIMARY KEY REFERENCES a)", &["drop_a", "read_a"]),
        ("ALTER TABLE d ADD COLUMN more text", &["drop_a", "read_a"]),
        ("DROP TABLE d", &["drop_a", "read_a"]),
        // A word of the text, though it is a column there.
        ("CREATE TABLE n (id bigint PRIMARY KEY)", &["read_a"]),
        ("CREATE VIEW v AS SELECT * FROM a", &[]),
        ("CREATE USER somebody", &[]),
        ("CREATE SEQUENCE s", &[]),
        (
            "CREATE FUNCTION other(k bigint) RETURNS bigint AS $$ BEGIN RETURN k; END
             $$ LANGUAGE plpgsql",
            &["other"],
        ),
        ("DROP FUNCTION other", &[]),
        // Another way to use the table: with it its locks are others, for everybody.
        (
            "CREATE FUNCTION all_b() RETURNS bigint AS $$
             DECLARE found bigint; BEGIN SELECT count(*) INTO found FROM b; RETURN found; END
             $$ LANGUAGE plpgsql",
            &["all_b", "write_b"],
        ),
        ("DROP FUNCTION all_b", &["write_b"]),
    ] {
        let before = compiled(&db);
        execute(&db, definition);
        assert_eq!(compiled_again(&before, &compiled(&db)), expected, "{definition}");
    }
}

#[test]
fn locks_are_what_the_procedures_that_there_are_need() {
    let db = open();
    execute(&db, TABLES);
    let explained = || db.explain_procedure("write_b").expect("it is there");
    let before = explained();
    execute(
        &db,
        "CREATE FUNCTION all_b() RETURNS bigint AS $$
         DECLARE found bigint; BEGIN SELECT count(*) INTO found FROM b; RETURN found; END
         $$ LANGUAGE plpgsql",
    );
    let beside = explained();
    assert_ne!(before, beside, "its calls announce themselves");
    execute(
        &db,
        "CREATE OR REPLACE FUNCTION all_b() RETURNS bigint AS $$ BEGIN RETURN 1; END
         $$ LANGUAGE plpgsql",
    );
    assert_eq!(explained(), before, "nobody reads the whole table any more");
}

#[test]
fn what_is_concerned_without_being_named_is_right_afterwards() {
    let db = open();
    execute(&db, TABLES);
    execute(&db, "INSERT INTO a VALUES (1, 1), (2, 2)");
    let session = db.session();
    let code = |call: Result<crate::Rows, crate::Error>| {
        call.map(drop).map_err(|error| error.sqlstate().unwrap_or_default().to_owned())
    };
    let drop_a = |k: i64| code(session.call("drop_a", (k,)));
    let write_b = |k: i64| code(session.call("write_b", (k,)));
    let failed = |code: &str| Err(code.to_owned());
    execute(&db, "CREATE TABLE child (a bigint PRIMARY KEY REFERENCES a)");
    execute(&db, "INSERT INTO child VALUES (1)");
    assert_eq!(drop_a(1), failed("23503"));
    assert_eq!(drop_a(2), Ok(()));
    execute(&db, "DROP TABLE child");
    assert_eq!(drop_a(1), Ok(()));
    assert_eq!(write_b(1), Ok(()));
    execute(&db, "ALTER TABLE b ADD CHECK (n < 5)");
    assert_eq!(write_b(7), failed("23514"));
    execute(&db, "CREATE UNIQUE INDEX b_t ON b (t)");
    assert_eq!(write_b(2), failed("23505"));
    execute(&db, "DROP INDEX b_t");
    assert_eq!(write_b(2), Ok(()));
    // A table of the same name is another one.
    execute(&db, "DROP PROCEDURE write_b; DROP TABLE b; CREATE TABLE b (id bigint PRIMARY KEY)");
    execute(
        &db,
        "CREATE PROCEDURE write_b(k bigint) AS $$ BEGIN INSERT INTO b VALUES (k); END
         $$ LANGUAGE plpgsql",
    );
    assert_eq!(write_b(9), Ok(()));
    assert_eq!(write_b(9), failed("23505"));
}

#[test]
fn what_would_not_survive_refuses_and_all_is_as_before() {
    let db = open();
    execute(&db, TABLES);
    execute(
        &db,
        "CREATE FUNCTION one(k bigint) RETURNS bigint AS $$ BEGIN RETURN k; END
         $$ LANGUAGE plpgsql;
         CREATE VIEW v AS SELECT id, n FROM a;
         CREATE VIEW w AS SELECT n FROM v;
         CREATE VIEW calls AS SELECT one(id) AS o FROM b;",
    );
    let before = compiled(&db);
    for (definition, code) in [
        ("DROP TABLE a", "2BP01"),
        ("ALTER TABLE a DROP COLUMN n", "2BP01"),
        ("ALTER TABLE a RENAME COLUMN n TO m", "2BP01"),
        ("ALTER TABLE a RENAME TO aa", "2BP01"),
        ("DROP VIEW v", "2BP01"),
        ("DROP FUNCTION one", "2BP01"),
        ("ALTER TABLE b RENAME TO bb", "2BP01"),
    ] {
        assert_eq!(refusal(&db, definition), code, "{definition}");
        assert_eq!(compiled_again(&before, &compiled(&db)), [""; 0], "{definition}");
    }
    execute(&db, "SELECT * FROM w; SELECT * FROM calls");
    execute(&db, "DROP VIEW calls; DROP FUNCTION one; DROP FUNCTION read_a");
    execute(&db, "DROP PROCEDURE drop_a; DROP TABLE a CASCADE");
    assert_eq!(refusal(&db, "SELECT * FROM w"), "42P01");
}
