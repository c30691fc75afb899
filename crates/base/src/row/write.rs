//! Making and changing rows.

use super::bytes::{blank_padded, fit_characters, trim_blanks, word_bytes};
use super::bytes::{for_each_padded_word, for_each_word_of};
use super::field::{Field, FieldKind, descriptor, split_descriptor};
use super::{ROW_WORDS_MAX, RowError, RowLayout, Words};
use crate::datum::Datum;
use crate::decimal::POWERS_OF_TEN;
use crate::ids::ColumnId;
use std::cell::Cell;

/// What became of an update in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Written {
    /// The word stores were emitted.
    InPlace,
    /// Nothing was emitted: the bytes need more words than the column has; see
    /// [`RowLayout::rebuild`].
    DoesNotFit,
}

impl RowLayout {
    /// Makes a row of one value per column. `out` is cleared and reused; `heap` is what the byte
    /// ranges of `values` point into. Texts are cut to varchar(n) and char(n) where only blanks
    /// are lost.
    ///
    /// # Panics
    /// If there is not one value per column.
    pub fn build(&self, values: &[Datum], heap: &[u8], out: &mut Vec<u64>) -> Result<(), RowError> {
        assert_eq!(values.len(), self.fields.len(), "one value per column");
        out.clear();
        out.resize(self.fixed_words, 0);
        let mut cells = Cells { heap, words: out, end: self.fixed_words };
        for (field, value) in self.fields.iter().zip(values) {
            cells.put(field, value)?;
        }
        if self.is_fixed() {
            return Ok(());
        }
        let words = cells.end;
        self.append_variables(values, heap, words, out)
    }

    /// The last step of [`RowLayout::build`], once the row's length in words is known.
    #[inline(never)]
    fn append_variables(
        &self,
        values: &[Datum],
        heap: &[u8],
        words: usize,
        out: &mut Vec<u64>,
    ) -> Result<(), RowError> {
        check_size(words)?;
        out.reserve(words - self.fixed_words);
        for &column in &self.variable {
            let column = usize::from(column);
            append_variable(&self.fields[column], values[column], heap, out);
        }
        Ok(())
    }

    /// Emits the word stores that change one column of `row` where it lies. The stores of one call
    /// must be visible in `row` before the next call on the same row. Writing fixed columns and
    /// NULL always succeeds in place.
    #[inline]
    pub fn write_field<W: Words + ?Sized>(
        &self,
        field: Field,
        value: Datum,
        heap: &[u8],
        row: &W,
        mut store: impl FnMut(usize, u64),
    ) -> Result<Written, RowError> {
        if value.is_null() {
            write_null(field, row, store)?;
            return Ok(Written::InPlace);
        }
        match field.kind {
            FieldKind::Var => return self.write_variable(field, value, heap, row, store),
            FieldKind::N128 | FieldKind::Interval | FieldKind::Bytes16 | FieldKind::CharWords => {
                clear_null(field, row, &mut store);
                for_each_word(field, value, heap, |i, word| store(field.word() + i, word))?;
            }
            _ => {
                let cell = cell(field, value, heap)?;
                let mut word = row.word(field.word()) & !field.mask() | cell;
                if field.is_nullable() {
                    let (null_word, bit) = field.null_place();
                    // The bit may share its word with the cell: one store then does both.
                    if null_word == field.word() {
                        word &= !bit;
                    } else {
                        clear_null(field, row, &mut store);
                    }
                }
                store(field.word(), word);
            }
        }
        Ok(Written::InPlace)
    }

    /// Makes the row that `row` becomes by `changes` (for a column given twice, the last counts).
    /// `out` is cleared and reused, and has no slack: each variable column has just the words it
    /// needs.
    pub fn rebuild<W: Words + ?Sized>(
        &self,
        row: &W,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
        out: &mut Vec<u64>,
    ) -> Result<(), RowError> {
        out.clear();
        out.extend((0..self.fixed_words).map(|i| row.word(i)));
        for &column in &self.variable {
            let field = self.fields[usize::from(column)];
            let change = changes.iter().rev().find(|(changed, _)| changed.0 == column);
            match change {
                Some(&(_, value)) => {
                    let end = out.len();
                    Cells { heap, words: out, end }.put(&field, &value)?;
                    append_variable(&field, value, heap, out);
                }
                None => copy_variable(field, row, out),
            }
        }
        for &(column, value) in changes {
            let field = self.field(column);
            if field.kind != FieldKind::Var {
                let cells = Cell::from_mut(out.as_mut_slice()).as_slice_of_cells();
                let store = |i: usize, word| cells[i].set(word);
                let _always_fits = self.write_field(field, value, heap, cells, store)?;
            }
        }
        check_size(out.len())
    }

