//! `hotrow check`: definitions are compiled, and what calls of their procedures hold is shown.
//!
//! Role         reads files, has a database in memory take their definitions one by one, and shows
//!              what is left: refused statements with their places, and procedures. No statement
//!              runs but definitions

mod difference;
mod json;
mod pieces;
mod report;
mod version;

use std::io::{self, Write};

use hotrow::Planning;

use self::difference::differences;
use self::version::{Told, Version};
use crate::arguments::CheckArguments;
use crate::failure::Failure;

pub(crate) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let now = Version::read(&arguments.files)?;
    let before = match arguments.against.as_slice() {
        [] => None,
        files => Some(Version::read(files)?),
    };
    let refused = now.refused.iter().chain(before.iter().flat_map(|before| &before.refused));
    let mut failed = refused.clone().next().is_some();
    let mut out = io::stdout().lock();
    let differences = before.as_ref().map(|before| differences(before, &now));
    if arguments.json {
        let document = json::document(&now, before.as_ref(), differences.as_deref());
        writeln!(out, "{document}")?;
    } else {
        let mut told = io::stderr().lock();
        let warnings = now.warnings.iter().chain(before.iter().flat_map(|before| &before.warnings));
        warnings.chain(refused).try_for_each(|one| write!(told, "{one}"))?;
        match &differences {
            Some(differences) => report::write_differences(differences, &mut out)?,
            None => report::write_procedures(&now, &mut out)?,
        }
    }
    if arguments.planned {
        let others = now.procedures.iter().filter(|of| of.holdings.planning() > Planning::Planned);
        for of in others {
            failed = true;
            let how = of.holdings.planning().name();
            let message = format!("{} is not planned (--planned): {how}", of.signature);
            eprint!("{}", Told::error(of.at.clone(), message));
        }
    }
    if failed { Err(Failure::Told) } else { Ok(()) }
}
