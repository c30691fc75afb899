//! Who is let in: anybody as long as nobody has a password, then who proves one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::running::Running;
use hotrow_server::ServerOptions;
use postgres::{Client, NoTls};

fn connect(server: &Running, user: &str, password: Option<&str>) -> Result<Client, String> {
    let port = server.address.port();
    let mut config = Client::configure();
    config.host("127.0.0.1").port(port).user(user).dbname("app");
    if let Some(password) = password {
        config.password(password);
    }
    config.connect(NoTls).map_err(|error| match error.as_db_error() {
        Some(error) => format!("{} {}", error.code().code(), error.message()),
        None => error.to_string(),
    })
}

#[test]
fn the_first_password_closes_the_door_to_all_others() {
    let server = Running::start(ServerOptions::default());
    let mut client = connect(&server, "anybody", None).expect("nobody has a password");
    client.batch_execute("CREATE USER ann SUPERUSER").expect("it is new");
    connect(&server, "anybody", None).expect("she has no password");
    client.batch_execute("ALTER USER ann PASSWORD 'pencil \u{b9}'").expect("it is there");
    let mut ann = connect(&server, "ann", Some("pencil \u{b9}")).expect("it is hers");
    let user: String = ann.query_one("SELECT current_user", &[]).expect("it is right").get(0);
    assert_eq!(user, "ann");
    // As both normal forms of it are one password (RFC 4013).
    connect(&server, "ann", Some("pencil 1")).expect("it is the same");
    let refused = |user, password: &str| {
        let told = connect(&server, user, Some(password)).map(drop).expect_err("it is wrong");
        assert!(!told.contains(password), "{told}");
        told.replace(user, "X")
    };
    let wrong = refused("ann", "pen");
    assert_eq!(wrong, "28P01 password authentication failed for user \"X\"");
    assert_eq!(refused("nobody", "pencil 1"), wrong, "it is not told whether there is such a user");
    ann.batch_execute("CREATE USER bob SUPERUSER").expect("it is new");
    assert_eq!(refused("bob", "pen"), wrong, "nor whether it has a password");
    assert!(connect(&server, "ann", None).is_err());
    client.batch_execute("SELECT 1").expect("who was let in stays");
    // A password that is changed or taken away is good no more.
    ann.batch_execute("ALTER USER bob PASSWORD 'b'; ALTER USER ann PASSWORD 'other'").expect("set");
    assert_eq!(refused("ann", "pencil 1"), wrong);
    connect(&server, "ann", Some("other")).expect("it is hers");
    let mut bob = connect(&server, "bob", Some("b")).expect("it is his");
    bob.batch_execute("DROP USER ann").expect("she is there");
    assert_eq!(refused("ann", "other"), wrong);
}

/// Sends bytes behind a startup packet, reads what comes until the end.
fn answers(server: &Running, messages: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(server.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("it can be set");
    let parameters = b"user\0ann\0\0";
    let mut packet = Vec::new();
    packet.extend_from_slice(&(8 + parameters.len() as u32).to_be_bytes());
    packet.extend_from_slice(&196_608_u32.to_be_bytes());
    packet.extend_from_slice(parameters);
    messages.iter().for_each(|message| packet.extend_from_slice(message));
    stream.write_all(&packet).expect("it reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], length.as_slice(), body].concat()
}

fn sasl(mechanism: &str, first: &str) -> Vec<u8> {
    let length = (first.len() as u32).to_be_bytes();
    message(b'p', &[mechanism.as_bytes(), b"\0", &length, first.as_bytes()].concat())
}

#[test]
fn whoever_proves_nothing_gets_nothing() {
    let server = Running::start(ServerOptions::default());
    let mut client = server.client();
    client.batch_execute("CREATE USER ann PASSWORD 'pencil'").expect("it is new");
    let query = message(b'Q', b"SELECT 1\0");
    let first = sasl("SCRAM-SHA-256", "n,,n=,r=abc");
    let wrong: &[&[&[u8]]] = &[
        &[&query],
        &[&message(b'p', b"pencil\0")],
        &[&message(b'p', b"")],
        &[&sasl("SCRAM-SHA-1", "n,,n=,r=abc")],
        &[&sasl("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=abc")],
        &[&sasl("SCRAM-SHA-256", "nonsense")],
        &[&first, &query],
        &[&first, &message(b'p', b"c=biws,r=abc,p=")],
        &[&message(b'p', &[b'x'; 5000])],
        &[&[b'p', 0x7f, 0xff, 0xff, 0xff]],
    ];
    for messages in wrong {
        let told = answers(&server, messages);
        assert!(told.contains("FATAL"), "{messages:?}: {told}");
        assert!(told.contains("08P01"), "{messages:?}: {told}");
        // No session: neither AuthenticationOk nor ReadyForQuery.
        assert!(!told.contains("R\0\0\0\x08\0\0\0\0") && !told.contains("Z\0\0\0\x05"), "{told}");
    }
    client.batch_execute("SELECT 1").expect("the server goes on");
}
