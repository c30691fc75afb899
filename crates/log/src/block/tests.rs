use super::{ALIGNMENT, BlockBuilder, BlockHeader, HEADER_BYTES, HeaderFault, decode_payload};
use crate::checksum::checksum;
use crate::entry::{self, Kind};
use proptest::prelude::*;

fn header() -> BlockHeader {
    BlockHeader {
        log_id: 77,
        number: 5,
        epoch: 9,
        synced_through: 4,
        payload_bytes: 0,
        entries: 0,
        payload_checksum: 0,
        chain: 0x1234_5678,
        seal: false,
    }
}

fn build(runs: &[(u16, Vec<Vec<u8>>)]) -> Vec<u8> {
    let mut builder = BlockBuilder::new();
    for (worker, bodies) in runs {
        let mut bytes = Vec::new();
        for body in bodies {
            entry::encode(&mut bytes, 1, Kind::Values, |buffer| buffer.extend_from_slice(body));
        }
        builder.push_run(*worker, bodies.len() as u32, &bytes);
    }
    builder.finish(header()).0.to_vec()
}

fn split(block: &[u8]) -> (BlockHeader, &[u8]) {
    let bytes: &[u8; HEADER_BYTES] = block[..HEADER_BYTES].try_into().expect("64 bytes");
    let (header, _) = BlockHeader::decode(bytes).expect("it was just written");
    let end = HEADER_BYTES + header.payload_bytes as usize;
    (header, &block[HEADER_BYTES..end])
}

proptest! {
    #[test]
    fn headers_read_back(
        log_id: u64, number: u64, epoch: u64, synced_through: u64, payload_bytes: u64,
        entries: u32, payload_checksum: u32, chain: u32, seal: bool,
    ) {
        let header = BlockHeader {
            log_id, number, epoch, synced_through, payload_bytes, entries, payload_checksum, chain,
            seal,
        };
        let decoded = BlockHeader::decode(&header.encode()).map(|(header, _)| header);
        prop_assert_eq!(decoded, Ok(header));
    }

    #[test]
    fn blocks_read_back_and_are_padded_with_zeros(
        runs in prop::collection::vec(
            (any::<u16>(), prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..5)),
            0..5)
    ) {
        let block = build(&runs);
        let (header, payload) = split(&block);
        prop_assert_eq!(header.block_bytes(), Some(block.len() as u64));
        prop_assert!((block.len() as u64).is_multiple_of(ALIGNMENT));
        prop_assert!(block[HEADER_BYTES + payload.len()..].iter().all(|&byte| byte == 0));
        prop_assert_eq!(checksum(payload), header.payload_checksum);
        let mut spans = Vec::new();
        prop_assert_eq!(decode_payload(payload, header.entries, &mut spans), Ok(()));
        let read: Vec<(u16, &[u8])> =
            spans.iter().map(|span| (span.worker, span.view(payload).body)).collect();
        let written: Vec<(u16, &[u8])> = runs
            .iter()
            .flat_map(|(worker, bodies)| bodies.iter().map(|body| (*worker, &body[..])))
            .collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn no_payload_makes_the_decoder_panic(
        payload in prop::collection::vec(any::<u8>(), 0..200), entries: u32
    ) {
        let mut spans = Vec::new();
        let _ = decode_payload(&payload, entries, &mut spans);
        prop_assert!(spans.capacity() <= 200); // memory by what is there, not by what is claimed
    }
}

#[test]
fn no_flipped_bit_of_a_header_goes_unseen() {
    let bytes = header().encode();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        let fault = BlockHeader::decode(&flipped).expect_err("a bit was flipped");
        let expected = if bit < 32 { HeaderFault::NoBlock } else { HeaderFault::Checksum };
        assert_eq!(fault, expected, "bit {bit}");
    }
    assert_eq!(BlockHeader::decode(&[0; HEADER_BYTES]), Err(HeaderFault::Zeros));
}

#[test]
fn impossible_lengths_are_no_lengths() {
    let long = BlockHeader { payload_bytes: u64::MAX - 10, ..header() };
    assert_eq!(long.block_bytes(), None);
    assert_eq!(header().block_bytes(), Some(ALIGNMENT));
    let full = ALIGNMENT - HEADER_BYTES as u64;
    let block_bytes = |payload_bytes| BlockHeader { payload_bytes, ..header() }.block_bytes();
    assert_eq!(block_bytes(full), Some(ALIGNMENT));
    assert_eq!(block_bytes(full + 1), Some(2 * ALIGNMENT));
}

#[test]
fn runs_that_do_not_add_up_are_named() {
    let block = build(&[(1, vec![vec![1; 10], vec![2; 10]])]);
    let (header, payload) = split(&block);
    let decode = |payload: &[u8], entries| decode_payload(payload, entries, &mut Vec::new());
    let count = "the block does not have as many entries as its header says";
    assert_eq!(decode(payload, header.entries + 1), Err((0, count)));
    assert_eq!(decode(&payload[..8], 0), Err((0, "a run's header is cut off")));
    assert_eq!(decode(&payload[..40], 2), Err((0, "a run is longer than its block")));
    let mut fewer = payload.to_vec();
    fewer[4] = 1; // of two entries
    assert!(matches!(decode(&fewer, 1), Err((_, "a run is longer than its entries"))));
}
