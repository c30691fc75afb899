//! The doors for machines that watch: `/metrics`, `/live` and `/ready`, over HTTP.
//!
//! Role         three answers to GET and HEAD, each on a connection of its own
//! Invariants   I1 bounded: so many requests at a time, of so many bytes and so much time each;
//!                 who is in excess is cut off
//!              I2 nothing here is secret, and nothing can be changed here; no key of a row is told
//! Concurrency  one thread accepts, one answers each request and ends

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::thread::{self, JoinHandle, ThreadOptions};

/// Requests that are answered at a time.
const REQUESTS_MAX: usize = 8;
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Header lines of it.
const HEADERS_MAX: usize = 64;
/// A request takes no longer, and neither does reading its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the thread that accepts rests when the system has no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// What is answered.
pub(crate) struct Answer {
    pub(crate) status: Status,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    Unavailable,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

impl Answer {
    /// A line of text.
    pub(crate) fn of_text(status: Status, text: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: format!("{text}\n") }
    }
}

/// What answers a path.
pub(crate) type Answers = dyn Fn(&str) -> Answer + Send + Sync;

/// The thread that accepts; dropped, it has ended.
pub(crate) struct Http {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    /// Answers requests that come to a listener.
    pub(crate) fn start(listener: TcpListener, answers: Arc<Answers>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stopping = Arc::<AtomicBool>::default();
        let stops = Arc::clone(&stopping);
        let thread = ThreadOptions::named("http").spawn(move || {
            let under_way = Arc::<AtomicUsize>::default();
            // Acquire; partner: the Release in the drop.
            while !stops.load(Ordering::Acquire) {
                match listener.accept() {
                    Ok((stream, _)) => accept(stream, &under_way, &answers),
                    Err(_) => thread::sleep(ACCEPT_PAUSE),
                }
            }
        })?;
        Ok(Self { address, stopping, thread: Some(thread) })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release); // partner: the Acquire of its thread
        let _ = TcpStream::connect(self.address); // which waits for a connection: this one
        thread::join_all(self.thread.take());
    }
}

fn accept(stream: TcpStream, under_way: &Arc<AtomicUsize>, answers: &Arc<Answers>) {
    // Relaxed: a count, which orders nothing.
    if under_way.fetch_add(1, Ordering::Relaxed) >= REQUESTS_MAX {
        under_way.fetch_sub(1, Ordering::Relaxed);
        return; // I1
    }
    let (count, answers) = (Arc::clone(under_way), Arc::clone(answers));
    let spawned = ThreadOptions::named("http-request").spawn(move || {
        let _ = serve(stream, &*answers); // whoever asked has gone
        count.fetch_sub(1, Ordering::Relaxed);
    });
    if spawned.is_err() {
        under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, answers: &Answers) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (answer, has_body) = match read_head(&mut stream)? {
        Some(Request { path, is_head }) => (answers(&path), !is_head),
        None => (Answer::of_text(Status::BadRequest, "this is no request for GET or HEAD"), true),
    };
    let Answer { status, content_type, body } = answer;
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\nCache-Control: no-store\r\n\r\n",
        status.line(),
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if has_body {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}

struct Request {
    path: String,
    is_head: bool,
}

/// Reads a request's head; none: what came is no request that is answered.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let deadline = Ticks::from_now(PATIENCE);
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while bytes.len() < HEAD_BYTES_MAX && !deadline.has_passed() {
        let left = deadline.remaining().max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk[..read]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(_)) => {
                let (Some(method), Some(target)) = (request.method, request.path) else {
                    return Ok(None);
                };
                let path = target.split(['?', '#']).next().unwrap_or_default().to_owned();
                return Ok(match method {
                    "GET" => Some(Request { path, is_head: false }),
                    "HEAD" => Some(Request { path, is_head: true }),
                    _ => None,
                });
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}
