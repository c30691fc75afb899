//! Values, templates and what PostgreSQL 15 makes of them: "NULL", or an error's code and message.

use super::*;
use crate::temporal::tests::usual::{
    parse_interval, parse_timestamp, parse_timestamp_tz, write_date, write_timestamp_tz,
};

fn shown(result: Result<Option<String>, TemplateError>) -> String {
    match result {
        Ok(text) => text.unwrap_or_else(|| "NULL".to_owned()),
        Err(error) => format!("{}: {error}", String::from_utf8_lossy(&error.code)),
    }
}

fn check(
    rows: &[(&str, &str, &str)],
    function: impl Fn(&str, &str) -> Result<Option<String>, TemplateError>,
) {
    for (value, template, expected) in rows {
        assert_eq!(shown(function(value, template)), *expected, "{value:?} by {template:?}");
    }
}

#[test]
fn moments_are_shown() {
    let rows = [
        ("2026-11-21 10:20:30.045678", "HH24:MI:SS.MS", "10:20:30.045"),
        ("2026-11-21 10:20:30.045678", "HH:MI am", "10:20 am"),
        ("2026-11-21 10:20:30.045678", "HH12 A.M.", "10 A.M."),
        (
            "2026-11-21 10:20:30.045678",
            "US FF1 FF2 FF3 FF4 FF5 FF6",
            "045678 0 04 045 0456 04567 045678",
        ),
        ("2026-11-21 10:20:30.045678", "SSSS SSSSS", "37230 37230"),
        ("2026-11-21 10:20:30.045678", "Y,YYY YYYY YYY YY Y", "2,026 2026 026 26 6"),
        ("2026-11-21 10:20:30.045678", "IYYY IYY IY I", "2026 026 26 6"),
        ("2026-11-21 10:20:30.045678", "IDDD ID IW", "328 6 47"),
        ("2026-11-21 10:20:30.045678", "MONTH|Month|month|", "NOVEMBER |November |november |"),
        ("2026-11-21 10:20:30.045678", "MON Mon mon", "NOV Nov nov"),
        ("2026-11-21 10:20:30.045678", "DAY|Day|day|", "SATURDAY |Saturday |saturday |"),
        ("2026-11-21 10:20:30.045678", "DY Dy dy", "SAT Sat sat"),
        ("2026-11-21 10:20:30.045678", "DDD DD D", "325 21 7"),
        ("2026-11-21 10:20:30.045678", "W WW CC J Q", "3 47 21 2461366 4"),
        ("2026-11-21 10:20:30.045678", "RM|rm|FMRM|", "XI  |xi  |XI|"),
        ("2026-11-21 10:20:30.045678", "TZ tz TZH TZM OF", "UTC utc +00 00 +00"),
        (
            "2026-11-21 10:20:30.045678",
            "FMDay, FMDDth FMMonth YYYY",
            "Saturday, 21st November 2026",
        ),
        ("2026-11-21 10:20:30.045678", "DDTH SSth MITH", "21ST 30th 20TH"),
        ("2026-11-21 10:20:30.045678", "TMMonth TMDay|", "November Saturday|"),
        ("2026-11-21 10:20:30.045678", "\"quoted YYYY\" \\\"YYYY\\\"", "quoted YYYY \"2026\""),
        ("2026-11-21 10:20:30.045678", "BC b.c. AD a.d.", "AD a.d. AD a.d."),
        ("2026-11-21 10:20:30.045678", "FXYYYY", "2026"),
        ("2026-11-21 10:20:30.045678", "DDSP", "21"),
        ("2026-11-21 10:20:30.045678", "é YYYY", "é 2026"),
        ("2026-11-21 10:20:30.045678", "Dd Hh24", "77 Hh24"),
        ("2026-11-21 10:20:30.045678", "", "NULL"),
        ("0044-03-15 21:00:05 BC", "YYYY-MM-DD BC", "0044-03-15 BC"),
        ("0044-03-15 21:00:05 BC", "Y,YYY YY CC B.C.", "0,044 44 -01 B.C."),
        ("0044-03-15 21:00:05 BC", "FMHH:MI:SS P.M.", "9:00:05 P.M."),
        ("2024-12-30 00:00:00", "IYYY-IW-ID IDDD", "2025-01-1 001"),
        ("2024-12-30 00:00:00", "HH12 FMHH24 FMMI FMSS FMMS", "12 0 0 0 000"),
    ];
    check(&rows, |value, template| {
        let micros = parse_timestamp_tz(value).expect("a timestamptz");
        moment_to_text(micros, Zone::Of(TimeZone::UTC), template)
    });
    let micros = parse_timestamp("2026-11-21 10:20:30.045678").expect("a timestamp");
    let text = moment_to_text(micros, Zone::None, "TZ|TZH|OF");
    assert_eq!(text, Ok(Some("|+00|+00".to_owned())), "it has no zone to be named");
}

