//! A server and a real driver: both protocols, all types, errors, limits, and the end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::running::Running;
use hotrow_server::ServerOptions;
use postgres::error::SqlState;
use postgres::types::Type;
use postgres::{Client, NoTls, SimpleQueryMessage};

const TABLES: &str = "
CREATE TABLE account (id bigint PRIMARY KEY, owner varchar(20), balance numeric(12, 2) NOT NULL);
INSERT INTO account VALUES (1, 'Ann', 100), (2, 'Bob', 50.5), (3, NULL, 0);
CREATE FUNCTION pay(payer bigint, amount numeric(12, 2)) RETURNS numeric(12, 2)
LANGUAGE plpgsql AS $$
DECLARE rest numeric(12, 2);
BEGIN
    UPDATE account SET balance = balance - amount WHERE id = payer RETURNING balance INTO rest;
    IF NOT FOUND THEN RAISE EXCEPTION 'no account %', payer USING HINT = 'open one'; END IF;
    RETURN rest;
END $$;
CREATE FUNCTION total(ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE one bigint; sum bigint := 0;
BEGIN FOREACH one IN ARRAY ids LOOP sum := sum + one; END LOOP; RETURN sum; END $$;
";

fn with_tables() -> (Running, Client) {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client.batch_execute(TABLES).expect("the tables are made");
    (server, client)
}

fn texts(client: &mut Client, query: &str) -> Vec<String> {
    let messages = client.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            let value = |at| row.get(at).unwrap_or("NULL").to_owned();
            Some((0..row.len()).map(value).collect::<Vec<_>>().join(","))
        }
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

#[test]
fn scripts_are_answered_statement_by_statement() {
    let (_server, mut client) = with_tables();
    let rows = texts(&mut client, "SELECT id, owner, balance FROM account ORDER BY id");
    assert_eq!(rows, ["1,Ann,100.00", "2,Bob,50.50", "3,NULL,0.00"]);
    let rows = texts(&mut client, "SELECT 1; SELECT pay(1, 0.5); SELECT true, 'é'");
    assert_eq!(rows, ["1", "99.50", "t,é"]);
    assert!(
        client
            .simple_query("")
            .expect("nothing to do")
            .iter()
            .all(|message| { !matches!(message, SimpleQueryMessage::Row(_)) })
    );
    let error = client.simple_query("SELECT 1;\n SELECT nobody FROM account").expect_err("none");
    let error = error.as_db_error().expect("the server's");
    assert_eq!(error.code(), &SqlState::UNDEFINED_COLUMN);
    let position = error.position().expect("it is told");
    assert_eq!(position, &postgres::error::ErrorPosition::Original(19));
}

#[test]
fn columns_are_told_with_what_they_are_columns_of() {
    let (_server, mut client) = with_tables();
    let number = texts(&mut client, "SELECT 'account'::regclass::bigint");
    let number: u32 = number[0].parse().expect("a number");
    let query = "SELECT a.balance AS b, a.id, a.balance + 1, n.x
        FROM account AS a JOIN (SELECT owner AS x FROM account) AS n ON n.x = a.owner";
    for (text, expected) in [
        ("SELECT owner, id + 1, balance FROM account", [(number, 2), (0, 0), (number, 3)].to_vec()),
        (query, [(number, 3), (number, 1), (0, 0), (number, 2)].to_vec()),
        ("INSERT INTO account VALUES (9, 'x', 1) RETURNING id", vec![(number, 1)]),
        ("SELECT pay(1, 1)", vec![(0, 0)]),
    ] {
        let prepared = client.prepare(text).expect("it is right");
        let columns = prepared
            .columns()
            .iter()
            .map(|column| (column.table_oid().unwrap_or(0), column.column_id().unwrap_or(0)));
        assert_eq!(columns.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn procedures_tell_their_clients() {
    let server = Running::start(ServerOptions::default());
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut config = Client::configure();
    let address = &server.address;
    config.host(&address.ip().to_string()).port(address.port()).user("tester").dbname("app");
    let listener = Arc::clone(&told);
    config.notice_callback(move |notice| {
        let text = format!("{} {} {}", notice.severity(), notice.code().code(), notice.message());
        listener.lock().expect("nobody panics").push(text);
    });
    let mut client = config.connect(NoTls).expect("it is let in");
    client
        .batch_execute(
            "CREATE FUNCTION talk(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
                 RAISE DEBUG 'd'; RAISE LOG 'l'; RAISE NOTICE 'n %', n; RAISE WARNING 'w';
                 RAISE INFO USING MESSAGE = 'i', ERRCODE = 'P0002';
                 IF n < 0 THEN RAISE division_by_zero; END IF;
                 RETURN n; END $$",
        )
        .expect("it is a function");
    let mut hears = |least: &str, statement: &str| {
        client.batch_execute(&format!("SET client_min_messages = {least}")).expect("it is a level");
        let ended = match client.query(statement, &[]) {
            Ok(rows) => format!("{} row", rows.len()),
            Err(error) => error.as_db_error().expect("it is SQL").message().to_owned(),
        };
        let told = std::mem::take(&mut *told.lock().expect("nobody panics"));
        (told.join(", "), ended)
    };
    let heard = |told: &str, ended: &str| (told.to_owned(), ended.to_owned());
    let notice = "NOTICE 00000 n 1, WARNING 01000 w, INFO P0002 i";
    assert_eq!(hears("notice", "SELECT talk(1)"), heard(notice, "1 row"));
    let all = format!("DEBUG 00000 d, LOG 00000 l, {notice}");
    assert_eq!(hears("debug1", "SELECT talk(1)"), heard(&all, "1 row"));
    let log = format!("LOG 00000 l, {notice}");
    assert_eq!(hears("log", "SELECT talk(1)"), heard(&log, "1 row"));
    let failed = "WARNING 01000 w, INFO P0002 i";
    assert_eq!(hears("warning", "SELECT talk(-1)"), heard(failed, "division_by_zero"));
    assert_eq!(hears("error", "CALL talk(1)"), heard("INFO P0002 i", "1 row"));
    assert_eq!(hears("error", "COMMIT"), heard("", "0 row"));
    let warning = "WARNING 25P01 there is no transaction in progress";
    assert_eq!(hears("warning", "COMMIT"), heard(warning, "0 row"));
}

#[test]
fn prepared_statements_take_and_give_binary_values() {
    let (_server, mut client) = with_tables();
    let insert = client.prepare("INSERT INTO account (id, owner, balance) VALUES ($1, $2, 7)");
    let insert = insert.expect("it is right");
    assert_eq!(insert.params(), [Type::INT8, Type::TEXT]);
    for id in 10..20_i64 {
        assert_eq!(client.execute(&insert, &[&id, &format!("o'{id}")]).expect("it is new"), 1);
    }
    let error = client.execute(&insert, &[&10_i64, &"again"]).expect_err("it is there");
    let error = error.as_db_error().expect("the server's");
    assert_eq!(error.code(), &SqlState::UNIQUE_VIOLATION);
    assert_eq!((error.table(), error.constraint()), (Some("account"), Some("account_pkey")));
    let found = client.query("SELECT id, owner FROM account WHERE owner = $1", &[&"o'12"]);
    let found = found.expect("it is right");
    assert_eq!((found[0].get::<_, i64>(0), found[0].get::<_, &str>(1)), (12, "o'12"));
    assert_eq!(found[0].columns()[1].type_(), &Type::VARCHAR);
    let none = client.query("SELECT owner FROM account WHERE id = $1", &[&3_i64]).expect("it is");
    assert_eq!(none[0].get::<_, Option<String>>(0), None);
    let total = client.query_one("SELECT total($1)", &[&vec![1_i64, 2, 39]]).expect("it is right");
    assert_eq!(total.get::<_, i64>(0), 42);
    let error = client.query_one("SELECT pay($1, 1)", &[&99_i64]).expect_err("nobody");
    let error = error.as_db_error().expect("the server's");
    assert_eq!((error.code().code(), error.hint()), ("P0001", Some("open one")));
    assert_eq!(error.message(), "no account 99");
    // The connection is as good as before.
    assert_eq!(texts(&mut client, "SELECT pay(2, 0.5)"), ["50.00"]);
}

#[test]
fn every_type_comes_and_goes() {
    let (_server, mut client) = with_tables();
    client
        .batch_execute(
            "CREATE TABLE t (k bigint PRIMARY KEY, a smallint, b integer, c real,
                 d double precision, e boolean, f text, g bytea, h char(4))",
        )
        .expect("the table is made");
    let insert = "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let bytes: &[u8] = &[0, 255, 92];
    let done = client.execute(
        insert,
        &[&1_i64, &-2_i16, &3_i32, &0.5_f32, &-0.1_f64, &true, &"täxt", &bytes, &"ab"],
    );
    assert_eq!(done.expect("they fit"), 1);
    let row = client.query_one("SELECT a, b, c, d, e, f, g, h FROM t WHERE k = 1", &[]);
    let row = row.expect("it is there");
    assert_eq!((row.get::<_, i16>(0), row.get::<_, i32>(1)), (-2, 3));
    assert_eq!((row.get::<_, f32>(2), row.get::<_, f64>(3)), (0.5, -0.1));
    assert_eq!((row.get::<_, bool>(4), row.get::<_, &str>(5)), (true, "täxt"));
    assert_eq!((row.get::<_, &[u8]>(6), row.get::<_, &str>(7)), (bytes, "ab  "));
}

#[test]
fn transactions_span_statements() {
    let (_server, mut client) = with_tables();
    let mut transaction = client.transaction().expect("it begins");
    transaction.execute("UPDATE account SET balance = 1 WHERE id = 1", &[]).expect("it is there");
    transaction.rollback().expect("it is open");
    let balance = "SELECT balance FROM account WHERE id = 1";
    assert_eq!(texts(&mut client, balance), ["100.00"]);
    let mut transaction = client.transaction().expect("it begins");
    transaction.execute("UPDATE account SET balance = 1 WHERE id = 1", &[]).expect("it is there");
    transaction.commit().expect("it is open");
    assert_eq!(texts(&mut client, balance), ["1.00"]);
    client.batch_execute("BEGIN").expect("it begins");
    client.batch_execute("SELECT nobody FROM account").expect_err("it fails the transaction");
    let error = client.batch_execute("SELECT 1").expect_err("it has failed");
    assert_eq!(error.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    client.batch_execute("ROLLBACK").expect("it ends");
    assert_eq!(texts(&mut client, "SELECT 1"), ["1"]);
}

#[test]
fn portals_give_their_rows_in_parts() {
    let (_server, mut client) = with_tables();
    let mut transaction = client.transaction().expect("it begins");
    let portal = transaction.bind("SELECT id FROM account ORDER BY id", &[]).expect("it is right");
    let part = |transaction: &mut postgres::Transaction<'_>, rows| {
        let rows = transaction.query_portal(&portal, rows).expect("it is open");
        rows.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>()
    };
    assert_eq!(part(&mut transaction, 2), [1, 2]);
    assert_eq!(part(&mut transaction, 2), [3]);
    assert_eq!(part(&mut transaction, 2), [0_i64; 0]);
}

#[test]
fn many_clients_bump_one_row() {
    const CLIENTS: usize = 8;
    const BUMPS: usize = 50;
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    let made = client.batch_execute(
        "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
         INSERT INTO counter VALUES (1, 0);
         CREATE PROCEDURE bump(which bigint) LANGUAGE plpgsql AS $$
         BEGIN UPDATE counter SET n = n + 1 WHERE id = which; END $$;",
    );
    made.expect("the table is made");
    hotrow_base::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = server.client();
                let bump = client.prepare("CALL bump($1)").expect("it is right");
                for _ in 0..BUMPS {
                    client.execute(&bump, &[&1_i64]).expect("a call never fails with a conflict");
                }
            });
        }
    });
    let expected = (CLIENTS * BUMPS).to_string();
    assert_eq!(texts(&mut client, "SELECT n FROM counter"), [expected]);
}

