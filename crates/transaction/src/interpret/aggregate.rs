//! Running aggregates: count, sum, min, max, avg.
//!
//! Invariants   I1 a result does not depend on the order of the rows: scans have none that a replay
//!              would repeat. So sums are exact, and whether one overflows is asked at the end

use hotrow_base::any_numeric::{self, AnyNumeric};
use hotrow_base::datum::Datum;
use hotrow_base::decimal::{self, Decimal};
use hotrow_base::fold;
use hotrow_base::interrupt::current;
use hotrow_base::packed;
use hotrow_base::sort::sort_numbers;
use hotrow_base::temporal::Interval;
use hotrow_base::types::DataType;
use hotrow_base::value::{Value, ValueError};

use super::exact::ExactSum;
use super::order;
use super::order::compare_nulls_equal;
use super::pure::{compare, numeric_of};
use crate::bytecode::{AggregateCode, AggregateKind, CompareKind};
use crate::fault::Fault;
use crate::frame::{Machine, Totals};
use crate::functions::time::interval_out_of_range;
use crate::program::AggregateFunction;

const fn compare_kind(kind: AggregateKind) -> CompareKind {
    match kind {
        AggregateKind::Int => CompareKind::Int,
        AggregateKind::Numeric { .. } => CompareKind::Numeric,
        AggregateKind::AnyNumeric => CompareKind::AnyNumeric,
        AggregateKind::Float => CompareKind::Float,
        AggregateKind::Bytes => CompareKind::Bytes,
        AggregateKind::Interval => CompareKind::Interval,
        AggregateKind::Array => CompareKind::Array,
        AggregateKind::Folded => CompareKind::Folded,
    }
}

