//! ON CONFLICT: what an INSERT does where a row with the same key is there already.
//!
//! Role         an INSERT that gives way to a duplicate, and behind it, where it gave way, an
//!              UPDATE by the key: together they are one statement of one transaction, so nobody
//!              comes in between. Procedures and sessions have it alike

use hotrow_base::ids::{ColumnId, IndexId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Index, Table};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    CompareOp, Consume, Effect, Expr, ExprKind, FOUND, Insert, Place, Statement, StatementKind,
};
use hotrow_transaction::walk::substitute;
use sqlparser::ast::{self, SelectItem};

use crate::change::Receiver;
use crate::comparison::negated;
use crate::conflict_again::Again;
use crate::error::{Advice, Result, error, unsupported};
use crate::key_change::Updated;
use crate::mention::may_name;
use crate::path::{choose, column_of, conjuncts, held_conditions};
use crate::relation::RowBeside;
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::{Names, Row, Variable};
use crate::through::Target;
use crate::token::{Listed, conflict_part};
use crate::typing::{bigint, scalar};
use crate::written::object_name;

/// A column of PostgreSQL's rows; what RETURNING finds in that of a row which was inserted, and of
/// one that was updated in its place.
const XMAX: &str = "xmax";
pub(crate) const INSERTED: i64 = 0;
const UPDATED: i64 = 1;

/// What is written behind ON CONFLICT.
#[derive(Clone, Copy)]
pub(crate) enum OnConflict<'q> {
    /// nothing: a duplicate is an error
    Raise,
    /// DO NOTHING; of a conflict in this index only
    Ignore(Option<IndexId>),
    /// DO UPDATE of the row with the same key in this index
    Update(IndexId, &'q ast::DoUpdate),
}

impl OnConflict<'_> {
    /// Whether a duplicate leaves FOUND false.
    pub(crate) fn gives_way(self) -> bool {
        !matches!(self, Self::Raise)
    }

    /// Whether something is done about a duplicate.
    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::Update(..) | Self::Ignore(Some(_)))
    }
}

/// Values of columns, and a condition on the row that gets them.
pub(crate) type DoneInstead = (Vec<(ColumnId, Expr)>, Option<Expr>);

/// An INSERT that met a duplicate.
pub(crate) struct Duplicate<'a> {
    pub(crate) target: &'a Target<'a>,
    /// one per column, each a slot
    pub(crate) values: Vec<Expr>,
    pub(crate) returning: Option<&'a [SelectItem]>,
    /// how it is found out that the statement has changed its row before
    pub(crate) again: Again,
    /// whether the statement has no other row
    pub(crate) is_only: bool,
}

