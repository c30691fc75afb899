//! Runs clients against a toy store, one step of a random client at a time, and records what
//! every client saw.

use hotrow_history::{History, Op, Status, Transaction};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Answer, Store, TxnId, is_index};

/// One operation of a transaction yet to run; values are made unique by the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Reads a list or scans an index.
    Read(u64),
    /// Appends to a list or index.
    Append(u64),
    Write(u64),
    ReadRegister(u64),
}

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub seed: u64,
    pub processes: u64,
    pub transactions_per_process: u64,
    /// Transactions that change their mind at the end.
    pub rollback_percent: u32,
    /// All processes begin before any commits, and the store comes to rest after each round.
    pub in_rounds: bool,
}

struct Running {
    txn: TxnId,
    steps: Vec<Step>,
    record: Transaction,
}

struct Simulator<'s> {
    store: &'s mut dyn Store,
    random: StdRng,
    plan: Plan,
    clock_ns: u64,
    transactions: u64,
    values: i64,
    running: Vec<Option<Running>>,
    left: Vec<u64>,
    recorded: Vec<Transaction>,
}

/// Runs the plan; `program` makes the transactions of a process.
pub fn run(
    store: &mut dyn Store,
    plan: Plan,
    mut program: impl FnMut(&mut StdRng, u64) -> Vec<Step>,
) -> History {
    let mut simulator = Simulator {
        store,
        random: StdRng::seed_from_u64(plan.seed),
        plan,
        clock_ns: 0,
        transactions: 0,
        values: 0,
        running: (0..plan.processes).map(|_| None).collect(),
        left: vec![plan.transactions_per_process; plan.processes as usize],
        recorded: Vec::new(),
    };
    while simulator.running.iter().any(Option::is_some)
        || simulator.left.iter().any(|left| *left > 0)
    {
        let process = simulator.random.random_range(0..plan.processes);
        simulator.tick(process, &mut program);
        assert!(simulator.clock_ns < 10_000_000, "the clients wait for each other");
    }
    History::merge([simulator.recorded])
}

impl Simulator<'_> {
    fn tick(&mut self, process: u64, program: &mut impl FnMut(&mut StdRng, u64) -> Vec<Step>) {
        self.clock_ns += 1;
        match self.running[process as usize].take() {
            None if self.plan.in_rounds => self.begin_round(program),
            None => self.begin(process, program),
            Some(mut running) if running.steps.is_empty() => {
                let all_done =
                    self.running.iter().flatten().all(|running| running.steps.is_empty());
                if self.plan.in_rounds && !all_done {
                    self.running[process as usize] = Some(running);
                } else if self.plan.in_rounds {
                    self.running[process as usize] = Some(running);
                    self.end_round();
                } else {
                    running.record.completed_ns = Some(self.clock_ns);
                    self.finish(running);
                }
            }
            Some(running) => self.step(process, running),
        }
    }

    fn begin(&mut self, process: u64, program: &mut impl FnMut(&mut StdRng, u64) -> Vec<Step>) {
        let Some(left) = self.left[process as usize].checked_sub(1) else { return };
        self.left[process as usize] = left;
        let steps = program(&mut self.random, process);
        let txn = self.transactions;
        self.transactions += 1;
        self.store.begin(txn);
        let now = self.clock_ns;
        let record = Transaction::committed(txn, process, now, now, Vec::new());
        self.running[process as usize] = Some(Running { txn, steps, record });
    }

    fn begin_round(&mut self, program: &mut impl FnMut(&mut StdRng, u64) -> Vec<Step>) {
        for process in 0..self.plan.processes {
            self.begin(process, program);
        }
    }

    fn end_round(&mut self) {
        for process in 0..self.running.len() {
            self.clock_ns += 1;
            if let Some(mut running) = self.running[process].take() {
                running.record.completed_ns = Some(self.clock_ns);
                self.finish(running);
            }
        }
        self.store.quiesce();
    }

    fn step(&mut self, process: u64, mut running: Running) {
        let (txn, step) = (running.txn, running.steps[0]);
        let value = self.values;
        self.values += 1;
        let answer = match step {
            Step::Read(key) | Step::ReadRegister(key) => self.store.read(txn, key),
            Step::Append(key) | Step::Write(key) => match self.store.append(txn, key, value) {
                Answer::Done(()) => Answer::Done(Vec::new()),
                Answer::Wait => Answer::Wait,
                Answer::Abort => Answer::Abort,
            },
        };
        match answer {
            Answer::Done(values) => {
                running.record.ops.push(match step {
                    Step::Read(key) if is_index(key) => Op::scan(key, shuffled(values)),
                    Step::Read(key) => Op::read(key, values),
                    Step::Append(key) => Op::append(key, value),
                    Step::Write(key) => Op::write(key, value),
                    Step::ReadRegister(key) => Op::read_register(key, values.last().copied()),
                });
                running.steps.remove(0);
            }
            Answer::Wait => {}
            Answer::Abort => {
                running.record.completed_ns = Some(self.clock_ns);
                return self.abandon(running);
            }
        }
        self.running[process as usize] = Some(running);
    }

    fn finish(&mut self, running: Running) {
        if self.random.random_range(0..100) < self.plan.rollback_percent {
            return self.abandon(running);
        }
        match self.store.commit(running.txn) {
            Answer::Abort => self.abandon(running),
            _ => self.recorded.push(running.record),
        }
    }

    fn abandon(&mut self, running: Running) {
        self.store.rollback(running.txn);
        self.recorded.push(running.record.with_status(Status::Aborted));
    }
}

/// Any fixed order but the one of insertion.
fn shuffled(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable_by_key(|value| std::cmp::Reverse((*value % 3, *value)));
    values
}
