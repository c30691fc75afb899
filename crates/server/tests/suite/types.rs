//! Types as a typed driver looks them up: by their numbers, and in binary.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use hotrow_server::ServerOptions;
use postgres::Client;
use postgres::error::SqlState;
use postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::running::Running;

const SCHEMA: &str = "
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE person (id bigint PRIMARY KEY, m mood NOT NULL);
INSERT INTO person VALUES (1, 'sad'), (2, 'ok');
CREATE FUNCTION cheer(who bigint, up mood) RETURNS mood LANGUAGE plpgsql AS $$
BEGIN
    UPDATE person SET m = up WHERE id = who;
    RETURN up;
END $$;
";

/// A label of what the driver has found out to be an enum.
#[derive(Debug, PartialEq)]
struct Label(String);

impl ToSql for Label {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        matches!(of.kind(), Kind::Enum(_))
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Label {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(std::str::from_utf8(bytes)?.to_owned()))
    }

    fn accepts(of: &Type) -> bool {
        matches!(of.kind(), Kind::Enum(_))
    }
}

fn with_schema() -> (Running, Client) {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client.batch_execute(SCHEMA).expect("it is made");
    (server, client)
}

#[test]
fn a_driver_finds_out_what_an_enum_is() {
    let (_server, mut client) = with_schema();
    let cheer = client.prepare("SELECT cheer($1, $2)").expect("it is prepared");
    let labels = ["sad", "ok", "happy"].map(str::to_owned).to_vec();
    let mood = &cheer.params()[1];
    assert_eq!((mood.name(), mood.schema(), mood.kind()), ("mood", "public", &Kind::Enum(labels)));
    assert_eq!(cheer.columns()[0].type_(), mood);
    let happy = Label("happy".to_owned());
    let row = client.query_one(&cheer, &[&1_i64, &happy]).expect("it is called");
    assert_eq!(row.get::<_, Label>(0), happy);
    let moods = "SELECT array_agg(m ORDER BY id) FROM person WHERE m >= $1";
    let row = client.query_one(moods, &[&Label("ok".to_owned())]).expect("it is read");
    let expected = ["happy", "ok"].map(|label| Label(label.to_owned()));
    assert_eq!(row.get::<_, Vec<Label>>(0), expected);
}

#[test]
fn numbers_of_the_catalog_are_oids_in_binary() {
    let (_server, mut client) = with_schema();
    let number = "SELECT 'person'::regclass::oid";
    let person: u32 = client.query_one(number, &[]).expect("it is there").get(0);
    let class = "SELECT oid, relname, relkind, relam > 0 FROM pg_class WHERE oid = $1";
    let class = client.prepare(class).expect("it is prepared");
    assert_eq!(class.params(), [Type::OID]);
    let types: Vec<_> = class.columns().iter().map(|column| column.type_().clone()).collect();
    assert_eq!(types, [Type::OID, Type::NAME, Type::CHAR, Type::BOOL]);
    let row = client.query_one(&class, &[&person]).expect("it is there");
    assert_eq!(row.get::<_, u32>(0), person);
    assert_eq!(row.get::<_, &str>(1), "person");
    assert_eq!(row.get::<_, i8>(2), b'r' as i8);
    // Whatever a client holds a number in.
    let by_bigint = "SELECT relname FROM pg_class WHERE oid = $1::bigint";
    let row = client.query_one(by_bigint, &[&i64::from(person)]).expect("it is there");
    assert_eq!(row.get::<_, &str>(0), "person");
    let name = client.query_one("SELECT $1::oid::regclass::text", &[&person]).expect("it is there");
    assert_eq!(name.get::<_, &str>(0), "person");

    let columns = "SELECT array_agg(atttypid ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = ANY($1::oid[]) AND attnum < 2";
    let row = client.query_one(columns, &[&vec![person]]).expect("it is there");
    assert_eq!(row.get::<_, Vec<u32>>(0), [20]);
    let error = client.query_one("SELECT $1::bigint::oid", &[&-1_i64]).expect_err("it is none");
    assert_eq!(error.code(), Some(&SqlState::NUMERIC_VALUE_OUT_OF_RANGE), "{error}");
}