    fn write_variable<W: Words + ?Sized>(
        &self,
        field: Field,
        value: Datum,
        heap: &[u8],
        row: &W,
        mut store: impl FnMut(usize, u64),
    ) -> Result<Written, RowError> {
        let bytes = variable_bytes(field, value, heap)?;
        let (start, _) = split_descriptor(row.word(field.word()));
        let capacity = self.variable_end(field, row).saturating_sub(start);
        if bytes.len().div_ceil(8) > capacity {
            return Ok(Written::DoesNotFit);
        }
        clear_null(field, row, &mut store);
        for_each_word_of(bytes, |i, word| store(start + i, word));
        store(field.word(), descriptor(start, bytes.len()));
        Ok(Written::InPlace)
    }

    /// The word behind the last one a variable column may use: where the next one starts (I2).
    fn variable_end<W: Words + ?Sized>(&self, field: Field, row: &W) -> usize {
        match self.variable.last() {
            Some(&last) if last != field.column => {
                split_descriptor(row.word(field.word() + 1)).0.min(row.len())
            }
            _ => row.len(),
        }
    }
}

/// The fixed part of a row being made.
struct Cells<'a> {
    heap: &'a [u8],
    words: &'a mut [u64],
    /// where the bytes of the next variable column will start
    end: usize,
}

impl Cells<'_> {
    /// Puts one value where its cell is still zero, or its descriptor may be replaced. The bytes
    /// of a variable column are checked here and appended later: [`append_variable`].
    #[inline(always)]
    fn put(&mut self, field: &Field, value: &Datum) -> Result<(), RowError> {
        if !field.is_int() || value.high_half() != 0 {
            return self.put_other(field, value);
        }
        let cell = field.int_cell(value.as_int());
        self.words[field.word()] |= cell.ok_or(RowError::OutOfRange { column: field.column() })?;
        Ok(())
    }

    /// One function per kind of cell, so that none saves registers that only another one needs.
    #[inline(never)]
    fn put_other(&mut self, field: &Field, value: &Datum) -> Result<(), RowError> {
        match field.kind {
            _ if value.is_null() => self.put_null(field),
            FieldKind::CharWords => self.put_char_words(field, value),
            FieldKind::Var => self.put_descriptor(field, value),
            _ if field.takes_words() => self.put_words(field, value),
            _ => self.put_cell(field, value),
        }
    }

    #[inline(always)]
    fn put_null(&mut self, field: &Field) -> Result<(), RowError> {
        let (word, bit) = nullable_place(*field)?;
        self.words[word] |= bit;
        if field.kind == FieldKind::Var {
            self.words[field.word()] = descriptor(self.end, 0);
        }
        Ok(())
    }

    #[inline(always)]
    fn put_cell(&mut self, field: &Field, value: &Datum) -> Result<(), RowError> {
        self.words[field.word()] |= cell(*field, *value, self.heap)?;
        Ok(())
    }

    #[inline(never)]
    fn put_char_words(&mut self, field: &Field, value: &Datum) -> Result<(), RowError> {
        let bytes = char_bytes(*field, *value, self.heap)?;
        let words = &mut self.words[field.word()..][..field.limit().div_ceil(8)];
        for_each_padded_word(bytes, field.limit(), |i, word| words[i] = word);
        Ok(())
    }

    #[inline(never)]
    fn put_words(&mut self, field: &Field, value: &Datum) -> Result<(), RowError> {
        let words = &mut self.words[field.word()..];
        for_each_word(*field, *value, self.heap, |i, word| words[i] = word)
    }

    #[inline(never)]
    fn put_descriptor(&mut self, field: &Field, value: &Datum) -> Result<(), RowError> {
        let len = variable_bytes(*field, *value, self.heap)?.len();
        if field.is_nullable() {
            let (word, bit) = field.null_place();
            self.words[word] &= !bit;
        }
        self.words[field.word()] = descriptor(self.end, len);
        self.end += len.div_ceil(8);
        Ok(())
    }
}

/// Appends the bytes of a variable column as far as its descriptor says, whose place is the end.
fn append_variable(field: &Field, value: Datum, heap: &[u8], out: &mut Vec<u64>) {
    let (start, len) = split_descriptor(out[field.word()]);
    debug_assert_eq!(start, out.len(), "variable columns lie in column order");
    // NULL has a length of 0, and what reads as its range starts at 0.
    let bytes = &heap[value.as_range().start as usize..][..len];
    for_each_word_of(bytes, |_, word| out.push(word));
}

