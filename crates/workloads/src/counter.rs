//! Counters that everybody bumps: the hot row with nothing around it.
//!
//! Role         the workload `counter`; with one row every transaction waits for every other, so
//!              what is measured is how an engine hands a lock from one to the next
//! Source       none of the papers; the case that Hotrow is named after

use std::borrow::Cow;
use std::ops::ControlFlow;

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use rand::rngs::SmallRng;

use crate::check::{Check, CheckContext, Faults, Finding};
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::parameters;
use crate::random::{stream, uniform};
use crate::row::{RowBuffer, RowSink};
use crate::workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};

parameters! {
    /// What the counters can be asked to be.
    CounterParameters {
        rows: u64 = 1, "number of counters; each transaction increments one of them";
    }
}

impl Parameters for CounterParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        require((1..=u64::from(u32::MAX)).contains(&self.rows), "rows: 1 to 4294967295")
    }
}

const PROCEDURES: [&str; 1] = ["counter_increment"];
/// Place of the clients' random streams.
const CLIENT: u64 = 400;

/// The workload `counter`.
#[derive(Clone, Default, Debug)]
pub struct Counter {
    /// its parameters
    pub parameters: CounterParameters,
}

impl Workload for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn about(&self) -> &'static str {
        "one row, or a few, that every transaction increments"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("counter/schema.sql"))
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("counter/procedures.sql"))
    }

    fn procedures(&self) -> &'static [&'static str] {
        &PROCEDURES
    }

    fn load(&self, part: Share, _: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let mut row = RowBuffer::new();
        part.range(self.parameters.rows).try_for_each(|id| {
            row.int(id as i64).int(0);
            row.finish("counter", sink)
        })
    }

    fn rows_expected(&self) -> u64 {
        self.parameters.rows
    }

    fn kinds(&self) -> Vec<KindInfo> {
        vec![KindInfo { name: "increment", share: 1.0, aborts: 0.0 }]
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        Box::new(Client {
            rows: self.parameters.rows,
            procedure: resolve(PROCEDURES[0]),
            rng: stream(seed, CLIENT, worker.index.into()),
        })
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check { name: "counter-sum", about: "sum(C_VALUE) = committed increments", run: sum }]
    }
}

struct Client {
    rows: u64,
    procedure: ProcedureId,
    rng: SmallRng,
}

impl Generator for Client {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        let id = uniform(&mut self.rng, 0..=self.rows - 1);
        invocation.procedure = self.procedure;
        invocation.arguments.clear();
        invocation.arguments.push_int(id as i64);
        TransactionKind(0)
    }
}

fn sum(context: &mut dyn CheckContext) -> Finding {
    let (mut rows, mut sum) = (0, 0_i128);
    context.rows("counter", &["c_value"], &mut |row, _| {
        rows += 1;
        sum += i128::from(row[0].as_int());
    });
    let Some(increments) = context.committed(TransactionKind(0)) else {
        return Finding::Skipped("nobody counted the committed increments");
    };
    let mut faults = Faults::default();
    faults.expect(sum == i128::from(increments), || {
        format!("counters add up to {sum}, committed increments to {increments}")
    });
    faults.finish(rows, "counters")
}
