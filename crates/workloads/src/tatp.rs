//! TATP 1.0, first published as TM1: the home location register of a mobile network.
//!
//! Role         the workload `tatp`; short transactions, 80 % of which only read, a quarter of
//!              which fail, since what they ask for is there for some subscribers only
//! Source       the specification's tables, population, transaction mix and non-uniform choice of
//!              subscribers (TATP Benchmark Description 1.0); dora.txt 5.2 (TM1) and 5.5 (probes
//!              by number). We differ: a read
//!              that finds nothing commits, since there is nothing to undo, and only writes that
//!              find nothing abort; how often a facility is forwarded at first is told by its
//!              `error_cntrl`, random as asked for and never changed, so that a check can count

mod check;
mod generate;

use std::borrow::Cow;
use std::ops::ControlFlow;

use rand::rngs::SmallRng;

use crate::check::Check;
use crate::parameter::{ParameterError, ParameterInfo, Parameters, require};
use crate::random::{stream, string, uniform};
use crate::row::{RowBuffer, RowSink};
use crate::workload::{Generator, KindInfo, Resolve, Share, TransactionKind, Workload};
use crate::{choices, parameters};

choices! {
    /// How subscribers are chosen.
    Choice {
        /// as the specification has it: some more often than others
        Nonuniform => "nonuniform",
        /// all alike, as its note allows
        Uniform => "uniform",
    }
}

choices! {
    /// Which transactions there are.
    Mix {
        /// all seven, as specified
        Full => "full",
        /// one that reads a subscriber
        GetSubscriberData => "get-subscriber-data",
        /// one of two updates, of which the second finds nothing in 37.5 %
        UpdateSubscriberData => "update-subscriber-data",
        /// changes of as many subscribers as `probes` says, by their numbers (dora.txt 5.5): none
        /// of the specification's
        ProbeSubscribers => "probe-subscribers",
    }
}

impl Mix {
    /// Percent of each kind.
    fn shares(self) -> [u64; KINDS.len()] {
        let only = |kind: TransactionKind| {
            let mut shares = [0; KINDS.len()];
            shares[kind.index()] = 100;
            shares
        };
        match self {
            Self::Full => [35, 10, 35, 2, 14, 2, 2, 0],
            Self::GetSubscriberData => only(GET_SUBSCRIBER_DATA),
            Self::UpdateSubscriberData => only(UPDATE_SUBSCRIBER_DATA),
            Self::ProbeSubscribers => only(PROBE_SUBSCRIBERS),
        }
    }
}

parameters! {
    /// What TATP can be asked to be.
    TatpParameters {
        subscribers: u32 = 100_000, "number of subscribers, the scale of everything";
        choice: Choice = Choice::Nonuniform, "how subscribers are chosen";
        mix: Mix = Mix::Full, "which transactions there are";
        probes: u32 = 10, "subscribers that one transaction of mix=probe-subscribers changes";
    }
}

impl Parameters for TatpParameters {
    fn list(&self) -> Vec<ParameterInfo> {
        self.list_all()
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        self.set_one(name, text)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        let most = 1..=100_000_000;
        require(most.contains(&self.subscribers), "subscribers: 1 to 100000000")?;
        require((1..=1_000).contains(&self.probes), "probes: 1 to 1000")
    }
}

/// Transactions that read a subscriber.
pub const GET_SUBSCRIBER_DATA: TransactionKind = TransactionKind(0);
/// Transactions that ask where a call is forwarded to.
pub const GET_NEW_DESTINATION: TransactionKind = TransactionKind(1);
/// Transactions that read how a subscriber may get in.
pub const GET_ACCESS_DATA: TransactionKind = TransactionKind(2);
/// Transactions that change a subscriber and a facility.
pub const UPDATE_SUBSCRIBER_DATA: TransactionKind = TransactionKind(3);
/// Transactions that tell where a subscriber is.
pub const UPDATE_LOCATION: TransactionKind = TransactionKind(4);
/// Transactions that forward calls.
pub const INSERT_CALL_FORWARDING: TransactionKind = TransactionKind(5);
/// Transactions that do so no longer.
pub const DELETE_CALL_FORWARDING: TransactionKind = TransactionKind(6);
/// Transactions that change many subscribers, whom they find by number.
pub const PROBE_SUBSCRIBERS: TransactionKind = TransactionKind(7);

const KINDS: [&str; 8] = [
    "get_subscriber_data",
    "get_new_destination",
    "get_access_data",
    "update_subscriber_data",
    "update_location",
    "insert_call_forwarding",
    "delete_call_forwarding",
    "probe_subscribers",
];
const PROCEDURES: [&str; KINDS.len()] = [
    "tatp_get_subscriber_data",
    "tatp_get_new_destination",
    "tatp_get_access_data",
    "tatp_update_subscriber_data",
    "tatp_update_location",
    "tatp_insert_call_forwarding",
    "tatp_delete_call_forwarding",
    "tatp_probe_subscribers",
];
/// How many of each kind abort, at first: a facility of one of four types is there in 62.5 % of all
/// cases, and forwarded at one of three times in half of these.
const ABORTS: [f64; KINDS.len()] = [0.0, 0.0, 0.0, 0.375, 0.0, 0.6875, 0.6875, 0.0];

/// Types of access, and of facilities; a subscriber has one to four of each.
const TYPES: u64 = 4;
/// When forwarding may begin.
const START_TIMES: [i64; 3] = [0, 8, 16];
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Streams of random numbers.
#[derive(Clone, Copy)]
enum Place {
    Subscriber = 600,
    Client,
}

