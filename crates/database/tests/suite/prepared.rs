//! Prepared statements: on every engine, in and outside of transactions, over definitions that
//! change, and out of the log.

use crate::asking::number;
use crate::every_engine::{every_engine, open};
use crate::scratch::Directory;
use hotrow::{
    Config, DataType, Database, Error, Prepared, Session, SqlType, TransactionState, Value,
};

const TABLES: &str = "
CREATE TABLE account (id bigint PRIMARY KEY, owner varchar(20), balance numeric(12, 2) NOT NULL);
CREATE FUNCTION pay(payer bigint, amount numeric(12, 2)) RETURNS numeric(12, 2)
LANGUAGE plpgsql AS $$
DECLARE rest numeric(12, 2);
BEGIN
    UPDATE account SET balance = balance - amount WHERE id = payer RETURNING balance INTO rest;
    RETURN rest;
END $$;
CREATE FUNCTION sum_of(ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE one bigint; total bigint := 0;
BEGIN FOREACH one IN ARRAY ids LOOP total := total + one; END LOOP; RETURN total; END $$;
";

fn with_tables(config: Config) -> (Database, Session) {
    let db = open(config);
    let session = db.session();
    session.execute(TABLES).expect("the tables are made");
    (db, session)
}

fn big(value: i64) -> Value {
    Value::BigInt(value)
}

fn code(error: &Error) -> &str {
    error.sqlstate().unwrap_or("no SQL error")
}

/// The balances, in order of ids.
fn balances(session: &Session) -> String {
    let mut results =
        session.execute("SELECT balance FROM account ORDER BY id").expect("the query is right");
    let rows = results.pop().expect("one statement").rows;
    rows.iter().map(|row| row[0].to_string()).collect::<Vec<_>>().join(" ")
}

/// Changes, calls and queries with values; what is left has been changed by literals and by values.
fn bank(session: &Session) -> Result<(), Error> {
    let insert = session.prepare("INSERT INTO account VALUES ($1, $2, $3)", &[])?;
    assert_eq!(insert.parameters().len(), 3);
    assert!(!insert.returns_rows());
    for (id, owner) in [(1, "O'Neill"), (2, "$1 ::text"), (3, "back\\slash")] {
        let values = [big(id), Value::from(owner), Value::from("100.005")];
        assert_eq!(session.execute_prepared(&insert, &values)?.tag, "INSERT 0 1");
    }
    let again = session.execute_prepared(&insert, &[big(1), Value::Null, Value::from("1")]);
    assert_eq!(code(&again.expect_err("there is an account 1")), "23505");

    let find = session.prepare("SELECT id, balance FROM account WHERE owner = $1", &[])?;
    let columns: Vec<_> = find.columns().collect();
    let numeric = DataType::Numeric { precision: 12, scale: 2 };
    assert_eq!(
        columns,
        [("id", SqlType::Scalar(DataType::BigInt)), ("balance", SqlType::Scalar(numeric))]
    );
    for (id, owner) in [(1, "O'Neill"), (2, "$1 ::text"), (3, "back\\slash")] {
        let found = session.execute_prepared(&find, &[Value::from(owner)])?;
        let row = found.rows.iter().next().expect("there is one");
        assert_eq!((&row[0], row[1].to_string().as_str()), (&big(id), "100.01"));
        assert_eq!(found.tag, "SELECT 1");
    }
    assert_eq!(session.execute_prepared(&find, &[Value::Null])?.rows.len(), 0);

    let change = session.prepare("UPDATE account SET balance = balance + $1 WHERE id = $2", &[])?;
    let values = [Value::from("0.99"), big(2)];
    assert_eq!(session.execute_prepared(&change, &values)?.tag, "UPDATE 1");
    let pay = session.prepare("CALL pay($1, $2)", &[])?;
    assert_eq!(pay.parameters(), [SqlType::Scalar(DataType::BigInt), SqlType::Scalar(numeric)]);
    let rest = session.execute_prepared(&pay, &[Value::Int(2), Value::from("1")])?;
    assert_eq!(rest.rows.iter().next().map(|row| row[0].to_string()).as_deref(), Some("100.00"));
    let pay = session.prepare("SELECT pay(amount => $1, payer => 3)", &[])?;
    session.execute_prepared(&pay, &[Value::from("0.01")])?;
    let sum = session.prepare("SELECT sum_of($1)", &[])?;
    let ids = Value::Array(vec![big(4), big(5)]);
    assert_eq!(session.execute_prepared(&sum, &[ids])?.rows.one::<i64>()?, 9);
    assert_eq!(balances(session), "100.01 100.00 100.00");
    Ok(())
}

#[test]
fn statements_are_executed_with_values_on_every_engine() {
    every_engine(|config| {
        let (_db, session) = with_tables(config);
        bank(&session)
    });
}

#[test]
fn wrong_values_and_texts_are_refused() -> Result<(), Error> {
    let (_db, session) = with_tables(Config::default().threads(1));
    let find = session.prepare("SELECT owner FROM account WHERE id = $1", &[])?;
    for (values, expected) in [
        (vec![], "08P01"),
        (vec![big(1), big(2)], "08P01"),
        (vec![Value::from("one")], "22P02"),
        (vec![Value::Array(vec![])], "42804"),
        (vec![Value::from("99999999999999999999")], "22003"),
    ] {
        let error = session.execute_prepared(&find, &values).expect_err(expected);
        assert_eq!(code(&error), expected, "{values:?}: {error}");
    }
    for (text, expected) in [
        ("", "42601"),
        ("SELECT 1; SELECT 2", "42601"),
        ("SELECT $2", "42P18"),
        ("SELECT nobody FROM account", "42703"),
        ("SELEC 1", "42601"),
    ] {
        let error = session.prepare(text, &[]).map(drop).expect_err(text);
        assert_eq!(code(&error), expected, "{text}: {error}");
    }
    let error = session.execute("SELECT owner FROM account WHERE id = $1").expect_err("no values");
    assert_eq!(code(&error), "42P02");
    Ok(())
}

/// One schema for each customer, and statements over all of them.
fn customers(session: &Session) -> Result<(), Error> {
    for (schema, owner) in [("one", "Ada"), ("two", "Bob")] {
        session.execute(&format!(
            "CREATE SCHEMA {schema}; SET search_path = {schema};
             CREATE TABLE client (id bigint PRIMARY KEY, owner text NOT NULL);
             INSERT INTO client VALUES (1, '{owner}')"
        ))?;
    }
    session.execute("CREATE SCHEMA three; CREATE TABLE three.client (id bigint PRIMARY KEY)")?;
    let owner = |find: &Prepared| -> Result<String, Error> {
        let found = session.execute_prepared(find, &[big(1)])?;
        Ok(found.rows.iter().map(|row| row[0].to_string()).collect())
    };
    session.execute("SET search_path = one")?;
    let find = session.prepare("SELECT owner FROM client WHERE id = $1", &[])?;
    let add = session.prepare("INSERT INTO client VALUES ($1, 'new')", &[])?;
    assert_eq!(owner(&find)?, "Ada");
    for (path, expected) in [("two", "Bob"), ("one", "Ada"), ("three, two", ""), ("two", "Bob")] {
        session.execute(&format!("SET search_path = {path}"))?;
        assert!(path == "one" || !session.is_as_new(&find), "{path}");
        match owner(&find) {
            Ok(found) => assert_eq!(found, expected, "{path}"),
            // The table there has no such column.
            Err(error) => assert_eq!((path, code(&error)), ("three, two", "42703")),
        }
    }
    session.execute_prepared(&add, &[big(2)])?;
    session.execute("SET search_path = nowhere")?;
    assert_eq!(code(&owner(&find).expect_err("there is no table")), "42P01");
    session.execute("ALTER TABLE two.client ALTER owner TYPE char(3); SET search_path = two")?;
    // It would return another type than it was said to.
    assert_eq!(code(&owner(&find).expect_err("char(3)")), "0A000");
    session.execute("SET search_path = one; BEGIN; SET LOCAL search_path = two")?;
    session.execute_prepared(&add, &[big(3)])?;
    session.execute("COMMIT")?;
    assert_eq!(owner(&find)?, "Ada");
    session.execute("CREATE TEMP TABLE client AS SELECT 1::bigint AS id, 'Eve' AS owner")?;
    assert_eq!(owner(&find)?, "Eve");
    session.execute("DROP TABLE pg_temp.client")?;
    assert_eq!(owner(&find)?, "Ada");
    assert_eq!(number(session, "SELECT count(*) FROM one.client"), 1);
    assert_eq!(number(session, "SELECT count(*) FROM two.client"), 3);
    Ok(())
}

#[test]
fn names_are_looked_for_where_the_path_leads_now() {
    every_engine(|config| {
        let db = open(config);
        customers(&db.session())
    });
}

#[test]
fn what_changed_meanwhile_is_compiled_again() -> Result<(), Error> {
    let (_db, session) = with_tables(Config::default().threads(1));
    session.execute("INSERT INTO account VALUES (7, 'me', 5)")?;
    let find = session.prepare("SELECT id FROM account WHERE owner = $1", &[])?;
    let pay = session.prepare("SELECT pay($1, $2)", &[])?;
    let mine = [Value::from("me")];
    assert_eq!(session.execute_prepared(&find, &mine)?.rows.one::<i64>()?, 7);
    session.execute("CREATE INDEX account_owner ON account (owner)")?;
    assert_eq!(session.execute_prepared(&find, &mine)?.rows.one::<i64>()?, 7);
    session.execute(
        "DROP FUNCTION pay;
         CREATE FUNCTION pay(payer bigint, amount numeric(12, 2)) RETURNS bigint
         LANGUAGE plpgsql AS $$ BEGIN RETURN payer; END $$",
    )?;
    let error = session.execute_prepared(&pay, &[big(1), big(1)]).expect_err("another type");
    assert_eq!(code(&error), "0A000");
    session.execute("DROP FUNCTION pay")?;
    let error = session.execute_prepared(&pay, &[big(1), big(1)]).expect_err("it is gone");
    assert_eq!(code(&error), "42883");
    session.execute("DROP TABLE account")?;
    let error = session.execute_prepared(&find, &mine).expect_err("it is gone");
    assert_eq!(code(&error), "42P01");
    Ok(())
}

#[test]
fn transactions_take_prepared_statements() -> Result<(), Error> {
    let (_db, session) = with_tables(Config::default().threads(2));
    session.execute("INSERT INTO account VALUES (1, 'me', 5)")?;
    let [begin, commit, rollback] =
        ["BEGIN", "COMMIT", "ROLLBACK"].map(|text| session.prepare(text, &[]));
    let (begin, commit, rollback) = (begin?, commit?, rollback?);
    let change = session.prepare("UPDATE account SET balance = $2 WHERE id = $1", &[])?;
    let pay = session.prepare("CALL pay($1, $2)", &[])?;
    session.execute_prepared(&begin, &[])?;
    assert_eq!(session.transaction_state(), TransactionState::Open);
    session.execute_prepared(&change, &[big(1), big(10)])?;
    session.execute_prepared(&pay, &[big(1), big(3)])?;
    assert_eq!(session.execute_prepared(&commit, &[])?.tag, "COMMIT");
    assert_eq!(balances(&session), "7.00");
    session.execute_prepared(&begin, &[])?;
    session.execute_prepared(&change, &[big(1), big(11)])?;
    let error =
        session.prepare("SELECT nobody FROM account", &[]).map(drop).expect_err("no column");
    assert_eq!(code(&error), "42703");
    assert_eq!(session.transaction_state(), TransactionState::Failed);
    let error = session.execute_prepared(&change, &[big(1), big(12)]).expect_err("it has failed");
    assert_eq!(code(&error), "25P02");
    let error = session.prepare("SELECT 1", &[]).map(drop).expect_err("it has failed");
    assert_eq!(code(&error), "25P02");
    session.execute_prepared(&rollback, &[])?;
    assert_eq!(balances(&session), "7.00");
    Ok(())
}

/// Where statements run alone the log has their texts, and these need their values.
#[test]
fn values_come_back_from_the_log() {
    every_engine(|config| {
        if config.threads != Some(2) {
            return Ok(());
        }
        let directory = Directory::new("prepared");
        let db = Database::open(&directory.0, config.clone())?;
        let session = db.session();
        session.execute(TABLES)?;
        bank(&session)?;
        drop(session);
        drop(db);
        let db = Database::open(&directory.0, config)?;
        let session = db.session();
        assert_eq!(balances(&session), "100.01 100.00 100.00");
        let owner = session.execute("SELECT owner FROM account WHERE id = 1")?.remove(0);
        assert_eq!(owner.rows.one::<String>()?, "O'Neill");
        Ok(())
    });
}
