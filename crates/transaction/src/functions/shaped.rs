//! What functions of arrays do with dimensions and bounds.
//!
//! Role         the halves of [`super::array`] that a plain array, whose elements are counted from
//!              1, seldom needs
//! Source       PostgreSQL's `arrayfuncs.c` and `array_userfuncs.c`, whose rules and messages these
//!              are

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::packed;
use hotrow_base::shape::{ArrayShape, DIMENSIONS_MAX, Dimension};
use hotrow_base::value::checked_shape;

use super::array::{Arguments, too_many};
use super::cast::value_error;
use crate::fault::Fault;
use crate::outcome::SqlError;
use crate::program::Extent;

/// A bound that a slice does not say.
pub const NO_LOWER: i64 = i32::MIN as i64;
/// The same, of the upper one.
pub const NO_UPPER: i64 = i32::MAX as i64;

/// array_subscript_error
fn wrong(message: &'static str) -> Fault {
    Fault::new(b"2202E", message)
}

/// The shape, if there may be one.
fn shape_of(dimensions: &[Dimension]) -> Result<ArrayShape, Fault> {
    checked_shape(dimensions).map_err(value_error)
}

fn detailed(code: &[u8; 5], message: String, detail: String) -> Fault {
    SqlError { detail: Some(detail), ..SqlError::new(code, message) }.into()
}

fn incompatible(detail: String) -> Fault {
    let message = "cannot concatenate incompatible arrays";
    detailed(b"2202E", message.to_owned(), detail)
}

/// Calls `visit` with the runs of places that a part of an array has: `from` and `count` say where
/// it begins in each dimension, and how far it goes.
fn each_run(
    dimensions: &[Dimension],
    part: &[(usize, usize)],
    base: usize,
    visit: &mut impl FnMut(Range<usize>),
) {
    match (dimensions, part) {
        ([_], [(from, count)]) => visit(base + from..base + from + count),
        ([_, inner @ ..], [(from, count), rest @ ..]) => {
            let each: usize = inner.iter().map(|dimension| dimension.length as usize).product();
            for at in *from..from + count {
                each_run(inner, rest, base + at * each, visit);
            }
        }
        _ => {}
    }
}

