//! Procedures over bigint columns, built by hand.

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::constant::special_slots;
use hotrow_transaction::program::*;

/// A column of a table.
pub fn bigint(name: &str) -> Column {
    Column {
        name: name.into(),
        data_type: DataType::BigInt,
        nullable: false,
        default: None,
        draws: None,
        domain: None,
    }
}

/// An index on a table's columns, by their numbers.
pub fn index(name: &str, columns: &[u16], unique: bool, kind: IndexKind) -> IndexDefinition {
    let columns = columns.iter().map(|&column| ColumnId(column)).collect();
    IndexDefinition {
        name: name.into(),
        columns,
        descending: Vec::new(),
        unique,
        kind,
        is_constraint: false,
        deferral: Deferral::Never,
    }
}

pub struct Build {
    procedure: Procedure,
}

fn typed(kind: ExprKind, data_type: DataType) -> Expr {
    Expr { kind, sql_type: SqlType::Scalar(data_type) }
}

pub fn read(slot: SlotId) -> Expr {
    typed(ExprKind::Slot(slot), DataType::BigInt)
}

pub fn int(value: i64) -> Expr {
    typed(ExprKind::Constant(Value::BigInt(value)), DataType::BigInt)
}

pub fn add(a: Expr, b: Expr) -> Expr {
    typed(ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(a), Box::new(b)), DataType::BigInt)
}

pub fn minus(a: Expr, b: Expr) -> Expr {
    let op = ArithmeticOp::Subtract;
    typed(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), DataType::BigInt)
}

pub fn divide(a: Expr, b: Expr) -> Expr {
    typed(ExprKind::Arithmetic(ArithmeticOp::Divide, Box::new(a), Box::new(b)), DataType::BigInt)
}

pub fn less(a: Expr, b: Expr) -> Expr {
    typed(ExprKind::Compare(CompareOp::Less, Box::new(a), Box::new(b)), DataType::Boolean)
}

pub fn at(kind: StatementKind) -> Statement {
    Statement { kind, place: Place { line: 1, column: 1 } }
}

/// A table and the index to reach it by.
pub type By = (TableId, IndexId);

impl Build {
    pub fn new(name: &str) -> Self {
        Self {
            procedure: Procedure {
                name: name.into(),
                parameters: 0,
                defaults: Vec::new(),
                draws: Vec::new(),
                slots: special_slots(),
                body: Vec::new(),
                result: Vec::new(),
                returns_set: true,
                row_sets: 0,
                row_locks: RowLocks::default(),
                inlined: Vec::new(),
                ends_transaction: false,
                is_variadic: false,
                outs: Vec::new(),
                lacks: None,
                interpreted: None,
                source: None,
                trigger: None,
                later: None,
                needs: Default::default(),
            },
        }
    }

    pub fn slot(&mut self) -> SlotId {
        let name = format!("s{}", self.procedure.slots.len());
        let sql_type = SqlType::Scalar(DataType::BigInt);
        self.procedure.slots.push(Slot { name, sql_type });
        SlotId(self.procedure.slots.len() as u16 - 1)
    }

    pub fn parameters<const N: usize>(&mut self) -> [SlotId; N] {
        self.procedure.parameters = N as u16;
        std::array::from_fn(|_| self.slot())
    }

    /// One more parameter, an array.
    pub fn array_parameter(&mut self) -> SlotId {
        let slot = self.slot();
        self.procedure.slots[slot.index()].sql_type = SqlType::Array(DataType::BigInt);
        self.procedure.parameters += 1;
        slot
    }

    pub fn say(&mut self, kind: StatementKind) {
        self.procedure.body.push(at(kind));
    }

    pub fn end(self) -> Procedure {
        self.procedure
    }

    pub fn insert(&mut self, table: TableId, values: Vec<Expr>) {
        let insert = Insert { table, values, returning: Vec::new(), ignore_conflict: false };
        self.say(StatementKind::Insert(Box::new(insert)));
    }

