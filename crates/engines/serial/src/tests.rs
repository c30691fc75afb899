use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use hotrow_base::ids::{ColumnId, IndexId, ProcedureId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_engine::journal::Journal;
use hotrow_engine::schema::{Memory, SharedSchema};
use hotrow_engine::source::{End, Fetch, Ticket};
use hotrow_engine::trace::SerialTrace;
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::constant::special_slots;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Outcome;
use hotrow_transaction::program::*;

use super::*;

fn parse(settings: &[(&str, &str)]) -> Result<Planning, String> {
    let settings =
        settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Planning::from_settings(&settings).map_err(|error| error.to_string())
}

#[test]
fn settings_choose_planning() {
    assert_eq!(parse(&[]), Ok(Planning::Off));
    assert_eq!(parse(&[("plan", "on")]), Ok(Planning::On));
    assert_eq!(
        parse(&[("plan", "1")]),
        Err("setting plan of engine serial cannot be \"1\"; it can be: off, on".to_owned())
    );
    assert_eq!(
        parse(&[("x", "1")]),
        Err("engine serial has no setting \"x\"; it has: plan".to_owned())
    );
}

#[test]
fn more_than_one_thread_is_refused() {
    let schema = Arc::new(SharedSchema::new(Schema::empty(Arc::new(Memory::new(3, 1 << 24))), 3));
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    let journal = Arc::new(Journal::new(2, None, None));
    let refused = start(Ground { schema, journal }, &options, Vec::new()).err();
    let expected = OptionError::Threads { engine: NAME, threads: 2, allowed: "1" };
    assert_eq!(refused, Some(expected));
}

const KEYS: i64 = 7;
const CALLS: i64 = 1000;

/// Counts up one of a few keys per call: the key's row must exist.
struct Counting {
    next: i64,
    ends: Sender<Outcome>,
}

impl CallSource for Counting {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        if self.next == KEYS + CALLS {
            return Fetch::Closed;
        }
        let insert = self.next < KEYS;
        invocation.procedure = ProcedureId(if insert { 0 } else { 1 });
        invocation.arguments.clear();
        invocation.arguments.push_int(self.next % KEYS);
        self.next += 1;
        Fetch::Ready(Ticket(0))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, _: Ticket, end: End<'_>) {
        let outcome = match end {
            End::Committed { frame, program, .. } => Ok(frame.result_rows(program)),
            End::Aborted { error, .. } => Err(*error),
        };
        self.ends.send(outcome).expect("the test listens until the end");
    }
}

fn bigint(kind: ExprKind) -> Expr {
    Expr { kind, sql_type: SqlType::Scalar(DataType::BigInt) }
}

fn read(slot: SlotId) -> Expr {
    bigint(ExprKind::Slot(slot))
}

fn procedure(statements: Vec<StatementKind>) -> Procedure {
    let mut slots = special_slots();
    for name in ["key", "count", "new"] {
        slots.push(Slot { name: name.into(), sql_type: SqlType::Scalar(DataType::BigInt) });
    }
    let place = Place { line: 1, column: 1 };
    Procedure {
        name: "test".into(),
        parameters: 1,
        defaults: Vec::new(),
        draws: Vec::new(),
        slots,
        body: statements.into_iter().map(|kind| Statement { kind, place }).collect(),
        result: vec![ResultColumn::new("new", DataType::BigInt)],
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
    }
}

fn counters() -> Schema {
    let column = |name: &str| Column {
        name: name.into(),
        data_type: DataType::BigInt,
        nullable: false,
        default: None,
        draws: None,
        domain: None,
    };
    let key = IndexDefinition {
        name: "counter_pkey".into(),
        columns: vec![ColumnId(0)],
        descending: Vec::new(),
        unique: true,
        kind: IndexKind::Hash,
        is_constraint: false,
        deferral: Deferral::Never,
    };
    let mut catalog = Catalog::default();
    let columns = vec![column("id"), column("n")];
    catalog.add_table("counter", columns, Some(key)).expect("a legal table");
    let (key, count, new) = (SlotId(3), SlotId(4), SlotId(5));
    let constant = |value| bigint(ExprKind::Constant(Value::BigInt(value)));
    let insert = Insert {
        table: TableId(0),
        values: vec![read(key), constant(0)],
        returning: Vec::new(),
        ignore_conflict: false,
    };
    let one_more =
        ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(read(count)), Box::new(constant(1)));
    let consume = Consume::First {
        into: vec![(new, read(count))],
        strict: true,
        order_by: Vec::new(),
        offset: None,
    };
    let update = Access {
        table: TableId(0),
        path: Path::Point { index: IndexId(0), key: vec![read(key)] },
        bind: vec![(ColumnId(1), count)],
        filter: None,
        effect: Effect::Update { set: vec![(ColumnId(1), bigint(one_more))], consume },
    };
    let insert = procedure(vec![StatementKind::Insert(Box::new(insert))]);
    let update = StatementKind::Access(Box::new(update));
    let bump = procedure(vec![update, StatementKind::ReturnNext(vec![read(new)])]);
    let mut schema = Schema::empty(Arc::new(Memory::new(2, 1 << 24)));
    schema.adopt_all(catalog, vec![Some(insert), Some(bump)]).expect("legal procedures");
    schema
}

fn calls_take_effect_in_order(plan: &str) {
    let schema = Arc::new(SharedSchema::new(counters(), 2));
    let trace = Arc::new(SerialTrace::default());
    let journal = Arc::new(Journal::new(2, None, Some(Arc::clone(&trace))));
    let ground = Ground { schema, journal };
    let settings = BTreeMap::from([("plan".to_owned(), plan.to_owned())]);
    let options = EngineOptions { settings, ..EngineOptions::default() };
    let (sender, ends) = mpsc::channel();
    let source = Box::new(Counting { next: 0, ends: sender });
    let engine = start(ground, &options, vec![source]).expect("legal options");
    for call in 0..KEYS + CALLS {
        let end = ends.recv_timeout(Duration::from_secs(60)).expect("every call ends");
        let rows = end.expect("no call fails").rows;
        if call >= KEYS {
            assert_eq!(rows, [[Value::BigInt(call / KEYS)]]);
        }
    }
    let statistics = engine.stop();
    assert_eq!(statistics.committed, (KEYS + CALLS) as u64);
    let times: Vec<u64> = trace.take().iter().map(|traced| traced.position.time).collect();
    assert!(times.into_iter().eq(1..=(KEYS + CALLS) as u64));
}

#[test]
fn calls_take_effect_in_order_without_plans() {
    calls_take_effect_in_order("off");
}

#[test]
fn calls_take_effect_in_order_with_plans() {
    calls_take_effect_in_order("on");
}
