//! The compiled layout of one table's rows.

use super::field::{Field, FieldKind, NEVER_NULL, split_descriptor};
use super::{RowError, Words, read_field};
use crate::datum::Datum;
use crate::ids::ColumnId;
use crate::types::DataType;

/// Words in the longest row: offsets of fixed cells fit 16 bits. 512 KiB.
pub const ROW_WORDS_MAX: usize = 1 << 16;

/// Largest precision of a numeric that is kept in 8 bytes: `10^18 < 2^63`.
pub(crate) const NUMERIC_DIGITS_IN_WORD: u8 = 18;

/// What a layout must know of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnType {
    /// its type
    pub data_type: DataType,
    /// whether it may be NULL
    pub nullable: bool,
}

/// Where each column of a table lies in its rows; see the module for the picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowLayout {
    pub(super) fields: Box<[Field]>,
    pub(super) columns: Box<[ColumnType]>,
    /// columns of kind `Var`; their descriptors lie in consecutive words in this order
    pub(super) variable: Box<[u16]>,
    pub(super) fixed_words: usize,
    /// columns that may be NULL
    pub(super) null_bits: usize,
}

impl RowLayout {
    /// Lays out `columns`. Fails only if the fixed part alone exceeds `ROW_WORDS_MAX`.
    pub fn new(columns: &[ColumnType]) -> Result<Self, RowError> {
        let mut space = Space::default();
        let null_bits = columns.iter().filter(|column| column.nullable).count();
        space.take_null_bits(null_bits);
        let mut fields = bare_fields(columns);
        // Stable, so that equal widths, and with them the descriptors, keep column order.
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(placement_rank(columns[i].data_type)));
        for i in order {
            let (word, shift) = space.take(byte_width(columns[i].data_type));
            fields[i].word = u16::try_from(word).map_err(|_| too_large(columns))?;
            fields[i].shift = shift;
            fields[i].up = fields[i].down - shift;
        }
        if space.words > ROW_WORDS_MAX || columns.len() >= usize::from(u16::MAX) {
            return Err(too_large(columns));
        }
        let is_variable = |field: &&Field| field.kind == FieldKind::Var;
        Ok(Self {
            variable: fields.iter().filter(is_variable).map(|field| field.column).collect(),
            fields: fields.into_boxed_slice(),
            columns: columns.into(),
            fixed_words: space.words.max(1),
            null_bits,
        })
    }

    /// The columns this layout was made for.
    pub fn columns(&self) -> &[ColumnType] {
        &self.columns
    }

    /// The place of a column.
    #[inline]
    pub fn field(&self, column: ColumnId) -> Field {
        self.fields[column.index()]
    }

    /// The places of all columns.
    #[inline]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Words of the fixed part, at least 1; rows without variable columns have exactly these.
    #[inline]
    pub const fn fixed_words(&self) -> usize {
        self.fixed_words
    }

    /// Whether all rows have the same length.
    #[inline]
    pub const fn is_fixed(&self) -> bool {
        self.variable.is_empty()
    }

    /// Reads one column; see [`read_field`].
    #[inline]
    pub fn read<W: Words + ?Sized>(&self, row: &W, column: ColumnId, heap: &mut Vec<u8>) -> Datum {
        read_field(self.field(column), row, heap)
    }

    /// Whether words from outside (a file) can be a row of this layout: its length is right, and
    /// the bytes of variable columns lie in it one behind the other. Then nothing that is read or
    /// written later goes astray. What the cells hold is not looked at: every bit pattern reads as
    /// some value.
    pub fn is_well_formed(&self, row: &[u64]) -> bool {
        if row.len() < self.fixed_words || row.len() > ROW_WORDS_MAX {
            return false;
        }
        let Some(&first) = self.variable.first() else { return row.len() == self.fixed_words };
        let first = self.fields[usize::from(first)].word();
        // Descriptors lie in consecutive words, in column order.
        let mut free_from = self.fixed_words;
        for descriptor in &row[first..first + self.variable.len()] {
            let (start, bytes) = split_descriptor(*descriptor);
            if start < free_from {
                return false;
            }
            free_from = start + bytes.div_ceil(8);
        }
        free_from <= row.len()
    }

    /// Bytes of a row's values alone, for the memory report: widths of fixed types, n of char(n),
    /// bytes of text and bytea; 0 for NULL.
    pub fn raw_bytes<W: Words + ?Sized>(&self, row: &W) -> usize {
        let bytes = |field: &Field| match field.kind {
            _ if field.is_null(row) => 0,
            FieldKind::Var => field.descriptor(row).1,
            FieldKind::CharCell | FieldKind::CharWords => field.limit(),
            FieldKind::N128 | FieldKind::Interval | FieldKind::Bytes16 => 16,
            _ => usize::from(field.bits) / 8,
        };
        self.fields.iter().map(bytes).sum()
    }
}

