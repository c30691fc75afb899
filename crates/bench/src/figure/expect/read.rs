//! Reading one entry of `expect`: which fields its kind has, and whether they fit the figure.
//!
//! Role         all refusals say what is wrong and what to do about it; who asked adds the figure
//!              and the number of the entry

use super::super::{Figure, Metric, Setting, Varying};
use super::{Bounds, Check, Claim, Expect, Knee, Names, Place, Scale, Side, Way, number};

pub(super) const KINDS: &str = "order, ratio, value, flat, falls, rises, knee";
/// A knee's series changes by this before it, unless the entry says otherwise.
const KNEE_FACTOR: f64 = 1.1;
/// And is so many times as steep.
const KNEE_STEEPER: f64 = 2.0;

/// Reads one entry.
pub(super) struct Reader<'a> {
    pub(super) figure: &'a Figure,
    pub(super) expect: &'a Expect,
}

impl Reader<'_> {
    /// The claim, if it fits the figure; else what to do.
    pub(super) fn claim(&self, entry: &str) -> Result<Claim, String> {
        let expect = self.expect;
        if expect.says.trim().is_empty() {
            return Err("`says` is missing; quote the claim in a few words".to_owned());
        }
        if let Some(name) = expect.unknown.keys().next() {
            return Err(format!("`{name}` is no field of an entry; remove it"));
        }
        let check = match expect.kind.as_deref() {
            Some(kind) => Some(self.check(kind)?),
            None if expect.because.is_some() => None,
            None => {
                let what = "or say with `because` why it is not to be seen here";
                return Err(format!("`kind` is missing; write one of {KINDS}, {what}"));
            }
        };
        for cores in [expect.needs_cores, expect.at_most_cores] {
            if cores == Some(0) {
                return Err("a number of cores is 0; write 1 or more".to_owned());
            }
        }
        let needs_cores = expect.needs_cores.unwrap_or(1);
        if expect.at_most_cores.is_some_and(|most| most < needs_cores) {
            return Err("`at_most_cores` is less than `needs_cores`; no machine has both".into());
        }
        Ok(Claim {
            says: expect.says.clone(),
            entry: entry.to_owned(),
            because: expect.because.clone(),
            why: expect.why.clone(),
            why_at_scale: expect.why_at_scale.clone(),
            needs_cores,
            at_most_cores: expect.at_most_cores,
            threads: self.threads()?,
            at: self.xs(&expect.at)?,
            metrics: self.metrics()?,
            check,
        })
    }

    fn check(&self, kind: &str) -> Result<Check, String> {
        let expect = self.expect;
        match kind {
            "order" => {
                self.only(kind, &["series", "tolerance"])?;
                let ranks: Vec<_> = expect.series.iter().map(Names::list).collect();
                if ranks.len() < 2 || ranks.iter().any(Vec::is_empty) {
                    return Err("an order needs two series or more in `series`".to_owned());
                }
                let all: Vec<_> = ranks.concat();
                self.series_exist(&all)?;
                if let Some(name) = all.iter().enumerate().find(|(at, n)| all[..*at].contains(n)) {
                    return Err(format!("series \"{}\" stands twice in the order", name.1));
                }
                Ok(Check::Order { ranks, tolerance: self.tolerance()?.unwrap_or(0.0) })
            }
            "ratio" => {
                self.only(kind, &["of", "to", "tolerance", "at_least", "at_most", "near"])?;
                self.ratio()
            }
            "value" => {
                self.only(kind, &["series", "tolerance", "at_least", "at_most", "near"])?;
                Ok(Check::Value { series: self.series()?, bounds: self.bounds()? })
            }
            "flat" => {
                self.only(kind, &["series", "tolerance"])?;
                self.at_has_two("flat")?;
                let missing = || "`tolerance` is missing; write how much may differ".to_owned();
                let tolerance = self.tolerance()?.ok_or_else(missing)?;
                Ok(Check::Flat { series: self.series()?, tolerance })
            }
            "falls" | "rises" => {
                self.only(kind, &["series", "factor", "monotone_within"])?;
                self.at_has_two(kind)?;
                let way = if kind == "falls" { Way::Falls } else { Way::Rises };
                let factor = self.factor("factor", expect.factor)?.unwrap_or(1.0);
                let monotone_within = share("monotone_within", expect.monotone_within)?;
                Ok(Check::Moves { series: self.series()?, way, factor, monotone_within })
            }
            "knee" => {
                let fields = ["series", "between", "before", "factor", "steeper", "scale"];
                self.only(kind, &fields)?;
                Ok(Check::Knee { series: self.series()?, knee: self.knee()? })
            }
            other => Err(format!("there is no kind \"{other}\"; write one of {KINDS}")),
        }
    }

    /// Refuses fields that the kind does not have.
    fn only(&self, kind: &str, has: &[&str]) -> Result<(), String> {
        let expect = self.expect;
        let written = [
            ("series", !expect.series.is_empty()),
            ("of", expect.of.is_some()),
            ("to", expect.to.is_some()),
            ("tolerance", expect.tolerance.is_some()),
            ("at_least", expect.at_least.is_some()),
            ("at_most", expect.at_most.is_some()),
            ("near", expect.near.is_some()),
            ("factor", expect.factor.is_some()),
            ("monotone_within", expect.monotone_within.is_some()),
            ("between", !expect.between.is_empty()),
            ("before", expect.before.is_some()),
            ("steeper", expect.steeper.is_some()),
            ("scale", expect.scale.is_some()),
        ];
        match written.iter().find(|(name, is_there)| *is_there && !has.contains(name)) {
            Some((name, _)) => {
                let has = has.join(", ");
                Err(format!("kind \"{kind}\" has no `{name}`; remove it (it has: {has})"))
            }
            None => Ok(()),
        }
    }

    fn series(&self) -> Result<Vec<String>, String> {
        let series: Vec<_> = self.expect.series.iter().flat_map(Names::list).collect();
        if series.is_empty() {
            return Err("`series` is missing; list the labels that the claim is about".to_owned());
        }
        self.series_exist(&series)?;
        Ok(series)
    }

    fn series_exist(&self, labels: &[String]) -> Result<(), String> {
        if self.figure.experiment.is_some() {
            return Ok(());
        }
        let known: Vec<_> = self.figure.series.iter().map(|series| series.label.as_str()).collect();
        match labels.iter().find(|label| !known.contains(&label.as_str())) {
            Some(label) => {
                let known = known.join("\", \"");
                Err(format!("there is no series \"{label}\"; the figure has \"{known}\""))
            }
            None => Ok(()),
        }
    }

    fn xs(&self, values: &[Setting]) -> Result<Vec<String>, String> {
        values.iter().map(|x| self.x(x)).collect()
    }

    fn x(&self, x: &Setting) -> Result<String, String> {
        let figure = self.figure;
        let needs_cores = self.expect.needs_cores.unwrap_or(1) as u64;
        let can_be_given = figure.x.by == Varying::Threads
            && matches!(x, Setting::Integer(threads) if (1..=needs_cores).contains(threads));
        let text = x.to_string();
        let mut values = figure.x.values.iter().chain(&figure.at_scale.x);
        let is_there = values.any(|value| value.to_string() == text);
        if figure.experiment.is_some() || is_there || can_be_given {
            return Ok(text);
        }
        let known: Vec<_> = figure.x.values.iter().map(Setting::to_string).collect();
        Err(format!("x is never {text}; its values are {}", known.join(", ")))
    }

    fn threads(&self) -> Result<Vec<usize>, String> {
        for &threads in &self.expect.threads {
            self.thread_count(threads)?;
        }
        Ok(self.expect.threads.clone())
    }

    fn thread_count(&self, threads: usize) -> Result<(), String> {
        if self.figure.x.by == Varying::Threads {
            return Err("x is the number of threads; name it in `at` or as `x`".to_owned());
        }
        let can_be_given = (1..=self.expect.needs_cores.unwrap_or(1)).contains(&threads)
            || self.figure.at_scale.threads.contains(&threads);
        if self.figure.threads.contains(&threads) || can_be_given {
            return Ok(());
        }
        let known: Vec<_> = self.figure.threads.iter().map(usize::to_string).collect();
        let known = known.join(", ");
        Err(format!(
            "the figure is not run with {threads} threads, but with {known}; name one of these, \
             or let `needs_cores` be {threads} or more"
        ))
    }

    fn metrics(&self) -> Result<Vec<Metric>, String> {
        let shown = &self.figure.show;
        let first = self.expect.metric.or(shown.first().copied());
        let metrics: Vec<_> = first.into_iter().chain(self.expect.plus.clone()).collect();
        match metrics.iter().find(|metric| !shown.contains(metric)) {
            Some(metric) => {
                let name = metric.name();
                Err(format!("the figure does not show \"{name}\"; add it to its `show`"))
            }
            None => Ok(metrics),
        }
    }

    fn tolerance(&self) -> Result<Option<f64>, String> {
        share("tolerance", self.expect.tolerance)
    }

    fn factor(&self, name: &str, value: Option<f64>) -> Result<Option<f64>, String> {
        match value {
            Some(value) if !value.is_finite() || value < 1.0 => {
                Err(format!("`{name}` is {value}; write a number from 1 on"))
            }
            other => Ok(other),
        }
    }

    fn bounds(&self) -> Result<Bounds, String> {
        let Expect { at_least, at_most, near, .. } = *self.expect;
        for (name, bound) in [("at_least", at_least), ("at_most", at_most), ("near", near)] {
            if bound.is_some_and(|bound| !bound.is_finite() || bound < 0.0) {
                return Err(format!("`{name}` is no number from 0 on"));
            }
        }
        match (near, self.tolerance()?, at_least, at_most) {
            (Some(near), Some(tolerance), None, None) => Ok(Bounds {
                least: Some(near * (1.0 - tolerance)),
                most: Some(near * (1.0 + tolerance)),
            }),
            (Some(_), None, None, None) => {
                Err("`near` needs a `tolerance`; write it as a share, such as 0.2".to_owned())
            }
            (Some(_), ..) => Err("`near` excludes `at_least` and `at_most`; remove one".to_owned()),
            (None, Some(_), ..) => {
                Err("`tolerance` belongs to `near`; move the bound instead".to_owned())
            }
            (None, None, None, None) => {
                Err("both bounds are missing; write `at_least`, `at_most` or `near`".to_owned())
            }
            (None, None, Some(least), Some(most)) if least > most => {
                Err(format!("`at_least` {least} is above `at_most` {most}; exchange them"))
            }
            (None, None, least, most) => Ok(Bounds { least, most }),
        }
    }

    fn ratio(&self) -> Result<Check, String> {
        let (Some(of), Some(to)) = (&self.expect.of, &self.expect.to) else {
            return Err("a ratio needs `of` and `to`, as in `of = { series = \"A\" }`".to_owned());
        };
        let (of, to) = (self.side("of", of)?, self.side("to", to)?);
        if of.series.is_empty() {
            return Err("`of` has no `series`; write whose ratio it is".to_owned());
        }
        if of.x.is_some() && to.x.is_some() && !self.expect.at.is_empty() {
            return Err("`of` and `to` have an `x`; remove `at`".to_owned());
        }
        if of.threads.is_some() && to.threads.is_some() && !self.expect.threads.is_empty() {
            return Err("`of` and `to` have `threads`; remove those of the entry".to_owned());
        }
        let is_same = to.series.is_empty() || of.series.iter().any(|name| to.series.contains(name));
        if is_same && (&of.x, of.threads) == (&to.x, to.threads) {
            return Err("`of` and `to` are the same place; change series, x or threads".to_owned());
        }
        Ok(Check::Ratio { of, to, bounds: self.bounds()? })
    }

    fn side(&self, name: &str, place: &Place) -> Result<Side, String> {
        let series = place.series.as_ref().map(Names::list).unwrap_or_default();
        self.series_exist(&series)?;
        let x = place.x.as_ref().map(|x| self.x(x)).transpose()?;
        place.threads.map_or(Ok(()), |threads| {
            self.thread_count(threads).map_err(|what| format!("`{name}`: {what}"))
        })?;
        Ok(Side { series, x, threads: place.threads })
    }

    fn at_has_two(&self, kind: &str) -> Result<(), String> {
        match self.expect.at.len() {
            1 => Err(format!("kind \"{kind}\" needs two values of x or more in `at`, or no `at`")),
            _ => Ok(()),
        }
    }

    fn knee(&self) -> Result<Knee, String> {
        let expect = self.expect;
        let [left, right] = &expect.between[..] else {
            return Err("`between` is missing; write the two values of x beside the knee".into());
        };
        let (left, right) = (number(&self.x(left)?)?, number(&self.x(right)?)?);
        if left >= right {
            return Err(format!("`between` {left} and {right} are not ascending; exchange them"));
        }
        let scale = expect.scale.unwrap_or_default();
        let values = if expect.at.is_empty() { &self.figure.x.values } else { &expect.at };
        if self.figure.experiment.is_none() {
            let xs =
                values.iter().map(|x| number(&x.to_string())).collect::<Result<Vec<_>, _>>()?;
            let before = xs.iter().filter(|&&x| x <= left).count();
            let behind = xs.iter().filter(|&&x| x >= right).count();
            if before < 2 || behind < 2 {
                let found = format!("there are {before} before and {behind} behind it");
                return Err(format!("a knee needs two values of x on each side; {found}"));
            }
            if scale == Scale::Log && xs.iter().any(|&x| x <= 0.0) {
                return Err("scale \"log\" needs values of x above 0; use \"linear\"".to_owned());
            }
        }
        Ok(Knee {
            left,
            right,
            before: expect.before.unwrap_or(Way::Rises),
            factor: self.factor("factor", expect.factor)?.unwrap_or(KNEE_FACTOR),
            steeper: self.factor("steeper", expect.steeper)?.unwrap_or(KNEE_STEEPER),
            scale,
        })
    }
}

/// A share from 0 to below 1.
fn share(name: &str, value: Option<f64>) -> Result<Option<f64>, String> {
    match value {
        Some(value) if !(0.0..1.0).contains(&value) => {
            Err(format!("`{name}` is {value}; write a share from 0 to below 1, such as 0.1"))
        }
        other => Ok(other),
    }
}
