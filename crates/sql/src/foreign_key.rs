//! Foreign keys, and keys that can be deferred: enforced by accesses added around the statements
//! that change either side.
//!
//! Role         called by INSERT, UPDATE and DELETE. The engine knows no foreign keys: a check is
//!              a read of the other table's index, planned and locked like any other
//! Invariants   I1 a child row is written only if its parent was read, or one of its referencing
//!              columns is NULL (MATCH SIMPLE)
//!              I2 a parent row is removed only after a look for children found none
//!              I3 where the constraint is deferrable, what was not so is told whoever commits, and
//!                 the statement goes on ([`hotrow_transaction::deferred`])

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Deferral, ForeignKey, Index, IndexKind, ReferentialAction, Table,
};
use hotrow_transaction::deferred::{ESCAPES, Pending, SEPARATOR};
use hotrow_transaction::program::{
    Access, Consume, Effect, Expr, ExprKind, FOUND, OfConstraint, Path, RowsTo, SlotId, Statement,
    StatementKind,
};

use crate::comparison::{negated, replaced};
use crate::error::{Result, unsupported};
use crate::path::truth;
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Row;
use crate::typing::{bigint, cast, constant, joined, scalar};

/// What is checked of a row by reads beside the change itself.
#[derive(Clone, Copy)]
pub(crate) enum CheckedBehind<'c> {
    /// a foreign key: that there is a parent
    Parent(&'c ForeignKey),
    /// UNIQUE that can be deferred, whose index takes equal values: that there is no other row
    Key(&'c Index),
}

impl<'c> CheckedBehind<'c> {
    pub(crate) fn columns(self) -> &'c [ColumnId] {
        match self {
            Self::Parent(key) => &key.child_columns,
            Self::Key(index) => &index.columns,
        }
    }

    pub(crate) fn name(self) -> &'c str {
        match self {
            Self::Parent(key) => &key.name,
            Self::Key(index) => &index.name,
        }
    }
}

/// SET: columns and their new values.
type NewValues = Vec<(ColumnId, Expr)>;

impl<'c> Compiler<'c> {
    /// Checks the parents of a row about to be inserted. Returns the statements that must follow
    /// the insert instead: where a row may refer to itself, or a conflict may drop it, and where
    /// another one may have the same key.
    pub(crate) fn check_insert(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        values: &mut [Expr],
        ignore_conflict: bool,
    ) -> Result<Vec<Statement>> {
        let table = self.catalog.table(table.id); // for as long as there is a catalog
        let mut late = Vec::new();
        for of in self.checked_behind(table) {
            for column in of.columns() {
                self.held(out, &mut values[column.index()])?;
            }
            let own: Vec<Expr> = of.columns().iter().map(|c| values[c.index()].clone()).collect();
            let is_late = match of {
                CheckedBehind::Parent(key) => ignore_conflict || key.parent == key.child,
                CheckedBehind::Key(_) => true,
            };
            self.check_behind(if is_late { &mut late } else { out }, table, of, &own);
        }
        if !late.is_empty() {
            self.emit_touched(&mut late, 1);
        }
        Ok(late)
    }

    /// Prepares the checks of an UPDATE that changes their columns; `sure`: a foreign key that
    /// needs none. Returns the new values and the checks that follow the update.
    pub(crate) fn check_update(
        &mut self,
        out: &mut Vec<Statement>,
        table: &'c Table,
        row: &Row,
        (mut set, sure): (NewValues, Option<&str>),
    ) -> Result<(NewValues, Vec<Statement>)> {
        let mut late = Vec::new();
        for of in self.checked_behind(table) {
            let mut new = set.iter().filter(|(column, _)| of.columns().contains(column));
            let is_null = |value: &Expr| matches!(value.kind, ExprKind::Constant(Value::Null));
            let is_left = new.clone().next().is_none() || sure == Some(of.name());
            if is_left || new.any(|(_, value)| is_null(value)) {
                continue;
            }
            let mut values = Vec::new();
            for column in of.columns() {
                let value = set.iter_mut().find(|(c, _)| c == column).map(|(_, value)| value);
                match value {
                    Some(value) if !row.is_read_by(value) => {
                        self.held(out, value)?;
                        values.push(value.clone());
                    }
                    _ => {
                        self.needs_query = Some(unsupported(
                            self.place,
                            format!("this UPDATE of constraint \"{}\"", of.name()),
                            "set all its columns to values, or give the table a primary key",
                        ));
                        return Ok((set, late));
                    }
                }
            }
            self.check_behind(&mut late, table, of, &values);
        }
        Ok((set, late))
    }

