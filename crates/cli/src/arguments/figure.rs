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

const PAPER_EXAMPLES: &str = "\
Examples:
  hotrow bench paper all --report evidence --quick
  hotrow bench paper all --report evidence --commit abc1234
  hotrow bench paper orthrus-4 orthrus-12b --report evidence

Runs each figure on this machine's cores and, in a program that `scripts/machine.sh` builds, on
those of its paper's machine in virtual time; of each what decides a claim. DIR keeps plots,
numbers and verdicts of each, and index.html, one page of all. Run again, it goes on where it was
stopped: what DIR has of the same commit and arguments is not run again.";

#[derive(Args, Debug)]
#[command(after_help = PAPER_EXAMPLES)]
pub(crate) struct PaperArguments {
    /// Figures; `all`: every one
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Where everything is kept
    #[arg(long, value_name = "DIR")]
    pub(crate) report: PathBuf,
    /// Small and short: a look, whose verdicts are provisional
    #[arg(long)]
    pub(crate) quick: bool,
    /// The program that can simulate [default: what `scripts/machine.sh` has built, if it has]
    #[arg(long, value_name = "FILE")]
    pub(crate) simulator: Option<PathBuf>,
    /// Only simulate, and write no page: what this command has the simulator do
    #[arg(long, hide = true)]
    pub(crate) simulate: bool,
    /// The commit that is run
    #[arg(long, value_name = "ID", default_value = "unknown")]
    pub(crate) commit: String,
    /// Seed of populations, calls and virtual machines
    #[arg(long, value_name = "N", default_value = "42")]
    pub(crate) seed: u64,
    /// Where figures with a log keep it [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// How figures are run, and where what comes of it goes.
#[derive(Args, Debug)]
pub(crate) struct FigureRunArguments {
    /// Run on a virtual machine, which has the cores of a paper's: `westmere_ex`, `xeon_4s24`,
    /// `xeon_z600`, `niagara2`, `genoa`, `two_cores`, or `paper`, the one that the figure's paper
    /// had. Seconds are its own then, and a few thousandths do
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Machines of your own, in the form of `crates/bench/machines.toml`, before these; what
    /// `hotrow bench calibrate` writes is one
    #[arg(long, value_name = "FILE", requires = "machine")]
    pub(crate) machines: Option<PathBuf>,
    /// Run everything once more with so many percent of what lines cost there that travel between
    /// cores; the verdicts have to be the same
    #[arg(long, value_name = "P,...", value_delimiter = ',', requires = "machine",
        value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub(crate) coherence: Vec<u64>,
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
    /// Commits after which warming up, and measuring, end before their time; not where a figure has
    /// a least time of its own
    #[arg(long, value_name = "N", conflicts_with = "transactions",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) enough: Option<u64>,
    /// Run everything so often
    #[arg(long, value_name = "N", default_value = "1",
        default_value_ifs([
            ("machine", ArgPredicate::IsPresent, "1"),
            ("quick", ArgPredicate::Equals("true".into()), "5"),
        ]),
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
