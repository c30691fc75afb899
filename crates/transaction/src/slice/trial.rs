//! Trial reads that the procedure does not have: what tells rows' own keys, and conflicts.

use hotrow_base::ids::IndexId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;

use super::{Cutter, LockMark, SiteMark, recon};
use crate::granule::{LockMode, Space};
use crate::program::{
    Access, Consume, Effect, Expr, ExprKind, FOUND, Insert, Place, ROW_COUNT, RowSetId, RowsTo,
    Slot, SlotId, Statement, StatementKind,
};

impl Cutter<'_> {
    /// What an insert leaves in slots.
    pub(super) fn inserted(&mut self, insert: &Insert, place: Place, out: &mut Vec<Statement>) {
        let returned = insert.returning.iter().map(|&(slot, column)| {
            let value = insert.values[column.index()].clone();
            (slot, value)
        });
        let made: Vec<_> = returned
            .chain([(FOUND, boolean(true)), (ROW_COUNT, bigint(1))])
            .filter(|(slot, _)| self.needs.slot(*slot))
            .collect();
        let assign = |(slot, value): (SlotId, Expr)| Statement {
            kind: StatementKind::Assign { slot, value },
            place,
        };
        if !insert.ignore_conflict || made.is_empty() {
            out.extend(made.into_iter().map(assign));
            return;
        }
        self.reads = true;
        let conflict = self.new_slot(&boolean(false));
        out.push(assign((conflict, boolean(false))));
        for read in recon::conflicts(self.catalog, insert) {
            out.push(Statement { kind: StatementKind::Access(Box::new(read)), place });
            let kind = StatementKind::If {
                condition: slot_expr(FOUND, boolean(true).sql_type),
                then: vec![assign((conflict, boolean(true)))],
                otherwise: Vec::new(),
            };
            out.push(Statement { kind, place });
        }
        let missed = |(slot, value): &(SlotId, Expr)| match *slot {
            FOUND => (FOUND, boolean(false)),
            ROW_COUNT => (ROW_COUNT, bigint(0)),
            slot => (slot, constant(Value::Null, value.sql_type)),
        };
        let kind = StatementKind::If {
            condition: slot_expr(conflict, boolean(true).sql_type),
            then: made.iter().map(missed).map(assign).collect(),
            otherwise: made.into_iter().map(assign).collect(),
        };
        out.push(Statement { kind, place });
    }

    /// A trial read of all rows an access may visit, with a mark for each row's own granule. Where
    /// it ends behind so many rows, the trial read ends there as well: with those, too, that the
    /// access visits and that do not match.
    pub(super) fn mark_rows(
        &mut self,
        site: u16,
        access: &Access,
        (primary, mode): (IndexId, LockMode),
        place: Place,
        out: &mut Vec<Statement>,
    ) {
        self.reads = true;
        let columns = &self.catalog.index(primary).columns[..self.granules.parts(primary)];
        let owner = self.catalog.table(access.table);
        let fresh = |sql_type, slots: &mut Vec<Slot>| {
            slots.push(Slot { name: format!("$row{}", slots.len()), sql_type });
            SlotId(slots.len() as u16 - 1)
        };
        let mut bind = Vec::new();
        let mut values = Vec::new();
        let mut into = Vec::new();
        for &column in columns {
            let data_type = owner.columns[column.index()].data_type;
            let sql_type = SqlType::Scalar(data_type);
            let bound = fresh(sql_type, &mut self.slots);
            bind.push((column, bound));
            values.push(Expr { kind: ExprKind::Slot(bound), sql_type });
            into.push(fresh(sql_type, &mut self.slots));
        }
        let lock =
            LockMark { space: Space::Index(primary), parts: into.clone(), mode, is_key: false };
        let rows = RowSetId(self.row_sets);
        self.row_sets += 1;
        let mut consume = Consume::all_rows(RowsTo::Loop(rows), values);
        if let Some(most) = last_row(access).filter(|_| self.needs.reads(site))
            && let Consume::Rows { columns, limit, counted, .. } = &mut consume
        {
            *limit = Some(most);
            if let Some(matches) = &access.filter {
                *counted = Some(columns.len() as u16);
                columns.push(matches.clone());
                into.push(fresh(matches.sql_type, &mut self.slots));
                bind.extend(&access.bind); // what it reads
            }
        }
        let query = Access {
            table: access.table,
            path: access.path.each().clone(),
            bind,
            filter: None,
            effect: Effect::Read(consume),
        };
        let mark = self.push_mark(SiteMark { site, key: None, locks: vec![lock], is_read: false });
        let body = vec![Statement { kind: mark, place }];
        let kind = StatementKind::ForQuery { rows, query: Box::new(query), into, body };
        self.aside(Statement { kind, place }, out);
    }

    /// A statement that is not in the procedure: FOUND stays what it was, where keys depend on it.
    pub(super) fn aside(&mut self, statement: Statement, out: &mut Vec<Statement>) {
        let place = statement.place;
        let assign = |slot, value| Statement { kind: StatementKind::Assign { slot, value }, place };
        let mut back = Vec::new();
        for (slot, like) in [(FOUND, boolean(false)), (ROW_COUNT, bigint(0))] {
            if self.needs.slot(slot) {
                let kept = self.new_slot(&like);
                out.push(assign(kept, slot_expr(slot, like.sql_type)));
                back.push(assign(slot, slot_expr(kept, like.sql_type)));
            }
        }
        out.push(statement);
        out.append(&mut back);
    }
}

/// How many matching rows end an access that visits its rows in order; none: it visits all.
fn last_row(access: &Access) -> Option<Expr> {
    if !access.path.lists().is_empty() {
        return None;
    }
    match &access.effect {
        Effect::Read(Consume::First { strict: false, order_by, offset: None, .. })
            if order_by.is_empty() =>
        {
            Some(bigint(1))
        }
        Effect::Read(Consume::Rows {
            distinct: false,
            order_by,
            limit: Some(limit),
            offset: None,
            ..
        }) if order_by.is_empty() => Some(limit.clone()),
        _ => None,
    }
}

fn constant(value: Value, sql_type: SqlType) -> Expr {
    Expr { kind: ExprKind::Constant(value), sql_type }
}

fn boolean(value: bool) -> Expr {
    constant(Value::Bool(value), SqlType::Scalar(DataType::Boolean))
}

fn bigint(value: i64) -> Expr {
    constant(Value::BigInt(value), SqlType::Scalar(DataType::BigInt))
}

fn slot_expr(slot: SlotId, sql_type: SqlType) -> Expr {
    Expr { kind: ExprKind::Slot(slot), sql_type }
}
