use super::*;
use crate::datum::Datum;
use crate::plain::{Plain, data_type, plain};
use crate::row::{ColumnType, RowLayout};
use crate::types::DataType;
use crate::value::Value;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::Ordering;

fn part(data_type: DataType, nullable: bool) -> KeyPart {
    KeyPart { data_type, nullable, descending: false }
}

/// The same with its greater values first, where that can be.
fn reversed(part: KeyPart, is_wanted: bool) -> KeyPart {
    KeyPart { descending: is_wanted && part.can_descend(), ..part }
}

fn layout(parts: &[KeyPart]) -> KeyLayout {
    KeyLayout::new(parts).expect("short enough")
}

/// Two tuples of one layout that often agree in their first parts.
fn tuples() -> impl Strategy<Value = (Vec<KeyPart>, Vec<Plain>, Vec<Plain>)> {
    let one = (data_type(), any::<bool>(), any::<bool>());
    let parts = vec(one.prop_map(|(t, n, descending)| reversed(part(t, n), descending)), 1..5);
    parts.prop_flat_map(|parts| {
        let value = |part: &KeyPart| plain(part.data_type, part.nullable);
        let (left, right) = (
            parts.iter().map(value).collect::<Vec<_>>(),
            parts.iter().map(value).collect::<Vec<_>>(),
        );
        let same = 0..=parts.len();
        (Just(parts), left, right, same).prop_map(|(parts, left, mut right, same)| {
            right[..same].clone_from_slice(&left[..same]);
            (parts, left, right)
        })
    })
}

fn encode(layout: &KeyLayout, values: &[Plain]) -> KeyBuffer {
    let (mut heap, mut key) = (vec![], KeyBuffer::new());
    let datums: Vec<_> = values.iter().map(|value| value.datum(&mut heap)).collect();
    layout.encode(&datums, &heap, &mut key).expect("short enough");
    let mut arena = b"before".to_vec();
    let mut in_arena = ArenaKey::new(&mut arena);
    layout.encode(&datums, &heap, &mut in_arena).expect("short enough");
    let range = in_arena.range();
    assert_eq!(&arena[range], key.as_slice());
    key
}

fn compare_floats(left: u64, right: u64) -> Ordering {
    let (left, right) = (f64::from_bits(left), f64::from_bits(right));
    match (left.is_nan(), right.is_nan()) {
        (false, false) => left.partial_cmp(&right).expect("no NaN"),
        (left, right) => left.cmp(&right),
    }
}

fn compare_padded(left: &[u8], right: &[u8]) -> Ordering {
    let len = left.len().max(right.len());
    let padded = |bytes: &[u8]| [bytes, &vec![b' '; len - bytes.len()]].concat();
    padded(left).cmp(&padded(right))
}

fn compare(part: KeyPart, left: &Plain, right: &Plain) -> Ordering {
    let (left, right) = if part.descending { (right, left) } else { (left, right) };
    match (left, right) {
        (Plain::Null, _) | (_, Plain::Null) => (*left == Plain::Null).cmp(&(*right == Plain::Null)),
        (Plain::Int(left), Plain::Int(right)) => left.cmp(right),
        (Plain::Numeric(left), Plain::Numeric(right)) => left.cmp(right),
        (Plain::Float(left), Plain::Float(right)) => compare_floats(*left, *right),
        (Plain::Bytes(left), Plain::Bytes(right)) => match part.data_type {
            DataType::Char(_) => compare_padded(left, right),
            _ => left.cmp(right),
        },
        _ => unreachable!("one type per part"),
    }
}

fn compare_tuples(parts: &[KeyPart], left: &[Plain], right: &[Plain]) -> Ordering {
    let mut parts = parts.iter().zip(left).zip(right);
    parts
        .find_map(|((part, l), r)| Some(compare(*part, l, r)).filter(|order| order.is_ne()))
        .unwrap_or(Ordering::Equal)
}

