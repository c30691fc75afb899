//! `hotrow bench`: workloads on engines.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use hotrow_bench::{
    Driver, Length, Progress, RunReport, Variant, select_engines, write_json, write_table,
};
use hotrow_workloads::{Workload, workload_named};

use crate::arguments::BenchRunArguments;
use crate::failure::{Failure, write_file};
use crate::remote;
use crate::show::Style;

/// One workload with its parameters, on one engine, with so many threads and clients.
struct Run {
    workload: usize,
    variant: usize,
    threads: usize,
    clients: Option<usize>,
}

pub(crate) fn run(arguments: &BenchRunArguments) -> Result<(), Failure> {
    let workloads = workloads(arguments)?;
    if arguments.parameters {
        return show_parameters(&*workloads[0]);
    }
    if let Some(address) = &arguments.at.remote {
        let reports = remote::run(arguments, &workloads, address, driver(arguments))?;
        return conclude(&reports, arguments);
    }
    let variants = variants(&arguments.engine)?;
    let runs = runs(arguments, workloads.len(), &variants)?;
    let mut driver = driver(arguments);
    let mut reports = Vec::with_capacity(runs.len());
    let mut kept = None;
    for (number, run) in runs.iter().enumerate() {
        let (workload, variant) = (&*workloads[run.workload], &variants[run.variant]);
        driver.clients = run.clients;
        let report = if arguments.keep {
            let (at, mut population) = match kept.take() {
                Some((at, population)) if at == run.workload => (at, population),
                _ => (run.workload, driver.load(workload, most_threads(&runs))?),
            };
            let report = driver.run_on(&mut population, workload, variant, run.threads)?;
            kept = Some((at, population));
            report
        } else {
            driver.run(workload, variant, run.threads)?
        };
        if !arguments.quiet {
            tell(number + 1, runs.len(), &variant.to_string(), &report);
        }
        reports.push(report);
    }
    conclude(&reports, arguments)
}

/// Shows the reports; a failed check is a failure.
fn conclude(reports: &[RunReport], arguments: &BenchRunArguments) -> Result<(), Failure> {
    show(reports, arguments.json.as_deref())?;
    if reports.iter().all(RunReport::checks_hold) { Ok(()) } else { Err(Failure::Told) }
}

/// One line on stderr per run, because all runs together take a while.
pub(crate) fn tell(number: usize, of: usize, engine: &str, report: &RunReport) {
    let held = if report.checks_hold() { "checks hold" } else { "CHECKS FAILED" };
    let threads = report.threads;
    let clients =
        if report.clients > 0 { format!(", clients {}", report.clients) } else { String::new() };
    let rate = report.txn_per_s;
    eprintln!("[{number}/{of}] {engine}, threads {threads}{clients}: {rate:.0} txn/s, {held}");
    if report.log.entries > 0 {
        let log = &report.log;
        let entry = match &report.remote {
            None => format!("{:.0} bytes per entry, ", log.bytes_per_entry),
            Some(_) => String::new(), // servers do not tell
        };
        eprintln!(
            "    log ({}): {entry}{:.0} bytes of file per transaction, {:.0} us per sync",
            report.durability, log.file_bytes_per_txn, log.sync_us
        );
    }
    if let Some(recovery) = &report.recovery {
        eprintln!(
            "    recovered: {} rows in {:.2} s, then {} transactions in {:.2} s, {:.0} per second",
            recovery.checkpoint_rows,
            recovery.checkpoint_seconds,
            recovery.transactions,
            recovery.log_seconds,
            recovery.txn_per_s
        );
    }
}

fn show(reports: &[RunReport], json: Option<&str>) -> Result<(), Failure> {
    match json {
        Some("-") => {
            write_table(reports, Style::of(&io::stderr()).table(), &mut io::stderr())?;
            write_json(reports, io::stdout().lock())?;
            return Ok(());
        }
        Some(path) => write_file(path, |file| write_json(reports, file))?,
        None => {}
    }
    if io::stderr().is_terminal() && io::stdout().is_terminal() {
        eprintln!();
    }
    write_table(reports, Style::of(&io::stdout()).table(), &mut io::stdout().lock())?;
    Ok(())
}

