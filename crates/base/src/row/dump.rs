//! A layout as text, for `docs/record-layout.md` and for people.

use super::RowLayout;
use std::fmt;

impl fmt::Display for RowLayout {
    /// One line per column: its number, type, word, bits inside the word, null bit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nulls, fixed) = (self.null_bits, self.fixed_words);
        writeln!(f, "{fixed} fixed words, {nulls} null bits, {} variable", self.variable.len())?;
        for (field, column) in self.fields.iter().zip(&self.columns) {
            let last_bit = u32::from(field.shift) + u32::from(field.bits) - 1;
            write!(
                f,
                "column {:<3} {:<20} word {:<4} bits {:>2}..={last_bit:<2} {:?}",
                field.column,
                column.data_type.to_string(),
                field.word,
                field.shift,
                field.kind,
            )?;
            match column.nullable {
                true => writeln!(f, " null bit {}", field.null_bit)?,
                false => writeln!(f)?,
            }
        }
        Ok(())
    }
}