/// Fields with everything but their place.
fn bare_fields(columns: &[ColumnType]) -> Vec<Field> {
    let mut null_bits = 0..NEVER_NULL;
    let field = |(i, column): (usize, &ColumnType)| {
        let null_bit = if column.nullable { null_bits.next() } else { None };
        let bits = (byte_width(column.data_type).min(8) * 8) as u8;
        Field {
            limit: limit(column.data_type),
            word: 0,
            null_bit: null_bit.unwrap_or(NEVER_NULL),
            column: i as u16,
            shift: 0,
            bits,
            up: 0,
            down: 64 - bits,
            kind: kind(column.data_type),
        }
    };
    columns.iter().enumerate().map(field).collect()
}

fn too_large(columns: &[ColumnType]) -> RowError {
    let words = columns.iter().map(|column| byte_width(column.data_type).div_ceil(8)).sum();
    RowError::RowTooLarge { words }
}

fn kind(data_type: DataType) -> FieldKind {
    match data_type {
        DataType::Boolean => FieldKind::Bool,
        DataType::SmallInt | DataType::Enum(_) => FieldKind::I16,
        DataType::Integer | DataType::Date => FieldKind::I32,
        DataType::BigInt | DataType::Timestamp(_) | DataType::TimestampTz(_) => FieldKind::I64,
        DataType::Oid | DataType::Time(_) => FieldKind::I64,
        DataType::Real => FieldKind::F32,
        DataType::Double => FieldKind::F64,
        DataType::Numeric { precision, .. } if precision <= NUMERIC_DIGITS_IN_WORD => {
            FieldKind::N64
        }
        DataType::Numeric { .. } => FieldKind::N128,
        DataType::Text | DataType::Varchar(_) | DataType::Name => FieldKind::Var,
        DataType::CiText => FieldKind::Var,
        DataType::Bytea => FieldKind::Var,
        DataType::Json | DataType::Jsonb | DataType::CatalogChar => FieldKind::Var,
        DataType::RefCursor | DataType::Any(_) => FieldKind::Var,
        DataType::AnyNumeric | DataType::WideNumeric { .. } => FieldKind::Var,
        DataType::Range(_) | DataType::Encoded(_) => FieldKind::Var,
        DataType::Array(_) | DataType::Composite(_) => FieldKind::Var,
        DataType::Char(..=8) => FieldKind::CharCell,
        DataType::Char(_) => FieldKind::CharWords,
        DataType::Interval => FieldKind::Interval,
        DataType::Uuid => FieldKind::Bytes16,
    }
}

fn limit(data_type: DataType) -> u32 {
    match data_type {
        DataType::Char(n) | DataType::Varchar(n) => n,
        DataType::Numeric { precision, .. } => u32::from(precision),
        _ => u32::MAX,
    }
}

/// Bytes in the fixed part: 1, 2, 4, 8 or a multiple of 8.
fn byte_width(data_type: DataType) -> usize {
    match kind(data_type) {
        FieldKind::Bool => 1,
        FieldKind::I16 => 2,
        FieldKind::I32 | FieldKind::F32 => 4,
        FieldKind::I64 | FieldKind::F64 | FieldKind::N64 | FieldKind::Var => 8,
        FieldKind::N128 | FieldKind::Interval | FieldKind::Bytes16 => 16,
        FieldKind::CharCell => (limit(data_type) as usize).max(1).next_power_of_two(),
        FieldKind::CharWords => (limit(data_type) as usize).next_multiple_of(8),
    }
}

/// Widest first; descriptors after all other 8-byte cells, so that they are consecutive.
fn placement_rank(data_type: DataType) -> (usize, bool) {
    (byte_width(data_type).min(16), kind(data_type) != FieldKind::Var)
}

/// Free space of the fixed part: a buddy allocator over one growing run of words.
#[derive(Default)]
struct Space {
    words: usize,
    /// byte offsets of free pieces of 1, 2 and 4 bytes
    free: [Vec<usize>; 3],
}

impl Space {
    fn take_null_bits(&mut self, bits: usize) {
        match bits.div_ceil(8) {
            0 => {}
            bytes @ 1..=8 => drop(self.take(bytes.next_power_of_two())),
            bytes => self.words += bytes.div_ceil(8),
        }
    }

    /// The word and the shift of a cell of `bytes` (1, 2, 4, 8 or whole words).
    fn take(&mut self, bytes: usize) -> (usize, u8) {
        let offset = self.take_bytes(bytes);
        (offset / 8, (offset % 8 * 8) as u8)
    }

    fn take_bytes(&mut self, bytes: usize) -> usize {
        if bytes >= 8 {
            self.words += bytes / 8;
            return (self.words - bytes / 8) * 8;
        }
        let class = bytes.trailing_zeros() as usize;
        if let Some(offset) = self.free[class].pop() {
            return offset;
        }
        let offset = self.take_bytes(bytes * 2);
        self.free[class].push(offset + bytes);
        offset
    }
}
