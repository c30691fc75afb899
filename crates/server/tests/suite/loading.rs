//! COPY and settings over the wire, by a real driver, and by messages written by hand.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::running::Running;
use hotrow_server::ServerOptions;
use postgres::error::SqlState;
use postgres::{Client, NoTls, SimpleQueryMessage};

fn with_table() -> (Running, Client) {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client
        .batch_execute(
            "CREATE TABLE item (id int PRIMARY KEY, name varchar(5), price numeric(6,2))",
        )
        .expect("the table is made");
    (server, client)
}

fn one(client: &mut Client, query: &str) -> String {
    let messages = client.simple_query(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
        _ => None,
    });
    row.unwrap_or_else(|| panic!("{query} gives no row"))
}

fn load(client: &mut Client, statement: &str, data: &[u8]) -> Result<u64, postgres::Error> {
    let mut writer = client.copy_in(statement)?;
    // Cut anywhere.
    for piece in data.chunks(3) {
        writer.write_all(piece).expect("the driver collects it");
        writer.flush().ok();
    }
    writer.finish()
}

#[test]
fn rows_go_in_and_out_as_text_and_csv() {
    let (_server, mut client) = with_table();
    let text = b"1\ta\\tb\t1.5\n2\t\\N\t\\N\n3\t\t-7\n";
    assert_eq!(load(&mut client, "COPY item FROM STDIN", text).expect("it is right"), 3);
    let csv = b"id,price\r\n10,\"2.25\"\r\n11,\r\n";
    let statement = "COPY item (id, price) FROM STDIN WITH (FORMAT csv, HEADER match)";
    assert_eq!(load(&mut client, statement, csv).expect("it is right"), 2);
    let mut out = String::new();
    let query = "COPY (SELECT id, name, price FROM item ORDER BY id) TO STDOUT";
    client.copy_out(query).expect("a copy").read_to_string(&mut out).expect("UTF-8");
    assert_eq!(out, "1\ta\\tb\t1.50\n2\t\\N\t\\N\n3\t\t-7.00\n10\t\\N\t2.25\n11\t\\N\t\\N\n");
    out.clear();
    let query = "COPY item (id, name) TO STDOUT CSV HEADER DELIMITER ';' FORCE QUOTE id";
    client.copy_out(query).expect("a copy").read_to_string(&mut out).expect("UTF-8");
    assert_eq!(out, "id;name\n\"1\";a\tb\n\"2\";\n\"3\";\"\"\n\"10\";\n\"11\";\n");
}

#[test]
fn a_copy_that_fails_leaves_nothing_and_says_where() {
    let (_server, mut client) = with_table();
    let cases: &[(&[u8], &str, &str)] = &[
        (b"1\ta\t1\nx\tb\t2\n", "22P02", "COPY item, line 2, column id: \"x\""),
        (b"1\ta\t1\n2\tb\n", "22P04", "COPY item, line 2: \"2\tb\""),
        (b"1\ta\t1\t9\n", "22P04", "COPY item, line 1: \"1\ta\t1\t9\""),
        (b"1\ta\t1\n1\tb\t2\n", "23505", "COPY item, line 2: \"1\tb\t2\""),
        (b"1\ttoo long\t1\n", "22001", "COPY item, line 1: \"1\ttoo long\t1\""),
        (b"1\t\xff\t1\n", "22021", "COPY item, line 1: \"1\t\u{fffd}\t1\""),
    ];
    for (data, code, context) in cases {
        let error = load(&mut client, "COPY item FROM STDIN", data).expect_err("it is wrong");
        let error = error.as_db_error().expect("of the server").clone();
        assert_eq!((error.code().code(), error.where_()), (*code, Some(*context)));
        assert_eq!(one(&mut client, "SELECT count(*) FROM item"), "0");
    }
    let mut transaction = client.transaction().expect("it begins");
    let mut writer = transaction.copy_in("COPY item FROM STDIN").expect("a copy");
    writer.write_all(b"5\tx\t1\n").expect("collected");
    writer.finish().expect("it is right");
    assert_eq!(transaction.query("SELECT id FROM item", &[]).expect("5").len(), 1);
    transaction.rollback().expect("it does");
    assert_eq!(one(&mut client, "SELECT count(*) FROM item"), "0");
    let mut writer = client.copy_in("COPY item FROM STDIN").expect("a copy");
    writer.write_all(b"5\tx\t1\n").expect("collected");
    drop(writer); // CopyFail
    assert_eq!(one(&mut client, "SELECT count(*) FROM item"), "0");
}

