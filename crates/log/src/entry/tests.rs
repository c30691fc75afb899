use super::{Entry, EntrySpan, Kind, decode, encode};
use crate::checksum::checksum;
use hotrow_base::varint;
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    proptest::sample::select(&Kind::ALL[..])
}

fn decode_all(bytes: &[u8], worker: u16) -> Result<Vec<EntrySpan>, &'static str> {
    let (mut at, mut spans) = (0, Vec::new());
    while at < bytes.len() {
        let (span, next) = decode(bytes, at, worker)?;
        spans.push(span);
        at = next;
    }
    Ok(spans)
}

proptest! {
    #[test]
    fn entries_read_back_in_order(
        entries in prop::collection::vec(
            (any::<u64>(), kinds(), prop::collection::vec(any::<u8>(), 0..300)), 0..10)
    ) {
        let mut bytes = Vec::new();
        for (time, kind, body) in &entries {
            encode(&mut bytes, *time, *kind, |buffer| buffer.extend_from_slice(body));
        }
        let spans = decode_all(&bytes, 3).map_err(TestCaseError::fail)?;
        let read: Vec<Entry<'_>> = spans.iter().map(|span| span.view(&bytes)).collect();
        let written: Vec<Entry<'_>> = entries
            .iter()
            .map(|(time, kind, body)| Entry { worker: 3, time: *time, kind: *kind, body })
            .collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes: Vec<u8>, at in 0usize..40) {
        if at <= bytes.len() {
            let _ = decode(&bytes, at, 0);
        }
    }

    #[test]
    fn a_changed_byte_never_gives_another_entry(
        time: u64, body in prop::collection::vec(any::<u8>(), 0..200), at: usize, change in 1u8..
    ) {
        let mut bytes = Vec::new();
        encode(&mut bytes, time, Kind::Values, |buffer| buffer.extend_from_slice(&body));
        let whole = decode_all(&bytes, 0).map_err(TestCaseError::fail)?;
        prop_assert_eq!(whole.len(), 1);
        let at = at % bytes.len();
        bytes[at] ^= change;
        // A shorter length finds its checksum elsewhere, where it does not fit but by chance.
        prop_assert!(decode(&bytes, 0, 0).is_err());
    }
}

#[test]
fn lengths_at_the_varint_boundaries_are_moved_into_place() {
    for length in [0, 1, 120, 125, 126, 127, 128, 129, 16_380, 16_384, 70_000] {
        let mut bytes = vec![9];
        let body: Vec<u8> = (0..length).map(|index| index as u8).collect();
        encode(&mut bytes, 1, Kind::Command, |buffer| buffer.extend_from_slice(&body));
        let (span, end) = decode(&bytes, 1, 5).expect("it was just written");
        assert_eq!(end, bytes.len());
        let expected = Entry { worker: 5, time: 1, kind: Kind::Command, body: &body };
        assert_eq!(span.view(&bytes), expected);
    }
}

#[test]
fn kinds_keep_their_numbers() {
    let numbers: Vec<u8> = Kind::ALL.iter().map(|kind| kind.number()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(Kind::from_number(0), None);
    assert_eq!(Kind::from_number(6), None);
    assert!(Kind::ALL.iter().all(|&kind| Kind::from_number(kind.number()) == Some(kind)));
}

#[test]
fn wrong_entries_are_named() {
    let mut bytes = Vec::new();
    varint::put(&mut bytes, u64::MAX);
    bytes.extend([0; 8]);
    assert_eq!(decode(&bytes, 0, 0), Err("an entry is longer than its run"));
    assert_eq!(decode(&[], 0, 0), Err("an entry's length is cut off"));
    assert_eq!(decode(&[0, 0], 0, 0), Err("an entry is cut off"));
    // Length 0: no kind. The checksum is right.
    let crc = checksum(&[0]).to_le_bytes();
    let empty = [&[0][..], &crc].concat();
    assert_eq!(decode(&empty, 0, 0), Err("an entry's kind is unknown"));
}
