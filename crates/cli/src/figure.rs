//! `hotrow bench figure`: experiments of papers, run again.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use hotrow_bench::{
    Driver, Figure, FigureReport, FigureRunner, HERE, Length, Metric, Progress, Record, Records,
    RecordsByCores, RunReport, VirtualMachine, document, figure_named, figures, on_virtual_machine,
    read_virtual_machines, virtual_machine_named, virtual_machine_of, virtual_machines, write_csv,
    write_figure, write_figure_json, write_svg, write_verdicts,
};
use hotrow_machine::Told;

use crate::arguments::{FigureArguments, FigureRunArguments, ModelArguments};
use crate::failure::Failure;
use crate::show::Style;

pub(crate) fn run(arguments: &FigureArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.document {
        return write_document(path);
    }
    let Some(name) = arguments.name.as_ref().filter(|_| !arguments.list) else { return list() };
    if name == ALL {
        return run_all(arguments);
    }
    let figure = figure_named(name)?;
    // What stands in the way of a record is told before minutes of running.
    let records = arguments.record.as_deref().map(read_records).transpose()?;
    let report = run_and_show(&figure, &arguments.run)?;
    if let (Some(path), Some(records)) = (&arguments.record, records) {
        keep_record(arguments, &report, records, path)?;
    }
    if report.checks_hold() { Ok(()) } else { Err(Failure::Told) }
}

/// In place of a figure's name.
pub(crate) const ALL: &str = "all";

/// Runs all figures, and tells of each what became of its claims. Figures of which the file of
/// records has one of the same commit and configuration are not run again.
fn run_all(arguments: &FigureArguments) -> Result<(), Failure> {
    let mut sum = [0; 3];
    let mut checks_hold = true;
    for figure in figures() {
        if lacks_here(&figure, &arguments.run)? {
            let name = &figure.name;
            eprintln!("{name} left out: `hotrow bench calibrate` makes a table for --machines");
            continue;
        }
        let records = arguments.record.as_deref().map(read_records).transpose()?;
        if let Some(records) = &records
            && records.has(
                &figure.name,
                arguments.commit.as_deref(),
                &configuration(&arguments.run),
            )
        {
            continue;
        }
        let report = run_figure(&figure, &arguments.run)?;
        checks_hold &= report.checks_hold();
        write_verdicts(&report, &mut io::stdout().lock())?;
        for claim in &report.claims {
            sum[claim.verdict as usize] += 1;
        }
        if let (Some(path), Some(records)) = (&arguments.record, records) {
            keep_record(arguments, &report, records, path)?;
        }
    }
    let [shown, contrary, not_seen] = sum;
    println!("{shown} shown, {contrary} contrary, {not_seen} not to be seen here");
    if checks_hold { Ok(()) } else { Err(Failure::Told) }
}

/// Runs all figures that show what a model expects.
pub(crate) fn run_models(arguments: &ModelArguments) -> Result<(), Failure> {
    let mut checks_hold = true;
    for figure in figures().iter().filter(|figure| figure.show.contains(&Metric::Model)) {
        checks_hold &= run_and_show(figure, &arguments.run)?.checks_hold();
    }
    if checks_hold { Ok(()) } else { Err(Failure::Told) }
}

/// The machines that can be named: those of a file, if one is given, and the program's own.
fn machines(arguments: &FigureRunArguments) -> Result<Vec<VirtualMachine>, Failure> {
    let mut machines = match &arguments.machines {
        Some(path) => read_virtual_machines(&read(path)?)?,
        None => Vec::new(),
    };
    let is_new = |own: &VirtualMachine| machines.iter().all(|machine| machine.name != own.name);
    let own: Vec<_> = virtual_machines().into_iter().filter(is_new).collect();
    machines.extend(own);
    Ok(machines)
}

/// Whether a figure wants the machine it runs on as a virtual one, and no file has it.
fn lacks_here(figure: &Figure, arguments: &FigureRunArguments) -> Result<bool, Failure> {
    let is_wanted = arguments.machine.as_deref() == Some(OF_PAPER) && figure.is_held_against_here();
    Ok(is_wanted && machines(arguments)?.iter().all(|machine| machine.name != HERE))
}

pub(crate) fn run_figure(
    figure: &Figure,
    arguments: &FigureRunArguments,
) -> Result<FigureReport, Failure> {
    let mut done = 0;
    let runner = runner(arguments);
    let tell = |run: &RunReport, of| {
        done += 1;
        if !arguments.quiet {
            tell(done, of, run);
        }
    };
    let Some(name) = &arguments.machine else { return Ok(runner.run(figure, tell)?) };
    let machines = machines(arguments)?;
    let machine = match name.as_str() {
        OF_PAPER => virtual_machine_of(&machines, figure)?,
        name => virtual_machine_named(&machines, name)?,
    };
    let run = || runner.run(figure, tell);
    let (report, told) = on_virtual_machine(&machine, arguments.seed, run)?;
    if !arguments.quiet {
        eprintln!("{}", told_text(&told));
    }
    Ok(report?)
}

/// In place of a machine's name.
pub(crate) const OF_PAPER: &str = "paper";

/// What a virtual machine did, in a line.
fn told_text(told: &Told) -> String {
    let lines = told.lines;
    let share = |count: u64| count * 100 / lines.accesses.max(1);
    format!(
        "{} events and {} instructions in {:.3} ms; of {} accesses {} % in the core's own cache, \
         {} % in the socket's, {} % from its other cores, {} % from other sockets, {} % from \
         memory; {:.3} ms waited for lines",
        told.events,
        told.instructions,
        told.picoseconds as f64 / 1e9,
        lines.accesses,
        share(lines.own),
        share(lines.shared),
        share(lines.dirty),
        share(lines.far),
        share(lines.memory),
        lines.queued_ps as f64 / 1e9,
    )
}

