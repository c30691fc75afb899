//! INSERT of one row.

use hotrow_base::ids::ColumnId;
use hotrow_base::key::KeyPart;
use hotrow_base::types::{DataType, SqlType};

use super::Lowerer;
use super::access::{key_code, packed_bits};
use crate::access::{Intent, Reads};
use crate::bytecode::{
    AccessCode, Convert, Gather, InsertCode, KeyCode, KeyPartCode, NO_CODE, Op, PathCode,
};
use crate::program::{Expr, ExprKind, Insert};

impl Lowerer<'_> {
    pub(super) fn insert(&mut self, insert: &Insert) {
        let table = self.catalog.table(insert.table);
        let table_code = self.table_code(insert.table);
        let values: Box<[u16]> = insert
            .values
            .iter()
            .zip(&table.columns)
            .map(|(value, column)| self.column_value(insert, value, column.data_type))
            .collect();
        self.insert_checks(insert, table_code, &values);
        let site = self.number(self.program.access.len());
        let code = InsertCode {
            primary: self.primary_key(insert, &values),
            values: values.clone(),
            ignore_conflict: insert.ignore_conflict,
            long_keys: self.long_keys(insert.table, |_| true),
        };
        self.program.access.push(AccessCode {
            table: insert.table,
            table_code,
            planned: false,
            path: PathCode::Insert,
            reads: Reads::Rows,
            intent: Intent::Write,
            binds: Box::default(),
            loads: Box::default(),
            visit: NO_CODE,
            change: NO_CODE,
            returning: NO_CODE,
            update: None,
            bump: None,
            remove: false,
            insert: Some(code),
            gather: Gather::Count,
        });
        let (conflict, end) = (self.label(), self.label());
        self.emit(Op::Insert { site, conflict: conflict.0 });
        for &(slot, column) in &insert.returning {
            let data_type = table.columns[column.index()].data_type;
            self.assign_slot(values[column.index()], data_type, slot);
        }
        self.place(end);
        if !insert.ignore_conflict {
            return self.place(conflict);
        }
        self.segments.open();
        self.place(conflict);
        let targets = insert.returning.iter().map(|&(slot, column)| {
            (slot, SqlType::Scalar(table.columns[column.index()].data_type))
        });
        self.assign_nulls(targets);
        self.emit(Op::Touched { rows: 0 });
        self.emit(Op::Jump { to: end.0 });
        self.segments.close();
    }

    /// The slot of a column's value: a variable's own, unless RETURNING would change it before it
    /// has given all columns away.
    fn column_value(&mut self, insert: &Insert, value: &Expr, to: DataType) -> u16 {
        let slot = match &value.kind {
            ExprKind::Slot(_) | ExprKind::Constant(_) => self.expr_as(value, to),
            _ => {
                let dst = self.temporary();
                self.expr_as_into(value, SqlType::Scalar(to), dst);
                return dst;
            }
        };
        if !insert.returning.iter().any(|(target, _)| target.0 == slot) {
            return slot;
        }
        let apart = self.temporary();
        self.copy(slot, apart);
        apart
    }

    /// The primary key over the row's slots.
    fn primary_key(&self, insert: &Insert, values: &[u16]) -> Option<KeyCode> {
        let index = self.catalog.index(self.catalog.table(insert.table).primary?);
        let part = |(column, part): (&ColumnId, &KeyPart)| KeyPartCode {
            slot: values[column.index()],
            bits: packed_bits(*part),
            convert: Convert::Same,
        };
        let parts = index.columns.iter().zip(index.key.parts()).map(part).collect();
        Some(key_code(index, parts))
    }
}
