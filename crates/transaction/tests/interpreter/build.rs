//! Procedures built by hand, shortly.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::constant::special_slots;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower::lower;
use hotrow_transaction::outcome::Outcome;
use hotrow_transaction::program::*;
use hotrow_transaction::reference::ModelStore;

pub const INT: DataType = DataType::Integer;
pub const BIG: DataType = DataType::BigInt;
pub const BOOL: DataType = DataType::Boolean;
pub const TEXT: DataType = DataType::Text;
pub const DOUBLE: DataType = DataType::Double;

pub const fn numeric(precision: u8, scale: u8) -> DataType {
    DataType::Numeric { precision, scale }
}

pub fn typed(kind: ExprKind, data_type: DataType) -> Expr {
    Expr { kind, sql_type: SqlType::Scalar(data_type) }
}

pub fn constant(data_type: DataType, value: impl Into<Value>) -> Expr {
    typed(ExprKind::Constant(value.into()), data_type)
}

pub fn int(value: i32) -> Expr {
    constant(INT, value)
}

pub fn text(value: &str) -> Expr {
    constant(TEXT, value)
}

/// A constant from its text.
pub fn parsed(data_type: DataType, value: &str) -> Expr {
    constant(data_type, Value::parse(data_type, value).expect("a literal"))
}

pub fn null(data_type: DataType) -> Expr {
    constant(data_type, Value::Null)
}

pub fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr) -> Expr {
    let data_type = a.data_type();
    typed(ExprKind::Arithmetic(op, Box::new(a), Box::new(b)), data_type)
}

pub fn add(a: Expr, b: Expr) -> Expr {
    arithmetic(ArithmeticOp::Add, a, b)
}

pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    typed(ExprKind::Compare(op, Box::new(a), Box::new(b)), BOOL)
}

pub fn equal(a: Expr, b: Expr) -> Expr {
    compare(CompareOp::Equal, a, b)
}

pub fn cast(a: Expr, to: DataType) -> Expr {
    typed(ExprKind::Cast(Box::new(a)), to)
}

pub fn call(function: Function, result: DataType, arguments: Vec<Expr>) -> Expr {
    typed(ExprKind::Call(function, arguments), result)
}

pub fn at(kind: StatementKind, line: u32) -> Statement {
    Statement { kind, place: Place { line, column: 1 } }
}

/// A procedure under construction.
#[derive(Clone)]
pub struct Build {
    pub procedure: Procedure,
}

