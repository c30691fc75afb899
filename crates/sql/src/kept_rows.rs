//! Rows that a statement leaves for others: those of a change in WITH, and of a temporary table.
//!
//! Role         gathers them in arrays, one for each column, which FROM puts together again. So
//!              they are variables of the procedure like all others: planned, undone and repeated
//!              with it
//! Source       PostgreSQL 15, 7.8.2: a change in WITH is done once, whether anybody reads its
//!              rows. We differ: there, all parts of a statement see the tables as they were
//!              before it. Here a change in WITH is done before what stands behind it, which must
//!              not read a table that it has changed (0A000)

use std::borrow::Cow;

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{HostFunction, Plan};
use hotrow_transaction::program::{
    Effect, Expr, ExprKind, FOUND, Function, Place, ROW_COUNT, SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::consume::Sink;
use crate::error::{Result, error, unsupported};
use crate::relation::level::{Bound, ExpandedBy, Expansion};
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{KeptColumn, KeptRows};
use crate::typing::{bigint, call, cast, packed, scalar};
use crate::written::{changed_by, has_changes, ident_name, object_name};

/// What is refused of CREATE TEMP TABLE in a program.
pub(crate) const NO_QUERY: &str = "a temporary table without a query";

impl Compiler<'_> {
    /// Compiles a statement whose rows are kept under a name.
    pub(crate) fn keep_rows(
        &mut self,
        out: &mut Vec<Statement>,
        (name, renamed): (String, Vec<String>),
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<()>,
    ) -> Result<()> {
        let around = self.keeping.open.replace(Vec::new());
        let mut body = Vec::new();
        let compiled = self.with_what_comes_before(&mut body, compile);
        let columns = std::mem::replace(&mut self.keeping.open, around).unwrap_or_default();
        compiled?;
        let slots: Vec<SlotId> = columns.iter().map(|column| column.slot).collect();
        self.emit_nulls(out, &slots); // in a loop the rows are those of this turn
        out.append(&mut body);
        self.keeping.rows.push(KeptRows { name, renamed, columns });
        Ok(())
    }

    /// Keeps a row of the statement that is compiled.
    pub(crate) fn emit_kept_row(
        &mut self,
        out: &mut Vec<Statement>,
        columns: &[(String, Expr)],
    ) -> Result<()> {
        if self.keeping.open.as_ref().is_some_and(Vec::is_empty) {
            let mut kept = Vec::new();
            for (name, value) in columns {
                let of = SqlType::Array(value.sql_type.packed());
                let slot = self.slot(&format!("$kept.{name}"), of)?;
                kept.push(KeptColumn { name: name.clone(), slot });
            }
            self.keeping.open = Some(kept);
        }
        let slots: Vec<SlotId> =
            self.keeping.open.iter().flatten().map(|column| column.slot).collect();
        for (slot, (_, value)) in slots.into_iter().zip(columns) {
            self.emit_append(out, slot, packed(value.clone()));
        }
        Ok(())
    }

    /// Slots for the columns of a row that is to be kept.
    pub(crate) fn slots_of_row(&mut self, columns: &[(String, Expr)]) -> Result<Vec<SlotId>> {
        columns.iter().map(|(name, value)| self.slot(&format!("${name}"), value.sql_type)).collect()
    }

    /// The rows that are kept under a name, for FROM; none: there are none.
    pub(crate) fn kept_named(&mut self, name: &str, place: Place) -> Result<Option<Bound>> {
        let Some(kept) = self.keeping.rows.iter().rev().find(|known| known.name == name) else {
            return Ok(None);
        };
        let KeptRows { renamed, columns, .. } = kept.clone();
        if columns.is_empty() {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            return Err(error(b"0A000", place, message));
        }
        let (mut all, mut outputs) = (Vec::new(), Vec::new());
        for (at, KeptColumn { name, slot }) in columns.into_iter().enumerate() {
            let array = self.slot_expr(slot);
            let output = self.temporary("kept", array.data_type())?;
            outputs.push((renamed.get(at).cloned().unwrap_or(name), output));
            all.push(Expansion {
                by: ExpandedBy::Function(HostFunction::Unnest),
                arguments: vec![array],
                names: Vec::new(),
                outputs: vec![output],
                is_numbered: false,
            });
        }
        let step = Box::new(self.expansion_step(&all)?);
        Ok(Some(Bound { plan: Plan::Extend { input: Box::new(Plan::One), step }, outputs }))
    }

    /// Fails where WITH has changed a table before it is read.
    pub(crate) fn refuse_changed(&self, table: TableId, place: Place) -> Result<()> {
        if !self.keeping.changed.contains(&table) {
            return Ok(());
        }
        let name = &self.catalog.table(table).name;
        let by = if self.keeping.changes_return { "RETURNING's statement" } else { "WITH" };
        let what = format!("reading table \"{name}\", which {by} changes,");
        let advice = "read what the change returns, or write it as a statement of its own before";
        Err(unsupported(place, what, advice))
    }

    /// Compiles a statement with changes in its WITH: first these, then what is left of it.
    pub(crate) fn behind_changes<T>(
        &mut self,
        out: &mut Vec<Statement>,
        query: &ast::Query,
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>, &ast::Query) -> Result<T>,
    ) -> Result<T> {
        if !has_changes(query) || !self.is_procedure || !self.levels.is_empty() {
            return compile(self, out, query);
        }
        let around = self.keeping.clone();
        let rest = self.changes_of_with(out, query);
        let compiled = rest.and_then(|rest| compile(self, out, &rest));
        self.keeping = around;
        compiled
    }

    fn changes_of_with<'q>(
        &mut self,
        out: &mut Vec<Statement>,
        query: &'q ast::Query,
    ) -> Result<Cow<'q, ast::Query>> {
        let Some(with) = &query.with else { return Ok(Cow::Borrowed(query)) };
        let mut left = with.clone();
        left.cte_tables.clear();
        for cte in &with.cte_tables {
            let Some((_, change)) = changed_by(&cte.query) else {
                left.cte_tables.push(cte.clone());
                continue;
            };
            if cte.query.with.is_some() {
                let advice = "write its queries before it, in the same WITH";
                return Err(unsupported(self.place, "WITH in a query of WITH", advice));
            }
            let name = ident_name(&cte.alias.name);
            let columns = cte.alias.columns.iter().map(|column| ident_name(&column.name));
            let kept = (name, columns.collect());
            let before = (!left.cte_tables.is_empty()).then_some(&left);
            let begin = out.len();
            self.keep_rows(out, kept, |this, out| match before {
                Some(_) => this.change_of_rows(out, (change, before), None),
                None => this.sql(change, None, out),
            })?;
            self.note_changed(&out[begin..]);
        }
        let mut rest = query.clone();
        rest.with = (!left.cte_tables.is_empty()).then_some(left);
        Ok(Cow::Owned(rest))
    }

    /// CREATE TEMP TABLE ... ON COMMIT DROP AS: rows that the rest of the procedure reads.
    pub(crate) fn temporary_table(
        &mut self,
        out: &mut Vec<Statement>,
        table: &ast::CreateTable,
    ) -> Result<()> {
        let place = self.place;
        let name = object_name(&table.name, place)?;
        let Some(query) = &table.query else {
            let advice = "write CREATE TEMP TABLE name ON COMMIT DROP AS SELECT ...";
            return Err(unsupported(place, NO_QUERY, advice));
        };
        if table.on_commit != Some(ast::OnCommit::Drop) {
            let advice = "write ON COMMIT DROP: its rows are the call's";
            return Err(unsupported(place, "a temporary table that outlives its call", advice));
        }
        if self.keeping.has(&name) && !table.if_not_exists && self.loops == 0 {
            return Err(error(b"42P07", place, format!("relation \"{name}\" already exists")));
        }
        let renamed = table.columns.iter().map(|column| ident_name(&column.name)).collect();
        let found = self.temporary("found", DataType::Boolean)?;
        self.emit_assign(out, found, self.slot_expr(FOUND));
        self.keep_rows(out, (name, renamed), |this, out| {
            this.emit_query(out, query, Wanted::All, |_, _| Ok(Sink::Kept))
        })?;
        // PostgreSQL's leaves FOUND alone, and tells how many rows there are.
        self.emit_assign(out, FOUND, self.slot_expr(found));
        let first = self.keeping.rows.last().and_then(|kept| kept.columns.first());
        let count = match first.map(|column| self.slot_expr(column.slot)) {
            Some(array) => {
                cast(call(Function::Cardinality, vec![array], DataType::Integer), DataType::BigInt)
            }
            None => bigint(0),
        };
        let count = ExprKind::Coalesce(vec![count, bigint(0)]);
        self.emit_assign(out, ROW_COUNT, scalar(count, DataType::BigInt));
        Ok(())
    }

    /// DROP TABLE of temporary ones.
    pub(crate) fn drop_temporary(
        &mut self,
        names: &[ast::ObjectName],
        if_exists: bool,
    ) -> Result<()> {
        for name in names {
            let name = object_name(name, self.place)?;
            if self.keeping.forget(&name) {
                continue;
            }
            if self.table_named(&name).is_some() {
                let advice = "drop it in a statement of its own";
                return Err(unsupported(self.place, "DROP TABLE in a procedure", advice));
            }
            if !if_exists {
                let message = format!("table \"{name}\" does not exist");
                return Err(error(b"42P01", self.place, message));
            }
        }
        Ok(())
    }

    /// Notes the tables that statements change.
    pub(crate) fn note_changed(&mut self, body: &[Statement]) {
        let changed = &mut self.keeping.changed;
        walk::statements(body, &mut |statement| match &statement.kind {
            StatementKind::Insert(insert) => changed.push(insert.table),
            StatementKind::Access(access) | StatementKind::ForQuery { query: access, .. }
                if !matches!(access.effect, Effect::Read(_)) =>
            {
                changed.push(access.table);
            }
            _ => {}
        });
    }
}
