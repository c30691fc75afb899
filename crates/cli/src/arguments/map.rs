//! The arguments of `hotrow bench map` and `hotrow advise`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hotrow_bench::ServerAddress;

const MAP_EXAMPLES: &str = "\
Examples:
  hotrow bench map --json here.json --threads 2          on this machine's cores
  scripts/machine.sh bench map --machine genoa --json crates/bench/map.json --commit abc1234
  hotrow bench map --document docs/map.md

Runs a grid of workloads (crates/bench/map.toml) on every engine. FILE keeps each point as soon as
it is measured: run again, it goes on where it was stopped. `hotrow advise` looks such a map up.";

#[derive(Args, Debug)]
#[command(after_help = MAP_EXAMPLES)]
pub(crate) struct MapArguments {
    /// Where the map is kept
    #[arg(long, value_name = "FILE", required_unless_present = "document")]
    pub(crate) json: Option<PathBuf>,
    /// Write the map that is part of the program into the chapter FILE, and its picture beside it,
    /// and run nothing
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) document: Option<PathBuf>,
    /// Run on a virtual machine; without it, on this machine's cores
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Numbers of threads instead of the grid's own
    #[arg(long, value_name = "N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,
    /// Seconds to measure each engine at each point [default: 0.3, on a virtual machine 0.004]
    #[arg(long, value_name = "S", value_parser = super::seconds)]
    pub(crate) seconds: Option<f64>,
    /// The commit that is run
    #[arg(long, value_name = "ID", default_value = "unknown")]
    pub(crate) commit: String,
    /// Seed of populations, calls and virtual machines
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const ADVISE_EXAMPLES: &str = "\
Examples:
  hotrow advise                                  a server on this machine, port 5433
  hotrow advise 'host=db.example user=me' --seconds 60
  hotrow advise --know several-partitions=none   what the server cannot see
  hotrow bench tpcc --json runs.json && hotrow advise --report runs.json

Looks at what the server does for a while, finds the workloads of the map at which its engine
does the same, and tells how the other engines compare there. docs/map.md has the map, and what
it is not.
Exit codes: 0 done; 1 the server did nothing, or its engine is not on the map; 2 wrong usage.";

#[derive(Args, Debug)]
#[command(after_help = ADVISE_EXAMPLES)]
pub(crate) struct AdviseArguments {
    /// The server: 'host=... port=... user=...' or postgresql://user@host:port/, with the password
    /// in PGPASSWORD
    #[arg(value_name = "CONNECTION", default_value = "host=127.0.0.1")]
    pub(crate) server: ServerAddress,
    /// Look at the runs in FILE instead, which `hotrow bench --json FILE` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub(crate) report: Option<PathBuf>,
    /// Seconds to look at the server
    #[arg(long, value_name = "S", default_value = "5", value_parser = super::top::interval)]
    pub(crate) seconds: Duration,
    /// What is known of the workload: a value of an axis of the map
    #[arg(long, value_name = "AXIS=VALUE", value_parser = known)]
    pub(crate) know: Vec<(String, String)>,
    /// Another map than the program's own, which `hotrow bench map --json FILE` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Write the advice as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn known(text: &str) -> Result<(String, String), String> {
    let (axis, value) = text.split_once('=').ok_or("write AXIS=VALUE")?;
    Ok((axis.to_owned(), value.to_owned()))
}