#[test]
fn intervals_are_shown() {
    let rows = [
        ("15:02:12", "HH24:MI:SS", "15:02:12"),
        ("15:02:12", "HH:MI PM", "03:02 PM"),
        (
            "-1 year -2 mons +3 days -04:05:06.7",
            "YYYY-MM-DD HH24:MI:SS.MS",
            "-0001--02-03 -04:-05:-06.-700",
        ),
        ("100 days 100:00:00", "DDD DD HH24 SSSS", "100 100 100 360000"),
        ("14 months", "YYYY MM Q RM rm CC", "0001 02 1 II   ii   00"),
        ("12 months", "RM|Q|MM", "XII ||00"),
        ("-12 months", "RM|", "I   |"),
        ("14 months", "WW IW J IYYY", "60 05 1721456 0001"),
        ("1 day", "Day", "22007: invalid format specification for an interval value"),
        ("1 day", "BC", "22007: invalid format specification for an interval value"),
        ("1 day", "TZH", "22007: invalid format specification for an interval value"),
        ("1 day", "", "NULL"),
    ];
    check(&rows, |value, template| {
        interval_to_text(parse_interval(value).expect("an interval"), template)
    });
}

#[test]
fn dates_are_read() {
    let rows = [
        ("2000-JUN-01", "YYYY Mon DD", "2000-06-01"),
        ("05 Dec 2000", "DD Mon YYYY", "2000-12-05"),
        ("20000131", "YYYYMMDD", "2000-01-31"),
        ("2000-1-5", "FMYYYY-FMMM-FMDD", "2000-01-05"),
        ("44-03-15 BC", "YYYY-MM-DD BC", "0044-03-15 BC"),
        ("21 50", "CC YY", "2050-01-01"),
        ("6 BC", "CC BC", "0600-01-01 BC"),
        ("69", "YY", "2069-01-01"),
        ("70", "YY", "1970-01-01"),
        ("520", "YYY", "1520-01-01"),
        ("2005527", "IYYYIWID", "2006-01-01"),
        ("2005-366", "YYYY-DDD", "22008: date/time field value out of range: \"2005-366\""),
        ("2004-366", "YYYY-DDD", "2004-12-31"),
        ("2026 3 2", "YYYY MM W", "2026-03-08"),
        ("2026 8", "YYYY WW", "2026-02-19"),
        ("2451545", "J", "2000-01-01"),
        ("1,999 xii", "Y,YYY RM", "1999-12-01"),
        ("XII 2001", "RM YYYY", "2001-12-01"),
        ("3rd Oct 2001", "DDth Mon YYYY", "2001-10-03"),
        ("Tuesday 5 5 2026", "Day DD MM YYYY", "2026-05-05"),
        ("2026/4", "YYYY/Q", "2026-01-01"),
        ("2000    JUN", "YYYY MON", "2000-06-01"),
        ("2000    JUN", "FXYYYY MON", "22007: invalid value \"\" for \"MON\""),
        ("2000JUN", "YYYY///MON", "2000-06-01"),
        ("Nov1", "Mon1", "0001-11-01 BC"),
        ("anything", "", "0001-01-01 BC"),
        ("", "YYYY", "0001-01-01 BC"),
        ("2026-02-29", "YYYY-MM-DD", "22008: date/time field value out of range: \"2026-02-29\""),
        ("2026-13-01", "YYYY-MM-DD", "22008: date/time field value out of range: \"2026-13-01\""),
        ("31 02", "DD MM", "0001-03-02 BC"),
        ("abc", "YYYY", "22007: invalid value \"abc\" for \"YYYY\""),
        ("99", "FXYYYY", "0099-01-01"),
        ("200a01", "YYYYMM", "22007: invalid value \"200a\" for \"YYYY\""),
        ("12345678901", "YYYY", "22008: value for \"YYYY\" in source string is out of range"),
        ("Foo 2000", "Mon YYYY", "22007: invalid value \"Foo\" for \"Mon\""),
        (
            "2026 1 2",
            "YYYY MM MM",
            "22007: conflicting values for \"MM\" field in formatting string",
        ),
        ("2026 5", "IYYY MM", "22007: invalid combination of date conventions"),
        ("100", "DDD", "22007: cannot calculate day of year without year information"),
        ("2026 UTC", "YYYY TZ", "0A000: formatting field \"TZ\" is only supported in to_char"),
        ("5874898", "YYYY", "22008: date out of range: \"5874898\""),
        ("1", "Y,YYY", "22007: invalid input string for \"Y,YYY\""),
    ];
    check(&rows, |value, template| {
        let mut text = String::new();
        write_date(text_to_date(value, template)?, &mut text).expect("a string");
        Ok(Some(text))
    });
}

