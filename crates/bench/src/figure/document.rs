//! What documents say of the figures: their claims, with the verdicts that were kept.
//!
//! Role         writes the part of `docs/figures.md` between two marks out of the table of figures
//!              and the file of records, so that the three can not drift apart: a test compares
//! Invariants   I1 a record's claims are those that the table has today, word for word; else it is
//!              refused, because nobody knows what its verdicts are of

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::expect::{Claim, claims};
use super::report::FigureReport;
use super::verdict::{ClaimReport, Verdict};
use super::{Cores, Figure};
use crate::error::BenchError;

const BEGIN: &str = "<!-- figures: from here on written by `hotrow bench figure --document` -->";
const END: &str = "<!-- figures: to here -->";
/// Text is wrapped at so many letters; tables cannot be.
const WIDTH: usize = 120;

/// Verdicts that were kept, one record for each figure.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    /// in the order in which figures were first run
    pub records: Vec<Record>,
}

/// The verdicts of one figure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// its name
    pub figure: String,
    /// what was run
    pub commit: String,
    /// the machine's cores
    pub cores: usize,
    /// how it was run, as arguments of `hotrow bench figure NAME`
    pub configuration: String,
    /// how often everything was run
    pub repeats: usize,
    /// in the order of the table of figures
    pub claims: Vec<RecordedClaim>,
}

/// The verdict of one claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedClaim {
    /// the claim
    pub says: String,
    /// what was checked
    pub check: String,
    /// what became of it
    pub verdict: Verdict,
    /// whether there were too few repeats to be sure
    pub provisional: bool,
    /// why it was not to be seen
    pub reason: Option<String>,
    /// the comparison nearest to failing; none where nothing was compared
    pub measured: Option<String>,
}

impl Records {
    /// Reads the file of records.
    ///
    /// # Errors
    ///
    /// [`BenchError::Selection`], with the line and what is wrong there.
    pub fn read(text: &str) -> Result<Self, BenchError> {
        let wrong = |error| BenchError::Selection(format!("records of verdicts: {error}"));
        serde_json::from_str(text).map_err(wrong)
    }

    /// The text of the file.
    ///
    /// # Errors
    ///
    /// [`BenchError::Io`].
    pub fn write(&self) -> Result<String, BenchError> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from)?;
        Ok(text + "\n")
    }

    /// Keeps a record in place of that of the same figure.
    pub fn keep(&mut self, record: Record) {
        match self.records.iter_mut().find(|kept| kept.figure == record.figure) {
            Some(kept) => *kept = record,
            None => self.records.push(record),
        }
    }

    /// Whether a figure's record is of this commit and configuration.
    pub fn has(&self, figure: &str, commit: Option<&str>, configuration: &str) -> bool {
        let is_same = |record: &Record| {
            Some(record.commit.as_str()) == commit && record.configuration == configuration
        };
        self.of(figure).is_some_and(is_same)
    }

    fn of(&self, figure: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.figure == figure)
    }
}

impl Record {
    /// The verdicts of a figure that was run at this commit with these arguments.
    pub fn new(report: &FigureReport, commit: &str, configuration: &str) -> Self {
        Self {
            figure: report.figure.clone(),
            commit: commit.to_owned(),
            cores: report.cores,
            configuration: configuration.to_owned(),
            repeats: report.repeats,
            claims: report.claims.iter().map(RecordedClaim::new).collect(),
        }
    }
}

impl RecordedClaim {
    fn new(claim: &ClaimReport) -> Self {
        Self {
            says: claim.says.clone(),
            check: claim.check.clone(),
            verdict: claim.verdict,
            provisional: claim.provisional,
            reason: claim.reason.clone(),
            measured: claim.decisive().map(|decisive| decisive.told()),
        }
    }
}

/// Verdicts that were kept, by where the cores were.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RecordsByCores {
    /// from the cores of a real machine
    pub real: Records,
    /// from those of virtual ones
    pub simulated: Records,
}

