//! Footprints and their differences as text.

use std::io::{self, Write};

use hotrow::{Doubt, Held, Holdings, LockMode, Planning};

use super::difference::Difference;
use super::version::{Procedure, Version};

/// A granule that a call holds, and the statements that need it.
#[derive(Debug)]
pub(super) struct Granule<'h> {
    /// the strongest mode that one of them needs
    pub(super) mode: LockMode,
    pub(super) held: &'h Held,
    /// lines of the procedures' text, with what is done there
    pub(super) by: Vec<(u32, &'h str)>,
}

/// What a call holds, each granule once, in the order in which statements come to them.
pub(super) fn granules(holdings: &Holdings) -> Vec<Granule<'_>> {
    let mut granules: Vec<Granule<'_>> = Vec::new();
    for access in &holdings.accesses {
        let verb = access.what.split(' ').next().unwrap_or_default();
        let by = (access.place.line, verb);
        for held in &access.held {
            let is_same = |of: &Held| {
                (&of.of, &of.key, of.is_of_rows_found)
                    == (&held.of, &held.key, held.is_of_rows_found)
            };
            match granules.iter_mut().find(|granule| is_same(granule.held)) {
                None => granules.push(Granule { mode: held.mode, held, by: vec![by] }),
                Some(known) => {
                    known.mode = known.mode.max(held.mode);
                    if !known.by.contains(&by) {
                        known.by.push(by);
                    }
                }
            }
        }
    }
    granules
}

/// A granule's key as a condition: `sale_pkey (customer = p_customer)`.
pub(super) fn shown(held: &Held) -> String {
    if held.is_of_rows_found {
        return format!("{}, each row found", held.of);
    }
    if held.key.is_empty() {
        return format!("{}, all of it", held.of);
    }
    let parts = held.key.iter().map(|(column, value)| {
        // Slots that no declaration names are no name for anybody.
        if value.contains('$') { column.clone() } else { format!("{column} = {value}") }
    });
    format!("{} ({})", held.of, parts.collect::<Vec<_>>().join(", "))
}

pub(super) fn write_procedures(version: &Version, out: &mut dyn Write) -> io::Result<()> {
    for (number, procedure) in version.procedures.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        write_procedure(procedure, out)?;
    }
    let count = |planning| {
        let all = version.procedures.iter();
        all.filter(|procedure| procedure.holdings.planning() == planning).count()
    };
    let (planned, reconnoitred) = (count(Planning::Planned), count(Planning::Reconnoitred));
    let (alone, refused) = (count(Planning::MayRunAlone), version.refused.len());
    writeln!(
        out,
        "\n{} procedures: {planned} planned, {reconnoitred} reconnoitred, {alone} may run alone; \
         {refused} statements refused",
        version.procedures.len()
    )
}

fn write_procedure(procedure: &Procedure, out: &mut dyn Write) -> io::Result<()> {
    let Procedure { signature, at, holdings, .. } = procedure;
    writeln!(out, "{signature}  ({}:{})", at.file, at.line)?;
    writeln!(out, "    {}", holdings.planning().name())?;
    let granules = granules(holdings);
    if granules.is_empty() {
        writeln!(out, "    holds nothing: it touches no table that a procedure writes")?;
    }
    let lines = lines(procedure, &granules);
    let width = lines.iter().map(|(_, text, _)| text.chars().count()).max().unwrap_or(0).min(60);
    for (mode, text, by) in &lines {
        writeln!(out, "    {} {text:<width$}  by {}", mode.name(), by.join(", "))?;
    }
    if !holdings.inlined.is_empty() {
        writeln!(out, "    it has in it what it calls: {}", holdings.inlined.join(", "))?;
    }
    let doubts = holdings.accesses.iter().filter_map(|access| access.doubt.as_ref());
    let mut told = Remarks::default();
    for Doubt { place, why, hint } in doubts.chain(&holdings.alone) {
        told.add(procedure.line(place.line), why, Some(format!("to have it planned, {hint}")));
    }
    for whole in &holdings.wholes {
        let said = &whole.said;
        told.add(procedure.line(said.place.line), &said.message, said.hint.clone());
    }
    told.write(out)
}

/// A line for each granule that is shown: its mode, how it is shown, and by what it is needed. Keys
/// that are drawn are shown alike, and counted.
fn lines(procedure: &Procedure, granules: &[Granule<'_>]) -> Vec<(LockMode, String, Vec<String>)> {
    let mut lines: Vec<(LockMode, String, Vec<String>, usize)> = Vec::new();
    for granule in granules {
        let text = shown(granule.held);
        let by = granule.by.iter().map(|(line, verb)| format!("{verb} {}", procedure.line(*line)));
        let is_same = |known: &&mut (LockMode, String, Vec<String>, usize)| {
            known.0 == granule.mode && known.1 == text
        };
        match lines.iter_mut().find(is_same) {
            None => lines.push((granule.mode, text, by.collect(), 1)),
            Some((_, _, known, count)) => {
                *count += 1;
                for one in by {
                    if !known.contains(&one) {
                        known.push(one);
                    }
                }
            }
        }
    }
    let counted = lines.into_iter().map(|(mode, text, by, count)| match count {
        1 => (mode, text, by),
        count => (mode, format!("{text}, {count} times"), by),
    });
    counted.collect()
}

/// What there is to say of lines: what is the same of several is said once.
#[derive(Default)]
struct Remarks(Vec<(String, Option<String>, Vec<usize>)>);

impl Remarks {
    fn add(&mut self, line: usize, what: &str, hint: Option<String>) {
        let known = self.0.iter_mut().find(|(known, of, _)| *known == what && *of == hint);
        match known {
            None => self.0.push((what.to_owned(), hint, vec![line])),
            Some((_, _, lines)) if lines.contains(&line) => {}
            Some((_, _, lines)) => lines.push(line),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (what, hint, lines) in &self.0 {
            let word = if lines.len() == 1 { "line" } else { "lines" };
            let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
            writeln!(out, "    {word} {}: {what}", lines.join(", "))?;
            if let Some(hint) = hint {
                writeln!(out, "        {hint}")?;
            }
        }
        Ok(())
    }
}

pub(super) fn write_differences(differences: &[Difference], out: &mut dyn Write) -> io::Result<()> {
    if differences.is_empty() {
        return writeln!(out, "Calls hold what they held before.");
    }
    for difference in differences {
        match difference {
            Difference::Came { procedure, planning } => {
                writeln!(out, "{procedure}: new, {}", planning.name())?;
            }
            Difference::Went { procedure } => writeln!(out, "{procedure}: gone")?,
            Difference::Changed { procedure, planning, more, less } => {
                writeln!(out, "{procedure}: {}", difference.words().join(", "))?;
                if planning.0 != planning.1 {
                    let (before, now) = (planning.0.name(), planning.1.name());
                    writeln!(out, "    {before} before, {now} now")?;
                }
                more.iter().try_for_each(|held| writeln!(out, "    + {held}"))?;
                less.iter().try_for_each(|held| writeln!(out, "    - {held}"))?;
            }
        }
    }
    Ok(())
}
