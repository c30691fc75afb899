//! Data directories: opening one with progress, checkpoints, checks, and the log as text.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use hotrow::{Config, Database, RecoveryProgress, RecoveryReport, verify as verify_directory};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::{DirectoryArguments, DumpArguments};
use crate::failure::Failure;

/// Opens a database in a directory; tells on stderr what recovery did, if it did anything.
pub(crate) fn open(path: &Path, config: Config) -> Result<Database, Failure> {
    let db = recover(path, config)?;
    if let Some(report) = db.recovery() {
        tell(report);
    }
    Ok(db)
}

/// As [`open`], for whoever tells what was done by himself.
pub(crate) fn recover(path: &Path, config: Config) -> Result<Database, Failure> {
    let bar = bar("recovering", io::stderr().is_terminal());
    let engine = hotrow::engines().iter().find(|entry| entry.name == config.engine);
    let opened = match engine {
        Some(entry) => Database::open_with(entry, path, config, |done| advance(&bar, done)),
        None => Database::open(path, config), // which tells that there is no such engine
    };
    bar.finish_and_clear();
    Ok(opened?)
}

fn tell(report: &RecoveryReport) {
    for notice in &report.notices {
        eprintln!("hotrow: {notice}");
    }
    let seconds = report.duration.as_secs_f64();
    if report.checkpoint_rows > 0 || report.transactions > 0 {
        eprintln!(
            "hotrow: recovered in {seconds:.2} s: {} rows loaded, {} transactions repeated",
            report.checkpoint_rows, report.transactions
        );
    }
}

/// `hotrow checkpoint DIR`
pub(crate) fn checkpoint(arguments: &DirectoryArguments) -> Result<(), Failure> {
    let shows = !arguments.quiet && io::stderr().is_terminal();
    let recovering = bar("recovering", shows);
    let config = config(arguments).checkpoint_log_bytes(None);
    must_exist(&arguments.directory)?;
    let opened = Database::open_without_engine(&arguments.directory, config, |done| {
        advance(&recovering, done);
    });
    recovering.finish_and_clear();
    let db = opened?;
    let bar = bar("checkpoint", shows);
    let taken = db.checkpoint_with(&|done| {
        bar.set_length(done.bytes_total);
        bar.set_position(done.bytes);
    });
    bar.finish_and_clear();
    if let Some(report) = taken? {
        let seconds = report.duration.as_secs_f64();
        let mib = report.bytes as f64 / f64::from(1 << 20);
        writeln!(io::stdout(), "{} rows, {mib:.1} MiB, {seconds:.2} s", report.rows)?;
    }
    Ok(())
}

/// `hotrow verify DIR`
pub(crate) fn verify(arguments: &DirectoryArguments) -> Result<(), Failure> {
    let bar = bar("verifying", !arguments.quiet && io::stderr().is_terminal());
    must_exist(&arguments.directory)?;
    let checked =
        verify_directory(&arguments.directory, &config(arguments), |done| advance(&bar, done));
    bar.finish_and_clear();
    let report = checked?;
    let recovery = &report.recovery;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "checkpoint  {} rows, {} chunks, all checksums right",
        recovery.checkpoint_rows, report.checkpoint_chunks
    )?;
    writeln!(
        out,
        "log         {} blocks, {} bytes, {} transactions, each writes what it wrote",
        recovery.blocks, recovery.log_bytes, recovery.transactions
    )?;
    for (name, rows) in &report.tables {
        writeln!(out, "table       {name}: {rows} rows, each in all indexes")?;
    }
    for notice in &recovery.notices {
        writeln!(out, "notice      {notice}")?;
    }
    writeln!(out, "All is well.")?;
    Ok(())
}

/// `hotrow log dump DIR`
pub(crate) fn dump(arguments: &DumpArguments) -> Result<(), Failure> {
    must_exist(&arguments.directory)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    hotrow::dump_log(&arguments.directory, |line| {
        if written.is_ok() {
            let (epoch, time) = line.position;
            let text = line.text.replace('\n', "\n    ");
            written = writeln!(
                out,
                "{epoch}.{time:<6} worker {:<3} {:>5} B  {:<10}  {text}",
                line.worker, line.bytes, line.kind
            );
        }
    })?;
    written?;
    out.flush()?;
    Ok(())
}

fn config(arguments: &DirectoryArguments) -> Config {
    Config::default().memory_bytes(arguments.memory << 30)
}

/// A directory that is not there is most likely a typing error, not a database to begin.
fn must_exist(path: &Path) -> Result<(), Failure> {
    if path.join("log").is_dir() {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::Failed(format!("{shown} is not a data directory: it has no log in it")))
}

fn bar(what: &'static str, shows: bool) -> ProgressBar {
    let target = match shows {
        true => ProgressDrawTarget::stderr_with_hz(10),
        false => ProgressDrawTarget::hidden(),
    };
    let style = ProgressStyle::with_template("{msg} {bar:24} {percent:>3}%  {prefix}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(1), target).with_style(style).with_message(what)
}

fn advance(bar: &ProgressBar, done: RecoveryProgress) {
    bar.set_length(done.log_bytes_total.max(1));
    bar.set_position(done.log_bytes);
    bar.set_prefix(format!("{} transactions", done.transactions));
}
