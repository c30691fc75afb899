//! Whole calls on the whole engine: money is conserved, every reader sees all of it, and the
//! calls in the order of the trace, run serially, give the same results and the same rows.

mod bank;
mod build;
mod script;
mod spans;

use bank::call;
use hotrow_engine::schema::Schema;
use hotrow_transaction::invocation::Invocation;
use script::{Run, Serially, run, sorted};

const ACCOUNTS: i64 = 16;
const OWNERS: i64 = 4;
const ALIASES: i64 = 3;
const BALANCE: i64 = 100;
const THREADS: usize = 4;
const CALLS: usize = 6000;

fn loaded_bank() -> Schema {
    let schema = bank::schema(THREADS + 1);
    let mut serially = Serially::new(&schema);
    let accounts = (0..ACCOUNTS).map(|id| call(bank::OPEN, &[id, id % OWNERS, BALANCE]));
    let aliases = (0..ALIASES).map(|id| call(bank::OPEN_ALIAS, &[id, id]));
    for invocation in accounts.chain(aliases) {
        serially.call(&invocation).expect("keys are new");
    }
    schema
}

/// Numbers drawn from a seed.
pub struct Random(u64);

impl Random {
    /// One from 0 on.
    pub fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as i64 % limit
    }

    /// Two accounts, which may be the same; one of two hot ones half of the time.
    fn account(&mut self) -> i64 {
        if self.below(2) == 0 { self.below(2) } else { self.below(ACCOUNTS) }
    }

    fn mixed_call(&mut self) -> Invocation {
        let (one, other) = (self.account(), self.account());
        match self.below(20) {
            0..=8 => call(bank::TRANSFER, &[one, other, self.below(60), self.below(400)]),
            9..=11 => call(bank::PAY_ALIAS, &[self.below(ALIASES), one, self.below(60), 200]),
            12 | 13 => call(bank::REPOINT, &[self.below(ALIASES), one]),
            14 => call(bank::TOTAL, &[]),
            15 | 16 => call(bank::OWNED, &[self.below(OWNERS)]),
            17 => call(bank::MOVE, &[one, self.below(OWNERS)]),
            18 => call(bank::JOURNAL, &[one]),
            _ => call(bank::FORGET, &[one]),
        }
    }

    fn transfer(&mut self) -> Invocation {
        call(bank::TRANSFER, &[self.account(), self.account(), self.below(60), self.below(400)])
    }
}

fn scripts(mut next: impl FnMut(&mut Random) -> Invocation) -> Vec<Vec<Invocation>> {
    (1..=THREADS as u64)
        .map(|seed| {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            (0..CALLS).map(|_| next(&mut random)).collect()
        })
        .collect()
}

/// All rows, table by table.
fn all_rows(schema: &Schema) -> Vec<Vec<Vec<i64>>> {
    let mut serially = Serially::new(schema);
    let mut reads = [bank::TOTAL, bank::ALIASES, bank::COUNTS].map(|it| call(it, &[])).to_vec();
    reads.extend((0..OWNERS).map(|owner| call(bank::OWNED, &[owner])));
    reads.extend((0..ACCOUNTS).map(|id| call(bank::JOURNAL, &[id])));
    reads.iter().map(|read| sorted(&serially.call(read).expect("reads do not fail"))).collect()
}

fn check(run: &Run) {
    let aborts = run.outcomes.iter().filter(|outcome| outcome.is_err()).count();
    for error in run.outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!(error.code(), "P0001", "only the bank refuses: {error}");
    }
    assert_eq!(run.statistics.user_aborts, aborts as u64);
    assert_eq!(run.trace.len() + aborts, THREADS * CALLS);
    assert!(aborts > 0, "some transfers are too large");
    let replayed = loaded_bank();
    let mut serially = Serially::new(&replayed);
    for traced in &run.trace {
        let result = serially.call(&traced.invocation).expect("it committed before");
        let (seen, expected) = (sorted(&traced.result), sorted(&result));
        assert_eq!(seen, expected, "call {} of the trace", traced.position);
        if traced.invocation.procedure.0 == bank::TOTAL {
            let money: i64 = seen.iter().map(|row| row[1]).sum();
            assert_eq!(money, ACCOUNTS * BALANCE, "money is conserved");
        }
    }
    assert_eq!(all_rows(&run.schema.current()), all_rows(&replayed));
}

