//! Roles and rights: who may do what, that no cache lets anybody pass, and that all of it is there
//! again after a restart.

use hotrow::{Config, Database, Error, Session, Value};

use crate::asking::code;
use crate::scratch::Directory;

fn config() -> Config {
    Config::default().threads(1).memory_bytes(64 << 20)
}

/// Runs a script behind the schema, and looks at what it has made: at once, and as the log and then
/// a checkpoint bring it again.
fn survives(
    directory: &Directory,
    script: &str,
    look: impl Fn(&Database, &str),
) -> Result<(), Error> {
    {
        let db = Database::open(&directory.0, config())?;
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute(script)?;
        look(&db, "as it was made");
    }
    {
        let db = Database::open(&directory.0, config())?;
        look(&db, "by the log");
        db.session().execute("CHECKPOINT")?;
    }
    let db = Database::open(&directory.0, config())?;
    look(&db, "by the checkpoint");
    Ok(())
}

fn told(result: Result<impl Sized, Error>) -> String {
    result.err().map_or_else(
        || "done".to_owned(),
        |error| match error {
            Error::Sql(error) => error.message,
            other => other.to_string(),
        },
    )
}

fn one(session: &Session, query: &str) -> String {
    let results = session.execute(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    results[0].rows.clone().one::<String>().unwrap_or_else(|error| panic!("{query}: {error}"))
}

const SCHEMA: &str = "
    CREATE USER ann; CREATE USER bob; CREATE ROLE team;
    CREATE TABLE t (id bigint PRIMARY KEY, n bigint);
    INSERT INTO t VALUES (1, 10), (2, 20);
    CREATE FUNCTION count_t() RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE c bigint; BEGIN SELECT count(*) INTO c FROM t; RETURN c; END $$;
    CREATE PROCEDURE bump(i bigint) LANGUAGE plpgsql AS $$
    BEGIN UPDATE t SET n = n + 1 WHERE id = i; END $$;
    CREATE PROCEDURE bump_all() LANGUAGE plpgsql AS $$ BEGIN CALL bump(1); CALL bump(2); END $$";

#[test]
fn rights_survive_by_log_and_by_checkpoint() -> Result<(), Error> {
    let directory = Directory::new("rights");
    let look = |db: &Database, by: &str| {
        let session = db.session();
        session.identify("ann", "app", 7);
        assert_eq!(code(session.execute("SELECT n FROM t")), "done", "{by}");
        assert_eq!(code(session.execute("INSERT INTO t VALUES (9, 9)")), "42501", "{by}");
        assert_eq!(code(session.execute("INSERT INTO s.own VALUES (1)")), "done", "{by}");
        assert_eq!(
            one(&session, "SELECT tableowner FROM pg_tables WHERE tablename = 'own'"),
            "ann"
        );
        let acl = "SELECT relacl::text FROM pg_class WHERE relname = 't'";
        assert_eq!(one(&session, acl), "{hotrow=arwdDxt/hotrow,team=r/hotrow}", "{by}");
        session.execute("DELETE FROM s.own").expect("it is hers");
        session.identify("bob", "app", 8);
        assert_eq!(code(session.execute("SELECT n FROM t")), "42501", "{by}");
        assert_eq!(code(session.execute("DROP TABLE s.own")), "42501", "{by}");
        assert_eq!(code(session.execute("SELECT made()")), "done", "{by}");
    };
    survives(
        &directory,
        "GRANT SELECT ON t TO team; GRANT team TO ann; CREATE SCHEMA s AUTHORIZATION ann;
         GRANT CREATE ON SCHEMA public TO ann; SET ROLE ann;
         CREATE TABLE s.own (id bigint PRIMARY KEY);
         CREATE FUNCTION made() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
         DECLARE c bigint; BEGIN SELECT count(*) INTO c FROM s.own; RETURN c; END $$",
        look,
    )
}

#[test]
fn rights_of_functions_of_one_name_and_of_changed_views_survive() -> Result<(), Error> {
    let directory = Directory::new("rights_of_overloads");
    let look = |db: &Database, by: &str| {
        let session = db.session();
        session.identify("ann", "app", 7);
        assert_eq!(code(session.execute("SELECT f('x'::text)")), "done", "{by}");
        assert_eq!(code(session.execute("SELECT f(true)")), "42501", "{by}");
        assert_eq!(code(session.execute("UPDATE v SET n = n + 1 WHERE id = 1")), "done", "{by}");
        assert_eq!(code(session.execute("DELETE FROM v WHERE id = 9")), "42501", "{by}");
        let owners = "SELECT string_agg(pg_get_userbyid(proowner), ',' ORDER BY oid) FROM pg_proc
                      WHERE proname = 'f'";
        assert_eq!(one(&session, owners), "team,hotrow", "{by}");
        session.identify("bob", "app", 8);
        assert_eq!(code(session.execute("SELECT f('x'::text)")), "42501", "{by}");
        assert_eq!(code(session.execute("SELECT f(true)")), "done", "{by}");
        assert_eq!(code(session.execute("UPDATE v SET n = 1 WHERE id = 1")), "42501", "{by}");
    };
    survives(
        &directory,
        "CREATE FUNCTION f(i bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
         CREATE FUNCTION f(i text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN UPDATE t SET n = n + 1 WHERE id = 1; RETURN 2; END $$;
         REVOKE EXECUTE ON FUNCTION f(text) FROM PUBLIC;
         GRANT EXECUTE ON FUNCTION f(text) TO ann;
         ALTER FUNCTION f(text) OWNER TO team;
         GRANT SELECT, UPDATE ON t TO team;
         CREATE VIEW v AS SELECT id, n FROM t WHERE n > 0; ALTER VIEW v OWNER TO team;
         GRANT SELECT, UPDATE (n) ON v TO ann;
         -- What is compiled again keeps its key, and so its rights.
         DROP FUNCTION f(bigint); ALTER TABLE t ADD COLUMN m bigint;
         CREATE FUNCTION f(i boolean) RETURNS bigint LANGUAGE sql AS 'SELECT 3::bigint';
         REVOKE EXECUTE ON FUNCTION f(boolean) FROM PUBLIC;
         GRANT EXECUTE ON FUNCTION f(boolean) TO bob",
        look,
    )
}

#[test]
fn what_was_compiled_for_one_role_is_not_run_for_another() -> Result<(), Error> {
    // Statements lock as they go, are kept as procedures, or run alone.
    for (engine, threads) in [("two_phase_locking", 2), ("orthrus", 2), ("serial", 1)] {
        let db = Database::open_in_memory(config().engine(engine).threads(threads))?;
        let session = db.session();
        session.execute(SCHEMA)?;
        session.execute("GRANT SELECT, UPDATE ON t TO ann")?;
        let read = session.prepare("SELECT n FROM t WHERE id = $1", &[])?;
        let joined = session.prepare("SELECT t.n FROM t JOIN t AS u ON u.id = t.n", &[])?;
        // Often enough that it is kept as a procedure where statements are.
        let run = |session: &Session| {
            for _ in 0..4 {
                session.execute_prepared(&read, &[Value::BigInt(1)])?;
                session.execute("SELECT n FROM t WHERE id = 2")?;
                session.execute_prepared(&joined, &[])?;
            }
            session.call("bump", (1_i64,))?;
            session.execute("CALL bump_all()").map(drop)
        };
        for (role, expected) in
            [("ann", "done"), ("bob", "42501"), ("none", "done"), ("bob", "42501")]
        {
            session.execute(&format!("SET ROLE {role}"))?;
            assert_eq!(code(run(&session)), expected, "{role}");
            assert_eq!(
                code(session.execute_prepared(&read, &[Value::BigInt(1)])),
                expected,
                "{role}"
            );
            assert_eq!(code(session.execute("SELECT n FROM t WHERE id = 2")), expected, "{role}");
            assert_eq!(code(session.execute_prepared(&joined, &[])), expected, "{role}");
            assert_eq!(code(session.call("bump", (1_i64,))), expected, "{role}");
            assert_eq!(code(session.procedure("bump")), expected, "{role}");
            assert_eq!(code(session.execute("CALL bump_all()")), expected, "{role}");
            assert_eq!(code(session.execute("SELECT count_t()")), expected, "{role}");
            assert_eq!(code(session.execute("EXPLAIN SELECT n FROM t")), expected, "{role}");
            assert_eq!(code(session.execute("EXPLAIN PROCEDURE bump(1)")), expected, "{role}");
            assert_eq!(code(session.execute("DO $$ BEGIN CALL bump(1); END $$")), expected);
        }
        session.execute("RESET ROLE; REVOKE UPDATE ON t FROM ann; SET ROLE ann")?;
        assert_eq!(code(session.call("bump", (1_i64,))), "42501", "it was taken away");
        assert_eq!(code(session.execute_prepared(&read, &[Value::BigInt(1)])), "done");
    }
    Ok(())
}

#[test]
fn a_view_reads_with_its_owner_s_rights_and_what_it_calls_with_its_reader_s() -> Result<(), Error> {
    let db = Database::open_in_memory(config())?;
    let session = db.session();
    session.execute(SCHEMA)?;
    session.execute(
        "GRANT CREATE ON SCHEMA public TO ann; GRANT SELECT ON t TO ann;
         CREATE VIEW counted AS SELECT count_t() AS c; GRANT SELECT ON counted TO bob;
         SET ROLE ann; CREATE VIEW v AS SELECT id FROM t; GRANT SELECT ON v TO bob; SET ROLE bob",
    )?;
    assert_eq!(code(session.execute("SELECT count(*) FROM v")), "done");
    assert_eq!(told(session.execute("SELECT c FROM counted")), "permission denied for table t");
    session.execute("RESET ROLE; REVOKE SELECT ON t FROM ann; SET ROLE bob")?;
    assert_eq!(told(session.execute("SELECT count(*) FROM v")), "permission denied for table t");
    session.execute("RESET ROLE; ALTER VIEW v OWNER TO hotrow; SET ROLE bob")?;
    assert_eq!(code(session.execute("SELECT count(*) FROM v")), "done", "it is another one's");
    Ok(())
}

#[test]
fn a_role_is_taken_back_with_its_transaction_and_stays_what_it_was_when_it_is_dropped()
-> Result<(), Error> {
    let db = Database::open_in_memory(config())?;
    let session = db.session();
    session.execute(SCHEMA)?;
    let user = |session: &Session| one(session, "SELECT current_user");
    session.execute("BEGIN; SET ROLE ann; SAVEPOINT a; SET ROLE bob; ROLLBACK TO a")?;
    assert_eq!(user(&session), "ann");
    session.execute("ROLLBACK")?;
    assert_eq!(user(&session), "hotrow");
    session.execute("BEGIN; SET LOCAL ROLE ann")?;
    assert_eq!(user(&session), "ann");
    session.execute("COMMIT")?;
    assert_eq!(user(&session), "hotrow");
    session.identify("ann", "app", 3);
    assert_eq!(told(session.execute("SET ROLE bob")), "permission denied to set role \"bob\"");
    assert_eq!(code(session.execute("SELECT set_config('role', 'bob', false)")), "42501");
    let refused = session.execute("SET SESSION AUTHORIZATION bob");
    assert_eq!(told(refused), "permission denied to set session authorization");
    // Whoever had a role is nobody when it goes, and not the database's maker.
    db.session().execute("DROP ROLE ann")?;
    assert_eq!(code(session.execute("SELECT n FROM t")), "42501");
    assert_eq!(code(session.execute("CREATE ROLE ann SUPERUSER")), "42501");
    Ok(())
}

#[test]
fn whom_somebody_may_interrupt() -> Result<(), Error> {
    let db = Database::open_in_memory(config())?;
    let [session, other] = [db.session(), db.session()];
    session.execute(SCHEMA)?;
    other.identify("nobody in particular", "app", 11);
    session.identify("ann", "app", 12);
    assert_eq!(code(session.execute("SELECT pg_cancel_backend(11)")), "42501");
    other.identify("bob", "app", 11);
    assert_eq!(code(session.execute("SELECT pg_terminate_backend(11)")), "42501");
    db.session().execute("GRANT bob TO ann")?;
    assert_eq!(code(session.execute("SELECT pg_cancel_backend(11)")), "done");
    assert_eq!(code(session.execute("SELECT rolname FROM pg_authid")), "42501");
    assert_eq!(code(session.execute("SELECT rolname FROM pg_roles")), "done");
    Ok(())
}