proptest! {
    #[test]
    fn key_order_is_value_order((parts, left, right) in tuples()) {
        let layout = layout(&parts);
        let (left_key, right_key) = (encode(&layout, &left), encode(&layout, &right));
        let expected = compare_tuples(&parts, &left, &right);
        prop_assert_eq!(left_key.as_slice().cmp(right_key.as_slice()), expected);
        prop_assert!(head(&left_key).cmp(&head(&right_key)) == expected
            || head(&left_key) == head(&right_key));
        if expected.is_ne() {
            prop_assert!(!left_key.starts_with(&right_key) && !right_key.starts_with(&left_key));
        }
    }

    #[test]
    fn a_row_matches_its_own_key_only((parts, left, right) in tuples()) {
        let layout = layout(&parts);
        let columns: Vec<_> = parts
            .iter()
            .map(|part| ColumnType { data_type: part.data_type, nullable: part.nullable })
            .collect();
        let rows = RowLayout::new(&columns).expect("small enough");
        let (mut heap, mut row, mut key) = (vec![], vec![], KeyBuffer::new());
        let datums: Vec<_> = left.iter().map(|value| value.datum(&mut heap)).collect();
        rows.build(&datums, &heap, &mut row).expect("in range");
        let row = row.as_slice();
        layout.encode_from_row(rows.fields(), row, &mut key).expect("short enough");
        prop_assert_eq!(&key, &encode(&layout, &left));
        prop_assert!(layout.matches_row(rows.fields(), row, &key));
        let other = encode(&layout, &right);
        prop_assert_eq!(layout.matches_row(rows.fields(), row, &other), key == other);
        prop_assert!(!layout.matches_row(rows.fields(), row, &key[..key.len() - 1]));
        prop_assert!(!layout.matches_row(rows.fields(), row, &[&key[..], &[0]].concat()));
    }

    #[test]
    fn prefixes_end_where_their_parts_end((parts, left, _) in tuples()) {
        let layout = layout(&parts);
        let key = encode(&layout, &left);
        for n in 0..=parts.len() {
            let prefix = encode(&layout, &left[..n]);
            prop_assert_eq!(layout.prefix_bytes(&key, n), prefix.len());
            let mut successor = KeyBuffer::new();
            if successor_of_prefix(&prefix, &mut successor) {
                prop_assert!(successor.as_slice() > key.as_slice());
                prop_assert!(successor.len() <= prefix.len());
            }
        }
        let rubbish = [&key[..key.len() / 2], &[1, 0, 255, 0]].concat();
        prop_assert!(layout.prefix_bytes(&rubbish, parts.len()) <= rubbish.len());
    }

    #[test]
    fn buffers_hold_what_was_put(
        pieces in vec(vec(any::<u8>(), 0..20), 0..12), cut in 0..100_usize,
    ) {
        let mut buffer = KeyBuffer::new();
        for _ in 0..2 {
            buffer.clear();
            pieces.iter().for_each(|piece| buffer.put_slice(piece));
            let mut expected = pieces.concat();
            prop_assert_eq!(buffer.as_slice(), expected.as_slice());
            buffer.truncate(cut);
            expected.truncate(cut);
            buffer.put([7]);
            expected.push(7);
            prop_assert_eq!(buffer.as_slice(), expected.as_slice());
        }
    }
}

#[test]
fn encodings_are_as_documented() {
    let check = |data_type, value: Datum, heap: &[u8], expected: &[u8]| {
        let mut key = KeyBuffer::new();
        layout(&[part(data_type, false)]).encode(&[value], heap, &mut key).expect("short");
        assert_eq!(key.as_slice(), expected, "{data_type}");
    };
    check(DataType::SmallInt, Datum::int(1), b"", &[0x80, 1]);
    check(DataType::Integer, Datum::int(-1), b"", &[0x7f, 0xff, 0xff, 0xff]);
    check(DataType::Text, Datum::range(0, 3), b"a\0b", b"a\0\xffb\0\0");
    check(DataType::Char(3), Datum::range(0, 1), b"a", b"a  ");
    check(DataType::Boolean, Datum::TRUE, b"", &[1]);
}

#[test]
fn values_no_row_can_have_are_refused() {
    let check = |data_type, value: Datum, heap: &[u8], expected: KeyError| {
        let encoded =
            layout(&[part(data_type, false)]).encode(&[value], heap, &mut KeyBuffer::new());
        assert_eq!(encoded, Err(expected));
    };
    check(DataType::SmallInt, Datum::int(70_000), b"", KeyError::OutOfRange { part: 0 });
    check(DataType::Integer, Datum::NULL, b"", KeyError::NullInNotNull { part: 0 });
    check(DataType::Char(2), Datum::range(0, 3), b"abc", KeyError::OutOfRange { part: 0 });
    let long = [b'x'; 600];
    check(DataType::Text, Datum::range(0, 600), &long, KeyError::TooLong { bytes: 514 });
    assert!(KeyLayout::new(&[part(DataType::Char(513), true)]).is_err());
}

#[test]
fn layouts_of_fixed_width_know_their_length() {
    let parts = [DataType::Integer, DataType::SmallInt, DataType::Integer];
    let parts = parts.map(|data_type| part(data_type, false));
    assert_eq!(layout(&parts).fixed_len(), Some(10));
    assert_eq!(layout(&[parts[0], part(DataType::Text, false)]).fixed_len(), None);
    assert_eq!(layout(&[part(DataType::Date, true)]).fixed_len(), None);
}

