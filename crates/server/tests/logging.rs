//! What is written to the log: structured, and no secret in it.

mod running;

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hotrow::Config;
use hotrow_server::ServerOptions;
use postgres::{Client, NoTls};
use running::Running;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("nobody panics").clone()).expect("it is text")
    }

    /// Waits for a line with all of these parts.
    fn wait_for(&self, parts: &[&str]) -> String {
        for _ in 0..1000 {
            let text = self.text();
            if let Some(line) =
                text.lines().find(|line| parts.iter().all(|part| line.contains(part)))
            {
                return line.to_owned();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no line has {parts:?}: {}", self.text());
    }
}

#[test]
fn events_are_lines_of_json_without_secrets() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(writer)
        .init();
    let config = Config::default().slow_statement(Some(Duration::from_millis(100)));
    let server = Running::start_with(config, ServerOptions::default());
    let mut client = server.client();
    lines.wait_for(&["\"level\":\"DEBUG\"", "a session begins", "\"is_encrypted\":false"]);
    client.batch_execute("SELECT 1; SELECT pg_sleep(0.15), 'its text is told'").expect("slow");
    let slow = lines.wait_for(&["\"level\":\"WARN\"", "a slow statement", "its text is told"]);
    assert!(slow.contains("\"user\":\"tester\"") && slow.contains("\"ms\":1"), "{slow}");
    assert!(!lines.text().contains("SELECT 1"), "that was none");
    client.batch_execute("CREATE USER ann PASSWORD 'correct horse'").expect("she is new");
    let raise = "DO $$ BEGIN RAISE LOG 'the till is %', 'open'; RAISE NOTICE 'no news'; END $$";
    client.batch_execute(raise).expect("it may speak");
    let raised = lines.wait_for(&["\"level\":\"INFO\"", "LOG was raised", "the till is open"]);
    assert!(raised.contains("\"user\":\"tester\"") && !lines.text().contains("no news"));
    let port = server.address.port();
    let mut config = Client::configure();
    config.host("127.0.0.1").port(port).user("ann").password("battery staple");
    config.connect(NoTls).map(drop).expect_err("it is not hers");
    let failed = lines.wait_for(&["\"level\":\"WARN\"", "has not proved its password"]);
    assert!(failed.contains("\"user\":\"ann\"") && failed.contains("\"from\":\"127.0.0.1:"));
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    stream.write_all(&[0, 0, 0, 4]).expect("it reads");
    lines.wait_for(&["\"level\":\"WARN\"", "a client is cut off", "startup packet"]);
    drop(client);
    lines.wait_for(&["\"level\":\"DEBUG\"", "a client has gone"]);
    let text = lines.text();
    for secret in ["correct horse", "battery staple", "SCRAM-SHA-256$"] {
        assert!(!text.contains(secret), "{secret} is told");
    }
}
