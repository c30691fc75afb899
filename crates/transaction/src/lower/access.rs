//! Accesses: keys, binds, and the straight-line code of those that meet one row.

use hotrow_base::ids::{ColumnId, IndexId};
use hotrow_base::key::KeyPart;
use hotrow_base::types::{DataType, SqlType};

use super::Lowerer;
use super::expr::{int_bits, is_same_datum};
use super::segments::Label;
use crate::access::{Intent, Reads};
use crate::bytecode::{
    AccessCode, Bind, BumpCode, BumpKind, Convert, Failure, Gather, KeyCode, KeyPartCode, NO_CODE,
    Op, PACKED_BYTES_MAX, PathCode, RangeCode, RangeEndCode, SetCode, UpdateCode,
};
use crate::catalog::{Index, IndexKind};
use crate::program::{
    Access, ArithmeticOp, Consume, Effect, Expr, ExprKind, FOUND, Function, Path, ROW_COUNT,
    RangeEnd, SlotId,
};
use crate::walk;

impl Lowerer<'_> {
    /// Lowers an access that is a statement of its own.
    pub(super) fn access(&mut self, access: &Access) {
        let is_straight = match access.effect.consume() {
            Consume::Discard => true,
            Consume::First { order_by, offset, .. } => order_by.is_empty() && offset.is_none(),
            _ => false,
        };
        match &access.path {
            Path::Point { .. } if is_straight => self.point(access),
            _ => self.query(access, None),
        }
    }

    /// An access by whole key: find, filter, change and consume in the main code.
    fn point(&mut self, access: &Access) {
        let mut code = self.access_code(access);
        let site = self.number(self.program.access.len());
        let (missing, end) = (self.label(), self.label());
        code.bump = self.bump(access);
        if code.bump.is_some() {
            self.emit(Op::Bump { site, missing: missing.0 });
            return self.end_point(access, code, missing, end);
        }
        let is_direct = self.bind_directly(access, &mut code);
        // FOUND is set before values are computed, unless one of them could see it; where a filter
        // says no, it is set again.
        let exprs = walk::row_exprs(access);
        let shows_found = |slot| [FOUND, ROW_COUNT].contains(&slot);
        let is_early = !exprs.iter().any(|expr| walk::reads_any(expr, shows_found));
        self.emit(Op::Point { site, touches: is_early, missing: missing.0 });
        if is_direct {
            return self.end_point(access, code, missing, end);
        }
        let into = self.place_columns(access, &mut code, site);
        if let Some(filter) = &access.filter {
            self.jump_unless(filter, missing);
        }
        match &access.effect {
            Effect::Read(_) => {}
            Effect::Update { set, .. } => {
                let is_shown = !matches!(access.effect.consume(), Consume::Discard);
                let update = self.new_values(access, &mut code, set, is_shown);
                code.update = Some(update);
                self.emit(Op::Update { site });
                if is_shown {
                    self.show_new_values(access, &code);
                }
            }
            Effect::Delete { .. } => self.emit(Op::Remove { site }),
        }
        self.assign_all(&into);
        self.deferred.1.clear();
        if !is_early {
            self.emit(Op::Touched { rows: 1 });
        }
        self.end_point(access, code, missing, end);
    }

    /// Puts what happens without a row out of the way.
    fn end_point(&mut self, access: &Access, code: AccessCode, missing: Label, end: Label) {
        self.place(end);
        self.program.access.push(code);
        self.segments.open();
        self.place(missing);
        self.miss(access.effect.consume());
        self.emit(Op::Touched { rows: 0 });
        self.emit(Op::Jump { to: end.0 });
        self.segments.close();
    }

    /// `UPDATE ... SET column = column + slot` of an integer column, with nothing to be checked;
    /// or with another [`BumpKind`].
    fn bump(&mut self, access: &Access) -> Option<BumpCode> {
        let Effect::Update { set, consume: Consume::Discard } = &access.effect else { return None };
        let [(column, value)] = &set[..] else { return None };
        let is_old = |expr: &Expr| match expr.kind {
            ExprKind::Slot(slot) => access.bind.contains(&(*column, slot)),
            _ => false,
        };
        let (kind, one, other) = match &value.kind {
            ExprKind::Arithmetic(ArithmeticOp::Add, a, b) => (BumpKind::Add, &**a, &**b),
            ExprKind::Arithmetic(ArithmeticOp::Subtract, a, b) => (BumpKind::Subtract, &**a, &**b),
            ExprKind::Call(function, of) => match (function, &of[..]) {
                (Function::Greatest, [a, b]) => (BumpKind::Greatest, a, b),
                (Function::Least, [a, b]) => (BumpKind::Least, a, b),
                _ => return None,
            },
            _ => return None,
        };
        let operand = match (is_old(one), is_old(other)) {
            (true, false) => other,
            (false, true) if kind != BumpKind::Subtract => one,
            _ => return None,
        };
        let table = self.catalog.table(access.table);
        let owner = &table.columns[column.index()];
        let bits = int_bits(owner.data_type)?;
        let is_bound = |slot: SlotId| access.bind.iter().any(|&(_, bound)| bound == slot);
        let is_simple = match &operand.kind {
            ExprKind::Slot(slot) => !is_bound(*slot),
            ExprKind::Constant(_) => true,
            _ => false,
        };
        let keeps = matches!(kind, BumpKind::Greatest | BumpKind::Least); // what is not NULL
        let is_safe = owner.nullable || keeps || !self.is_nullable(operand);
        let is_unchecked = table.all_checks().all(|check| !check.columns.contains(column));
        if !(access.filter.is_none() && is_simple && is_safe && is_unchecked)
            || value.data_type() != owner.data_type
        {
            return None;
        }
        let slot = self.expr(operand);
        let field = table.layout.field(*column);
        Some(BumpCode { field, slot, bits, kind })
    }

    /// `SELECT a, b INTO x, y` by whole key: loads columns straight into the targets, where nothing
    /// could tell the difference.
    fn bind_directly(&self, access: &Access, code: &mut AccessCode) -> bool {
        let (Effect::Read(Consume::First { into, .. }), None) = (&access.effect, &access.filter)
        else {
            return false;
        };
        let table = self.catalog.table(access.table);
        let mut binds = Vec::with_capacity(into.len());
        for (target, value) in into {
            let ExprKind::Slot(slot) = &value.kind else { return false };
            let Some(&(column, _)) = access.bind.iter().find(|(_, bound)| bound == slot) else {
                return false;
            };
            let SqlType::Scalar(to) = self.slot_type(*target, value.sql_type) else {
                return false;
            };
            let from = table.columns[column.index()].data_type;
            if !is_same_datum(from, to) || !is_same_datum(value.data_type(), to) {
                return false;
            }
            binds.push(Bind::new(table.layout.field(column), target.0));
        }
        code.binds = binds.into();
        true
    }

    /// Decides where each column is loaded: when the row is found, where it is used if it is used
    /// only in some cases, or straight into a target. Gives the targets left to be assigned.
    fn place_columns(
        &mut self,
        access: &Access,
        code: &mut AccessCode,
        site: u16,
    ) -> Vec<(SlotId, Expr)> {
        let Consume::First { into, .. } = access.effect.consume() else { return Vec::new() };
        let mut left = into.clone();
        let exprs = walk::row_exprs(access);
        let (mut read, mut always) = (Vec::new(), Vec::new());
        for expr in &exprs {
            walk::expr_slots(expr, &mut |slot| read.push(slot));
            slots_always_read(expr, &mut always);
        }
        let set: Vec<ColumnId> = match &access.effect {
            Effect::Update { set, .. } => set.iter().map(|(column, _)| *column).collect(),
            _ => Vec::new(),
        };
        let (mut binds, mut loads) = (Vec::new(), Vec::new());
        self.deferred = (site, Vec::new());
        for mut bind in std::mem::take(&mut code.binds) {
            let slot = SlotId(bind.slot);
            let reads = read.iter().filter(|&&other| other == slot).count();
            if set.contains(&bind.field.column()) || reads == 0 {
                binds.push(bind);
            } else if !always.contains(&slot) {
                loads.push(bind.field);
                self.deferred.1.push(slot);
            } else {
                let direct = if reads == 1 { self.direct(access, bind, &left) } else { None };
                if let Some(at) = direct.filter(|&at| !read.contains(&left[at].0)) {
                    bind.slot = left.remove(at).0.0;
                }
                binds.push(bind);
            }
        }
        (code.binds, code.loads) = (binds.into(), loads.into());
        left
    }

    /// The target that is given just this column.
    fn direct(&self, access: &Access, bind: Bind, into: &[(SlotId, Expr)]) -> Option<usize> {
        let is_it =
            |value: &Expr| matches!(value.kind, ExprKind::Slot(slot) if slot.0 == bind.slot);
        let at = into.iter().position(|(_, value)| is_it(value))?;
        let (target, value) = &into[at];
        if into.iter().filter(|(other, _)| other == target).count() > 1 {
            return None;
        }
        let column = bind.field.column();
        let from = self.catalog.table(access.table).columns[column.index()].data_type;
        let SqlType::Scalar(to) = self.slot_type(*target, value.sql_type) else { return None };
        (is_same_datum(from, to) && is_same_datum(value.data_type(), to)).then_some(at)
    }

    /// Loads a slot's column into `dst`, if that is done where it is read.
    pub(super) fn load_deferred(&mut self, slot: SlotId, dst: u16) -> bool {
        let (site, slots) = &self.deferred;
        if self.check_slots.is_some() {
            return false;
        }
        let Some(load) = slots.iter().position(|&other| other == slot) else { return false };
        let (site, load) = (*site, load as u16);
        self.emit(Op::Load { site, load, dst });
        true
    }

    /// What happens when there is no row.
    pub(super) fn miss(&mut self, consume: &Consume) {
        let Consume::First { into, strict, .. } = consume else { return };
        if *strict {
            self.emit(Op::Fail { failure: Failure::NoDataFound });
            return;
        }
        self.assign_nulls(into.iter().map(|(slot, value)| (*slot, value.sql_type)));
    }

    /// Everything of a site but its code; emits its key expressions.
    pub(super) fn access_code(&mut self, access: &Access) -> AccessCode {
        let table = self.catalog.table(access.table);
        let binds = access
            .bind
            .iter()
            .map(|&(column, slot)| {
                self.not_null[slot.index()] = !table.columns[column.index()].nullable;
                Bind::new(table.layout.field(column), slot.0)
            })
            .collect();
        let (path, index) = match access.path.each() {
            Path::Point { index, key } => (PathCode::Point(self.key(*index, key)), Some(*index)),
            Path::Range { index, prefix, lower, upper, descending } => {
                let ends = (lower.as_ref(), upper.as_ref());
                (PathCode::Range(self.range(*index, prefix, ends, *descending)), Some(*index))
            }
            Path::Whole | Path::Lists { .. } => (PathCode::Whole, None),
        };
        let is_read = matches!(access.effect, Effect::Read(_));
        let holds_rows = self.procedure.row_locks.is_exclusive();
        let covered = is_read
            && !holds_rows
            && index.is_some_and(|index| {
                let entry = &self.catalog.index(index).entry_columns;
                access.bind.iter().all(|(column, _)| entry.contains(column))
            });
        AccessCode {
            table: access.table,
            table_code: self.table_code(access.table),
            planned: false,
            path,
            reads: if covered { Reads::Entries } else { Reads::Rows },
            intent: if is_read && !holds_rows { Intent::Read } else { Intent::Write },
            binds,
            loads: Box::default(),
            visit: NO_CODE,
            change: NO_CODE,
            returning: NO_CODE,
            update: None,
            bump: None,
            remove: matches!(access.effect, Effect::Delete { .. }),
            insert: None,
            gather: Gather::Count,
        }
    }

    fn key(&mut self, index: IndexId, exprs: &[Expr]) -> KeyCode {
        let index = self.catalog.index(index);
        let parts: Box<[_]> = exprs
            .iter()
            .zip(index.key.parts())
            .map(|(expr, part)| self.key_part(expr, *part))
            .collect();
        key_code(index, parts)
    }

    fn key_part(&mut self, expr: &Expr, part: KeyPart) -> KeyPartCode {
        let (from, to) = (expr.data_type(), part.data_type);
        if to.is_any_numeric() {
            // Every number is one, as it is.
            let slot = self.expr_as(expr, DataType::AnyNumeric);
            return KeyPartCode { slot, bits: packed_bits(part), convert: Convert::Same };
        }
        let slot = self.expr(expr);
        let convert =
            if is_encodable(from, to) { Convert::Same } else { Convert::Other { from, to } };
        KeyPartCode { slot, bits: packed_bits(part), convert }
    }

    fn range(
        &mut self,
        index: IndexId,
        prefix: &[Expr],
        (lower, upper): (Option<&RangeEnd>, Option<&RangeEnd>),
        descending: bool,
    ) -> RangeCode {
        let prefix = self.key(index, prefix);
        let next = prefix.layout.parts().get(prefix.parts.len()).copied();
        let mut end = |end: Option<&RangeEnd>| {
            let end = end?;
            let part = self.key_part(&end.value, next?);
            Some(RangeEndCode { part, inclusive: end.inclusive })
        };
        let (lower, upper) = (end(lower), end(upper));
        let next_nullable = next.is_some_and(|part| part.nullable);
        RangeCode { prefix, lower, upper, descending, next_nullable }
    }

    /// Code of an update's new values and of the constraints on them. `apart`: into temporaries,
    /// because columns' slots will be overwritten.
    pub(super) fn new_values(
        &mut self,
        access: &Access,
        code: &mut AccessCode,
        set: &[(ColumnId, Expr)],
        apart: bool,
    ) -> UpdateCode {
        let table = self.catalog.table(access.table);
        let mut sets = Vec::with_capacity(set.len());
        for (column, value) in set {
            let owner = &table.columns[column.index()];
            let mut slot = self.expr_as(value, owner.data_type);
            // What is a temporary already is not overwritten.
            if apart && usize::from(slot) < self.first_constant {
                let own = self.temporary();
                self.copy(slot, own);
                slot = own;
            }
            sets.push(SetCode { column: *column, slot });
        }
        // Behind all values, so that an error can tell the row.
        for (set, (column, value)) in sets.iter().zip(set) {
            if !table.columns[column.index()].nullable && self.is_nullable(value) {
                let (table, column) = (code.table_code, column.0);
                self.emit(Op::NotNull { a: set.slot, table, column });
            }
        }
        self.update_checks(access, code, &sets);
        let is_set = |column: &ColumnId| sets.iter().any(|set| set.column == *column);
        let long_keys = self.long_keys(access.table, is_set);
        let is_variable = |set: &SetCode| table.columns[set.column.index()].data_type.is_variable();
        let has_variable = !long_keys.is_empty() || sets.iter().any(is_variable);
        UpdateCode { sets: sets.into(), has_variable, long_keys }
    }

    /// After an update, RETURNING sees the new values through the bound slots.
    pub(super) fn show_new_values(&mut self, access: &Access, code: &AccessCode) {
        let sets = code.update.as_ref().map_or(&[][..], |update| &update.sets);
        let consumed = walk::consume_exprs(access.effect.consume());
        let is_read =
            |slot| consumed.iter().any(|value| walk::reads_any(value, |read| read == slot));
        for set in sets {
            for &(column, slot) in &access.bind {
                if column == set.column && is_read(slot) {
                    self.copy(set.slot, slot.0);
                }
            }
        }
    }
}

