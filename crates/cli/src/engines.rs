//! `hotrow engines`: what there is.

use std::io::{self, Write};

use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for entry in hotrow::engines() {
        writeln!(out, "{}  {}", entry.name, entry.summary)?;
        let threads = match (entry.threads_min, entry.threads_max) {
            (0 | 1, None) => "any number of threads".to_owned(),
            (least, None) => format!("{least} or more threads"),
            (0 | 1, Some(1)) => "1 thread".to_owned(),
            (least, Some(most)) => format!("{least} to {most} threads"),
        };
        writeln!(out, "    runs with {threads}")?;
        for settings in entry.variants {
            let pairs = settings.iter().map(|(name, value)| format!("{name}={value}"));
            let pairs: Vec<_> = pairs.collect();
            writeln!(out, "    --engine {}:{}", entry.name, pairs.join(","))?;
        }
    }
    Ok(())
}
