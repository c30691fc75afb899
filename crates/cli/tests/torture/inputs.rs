//! The list: every production of the grammar at its sizes, and what has once hurt a server.

use crate::growth::{self, Kind, PRODUCTIONS, Production};
use crate::protocol;
use crate::raw::query;

/// Something to send.
pub struct Input {
    /// what it is
    pub name: String,
    /// the messages
    pub bytes: Vec<u8>,
    /// how many times the server says that it is ready for the next, behind all of it
    pub answers: usize,
}

impl Input {
    /// A script of the simple protocol.
    pub fn script(name: impl Into<String>, text: &str) -> Self {
        Self { name: name.into(), bytes: query(text), answers: 1 }
    }
}

/// Longer texts are refused as messages, and tried as such once.
const BYTES_MAX: usize = 4 << 20;

/// All of them, always in the same order.
pub fn all() -> Vec<Input> {
    let grown = PRODUCTIONS.iter().enumerate().flat_map(|(at, production)| {
        let sizes = production.sizes().iter().enumerate();
        sizes.map(move |(nth, &size)| of_production(production, at + nth, size))
    });
    grown.chain(once_harmful()).chain(protocol::all()).collect()
}

/// One of a production's texts, in one of its kind's frames.
fn of_production(production: &Production, turn: usize, size: usize) -> Input {
    let frames = growth::frames(production.kind);
    let frame = frames[turn % frames.len()];
    // What doubles is to come to be run, not only to be compiled.
    let frame = if size < 100 { frames[0] } else { frame };
    let mut text = put(frame, &production.grow(size, "1"));
    if text.len() > BYTES_MAX {
        text = put(frame, &production.grow(size * BYTES_MAX / text.len() / 2, "1"));
    }
    Input::script(format!("{} x {size}: {frame:.40}", production.name), &text)
}

/// A text in a frame.
pub fn put(frame: &str, text: &str) -> String {
    let (before, behind) = frame.split_once("{}").expect("a frame has a place");
    format!("{before}{text}{behind}")
}

/// Statements of a file, each below its name.
const HARMFUL: &str = include_str!("harmful.sql");

/// Inputs that ended a server, took seconds and could not be ended, or took gibibytes, in 2026.
fn once_harmful() -> impl Iterator<Item = Input> {
    let written = HARMFUL.split("\n-- ").skip(1).filter_map(|part| part.split_once('\n'));
    let written = written.map(|(name, text)| Input::script(name, text));
    let many = |between: &str, n: usize| vec!["repeat('x', 50000000)"; n].join(between);
    let replaces = ["replace(".repeat(30), ", 'x', 'xxxx')".repeat(30)];
    let procedure = growth::frames(Kind::Body)[1];
    let made = vec![
        ("nested replaces", format!("SELECT length({}'x'{})", replaces[0], replaces[1])),
        ("many repeats", format!("SELECT {}", many(", ", 100))),
        ("concat of repeats", format!("SELECT length(concat({}))", many(", ", 60))),
        ("concatenated repeats", format!("SELECT length({})", many(" || ", 60))),
        ("a statement beyond a message", format!("SELECT '{}'", "x".repeat(20 << 20))),
        ("EXPLAIN of a chain", put("EXPLAIN {}", &grown("with", 3_000))),
        ("EXPLAIN of a doubled chain", put("EXPLAIN {}", &grown("with twice", 30))),
        ("EXPLAIN of many unions", put("EXPLAIN {}", &grown("union", 45_000))),
        ("many unions", grown("union", 45_000)),
        ("many excepts", grown("except", 45_000)),
        ("a chain", grown("with", 3_000)),
        ("a procedure of many ELSIFs", put(procedure, &grown("elsif", 10_000))),
        ("a procedure of many statements", put(procedure, &grown("updates", 10_000))),
    ];
    written.chain(made.into_iter().map(|(name, text)| Input::script(name, &text)))
}

/// A production's text by its name.
fn grown(name: &str, size: usize) -> String {
    let production = PRODUCTIONS.iter().find(|production| production.name == name);
    production.expect("there is one").grow(size, "1")
}
