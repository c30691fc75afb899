//! The rooms: which crate may know which, and which words stand where (DESIGN section 2).

mod circles;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Each crate's folder and floor; a crate depends only on lower floors.
const FLOORS: &[(&str, u32)] = &[
    ("machine", 0),
    ("base", 1),
    ("history", 1),
    ("transaction", 2),
    ("storage", 2),
    ("log", 2),
    ("engine", 3),
    ("query", 3),
    ("flow", 4),
    ("sql", 4),
    ("workloads", 5),
    ("engines/*", 5),
    ("database", 6),
    ("server", 7),
    ("bench", 7),
    ("cli", 8),
    ("tests", 9),
];

/// Crates, besides engines, whose sources may say `unsafe`.
const UNSAFE_ALLOWED: &[&str] = &["machine", "base", "storage", "log"];

/// Words that only some crates may use in code, and why.
const WORDS: &[(&str, &[&str])] = &[
    // Only base names fences, threads, clocks.
    ("std::sync::atomic::fence", &["base"]),
    ("core::sync::atomic::fence", &["base"]),
    ("thread::spawn", &["base"]),
    ("thread::Builder", &["base"]),
    ("time::Instant", &["base", "bench"]),
    ("SystemTime", &["base", "bench"]),
    ("quanta", &["base"]),
    // Pauses of other crates are base's, which loom and the virtual machine see; bench calibrates.
    ("hint::spin_loop", &["base", "bench"]),
    // Only log and recovery name files; the server's one is the name of its local socket, base asks
    // the system how much memory there is, and the database sets its directory's permissions.
    ("std::fs", &["base", "log", "database", "server", "bench", "cli"]),
    ("fs::File", &["log", "bench", "cli"]),
    ("OpenOptions", &["log", "bench", "cli"]),
];

/// Engine names that are also something else somewhere: room, engine, what it is there.
const OTHER_MEANINGS: &[(&str, &str, &str)] = &[
    ("sql", "serial", "a type of PostgreSQL"),
    ("engines/orthrus", "partitioned", "a lock table whose granules have owners"),
];

// No aim: what comes near it has more than one idea.
const FILE_LINES_MAX: usize = 900;
const LINE_WIDTH_MAX: usize = 100;

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the suite lies in the workspace").to_owned()
}

/// A source file, its text, and the room it belongs to.
struct Source {
    room: String,
    path: String,
    text: String,
}

impl Source {
    /// Whether it is part of a crate, rather than of its tests, examples or benchmarks.
    fn is_product(&self) -> bool {
        let beside = ["/tests/", "/examples/", "/benches/", "/build.rs"];
        let name = self.path.trim_end_matches(".rs");
        let test = name.ends_with("/tests") || name.ends_with("_tests");
        !self.room.starts_with("tests")
            && !test
            && !beside.iter().any(|dir| self.path.contains(dir))
    }

    /// Lines of code with their numbers, comments cut off.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| {
            let end = line.find("//").unwrap_or(line.len());
            (at + 1, &line[..end])
        })
    }
}