const ORDERED: &[(&str, &str)] = &[("acquisition", "ordered"), ("order", "identity")];
const HOT_LAST: &[(&str, &str)] =
    &[("acquisition", "ordered"), ("order", "hot-last"), ("heat_ms", "0")];
const DRAWN: &[(&str, &str)] = &[("acquisition", "ordered"), ("order", "drawn"), ("heat_ms", "0")];
const LAST_USE: &[(&str, &str)] =
    &[("acquisition", "ordered"), ("order", "identity"), ("last_use", "release")];
const DRAWN_LAST_USE: &[(&str, &str)] =
    &[("acquisition", "ordered"), ("order", "drawn"), ("heat_ms", "0"), ("last_use", "release")];
const PLANNED: &[&[(&str, &str)]] = &[ORDERED, HOT_LAST, DRAWN, LAST_USE, DRAWN_LAST_USE];
const NO_WAIT: &[(&str, &str)] = &[("acquisition", "no-wait")];
const WAIT_DIE: &[(&str, &str)] = &[("acquisition", "wait-die")];

fn mixed(settings: &[(&str, &str)]) -> Run {
    let run = run(loaded_bank(), scripts(Random::mixed_call), settings);
    check(&run);
    run
}

fn transfers(settings: &[(&str, &str)]) -> Run {
    let run = run(loaded_bank(), scripts(Random::transfer), settings);
    check(&run);
    run
}

#[test]
fn ordered_acquisition_is_serial_and_never_conflicts() {
    for settings in PLANNED {
        let run = mixed(settings);
        assert_eq!(run.statistics.conflict_aborts(), 0);
        println!("{:?}", run.statistics);
    }
}

#[test]
fn no_wait_is_serial() {
    println!("{:?}", mixed(NO_WAIT).statistics);
}

#[test]
fn wait_die_is_serial() {
    println!("{:?}", mixed(WAIT_DIE).statistics);
}

#[test]
fn key_ranges_are_serial() {
    let settings = [("acquisition", "wait-die"), ("ranges", "orthogonal")];
    println!("{:?}", mixed(&settings).statistics);
}

#[test]
fn ordered_transfers_conserve_money() {
    for settings in PLANNED {
        let run = transfers(settings);
        assert_eq!((run.statistics.conflict_aborts(), run.statistics.replans), (0, 0));
    }
}

#[test]
fn no_wait_transfers_conserve_money() {
    transfers(NO_WAIT);
}

#[test]
fn wait_die_transfers_conserve_money() {
    transfers(WAIT_DIE);
}

/// Turns in another order than the procedure's: what a client sees is what it would see otherwise,
/// the error of a call with several errors and the row count of one that misses rows included.
#[test]
fn turns_in_another_order_end_like_those_in_the_procedures_own() {
    let mut random = Random(99);
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let accounts: Vec<_> = (0..8).map(|_| random.below(ACCOUNTS + 1)).collect();
            let amount = if random.below(3) == 0 { i64::MAX } else { 1000 };
            let poison = if random.below(3) == 0 { random.below(ACCOUNTS) } else { -1 };
            bank::count_each(amount, poison, &accounts)
        })
        .collect();
    let run = run(loaded_bank(), vec![calls.clone()], DRAWN);
    let replayed = loaded_bank();
    let mut serially = Serially::new(&replayed);
    let mut codes = std::collections::BTreeMap::<String, usize>::new();
    for (call, outcome) in calls.iter().zip(&run.outcomes) {
        let expected = serially.call(call);
        assert_eq!(format!("{outcome:?}"), format!("{expected:?}"), "{call:?}");
        let end = match &expected {
            Ok(rows) => format!("touched {}", rows.touched),
            Err(error) => error.code().to_owned(),
        };
        *codes.entry(end).or_default() += 1;
    }
    for end in ["22003", "22012", "touched 0", "touched 1"] {
        assert!(codes.contains_key(end), "{end} does not occur: {codes:?}");
    }
    assert_eq!(all_rows(&run.schema.current()), all_rows(&replayed));
}

