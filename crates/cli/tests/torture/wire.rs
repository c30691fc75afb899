//! A client that can be told to wait so long and no longer: of answers it keeps only what they came
//! to.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::raw::{message, query, startup};

/// The request code of a cancel request.
const CANCEL: u32 = 80_877_102;
/// Between two looks whether an answer is overdue.
const LOOK: Duration = Duration::from_millis(20);

/// What came up to the end of an answer.
#[derive(Clone, Default, Debug)]
pub struct Answer {
    /// the SQLSTATE of its last error
    pub code: Option<String>,
    /// and that error's message
    pub message: String,
    /// bytes of all its messages
    pub bytes: u64,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Silence {
    /// the time is over
    Late,
    /// the server has closed the connection; with what it said before
    Closed(Answer),
}

/// A connection with a session.
pub struct Client {
    stream: TcpStream,
    address: SocketAddr,
    key: [u8; 8],
    read: Vec<u8>,
    answer: Answer,
    /// answers that [`Client::wait_for`] was to wait for and that have not come yet
    awaited: usize,
}

impl Client {
    /// Begins a session.
    pub fn begin(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_nodelay(true)?;
        let (read, answer) = (Vec::new(), Answer::default());
        let mut client = Self { stream, address, key: [0; 8], read, answer, awaited: 0 };
        client.stream.write_all(&startup())?;
        match client.wait(Instant::now() + Duration::from_secs(30)) {
            Ok(Answer { code: None, .. }) => Ok(client),
            other => Err(io::Error::other(format!("no session: {other:?}"))),
        }
    }

    /// Sends bytes, which the server may not take: then it has closed the connection, and says why
    /// in the answer. They go while answers are read: else both sides could wait for the other one
    /// to read.
    pub fn send(&mut self, bytes: &[u8]) {
        let mut stream = self.stream.try_clone().expect("descriptors are left");
        let bytes = bytes.to_vec();
        thread::spawn(move || stream.write_all(&bytes));
    }

    /// Runs a script that ends within a minute.
    pub fn run(&mut self, text: &str) -> Answer {
        self.send(&query(text));
        let until = Instant::now() + Duration::from_secs(60);
        self.wait(until).unwrap_or_else(|why| panic!("{why:?}: {text:.200}"))
    }

    /// Waits for the end of so many answers, sent one behind another; the last one's.
    pub fn wait_for(&mut self, answers: usize, until: Instant) -> Result<Answer, Silence> {
        if self.awaited == 0 {
            self.awaited = answers;
        }
        loop {
            let answer = self.wait(until)?;
            self.awaited -= 1;
            if self.awaited == 0 {
                return Ok(answer);
            }
        }
    }

    /// Waits for the end of an answer.
    pub fn wait(&mut self, until: Instant) -> Result<Answer, Silence> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            while let Some(kind) = self.take_message() {
                match kind {
                    b'Z' => return Ok(std::mem::take(&mut self.answer)),
                    b'G' => self.send(&message(b'f', b"no rows\0")),
                    _ => {}
                }
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(Silence::Closed(std::mem::take(&mut self.answer))),
                Ok(count) => self.read.extend_from_slice(&buffer[..count]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return Err(Silence::Closed(std::mem::take(&mut self.answer))),
            }
            if Instant::now() > until {
                return Err(Silence::Late);
            }
        }
    }

    /// The kind of the next message, if all of it is there.
    fn take_message(&mut self) -> Option<u8> {
        let head = self.read.first_chunk::<5>()?;
        let kind = head[0];
        let length = 1 + u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let whole = self.read.get(5..length)?;
        match kind {
            b'E' => {
                let fields: Vec<_> = whole.split(|&byte| byte == 0).collect();
                let field = |of: u8| {
                    let found = fields.iter().find(|field| field.first() == Some(&of));
                    found.map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
                };
                self.answer.code = field(b'C');
                self.answer.message = field(b'M').unwrap_or_default();
            }
            b'K' => self.key.copy_from_slice(&whole[..8]),
            _ => {}
        }
        self.answer.bytes += length as u64;
        self.read.drain(..length);
        Some(kind)
    }

    /// Has the server end what the session runs.
    pub fn cancel(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        let packet = [&16_u32.to_be_bytes()[..], &CANCEL.to_be_bytes(), &self.key].concat();
        stream.write_all(&packet)?;
        let _ = stream.read(&mut [0; 1]); // the server closes when it has done it
        Ok(())
    }
}
