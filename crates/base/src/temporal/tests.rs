use super::*;
use proptest::prelude::*;

fn timestamp(micros: i64) -> String {
    let mut text = String::new();
    write_timestamp(micros, &mut text).expect("a string");
    text
}

fn date(days: i32) -> String {
    let mut text = String::new();
    write_date(days, &mut text).expect("a string");
    text
}

fn at(text: &str) -> i64 {
    parse_timestamp(text).expect("a timestamp")
}

proptest! {
    #[test]
    fn days_round_trip(days in any::<i32>()) {
        prop_assert_eq!(days_from_civil(civil_from_days(days.into())), i64::from(days));
        let (this, next) = (civil_from_days(days.into()), civil_from_days(i64::from(days) + 1));
        prop_assert!(this < next);
    }

    #[test]
    fn dates_round_trip_through_text(days in -2_451_507..=2_145_031_948_i32) {
        prop_assert_eq!(parse_date(&date(days)), Ok(days));
    }

    #[test]
    fn timestamps_round_trip_through_text(
        micros in at("4713-01-01 BC")..at("294276-12-31 23:59:59"),
    ) {
        prop_assert_eq!(parse_timestamp(&timestamp(micros)), Ok(micros));
        let mut text = String::new();
        write_timestamp_tz(micros, &mut text).expect("a string");
        prop_assert_eq!(parse_timestamp_tz(&text), Ok(micros));
    }

    #[test]
    fn no_value_and_no_text_panics(micros in any::<i64>(), text in "[-+0-9:. TZBC]{0,30}") {
        let _parsed = (parse_timestamp_tz(&text), parse_date(&text));
        let _text = timestamp(micros);
        for name in ["second", "week", "month", "decade", "century", "millennium", "hour"] {
            let field = ExtractField::from_name(name).expect("a field");
            let unit = TruncateUnit::from_name(name).expect("a unit");
            let _field = extract(field, micros);
            if let Some(start) = date_trunc(unit, micros) {
                prop_assert!(start <= micros);
                prop_assert_eq!(date_trunc(unit, start), Some(start));
            }
        }
    }
}

#[test]
fn each_day_follows_the_day_before() {
    let start = Civil { year: -400, month: 1, day: 1 };
    let (mut date, first) = (start, days_from_civil(start));
    // Two cycles of the calendar, through year 0.
    for days in first..first + 2 * 146_097 {
        assert_eq!(civil_from_days(days), date);
        assert_eq!(days_from_civil(date), days);
        date.day += 1;
        if date.day > calendar::days_in_month(date.year, date.month) {
            (date.day, date.month) = (1, date.month + 1);
        }
        if date.month > 12 {
            (date.month, date.year) = (1, date.year + 1);
        }
    }
    assert_eq!(date, Civil { year: 400, ..start });
}

#[test]
fn known_texts() {
    let check = |text: &str, expected: Result<&str, TemporalError>| {
        let parsed = parse_timestamp(text).map(timestamp);
        assert_eq!(parsed.as_deref(), expected.as_ref().map(|text| *text), "{text}");
    };
    check("2026-11-21 10:00:00.123", Ok("2026-11-21 10:00:00.123"));
    check("2026-11-21T10:00", Ok("2026-11-21 10:00:00"));
    check("2026-1-2", Ok("2026-01-02 00:00:00"));
    check("2026-12-31 24:00:00", Ok("2027-01-01 00:00:00"));
    check("2026-12-31 23:59:60", Ok("2027-01-01 00:00:00"));
    check("1999-12-31 23:59:59.9999995", Ok("2000-01-01 00:00:00"));
    check("2000-02-29 BC", Err(TemporalError::OutOfRange));
    check("0044-03-15 01:00:00 BC", Ok("0044-03-15 01:00:00 BC"));
    check("2026-02-29", Err(TemporalError::OutOfRange));
    check("2026-13-01", Err(TemporalError::OutOfRange));
    check("2026-01-01 25:00", Err(TemporalError::OutOfRange));
    check("0000-01-01", Err(TemporalError::OutOfRange));
    check("294277-01-01", Err(TemporalError::OutOfRange));
    check("-infinity", Err(TemporalError::Infinity));
    check("yesterday", Err(TemporalError::Syntax));
    check("2026-01-01 10", Err(TemporalError::Syntax));
    check("", Err(TemporalError::Syntax));
    check("ä", Err(TemporalError::Syntax));
    assert_eq!(parse_date("2000-01-01"), Ok(0));
    assert_eq!(parse_date("1970-01-01"), Ok(-10_957));
}