#[test]
fn moments_are_read() {
    let rows = [
        ("2026-11-21 10:20:30", "YYYY-MM-DD HH24:MI:SS", "2026-11-21 10:20:30+00"),
        ("12:30 am", "HH:MI am", "0001-01-01 00:30:00+00 BC"),
        ("12:30 p.m.", "HH12:MI P.M.", "0001-01-01 12:30:00+00 BC"),
        ("1.5", "SS.MS", "0001-01-01 00:00:01.5+00 BC"),
        ("1.025", "SS.MS", "0001-01-01 00:00:01.025+00 BC"),
        ("1.123456", "SS.US", "0001-01-01 00:00:01.123456+00 BC"),
        ("1.1256", "SS.FF2", "0001-01-01 00:00:01.13+00 BC"),
        ("86399", "SSSS", "0001-01-01 23:59:59+00 BC"),
        ("2026 -10", "YYYY TZH", "2026-01-01 10:00:00+00"),
        ("2026 +05:30", "YYYY TZH:TZM", "2025-12-31 18:30:00+00"),
        ("2026-1-1 30", "YYYY-MM-DD TZM", "2025-12-31 23:30:00+00"),
        ("13:00 am", "HH:MI am", "22007: hour \"13\" is invalid for the 12-hour clock"),
        ("25:00", "HH24:MI", "22008: date/time field value out of range: \"25:00\""),
        ("10:60", "HH24:MI", "22008: date/time field value out of range: \"10:60\""),
        ("2026 +16", "YYYY TZH", "22009: time zone displacement out of range: \"2026 +16\""),
        ("294277", "YYYY", "22008: timestamp out of range"),
        ("2011-12-18 11:38 20", "YYYY-MM-DD HH12:MI TZM", "2011-12-18 11:18:00+00"),
        ("2011$03!18 23_38_15", "YYYY-MM-DD HH24:MI:SS", "2011-03-18 23:38:15+00"),
    ];
    check(&rows, |value, template| {
        let mut text = String::new();
        let micros = text_to_moment(value, template, TimeZone::UTC)?;
        write_timestamp_tz(micros, &mut text).expect("a string");
        Ok(Some(text))
    });
}

#[test]
fn errors_say_what_to_do() {
    let error = text_to_date("20", "YYYYMM").expect_err("it is too short");
    assert_eq!(error.message, "source string too short for \"YYYY\" formatting field");
    let detail = "Field requires 4 characters, but only 2 remain.";
    assert_eq!(error.detail.as_deref(), Some(detail));
    let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
    assert_eq!(error.hint, Some(hint));
    let error = interval_to_text(Interval::default(), "Mon").expect_err("it has no month");
    assert_eq!(error.hint, Some("Intervals are not tied to specific calendar dates."));
}

#[test]
fn seconds_since_1970_are_moments() {
    let rows = [
        ("0", "1970-01-01 00:00:00+00"),
        ("1795256430.5", "2026-11-21 10:20:30.5+00"),
        ("-210866803200", "4714-11-24 00:00:00+00 BC"),
        ("-210866803201", "22008: timestamp out of range: \"-2.10867e+11\""),
        ("9224318016000", "22008: timestamp out of range: \"9.22432e+12\""),
        ("1e20", "22008: timestamp out of range: \"1e+20\""),
        ("nan", "22008: timestamp cannot be NaN"),
        ("inf", "infinity"),
    ];
    for (seconds, expected) in rows {
        let moment = moment_of_epoch(seconds.parse().expect("a double")).map(|micros| {
            let mut text = String::new();
            write_timestamp_tz(micros, &mut text).expect("a string");
            Some(text)
        });
        assert_eq!(shown(moment), expected, "{seconds}");
    }
    assert_eq!(number::six_digits(0.000_012_34), "1.234e-05");
    assert_eq!(number::six_digits(1_234.5), "1234.5");
}
