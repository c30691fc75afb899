//! Statements: control flow, assignment, RAISE, RETURN.

use hotrow_base::types::{DataType, SqlType};

use crate::bytecode::{
    CompareKind, GivesCode, ListCode, ListSlots, Op, OperatorCode, OperatorReadCode, RaiseCode,
    RecurCode, ReturnCode, RowsCode,
};
use crate::program::{
    Access, Elements, Expr, Gives, KeyList, ListOf, OperatorLoop, Raise, Recur, RowSetId, SlotId,
    Statement, StatementKind,
};
use crate::walk;

use super::Lowerer;
use super::expr::is_same_datum;

impl Lowerer<'_> {
    pub(super) fn block(&mut self, body: &[Statement]) {
        for statement in body {
            let (outer, temporaries) = (self.segments.place, self.next_temporary);
            self.segments.place = statement.place;
            self.statement(statement);
            self.segments.place = outer;
            self.next_temporary = temporaries;
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { slot, value } => {
                self.expr_as_into(value, self.slot_type(*slot, value.sql_type), slot.0);
            }
            StatementKind::Access(access) => self.access(access),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::If { condition, then, otherwise } => {
                self.if_statement(condition, then, otherwise);
            }
            StatementKind::ForRange { slot, from, to, step, reverse, body } => {
                self.for_range(*slot, [from, to, step], *reverse, body);
            }
            StatementKind::ForEach { slot, elements, body } => {
                self.for_each(*slot, elements, body);
            }
            StatementKind::ForQuery { rows, query, into, body } => {
                self.for_query(*rows, query, into, body);
            }
            StatementKind::ForOperators(of) => self.for_operators(of),
            StatementKind::Loop { body } => {
                let again = self.label();
                self.place(again);
                self.block(body);
                self.emit(Op::Again { to: again.0 });
            }
            StatementKind::Block { label, body } => {
                let end = self.label();
                let is_routine = walk::is_repeated(*label, body);
                if is_routine {
                    let begin = self.label();
                    self.place(begin);
                    self.routines.push((*label, begin, self.routines_known));
                    self.routines_known = self.routines_known.saturating_add(1);
                }
                self.blocks.push((*label, end, self.protected.0));
                self.block(body);
                self.blocks.pop();
                self.place(end);
                if let Some((_, _, routine)) = self.routines.pop_if(|_| is_routine) {
                    self.emit(Op::Returned { routine });
                }
            }
            StatementKind::Recur(of) => self.recur(of),
            StatementKind::Leave(label) => {
                let left = self.blocks.iter().rev().find(|(of, ..)| of == label);
                // A part of a procedure may be without the block around it: it ends there.
                let (op, depth) =
                    left.map_or((Op::End, 0), |&(_, end, depth)| (Op::Jump { to: end.0 }, depth));
                self.leave_protected(depth);
                self.emit(op);
            }
            StatementKind::Protected(of) => self.protected(of),
            StatementKind::Raise(raise) if raise.is_again => self.raise_again(),
            StatementKind::Raise(raise) => {
                let raise = self.raise(raise);
                self.emit(Op::Raise { raise });
            }
            StatementKind::Notice(level, raise) => {
                let (level, raise) = (*level, self.raise(raise));
                self.emit(Op::Notice { level, raise });
            }
            StatementKind::Return(values) => {
                if !values.is_empty() {
                    self.return_row(values);
                }
                self.leave_protected(0);
                self.emit(Op::End);
            }
            StatementKind::ReturnNext(values) => self.return_row(values),
            StatementKind::Mark(id) => self.emit(Op::Mark { id: *id }),
        }
    }

    fn recur(&mut self, of: &Recur) {
        let known = self.routines.iter().rev().find(|(label, ..)| *label == of.label);
        let Some(&(_, begin, routine)) = known else {
            return self.emit(Op::End); // of a part without the block around it
        };
        let mut arguments = Vec::with_capacity(of.arguments.len());
        for (slot, value) in &of.arguments {
            let given = self.temporary();
            self.expr_as_into(value, self.slot_type(*slot, value.sql_type), given);
            arguments.push((slot.0, given));
        }
        let shared = of.shared.iter().map(|slot| slot.0).collect();
        self.program.recurs.push(RecurCode { routine, arguments: arguments.into(), shared });
        let number = self.number(self.program.recurs.len() - 1);
        self.emit(Op::Recur { number, to: begin.0 });
    }

    /// The declared type of a slot.
    pub(super) fn slot_type(&self, slot: SlotId, otherwise: SqlType) -> SqlType {
        self.procedure.slots.get(slot.index()).map_or(otherwise, |slot| slot.sql_type)
    }

    fn if_statement(&mut self, condition: &Expr, then: &[Statement], otherwise: &[Statement]) {
        if let ([], [Statement { kind: StatementKind::Leave(label), .. }]) = (then, otherwise)
            && let Some(&(_, left, depth)) = self.blocks.iter().rev().find(|(of, ..)| of == label)
            && depth == self.protected.0
        {
            return self.jump_unless(condition, left); // as WHILE does
        }
        let (no, end) = (self.label(), self.label());
        self.jump_unless(condition, no);
        self.block(then);
        if !otherwise.is_empty() {
            self.emit(Op::Jump { to: end.0 });
        }
        self.place(no);
        self.block(otherwise);
        self.place(end);
    }

    fn for_range(&mut self, slot: SlotId, bounds: [&Expr; 3], reverse: bool, body: &[Statement]) {
        let state = self.temporaries(3);
        for (dst, bound) in (state..).zip(bounds) {
            self.expr_as_into(bound, SqlType::Scalar(DataType::BigInt), dst);
        }
        let slot = slot.0;
        self.loop_body(
            body,
            |to| Op::RangeBegin { state, slot, reverse, to },
            |to| Op::RangeNext { state, slot, to },
        );
    }

    fn for_each(&mut self, slot: SlotId, elements: &Elements, body: &[Statement]) {
        let cursor = self.temporary();
        let array = match elements {
            Elements::Array(array) => self.slot(*array),
            Elements::Keys(keys) => self.keys(keys),
        };
        let slot = slot.0;
        self.loop_body(
            body,
            |to| Op::EachBegin { array, cursor, slot, to },
            |to| Op::EachNext { cursor, slot, to },
        );
        if let Elements::Keys(_) = elements {
            self.emit(Op::KeysEnd { keys: array });
        }
    }

    /// A temporary with the values of a list, as an array.
    pub(super) fn keys(&mut self, keys: &KeyList) -> u16 {
        let of = match &keys.of {
            ListOf::Values(values) => {
                ListSlots::Values(values.iter().map(|value| self.expr(value)).collect())
            }
            ListOf::Array(array) => ListSlots::Array(self.expr(array)),
        };
        let data_type = keys.exprs().first().map_or(DataType::Text, Expr::data_type);
        let kind = CompareKind::of(data_type);
        self.program.lists.push(ListCode { of, kind, descending: keys.descending });
        let list = self.number(self.program.lists.len() - 1);
        let dst = self.temporary();
        self.emit(Op::Keys { dst, list });
        dst
    }

    fn for_query(&mut self, rows: RowSetId, query: &Access, into: &[SlotId], body: &[Statement]) {
        let types: Vec<_> = into
            .iter()
            .map(|&slot| self.slot_type(slot, SqlType::Scalar(DataType::Text)))
            .collect();
        self.query(query, Some(&types));
        let into = into.iter().map(|slot| slot.0).collect();
        self.rows_loop(RowsCode { rows, into }, body, true);
    }

    fn for_operators(&mut self, of: &OperatorLoop) {
        let text = SqlType::Scalar(DataType::Text);
        let typed = |this: &Self, slots: &[SlotId]| -> Box<[(u16, SqlType)]> {
            slots.iter().map(|&slot| (slot.0, this.slot_type(slot, text))).collect()
        };
        let mut reads = Vec::with_capacity(of.reads.len());
        for read in &of.reads {
            let segment = self.segments.open();
            self.block(&read.body);
            self.emit(Op::End);
            self.segments.close();
            self.reads.push(segment);
            let entry = self.number(self.parts + self.reads.len() - 1);
            let parameters = typed(self, &read.parameters);
            let gives = match &read.gives {
                Gives::Rows { rows, columns } => GivesCode::Rows(*rows, columns.clone().into()),
                Gives::Values(slots) => GivesCode::Values(typed(self, slots)),
                Gives::Columns(slots) => GivesCode::Columns(typed(self, slots)),
            };
            reads.push(OperatorReadCode { parameters, entry, gives });
        }
        let into = of.into.iter().map(|slot| slot.0).collect();
        let rows = RowsCode { rows: of.rows, into };
        self.program.operators.push(OperatorCode {
            source: of.source.clone(),
            takes: typed(self, &of.takes),
            reads: reads.into(),
            rows: rows.clone(),
            types: of.into.iter().map(|&slot| self.slot_type(slot, text)).collect(),
        });
        let number = self.number(self.program.operators.len() - 1);
        self.emit(Op::Operators { number });
        if of.sets_found {
            self.emit(Op::TouchedByVisit);
        }
        if !of.into.is_empty() {
            self.rows_loop(rows, &of.body, of.sets_found);
        }
    }

    fn rows_loop(&mut self, rows: RowsCode, body: &[Statement], sets_found: bool) {
        self.program.loops.push(rows);
        let rows = self.number(self.program.loops.len() - 1);
        let begin = |to| Op::RowsBegin { rows, to };
        self.looped(body, begin, |to| Op::RowsNext { rows, to }, sets_found);
    }

    /// A loop: `begin` jumps past it when there is no iteration, `next` back when there is one.
    /// FOUND is then whether there was any.
    fn loop_body(
        &mut self,
        body: &[Statement],
        begin: impl FnOnce(u32) -> Op,
        next: impl FnOnce(u32) -> Op,
    ) {
        self.looped(body, begin, next, true);
    }

    fn looped(
        &mut self,
        body: &[Statement],
        begin: impl FnOnce(u32) -> Op,
        next: impl FnOnce(u32) -> Op,
        sets_found: bool,
    ) {
        let (again, none, end) = (self.label(), self.label(), self.label());
        self.emit(begin(none.0));
        self.place(again);
        self.block(body);
        self.emit(next(again.0));
        if !sets_found {
            return self.place(none);
        }
        self.emit(Op::SetFound { found: true });
        self.place(end);
        self.segments.open();
        self.place(none);
        self.emit(Op::SetFound { found: false });
        self.emit(Op::Jump { to: end.0 });
        self.segments.close();
    }

    /// What makes the text of a RAISE; its number.
    fn raise(&mut self, raise: &Raise) -> u16 {
        let mut operand = |expr: &Expr| (self.expr(expr), expr.sql_type);
        let code = RaiseCode {
            sqlstate: raise.sqlstate,
            message: raise.message.clone().into_boxed_slice(),
            arguments: raise.arguments.iter().map(&mut operand).collect(),
            detail: raise.detail.as_ref().map(&mut operand),
            hint: raise.hint.as_ref().map(&mut operand),
            of: raise.of.clone(),
            parts: raise.parts.clone().into_boxed_slice(),
        };
        self.program.raises.push(code);
        self.number(self.program.raises.len() - 1)
    }

    fn return_row(&mut self, values: &[Expr]) {
        let slots: Vec<u16> = values
            .iter()
            .enumerate()
            .map(|(i, value)| {
                let column = self.procedure.result.get(i);
                let to = column.map_or(value.data_type(), |column| column.data_type);
                self.expr_as(value, to)
            })
            .collect();
        let is_run = slots.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        self.program.returns.push(match (is_run, slots.first()) {
            (true, Some(&first)) => ReturnCode::Run(first.into()..usize::from(first) + slots.len()),
            _ => ReturnCode::Slots(slots.into()),
        });
        let row = self.number(self.program.returns.len() - 1);
        self.emit(Op::ReturnRow { row });
    }

    /// Computes values, then assigns them: none sees another's target changed.
    pub(super) fn assign_all(&mut self, into: &[(SlotId, Expr)]) {
        let targets: Vec<_> = into.iter().map(|(slot, _)| *slot).collect();
        let is_apart = into.len() == 1
            || into
                .iter()
                .all(|(_, value)| !walk::reads_any(value, |slot| targets.contains(&slot)));
        if is_apart {
            for (slot, value) in into {
                let to = self.slot_type(*slot, value.sql_type);
                self.expr_as_into(value, to, slot.0);
            }
            return;
        }
        let first = self.temporaries(into.len());
        for (dst, (slot, value)) in (first..).zip(into) {
            self.expr_as_into(value, self.slot_type(*slot, value.sql_type), dst);
        }
        for (from, (slot, _)) in (first..).zip(into) {
            self.copy(from, slot.0);
        }
    }

    /// Sets all targets to NULL.
    pub(super) fn assign_nulls(&mut self, targets: impl IntoIterator<Item = (SlotId, SqlType)>) {
        for (slot, sql_type) in targets {
            let sql_type = self.slot_type(slot, sql_type);
            self.null_into(sql_type, slot.0);
        }
    }

    /// Copies a slot of some type to a slot of the tree, converted.
    pub(super) fn assign_slot(&mut self, from: u16, data_type: DataType, target: SlotId) {
        let to = match self.slot_type(target, SqlType::Scalar(data_type)) {
            SqlType::Scalar(to) => to,
            SqlType::Array(_) => data_type,
        };
        let from = if is_same_datum(data_type, to) { from } else { self.cast(from, data_type, to) };
        self.copy(from, target.0);
    }
}
