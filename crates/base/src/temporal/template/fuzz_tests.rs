//! Whatever template and whatever value: an answer or an error, and not more than is promised.

use super::*;
use proptest::prelude::*;

/// Patterns, modifiers, quotes, and pieces of them.
fn any_template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "(FM|TM|fm)?(HH24|HH12|HH|MI|SS|MS|US|FF[1-6]|SSSSS?)(TH|th|SP)?",
        "(FX|FM)?(AM|a\\.m\\.|PM|TZ|TZH|TZM|OF|BC|b\\.c\\.)",
        "(FM|TM)?(Y,YYY|YYYY|YYY|YY|Y|IYYY|IYY|IY|I|CC|Q)(TH|th)?",
        "(FM|TM)?(MONTH|Month|mon|MM|RM|rm)(TH|th)?",
        "(FM)?(DAY|Day|dy|DDD|IDDD|DD|D|ID|WW|IW|W|J)(TH|th)?",
        "[-/,.: T\"\\\\a-zA-Z0-9\u{e9}\u{b}]{0,3}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_interval() -> impl Strategy<Value = Interval> {
    (-i32::MAX..=i32::MAX, any::<i32>(), any::<i64>()).prop_map(|(months, days, micros)| Interval {
        months,
        days,
        micros,
    })
}

proptest! {
    #[test]
    fn values_are_shown_in_bounds(
        template in any_template(),
        micros in any::<i64>(),
        interval in any_interval(),
    ) {
        let most = 12 * template.len();
        for zone in [Zone::None, Zone::Of(TimeZone::UTC)] {
            let text = moment_to_text(micros, zone, &template).expect("a moment has all parts");
            prop_assert!(text.is_none_or(|text| text.len() <= most), "{}", template);
        }
        if let Ok(Some(text)) = interval_to_text(interval, &template) {
            prop_assert!(text.len() <= most, "{} gives {}", template, text);
        }
    }

    #[test]
    fn whatever_is_read_is_a_moment_or_an_error(
        template in any_template(),
        text in "[-+ 0-9a-zA-Z.,:/\u{e9}\u{b}]{0,30}",
    ) {
        if let Ok(micros) = text_to_moment(&text, &template, TimeZone::UTC) {
            prop_assert!(moment_to_text(micros, Zone::Of(TimeZone::UTC), "J").is_ok());
        }
        let _date = text_to_date(&text, &template);
    }

    #[test]
    fn what_is_shown_in_full_is_read_back(
        micros in -63_000_000_000_000_000..250_000_000_000_000_000_i64,
    ) {
        for template in [
            "YYYY-MM-DD HH24:MI:SS.US",
            "FMDDth Month YYYY HH:MI:SS.FF6 am",
            "IYYY-IW-ID SSSS US",
            "YYYY DDD HH24 MI SS US TZH:TZM",
            "J HH24MISSUS",
        ] {
            let text = moment_to_text(micros, Zone::Of(TimeZone::UTC), template);
            let text = text.expect("a moment has all parts").expect("a template");
            let read = text_to_moment(&text, template, TimeZone::UTC);
            prop_assert_eq!(read, Ok(micros), "{} by {}", text, template);
        }
    }

    #[test]
    fn seconds_are_moments_or_errors(seconds in any::<f64>()) {
        let _moment = moment_of_epoch(seconds);
    }
}
