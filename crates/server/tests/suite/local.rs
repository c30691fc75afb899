//! The socket in a directory: who finds it, who may have it, what it asks for.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::running::Running;
use hotrow::{Config, Database};
use hotrow_server::{Plain, Server, ServerError, ServerOptions, TlsIdentity};
use postgres::{Client, NoTls};

/// A directory that is gone with its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotrow-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("it can be made");
        Self(path)
    }

    fn options(&self) -> ServerOptions {
        ServerOptions { socket_directory: Some(self.0.clone()), ..ServerOptions::default() }
    }

    fn socket(&self, server: &Running) -> PathBuf {
        self.0.join(format!(".s.PGSQL.{}", server.address.port()))
    }

    fn connect(&self, server: &Running, password: &str) -> Result<Client, postgres::Error> {
        let mut config = Client::configure();
        config.host_path(&self.0).port(server.address.port()).user("ann").dbname("app");
        config.password(password).connect(NoTls)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is there");
    }
}

fn listen(directory: &Path, port: u16) -> Result<Server, ServerError> {
    let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
    let address = ([127, 0, 0, 2], port).into();
    let socket_directory = Some(directory.to_owned());
    Server::bind(db, ServerOptions { address, socket_directory, ..ServerOptions::default() })
}

#[test]
fn clients_come_by_the_network_and_by_the_socket() {
    let scratch = Scratch::new("local");
    let server = Running::start(scratch.options());
    let mut near = scratch.connect(&server, "").expect("it listens");
    let mut far = server.client();
    near.batch_execute("CREATE TABLE t (id bigint PRIMARY KEY)").expect("it is new");
    far.batch_execute("INSERT INTO t VALUES (1)").expect("it is there");
    assert_eq!(near.query("SELECT id FROM t", &[]).expect("it is there").len(), 1);
    // A cancel request comes by the same way.
    let token = near.cancel_token();
    let sleeper = std::thread::spawn(move || near.batch_execute("SELECT pg_sleep(3600)"));
    while !sleeper.is_finished() {
        token.cancel_query(NoTls).expect("it is taken");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let error = sleeper.join().expect("it ends well").expect_err("cancelled");
    assert_eq!(error.code().map(|code| code.code()), Some("57014"));
    let mode = fs::metadata(scratch.socket(&server)).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o777, "who may enter the directory may connect");
}

#[test]
fn a_socket_asks_for_passwords_and_for_no_encryption() {
    let scratch = Scratch::new("local-passwords");
    let own = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a name");
    let (certificates, key) = (own.cert.pem().into(), own.signing_key.serialize_pem().into());
    let tls = Some(TlsIdentity { certificates, key });
    let server = Running::start(ServerOptions { tls, plain: Plain::Nobody, ..scratch.options() });
    assert!(server.try_client().is_err(), "the network must be encrypted");
    let mut client = scratch.connect(&server, "").expect("nobody is on the way");
    client.batch_execute("CREATE USER ann PASSWORD 'pencil'").expect("it is new");
    let error = scratch.connect(&server, "pen").map(drop).expect_err("it is wrong");
    assert_eq!(error.code().map(|code| code.code()), Some("28P01"));
    scratch.connect(&server, "pencil").expect("it is hers");
}

#[test]
fn one_server_has_a_socket_and_what_a_killed_one_left_is_taken_away() {
    let scratch = Scratch::new("local-names");
    let server = Running::start(scratch.options());
    let (socket, port) = (scratch.socket(&server), server.address.port());
    let error = listen(&scratch.0, port).map(drop).expect_err("it is taken");
    let ServerError::Socket { path, error } = error else { panic!("{error}") };
    assert_eq!((path, error.kind()), (socket.clone(), io::ErrorKind::AddrInUse));
    scratch.connect(&server, "").expect("it is still the first one's");
    drop(server);
    assert!(!socket.exists(), "it goes with its server");
    // A socket that nobody listens on any more, as a server leaves it that was killed.
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("it is free"));
    UnixStream::connect(&socket).expect_err("nobody listens");
    let second = listen(&scratch.0, port).expect("its name is taken over");
    assert_eq!(second.socket(), Some(socket.as_path()));
    UnixStream::connect(&socket).expect("it listens");
}

#[test]
fn a_socket_that_cannot_be_says_why() {
    let scratch = Scratch::new("local-errors");
    let told =
        |directory: &Path| listen(directory, 0).map(drop).expect_err("it cannot").to_string();
    let missing = told(&scratch.0.join("missing"));
    assert!(missing.contains("missing/.s.PGSQL."), "{missing}");
    assert!(missing.contains("No such file"), "{missing}");
    let long = told(&scratch.0.join("x".repeat(100)));
    assert!(long.contains("longer than 103 bytes"), "{long}");
}

#[test]
fn half_a_message_on_a_socket_ends_with_its_client() {
    let scratch = Scratch::new("local-halves");
    let server = Running::start(scratch.options());
    for cut in 0..8 {
        let mut stream = UnixStream::connect(scratch.socket(&server)).expect("it listens");
        stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47][..cut]).expect("it reads");
        stream.shutdown(std::net::Shutdown::Write).expect("it is there");
        assert_eq!(stream.read(&mut [0; 8]).expect("it is closed"), 0, "after {cut} bytes");
    }
    scratch.connect(&server, "").expect("others are let in");
}
