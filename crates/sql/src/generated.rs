//! Columns that are computed from others of their row: GENERATED ALWAYS AS (...) STORED.
//!
//! Role         they are values of an INSERT, and assignments of an UPDATE, like any others: so
//!              they are planned, checked and indexed with them
//! Source       PostgreSQL 15, 5.3

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{Column, Generated, Table};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, Place, SlotId, Statement};
use hotrow_transaction::walk::{self, reads_any};
use hotrow_transaction::zoned::{self, Dependence};
use sqlparser::ast;

use crate::changes::TableDefinition;
use crate::definition::Draft;
use crate::drawn::is_random;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::scope::Compiler;
use crate::sequence::defaults_twice;
use crate::state::Row;
use crate::typing::Coercion;

impl Compiler<'_> {
    /// Has a column of a draft be computed.
    pub(crate) fn generate(
        &mut self,
        draft: &mut Draft,
        column: ColumnId,
        written: &ast::Expr,
        place: Place,
    ) -> Result<()> {
        let described = &draft.table.columns[column.index()];
        if described.draws.is_some() || described.default.is_some() {
            let (table, name) = (&draft.table.name, &described.name);
            let message =
                format!("both default and generation expression specified for column \"{name}\"");
            return Err(error(b"42601", place, format!("{message} of table \"{table}\"")));
        }
        if draft.table.generated.iter().any(|other| other.column == column) {
            return Err(defaults_twice(&draft.table.name, &described.name, place));
        }
        let (to, what) = (described.data_type, format!("column \"{}\"", described.name));
        let row = Row::of(&draft.table.name, draft.table.shown());
        let at = place_in(written, place);
        let (value, row) = self.with_row(row, |this| {
            this.value_for(written, to, Coercion::Assignment, || what.clone())
        })?;
        let generated = computed(self, value, &row, (Computed::Column, at))?;
        draft.table.generated.push(Generated { column, ..generated });
        Ok(())
    }

    /// Another type of a column of rows that there are: what its value becomes, computed from the
    /// old one, or as USING says.
    pub(crate) fn converted(
        &mut self,
        table: &Table,
        column: &Column,
        using: &ast::Expr,
        place: Place,
    ) -> Result<Generated> {
        let row = Row::of(&table.name, table.shown());
        let (value, row) = self.with_row(row, |this| {
            this.value_for(using, column.data_type, Coercion::Assignment, || {
                format!("column \"{}\"", column.name)
            })
        })?;
        computed(self, value, &row, (Computed::Converted, place))
    }

    /// The assignments of an UPDATE, and those of columns that are computed from what it assigns.
    pub(crate) fn set_generated(
        &mut self,
        row: &mut Row,
        set: &mut Vec<(ColumnId, Expr)>,
    ) -> Result<()> {
        let table = self.catalog.table(row.table);
        let is_set = |set: &[(ColumnId, Expr)], column| set.iter().any(|(of, _)| *of == column);
        for generated in &table.generated {
            let reads = generated.columns.iter().any(|column| is_set(set, *column));
            if !reads || is_set(set, generated.column) {
                continue;
            }
            let mut values = Vec::with_capacity(generated.columns.len());
            for column in &generated.columns {
                let new = set.iter().find(|(of, _)| of == column).map(|(_, value)| value.clone());
                values.push(match new {
                    Some(new) if is_random(&new) => {
                        let name = &table.columns[generated.column.index()].name;
                        let what = format!("a random value from which \"{name}\" is computed");
                        let hint = "assign it to a variable before, and the column to that";
                        return Err(unsupported(self.place, what, hint));
                    }
                    Some(new) => new,
                    None => self.bind_in(row, *column)?,
                });
            }
            set.push((generated.column, value_of(generated, &values)));
        }
        Ok(())
    }

    /// The computed ones among the values of a row that is inserted.
    pub(crate) fn fill_generated(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        values: &mut [Expr],
    ) -> Result<()> {
        for generated in &table.generated {
            let mut read = Vec::with_capacity(generated.columns.len());
            for column in &generated.columns {
                let value = &mut values[column.index()];
                self.held(out, value)?;
                read.push(value.clone());
            }
            values[generated.column.index()] = value_of(generated, &read);
        }
        Ok(())
    }
}