    /// What is checked of a table's new rows by reads beside the change itself.
    pub(crate) fn checked_behind(&self, table: &'c Table) -> Vec<CheckedBehind<'c>> {
        let keys = self.catalog.deferrable_keys(table).map(CheckedBehind::Key);
        table.foreign_keys.iter().map(CheckedBehind::Parent).chain(keys).collect()
    }

    /// Checks one of these, of a row with these values of its columns.
    pub(crate) fn check_behind(
        &self,
        out: &mut Vec<Statement>,
        table: &Table,
        of: CheckedBehind<'_>,
        values: &[Expr],
    ) {
        match of {
            CheckedBehind::Parent(key) => self.check_parent(out, table, key, values),
            CheckedBehind::Key(index) => self.check_key(out, table, index, values),
        }
    }

    /// Looks for a second row with the values of a row that has been written; where there is one, a
    /// unique constraint that can be deferred is violated for now.
    fn check_key(&self, out: &mut Vec<Statement>, table: &Table, index: &Index, values: &[Expr]) {
        let typed = values.iter().zip(&index.columns);
        let prefix = typed
            .map(|(value, column)| key_of(value.clone(), table.columns[column.index()].data_type));
        let (id, prefix) = (index.id, prefix.collect());
        let path = Path::Range { index: id, prefix, lower: None, upper: None, descending: false };
        let offset = Some(bigint(1));
        let consume = Consume::First { into: vec![], strict: false, order_by: vec![], offset };
        let effect = Effect::Read(consume);
        let access = Access { table: table.id, path, bind: Vec::new(), filter: None, effect };
        let mut check = Vec::new();
        self.emit(&mut check, StatementKind::Access(Box::new(access)));
        let name = index.name.as_str();
        let message = format!("duplicate key value violates unique constraint \"{name}\"");
        let detail = key_detail(table, &index.columns, values, " already exists.");
        let of = OfConstraint {
            table: table.name.clone(),
            name: name.to_owned(),
            deferral: index.deferral,
            is_early: true,
            is_event: false,
        };
        let violated = violated(table.id, of, values);
        let mut then = Vec::new();
        self.emit_violation(&mut then, b"23505", message, (Some(detail), violated));
        let condition = self.slot_expr(FOUND);
        self.emit(&mut check, StatementKind::If { condition, then, otherwise: Vec::new() });
        self.guarded(out, values, check);
    }

    /// Checks that follow an UPDATE: only when it touched a row, and leaving FOUND and the row
    /// count as they were.
    pub(crate) fn emit_late_checks(
        &mut self,
        out: &mut Vec<Statement>,
        checks: Vec<Statement>,
    ) -> Result<()> {
        if checks.is_empty() {
            return Ok(());
        }
        let count = self.temporary("touched", DataType::BigInt)?;
        let row_count = hotrow_transaction::program::ROW_COUNT;
        let mut then = Vec::new();
        self.emit_assign(&mut then, count, self.slot_expr(row_count));
        then.extend(checks);
        self.emit_assign(&mut then, FOUND, truth(true));
        self.emit_assign(&mut then, row_count, self.slot_expr(count));
        let condition = self.slot_expr(FOUND);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        Ok(())
    }

    /// Reads the parent with this key; raises 23503 when there is none.
    pub(crate) fn check_parent(
        &self,
        out: &mut Vec<Statement>,
        table: &Table,
        key: &ForeignKey,
        values: &[Expr],
    ) {
        let parent = self.catalog.table(key.parent);
        let index = self.catalog.index(key.parent_index);
        let typed = values.iter().zip(&index.columns);
        let typed: Vec<Expr> = typed
            .map(|(value, column)| key_of(value.clone(), parent.columns[column.index()].data_type))
            .collect();
        let access = Access {
            table: key.parent,
            path: Path::Point { index: key.parent_index, key: typed },
            bind: Vec::new(),
            filter: None,
            effect: Effect::Read(Consume::Discard),
        };
        let mut check = Vec::new();
        self.emit(&mut check, StatementKind::Access(Box::new(access)));
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            table.name, key.name
        );
        let end = format!(" is not present in table \"{}\".", parent.name);
        let detail = key_detail(table, &key.child_columns, values, &end);
        let mut then = Vec::new();
        let violated = violated(key.child, of_key(key, table, key.deferral), values);
        self.emit_violation(&mut then, b"23503", message, (Some(detail), violated));
        let condition = negated(self.slot_expr(FOUND));
        self.emit(&mut check, StatementKind::If { condition, then, otherwise: Vec::new() });
        self.guarded(out, values, check);
    }

