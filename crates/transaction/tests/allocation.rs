//! A call allocates nothing once its frame has grown.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::SqlType;
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, RecordAccess};
use hotrow_transaction::actions::{ActionPlanner, ActionProgram, Batch, Wanted};
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::interpret::{NoHook, run};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower::lower;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::*;
use hotrow_transaction::routing::{PartitionSet, Routing};

#[path = "interpreter/build.rs"]
#[allow(dead_code, reason = "a kit: not every test uses all of it")]
mod build;
use build::*;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Accounts in a fixed array; whatever is asked for, the first ones are given.
struct Fixed {
    rows: Vec<Vec<u64>>,
    records: Vec<usize>,
}

impl RecordAccess for Fixed {
    type Record = usize;
    type Row = [u64];

    fn find(&mut self, _at: &KeyAt<'_>, _intent: Intent) -> Result<Option<usize>, Stop> {
        Ok(Some(0))
    }

    fn row(&self, _table: TableId, record: usize) -> &[u64] {
        &self.rows[record]
    }

    fn scan(
        &mut self,
        _range: &RangeAt<'_>,
        intent: Intent,
        visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_table(ACCOUNT, intent, visit)
    }

    fn scan_table(
        &mut self,
        _table: TableId,
        _intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        for (record, row) in self.rows.iter().enumerate() {
            if visit(record, row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        _table: TableId,
        _record: usize,
        _changes: &[(ColumnId, Datum)],
        _heap: &[u8],
    ) -> Result<Inserted, Stop> {
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

    fn take_records(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.records)
    }

    fn give_back_records(&mut self, records: Vec<usize>) {
        self.records = records;
    }
}

fn fixed_accounts() -> Fixed {
    let catalog = account_catalog();
    let layout = &catalog.table(ACCOUNT).layout;
    let row = |id: i64| {
        let heap = b"an owner whose name is rather long";
        let values = [
            Datum::int(id),
            Datum::range(0, heap.len() as u32 - id as u32),
            Datum::numeric(12_345),
            Datum::int(id % 3),
        ];
        let mut words = Vec::new();
        layout.build(&values, heap, &mut words).expect("a legal row");
        words
    };
    Fixed { rows: (0..20).map(row).collect(), records: Vec::new() }
}

/// A bit of everything that engines run all day.
fn procedure() -> Procedure {
    let mut build = Build::new();
    let keys = build.parameter(SqlType::Array(INT));
    let name = build.parameter(SqlType::Scalar(TEXT));
    build.returns(&[TEXT]);
    build.procedure.row_sets = 1;
    let [key, visits, id, id_copy] = [INT; 4].map(|data_type| build.slot(data_type));
    let [owner, owner_copy] = [TEXT; 2].map(|data_type| build.slot(data_type));
    let (total, count) = (build.slot(numeric(38, 2)), build.slot(BIG));
    let balance = build.slot(MONEY);
    let access = |path, bind, effect| {
        let access = Access { table: ACCOUNT, path, bind, filter: None, effect };
        StatementKind::Access(Box::new(access))
    };
    let set = vec![
        (VISITS, add(build.read(visits), int(1))),
        (OWNER, call(Function::Upper, TEXT, vec![build.read(owner)])),
    ];
    let update = access(
        account_at(build.read(key)),
        vec![(VISITS, visits), (OWNER, owner)],
        Effect::Update { set: set.clone(), consume: Consume::Discard },
    );
    let insert = StatementKind::Insert(Box::new(Insert {
        table: ACCOUNT,
        values: vec![
            build.read(key),
            typed(
                ExprKind::Concat(Box::new(build.read(name)), Box::new(cast(build.read(key), TEXT))),
                TEXT,
            ),
            null(MONEY),
            int(3),
        ],
        returning: Vec::new(),
        ignore_conflict: false,
    }));
    let body = vec![at(update, 2), at(insert, 3)];
    build.say(StatementKind::ForEach { slot: key, elements: Elements::Array(keys), body });
    let everyone = access(
        Path::Whole,
        vec![(VISITS, visits), (OWNER, owner)],
        Effect::Update { set, consume: Consume::Discard },
    );
    build.say(everyone);
    let aggregate =
        |function, argument, distinct, result| Aggregate { function, argument, distinct, result };
    let aggregates = vec![
        aggregate(AggregateFunction::Sum, Some(build.read(balance)), false, total),
        aggregate(AggregateFunction::Count, Some(build.read(visits)), true, count),
        aggregate(AggregateFunction::Max, Some(build.read(owner)), false, owner_copy),
    ];
    build.say(access(
        Path::Whole,
        vec![(BALANCE, balance), (VISITS, visits), (OWNER, owner)],
        Effect::Read(Consume::Aggregate { aggregates, into: Vec::new() }),
    ));
    let query = Box::new(Access {
        table: ACCOUNT,
        path: Path::Whole,
        bind: vec![(ID, id), (OWNER, owner)],
        filter: Some(compare(CompareOp::Greater, build.read(id), int(2))),
        effect: Effect::Read(Consume::Rows {
            to: RowsTo::Loop(RowSetId(0)),
            columns: vec![build.read(id), build.read(owner)],
            distinct: true,
            order_by: vec![OrderKey {
                value: build.read(owner),
                descending: true,
                nulls_first: false,
            }],
            limit: Some(constant(BIG, 10_i64)),
            offset: None,
            counted: None,
        }),
    });
    let show = StatementKind::ReturnNext(vec![build.read(owner_copy)]);
    let into = vec![id_copy, owner_copy];
    build.say(StatementKind::ForQuery { rows: RowSetId(0), query, into, body: vec![at(show, 9)] });
    build.procedure
}

#[test]
fn calls_allocate_nothing_after_warming_up() {
    let catalog = account_catalog();
    let program = lower(&catalog, &procedure()).expect("it lowers");
    let mut records = fixed_accounts();
    let mut frame = Frame::new();
    let mut invocation = Invocation::default();
    let mut call = || {
        invocation.arguments.clear();
        invocation.arguments.push_int_array(0..10);
        invocation.arguments.push_bytes(b"a name");
        frame.begin(&program, &invocation);
        run(&program, 0, &mut frame, &mut records, &mut NoHook).expect("it runs");
        assert_eq!(frame.result_len(), 10);
    };
    for _ in 0..3 {
        call();
    }
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..100 {
        call();
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
}

#[test]
fn planning_actions_allocates_nothing_after_warming_up() {
    let (catalog, procedure) = (account_catalog(), procedure());
    let granules = Granules::infer(&catalog, [&procedure]);
    let compiled = CompiledProcedure::new(&catalog, &granules, procedure.clone());
    let compiled = Arc::new(compiled.expect("it lowers"));
    let program = ActionProgram::new(&catalog, &granules, &compiled).expect("it lowers");
    assert_eq!(program.uncut, None);
    let routing = Routing::infer(&catalog, &granules, [&procedure]).spread_over(5).expect("a few");
    let mut records = fixed_accounts();
    let (mut frame, mut planner, mut batch) = <(Frame, ActionPlanner, Batch)>::default();
    let mut invocation = Invocation::default();
    let mut call = || {
        invocation.arguments.clear();
        invocation.arguments.push_int_array(0..10);
        invocation.arguments.push_bytes(b"a name");
        batch.clear();
        let call = (&program, &invocation);
        for (calls, wanted) in (1..).zip([Wanted::Actions, Wanted::ConditionsFirst, Wanted::Whole])
        {
            planner.add(&mut batch, wanted, call, &mut frame, &mut records).expect("it plans");
            assert!(batch.actions().len() > calls);
        }
        let mut partitions = PartitionSet::EMPTY;
        routing.partitions(&catalog, &batch.plan, &mut partitions);
        assert_eq!(partitions.len(), 5, "a scan of everything asks all of them");
    };
    for _ in 0..3 {
        call();
    }
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..100 {
        call();
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
}
