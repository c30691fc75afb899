//! Measures single statements that sessions send prepared: INSERTs with three parameters, as fast
//! as each session gets an answer, on every engine, in memory and durable.
//!
//! ```text
//! cargo run --release -p hotrow --example single_statements -- [options]
//!   --engine NAME      this one alone; may be given again
//!   --sessions N       8 by default
//!   --threads N        of the engine, 2 by default
//!   --seconds N        measured, 2 by default; a quarter of a second before does not count
//!   --runs N           3 by default: each of them on a new database, and all are printed
//!   --setting NAME=VALUE  of the engine; may be given again
//!   --hot              one row that all of them update, in place of INSERTs
//!   --memory-only      not durable
//!   --directory PATH   where durable ones have their logs; a new one for each run, removed behind
//! ```
//!
//! Each line tells statements a second, and how many microseconds of processors one took: of the
//! whole process, sessions, engine and log.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hotrow::{Config, Database, EngineEntry, Error, Value, engines};
use hotrow_base::clock::Ticks;
use hotrow_base::thread;

const WARM_UP: Duration = Duration::from_millis(250);
const TABLE: &str =
    "CREATE TABLE entry (id bigint PRIMARY KEY, account bigint NOT NULL, note text)";
const INSERT: &str = "INSERT INTO entry VALUES ($1, $2, $3)";
const HOT_ROW: &str = "INSERT INTO entry VALUES (-1, 0, 'hot')";
const UPDATE: &str = "UPDATE entry SET account = account + $1 WHERE id = $2";

struct Options {
    engines: Vec<String>,
    settings: Vec<(String, String)>,
    sessions: usize,
    threads: usize,
    measured: Duration,
    runs: usize,
    is_hot: bool,
    memory_only: bool,
    directory: PathBuf,
}

impl Options {
    fn read() -> Self {
        let mut options = Self {
            engines: Vec::new(),
            settings: Vec::new(),
            sessions: 8,
            threads: 2,
            measured: Duration::from_secs(2),
            runs: 3,
            is_hot: false,
            memory_only: false,
            directory: std::env::temp_dir(),
        };
        let mut given = std::env::args().skip(1);
        while let Some(option) = given.next() {
            let mut value = || given.next().expect("the option has a value");
            let number = |text: String| text.parse::<usize>().expect("a whole number");
            match option.as_str() {
                "--engine" => options.engines.push(value()),
                "--setting" => {
                    let text = value();
                    let (name, value) = text.split_once('=').expect("NAME=VALUE");
                    options.settings.push((name.to_owned(), value.to_owned()));
                }
                "--sessions" => options.sessions = number(value()),
                "--threads" => options.threads = number(value()),
                "--seconds" => options.measured = Duration::from_secs(number(value()) as u64),
                "--runs" => options.runs = number(value()),
                "--hot" => options.is_hot = true,
                "--memory-only" => options.memory_only = true,
                "--directory" => options.directory = value().into(),
                other => panic!("no option {other}: see the file's beginning"),
            }
        }
        options
    }

    fn is_wanted(&self, entry: &EngineEntry) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|name| name == entry.name)
    }
}

/// Statements a second, and the time of processors that one took.
struct Rate {
    a_second: f64,
    micros: f64,
}

fn main() -> Result<(), Error> {
    let options = Options::read();
    let statement = if options.is_hot { UPDATE } else { INSERT };
    println!("{} sessions, prepared: {statement}", options.sessions);
    println!("{:<18} {:<8} {:>12} {:>14}", "engine", "", "statements/s", "us of cores");
    for entry in engines().iter().filter(|entry| options.is_wanted(entry)) {
        for is_durable in [false, true] {
            if is_durable && options.memory_only {
                continue;
            }
            for run in 0..options.runs {
                let Rate { a_second, micros } = measure(&options, entry, is_durable, run)?;
                let kind = if is_durable { "durable" } else { "memory" };
                println!("{:<18} {kind:<8} {a_second:>12.0} {micros:>14.2}", entry.name);
            }
        }
    }
    Ok(())
}

fn measure(
    options: &Options,
    entry: &EngineEntry,
    is_durable: bool,
    run: usize,
) -> Result<Rate, Error> {
    let threads = entry.threads_near(options.threads);
    let settings = options.settings.iter();
    let settings: Vec<_> = settings.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let config = Config::default().engine(entry.name).threads(threads).variant(&settings);
    if !is_durable {
        return send(options, &Database::open_in_memory(config)?);
    }
    let name = format!("hotrow-single-statements-{}-{run}", std::process::id());
    let directory = options.directory.join(name);
    let rate = send(options, &Database::open(&directory, config)?);
    std::fs::remove_dir_all(&directory).ok();
    rate
}

/// Has all sessions send statements, for as long as is to be measured.
fn send(options: &Options, db: &Database) -> Result<Rate, Error> {
    db.session().execute(TABLE)?;
    db.session().execute(HOT_ROW)?;
    let (counts, ends) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let client = |number: usize| {
            let (counts, ends) = (&counts, &ends);
            scope.spawn(move || repeat_until(options, db, number, counts, ends))
        };
        let clients: Vec<_> = (0..options.sessions).map(client).collect();
        std::thread::sleep(WARM_UP);
        counts.store(true, Relaxed);
        let (began, took_before) = (Ticks::now(), processor_seconds());
        std::thread::sleep(options.measured);
        ends.store(true, Relaxed);
        let (seconds, took) = (began.elapsed().as_secs_f64(), processor_seconds() - took_before);
        let mut done = 0;
        for client in clients {
            done += client.join().expect("no session panics")?;
        }
        Ok(Rate { a_second: done as f64 / seconds, micros: took * 1e6 / done.max(1) as f64 })
    })
}

/// How many of its statements counted.
fn repeat_until(
    options: &Options,
    db: &Database,
    number: usize,
    counts: &AtomicBool,
    ends: &AtomicBool,
) -> Result<u64, Error> {
    let session = db.session();
    let statement = session.prepare(if options.is_hot { UPDATE } else { INSERT }, &[])?;
    let (mut done, mut next) = (0, (number as i64) << 40);
    while !ends.load(Relaxed) {
        if options.is_hot {
            session.execute_prepared(&statement, &[Value::BigInt(1), Value::BigInt(-1)])?;
        } else {
            let (id, account) = (Value::BigInt(next), Value::BigInt(next % 1000));
            let values = [id, account, Value::from("a short note")];
            session.execute_prepared(&statement, &values)?;
        }
        next += 1;
        done += u64::from(counts.load(Relaxed));
    }
    Ok(done)
}

/// What the process has taken of processors so far, in user mode and in the system: fields 14 and
/// 15 of `/proc/self/stat`, in hundredths of a second. 0 where there is no such file.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}
