//! Styles: what settings say, what the log keeps, texts in each of them.

use super::{
    Conventions, DateOrder, DateStyle, DateStyleError, IntervalStyle, Style, date_style,
    date_style_name,
};
use crate::temporal::TimeZone;
use crate::types::DataType;
use crate::value::Value;

fn shown(style: Style, data_type: DataType, text: &str) -> String {
    let value = Value::parse(data_type, text).expect(text);
    let _entered = style.enter();
    value.to_string()
}

#[test]
fn values_of_datestyle_say_a_style_an_order_or_both() {
    let before = (DateStyle::Sql, DateOrder::Ymd);
    let said = |value: &str| date_style(value, before).map(date_style_name);
    for (value, expected) in [
        ("ISO", "ISO, YMD"),
        ("iso, dmy", "ISO, DMY"),
        ("DMY", "SQL, DMY"),
        ("German", "German, DMY"),
        ("German, YMD", "German, YMD"),
        ("PostgreSQL,US", "Postgres, MDY"),
        ("European", "SQL, DMY"),
        ("NonEuropean", "SQL, MDY"),
        ("", "SQL, YMD"),
    ] {
        assert_eq!(said(value).as_deref(), Ok(expected), "{value}");
    }
    assert_eq!(said("iso, sql"), Err(DateStyleError::Conflict));
    assert_eq!(said("mdy, dmy"), Err(DateStyleError::Conflict));
    assert_eq!(said("iso,"), Err(DateStyleError::Syntax));
    assert_eq!(said("iso, x"), Err(DateStyleError::Unknown("x".to_owned())));
}

#[test]
fn what_the_log_keeps_comes_back() {
    assert_eq!(Conventions::DEFAULT.kept(), "0");
    let zone = TimeZone::named("Europe/Berlin").expect("a region");
    let of_zone = Conventions { zone, ..Conventions::DEFAULT };
    assert_eq!(of_zone.kept(), "Europe/Berlin");
    let style = Style::of_settings("SQL, DMY", "iso_8601", "escape", "-3");
    let all = Conventions { style, ..of_zone };
    assert_eq!(all.kept(), "Europe/Berlin; SQL, DMY; iso_8601; escape; -3");
    for one in [Conventions::DEFAULT, of_zone, all] {
        assert_eq!(Conventions::of_kept(&one.kept()), Some(one));
    }
    for none in ["Mars", "0; SQL", "0; SQL, DMY; x; hex; 1", "0; ", "0; SQL, DMY; postgres; hex"] {
        assert_eq!(Conventions::of_kept(none), None, "{none}");
    }
}

#[test]
fn texts_follow_the_style_that_was_entered() {
    let with = |dates, order| Style { dates, order, ..Style::DEFAULT };
    let stamp = DataType::TIMESTAMP;
    for (style, date, time) in [
        (with(DateStyle::Sql, DateOrder::Mdy), "02/01/2026", "02/01/2026 10:20:30.5"),
        (with(DateStyle::Sql, DateOrder::Dmy), "01/02/2026", "01/02/2026 10:20:30.5"),
        (with(DateStyle::German, DateOrder::Dmy), "01.02.2026", "01.02.2026 10:20:30.5"),
        (with(DateStyle::Postgres, DateOrder::Mdy), "02-01-2026", "Sun Feb 01 10:20:30.5 2026"),
        (with(DateStyle::Postgres, DateOrder::Dmy), "01-02-2026", "Sun 01 Feb 10:20:30.5 2026"),
    ] {
        assert_eq!(shown(style, DataType::Date, "2026-02-01"), date);
        assert_eq!(shown(style, stamp, "2026-02-01 10:20:30.5"), time);
        assert_eq!(shown(style, DataType::Date, "infinity"), "infinity");
        let _entered = style.enter();
        for (data_type, text) in [(DataType::Date, date), (stamp, time)] {
            let read = Value::parse(data_type, text).expect(text);
            assert_eq!(read.to_string(), text, "it is read as it is written");
        }
    }
    let postgres = with(DateStyle::Postgres, DateOrder::Mdy);
    assert_eq!(shown(postgres, stamp, "0044-03-15 10:00 BC"), "Fri Mar 15 10:00:00 0044 BC");
    let _berlin = TimeZone::named("Europe/Berlin").expect("a region").enter();
    let noon = "2026-07-15 12:00+02";
    assert_eq!(shown(postgres, DataType::TIMESTAMPTZ, noon), "Wed Jul 15 12:00:00 2026 CEST");
    let sql = with(DateStyle::Sql, DateOrder::Mdy);
    assert_eq!(shown(sql, DataType::TIMESTAMPTZ, noon), "07/15/2026 12:00:00 CEST");
}

#[test]
fn the_sign_before_an_interval_of_the_standard_is_that_of_all_its_fields() {
    let read = |text: &str| {
        let style = Style { intervals: IntervalStyle::SqlStandard, ..Style::DEFAULT };
        let entered = style.enter();
        let value = Value::parse(DataType::Interval, text).expect(text);
        drop(entered);
        value.to_string()
    };
    assert_eq!(read("-1 2:03:04"), "-1 days -02:03:04");
    assert_eq!(read("-1 hour 2 minutes"), "-01:02:00");
    assert_eq!(read("@ -1 day 2 hours"), "-1 days -02:00:00");
    assert_eq!(read("-1 day +2 hours"), "-1 days +02:00:00");
    assert_eq!(read("1 day -2 hours"), "1 day -02:00:00");
}

#[test]
fn floats_have_so_many_digits_and_bytes_are_escaped() {
    let digits = |float_digits| Style { float_digits, ..Style::DEFAULT };
    let double = |float_digits, text| shown(digits(float_digits), DataType::Double, text);
    assert_eq!(double(1, "0.30000000000000004"), "0.30000000000000004");
    assert_eq!(double(0, "0.30000000000000004"), "0.3");
    assert_eq!(double(0, "1e15"), "1e+15");
    assert_eq!(double(-13, "1234.5678"), "1.2e+03");
    assert_eq!(double(-15, "0.00012"), "0.0001");
    assert_eq!(double(0, "NaN"), "NaN");
    assert_eq!(double(0, "-Infinity"), "-Infinity");
    assert_eq!(double(0, "-0"), "-0");
    assert_eq!(shown(digits(0), DataType::Real, "1.1"), "1.1");
    assert_eq!(shown(digits(-3), DataType::Real, "16777216"), "1.68e+07");
    let escape = Style::of_settings("ISO, MDY", "postgres", "escape", "1");
    assert_eq!(shown(escape, DataType::Bytea, "\\x61005c7eff"), "a\\000\\\\~\\377");
}
