//! The server: who is connected, how many may be, and how all are let go.
//!
//! Role         one thread accepts, one thread per connection talks
//! States       a connection: half-open (nobody is known yet) -> session, or refused -> gone
//! Invariants   I1 who stops the server ends nobody in the middle of a statement: connections stop
//!                 reading, finish what they are at, say good-bye, and only those that are still
//!                 there after a while are cut off
//!              I2 a statement is cancelled by who knows the secret of its connection; nobody is
//!                 told whether he did
//!              I3 whoever is refused is told why, and gets to read it: nothing is closed on what a
//!                 client has sent and nobody has read
//! Concurrency  `connections` -> latched by who comes, who goes, who cancels and who stops

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use hotrow::{Canceller, Database, SqlError};
use hotrow_base::clock::Ticks;
use hotrow_base::panics::contained;
use hotrow_base::sync::Latch;
use hotrow_base::thread::{self, ThreadOptions};
use rand::TryRngCore;
use rand::rngs::OsRng;
use socket2::Socket;
use tracing::{debug, info, warn};

use crate::attempts::Attempts;
use crate::connection::{Ended, Idle, Incoming, Outgoing};
use crate::conversation::{Conversation, Goes};
use crate::frontend::{Frontend, Malformed};
use crate::http::{Answer, Answers, Http, Status};
use crate::listening::{Listening, Origin};
use crate::metrics::{self, ConnectionFigures, Counts};
use crate::places::{HalfOpen, Keepalive, Places, one_too_many};
use crate::report::{Severity, response};
use crate::startup::{self, Caller, Door, Start, refuse};
use crate::tls::{Tls, TlsIdentity};

/// How a server serves.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// where it listens; port 0: any that is free
    pub address: SocketAddr,
    /// a directory with a socket for programs of this machine, `.s.PGSQL.` and the port's number;
    /// none: they come over the network, too
    pub socket_directory: Option<PathBuf>,
    /// sessions at a time
    pub connections_max: usize,
    /// of them those that only `administrators` get; a quarter at most
    pub reserved_connections: usize,
    /// users who get the reserved ones
    pub administrators: Vec<String>,
    /// connections at a time that have not begun a session; they are beside those that have
    pub half_open_max: usize,
    /// how silent connections are asked whether there is anybody any more
    pub keepalive: Keepalive,
    /// nobody is asked for a password, though users have some: on the server's own machine only
    pub asks_nobody: bool,
    /// bytes of one message of a client: a statement, or a statement's values
    pub message_bytes_max: usize,
    /// how long a client may take to begin a session
    pub startup_patience: Duration,
    /// how long a client may leave an answer unread before its connection is cut off
    pub send_patience: Duration,
    /// how long connections may take to finish when the server stops
    pub drain_patience: Duration,
    /// what to encrypt with; none: nothing is encrypted
    pub tls: Option<TlsIdentity>,
    /// who may do without encryption
    pub plain: Plain,
    /// where /metrics, /live and /ready are answered, without passwords; none: nowhere
    pub http: Option<SocketAddr>,
}

/// Who may do without encryption.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Plain {
    /// nobody
    Nobody,
    /// who comes from the server's own machine
    #[default]
    OwnMachine,
    /// anybody: whoever is on the way reads all, and may change it
    Anybody,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 5433)),
            socket_directory: None,
            connections_max: 100,
            reserved_connections: 3,
            administrators: vec!["postgres".to_owned(), "hotrow".to_owned()],
            half_open_max: 128,
            keepalive: Keepalive::default(),
            asks_nobody: false,
            message_bytes_max: 16 << 20,
            startup_patience: Duration::from_secs(10),
            send_patience: Duration::from_secs(60),
            drain_patience: Duration::from_secs(10),
            tls: None,
            plain: Plain::default(),
            http: None,
        }
    }
}

