//! The arguments of `hotrow bench story`.

use std::path::PathBuf;

use clap::Args;
use hotrow_bench::ServerAddress;

use super::seconds;

const STORY_EXAMPLES: &str = "\
Examples:
  hotrow bench story --list
  hotrow bench story flash_sale
  hotrow bench story all --seconds 10
  hotrow bench story ledger --wire --data /tmp \\
      --remote 'host=127.0.0.1 port=5432 user=postgres'
  hotrow bench story mine.toml                   one of your own

A story is a schema with procedures as an application has them, the calls that clients make of them,
and queries that give no row while what must hold does. A file like those in crates/bench/stories is
one, too. A client whose call fails with 40001 or 40P01 repeats it: an engine here must never ask
for that, other servers may. The exit code is 1 when something does not hold, or a call failed in a
way that its story does not allow.";

#[derive(Args, Debug)]
#[command(after_help = STORY_EXAMPLES)]
pub(crate) struct StoryArguments {
    /// The story's name, or its file, which ends in .toml; all: those that are built in
    #[arg(value_name = "STORY", required_unless_present = "list")]
    pub(crate) stories: Vec<String>,
    /// List the stories that are built in
    #[arg(long)]
    pub(crate) list: bool,
    /// Engine: all (each in its first variant), NAME, or NAME:setting=value,...; may be repeated;
    /// none: only servers
    #[arg(long, value_name = "ENGINE", default_value = "all")]
    pub(crate) engine: Vec<String>,
    /// Threads of the engine
    #[arg(long, value_name = "N", default_value = "2",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Call engines over the wire, through a server in this process
    #[arg(long)]
    pub(crate) wire: bool,
    /// A server to run beside the engines, PostgreSQL's too: a connection string, as psql takes it,
    /// with the password in PGPASSWORD; may be repeated
    #[arg(long, value_name = "CONNECTION")]
    pub(crate) remote: Vec<ServerAddress>,
    /// Log to a fresh directory in DIR, removed after the run; without it there is no log
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Connections that call
    #[arg(long, value_name = "N", default_value = "16",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) clients: u16,
    /// Seconds to measure in each run
    #[arg(long, value_name = "S", default_value = "3", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seconds to run before measuring
    #[arg(long, value_name = "S", default_value = "0", value_parser = seconds)]
    pub(crate) warm_up: f64,
    /// Seed of what is drawn for calls
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,
    /// Write the runs as JSON to FILE; - is stdout (the table then goes to stderr)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
