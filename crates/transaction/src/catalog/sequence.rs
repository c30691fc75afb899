//! Sequences: what CREATE SEQUENCE says, which number comes next, and whose they are.

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::types::DataType;

use super::{Catalog, Column, Draws, Numbering, Table, forget, schemas};
use crate::outcome::SqlError;

/// What CREATE SEQUENCE says. PostgreSQL's, section "CREATE SEQUENCE".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// `integer` or the like: what the numbers fit
    pub data_type: DataType,
    /// the first number
    pub start: i64,
    /// from one to the next; not 0
    pub increment: i64,
    /// the least number
    pub min: i64,
    /// the greatest
    pub max: i64,
    /// begins anew behind the last one
    pub cycle: bool,
}

impl Sequence {
    /// The number behind the last one, or the first; fails with 2200H at the end. `name`: for that.
    pub fn next_after(&self, last: Option<i64>, name: &str) -> Result<i64, SqlError> {
        let Some(last) = last else { return Ok(self.start) };
        let next = last.checked_add(self.increment);
        match next.filter(|next| (self.min..=self.max).contains(next)) {
            Some(next) => Ok(next),
            None if self.cycle => Ok(if self.increment > 0 { self.min } else { self.max }),
            None => {
                let (end, value) =
                    if self.increment > 0 { ("maximum", self.max) } else { ("minimum", self.min) };
                let message =
                    format!("nextval: reached {end} value of sequence \"{name}\" ({value})");
                let mut error = SqlError::new(b"2200H", message);
                error.hint = Some("Have it CYCLE, or begin anew with setval.".to_owned());
                Err(error)
            }
        }
    }
}

impl Column {
    /// The sequence that goes with it because it draws from that.
    fn owned(&self) -> Option<TableId> {
        let draws = self.draws?;
        (draws.as_written != Numbering::Default).then_some(draws.sequence)
    }
}

impl Catalog {
    /// The sequences that go with columns of a table, and with which.
    pub fn owned_by<'c>(
        &'c self,
        table: &'c Table,
    ) -> impl Iterator<Item = (ColumnId, TableId)> + 'c {
        let columns = table.columns.iter().enumerate();
        let drawn = columns.filter_map(|(at, column)| Some((ColumnId(at as u16), column.owned()?)));
        let others = self.owned.iter().filter(|(_, (of, _))| *of == table.id);
        drawn.chain(others.map(|(sequence, (_, column))| (*column, *sequence)))
    }

    /// Whether a sequence counts a column that is GENERATED AS IDENTITY.
    pub fn is_of_identity(&self, sequence: TableId) -> bool {
        let identity = |column: &Column| {
            let written = column.draws.map(|draws| draws.as_written);
            matches!(written, Some(Numbering::Always | Numbering::ByDefault))
        };
        self.drawing_from(sequence).any(|(_, column)| identity(column))
    }

    /// OWNED BY: has a sequence go with a column, or with none.
    pub fn own_sequence(&mut self, sequence: TableId, by: Option<(TableId, ColumnId)>) {
        self.owned.remove_mut(&sequence);
        let drawing: Vec<TableId> =
            self.drawing_from(sequence).map(|(table, _)| table.id).collect();
        for table in drawing {
            for column in &mut self.tables.change(table.index()).columns {
                if column.owned() == Some(sequence) {
                    column.draws = Some(Draws { sequence, as_written: Numbering::Default });
                }
            }
        }
        let Some((table, column)) = by else { return };
        let owner = &mut self.tables.change(table.index()).columns[column.index()];
        match owner.draws.is_some_and(|draws| draws.sequence == sequence) {
            true => owner.draws = Some(Draws { sequence, as_written: Numbering::Serial }),
            false => self.owned.insert_mut(sequence, (table, column)),
        }
    }

    /// Has a column draw from a sequence by its default, or have no default. A sequence that goes
    /// with the column goes on to.
    pub fn set_draws(&mut self, (table, column): (TableId, ColumnId), sequence: Option<TableId>) {
        let of = self.tables.change(table.index());
        let before = of.columns[column.index()].owned().filter(|before| Some(*before) != sequence);
        if let Some(before) = before {
            self.owned.insert_mut(before, (table, column));
        }
        let draws = sequence.map(|sequence| {
            let is_owned = of.columns[column.index()].owned() == Some(sequence)
                || self.owned.get(&sequence) == Some(&(table, column));
            let as_written = if is_owned { Numbering::Serial } else { Numbering::Default };
            self.owned.remove_mut(&sequence);
            Draws { sequence, as_written }
        });
        let of = &mut of.columns[column.index()];
        (of.draws, of.default) = (draws, None);
    }

    /// Columns of a table have other numbers, or have gone.
    pub(super) fn move_owned(&mut self, table: TableId, now_at: &[Option<ColumnId>]) {
        let of = self.owned.iter().filter(|(_, (owner, _))| *owner == table);
        let of: Vec<_> = of.map(|(sequence, (_, column))| (*sequence, *column)).collect();
        for (sequence, column) in of {
            match now_at.get(column.index()).copied().flatten() {
                Some(now) => self.owned.insert_mut(sequence, (table, now)),
                None => {
                    self.owned.remove_mut(&sequence);
                }
            }
        }
    }

    /// Gives an index another name in its schema.
    pub fn rename_index(&mut self, id: IndexId, name: &str) {
        let table = self.index(id).table;
        let schema = self.table(table).schema.clone();
        let index = self.indexes.change(id.index());
        let old = std::mem::replace(&mut index.name, name.to_owned());
        forget(&mut self.index_names, &schemas::key_in(&schema, &old), id);
        self.index_names.insert_mut(schemas::key_in(&schema, name).into_owned(), id);
        self.tables.change(table.index()); // it is another table to whoever compares it
    }
}
