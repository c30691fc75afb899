//! `hotrow bench calibrate`.

use std::path::PathBuf;

use clap::Args;

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  hotrow bench calibrate --out here.toml
  scripts/machine.sh bench figure machine-ycsb --machine here --machines here.toml

Takes some ten seconds, and wants to have the machine to itself. The table has the form of
crates/bench/machines.toml; docs/machine.md says how far what is predicted with it is to be
believed.";

#[derive(Args, Debug)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArguments {
    /// The machine's name in the table
    #[arg(long, value_name = "NAME", default_value = hotrow_bench::HERE, value_parser = bare_name)]
    pub(crate) name: String,
    /// Write the table to FILE instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Do not say on stderr what is measured
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A name that a table's head takes without quotes.
fn bare_name(text: &str) -> Result<String, String> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !text.is_empty() && text.chars().all(is_bare) {
        true => Ok(text.to_owned()),
        false => Err("letters, digits, _ and - make a name".to_owned()),
    }
}
