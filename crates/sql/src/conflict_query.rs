//! ON CONFLICT DO UPDATE with subqueries: `SET n = (SELECT ... WHERE u.id = excluded.id)`.
//!
//! Role         programs compute no subqueries of a row that they change. So the row that is there
//!              is read first, by its key, and stands beside the one that was to be inserted;
//!              operators compute right before the UPDATE what the subqueries give
//! Invariants   I1 a subquery sees no other row of the same statement: of several rows each is
//!                 inserted by itself, so one that reads the table is refused

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::types::SqlType;
use hotrow_transaction::program::{Consume, Effect, Statement, StatementKind};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::conflict::{DoneInstead, Duplicate};
use crate::error::{Result, unsupported};
use crate::path::choose;
use crate::relation::RowBeside;
use crate::scope::Compiler;
use crate::source::Source;

impl Compiler<'_> {
    /// As [`Compiler::done_instead`], of values that are computed before.
    pub(crate) fn done_instead_by_query(
        &mut self,
        out: &mut Vec<Statement>,
        (index, update): (IndexId, &ast::DoUpdate),
        duplicate: &Duplicate<'_>,
        excluded: RowBeside,
    ) -> Result<DoneInstead> {
        let there = self.emit_row_there(out, index, duplicate)?;
        let is_procedure = std::mem::replace(&mut self.is_procedure, true);
        let (mut before, mut done) = (Vec::new(), None);
        let compiled = self.with_what_comes_before(&mut before, |this, _| {
            let beside = [there, excluded];
            let compile = |this: &mut Self| {
                this.with_rows_beside(&beside, |this| this.done_instead(duplicate.target, update))
            };
            done = Some(this.alone(compile)?);
            Ok(())
        });
        self.is_procedure = is_procedure;
        compiled?;
        let table = duplicate.target.table;
        // I1
        if !duplicate.is_only && reads(&before, table.id) {
            let name = &table.name;
            let what = format!("a subquery of \"{name}\" in ON CONFLICT DO UPDATE of several rows");
            return Err(unsupported(self.place, what, "write one INSERT for each row"));
        }
        out.append(&mut before);
        Ok(done.unwrap_or_default())
    }

    /// Reads the row that has the key into slots.
    fn emit_row_there(
        &mut self,
        out: &mut Vec<Statement>,
        index: IndexId,
        duplicate: &Duplicate<'_>,
    ) -> Result<RowBeside> {
        let mut row = self.target_row(duplicate.target);
        let wanted = self.same_key(&mut row, index, &duplicate.values)?;
        let (mut columns, mut into) = (Vec::new(), Vec::new());
        for at in 0..row.shown {
            let column = &row.columns[at];
            let (name, of) = (column.name.clone(), SqlType::Scalar(column.data_type));
            let slot = self.slot(&format!("$there.{name}"), of)?;
            into.push((slot, self.bind_in(&mut row, ColumnId(at as u16))?));
            columns.push((name, slot));
        }
        let (name, read_of) = (row.name.clone(), row.read_of.clone());
        let path = choose(self.catalog, &row, wanted, &[]);
        let source = Source { row, path: path.path, filter: path.filter };
        let consume = Consume::First { into, strict: false, order_by: Vec::new(), offset: None };
        let access = source.access(Effect::Read(consume));
        self.emit(out, StatementKind::Access(Box::new(access)));
        Ok(RowBeside { name, columns, read_of })
    }
}

/// Whether operators among statements read a table.
fn reads(statements: &[Statement], table: TableId) -> bool {
    let of_table = |statement: &Statement| match &statement.kind {
        StatementKind::Access(access) => access.table == table,
        _ => false,
    };
    walk::any(statements, |statement| match &statement.kind {
        StatementKind::ForOperators(of) => {
            of.reads.iter().any(|read| walk::any(&read.body, of_table))
        }
        _ => false,
    })
}