impl Totals {
    /// Takes one row. True: the bytes of its argument must be kept.
    #[inline]
    pub(super) fn add(
        &mut self,
        code: &AggregateCode,
        machine: &mut Machine,
    ) -> Result<bool, Fault> {
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
            machine.room(&mut self.values, 1)?;
            self.values.push(value);
            return Ok(code.kind.is_bytes());
        }
        self.add_value(code, value, &machine.heap);
        Ok(false)
    }

    fn add_value(&mut self, code: &AggregateCode, value: Datum, heap: &[u8]) {
        self.count += 1;
        match code.function {
            AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Avg => match code.kind {
                AggregateKind::Float => {
                    self.floats.get_or_insert_default().add(value.as_float());
                }
                AggregateKind::AnyNumeric => {
                    let more = any_numeric::read(&heap[value.as_range().range()]);
                    // Of too many digits: found when the sum is asked for, which is none.
                    self.number = self.number.add(&more).unwrap_or(AnyNumeric::NaN);
                }
                AggregateKind::Interval => self.add_span(value.as_interval()),
                AggregateKind::Numeric { .. } => self.add_units(value.as_numeric()),
                _ => self.add_units(i128::from(value.as_int())),
            },
            AggregateFunction::Min | AggregateFunction::Max => self.choose(code, value, heap),
        }
    }

    fn add_units(&mut self, units: i128) {
        let (sum, wrapped) = self.sum.overflowing_add(units);
        self.sum = sum;
        if wrapped {
            self.wraps += units.signum() as i64;
        }
    }

    /// 2^64 rows of 64 bits each fit.
    fn add_span(&mut self, interval: Interval) {
        let Interval { months, days, micros } = interval;
        let parts = [i64::from(months), i64::from(days), micros];
        for (sum, part) in self.spans.iter_mut().zip(parts) {
            *sum += i128::from(part);
        }
    }

    /// The sum, if an interval can hold it.
    fn span(&self) -> Result<Interval, Fault> {
        let [months, days, micros] = self.spans.map(i64::try_from);
        let parts = months.ok().zip(days.ok()).zip(micros.ok());
        parts
            .and_then(|((months, days), micros)| Interval::new(months, days, micros))
            .ok_or_else(interval_out_of_range)
    }

    /// The sum, if a double can hold it.
    fn float(&self) -> Result<f64, Fault> {
        let sum = self.floats.as_deref().map_or(Some(0.0), ExactSum::in_range);
        sum.ok_or(Fault::FloatOverflow)
    }

    /// The sum, if a numeric can hold it.
    fn units(&self) -> Result<i128, Fault> {
        match numeric_of(self.sum) {
            Some(_) if self.wraps == 0 => Ok(self.sum),
            _ => Err(Fault::NumericRange),
        }
    }

    fn choose(&mut self, code: &AggregateCode, value: Datum, heap: &[u8]) {
        let bytes = |datum: Datum| &heap[datum.as_range().range()];
        let ordering = match (self.best.is_null(), code.kind) {
            (true, _) => None,
            (false, AggregateKind::Bytes) => Some(bytes(value).cmp(&self.best_bytes)),
            (false, AggregateKind::AnyNumeric) => {
                let ordering = any_numeric::compare(bytes(value), &self.best_bytes);
                // 1.0 and 1.00 are equal and still not the same
                Some(ordering.then_with(|| bytes(value).cmp(&self.best_bytes)))
            }
            (false, AggregateKind::Folded) => {
                let ordering = fold::compare(bytes(value), &self.best_bytes);
                // A and a are equal and still not the same
                Some(ordering.then_with(|| bytes(value).cmp(&self.best_bytes)))
            }
            (false, AggregateKind::Array) => {
                let ordering = packed::compare(bytes(value), &self.best_bytes);
                Some(ordering.then_with(|| bytes(value).cmp(&self.best_bytes)))
            }
            (false, AggregateKind::Float) => {
                let ordering = compare(CompareKind::Float, value, self.best, &[]);
                // 0 and -0 are equal and still not the same
                Some(ordering.then_with(|| value.as_float().total_cmp(&self.best.as_float())))
            }
            (false, AggregateKind::Interval) => {
                let ordering = compare(CompareKind::Interval, value, self.best, &[]);
                // 1 month and 30 days, too
                Some(ordering.then_with(|| value.as_interval().cmp(&self.best.as_interval())))
            }
            (false, kind) => Some(compare(compare_kind(kind), value, self.best, &[])),
        };
        let is_better = match code.function {
            AggregateFunction::Min => ordering.is_none_or(|ordering| ordering.is_lt()),
            _ => ordering.is_none_or(|ordering| ordering.is_gt()),
        };
        if is_better {
            self.best = value;
            if code.kind.is_bytes() {
                self.best_bytes.clear();
                self.best_bytes.extend_from_slice(bytes(value));
            }
        }
    }

    /// The aggregate's value.
    pub(super) fn result(
        &mut self,
        code: &AggregateCode,
        heap: &mut Vec<u8>,
    ) -> Result<Datum, Fault> {
        if !self.values.is_empty() {
            self.add_distinct(code, heap)?;
        }
        match code.function {
            AggregateFunction::Count => Ok(Datum::int(self.count as i64)),
            _ if self.count == 0 => Ok(Datum::NULL),
            AggregateFunction::Sum if code.result_type.is_any_numeric() => {
                Ok(any_numeric::write(&self.exact_sum(code)?, heap))
            }
            AggregateFunction::Avg if code.result_type.is_any_numeric() => {
                let count = AnyNumeric::from(self.count as i64);
                Ok(any_numeric::write(&self.exact_sum(code)?.divide(&count)?, heap))
            }
            AggregateFunction::Sum => self.sum(code),
            AggregateFunction::Avg => self.average(code),
            AggregateFunction::Min | AggregateFunction::Max => match code.kind {
                kind if kind.is_bytes() => Ok(Datum::of_bytes(&self.best_bytes, heap)),
                _ => Ok(self.best),
            },
        }
    }

    fn add_distinct(&mut self, code: &AggregateCode, heap: &[u8]) -> Result<(), Fault> {
        let kind = compare_kind(code.kind);
        let values = std::mem::take(&mut self.values);
        let compare = |a: u32, b: u32| {
            compare_nulls_equal(kind, values[a as usize], values[b as usize], heap)
        };
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..values.len() as u32);
        let bytes = |n: u32| order::bytes_of(kind, values[n as usize]);
        sort_numbers(&mut order, bytes, compare, current::check)?;
        order.dedup_by(|later, first| compare(*later, *first).is_eq());
        order.iter().for_each(|&n| self.add_value(code, values[n as usize], heap));
        (self.values, self.order) = (values, order);
        Ok(())
    }

    /// The sum of integers or numerics, of as many digits as it has.
    fn exact_sum(&self, code: &AggregateCode) -> Result<AnyNumeric, Fault> {
        match code.kind {
            AggregateKind::AnyNumeric => Ok(self.number.clone()),
            kind => {
                let sum = Decimal::new(self.units()?, scale_of(kind));
                sum.map(AnyNumeric::from).ok_or(Fault::NumericRange)
            }
        }
    }

    fn sum(&self, code: &AggregateCode) -> Result<Datum, Fault> {
        match (code.kind, code.result_type) {
            (AggregateKind::Interval, _) => self.span().map(Datum::interval),
            (AggregateKind::Float, of) => {
                let sum = self.float()?;
                let shown = if of == DataType::Real { f64::from(sum as f32) } else { sum };
                match shown.is_infinite() && sum.is_finite() {
                    true => Err(Fault::FloatOverflow),
                    false => Ok(Datum::float(shown)),
                }
            }
            (kind, DataType::Numeric { scale, .. }) => {
                decimal::rescale(self.units()?, scale_of(kind), scale)
                    .map(Datum::numeric)
                    .ok_or(Fault::NumericRange)
            }
            (kind, DataType::Double | DataType::Real) => {
                Ok(Datum::float(decimal::to_f64(self.units()?, scale_of(kind))))
            }
            _ => i64::try_from(self.units()?)
                .map(Datum::int)
                .map_err(|_| Fault::IntRange { bits: 64 }),
        }
    }

    fn average(&self, code: &AggregateCode) -> Result<Datum, Fault> {
        match (code.kind, code.result_type) {
            (AggregateKind::Interval, _) => {
                let average = self.span()?.divided(self.count as f64);
                average.map(Datum::interval).ok_or_else(interval_out_of_range)
            }
            (AggregateKind::Float, _) => {
                let sum = self.float()?;
                Ok(Datum::float(sum / self.count as f64))
            }
            (kind, DataType::Numeric { scale, .. }) => {
                decimal::div(self.units()?, scale_of(kind), i128::from(self.count), 0, scale)
                    .map(Datum::numeric)
                    .ok_or(Fault::NumericRange)
            }
            (kind, _) => {
                let sum = decimal::to_f64(self.units()?, scale_of(kind));
                Ok(Datum::float(sum / self.count as f64))
            }
        }
    }
}

