//! Composite types: rows as values, with names and types of their fields.
//!
//! Role         what `CREATE TYPE name AS (field type, ...)` makes. A value is kept in one piece
//!              ([`crate::packed`]), in columns, in arrays, and as an argument
//! Invariants   I1 two types with the same name and the same fields in the same order are the same
//!                 type, wherever they were made
//! Bounds       a type's description is kept until the process ends, also when the type is dropped:
//!              values of it may still be on their way. One that is made again takes no more
//! Concurrency  descriptions never change -> read without a latch; the list of all is latched, and
//!              read where types are named only

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use crate::sync::Latch;
use crate::types::DataType;

/// A field's name and type.
pub type CompositeField = (Box<str>, DataType);

/// A type whose values are rows.
#[derive(Clone, Copy)]
pub struct CompositeType(&'static Description);

struct Description {
    /// unlike any other's
    number: u32,
    name: &'static str,
    fields: &'static [CompositeField],
    /// rows and arrays that stand within each other, this one with them
    nesting: usize,
}

/// Bytes that a row's text may have. Each row or array around a text doubles the quotes in it, so
/// that a few hundred bytes, thirty rows deep, would be more than any memory holds.
const TEXT_MAX: u64 = 1 << 30;

/// Descriptions from which on queries make no more of them: each shape of a row that is written out
/// (`ROW(1, 'a')`) has one.
pub const ROWS_MAX: usize = 100_000;

/// By name and fields.
type All = HashMap<(&'static str, &'static [CompositeField]), CompositeType>;
static ALL: LazyLock<Latch<All>> = LazyLock::new(Latch::default);

impl CompositeType {
    /// The type with this name and these fields.
    pub fn of(name: &str, fields: &[CompositeField]) -> Self {
        let mut all = ALL.lock();
        if let Some(known) = all.get(&(name, fields)) {
            return *known; // I1
        }
        let name: &'static str = Box::leak(name.into());
        let fields: &'static [CompositeField] = Box::leak(fields.into());
        let number = all.len() as u32;
        let nesting = 1 + fields.iter().map(|(_, of)| nesting(*of)).max().unwrap_or(0);
        let made = Self(Box::leak(Box::new(Description { number, name, fields, nesting })));
        all.insert((name, fields), made);
        made
    }

    /// The type of rows with these fields that nobody has made by its name; none: it would be one
    /// more than [`ROWS_MAX`] descriptions.
    pub fn of_rows(name: &str, fields: &[CompositeField]) -> Option<Self> {
        let (known, count) = {
            let all = ALL.lock();
            (all.get(&(name, fields)).copied(), all.len())
        };
        known.or_else(|| (count < ROWS_MAX).then(|| Self::of(name, fields)))
    }

    /// The type with a number.
    pub fn with_number(number: u32) -> Option<Self> {
        ALL.lock().values().find(|known| known.number() == number).copied()
    }

    /// A number that no other type of this process has.
    pub fn number(self) -> u32 {
        self.0.number
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its fields, in their order.
    pub fn fields(self) -> &'static [CompositeField] {
        self.0.fields
    }

    /// The types of its fields.
    pub fn types(self) -> impl ExactSizeIterator<Item = DataType> {
        self.0.fields.iter().map(|(_, of)| *of)
    }

    /// Whether the text of a row that is kept in so many bytes may be longer than texts may be.
    pub fn is_too_large(self, bytes: usize) -> bool {
        (bytes as u64).saturating_mul(1 << self.0.nesting.min(31)) > TEXT_MAX
    }

    /// The place and the type of the field with a name.
    pub fn field(self, name: &str) -> Option<(u16, DataType)> {
        let at = self.0.fields.iter().position(|(known, _)| **known == *name)?;
        Some((at as u16, self.0.fields[at].1))
    }
}

/// How many rows and arrays stand within each other in values of a type; 0: it is neither.
pub fn nesting(of: DataType) -> usize {
    match of {
        DataType::Array(element) => 1 + nesting(*element),
        DataType::Composite(of) => of.0.nesting,
        _ => 0,
    }
}

impl PartialEq for CompositeType {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for CompositeType {}

impl Hash for CompositeType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

impl fmt::Debug for CompositeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompositeType({}: {:?})", self.0.name, self.0.fields)
    }
}
