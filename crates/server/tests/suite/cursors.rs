//! Cursors: DECLARE, FETCH, MOVE and CLOSE, by both protocols.

use crate::running::Running;
use hotrow_server::ServerOptions;
use postgres::{Client, SimpleQueryMessage};

fn begin() -> (Running, Client) {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client
        .batch_execute(
            "CREATE TABLE t (id int PRIMARY KEY, name text);
             INSERT INTO t SELECT n, 'row ' || n FROM generate_series(1, 10) AS g (n)",
        )
        .expect("it is right");
    (server, client)
}

/// Ids of the rows that a statement gives, and how many its tag counts.
fn said(client: &mut Client, statement: &str) -> String {
    match client.simple_query(statement) {
        Ok(messages) => {
            let told = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                SimpleQueryMessage::CommandComplete(count) => Some(format!("={count}")),
                _ => None,
            });
            told.collect::<Vec<_>>().join(" ")
        }
        Err(error) => error.code().map_or("?".to_owned(), |code| code.code().to_owned()),
    }
}

#[test]
fn cursors_go_on_and_back() {
    let (_server, mut client) = begin();
    client.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id").expect("so");
    for (statement, expected) in [
        ("FETCH c", "1 =1"),
        ("FETCH NEXT FROM c", "2 =1"),
        ("FETCH 3 IN c", "3 4 5 =3"),
        ("FETCH FORWARD 0 FROM c", "5 =1"),
        ("FETCH PRIOR FROM c", "4 =1"),
        ("FETCH BACKWARD 2 FROM c", "3 2 =2"),
        ("FETCH BACKWARD ALL FROM c", "1 =1"),
        ("FETCH BACKWARD FROM c", "=0"),
        ("FETCH RELATIVE 2 FROM c", "2 =1"),
        ("FETCH ABSOLUTE 9 FROM c", "9 =1"),
        ("FETCH ABSOLUTE -2 FROM c", "9 =1"),
        ("MOVE BACKWARD 4 IN c", "=4"),
        ("FETCH FORWARD FROM c", "6 =1"),
        ("FETCH ALL FROM c", "7 8 9 10 =4"),
        ("FETCH c", "=0"),
        ("FETCH LAST FROM c", "10 =1"),
        ("FETCH -3 FROM c", "9 8 7 =3"),
        ("FETCH FIRST FROM c", "1 =1"),
        ("MOVE FORWARD ALL FROM c", "=9"),
        ("FETCH ABSOLUTE 99 FROM c", "=0"),
        ("FETCH BACKWARD 1 FROM c", "10 =1"),
        ("CLOSE c", "=0"),
    ] {
        assert_eq!(said(&mut client, statement), expected, "{statement}");
    }
    assert_eq!(said(&mut client, "FETCH c"), "34000");
}

#[test]
fn cursors_end_with_their_transactions_unless_they_hold() {
    let (_server, mut client) = begin();
    assert_eq!(said(&mut client, "DECLARE c CURSOR FOR SELECT 1"), "25P01");
    client.batch_execute("DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t").expect("it holds");
    client.batch_execute("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t").expect("it is a block");
    assert_eq!(said(&mut client, "DECLARE c CURSOR FOR SELECT 1"), "42P03");
    client.batch_execute("ROLLBACK").expect("it is a block");
    assert_eq!(said(&mut client, "FETCH c"), "34000");
    assert_eq!(said(&mut client, "FETCH 2 FROM h"), "1 2 =2");
    // What is changed behind it is not seen by it.
    client.batch_execute("DELETE FROM t WHERE id = 3").expect("it is right");
    assert_eq!(said(&mut client, "FETCH 1 FROM h"), "3 =1");
    assert_eq!(said(&mut client, "CLOSE ALL"), "=0");
    assert_eq!(said(&mut client, "FETCH h"), "34000");
    assert_eq!(said(&mut client, "DECLARE c CURSOR WITH HOLD FOR DELETE FROM t"), "42601");
    assert_eq!(said(&mut client, "FETCH SIDEWAYS 3 FROM h"), "42601");
}

#[test]
fn cursors_take_parameters_and_give_binary_rows() {
    let (_server, mut client) = begin();
    let mut transaction = client.transaction().expect("it begins");
    let declare = "DECLARE c CURSOR FOR SELECT id, name FROM t WHERE id > $1 ORDER BY id";
    transaction.execute(declare, &[&7_i32]).expect("it takes the parameter of its query");
    let rows = transaction.query("FETCH FORWARD 2 FROM c", &[]).expect("it is there");
    let rows: Vec<(i32, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, [(8, "row 8".to_owned()), (9, "row 9".to_owned())]);
    let rest = transaction.query("FETCH ALL FROM c", &[]).expect("it is there");
    assert_eq!(rest.len(), 1);
    transaction.execute("CLOSE c", &[]).expect("it is there");
    transaction.commit().expect("it is open");
}
