//! The page of evidence: all figures with their claims, verdicts from real and from virtual cores
//! side by side, plots and numbers, in one HTML file that needs no other.
//!
//! Role         writes what was kept; runs nothing and judges nothing

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document::{Record, Section};
use super::expect::{Claim, claims};
use super::prediction::{self, MISS_MAX, PAIRS_MIN, Prediction};
use super::verdict::Verdict;
use super::{Cores, Figure};
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
            let evidence = [real.get(&figure.name), simulated.get(&figure.name)];
            let records = evidence.map(|of| of.map(|of| &of.record));
            Ok(Part { section: Section { figure, claims: claims(figure)?, records }, evidence })
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
                @for part in &parts { (part.write()) }
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
    section: Section<'a>,
    /// by [`Cores`]
    evidence: [Option<&'a Evidence>; 2],
}

impl Part<'_> {
    fn write(&self) -> Markup {
        let Figure { name, source, title, claim, .. } = self.section.figure;
        html! {
            h2 id=(name) { (name) ": " (title) }
            p { small { (source) } }
            blockquote { (claim) }
            table {
                tr {
                    th { "claim" }
                    @for cores in Cores::ALL { th { (cores) } }
                }
                @for claim in &self.section.claims {
                    tr {
                        td { (claim.says) br; small { (claim) } }
                        @for cores in Cores::ALL { td { (self.verdict(cores, claim)) } }
                    }
                }
            }
            @for (cores, evidence) in Cores::ALL.into_iter().zip(self.evidence) {
                @if let Some(evidence) = evidence { (numbers(cores, evidence)) }
            }
        }
    }

    fn verdict(&self, cores: Cores, claim: &Claim) -> Markup {
        let Some(kept) = self.section.kept(cores, claim) else {
            let because = self.section.because(cores, claim).map_or("not run", String::as_str);
            return html! { (label(Verdict::NotSeen)) ": " (because) };
        };
        html! {
            (label(kept.verdict))
            @if kept.provisional { " (provisional)" }
            @if let Some(reason) = self.section.reason(cores, claim, kept) { ": " (reason) }
            @if let Some(measured) = &kept.measured { br; small { (measured) } }
        }
    }
}

fn numbers(cores: Cores, evidence: &Evidence) -> Markup {
    let Record { configuration, repeats, cores: count, commit, .. } = &evidence.record;
    html! {
        details {
            summary {
                "Plot and numbers, " (cores) ": " (count) " cores, " (repeats) " repeats, commit "
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
    let count =
        |cores, verdict| parts.iter().map(|part| part.section.count(cores, verdict)).sum::<usize>();
    html! {
        table {
            tr {
                th { "figure" }
                th { "source" }
                @for cores in Cores::ALL {
                    @for verdict in verdicts { th { (verdict) ", " (cores) } }
                }
            }
            @for part in parts {
                tr {
                    td { a href={ "#" (part.section.figure.name) } { (part.section.figure.name) } }
                    td { (part.section.figure.source) }
                    @for cores in Cores::ALL {
                        @for verdict in verdicts {
                            td.n { (cell(part.section.count(cores, verdict))) }
                        }
                    }
                }
            }
            tr {
                th { "all" }
                th {}
                @for cores in Cores::ALL {
                    @for verdict in verdicts { th { (count(cores, verdict)) } }
                }
            }
        }
    }
}

/// All pairs of engine and workload that were run on cores of both kinds.
fn all_predictions(parts: &[Part<'_>]) -> Vec<Prediction> {
    let of = |part: &Part<'_>| match (part.evidence, part.section.figure) {
        ([Some(real), Some(simulated)], figure) if figure.source == prediction::BESIDE => {
            prediction::predictions(&figure.name, &real.csv, &simulated.csv)
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
