//! Shapes of arrays: how many dimensions one has, where each begins and how far it reaches.
//!
//! Role         an array whose one dimension begins at 1, or that is empty, is *plain*: its shape
//!              is the number of its elements, and is kept nowhere else. Any other array is its
//!              elements, row by row, and a [`ArrayShape`]
//! Invariants   I1 a shape has as many elements as its lengths say, and none that is empty has a
//!                 dimension
//!              I2 in a list of datums the dimensions of an array that is not plain lie right
//!                 behind its elements, and its datum has their number in its high half: what
//!                 copies the elements copies them, too

use std::fmt;

use crate::datum::Datum;

/// Dimensions of an array, at most.
pub const DIMENSIONS_MAX: usize = 6;

/// Elements of an array, at most, as PostgreSQL has it.
pub const ELEMENTS_MAX: usize = (1 << 27) - 1;

/// Where a dimension begins, and its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Dimension {
    /// how many there are
    pub length: u32,
    /// the subscript of the first one
    pub lower: i32,
}

impl Dimension {
    /// One that begins at 1.
    pub const fn from_one(length: u32) -> Self {
        Self { length, lower: 1 }
    }

    /// The subscript of the last one.
    pub const fn upper(self) -> i64 {
        self.lower as i64 + self.length as i64 - 1
    }

    /// How far a subscript lies behind the first one; none: there is nothing.
    pub fn offset(self, subscript: i64) -> Option<usize> {
        let offset = usize::try_from(subscript.checked_sub(self.lower.into())?).ok()?;
        (offset < self.length as usize).then_some(offset)
    }
}

/// The dimensions of an array, the outermost first; none of an empty one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArrayShape {
    count: u8,
    dimensions: [Dimension; DIMENSIONS_MAX],
}

impl ArrayShape {
    /// That of an empty array.
    pub const EMPTY: Self =
        Self { count: 0, dimensions: [Dimension { length: 0, lower: 0 }; DIMENSIONS_MAX] };

    /// The shape of so many elements from 1 on.
    pub fn plain(elements: usize) -> Self {
        let mut shape = Self { count: u8::from(elements > 0), ..Self::EMPTY };
        shape.dimensions[0] = Dimension::from_one(elements as u32);
        shape
    }

    /// The shape of these dimensions, [empty](Self::EMPTY) where one of them is; none: they are too
    /// many, or have too many elements, or one ends where no subscript reaches.
    pub fn new(dimensions: &[Dimension]) -> Option<Self> {
        if dimensions.len() > DIMENSIONS_MAX {
            return None;
        }
        if dimensions.iter().any(|dimension| dimension.length == 0) {
            return Some(Self::EMPTY);
        }
        let mut elements = 1_usize;
        for dimension in dimensions {
            elements = elements.checked_mul(dimension.length as usize)?;
            if elements > ELEMENTS_MAX || dimension.upper() > i64::from(i32::MAX) - 1 {
                return None;
            }
        }
        let mut shape = Self { count: dimensions.len() as u8, ..Self::EMPTY };
        shape.dimensions[..dimensions.len()].copy_from_slice(dimensions);
        Some(shape)
    }

    /// The dimensions, the outermost first.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..usize::from(self.count)]
    }

    /// Its elements.
    pub fn elements(&self) -> usize {
        match self.dimensions() {
            [] => 0,
            all => all.iter().map(|dimension| dimension.length as usize).product(),
        }
    }

    /// Whether the number of elements says it all.
    pub fn is_plain(&self) -> bool {
        matches!(self.dimensions(), [] | [Dimension { lower: 1, .. }])
    }

    /// The place of the element with these subscripts; none: it is not there, or they are not as
    /// many as the dimensions.
    pub fn place(&self, subscripts: &[i64]) -> Option<usize> {
        let dimensions = self.dimensions();
        if subscripts.len() != dimensions.len() || dimensions.is_empty() {
            return None;
        }
        dimensions.iter().zip(subscripts).try_fold(0, |place, (dimension, subscript)| {
            Some(place * dimension.length as usize + dimension.offset(*subscript)?)
        })
    }

    /// The shape of what a list has: of the array that is this datum.
    pub fn of_list(array: Datum, list: &[Datum]) -> Self {
        let range = array.as_range().range();
        let behind = list.get(range.end..).and_then(|rest| rest.get(..array.dimensions()));
        let read = |datum: &Datum| {
            let (lower, length) = datum.to_words();
            Dimension { length: length as u32, lower: lower as i32 }
        };
        let mut dimensions = [Dimension::default(); DIMENSIONS_MAX];
        for (to, from) in dimensions.iter_mut().zip(behind.unwrap_or_default()) {
            *to = read(from);
        }
        let shape = Self::new(&dimensions[..array.dimensions().min(DIMENSIONS_MAX)]);
        match shape {
            Some(shape) if array.dimensions() > 0 && shape.elements() == range.len() => shape,
            _ => Self::plain(range.len()),
        }
    }

    /// The array of the elements from `start` on, whose dimensions are put behind them (I2).
    pub fn array_of_list(&self, start: usize, list: &mut Vec<Datum>) -> Datum {
        let range = Datum::range(start as u32, (list.len() - start) as u32);
        if self.is_plain() {
            return range;
        }
        list.extend(self.dimensions().iter().map(|dimension| {
            Datum::from_words((dimension.lower as u32 as u64, u64::from(dimension.length)))
        }));
        range.with_dimensions(self.count.into())
    }

    /// Writes `[2:3][1:2]`.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for dimension in self.dimensions() {
            write!(f, "[{}:{}]", dimension.lower, dimension.upper())?;
        }
        Ok(())
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl fmt::Debug for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// The order of two arrays whose common elements are equal: as PostgreSQL has it, the one with
/// fewer elements first, then fewer dimensions, then lengths, then where they begin.
impl Ord for ArrayShape {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (left, right) = (self.dimensions(), other.dimensions());
        let elements = self.elements().cmp(&other.elements());
        let lengths = |of: &[Dimension]| of.iter().map(|it| it.length).collect::<Vec<_>>();
        let lowers = |of: &[Dimension]| of.iter().map(|it| it.lower).collect::<Vec<_>>();
        elements
            .then_with(|| left.len().cmp(&right.len()))
            .then_with(|| lengths(left).cmp(&lengths(right)))
            .then_with(|| lowers(left).cmp(&lowers(right)))
    }
}

impl PartialOrd for ArrayShape {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
