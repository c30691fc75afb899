//! The statements of `tests/regression`, each area in a database of its own, compared with what
//! PostgreSQL 15 answered; what differs is exactly what `differs.txt` lists, and
//! `docs/regression.md` has the figures. With `REGRESSION_ACCEPT=1` in the environment both are
//! written anew. `REGRESSION_AREA` runs one area, and compares no figures.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{fs, thread};

use hotrow_tests::regression::{self, Answer};

/// Statements have a time-out of 5 s; one that does not heed it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);
const SHOWN: usize = 20;
/// Ways to differ that fewer statements show are not told one by one in the document.
const TOLD_FROM: usize = 3;
const LIST: &str = "differs.txt";
/// What of the document stands behind this line is written by this test.
const MARK: &str = "<!-- From here on written by the test; see above. -->\n";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regression")
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/regression.md")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A statement and both answers to it.
struct Checked {
    key: String,
    statement: String,
    expected: Answer,
    found: Answer,
}

impl Checked {
    fn is_alike(&self) -> bool {
        self.expected.is_like(&self.found)
    }

    fn has_another_message(&self) -> bool {
        self.is_alike() && self.expected != self.found
    }

    fn is_error(&self) -> bool {
        matches!(self.expected, Answer::Failed { .. })
    }

    fn difference(&self) -> String {
        regression::difference(&self.expected, &self.found)
    }
}

struct Area {
    name: String,
    statements: Vec<String>,
    answers: Vec<(String, Answer)>,
}

fn areas() -> Vec<Area> {
    let only = std::env::var("REGRESSION_AREA").ok();
    let paths = fs::read_dir(directory()).expect("the folder can be read");
    let paths = paths.map(|entry| entry.expect("the folder can be read").path());
    let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == "sql"));
    let area = |path: PathBuf| {
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let statements = regression::statements(&read(&path));
        let answers = regression::answers(&read(&path.with_extension("out")));
        let keys: Vec<_> = answers.iter().map(|(key, _)| key.clone()).collect();
        assert!(
            regression::keys(&statements) == keys,
            "{name}.out does not belong to {name}.sql: run record.py"
        );
        Area { name, statements, answers }
    };
    let all = files.map(area).filter(|area| only.as_ref().is_none_or(|only| *only == area.name));
    let mut all: Vec<_> = all.collect();
    // The longest first, so that no thread begins it last.
    all.sort_by_key(|area| std::cmp::Reverse(area.statements.len()));
    all
}

type Running = Arc<Mutex<HashMap<String, (String, Instant)>>>;

fn run(area: &Area, running: &Running) -> Vec<Checked> {
    let db = regression::open();
    let mut session = regression::session(&db);
    let mut all = Vec::new();
    for (statement, (key, expected)) in area.statements.iter().zip(&area.answers) {
        let now = (statement.clone(), Instant::now());
        running.lock().expect("nobody panics with it").insert(area.name.clone(), now);
        let found = regression::run(&session, statement);
        if found == Answer::Panicked {
            session = regression::session(&db);
        }
        let (key, expected) = (key.clone(), expected.clone());
        all.push(Checked { key, statement: statement.clone(), expected, found });
    }
    running.lock().expect("nobody panics with it").remove(&area.name);
    all
}

/// Runs all areas, some at a time.
fn run_all() -> BTreeMap<String, Vec<Checked>> {
    let areas = Arc::new(areas());
    let (running, next) = (Running::default(), Arc::new(AtomicUsize::new(0)));
    let (sender, receiver) = mpsc::channel();
    for _ in 0..thread::available_parallelism().map_or(2, usize::from).min(4) {
        let (areas, running) = (Arc::clone(&areas), Arc::clone(&running));
        let (next, sender) = (Arc::clone(&next), sender.clone());
        thread::spawn(move || {
            while let Some(area) = areas.get(next.fetch_add(1, Ordering::Relaxed)) {
                let checked = run(area, &running);
                // Nobody listens where another area hangs.
                let _ = sender.send((area.name.clone(), checked));
            }
        });
    }
    drop(sender);
    let mut all = BTreeMap::new();
    while all.len() < areas.len() {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok((name, checked)) => drop(all.insert(name, checked)),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("a thread of the test ended early"),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let running = running.lock().expect("nobody panics with it");
                let hangs = running.iter().find(|(_, (_, since))| since.elapsed() > HANGS_AFTER);
                assert!(hangs.is_none(), "no answer to {hangs:?}");
            }
        }
    }
    all
}

