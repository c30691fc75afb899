//! The tellers' calls: ranges and keys.
//!
//! Role         one [`Client`] per worker
//! Invariants   I1 a range has 1 to `span` keys; one that does not start and end at keys starts and
//!              ends between keys
//!              I2 updated keys are all different and ascend

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use rand::rngs::SmallRng;

use super::{Mix, Place, SPACING, TellersParameters};
use crate::random::{happens, stream, uniform};
use crate::workload::{Generator, Resolve, Share, TransactionKind};

pub(super) struct Client {
    parameters: TellersParameters,
    procedure: ProcedureId,
    rng: SmallRng,
    from: Vec<i64>,
    to: Vec<i64>,
}

impl Client {
    pub(super) fn new(
        parameters: &TellersParameters,
        worker: Share,
        seed: u64,
        resolve: &Resolve<'_>,
    ) -> Self {
        let name = match parameters.mix {
            Mix::Search => super::SEARCH[0],
            Mix::Update => super::UPDATE[0],
        };
        Self {
            parameters: parameters.clone(),
            procedure: resolve(name),
            rng: stream(seed, Place::Client as u64, worker.index.into()),
            from: Vec::new(),
            to: Vec::new(),
        }
    }

    /// The key of any teller.
    fn teller(&mut self) -> i64 {
        let number = uniform(&mut self.rng, 1..=self.parameters.tellers.into());
        (number * u64::from(SPACING)) as i64
    }

    fn choose_ranges(&mut self) {
        let TellersParameters { tellers, span, searches, existing, .. } = self.parameters;
        self.from.clear();
        self.to.clear();
        for _ in 0..searches {
            let keys = uniform(&mut self.rng, 1..=span.into());
            let first = uniform(&mut self.rng, 1..=u64::from(tellers) + 1 - keys);
            let last = first + keys - 1;
            let spacing = u64::from(SPACING);
            // Half the way to the neighbours, where the range shall not touch keys.
            let margin = if happens(&mut self.rng, existing) { 0 } else { spacing / 2 };
            self.from.push((first * spacing - margin) as i64);
            self.to.push((last * spacing + margin) as i64);
        }
    }

    fn choose_updates(&mut self) {
        self.from.clear();
        while self.from.len() < self.parameters.updates as usize {
            let key = self.teller();
            if !self.from.contains(&key) {
                self.from.push(key);
            }
        }
        self.from.sort_unstable();
    }
}

impl Generator for Client {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        invocation.procedure = self.procedure;
        invocation.arguments.clear();
        match self.parameters.mix {
            Mix::Search => {
                self.choose_ranges();
                invocation.arguments.push_int_array(self.from.iter().copied());
                invocation.arguments.push_int_array(self.to.iter().copied());
                let teller = self.teller();
                invocation.arguments.push_int(teller);
            }
            Mix::Update => {
                self.choose_updates();
                invocation.arguments.push_int_array(self.from.iter().copied());
            }
        }
        TransactionKind(0)
    }

    fn tally(&self) -> u64 {
        match self.parameters.mix {
            Mix::Search => 1,
            Mix::Update => self.parameters.updates.into(),
        }
    }
}