/// What a column is where those that it reads have these values.
pub(crate) fn value_of(generated: &Generated, values: &[Expr]) -> Expr {
    let slots = (0..).map(SlotId).zip(values).collect::<Vec<_>>();
    let mut value = generated.value.clone();
    walk::substitute(&mut value, &slots);
    value
}

/// What is computed from the columns of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Computed {
    /// a generated column
    Column,
    /// an expression that is indexed
    Indexed,
    /// the condition of an index
    Condition,
    /// an expression that tells a row's partition
    PartitionKey,
    /// what a value becomes where its column gets another type: once, when that is defined
    Converted,
}

impl Computed {
    /// That it may differ from one time to the other.
    fn varies(self) -> &'static str {
        match self {
            Self::Column => "generation expression is not immutable",
            Self::Indexed => "functions in index expression must be marked IMMUTABLE",
            Self::Condition => "functions in index predicate must be marked IMMUTABLE",
            Self::Converted => "functions in transform expression must be marked IMMUTABLE",
            Self::PartitionKey => "functions in partition key expression must be marked IMMUTABLE",
        }
    }
}

/// The error of an expression that may have another value at another time.
pub(crate) fn not_immutable(what: Computed, place: Place) -> SqlError {
    error(b"42P17", place, what.varies())
        .hint("compute it from columns of the row and constants only")
}

/// An expression over a row, as it is kept; of the first column, until somebody says another.
pub(crate) fn computed(
    compiler: &mut Compiler<'_>,
    mut value: Expr,
    row: &Row,
    (what, place): (Computed, Place),
) -> Result<Generated> {
    let bound = &row.bound;
    let is_other = |slot| !bound.iter().any(|(_, of)| *of == slot);
    let needs_query = compiler.needs_query.take().is_some();
    if needs_query && matches!(what, Computed::Indexed | Computed::Condition) {
        let hint = "keep what is looked for in a column of its own, and index that";
        return Err(unsupported(place, "this expression in an index", hint));
    }
    // What took effect before does so again: versions before this one knew one zone and style.
    let is_once = what == Computed::Converted;
    let may_vary = !is_once && !compiler.is_own;
    let varies = may_vary && zoned::dependence(&value) == Dependence::Meaning;
    if is_random(&value) || needs_query || varies || reads_any(&value, is_other) {
        return Err(not_immutable(what, place));
    }
    let position = |slot: SlotId| {
        bound.iter().position(|(_, of)| *of == slot).map_or(slot, |at| SlotId(at as u16))
    };
    walk::map_slots(&mut value, &position);
    let columns = bound.iter().map(|(column, _)| *column).collect();
    Ok(Generated { column: ColumnId(0), columns, value })
}

/// Fails where a computed column is computed from another one.
pub(crate) fn refuse_generated_of_generated(table: &TableDefinition, place: Place) -> Result<()> {
    let of = |column: &ColumnId| table.generated.iter().any(|other| other.column == *column);
    let reads = table.generated.iter().flat_map(|generated| &generated.columns);
    match reads.copied().find(of) {
        None => Ok(()),
        Some(column) => {
            let name = &table.columns[column.index()].name;
            let message =
                format!("cannot use generated column \"{name}\" in column generation expression");
            Err(error(b"42P17", place, message)
                .detail("A generated column cannot reference another generated column."))
        }
    }
}

/// The error of a computed column that is given a value, by INSERT or UPDATE.
pub(crate) fn refuse_given_generated(
    table: &Table,
    column: ColumnId,
    is_insert: bool,
    place: Place,
) -> Result<()> {
    if !table.generated.iter().any(|generated| generated.column == column) {
        return Ok(());
    }
    let name = &table.columns[column.index()].name;
    let message = match is_insert {
        true => format!("cannot insert a non-DEFAULT value into column \"{name}\""),
        false => format!("column \"{name}\" can only be updated to DEFAULT"),
    };
    Err(error(b"428C9", place, message).detail(format!("Column \"{name}\" is a generated column.")))
}