    /// `UPDATE by SET column = value(column) WHERE key = ..`; a slot with the new value.
    pub fn update(
        &mut self,
        by: By,
        key: Expr,
        column: ColumnId,
        value: impl FnOnce(Expr) -> Expr,
    ) -> SlotId {
        let (bound, new) = (self.slot(), self.slot());
        let consume = Consume::First {
            into: vec![(new, read(bound))],
            strict: true,
            order_by: Vec::new(),
            offset: None,
        };
        self.say(StatementKind::Access(Box::new(Access {
            table: by.0,
            path: Path::Point { index: by.1, key: vec![key] },
            bind: vec![(column, bound)],
            filter: None,
            effect: Effect::Update { set: vec![(column, value(read(bound)))], consume },
        })));
        new
    }

    /// `FOREACH key IN ARRAY keys LOOP UPDATE by SET column = value(column, key) WHERE key = key`
    pub fn update_each(
        &mut self,
        by: By,
        keys: SlotId,
        column: ColumnId,
        value: impl FnOnce(Expr, Expr) -> Expr,
    ) {
        let (slot, bound) = (self.slot(), self.slot());
        let set = vec![(column, value(read(bound), read(slot)))];
        let access = StatementKind::Access(Box::new(Access {
            table: by.0,
            path: Path::Point { index: by.1, key: vec![read(slot)] },
            bind: vec![(column, bound)],
            filter: None,
            effect: Effect::Update { set, consume: Consume::Discard },
        }));
        self.say(StatementKind::ForEach {
            slot,
            elements: Elements::Array(keys),
            body: vec![at(access)],
        });
    }

    /// `SELECT column INTO slot FROM by WHERE key = ..`
    pub fn look_up(&mut self, by: By, key: Expr, column: ColumnId) -> SlotId {
        let (bound, found) = (self.slot(), self.slot());
        let consume = Consume::First {
            into: vec![(found, read(bound))],
            strict: true,
            order_by: Vec::new(),
            offset: None,
        };
        self.say(StatementKind::Access(Box::new(Access {
            table: by.0,
            path: Path::Point { index: by.1, key: vec![key] },
            bind: vec![(column, bound)],
            filter: None,
            effect: Effect::Read(consume),
        })));
        found
    }

    /// `RETURN QUERY SELECT columns FROM table WHERE path`
    pub fn query(&mut self, table: TableId, path: Path, columns: &[ColumnId]) {
        let bind: Vec<_> = columns.iter().map(|&column| (column, self.slot())).collect();
        let result = |_: &ColumnId| ResultColumn::new("c", DataType::BigInt);
        self.procedure.result = columns.iter().map(result).collect();
        let columns = bind.iter().map(|&(_, slot)| read(slot)).collect();
        let consume = Consume::all_rows(RowsTo::Result, columns);
        let effect = Effect::Read(consume);
        self.say(StatementKind::Access(Box::new(Access {
            table,
            path,
            bind,
            filter: None,
            effect,
        })));
    }

    /// Counts to `rounds`, so that transactions overlap more.
    pub fn linger(&mut self, rounds: Expr) {
        let (slot, count) = (self.slot(), self.slot());
        let value = add(read(slot), int(1));
        let body = vec![at(StatementKind::Assign { slot: count, value })];
        let (from, step) = (int(1), int(1));
        self.say(StatementKind::ForRange { slot, from, to: rounds, step, reverse: false, body });
    }

    /// `UPDATE table SET column = value WHERE path`
    pub fn set(&mut self, table: TableId, path: Path, column: ColumnId, value: Expr) {
        let effect = Effect::Update { set: vec![(column, value)], consume: Consume::Discard };
        self.say(StatementKind::Access(Box::new(Access {
            table,
            path,
            bind: Vec::new(),
            filter: None,
            effect,
        })));
    }

    /// `DELETE FROM table WHERE path`
    pub fn delete(&mut self, table: TableId, path: Path) {
        let effect = Effect::Delete { consume: Consume::Discard };
        self.say(StatementKind::Access(Box::new(Access {
            table,
            path,
            bind: Vec::new(),
            filter: None,
            effect,
        })));
    }
}

/// All rows of an index that start with these key parts.
pub fn prefix(index: IndexId, prefix: Vec<Expr>) -> Path {
    Path::Range { index, prefix, lower: None, upper: None, descending: false }
}
