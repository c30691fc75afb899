//! TPC-B's tellers alone: searches of ranges beside updates, and several updates in one order.
//!
//! Role         the workload `tellers`; small on purpose, so that locks meet
//! Invariants   I1 only the procedure that the mix calls is registered: searches of ranges would
//!              make granules of the whole table for the updates, too
//! Source       locking.txt 6.3: figure 3 (4 range searches, which start and end at existing keys
//!              for so many percent of them, then an update of an existing key), figure 6 (5
//!              updates in canonical order: every deadlock that is found is a false one)

mod generate;

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::check::{Check, CheckContext, Faults, Finding};
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::random::{alphanumeric, stream};
use crate::row::{RowBuffer, RowSink};
use crate::workload::{Generator, KindInfo, Resolve, Share, Workload};
use crate::{choices, parameters};

choices! {
    /// What a transaction does.
    Mix {
        /// searches ranges, then updates a teller
        Search => "search",
        /// updates tellers by ascending key
        Update => "update",
    }
}

parameters! {
    /// What the tellers can be asked to be.
    TellersParameters {
        tellers: u32 = 200, "rows of the table";
        mix: Mix = Mix::Search, "search: ranges, then an update; update: several updates";
        searches: u32 = 4, "ranges that a transaction searches";
        span: u32 = 10, "keys that a range has at most";
        existing: f64 = 50.0, "percent of ranges that start and end at existing keys";
        updates: u32 = 5, "tellers that a transaction of the mix update updates";
    }
}

impl Parameters for TellersParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        require((1..=100_000_000).contains(&self.tellers), "tellers: 1 to 100000000")?;
        require(self.searches <= 1_000, "searches: at most 1000")?;
        require((1..=self.tellers).contains(&self.span), "span: 1 to tellers")?;
        require((0.0..=100.0).contains(&self.existing), "existing: 0 to 100 percent")?;
        require((1..=1_000).contains(&self.updates), "updates: 1 to 1000")?;
        require(self.updates <= self.tellers, "updates: at most tellers")
    }
}

/// The values from one key to the next; the first key is this, too.
const SPACING: u32 = 10;
const FILLER: usize = 88;
const SEARCH: [&str; 1] = ["tellers_search"];
const UPDATE: [&str; 1] = ["tellers_update"];

/// Streams of random numbers.
#[derive(Clone, Copy)]
enum Place {
    Row = 500,
    Client,
}

/// The workload `tellers`.
#[derive(Clone, Default, Debug)]
pub struct Tellers {
    /// its parameters
    pub parameters: TellersParameters,
}

impl Workload for Tellers {
    fn name(&self) -> &'static str {
        "tellers"
    }

    fn about(&self) -> &'static str {
        "TPC-B's tellers alone: range searches beside updates, or several updates in key order"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("tellers/schema.sql"))
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self.parameters.mix {
            Mix::Search => include_str!("tellers/search.sql"),
            Mix::Update => include_str!("tellers/update.sql"),
        })
    }

    fn procedures(&self) -> &'static [&'static str] {
        match self.parameters.mix {
            Mix::Search => &SEARCH,
            Mix::Update => &UPDATE,
        }
    }

    fn load(&self, part: Share, seed: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let mut row = RowBuffer::new();
        part.range(self.parameters.tellers.into()).try_for_each(|index| {
            let mut rng = stream(seed, Place::Row as u64, index);
            row.int((index as i64 + 1) * i64::from(SPACING))
                .int(0)
                .text_with(|heap| alphanumeric(&mut rng, FILLER, FILLER, heap));
            row.finish("teller", sink)
        })
    }

    fn rows_expected(&self) -> u64 {
        self.parameters.tellers.into()
    }

    fn kinds(&self) -> Vec<KindInfo> {
        let name = match self.parameters.mix {
            Mix::Search => "search",
            Mix::Update => "update",
        };
        vec![KindInfo { name, share: 1.0, aborts: 0.0 }]
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        Box::new(generate::Client::new(&self.parameters, worker, seed, resolve))
    }

    fn checks(&self) -> Vec<Check> {
        vec![Check {
            name: "tellers-sum",
            about: "sum(T_BALANCE) = updates of committed transactions",
            run: sum,
        }]
    }
}

fn sum(context: &mut dyn CheckContext) -> Finding {
    let Some(updates) = context.tally() else {
        return Finding::Skipped("nobody counted the committed updates");
    };
    let (mut rows, mut sum) = (0, 0_i128);
    context.rows("teller", &["t_balance"], &mut |row, _| {
        rows += 1;
        sum += i128::from(row[0].as_int());
    });
    let mut faults = Faults::default();
    faults.expect(sum == i128::from(updates), || {
        format!("balances add up to {sum}, committed updates to {updates}")
    });
    faults.finish(rows, "tellers")
}

#[cfg(test)]
mod tests;
