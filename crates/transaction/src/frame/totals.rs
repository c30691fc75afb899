//! What running aggregates keep from row to row.
//!
//! Role         a call's, in its frame; [`crate::interpret`] computes with it

use hotrow_base::any_numeric::AnyNumeric;
use hotrow_base::datum::Datum;

use crate::interpret::exact::ExactSum;

/// The state of one aggregate, reused from call to call.
#[derive(Clone, Debug)]
pub struct Totals {
    pub(crate) count: u64,
    /// modulo 2^128
    pub(crate) sum: i128,
    /// how often `sum` wrapped, with the sign
    pub(crate) wraps: i64,
    /// of numerics of any number of digits
    pub(crate) number: AnyNumeric,
    /// of floats, from the first one on: it is large, and there are totals for each group
    pub(crate) floats: Option<Box<ExactSum>>,
    /// months, days and microseconds of intervals
    pub(crate) spans: [i128; 3],
    pub(crate) best: Datum,
    pub(crate) best_bytes: Vec<u8>,
    /// every value, for DISTINCT
    pub(crate) values: Vec<Datum>,
    /// their numbers, sorted
    pub(crate) order: Vec<u32>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            wraps: 0,
            number: AnyNumeric::ZERO,
            floats: None,
            spans: [0; 3],
            best: Datum::NULL,
            best_bytes: Vec::new(),
            values: Vec::new(),
            order: Vec::new(),
        }
    }
}

impl Totals {
    /// Takes back all rows; memory is kept.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.sum = 0;
        self.wraps = 0;
        self.number = AnyNumeric::ZERO;
        if let Some(floats) = &mut self.floats {
            floats.clear();
        }
        self.spans = [0; 3];
        self.best = Datum::NULL;
        self.values.clear();
    }

    /// Values that have been kept, to find those that differ.
    pub(crate) fn kept(&self) -> usize {
        self.values.len()
    }

    /// Frees what the next call does not need.
    pub(crate) fn shrink(&mut self, shrink: impl FnOnce(&mut Vec<Datum>)) {
        shrink(&mut self.values);
        self.order = Vec::new();
    }
}
