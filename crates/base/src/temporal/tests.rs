mod input;
pub(super) mod usual;

use self::usual::{
    parse_date, parse_interval, parse_timestamp, parse_timestamp_tz, write_date, write_interval,
    write_timestamp, write_timestamp_tz,
};
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
    fn dates_round_trip_through_text(days in -2_451_545..=2_145_031_948_i32) {
        prop_assert_eq!(parse_date(&date(days)), Ok(days));
    }

    #[test]
    fn timestamps_round_trip_through_text(
        micros in at("4714-11-24 BC")..at("294276-12-31 23:59:59"),
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
    check("2000-02-29 BC", Err(TemporalError::FieldRange));
    check("0044-03-15 01:00:00 BC", Ok("0044-03-15 01:00:00 BC"));
    check("2026-02-29", Err(TemporalError::FieldRange));
    check("2026-13-01", Err(TemporalError::FieldOrder));
    check("2026-01-01 25:00", Err(TemporalError::FieldRange));
    check("0000-01-01", Err(TemporalError::FieldRange));
    check("294277-01-01", Err(TemporalError::OutOfRange));
    check("-infinity", Ok("-infinity"));
    check("yesterday", Err(TemporalError::Clock));
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
    assert_eq!(parse_timestamp_tz("2026-11-21 10:00+16"), Err(TemporalError::ZoneRange));
}

