//! The command line: what there is to say, and `--help`.

mod calibrate;
mod check;
mod figure;
mod map;
mod remote;
mod story;
mod top;

use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use hotrow_bench::LogSettings;

pub(crate) use calibrate::CalibrateArguments;
pub(crate) use check::CheckArguments;
pub(crate) use figure::{FigureArguments, FigureRunArguments, ModelArguments, PaperArguments};
pub(crate) use map::{AdviseArguments, MapArguments};
pub(crate) use remote::RemoteArguments;
pub(crate) use story::StoryArguments;
pub(crate) use top::{Sort, TopArguments};

use crate::settings::Flags;

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 a check or SQL failed, or a file could not be read; 2 wrong usage.
NO_COLOR is respected; output that is not to a terminal is plain.";

const TOP_EXAMPLES: &str = "\
Examples:
  hotrow bench tpcc                     TPC-C on three engines, checked, in half a minute
  hotrow shell                          type SQL against an empty database
  hotrow sql schema.sql                 run a script
  hotrow explain schema.sql buy         what planning knows of the procedure buy
  hotrow check schema.sql procedures.sql     all procedures, before they are deployed
  hotrow advise                         which engine suits what the server here does

Exit codes: 0 done; 1 a check or SQL failed, or a file could not be read; 2 wrong usage.
NO_COLOR is respected; output that is not to a terminal is plain.";

