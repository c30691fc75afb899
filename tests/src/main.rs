//! The long forms of tests that the suite runs in short.

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hotrow_tests::crash::child::{self, ChildOptions};
use hotrow_tests::crash::{self, CrashOptions};
use hotrow_tests::seen::{self, SeenOptions};

/// Long tests of Hotrow.
#[derive(Parser, Debug)]
#[command(name = "hotrow-tests")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Kill a working database again and again, and look for what it acknowledged
    Crash {
        /// How many times
        #[arg(long, default_value = "200")]
        rounds: u32,
        /// Seed of what clients do and of when they are killed
        #[arg(long, default_value = "1")]
        seed: u64,
        /// Where databases are made
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        directory: PathBuf,
        /// Tell nothing of single rounds
        #[arg(long, short)]
        quiet: bool,
    },
    /// Kill a database whose disk is slow again and again, and look for whatever anybody saw
    Seen {
        /// How many times
        #[arg(long, default_value = "200")]
        rounds: u32,
        /// Seed of what clients do and of when they are killed
        #[arg(long, default_value = "1")]
        seed: u64,
        /// How much longer a sync of the log takes
        #[arg(long, default_value = "5")]
        sync_ms: u64,
        /// Where databases are made
        #[arg(long, default_value_os_t = std::env::temp_dir())]
        directory: PathBuf,
        /// Tell nothing of single rounds
        #[arg(long, short)]
        quiet: bool,
    },
    /// The process that is killed
    #[command(hide = true)]
    CrashChild(ChildOptions),
    /// The process that is killed
    #[command(hide = true)]
    SeenChild(seen::child::ChildOptions),
}

fn main() -> ExitCode {
    let program = std::env::current_exe().expect("a program knows where it lies");
    match Arguments::parse().command {
        Command::Crash { rounds, seed, directory, quiet } => {
            let verbose = !quiet;
            let options = CrashOptions { rounds, seed, directory, program, verbose };
            told(crash::run(&options))
        }
        Command::Seen { rounds, seed, sync_ms, directory, quiet } => {
            let (verbose, sync_delay) = (!quiet, Duration::from_millis(sync_ms));
            let options = SeenOptions { rounds, seed, sync_delay, directory, program, verbose };
            told(seen::run(&options))
        }
        Command::CrashChild(options) => {
            child::run(&options);
            ExitCode::SUCCESS
        }
        Command::SeenChild(options) => {
            seen::child::run(&options);
            ExitCode::SUCCESS
        }
    }
}

fn told(ended: Result<impl Display, String>) -> ExitCode {
    match ended {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}
