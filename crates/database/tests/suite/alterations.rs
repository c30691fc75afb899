//! ALTER TABLE and TRUNCATE: what they do, what they refuse, and that a restart finds it again.

use crate::scratch::Directory;
use hotrow::{Config, Database, Error, LogEntries, Session};

pub(crate) fn texts(session: &Session, query: &str) -> Vec<String> {
    let results = session.execute(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let rows = &results.last().expect("a result").rows;
    let row = |row: &[hotrow::Value]| {
        let show = |value: &hotrow::Value| match value.is_null() {
            true => "NULL".to_owned(),
            false => value.to_string(),
        };
        row.iter().map(show).collect::<Vec<_>>().join(",")
    };
    rows.iter().map(row).collect()
}

pub(crate) fn refusal(session: &Session, script: &str) -> (String, String, String) {
    match session.execute(script) {
        Err(Error::Sql(error)) => {
            let detail = error.detail.clone().unwrap_or_default();
            (error.code().to_owned(), error.message.clone(), detail)
        }
        other => panic!("{script}: {other:?}"),
    }
}

fn in_memory() -> Session {
    Database::open_in_memory(Config::default().threads(1)).expect("it opens").session()
}

const HISTORY: &[&str] = &[
    "CREATE TABLE branch (bid int NOT NULL, balance int, filler char(8)) WITH (fillfactor=100)",
    "CREATE UNLOGGED TABLE teller (tid int, bid int, name text)",
    "INSERT INTO branch VALUES (1, 0, 'a'), (2, 5, 'b')",
    "INSERT INTO teller VALUES (10, 1, 'Ann'), (11, 2, 'Bob'), (12, NULL, NULL)",
    "ALTER TABLE branch ADD PRIMARY KEY (bid)",
    "ALTER TABLE teller ADD CONSTRAINT teller_key PRIMARY KEY (tid)",
    "ALTER TABLE teller ADD FOREIGN KEY (bid) REFERENCES branch",
    "ALTER TABLE teller ADD UNIQUE (name)",
    "ALTER TABLE branch ADD CHECK (balance >= 0), ALTER COLUMN balance SET DEFAULT 7",
    "ALTER TABLE teller ADD COLUMN pay bigint NOT NULL DEFAULT 3, ADD COLUMN note text",
    "ALTER TABLE branch DROP COLUMN filler",
    "ALTER TABLE branch RENAME COLUMN balance TO cents",
    "ALTER TABLE teller RENAME TO clerk",
    "INSERT INTO branch (bid) VALUES (3)",
    "CREATE TABLE log (n int)",
    "INSERT INTO log VALUES (1), (2)",
    "TRUNCATE log",
    "INSERT INTO log VALUES (3)",
];

fn check(session: &Session) {
    assert_eq!(texts(session, "SELECT * FROM branch ORDER BY bid"), ["1,0", "2,5", "3,7"]);
    assert_eq!(
        texts(session, "SELECT * FROM clerk ORDER BY tid"),
        ["10,1,Ann,3,NULL", "11,2,Bob,3,NULL", "12,NULL,NULL,3,NULL"]
    );
    assert_eq!(texts(session, "SELECT * FROM log"), ["3"]);
    assert_eq!(texts(session, "SELECT tid FROM clerk WHERE name = 'Bob'"), ["11"]);
    for (script, code) in [
        ("INSERT INTO branch VALUES (1, 1)", "23505"),
        ("INSERT INTO branch VALUES (9, -1)", "23514"),
        ("INSERT INTO clerk VALUES (20, 77, 'Eve', 0, NULL)", "23503"),
        ("INSERT INTO clerk VALUES (20, 1, 'Bob', 0, NULL)", "23505"),
        ("INSERT INTO clerk VALUES (20, 1, 'Eve', NULL, NULL)", "23502"),
        ("DELETE FROM branch WHERE bid = 1", "23503"),
        ("TRUNCATE branch", "0A000"),
    ] {
        assert_eq!(refusal(session, script).0, code, "{script}");
    }
}

/// Executes a history in a directory of its own, with a checkpoint behind one of its statements,
/// and checks what is there: at once, and after each of two restarts.
pub fn survives_restarts(
    (name, config): (&str, &Config),
    history: &[&str],
    checkpoint_behind: Option<usize>,
    check: impl Fn(&Session),
) {
    let directory = Directory::new(name);
    let open = || Database::open(&directory.0, config.clone()).expect("open");
    let db = open();
    for (at, statement) in history.iter().enumerate() {
        let done = db.session().execute(statement);
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
        if checkpoint_behind == Some(at) {
            db.session().execute("CHECKPOINT").expect("a checkpoint");
        }
    }
    check(&db.session());
    for _ in 0..2 {
        db.shutdown();
        let db = open();
        check(&db.session());
        db.shutdown();
    }
}

#[test]
fn altered_tables_survive_restarts_with_and_without_a_checkpoint() {
    for checkpoint_behind in [None, Some(0), Some(6), Some(11), Some(HISTORY.len() - 1)] {
        let config = Config::default().threads(1);
        survives_restarts(("alterations", &config), HISTORY, checkpoint_behind, check);
    }
}

/// Equal rows, changes before and behind, and a primary key in place of the table's own.
const INDEXED: &[&str] = &[
    "CREATE TABLE event (at int, what text)",
    "INSERT INTO event VALUES (1, 'A'), (1, 'A'), (2, 'B'), (3, 'C')",
    "CREATE INDEX by_what ON event (lower(what), at)",
    "INSERT INTO event VALUES (1, 'A'), (4, 'D')",
    "UPDATE event SET at = at + 10 WHERE lower(what) = 'a'",
    "DELETE FROM event WHERE lower(what) = 'c'",
    "CREATE TABLE seat (no int UNIQUE, held text)",
    "INSERT INTO seat VALUES (1, 'x'), (2, 'y'), (NULL, 'z'), (NULL, 'z')",
    "CREATE UNIQUE INDEX one ON seat (held) WHERE no > 0",
    "UPDATE seat SET held = 'w' WHERE no = 2",
    "DELETE FROM seat WHERE no IS NULL",
    "ALTER TABLE seat ADD COLUMN more int DEFAULT 5",
    "ALTER TABLE seat ADD PRIMARY KEY (no)",
    "ALTER TABLE event DROP COLUMN what",
    "UPDATE event SET at = 0 WHERE at = 2",
];

fn check_indexed(session: &Session) {
    let events = ["0", "4", "11", "11", "11"];
    assert_eq!(texts(session, "SELECT * FROM event ORDER BY at"), events);
    assert_eq!(texts(session, "SELECT * FROM seat ORDER BY no"), ["1,x,5", "2,w,5"]);
    assert_eq!(texts(session, "SELECT no FROM seat WHERE held = 'w' AND no > 0"), ["2"]);
    for (script, code) in [
        ("INSERT INTO seat VALUES (1, 'q')", "23505"),
        ("INSERT INTO seat VALUES (3, 'w')", "23505"),
        ("INSERT INTO seat VALUES (NULL, 'w')", "23502"),
    ] {
        assert_eq!(refusal(session, script).0, code, "{script}");
    }
    let indexes =
        "SELECT indexname FROM pg_indexes WHERE tablename IN ('event', 'seat') ORDER BY 1";
    assert_eq!(texts(session, indexes), ["one", "seat_no_key", "seat_pkey"]);
}

#[test]
fn columns_that_nobody_sees_survive_restarts_with_and_without_a_checkpoint() {
    let logs = [LogEntries::Commands, LogEntries::Values];
    let checkpoints = (0..INDEXED.len()).map(Some).chain([None]);
    for (checkpoint_behind, entries) in checkpoints.zip(logs.into_iter().cycle()) {
        let config = Config::default().threads(1).log_entries(entries);
        survives_restarts(("indexed", &config), INDEXED, checkpoint_behind, check_indexed);
    }
}

#[test]
fn constraints_are_only_added_where_the_rows_obey_them() {
    let session = in_memory();
    session
        .execute(
            "CREATE TABLE a (x int, y int);
             INSERT INTO a VALUES (1, 1), (1, 2), (NULL, 3);
             CREATE TABLE p (id int PRIMARY KEY, z int);
             INSERT INTO p VALUES (5, 1), (6, 1)",
        )
        .expect("tables");
    let (code, message, detail) = refusal(&session, "ALTER TABLE a ADD PRIMARY KEY (x)");
    assert_eq!(code, "23502");
    assert_eq!(message, "column \"x\" of relation \"a\" contains null values");
    assert_eq!(detail, "Failing row contains (null, 3).");
    session.execute("DELETE FROM a WHERE x IS NULL").expect("deleted");
    let (code, message, detail) = refusal(&session, "ALTER TABLE a ADD PRIMARY KEY (x)");
    assert_eq!((code.as_str(), detail.as_str()), ("23505", "Key (x)=(1) is duplicated."));
    assert_eq!(message, "could not create unique index \"a_pkey\"");
    session.execute("ALTER TABLE a ADD PRIMARY KEY (y)").expect("a key");
    let (code, _, detail) = refusal(&session, "ALTER TABLE a ADD FOREIGN KEY (x) REFERENCES p");
    assert_eq!(
        (code.as_str(), detail.as_str()),
        ("23503", "Key (x)=(1) is not present in table \"p\".")
    );
    let (code, _, detail) = refusal(&session, "ALTER TABLE a ADD CHECK (y < 2)");
    assert_eq!((code.as_str(), detail.as_str()), ("23514", ""));
    let (code, _, detail) = refusal(&session, "ALTER TABLE p ADD CONSTRAINT u UNIQUE (z)");
    assert_eq!((code.as_str(), detail.as_str()), ("23505", "Key (z)=(1) is duplicated."));
    assert_eq!(refusal(&session, "ALTER TABLE p ADD PRIMARY KEY (z)").0, "42P16");
    assert_eq!(refusal(&session, "ALTER TABLE p ADD COLUMN w int NOT NULL").0, "23502");
    assert_eq!(refusal(&session, "ALTER TABLE nothing ADD COLUMN w int").0, "42P01");
    assert_eq!(refusal(&session, "ALTER TABLE p ALTER COLUMN z TYPE date").0, "42804");
    assert_eq!(refusal(&session, "CREATE TABLE w (x int) WITH (fillfactor=1)").0, "22023");
    // Nothing of it was done.
    assert_eq!(texts(&session, "SELECT * FROM p ORDER BY id"), ["5,1", "6,1"]);
    assert_eq!(texts(&session, "SELECT * FROM a ORDER BY y"), ["1,1", "1,2"]);
    session
        .execute("UPDATE a SET x = 5; ALTER TABLE a ADD FOREIGN KEY (x) REFERENCES p")
        .expect("5");
    session.execute("ALTER TABLE a DROP CONSTRAINT a_x_fkey; DELETE FROM p").expect("dropped");
}

/// What migrations and dumps say, with rows changed in between.
const MIGRATED: &[&str] = &[
    "CREATE TABLE t (id bigint PRIMARY KEY, a int)",
    "INSERT INTO t VALUES (30, 1), (10, 2), (20, 3)",
    "ALTER TABLE t ADD COLUMN s serial, ADD COLUMN q int DEFAULT 4 NOT NULL CHECK (q > 0)",
    "INSERT INTO t (id, a) VALUES (5, 9)",
    "ALTER TABLE t DROP COLUMN a, ADD COLUMN a text DEFAULT 'x', ADD UNIQUE (s, a)",
    "ALTER TABLE t DROP CONSTRAINT t_pkey",
    "INSERT INTO t (id) VALUES (5)",
    "ALTER TABLE t RENAME CONSTRAINT t_q_check TO positive",
    "ALTER SEQUENCE t_s_seq RENAME TO numbers",
    "CREATE TABLE u (LIKE t INCLUDING ALL)",
    "CREATE SEQUENCE own",
    "ALTER SEQUENCE own OWNED BY u.id",
    "ALTER TABLE u ALTER id SET DEFAULT nextval('own')",
    "INSERT INTO u (s) VALUES (1), (2)",
    "CREATE MATERIALIZED VIEW mv AS SELECT id, count(*) AS n FROM t GROUP BY id",
    "CREATE UNIQUE INDEX mv_id ON mv (id)",
    "INSERT INTO t (id) VALUES (40)",
    "CREATE MATERIALIZED VIEW late AS SELECT id FROM t WITH NO DATA",
    "REFRESH MATERIALIZED VIEW late",
    "INSERT INTO t (id) VALUES (50)",
    "REFRESH MATERIALIZED VIEW late",
    "CREATE FUNCTION many(VARIADIC x int[]) RETURNS int LANGUAGE plpgsql AS
     $$ BEGIN RETURN array_length(x, 1); END $$",
];

fn check_migrated(session: &Session) {
    let rows = ["5,4,4,x", "5,5,4,x", "10,1,4,x", "20,2,4,x", "30,3,4,x", "40,6,4,x", "50,7,4,x"];
    assert_eq!(texts(session, "SELECT * FROM t ORDER BY id, s"), rows);
    assert_eq!(texts(session, "SELECT id, s, q, a FROM u ORDER BY id"), ["1,1,4,x", "2,2,4,x"]);
    assert_eq!(texts(session, "SELECT * FROM mv ORDER BY id"), ["5,2", "10,1", "20,1", "30,1"]);
    assert_eq!(texts(session, "SELECT n FROM mv WHERE id = 5"), ["2"]);
    assert_eq!(texts(session, "SELECT count(*) FROM late"), ["7"]);
    assert_eq!(texts(session, "SELECT many(1, 2, 3)"), ["3"]);
    assert_eq!(texts(session, "SELECT pg_get_serial_sequence('u', 'id')"), ["public.own"]);
    for (script, code) in [
        ("INSERT INTO t (id, q) VALUES (1, 0)", "23514"),
        ("INSERT INTO t (id, s) VALUES (1, 1)", "23505"),
        ("INSERT INTO u (id, q) VALUES (1, 0)", "23514"),
        ("INSERT INTO mv VALUES (1, 1)", "42809"),
    ] {
        assert_eq!(refusal(session, script).0, code, "{script}");
    }
}

#[test]
fn what_migrations_write_survives_restarts_with_and_without_a_checkpoint() {
    let logs = [LogEntries::Commands, LogEntries::Values];
    let checkpoints = (0..MIGRATED.len()).map(Some).chain([None]);
    for (checkpoint_behind, entries) in checkpoints.zip(logs.into_iter().cycle()) {
        let config = Config::default().threads(1).log_entries(entries);
        survives_restarts(("migrated", &config), MIGRATED, checkpoint_behind, check_migrated);
    }
}

#[test]
fn truncate_cascades_and_can_be_taken_back_in_a_transaction() {
    let session = in_memory();
    session
        .execute(
            "CREATE TABLE p (id int PRIMARY KEY);
             CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p);
             CREATE INDEX ON c (p);
             INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1, 1), (2, 2)",
        )
        .expect("tables");
    assert_eq!(refusal(&session, "TRUNCATE p").0, "0A000");
    session.execute("BEGIN; TRUNCATE p, c; INSERT INTO p VALUES (9)").expect("truncated");
    assert_eq!(texts(&session, "SELECT id FROM p"), ["9"]);
    session.execute("ROLLBACK").expect("rolled back");
    assert_eq!(texts(&session, "SELECT count(*) FROM c"), ["2"]);
    let done = session.execute("TRUNCATE TABLE p RESTART IDENTITY CASCADE").expect("truncated");
    assert_eq!(done[0].tag, "TRUNCATE TABLE");
    assert_eq!(done[0].notices[0].said.message, "truncate cascades to table \"c\"");
    assert_eq!(texts(&session, "SELECT count(*) FROM p"), ["0"]);
    session.execute("INSERT INTO p VALUES (1); INSERT INTO c VALUES (1, 1)").expect("as new");
    let done = session.execute("DROP TABLE IF EXISTS p, c, gone").expect("dropped");
    assert_eq!(done[0].notices[0].said.message, "table \"gone\" does not exist, skipping");
    for (statement, tag) in
        [("VACUUM (ANALYZE) ", "VACUUM"), ("ANALYZE", "ANALYZE"), ("CHECKPOINT", "CHECKPOINT")]
    {
        assert_eq!(session.execute(statement).expect("done")[0].tag, tag);
    }
    assert_eq!(refusal(&session, "VACUUM gone").0, "42P01");
}
