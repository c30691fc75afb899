//! Zones: names, what they are kept by, clocks; guards.

use super::TimeZone;
use crate::types::DataType;
use crate::value::Value;

fn setting(value: &str) -> Option<(String, i32, i32)> {
    // 2026-01-15 and 2026-07-15, both at noon
    let [winter, summer] = [821_707_200_000_000, 837_345_600_000_000];
    let (zone, shown) = TimeZone::of_setting(value)?;
    assert_eq!(TimeZone::of_kept_name(&zone.kept_name()), Some(zone), "{value} is kept");
    Some((shown, zone.offset_at(winter), zone.offset_at(summer)))
}

#[test]
fn settings_say_zones_as_postgres_takes_them() {
    let said = |shown: &str, winter, summer| Some((shown.to_owned(), winter, summer));
    assert_eq!(setting("utc"), said("UTC", 0, 0));
    assert_eq!(setting(" Etc/UTC "), said("Etc/UTC", 0, 0));
    assert_eq!(setting("europe/berlin"), said("Europe/Berlin", 3_600, 7_200));
    assert_eq!(setting("America/St_Johns"), said("America/St_Johns", -12_600, -9_000));
    assert_eq!(setting("PST8PDT"), said("PST8PDT", -28_800, -25_200));
    assert_eq!(setting("-8"), said("<-08>+08", -28_800, -28_800));
    assert_eq!(setting("5.5"), said("<+05:30>-05:30", 19_800, 19_800));
    assert_eq!(setting("UTC+3"), said("UTC+3", -10_800, -10_800));
    assert_eq!(setting("interval '-03:30'"), said("<-03:30>+03:30", -12_600, -12_600));
    for none in ["", "CEST", "Mars/Olympus", "200", "interval '1 day'", "interval 'x", "+"] {
        assert_eq!(setting(none), None, "{none}");
    }
    assert_eq!(TimeZone::of_kept_name("Mars/Olympus"), None);
}

#[test]
fn texts_are_shown_and_read_in_the_zone_that_was_entered() {
    let of = |text: &str| Value::parse(DataType::TIMESTAMPTZ, text).expect(text);
    let berlin = TimeZone::of_setting("Europe/Berlin").expect("a region").0;
    let noon = of("2026-07-15 12:00");
    assert_eq!(noon.to_string(), "2026-07-15 12:00:00+00");
    let entered = berlin.enter();
    assert_eq!(noon.to_string(), "2026-07-15 14:00:00+02");
    assert_eq!(of("2026-07-15 14:00"), noon);
    assert_eq!(of("2026-07-15 12:00 UTC"), noon);
    assert_eq!(of("1880-01-01 00:00").to_string(), "1880-01-01 00:00:00+00:53:28");
    // an hour that comes twice, and one that is left out
    assert_eq!(of("2026-10-25 02:30").to_string(), "2026-10-25 02:30:00+01");
    assert_eq!(of("2026-03-29 02:30").to_string(), "2026-03-29 03:30:00+02");
    {
        let _inner = TimeZone::fixed(-12_600).expect("an offset").enter();
        assert_eq!(noon.to_string(), "2026-07-15 08:30:00-03:30");
    }
    assert_eq!(of("infinity").to_string(), "infinity");
    drop(entered);
    assert_eq!(noon.to_string(), "2026-07-15 12:00:00+00");
}
