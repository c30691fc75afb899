//! Running aggregates: count, sum, min, max, avg.

use hotrow_base::datum::Datum;
use hotrow_base::decimal;
use hotrow_base::types::DataType;

use super::Fault;
use super::order::compare_nulls_equal;
use super::pure::{compare, numeric};
use crate::bytecode::{AggregateCode, AggregateKind, CompareKind};
use crate::frame::Machine;
use crate::program::AggregateFunction;

/// The state of one aggregate, reused from call to call.
#[derive(Clone, Debug)]
pub struct Totals {
    count: u64,
    sum: i128,
    float: f64,
    best: Datum,
    best_bytes: Vec<u8>,
    /// every value, for DISTINCT
    values: Vec<Datum>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            float: 0.0,
            best: Datum::NULL,
            best_bytes: Vec::new(),
            values: Vec::new(),
        }
    }
}

const fn compare_kind(kind: AggregateKind) -> CompareKind {
    match kind {
        AggregateKind::Int => CompareKind::Int,
        AggregateKind::Numeric { .. } => CompareKind::Numeric,
        AggregateKind::Float => CompareKind::Float,
        AggregateKind::Bytes => CompareKind::Bytes,
    }
}

impl Totals {
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.sum = 0;
        self.float = 0.0;
        self.best = Datum::NULL;
        self.values.clear();
    }

    /// Takes one row. True: the bytes of its argument must be kept.
    #[inline]
    pub(super) fn add(&mut self, code: &AggregateCode, machine: &Machine) -> Result<bool, Fault> {
        let Some(slot) = code.argument else {
            self.count += 1;
            return Ok(false);
        };
        let value = machine.slots[slot];
        if value.is_null() {
            return Ok(false);
        }
        if code.distinct
            && !matches!(code.function, AggregateFunction::Min | AggregateFunction::Max)
        {
            self.values.push(value);
            return Ok(code.kind == AggregateKind::Bytes);
        }
        self.add_value(code, value, machine)?;
        Ok(false)
    }

    fn add_value(
        &mut self,
        code: &AggregateCode,
        value: Datum,
        machine: &Machine,
    ) -> Result<(), Fault> {
        self.count += 1;
        match code.function {
            AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Avg => match code.kind {
                AggregateKind::Float => self.float += value.as_float(),
                AggregateKind::Numeric { .. } => self.sum += value.as_numeric(),
                _ => self.sum += i128::from(value.as_int()),
            },
            AggregateFunction::Min | AggregateFunction::Max => self.choose(code, value, machine),
        }
        // Each addend is below 10^38 < 2^127, so a sum in range plus an addend cannot wrap.
        if numeric(self.sum).is_none() {
            return Err(Fault::NumericRange);
        }
        Ok(())
    }

    fn choose(&mut self, code: &AggregateCode, value: Datum, machine: &Machine) {
        let ordering = match (self.best.is_null(), code.kind) {
            (true, _) => None,
            (false, AggregateKind::Bytes) => Some(machine.bytes(value).cmp(&self.best_bytes)),
            (false, kind) => Some(compare(compare_kind(kind), value, self.best, &[])),
        };
        let is_better = match code.function {
            AggregateFunction::Min => ordering.is_none_or(|ordering| ordering.is_lt()),
            _ => ordering.is_none_or(|ordering| ordering.is_gt()),
        };
        if is_better {
            self.best = value;
            if code.kind == AggregateKind::Bytes {
                self.best_bytes.clear();
                self.best_bytes.extend_from_slice(machine.bytes(value));
            }
        }
    }

    /// The aggregate's value.
    pub(super) fn result(
        &mut self,
        code: &AggregateCode,
        machine: &mut Machine,
    ) -> Result<Datum, Fault> {
        if !self.values.is_empty() {
            self.add_distinct(code, machine)?;
        }
        match code.function {
            AggregateFunction::Count => Ok(Datum::int(self.count as i64)),
            _ if self.count == 0 => Ok(Datum::NULL),
            AggregateFunction::Sum => self.sum(code),
            AggregateFunction::Avg => self.average(code),
            AggregateFunction::Min | AggregateFunction::Max => match code.kind {
                AggregateKind::Bytes => Ok(machine.keep(&self.best_bytes)),
                _ => Ok(self.best),
            },
        }
    }

    fn add_distinct(&mut self, code: &AggregateCode, machine: &Machine) -> Result<(), Fault> {
        let mut values = std::mem::take(&mut self.values);
        let kind = compare_kind(code.kind);
        let order = |a: &Datum, b: &Datum| compare_nulls_equal(kind, *a, *b, &machine.heap);
        values.sort_unstable_by(order);
        values.dedup_by(|a, b| order(a, b).is_eq());
        let added = values.iter().try_for_each(|&value| self.add_value(code, value, machine));
        self.values = values;
        added
    }

    fn sum(&self, code: &AggregateCode) -> Result<Datum, Fault> {
        match (code.kind, code.result_type) {
            (AggregateKind::Float, DataType::Real) => {
                Ok(Datum::float(f64::from(self.float as f32)))
            }
            (AggregateKind::Float, _) => Ok(Datum::float(self.float)),
            (kind, DataType::Numeric { scale, .. }) => {
                decimal::rescale(self.sum, scale_of(kind), scale)
                    .map(Datum::numeric)
                    .ok_or(Fault::NumericRange)
            }
            (kind, DataType::Double | DataType::Real) => {
                Ok(Datum::float(decimal::to_f64(self.sum, scale_of(kind))))
            }
            _ => i64::try_from(self.sum).map(Datum::int).map_err(|_| Fault::IntRange { bits: 64 }),
        }
    }

    fn average(&self, code: &AggregateCode) -> Result<Datum, Fault> {
        match (code.kind, code.result_type) {
            (AggregateKind::Float, _) => Ok(Datum::float(self.float / self.count as f64)),
            (kind, DataType::Numeric { scale, .. }) => {
                decimal::div(self.sum, scale_of(kind), i128::from(self.count), 0, scale)
                    .map(Datum::numeric)
                    .ok_or(Fault::NumericRange)
            }
            (kind, _) => {
                let sum = decimal::to_f64(self.sum, scale_of(kind));
                Ok(Datum::float(sum / self.count as f64))
            }
        }
    }
}

const fn scale_of(kind: AggregateKind) -> u8 {
    match kind {
        AggregateKind::Numeric { scale } => scale,
        _ => 0,
    }
}
