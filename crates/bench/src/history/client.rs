//! One client of a recorded history.

use hotrow::{Error, Procedure, Session, Value};
use hotrow_base::clock::Ticks;
use hotrow_history::{Op, Status, Transaction};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::error::BenchError;
use crate::history::{HistoryKind, HistoryOptions};

/// Values of one client lie in a range of their own.
const VALUES_PER_CLIENT: i64 = 1 << 32;

pub(super) struct Client<'a> {
    number: u64,
    session: Session,
    options: &'a HistoryOptions,
    /// times count from here
    start: Ticks,
    rng: SmallRng,
    next_value: i64,
}

/// What a transaction is to do: read a key, or write a value to it.
type Intent = (u64, Option<i64>);

impl<'a> Client<'a> {
    pub(super) fn new(
        number: u64,
        session: Session,
        options: &'a HistoryOptions,
        start: Ticks,
    ) -> Self {
        let seed = options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
        let rng = SmallRng::seed_from_u64(seed);
        let next_value = 1 + number as i64 * VALUES_PER_CLIENT;
        Self { number, session, options, start, rng, next_value }
    }

    /// Runs its share of the transactions.
    pub(super) fn run(mut self) -> Result<Vec<Transaction>, BenchError> {
        let HistoryOptions { clients, transactions, .. } = *self.options;
        let procedure = self.session.procedure(self.procedure())?;
        // All clients go through the same windows of keys at about the same time.
        let mine = (self.number..transactions).step_by(clients);
        mine.map(|at| self.transact(&procedure, at)).collect()
    }

    fn transact(&mut self, procedure: &Procedure, at: u64) -> Result<Transaction, BenchError> {
        let intents = self.intents(at);
        let typed = self.rng.random_ratio(self.options.typed_percent.min(100), 100);
        let invoked_ns = self.start.elapsed_nanos();
        let answer = if typed {
            self.type_all(&intents)
        } else {
            procedure.call(self.arguments(&intents)).and_then(|rows| rows.all())
        };
        let completed_ns = Some(self.start.elapsed_nanos());
        let (status, ops) = match answer {
            Ok(values) => (Status::Committed, self.ops(&intents, values)?),
            Err(_) => (Status::Aborted, writes(self.options.kind, &intents)),
        };
        Ok(Transaction { id: at, process: self.number, invoked_ns, completed_ns, status, ops })
    }

    fn procedure(&self) -> &'static str {
        match self.options.kind {
            HistoryKind::Lists => "run_lists",
            HistoryKind::Registers => "run_registers",
            HistoryKind::Indexes => "run_indexes",
        }
    }

    /// The arguments of a call that does all this.
    fn arguments(&self, intents: &[Intent]) -> (Vec<i64>, Value) {
        let keys = intents.iter().map(|&(key, _)| key as i64).collect();
        let values = intents.iter().map(|&(_, value)| self.argument(value)).collect();
        (keys, Value::Array(values))
    }

    /// A transaction of a call for each operation; what they give back, one after the other.
    fn type_all(&self, intents: &[Intent]) -> Result<Vec<Value>, Error> {
        self.session.execute("BEGIN")?;
        let mut values = Vec::new();
        let mut ran = Ok(());
        for intent in intents {
            // By name: a handle's calls are transactions of their own.
            let arguments = self.arguments(std::slice::from_ref(intent));
            ran = self.session.call(self.procedure(), arguments).and_then(|rows| {
                values.extend(rows.all::<Value>()?);
                Ok(())
            });
            if ran.is_err() {
                break;
            }
        }
        let end = if ran.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.session.execute(end);
        ran.and(ended).map(|_| values)
    }

    fn intents(&mut self, at: u64) -> Vec<Intent> {
        let first = self.options.first_key(at);
        let count = self.rng.random_range(1..=self.options.operations_max);
        let mut intents = Vec::with_capacity(count);
        for _ in 0..count {
            let key = first + self.rng.random_range(0..self.options.hot_keys);
            let write = self.rng.random_bool(0.5);
            intents.push((key, write.then_some(self.next_value)));
            self.next_value += i64::from(write);
        }
        intents
    }

    fn argument(&self, value: Option<i64>) -> Value {
        match (self.options.kind, value) {
            (HistoryKind::Lists, value) => {
                Value::Text(value.map(|value| value.to_string()).unwrap_or_default())
            }
            (_, Some(value)) => Value::BigInt(value),
            (_, None) => Value::Null,
        }
    }

    /// What was intended, with what came back.
    fn ops(&self, intents: &[Intent], values: Vec<Value>) -> Result<Vec<Op>, BenchError> {
        let mut rows = values.into_iter();
        let kind = self.options.kind;
        intents
            .iter()
            .map(|&(key, value)| match value {
                Some(value) => Ok(write(kind, key, value)),
                None => read(kind, key, &mut rows),
            })
            .collect()
    }
}

fn write(kind: HistoryKind, key: u64, value: i64) -> Op {
    match kind {
        HistoryKind::Lists | HistoryKind::Indexes => Op::append(key, value),
        HistoryKind::Registers => Op::write(key, value),
    }
}

/// What is known of a transaction that gave nothing back.
fn writes(kind: HistoryKind, intents: &[Intent]) -> Vec<Op> {
    intents.iter().filter_map(|&(key, value)| value.map(|value| write(kind, key, value))).collect()
}

fn read(
    kind: HistoryKind,
    key: u64,
    rows: &mut impl Iterator<Item = Value>,
) -> Result<Op, BenchError> {
    let unreadable = |what: &str| BenchError::Unreadable(what.to_owned());
    let mut next = || rows.next().ok_or_else(|| unreadable("fewer rows than it read"));
    match kind {
        HistoryKind::Lists => {
            let Value::Text(list) = next()? else { return Err(unreadable("no text for a list")) };
            let elements = list.split(',').filter(|element| !element.is_empty());
            let values: Result<Vec<i64>, _> = elements.map(str::parse).collect();
            Ok(Op::read(key, values.map_err(|_| unreadable(&format!("the list \"{list}\"")))?))
        }
        HistoryKind::Registers => match next()? {
            Value::Null => Ok(Op::read_register(key, None)),
            Value::BigInt(value) => Ok(Op::read_register(key, value)),
            other => Err(unreadable(&format!("{other} for a register"))),
        },
        HistoryKind::Indexes => {
            let mut values = Vec::new();
            loop {
                match next()? {
                    Value::Null => return Ok(Op::scan(key, values)),
                    Value::BigInt(value) => values.push(value),
                    other => return Err(unreadable(&format!("{other} for an entry"))),
                }
            }
        }
    }
}
