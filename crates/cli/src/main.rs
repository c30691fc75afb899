//! The command `hotrow`: benchmarks, SQL scripts, a shell, a server and a look at one.
//!
//! Role         reads arguments, calls `hotrow` and `hotrow-bench`, shows what they give. Results
//!              go to stdout, everything else to stderr.
//! Exit codes   0 done; 1 a check failed, SQL failed, or a file could not be read; 2 wrong usage

#![forbid(unsafe_code)]

mod advise;
mod allocator;
mod arguments;
mod bench;
mod calibrate;
mod check;
mod configuration;
mod data;
mod definitions;
mod engines;
mod explain;
mod failure;
mod figure;
mod functions;
mod history;
mod logging;
mod map;
mod paper;
mod remote;
mod serve;
mod settings;
mod shell;
mod show;
mod sql;
mod statement_end;
mod story;
mod top;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::arguments::{Arguments, BenchCommand, Command, ConfigCommand, LogCommand};
use crate::logging::Logging;

/// Benchmarks allocate while they load; the system's allocator is slower at that. In every build,
/// so that tests see what becomes of memory as users do.
#[cfg(not(hotrow_machine))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    // A check tells warnings itself, with their places.
    if !matches!(command, Command::Serve(_) | Command::Check(_)) {
        Logging::of_trouble().start();
    }
    let done = match command {
        Command::Bench(arguments) => match arguments.command {
            Some(BenchCommand::History(arguments)) => history::run(&arguments),
            Some(BenchCommand::Figure(arguments)) => figure::run(&arguments),
            Some(BenchCommand::Model(arguments)) => figure::run_models(&arguments),
            Some(BenchCommand::Paper(arguments)) => paper::run(&arguments),
            Some(BenchCommand::Story(arguments)) => story::run(&arguments),
            Some(BenchCommand::Calibrate(arguments)) => calibrate::run(&arguments),
            Some(BenchCommand::Map(arguments)) => map::run(&arguments),
            None => bench::run(&arguments.run),
        },
        Command::Sql(arguments) => sql::run(&arguments),
        Command::Shell(arguments) => shell::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Config(ConfigCommand::Print(arguments)) => configuration::print(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Checkpoint(arguments) => data::checkpoint(&arguments),
        Command::Verify(arguments) => data::verify(&arguments),
        Command::Log(LogCommand::Dump(arguments)) => data::dump(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Engines => engines::run(),
        Command::Functions(arguments) => functions::run(&arguments),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "hotrow", &mut io::stdout());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