#[test]
fn zones_are_subtracted() {
    let expected = Ok(at("2026-11-21 10:00"));
    for text in [
        "2026-11-21 10:00Z",
        "2026-11-21 10:00 UTC",
        "2026-11-21 12:00+02",
        "2026-11-21 15:30+05:30",
        "2026-11-21 04:30-0530",
        "2026-11-21 12:00:00 +02:00:00",
    ] {
        assert_eq!(parse_timestamp_tz(text), expected, "{text}");
    }
    assert_eq!(parse_timestamp_tz("2026-11-21 10:00+16"), Err(TemporalError::OutOfRange));
}

#[test]
fn known_fields() {
    let check = |name: &str, text: &str, expected: i64| {
        let field = ExtractField::from_name(name).expect("a field");
        assert_eq!(extract(field, at(text)), Some(expected), "{name} of {text}");
    };
    // Expected values are those of PostgreSQL's documentation where it has the example.
    check("century", "2000-12-16 12:21:13", 20);
    check("century", "2001-02-16 20:38:40", 21);
    check("century", "0001-01-01", 1);
    check("century", "0001-12-31 BC", -1);
    check("day", "2001-02-16 20:38:40", 16);
    check("decade", "2001-02-16 20:38:40", 200);
    check("dow", "2001-02-16 20:38:40", 5);
    check("doy", "2001-02-16 20:38:40", 47);
    check("epoch", "2001-02-16 20:38:40.12", 982_355_920_120_000);
    check("hour", "2001-02-16 20:38:40", 20);
    check("isodow", "2001-02-18 20:38:40", 7);
    check("dow", "2001-02-18 20:38:40", 0);
    check("isoyear", "2006-01-01", 2005);
    check("isoyear", "2006-01-02", 2006);
    check("week", "2001-02-16 20:38:40", 7);
    check("week", "2005-01-01", 53);
    check("microseconds", "2001-02-16 17:12:28.5", 28_500_000);
    check("milliseconds", "2001-02-16 17:12:28.5", 28_500_000);
    check("second", "2001-02-16 17:12:28.5", 28_500_000);
    check("millennium", "2001-02-16 20:38:40", 3);
    check("minute", "2001-02-16 20:38:40", 38);
    check("month", "2001-02-16 20:38:40", 2);
    check("quarter", "2001-02-16 20:38:40", 1);
    check("year", "2001-02-16 20:38:40", 2001);
    check("year", "0044-03-15 BC", -44);
}

#[test]
fn known_truncations() {
    let check = |name: &str, text: &str, expected: &str| {
        let unit = TruncateUnit::from_name(name).expect("a unit");
        let start = date_trunc(unit, at(text)).expect("in range");
        assert_eq!(timestamp(start), expected, "{name} of {text}");
    };
    check("hour", "2001-02-16 20:38:40", "2001-02-16 20:00:00");
    check("year", "2001-02-16 20:38:40", "2001-01-01 00:00:00");
    check("week", "2001-02-18 20:38:40", "2001-02-12 00:00:00");
    check("quarter", "2001-12-31 20:38:40", "2001-10-01 00:00:00");
    check("decade", "2001-02-16", "2000-01-01 00:00:00");
    check("century", "2000-02-16", "1901-01-01 00:00:00");
    check("millennium", "2001-02-16", "2001-01-01 00:00:00");
    check("milliseconds", "1999-12-31 23:59:59.123456", "1999-12-31 23:59:59.123");
}

#[test]
fn dates_and_timestamps_convert() {
    assert_eq!(date_of_timestamp(at("1999-12-31 23:59:59")), -1);
    assert_eq!(timestamp_of_date(1), Some(MICROS_PER_DAY));
    assert_eq!(timestamp_of_date(i32::MAX), None);
    let last = date_of_timestamp(i64::MAX);
    assert!(date(last).starts_with("294277-01-"));
}
