//! A field: where one column lies in a row, and how it is read.

use super::Words;
use super::bytes::{append_bytes, append_trimmed, append_words, trimmed_len_of_word};
use crate::datum::Datum;
use crate::ids::ColumnId;

/// How a column is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FieldKind {
    /// 1-byte boolean
    Bool,
    /// 2-byte integer
    I16,
    /// 4-byte integer or date
    I32,
    /// 8-byte integer or timestamp
    I64,
    /// 4-byte float
    F32,
    /// 8-byte float
    F64,
    /// numeric in 8 bytes
    N64,
    /// numeric in 16 bytes, low word first
    N128,
    /// both words as they are
    Interval,
    /// 16 bytes: uuid
    Bytes16,
    /// char(n), n <= 8, in a cell of 1, 2, 4 or 8 bytes
    CharCell,
    /// char(n), n > 8, in whole words
    CharWords,
    /// text, varchar, bytea, json, ranges, arrays: a descriptor word, bytes behind the fixed part
    Var,
}

/// `null_bit` of a column that is NOT NULL.
pub(super) const NEVER_NULL: u16 = u16::MAX;

/// One column's place in a row, precomputed: 16 bytes, `Copy`, meant to be kept in programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// char: bytes; varchar: characters; numeric: decimal digits; otherwise `u32::MAX`
    pub(super) limit: u32,
    pub(super) word: u16,
    pub(super) null_bit: u16,
    pub(super) column: u16,
    /// lowest bit of the cell in its word
    pub(super) shift: u8,
    /// width of the cell in its word, 8 to 64
    pub(super) bits: u8,
    /// `64 - shift - bits`: moves the cell to the top of its word
    pub(super) up: u8,
    /// `64 - bits`: moves it down again
    pub(super) down: u8,
    pub(super) kind: FieldKind,
}

const _: () = assert!(size_of::<Field>() == 16);

impl Field {
    /// How the column is stored.
    #[inline(always)]
    pub const fn kind(self) -> FieldKind {
        self.kind
    }

    /// The column.
    #[inline]
    pub const fn column(self) -> ColumnId {
        ColumnId(self.column)
    }

    /// First word of the cell or descriptor.
    #[inline]
    pub const fn word(self) -> usize {
        self.word as usize
    }

    /// Whether the column may be NULL.
    #[inline(always)]
    pub const fn is_nullable(self) -> bool {
        self.null_bit != NEVER_NULL
    }

    /// Whether the column is NULL in this row.
    #[inline(always)]
    pub fn is_null<W: Words + ?Sized>(self, row: &W) -> bool {
        self.is_nullable() && {
            let (word, bit) = self.null_place();
            row.word(word) & bit != 0
        }
    }

    /// The cell as a sign-extended integer: the value of a boolean, integer, date, timestamp or
    /// 8-byte numeric that is not NULL; five instructions and no branch on the kind.
    #[inline(always)]
    pub fn read_int<W: Words + ?Sized>(self, row: &W) -> i64 {
        (row.word(self.word()) << (self.up & 63)) as i64 >> (self.down & 63)
    }

    /// The cell moved to the top of a word; below it stand cells that happen to be beside it.
    #[inline(always)]
    pub(crate) fn cell_on_top<W: Words + ?Sized>(self, row: &W) -> u64 {
        row.word(self.word()) << (self.up & 63)
    }

    /// Whether the column is NOT NULL and all of it one cell that [`Field::read_int`] reads.
    #[inline(always)]
    pub const fn is_plain_int(self) -> bool {
        (self.is_int() || matches!(self.kind, FieldKind::N64)) && !self.is_nullable()
    }

    /// `word`, the word of this cell, with the cell set to an integer, whose high bits are cut off
    /// if it does not fit.
    #[inline(always)]
    pub const fn with_int(self, word: u64, value: i64) -> u64 {
        let cell = (value as u64) << (self.shift & 63) & self.mask();
        word & !self.mask() | cell
    }

    /// Whether the cell is an integer as a datum holds it.
    #[inline(always)]
    pub(super) const fn is_int(self) -> bool {
        matches!(self.kind, FieldKind::Bool | FieldKind::I16 | FieldKind::I32 | FieldKind::I64)
    }

