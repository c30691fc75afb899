//! `hotrow sql`: a script in a fresh database.

use std::io::{self, Read, Write};

use hotrow::{Config, Database, Notice, Session, StatementResult};
use hotrow_bench::select_engines;

use crate::arguments::{EngineArguments, EngineChoice, SqlArguments};
use crate::data;
use crate::failure::Failure;
use crate::show::{Script, Style, write_rows};

pub(crate) fn run(arguments: &SqlArguments) -> Result<(), Failure> {
    let text = read(&arguments.file)?;
    let name = if arguments.file == "-" { "stdin" } else { &arguments.file };
    let db = open(&arguments.engine)?;
    let script = Script::of_file(name, &text);
    execute(&db.session(), &text, &script, arguments.quiet)
}

/// Executes text, showing results as they come; errors are told on stderr, with the place in
/// `script`.
pub(crate) fn execute(
    session: &Session,
    text: &str,
    script: &Script,
    quiet: bool,
) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let mut written = Ok(());
    let done = session.execute_each(text, |result| {
        if written.is_ok() {
            let _entered = session.enter(); // times are shown in its zone
            written = write_result(&result, quiet, &mut out);
        }
    });
    written?;
    out.flush()?;
    done.map_err(|error| script.tell(&error, Style::of(&io::stderr())))
}

/// Writes what was said beside a result, as psql does.
fn write_notices(notices: &[Notice]) {
    for Notice { level, said } in notices {
        eprintln!("{}: {}", level.name(), said.message);
        let more = [("DETAIL", &said.detail), ("HINT", &said.hint)];
        more.iter()
            .filter_map(|(name, text)| Some((name, text.as_ref()?)))
            .for_each(|(name, text)| eprintln!("{name}:  {text}"));
    }
}

/// Writes a statement's rows, or its command tag where it has none.
fn write_result(result: &StatementResult, quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    write_notices(&result.notices);
    if !result.rows.columns().is_empty() {
        write_rows(&result.rows, out)
    } else if quiet {
        Ok(())
    } else {
        writeln!(out, "{}", result.tag)
    }
}

/// Opens a database with the engine that was asked for.
pub(crate) fn open(arguments: &EngineArguments) -> Result<Database, Failure> {
    let config = config(&arguments.choice)?;
    match &arguments.data {
        None => Ok(Database::open_in_memory(config)?),
        Some(path) => data::open(path, config.durability(arguments.durability)),
    }
}

/// A configuration with the engine that was asked for.
fn config(arguments: &EngineChoice) -> Result<Config, Failure> {
    let mut config = Config::default();
    if let Some(text) = &arguments.engine {
        choose_engine(&mut config, text)
            .map_err(|what| Failure::Usage(format!("--engine: {what}")))?;
    }
    config.threads = arguments.threads.map(usize::from);
    config.split_indexes = arguments.split;
    Ok(config)
}

/// Sets the engine: NAME or NAME:setting=value,...
pub(crate) fn choose_engine(config: &mut Config, text: &str) -> Result<(), String> {
    // A name alone is the engine as it is by default, not one of its variants.
    let named = hotrow::engines().iter().any(|entry| entry.name == text);
    let exact = if named { format!("{text}:") } else { text.to_owned() };
    let mut variants = select_engines(&exact).map_err(|error| error.to_string())?;
    let Some(variant) = variants.pop().filter(|_| variants.is_empty()) else {
        return Err(format!("{text}: choose one engine"));
    };
    config.engine = variant.entry.name.to_owned();
    config.settings = variant.settings;
    Ok(())
}

/// Reads a script; `-` is stdin.
pub(crate) fn read(path: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match path {
        "-" => io::stdin().read_to_string(&mut text).map(|_| text),
        path => std::fs::read_to_string(path),
    };
    read.map_err(|error| Failure::file(path, &error))
}
