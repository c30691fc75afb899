//! The page of evidence: all figures with their claims, verdicts from real and from virtual cores
//! side by side, plots and numbers, in one HTML file that needs no other.
//!
//! Role         writes what was kept; runs nothing and judges nothing

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Figure;
use super::document::{CORES, Record, RecordedClaim, SIMULATED};
use super::expect::{Claim, claims};
use super::prediction::{self, MISS_MAX, PAIRS_MIN, Prediction};
use super::verdict::Verdict;
use crate::error::BenchError;
use crate::table::grouped;

/// What is known of a figure from one kind of cores.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// its verdicts
    pub record: Record,
    /// the figure as it was drawn; none: nothing was run
    pub svg: Option<String>,
    /// a line for each run
    pub csv: String,
}

/// By the figure's name.
pub type EvidenceByFigure = BTreeMap<String, Evidence>;

/// What the page says of how it came about.
#[derive(Clone, Debug)]
pub struct PageHead {
    /// the commit that was run
    pub commit: String,
    /// the real machine
    pub machine: String,
    /// names of virtual machines, and what they are
    pub machines: Vec<(String, String)>,
}

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; \
color: #222; background: #fff }\
h1, h2, h3 { line-height: 1.2 } h2 { border-bottom: 1px solid #ccc; margin-top: 2em }\
table { border-collapse: collapse; width: 100%; margin: 1em 0 }\
th, td { border: 1px solid #ddd; padding: .35em .6em; text-align: left; vertical-align: top }\
th { background: #f5f5f5 } td.n { text-align: right }\
.shown { color: #00704a } .contrary { color: #b3261e } .notseen { color: #666 }\
.verdict { font-weight: 600 } small { color: #555 } svg { max-width: 100%; height: auto }\
pre { overflow: auto; max-height: 24em; background: #f8f8f8; padding: .6em; font-size: 12px }\
blockquote { margin: .5em 0; padding-left: 1em; border-left: 3px solid #ccc }";

/// The page.
///
/// # Errors
///
/// [`BenchError::Selection`] where the table of figures has claims that do not fit.
pub fn write_page(
    figures: &[Figure],
    real: &EvidenceByFigure,
    simulated: &EvidenceByFigure,
    head: &PageHead,
) -> Result<String, BenchError> {
    let parts: Vec<Part<'_>> = figures
        .iter()
        .map(|figure| {
            let kinds = [real.get(&figure.name), simulated.get(&figure.name)];
            Ok(Part { figure, claims: claims(figure)?, kinds })
        })
        .collect::<Result<_, BenchError>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Hotrow: the papers' figures, run again" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "The papers' figures, run again" }
                (preface(head))
                (overview(&parts))
                (predictions(&parts))
                @for part in &parts { (part.section()) }
            }
        }
    };
    Ok(page.into_string())
}

fn preface(head: &PageHead) -> Markup {
    html! {
        p {
            "Each figure of the papers was run on this code: on the " b { "real cores" } " of the \
             machine that this was run on, and on " b { "virtual cores" } ", where the same \
             code's accesses to shared memory are priced by a directory of caches with the costs \
             of the papers' processors. A claim is " (label(Verdict::Shown)) " when all numbers \
             that it is about lie within its bounds, " (label(Verdict::Contrary)) " when one is \
             clearly outside, and else " (label(Verdict::NotSeen)) ", with the reason."
        }
        p { "Commit " code { (head.commit) } ". Real cores: " (head.machine) "." }
        @if !head.machines.is_empty() {
            ul {
                @for (name, what) in &head.machines { li { code { (name) } ": " (what) } }
            }
        }
    }
}

/// A figure with what is known of it.
struct Part<'a> {
    figure: &'a Figure,
    claims: Vec<Claim>,
    kinds: [Option<&'a Evidence>; 2],
}

impl Part<'_> {
    /// What became of a claim on one kind of cores.
    fn kept(&self, kind: usize, claim: &Claim) -> Option<&RecordedClaim> {
        self.kinds[kind]?.record.claim(claim)
    }

    fn count(&self, kind: usize, verdict: Verdict) -> usize {
        let kept = self.claims.iter().filter_map(|claim| self.kept(kind, claim));
        kept.filter(|kept| kept.verdict == verdict).count()
    }

    fn section(&self) -> Markup {
        let Figure { name, source, title, claim, .. } = self.figure;
        html! {
            h2 id=(name) { (name) ": " (title) }
            p { small { (source) } }
            blockquote { (claim) }
            table {
                tr {
                    th { "claim" }
                    @for kind in CORES { th { (kind) } }
                }
                @for claim in &self.claims {
                    tr {
                        td { (claim.says) br; small { (claim) } }
                        @for kind in 0..CORES.len() { td { (self.verdict(kind, claim)) } }
                    }
                }
            }
            @for (kind, evidence) in CORES.iter().zip(self.kinds) {
                @if let Some(evidence) = evidence { (numbers(kind, evidence)) }
            }
        }
    }

    fn verdict(&self, kind: usize, claim: &Claim) -> Markup {
        let Some(kept) = self.kept(kind, claim) else {
            let at_scale = self.figure.at_scale.because.as_deref().filter(|_| kind == SIMULATED);
            let because = claim.because.as_deref().or(at_scale).unwrap_or("not run");
            return html! { (label(Verdict::NotSeen)) ": " (because) };
        };
        let why = claim.why_on(kind).filter(|_| kept.verdict == Verdict::Contrary);
        html! {
            (label(kept.verdict))
            @if kept.provisional { " (provisional)" }
            @if let Some(reason) = kept.reason.as_ref().or(why) { ": " (reason) }
            @if let Some(measured) = &kept.measured { br; small { (measured) } }
        }
    }
}

fn numbers(kind: &str, evidence: &Evidence) -> Markup {
    let Record { configuration, repeats, cores, commit, .. } = &evidence.record;
    html! {
        details {
            summary {
                "Plot and numbers, " (kind) ": " (cores) " cores, " (repeats) " repeats, commit "
                code { (commit) }
            }
            p { code { "hotrow bench figure " (evidence.record.figure) " " (configuration) } }
            @if let Some(svg) = &evidence.svg { (PreEscaped(svg)) }
            @if !evidence.csv.is_empty() { pre { (evidence.csv) } }
        }
    }
}

fn label(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Shown => "shown",
        Verdict::Contrary => "contrary",
        Verdict::NotSeen => "notseen",
    };
    html! { span class={ "verdict " (class) } { (verdict) } }
}

/// Counts by figure.
fn overview(parts: &[Part<'_>]) -> Markup {
    let verdicts = [Verdict::Shown, Verdict::Contrary, Verdict::NotSeen];
    let count = |kind, verdict| parts.iter().map(|part| part.count(kind, verdict)).sum::<usize>();
    html! {
        table {
            tr {
                th { "figure" }
                th { "source" }
                @for kind in CORES {
                    @for verdict in verdicts { th { (verdict) ", " (kind) } }
                }
            }
            @for part in parts {
                tr {
                    td { a href={ "#" (part.figure.name) } { (part.figure.name) } }
                    td { (part.figure.source) }
                    @for kind in 0..CORES.len() {
                        @for verdict in verdicts {
                            td.n { (cell(part.count(kind, verdict))) }
                        }
                    }
                }
            }
            tr {
                th { "all" }
                th {}
                @for kind in 0..CORES.len() {
                    @for verdict in verdicts { th { (count(kind, verdict)) } }
                }
            }
        }
    }
}

/// All pairs of engine and workload that were run on cores of both kinds.
fn all_predictions(parts: &[Part<'_>]) -> Vec<Prediction> {
    let of = |part: &Part<'_>| match part.kinds {
        [Some(real), Some(simulated)] if part.figure.source == prediction::BESIDE => {
            prediction::predictions(&part.figure.name, &real.csv, &simulated.csv)
        }
        _ => Vec::new(),
    };
    parts.iter().flat_map(of).collect()
}

fn predictions(parts: &[Part<'_>]) -> Markup {
    let pairs = all_predictions(parts);
    let near = pairs.iter().filter(|pair| pair.miss() <= MISS_MAX).count();
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    html! {
        h2 id="predictions" { "How far the virtual machine is to be believed" }
        @if pairs.is_empty() {
            p { "Its predictions were not held against real runs." }
        } @else {
            p {
                (near) " of " (pairs.len()) " pairs of engine and workload are predicted within "
                (percent(MISS_MAX)) " with every number of threads; " (PAIRS_MIN) " are wanted: "
                b { (if near >= PAIRS_MIN { "it passes" } else { "it fails" }) } "."
            }
            table {
                tr {
                    th { "workload" } th { "engine" } th { "threads" } th { "real" }
                    th { "real runs lie apart" } th { "virtual" } th { "virtual over real" }
                }
                @for pair in &pairs {
                    @for (x, real, said, apart) in &pair.points {
                        tr {
                            td { (pair.figure) } td { (pair.series) } td.n { (x) }
                            td.n { (grouped(real.round() as u64)) } td.n { (percent(*apart)) }
                            td.n { (grouped(said.round() as u64)) }
                            td.n { (format!("{:.2}", said / real)) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(count: usize) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}