    /// Runs `check` only when no value is NULL.
    pub(crate) fn guarded(
        &self,
        out: &mut Vec<Statement>,
        values: &[Expr],
        mut check: Vec<Statement>,
    ) {
        let mut present = Vec::new();
        for value in values {
            match &value.kind {
                ExprKind::Constant(Value::Null) => return,
                ExprKind::Constant(_) => {}
                _ => {
                    let null = scalar(ExprKind::IsNull(Box::new(value.clone())), DataType::Boolean);
                    present.push(negated(null));
                }
            }
        }
        match joined(present, ExprKind::And) {
            None => out.append(&mut check),
            Some(condition) => {
                self.emit(out, StatementKind::If { condition, then: check, otherwise: vec![] });
            }
        }
    }

    /// Looks for children of the rows about to be deleted; raises 23503 when there is one.
    pub(crate) fn check_children_of_delete(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        source: &mut Source,
    ) -> Result<()> {
        let keys: Vec<ForeignKey> = self.keys_to(table.id).into_iter().cloned().collect();
        if keys.is_empty() {
            return Ok(());
        }
        // the referenced values are the key itself
        if let Path::Point { index, key: values } = &mut source.path
            && source.filter.is_none()
            && keys.iter().all(|key| key.parent_index == *index)
        {
            let index = self.catalog.index(*index);
            for (value, column) in values.iter_mut().zip(&index.columns) {
                let data_type = table.columns[column.index()].data_type;
                let exact = std::mem::replace(value, truth(true));
                *value = key_of(exact, data_type);
                self.held(out, value)?;
            }
            let values = values.clone();
            for key in &keys {
                self.check_child(out, table, (key, key.on_delete), &values)?;
            }
            return Ok(());
        }
        self.check_children_of_rows(out, table, source, &keys)
    }

    /// The general form: a loop over the rows that will be deleted.
    fn check_children_of_rows(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        source: &Source,
        keys: &[ForeignKey],
    ) -> Result<()> {
        let mut read = Source {
            row: source.row.clone(),
            path: source.path.clone(),
            filter: source.filter.clone(),
        };
        let mut columns = Vec::new();
        let mut into = Vec::new();
        let mut body = Vec::new();
        for key in keys {
            let mut values = Vec::new();
            for column in &self.catalog.index(key.parent_index).columns {
                let value = self.bind_in(&mut read.row, *column)?;
                let slot: SlotId = self.temporary("parent", value.data_type())?;
                columns.push(value);
                into.push(slot);
                values.push(self.slot_expr(slot));
            }
            self.check_child(&mut body, table, (key, key.on_delete), &values)?;
        }
        let rows = self.row_set();
        let consume = Consume::all_rows(RowsTo::Loop(rows), columns);
        // In whatever order: the first child found decides no more than the error's text.
        let query = Box::new(read.access(Effect::Read(consume)));
        self.emit(out, StatementKind::ForQuery { rows, query, into, body });
        Ok(())
    }