fn copy_variable<W: Words + ?Sized>(field: Field, row: &W, out: &mut Vec<u64>) {
    let (start, len) = field.descriptor(row);
    out[field.word()] = descriptor(out.len(), len);
    out.extend((0..len.div_ceil(8)).map(|i| row.word(start + i)));
}

fn write_null<W: Words + ?Sized>(
    field: Field,
    row: &W,
    mut store: impl FnMut(usize, u64),
) -> Result<(), RowError> {
    let (word, bit) = nullable_place(field)?;
    if field.kind == FieldKind::Var {
        let (start, _) = split_descriptor(row.word(field.word()));
        store(field.word(), descriptor(start, 0));
    }
    store(word, row.word(word) | bit);
    Ok(())
}

fn nullable_place(field: Field) -> Result<(usize, u64), RowError> {
    if field.is_nullable() {
        Ok(field.null_place())
    } else {
        Err(RowError::NullInNotNull { column: field.column() })
    }
}

/// Clears the null bit of a column whose cell lies in another word, if it is set.
#[inline]
fn clear_null<W: Words + ?Sized>(field: Field, row: &W, store: &mut impl FnMut(usize, u64)) {
    if field.is_null(row) {
        let (word, bit) = field.null_place();
        store(word, row.word(word) & !bit);
    }
}

/// The cell of a value that takes at most 8 bytes, at its place in its word, checked against the
/// column's range.
#[inline(always)]
fn cell(field: Field, value: Datum, heap: &[u8]) -> Result<u64, RowError> {
    let cell = if field.is_int() {
        field.int_cell(value.as_int())
    } else if field.kind == FieldKind::N64 {
        let limit = POWERS_OF_TEN[field.limit()] as u64;
        let units = value.as_small_numeric().filter(|units| units.unsigned_abs() < limit);
        units.map(|units| units as u64)
    } else {
        return other_cell(field, value, heap);
    };
    cell.ok_or(RowError::OutOfRange { column: field.column() })
}

#[inline(never)]
fn other_cell(field: Field, value: Datum, heap: &[u8]) -> Result<u64, RowError> {
    let out_of_range = RowError::OutOfRange { column: field.column() };
    let cell = match field.kind {
        FieldKind::F32 => narrow(value.as_float()).ok_or(out_of_range)?.to_bits().into(),
        FieldKind::CharCell => blank_padded(char_bytes(field, value, heap)?, field.limit()),
        _ => value.as_float().to_bits(),
    };
    Ok(cell << field.shift)
}

/// The words of a value that takes whole words of the fixed part.
#[inline(always)]
fn for_each_word(
    field: Field,
    value: Datum,
    heap: &[u8],
    mut store: impl FnMut(usize, u64),
) -> Result<(), RowError> {
    match field.kind {
        FieldKind::N128 => {
            let out_of_range = RowError::OutOfRange { column: field.column() };
            let units = numeric(field, value).ok_or(out_of_range)?;
            store(0, units as u64);
            store(1, (units >> 64) as u64);
        }
        FieldKind::Interval => {
            let (low, high) = value.to_words();
            store(0, low);
            store(1, high);
        }
        FieldKind::CharWords => {
            for_each_padded_word(char_bytes(field, value, heap)?, field.limit(), store);
        }
        _ => {
            let bytes = &heap[value.as_range().range()];
            debug_assert_eq!(bytes.len(), 16, "a uuid has 16 bytes");
            store(0, word_bytes(bytes));
            store(1, word_bytes(bytes.get(8..).unwrap_or(&[])));
        }
    }
    Ok(())
}

fn numeric(field: Field, value: Datum) -> Option<i128> {
    let units = value.as_numeric();
    (units.unsigned_abs() < POWERS_OF_TEN[field.limit()].unsigned_abs()).then_some(units)
}

/// A double as a real, unless it is finite and its real is not.
fn narrow(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (narrow.is_finite() || !value.is_finite()).then_some(narrow)
}

#[inline(always)]
fn char_bytes(field: Field, value: Datum, heap: &[u8]) -> Result<&[u8], RowError> {
    let bytes = trim_blanks(&heap[value.as_range().range()]);
    if bytes.len() > field.limit() {
        return Err(RowError::TooLong { column: field.column(), limit: field.limit });
    }
    Ok(bytes)
}

fn variable_bytes(field: Field, value: Datum, heap: &[u8]) -> Result<&[u8], RowError> {
    let bytes = &heap[value.as_range().range()];
    fit_characters(bytes, field.limit)
        .ok_or(RowError::TooLong { column: field.column(), limit: field.limit })
}

fn check_size(words: usize) -> Result<(), RowError> {
    if words > ROW_WORDS_MAX {
        return Err(RowError::RowTooLarge { words });
    }
    Ok(())
}
