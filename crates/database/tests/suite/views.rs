//! Views: what they give, what they refuse, what survives.

use crate::scratch::Directory;
use hotrow::{Config, Database, Error, Session, Value};

const SCHEMA: &str = "
    CREATE TABLE item (id integer PRIMARY KEY, name text NOT NULL, price numeric(8, 2) NOT NULL);
    CREATE TABLE sale (id bigint PRIMARY KEY, item integer NOT NULL REFERENCES item, n integer);
    CREATE INDEX ON sale (item);
    INSERT INTO item VALUES (1, 'cup', 2.50), (2, 'pot', 10), (3, 'jar', 4);
    INSERT INTO sale VALUES (1, 1, 3), (2, 1, 1), (3, 2, 5), (4, 2, NULL);
    CREATE VIEW sold (item, pieces, money) AS
        SELECT i.name, sum(s.n), sum(s.n * i.price) FROM item i JOIN sale s ON s.item = i.id
        GROUP BY i.name;
    CREATE VIEW dear AS SELECT * FROM item WHERE price > 3;";

fn open() -> Database {
    let db = Database::open_in_memory(Config::default().threads(1)).unwrap();
    db.session().execute(SCHEMA).unwrap();
    db
}

/// What a query gives, a text for each row; NULL is `-`.
pub fn rows(session: &Session, query: &str) -> Vec<String> {
    let results = session.execute(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let rows = results.last().expect("a result").rows.iter();
    rows.map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect()
}

/// Code and message of the error that a statement has.
pub fn refusal(session: &Session, statement: &str) -> String {
    match session.execute(statement) {
        Err(Error::Sql(error)) => format!("{} {}", error.code(), error.message),
        other => panic!("{statement}: {other:?}"),
    }
}

#[test]
fn a_view_is_read_as_its_query_would_be() {
    let db = open();
    let session = db.session();
    let all = "SELECT * FROM sold ORDER BY item";
    assert_eq!(rows(&session, all), ["cup|4|10.00", "pot|5|50.00"]);
    let named = "SELECT s.a, s.money FROM public.sold AS s (a) WHERE s.pieces > 4";
    assert_eq!(rows(&session, named), ["pot|50.00"]);
    let joined = "SELECT d.name, s.pieces FROM dear d LEFT JOIN sold s ON s.item = d.name \
                  ORDER BY d.id";
    assert_eq!(rows(&session, joined), ["pot|5", "jar|-"]);
    assert_eq!(
        rows(&session, "SELECT (SELECT count(*) FROM dear), 1 IN (SELECT id FROM dear)"),
        ["2|f"]
    );
    // What a transaction has changed, its views see.
    session.execute("BEGIN; UPDATE item SET price = 100 WHERE id = 1").unwrap();
    assert_eq!(rows(&session, "SELECT name FROM dear ORDER BY name"), ["cup", "jar", "pot"]);
    session.execute("ROLLBACK").unwrap();
    session.execute("CREATE TABLE kept (name text PRIMARY KEY, n bigint)").unwrap();
    session.execute("INSERT INTO kept SELECT item, pieces FROM sold").unwrap();
    assert_eq!(rows(&session, "SELECT * FROM kept ORDER BY name"), ["cup|4", "pot|5"]);
    // With names that WITH, and the query around it, have for something else.
    let hidden = "WITH item AS (SELECT 1 AS id) SELECT d.id FROM item, dear d WHERE d.id = 3";
    assert_eq!(rows(&session, hidden), ["3"]);
    let prepared = session.prepare("SELECT money FROM sold WHERE item = $1", &[]).unwrap();
    let found = session.execute_prepared(&prepared, &[Value::Text("pot".to_owned())]).unwrap();
    assert_eq!(found.rows.len(), 1);
    session
        .execute(
            "CREATE OR REPLACE VIEW sold AS SELECT name AS item, 0 AS pieces, \
                     sum(price) AS money FROM item GROUP BY name",
        )
        .map(drop)
        .unwrap_err();
    session
        .execute("DROP VIEW sold; CREATE VIEW sold AS SELECT 'pot' AS item, 7 AS money")
        .unwrap();
    let found = session.execute_prepared(&prepared, &[Value::Text("pot".to_owned())]).unwrap_err();
    assert_eq!(found.sqlstate(), Some("0A000"), "its result has another type now: {found}");
}

#[test]
fn views_stand_on_views_and_go_with_what_they_stand_on() {
    let db = open();
    let session = db.session();
    session.execute("CREATE VIEW dearest AS SELECT name FROM dear WHERE price > 5").unwrap();
    assert_eq!(rows(&session, "SELECT * FROM dearest"), ["pot"]);
    assert_eq!(
        refusal(&session, "DROP VIEW dear"),
        "2BP01 view \"dearest\" would no longer be what it is"
    );
    for statement in [
        "DROP TABLE sale",
        "ALTER TABLE sale RENAME TO sales",
        "ALTER TABLE item DROP COLUMN price",
        "ALTER TABLE item RENAME COLUMN name TO title",
    ] {
        assert!(refusal(&session, statement).starts_with("2BP01 "), "{statement}");
    }
    assert_eq!(rows(&session, "SELECT item FROM sold ORDER BY item"), ["cup", "pot"]);
    // It goes on with the columns that there were.
    session.execute("ALTER TABLE item ADD COLUMN note text").unwrap();
    assert_eq!(rows(&session, "SELECT * FROM dear WHERE id = 3").len(), 1);
    session.execute("ALTER TABLE sale ADD COLUMN note text").unwrap();
    assert_eq!(rows(&session, "SELECT item FROM sold ORDER BY item"), ["cup", "pot"]);
    session.execute("DROP TABLE sale CASCADE").unwrap();
    assert!(refusal(&session, "SELECT * FROM sold").starts_with("42P01 "));
    session.execute("DROP VIEW dear, dearest").unwrap();
    assert!(refusal(&session, "DROP VIEW dear").starts_with("42P01 "));
    session.execute("DROP VIEW IF EXISTS dear").unwrap();
    session
        .execute(
            "CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql AS \
                     $$ BEGIN RETURN n * 2; END $$",
        )
        .unwrap();
    session.execute("CREATE VIEW doubled AS SELECT id, twice(id) AS two FROM item").unwrap();
    assert_eq!(rows(&session, "SELECT two FROM doubled ORDER BY id"), ["2", "4", "6"]);
    assert!(refusal(&session, "DROP FUNCTION twice").starts_with("2BP01 "));
}

#[test]
fn what_cannot_be_is_told() {
    let db = open();
    let session = db.session();
    for (statement, code) in [
        ("CREATE VIEW item AS SELECT 1 AS n", "42P07"),
        ("CREATE VIEW sold AS SELECT 1 AS n", "42P07"),
        ("CREATE TABLE sold (id integer PRIMARY KEY)", "42P07"),
        ("CREATE INDEX dear ON item (name)", "42P07"),
        ("ALTER TABLE sale RENAME TO dear", "42P07"),
        ("CREATE VIEW v AS SELECT id, id FROM item", "42701"),
        ("CREATE VIEW v (a, b) AS SELECT id FROM item", "42601"),
        ("CREATE VIEW v AS SELECT nothing FROM item", "42703"),
        ("CREATE VIEW v AS SELECT * FROM v", "42P01"),
        ("CREATE OR REPLACE VIEW dear AS SELECT id FROM item", "42P16"),
        ("CREATE OR REPLACE VIEW dear AS SELECT * FROM dear", "54001"),
        ("INSERT INTO sold VALUES ('pan', 9, 9)", "55000"),
        ("UPDATE sold SET pieces = 1", "55000"),
        ("DELETE FROM sold", "55000"),
        ("DROP VIEW item", "42809"),
        ("DROP TABLE dear", "42809"),
        ("TRUNCATE dear", "0A000"),
    ] {
        let told = refusal(&session, statement);
        assert_eq!(&told[..5], code, "{statement}: {told}");
    }
    assert!(session.prepare("CREATE VIEW v AS SELECT $1::integer AS n", &[]).is_err());
    // As deep as subqueries may be, and no deeper.
    let mut below = "dear".to_owned();
    let mut refused = None;
    for depth in 0..100 {
        let name = format!("v{depth}");
        if let Err(error) = session.execute(&format!("CREATE VIEW {name} AS SELECT * FROM {below}"))
        {
            refused = error.sqlstate().map(str::to_owned);
            break;
        }
        below = name;
    }
    assert_eq!(refused.as_deref(), Some("54001"));
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM {below}")), ["2"]);
}

#[test]
fn catalogs_tell_of_views() {
    let db = open();
    let session = db.session();
    let kinds = "SELECT relname, relkind, relnatts FROM pg_class WHERE relnamespace = 2200 AND \
                 relkind = 'v' ORDER BY relname";
    assert_eq!(rows(&session, kinds), ["dear|v|3", "sold|v|3"]);
    let columns = "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a \
                   WHERE a.attrelid = 'sold'::regclass ORDER BY a.attnum";
    assert_eq!(rows(&session, columns), ["item|text", "pieces|bigint", "money|numeric(38,2)"]);
    let named = "SELECT c.oid::regclass FROM pg_class c WHERE c.relname = 'dear'";
    assert_eq!(rows(&session, named), ["dear"]);
    let text = "SELECT pg_get_viewdef('dear'::regclass, true) = definition, definition \
                FROM pg_views WHERE viewname = 'dear'";
    assert_eq!(
        rows(&session, text),
        ["t| SELECT item.id, item.name, item.price FROM item WHERE price > 3;"]
    );
    let standard = "SELECT table_name, table_type FROM information_schema.tables \
                    WHERE table_schema = 'public' ORDER BY table_name";
    assert_eq!(
        rows(&session, standard),
        ["dear|VIEW", "item|BASE TABLE", "sale|BASE TABLE", "sold|VIEW"]
    );
    let counted = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'sold'";
    assert_eq!(rows(&session, counted), ["3"]);
    let views = "SELECT count(*) FROM information_schema.views";
    assert_eq!(rows(&session, views), ["2"]);
}

#[test]
fn views_outlive_the_process_and_checkpoints() {
    let directory = Directory::new("views");
    let config = || Config::default().threads(1);
    {
        let db = Database::open(&directory.0, config()).unwrap();
        let session = db.session();
        session.execute(SCHEMA).unwrap();
        session
            .execute("CREATE OR REPLACE VIEW dear AS SELECT * FROM item WHERE price > 5")
            .unwrap();
        db.checkpoint().unwrap();
        session.execute("CREATE VIEW later AS SELECT name FROM dear; DROP VIEW sold").unwrap();
    }
    let db = Database::open(&directory.0, config()).unwrap();
    let session = db.session();
    assert_eq!(rows(&session, "SELECT * FROM later"), ["pot"]);
    assert!(refusal(&session, "SELECT * FROM sold").starts_with("42P01 "));
}
