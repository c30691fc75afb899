//! `hotrow advise`: which engine suits what a server does, or what runs have reported.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hotrow_base::clock::Ticks;
use hotrow_base::thread;
use hotrow_bench::{
    Advice, EngineMap, Grid, Observed, ServerStatus, advise, read_json, write_advice,
};

use crate::arguments::AdviseArguments;
use crate::failure::Failure;
use crate::figure::read;
use crate::show::Style;

pub(crate) fn run(arguments: &AdviseArguments) -> Result<(), Failure> {
    let grid = Grid::of_program();
    let map = match &arguments.map {
        Some(path) => EngineMap::read(&read(path)?)?,
        None => EngineMap::of_program(),
    };
    let known: BTreeMap<_, _> = arguments.know.iter().cloned().collect();
    let observed = observed(arguments)?;
    let all = observed.iter().map(|observed| advise(&map, &grid, observed, &known));
    let all: Vec<Advice> = all.collect::<Result<_, _>>()?;
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &all).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    for (number, advice) in all.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_advice(advice, Style::of(&io::stdout()).table(), &mut out)?;
    }
    Ok(())
}

/// What the runs of a report did, or the server between two looks.
fn observed(arguments: &AdviseArguments) -> Result<Vec<Observed>, Failure> {
    if let Some(path) = &arguments.report {
        let runs = read_json(&read(path)?)?;
        return Ok(runs.iter().map(Observed::of_run).collect::<Result<_, _>>()?);
    }
    let mut client = arguments.server.connect()?;
    let before = ServerStatus::take(&mut client)?;
    let start = Ticks::now();
    thread::sleep(arguments.seconds);
    let after = ServerStatus::take(&mut client)?;
    Ok(vec![Observed::between(&before, &after, start.elapsed().as_secs_f64())?])
}
