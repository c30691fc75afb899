//! `hotrow bench calibrate`: what this machine costs, as a virtual one.

use std::io::{self, Write};

use crate::arguments::CalibrateArguments;
use crate::failure::Failure;
use crate::figure::write;

pub(crate) fn run(arguments: &CalibrateArguments) -> Result<(), Failure> {
    if hotrow_machine::can_simulate() {
        let what = "this program tells each access to a virtual machine, which would be measured \
                    instead: calibrate with a plain build";
        return Err(Failure::Usage(what.to_owned()));
    }
    let tell = |what: &str| {
        if !arguments.quiet {
            eprintln!("measuring {what}");
        }
    };
    let text = hotrow_bench::calibrate(tell).write_toml(&arguments.name);
    match &arguments.out {
        Some(path) => write(path, text.as_bytes()),
        None => Ok(io::stdout().write_all(text.as_bytes())?),
    }
}