fn visit(dir: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if path.is_dir() {
            if name.is_some_and(|name| name != "target" && !name.starts_with('.')) {
                visit(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    visit(&root.join("crates"), &mut paths);
    visit(&root.join("tests"), &mut paths);
    paths.sort();
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("sources are text");
        let path = path.strip_prefix(&root).expect("it lies in the root").to_string_lossy();
        Source { room: room_of(&path), path: path.clone().into_owned(), text }
    };
    paths.into_iter().map(source).collect()
}

/// `base` for `crates/base/...`, `engines/serial` for an engine, `tests` for the suite.
fn room_of(path: &str) -> String {
    let inside = path.strip_prefix("crates/").unwrap_or(path);
    let mut parts = inside.split('/');
    let first = parts.next().unwrap_or_default();
    match first {
        "engines" => format!("engines/{}", parts.next().unwrap_or_default()),
        first => first.to_owned(),
    }
}

fn floor_of(room: &str) -> u32 {
    let listed = if room.starts_with("engines/") { "engines/*" } else { room };
    let found = FLOORS.iter().find(|(name, _)| *name == listed);
    found.unwrap_or_else(|| panic!("{room} has no floor: add it to the list and to DESIGN")).1
}

/// Every crate of the workspace: its name, its room, and the names of all it depends on, with
/// whether that is for tests only.
struct Package {
    name: String,
    room: String,
    needs: Vec<(String, bool)>,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let package = |package: Value| {
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().expect("a manifest lies in a folder");
        let inside = folder.strip_prefix(root()).expect("members lie in the workspace");
        let needs = list(&package["dependencies"]).into_iter();
        Package {
            name: text(&package["name"]),
            room: room_of(&inside.to_string_lossy()),
            needs: needs.map(|need| (text(&need["name"]), need["kind"] == "dev")).collect(),
        }
    };
    list(&metadata["packages"]).into_iter().map(package).collect()
}

fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn crates_depend_on_lower_floors_only() {
    let packages = packages();
    assert!(packages.len() >= 12, "cargo metadata lists the workspace");
    let mut faults = Vec::new();
    for package in &packages {
        // Tests of a crate may use what is made of it.
        for (need, _) in package.needs.iter().filter(|(_, for_tests)| !for_tests) {
            let Some(needed) = packages.iter().find(|other| other.name == *need) else { continue };
            let (above, below) = (floor_of(&package.room), floor_of(&needed.room));
            // An engine's experiments are a crate in its own room, on top of it.
            if above <= below && package.room != needed.room {
                let (from, to) = (&package.room, &needed.room);
                faults.push(format!("{from} (floor {above}) depends on {to} (floor {below})"));
            }
        }
    }
    report(faults);
}

#[test]
fn only_the_database_depends_on_engines() {
    let packages = packages();
    let engines: Vec<_> =
        packages.iter().filter(|package| package.room.starts_with("engines/")).collect();
    assert!(engines.len() >= 2);
    let mut faults = Vec::new();
    for package in &packages {
        for (need, for_tests) in &package.needs {
            let engine = engines.iter().find(|engine| engine.name == *need);
            let is_engine = engine.is_some();
            let is_own = engine.is_some_and(|engine| engine.room == package.room);
            let may = package.room == "database" || package.room == "tests" || is_own;
            if is_engine && !may {
                faults
                    .push(format!("{} depends on {need} (tests only: {for_tests})", package.room));
            }
        }
    }
    report(faults);
}

#[test]
fn engine_names_stand_in_their_own_rooms() {
    let rooms: Vec<String> = packages().into_iter().map(|package| package.room).collect();
    let engines: Vec<&str> =
        rooms.iter().filter_map(|room| room.strip_prefix("engines/")).collect();
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| source.is_product()) {
        if source.path == "crates/database/src/engine_table.rs" {
            continue;
        }
        for engine in &engines {
            let other =
                |(room, name, _): &(&str, &str, &str)| source.room == *room && name == engine;
            if source.room == format!("engines/{engine}") || OTHER_MEANINGS.iter().any(other) {
                continue;
            }
            // Some names are words of every day: only names as literals and as crates count.
            let forms = [format!("\"{engine}\""), format!("hotrow_{engine}")];
            for (line, code) in source.code() {
                if forms.iter().any(|form| code.contains(form.as_str())) {
                    faults.push(format!("{}:{line} names the engine {engine}", source.path));
                }
            }
        }
    }
    report(faults);
}

#[test]
fn unsafe_stands_where_it_may() {
    let mut faults = Vec::new();
    let sources = sources();
    for source in &sources {
        if UNSAFE_ALLOWED.contains(&source.room.as_str()) {
            continue;
        }
        let queue = source.room.starts_with("engines/") && source.path.contains("/queue");
        for (line, code) in source.code().filter(|_| source.is_product() && !queue) {
            let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '"');
            if words.any(|word| word == "unsafe") {
                faults.push(format!("{}:{line} says unsafe", source.path));
            }
        }
        let is_root = source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs");
        let messages = source.room.starts_with("engines/")
            && sources
                .iter()
                .any(|other| other.room == source.room && other.path.contains("/queue"));
        let begun = !source.text.starts_with("//! (under construction)");
        let forbids = source.text.contains("#![forbid(unsafe_code)]");
        if is_root && begun && !messages && !forbids {
            faults.push(format!("{} lacks #![forbid(unsafe_code)]", source.path));
        }
    }
    report(faults);
}