/// A table that no statement has written yet is ready for the first one, even inside a transaction
/// that others wait for.
#[test]
fn a_new_table_is_written_while_others_wait() {
    let (server, mut client) = with_tables();
    client.batch_execute("CREATE TABLE history (id bigint PRIMARY KEY)").expect("it is made");
    let mut transaction = client.transaction().expect("it begins");
    let change = "UPDATE account SET balance = balance + 1 WHERE id = 1";
    transaction.execute(change, &[]).expect("it is there");
    hotrow_base::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut other = server.client();
            other.execute(change, &[]).expect("it waits, and is done")
        });
        hotrow_base::thread::sleep(Duration::from_millis(50));
        transaction.execute("INSERT INTO history VALUES (1)", &[]).expect("nobody is in the way");
        transaction.commit().expect("it is open");
        assert_eq!(waiting.join().expect("it ends well"), 1);
    });
    assert_eq!(texts(&mut client, "SELECT balance FROM account WHERE id = 1"), ["102.00"]);
}

#[test]
fn there_are_no_more_connections_than_allowed() {
    let server = Running::start(ServerOptions { connections_max: 2, ..ServerOptions::default() });
    let (first, _second) = (server.client(), server.client());
    let error = server.try_client().map(drop).expect_err("two are there");
    assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS), "{error}");
    drop(first);
    let deadline = hotrow_base::clock::Ticks::from_now(Duration::from_secs(10));
    while server.try_client().is_err() {
        assert!(!deadline.has_passed(), "a place is free again");
    }
}