impl ServerOptions {
    /// Refuses to let others than programs of this machine in without passwords and encryption.
    fn check(&self, db: &Database) -> Result<(), ServerError> {
        if self.plain == Plain::Nobody && self.tls.is_none() {
            return Err(ServerError::NoCertificate);
        }
        if self.address.ip().is_loopback() {
            let nobody_can = db.asks_for_passwords() && !db.has_passwords() && !self.asks_nobody;
            return if nobody_can { Err(ServerError::NobodyCanLogIn) } else { Ok(()) };
        }
        if self.asks_nobody {
            return Err(ServerError::AsksNobody(self.address));
        }
        if !db.has_passwords() {
            return Err(ServerError::NoPassword(self.address));
        }
        if self.tls.is_none() && self.plain != Plain::Anybody {
            return Err(ServerError::NoEncryption(self.address));
        }
        Ok(())
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// anybody who reaches the address could read and change everything
    #[error(
        "refusing to listen on {0}, which others than this machine may reach, because no user has \
         a password; make one: CREATE USER name PASSWORD '...', or hotrow serve --user"
    )]
    NoPassword(SocketAddr),
    /// anybody on the way could
    #[error(
        "refusing to listen on {0}, which others than this machine may reach, without encryption; \
         give a certificate and its key: hotrow serve --tls-cert, --tls-key"
    )]
    NoEncryption(SocketAddr),
    /// anybody who reaches the address could read and change everything
    #[error(
        "refusing to listen on {0}, which others than this machine may reach, without asking for \
         passwords (insecure_no_passwords)"
    )]
    AsksNobody(SocketAddr),
    /// a database stays closed once a user had a password
    #[error(
        "users of this database had passwords, so nobody is let in without one, and no user has \
         one \
         now; give one a password (hotrow serve --user NAME, with HOTROW_PASSWORD or \
         --password-file), or let in every program of this machine: --insecure-no-passwords"
    )]
    NobodyCanLogIn,
    /// the log would be the next to find none left
    #[error(
        "this process may have {0} files open, too few for connections beside the log: raise the \
         limit (ulimit -n, LimitNOFILE)"
    )]
    Descriptors(u64),
    /// nobody could connect
    #[error("nobody may do without encryption, and there is no certificate to encrypt with")]
    NoCertificate,
    /// certificate or key
    #[error("TLS: {0}")]
    Tls(String),
    /// the system says no
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// where
        address: SocketAddr,
        /// why
        error: io::Error,
    },
    /// the system says no
    #[error("cannot listen on the socket {}: {error}", path.display())]
    Socket {
        /// where
        path: PathBuf,
        /// why
        error: io::Error,
    },
    /// the system gives no random numbers, which secrets are made of
    #[error("the system gives no random numbers")]
    Random,
    /// the database says no
    #[error(transparent)]
    Database(hotrow::Error),
}

