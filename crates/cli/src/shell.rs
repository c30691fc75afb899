//! `hotrow shell`: SQL typed line by line.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use hotrow::{Database, Session, TransactionState};
use hotrow_base::clock::Ticks;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::arguments::ShellArguments;
use crate::definitions::{Trouble, write_procedures, write_table, write_tables};
use crate::failure::Failure;
use crate::show::{Script, Style};
use crate::sql::{execute, open, read};
use crate::statement_end::{Typed, typed};

/// Entries that the history file keeps.
const HISTORY_MAX: usize = 2_000;

const HELP: &str = "\
A statement ends with a semicolon and may span lines; Ctrl-C drops what was typed so far.
  \\d             tables
  \\d TABLE       columns, indexes and constraints of a table
  \\df            procedures
  \\df NAME       text of a procedure
  \\explain NAME  what planning knows of a procedure's accesses
  \\i FILE        execute a script
  \\waits         who has waited for whom, and for which rows
  \\timing        show how long statements take, or stop showing it
  \\q             leave (also Ctrl-D)
";

pub(crate) fn run(arguments: &ShellArguments) -> Result<(), Failure> {
    let mut shell = Shell::new(open(&arguments.engine)?)?;
    if let Some(file) = &arguments.file {
        let text = read(file)?;
        shell.execute(Some(file), &text)?;
    }
    if io::stdin().is_terminal() {
        let engines = arguments.engine.choice.engine.as_deref().unwrap_or("the default engine");
        println!("Hotrow {}, in memory, {engines}. \\? for help.", env!("CARGO_PKG_VERSION"));
    }
    shell.read_lines()
}

/// Whether the shell goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Line,
    End,
}

struct Shell {
    session: Session,
    db: Database,
    editor: Editor<(), FileHistory>,
    /// none when there is no home to keep it in
    history: Option<PathBuf>,
    /// All SQL so far: places in procedures made earlier point at their text.
    script: Script,
    /// the statement being typed
    open: String,
    timing: bool,
    /// whether anything failed
    failed: bool,
}

impl Shell {
    fn new(db: Database) -> Result<Self, Failure> {
        let config = Config::builder().max_history_size(HISTORY_MAX).map_err(unusable)?;
        let mut editor =
            Editor::with_config(config.auto_add_history(false).build()).map_err(unusable)?;
        let history = history_file().filter(|_| io::stdin().is_terminal());
        if let Some(path) = &history {
            // The first time there is none.
            let _ = editor.load_history(path);
        }
        Ok(Self {
            session: db.session(),
            db,
            editor,
            history,
            script: Script::default(),
            open: String::new(),
            timing: false,
            failed: false,
        })
    }