/// What is known to differ: area and key.
fn known() -> BTreeSet<(String, String)> {
    let path = directory().join(LIST);
    let text = if path.exists() { read(&path) } else { String::new() };
    let line = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        Some((words.next()?, words.next()?))
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

fn list(all: &BTreeMap<String, Vec<Checked>>) -> String {
    let mut out =
        "# Area, key and way of what differs from PostgreSQL's answers, and the statement's \
        beginning.\n# Written by the test of the regression suite with REGRESSION_ACCEPT=1.\n"
            .to_owned();
    for (area, checked) in all {
        for one in checked.iter().filter(|one| !one.is_alike()) {
            let begin: String = one.statement.replace('\n', " ").chars().take(100).collect();
            let begin = begin.trim_end();
            let _ = writeln!(out, "{area} {} | {} | {begin}", one.key, one.difference());
        }
    }
    out
}

/// The generated part of the document.
fn figures(all: &BTreeMap<String, Vec<Checked>>) -> String {
    let mut out = "\n| area | statements | alike | % | errors with PostgreSQL's words |\n\
        |---|---|---|---|---|\n"
        .to_owned();
    let mut line = |name: &str, checked: &[&Checked]| {
        let count = checked.len();
        let alike = checked.iter().filter(|one| one.is_alike()).count();
        let errors = checked.iter().filter(|one| one.is_alike() && one.is_error());
        let (errors, others) =
            (errors.count(), checked.iter().filter(|one| one.has_another_message()).count());
        let percent = 100.0 * alike as f64 / count.max(1) as f64;
        let words = format!("{} of {errors}", errors - others);
        let _ = writeln!(out, "| {name} | {count} | {alike} | {percent:.1} | {words} |");
    };
    for (area, checked) in all {
        line(area, &checked.iter().collect::<Vec<_>>());
    }
    line("**all**", &all.values().flatten().collect::<Vec<_>>());
    let mut ways: BTreeMap<String, usize> = BTreeMap::new();
    for one in all.values().flatten().filter(|one| !one.is_alike()) {
        *ways.entry(one.difference()).or_default() += 1;
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    out.push_str("\n| what differs, in which way | statements |\n|---|---|\n");
    for (way, count) in ways.iter().filter(|(_, count)| *count >= TOLD_FROM) {
        let _ = writeln!(out, "| {} | {count} |", way.replace('|', "\\|"));
    }
    let few: usize = ways.iter().map(|(_, count)| *count).filter(|&count| count < TOLD_FROM).sum();
    let _ = writeln!(out, "| ways of fewer than {TOLD_FROM} statements each | {few} |");
    out
}

#[test]
fn answers_are_those_of_postgresql_but_where_it_is_known() {
    let all = run_all();
    let figures = figures(&all);
    println!("{figures}");
    let is_whole = std::env::var("REGRESSION_AREA").is_err();
    if is_whole && std::env::var("REGRESSION_ACCEPT").is_ok_and(|value| value == "1") {
        fs::write(directory().join(LIST), list(&all)).expect("the list can be written");
        let text = read(&document());
        let (prose, _) = text.split_once(MARK).expect("the document has the mark");
        let text = format!("{prose}{MARK}{figures}");
        return fs::write(document(), text).expect("the document can be written");
    }
    let known = known();
    let mut wrong = Vec::new();
    for (area, checked) in &all {
        for one in checked {
            let (statement, expected, found) = (&one.statement, &one.expected, &one.found);
            let key = (area.clone(), one.key.clone());
            match (known.contains(&key), one.is_alike()) {
                (false, false) => wrong.push(format!(
                    "{area} {}: {statement}\n   expected {expected}\n   found    {found}",
                    one.key
                )),
                (true, true) => wrong.push(format!(
                    "{area} {}: {statement}\n   is listed as different, and gives {found}",
                    one.key
                )),
                _ => {}
            }
        }
    }
    for (area, key) in &known {
        let is_there = |checked: &Vec<Checked>| checked.iter().any(|one| one.key == *key);
        if all.get(area).map_or(is_whole, |checked| !is_there(checked)) {
            wrong.push(format!("{area} {key} is listed, and no such statement is there"));
        }
    }
    let shown = wrong.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} statements, the first of them:\n{shown}", wrong.len());
    if is_whole {
        let text = read(&document());
        let (_, written) = text.split_once(MARK).expect("the document has the mark");
        assert!(written == figures, "docs/regression.md is old: run this with REGRESSION_ACCEPT=1");
    }
}