fn driver(arguments: &BenchRunArguments) -> Driver {
    let time = Length::Time {
        warm_up: Duration::from_secs_f64(arguments.warm_up),
        measured: Duration::from_secs_f64(arguments.seconds),
    };
    Driver {
        watched: None,
        length: arguments.transactions.map_or(time, Length::Calls),
        enough: None,
        seed: arguments.seed,
        memory_bytes: arguments.memory << 30,
        split_indexes: arguments.split,
        inspect: !arguments.no_checks,
        log: arguments.log_settings(),
        pin_threads: !arguments.no_pin,
        clients: None,
        progress: if arguments.quiet { Progress::Off } else { Progress::Bar },
    }
}

pub(crate) fn variants(texts: &[String]) -> Result<Vec<Variant>, Failure> {
    let mut variants = Vec::new();
    for text in texts {
        variants.extend(select_engines(text)?);
    }
    Ok(variants)
}

/// Every workload on every engine with every number of threads that it can use, and of clients.
fn runs(
    arguments: &BenchRunArguments,
    workloads: usize,
    variants: &[Variant],
) -> Result<Vec<Run>, Failure> {
    let mut clients: Vec<_> = arguments.clients.iter().map(|&n| Some(usize::from(n))).collect();
    if clients.is_empty() {
        clients.push(None);
    }
    let mut runs = Vec::new();
    for workload in 0..workloads {
        for (variant, engine) in variants.iter().enumerate() {
            let threads = arguments.threads.iter().map(|&threads| usize::from(threads));
            let allowed = threads.filter(|&threads| engine.allows(threads));
            runs.extend(allowed.flat_map(|threads| {
                let run = move |&clients| Run { workload, variant, threads, clients };
                clients.iter().map(run)
            }));
        }
    }
    if runs.is_empty() {
        let name = variants.first().map_or("none", |variant| variant.entry.name);
        let message = format!("engine {name} cannot run with so many threads; see: hotrow engines");
        return Err(Failure::Usage(message));
    }
    Ok(runs)
}

fn most_threads(runs: &[Run]) -> usize {
    runs.iter().map(|run| run.threads).max().unwrap_or(1)
}

/// The workload once for each combination of its parameters' values.
fn workloads(arguments: &BenchRunArguments) -> Result<Vec<Box<dyn Workload>>, Failure> {
    let mut settings = Vec::new();
    let warehouses = arguments.warehouses.as_ref().map(|counts| format!("warehouses={counts}"));
    for text in warehouses.iter().chain(&arguments.set) {
        let (name, values) = text
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("--set {text}: write NAME=VALUE")))?;
        settings.push((name.to_owned(), values.split(',').map(str::to_owned).collect::<Vec<_>>()));
    }
    let mut combinations = vec![Vec::new()];
    for (name, values) in &settings {
        combinations = combinations
            .iter()
            .flat_map(|chosen: &Vec<(&str, &str)>| {
                values.iter().map(|value| {
                    let mut chosen = chosen.clone();
                    chosen.push((name.as_str(), value.as_str()));
                    chosen
                })
            })
            .collect();
    }
    combinations.iter().map(|chosen| workload(&arguments.workload, chosen)).collect()
}

fn workload(name: &str, settings: &[(&str, &str)]) -> Result<Box<dyn Workload>, Failure> {
    let unknown = || Failure::Usage(format!("there is no workload \"{name}\""));
    let mut workload = workload_named(name).ok_or_else(unknown)?;
    let refused = |error: hotrow_workloads::ParameterError| {
        Failure::Usage(format!("workload {name}: {error}"))
    };
    for (parameter, value) in settings {
        workload.parameters_mut().set(parameter, value).map_err(refused)?;
    }
    workload.parameters().validate().map_err(refused)?;
    Ok(workload)
}

fn show_parameters(workload: &dyn Workload) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}: {}\n", workload.name(), workload.about())?;
    let parameters = workload.parameters().list();
    let assignment = |p: &hotrow_workloads::ParameterInfo| format!("{}={}", p.name, p.value);
    let width = parameters.iter().map(|p| assignment(p).len()).max().unwrap_or(0);
    for parameter in &parameters {
        let assignment = assignment(parameter);
        writeln!(out, "  {assignment:width$}  {} ({})", parameter.about, parameter.values)?;
    }
    writeln!(out, "\nSet them with --set NAME=VALUE; the values shown are those in force.")?;
    Ok(())
}