/// The workload `tatp`.
#[derive(Clone, Default, Debug)]
pub struct Tatp {
    /// its parameters
    pub parameters: TatpParameters,
}

/// Digits of a subscriber's number: as many as there can be.
const DIGITS: usize = 15;

/// The number of a subscriber.
fn write_number(s_id: i64, out: &mut Vec<u8>) {
    use std::io::Write;
    write!(out, "{s_id:0DIGITS$}").expect("a vector takes everything");
}

/// How often a facility is forwarded at first: 0 to 3 times, as its random, unchanging
/// `error_cntrl` tells.
fn forwarded_at_first(error_cntrl: u64) -> u64 {
    error_cntrl % (START_TIMES.len() as u64 + 1)
}

/// Some of `0..of`, how many of them being any of 1 to all, in ascending order.
fn some_of(rng: &mut SmallRng, of: u64) -> impl Iterator<Item = u64> + use<> {
    let mut left = uniform(rng, 1..=of);
    let mut taken = 0_u64;
    while left > 0 {
        let bit = 1 << uniform(rng, 0..=of - 1);
        left -= u64::from(taken & bit == 0);
        taken |= bit;
    }
    (0..of).filter(move |at| taken >> at & 1 == 1)
}

impl Tatp {
    /// A subscriber, and all that is known of him.
    fn load_subscriber(
        s_id: i64,
        rng: &mut SmallRng,
        row: &mut RowBuffer,
        sink: &mut RowSink<'_>,
    ) -> ControlFlow<()> {
        let mut number = |most: u64| uniform(rng, 0..=most) as i64;
        row.int(s_id).text_with(|heap| write_number(s_id, heap));
        for most in [1, 15, 255] {
            for _ in 0..10 {
                row.int(number(most));
            }
        }
        let location = u64::from(u32::MAX >> 1);
        row.int(number(location)).int(number(location));
        row.finish("subscriber", sink)?;
        for ai_type in some_of(rng, TYPES) {
            row.int(s_id).int(ai_type as i64 + 1);
            row.int(uniform(rng, 0..=255) as i64).int(uniform(rng, 0..=255) as i64);
            row.text_with(|heap| string(rng, LETTERS, 3, heap));
            row.text_with(|heap| string(rng, LETTERS, 5, heap));
            row.finish("access_info", sink)?;
        }
        for sf_type in some_of(rng, TYPES) {
            let is_active = uniform(rng, 1..=100) <= 85;
            let error_cntrl = uniform(rng, 0..=255);
            row.int(s_id).int(sf_type as i64 + 1).int(is_active).int(error_cntrl as i64);
            row.int(uniform(rng, 0..=255) as i64);
            row.text_with(|heap| string(rng, LETTERS, 5, heap));
            row.finish("special_facility", sink)?;
            // Any of 0 to 3 times, each set of so many as likely as any other.
            let mut wanted = forwarded_at_first(error_cntrl);
            for (left, start) in (1..=START_TIMES.len() as u64).rev().zip(START_TIMES) {
                if uniform(rng, 1..=left) <= wanted {
                    wanted -= 1;
                    row.int(s_id).int(sf_type as i64 + 1).int(start);
                    row.int(start + uniform(rng, 1..=8) as i64);
                    row.text_with(|heap| string(rng, b"0123456789", 15, heap));
                    row.finish("call_forwarding", sink)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Workload for Tatp {
    fn name(&self) -> &'static str {
        "tatp"
    }

    fn about(&self) -> &'static str {
        "TATP 1.0 (TM1): seven short transactions of a mobile network; most read, a quarter fail"
    }

    fn parameters(&self) -> &dyn Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut dyn Parameters {
        &mut self.parameters
    }

    fn schema_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("tatp/schema.sql"))
    }

    fn procedures_sql(&self) -> Cow<'static, str> {
        Cow::Borrowed(include_str!("tatp/procedures.sql"))
    }

    fn procedures(&self) -> &'static [&'static str] {
        &PROCEDURES
    }

    fn load(&self, part: Share, seed: u64, sink: &mut RowSink<'_>) -> ControlFlow<()> {
        let mut row = RowBuffer::new();
        part.range(self.parameters.subscribers.into()).try_for_each(|index| {
            let mut rng = stream(seed, Place::Subscriber as u64, index);
            Self::load_subscriber(index as i64 + 1, &mut rng, &mut row, sink)
        })
    }

    fn rows_expected(&self) -> u64 {
        // Of each 1, 2.5 ways in, 2.5 facilities, and 1.5 times these are forwarded.
        u64::from(self.parameters.subscribers) * 975 / 100
    }

    fn kinds(&self) -> Vec<KindInfo> {
        let shares = self.parameters.mix.shares();
        let kind = |i: usize| KindInfo {
            name: KINDS[i],
            share: shares[i] as f64 / 100.0,
            aborts: ABORTS[i],
        };
        (0..KINDS.len()).map(kind).collect()
    }

    fn generator(&self, worker: Share, seed: u64, resolve: &Resolve<'_>) -> Box<dyn Generator> {
        Box::new(generate::Client::new(&self.parameters, worker, seed, resolve))
    }

    fn checks(&self) -> Vec<Check> {
        check::CHECKS.to_vec()
    }
}

#[cfg(test)]
mod tests;
