//! Access sites, ready to run: keys, binds, effects and what happens to matching rows.

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::KeyLayout;
use hotrow_base::row::{Field, FieldKind};
use hotrow_base::types::DataType;

use crate::access::{Intent, Reads};
use crate::bytecode::CompareKind;
use crate::catalog::{Index, Table};
use crate::interpret::fits;
use crate::program::{AggregateFunction, RowsTo};

/// A code position that means "no code".
pub const NO_CODE: u32 = u32::MAX;

/// What the interpreter must know of a table for errors and inserts.
#[derive(Clone, Debug)]
pub struct TableCode {
    /// the table
    pub table: Table,
    /// all its indexes
    pub indexes: Vec<Index>,
}

/// Loads one column into a slot.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// where the column lies
    pub field: Field,
    /// the slot
    pub slot: u16,
    /// the short way to read it, if there is one
    pub kind: BindKind,
}

/// How a column is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindKind {
    /// an integer, boolean, date or timestamp that is NOT NULL
    Int,
    /// a numeric in one word that is NOT NULL
    Numeric,
    /// any other, by its field's kind
    Any,
}

impl Bind {
    /// Loads `field` into `slot`.
    pub fn new(field: Field, slot: u16) -> Self {
        let kind = match field.kind() {
            _ if !field.is_plain_int() => BindKind::Any,
            FieldKind::N64 => BindKind::Numeric,
            _ => BindKind::Int,
        };
        Self { field, slot, kind }
    }
}

/// How a key expression's value becomes one of the key column's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convert {
    /// it has the type already
    Same,
    /// anything else, by the values
    Other {
        /// type of the expression
        from: DataType,
        /// type of the column
        to: DataType,
    },
}

/// Bytes in the longest key that is encoded without a buffer.
pub const PACKED_BYTES_MAX: usize = 24;

/// One part of a key.
#[derive(Clone, Copy, Debug)]
pub struct KeyPartCode {
    /// slot of its value
    pub slot: u16,
    /// bits of the column, where it is an integer, date or timestamp that is NOT NULL
    pub bits: u8,
    /// what to do with it
    pub convert: Convert,
}

/// A whole key, or the prefix of a range.
#[derive(Clone, Debug)]
pub struct KeyCode {
    /// the index
    pub index: IndexId,
    /// its parts, leading columns first
    pub parts: Box<[KeyPartCode]>,
    /// the index's encoding
    pub layout: KeyLayout,
    /// no part is nullable or converted: a planned key may be taken as it is
    pub is_plain: bool,
    /// its hash is wanted: by a hash index, or for a lock
    pub is_hashed: bool,
    /// all parts have `bits` and need no conversion, and together they take at most
    /// [`PACKED_BYTES_MAX`]
    pub is_packed: bool,
}

/// One end of a range.
#[derive(Clone, Copy, Debug)]
pub struct RangeEndCode {
    /// the bound
    pub part: KeyPartCode,
    /// whether it belongs to the range
    pub inclusive: bool,
}

/// A range of an index.
#[derive(Clone, Debug)]
pub struct RangeCode {
    /// the columns bound by equality
    pub prefix: KeyCode,
    /// lower end on the next column
    pub lower: Option<RangeEndCode>,
    /// upper end on the next column
    pub upper: Option<RangeEndCode>,
    /// from the upper end down
    pub descending: bool,
    /// the next column may be NULL: a range with a lower end only must stop before the NULLs
    pub next_nullable: bool,
}

/// How a site finds its rows.
#[derive(Clone, Debug)]
pub enum PathCode {
    /// at most one row
    Point(KeyCode),
    /// rows in index order
    Range(RangeCode),
    /// all rows
    Whole,
    /// none: an insert
    Insert,
}

/// Consecutive slots: order keys, then values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowRun {
    /// first slot
    pub first: u16,
    /// order keys
    pub keys: u16,
    /// values
    pub values: u16,
}

impl RowRun {
    /// The slots of keys and values.
    #[inline]
    pub fn slots(self) -> std::ops::Range<usize> {
        self.first as usize..self.first as usize + self.width()
    }

    /// Keys and values together.
    #[inline]
    pub fn width(self) -> usize {
        self.keys as usize + self.values as usize
    }
}

/// One ORDER BY key.
#[derive(Clone, Copy, Debug)]
pub struct OrderCode {
    /// how keys compare
    pub kind: CompareKind,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

/// What an aggregate adds up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AggregateKind {
    /// integers
    Int,
    /// numerics of this scale
    Numeric {
        /// digits behind the point
        scale: u8,
    },
    /// numerics of any number of digits
    AnyNumeric,
    /// floats
    Float,
    /// texts, bytea, uuid
    Bytes,
    /// intervals
    Interval,
    /// arrays in one piece
    Array,
    /// texts whose case does not count
    Folded,
}

/// One aggregate.
#[derive(Clone, Copy, Debug)]
pub struct AggregateCode {
    /// which
    pub function: AggregateFunction,
    /// slot of the argument; none for count(*)
    pub argument: Option<u16>,
    /// kind of the argument
    pub kind: AggregateKind,
    /// each distinct value once
    pub distinct: bool,
    /// slot of the result
    pub result: u16,
    /// type of the result
    pub result_type: DataType,
}

impl AggregateKind {
    /// How values of a type are held.
    pub fn of(data_type: DataType) -> Self {
        match data_type {
            DataType::Numeric { scale, .. } => Self::Numeric { scale },
            DataType::AnyNumeric | DataType::WideNumeric { .. } => Self::AnyNumeric,
            DataType::Real | DataType::Double => Self::Float,
            DataType::Interval => Self::Interval,
            DataType::Array(_) => Self::Array,
            DataType::CiText => Self::Folded,
            _ if data_type.is_bytes() => Self::Bytes,
            _ => Self::Int,
        }
    }