impl Arguments<'_> {
    /// The shape of an argument that is an array; NULL has that of an empty one.
    pub(super) fn shape(&self, at: usize) -> ArrayShape {
        let array = self.datum(at);
        match array.is_null() {
            true => ArrayShape::EMPTY,
            false => ArrayShape::of_list(array, &self.machine.elements),
        }
    }

    /// An array of the elements from `start` on.
    pub(super) fn made_of(&mut self, start: usize, shape: &ArrayShape) -> Datum {
        shape.array_of_list(start, &mut self.machine.elements)
    }

    /// Integers from an argument on, without the last ones; none: one of them is NULL.
    fn ints(&self, from: usize, behind: usize) -> Option<Vec<i64>> {
        let end = self.code.arguments.len().saturating_sub(behind);
        (from..end).map(|at| self.int(at)).collect()
    }

    /// Pairs of bounds; none: one of them is NULL.
    fn bounds(&self, behind: usize) -> Option<Vec<(i64, i64)>> {
        let bounds = self.ints(1, behind)?;
        Some(bounds.as_chunks::<2>().0.iter().map(|[from, to]| (*from, *to)).collect())
    }

    /// `array[i][j]`
    pub(super) fn element_within(&self) -> Datum {
        let (Some(range), Some(at)) = (self.range(0), self.ints(1, 0)) else { return Datum::NULL };
        let place = self.shape(0).place(&at);
        place.map_or(Datum::NULL, |place| self.machine.elements[range.start + place])
    }

    /// `array[i][j] := value`
    pub(super) fn set_within(&mut self) -> Result<Datum, Fault> {
        let count = self.code.arguments.len() - 2;
        let (old, shape) = (self.range(0).unwrap_or(0..0), self.shape(0));
        let mut at = Vec::with_capacity(count);
        for argument in 1..=count {
            at.push(self.subscript(argument)?);
        }
        let value = self.datum(count + 1);
        if shape.dimensions().is_empty() {
            let one = |at: &i64| Dimension { length: 1, lower: *at as i32 };
            let shape = shape_of(&at.iter().map(one).collect::<Vec<_>>())?;
            let start = self.room(1 + DIMENSIONS_MAX)?;
            self.machine.elements.push(value);
            return Ok(self.made_of(start, &shape));
        }
        if shape.dimensions().len() != count {
            return Err(wrong("wrong number of array subscripts"));
        }
        let (shape, before) = match (shape.dimensions(), &*at) {
            ([only], [at]) => extended(*only, *at, *at)?,
            _ => (shape, 0),
        };
        let place = shape.place(&at).ok_or_else(|| wrong("array subscript out of range"))?;
        let start = self.copied(old, before, shape.elements())?;
        self.machine.elements[start + place] = value;
        Ok(self.made_of(start, &shape))
    }

    /// The elements of an array, with NULLs around them.
    fn copied(&mut self, old: Range<usize>, before: usize, all: usize) -> Result<usize, Fault> {
        let start = self.room(all + DIMENSIONS_MAX)?;
        let elements = &mut self.machine.elements;
        elements.resize(start + before, Datum::NULL);
        elements.extend_from_within(old);
        elements.resize(start + all, Datum::NULL);
        Ok(start)
    }

    /// `array[from:to] := array`
    pub(super) fn set_slice(&mut self) -> Result<Datum, Fault> {
        let count = (self.code.arguments.len() - 2) / 2;
        let mut bounds = Vec::with_capacity(count);
        for argument in 0..count {
            let (from, to) = (1 + 2 * argument, 2 + 2 * argument);
            bounds.push((self.subscript(from)?, self.subscript(to)?));
        }
        let shape = self.shape(0);
        // As PostgreSQL has it: NULL assigns nothing.
        let Some(new) = self.range(1 + 2 * count) else {
            return Ok(if self.datum(0).is_null() { Datum::range(0, 0) } else { self.datum(0) });
        };
        let old = self.range(0).unwrap_or(0..0);
        if shape.dimensions().is_empty() {
            return self.first_slice(&bounds, new);
        }
        let dimensions = shape.dimensions();
        if dimensions.len() < count {
            return Err(wrong("wrong number of array subscripts"));
        }
        for ((from, to), dimension) in bounds.iter_mut().zip(dimensions) {
            if *from == NO_LOWER {
                *from = dimension.lower.into();
            }
            if *to == NO_UPPER {
                *to = dimension.upper();
            }
            if from > to {
                return Err(wrong("upper bound cannot be less than lower bound"));
            }
            let is_inside = dimension.offset(*from).is_some() && dimension.offset(*to).is_some();
            if dimensions.len() > 1 && !is_inside {
                return Err(wrong("array subscript out of range"));
            }
        }
        let (shape, before) = match (dimensions, &*bounds) {
            ([only], [(from, to)]) => extended(*only, *from, *to)?,
            _ => (shape, 0),
        };
        let whole = shape.dimensions().iter().skip(count);
        bounds.extend(whole.map(|dimension| (dimension.lower.into(), dimension.upper())));
        let part = shape.dimensions().iter().zip(&bounds).map(|(dimension, (from, to))| {
            ((from - i64::from(dimension.lower)) as usize, (to - from + 1) as usize)
        });
        let part = part.collect::<Vec<_>>();
        if part.iter().map(|(_, count)| count).product::<usize>() > new.len() {
            return Err(wrong("source array too small"));
        }
        let start = self.copied(old, before, shape.elements())?;
        let elements = &mut self.machine.elements;
        let mut next = new.start;
        each_run(shape.dimensions(), &part, 0, &mut |run| {
            elements.copy_within(next..next + run.len(), start + run.start);
            next += run.len();
        });
        Ok(self.made_of(start, &shape))
    }

    /// A slice of an array that is empty.
    fn first_slice(&mut self, bounds: &[(i64, i64)], new: Range<usize>) -> Result<Datum, Fault> {
        if bounds.iter().any(|(from, to)| *from == NO_LOWER || *to == NO_UPPER) {
            let message = "array slice subscript must provide both boundaries".to_owned();
            let detail = "When assigning to a slice of an empty array value, slice boundaries \
                          must be fully specified.";
            return Err(detailed(b"2202E", message, detail.to_owned()));
        }
        let dimension = |(from, to): &(i64, i64)| {
            let length = u32::try_from(to - from + 1).map_err(|_| too_many())?;
            Ok(Dimension { length, lower: *from as i32 })
        };
        let dimensions = bounds.iter().map(dimension).collect::<Result<Vec<_>, Fault>>()?;
        let shape = shape_of(&dimensions)?;
        if new.len() < shape.elements() {
            return Err(wrong("source array too small"));
        }
        let start = self.room(shape.elements() + DIMENSIONS_MAX)?;
        self.machine.elements.extend_from_within(new.start..new.start + shape.elements());
        Ok(self.made_of(start, &shape))
    }

    /// `array[from:to][from:to]`, whose dimensions begin at 1.
    pub(super) fn slice(&mut self) -> Result<Datum, Fault> {
        let (Some(range), Some(bounds)) = (self.range(0), self.bounds(0)) else {
            return Ok(Datum::NULL);
        };
        let shape = self.shape(0);
        self.part(range, &shape, &bounds)
    }

    /// The part of an array between bounds, whose dimensions begin at 1.
    fn part(
        &mut self,
        range: Range<usize>,
        shape: &ArrayShape,
        bounds: &[(i64, i64)],
    ) -> Result<Datum, Fault> {
        let nothing = Datum::range(range.start as u32, 0);
        let dimensions = shape.dimensions();
        if dimensions.len() < bounds.len() {
            return Ok(nothing);
        }
        let (mut part, mut lengths) = (Vec::new(), Vec::new());
        for (at, dimension) in dimensions.iter().enumerate() {
            let lower = i64::from(dimension.lower);
            let (from, to) = bounds.get(at).copied().unwrap_or((lower, dimension.upper()));
            let (from, to) = (from.max(lower), to.min(dimension.upper()));
            if from > to {
                return Ok(nothing);
            }
            part.push(((from - lower) as usize, (to - from + 1) as usize));
            lengths.push(Dimension::from_one((to - from + 1) as u32));
        }
        if let [(from, count)] = part[..] {
            return Ok(Datum::range((range.start + from) as u32, count as u32));
        }
        let shape_of_part = shape_of(&lengths)?;
        let start = self.room(shape_of_part.elements() + DIMENSIONS_MAX)?;
        let elements = &mut self.machine.elements;
        each_run(dimensions, &part, range.start, &mut |run| elements.extend_from_within(run));
        Ok(self.made_of(start, &shape_of_part))
    }

    /// The array without so many of its last elements, or parts.
    pub(super) fn trim(&mut self) -> Result<Datum, Fault> {
        let (Some(range), Some(count)) = (self.range(0), self.int(1)) else {
            return Ok(Datum::NULL);
        };
        let shape = self.shape(0);
        let outer = shape.dimensions().first().copied().unwrap_or_default();
        let most = i64::from(outer.length);
        if !(0..=most).contains(&count) {
            let message = format!("number of elements to trim must be between 0 and {most}");
            return Err(Fault::new(b"2202E", message));
        }
        self.part(range, &shape, &[(outer.lower.into(), outer.upper() - count)])
    }

    /// An array with one more element before it or behind it.
    pub(super) fn with_one_more(
        &mut self,
        array: usize,
        value: usize,
        at_end: End,
    ) -> Result<Datum, Fault> {
        let (old, shape, value) = (self.range(array), self.shape(array), self.datum(value));
        let (lower, length) = match shape.dimensions() {
            [] => (1, 0),
            [Dimension { length, lower }] => (*lower, *length),
            _ => {
                let message = "argument must be empty or one-dimensional array";
                return Err(Fault::new(b"22000", message));
            }
        };
        let shape = shape_of(&[Dimension { length: length + 1, lower }])?;
        let start = self.room(shape.elements() + DIMENSIONS_MAX)?;
        let elements = &mut self.machine.elements;
        if at_end == End::First {
            elements.push(value);
        }
        elements.extend_from_within(old.unwrap_or(0..0));
        if at_end == End::Last {
            elements.push(value);
        }
        Ok(self.made_of(start, &shape))
    }

    /// array_cat(array, array)
    pub(super) fn concat(&mut self) -> Result<Datum, Fault> {
        let ranges = match (self.range(0), self.range(1)) {
            (None, _) => return Ok(self.datum(1)),
            (_, None) => return Ok(self.datum(0)),
            (Some(left), Some(right)) => [left, right],
        };
        let shapes = [self.shape(0), self.shape(1)];
        let [left, right] = shapes.each_ref().map(ArrayShape::dimensions);
        let apart = |what: &str| {
            let detail =
                format!("Arrays with differing {what} are not compatible for concatenation.");
            incompatible(detail)
        };
        let mut dimensions;
        match (left, right) {
            ([], _) => return Ok(self.datum(1)),
            (_, []) => return Ok(self.datum(0)),
            ([first, inner @ ..], [second, other @ ..]) if left.len() == right.len() => {
                if inner != other {
                    return Err(apart("element dimensions"));
                }
                dimensions = left.to_vec();
                dimensions[0].length = first.length + second.length;
            }
            (part, [outer, inner @ ..]) if part.len() == inner.len() => {
                if part != inner {
                    return Err(apart("dimensions"));
                }
                dimensions = right.to_vec();
                dimensions[0].length = outer.length + 1;
            }
            ([outer, inner @ ..], part) if part.len() == inner.len() => {
                if part != inner {
                    return Err(apart("dimensions"));
                }
                dimensions = left.to_vec();
                dimensions[0].length = outer.length + 1;
            }
            (left, right) => {
                let detail = format!(
                    "Arrays of {} and {} dimensions are not compatible for concatenation.",
                    left.len(),
                    right.len()
                );
                return Err(incompatible(detail));
            }
        }
        let shape = shape_of(&dimensions)?;
        let start = self.room(shape.elements() + DIMENSIONS_MAX)?;
        for range in ranges {
            self.machine.elements.extend_from_within(range);
        }
        Ok(self.made_of(start, &shape))
    }

    /// `ARRAY[array, array, ...]`
    pub(super) fn nest(&mut self) -> Result<Datum, Fault> {
        let mismatch = || {
            wrong("multidimensional arrays must have array expressions with matching dimensions")
        };
        let parts = self.code.arguments.len();
        let (mut inner, mut is_empty) = (None::<ArrayShape>, false);
        for at in 0..parts {
            let shape = self.shape(at);
            match (shape.dimensions(), inner) {
                ([], _) => is_empty = true,
                (_, Some(inner)) if inner != shape => return Err(mismatch()),
                _ => inner = Some(shape),
            }
        }
        let Some(inner) = inner else { return Ok(Datum::range(0, 0)) };
        if is_empty {
            return Err(mismatch());
        }
        let mut dimensions = vec![Dimension::from_one(parts as u32)];
        dimensions.extend(inner.dimensions());
        let shape = shape_of(&dimensions)?;
        let start = self.room(shape.elements() + DIMENSIONS_MAX)?;
        for range in (0..parts).filter_map(|at| self.range(at)).collect::<Vec<_>>() {
            self.machine.elements.extend_from_within(range);
        }
        Ok(self.made_of(start, &shape))
    }

    /// How far the array reaches; an empty one has no dimension.
    pub(super) fn extent(&mut self, extent: Extent) -> Result<Datum, Fault> {
        let shape = self.shape(0);
        let dimensions = shape.dimensions();
        let asked = match (extent, self.int(1)) {
            (Extent::Dimensions | Extent::Text, _) => dimensions.first(),
            (_, Some(asked)) => {
                let at = usize::try_from(asked).ok().and_then(|asked| asked.checked_sub(1));
                at.and_then(|at| dimensions.get(at))
            }
            (_, None) => None,
        };
        let Some(dimension) = asked else { return Ok(Datum::NULL) };
        Ok(match extent {
            Extent::Length => Datum::int(dimension.length.into()),
            Extent::Upper => Datum::int(dimension.upper()),
            Extent::Lower => Datum::int(dimension.lower.into()),
            Extent::Dimensions => Datum::int(dimensions.len() as i64),
            Extent::Text => self.machine.keep(shape.to_string().as_bytes()),
        })
    }

    /// Where the elements of an array with one dimension begin to be counted.
    ///
    /// # Errors
    ///
    /// 0A000: it has more. `what` is not done then.
    pub(super) fn first_of_one(&self, at: usize, what: &str) -> Result<i64, Fault> {
        match self.shape(at).dimensions() {
            [] => Ok(1),
            [only] => Ok(only.lower.into()),
            _ => {
                let message = format!("{what} multidimensional arrays is not supported");
                Err(Fault::new(b"0A000", message))
            }
        }
    }

    /// An array of the elements from `start` on, of one dimension.
    pub(super) fn made_from(&mut self, start: usize, only: Dimension) -> Result<Datum, Fault> {
        shape_of(&[only]).map(|shape| self.made_of(start, &shape))
    }

    /// `array_fill(value, lengths [, bounds])`
    pub(super) fn fill(&mut self) -> Result<Datum, Fault> {
        let null = "dimension array or low bound array cannot be null";
        let null_value = "dimension values cannot be null";
        let refused = |detail: &str| {
            let message = "wrong number of array subscripts".to_owned();
            Err(detailed(b"2202E", message, detail.to_owned()))
        };
        let mut lists = Vec::new();
        for at in 1..self.code.arguments.len() {
            let range = self.range(at).ok_or_else(|| Fault::new(b"22004", null))?;
            if self.shape(at).dimensions().len() > 1 {
                return refused(match at {
                    1 => "Dimension array must be one dimensional.",
                    _ => "Low bound array must be one dimensional.",
                });
            }
            let all = self.machine.elements[range].iter();
            let all = all.map(|it| (!it.is_null()).then(|| it.as_int()));
            let all = all.collect::<Option<Vec<_>>>();
            lists.push(all.ok_or_else(|| Fault::new(b"22004", null_value))?);
        }
        let lengths = lists.first().cloned().unwrap_or_default();
        if lists.get(1).is_some_and(|lowers| lowers.len() != lengths.len()) {
            return refused("Low bound array has different size than dimensions array.");
        }
        let mut dimensions = Vec::with_capacity(lengths.len());
        for (at, length) in lengths.into_iter().enumerate() {
            let length = u32::try_from(length).map_err(|_| too_many())?;
            let lower = lists.get(1).map_or(1, |lowers| lowers[at] as i32);
            dimensions.push(Dimension { length, lower });
        }
        let shape = shape_of(&dimensions)?;
        let value = self.datum(0);
        let start = self.room(shape.elements() + DIMENSIONS_MAX)?;
        self.machine.elements.resize(start + shape.elements(), value);
        Ok(self.made_of(start, &shape))
    }

    /// The slices of an array of so many dimensions, each in one piece: `FOREACH SLICE`.
    pub(super) fn slices(&mut self) -> Result<Datum, Fault> {
        let null = || Fault::new(b"22004", "FOREACH expression must not be null");
        let (range, shape) = (self.range(0).ok_or_else(null)?, self.shape(0));
        let count = shape.dimensions().len();
        let wanted = self.int(1).unwrap_or_default();
        let within = usize::try_from(wanted).ok().and_then(|wanted| count.checked_sub(wanted));
        let within = within.ok_or_else(|| {
            let message =
                format!("slice dimension ({wanted}) is out of the valid range 0..{count}");
            Fault::new(b"2202E", message)
        })?;
        if range.is_empty() {
            return Ok(Datum::range(0, 0));
        }
        let shape = shape_of(&shape.dimensions()[within..])?;
        let (of, each) = (self.element_type(0), shape.elements());
        let mut slices = Vec::with_capacity(range.len() / each.max(1));
        for from in range.step_by(each.max(1)) {
            let elements = &self.machine.elements[from..from + each];
            let bytes = packed::packed_bytes(of, elements);
            self.machine.reserve(bytes)?;
            self.machine.went(bytes)?;
            let machine = &mut *self.machine;
            let elements = &machine.elements[from..from + each];
            slices.push(packed::pack(of, elements, &shape, &mut machine.heap));
        }
        let start = self.room(slices.len())?;
        self.machine.elements.extend(slices);
        Ok(self.made(start))
    }
}

/// Where an element is put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// before all others
    First,
    /// behind them
    Last,
}

/// The shape of a list that goes at least from one subscript to another one, and how many
/// elements come before the old ones.
fn extended(old: Dimension, from: i64, to: i64) -> Result<(ArrayShape, usize), Fault> {
    let lower = from.min(old.lower.into());
    let length = to.max(old.upper()) - lower + 1;
    let length = u32::try_from(length).map_err(|_| too_many())?;
    let shape = shape_of(&[Dimension { length, lower: lower as i32 }])?;
    Ok((shape, (i64::from(old.lower) - lower) as usize))
}