/// A serializable main-memory transaction engine for rows that everybody wants at once.
#[derive(Parser, Debug)]
#[command(name = "hotrow", version, after_help = TOP_EXAMPLES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a benchmark on engines, check what it leaves behind, and report
    Bench(Box<BenchArguments>),
    /// Execute a SQL script, in memory or in a data directory
    Sql(SqlArguments),
    /// Type SQL against a database, in memory or in a data directory
    Shell(ShellArguments),
    /// Serve a database to PostgreSQL's clients
    Serve(Box<ServeArguments>),
    /// Look at the settings of the server
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show what a server does, once a second
    Top(Box<TopArguments>),
    /// Take a checkpoint of a database that is not open, so that its next start is fast
    Checkpoint(DirectoryArguments),
    /// Check everything in a data directory, and change nothing
    Verify(DirectoryArguments),
    /// Look at the log of a data directory
    #[command(subcommand)]
    Log(LogCommand),
    /// Show what planning knows of each access of a procedure
    Explain(ExplainArguments),
    /// Compile definitions, and show what each call of their procedures would hold
    Check(CheckArguments),
    /// Tell which engine suits what a server does, by the map of engines
    Advise(Box<AdviseArguments>),
    /// List the engines, their settings and what they are
    Engines,
    /// List the functions of SQL, with their arguments and an example of each
    Functions(FunctionsArguments),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  hotrow completions bash > ~/.bash_completion.d/hotrow")]
    Completions {
        /// the shell
        shell: Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct FunctionsArguments {
    /// Only those whose name begins so, with what they are for
    pub(crate) name: Option<String>,
    /// Write docs/functions.md anew, and list nothing
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    pub(crate) document: Option<PathBuf>,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  hotrow bench                                   tpcc on three engines, 1 and 2 threads
  hotrow bench --engine all                      on all of them, in all their variants
  hotrow bench tpcc --warehouses 1,4 --set mix=np
  hotrow bench ycsb --set hot=16 --set reads=0,50,100 --seconds 1
  hotrow bench tpcc --engine serial --engine two_phase_locking:acquisition=ordered
  hotrow bench ycsb --transactions 100000 --threads 1 --seed 7 --json runs.json
  hotrow bench ycsb --parameters                 what --set can set
  hotrow bench counter --clients 1,2,4,64        one row, bumped through sessions
  hotrow bench tpcb --remote 'host=127.0.0.1 port=5433' --clients 1,16
                                                 over the wire, at a server (hotrow serve)
  hotrow bench history --format elle --out history.edn
  hotrow bench figure --list                     experiments of papers, to be run again
  hotrow bench model                             engines beside their analytical models
  hotrow bench paper all --report evidence       all figures, and one page of their verdicts
  hotrow bench story flash_sale                  a schema, its procedures and what must hold

Each run starts on a freshly loaded database and ends with the workload's checks; when one
fails, the figures mean nothing and the exit code is 1.

The figures: txn/s and latency (from fetch to commit; with --clients, from call to answer) of
committed calls while it was measured;
\"aborts\" are calls that abort themselves, as 1 % of New-Order does; \"undone\" are calls undone
because of others and run again unseen; \"time\" is where the threads' time went.";

const USAGE: &str = "\
hotrow bench [OPTIONS] [WORKLOAD]
       hotrow bench history [OPTIONS]
       hotrow bench figure [OPTIONS] NAME
       hotrow bench model [OPTIONS]
       hotrow bench paper --report DIR NAME...
       hotrow bench story [OPTIONS] STORY...
       hotrow bench map --json FILE";

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = USAGE,
    disable_help_subcommand = true,
    after_help = BENCH_EXAMPLES,
    after_long_help = format!("{BENCH_EXAMPLES}\n\n{EXIT_CODES}")
)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    #[command(flatten)]
    pub(crate) run: BenchRunArguments,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BenchCommand {
    /// Record what concurrent clients see, check it for strict serializability, and write it
    History(HistoryArguments),
    /// Run the experiment of a paper's figure again
    Figure(FigureArguments),
    /// Run the figures that put an engine beside its analytical model: what it does with a load,
    /// and what the model expects from what calls cost in the same run
    Model(ModelArguments),
    /// Run the papers' figures on real and on virtual cores, and write one page of what they show
    Paper(PaperArguments),
    /// Measure what this machine costs (lines, calls of the system, waking), and write it as a
    /// virtual machine for --machines
    Calibrate(CalibrateArguments),
    /// Run contended workloads that are written in SQL alone, your own too, on engines and beside
    /// other servers, and check what they leave
    Story(StoryArguments),
    /// Run a grid of workloads on every engine, for the map that `hotrow advise` looks up
    Map(MapArguments),
}

#[derive(Args, Debug)]
pub(crate) struct BenchRunArguments {
    /// The workload
    #[arg(
        default_value = "tpcc",
        value_parser = PossibleValuesParser::new(hotrow_workloads::NAMES)
    )]
    pub(crate) workload: String,
    /// Engine: all, a NAME (all its variants), or NAME:setting=value,... ; may be repeated
    #[arg(long, value_name = "ENGINE",
        default_values = ["serial:", "two_phase_locking:acquisition=ordered", "silo:"])]
    pub(crate) engine: Vec<String>,
    /// Thread counts; those that an engine cannot use are left out
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,
    /// Numbers of clients that call through sessions of their own; without it calls are generated
    /// inside the engine's threads
    #[arg(long, value_name = "N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) clients: Vec<u16>,
    #[command(flatten)]
    pub(crate) at: RemoteArguments,
    /// TPC-C's numbers of warehouses; short for --set warehouses=N,...
    #[arg(long, value_name = "N,...")]
    pub(crate) warehouses: Option<String>,
    /// A parameter of the workload; several values give a run for each; may be repeated
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub(crate) set: Vec<String>,
    /// Show the workload's parameters, and run nothing
    #[arg(long)]
    pub(crate) parameters: bool,
    /// Seconds to measure in each run
    #[arg(long, value_name = "S", default_value = "2.5", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seconds to run before measuring
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub(crate) warm_up: f64,
    /// Run so many transactions instead, without warming up
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "warm_up"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) transactions: Option<u64>,
    /// Seed of population and calls
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,
    /// Write the runs as JSON to FILE; - is stdout (the table then goes to stderr)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Keep the database from run to run instead of loading it anew
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run no checks and do not measure memory
    #[arg(long)]
    pub(crate) no_checks: bool,
    /// Log to a fresh directory in DIR, removed after the run; without it there is no log
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// What a call's end waits for: durable or buffered
    #[arg(long, value_name = "MODE", default_value = "durable", requires = "data")]
    pub(crate) durability: hotrow::Durability,
    /// What the log has of calls: commands or values
    #[arg(long, value_name = "FORM", default_value = "commands", requires = "data")]
    pub(crate) log_entries: hotrow::LogEntries,
    /// Calls of all threads together that may wait to be durable
    #[arg(long, value_name = "N", default_value = "512", requires = "data",
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) in_flight: u32,
    /// Microseconds that a sync of the log takes longer than the disk's own: a slow log device
    #[arg(long, value_name = "US", default_value = "0", requires = "data",
        value_parser = clap::value_parser!(u32).range(..=10_000_000))]
    pub(crate) sync_delay_us: u32,
    /// After each run close the database, recover it, and check it again
    #[arg(long, requires = "data")]
    pub(crate) recover: bool,
    /// Split each index into so many parts, by the routing fields that its keys begin with
    #[arg(long, value_name = "PARTS", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) split: u16,
    /// Do not pin threads to cores
    #[arg(long)]
    pub(crate) no_pin: bool,
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Memory that records and indexes may take
    #[arg(long, value_name = "GIB", default_value = "16",
        value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) memory: u64,
}

