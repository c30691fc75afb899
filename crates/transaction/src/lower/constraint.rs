//! Constraints compiled in wherever a checked column is written.

use hotrow_base::ids::{ColumnId, TableId};

use super::Lowerer;
use crate::bytecode::{AccessCode, Bind, CheckCode, Op, SetCode};
use crate::catalog::{Check, Index};
use crate::program::{Access, Insert};

impl Lowerer<'_> {
    /// NOT NULL, CHECK constraints and partitions of a row whose values lie in `values`. NOT NULL
    /// is left to the making of the row where there is no CHECK to come after it.
    pub(super) fn insert_checks(&mut self, insert: &Insert, table_code: u16, values: &[u16]) {
        let table = self.catalog.table(insert.table);
        if table.all_checks().next().is_none() {
            return;
        }
        for (i, (column, value)) in table.columns.iter().zip(&insert.values).enumerate() {
            if !column.nullable && self.is_nullable(value) {
                self.emit(Op::NotNull { a: values[i], table: table_code, column: i as u16 });
            }
        }
        for (number, check) in table.all_checks().enumerate() {
            let slots = check.columns.iter().map(|column| values[column.index()]).collect();
            self.check(check, slots, (table_code, number), Some(values.into()));
        }
    }

    /// CHECK constraints that read a column which an update sets. Columns they read besides are
    /// loaded as well.
    pub(super) fn update_checks(
        &mut self,
        access: &Access,
        code: &mut AccessCode,
        sets: &[SetCode],
    ) {
        let table = self.catalog.table(access.table);
        let new_value = |column: ColumnId| sets.iter().find(|set| set.column == column);
        for (number, check) in table.all_checks().enumerate() {
            if !check.columns.iter().any(|&column| new_value(column).is_some()) {
                continue;
            }
            let slots = check
                .columns
                .iter()
                .map(|&column| match new_value(column) {
                    Some(set) => set.slot,
                    None => self.bound(access, code, column),
                })
                .collect();
            self.check(check, slots, (code.table_code, number), None);
        }
    }

    /// The slot a column is loaded into.
    fn bound(&mut self, access: &Access, code: &mut AccessCode, column: ColumnId) -> u16 {
        let field = self.catalog.table(access.table).layout.field(column);
        if let Some(bind) = code.binds.iter().find(|bind| bind.field.column() == column) {
            return bind.slot;
        }
        let slot = self.temporary();
        let mut binds = std::mem::take(&mut code.binds).into_vec();
        binds.push(Bind::new(field, slot));
        code.binds = binds.into();
        slot
    }

    fn check(
        &mut self,
        check: &Check,
        slots: Vec<u16>,
        (table, number): (u16, usize),
        values: Option<Box<[u16]>>,
    ) {
        let outer = self.check_slots.replace(slots);
        let a = self.expr(&check.condition);
        self.check_slots = outer;
        self.program.checks.push(CheckCode { table, check: number as u16, values });
        let check = self.number(self.program.checks.len() - 1);
        self.emit(Op::Check { a, check });
    }

    /// Indexes of which a column is written and whose keys may exceed the limit, by their numbers
    /// in the table's code.
    pub(super) fn long_keys(
        &self,
        table: TableId,
        is_written: impl Fn(&ColumnId) -> bool,
    ) -> Box<[u16]> {
        let owner = self.catalog.table(table);
        let is_long = |index: &Index| {
            index
                .entry_columns
                .iter()
                .any(|column| owner.columns[column.index()].data_type.is_variable())
        };
        owner
            .indexes()
            .map(|index| self.catalog.index(index))
            .enumerate()
            .filter(|(_, index)| is_long(index) && index.entry_columns.iter().any(&is_written))
            .map(|(number, _)| number as u16)
            .collect()
    }
}