    /// Whether values are bytes of a heap.
    pub const fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes | Self::Folded | Self::AnyNumeric | Self::Array)
    }
}

/// What is done with the rows of a visit.
#[derive(Clone, Debug)]
pub enum Gather {
    /// counts them
    Count,
    /// keeps the values of the first one in `row`'s slots
    First {
        /// keys and values
        row: RowRun,
        /// more than one row is an error
        single: bool,
        /// ORDER BY
        order: Box<[OrderCode]>,
        /// slot of OFFSET
        offset: Option<u16>,
    },
    /// aggregates
    Aggregate(Box<[AggregateCode]>),
    /// keeps all rows
    Rows {
        /// where
        to: RowsTo,
        /// keys and values
        row: RowRun,
        /// how values compare, for DISTINCT; empty without
        distinct: Box<[CompareKind]>,
        /// ORDER BY
        order: Box<[OrderCode]>,
        /// slot of LIMIT
        limit: Option<u16>,
        /// slot of OFFSET
        offset: Option<u16>,
        /// slot of what says whether a row counts for LIMIT; none: each does
        counted: Option<u16>,
        /// whether values point into the heap
        has_bytes: bool,
    },
}

/// One column to be set.
#[derive(Clone, Copy, Debug)]
pub struct SetCode {
    /// the column
    pub column: ColumnId,
    /// slot of its new value
    pub slot: u16,
}

/// An integer column to which a slot is added, or something like that; see
/// [`crate::bytecode::Op::Bump`].
#[derive(Clone, Copy, Debug)]
pub struct BumpCode {
    /// the column
    pub field: Field,
    /// what is added
    pub slot: u16,
    /// bits of the column
    pub bits: u8,
    /// what is done with it
    pub kind: BumpKind,
}

/// What a bump makes of a column and an operand. All of these commute with themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BumpKind {
    /// their sum
    Add,
    /// the column less the operand
    Subtract,
    /// the greater one
    Greatest,
    /// the smaller one
    Least,
}

impl BumpCode {
    /// What the column is after a change that finds `old`; `None` when that does not fit it.
    #[inline]
    pub fn apply(&self, old: i64, operand: i64) -> Option<i64> {
        let (value, overflow) = match self.kind {
            BumpKind::Add => old.overflowing_add(operand),
            BumpKind::Subtract => old.overflowing_sub(operand),
            BumpKind::Greatest => (old.max(operand), false),
            BumpKind::Least => (old.min(operand), false),
        };
        if overflow || !fits(value, self.bits) { None } else { Some(value) }
    }

    /// As [`BumpCode::apply`], where one of them is NULL.
    pub fn apply_null(&self, old: Datum, operand: Datum) -> Option<Datum> {
        let value = match self.kind {
            BumpKind::Add | BumpKind::Subtract => Datum::NULL,
            BumpKind::Greatest | BumpKind::Least if old.is_null() => operand,
            BumpKind::Greatest | BumpKind::Least => old,
        };
        (value.is_null() || fits(value.as_int(), self.bits)).then_some(value)
    }
}

/// An update's columns.
#[derive(Clone, Debug, Default)]
pub struct UpdateCode {
    /// columns and new values
    pub sets: Box<[SetCode]>,
    /// whether a column of varying size is among them, or one of an index in `long_keys`
    pub has_variable: bool,
    /// indexes (by number in the table's code) whose keys may become too long
    pub long_keys: Box<[u16]>,
}

/// An insert's row.
#[derive(Clone, Debug)]
pub struct InsertCode {
    /// slots of the row's values, in the order of the columns
    pub values: Box<[u16]>,
    /// the primary index's encoding of the key, over the values
    pub primary: Option<KeyCode>,
    /// ON CONFLICT DO NOTHING
    pub ignore_conflict: bool,
    /// indexes (by number in the table's code) whose keys may become too long
    pub long_keys: Box<[u16]>,
}

/// A CHECK constraint at one site.
#[derive(Clone, Debug)]
pub struct CheckCode {
    /// table number of the program
    pub table: u16,
    /// number of the check in its table
    pub check: u16,
    /// slots of the row's values, for the message; none for updates
    pub values: Option<Box<[u16]>>,
}

/// An access site.
#[derive(Clone, Debug)]
pub struct AccessCode {
    /// the table
    pub table: TableId,
    /// its number in [`crate::bytecode::Program::tables`]
    pub table_code: u16,
    /// whether the hook hands out its keys
    pub planned: bool,
    /// how rows are found
    pub path: PathCode,
    /// what of the rows is read
    pub reads: Reads,
    /// why
    pub intent: Intent,
    /// columns loaded for each row
    pub binds: Box<[Bind]>,
    /// columns loaded by [`crate::bytecode::Op::Load`] where they are used
    pub loads: Box<[Field]>,
    /// code of one visited row, after its binds: filter and, for reads, values
    pub visit: u32,
    /// code of one row to be changed, after its binds: new values and checks
    pub change: u32,
    /// code of one changed or removed row: values
    pub returning: u32,
    /// columns to be set
    pub update: Option<UpdateCode>,
    /// the whole update, where it is that simple
    pub bump: Option<BumpCode>,
    /// whether rows are removed
    pub remove: bool,
    /// the row of an insert
    pub insert: Option<InsertCode>,
    /// what is done with the rows, by `Visit`
    pub gather: Gather,
}