    fn read_lines(&mut self) -> Result<(), Failure> {
        loop {
            let prompt = prompt(self.session.transaction_state(), self.open.is_empty());
            match self.editor.readline(&prompt) {
                Ok(line) => {
                    if self.take(&line)? == Next::End {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => self.open.clear(),
                Err(ReadlineError::Eof) => {
                    // A script that was piped in may lack its last semicolon.
                    if !self.open.trim().is_empty() {
                        self.run_open()?;
                    }
                    break;
                }
                Err(error) => return Err(unusable(error)),
            }
        }
        self.save_history();
        // Who types has seen what failed; a script that was piped in wants the exit code.
        if self.failed && !io::stdin().is_terminal() { Err(Failure::Told) } else { Ok(()) }
    }

    fn take(&mut self, line: &str) -> Result<Next, Failure> {
        if self.open.is_empty() && line.trim_start().starts_with('\\') {
            self.remember(line.trim());
            return self.command(line.trim());
        }
        self.open += line;
        self.open.push('\n');
        match typed(&self.open) {
            Typed::Nothing => self.open.clear(),
            Typed::Open => {}
            Typed::Whole => {
                self.remember(self.open.trim_end().to_owned().as_str());
                self.run_open()?;
            }
        }
        Ok(Next::Line)
    }

    /// Executes what was typed.
    fn run_open(&mut self) -> Result<(), Failure> {
        let text = std::mem::take(&mut self.open);
        let start = Ticks::now();
        let done = self.execute(None, &text);
        if self.timing {
            let ms = start.elapsed().as_secs_f64() * 1_000.0;
            writeln!(io::stdout(), "Time: {ms:.3} ms")?;
        }
        self.go_on(done)
    }

    fn execute(&mut self, name: Option<&str>, text: &str) -> Result<(), Failure> {
        let placed = self.script.append(name, text);
        execute(&self.session, &placed, &self.script, false)
    }

    /// A statement that failed does not end the shell; a closed output does.
    fn go_on(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        match done {
            Ok(()) => return Ok(()),
            Err(Failure::Output(error)) => return Err(error.into()),
            Err(Failure::Told) => {}
            Err(Failure::Usage(message) | Failure::Failed(message)) => eprintln!("{message}"),
        }
        self.failed = true;
        Ok(())
    }

    fn command(&mut self, line: &str) -> Result<Next, Failure> {
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim().trim_end_matches(';');
        let mut out = io::stdout().lock();
        let done: Result<(), Trouble> = match (name, argument) {
            ("\\q", _) => return Ok(Next::End),
            ("\\?", _) => out.write_all(HELP.as_bytes()).map_err(Trouble::from),
            ("\\d", "") => write_tables(&self.db, &mut out),
            ("\\d", table) => match self.db.describe(table) {
                Ok(described) => write_table(&described, &mut out).map_err(Trouble::from),
                Err(error) => Err(error.into()),
            },
            ("\\df", "") => write_procedures(&self.db, &mut out).map_err(Trouble::from),
            ("\\df", name) => self.show_source(name, &mut out),
            ("\\explain", name) => match self.db.explain_procedure(name) {
                Ok(text) => write!(out, "{text}").map_err(Trouble::from),
                Err(error) => Err(error.into()),
            },
            ("\\i", file) => {
                drop(out);
                let done = read(file).and_then(|text| self.execute(Some(file), &text));
                return self.go_on(done).map(|()| Next::Line);
            }
            ("\\waits", _) => write_waits(&self.db, &mut out).map_err(Trouble::from),
            ("\\timing", _) => {
                self.timing = !self.timing;
                let now = if self.timing { "on" } else { "off" };
                writeln!(out, "Timing is {now}.").map_err(Trouble::from)
            }
            (unknown, _) => {
                let message = format!("There is no command {unknown}; \\? lists those there are.");
                return self.go_on(Err(Failure::Failed(message))).map(|()| Next::Line);
            }
        };
        let done = done.map_err(|trouble| match trouble {
            Trouble::Output(error) => error.into(),
            Trouble::Refused(error) => self.script.tell(&error, Style::of(&io::stderr())),
        });
        self.go_on(done).map(|()| Next::Line)
    }

    fn show_source(&self, name: &str, out: &mut dyn Write) -> Result<(), Trouble> {
        let procedures = self.db.procedures();
        match procedures.iter().find(|procedure| procedure.name == name) {
            Some(procedure) => Ok(writeln!(out, "{}", procedure.source)?),
            // For the error that says so.
            None => Ok(self.db.explain_procedure(name).map(drop)?),
        }
    }

    fn remember(&mut self, entry: &str) {
        // A full disk or a read-only home is no reason to stop.
        // No password is written into a file.
        if !entry.to_ascii_lowercase().contains("password") {
            let _ = self.editor.add_history_entry(entry);
        }
    }

    fn save_history(&mut self) {
        let Some(path) = &self.history else { return };
        let saved = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) =
            saved.map_err(ReadlineError::from).and_then(|()| self.editor.save_history(path))
        {
            eprintln!("hotrow: {}: {error}", path.display());
        }
    }
}

/// As psql's: `*` in a transaction, `!` in one that has failed; `-` in an open statement.
fn prompt(state: TransactionState, is_new: bool) -> String {
    let mark = match state {
        TransactionState::Idle => "",
        TransactionState::Open => "*",
        TransactionState::Failed => "!",
    };
    let place = if is_new { '=' } else { '-' };
    format!("hotrow{place}{mark}> ")
}

/// `$XDG_STATE_HOME/hotrow/history`, by default below `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("hotrow/history"))
}

fn unusable(error: ReadlineError) -> Failure {
    Failure::Failed(format!("terminal: {error}"))
}

/// The longest waits, a line each.
fn write_waits(db: &Database, out: &mut impl Write) -> io::Result<()> {
    const MOST: usize = 20;
    let waits = db.waits(MOST);
    if waits.is_empty() {
        return writeln!(out, "Nobody has waited for anybody yet.");
    }
    waits.iter().try_for_each(|wait| writeln!(out, "{wait}"))
}