fn run_and_show(figure: &Figure, arguments: &FigureRunArguments) -> Result<FigureReport, Failure> {
    let report = run_figure(figure, arguments)?;
    write_files(arguments, &report)?;
    write_figure(&report, Style::of(&io::stdout()).table(), &mut io::stdout().lock())?;
    Ok(report)
}

fn list() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for figure in figures() {
        writeln!(out, "{}  {}", figure.name, figure.title)?;
        writeln!(out, "    {}", figure.source)?;
        let series: Vec<_> = figure.series.iter().map(|series| series.label.as_str()).collect();
        if !series.is_empty() {
            writeln!(out, "    by {}: {}", figure.x.label, series.join(", "))?;
        }
    }
    Ok(())
}

fn runner(arguments: &FigureRunArguments) -> FigureRunner {
    let time = Length::Time {
        warm_up: Duration::from_secs_f64(arguments.warm_up),
        measured: Duration::from_secs_f64(arguments.seconds),
    };
    let driver = Driver {
        length: arguments.transactions.map_or(time, Length::Calls),
        enough: arguments.enough,
        seed: arguments.seed,
        memory_bytes: arguments.memory << 30,
        progress: if arguments.quiet || arguments.machine.is_some() {
            Progress::Off
        } else {
            Progress::Bar
        },
        ..Driver::default()
    };
    FigureRunner {
        driver,
        size: arguments.size,
        repetitions: arguments.repeat.into(),
        directory: arguments.data.clone().unwrap_or_else(std::env::temp_dir),
        threads: arguments.threads.iter().map(|&threads| threads.into()).collect(),
        is_quick: arguments.quick,
        coherence: arguments.coherence.clone(),
    }
}

/// One line on stderr per run, because a figure takes minutes.
fn tell(number: usize, of: usize, run: &RunReport) {
    let settings: Vec<_> =
        run.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let clients = match run.clients {
        0 => String::new(),
        clients => format!(", clients {clients}"),
    };
    eprintln!(
        "[{number}/{of}] {} {}, threads {}{clients}: {:.0} txn/s",
        run.engine,
        settings.join(","),
        run.threads,
        run.txn_per_s
    );
}

/// The files of records beside a document: from real cores, and from virtual ones.
const RECORDS: [&str; 2] = ["figures-verdicts.json", "figures-verdicts-virtual.json"];

fn write_document(path: &Path) -> Result<(), Failure> {
    let [real, simulated] = RECORDS.map(|name| read_records(&path.with_file_name(name)));
    let records = RecordsByCores { real: real?, simulated: simulated? };
    write(path, document(&read(path)?, &figures(), &records)?.as_bytes())
}

/// The records of a file; none where there is no such file yet.
pub(crate) fn read_records(path: &Path) -> Result<Records, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Records::read(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Records::default()),
        Err(error) => Err(Failure::file(&path.display().to_string(), &error)),
    }
}

/// Keeps the verdicts, unless checks failed: they mean nothing then.
fn keep_record(
    arguments: &FigureArguments,
    report: &FigureReport,
    mut records: Records,
    path: &Path,
) -> Result<(), Failure> {
    if !report.checks_hold() {
        return Ok(());
    }
    let commit = arguments.commit.as_deref().unwrap_or_default();
    records.keep(Record::new(report, commit, &configuration(&arguments.run)));
    write(path, records.write()?.as_bytes())
}

/// The arguments that change what is measured.
pub(crate) fn configuration(arguments: &FigureRunArguments) -> String {
    let FigureRunArguments { repeat, size, seed, seconds, warm_up, .. } = arguments;
    let mut text = match arguments.transactions {
        Some(transactions) => format!("--transactions {transactions}"),
        None => format!("--seconds {seconds} --warm-up {warm_up}"),
    };
    if let Some(commits) = arguments.enough {
        text += &format!(" --enough {commits}");
    }
    text += &format!(" --repeat {repeat} --size {size} --seed {seed}");
    if arguments.quick {
        text += " --quick";
    }
    if let Some(machine) = &arguments.machine {
        text += &format!(" --machine {machine}");
    }
    if !arguments.coherence.is_empty() {
        let coherence: Vec<_> = arguments.coherence.iter().map(u64::to_string).collect();
        text += &format!(" --coherence {}", coherence.join(","));
    }
    if !arguments.threads.is_empty() {
        let threads: Vec<_> = arguments.threads.iter().map(u16::to_string).collect();
        text += &format!(" --threads {}", threads.join(","));
    }
    text
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::file(&path.display().to_string(), &error))
}

pub(crate) fn write(path: &Path, text: &[u8]) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::file(&path.display().to_string(), &error))
}

pub(crate) fn write_files(
    arguments: &FigureRunArguments,
    report: &FigureReport,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.json {
        let mut text = Vec::new();
        write_figure_json(report, &mut text)?;
        write(path, &text)?;
    }
    if let Some(path) = &arguments.csv {
        let mut text = Vec::new();
        write_csv(report, &mut text)?;
        write(path, &text)?;
    }
    if let Some(path) = &arguments.svg {
        write(path, write_svg(report)?.as_bytes())?;
    }
    Ok(())
}
