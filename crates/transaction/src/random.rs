//! Random values, computed from a call's seed and the place and turn they are drawn at.
//!
//! Role         called by the interpreter and by operators; the seed is drawn before the call
//!              ([`Draw::Seed`](crate::draw::Draw)), so that plans, repetitions and the log's
//!              replay of a call find the values that it had
//! Invariants   I1 a value depends on nothing but its [`Spot`] and, of ordered UUIDs, the call's
//!              time: two spots of a call have two values
//!              I2 who knows some values of a call can tell neither the others nor the seed: they
//!              are parts of SHA-256 checksums
//! Source       RFC 9562: UUIDs of version 4 and 7, the latter with the method of section 6.2 that
//!              counts on from a random number, and with microseconds

use sha2::{Digest, Sha256};

/// Microseconds from 1970 to 2000, where our times begin.
const MICROSECONDS_1970_TO_2000: i64 = 946_684_800_000_000;

/// What is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Randomness {
    /// random(): a double precision from 0 on, below 1
    Double,
    /// gen_random_uuid(): version 4
    Uuid,
    /// uuidv7(): version 7, those of a call one greater than the other
    OrderedUuid,
}

impl Randomness {
    /// Its function's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Double => "random",
            Self::Uuid => "gen_random_uuid",
            Self::OrderedUuid => "uuidv7",
        }
    }
}

/// Where in a call something is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// the call's: 128 random bits
    pub seed: &'a [u8],
    /// which place of the program, in the order of its text
    pub place: u64,
    /// how many turns of loops that draw there were before; 0 outside of loops
    pub turn: u64,
    /// how many values of a query's rows were drawn before; 0 outside of queries
    pub row: u64,
}

impl Spot<'_> {
    fn bits(&self, what: u8) -> u128 {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update([what]);
        for number in [self.place, self.turn, self.row] {
            hash.update(number.to_le_bytes());
        }
        let checksum: [u8; 32] = hash.finalize().into();
        checksum.first_chunk().map_or(0, |half| u128::from_le_bytes(*half))
    }

    /// A double precision from 0 on, below 1: a multiple of 2^-53.
    pub fn double(&self) -> f64 {
        let bits = (self.bits(0) as u64) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }

    /// A UUID of version 4.
    pub fn uuid(&self) -> [u8; 16] {
        uuid(4, self.bits(1))
    }

    /// A UUID of version 7: greater than all before it in the call.
    pub fn ordered_uuid(&self, now_us: i64) -> [u8; 16] {
        let now_us = now_us.saturating_add(MICROSECONDS_1970_TO_2000).max(0) as u128;
        let (ms, us) = (now_us / 1000, now_us % 1000);
        // 12 bits for parts of a millisecond, and 62 that begin at a random number of 61: calls of
        // one microsecond do not meet. What they count to may go over into the time.
        let within = (us << 12) / 1000;
        let time = ms << 74 | within << 62;
        let begin = Spot { place: 0, turn: 0, row: 0, ..*self }.bits(2) >> 67;
        let order = u128::from(self.turn) << 10 | u128::from(self.place % 1024);
        let more = order << 42 | u128::from(self.row % (1 << 24)) << 18 | self.bits(3) >> 110;
        let value = time.wrapping_add(begin).wrapping_add(more);
        let (high, low) = (value >> 62 & ((1 << 60) - 1), value & ((1 << 62) - 1));
        let (time, part) = (high >> 12, high & 0xfff);
        uuid(7, time << 80 | part << 64 | low)
    }
}

/// 128 bits with the version and the variant of a UUID put in.
fn uuid(version: u128, bits: u128) -> [u8; 16] {
    let bits = bits & !(0xf << 76) | version << 76;
    let bits = bits & !(0b11 << 62) | 0b10 << 62;
    bits.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SEED: [u8; 16] = [7; 16];

    fn spots() -> impl Iterator<Item = Spot<'static>> {
        let turns = (0..20).flat_map(|turn| (0..10).map(move |place| (turn, place)));
        turns
            .flat_map(|(turn, place)| (0..5).map(move |row| Spot { seed: &SEED, place, turn, row }))
    }

    #[test]
    fn each_spot_has_a_value_of_its_own() {
        let uuids: BTreeSet<_> = spots().map(|spot| spot.uuid()).collect();
        assert_eq!(uuids.len(), 1000);
        let doubles: BTreeSet<_> = spots().map(|spot| spot.double().to_bits()).collect();
        assert_eq!(doubles.len(), 1000);
        assert!(spots().all(|spot| (0.0..1.0).contains(&spot.double())));
        let sum: f64 = spots().map(|spot| spot.double()).sum();
        assert!((450.0..550.0).contains(&sum), "{sum}");
    }

    #[test]
    fn versions_and_variants_stand_where_they_belong() {
        for spot in spots() {
            for (uuid, version) in [(spot.uuid(), 4), (spot.ordered_uuid(5), 7)] {
                assert_eq!((uuid[6] >> 4, uuid[8] >> 6), (version, 0b10));
            }
        }
    }

    #[test]
    fn ordered_uuids_ascend_and_begin_with_the_time() {
        let now_us = 770_000_000_123_456;
        let mut before = [0; 16];
        for spot in spots() {
            let uuid = spot.ordered_uuid(now_us);
            assert!(uuid > before);
            before = uuid;
            let ms = uuid[..6].iter().fold(0_i64, |ms, byte| ms << 8 | i64::from(*byte));
            assert_eq!(ms, (now_us + MICROSECONDS_1970_TO_2000) / 1000);
        }
        let first = Spot { seed: &SEED, place: 0, turn: 0, row: 0 };
        assert!(first.ordered_uuid(now_us + 1000) > before, "a millisecond later");
        let other = Spot { seed: &[8; 16], ..first };
        assert_ne!(first.uuid(), other.uuid());
        assert_ne!(first.ordered_uuid(1)[8..], other.ordered_uuid(1)[8..]);
    }
}
