//! `hotrow explain`: what planning knows of a procedure.

use std::io::{self, Write};

use hotrow::{Config, Database};

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::show::{Script, Style};
use crate::sql::read;

pub(crate) fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let text = read(&arguments.file)?;
    // With an engine: scripts have rows, too, and columns that number them.
    let db = Database::open_in_memory(Config::default().threads(1))?;
    let script = Script::of_file(&arguments.file, &text);
    if let Err(error) = db.session().execute(&text) {
        return Err(script.tell(&error, Style::of(&io::stderr())));
    }
    let explained = match arguments.dot {
        true => db.draw_procedure(&arguments.procedure),
        false => db.explain_procedure(&arguments.procedure),
    };
    let explained = explained.map_err(|error| script.tell(&error, Style::of(&io::stderr())))?;
    Ok(write!(io::stdout(), "{explained}")?)
}
