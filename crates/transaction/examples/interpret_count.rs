//! Counts instructions: runs one kind of call many times over an array of rows, which costs next
//! to nothing itself.
//!
//! ```text
//! cargo build --release -p hotrow-transaction --example interpret_count
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     target/release/examples/interpret_count update 1000
//! ```
//!
//! The difference between 1000 and 2000 calls, divided by 1000, is the cost of a call; `update` and
//! `select` make 10 accesses a call, or as many as a third argument says, and `none` runs the loop
//! without them. The difference between calls of 10 and of 20 accesses is the cost of an access
//! with its loop step.

use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::row::{Field, RowLayout};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, RecordAccess};
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::constant::special_slots;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{NoHook, run};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower::lower;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::*;

const INT: SqlType = SqlType::Scalar(DataType::Integer);

/// Rows of two words, found by the number in their key.
struct Rows {
    words: Vec<[u64; 2]>,
    layout: RowLayout,
}

impl RecordAccess for Rows {
    type Record = usize;
    type Row = [u64];

    fn find(&mut self, at: &KeyAt<'_>, _intent: Intent) -> Result<Option<usize>, Stop> {
        let key = at.key.first_chunk::<4>().map_or(0, |key| u32::from_be_bytes(*key));
        let number = (key ^ 1 << 31) as usize;
        Ok((number < self.words.len()).then_some(number))
    }

    fn row(&self, _table: TableId, record: usize) -> &[u64] {
        &self.words[record]
    }

    fn scan(
        &mut self,
        _range: &RangeAt<'_>,
        intent: Intent,
        visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_table(TableId(0), intent, visit)
    }

    fn scan_table(
        &mut self,
        _table: TableId,
        _intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        for (number, row) in self.words.iter().enumerate() {
            if visit(number, row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        _table: TableId,
        record: usize,
        changes: &[(ColumnId, Datum)],
        _heap: &[u8],
    ) -> Result<Inserted, Stop> {
        let row = &mut self.words[record];
        for (column, value) in changes {
            let field: Field = self.layout.field(*column);
            row[field.word()] = value.as_int() as u64;
        }
        Ok(Inserted::Yes)
    }

    fn insert(
        &mut self,
        _table: TableId,
        _row: &[u64],
        _primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        Ok(Inserted::Yes)
    }

    fn remove(&mut self, _table: TableId, _record: usize) -> Result<(), Stop> {
        Ok(())
    }
}

fn read(slot: u16, sql_type: SqlType) -> Expr {
    Expr { kind: ExprKind::Slot(SlotId(slot)), sql_type }
}

fn statement(kind: StatementKind) -> Statement {
    Statement { kind, place: Place::default() }
}

/// `FOREACH k IN ARRAY keys LOOP access END LOOP`, over slots keys, k, c, d, x, y.
fn procedure(kind: &str) -> Procedure {
    let big = SqlType::Scalar(DataType::BigInt);
    let mut slots = special_slots();
    let types = [SqlType::Array(DataType::Integer), INT, big, INT, big, INT];
    slots.extend(types.map(|sql_type| Slot { name: "s".into(), sql_type }));
    let one =
        Expr { kind: ExprKind::Constant(hotrow_base::value::Value::BigInt(1)), sql_type: big };
    let sum = ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(read(5, big)), Box::new(one));
    let access = |bind: Vec<(ColumnId, SlotId)>, effect| {
        vec![statement(StatementKind::Access(Box::new(Access {
            table: TableId(0),
            path: Path::Point { index: IndexId(0), key: vec![read(4, INT)] },
            bind,
            filter: None,
            effect,
        })))]
    };
    let body = match kind {
        "update" => access(
            vec![(ColumnId(1), SlotId(5))],
            Effect::Update {
                set: vec![(ColumnId(1), Expr { kind: sum, sql_type: big })],
                consume: Consume::Discard,
            },
        ),
        "select" => access(
            vec![(ColumnId(1), SlotId(5)), (ColumnId(2), SlotId(6))],
            Effect::Read(Consume::First {
                into: vec![(SlotId(7), read(5, big)), (SlotId(8), read(6, INT))],
                strict: false,
                order_by: Vec::new(),
                offset: None,
            }),
        ),
        _ => Vec::new(),
    };
    let each =
        StatementKind::ForEach { slot: SlotId(4), elements: Elements::Array(SlotId(3)), body };
    Procedure {
        name: "count".into(),
        parameters: 1,
        defaults: Vec::new(),
        draws: Vec::new(),
        slots,
        body: vec![statement(each)],
        result: Vec::new(),
        returns_set: false,
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
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "update".into());
    let calls = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let accesses = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(10);
    let column = |name: &str, data_type| Column {
        name: name.into(),
        data_type,
        nullable: false,
        default: None,
        draws: None,
        domain: None,
    };
    let columns = vec![
        column("id", DataType::Integer),
        column("c", DataType::BigInt),
        column("d", DataType::Integer),
    ];
    let primary = IndexDefinition {
        name: "t_pkey".into(),
        columns: vec![ColumnId(0)],
        descending: Vec::new(),
        unique: true,
        kind: IndexKind::Hash,
        is_constraint: false,
        deferral: Deferral::Never,
    };
    let mut catalog = Catalog::default();
    let table = catalog.add_table("t", columns, Some(primary)).expect("a small table");
    let layout = catalog.table(table).layout.clone();
    let program = lower(&catalog, &procedure(&kind)).expect("a small procedure");
    let mut rows = Rows { words: vec![[0; 2]; 1_000], layout };
    let mut invocation = Invocation::default();
    invocation.arguments.push_int_array((0..accesses).map(|i| i * 97 % 1_000));
    let mut frame = Frame::new();
    for _ in 0..calls {
        frame.begin(&program, &invocation);
        run(&program, 0, &mut frame, &mut rows, &mut NoHook).expect("it runs");
    }
    println!("{kind}: {calls} calls, first row {:?}", rows.words[0]);
}
