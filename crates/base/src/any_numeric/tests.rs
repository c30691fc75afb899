//! Tests of numerics of any number of digits; results are PostgreSQL 15's.

use super::{AnyNumeric, NumericError, comparable, read, write};

fn number(text: &str) -> AnyNumeric {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn shown(result: Result<AnyNumeric, NumericError>) -> String {
    result.map_or_else(|error| format!("{error:?}"), |number| number.to_string())
}

/// In order, each other than the next.
const ORDERED: &[&str] = &[
    "-Infinity",
    "-123456789012345678901234567890123456789012345.5",
    "-100000.1",
    "-100",
    "-99.99",
    "-1.5",
    "-1",
    "-0.5",
    "-0.05",
    "-0.00000000000000000000000000000000000000000000000001",
    "0",
    "0.00000000000000000000000000000000000000000000000001",
    "0.0009",
    "0.01",
    "0.1",
    "0.11",
    "1",
    "1.01",
    "9",
    "10",
    "99",
    "100",
    "100.000001",
    "12345678901234567890123456789012345678",
    "123456789012345678901234567890123456789",
    "1e200",
    "Infinity",
    "NaN",
];

#[test]
fn bytes_have_the_order_of_numbers_and_are_read_back() {
    let mut heap = Vec::new();
    let all = ORDERED.iter().map(|text| number(text));
    let all: Vec<_> = all.map(|number| (write(&number, &mut heap), number)).collect();
    for (at, (datum, number)) in all.iter().enumerate() {
        let bytes = &heap[datum.as_range().range()];
        let back = read(bytes);
        assert_eq!((&back, back.to_string()), (number, number.to_string()));
        assert!(super::text_bytes(bytes) >= number.to_string().len(), "{number}");
        for (other_at, (other, other_number)) in all.iter().enumerate() {
            let other = &heap[other.as_range().range()];
            assert_eq!(super::compare(bytes, other), at.cmp(&other_at), "{number} {other_number}");
            assert_eq!(number.cmp(other_number), at.cmp(&other_at), "{number} {other_number}");
        }
    }
}

#[test]
fn equal_numbers_have_equal_bytes_but_for_the_digits_they_show() {
    for (a, b) in [("1", "1.000"), ("-20.5", "-20.50"), ("0", "0.00"), ("1e3", "1000.0")] {
        let mut heap = Vec::new();
        let [a, b] = [a, b].map(|text| {
            let datum = write(&number(text), &mut heap);
            heap[datum.as_range().range()].to_vec()
        });
        assert_eq!(comparable(&a), comparable(&b));
        assert_ne!(a, b);
    }
}

#[test]
fn any_bytes_are_read_as_a_number() {
    for first in 0..8 {
        for length in (0..8).chain([25, 40]) {
            for byte in [0, 1, 100, 101, 255] {
                let mut bytes = vec![byte; length];
                bytes.insert(0, first);
                let _ = read(&bytes).to_string();
            }
        }
    }
    assert_eq!(read(&[]).to_string(), "0");
}

#[test]
fn texts_are_read_and_shown() {
    for (text, wanted) in [
        ("1.50", "1.50"),
        (" -007.10 ", "-7.10"),
        ("1e5", "100000"),
        ("1.25e1", "12.5"),
        ("12e-3", "0.012"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-0.00", "0.00"),
        ("nan", "NaN"),
        ("-inf", "-Infinity"),
        ("+Infinity", "Infinity"),
        ("0e100000", "0"),
    ] {
        assert_eq!(number(text).to_string(), wanted, "{text}");
    }
    for text in ["", ".", "e5", "1e", "1.2.3", "--1", "+nan", "1 2", "0x1", "infin"] {
        assert!(text.parse::<AnyNumeric>().is_err(), "{text}");
    }
    let long = "9".repeat(131_072);
    assert_eq!(number(&long).to_string(), long);
    assert!(format!("{long}0").parse::<AnyNumeric>().is_err());
    assert!("1e-16384".parse::<AnyNumeric>().is_err());
    assert_eq!(number("1e-16383").scale(), 16_383);
}

#[test]
fn arithmetic_shows_the_digits_that_postgresql_shows() {
    let of = |a: &str, op: char, b: &str| {
        let (a, b) = (number(a), number(b));
        shown(match op {
            '+' => a.add(&b),
            '-' => a.subtract(&b),
            '*' => a.multiply(&b),
            '/' => a.divide(&b),
            _ => a.remainder(&b),
        })
    };
    for (a, op, b, wanted) in [
        ("1.5", '+', "1.50", "3.00"),
        ("0.1", '-', "0.10", "0.00"),
        ("1.5", '*', "1.50", "2.250"),
        (
            "99999999999999999999",
            '*',
            "99999999999999999999",
            "9999999999999999999800000000000000000001",
        ),
        ("10", '/', "3", "3.3333333333333333"),
        ("1", '/', "3", "0.33333333333333333333"),
        ("2.00", '/', "3", "0.66666666666666666667"),
        ("100000", '/', "7", "14285.714285714286"),
        ("1", '/', "70000", "0.000014285714285714285714"),
        ("-2.5", '/', "3", "-0.83333333333333333333"),
        ("10", '%', "3.5", "3.0"),
        ("-10", '%', "3", "-1"),
        ("Infinity", '-', "Infinity", "NaN"),
        ("Infinity", '*', "-2", "-Infinity"),
        ("Infinity", '*', "0", "NaN"),
        ("5", '/', "Infinity", "0"),
        ("5", '%', "Infinity", "5"),
        ("5", '/', "0", "DivisionByZero"),
        ("NaN", '/', "0", "NaN"),
    ] {
        assert_eq!(of(a, op, b), wanted, "{a} {op} {b}");
    }
}

#[test]
fn rounding_is_away_from_zero() {
    for (text, digits, wanted) in [
        ("2.5", 0, "3"),
        ("-2.5", 0, "-3"),
        ("1.005", 2, "1.01"),
        ("1.5", 3, "1.500"),
        ("1251", -1, "1250"),
        ("1255", -1, "1260"),
        ("1255", -4, "0"),
        ("5555", -4, "10000"),
        ("0.5", 50, "0.50000000000000000000000000000000000000000000000000"),
    ] {
        assert_eq!(shown(number(text).rounded(digits)), wanted, "{text} {digits}");
    }
    assert_eq!(shown(number("-1.5").truncated(0)), "-1");
    assert_eq!(shown(number("-1.5").floor()), "-2");
    assert_eq!(shown(number("-1.5").ceiling()), "-1");
    assert_eq!(shown(number("1.01").ceiling()), "2");
    assert_eq!(number("1.500").trimmed().to_string(), "1.5");
    assert_eq!(number("12.345").to_units(4, 2), Some(1235));
    assert_eq!(number("123.45").to_units(4, 2), None);
    assert_eq!(number("1e40").to_i64(), None);
    assert_eq!(number("-2.5").to_i64(), Some(-3));
    assert_eq!(shown(AnyNumeric::from_f64(0.1 + 0.2)), "0.3");
    assert_eq!(shown(AnyNumeric::from_f32(1e-7)), "0.0000001");
    assert_eq!(shown(AnyNumeric::from_f64(1e22)), "10000000000000000000000");
}

#[test]
fn roots_logarithms_and_powers() {
    for (text, wanted) in [
        ("1234.5678", "35.136417005722140"),
        ("0.0004", "0.02000000000000000"),
        ("2", "1.414213562373095"),
        ("99999", "316.2261848740550"),
        ("1e-20", "0.0000000001000000000000000"),
        ("-1", "RootOfNegative"),
    ] {
        assert_eq!(shown(number(text).square_root()), wanted, "sqrt {text}");
    }
    for (text, wanted) in [
        ("2", "0.6931471805599453"),
        ("0.0001", "-9.2103403719761827"),
        ("12345.678", "9.4210613212918320"),
        ("1.05", "0.048790164169432003"),
        ("1.0000001", "0.00000009999999500000033"),
        ("0", "LogarithmOfZero"),
        ("-1", "LogarithmOfNegative"),
    ] {
        assert_eq!(shown(number(text).natural_logarithm()), wanted, "ln {text}");
    }
    for (text, wanted) in [
        ("1.5", "4.4816890703380648"),
        ("-20.5", "0.000000001250152866386743"),
        ("100.0", "26881171418161354484126255515800135873611118.8"),
        ("7000", "Overflow"),
    ] {
        assert_eq!(shown(number(text).exponential()), wanted, "exp {text}");
    }
    for (base, text, wanted) in
        [("7", "3", "0.5645750340535796"), ("10", "10000.0", "4.0000000000000000")]
    {
        assert_eq!(shown(number(text).logarithm_in(&number(base))), wanted, "log {base} {text}");
    }
    for (base, exponent, wanted) in [
        ("7.5", "2", "56.2500000000000000"),
        ("2.0", "0.5", "1.4142135623730950"),
        ("2.0", "-3", "0.1250000000000000"),
        ("0.5", "100", "0.0000000000000000"),
        ("1.0001", "10000", "2.7181459268252249"),
        ("-2", "3", "-8.0000000000000000"),
        ("-2", "0.5", "NegativeToFraction"),
        ("0", "-1", "ZeroToNegative"),
        ("10", "200000", "Overflow"),
        ("2", "Infinity", "Infinity"),
        ("NaN", "0", "1"),
    ] {
        assert_eq!(shown(number(base).power(&number(exponent))), wanted, "{base} ^ {exponent}");
    }
}
