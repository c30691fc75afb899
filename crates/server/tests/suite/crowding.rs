//! Those who come and say nothing, those who are too many, and those who guess.

use std::io::Read;
use std::net::TcpStream;

use crate::running::Running;
use crate::running::raw::PATIENCE;
use hotrow_server::ServerOptions;
use postgres::{Client, NoTls};

/// All that a silent client is told until its connection is closed.
fn told(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).expect("it is open");
    let mut said = Vec::new();
    stream.read_to_end(&mut said).expect("it is closed in order, not reset");
    String::from_utf8_lossy(&said).into_owned()
}

fn connect(server: &Running, user: &str, password: &str) -> Result<Client, postgres::Error> {
    let mut config = Client::configure();
    config.host("127.0.0.1").port(server.address.port()).user(user).password(password);
    config.connect(NoTls)
}

fn refusal(refused: Result<Client, postgres::Error>) -> (String, String) {
    let error = refused.map(drop).expect_err("it is refused");
    let error = error.as_db_error().expect("the server says why");
    (error.code().code().to_owned(), error.message().to_owned())
}

#[test]
fn silent_connections_keep_nobody_out_and_the_oldest_are_told() {
    let options =
        ServerOptions { half_open_max: 4, connections_max: 4, ..ServerOptions::default() };
    let server = Running::start(options);
    let mut first = server.client();
    let mut silent: Vec<_> = (0..40)
        .map(|_| TcpStream::connect(server.address).expect("it waits to be accepted at least"))
        .collect();
    let mut second = server.client();
    for client in [&mut first, &mut second] {
        client.batch_execute("SELECT 1").expect("it has a session");
    }
    let left = silent.split_off(silent.len() - 4);
    for stream in silent {
        let said = told(stream);
        assert!(said.starts_with('E') && said.contains("C53300"), "{said:?}");
    }
    drop(left);
}

#[test]
fn administrators_get_in_where_others_are_refused() {
    let options =
        ServerOptions { connections_max: 8, reserved_connections: 2, ..ServerOptions::default() };
    let server = Running::start(options);
    let _others: Vec<_> = (0..6).map(|_| server.client()).collect();
    let (code, message) = refusal(server.try_client());
    assert_eq!(code, "53300");
    assert!(message.contains("reserved for administrators"), "{message}");
    let _administrators = [0, 1].map(|_| connect(&server, "postgres", "").expect("it is one"));
    let (code, message) = refusal(connect(&server, "postgres", ""));
    assert_eq!((code.as_str(), message.as_str()), ("53300", "sorry, too many clients already"));
}

#[test]
fn who_guesses_has_to_wait_and_other_users_do_not() {
    let server = Running::start(ServerOptions::default());
    let make = "CREATE USER ann PASSWORD 'pencil'; CREATE USER bob PASSWORD 'paper'";
    server.client().batch_execute(make).expect("they are new");
    let guesses = (0..40).map(|n| refusal(connect(&server, "ann", &format!("guess {n}"))));
    let (checked, refused): (Vec<_>, Vec<_>) = guesses.partition(|(code, _)| code == "28P01");
    assert!(checked.len() < 20, "{} guesses were checked", checked.len());
    for (code, message) in &refused {
        assert_eq!(code, "28000");
        assert!(message.contains("too many failed logins of user \"ann\""), "{message}");
    }
    connect(&server, "bob", "paper").expect("he has not guessed");
}

#[test]
fn nobody_is_asked_where_that_is_wanted() {
    let server = Running::start(ServerOptions { asks_nobody: true, ..ServerOptions::default() });
    server.client().batch_execute("CREATE USER ann PASSWORD 'pencil'").expect("she is new");
    server.client().batch_execute("SELECT 1").expect("nobody is asked");
}