impl Build {
    pub fn new() -> Self {
        Self {
            procedure: Procedure {
                name: "test".into(),
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

    pub fn parameter(&mut self, sql_type: SqlType) -> SlotId {
        self.procedure.parameters += 1;
        self.slot_of(sql_type)
    }

    pub fn slot(&mut self, data_type: DataType) -> SlotId {
        self.slot_of(SqlType::Scalar(data_type))
    }

    fn slot_of(&mut self, sql_type: SqlType) -> SlotId {
        let name = format!("s{}", self.procedure.slots.len());
        self.procedure.slots.push(Slot { name, sql_type });
        SlotId(self.procedure.slots.len() as u16 - 1)
    }

    pub fn read(&self, slot: SlotId) -> Expr {
        let sql_type = self.procedure.slots[slot.index()].sql_type;
        Expr { kind: ExprKind::Slot(slot), sql_type }
    }

    pub fn returns(&mut self, types: &[DataType]) {
        self.procedure.result =
            types.iter().map(|&data_type| ResultColumn::new("c", data_type)).collect();
    }

    pub fn say(&mut self, kind: StatementKind) {
        let line = self.procedure.body.len() as u32 + 1;
        self.procedure.body.push(at(kind, line));
    }

    pub fn assign(&mut self, slot: SlotId, value: Expr) {
        self.say(StatementKind::Assign { slot, value });
    }

    /// Appends a statement that returns these slots as a row.
    pub fn show(&mut self, slots: &[SlotId]) {
        let types: Vec<_> = slots.iter().map(|&slot| self.read(slot).data_type()).collect();
        self.returns(&types);
        let values = slots.iter().map(|&slot| self.read(slot)).collect();
        self.say(StatementKind::ReturnNext(values));
    }
}

/// Tables, a store and a frame.
pub struct World {
    pub catalog: Catalog,
    pub store: ModelStore,
    pub frame: Frame,
}

/// `account(id integer primary key, owner text, balance numeric(12,2) null, visits integer)`, with
/// a unique index on owner and an index on visits.
pub const ACCOUNT: TableId = TableId(0);
pub const ACCOUNT_KEY: IndexId = IndexId(0);
pub const ACCOUNT_OWNER: IndexId = IndexId(1);
pub const ACCOUNT_VISITS: IndexId = IndexId(2);
pub const ID: ColumnId = ColumnId(0);
pub const OWNER: ColumnId = ColumnId(1);
pub const BALANCE: ColumnId = ColumnId(2);
pub const VISITS: ColumnId = ColumnId(3);
pub const MONEY: DataType = numeric(12, 2);

pub fn column(name: &str, data_type: DataType, nullable: bool) -> Column {
    Column { name: name.into(), data_type, nullable, default: None, draws: None, domain: None }
}

pub fn index(name: &str, columns: &[ColumnId], unique: bool) -> IndexDefinition {
    let (name, columns, descending) = (name.to_owned(), columns.to_vec(), Vec::new());
    let kind = IndexKind::BTree;
    IndexDefinition {
        name,
        columns,
        descending,
        unique,
        kind,
        is_constraint: false,
        deferral: Deferral::Never,
    }
}

pub fn account_catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let columns = vec![
        column("id", INT, false),
        column("owner", TEXT, false),
        column("balance", MONEY, true),
        column("visits", INT, true),
    ];
    let table = catalog
        .add_table("account", columns, Some(index("account_pkey", &[ID], true)))
        .expect("a small table");
    let mut add = |definition| catalog.add_index(table, definition).expect("a small index");
    add(index("account_owner_key", &[OWNER], true));
    add(index("account_visits_idx", &[VISITS], false));
    catalog
}

impl World {
    pub fn new() -> Self {
        Self::of(account_catalog())
    }

    pub fn of(catalog: Catalog) -> Self {
        let store = ModelStore::new(Arc::new(catalog.clone()));
        Self { catalog, store, frame: Frame::new() }
    }

    /// Accounts 1 to `n`: owners o1.., balance 10.00 * id, visits id % 3, NULL for id 7.
    pub fn with_accounts(n: i32) -> Self {
        let mut world = Self::new();
        for id in 1..=n {
            world.store.load(
                ACCOUNT,
                &[
                    Value::Int(id),
                    Value::Text(format!("o{id}")),
                    Value::parse(MONEY, &format!("{id}0")).expect("a number"),
                    if id == 7 { Value::Null } else { Value::Int(id % 3) },
                ],
            );
        }
        world
    }

    pub fn lower(&self, procedure: &Procedure) -> Program {
        lower(&self.catalog, procedure).expect("it lowers")
    }

    pub fn run(&mut self, procedure: &Procedure, arguments: &[Value]) -> Outcome {
        let program = self.lower(procedure);
        let mut invocation = Invocation::default();
        for (slot, value) in procedure.parameters().iter().zip(arguments) {
            invocation.arguments.push_value(slot.sql_type, value).expect("an argument");
        }
        self.store.call(&program, &invocation, &mut self.frame)
    }

    /// The rows of a call as text: values by commas, rows by semicolons.
    pub fn rows(&mut self, procedure: &Procedure, arguments: &[Value]) -> String {
        match self.run(procedure, arguments) {
            Ok(rows) => text_of(&rows.rows),
            Err(error) => format!("{}: {} @{}", error.code(), error.message, error.place.line),
        }
    }

    pub fn table(&self, table: TableId) -> String {
        let mut rows = self.store.rows(table);
        rows.sort_by_key(|row| row[0].to_string().parse::<i64>().unwrap_or(0));
        text_of(&rows)
    }
}

pub fn text_of(rows: &[Vec<Value>]) -> String {
    let value = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        value => value.to_string(),
    };
    let row = |row: &Vec<Value>| row.iter().map(value).collect::<Vec<_>>().join(",");
    rows.iter().map(row).collect::<Vec<_>>().join(";")
}

/// `WHERE id = key` on accounts.
pub fn account_at(key: Expr) -> Path {
    Path::Point { index: ACCOUNT_KEY, key: vec![key] }
}

pub fn into(pairs: Vec<(SlotId, Expr)>) -> Consume {
    Consume::First { into: pairs, strict: false, order_by: Vec::new(), offset: None }
}
