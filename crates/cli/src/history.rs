//! `hotrow bench history`: what concurrent clients saw, checked and written.

use std::io::{self, BufWriter, Write};

use hotrow_bench::{Format, HistoryKind, HistoryOptions, Variant, record_history};
use hotrow_history::{History, check};

use crate::arguments::{FormatName, HistoryArguments, KindName};
use crate::bench::variants;
use crate::failure::{Failure, write_file};

pub(crate) fn run(arguments: &HistoryArguments) -> Result<(), Failure> {
    let variants = variants(&arguments.engine)?;
    if arguments.out.is_some() && variants.len() != 1 {
        let first = &variants[0];
        let message = format!("--out takes the history of one engine; give --engine {first}");
        return Err(Failure::Usage(message));
    }
    let mut clean = true;
    for variant in &variants {
        let options = options(arguments, variant);
        let history = record_history(variant, &options)?;
        if let Some(path) = &arguments.out {
            write(&history, format(arguments), path)?;
        }
        clean &= judge(variant, &options, &history, arguments.out.as_deref())?;
    }
    if clean { Ok(()) } else { Err(Failure::Told) }
}

/// Checks a history and prints the verdict; whether it is clean.
fn judge(
    variant: &Variant,
    options: &HistoryOptions,
    history: &History,
    out: Option<&str>,
) -> Result<bool, Failure> {
    let report = check(history);
    let failed = history.transactions.len() - report.transactions_checked;
    let verdict = if report.is_clean() { "strictly serializable" } else { "NOT serializable" };
    let (count, clients) = (history.transactions.len(), options.clients);
    let kind = format!("{:?}", options.kind).to_lowercase();
    let mut text =
        format!("{variant}: {count} transactions on {kind}, {clients} clients: {verdict}");
    if failed > 0 {
        text += &format!(" ({failed} did not commit)");
    }
    if !report.is_clean() {
        text += &format!("\n{report}");
    } else if let Some(first) = report.undecided.first() {
        let more = report.undecided.len() - 1;
        text += &format!("\n    undecided: {first}; {more} more like this");
    }
    // The history itself may go to stdout.
    if out == Some("-") {
        eprintln!("{text}");
    } else {
        writeln!(io::stdout(), "{text}")?;
    }
    Ok(report.is_clean())
}

fn write(history: &History, format: Format, path: &str) -> Result<(), Failure> {
    if path == "-" {
        let mut out = BufWriter::new(io::stdout().lock());
        format.write(history, &mut out)?;
        return Ok(out.flush()?);
    }
    write_file(path, |file| format.write(history, file))
}

fn options(arguments: &HistoryArguments, variant: &Variant) -> HistoryOptions {
    HistoryOptions {
        kind: match arguments.kind {
            None => format(arguments).usual_kind(),
            Some(KindName::Lists) => HistoryKind::Lists,
            Some(KindName::Registers) => HistoryKind::Registers,
            Some(KindName::Indexes) => HistoryKind::Indexes,
        },
        threads: variant.entry.threads_near(arguments.threads.into()),
        clients: arguments.clients.into(),
        transactions: arguments.transactions,
        hot_keys: arguments.hot_keys,
        typed_percent: arguments.typed,
        seed: arguments.seed,
        ..HistoryOptions::default()
    }
}

fn format(arguments: &HistoryArguments) -> Format {
    match arguments.format {
        FormatName::Elle => Format::Elle,
        FormatName::Dbcop => Format::Dbcop,
        FormatName::Json => Format::Json,
    }
}
