//! Queries: accesses that are run by a native visit, with code per row.

use hotrow_base::types::{DataType, SqlType};

use super::Lowerer;
use super::segments::Label;
use crate::bytecode::{AggregateCode, AggregateKind, CompareKind, Gather, Op, OrderCode, RowRun};
use crate::program::{
    Access, Aggregate, AggregateFunction, Consume, Effect, Expr, KeySlot, OrderKey, RowsTo, SlotId,
};

impl Lowerer<'_> {
    /// Lowers an access as a visit. `types`: of the slots that a FOR loop puts its columns into.
    pub(super) fn query(&mut self, access: &Access, types: Option<&[SqlType]>) {
        let consume = access.effect.consume();
        let site = self.number(self.program.access.len());
        let (window, lists, mut code);
        if access.path.lists().is_empty() {
            code = self.access_code(access);
            window = self.window(consume);
            lists = Vec::new();
        } else {
            window = self.window(consume);
            self.emit(Op::VisitBegin { site });
            lists = access.path.lists().iter().map(|list| self.open_list(list)).collect();
            code = self.access_code(access);
        }
        let is_read = matches!(access.effect, Effect::Read(_));
        let mut gather = Gather::Count;
        code.visit = self.row_code(|this| {
            let skip = this.label();
            if let Some(filter) = &access.filter {
                this.jump_unless(filter, skip);
            }
            if is_read {
                gather = this.gather(consume, window, types, false);
            }
            this.emit(Op::RowKeep);
            this.place(skip);
            this.emit(Op::RowSkip);
        });
        if let Effect::Update { set, .. } = &access.effect {
            let apart = !matches!(consume, Consume::Discard);
            code.change = self.row_code(|this| {
                let update = this.new_values(access, &mut code, set, apart);
                code.update = Some(update);
                this.emit(Op::RowKeep);
            });
        }
        if !is_read && !matches!(consume, Consume::Discard) {
            code.returning = self.row_code(|this| {
                this.show_new_values(access, &code);
                gather = this.gather(consume, window, types, true);
                this.emit(Op::RowKeep);
            });
        }
        self.visit_op(site, consume, &gather, lists);
        code.gather = gather;
        self.program.access.push(code);
    }

    /// Begins the loop over a list's keys.
    fn open_list(&mut self, list: &KeySlot) -> OpenList {
        let (keys, cursor) = (self.keys(&list.keys), self.temporary());
        let (again, none) = (self.label(), self.label());
        let slot = list.slot.0;
        self.emit(Op::EachBegin { array: keys, cursor, slot, to: none.0 });
        self.place(again);
        OpenList { keys, cursor, slot, again, none }
    }

    fn close_list(&mut self, list: &OpenList) {
        let OpenList { keys, cursor, slot, again, none } = *list;
        self.emit(Op::EachNext { cursor, slot, to: again.0 });
        self.place(none);
        self.emit(Op::KeysEnd { keys });
    }

    /// Code in a segment of its own; its number.
    fn row_code(&mut self, lower: impl FnOnce(&mut Self)) -> u32 {
        let segment = self.segments.open();
        lower(self);
        self.segments.close();
        segment as u32
    }

    /// Slots of OFFSET and LIMIT.
    fn window(&mut self, consume: &Consume) -> Window {
        let (offset, limit) = match consume {
            Consume::First { offset, .. } => (offset.as_ref(), None),
            Consume::Rows { offset, limit, .. } => (offset.as_ref(), limit.as_ref()),
            _ => (None, None),
        };
        let mut slot = |expr: Option<&Expr>| expr.map(|expr| self.expr_as(expr, DataType::BigInt));
        Window { offset: slot(offset), limit: slot(limit) }
    }

    /// The visit itself, and what is done with its result.
    fn visit_op(
        &mut self,
        site: u16,
        consume: &Consume,
        gather: &Gather,
        mut lists: Vec<OpenList>,
    ) {
        let (missing, end) = (self.label(), self.label());
        if lists.is_empty() {
            self.emit(Op::Visit { site, missing: missing.0 });
        } else {
            self.emit(Op::VisitPart { site });
            while let Some(list) = lists.pop() {
                self.close_list(&list);
            }
            self.emit(Op::VisitEnd { site, missing: missing.0 });
        }
        match (consume, gather) {
            (Consume::First { into, .. }, Gather::First { row, .. }) => {
                // Row code has converted the values already.
                for (i, (slot, _)) in into.iter().enumerate() {
                    self.copy(row.first + row.keys + i as u16, slot.0);
                }
                self.emit(Op::TouchedByVisit);
                self.segments.open();
                self.place(missing);
                self.miss(consume);
                self.emit(Op::TouchedByVisit);
                self.emit(Op::Jump { to: end.0 });
                self.segments.close();
            }
            (Consume::Aggregate { into, .. }, _) => {
                self.place(missing);
                self.assign_all(into);
                self.emit(Op::TouchedByVisit);
            }
            (Consume::Rows { to: RowsTo::Loop(_), .. }, _) => self.place(missing),
            _ => {
                self.place(missing);
                self.emit(Op::TouchedByVisit);
            }
        }
        self.place(end);
    }

    /// Code of a row's values, and what is to be done with them. A change that keeps the values of
    /// one row fails (P0003) when it changes more.
    fn gather(
        &mut self,
        consume: &Consume,
        window: Window,
        types: Option<&[SqlType]>,
        is_change: bool,
    ) -> Gather {
        match consume {
            Consume::Discard => Gather::Count,
            Consume::Aggregate { aggregates, .. } => {
                Gather::Aggregate(aggregates.iter().map(|a| self.aggregate(a)).collect())
            }
            Consume::First { into, strict, order_by, .. } => {
                let values: Vec<_> = into
                    .iter()
                    .map(|(slot, value)| (value, self.slot_type(*slot, value.sql_type)))
                    .collect();
                let (row, order, _) = self.row(&values, order_by);
                let single = *strict || is_change;
                Gather::First { row, single, order, offset: window.offset }
            }
            Consume::Rows { to, columns, distinct, order_by, counted, .. } => {
                let values: Vec<_> = columns
                    .iter()
                    .enumerate()
                    .map(|(i, value)| (value, self.column_type(*to, i, value, types)))
                    .collect();
                let (row, order, has_bytes) = self.row(&values, order_by);
                let kinds = values.iter().map(|(_, sql_type)| CompareKind::of(scalar(*sql_type)));
                Gather::Rows {
                    to: *to,
                    row,
                    distinct: if *distinct { kinds.collect() } else { Box::default() },
                    order,
                    limit: window.limit,
                    offset: window.offset,
                    counted: counted.map(|column| row.first + row.keys + column),
                    has_bytes,
                }
            }
        }
    }

    fn column_type(
        &self,
        to: RowsTo,
        i: usize,
        value: &Expr,
        types: Option<&[SqlType]>,
    ) -> SqlType {
        let wanted = match to {
            RowsTo::Loop(_) => types.and_then(|types| types.get(i)).copied(),
            RowsTo::More { into, .. } => {
                Some(self.slot_type(SlotId(into.0 + i as u16), value.sql_type))
            }
            RowsTo::Result => {
                self.procedure.result.get(i).map(|column| SqlType::Scalar(column.data_type))
            }
        };
        wanted.unwrap_or(value.sql_type)
    }

    /// Code that puts order keys and values into consecutive slots.
    fn row(
        &mut self,
        values: &[(&Expr, SqlType)],
        order_by: &[OrderKey],
    ) -> (RowRun, Box<[OrderCode]>, bool) {
        let first = self.temporaries(order_by.len() + values.len());
        let row = RowRun { first, keys: order_by.len() as u16, values: values.len() as u16 };
        let mut has_bytes = false;
        for (dst, key) in (first..).zip(order_by) {
            self.expr_into(&key.value, dst);
            has_bytes |= key.value.data_type().is_bytes();
        }
        for (dst, (value, sql_type)) in (first + row.keys..).zip(values) {
            self.expr_as_into(value, *sql_type, dst);
            has_bytes |= scalar(*sql_type).is_bytes();
        }
        let order = order_by
            .iter()
            .map(|key| OrderCode {
                kind: CompareKind::of(key.value.data_type()),
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
            .collect();
        (row, order, has_bytes)
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> AggregateCode {
        let result = aggregate.result;
        let argument = aggregate.argument.as_ref();
        let otherwise = argument.map_or(SqlType::Scalar(DataType::BigInt), |a| a.sql_type);
        let result_type = scalar(self.slot_type(result, otherwise));
        let is_choice =
            matches!(aggregate.function, AggregateFunction::Min | AggregateFunction::Max);
        let (argument, argument_type) = match argument {
            None => (None, DataType::BigInt),
            // min and max give one of their arguments, so these must have the result's form.
            Some(expr) if is_choice => (Some(self.expr_as(expr, result_type)), result_type),
            Some(expr) => (Some(self.expr(expr)), expr.data_type()),
        };
        AggregateCode {
            function: aggregate.function,
            argument,
            kind: AggregateKind::of(argument_type),
            distinct: aggregate.distinct,
            result: result.0,
            result_type,
        }
    }
}

/// A loop over the keys of a list that is being lowered.
struct OpenList {
    keys: u16,
    cursor: u16,
    slot: u16,
    again: Label,
    none: Label,
}

#[derive(Clone, Copy)]
struct Window {
    offset: Option<u16>,
    limit: Option<u16>,
}

fn scalar(sql_type: SqlType) -> DataType {
    let (SqlType::Scalar(data_type) | SqlType::Array(data_type)) = sql_type;
    data_type
}