#[test]
fn scripts_go_on_behind_a_copy_and_other_messages_end_it() {
    let (server, _client) = with_table();
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    let startup = b"\0\x03\0\0user\0me\0\0";
    let mut message = ((startup.len() + 4) as u32).to_be_bytes().to_vec();
    message.extend_from_slice(startup);
    stream.write_all(&message).expect("sent");
    until_ready(&mut stream);
    let script = b"COPY item FROM STDIN; SELECT count(*) FROM item\0";
    stream.write_all(&framed(b'Q', script)).expect("sent");
    stream.write_all(&framed(b'd', b"1\ta\t")).expect("sent");
    stream.write_all(&framed(b'S', b"")).expect("sent"); // ignored
    stream.write_all(&framed(b'd', b"1\n\\.\nrubbish")).expect("sent");
    stream.write_all(&framed(b'c', b"")).expect("sent");
    assert_eq!(until_ready(&mut stream), "GCTDCZ");
    stream.write_all(&framed(b'Q', b"COPY item FROM STDIN\0")).expect("sent");
    stream.write_all(&framed(b'd', b"2\ta\t2\n")).expect("sent");
    stream.write_all(&framed(b'Q', b"SELECT 1\0")).expect("sent");
    assert_eq!(until_ready(&mut stream), "GEZ");
    assert_eq!(until_ready(&mut stream), "TDCZ");
    stream.write_all(&framed(b'd', b"late\n")).expect("sent");
    stream.write_all(&framed(b'Q', b"SELECT id FROM item WHERE id = 2\0")).expect("sent");
    assert_eq!(until_ready(&mut stream), "TCZ");
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&((body.len() + 4) as u32).to_be_bytes());
    message.extend_from_slice(body);
    message
}

/// The kinds of the messages up to ReadyForQuery.
fn until_ready(stream: &mut TcpStream) -> String {
    let mut kinds = String::new();
    while !kinds.ends_with('Z') {
        let mut head = [0; 5];
        stream.read_exact(&mut head).expect("an answer");
        let length = u32::from_be_bytes(head[1..].try_into().expect("four")) as usize;
        stream.read_exact(&mut vec![0; length - 4]).expect("its body");
        kinds.push(char::from(head[0]));
    }
    kinds
}

#[test]
fn settings_are_checked_kept_and_taken_back() {
    let (_server, mut client) = with_table();
    for (name, expected) in [
        ("server_version_num", "150000"),
        ("standard_conforming_strings", "on"),
        ("TRANSACTION ISOLATION LEVEL", "serializable"),
        ("TIME ZONE", "UTC"),
        ("transaction_read_only", "off"),
    ] {
        assert_eq!(one(&mut client, &format!("SHOW {name}")), expected, "{name}");
    }
    let sets = "SET application_name = 'me'; SET SESSION search_path TO public, pg_catalog;
                SET LOCAL statement_timeout = '5s'; SET NAMES 'UTF8'; SET TIME ZONE 'UTC';
                SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
                SET statement_timeout TO 1500; SET my.own = 7; RESET application_name";
    client.batch_execute(sets).expect("they are right");
    assert_eq!(one(&mut client, "SHOW statement_timeout"), "1500ms");
    assert_eq!(one(&mut client, "SHOW my.own"), "7");
    client.batch_execute("BEGIN; SET my.own = 8; SET LOCAL my.own = 9").expect("set");
    assert_eq!(one(&mut client, "SHOW my.own"), "9");
    client.batch_execute("ROLLBACK").expect("rolled back");
    assert_eq!(one(&mut client, "SHOW my.own"), "7");
    client.batch_execute("BEGIN; SET TRANSACTION READ ONLY").expect("read only");
    assert_eq!(one(&mut client, "SHOW transaction_read_only"), "on");
    let error = client.batch_execute("DELETE FROM item").expect_err("read only");
    assert_eq!(error.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));
    client.batch_execute("ROLLBACK; SET default_transaction_read_only = on").expect("back");
    let error = client.batch_execute("DELETE FROM item").expect_err("read only");
    assert_eq!(error.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION));
    client.batch_execute("DISCARD ALL; DELETE FROM item").expect("as at the beginning");
    for (statement, code) in [
        ("SET nothing_such = 1", "42704"),
        ("SHOW nothing_such", "42704"),
        ("SET TIME ZONE 'Europe/Nowhere'", "22023"),
        ("SET server_version = '1'", "55P02"),
        ("LOCK TABLE item", "25P01"),
        ("SET ROLE somebody", "22023"),
    ] {
        let error = client.batch_execute(statement).expect_err(statement);
        assert_eq!(error.code().map(SqlState::code), Some(code), "{statement}");
    }
}