impl BenchRunArguments {
    /// How databases are to be logged, if at all.
    pub(crate) fn log_settings(&self) -> Option<LogSettings> {
        let directory = self.data.clone()?;
        let (durability, in_flight) = (self.durability, self.in_flight as usize);
        let (entries, recover) = (self.log_entries, self.recover);
        let sync_delay = Duration::from_micros(self.sync_delay_us.into());
        Some(LogSettings { directory, durability, entries, in_flight, sync_delay, recover })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=86_400.0).contains(&value) { Ok(value) } else { Err("0 to 86400".to_owned()) }
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  hotrow bench history                                     record and check, all engines
  hotrow bench history --kind indexes --transactions 100000
  hotrow bench history --engine serial: --format elle --out history.edn
  hotrow bench history --engine serial: --format dbcop --out history.json

Concurrent clients call procedures that read and write a few hot keys; each keeps what it saw
and when. The history is checked for strict serializability; an anomaly is shown with the
smallest cycle of transactions that proves it, and the exit code is 1.";

#[derive(Args, Debug)]
#[command(after_help = HISTORY_EXAMPLES)]
pub(crate) struct HistoryArguments {
    /// Engine: all, a NAME (all its variants), or NAME:setting=value,... ; may be repeated
    #[arg(long, value_name = "ENGINE", default_value = "all")]
    pub(crate) engine: Vec<String>,
    /// How to write the history
    #[arg(long, value_enum, default_value = "json")]
    pub(crate) format: FormatName,
    /// Where to write the history of the one engine that was chosen; - is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<String>,
    /// What clients read and write; by default what the format is commonly used with
    #[arg(long, value_enum)]
    pub(crate) kind: Option<KindName>,
    /// Threads of the engine
    #[arg(long, value_name = "N", default_value = "2",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Concurrent clients
    #[arg(long, value_name = "N", default_value = "8",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) clients: u16,
    /// Transactions of all clients together
    #[arg(long, value_name = "N", default_value = "10000",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) transactions: u64,
    /// Keys in use at a time; the fewer, the more conflicts
    #[arg(long, value_name = "N", default_value = "5",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) hot_keys: u64,
    /// Percent of the transactions that are typed: BEGIN, a call per operation, COMMIT
    #[arg(long, value_name = "PERCENT", default_value = "0",
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) typed: u32,
    /// Seed of what clients do (when they do it is up to the threads)
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum FormatName {
    /// Elle's EDN, for lists
    Elle,
    /// dbcop's JSON, for registers
    Dbcop,
    /// one JSON object per transaction and line
    Json,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum KindName {
    /// append to lists and read them
    Lists,
    /// overwrite registers and read them
    Registers,
    /// insert entries and scan them: finds phantoms
    Indexes,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LogCommand {
    /// Show every entry: position, worker, kind, and what it says
    Dump(DumpArguments),
}

const DUMP_EXAMPLES: &str = "\
Example:
  hotrow log dump data | head

One line per entry, in serial order: epoch.time, worker, bytes, kind, and what it says. Begins where
the newest checkpoint ends. The database may be open; then the newest entries may be missing.";

#[derive(Args, Debug)]
#[command(after_help = DUMP_EXAMPLES)]
pub(crate) struct DumpArguments {
    /// The data directory
    pub(crate) directory: PathBuf,
}

/// A data directory, and how much memory its rows may take.
#[derive(Args, Debug)]
pub(crate) struct DirectoryArguments {
    /// The data directory
    pub(crate) directory: PathBuf,
    /// Memory that records and indexes may take
    #[arg(long, value_name = "GIB", default_value = "16",
        value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) memory: u64,
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Which engine runs a script or a shell, and where its data is.
#[derive(Args, Debug)]
pub(crate) struct EngineArguments {
    /// Keep the database in DIR; without it the database is in memory and gone afterwards
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// What the end of a call waits for: durable or buffered
    #[arg(long, value_name = "MODE", default_value = "durable", requires = "data")]
    pub(crate) durability: hotrow::Durability,
    #[command(flatten)]
    pub(crate) choice: EngineChoice,
}

/// Which engine runs calls.
#[derive(Args, Debug)]
pub(crate) struct EngineChoice {
    /// Engine: NAME or NAME:setting=value,...
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Threads of the engine [default: one per core, or as many as it can use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Split each index into so many parts, by the routing fields that its keys begin with
    #[arg(long, value_name = "PARTS", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) split: u16,
}

const SQL_EXAMPLES: &str = "\
Examples:
  hotrow sql flash_sale.sql
  echo 'CREATE TABLE t (id bigint PRIMARY KEY); SELECT id FROM t' | hotrow sql -

Statements are executed one after the other, each atomic; the first error ends the script, is
shown with its place, and the exit code is 1. Without --data the database is gone afterwards.";

#[derive(Args, Debug)]
#[command(after_help = SQL_EXAMPLES)]
pub(crate) struct SqlArguments {
    /// The script; - is stdin
    pub(crate) file: String,
    /// Show result rows only, no command tags
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  hotrow serve --memory                          gone when it stops
  hotrow serve /var/lib/hotrow                   durable
  hotrow serve --config /etc/hotrow/hotrow.toml  as a file says
  HOTROW_PASSWORD=... hotrow serve DIR --user ann     nobody without a password
  psql -h 127.0.0.1 -p 5433                      any user, any database

Every flag is a setting, which a variable of the environment and a file can set, too: --tls-cert is
HOTROW_TLS_CERT and tls_cert = \"...\". A flag goes before the environment, that before the file
(--config or HOTROW_CONFIG; no other is read), that before the default. hotrow config print tells
what holds and what says so.

It tells where it listens once it does, and serves until SIGTERM or SIGINT; then connections finish
the statement they are at. As long as no user has a password, any program of this machine can
connect, and nobody else; afterwards (CREATE USER ... PASSWORD) nobody can without one. Other
machines need encryption, too: --tls-cert and --tls-key.";

#[derive(Args, Debug)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArguments {
    /// Keep the database in DIR; the same as --data DIR
    #[arg(value_name = "DIR", conflicts_with = "data")]
    pub(crate) directory: Option<String>,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ConfigCommand {
    /// Show every setting of hotrow serve, its value, and what says so
    Print(Box<PrintArguments>),
}

const PRINT_EXAMPLES: &str = "\
Examples:
  hotrow config print                                      defaults, and what the environment says
  hotrow config print --config /etc/hotrow/hotrow.toml     and what the file says
  hotrow config print --toml /var/lib/hotrow > hotrow.toml     a file to begin with

Takes the arguments of hotrow serve, and opens nothing. Exit code 2: what was said is wrong, or does
not go together.";

#[derive(Args, Debug)]
#[command(after_help = PRINT_EXAMPLES)]
pub(crate) struct PrintArguments {
    /// Print a file that --config can read, with what each setting is
    #[arg(long)]
    pub(crate) toml: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

const SHELL_EXAMPLES: &str = "\
Examples:
  hotrow shell
  hotrow shell schema.sql --engine serial

Statements end with a semicolon and may span lines; \\? lists the shell's own commands. What was
typed is kept in $XDG_STATE_HOME/hotrow/history (~/.local/state/hotrow/history).";

#[derive(Args, Debug)]
#[command(after_help = SHELL_EXAMPLES)]
pub(crate) struct ShellArguments {
    /// A script to execute first
    pub(crate) file: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArguments,
}

const EXPLAIN_EXAMPLES: &str = "\
Example:
  hotrow explain flash_sale.sql buy
  hotrow explain --dot flash_sale.sql buy | dot -Tsvg > buy.svg

For each access: how its rows are found, what is locked, and whether that is known from the
parameters or must be found out by reading first.";

#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct ExplainArguments {
    /// The script that creates the procedure; - is stdin
    pub(crate) file: String,
    /// The procedure
    pub(crate) procedure: String,
    /// Draw its flow graph instead, in the language of Graphviz
    #[arg(long)]
    pub(crate) dot: bool,
}

#[cfg(test)]
mod tests;
