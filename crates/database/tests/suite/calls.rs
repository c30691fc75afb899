//! Definitions, calls and errors, the same on every engine of the table in all its variants.

use crate::every_engine::{every_engine, open};
use hotrow::{Database, Error, Notice, Value};

const BANK: &str = "
CREATE TABLE account (
  id bigint PRIMARY KEY,
  owner varchar(20) NOT NULL,
  cents bigint NOT NULL CHECK (cents >= 0)
);
CREATE FUNCTION open_account(new_id bigint, new_owner text) RETURNS void AS $$
BEGIN
  INSERT INTO account VALUES (new_id, new_owner, 0);
END $$ LANGUAGE plpgsql;
CREATE FUNCTION transfer(source bigint, target bigint, amount bigint) RETURNS bigint AS $$
DECLARE rest bigint;
BEGIN
  UPDATE account SET cents = cents + amount WHERE id = target;
  IF NOT FOUND THEN RAISE EXCEPTION 'no account %', target; END IF;
  UPDATE account SET cents = cents - amount WHERE id = source RETURNING cents INTO rest;
  RETURN rest;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION read_account(wanted bigint) RETURNS TABLE (o varchar, c bigint) AS $$
BEGIN
  RETURN QUERY SELECT owner, cents FROM account WHERE id = wanted;
END $$ LANGUAGE plpgsql;
CREATE FUNCTION total(ids bigint[]) RETURNS bigint AS $$
DECLARE one bigint; wanted bigint; s bigint := 0;
BEGIN
  FOREACH wanted IN ARRAY ids LOOP
    SELECT cents INTO one FROM account WHERE id = wanted;
    IF FOUND THEN s := s + one; END IF;
  END LOOP;
  RETURN s;
END $$ LANGUAGE plpgsql;
";

fn bank(db: &Database, accounts: i64) {
    let session = db.session();
    session.execute(BANK).expect("the bank's schema is right");
    for id in 1..=accounts {
        let statement = format!("INSERT INTO account VALUES ({id}, 'owner {id}', 1000)");
        session.execute(&statement).expect("ids are new");
    }
}

fn total(db: &Database) -> i64 {
    let mut sum = 0;
    db.scan("account", |row| match row[2] {
        Value::BigInt(cents) => sum += cents,
        ref other => panic!("cents are a bigint, not {other:?}"),
    })
    .expect("the table is there");
    sum
}

#[test]
fn calls_return_typed_rows() {
    every_engine(|config| {
        let db = open(config);
        bank(&db, 2);
        let session = db.session();
        assert_eq!(session.call("transfer", (1_i64, 2_i64, 250_i64))?.one::<i64>()?, 750);
        let read = session.procedure("read_account")?;
        assert_eq!(read.call((2_i64,))?.one::<(String, i64)>()?, ("owner 2".into(), 1250));
        assert_eq!(read.call((9_i64,))?.optional::<(String, i64)>()?, None);
        assert_eq!(session.call("total", (vec![1_i64, 2, 9],))?.one::<i64>()?, 2000);
        session.call("open_account", (3_i32, "third"))?;
        let rows = session.execute("SELECT id, owner FROM account ORDER BY id")?;
        assert_eq!(rows[0].rows.columns(), ["id", "owner"]);
        assert_eq!(rows[0].rows.clone().all::<(i64, String)>()?.len(), 3);
        let tags: Vec<_> = session
            .execute("UPDATE account SET cents = 1; CALL total('{1,2,3}'); DELETE FROM account")?
            .into_iter()
            .map(|result| result.tag)
            .collect();
        assert_eq!(tags, ["UPDATE 3", "CALL", "DELETE 3"]);
        Ok(())
    });
}

