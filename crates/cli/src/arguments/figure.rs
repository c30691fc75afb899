//! The arguments of `hotrow bench figure`.

use std::path::PathBuf;

use clap::Args;

const FIGURE_EXAMPLES: &str = "\
Examples:
  hotrow bench figure --list
  hotrow bench figure orthrus-4 --svg orthrus-4.svg
  hotrow bench figure orthrus-4 --threads 2 --size 0.1 --seconds 0.5
  hotrow bench figure hot-row --repeat 3 --json hot-row.json --csv hot-row.csv

Runs the experiment of a paper's figure again: every series at every value of x, on one loaded
population after the other, with checks. Prints what the paper shows and a table of what was
measured here; with --repeat the mean, and how far it spreads. When a check fails the exit code
is 1.";

#[derive(Args, Debug)]
#[command(after_help = FIGURE_EXAMPLES)]
pub(crate) struct FigureArguments {
    /// The figure
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// List the figures there are, and run nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Seconds to measure at each point
    #[arg(long, value_name = "S", default_value = "1", value_parser = super::seconds)]
    pub(crate) seconds: f64,
    /// Seconds to run before measuring
    #[arg(long, value_name = "S", default_value = "0.3", value_parser = super::seconds)]
    pub(crate) warm_up: f64,
    /// Run so many transactions at each point instead, without warming up
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "warm_up"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) transactions: Option<u64>,
    /// Run everything so often
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Multiply the sizes of tables by this
    #[arg(long, value_name = "F", default_value = "1", value_parser = size)]
    pub(crate) size: f64,
    /// Numbers of threads instead of the figure's own
    #[arg(long, value_name = "N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Vec<u16>,
    /// Where figures with a log keep it, each run in a fresh directory [default: the system's
    /// directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Seed of population and calls
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,
    /// Write the figure with all its runs as JSON to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a line for each run as CSV to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Draw the figure as SVG to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Show no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Memory that records and indexes may take
    #[arg(long, value_name = "GIB", default_value = "16",
        value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) memory: u64,
}

fn size(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1e-6..=1e3).contains(&value) { Ok(value) } else { Err("0.000001 to 1000".to_owned()) }
}
