//! The file of a story, in TOML.
//!
//! ```toml
//! what = "Counters that everybody bumps"   # one line, for people
//! schema = "counter.sql"                   # tables, procedures and rows, beside this file
//!
//! [draw]                                   # what stands for $name in a call
//! id = { from = 1, to = 3 }                # a number, each as likely; places = 2: with decimals
//! how = { among = ["up", "down"] }         # one of these
//! key = { fresh = "k", again = 0.1 }       # a text that nobody else draws; one in ten again
//! by = { client = "client " }              # with the number of the client behind it
//! was = { told = "n" }                     # what an earlier call gave the client in column n,
//!                                          # taken once; until there is some, the call is not made
//! [[call]]
//! name = "bump"
//! share = 9                                # of all shares; 1 where it is not said
//! sql = "SELECT bump($id, $how)"
//! fails = ["P0001"]                        # with which SQLSTATEs it may fail
//!
//! [[holds]]
//! what = "no counter is negative"
//! sql = "SELECT id, n FROM counter WHERE n < 0"       # each row is something that does not hold
//! ```
//!
//! A query of `holds` can ask what the clients were told, by these tables:
//!
//! | table | columns |
//! |---|---|
//! | told_calls | call, calls (that did not fail), rows (that they gave) |
//! | told_answers | call, name (of a column), answer (as text, `NULL`), times; of columns with at most 1,000 answers |
//! | told_run | id (1), began, ended |

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::draw::Draw;
use crate::error::BenchError;

/// A contended workload: its schema, its calls and what must hold.
#[derive(Clone, Debug)]
pub struct Story {
    /// by which it is called
    pub name: String,
    /// what it is, in a line
    pub what: String,
    pub(super) schema: String,
    /// by the number of each name
    pub(super) draws: Vec<Draw>,
    pub(super) calls: Vec<Call>,
    /// of each call, with `$1` for a name
    pub(super) statements: Vec<String>,
    pub(super) holds: Vec<Holds>,
}

/// A call.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) share: u32,
    sql: String,
    #[serde(default)]
    pub(super) fails: Vec<String>,
    /// the numbers of what is drawn for its parameters
    #[serde(skip)]
    pub(super) parameters: Vec<usize>,
}

/// What must hold afterwards.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Holds {
    pub(super) what: String,
    pub(super) sql: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    what: String,
    schema: String,
    #[serde(default)]
    draw: BTreeMap<String, Draw>,
    call: Vec<Call>,
    #[serde(default)]
    holds: Vec<Holds>,
}

fn one() -> u32 {
    1
}

macro_rules! built_in {
    ($($name:literal)*) => {
        [$((
            $name,
            include_str!(concat!("../../stories/", $name, ".toml")),
            include_str!(concat!("../../stories/", $name, ".sql")),
        )),*]
    };
}

/// Name, file and schema of each story that is built in.
const BUILT_IN: [(&str, &str, &str); 8] = built_in! {
    "flash_sale" "ledger" "seat_map" "rate_limiter" "order_book" "item_trade" "job_queue" "tpcc"
};

/// The stories that are built in.
pub fn stories() -> impl Iterator<Item = Story> {
    let read = |(name, file, schema): &(&str, &str, &str)| {
        Story::of(name, file, |_| Ok((*schema).to_owned())).expect("it is tested")
    };
    BUILT_IN.iter().map(read)
}

/// The story that is built in under a name, or that of a file, whose name ends in `.toml`.
///
/// # Errors
///
/// [`BenchError::Selection`]: there is none. [`BenchError::Story`]: the file says what none can be.
pub fn story_named(name: &str) -> Result<Story, BenchError> {
    if let Some(story) = stories().find(|story| story.name == name) {
        return Ok(story);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|ending| ending != "toml") {
        let known: Vec<_> = BUILT_IN.iter().map(|(name, ..)| *name).collect();
        let message = format!(
            "there is no story \"{name}\"; there are: {}; one of your own is a file whose name \
             ends in .toml",
            known.join(", ")
        );
        return Err(BenchError::Selection(message));
    }
    let read = |path: &Path| {
        let text = fs::read_to_string(path);
        text.map_err(|error| BenchError::Selection(format!("{}: {error}", path.display())))
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Story::of(&stem, &read(path)?, |schema| read(&path.with_file_name(schema)))
}

impl Story {
    /// Reads a file; `schema` gives the text of the one that it names.
    pub(super) fn of(
        name: &str,
        text: &str,
        schema: impl FnOnce(&str) -> Result<String, BenchError>,
    ) -> Result<Self, BenchError> {
        let said = |what: &str, reason: String| BenchError::Story {
            story: name.to_owned(),
            what: what.to_owned(),
            reason,
        };
        let file: File =
            toml::from_str(text).map_err(|error| said("its file", error.to_string()))?;
        let schema = schema(&file.schema)?;
        let (names, draws): (Vec<_>, Vec<_>) = file.draw.into_iter().unzip();
        let (mut calls, mut statements) = (file.call, Vec::new());
        for call in &mut calls {
            let numbered = numbered(&call.sql, &names);
            let (sql, parameters) =
                numbered.map_err(|why| said(&format!("call \"{}\"", call.name), why))?;
            call.parameters = parameters;
            statements.push(sql);
        }
        // Some that need nothing told beforehand, so that a client can always call something.
        let is_told = |draw: &usize| matches!(draws[*draw], Draw::Told(_));
        if !calls.iter().any(|call| call.share > 0 && !call.parameters.iter().any(is_told)) {
            let why = "no call with a share can be made before another one has told something";
            return Err(said("its calls", why.to_owned()));
        }
        let (name, what, holds) = (name.to_owned(), file.what, file.holds);
        Ok(Self { name, what, schema, draws, calls, statements, holds })
    }

    pub(super) fn wrong(&self, what: &str, reason: String) -> BenchError {
        BenchError::Story { story: self.name.clone(), what: what.to_owned(), reason }
    }
}

/// A statement with `$1` for the first name, and so on, and which names those are.
fn numbered(sql: &str, names: &[String]) -> Result<(String, Vec<usize>), String> {
    let (mut text, mut parameters, mut rest) = (String::new(), Vec::new(), sql);
    while let Some(at) = rest.find('$') {
        let behind = &rest[at + 1..];
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &behind[..end.unwrap_or(behind.len())];
        text += &rest[..at];
        rest = &behind[name.len()..];
        let Some(number) = names.iter().position(|known| known == name) else {
            return Err(format!(
                "nothing says how ${name} is drawn; [draw] has: {}",
                if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
            ));
        };
        let place = parameters.iter().position(|known| *known == number);
        let place = place.unwrap_or_else(|| {
            parameters.push(number);
            parameters.len() - 1
        });
        text += &format!("${}", place + 1);
    }
    Ok((text + rest, parameters))
}