#[test]
fn nothing_follows_a_prefix_of_all_ones() {
    let mut out = KeyBuffer::new();
    assert!(!successor_of_prefix(&[0xff; 3], &mut out));
    assert!(!successor_of_prefix(&[], &mut out));
    assert!(successor_of_prefix(&[1, 0xff], &mut out));
    assert_eq!(out.as_slice(), &[2]);
}

/// Sequential keys must fill buckets chosen by low bits and by high bits about evenly.
#[test]
fn hashes_of_sequential_keys_spread_over_low_and_high_bits() {
    const KEYS: usize = 1 << 16;
    const BUCKETS: usize = 1 << 12;
    for parts in [1, 2, 3, 4, 8] {
        let mut counts = [vec![0_i64; BUCKETS], vec![0_i64; BUCKETS]];
        for i in 0..KEYS as u32 {
            let mut key = KeyBuffer::new();
            (1..parts).for_each(|_| key.put([0x80, 0, 0, 1]));
            key.put((i ^ 1 << 31).to_be_bytes());
            let hash = hash(&key);
            counts[0][hash as usize % BUCKETS] += 1;
            counts[1][(hash >> 52) as usize] += 1;
        }
        for counts in counts {
            let mean = (KEYS / BUCKETS) as i64;
            let squares: i64 = counts.iter().map(|count| (count - mean).pow(2)).sum();
            let chi_square = squares / mean;
            // Degrees of freedom 4095, deviation 90: within about 6 deviations.
            assert!((3_550..4_650).contains(&chi_square), "{parts} parts: {chi_square}");
        }
    }
}

#[test]
fn floats_that_are_equal_have_one_key() {
    let key = |data_type, value: f64| {
        encode(&layout(&[part(data_type, false)]), &[Plain::Float(value.to_bits())])
    };
    for data_type in [DataType::Real, DataType::Double] {
        assert_eq!(key(data_type, -0.0), key(data_type, 0.0));
        assert_eq!(key(data_type, -f64::NAN), key(data_type, f64::NAN));
        assert!(key(data_type, f64::NAN).as_slice() > key(data_type, f64::INFINITY).as_slice());
        let smallest = key(data_type, f64::NEG_INFINITY);
        assert!(smallest.as_slice() < key(data_type, -1.0).as_slice());
    }
}

#[test]
fn hashes_depend_on_every_byte() {
    for len in 1..100 {
        let mut key = vec![7; len];
        let before = hash(&key);
        for i in 0..len {
            key[i] ^= 1;
            assert_ne!(hash(&key), before, "byte {i} of {len}");
            key[i] ^= 1;
        }
    }
}

#[test]
fn words_are_hashed_as_their_bytes() {
    for word in [0, 1, 1 << 63, u64::MAX, 0x0102_0304_0506_0708_u64] {
        let key = word.to_be_bytes();
        assert_eq!(hash_word(u64::from_le_bytes(key), 8), hash(&key), "{word}");
        let half = [&key[..4], &[0; 4]].concat();
        let half = u64::from_le_bytes(half.try_into().expect("eight bytes"));
        assert_eq!(hash_word(half, 4), hash(&key[..4]), "{word}");
    }
}

#[test]
fn hashes_tell_lengths_apart() {
    let mut seen = std::collections::HashSet::new();
    for len in 0..100 {
        assert!(seen.insert(hash(&vec![0; len])), "length {len}");
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Double(0.0) | Value::Real(0.0))
}

proptest! {
    #[test]
    fn keys_decode_to_their_values((parts, left, _) in tuples()) {
        let layout = layout(&parts);
        let key = encode(&layout, &left);
        for n in 0..=parts.len() {
            let decoded = layout.decode(&key[..layout.prefix_bytes(&key, n)]).expect("a key");
            prop_assert_eq!(decoded.len(), n);
            for ((part, plain), value) in parts.iter().zip(&left).zip(decoded) {
                let mut heap = vec![];
                let datum = plain.datum(&mut heap);
                let expected = Value::from_datum(datum, part.data_type, &heap);
                // NaN is no equal of itself, and -0 becomes 0.
                prop_assert!(is_zero(&expected) && is_zero(&value)
                    || expected.to_string() == value.to_string());
            }
        }
    }

    #[test]
    fn rubbish_does_not_panic((parts, _, _) in tuples(), key in vec(any::<u8>(), 0..40)) {
        let layout = layout(&parts);
        let _decoded = layout.decode(&key);
        let rows: Vec<_> = parts
            .iter()
            .map(|part| ColumnType { data_type: part.data_type, nullable: part.nullable })
            .collect();
        let rows = RowLayout::new(&rows).expect("small enough");
        let _matched = layout.matches_row(rows.fields(), [0_u64; 4].as_slice(), &key);
    }
}