    /// Whether the column takes more than one cell of one word.
    #[inline(always)]
    pub(super) const fn takes_words(self) -> bool {
        matches!(
            self.kind,
            FieldKind::N128
                | FieldKind::Interval
                | FieldKind::Bytes16
                | FieldKind::CharWords
                | FieldKind::Var
        )
    }

    /// An integer moved to the cell's place, if it fits the cell.
    #[inline(always)]
    pub(super) const fn int_cell(self, value: i64) -> Option<u64> {
        let (unused, up) = (self.down & 63, self.up & 63);
        let high = value << unused;
        if high >> unused == value { Some(high as u64 >> up) } else { None }
    }

    /// Word and mask of the null bit of a nullable column.
    #[inline(always)]
    pub(super) const fn null_place(self) -> (usize, u64) {
        (self.null_bit as usize >> 6, 1 << (self.null_bit & 63))
    }

    /// The cell's bits inside its word.
    #[inline(always)]
    pub(super) const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits as u32) << self.shift
    }

    /// The cell, zero extended.
    #[inline(always)]
    pub(crate) fn cell<W: Words + ?Sized>(self, row: &W) -> u64 {
        (row.word(self.word()) & self.mask()) >> self.shift
    }

    /// Bytes of a char(n), characters of a varchar(n).
    #[inline]
    pub(crate) const fn limit(self) -> usize {
        self.limit as usize
    }

    /// First word and byte length of a variable column, kept inside the row whatever the
    /// descriptor says.
    #[inline]
    pub(crate) fn descriptor<W: Words + ?Sized>(self, row: &W) -> (usize, usize) {
        let (word, len) = split_descriptor(row.word(self.word()));
        (word, len.min(row.len().saturating_sub(word) * 8))
    }

    /// Both words of a 16-byte cell as one integer, low word first.
    #[inline]
    pub(crate) fn wide<W: Words + ?Sized>(self, row: &W) -> u128 {
        let (low, high) = (row.word(self.word()), row.word(self.word() + 1));
        u128::from(high) << 64 | u128::from(low)
    }
}

/// A descriptor's word offset and byte length.
#[inline(always)]
pub(super) const fn split_descriptor(descriptor: u64) -> (usize, usize) {
    (descriptor as u32 as usize, (descriptor >> 32) as usize)
}

/// A descriptor of `len` bytes from `word` on.
#[inline(always)]
pub(super) const fn descriptor(word: usize, len: usize) -> u64 {
    word as u64 | (len as u64) << 32
}

/// Reads one column. Bytes of text, bytea and uuid columns are appended to `heap`, where the
/// returned range points; a char(n) comes without its trailing blanks, which compare as if present.
#[inline]
pub fn read_field<W: Words + ?Sized>(field: Field, row: &W, heap: &mut Vec<u8>) -> Datum {
    if field.is_null(row) {
        return Datum::NULL;
    }
    if field.is_int() {
        return Datum::int(field.read_int(row));
    }
    if field.kind == FieldKind::N64 {
        return Datum::numeric(i128::from(field.read_int(row)));
    }
    read_other(field, row, heap)
}

#[inline(never)]
fn read_other<W: Words + ?Sized>(field: Field, row: &W, heap: &mut Vec<u8>) -> Datum {
    match field.kind {
        FieldKind::Var => {
            let (word, len) = field.descriptor(row);
            append_bytes(row, word, len, heap)
        }
        FieldKind::CharWords => append_trimmed(row, field.word(), field.limit(), heap),
        _ => read_cell(field, row, heap),
    }
}

#[inline(never)]
fn read_cell<W: Words + ?Sized>(field: Field, row: &W, heap: &mut Vec<u8>) -> Datum {
    match field.kind {
        FieldKind::CharCell => {
            let cell = field.cell(row);
            append_words(&[cell], trimmed_len_of_word(cell, field.limit()), heap)
        }
        FieldKind::Bytes16 => append_bytes(row, field.word(), 16, heap),
        FieldKind::N128 => Datum::numeric(field.wide(row) as i128),
        FieldKind::Interval => {
            let wide = field.wide(row);
            Datum::from_words((wide as u64, (wide >> 64) as u64))
        }
        FieldKind::F32 => Datum::float(f64::from(f32::from_bits(field.cell(row) as u32))),
        _ => Datum::float(f64::from_bits(field.cell(row))),
    }
}