impl RecordsByCores {
    fn both(&self) -> [&Records; 2] {
        [&self.real, &self.simulated]
    }
}

/// A document whose part between the marks is written anew.
///
/// # Errors
///
/// [`BenchError::Selection`] where a mark is missing, or a record is not of today's claims (I1).
pub fn document(
    text: &str,
    figures: &[Figure],
    records: &RecordsByCores,
) -> Result<String, BenchError> {
    let missing =
        |mark: &str| BenchError::Selection(format!("the document has no line \"{mark}\""));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, behind) = rest.split_once(END).ok_or_else(|| missing(END))?;
    let figures: Vec<_> =
        figures.iter().map(|figure| Section::new(figure, records)).collect::<Result<_, _>>()?;
    let mut kept = records.both().into_iter().flat_map(|records| &records.records);
    let is_of_none =
        |record: &&Record| figures.iter().all(|section| section.figure.name != record.figure);
    if let Some(record) = kept.find(is_of_none) {
        let name = &record.figure;
        return Err(BenchError::Selection(format!("there is a record of no figure: \"{name}\"")));
    }
    let mut part = String::new();
    overview(&figures, &mut part);
    for section in &figures {
        section.write(&mut part);
    }
    Ok(format!("{before}{BEGIN}\n\n{part}\n{END}{behind}"))
}

/// A figure with its claims and its records.
pub(super) struct Section<'a> {
    pub(super) figure: &'a Figure,
    pub(super) claims: Vec<Claim>,
    /// by [`Cores`]
    pub(super) records: [Option<&'a Record>; 2],
}

impl<'a> Section<'a> {
    fn new(figure: &'a Figure, records: &'a RecordsByCores) -> Result<Self, BenchError> {
        let records = records.both().map(|records| records.of(&figure.name));
        let section = Self { figure, claims: claims(figure)?, records };
        let is_known =
            |kept: &&RecordedClaim| section.claims.iter().any(|claim| is_of(kept, claim));
        let mut kept = section.records.iter().flatten().flat_map(|record| &record.claims);
        match kept.find(|kept| !is_known(kept)) {
            None => Ok(section),
            Some(kept) => Err(BenchError::Selection(format!(
                "figure {}: the record's claim \"{}\", checked as \"{}\", is none of the figure's \
                 today; run the figure again with --record, or take the record out",
                figure.name, kept.says, kept.check
            ))),
        }
    }

    /// What was kept of a claim.
    pub(super) fn kept(&self, cores: Cores, claim: &Claim) -> Option<&RecordedClaim> {
        self.records[cores as usize]?.claims.iter().find(|kept| is_of(kept, claim))
    }

