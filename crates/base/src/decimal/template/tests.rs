//! Values, templates and what PostgreSQL 15 makes of them: "NULL", or an error's code and message.

use super::*;

fn shown(result: Result<Option<String>, TemplateError>) -> String {
    match result {
        Ok(text) => text.unwrap_or_else(|| "NULL".to_owned()),
        Err(error) => format!("{}: {error}", String::from_utf8_lossy(&error.code)),
    }
}

fn check(rows: &[(&str, &str, &str)], number: impl Fn(&str) -> Number) {
    for (value, template, expected) in rows {
        let text = number_to_text(number(value), template).map(Some);
        assert_eq!(shown(text), *expected, "{value} by {template:?}");
    }
}

#[test]
fn numerics_are_shown() {
    let rows = [
        ("-12.3", "9999.99", "  -12.30"),
        ("0.1", "0.9", " 0.1"),
        ("0.1", "9.9", "  .1"),
        ("-0.1", "FM9.99", "-.1"),
        ("12", "FM9990999.9", "0012."),
        ("12", "9990999.9", "    0012.0"),
        ("485", "999", " 485"),
        ("-485", "999", "-485"),
        ("485", "9 9 9", " 4 8 5"),
        ("1485", "9,999", " 1,485"),
        ("1485", "9G999", " 1,485"),
        ("148.5", "999.999", " 148.500"),
        ("148.5", "FM999.999", "148.5"),
        ("148.5", "FM999.990", "148.500"),
        ("148.5", "999D999", " 148.500"),
        ("3148.5", "9G999D999", " 3,148.500"),
        ("-485", "999S", "485-"),
        ("-485", "999MI", "485-"),
        ("485", "999MI", "485 "),
        ("485", "FM999MI", "485"),
        ("485", "PL999", "+ 485"),
        ("485", "SG999", "+485"),
        ("-485", "SG999", "-485"),
        ("-485", "9SG99", "4-85"),
        ("-485", "999PR", "<485>"),
        ("485", "999PR", " 485 "),
        ("485", "L999", "  485"),
        ("485", "RN", "        CDLXXXV"),
        ("485", "FMRN", "CDLXXXV"),
        ("5.2", "FMrn", "v"),
        ("482", "999th", " 482nd"),
        ("485", "\"Good number:\"999", "Good number: 485"),
        ("485.8", "\"Pre:\"999\" Post:\" .999", "Pre: 485 Post: .800"),
        ("12", "99V999", " 12000"),
        ("12.4", "99V999", " 12400"),
        ("12.45", "99V9", " 125"),
        ("0.0004859", "9.99EEEE", " 4.86e-04"),
        ("9.99", "9.9EEEE", " 10.0e+00"),
        ("-1234", "9EEEE", "-1e+03"),
        ("1234", "999", " ###"),
        ("-1234.5", "999.99", "-###.##"),
        ("4000", "RN", "###############"),
        ("0", "FM9.9", "0."),
        ("0", "B9", " 0"),
        ("1234", "00000S", "01234+"),
        ("1", "S9", "+1"),
        ("-1", "S9", "-1"),
        ("1", "9S9", " +1"),
        ("1", "\\\"9\\\"", "\" 1\""),
        ("1", "", ""),
        ("1", "9.9.9", "42601: multiple decimal points"),
        ("1", "9V9.9", "42601: cannot use \"V\" and decimal point together"),
        ("1", "S9S", "42601: cannot use \"S\" twice"),
        ("1", "S9MI", "42601: cannot use \"S\" and \"MI\" together"),
        ("1", "PR9", "42601: \"9\" must be ahead of \"PR\""),
        ("1", "9PRS", "42601: cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"),
        ("1", "EEEE9", "42601: \"EEEE\" must be the last pattern used"),
        ("1", "FM9EEEE", "42601: \"EEEE\" is incompatible with other formats"),
        ("3000000000", "RN", "22003: integer out of range"),
    ];
    check(&rows, |value| Number::Numeric(value.parse().expect("a numeric")));
}