/// A database behind a socket.
pub struct Server {
    listening: Listening,
    shared: Arc<Shared>,
    http: Option<Http>,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct Stopper {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    door: Door,
    options: ServerOptions,
    places: Places,
    stopping: AtomicBool,
    next: AtomicI32,
    refused: AtomicU64,
    /// the second, since the start, in which it was last told that clients are refused
    told: AtomicU64,
    started: Ticks,
    logins_failed: AtomicU64,
    connections: Latch<HashMap<i32, Connection>>,
}

/// What others than its own thread may want of a connection.
struct Connection {
    stream: Arc<Socket>,
    /// that of its cancel requests; none before it has a session
    keys: Option<(i32, Canceller)>,
    /// somebody had it ended
    is_terminated: bool,
    /// it has a session
    is_session: bool,
    /// it has to make room for somebody who came later
    is_crowded_out: bool,
    address: Option<IpAddr>,
}

/// How long the thread that accepts rests when the system has no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Between two looks at whether one of too many connections has gone.
const CROWD_PAUSE: Duration = Duration::from_millis(1);
/// How long a client may take to read why it was refused or cut off (I3).
const READING_PATIENCE: Duration = Duration::from_secs(1);
/// How long the end of a connection follows the error that tells of it.
const END_FOLLOWS_AFTER: Duration = Duration::from_millis(20);
/// Between two looks at whether all have gone.
const DRAIN_LOOKS_EVERY: Duration = Duration::from_millis(5);

impl Server {
    /// Listens; nobody is served before [`Server::run`].
    ///
    /// # Errors
    ///
    /// [`ServerError`]: an address that is in use, or that others may reach without a password or
    /// without encryption.
    pub fn bind(db: Database, options: ServerOptions) -> Result<Self, ServerError> {
        let address = options.address;
        options.check(&db)?;
        let places = Places::new(&options)?;
        let tls = options.tls.as_ref().map(Tls::new).transpose().map_err(ServerError::Tls)?;
        let listening = Listening::start(address, options.socket_directory.as_deref())?;
        db.expect_writers().map_err(ServerError::Database)?;
        let mut secret = [0; 32];
        OsRng.try_fill_bytes(&mut secret).map_err(|_| ServerError::Random)?;
        let is_locked = !address.ip().is_loopback();
        let asks_nobody = options.asks_nobody;
        let attempts = Attempts::default();
        let door = Door { db, is_locked, asks_nobody, attempts, secret, tls, plain: options.plain };
        let shared = Shared {
            door,
            options,
            places,
            stopping: AtomicBool::new(false),
            next: AtomicI32::new(1),
            refused: AtomicU64::new(0),
            told: AtomicU64::new(u64::MAX),
            started: Ticks::now(),
            logins_failed: AtomicU64::new(0),
            connections: Latch::default(),
        };
        let shared = Arc::new(shared);
        let http = shared.options.http.map(|address| {
            let listening = TcpListener::bind(address);
            let started = listening.and_then(|listener| Http::start(listener, answers(&shared)));
            started.map_err(|error| ServerError::Listen { address, error })
        });
        Ok(Self { listening, http: http.transpose()?, shared })
    }

    /// Where /metrics, /live and /ready are answered, if they are.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(Http::address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// The path of the socket on which it listens, too, if it does.
    pub fn socket(&self) -> Option<&Path> {
        self.listening.path()
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: Arc::clone(&self.shared), address: self.address() }
    }

    /// Serves until it is stopped; then all connections are gone.
    pub fn run(self) {
        while !self.shared.is_stopping() {
            // Those who wait in the listener's queue are neither refused nor cut off.
            if self.shared.connections.lock().len() >= self.shared.places.in_all() {
                thread::sleep(CROWD_PAUSE);
                continue;
            }
            // Out of file descriptors, or a client that has gone again.
            if self.listening.accept(|stream, from| self.accept(stream, from)).is_err() {
                thread::sleep(ACCEPT_PAUSE);
            }
        }
        drop(self.listening);
        self.shared.drain();
        drop(self.http); // until here it tells that nobody is let in
    }

    fn accept(&self, stream: Socket, from: Origin) {
        let shared = &self.shared;
        if shared.is_stopping() {
            return;
        }
        let number = shared.next.fetch_add(1, Ordering::Relaxed); // a number, nothing else
        if !from.is_local() {
            let _ = stream.set_tcp_nodelay(true);
            shared.options.keepalive.set(&stream);
        }
        let _ = stream.set_write_timeout(Some(shared.options.send_patience));
        let stream = Arc::new(stream);
        let kept = Connection {
            stream: Arc::clone(&stream),
            keys: None,
            is_terminated: false,
            is_session: false,
            is_crowded_out: false,
            address: from.address(),
        };
        shared.enter(number, kept);
        debug!(number, %from, "a client has connected");
        let own = Arc::clone(shared);
        let thread = ThreadOptions::named(format!("client-{number}"));
        let spawned = thread.spawn(move || {
            own.serve(stream, (number, from));
            own.connections.lock().remove(&number);
        });
        if spawned.is_err() {
            let left = shared.connections.lock().remove(&number);
            let message = "there is no room for a thread that talks to you".to_owned();
            left.inspect(|left| {
                refuse(&mut Outgoing::new(Arc::clone(&left.stream)), b"53300", message, "")
            });
        }
    }
}