    /// Looks for one child of a parent key, whose action is NO ACTION or RESTRICT. `values` are in
    /// the order of the parent's index.
    pub(crate) fn check_child(
        &mut self,
        out: &mut Vec<Statement>,
        table: &Table,
        (key, action): (&ForeignKey, ReferentialAction),
        values: &[Expr],
    ) -> Result<()> {
        let child = self.catalog.table(key.child);
        let source = self.children(key, values)?;
        // the first child is enough
        let consume =
            Consume::First { into: vec![], strict: false, order_by: vec![], offset: None };
        let effect = Effect::Read(consume);
        let access = source.access(effect);
        let mut check = Vec::new();
        self.emit(&mut check, StatementKind::Access(Box::new(access)));
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \
             \"{}\"",
            table.name, key.name, child.name
        );
        let end = format!(" is still referenced from table \"{}\".", child.name);
        let referenced = &self.catalog.index(key.parent_index).columns;
        let detail = key_detail(table, referenced, values, &end);
        let mut then = Vec::new();
        let deferral = match action {
            ReferentialAction::Restrict => Deferral::Never,
            _ => key.deferral,
        };
        let violated = violated(key.child, of_key(key, child, deferral), values);
        self.emit_violation(&mut then, b"23503", message, (Some(detail), violated));
        let condition = self.slot_expr(FOUND);
        self.emit(&mut check, StatementKind::If { condition, then, otherwise: Vec::new() });
        self.guarded(out, values, check);
        Ok(())
    }

    /// The children of a key.
    pub(crate) fn children(&mut self, key: &ForeignKey, values: &[Expr]) -> Result<Source> {
        let child = self.catalog.table(key.child);
        let path = self.child_path(key, values);
        let mut source = Source { row: self.row_of(child.id, &child.name), path, filter: None };
        if matches!(source.path, Path::Whole) {
            let mut equal = Vec::new();
            for (column, value) in key.child_columns.iter().zip(values) {
                let stored = self.bind_in(&mut source.row, *column)?;
                let wanted = cast(value.clone(), stored.data_type());
                let op = hotrow_transaction::program::CompareOp::Equal;
                let kind = ExprKind::Compare(op, Box::new(stored), Box::new(wanted));
                equal.push(scalar(kind, DataType::Boolean));
            }
            source.filter = joined(equal, ExprKind::And);
        }
        Ok(source)
    }

    /// How the children of a key are found: by an index that starts with the referencing columns,
    /// else by looking at all rows, of which CREATE FUNCTION warns.
    fn child_path(&self, key: &ForeignKey, values: &[Expr]) -> Path {
        let child = self.catalog.table(key.child);
        let count = key.child_columns.len();
        for id in child.indexes() {
            let index = self.catalog.index(id);
            let starts = index.columns.len() >= count
                && index.columns[..count].iter().all(|c| key.child_columns.contains(c))
                && (index.kind == IndexKind::BTree || index.columns.len() == count);
            if !starts {
                continue;
            }
            let value_of = |column: &ColumnId| {
                let at = key.child_columns.iter().position(|c| c == column).unwrap_or(0);
                key_of(values[at].clone(), child.columns[column.index()].data_type)
            };
            let prefix: Vec<Expr> = index.columns[..count].iter().map(value_of).collect();
            return if index.unique && index.columns.len() == count {
                Path::Point { index: id, key: prefix }
            } else {
                Path::Range { index: id, prefix, lower: None, upper: None, descending: false }
            };
        }
        Path::Whole
    }
}

/// A key value in a column's type where that cannot lose anything.
pub(crate) fn key_of(value: Expr, column: DataType) -> Expr {
    if value.data_type().has_datums_of(column) { value } else { cast(value, column) }
}

/// What the error of a foreign key is of.
fn of_key(key: &ForeignKey, table: &Table, deferral: Deferral) -> OfConstraint {
    // The rows of one statement may refer to each other.
    let is_early = key.parent == key.child;
    let (table, name) = (table.name.clone(), key.name.clone());
    OfConstraint { table, name, deferral, is_early, is_event: false }
}

/// What an error tells of a table's constraint that is violated for these values of its columns,
/// and what whoever checks it again asks by.
fn violated(
    table: TableId,
    of: OfConstraint,
    values: &[Expr],
) -> (Option<Expr>, Option<OfConstraint>) {
    if !of.deferral.is_deferrable() {
        return (None, Some(of));
    }
    let begin = constant(Value::Text(Pending::begin(table, &of.name, false)), DataType::Text);
    let add = |hint, value: &Expr| with_value(hint, escaped(value.clone()));
    (Some(values.iter().fold(begin, add)), Some(of))
}

/// A value's text as a hint has it ([`hotrow_transaction::deferred`]).
pub(crate) fn escaped(value: Expr) -> Expr {
    let escape = |value, (from, to)| replaced(value, from, to);
    ESCAPES.into_iter().fold(cast(value, DataType::Text), escape)
}

/// A hint with one more value behind it.
pub(crate) fn with_value(hint: Expr, value: Expr) -> Expr {
    let separator = constant(Value::Text(SEPARATOR.to_string()), DataType::Text);
    concat(concat(hint, separator), value)
}

/// `Key (a, b)=(1, 2)` and an end.
fn key_detail(table: &Table, columns: &[ColumnId], values: &[Expr], end: &str) -> Expr {
    let names: Vec<&str> = columns.iter().map(|c| table.columns[c.index()].name.as_str()).collect();
    let text = |text: String| constant(Value::Text(text), DataType::Text);
    let mut detail = text(format!("Key ({})=(", names.join(", ")));
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            detail = concat(detail, text(", ".to_owned()));
        }
        detail = concat(detail, cast(value.clone(), DataType::Text));
    }
    concat(detail, text(format!("){end}")))
}

fn concat(left: Expr, right: Expr) -> Expr {
    scalar(ExprKind::Concat(Box::new(left), Box::new(right)), DataType::Text)
}
