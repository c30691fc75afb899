//! The long forms of tests that the suite runs in short.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hotrow_tests::crash::child::{self, ChildOptions};
use hotrow_tests::crash::{self, CrashOptions};

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
    /// The process that is killed
    #[command(hide = true)]
    CrashChild(ChildOptions),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Crash { rounds, seed, directory, quiet } => {
            let program = std::env::current_exe().expect("a program knows where it lies");
            let options = CrashOptions { rounds, seed, directory, program, verbose: !quiet };
            match crash::run(&options) {
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
        Command::CrashChild(options) => {
            child::run(&options);
            ExitCode::SUCCESS
        }
    }
}
