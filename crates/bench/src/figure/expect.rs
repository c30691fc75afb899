//! What a paper claims of a figure, in a form that can be checked.
//!
//! Role         reads the `expect` entries of the table of figures and refuses what does not fit
//!              the figure; knows nothing of what was measured
//! Invariants   I1 a [`Claim`] names only series, values of x, numbers of threads and metrics that
//!              its figure has. Two exceptions, which show when the figure is run: what an
//!              experiment calls its series, and numbers of threads that the figure can be given
//!              with `--threads` on a machine with as many cores as the claim needs

mod read;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

use self::read::Reader;
use super::{Cores, Figure, Metric, Setting};
use crate::error::BenchError;

/// An entry of `expect` as it is written; which fields it may have depends on its kind.
#[derive(Clone, Default, Debug, Deserialize)]
pub struct Expect {
    /// the claim, in a few words of the paper
    #[serde(default)]
    pub says: String,
    /// how it is checked: order, ratio, value, flat, falls, rises or knee
    pub kind: Option<String>,
    /// what is read off each run; none: the first that the figure shows
    pub metric: Option<Metric>,
    /// what is added to that
    #[serde(default)]
    pub plus: Vec<Metric>,
    /// the series; of an order, from the highest to the lowest
    #[serde(default)]
    pub series: Vec<Names>,
    /// a ratio's numerator
    pub of: Option<Place>,
    /// its denominator
    pub to: Option<Place>,
    /// the values of x that it holds for, in this order; none: all
    #[serde(default)]
    pub at: Vec<Setting>,
    /// the numbers of threads that it holds for; none: all
    #[serde(default)]
    pub threads: Vec<usize>,
    /// with fewer cores it cannot show
    pub needs_cores: Option<usize>,
    /// with more cores it cannot show
    pub at_most_cores: Option<usize>,
    /// why it cannot show here at all
    pub because: Option<String>,
    /// why it is otherwise here, where it is contrary
    pub why: Option<String>,
    /// and why it is so on virtual cores
    pub why_at_scale: Option<String>,
    /// how much may be missing, as a share
    pub tolerance: Option<f64>,
    /// the least that a ratio or value may be
    pub at_least: Option<f64>,
    /// the most that it may be
    pub at_most: Option<f64>,
    /// what it is, give or take the tolerance
    pub near: Option<f64>,
    /// how many times as much the first is as the last, or the last as the first
    pub factor: Option<f64>,
    /// how far a step may go the wrong way, as a share
    pub monotone_within: Option<f64>,
    /// values of x: the knee lies between them
    #[serde(default)]
    pub between: Vec<Setting>,
    /// what the series does before the knee
    pub before: Option<Way>,
    /// how many times as steep it is before the knee
    pub steeper: Option<f64>,
    /// how distances of x are measured
    pub scale: Option<Scale>,
    /// what no kind has
    #[serde(flatten)]
    pub unknown: BTreeMap<String, IgnoredAny>,
}

/// One series or several of one rank.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// one
    One(String),
    /// several, not compared with each other
    Several(Vec<String>),
}

impl Names {
    fn list(&self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name.clone()],
            Self::Several(names) => names.clone(),
        }
    }
}

/// One side of a ratio.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// the series; none, of the denominator: the numerator's
    pub series: Option<Names>,
    /// its x; none: each of `at`
    pub x: Option<Setting>,
    /// its number of threads; none: each of `threads`
    pub threads: Option<usize>,
}

/// Up or down, from left to right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// up
    Rises,
    /// down
    Falls,
}

/// How distances of x are measured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// by differences
    #[default]
    Linear,
    /// by factors
    Log,
}

/// A claim that fits its figure.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Claim {
    pub(super) says: String,
    /// the figure's name and the number of the entry, for messages
    pub(super) entry: String,
    pub(super) because: Option<String>,
    pub(super) why: Option<String>,
    pub(super) why_at_scale: Option<String>,
    pub(super) needs_cores: usize,
    pub(super) at_most_cores: Option<usize>,
    /// empty: all
    pub(super) threads: Vec<usize>,
    /// empty: all
    pub(super) at: Vec<String>,
    /// what is measured is their sum
    pub(super) metrics: Vec<Metric>,
    /// none: it can only be declared not to be seen
    pub(super) check: Option<Check>,
}

/// What is checked.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Check {
    /// each rank is above the next one
    Order {
        ranks: Vec<Vec<String>>,
        tolerance: f64,
    },
    Ratio {
        of: Side,
        to: Side,
        bounds: Bounds,
    },
    Value {
        series: Vec<String>,
        bounds: Bounds,
    },
    Flat {
        series: Vec<String>,
        tolerance: f64,
    },
    Moves {
        series: Vec<String>,
        way: Way,
        factor: f64,
        monotone_within: Option<f64>,
    },
    Knee {
        series: Vec<String>,
        knee: Knee,
    },
}

/// One side of a ratio; what is empty or none comes from the claim.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Side {
    pub(super) series: Vec<String>,
    pub(super) x: Option<String>,
    pub(super) threads: Option<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Knee {
    /// values of x up to here are before it
    pub(super) left: f64,
    /// values of x from here on are behind it
    pub(super) right: f64,
    pub(super) before: Way,
    /// what the way before it changes the series by, at least
    pub(super) factor: f64,
    pub(super) steeper: f64,
    pub(super) scale: Scale,
}