/// Everybody adds to a few rows at the same time, whatever the turns' order: nothing is lost.
#[test]
fn counts_of_hot_rows_add_up() {
    for settings in PLANNED {
        let next = |random: &mut Random| {
            let accounts: Vec<_> = (0..5).map(|_| random.account()).collect();
            bank::count_each(1000, -1, &accounts)
        };
        let run = run(loaded_bank(), scripts(next), settings);
        assert_eq!((run.statistics.conflict_aborts(), run.statistics.replans), (0, 0));
        assert!(run.outcomes.iter().all(Result::is_ok), "nothing overflows");
        let replayed = loaded_bank();
        let mut serially = Serially::new(&replayed);
        for traced in &run.trace {
            serially.call(&traced.invocation).expect("it committed before");
        }
        assert_eq!(run.trace.len(), THREADS * CALLS);
        assert_eq!(all_rows(&run.schema.current()), all_rows(&replayed));
    }
}

/// Spans are counted while rows come and go.
fn spans(settings: &[(&str, &str)]) {
    let run = run(spans::schema(THREADS + 1), scripts(spans::mixed_call), settings);
    let aborts = run.outcomes.iter().filter(|outcome| outcome.is_err()).count();
    for error in run.outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!(error.code(), "23505", "only numbers that are there are refused: {error}");
    }
    assert_eq!(run.trace.len() + aborts, THREADS * CALLS);
    let replayed = spans::schema(THREADS + 1);
    let mut serially = Serially::new(&replayed);
    for traced in &run.trace {
        if spans::COUNTS.contains(&traced.invocation.procedure.0) {
            let rows = &traced.result.rows;
            let (first, second) = rows.split_at(rows.len() / 2);
            assert_eq!(first, second, "call {} saw a phantom", traced.position);
        }
        let result = serially.call(&traced.invocation).expect("it committed before");
        let (seen, expected) = (sorted(&traced.result), sorted(&result));
        assert_eq!(seen, expected, "call {} of the trace", traced.position);
    }
    let schema = run.schema.current();
    let rows = |schema| sorted(&Serially::new(schema).call(&spans::everything()).expect("a read"));
    assert_eq!(rows(&schema), rows(&replayed));
    check_indexes(&schema, rows(&replayed).len());
    println!("{:?}", run.statistics);
}

/// All entries are those of rows, but for ghosts that are still to be looked at.
fn check_indexes(schema: &Schema, rows: usize) {
    let mut ghosts = 0;
    for index in schema.catalog.indexes().iter() {
        for tree in schema.stored_parts(index.id).filter_map(|part| part.as_btree()) {
            let shape = tree.check_invariants().expect("the tree is sound");
            assert_eq!(shape.entries - shape.ghosts, rows, "index {}", index.name);
            ghosts += shape.ghosts;
        }
    }
    let due = schema.memory.ghosts().len();
    assert!(ghosts <= due, "{ghosts} ghosts are left, {due} are due");
}

#[test]
fn spans_are_counted_under_granules() {
    for settings in [ORDERED, HOT_LAST, WAIT_DIE] {
        spans(settings);
    }
}

#[test]
fn spans_are_counted_under_orthogonal_modes() {
    spans(&[("acquisition", "wait-die"), ("ranges", "orthogonal")]);
    spans(&[("acquisition", "no-wait"), ("ranges", "orthogonal")]);
}

#[test]
fn spans_are_counted_under_orthogonal_modes_with_cycles_found() {
    spans(&[("acquisition", "wait-for-graph"), ("ranges", "orthogonal")]);
}

#[test]
fn spans_are_counted_under_the_modes_of_lomet() {
    spans(&[("acquisition", "wait-die"), ("ranges", "lomet")]);
}

#[test]
fn spans_are_counted_under_the_modes_of_kvl() {
    spans(&[("acquisition", "wait-die"), ("ranges", "kvl")]);
}
