//! Scripts and pipelines, message by message: what is one transaction, and what is said of it.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::running::Running;
use hotrow_server::ServerOptions;
use postgres::Client;

pub const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
CREATE FUNCTION add(which int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN INSERT INTO t VALUES (which, 0); RETURN which; END $$;";

/// A connection that says exactly what it is told to.
pub struct Raw(pub TcpStream);

/// Messages to be sent together.
#[derive(Default)]
pub struct Messages(Vec<u8>);

impl Messages {
    pub fn message(mut self, kind: u8, body: &[u8]) -> Self {
        self.0.push(kind);
        self.0.extend((body.len() as i32 + 4).to_be_bytes());
        self.0.extend(body);
        self
    }

    /// Parse, Bind and Execute of a statement without parameters.
    pub fn execute(self, text: &str) -> Self {
        let parse = [b"\0", text.as_bytes(), b"\0\0\0"].concat();
        self.message(b'P', &parse).message(b'B', &[0; 8]).message(b'E', &[0; 5])
    }

    pub fn sync(self) -> Self {
        self.message(b'S', b"")
    }

    fn flush(self) -> Self {
        self.message(b'H', b"")
    }
}

impl Raw {
    pub fn connect(server: &Running) -> Self {
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        let body = b"\0\x03\0\0user\0tester\0\0";
        stream.write_all(&(body.len() as i32 + 4).to_be_bytes()).expect("it reads");
        stream.write_all(body).expect("it reads");
        let mut raw = Self(stream);
        raw.answer();
        raw
    }

    pub fn send(&mut self, messages: &Messages) {
        self.0.write_all(&messages.0).expect("it reads");
    }

    /// Kinds of the messages up to ReadyForQuery, of it its state too; of errors their codes.
    pub fn answer(&mut self) -> String {
        let mut said = String::new();
        loop {
            let (kind, body) = self.message();
            match kind {
                b'E' => {
                    let fields = body.split(|byte| *byte == 0);
                    let code = fields.filter_map(|field| field.strip_prefix(b"C")).next();
                    let code = code.expect("an error has a code");
                    said += &format!("E{} ", String::from_utf8_lossy(code));
                }
                b'Z' => return said + &format!("Z{}", body[0] as char),
                kind => said.push(kind as char),
            }
        }
    }

    pub fn message(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.0.read_exact(&mut head).expect("it answers");
        let length = i32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.0.read_exact(&mut body).expect("it answers");
        (head[0], body)
    }
}

fn begin() -> (Running, Client, Raw) {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client.batch_execute(TABLES).expect("it is right");
    let raw = Raw::connect(&server);
    (server, client, raw)
}

fn ids(client: &mut Client) -> Vec<i32> {
    let rows = client.query("SELECT id FROM t ORDER BY id", &[]).expect("it is right");
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn what_is_executed_up_to_a_sync_is_one_transaction() {
    let (_server, mut client, mut raw) = begin();
    let insert = |id: i32| format!("INSERT INTO t VALUES ({id}, 0)");
    raw.send(&Messages::default().execute(&insert(1)).execute(&insert(2)).sync());
    assert_eq!(raw.answer(), "12C12CZI");
    assert_eq!(ids(&mut client), [1, 2]);
    let failing = Messages::default().execute(&insert(3)).execute(&insert(1)).execute(&insert(4));
    raw.send(&failing.sync().execute(&insert(5)).sync());
    assert_eq!(raw.answer(), "12C12E23505 ZI");
    assert_eq!(raw.answer(), "12CZI");
    assert_eq!(ids(&mut client), [1, 2, 5]);
    // An error that no statement makes takes it back, too.
    raw.send(&Messages::default().execute(&insert(6)).execute("SELECT nobody").sync());
    assert_eq!(raw.answer(), "12CE42703 ZI");
    assert_eq!(ids(&mut client), [1, 2, 5]);
    // A block that is begun in it outlives it.
    raw.send(&Messages::default().execute(&insert(7)).execute("BEGIN").execute(&insert(8)).sync());
    assert_eq!(raw.answer(), "12C12C12CZT");
    raw.send(&Messages::default().execute("ROLLBACK").sync());
    assert_eq!(raw.answer(), "12CZI");
    assert_eq!(ids(&mut client), [1, 2, 5]);
}

#[test]
fn a_flush_is_answered_before_the_sync() {
    let (_server, mut client, mut raw) = begin();
    raw.send(&Messages::default().execute("INSERT INTO t VALUES (1, 0)").flush());
    for kind in *b"12C" {
        assert_eq!(raw.message().0, kind);
    }
    raw.send(&Messages::default().execute("INSERT INTO t VALUES (1, 0)").sync());
    assert_eq!(raw.answer(), "12E23505 ZI");
    assert_eq!(ids(&mut client), [] as [i32; 0], "it was one transaction all the same");
    // A Sync that comes in pieces ends the statement that waits for it.
    let mut messages = Messages::default().execute("INSERT INTO t VALUES (2, 0)").sync();
    let last = messages.0.split_off(messages.0.len() - 3);
    raw.send(&messages);
    raw.send(&Messages(last));
    assert_eq!(raw.answer(), "12CZI");
    assert_eq!(ids(&mut client), [2]);
}

#[test]
fn calls_in_a_pipeline_are_planned_each_by_itself() {
    let (_server, mut client, mut raw) = begin();
    let calls = Messages::default().execute("SELECT add(1)").execute("SELECT add(2)");
    raw.send(&calls.execute("SELECT add(1)").sync());
    assert_eq!(raw.answer(), "12DC12DC12E23505 ZI");
    assert_eq!(ids(&mut client), [1, 2], "those before the one that failed stay");
    let after = Messages::default().execute("INSERT INTO t VALUES (3, 0)").execute("SELECT add(4)");
    raw.send(&after.execute("SELECT add(1)").sync());
    assert_eq!(raw.answer(), "12C12DC12E23505 ZI");
    assert_eq!(ids(&mut client), [1, 2], "behind a statement they belong to its transaction");
}

#[test]
fn a_connection_that_ends_in_a_pipeline_leaves_nothing() {
    let (_server, mut client, mut raw) = begin();
    raw.send(&Messages::default().execute("INSERT INTO t VALUES (1, 0)").flush());
    for kind in *b"12C" {
        assert_eq!(raw.message().0, kind);
    }
    drop(raw);
    // Waits for the lock, which goes with the connection.
    client.execute("INSERT INTO t VALUES (1, 7)", &[]).expect("the other one is gone");
    assert_eq!(ids(&mut client), [1]);
}

#[test]
fn a_script_is_one_transaction_up_to_a_definition() {
    let (_server, mut client, _raw) = begin();
    let failing = "INSERT INTO t VALUES (1, 0); INSERT INTO t VALUES (2, 0); SELECT 1/0";
    client.simple_query(failing).expect_err("it divides by zero");
    assert_eq!(ids(&mut client), [] as [i32; 0]);
    let mixed = "INSERT INTO t VALUES (1, 0); CREATE TABLE u (id int PRIMARY KEY);
        INSERT INTO t VALUES (2, 0); SELECT 1/0";
    client.simple_query(mixed).expect_err("it divides by zero");
    assert_eq!(ids(&mut client), [1]);
    client.simple_query("BEGIN; INSERT INTO t VALUES (3, 0)").expect("it is right");
    client.simple_query("INSERT INTO t VALUES (4, 0); COMMIT").expect("it is right");
    assert_eq!(ids(&mut client), [1, 3, 4]);
    let copied = "COPY t FROM STDIN";
    let mut writer = client.copy_in(copied).expect("it is right");
    writer.write_all(b"5\t0\n6\t0\n").expect("it is taken");
    assert_eq!(writer.finish().expect("they are rows"), 2);
    assert_eq!(ids(&mut client), [1, 3, 4, 5, 6]);
}

#[test]
fn parameters_are_described_as_they_were_named() {
    let (_server, _client, mut raw) = begin();
    // varchar, and one that is left open.
    let parse = b"s\0SELECT n FROM t WHERE $1 = 'x' AND id = $2\0\0\x02\0\0\x04\x13\0\0\0\0";
    raw.send(&Messages::default().message(b'P', parse).message(b'D', b"Ss\0").sync());
    assert_eq!(raw.message().0, b'1');
    let (kind, body) = raw.message();
    assert_eq!((kind, body.as_slice()), (b't', &b"\0\x02\0\0\x04\x13\0\0\0\x17"[..]));
    assert_eq!(raw.answer(), "TZI");
    // void stands for what a call returns, and is no argument.
    let call = b"v\0SELECT * FROM add($1, $2) AS result\0\0\x02\0\0\x08\xe6\0\0\0\x17";
    let bind = b"\0v\0\0\0\0\x02\xff\xff\xff\xff\0\0\0\x0241\0\0";
    let messages = Messages::default().message(b'P', call).message(b'B', bind);
    raw.send(&messages.message(b'E', &[0; 5]).sync());
    assert_eq!(raw.answer(), "12DCZI");
    // Nothing but a comment is nothing.
    raw.send(&Messages::default().execute("-- nothing\n/* at all */").sync());
    assert_eq!(raw.answer(), "12IZI");
}

#[test]
fn a_text_that_is_parsed_again_is_what_it_would_be_anew() {
    let (_server, mut client, mut raw) = begin();
    let mut said = |text: &str| {
        raw.send(&Messages::default().execute(text).sync());
        raw.answer()
    };
    let read = "SELECT * FROM t WHERE id = 1";
    client.batch_execute("INSERT INTO t VALUES (1, 10)").expect("it is right");
    for _ in 0..2 {
        assert_eq!([said("BEGIN"), said(read), said("COMMIT")], ["12CZT", "12DCZT", "12CZI"]);
    }
    // In a failed transaction, and after definitions.
    assert_eq!([said("BEGIN"), said("SELECT 1/0")], ["12CZT", "12E22012 ZE"]);
    assert_eq!([said(read), said("COMMIT"), said(read)], ["E25P02 ZE", "12CZI", "12DCZI"]);
    client.batch_execute("ALTER TABLE t ADD COLUMN more int DEFAULT 5").expect("it is right");
    assert_eq!(said(read), "12DCZI", "columns that it has now");
    client.batch_execute("DROP FUNCTION add; DROP TABLE t").expect("it is right");
    assert_eq!([said(read), said("COMMIT")], ["E42P01 ZI", "12NCZI"]);
    // More of them than are kept.
    for turn in 0..60 {
        assert_eq!(said(&format!("SELECT {}", turn % 20)), "12DCZI");
    }
}
