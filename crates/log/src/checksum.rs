//! The checksum of everything on disk: CRC32C, masked.
//!
//! Role         entries, blocks, headers, checkpoints
//! Invariants   I1  the checksum of bytes that hold other checksums depends on what those cover
//!
//! Plain CRCs may not be nested. A CRC is linear: if a message changes, and its own CRC behind it
//! with it, the changes cancel out in any CRC that covers both. A block's CRC over entries with
//! their CRCs would be the same whatever the entries say; blocks of another past would fit into the
//! chain (a test showed it). The mask, a rotation and an addition, takes the linearity away.
//!
//! Source       LevelDB, util/crc32c.h, for the same reason

/// The masked CRC32C of `bytes`.
#[inline]
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::checksum;

    #[test]
    fn the_value_is_fixed() {
        // CRC32C of this text is 0xe306_9283 (RFC 3720, Castagnoli).
        let mask = |crc: u32| crc.rotate_right(15).wrapping_add(0xa282_ead8);
        assert_eq!(checksum(b"123456789"), mask(0xe306_9283));
    }

    #[test]
    fn nested_checksums_do_not_cancel_out() {
        let nested = |text: &[u8]| {
            let mut bytes = text.to_vec();
            bytes.extend_from_slice(&checksum(text).to_le_bytes());
            checksum(&bytes)
        };
        assert_ne!(nested(b"hot"), nested(b"row"));
    }
}