/// Slots that an expression reads whatever the values are.
fn slots_always_read(expr: &Expr, slots: &mut Vec<SlotId>) {
    match &expr.kind {
        ExprKind::Case { arms, .. } => {
            if let Some((condition, _)) = arms.first() {
                slots_always_read(condition, slots);
            }
        }
        ExprKind::Coalesce(operands) => {
            if let Some(first) = operands.first() {
                slots_always_read(first, slots);
            }
        }
        ExprKind::Slot(slot) | ExprKind::ArrayLength(slot) => slots.push(*slot),
        ExprKind::Element(array, index) => {
            slots.push(*array);
            slots_always_read(index, slots);
        }
        _ => walk::operands(expr, &mut |operand| slots_always_read(operand, slots)),
    }
}

/// A key's code, with what may be known of it.
pub(crate) fn key_code(index: &Index, parts: Box<[KeyPartCode]>) -> KeyCode {
    let layout = index.key.clone();
    let is_plain = parts
        .iter()
        .zip(layout.parts())
        .all(|(part, of)| part.convert == Convert::Same && !of.nullable);
    let bytes: usize = parts.iter().map(|part| usize::from(part.bits / 8)).sum();
    let is_packed = is_plain && parts.iter().all(|part| part.bits > 0) && bytes <= PACKED_BYTES_MAX;
    let is_hashed = index.kind == IndexKind::Hash;
    KeyCode { index: index.id, parts, layout, is_plain, is_hashed, is_packed }
}

/// [`KeyPartCode::bits`] of a key part.
pub(crate) fn packed_bits(part: KeyPart) -> u8 {
    match part.data_type {
        _ if part.nullable || part.descending => 0,
        DataType::SmallInt => 16,
        DataType::Integer | DataType::Date => 32,
        DataType::BigInt | DataType::Oid | DataType::Timestamp(_) | DataType::TimestampTz(_) => 64,
        DataType::Time(_) => 64,
        _ => 0,
    }
}

/// Whether a datum of `from` can be handed to the key encoding of `to` as it is: it encodes what
/// fits and refuses the rest.
fn is_encodable(from: DataType, to: DataType) -> bool {
    let scale = |data_type| match data_type {
        DataType::Numeric { scale, .. } => Some(scale),
        _ => None,
    };
    is_same_datum(from, to)
        || from.is_integer() && to.is_integer()
        || from.is_text() && to.is_text()
        || scale(from).is_some() && scale(from) == scale(to)
}
