//! The real binary as a child, and what it takes of memory.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::wire::Client;

/// Between two looks at the memory.
const SAMPLE: Duration = Duration::from_millis(5);
/// Between two questions of the bystander.
const ASK: Duration = Duration::from_millis(5);

/// A server in memory, ended when this is dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts one; `HOTROW_TORTURE_BINARY` names another binary than the one that was built for the
    /// test.
    pub fn start(arguments: &[&str]) -> Self {
        let own = env!("CARGO_BIN_EXE_hotrow").to_owned();
        let binary = std::env::var("HOTROW_TORTURE_BINARY").unwrap_or(own);
        let mut child = Command::new(binary)
            .args(["serve", "--memory", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary is there");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let address = loop {
            let line = lines.next().expect("the server says where it listens").expect("in UTF-8");
            if let Some((_, address)) = line.split_once("listening on ") {
                let end = address.find(|c: char| c != '.' && c != ':' && !c.is_ascii_digit());
                break address[..end.unwrap_or(address.len())].parse().expect("an address");
            }
        };
        // What it says later is read, so that it never waits for a reader.
        thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// How the process has ended, if it has.
    pub fn death(&mut self) -> Option<String> {
        self.child.try_wait().expect("it is a child").map(|status| status.to_string())
    }

    /// Resident bytes; 0 of a process that is gone.
    pub fn resident(&self) -> u64 {
        resident(self.child.id())
    }

    /// Waits until it takes at most so many bytes more than `before`; what it takes in the end.
    pub fn settle(&self, before: u64, most: u64) -> u64 {
        let until = Instant::now() + crate::HANG;
        loop {
            let now = self.resident();
            if now <= before + most || Instant::now() > until {
                return now;
            }
            thread::sleep(SAMPLE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

/// Resident bytes of a process.
fn resident(process: u32) -> u64 {
    let read = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages: u64 = read.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// Looks at the memory of a server, and asks it things as another client, while something happens.
pub struct Watch {
    over: Arc<AtomicBool>,
    worst_us: Arc<AtomicU64>,
    most: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

/// What a watch has seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// the longest that the other client waited for an answer
    pub worst: Duration,
    /// the most that the server took, in bytes
    pub most: u64,
}

impl Watch {
    /// Begins to watch.
    pub fn begin(server: &Server) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (worst_us, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let sampler = {
            let (over, most, process) = (over.clone(), most.clone(), server.child.id());
            move || {
                while !over.load(Ordering::Relaxed) {
                    most.fetch_max(resident(process), Ordering::Relaxed);
                    thread::sleep(SAMPLE);
                }
            }
        };
        let bystander = {
            let (over, worst, address) = (over.clone(), worst_us.clone(), server.address);
            move || ask(address, &over, &worst)
        };
        let threads = vec![thread::spawn(sampler), thread::spawn(bystander)];
        Self { over, worst_us, most, threads }
    }

    /// Ends it.
    pub fn end(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
        let worst = Duration::from_micros(self.worst_us.load(Ordering::Relaxed));
        Seen { worst, most: self.most.load(Ordering::Relaxed) }
    }
}

/// Asks again and again; each answer, the first connection's included, tells how long it took.
fn ask(address: SocketAddr, over: &AtomicBool, worst_us: &AtomicU64) {
    let took = |began: Instant| {
        worst_us.fetch_max(began.elapsed().as_micros() as u64, Ordering::Relaxed);
    };
    let began = Instant::now();
    let Ok(mut client) = Client::begin(address) else { return };
    took(began);
    while !over.load(Ordering::Relaxed) {
        for question in ["SELECT n FROM bystander WHERE id = 1", "SELECT ask(2)"] {
            let began = Instant::now();
            client.send(&crate::raw::query(question));
            while client.wait(began + Duration::from_millis(50)).is_err() {
                took(began);
                if over.load(Ordering::Relaxed) {
                    return;
                }
            }
            took(began);
        }
        thread::sleep(ASK);
    }
}
