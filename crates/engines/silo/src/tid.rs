//! Transaction ids: the versions of records, and where they stand in the log.
//!
//! Role         a record's control word is a [`VersionLatch`] whose version is the id of the
//!              transaction that changed it last. With a log the id is its [`Position`], so that
//!              who reads the record knows in which epoch what it read is durable; without one it
//!              is just the next number
//! Invariants   I1 a transaction's id is greater than that of every record it read or changed
//! Source       Silo 4.2 (TID words). We differ: a position's epoch has 40 bits and its time 22; an
//!              epoch whose times are used up ends before the next transaction of that chain
//!
//! [`VersionLatch`]: hotrow_base::sync::VersionLatch

use hotrow_base::sync::Version;
use hotrow_log::position::Position;

const TIME_BITS: u32 = 22;
const TIME_MAX: u64 = (1 << TIME_BITS) - 1;
/// Bits below a version's number.
const FLAG_BITS: u32 = 2;

/// The version of what a transaction at this position changes.
pub fn version_of(position: Position) -> Version {
    debug_assert!(position.time <= TIME_MAX, "has_room was asked");
    Version::from_word((position.epoch << TIME_BITS | position.time) << FLAG_BITS)
}

/// The position of who changed what has this version.
pub fn position_of(version: Version) -> Position {
    let number = version.to_word() >> FLAG_BITS;
    Position { epoch: number >> TIME_BITS, time: number & TIME_MAX }
}

/// Whether there are times behind this position in its epoch.
pub fn has_room(met: Position) -> bool {
    met.time < TIME_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_positions() {
        let position = |epoch, time| Position { epoch, time };
        let ascending = [
            position(0, 1),
            position(3, 0),
            position(3, TIME_MAX),
            position(4, 0),
            position(1 << 39, 7),
        ];
        for pair in ascending.windows(2) {
            assert!(version_of(pair[0]) < version_of(pair[1]));
        }
        for position in ascending {
            assert_eq!(position_of(version_of(position)), position);
        }
        assert!(has_room(ascending[0]) && !has_room(ascending[2]));
    }
}
