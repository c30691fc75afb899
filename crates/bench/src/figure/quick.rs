//! What of a figure decides its claims on this machine.
//!
//! Role         for runs that shall be short: series, values of x and numbers of threads that no
//!              claim speaks of which can be decided here are left out. What is left out is told as
//!              not to be seen here, with the reason that it has anyway

use super::expect::{Check, Claim, Side};
use super::{Figure, Varying};

impl Claim {
    /// Whether a machine with so many cores can show it, or the contrary.
    pub(super) fn is_decidable(&self, cores: usize) -> bool {
        self.check.is_some() && self.obstacle(cores).is_none()
    }

    /// The series that it speaks of.
    pub(super) fn series(&self) -> Vec<&String> {
        match &self.check {
            None => Vec::new(),
            Some(Check::Order { ranks, .. }) => ranks.iter().flatten().collect(),
            Some(Check::Ratio { of, to, .. }) => of.series.iter().chain(&to.series).collect(),
            Some(
                Check::Value { series, .. }
                | Check::Flat { series, .. }
                | Check::Moves { series, .. }
                | Check::Knee { series, .. },
            ) => series.iter().collect(),
        }
    }

    /// The sides of a ratio.
    pub(super) fn sides(&self) -> Vec<&Side> {
        match &self.check {
            Some(Check::Ratio { of, to, .. }) => vec![of, to],
            _ => Vec::new(),
        }
    }
}

/// A figure with only what decides one of these claims on a machine with so many cores; none, if
/// there is nothing to run.
pub(super) fn part(figure: &Figure, claims: &[Claim], cores: usize) -> Option<Figure> {
    let has_threads = |claim: &&Claim| {
        let all = &claim.threads;
        all.is_empty() || all.iter().any(|threads| figure.threads.contains(threads))
    };
    let decidable = claims.iter().filter(|claim| claim.is_decidable(cores));
    let decidable: Vec<&Claim> = decidable.filter(has_threads).collect();
    if decidable.is_empty() {
        return None;
    }
    let mut part = figure.clone();
    if figure.experiment.is_some() {
        return Some(part); // it has its own series and values of x
    }
    let speaks_of = |label: &String| decidable.iter().any(|claim| claim.series().contains(&label));
    part.series.retain(|series| speaks_of(&series.label));
    // A side of a ratio that names its x needs no other, nor does the other side then.
    let needs_x = |claim: &Claim, x: &str| {
        let sides = claim.sides();
        let named = sides.iter().any(|side| side.x.as_deref() == Some(x));
        let all_named = !sides.is_empty() && sides.iter().all(|side| side.x.is_some());
        named || !all_named && (claim.at.is_empty() || claim.at.iter().any(|at| at == x))
    };
    if figure.x.by != Varying::Time {
        part.x.values.retain(|value| {
            let x = value.to_string();
            decidable.iter().any(|claim| needs_x(claim, &x))
        });
    }
    part.threads.retain(|threads| {
        decidable.iter().any(|claim| {
            let sides = claim.sides();
            let named = sides.iter().any(|side| side.threads == Some(*threads));
            let all_named = !sides.is_empty() && sides.iter().all(|side| side.threads.is_some());
            named || !all_named && (claim.threads.is_empty() || claim.threads.contains(threads))
        })
    });
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::super::{expect::claims, figure_named};
    use super::*;

    #[test]
    fn only_what_decides_something_here_is_run() {
        let figure = figure_named("lads-9").expect("it is listed");
        let all = claims(&figure).expect("they fit");
        // On two cores: Partitioned-store and LADS with one and with two threads.
        let part = part(&figure, &all, 2).expect("some can be decided");
        let series: Vec<_> = part.series.iter().map(|series| series.label.as_str()).collect();
        let values: Vec<_> = part.x.values.iter().map(ToString::to_string).collect();
        assert_eq!(
            (&series[..], &values[..]),
            (&["Partitioned-store", "LADS"][..], &["1", "2"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn where_nothing_can_be_decided_nothing_is_run() {
        let figure = figure_named("orthrus-9").expect("it is listed");
        let all = claims(&figure).expect("they fit");
        assert!(part(&figure, &all, 2).is_none(), "all need 10 cores and more");
        assert!(part(&figure, &all, 80).is_some());
    }
}
