//! All workloads, small, on every engine: business invariants hold after a run, and replaying the
//! trace on the reference engine gives the same results and state.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;

use hotrow::{
    CallSource, Database, Datum, Durability, EngineOptions, Invocation, LogEntries, Rows,
};
use hotrow_base::clock;
use hotrow_base::ids::WorkerId;
use hotrow_engine::source::{End, Fetch, Ticket};
use hotrow_tests::directory::TestDirectory;
use hotrow_tests::loaded::{open_loaded, open_loaded_in};
use hotrow_tests::matrix::{self, Setup};
use hotrow_tests::state;
use hotrow_workloads::{CheckContext, Generator, Share, TransactionKind, Workload, workload_named};

const SEED: u64 = 7;
const CALLS: u64 = 400;

/// What clients were told.
#[derive(Default)]
pub struct Told {
    pub committed: Vec<u64>,
    pub tally: u64,
    pub ended: u64,
    pub codes: BTreeSet<String>,
}

/// Hands out the calls of one worker's generator.
struct Calls {
    generator: Box<dyn Generator>,
    left: u64,
    told: Arc<Mutex<Told>>,
}

impl CallSource for Calls {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        if self.left == 0 {
            return Fetch::Closed;
        }
        self.left -= 1;
        let kind = self.generator.next(invocation);
        invocation.now_us = clock::now_us();
        Fetch::Ready(Ticket(self.generator.tally() << 8 | u64::from(kind.0)))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, ticket: Ticket, end: End<'_>) {
        let mut told = self.told.lock().expect("sources do not panic");
        told.ended += 1;
        match end {
            End::Committed { .. } => {
                told.committed[(ticket.0 & 0xff) as usize] += 1;
                told.tally += ticket.0 >> 8;
            }
            End::Aborted { error, .. } => drop(told.codes.insert(error.code().to_owned())),
        }
    }
}

/// Checks look at a database through this.
pub struct Context<'a>(pub &'a Database, pub &'a Told);

impl CheckContext for Context<'_> {
    fn rows(&mut self, table: &str, columns: &[&str], visit: &mut dyn FnMut(&[Datum], &[u8])) {
        let all = self.0.describe(table).expect("the schema was applied").columns;
        let place = |name: &&str| all.iter().position(|column| column.name == *name);
        let places: Vec<usize> =
            columns.iter().map(place).collect::<Option<_>>().expect("the schema was applied");
        let mut wanted = Vec::new();
        let visited = self.0.scan_datums(table, |row, heap| {
            wanted.clear();
            wanted.extend(places.iter().map(|&at| row[at]));
            visit(&wanted, heap);
        });
        visited.expect("the database is open");
    }

    fn committed(&self, kind: TransactionKind) -> Option<u64> {
        Some(self.1.committed[kind.index()])
    }

    fn tally(&self) -> Option<u64> {
        Some(self.1.tally)
    }
}

fn run(workload: &dyn Workload, setup: &Setup) {
    let db = open_loaded(workload, SEED, setup.config.clone().trace(true));
    work(workload, setup, &db);
    replay(workload, setup, &db);
}

/// As [`run`], with the database closed and opened again.
fn run_logged(workload: &dyn Workload, setup: &Setup) {
    let directory = TestDirectory::new("workload");
    let config = setup.config.clone().durability(Durability::Buffered);
    let config = config.log_entries(LogEntries::Values);
    let db = open_loaded_in(&directory, workload, SEED, config.clone());
    let told = work(workload, setup, &db);
    let before = state::dump(&db);
    drop(db);
    let db = Database::open_without_engine(directory.path(), config, |_| ());
    let db = db.unwrap_or_else(|error| panic!("{}: {error}", setup.name));
    let repeated = db.recovery().expect("there is a directory").transactions;
    assert!(repeated > CALLS / 2, "{}: {repeated}", setup.name);
    for (table, rows) in state::dump(&db) {
        assert!(rows == before[&table], "{}: {table} is not as it was", setup.name);
    }
    check(workload, setup, &db, &told);
}

