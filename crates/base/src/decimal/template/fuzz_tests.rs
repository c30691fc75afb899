//! Whatever template and whatever number: an answer or an error, and not more than is promised.

use super::*;
use proptest::prelude::*;

/// Patterns, quotes, and pieces of them.
fn any_template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[90]{1,6}",
        2 => "[.,DGSLVB]|MI|PL|SG|PR|RN|rn|TH|th|FM|EEEE",
        1 => "[-\"\\\\a-zA-Z0-9 \u{e9}]{0,3}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn numbers_are_shown_in_bounds(
        template in any_template(),
        int in any::<i64>(),
        float in any::<f64>(),
        units in any::<i128>(),
        scale in 0..=38_u8,
    ) {
        let numeric = Decimal::new(units % 10_i128.pow(38), scale).expect("38 digits");
        for number in [
            Number::Int(int as i32),
            Number::BigInt(int),
            Number::Numeric(numeric),
            Number::Real(float as f32),
            Number::Double(float),
        ] {
            if let Ok(text) = number_to_text(number, &template) {
                let most = 12 * template.len() + 512;
                prop_assert!(text.len() <= most, "{:?} gives {}", number, text);
            }
        }
    }

    #[test]
    fn whatever_is_read_is_a_number_or_an_error(
        template in any_template(),
        text in "[-+<> $.,0-9a-z\u{e9}]{0,20}",
    ) {
        if let Ok(Some(number)) = text_to_number(&text, &template) {
            prop_assert!(number.scale() <= crate::decimal::DIGITS_MAX);
        }
    }

    #[test]
    fn what_is_shown_is_read_back(units in -999_999_999_i64..=999_999_999) {
        let number = Decimal::new(units.into(), 2).expect("few digits");
        for template in ["9999999.99", "9,999,999.99S", "0G000G000D00PR", "FM9999990.00MI"] {
            let text = number_to_text(Number::Numeric(number), template).expect("a template");
            prop_assert_eq!(text_to_number(&text, template), Ok(Some(number)), "{}", text);
        }
    }
}
