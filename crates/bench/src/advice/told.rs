//! Advice in words.

use std::io::{self, Write};

use super::{Advice, Candidate, Signs};
use crate::table::{Style, grouped, write_rows};

/// Points that are shown; there may be more.
const POINTS_SHOWN: usize = 6;

/// Writes advice for people.
///
/// # Errors
///
/// Those of `out`.
pub fn write_advice(advice: &Advice, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let observed = &advice.observed;
    let settings: Vec<_> =
        observed.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let settings = match settings.is_empty() {
        true => String::new(),
        false => format!(" {}", settings.join(",")),
    };
    writeln!(
        out,
        "Runs: {}{settings}, threads {} (\"{}\" on the map)",
        observed.engine, observed.threads, advice.runs
    )?;
    writeln!(out, "Shows: {}", signs_text(&observed.signs))?;
    writeln!(out, "On the map it shows that here:")?;
    for alike in advice.alike.iter().take(POINTS_SHOWN) {
        writeln!(out, "  {} (distance {:.1})", alike.situation, alike.distance)?;
    }
    if let Some(more) = advice.alike.len().checked_sub(POINTS_SHOWN).filter(|more| *more > 0) {
        writeln!(out, "  and at {more} more points")?;
    }
    writeln!(out, "\nCalls per second there, over those of \"{}\":", advice.runs)?;
    let header = ["", "least", "median", "most", "waits", "undone", "messages"];
    let rows = advice.candidates.iter().map(row).collect();
    write_rows(header.map(str::to_owned).to_vec(), rows, style, out)?;
    writeln!(out)?;
    write_if_known(advice, out)?;
    for remark in &advice.remarks {
        writeln!(out, "Mind: {remark}.")?;
    }
    write_conclusion(advice, out)
}

fn row(candidate: &Candidate) -> Vec<String> {
    let [least, median, most] = candidate.gain;
    let mut row = vec![candidate.label.clone()];
    row.extend([least, median, most].map(|gain| format!("{gain:.2}")));
    let Signs { waits, undone, messages, .. } = candidate.signs;
    row.extend([waits, undone, messages].map(|count| format!("{count:.2}")));
    row
}

fn write_if_known(advice: &Advice, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = advice.if_known.first() else { return Ok(()) };
    writeln!(out, "It depends on what cannot be seen from here:")?;
    for known in &advice.if_known {
        let (axis, value) = (&known.axis, &known.value);
        writeln!(out, "  {axis} {value}: {}, {:.2} times", known.label, known.gain)?;
    }
    writeln!(out, "Say what you know, for example --know {}={}.", first.axis, first.value)
}

fn write_conclusion(advice: &Advice, out: &mut dyn Write) -> io::Result<()> {
    let Some(better) = advice.better() else {
        let why = match advice.observed.is_idle() {
            true => "it is not the limit",
            false => "nothing is clearly faster here",
        };
        return writeln!(out, "Advice: stay with what runs; {why}.");
    };
    let [least, median, most] = better.gain;
    writeln!(
        out,
        "Advice: --engine {}, {median:.1} times what runs ({least:.1} to {most:.1}).",
        better.engine
    )?;
    writeln!(out, "Why: {}", why(&advice.shows, better))
}

/// What the better engine spares.
fn why(shows: &Signs, better: &Candidate) -> String {
    let mut why = Vec::new();
    let mut spared = |what: &str, now: f64, then: f64| {
        if now >= 0.05 && then < now / 2.0 {
            why.push(format!("{now:.2} {what} a call there, {then:.2} with {}", better.label));
        }
    };
    spared("attempts undone", shows.undone, better.signs.undone);
    spared("waits for locks", shows.waits, better.signs.waits);
    spared("messages", shows.messages, better.signs.messages);
    let (now, then) = (shows.busy_us, better.signs.busy_us);
    if then < 0.8 * now {
        why.push(format!("a call keeps threads busy for {then:.1} us instead of {now:.1}"));
    }
    match why.is_empty() {
        true => "it has more of its threads at work at a time".to_owned(),
        false => why.join("; ") + ".",
    }
}

fn signs_text(signs: &Signs) -> String {
    format!(
        "{} calls/s; per call {:.2} waits, {:.2} attempts undone, {:.2} failures, {:.2} messages, \
         {:.1} us of its threads",
        grouped(signs.calls_per_s.round() as u64),
        signs.waits,
        signs.undone,
        signs.failed,
        signs.messages,
        signs.busy_us
    )
}