/// Runs the engine for a while, and checks what must hold.
fn work(workload: &dyn Workload, setup: &Setup, db: &Database) -> Told {
    let threads = setup.config.threads.expect("set-ups say how many");
    let settings = setup.config.settings.clone();
    let session = db.session();
    let resolve = |name: &str| session.procedure(name).expect("it was created").id();
    let kinds = workload.kinds().len();
    let told = Arc::new(Mutex::new(Told { committed: vec![0; kinds], ..Told::default() }));
    let source = |index: usize| -> Box<dyn CallSource> {
        let worker = Share { index: index as u32, of: threads as u32 };
        let generator = workload.generator(worker, SEED, &resolve);
        Box::new(Calls { generator, left: CALLS / threads as u64, told: Arc::clone(&told) })
    };
    let options = EngineOptions {
        threads,
        first_worker: WorkerId(1),
        pin_threads: false,
        settings,
        ..EngineOptions::default()
    };
    let engine = db
        .start_engine(&setup.entry, &options, (0..threads).map(source).collect())
        .unwrap_or_else(|error| panic!("{}: {error}", setup.name));
    let calls = CALLS / threads as u64 * threads as u64;
    while told.lock().expect("sources do not panic").ended < calls {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    engine.stop();
    let told = std::mem::take(&mut *told.lock().expect("sources do not panic"));
    assert!(!told.codes.contains("40001") && !told.codes.contains("XX000"), "{:?}", told.codes);
    let aborts = workload.kinds().iter().any(|kind| kind.aborts > 0.0);
    assert!(aborts || told.codes.is_empty(), "{}: {:?}", setup.name, told.codes);
    check(workload, setup, db, &told);
    told
}

fn check(workload: &dyn Workload, setup: &Setup, db: &Database, told: &Told) {
    for check in workload.checks() {
        let result = check.result(&mut Context(db, told));
        let (name, detail) = (result.name, result.detail());
        assert!(result.holds(), "{}, {name}: {detail}", setup.name);
    }
}

fn replay(workload: &dyn Workload, setup: &Setup, db: &Database) {
    let reference = open_loaded(workload, SEED, matrix::reference().config);
    let session = reference.session();
    for call in db.trace().expect("it was asked for").take() {
        let (expected, replayed) = (Rows::from(call.result), session.replay(&call.invocation));
        let same = matches!(&replayed, Ok(rows) if *rows == expected);
        let what = (call.position, expected, replayed);
        assert!(same, "{}: call, result and replayed result {what:?}", setup.name);
    }
    let (state, replayed) = (state::dump(db), state::dump(&reference));
    for (table, rows) in &state {
        assert!(*rows == replayed[table], "{}: {table} is not as replayed", setup.name);
    }
}

pub fn small(name: &str, values: &[(&str, &str)]) -> Box<dyn Workload> {
    let mut workload = workload_named(name).expect("it is listed");
    for (parameter, value) in values {
        workload.parameters_mut().set(parameter, value).expect("the value is right");
    }
    workload.parameters().validate().expect("the values fit each other");
    workload
}

#[test]
fn tpcc() {
    let workload = small(
        "tpcc",
        &[("warehouses", "1"), ("items", "100"), ("customers", "30"), ("rollbacks", "5")],
    );
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
}

#[test]
fn tpcc_logged_as_values() {
    let sizes = [("warehouses", "2"), ("items", "100"), ("customers", "30"), ("rollbacks", "5")];
    let workload = small("tpcc", &sizes);
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run_logged(&*workload, setup));
}

#[test]
fn tpcc_remote() {
    let workload = small(
        "tpcc",
        &[
            ("warehouses", "2"),
            ("items", "100"),
            ("customers", "30"),
            ("remote-lines", "30"),
            ("remote-payments", "50"),
        ],
    );
    matrix::setups(&[2, 4]).iter().for_each(|setup| run(&*workload, setup));
}

#[test]
fn tpcb() {
    let workload = small("tpcb", &[("branches", "2"), ("accounts", "50")]);
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
}

#[test]
fn tpcb_logged_as_values() {
    let workload = small("tpcb", &[("branches", "2"), ("accounts", "50")]);
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run_logged(&*workload, setup));
}

#[test]
fn tpcb_partly_reading() {
    let settings = [
        ("branches", "2"),
        ("accounts", "50"),
        ("reads", "40"),
        ("theta", "0.9"),
        ("index", "btree"),
    ];
    let workload = small("tpcb", &settings);
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
}

#[test]
fn tellers_searched_and_updated() {
    for (mix, tellers) in [("search", "20"), ("update", "8")] {
        let workload = small("tellers", &[("tellers", tellers), ("span", "5"), ("mix", mix)]);
        matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
    }
}

#[test]
fn counter() {
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*small("counter", &[]), setup));
}

#[test]
fn tatp() {
    let workload = small("tatp", &[("subscribers", "40")]);
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
}

#[test]
fn kv_with_conflicts_and_aborts() {
    for rounds in ["1", "2"] {
        let settings = [
            ("clients", "6"),
            ("multi-partition", "40"),
            ("conflict", "50"),
            ("aborts", "5"),
            ("rounds", rounds),
        ];
        let workload = small("kv", &settings);
        matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
    }
}

#[test]
fn kv_of_three_partitions_logged_as_values() {
    let sizes = [("partitions", "3"), ("clients", "8"), ("multi-partition", "30")];
    let workload = small("kv", &sizes);
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run_logged(&*workload, setup));
}

#[test]
fn ycsb_hot() {
    let workload = small(
        "ycsb",
        &[("records", "200"), ("hot", "4"), ("hot-operations", "2"), ("reads", "30")],
    );
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
}

#[test]
fn ycsb_zipf_shuffled() {
    let workload = small(
        "ycsb",
        &[("records", "100"), ("theta", "0.9"), ("order", "shuffled"), ("reads", "0")],
    );
    matrix::setups(&[1, 2, 4]).iter().for_each(|setup| run(&*workload, setup));
}
