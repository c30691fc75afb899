//! A server on a free port, in this process.

pub mod raw;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use hotrow::{Config, Database};
use hotrow_base::thread::{JoinHandle, ThreadOptions};
use hotrow_server::{Server, ServerOptions, Stopper};
use postgres::{Client, NoTls};

/// A server that runs until it is dropped.
pub struct Running {
    pub address: SocketAddr,
    #[allow(dead_code, reason = "not all tests ask")]
    pub http: Option<SocketAddr>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts one, on a port of its own.
    #[allow(dead_code, reason = "not all tests do")]
    pub fn start(options: ServerOptions) -> Self {
        Self::start_with(Config::default(), options)
    }

    /// As [`Running::start`], with a database that is configured so.
    pub fn start_with(config: Config, options: ServerOptions) -> Self {
        let config = config.threads(2).memory_bytes(256 << 20);
        Self::serve(Database::open_in_memory(config).expect("it opens"), options)
    }

    /// As [`Running::start`], of a database.
    pub fn serve(db: Database, options: ServerOptions) -> Self {
        let options = ServerOptions { address: ([127, 0, 0, 1], 0).into(), ..options };
        let server = Server::bind(db, options).expect("a port is free");
        let (address, http) = (server.address(), server.http_address());
        let stopper = server.stopper();
        let thread = ThreadOptions::named("server").spawn(|| server.run());
        Self { address, http, stopper, thread: Some(thread.expect("there is room for a thread")) }
    }

    /// How many connections it has now; it has to be started with [`ServerOptions::http`].
    #[allow(dead_code, reason = "not all tests ask")]
    pub fn connections(&self) -> usize {
        let mut stream = TcpStream::connect(self.http.expect("it answers")).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: hotrow\r\n\r\n").expect("it reads");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("it is text");
        let found = page.lines().find_map(|line| line.strip_prefix("hotrow_connections "));
        found.and_then(|figure| figure.parse().ok()).expect("it is told")
    }

    /// Asks it to stop, and goes on.
    #[allow(dead_code, reason = "not all tests ask")]
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// A client of it.
    #[allow(dead_code, reason = "not all tests talk through a driver")]
    pub fn client(&self) -> Client {
        self.try_client().expect("it is let in")
    }

    /// A client of it, if it is let in.
    #[allow(dead_code, reason = "not all tests talk through a driver")]
    pub fn try_client(&self) -> Result<Client, postgres::Error> {
        let port = self.address.port();
        Client::connect(&format!("host=127.0.0.1 port={port} user=tester dbname=app"), NoTls)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it ends well");
        }
    }
}
