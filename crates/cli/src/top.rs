//! `hotrow top`: what a server does, once a second.
//!
//! Role         `watch` takes looks at the server in a thread of its own, `page` makes lines of two
//!              of them, `screen` shows these on a terminal; to something else one page is written
//! Invariants   I1 the terminal is as it was when it ends: by a key, a signal, an error or a panic

mod page;
mod screen;
mod watch;

use std::io::{self, IsTerminal, Write};

use hotrow_base::thread;

use crate::arguments::TopArguments;
use crate::failure::Failure;
use page::{Extent, Figures};
use watch::{Look, Watcher};

pub(crate) fn run(arguments: &TopArguments) -> Result<(), Failure> {
    if arguments.once || !io::stdout().is_terminal() {
        return write_page(arguments);
    }
    let watcher = Watcher::start(arguments.server.clone(), arguments.every)?;
    screen::show(&watcher, arguments)
}

fn write_page(arguments: &TopArguments) -> Result<(), Failure> {
    let mut client = arguments.server.connect()?;
    let before = Look::take(&mut client)?;
    thread::sleep(arguments.every);
    let after = Look::take(&mut client)?;
    let figures = Figures::between(&before, &after);
    let lines = page::lines(&figures, &arguments.server.to_string(), arguments.sort, Extent::ALL);
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{}", line.to_string().trim_end())?;
    }
    Ok(())
}
