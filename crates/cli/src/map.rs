//! `hotrow bench map`: every engine on a grid of workloads.

use std::path::Path;
use std::time::Duration;

use hotrow_base::thread::available_cores;
use hotrow_bench::{
    Driver, EngineMap, Grid, Length, MapPoint, MapRunner, Progress, Situation, map_document,
    on_virtual_machine, virtual_machine_named, virtual_machines, write_map_svg,
};

use crate::arguments::MapArguments;
use crate::failure::Failure;
use crate::figure::{read, write};

/// Seconds at each point, on real cores and on virtual ones. Engines that work in batches take some
/// thousandths until they are steady.
const SECONDS: [f64; 2] = [0.3, 0.004];

pub(crate) fn run(arguments: &MapArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.document {
        return write_document(path);
    }
    let Some(path) = &arguments.json else {
        return Err(Failure::Usage("--json FILE: where is the map to be kept?".to_owned()));
    };
    let runner = runner(arguments);
    let mut map = kept(arguments, path)?;
    let missing = runner.missing(&map);
    for (number, situation) in missing.iter().enumerate() {
        map.keep(measure(arguments, &runner, situation)?);
        write(path, map.write()?.as_bytes())?;
        if !arguments.quiet {
            eprintln!("[{}/{}] {situation}", number + 1, missing.len());
        }
    }
    Ok(())
}

/// What the file has already, if that was measured in the same way.
fn kept(arguments: &MapArguments, path: &Path) -> Result<EngineMap, Failure> {
    let cores = || format!("{} cores", available_cores().len());
    let fresh = EngineMap {
        machine: arguments.machine.clone().unwrap_or_else(cores),
        commit: arguments.commit.clone(),
        configuration: format!("--seconds {} --seed {}", seconds(arguments), arguments.seed),
        points: Vec::new(),
    };
    if !path.exists() {
        return Ok(fresh);
    }
    let map = EngineMap::read(&read(path)?)?;
    let is_same = (&map.machine, &map.commit, &map.configuration)
        == (&fresh.machine, &fresh.commit, &fresh.configuration);
    match is_same || map.points.is_empty() {
        true => Ok(EngineMap { points: map.points, ..fresh }),
        false => Err(Failure::Usage(format!(
            "{} was measured otherwise ({}, commit {}, {}): name another file, or remove it",
            path.display(),
            map.machine,
            map.commit,
            map.configuration
        ))),
    }
}

fn measure(
    arguments: &MapArguments,
    runner: &MapRunner,
    situation: &Situation,
) -> Result<MapPoint, Failure> {
    let Some(name) = &arguments.machine else { return Ok(runner.measure(situation)?) };
    let machine = virtual_machine_named(&virtual_machines(), name)?;
    let (point, _) = on_virtual_machine(&machine, arguments.seed, || runner.measure(situation))?;
    Ok(point?)
}

fn seconds(arguments: &MapArguments) -> f64 {
    arguments.seconds.unwrap_or(SECONDS[usize::from(arguments.machine.is_some())])
}

fn runner(arguments: &MapArguments) -> MapRunner {
    let time = Duration::from_secs_f64(seconds(arguments));
    let driver = Driver {
        length: Length::Time { warm_up: time, measured: time },
        seed: arguments.seed,
        progress: Progress::Off,
        ..Driver::default()
    };
    let mut grid = Grid::of_program();
    if !arguments.threads.is_empty() {
        grid.threads = arguments.threads.iter().map(|&threads| threads.into()).collect();
    }
    MapRunner::new(grid, driver)
}

/// Writes the program's map into a chapter, and its picture beside it.
fn write_document(path: &Path) -> Result<(), Failure> {
    let (grid, map) = (Grid::of_program(), EngineMap::of_program());
    write(path, map_document(&read(path)?, &grid, &map)?.as_bytes())?;
    write(&path.with_extension("svg"), write_map_svg(&grid, &map)?.as_bytes())
}