/// What a number may be.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Bounds {
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

impl Bounds {
    pub(super) fn at_least(least: f64) -> Self {
        Self { least: Some(least), most: None }
    }

    pub(super) fn at_most(most: f64) -> Self {
        Self { least: None, most: Some(most) }
    }

    /// Whether a number lies inside; what is no number does not.
    pub(super) fn holds(self, value: f64) -> bool {
        !value.is_nan()
            && self.least.is_none_or(|least| value >= least)
            && self.most.is_none_or(|most| value <= most)
    }

    /// How far inside a number is, as a share of the bound if that is not 0; below 0: outside.
    pub(super) fn room(self, value: f64) -> f64 {
        let share = |room: f64, bound: f64| room / if bound == 0.0 { 1.0 } else { bound.abs() };
        let below = self.least.map(|least| share(value - least, least));
        let above = self.most.map(|most| share(most - value, most));
        below.into_iter().chain(above).fold(f64::INFINITY, f64::min)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (Some(least), Some(most)) if least == most => f.write_str(&trimmed(least, 3)),
            (Some(least), Some(most)) => {
                write!(f, "{} to {}", trimmed(least, 3), trimmed(most, 3))
            }
            (Some(least), None) => write!(f, "at least {}", trimmed(least, 3)),
            (None, Some(most)) => write!(f, "at most {}", trimmed(most, 3)),
            (None, None) => f.write_str("anything"),
        }
    }
}

/// A number with as many digits as say something.
pub(super) fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 || value == value.trunc() => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    trimmed(value, digits)
}

/// A number with at most so many digits behind the point.
fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The claims of a figure, each of which fits it.
///
/// # Errors
///
/// [`BenchError::Selection`], with the figure, the number of the entry and what to do.
pub(super) fn claims(figure: &Figure) -> Result<Vec<Claim>, BenchError> {
    let of = |(at, expect): (usize, &Expect)| {
        let entry = format!("figure {}, expect entry {}", figure.name, at + 1);
        Reader { figure, expect }
            .claim(&entry)
            .map_err(|what| BenchError::Selection(format!("{entry} (\"{}\"): {what}", expect.says)))
    };
    figure.expect.iter().enumerate().map(of).collect()
}

/// A value of x as a number.
pub(super) fn number(x: &str) -> Result<f64, String> {
    x.parse().map_err(|_| format!("x is {x} somewhere; a knee needs numbers"))
}

impl Claim {
    /// Why it is contrary on such cores, where that is known.
    pub(super) fn why_on(&self, cores: Cores) -> Option<&String> {
        match cores {
            Cores::Real => self.why.as_ref(),
            Cores::Virtual => self.why_at_scale.as_ref(),
        }
    }
}

/// The check in words, as documents and tables have it.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(check) = &self.check else { return f.write_str("not checked") };
        let metrics: Vec<_> = self.metrics.iter().map(|metric| metric.name().to_string()).collect();
        write!(f, "{}: {check}", metrics.join(" + "))?;
        if !self.at.is_empty() {
            write!(f, "; at {}", self.at.join(", "))?;
        }
        if !self.threads.is_empty() {
            let threads: Vec<_> = self.threads.iter().map(usize::to_string).collect();
            write!(f, "; {} threads", threads.join(", "))?;
        }
        if self.needs_cores > 1 {
            write!(f, "; from {} cores on", self.needs_cores)?;
        }
        match self.at_most_cores {
            Some(1) => f.write_str("; up to 1 core"),
            Some(most) => write!(f, "; up to {most} cores"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order { ranks, tolerance } => {
                let ranks: Vec<_> = ranks.iter().map(|rank| rank.join(", ")).collect();
                f.write_str(&ranks.join(" > "))?;
                if *tolerance > 0.0 {
                    write!(f, " (less {})", percent(*tolerance))?;
                }
                Ok(())
            }
            Self::Ratio { of, to, bounds } => write!(f, "{of} / {to}: {bounds}"),
            Self::Value { series, bounds } => write!(f, "{}: {bounds}", series.join(", ")),
            Self::Flat { series, tolerance } => {
                write!(f, "{} flat within {}", series.join(", "), percent(*tolerance))
            }
            Self::Moves { series, way, factor, monotone_within } => {
                let verb = if *way == Way::Falls { "falls" } else { "rises" };
                write!(f, "{} {verb}", series.join(", "))?;
                if *factor > 1.0 {
                    write!(f, " {} times", short(*factor))?;
                }
                match monotone_within {
                    Some(share) => write!(f, ", no step back by more than {}", percent(*share)),
                    None => Ok(()),
                }
            }
            Self::Knee { series, knee } => {
                let verb = if knee.before == Way::Falls { "falls" } else { "rises" };
                let (left, right) = (short(knee.left), short(knee.right));
                let names = series.join(", ");
                write!(f, "{names} {verb} up to a knee between {left} and {right}")
            }
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.series.is_empty() { "itself" } else { "" })?;
        f.write_str(&self.series.join(", "))?;
        if let Some(x) = &self.x {
            write!(f, " at {x}")?;
        }
        match self.threads {
            Some(threads) => write!(f, " with {}", crate::driver::threads_text(threads)),
            None => Ok(()),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

#[cfg(test)]
mod tests;
