//! The calls of `tatp`.

use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;
use rand::rngs::SmallRng;

use super::{
    Choice, DELETE_CALL_FORWARDING, DIGITS, GET_ACCESS_DATA, GET_NEW_DESTINATION,
    GET_SUBSCRIBER_DATA, INSERT_CALL_FORWARDING, KINDS, PROBE_SUBSCRIBERS, PROCEDURES, Place,
    START_TIMES, TYPES, TatpParameters, UPDATE_LOCATION, UPDATE_SUBSCRIBER_DATA, write_number,
};
use crate::random::{stream, string, uniform};
use crate::workload::{Generator, Resolve, Share, TransactionKind};

/// One worker's calls.
pub(super) struct Client {
    subscribers: u64,
    /// percent of each kind
    shares: [u64; KINDS.len()],
    /// what the choice of a subscriber is spread by; none: all alike
    spread: Option<u64>,
    /// by kind
    procedures: [ProcedureId; KINDS.len()],
    /// subscribers that a call probes
    probes: usize,
    probed: Vec<i64>,
    rng: SmallRng,
    text: Vec<u8>,
}

impl Client {
    pub(super) fn new(
        parameters: &TatpParameters,
        worker: Share,
        seed: u64,
        resolve: &Resolve<'_>,
    ) -> Self {
        let subscribers = u64::from(parameters.subscribers);
        let spread = match parameters.subscribers {
            ..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        Self {
            subscribers,
            shares: parameters.mix.shares(),
            spread: (parameters.choice == Choice::Nonuniform).then_some(spread),
            procedures: PROCEDURES.map(resolve),
            probes: parameters.probes as usize,
            probed: Vec::new(),
            rng: stream(seed, Place::Client as u64, worker.index.into()),
            text: Vec::new(),
        }
    }

    fn any(&mut self, from: u64, to: u64) -> i64 {
        uniform(&mut self.rng, from..=to) as i64
    }

    /// A subscriber's number, from 1.
    fn subscriber(&mut self) -> i64 {
        let any = uniform(&mut self.rng, 1..=self.subscribers);
        match self.spread {
            None => any as i64,
            Some(spread) => {
                let other = uniform(&mut self.rng, 0..=spread);
                ((other | any) % self.subscribers + 1) as i64
            }
        }
    }

    fn kind(&mut self) -> TransactionKind {
        let mut percent = uniform(&mut self.rng, 0..=99);
        for (kind, share) in (0..).zip(self.shares) {
            match percent.checked_sub(share) {
                None => return TransactionKind(kind),
                Some(rest) => percent = rest,
            }
        }
        unreachable!("shares add up to 100")
    }

    /// The numbers of some subscribers, ascending, so that who locks them one by one meets others
    /// in one order.
    fn write_probes(&mut self, s_id: i64) {
        self.probed.clear();
        self.probed.push(s_id);
        while self.probed.len() < self.probes {
            let another = self.subscriber();
            self.probed.push(another);
        }
        self.probed.sort_unstable();
        self.text.clear();
        self.probed.iter().for_each(|&s_id| write_number(s_id, &mut self.text));
    }

    fn start_time(&mut self) -> i64 {
        START_TIMES[self.any(0, START_TIMES.len() as u64 - 1) as usize]
    }
}

impl Generator for Client {
    fn next(&mut self, invocation: &mut Invocation) -> TransactionKind {
        let kind = self.kind();
        invocation.procedure = self.procedures[kind.index()];
        let arguments = &mut invocation.arguments;
        arguments.clear();
        let s_id = self.subscriber();
        match kind {
            UPDATE_LOCATION | INSERT_CALL_FORWARDING | DELETE_CALL_FORWARDING => {
                self.text.clear();
                write_number(s_id, &mut self.text);
                arguments.push_bytes(&self.text);
            }
            PROBE_SUBSCRIBERS => {
                self.write_probes(s_id);
                arguments.push_bytes_array(self.text.chunks(DIGITS));
            }
            _ => arguments.push_int(s_id),
        }
        match kind {
            GET_SUBSCRIBER_DATA => {}
            PROBE_SUBSCRIBERS => arguments.push_int(self.any(0, 1)),
            GET_NEW_DESTINATION => {
                arguments.push_int(self.any(1, TYPES));
                arguments.push_int(self.start_time());
                arguments.push_int(self.any(1, 24));
            }
            GET_ACCESS_DATA => arguments.push_int(self.any(1, TYPES)),
            UPDATE_SUBSCRIBER_DATA => {
                arguments.push_int(self.any(0, 1));
                arguments.push_int(self.any(1, TYPES));
                arguments.push_int(self.any(0, 255));
            }
            UPDATE_LOCATION => arguments.push_int(self.any(0, u64::from(u32::MAX >> 1))),
            INSERT_CALL_FORWARDING => {
                arguments.push_int(self.any(1, TYPES));
                let start = self.start_time();
                arguments.push_int(start);
                arguments.push_int(start + self.any(1, 8));
                self.text.clear();
                string(&mut self.rng, b"0123456789", 15, &mut self.text);
                arguments.push_bytes(&self.text);
            }
            _ => {
                arguments.push_int(self.any(1, TYPES));
                arguments.push_int(self.start_time());
            }
        }
        kind
    }
}
