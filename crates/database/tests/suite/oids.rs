//! Type oid: of the system catalog's numbers, and of columns, parameters and variables.

use crate::every_engine::{every_engine, open};
use crate::views::{refusal, rows};
use hotrow::{DataType, SqlType};

const SCHEMA: &str = "
    CREATE TABLE noted (o oid PRIMARY KEY, next oid DEFAULT 5, n integer);
    INSERT INTO noted VALUES (1, 2::bigint, 3), (11, 2, 11), (4294967295, 1, NULL), ('17', '7', -1);
    CREATE TABLE wide (id bigint PRIMARY KEY, i integer, s smallint);
    INSERT INTO wide VALUES (11, 11, 11), (5000000000, 2147483647, 1), (-1, -1, -1);
    CREATE TABLE refers (id bigint PRIMARY KEY REFERENCES noted (o));
    CREATE FUNCTION next_of(a oid, others oid[]) RETURNS oid LANGUAGE plpgsql AS $$
    DECLARE v oid;
    BEGIN
        SELECT next INTO v FROM noted WHERE o = a;
        IF v = others[1] THEN v := 11; END IF;
        RETURN v;
    END $$;";

#[test]
fn oids_are_numbers_on_every_engine() {
    every_engine(|config| {
        let db = open(config);
        let session = db.session();
        session.execute(SCHEMA)?;
        let gives = |query: &str, expected: &[&str]| assert_eq!(rows(&session, query), expected);
        gives("SELECT n FROM noted WHERE o = 11", &["11"]);
        gives(
            "SELECT o FROM noted WHERE o > 100 OR o IN (1, 17) ORDER BY o DESC",
            &["4294967295", "17", "1"],
        );
        gives("SELECT o FROM noted WHERE o BETWEEN 2 AND 12", &["11"]);
        gives("SELECT o FROM noted WHERE o = ANY('{1,11}'::oid[]) ORDER BY o", &["1", "11"]);
        gives(
            "SELECT min(o), max(o), count(o), array_agg(o ORDER BY o) FROM noted",
            &["1|4294967295|4|{1,11,17,4294967295}"],
        );
        // Beside other integers, whatever their widths and signs.
        for column in ["id", "i", "s"] {
            let join = format!("SELECT o FROM noted JOIN wide ON o = {column} WHERE o > 1");
            gives(&join, &["11"]);
            let within = format!("SELECT o FROM noted WHERE o IN (SELECT {column} FROM wide)");
            gives(&format!("{within} AND o > 1"), &["11"]);
            let around =
                format!("SELECT {column} FROM wide WHERE {column} IN (SELECT o FROM noted)");
            gives(&format!("{around} AND {column} > 1"), &["11"]);
        }
        gives("SELECT o FROM noted WHERE o = -1 OR o = 5000000000", &[]);
        gives("SELECT next_of(1, '{1,2}'), next_of('4294967295', '{2}')", &["2|1"]);
        gives("SELECT next_of(1, ARRAY[2])", &["11"]);
        gives("SELECT o + 1, -o, o - 12 FROM noted WHERE o = 11", &["12|-11|-1"]);
        gives("SELECT o::text, o::integer, o::bigint FROM noted WHERE o = 11", &["11|11|11"]);
        session.execute("UPDATE noted SET n = next, next = n WHERE o = 1")?;
        gives("SELECT * FROM noted WHERE o = 1", &["1|3|2"]);
        session.execute("INSERT INTO refers VALUES (11)")?;
        assert!(refusal(&session, "INSERT INTO refers VALUES (12)").starts_with("23503"));
        Ok(())
    });
}

#[test]
fn what_is_no_oid_is_refused() {
    let db = open(hotrow::Config::default().threads(1));
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    for (statement, expected) in [
        ("INSERT INTO noted VALUES (5000000000)", "22003 OID out of range"),
        (
            "INSERT INTO noted VALUES ('4294967296')",
            "22003 value \"4294967296\" is out of range for type oid",
        ),
        ("UPDATE noted SET o = n WHERE o = 17", "22003 OID out of range"),
        ("SELECT id::oid FROM wide WHERE id < 0", "22003 OID out of range"),
        ("SELECT o::integer FROM noted WHERE o > 100", "22003 integer out of range"),
        ("SELECT o::smallint FROM noted", "42846 cannot cast type oid to smallint"),
        ("SELECT o::double precision FROM noted", "42846 cannot cast type oid to double precision"),
        ("SELECT 1.5::double precision::oid", "42846 cannot cast type double precision to oid"),
        ("SELECT true::oid", "42846 cannot cast type boolean to oid"),
        ("SELECT '5'::jsonb::oid", "42846 cannot cast type jsonb to oid"),
        (
            "CREATE TABLE t (id oid GENERATED ALWAYS AS IDENTITY)",
            "22023 identity column type must be smallint, integer, or bigint",
        ),
    ] {
        assert_eq!(refusal(&session, statement), expected, "{statement}");
    }
    assert!(refusal(&session, "SELECT sum(o) FROM noted").starts_with("42883"));
}

#[test]
fn the_catalog_tells_oids_and_is_asked_for_them() {
    let db = open(hotrow::Config::default().threads(1));
    let session = db.session();
    session.execute(SCHEMA).unwrap();
    let gives = |query: &str, expected: &str| assert_eq!(rows(&session, query), [expected]);
    let oid = SqlType::Scalar(DataType::Oid);
    let class = "SELECT oid, relname FROM pg_class WHERE oid = $1 AND relnamespace = ANY($2)";
    let class = session.prepare(class, &[]).unwrap();
    assert_eq!(class.parameters(), [oid, SqlType::Array(DataType::Oid)]);
    assert_eq!(class.columns().next().map(|(_, of)| of), Some(oid));
    gives("SELECT relname FROM pg_class WHERE oid = 'noted'::regclass::oid", "noted");
    gives("SELECT relname FROM pg_class WHERE oid::regclass::text = 'noted'", "noted");
    gives("SELECT format_type(26, NULL), 26::oid::regtype, to_regtype('oid')", "oid|oid|26");
    let columns = "SELECT string_agg(format_type(atttypid, atttypmod), ',' ORDER BY attnum)
        FROM pg_attribute WHERE attrelid = 'noted'::regclass";
    gives(columns, "oid,oid,integer");
    gives(
        "SELECT COALESCE(relkind, 'view') || relkind FROM pg_class WHERE relname = 'noted'",
        "rr",
    );
    let types = "SELECT pg_typeof(oid), pg_typeof('{1}'::oid[]), pg_typeof(1), pg_typeof('1')
        FROM pg_class WHERE relname = 'noted'";
    gives(types, "oid|oid[]|integer|unknown");
    let other = "SELECT CASE WHEN relkind = 'r' THEN oid ELSE 0 END FROM pg_class";
    let other = session.prepare(other, &[]).unwrap();
    assert_eq!(other.columns().next().map(|(_, of)| of), Some(oid));
}