#[test]
fn known_fields() {
    let check = |name: &str, text: &str, expected: i64| {
        let field = ExtractField::from_name(name).expect("a field");
        assert_eq!(extract(field, at(text)), i128::from(expected), "{name} of {text}");
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
    assert_eq!(timestamp_of_date(i32::MAX), Some(i64::MAX));
    assert_eq!(timestamp_of_date(i32::MAX - 1), None);
    assert_eq!(date_of_timestamp(i64::MIN), i32::MIN);
    let last = date_of_timestamp(i64::MAX - 1);
    assert!(date(last).starts_with("294277-01-"));
}

#[test]
fn intervals_are_read_and_written_as_postgresql_does() {
    let shown = |interval| {
        let mut out = String::new();
        write_interval(interval, &mut out).expect("a text takes it");
        out
    };
    for (text, expected) in [
        ("1 day 02:03:04", "1 day 02:03:04"),
        ("-1 mon", "-1 mons"),
        ("1.5 years", "1 year 6 mons"),
        ("1.5 mons", "1 mon 15 days"),
        ("1.5 weeks", "10 days 12:00:00"),
        ("1.5 days", "1 day 12:00:00"),
        ("1 year 2 mons -3 days 04:05:06.789", "1 year 2 mons -3 days +04:05:06.789"),
        ("P1DT2H", "1 day 02:00:00"),
        ("P1Y2M3W4DT5H6M7.8S", "1 year 2 mons 25 days 05:06:07.8"),
        ("P0001-02-03T04:05:06", "1 year 2 mons 3 days 04:05:06"),
        ("P-1DT-2H", "-1 days -02:00:00"),
        ("30", "00:00:30"),
        ("3 4:05:06", "3 days 04:05:06"),
        ("1-2", "1 year 2 mons"),
        ("-1-2", "-1 years -2 mons"),
        ("@ 1 hour ago", "-01:00:00"),
        ("1d2h3m4s", "1 day 02:03:04"),
        ("2 hours 30 minutes", "02:30:00"),
        ("-02:03:04.5", "-02:03:04.5"),
        ("+1 day -02:03", "1 day -02:03:00"),
        ("100:00:00", "100:00:00"),
        ("1 day ago", "-1 days"),
        ("2 decades", "20 years"),
        ("1 century 1 millennium", "1100 years"),
        ("500 ms", "00:00:00.5"),
        ("1.0000005 s", "00:00:01"),
        ("1.123456789 sec", "00:00:01.123457"),
        (".5 day", "12:00:00"),
        ("- 1 day", "-1 days"),
        ("1 w", "7 days"),
        ("P1W", "7 days"),
        ("PT36H", "36:00:00"),
        ("0.1 mon", "3 days"),
        ("1.999999 days", "1 day 23:59:59.9136"),
        ("- 2:30", "-02:30:00"),
        ("1 day, 2 hours", "1 day 02:00:00"),
        ("0", "00:00:00"),
        ("-0.5 years", "-6 mons"),
        ("12:30", "12:30:00"),
        ("1 YEAR 1 Mon", "1 year 1 mon"),
        ("1.25 hours", "01:15:00"),
        ("1.2345 months", "1 mon 7 days 00:50:24"),
        ("PT", "00:00:00"),
        ("P1Y1Y", "2 years"),
        ("P00021015T103020", "2 years 10 mons 15 days 10:30:20"),
        ("P0002-10", "2 years 10 mons"),
        ("PT10:30", "10:30:00"),
        ("P1.5e1D", "15 days"),
        ("1 day 2", "1 day 00:00:02"),
    ] {
        let interval = parse_interval(text).expect(text);
        assert_eq!(shown(interval), expected, "{text}");
        assert_eq!(parse_interval(expected), Ok(interval), "what is written is read back");
    }
    use TemporalError::{OutOfRange, Syntax, TotalRange};
    for (text, error) in [
        ("", Syntax),
        ("5.5 seconds 3 milliseconds", Syntax),
        ("1:20:05 5 microseconds", Syntax),
        ("1 day 1 day", Syntax),
        ("1 foo", Syntax),
        ("1 hour 02:03", Syntax),
        ("P", Syntax),
        ("P1D2H", Syntax),
        ("1 2 days", Syntax),
        ("infinity", Syntax),
        ("day", Syntax),
        ("1:2:3:4", Syntax),
        ("- day", Syntax),
        ("1\u{e9}", Syntax),
        ("P1\u{e9}", Syntax),
        ("12:60", OutOfRange),
        ("1-13", OutOfRange),
        ("99999999999 days", OutOfRange),
        ("300000000 years", TotalRange),
        ("178956970 years 8 mons ago", TotalRange),
        ("99999999999999999999 s", OutOfRange),
        ("9223372036854775807 hours", OutOfRange),
    ] {
        assert_eq!(parse_interval(text), Err(error), "{text}");
    }
}

#[test]
fn months_end_where_their_days_do() {
    let at = |text| parse_timestamp(text).expect(text);
    let by = |text| parse_interval(text).expect(text);
    for (from, interval, expected) in [
        ("2020-01-31 10:00", "1 mon", "2020-02-29 10:00"),
        ("2020-03-31", "-1 mon", "2020-02-29"),
        ("2019-12-31", "2 mons 1 day", "2020-03-01"),
        ("2020-02-29", "-1 year", "2019-02-28"),
        ("0001-01-01", "-1 mon", "0001-12-01 BC"),
    ] {
        assert_eq!(add_interval(at(from), by(interval)), Some(at(expected)), "{from} {interval}");
    }
    assert_eq!(add_interval(at("294276-12-31"), by("1 mon")), None);
    assert_eq!(add_interval(at("4713-01-01 BC"), by("-1 year")), None);
    assert_eq!(add_interval(i64::MAX - 1, by("178000000 years")), None);
    assert_eq!(add_interval(i64::MIN + 1, by("-178000000 years -2000000000 days")), None);
    assert_eq!(add_interval(i64::MAX, by("-1 day")), Some(i64::MAX));
    assert_eq!(add_interval(i64::MIN, by("1 day")), Some(i64::MIN));
    assert_eq!(age(i64::MAX, 0), None);
}

proptest::proptest! {
    #[test]
    fn intervals_are_read_back(months in -i32::MAX.., days: i32, micros in -i64::MAX..) {
        let interval = Interval { months, days, micros };
        let mut out = String::new();
        write_interval(interval, &mut out).expect("a text takes it");
        proptest::prop_assert_eq!(parse_interval(&out), Ok(interval));
    }

    #[test]
    fn no_text_makes_parsing_intervals_panic(text in "[-+0-9.:PTYMWDHSpt a-zé@,]{0,40}") {
        let _ = parse_interval(&text);
    }

    #[test]
    fn no_interval_makes_arithmetic_panic(
        months in -i32::MAX.., days: i32, micros: i64, other: i64, factor: f64,
    ) {
        let interval = Interval { months, days, micros };
        let _ = (interval.times(factor), interval.divided(factor), interval.justify());
        let _ = (interval.justify_days(), interval.justify_hours(), interval.negated());
        let _ = (add_interval(other, interval), age(other, micros), difference(other, micros));
    }
}