/// What is answered over HTTP. The server, which has the thread that answers, is not kept by it.
fn answers(shared: &Arc<Shared>) -> Arc<Answers> {
    let shared = Arc::downgrade(shared);
    Arc::new(move |path: &str| match (path, shared.upgrade()) {
        ("/live", _) => Answer::of_text(Status::Ok, "alive"),
        ("/ready", None) => Answer::of_text(Status::Unavailable, "stopped"),
        ("/ready", Some(shared)) => match shared.hindrance() {
            None => Answer::of_text(Status::Ok, "ready"),
            Some(why) => Answer::of_text(Status::Unavailable, &why),
        },
        ("/metrics", _) => match metrics::text(shared.clone()) {
            Ok(body) => Answer { status: Status::Ok, content_type: metrics::CONTENT_TYPE, body },
            Err(_) => Answer::of_text(Status::Unavailable, "the figures cannot be written"),
        },
        _ => Answer::of_text(Status::NotFound, "there are /metrics, /live and /ready"),
    })
}

/// Why a connection goes that has begun no session.
fn crowded_out() -> SqlError {
    let message = "too many connections are at their beginning, and this one is the oldest of them";
    let mut error = SqlError::new(b"53300", message);
    error.hint = Some("Connect again.".to_owned());
    error
}

/// Waits until a client has read what it was told, or has had the time to (I3): a socket that is
/// closed with something unread resets the connection, and the client may lose what was said. Some
/// drivers tell their program only that the connection has ended when they meet the error and the
/// end at once (tokio-postgres 0.7), so the end comes a moment later.
fn let_read(stream: &Socket) {
    if !read_to_end(stream, END_FOLLOWS_AFTER) {
        let _ = stream.shutdown(Shutdown::Write);
        read_to_end(stream, READING_PATIENCE);
    }
}

/// Reads for so long; whether the client has closed its side, or the connection has failed.
fn read_to_end(stream: &Socket, patience: Duration) -> bool {
    let deadline = Ticks::from_now(patience);
    let mut scrap = [0; 1024];
    while !deadline.has_passed() {
        let left = deadline.remaining().max(Duration::from_millis(1));
        let read = stream.set_read_timeout(Some(left)).and_then(|()| (&*stream).read(&mut scrap));
        match read {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                _ => return true,
            },
        }
    }
    false
}

impl Counts for Shared {
    fn db(&self) -> &Database {
        &self.door.db
    }

    fn connections(&self) -> ConnectionFigures {
        ConnectionFigures {
            open: self.connections.lock().len(),
            most: self.places.sessions,
            accepted: u64::from(self.next.load(Ordering::Relaxed).cast_unsigned()) - 1,
            refused: self.refused.load(Ordering::Relaxed),
            logins_failed: self.logins_failed.load(Ordering::Relaxed),
        }
    }
}