#[test]
fn errors_leave_nothing_behind() {
    every_engine(|config| {
        let db = open(config);
        bank(&db, 2);
        let session = db.session();
        let state = |error: Result<hotrow::Rows, Error>| {
            let error = error.expect_err("the call must fail");
            error.sqlstate().map(str::to_owned).unwrap_or_else(|| error.to_string())
        };
        // The first UPDATE of each is done before the error.
        assert_eq!(state(session.call("transfer", (1_i64, 2_i64, 1001_i64))), "23514");
        assert_eq!(state(session.call("transfer", (1_i64, 9_i64, 1_i64))), "P0001");
        assert_eq!(state(session.call("open_account", (1_i64, "again"))), "23505");
        assert_eq!(state(session.call("open_account", (7_i64, None::<&str>))), "23502");
        assert_eq!(state(session.call("open_account", (7_i64, "x".repeat(21)))), "22001");
        let mut rows = Vec::new();
        db.scan("account", |row| rows.push(row.to_vec()))?;
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row[2] == Value::BigInt(1000)), "{rows:?}");
        assert_eq!(session.call("transfer", (1_i64, 2_i64, 1000_i64))?.one::<i64>()?, 0);
        Ok(())
    });
}

#[test]
fn what_calls_say_is_heard() {
    every_engine(|config| {
        let db = open(config);
        bank(&db, 3);
        let session = db.session();
        session.execute(
            "CREATE FUNCTION collect(ids bigint[], least bigint) RETURNS bigint AS $$
             DECLARE one bigint; rest bigint; s bigint := 0;
             BEGIN
               RAISE WARNING 'least %', least USING ERRCODE = '01007', HINT = 'ask for more';
               FOREACH one IN ARRAY ids LOOP
                 UPDATE account SET cents = cents - 1 WHERE id = one RETURNING cents INTO rest;
                 RAISE NOTICE 'account % has %', one, rest;
                 IF rest IS NULL THEN RAISE EXCEPTION 'nobody is %', one; END IF;
                 s := s + 1;
               END LOOP;
               RAISE DEBUG 'took %', s;
               IF s < least THEN RAISE EXCEPTION 'only %', s; END IF;
               RETURN s;
             END $$ LANGUAGE plpgsql",
        )?;
        let texts = |notices: &[Notice]| {
            let text = |told: &Notice| format!("{:?} {}", told.level, told.said.message);
            notices.iter().map(text).collect::<Vec<_>>()
        };
        let rows = session.call("collect", (vec![3_i64, 1], 0_i64))?;
        let warning = &rows.notices()[0].said;
        assert_eq!((warning.code(), warning.hint.as_deref()), ("01007", Some("ask for more")));
        let notice = "Notice account";
        let all = [format!("{notice} 3 has 999"), format!("{notice} 1 has 999")];
        let said = ["Warning least 0", &all[0], &all[1], "Debug took 2"];
        assert_eq!(texts(rows.notices()), said);
        assert_eq!(rows.one::<i64>()?, 2);

        // What had been said before an error belongs to it.
        let failed = session.call("collect", (vec![1_i64, 9, 2], 0_i64)).expect_err("nobody is 9");
        let error = failed.as_sql().expect("it is SQL");
        assert_eq!(error.message, "nobody is 9");
        let said = ["Warning least 0", "Notice account 1 has 998", "Notice account 9 has <NULL>"];
        assert_eq!(texts(&error.notices), said);
        let failed = session.call("collect", (vec![1_i64], 2_i64)).expect_err("one is too few");
        let error = failed.as_sql().expect("it is SQL");
        assert_eq!(error.message, "only 1");
        let said = ["Warning least 2", "Notice account 1 has 998", "Debug took 1"];
        assert_eq!(texts(&error.notices), said, "it was undone, and is said once");

        let results =
            session.execute("SELECT collect(ARRAY[]::bigint[], 0); CALL transfer(1, 2, 0)")?;
        assert_eq!(texts(&results[0].notices), ["Warning least 0", "Debug took 0"]);
        assert_eq!(results[1].notices, [], "nobody hears what others were told");

        // By a key, it takes effect once, and is said once.
        let arguments = (vec![2_i64], 0_i64);
        assert_eq!(session.call_once("k", "collect", arguments.clone())?.notices().len(), 3);
        let again = session.call_once("k", "collect", arguments)?;
        assert_eq!((again.notices().len(), again.one::<i64>()?), (0, 1));
        Ok(())
    });
}