#[test]
fn fences_threads_clocks_and_files_stand_where_they_may() {
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| source.is_product()) {
        let recovery = source.path.starts_with("crates/engine/src/recovery");
        for (word, rooms) in WORDS {
            if rooms.contains(&source.room.as_str()) || (recovery && rooms.contains(&"log")) {
                continue;
            }
            let lines = source.code().filter(|(_, code)| code.contains(word));
            faults.extend(lines.map(|(line, _)| format!("{}:{line} says {word}", source.path)));
        }
    }
    report(faults);
}

#[test]
fn storage_knows_no_log_and_nobody_low_knows_sql() {
    let forbidden: &[(&str, &[&str])] = &[
        ("storage", &["hotrow_log", "hotrow_transaction", "hotrow_engine", "hotrow_sql"]),
        ("log", &["hotrow_storage", "hotrow_transaction", "hotrow_engine", "hotrow_sql"]),
        ("transaction", &["hotrow_storage", "hotrow_log", "hotrow_engine", "hotrow_sql"]),
        ("engine", &["hotrow_sql", "hotrow_workloads"]),
        ("sql", &["hotrow_storage", "hotrow_engine"]),
        ("query", &["hotrow_storage", "hotrow_log", "hotrow_engine", "hotrow_sql"]),
        ("workloads", &["hotrow_storage", "hotrow_engine"]),
    ];
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| source.is_product()) {
        let Some((_, words)) = forbidden.iter().find(|(room, _)| *room == source.room) else {
            continue;
        };
        for (line, code) in source.code() {
            let named = words.iter().filter(|word| code.contains(**word));
            faults.extend(named.map(|word| format!("{}:{line} names {word}", source.path)));
        }
    }
    report(faults);
}

#[test]
fn files_are_short_and_lines_narrow() {
    let mut faults = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{} has {lines} lines", source.path));
        }
        for (at, line) in source.text.lines().enumerate() {
            let width = line.chars().count();
            let table = line.trim_start_matches('/').starts_with("! |"); // cannot be wrapped
            if width > LINE_WIDTH_MAX && !table {
                faults.push(format!("{}:{} is {width} wide", source.path, at + 1));
            }
        }
    }
    report(faults);
}

#[test]
fn no_file_is_named_after_nothing() {
    let vague = ["utils", "util", "common", "helpers", "helper", "manager", "misc"];
    let named = |source: &Source| {
        let stem =
            Path::new(&source.path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.is_some_and(|stem| vague.contains(&stem.as_str()))
    };
    report(
        sources().iter().filter(|source| named(source)).map(|source| source.path.clone()).collect(),
    );
}

/// What is linked to from the text of a document: files, not addresses.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let behind = text.split("](").skip(1);
    let links = behind.filter_map(|rest| rest.split([')', '#', ' ']).next());
    links.filter(|link| {
        !link.is_empty() && !link.contains("://") && !link.contains(char::is_whitespace)
    })
}

#[test]
fn documents_lead_to_files_that_are_there_and_the_map_is_short() {
    let mut documents = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    let docs = fs::read_dir(root().join("docs")).expect("the folder can be read");
    documents.extend(docs.map(|entry| entry.expect("the folder can be read").path()));
    let mut faults = Vec::new();
    let mut links_seen = 0;
    for path in documents.iter().filter(|path| path.extension().is_some_and(|of| of == "md")) {
        let text = fs::read_to_string(path).expect("documents are text");
        let folder = path.parent().expect("a document lies in a folder");
        for link in links(&text) {
            links_seen += 1;
            if !folder.join(link).exists() {
                faults.push(format!("{} links to {link}, which is not there", path.display()));
            }
        }
        let lines = text.lines().count();
        if path.ends_with("ARCHITECTURE.md") && lines >= 150 {
            faults.push(format!("ARCHITECTURE.md has {lines} lines: it is a map"));
        }
    }
    assert!(links_seen > 100, "{links_seen} links");
    report(faults);
}
