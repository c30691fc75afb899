use super::*;
use crate::key::{KeyLayout, KeyPart};

fn range(kind: RangeKind, text: &str) -> Range {
    Range::parse(kind, text).expect(text)
}

#[test]
fn texts_come_back_in_their_normal_form() {
    use RangeKind as K;
    for (kind, text, shown) in [
        (K::Int4, " [ 1 , 5 ] ", "[1,6)"),
        (K::Int4, "(1,2)", "empty"),
        (K::Int4, "  EMPTY ", "empty"),
        (K::Int4, "(,5]", "(,6)"),
        (K::Int4, "[,]", "(,)"),
        (K::Int8, "(-9223372036854775808,\"3\")", "[-9223372036854775807,3)"),
        (K::Num, "[1.50,2.000]", "[1.50,2.000]"),
        (K::Num, "(-1e7,NaN]", "(-10000000,NaN]"),
        (K::Num, "[0.00,1200.0)", "[0.00,1200.0)"),
        (K::Date, "[2026-01-01,2026-01-31]", "[2026-01-01,2026-02-01)"),
        (K::Date, "[2026-01-01,infinity]", "[2026-01-01,infinity]"),
        (K::Ts, "[2026-01-01 10:00,]", "[\"2026-01-01 10:00:00\",)"),
        (K::TsTz, "(,\"2026-01-01 10:00+02\")", "(,\"2026-01-01 08:00:00+00\")"),
    ] {
        let range = range(kind, text);
        assert_eq!(range.to_string(), shown, "{text}");
        let mut heap = b"before".to_vec();
        let datum = range.write(&mut heap);
        let back = Range::read(kind, &heap[datum.as_range().range()]);
        assert_eq!(back, range, "{text}");
        assert_eq!(back.to_string(), shown, "{text}");
    }
}

#[test]
fn what_is_no_range_is_refused() {
    for (text, code) in [
        ("", "22P02"),
        ("-[1,2)", "22P02"),
        ("[1,2) -", "22P02"),
        ("(\",1)", "22P02"),
        ("(,,1)", "22P02"),
        ("(),1)", "22P02"),
        ("(1,))", "22P02"),
        ("emptyish", "22P02"),
        ("[2,1]", "22000"),
        ("[a,1]", "22P02"),
        ("[1,2147483647]", "22003"),
        ("\u{e9}mpty", "22P02"),
    ] {
        let error = Range::parse(RangeKind::Int4, text).expect_err(text);
        assert_eq!(error.code(), code, "{text}: {error}");
    }
}

#[test]
fn bytes_and_keys_are_in_the_order_of_ranges() {
    let least_first = [
        "empty",
        "(,-1.5)",
        "(,-1.5]",
        "(,3)",
        "(,)",
        "[-12.34,0]",
        "[-12.3,1)",
        "(-12.3,1)",
        "[0,0]",
        "[0,100)",
        "[0,100]",
        "[0,)",
        "(0,1)",
        "[0.1,1)",
        "[0.10,2)",
        "[99,100)",
        "[100,)",
        "(100,)",
        "[NaN,NaN]",
    ];
    let part =
        KeyPart { data_type: DataType::Range(RangeKind::Num), nullable: false, descending: false };
    let layout = KeyLayout::new(&[part]).expect("a layout");
    let all: Vec<_> = least_first.iter().map(|text| range(RangeKind::Num, text)).collect();
    let bytes = |range: &Range| {
        let mut bytes = Vec::new();
        range.write_comparable(&mut bytes);
        bytes
    };
    let key = |range: &Range| {
        let (mut heap, mut key) = (Vec::new(), crate::key::KeyBuffer::default());
        let datum = range.write(&mut heap);
        layout.encode(&[datum], &heap, &mut key).expect("a key");
        key
    };
    for (i, one) in all.iter().enumerate() {
        for (j, other) in all.iter().enumerate() {
            assert_eq!(one.cmp(other), i.cmp(&j), "{one} {other}");
            assert_eq!(bytes(one).cmp(&bytes(other)), i.cmp(&j), "{one} {other}");
            assert_eq!(key(one).cmp(&key(other)), i.cmp(&j), "{one} {other}");
        }
        let decoded = layout.decode(&key(one)).expect("values");
        assert_eq!(decoded, vec![Value::from(one.clone())]);
    }
    let [plain, shown] = ["[1,2)", "[1.0,2.00)"].map(|text| range(RangeKind::Num, text));
    assert_eq!(bytes(&plain), bytes(&shown));
    assert_eq!(plain.cmp(&shown), Ordering::Equal);
}

#[test]
fn rubbish_reads_as_some_range() {
    for kind in RangeKind::ALL {
        let whole = match kind {
            RangeKind::Date => range(kind, "[2026-01-01,)"),
            RangeKind::Ts | RangeKind::TsTz => range(kind, "[2026-01-01,2026-02-01)"),
            _ => range(kind, "[-100,100)"),
        };
        let mut bytes = Vec::new();
        whole.write(&mut bytes);
        for end in 0..bytes.len() {
            for kind in RangeKind::ALL {
                let _some = Range::read(kind, &bytes[..end]).to_string();
            }
        }
    }
}

#[test]
fn operators_say_what_they_should() {
    use RangeFunction as F;
    let value = |text: &str| Value::from(range(RangeKind::Int4, text));
    let gives = DataType::Range(RangeKind::Int4);
    for (one, function, other, result) in [
        ("[1,5)", F::Contains, "[2,3)", "t"),
        ("[1,5)", F::Contains, "empty", "t"),
        ("empty", F::Contains, "[1,2)", "f"),
        ("[1,5)", F::Overlaps, "[5,6)", "f"),
        ("[1,5]", F::Overlaps, "[5,6)", "t"),
        ("[1,5)", F::Adjacent, "[5,6)", "t"),
        ("[1,5)", F::Adjacent, "[6,7)", "f"),
        ("[1,2)", F::Before, "[2,3)", "t"),
        ("(,2)", F::NotBeyond, "(,)", "t"),
        ("[3,)", F::NotBelow, "[1,2)", "t"),
        ("[1,5)", F::Union, "[5,8)", "[1,8)"),
        ("[1,5)", F::Merge, "[7,8)", "[1,8)"),
        ("[1,5)", F::Intersection, "[3,8)", "[3,5)"),
        ("[1,5)", F::Intersection, "[5,8)", "empty"),
        ("[1,5)", F::Difference, "[3,8)", "[1,3)"),
        ("[1,5)", F::Difference, "(,3)", "[3,5)"),
        ("[1,5)", F::Difference, "(,)", "empty"),
        ("[1,5)", F::Difference, "[5,8)", "[1,5)"),
    ] {
        let given = call(function, &[value(one), value(other)], gives).expect("a value");
        assert_eq!(given.to_string(), result, "{one} {function:?} {other}");
    }
    for (one, function, other) in [("[1,2)", F::Union, "[4,5)"), ("[1,9)", F::Difference, "[4,5)")]
    {
        let error = call(function, &[value(one), value(other)], gives).expect_err("none");
        assert_eq!(error.code(), "22000");
    }
}
