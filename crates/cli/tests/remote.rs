//! The binary as a client of the binary as a server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// `hotrow serve` on a free port, until it is dropped.
struct Served {
    process: Child,
    /// how to connect to it
    at: String,
}

impl Served {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_hotrow"))
            .args(["serve", "--memory", "--threads", "2", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let stderr = BufReader::new(process.stderr.take().expect("stderr is piped"));
        let lines = stderr.lines().map_while(Result::ok);
        let port = lines.into_iter().find_map(|line| {
            let (_, address) = line.split_once("listening on ")?;
            Some(address.rsplit_once(':')?.1.to_owned())
        });
        let port = port.expect("it tells where it listens");
        Self { process, at: format!("host=127.0.0.1 port={port} user=me") }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended
        let _ = self.process.wait();
    }
}

fn hotrow(words: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_hotrow")).args(words).output();
    command.expect("the binary was built for this test")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is text")
}

#[test]
fn bench_drives_a_server_and_leaves_nothing_there() {
    let served = Served::start();
    let words = ["bench", "counter", "--remote", &served.at, "--transactions", "200"];
    let more = ["--clients", "1,4", "--json", "-"];
    for _ in 0..2 {
        let output = hotrow(&[&words[..], &more[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let runs: Vec<serde_json::Value> =
            serde_json::from_str(&stdout(&output)).expect("it is a list");
        let clients: Vec<_> = runs.iter().map(|run| run["clients"].as_u64()).collect();
        assert_eq!(clients, [Some(1), Some(4)]);
        assert!(runs.iter().all(|run| run["committed"] == 200 && run["threads"] == 2), "{runs:?}");
        assert!(stderr(&output).contains("2, 4 remote clients"), "{}", stderr(&output));
    }
    let kept = hotrow(&[&words[..], &["--keep"]].concat());
    assert_eq!(kept.status.code(), Some(0), "{}", stderr(&kept));
    let refused = hotrow(&words);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("tables counter;"), "{}", stderr(&refused));
    let replaced = hotrow(&[&words[..], &["--replace"]].concat());
    assert_eq!(replaced.status.code(), Some(0), "{}", stderr(&replaced));
}

#[test]
fn top_writes_a_page() {
    let served = Served::start();
    let words = ["bench", "counter", "--remote", &served.at, "--transactions", "100", "--keep"];
    assert_eq!(hotrow(&words).status.code(), Some(0));
    for once in [&["--once"][..], &[]] {
        let words = ["top", &served.at, "--every", "0.1"];
        let output = hotrow(&[&words[..], once].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        assert!(text.starts_with("hotrow 127.0.0.1:") && text.contains("calls/s 0 "), "{text}");
        assert!(text.contains("counter_increment ") && !text.contains('\x1b'), "{text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    for words in [&["bench", "counter", "--remote"][..], &["top"]] {
        let output = hotrow(&[words, &["host=127.0.0.1 port=1"]].concat());
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let told = stderr(&output);
        assert!(
            told.contains("connecting to 127.0.0.1:1: ") && told.lines().count() == 1,
            "{told}"
        );
        let output = hotrow(&[words, &["host=x sslmode=require"]].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains("not encrypted yet"), "{}", stderr(&output));
    }
}