#[test]
fn wrong_calls_are_told_how_to_call() {
    every_engine(|config| {
        let db = open(config);
        bank(&db, 1);
        let session = db.session();
        let fails = |error: Result<hotrow::Rows, Error>, code: &str, hint: &str| {
            let error = error.expect_err("the call must fail");
            let sql = error.as_sql().expect("it is SQL");
            assert_eq!(sql.code(), code, "{sql}");
            assert!(sql.hint.as_deref().is_some_and(|h| h.contains(hint)), "{sql}");
        };
        let signature = "transfer(source bigint, target bigint, amount bigint)";
        fails(session.call("transfer", (1_i64, 2_i64)), "42883", signature);
        fails(session.call("transfer", ()), "42883", signature);
        fails(session.call("transfer", (1_i64, true, 3_i64)), "42804", signature);
        fails(session.call("transfer", (1_i64, vec![2_i64], 3_i64)), "42804", signature);
        fails(session.call("total", (5_i64,)), "42804", "total(ids bigint[])");
        fails(session.call("transfer", (1_i64, "two", 3_i64)), "22P02", signature);
        fails(session.call("transfer", (1_i64, 1e300, 3_i64)), "22003", signature);
        fails(session.call("nothing", ()), "42883", "transfer");
        let values = [Value::Int(1), Value::SmallInt(1), Value::from("0")];
        assert_eq!(session.call("transfer", &values[..])?.one::<i64>()?, 1000);
        let mismatch = session.call("read_account", (1_i64,))?.one::<i64>();
        assert!(matches!(mismatch, Err(Error::Result(_))), "{mismatch:?}");
        Ok(())
    });
}

#[test]
fn eight_sessions_conserve_money() {
    every_engine(|config| {
        let db = open(config);
        bank(&db, 4);
        let before = db.statistics().committed; // its INSERTs may be calls, too
        std::thread::scope(|scope| {
            for number in 0..8_i64 {
                let session = db.session();
                scope.spawn(move || {
                    let transfer = session.procedure("transfer").expect("it is there");
                    for i in 0..200 {
                        let (source, target) = ((number + i) % 4 + 1, (number * 3 + i) % 4 + 1);
                        match transfer.call((source, target, i % 7)) {
                            Ok(_) => {}
                            Err(error) => assert_eq!(error.sqlstate(), Some("23514"), "{error}"),
                        }
                    }
                });
            }
        });
        assert_eq!(total(&db), 4000);
        let statistics = db.statistics();
        assert_eq!(statistics.committed - before + statistics.user_aborts, 1600);
        Ok(())
    });
}

#[test]
fn parameters_have_defaults() -> Result<(), Error> {
    let db = open(hotrow::Config::default().threads(1));
    let session = db.session();
    session.execute(
        "CREATE FUNCTION say(a int, b text DEFAULT 'x' || 'y', c int[] = '{1,2}') RETURNS text
         LANGUAGE plpgsql AS $$ BEGIN RETURN a || b || cardinality(c); END $$",
    )?;
    let one = |statement: &str| -> Result<String, Error> {
        session.execute(statement)?.remove(0).rows.one::<String>()
    };
    assert_eq!(session.call("say", (1,))?.one::<String>()?, "1xy2");
    assert_eq!(session.call("say", (1, "z"))?.one::<String>()?, "1z2");
    assert_eq!(one("SELECT say(2)")?, "2xy2");
    assert_eq!(one("SELECT say(2, c => ARRAY[7])")?, "2xy1");
    assert_eq!(one("SELECT say(4) || say(5, 'z')")?, "4xy25z2");
    let error = session.call("say", ()).expect_err("it needs one");
    assert_eq!(error.sqlstate(), Some("42883"));
    assert!(error.to_string().contains("takes 1 to 3 arguments, not 0"), "{error}");
    let replaced = "CREATE OR REPLACE FUNCTION say(a int, b text, c int[] = '{}') RETURNS text
        LANGUAGE plpgsql AS $$ BEGIN RETURN a || b || cardinality(c); END $$";
    session.execute(replaced)?;
    assert_eq!(session.call("say", (1,)).expect_err("b has none").sqlstate(), Some("42883"));
    assert_eq!(one("SELECT say(1, 'b')")?, "1b0");
    Ok(())
}
