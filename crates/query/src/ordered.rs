//! Aggregates WITHIN GROUP: of values in order, and of where a row would stand among others.
//!
//! Source       PostgreSQL's documentation, sections "Ordered-Set Aggregate Functions" and
//!              "Hypothetical-Set Aggregate Functions"

use std::cmp::Ordering;

use hotrow_base::interrupt::current;
use hotrow_base::temporal::Interval;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::compare_rows;
use crate::memory::bytes_of_value;
use crate::order::compare;
use crate::plan::SortKey;

/// What an aggregate WITHIN GROUP computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderedSet {
    /// percentile_cont: between two values where it falls between them
    Continuous,
    /// percentile_disc: the first value at or behind it
    Discrete,
    /// mode: the value that is there most often
    Mode,
    /// rank: of a row that may be there
    Rank,
    /// dense_rank: of such a row, without gaps
    DenseRank,
    /// percent_rank: from 0 to 1
    PercentRank,
    /// cume_dist: the share of rows up to it
    CumeDist,
}

impl OrderedSet {
    /// Whether it tells where a row would stand.
    pub fn is_hypothetical(self) -> bool {
        !matches!(self, Self::Continuous | Self::Discrete | Self::Mode)
    }
}

/// One of them, while rows are added to it in their order.
pub(crate) struct Ordered {
    function: OrderedSet,
    /// none: no row has come
    direct: Option<Vec<Value>>,
    /// unless it is hypothetical
    values: Vec<Value>,
    /// rows, and how many of them stand before, and with, the one that may be there
    rows: u64,
    before: u64,
    beside: u64,
    /// different ones that stand before it, and the last of them
    distinct: u64,
    last: Vec<Value>,
}

impl Ordered {
    pub(crate) fn new(function: OrderedSet) -> Self {
        let (values, last) = (Vec::new(), Vec::new());
        Self { function, direct: None, values, rows: 0, before: 0, beside: 0, distinct: 0, last }
    }

    /// Adds a row: the aggregated value, and the values that order it; how many bytes are kept.
    pub(crate) fn add<'v>(
        &mut self,
        value: &Value,
        order: impl Iterator<Item = (&'v Value, SortKey)>,
        direct: impl Iterator<Item = &'v Value>,
    ) -> usize {
        let direct = self.direct.get_or_insert_with(|| direct.cloned().collect());
        if !self.function.is_hypothetical() {
            if value.is_null() {
                return 0;
            }
            self.values.push(value.clone());
            return bytes_of_value(value);
        }
        let (keys, places): (Vec<Value>, Vec<_>) =
            order.enumerate().map(|(at, (value, key))| (value.clone(), (at, key))).unzip();
        self.rows += 1;
        match compare_rows(&keys, direct, &places) {
            Ordering::Less => {
                self.before += 1;
                if self.distinct == 0 || compare_rows(&keys, &self.last, &places).is_ne() {
                    self.distinct += 1;
                    self.last = keys;
                }
            }
            Ordering::Equal => self.beside += 1,
            Ordering::Greater => {}
        }
        0
    }

    /// The value of all rows.
    pub(crate) fn result(&self) -> Result<Value, SqlError> {
        let (rows, before) = (self.rows as f64, self.before as f64);
        Ok(match self.function {
            OrderedSet::Mode => self.mode(),
            OrderedSet::Rank => Value::BigInt(self.before as i64 + 1),
            OrderedSet::DenseRank => Value::BigInt(self.distinct as i64 + 1),
            OrderedSet::PercentRank if self.rows == 0 => Value::Double(0.0),
            OrderedSet::PercentRank => Value::Double(before / rows),
            OrderedSet::CumeDist => {
                Value::Double((before + self.beside as f64 + 1.0) / (rows + 1.0))
            }
            OrderedSet::Continuous | OrderedSet::Discrete => {
                match self.direct.as_ref().and_then(|direct| direct.first()) {
                    None | Some(Value::Null) => Value::Null,
                    Some(Value::Array(shares)) => {
                        let mut charge = current::charge();
                        charge.add(shares.len() * size_of::<Value>())?;
                        let each = shares.iter().map(|share| self.percentile(share));
                        let each = each.collect::<Result<Vec<_>, _>>()?;
                        if self.values.is_empty() { Value::Null } else { Value::Array(each) }
                    }
                    Some(share) => self.percentile(share)?,
                }
            }
        })
    }

    /// The value that this share of values is not greater than.
    fn percentile(&self, share: &Value) -> Result<Value, SqlError> {
        let Value::Double(share) = share else { return Ok(Value::Null) };
        if !(0.0..=1.0).contains(share) {
            let message = format!("percentile value {share} is not between 0 and 1");
            return Err(SqlError::new(b"22003", message));
        }
        let Some(last) = self.values.len().checked_sub(1) else { return Ok(Value::Null) };
        let at = |at: f64| &self.values[(at as usize).min(last)];
        if self.function == OrderedSet::Discrete {
            let number = (share * self.values.len() as f64).ceil();
            return Ok(at((number - 1.0).max(0.0)).clone());
        }
        let between = share * last as f64;
        let (low, high) = (at(between.floor()), at(between.ceil()));
        if between.floor() >= between.ceil() {
            return Ok(low.clone());
        }
        let part = between - between.floor();
        match (low, high) {
            (Value::Double(low), Value::Double(high)) => {
                Ok(Value::Double(low + part * (high - low)))
            }
            (Value::Interval(low), Value::Interval(high)) => {
                let sum = interval_between(*low, *high, part);
                let out_of_range = || SqlError::new(b"22008", "interval out of range");
                Ok(Value::Interval(sum.ok_or_else(out_of_range)?))
            }
            _ => Ok(low.clone()),
        }
    }

    /// The value that is there most often, the first of those.
    fn mode(&self) -> Value {
        let mut found: Option<(&Value, usize)> = None;
        for run in self.values.chunk_by(|one, other| compare(one, other).is_eq()) {
            if found.is_none_or(|(_, length)| run.len() > length) {
                found = run.first().map(|first| (first, run.len()));
            }
        }
        found.map_or(Value::Null, |(value, _)| value.clone())
    }
}

fn interval_between(low: Interval, high: Interval, part: f64) -> Option<Interval> {
    high.plus(low.negated()?)?.times(part)?.plus(low)
}