    /// Why it has the verdict that was kept, where that is known.
    pub(super) fn reason<'c>(
        &self,
        cores: Cores,
        claim: &'c Claim,
        kept: &'c RecordedClaim,
    ) -> Option<&'c String> {
        let why = claim.why_on(cores).filter(|_| kept.verdict == Verdict::Contrary);
        kept.reason.as_ref().or(why)
    }

    /// Why nothing was to be kept of it, if so.
    pub(super) fn because<'c>(&'c self, cores: Cores, claim: &'c Claim) -> Option<&'c String> {
        let at_scale = self.figure.at_scale.because.as_ref();
        claim.because.as_ref().or(at_scale.filter(|_| cores == Cores::Virtual))
    }

    /// How many claims have this verdict. Declared ones have theirs before any run.
    pub(super) fn count(&self, cores: Cores, verdict: Verdict) -> usize {
        let of = |claim: &Claim| match self.kept(cores, claim) {
            Some(kept) => Some(kept.verdict),
            None => claim.because.as_ref().map(|_| Verdict::NotSeen),
        };
        self.claims.iter().filter(|&claim| of(claim) == Some(verdict)).count()
    }

    fn write(&self, out: &mut String) {
        let figure = self.figure;
        let line = |out: &mut String, text: &str| {
            out.push_str(&wrapped(text));
            out.push('\n');
        };
        line(out, &format!("\n### {}\n", figure.name));
        line(out, &format!("{} ({}).\n", figure.title, figure.source));
        line(out, &format!("Claim: {}\n", figure.claim.trim()));
        line(out, &format!("Look at: {}.\n", figure.look.trim()));
        for (cores, record) in Cores::ALL.into_iter().zip(self.records) {
            let Some(Record { commit, cores: count, configuration, repeats, .. }) = record else {
                line(out, &format!("On {cores}: not yet run for the record.\n"));
                continue;
            };
            let name = &figure.name;
            line(out, &format!("On {count} {cores}, at commit {commit}, {repeats} repeats:\n"));
            out.push_str(&format!("    hotrow bench figure {name} {configuration}\n\n"));
        }
        let [real, simulated] = Cores::ALL;
        out.push_str(&format!("| claim | checked | {real} | {simulated} |\n|---|---|---|---|\n"));
        for claim in &self.claims {
            let [real, simulated] = Cores::ALL.map(|cores| self.verdict(cores, claim));
            let cells = [claim.says.clone(), claim.to_string(), real, simulated];
            let [says, check, real, simulated] = cells.map(|cell| cell.replace('|', "\\|"));
            // Writing to a string cannot fail.
            let _ = writeln!(out, "| {says} | {check} | {real} | {simulated} |");
        }
    }

    fn verdict(&self, cores: Cores, claim: &Claim) -> String {
        let Some(kept) = self.kept(cores, claim) else {
            return match self.because(cores, claim) {
                Some(because) => format!("**{}**: {because}", Verdict::NotSeen),
                None => "not yet run".to_owned(),
            };
        };
        let provisional = if kept.provisional { " (provisional)" } else { "" };
        let reason = self.reason(cores, claim, kept).map(|reason| format!(": {reason}"));
        let measured = kept.measured.as_ref().map(|text| format!("; {text}")).unwrap_or_default();
        let name = kept.verdict;
        format!("**{name}**{provisional}{}{measured}", reason.unwrap_or_default())
    }
}

fn is_of(kept: &RecordedClaim, claim: &Claim) -> bool {
    kept.says == claim.says && kept.check == claim.to_string()
}

fn overview(figures: &[Section<'_>], out: &mut String) {
    let all = figures.len();
    let claims: usize = figures.iter().map(|section| section.claims.len()).sum();
    out.push_str(&format!("{all} figures, {claims} claims; run for the record:"));
    let told = Cores::ALL.map(|cores| {
        let is_run = |section: &&Section<'_>| section.records[cores as usize].is_some();
        format!(" {} on {cores}", figures.iter().filter(is_run).count())
    });
    out.push_str(&told.join(","));
    out.push_str(".\n\n| name | source ");
    let verdicts = [Verdict::Shown, Verdict::Contrary, Verdict::NotSeen];
    let columns =
        || Cores::ALL.into_iter().flat_map(|cores| verdicts.map(|verdict| (cores, verdict)));
    for (cores, verdict) in columns() {
        let _ = write!(out, "| {verdict}, {cores} ");
    }
    out.push_str("|\n|---|---|---|---|---|---|---|---|\n");
    for section in figures {
        let Figure { name, source, .. } = section.figure;
        let _ = write!(out, "| [`{name}`](#{name}) | {source} ");
        for (cores, verdict) in columns() {
            let count = section.count(cores, verdict);
            let _ = match count {
                0 => write!(out, "|  "),
                count => write!(out, "| {count} "),
            };
        }
        out.push_str("|\n");
    }
}

/// Text with line breaks between words; those that it has stay.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let mut width = 0;
        for word in line.split(' ') {
            let letters = word.chars().count();
            if width > 0 && width + 1 + letters > WIDTH {
                out.push('\n');
                width = 0;
            }
            if width > 0 {
                out.push(' ');
                width += 1;
            }
            out.push_str(word);
            width += letters;
        }
    }
    out
}

#[cfg(test)]
mod tests;
