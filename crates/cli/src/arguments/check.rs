//! The arguments of `hotrow check`.

use clap::Args;

const CHECK_EXAMPLES: &str = "\
Examples:
  hotrow check schema.sql procedures.sql
  hotrow check --planned schema.sql procedures.sql      in CI: all have to be planned
  hotrow check new.sql --against old.sql                what the new ones hold more, or less
  hotrow check --json schema.sql | jq '.procedures[] | {name, planning}'

The files are read one after the other as one schema, and nothing is run: definitions are applied to
a database that is gone afterwards, all other statements are compiled only. Of each procedure it
shows what a call would hold, by which lines:
  planned         its parameters tell, before it runs
  reconnoitred    some rows are read on trial first, which tell the rest
  may run alone   some calls run while nothing else does
and for the last two why, and what to write to have them planned.

Exit codes: 0 all compile; 1 a statement was refused (file:line:column on stderr), a procedure is
not planned and --planned was given, or a file could not be read; 2 wrong usage.";

#[derive(Args, Debug)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct CheckArguments {
    /// Files of definitions, in their order; - is stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Fail when a procedure is not planned
    #[arg(long)]
    pub(crate) planned: bool,
    /// Show only how procedures differ from those of these files
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) against: Vec<String>,
    /// Show it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
