//! A connection of bytes: messages as they are on the wire, whole or not.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A message of a kind.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body].concat()
}

/// A script, as the simple protocol sends it.
pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', &[text.as_bytes(), b"\0"].concat())
}

/// The packet that begins a session.
pub fn startup() -> Vec<u8> {
    let parameters = b"user\0tester\0\0";
    let length = (8 + parameters.len() as u32).to_be_bytes();
    [&length[..], &196_608_u32.to_be_bytes(), parameters].concat()
}

/// What came up to a ReadyForQuery.
#[derive(Debug, Default)]
pub struct Answer {
    /// values of its rows; NULL and what is not UTF-8 are empty
    pub values: Vec<String>,
    /// SQLSTATE of its last error
    pub code: Option<String>,
}

/// A connection with a session.
pub struct Raw {
    pub stream: TcpStream,
}

impl Raw {
    /// Begins a session.
    pub fn begin(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut raw = Self { stream };
        raw.send(&startup())?;
        raw.answer()?;
        Ok(raw)
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Runs a script.
    pub fn run(&mut self, text: &str) -> io::Result<Answer> {
        self.send(&query(text))?;
        self.answer()
    }

    /// Runs a script that has to succeed; its values.
    pub fn values(&mut self, text: &str) -> Vec<String> {
        let answer = self.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(answer.code, None, "{text}");
        answer.values
    }

    /// Reads up to ReadyForQuery.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let mut answer = Answer::default();
        while !self.read_message(&mut answer)? {}
        Ok(answer)
    }

    /// Reads until the server has closed the connection in order.
    pub fn last_words(&mut self) -> io::Result<Answer> {
        let mut answer = Answer::default();
        loop {
            match self.read_message(&mut answer) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(answer),
                read => read?,
            };
        }
    }

    /// Adds one message to an answer; whether it is a ReadyForQuery.
    fn read_message(&mut self, answer: &mut Answer) -> io::Result<bool> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; length as usize - 4];
        self.stream.read_exact(&mut body)?;
        match head[0] {
            b'D' => answer.values.extend(values(&body)),
            b'E' => {
                let mut fields = body.split(|&byte| byte == 0);
                let code = fields.find(|field| field.first() == Some(&b'C'));
                answer.code = code.map(|code| String::from_utf8_lossy(&code[1..]).into_owned());
            }
            _ => {}
        }
        Ok(head[0] == b'Z')
    }
}

/// The values of a DataRow.
fn values(body: &[u8]) -> Vec<String> {
    let (mut rest, mut values) = (&body[2..], Vec::new());
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = i32::from_be_bytes(*length).max(0) as usize;
        values.push(String::from_utf8_lossy(&behind[..length]).into_owned());
        rest = &behind[length..];
    }
    values
}
