//! The arguments of `hotrow bench figure`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;

const FIGURE_EXAMPLES: &str = "\
Examples:
  hotrow bench figure --list
  hotrow bench figure orthrus-4 --svg orthrus-4.svg
  hotrow bench figure orthrus-4 --threads 2 --size 0.1 --seconds 0.5
  hotrow bench figure hot-row --repeat 5 --json hot-row.json --csv hot-row.csv
  hotrow bench figure orthrus-9 --threads 10,40,80 --repeat 5
  hotrow bench figure hot-row --repeat 5 --record docs/figures-verdicts.json --commit abc1234
  hotrow bench figure --document docs/figures.md
  hotrow bench figure all --quick

Runs the experiment of a paper's figure again: every series at every value of x, on one loaded
population after the other, with checks. Prints what the paper shows and a table of what was
measured here; with --repeat the mean, and how far it spreads. Each claim of the paper gets a
verdict: shown, contrary, or not to be seen here and why; with fewer than five repeats it is
provisional (docs/figures.md has the rules). When a check fails the exit code is 1; a verdict
changes nothing of it.";

const MODEL_EXAMPLES: &str = "\
Examples:
  hotrow bench model
  hotrow bench model --seconds 3 --repeat 5 --csv model.csv

Prints calls per second as they were measured, as the model expects them, and the first in
percent of the second. What calls cost, how many have several partitions, how many fail and
conflict is counted in each run; the rest is the model's. docs/partitioned.md says what it
knows, and what it leaves out.";

#[derive(Args, Debug)]
#[command(after_help = FIGURE_EXAMPLES)]
pub(crate) struct FigureArguments {
    /// The figure; `all`: one after the other, and of each only its claims with their verdicts
    #[arg(required_unless_present_any = ["list", "document"])]
    pub(crate) name: Option<String>,
    /// List the figures there are, and run nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Write the chapter of figures in FILE anew, with the verdicts of `figures-verdicts.json`
    /// beside it, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "list"])]
    pub(crate) document: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: FigureRunArguments,
    /// Keep the verdicts in FILE in place of the figure's last ones
    #[arg(long, value_name = "FILE", requires = "commit", conflicts_with = "list")]
    pub(crate) record: Option<PathBuf>,
    /// The commit that is run, for the record
    #[arg(long, value_name = "ID", requires = "record")]
    pub(crate) commit: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = MODEL_EXAMPLES)]
pub(crate) struct ModelArguments {
    #[command(flatten)]
    pub(crate) run: FigureRunArguments,
}

/// How figures are run, and where what comes of it goes.
#[derive(Args, Debug)]
pub(crate) struct FigureRunArguments {
    /// Run on a virtual machine, which has the cores of a paper's: `westmere_ex`, `xeon_4s24`,
    /// `niagara2`, `genoa`, `two_cores`. Seconds are its own then, and a few thousandths do
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Percent of what lines cost there that travel between cores
    #[arg(long, value_name = "P", default_value = "100", requires = "machine")]
    pub(crate) coherence: u64,
    /// Seconds to measure at each point
    #[arg(long, value_name = "S", default_value = "1", value_parser = super::seconds,
        default_value_ifs([
            ("machine", ArgPredicate::IsPresent, "0.003"),
            ("quick", ArgPredicate::Equals("true".into()), "0.2"),
        ]))]
    pub(crate) seconds: f64,
    /// Seconds to run before measuring
    #[arg(long, value_name = "S", default_value = "0.3", value_parser = super::seconds,
        default_value_ifs([
            ("machine", ArgPredicate::IsPresent, "0.002"),
            ("quick", ArgPredicate::Equals("true".into()), "0.1"),
        ]))]
    pub(crate) warm_up: f64,
    /// Run only what decides a claim on this machine, small and short: as with --size 0.1
    /// --seconds 0.2 --warm-up 0.1 --repeat 5, unless these are given. Experiments are run whole
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run so many transactions at each point instead, without warming up
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "warm_up"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) transactions: Option<u64>,
    /// Run everything so often
    #[arg(long, value_name = "N", default_value = "1", default_value_if("quick", "true", "5"),
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Multiply the sizes of tables by this
    #[arg(long, value_name = "F", default_value = "1", value_parser = size,
        default_value_if("quick", "true", "0.1"))]
    pub(crate) size: f64,
    /// Numbers of threads instead of the figure's own, on panels or on the x axis
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