impl Compiler<'_> {
    /// Reads ON CONFLICT.
    pub(crate) fn on_conflict<'q>(
        &mut self,
        on: Option<&'q ast::OnInsert>,
        into: &Target<'_>,
        place: Place,
    ) -> Result<OnConflict<'q>> {
        let conflict = match on {
            None => return Ok(OnConflict::Raise),
            Some(ast::OnInsert::OnConflict(conflict)) => conflict,
            Some(_) => {
                return Err(unsupported(place, "ON DUPLICATE KEY", "write ON CONFLICT DO NOTHING"));
            }
        };
        let target = match &conflict.conflict_target {
            None => None,
            Some(target) => Some(self.closed(|this| this.conflict_index(target, into, place))?),
        };
        match (&conflict.action, target) {
            (ast::OnConflictAction::DoNothing, target) => {
                let has_late = self.catalog.deferrable_keys(into.table).next().is_some();
                if target.is_none() && has_late {
                    return Err(late_arbiter(place));
                }
                let only = self.unique_indexes(into.table).count() == 1;
                Ok(OnConflict::Ignore(target.filter(|_| !only)))
            }
            (ast::OnConflictAction::DoUpdate(update), Some(target)) => {
                Ok(OnConflict::Update(target, update))
            }
            (ast::OnConflictAction::DoUpdate(_), None) => {
                let message = "ON CONFLICT DO UPDATE requires inference specification or \
                               constraint name";
                Err(error(b"42601", place, message).hint("For example, ON CONFLICT (column_name)."))
            }
        }
    }

    fn unique_indexes<'t>(&'t self, table: &'t Table) -> impl Iterator<Item = IndexId> + 't {
        table.declared_indexes().filter(|id| self.catalog.index(*id).unique)
    }

    /// The unique index that is meant; 55000 if it is one that is checked later.
    fn arbiter(
        &self,
        table: &Table,
        mut is_meant: impl FnMut(&IndexId) -> bool,
        place: Place,
    ) -> Result<Option<IndexId>> {
        if let Some(found) = self.unique_indexes(table).find(&mut is_meant) {
            return Ok(Some(found));
        }
        match self.catalog.deferrable_keys(table).any(|index| is_meant(&index.id)) {
            true => Err(late_arbiter(place)),
            false => Ok(None),
        }
    }

    /// The unique index that a conflict target means.
    fn conflict_index(
        &mut self,
        target: &ast::ConflictTarget,
        into: &Target<'_>,
        place: Place,
    ) -> Result<IndexId> {
        let table = into.table;
        match target {
            ast::ConflictTarget::Columns(names) => {
                let no_index = || {
                    let message = "there is no unique or exclusion constraint matching the ON \
                                   CONFLICT specification";
                    error(b"42P10", place, message)
                        .hint("name all columns of the primary key or of a unique index")
                };
                let mut columns: Vec<ColumnId> = Vec::new();
                let mut held: Vec<Expr> = Vec::new();
                let row = Row { name: into.name().to_owned(), ..self.target_row(into) };
                let (named, row) = self.with_row(row, |this| {
                    for name in names {
                        match conflict_part(name, place)? {
                            Listed::Name(name) => {
                                columns.push(this.target_column(into, &name, place)?);
                            }
                            Listed::Expression(written) => {
                                let value = this.expr(&written)?;
                                let row = this.innermost_row(table.id);
                                let column = column_of(table, &row, &value).ok_or_else(no_index)?;
                                columns.push(column);
                            }
                            Listed::Condition(written) => {
                                held = conjuncts(Some(this.condition(&written, "WHERE")?));
                            }
                        }
                    }
                    Ok(())
                })?;
                self.needs_query.take().map_or(Ok(named), Err)?;
                let same = |id: &IndexId| {
                    let index = self.catalog.index(*id);
                    let key = table.key_of(index);
                    key.len() == columns.len()
                        && key.iter().all(|c| columns.contains(c))
                        && is_held(table, &row, index, &held)
                };
                self.arbiter(table, same, place)?.ok_or_else(no_index)
            }
            ast::ConflictTarget::OnConstraint(name) => {
                let name = object_name(name, place)?;
                let named = |id: &IndexId| self.catalog.index(*id).name == name;
                self.arbiter(table, named, place)?.ok_or_else(|| {
                    let table = &table.name;
                    let message =
                        format!("constraint \"{name}\" for table \"{table}\" does not exist");
                    error(b"42704", place, message)
                })
            }
        }
    }

    /// Keeps the values of a row, for INSERT and for what comes behind it.
    pub(crate) fn keep_row(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        values: &mut [Expr],
    ) -> Result<()> {
        for (value, column) in values.iter_mut().zip(&table.columns) {
            let slot = self.temporary(&format!("excluded.{}", column.name), column.data_type)?;
            let computed = std::mem::replace(value, self.slot_expr(slot));
            self.emit_assign(out, slot, computed);
        }
        Ok(())
    }

    /// What is done where an INSERT gave way.
    pub(crate) fn emit_conflict(
        &mut self,
        out: &mut Vec<Statement>,
        on: OnConflict<'_>,
        duplicate: &Duplicate<'_>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let table = duplicate.target.table;
        let (OnConflict::Ignore(Some(target)) | OnConflict::Update(target, _)) = on else {
            return Ok(());
        };
        if self.unique_indexes(table).count() > 1 {
            self.emit_other_duplicate(out, target, duplicate)?;
        }
        let OnConflict::Update(target, update) = on else {
            self.emit_touched(out, 0);
            return Ok(());
        };
        // Keys are kept of rows that were changed; a number tells nothing of that.
        let is_sure = update.selection.is_none() || matches!(duplicate.again, Again::Hits(_));
        if is_sure {
            self.emit_once_only(out, target, duplicate)?;
        }
        self.emit_conflict_update(out, (target, update), duplicate, into)?;
        if !is_sure {
            self.emit_once_only_changed(out, duplicate)?;
        }
        self.emit_hit_changed(out, target, duplicate)
    }

    fn emit_conflict_update(
        &mut self,
        out: &mut Vec<Statement>,
        (target, update): (IndexId, &ast::DoUpdate),
        duplicate: &Duplicate<'_>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let target_of = duplicate.target;
        let row = self.target_row(target_of);
        let fields = row.columns[..row.shown].iter().zip(&duplicate.values).enumerate();
        let excluded = fields.filter_map(|(at, (column, value))| match value.kind {
            ExprKind::Slot(slot) => Some(((column.name.clone(), slot), at)),
            _ => None,
        });
        let (columns, numbers): (Vec<_>, Vec<_>) = excluded.unzip();
        // To read a value that was to be inserted takes the right to read its column.
        let read_of = row.read_of.as_ref().map(|of| of.of_columns(&numbers));
        let excluded = [RowBeside { name: "excluded".to_owned(), columns, read_of }];
        let needed = self.needs_query.take();
        let mark = self.mark();
        let (mut compiled, mut row) = self.with_row(row, |this| {
            this.with_rows_beside(&excluded, |this| this.done_instead(target_of, update))
        })?;
        let [excluded] = excluded;
        if self.needs_query.is_some() && self.levels.is_empty() {
            self.back_to(&mark);
            row = self.target_row(target_of);
            compiled = self.done_instead_by_query(out, (target, update), duplicate, excluded)?;
        }
        self.needs_query = self.needs_query.take().or(needed);
        let (mut set, condition) = compiled;
        let (columns, mut row) = self.with_row(row, |this| match duplicate.returning {
            Some(items) => this.returned_beside_xmax(items, UPDATED),
            None => this.returning(None, into),
        })?;
        let mut wanted = self.same_key(&mut row, target, &duplicate.values)?;
        wanted.extend(conjuncts(condition));
        self.check_option(target_of, &mut row, &mut set)?;
        self.check_conflict_row(target_of, &mut row, &mut set)?;
        let chosen = choose(self.catalog, &row, wanted, &[]);
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let updated = Updated { source, set, sure: None };
        let returning = (duplicate.returning.is_some(), columns);
        let by = self.by_of(target_of);
        self.as_by(by, |this| this.update_rows(out, updated, returning, into))
    }

    /// What DO UPDATE assigns, and for which rows.
    pub(crate) fn done_instead(
        &mut self,
        target: &Target<'_>,
        update: &ast::DoUpdate,
    ) -> Result<DoneInstead> {
        let set = self.assignments(target, &update.assignments, (None, self.place))?;
        Ok((set, self.condition_of(update.selection.as_ref())?))
    }

    /// RETURNING of a row that was inserted, or updated in its place. By `xmax` PostgreSQL's rows
    /// tell which transaction had a lock on them when they were updated, so many ask by it whether
    /// a row is new: `(xmax = 0) AS is_new`.
    pub(crate) fn returned_beside_xmax(
        &mut self,
        items: &[SelectItem],
        xmax: i64,
    ) -> Result<Vec<(String, Expr)>> {
        if !items.iter().any(|item| may_name(&item.to_string(), XMAX)) {
            return self.returned_columns(items);
        }
        let slot = self.temporary(XMAX, DataType::BigInt)?;
        let variable = Variable::Scalar { slot, constant: true, not_null: true };
        self.names.push(Names { label: None, variables: vec![(XMAX.to_owned(), variable)] });
        let columns = self.returned_columns(items);
        self.names.pop();
        let mut columns = columns?;
        let known = bigint(xmax);
        columns.iter_mut().for_each(|(_, value)| substitute(value, &[(slot, &known)]));
        Ok(columns)
    }

    /// `column = value` for each column of an index, which a row with such values has.
    pub(crate) fn same_key(
        &mut self,
        row: &mut Row,
        index: IndexId,
        values: &[Expr],
    ) -> Result<Vec<Expr>> {
        let columns = self.catalog.index(index).columns.iter();
        let key: Vec<_> = columns.map(|column| values[column.index()].clone()).collect();
        self.key_conditions(row, index, &key)
    }

    /// `column = value` for each column of an index.
    pub(crate) fn key_conditions(
        &mut self,
        row: &mut Row,
        index: IndexId,
        key: &[Expr],
    ) -> Result<Vec<Expr>> {
        let columns = self.catalog.index(index).columns.iter();
        let mut wanted = Vec::new();
        for (column, value) in columns.zip(key) {
            let stored = Box::new(self.bind_in(row, *column)?);
            let equal = ExprKind::Compare(CompareOp::Equal, stored, Box::new(value.clone()));
            wanted.push(scalar(equal, DataType::Boolean));
        }
        Ok(wanted)
    }

    /// Of several unique indexes: the duplicate may have been in another one than the target. Then
    /// it is an error, which the INSERT says that does not give way.
    fn emit_other_duplicate(
        &mut self,
        out: &mut Vec<Statement>,
        target: IndexId,
        duplicate: &Duplicate<'_>,
    ) -> Result<()> {
        let table = duplicate.target.table;
        let mut row = self.row_of(table.id, &table.name);
        let wanted = self.same_key(&mut row, target, &duplicate.values)?;
        let chosen = choose(self.catalog, &row, wanted, &[]);
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let access = source.access(Effect::Read(Consume::Discard));
        self.emit(out, StatementKind::Access(Box::new(access)));
        let values = duplicate.values.clone();
        let insert =
            Insert { table: table.id, values, returning: Vec::new(), ignore_conflict: false };
        let mut then = Vec::new();
        self.emit(&mut then, StatementKind::Insert(Box::new(insert)));
        let condition = negated(self.slot_expr(FOUND));
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        Ok(())
    }
}

/// Whether an index is for all rows, or for all those that satisfy these conditions.
fn is_held(table: &Table, row: &Row, index: &Index, conditions: &[Expr]) -> bool {
    let Some(column) = table.condition_of(index) else { return true };
    held_conditions(table, row, conditions, &[]).iter().any(|bound| bound.column == column)
}

/// The error of ON CONFLICT with a constraint that is checked later.
fn late_arbiter(place: Place) -> SqlError {
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion \
                   constraints as arbiters";
    error(b"55000", place, message)
}