impl Stopper {
    /// Has the server stop: nobody new is let in, and connections end when they have finished what
    /// they are at.
    pub fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release); // partner: `is_stopping`
        // The thread that accepts waits for somebody to come.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Why clients had better go elsewhere, if they had.
    fn hindrance(&self) -> Option<String> {
        if self.is_stopping() {
            return Some("it is being stopped".to_owned());
        }
        let status = self.door.db.status();
        if status.is_closed {
            return Some("the database is closed".to_owned());
        }
        let failure = status.log.and_then(|log| log.failure);
        failure.map(|failure| format!("the log has failed: {failure}"))
    }

    /// Whether this second nothing was told yet of clients that are refused: they may be many.
    fn is_news(&self) -> bool {
        let second = self.started.elapsed().as_secs();
        self.told.swap(second, Ordering::Relaxed) != second // a hint
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) // partner: `Stopper::stop`
    }

    /// Takes a connection in; one that is at its beginning has to go where there are too many such.
    fn enter(&self, number: i32, connection: Connection) {
        let connections = &mut *self.connections.lock();
        connections.insert(number, connection);
        let half_open: Vec<_> = connections
            .iter()
            .filter(|(_, one)| !one.is_session && !one.is_crowded_out)
            .map(|(&number, one)| HalfOpen { number, address: one.address })
            .collect();
        if half_open.len() <= self.places.half_open {
            return;
        }
        if let Some(one) = one_too_many(&half_open).and_then(|one| connections.get_mut(&one)) {
            one.is_crowded_out = true;
            // Its thread finds that nothing more comes, and tells it why.
            let _ = one.stream.shutdown(Shutdown::Read);
            self.count_refused();
        }
    }

    /// Gives a connection the place of a session, or tells why it gets none.
    fn begin_session(&self, number: i32, user: &str) -> Result<(), SqlError> {
        let is_administrator = self.options.administrators.iter().any(|name| name == user);
        let connections = &mut *self.connections.lock();
        let sessions = connections.values().filter(|one| one.is_session).count();
        let Some(own) = connections.get_mut(&number) else { return Err(crowded_out()) };
        let admitted = match own.is_crowded_out {
            true => Err(crowded_out()),
            false => self.places.admit(sessions, is_administrator),
        };
        match &admitted {
            Ok(()) => own.is_session = true,
            Err(_) => self.count_refused(),
        }
        admitted
    }

    fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed); // a figure
        if self.is_news() {
            warn!("clients are refused: there are too many connections");
        }
    }

    /// One connection, from its first byte to its last.
    fn serve(self: &Arc<Self>, stream: Arc<Socket>, (number, from): (i32, Origin)) {
        let mut incoming = Incoming::new(self.options.message_bytes_max);
        let mut out = Outgoing::new(Arc::clone(&stream));
        out.wait_until(Some(Ticks::from_now(self.options.startup_patience)));
        let session = self.door.db.session();
        // A system without random numbers gets no connections, since anybody could cancel.
        let Ok(secret) = OsRng.try_next_u32().map(u32::cast_signed) else { return };
        if let Some(connection) = self.connections.lock().get_mut(&number) {
            connection.keys = Some((secret, session.canceller()));
        }
        let begin_session = |user: &str| self.begin_session(number, user);
        let keys = (number, secret);
        let caller = Caller { session: &session, keys, from, begin_session: &begin_session };
        let ended = match startup::start(&mut incoming, &mut out, &self.door, &caller) {
            Ok(Start::Session) => None,
            Ok(Start::Cancel(number, secret)) => return self.cancel(number, secret),
            Ok(Start::Over) => return let_read(&stream),
            Ok(Start::Refused { user }) => {
                self.logins_failed.fetch_add(1, Ordering::Relaxed); // a figure
                warn!(number, %from, user, "a client has not proved its password");
                return let_read(&stream);
            }
            Err(ended) => Some(ended),
        };
        if let Some(ended) = ended {
            return self.say_good_bye((number, from), &mut out, &stream, ended);
        }
        debug!(number, %from, is_encrypted = out.is_encrypted(), "a session begins");
        let shared = Arc::downgrade(self);
        session.on_terminate(move || {
            shared.upgrade().inspect(|shared| shared.terminate(number));
        });
        let mut conversation = Conversation::new(session, &mut out);
        let ended = loop {
            if let Some(lost) = conversation.lost() {
                break Ended::Overrun(Box::new(lost));
            }
            let patience = conversation.patience();
            conversation.out().wait_until(patience.map(Ticks::from_now));
            let raw = match incoming.message(conversation.out()) {
                Ok(raw) => raw,
                Err(Ended::TimedOut) => match conversation.time_out() {
                    Some(idle) => break idle,
                    None => continue,
                },
                Err(ended) => break ended,
            };
            // What the database does for it is guarded again.
            let answered = contained(|| {
                let message = Frontend::read(raw.kind, raw.body);
                message.map(|message| conversation.answer(message, raw.is_last, raw.has_more))
            });
            match answered {
                Ok(Ok(Goes::On)) => {}
                Ok(Ok(Goes::Away)) => break Ended::Left,
                Ok(Err(Malformed(what))) => break Ended::Malformed(what),
                Err(panicked) => {
                    conversation.out().forget_part();
                    break Ended::Panicked(panicked);
                }
            }
        };
        drop(conversation); // what it held is free before its client hears
        self.say_good_bye((number, from), &mut out, &stream, ended);
    }

    /// Ends a connection once its statement has ended.
    fn terminate(&self, number: i32) {
        if let Some(connection) = self.connections.lock().get_mut(&number) {
            connection.is_terminated = true;
            let _ = connection.stream.shutdown(Shutdown::Read);
        }
    }

    /// I2
    fn cancel(&self, number: i32, secret: i32) {
        let connections = self.connections.lock();
        let found = connections.get(&number).and_then(|connection| connection.keys.as_ref());
        if let Some((own, canceller)) = found
            && *own == secret
        {
            canceller.cancel();
        }
    }

    /// Tells a client why its connection ends, if it does not know, and lets it read that.
    fn say_good_bye(
        &self,
        (number, from): (i32, Origin),
        out: &mut Outgoing,
        stream: &Socket,
        ended: Ended,
    ) {
        match &ended {
            Ended::Left | Ended::Closed => debug!(number, %from, "a client has gone"),
            Ended::Failed => info!(number, %from, "a connection has failed"),
            Ended::Malformed(what) => warn!(number, %from, what, "a client is cut off"),
            Ended::TimedOut => info!(number, %from, "a client began no session in time"),
            Ended::Panicked(_) => {} // told where it happened
            Ended::Idle(idle) => info!(number, %from, ?idle, "a client was silent for too long"),
            Ended::Overrun(_) => warn!(number, %from, "a client has not taken its notifications"),
        }
        let is_terminated = || {
            let connections = self.connections.lock();
            connections.get(&number).is_some_and(|connection| connection.is_terminated)
        };
        let is_crowded_out = || {
            let connections = self.connections.lock();
            connections.get(&number).is_some_and(|connection| connection.is_crowded_out)
        };
        match ended {
            Ended::Closed if is_crowded_out() => {
                out.say(&response(&crowded_out(), Severity::Fatal, ""));
                let _ = out.flush(); // it ends in any case
            }
            Ended::Closed if self.is_stopping() || is_terminated() => {
                let message = "terminating connection due to administrator command".to_owned();
                refuse(out, b"57P01", message, "");
            }
            Ended::Malformed(what) => refuse(out, b"08P01", what, ""),
            Ended::Panicked(panicked) => {
                let hint = "This is a bug of Hotrow; the log tells where it is.";
                refuse(out, b"XX000", panicked.to_string(), hint);
            }
            Ended::TimedOut => {
                refuse(out, b"08006", "no session was begun for too long".to_owned(), "");
            }
            Ended::Idle(Idle::InTransaction) => {
                let message = "terminating connection due to idle-in-transaction timeout";
                refuse(out, b"25P03", message.to_owned(), "");
            }
            Ended::Idle(Idle::Outside) => {
                let message = "terminating connection due to idle-session timeout";
                refuse(out, b"57P05", message.to_owned(), "");
            }
            Ended::Overrun(lost) => {
                out.say(&response(&lost, Severity::Fatal, ""));
                let _ = out.flush(); // it ends in any case
            }
            Ended::Closed | Ended::Left | Ended::Failed => return, // nobody listens any more
        }
        let_read(stream);
    }

    /// Lets all connections go (I1).
    fn drain(&self) {
        let deadline = Ticks::from_now(self.options.drain_patience);
        let shut = |how: Shutdown| {
            for connection in self.connections.lock().values() {
                let _ = connection.stream.shutdown(how);
            }
        };
        shut(Shutdown::Read);
        while !self.connections.lock().is_empty() && !deadline.has_passed() {
            thread::sleep(DRAIN_LOOKS_EVERY);
        }
        shut(Shutdown::Both);
    }
}