#[test]
fn statements_with_names_are_those_of_the_protocol() {
    let (_server, mut client) = with_table();
    client
        .batch_execute(
            "PREPARE put (int, text) AS INSERT INTO item VALUES ($1, $2, 1);
             EXECUTE put(1, 'a'); EXECUTE put(2, NULL);
             PREPARE get AS SELECT name FROM item WHERE id = $1",
        )
        .expect("they are right");
    assert_eq!(one(&mut client, "EXECUTE get(1)"), "a");
    let named = "SELECT string_agg(name || ' ' || from_sql || ' ' || \
                 array_to_string(parameter_types, ','), ';' ORDER BY name) \
                 FROM pg_prepared_statements WHERE prepare_time <= now() + interval '1 minute'";
    assert_eq!(one(&mut client, named), "get true integer;put true integer,text");
    for (statement, code) in [
        ("PREPARE get AS SELECT 1", "42P05"),
        ("EXECUTE nobody", "26000"),
        ("EXECUTE get", "08P01"),
        ("EXECUTE get(1 + 1)", "0A000"),
    ] {
        let error = client.batch_execute(statement).expect_err(statement);
        assert_eq!(error.code().map(SqlState::code), Some(code), "{statement}");
    }
    let kept = client.prepare("SELECT id FROM item").expect("prepared");
    assert_eq!(client.query(&kept, &[]).expect("rows").len(), 2);
    let all = "SELECT count(*) || ' ' || bool_and(from_sql) FROM pg_prepared_statements";
    assert_eq!(one(&mut client, all), "3 false");
    client.batch_execute("DEALLOCATE get; DEALLOCATE ALL").expect("forgotten");
    assert_eq!(one(&mut client, "SELECT count(*)::text FROM pg_prepared_statements"), "0");
    let error = client.query(&kept, &[]).expect_err("it was forgotten, too");
    assert_eq!(error.code(), Some(&SqlState::INVALID_SQL_STATEMENT_NAME));
}

#[test]
fn what_a_driver_asks_for_when_it_connects_is_in_force() {
    let (server, _client) = with_table();
    let port = server.address.port();
    let base = format!("host=127.0.0.1 port={port} user=me application_name=mine");
    let connect = |more: &str| Client::connect(&format!("{base} {more}"), NoTls);
    let mut client = connect("options='-c statement_timeout=2s'").expect("they are right");
    assert_eq!(one(&mut client, "SHOW application_name"), "mine");
    assert_eq!(one(&mut client, "SHOW statement_timeout"), "2s");
    client.batch_execute("SET statement_timeout = 0; RESET statement_timeout").expect("reset");
    assert_eq!(one(&mut client, "SHOW statement_timeout"), "2s");
    assert_eq!(one(&mut client, "SHOW session_authorization"), "me");
    let refused = connect("options='-c nothing_such=1'").err().expect("nobody knows it");
    assert_eq!(refused.code(), Some(&SqlState::UNDEFINED_OBJECT));
}