/// An aggregate of values that no program reads: the results are the same.
#[derive(Clone, Debug)]
pub struct Running {
    code: AggregateCode,
    of: DataType,
    totals: Totals,
    heap: Vec<u8>,
}

impl Running {
    /// Of values of a type, with a result of another.
    pub fn new(function: AggregateFunction, of: DataType, result_type: DataType) -> Self {
        let kind = AggregateKind::of(of);
        let code = AggregateCode {
            function,
            argument: Some(0),
            kind,
            distinct: false,
            result: 0,
            result_type,
        };
        Self { code, of, totals: Totals::default(), heap: Vec::new() }
    }

    /// What it takes in memory, in bytes.
    pub fn bytes(&self) -> usize {
        let sums = matches!(self.code.function, AggregateFunction::Sum | AggregateFunction::Avg);
        let sums_floats = sums && matches!(self.code.kind, AggregateKind::Float);
        size_of::<Self>() + if sums_floats { size_of::<ExactSum>() } else { 0 }
    }

    /// Counts a row of which no value is asked.
    pub fn add_row(&mut self) {
        self.totals.count += 1;
    }

    /// Takes a value; NULL is none.
    ///
    /// # Errors
    ///
    /// The value is not of the type.
    pub fn add(&mut self, value: &Value) -> Result<(), ValueError> {
        if value.is_null() {
            return Ok(());
        }
        self.heap.clear();
        let datum = value.to_datum(self.of, &mut self.heap)?;
        self.totals.add_value(&self.code, datum, &self.heap);
        Ok(())
    }

    /// The value of all that was added.
    ///
    /// # Errors
    ///
    /// It is out of range.
    pub fn result(&mut self) -> Result<Value, Fault> {
        self.heap.clear();
        let datum = self.totals.result(&self.code, &mut self.heap)?;
        Ok(Value::from_datum(datum, self.code.result_type, &self.heap))
    }
}

const fn scale_of(kind: AggregateKind) -> u8 {
    match kind {
        AggregateKind::Numeric { scale } => scale,
        _ => 0,
    }
}
