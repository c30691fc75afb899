//! ON CONFLICT DO UPDATE that comes to a row a second time, which one statement may not (21000).
//!
//! Role         of rows that a query gives, the query numbers those with the same key; of rows that
//!              are written out, the keys of those that were inserted or changed are kept in an
//!              array. A WHERE behind DO UPDATE may have left the row alone: then the second change
//!              of a row from a query fails, and not its second conflict
//! Source       PostgreSQL 15, `ExecOnConflictUpdate`

use hotrow_base::ids::IndexId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::Table;
use hotrow_transaction::program::{
    ArrayFunction, CompareOp, Expr, ExprKind, Function, ROW_COUNT, SlotId, Statement, StatementKind,
};

use crate::comparison::negated;
use crate::conflict::{Duplicate, OnConflict};
use crate::error::Result;
use crate::scope::Compiler;
use crate::typing::{bigint, cast, constant, constant_array, scalar};

/// How it is found out that a statement has changed a row before.
#[derive(Clone)]
pub(crate) enum Again {
    /// it inserts one row
    Never,
    /// by the number of rows so far that had its key, with itself
    Row(Expr),
    /// by an array of keys
    Hits(SlotId),
}

impl Compiler<'_> {
    /// The array of the keys of rows that a statement has inserted or changed.
    pub(crate) fn begin_hits(
        &mut self,
        out: &mut Vec<Statement>,
        (table, index): (&Table, IndexId),
    ) -> Result<SlotId> {
        let of = self.hit_type(table, index);
        let hits = self.slot("hits", SqlType::Array(of))?;
        self.emit_assign(out, hits, constant_array(Value::Array(Vec::new()), of));
        Ok(hits)
    }

    /// The type of what tells a key: a column's, or text of several ones.
    fn hit_type(&self, table: &Table, index: IndexId) -> DataType {
        match self.catalog.index(index).columns.as_slice() {
            [column] => table.columns[column.index()].data_type,
            _ => DataType::Text,
        }
    }

    /// What tells the key of a row.
    fn hit(&self, index: IndexId, duplicate: &Duplicate<'_>) -> Expr {
        let columns = self.catalog.index(index).columns.iter();
        let mut values = columns.map(|column| duplicate.values[column.index()].clone());
        match self.catalog.index(index).columns.len() {
            1 => values.next().unwrap_or_else(|| bigint(0)),
            _ => {
                let between = || constant(Value::Text("\u{1}".to_owned()), DataType::Text);
                let parts = values.flat_map(|value| [cast(value, DataType::Text), between()]);
                let arguments = parts.collect();
                let kind = ExprKind::Call(Function::Concat, arguments);
                scalar(kind, DataType::Text)
            }
        }
    }

    fn hits_have(&self, hits: SlotId, hit: Expr) -> Expr {
        let arguments = vec![self.slot_expr(hits), hit];
        let function = Function::Array(ArrayFunction::Position);
        let position = scalar(ExprKind::Call(function, arguments), DataType::Integer);
        negated(scalar(ExprKind::IsNull(Box::new(position)), DataType::Boolean))
    }

    /// Notes that a row was inserted.
    pub(crate) fn emit_hit(
        &mut self,
        out: &mut Vec<Statement>,
        on: OnConflict<'_>,
        duplicate: &Duplicate<'_>,
    ) -> Result<()> {
        if let (OnConflict::Update(index, _), Again::Hits(hits)) = (on, &duplicate.again) {
            let hit = self.hit(index, duplicate);
            self.emit_append(out, *hits, hit);
        }
        Ok(())
    }

    /// Notes that a row was changed, if it was.
    pub(crate) fn emit_hit_changed(
        &mut self,
        out: &mut Vec<Statement>,
        index: IndexId,
        duplicate: &Duplicate<'_>,
    ) -> Result<()> {
        let Again::Hits(hits) = duplicate.again else { return Ok(()) };
        let mut then = Vec::new();
        let hit = self.hit(index, duplicate);
        self.emit_append(&mut then, hits, hit);
        let condition = self.has_changed();
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        Ok(())
    }

    fn has_changed(&self) -> Expr {
        let sides = (Box::new(self.slot_expr(ROW_COUNT)), Box::new(bigint(0)));
        scalar(ExprKind::Compare(CompareOp::Greater, sides.0, sides.1), DataType::Boolean)
    }

    /// Fails where the row that is in the way was changed before.
    pub(crate) fn emit_once_only(
        &mut self,
        out: &mut Vec<Statement>,
        index: IndexId,
        duplicate: &Duplicate<'_>,
    ) -> Result<()> {
        let condition = match &duplicate.again {
            Again::Never => return Ok(()),
            Again::Row(number) => is_second(number),
            Again::Hits(hits) => self.hits_have(*hits, self.hit(index, duplicate)),
        };
        self.emit_twice(out, condition);
        Ok(())
    }

    /// The same, behind a change that a WHERE may have left out.
    pub(crate) fn emit_once_only_changed(
        &mut self,
        out: &mut Vec<Statement>,
        duplicate: &Duplicate<'_>,
    ) -> Result<()> {
        let Again::Row(number) = &duplicate.again else { return Ok(()) };
        let both = ExprKind::And(Box::new(self.has_changed()), Box::new(is_second(number)));
        self.emit_twice(out, scalar(both, DataType::Boolean));
        Ok(())
    }

    fn emit_twice(&mut self, out: &mut Vec<Statement>, condition: Expr) {
        let mut then = Vec::new();
        let message = "ON CONFLICT DO UPDATE command cannot affect row a second time".to_owned();
        self.emit_raise(&mut then, b"21000", message, None);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }
}

/// Whether a row is not the first one with its key.
fn is_second(number: &Expr) -> Expr {
    let sides = (Box::new(number.clone()), Box::new(bigint(1)));
    scalar(ExprKind::Compare(CompareOp::Greater, sides.0, sides.1), DataType::Boolean)
}