#[test]
fn integers_are_shown() {
    let rows = [
        ("-125", "FMS999", "-125"),
        ("125", "999.99", " 125.00"),
        ("25", "9EEEE", " 2e+01"),
        ("12", "99TH", " 12TH"),
        ("13", "99th", " 13th"),
        ("22", "99th", " 22nd"),
        ("-1", "9th", "-1"),
        ("46341", "9V9999999999", " -2147483648"),
    ];
    check(&rows, |value| Number::Int(value.parse().expect("an integer")));
    let rows = [
        ("12345678901", "99,999,999,999", " 12,345,678,901"),
        ("9223372036854775807", "9.99EEEE", " 9.22e+18"),
        ("25", "9EEEE", " 3e+01"),
        ("10000000000", "99V999999999", "22003: bigint out of range"),
        ("3000000000", "RN", "22003: integer out of range"),
    ];
    check(&rows, |value| Number::BigInt(value.parse().expect("a bigint")));
}

#[test]
fn floats_are_shown() {
    let rows = [
        ("0.25", "0.99", " 0.25"),
        ("1234567.125", "9999999.999", " 1234567"),
        ("2.5", "9", " 2"),
        ("NaN", "9999", "  NaN"),
        ("123.456", "999.9999", " 123.456"),
    ];
    check(&rows, |value| Number::Real(value.parse().expect("a real")));
    let rows = [
        ("0.25", "0.99", " 0.25"),
        ("-0.4", "9", "-0"),
        ("123456789.123456789", "999999999.999999999", " 123456789.123457"),
        ("1e20", "9.99EEEE", " 1.00e+20"),
        ("inf", "9.9EEEE", " #.#####"),
        ("NaN", "999th", "22P02: \"NaN\" is not a number"),
        ("2.5", "9", " 2"),
        ("3.5", "9", " 4"),
        ("1e300", "RN", "###############"),
    ];
    check(&rows, |value| Number::Double(value.parse().expect("a double")));
}

#[test]
fn numbers_are_read() {
    let rows = [
        ("12,454.8-", "99G999D9S", "-12454.8"),
        ("-34,338,492", "99G999G999", "-34338492"),
        ("-34,338,492.654,878", "99G999G999D999G999", "-34338492.654878"),
        ("<564646.654564>", "999999.999999PR", "-564646.654564"),
        ("0.00001-", "9.999999S", "-0.00001"),
        ("5.01-", "FM9.999999MI", "-5.01"),
        ("5 4 4 4 4 8 . 7 8", "9 9 9 9 9 9 . 9 9", "544448.78"),
        ("$1,234.50", "L9,999.99", "1234.50"),
        (".01", "FM9.99", "0.01"),
        ("1st", "9th", "1"),
        ("123456", "99G999", "12345"),
        ("42nd", "99th", "42"),
        ("+5", "S9", "5"),
        ("1234", "9", "1"),
        ("123", "9V99", "1.23"),
        ("x12", "\"x\"99", "12"),
        ("", "", "NULL"),
        ("5", "S", "22P02: invalid input syntax for type numeric: \" \""),
        ("abc", "999", "22P02: invalid input syntax for type numeric: \" \""),
        ("123", "9.9", "22003: numeric field overflow"),
        ("1", "RN", "0A000: \"RN\" not supported for input"),
        ("1", "9EEEE", "0A000: \"EEEE\" not supported for input"),
    ];
    for (value, template, expected) in rows {
        let number = text_to_number(value, template);
        let text = number.map(|number| number.map(|number| number.to_string()));
        assert_eq!(shown(text), expected, "{value:?} by {template:?}");
    }
}

#[test]
fn what_is_too_great_says_what_fits() {
    let error = text_to_number("123", "9.9").expect_err("the point takes a digit");
    let detail =
        "A field with precision 1, scale 0 must round to an absolute value less than 10^1.";
    assert_eq!(error.detail.as_deref(), Some(detail));
    let error = text_to_number(&"9".repeat(39), &"9".repeat(39)).expect_err("39 digits");
    assert_eq!(error.code, *b"22003", "PostgreSQL has more than 38 digits, Hotrow has not");
    assert_eq!(scale_of_template("9G999D99S"), Some(2));
    assert_eq!(scale_of_template("9V999"), Some(3));
    assert_eq!(scale_of_template("9.9.9"), None);
}

#[test]
fn zeros_are_as_many_as_the_template_has_digits() {
    let one = Number::Numeric(Decimal::from(1));
    let digits = 70_000;
    let text = number_to_text(one, &format!("9.{}", "9".repeat(digits))).expect("digits");
    assert_eq!(text, format!(" 1.{}", "0".repeat(digits)));
    let text = number_to_text(Number::Double(1.0), &format!("9.{}EEEE", "9".repeat(digits)));
    assert_eq!(text, Ok(format!(" 1.{}e+00", "0".repeat(digits))));
}
