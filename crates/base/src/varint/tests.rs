use proptest::prelude::*;

use super::{ByteReader, put, put_bytes, put_signed, put_wide};

proptest! {
    #[test]
    fn what_is_put_is_read(
        a in any::<u64>(), b in any::<i64>(), c in any::<i128>(),
        d in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = Vec::new();
        put(&mut bytes, a);
        put_signed(&mut bytes, b);
        put_wide(&mut bytes, c);
        put_bytes(&mut bytes, &d);
        let mut reader = ByteReader::new(&bytes);
        prop_assert_eq!(reader.varint(), Some(a));
        prop_assert_eq!(reader.signed(), Some(b));
        prop_assert_eq!(reader.wide(), Some(c));
        prop_assert_eq!(reader.bytes(), Some(d.as_slice()));
        prop_assert!(reader.is_empty());
    }

    #[test]
    fn varints_read_back_and_stand_alone(value: u64, rest: Vec<u8>) {
        let mut bytes = Vec::new();
        put(&mut bytes, value);
        for length in 0..bytes.len() {
            prop_assert_eq!(ByteReader::new(&bytes[..length]).varint(), None);
        }
        bytes.extend(&rest);
        let mut reader = ByteReader::new(&bytes);
        prop_assert_eq!(reader.varint(), Some(value));
        prop_assert_eq!(reader.rest(), rest.as_slice());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut reader = ByteReader::new(&bytes);
        while reader.varint().is_some() {}
        let mut reader = ByteReader::new(&bytes);
        while reader.wide().is_some() {}
        let mut reader = ByteReader::new(&bytes);
        while reader.bytes().is_some() {}
    }
}

#[test]
fn numbers_near_to_zero_are_short() {
    for (value, length) in [(0, 1), (-64, 1), (63, 1), (64, 2), (i64::MAX, 10), (i64::MIN, 10)] {
        let mut bytes = Vec::new();
        put_signed(&mut bytes, value);
        assert_eq!(bytes.len(), length, "{value}");
    }
}

#[test]
fn what_is_cut_off_or_too_great_is_refused() {
    let cases: [&[u8]; 3] = [&[], &[0x80], &[0xff; 10]];
    for case in cases {
        assert_eq!(ByteReader::new(case).varint(), None, "{case:?}");
    }
    let mut greatest = vec![0xff; 9];
    greatest.push(1);
    assert_eq!(ByteReader::new(&greatest).varint(), Some(u64::MAX));
    greatest[9] = 2;
    assert_eq!(ByteReader::new(&greatest).varint(), None, "65 bits");
    assert_eq!(ByteReader::new(&[5, 1, 2]).bytes(), None);
}
