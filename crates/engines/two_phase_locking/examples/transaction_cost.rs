//! What a whole transaction costs: one thread pays from an alias (3 rows by 2 indexes, one key by
//! reconnaissance) or transfers (3 updates, 1 insert), for an instruction counter:
//!
//! ```text
//! cargo build --release -p hotrow-two-phase-locking --example transaction_cost
//! valgrind --tool=callgrind target/release/examples/transaction_cost ordered pay 10000
//! valgrind --tool=callgrind target/release/examples/transaction_cost ordered pay 20000
//! ```
//!
//! The difference of both is the cost of 10,000 transactions without start-up; so is the
//! difference of the calls of `malloc`, which is to be none for `pay` (a transfer's row and index
//! entry need memory now and then).

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/end_to_end/bank.rs"]
mod bank;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../tests/end_to_end/build.rs"]
mod build;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use hotrow_base::clock::Ticks;
use hotrow_base::ids::ProcedureId;
use hotrow_engine::contract::{EngineOptions, Ground};
use hotrow_engine::journal::Journal;
use hotrow_engine::schema::SharedSchema;
use hotrow_engine::source::{CallSource, End, Fetch, Ticket};
use hotrow_transaction::invocation::Invocation;
use hotrow_two_phase_locking::ENTRY;

const ACCOUNTS: i64 = 1000;

struct Calls {
    procedure: u32,
    loaded: i64,
    left: u64,
    random: u64,
    done: Sender<()>,
}

impl Calls {
    fn account(&mut self) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 33) as i64 % ACCOUNTS
    }

    /// Accounts and aliases first.
    fn load(&mut self, invocation: &mut Invocation) {
        let (id, account) = (self.loaded / 2, self.loaded % 2 == 0);
        self.loaded += 1;
        invocation.procedure = ProcedureId(if account { bank::OPEN } else { bank::OPEN_ALIAS });
        let arguments = if account { &[id, id % 10, 1 << 40][..] } else { &[id, id] };
        arguments.iter().for_each(|&value| invocation.arguments.push_int(value));
    }
}

impl CallSource for Calls {
    fn fetch(&mut self, invocation: &mut Invocation) -> Fetch {
        invocation.arguments.clear();
        if self.loaded < 2 * ACCOUNTS {
            self.load(invocation);
            return Fetch::Ready(Ticket(0));
        }
        if self.left == 0 {
            return Fetch::Closed;
        }
        self.left -= 1;
        invocation.procedure = ProcedureId(self.procedure);
        let (one, other) = (self.account(), self.account());
        [one, other, 1, 0].into_iter().for_each(|value| invocation.arguments.push_int(value));
        Fetch::Ready(Ticket(1))
    }

    fn wait(&mut self) {}

    fn finish(&mut self, ticket: Ticket, end: End<'_>) {
        assert!(matches!(end, End::Committed { .. }), "{end:?}");
        if ticket == Ticket(1) && self.left == 0 {
            self.done.send(()).expect("main listens");
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, acquisition, kind, calls] = &arguments[..] else {
        panic!("usage: transaction_cost ordered|no-wait|wait-die pay|transfer CALLS");
    };
    let procedure = if kind == "pay" { bank::PAY_ALIAS } else { bank::TRANSFER };
    let left: u64 = calls.parse().expect("a number of calls");
    let schema = Arc::new(SharedSchema::new(bank::schema(2), 2));
    let settings = BTreeMap::from([("acquisition".to_owned(), acquisition.clone())]);
    let options = EngineOptions { settings, ..EngineOptions::default() };
    let (done, end) = mpsc::channel();
    let source = Box::new(Calls { procedure, loaded: 0, left, random: 42, done });
    let begin = Ticks::now();
    let journal = Arc::new(Journal::new(2, None, None));
    let engine = (ENTRY.start)(Ground { schema, journal }, &options, vec![source]);
    let engine = engine.expect("legal options");
    end.recv().expect("the engine finishes all calls");
    let nanos = begin.elapsed_nanos();
    println!("{:?}\n{} ns per call", engine.stop(), nanos / left);
}