/// What comes that is no message ends that connection with an error, and no other.
#[test]
fn nonsense_ends_its_connection_only() {
    let server = Running::start(ServerOptions {
        startup_patience: Duration::from_millis(200),
        ..ServerOptions::default()
    });
    let mut client = server.client();
    let startup = [&[0, 0, 0, 16, 0, 3, 0, 0][..], b"user\0a\0\0"].concat();
    let startup = [&(startup.len() as u32).to_be_bytes(), &startup[4..]].concat();
    let cases: &[(&str, &[u8])] = &[
        ("a browser", b"GET / HTTP/1.1\r\n\r\n"),
        ("nothing", b""),
        ("a length of nothing", &[0, 0, 0, 0]),
        ("a huge startup", &[0x7f, 0, 0, 0, 0, 3, 0, 0]),
        ("an old version", &[0, 0, 0, 8, 0, 2, 0, 0]),
        ("no user", &[0, 0, 0, 9, 0, 3, 0, 0, 0]),
        ("an unknown kind", &[&startup[..], b"!\0\0\0\x04"].concat()),
        ("a message too long", &[&startup[..], b"Q\x7f\xff\xff\xff"].concat()),
        ("a negative length", &[&startup[..], b"Q\xff\xff\xff\xff"].concat()),
        ("half a Bind", &[&startup[..], b"B\0\0\0\x08\0\0\0\x09"].concat()),
        ("half a message", &[&startup[..], b"Q\0\0\0\x20select"].concat()),
    ];
    for (name, bytes) in cases {
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        stream.write_all(bytes).expect("it takes them");
        stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(texts(&mut client, "SELECT 1"), ["1"], "after {name}");
    }
}

#[test]
fn a_server_that_stops_says_so_and_takes_no_new_clients() {
    let (server, mut client) = with_tables();
    assert_eq!(texts(&mut client, "SELECT 1"), ["1"]);
    let address = server.address;
    drop(server); // stops it, and waits until it has stopped
    let error = client.simple_query("SELECT 1").expect_err("it has gone");
    assert!(error.is_closed() || error.code() == Some(&SqlState::ADMIN_SHUTDOWN), "{error}");
    assert!(TcpStream::connect(address).is_err(), "nobody listens");
}
