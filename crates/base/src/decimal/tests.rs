use super::*;
use proptest::prelude::*;

fn units() -> impl Strategy<Value = i128> {
    (0..39_usize, any::<i128>()).prop_map(|(digits, units)| units % POWERS_OF_TEN[digits])
}

fn scale() -> impl Strategy<Value = u8> {
    0..=DIGITS_MAX
}

/// Magnitudes as decimal digits, least first: slow, and plainly right.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Digits(Vec<u8>);

impl Digits {
    fn of(mut magnitude: u128) -> Self {
        let mut digits = vec![];
        while magnitude > 0 {
            digits.push((magnitude % 10) as u8);
            magnitude /= 10;
        }
        Self(digits)
    }

    fn shifted(mut self, digits: usize) -> Self {
        self.0.splice(0..0, std::iter::repeat_n(0, digits));
        self.trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    fn times(&self, other: &Self) -> Self {
        let mut sums = vec![0_u32; self.0.len() + other.0.len() + 1];
        for (i, &a) in self.0.iter().enumerate() {
            for (j, &b) in other.0.iter().enumerate() {
                sums[i + j] += u32::from(a) * u32::from(b);
            }
        }
        let mut carry = 0;
        let digit = |sum: &u32| {
            let total = sum + carry;
            carry = total / 10;
            (total % 10) as u8
        };
        Self(sums.iter().map(digit).collect()).trimmed()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_len = self.0.len().cmp(&other.0.len());
        by_len.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn minus(&self, other: &Self) -> Self {
        let mut borrow = 0;
        let digit = |(i, &a): (usize, &u8)| {
            let difference = a as i8 - other.0.get(i).map_or(0, |&b| b as i8) - borrow;
            borrow = i8::from(difference < 0);
            (difference + 10 * borrow) as u8
        };
        Self(self.0.iter().enumerate().map(digit).collect()).trimmed()
    }

    /// Quotient rounded half up, if it is below 10^38.
    fn over(&self, divisor: &Self) -> Option<i128> {
        let (mut rest, mut quotient) = (Self(vec![]), 0_i128);
        for &digit in self.0.iter().rev() {
            rest.0.insert(0, digit);
            rest = rest.trimmed();
            quotient = quotient.checked_mul(10)?;
            while rest.compare(divisor).is_ge() {
                rest = rest.minus(divisor);
                quotient += 1;
            }
            in_range(quotient)?;
        }
        let rest = rest.times(&Self::of(2));
        in_range(quotient + i128::from(rest.compare(divisor).is_ge()))
    }

    fn units(&self, negative: bool) -> Option<i128> {
        let magnitude = self.over(&Self::of(1))?;
        Some(if negative { -magnitude } else { magnitude })
    }
}

/// Whether a literal has a value of at most 38 digits before the point after rounding.
fn digits_fit(whole: &str, fraction: &str) -> bool {
    let whole = whole.trim_start_matches('0');
    let carries = whole.bytes().all(|digit| digit == b'9') && fraction.as_bytes()[0] >= b'5';
    whole.len() < 38 || whole.len() == 38 && !carries
}

proptest! {
    #[test]
    fn rescaling_is_multiplying_or_rounding(a in units(), from in scale(), to in scale()) {
        let digits = Digits::of(a.unsigned_abs());
        let expected = match to.checked_sub(from) {
            Some(up) => digits.shifted(up.into()).units(a < 0),
            None => digits
                .over(&Digits::of(1).shifted((from - to).into()))
                .map(|magnitude| magnitude * a.signum()),
        };
        prop_assert_eq!(rescale(a, from, to), expected);
    }

    #[test]
    fn products_are_rounded_once(
        a in units(), b in units(), a_scale in scale(), b_scale in scale(), scale in scale(),
    ) {
        let product = Digits::of(a.unsigned_abs()).times(&Digits::of(b.unsigned_abs()));
        let expected = product
            .shifted(scale.into())
            .over(&Digits::of(1).shifted((a_scale + b_scale).into()))
            .map(|magnitude| magnitude * a.signum() * b.signum());
        prop_assert_eq!(mul(a, a_scale, b, b_scale, scale), expected);
    }

    #[test]
    fn quotients_are_rounded_once(
        a in units(), b in units(), a_scale in scale(), b_scale in scale(), scale in scale(),
    ) {
        let expected = (b != 0).then(|| {
            Digits::of(a.unsigned_abs())
                .shifted(usize::from(scale + b_scale))
                .over(&Digits::of(b.unsigned_abs()).shifted(a_scale.into()))
                .map(|magnitude| magnitude * a.signum() * b.signum())
        });
        prop_assert_eq!(div(a, a_scale, b, b_scale, scale), expected.flatten());
    }

    #[test]
    fn sums_and_remainders_are_exact(
        a in units(), b in units(), a_scale in scale(), b_scale in scale(),
    ) {
        let common = a_scale.max(b_scale);
        let pair = rescale(a, a_scale, common).zip(rescale(b, b_scale, common));
        prop_assert_eq!(add(a, a_scale, b, b_scale), pair.and_then(|(a, b)| in_range(a + b)));
        prop_assert_eq!(sub(a, a_scale, b, b_scale), pair.and_then(|(a, b)| in_range(a - b)));
        let remainder = pair.filter(|_| b != 0).map(|(a, b)| a % b);
        prop_assert_eq!(rem(a, a_scale, b, b_scale), remainder);
        let by_digits = |units: i128, scale: u8| {
            Digits::of(units.unsigned_abs()).shifted(usize::from(common - scale))
        };
        let magnitudes = by_digits(a, a_scale).compare(&by_digits(b, b_scale));
        let expected = match (a < 0, b < 0) {
            (false, false) => magnitudes,
            (true, true) => magnitudes.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        };
        prop_assert_eq!(compare(a, a_scale, b, b_scale), expected);
    }

    #[test]
    fn texts_round_trip(units in units(), scale in scale()) {
        let decimal = Decimal::new(units, scale).expect("in range");
        let parsed: Decimal = decimal.to_string().parse().expect("a decimal");
        prop_assert_eq!((parsed.units, parsed.scale), (units, scale));
        prop_assert_eq!(parse_units(&decimal.to_string(), scale), Ok(units));
    }

    #[test]
    fn doubles_of_fifteen_digits_round_trip(
        units in -(10_i64.pow(15))..10_i64.pow(15), scale in 0..=15_u8,
    ) {
        let float = to_f64(units.into(), scale);
        prop_assert_eq!(from_f64(float, scale), Some(units.into()));
        let text = Decimal::new(units.into(), scale).expect("in range").to_string();
        prop_assert_eq!(Ok(float), text.parse::<f64>());
    }

    #[test]
    fn no_text_panics(text in "[-+.e0-9]{0,60}") {
        let _parsed = text.parse::<Decimal>();
    }

    #[test]
    fn long_numbers_are_refused_or_rounded(
        whole in "[0-9]{0,45}", fraction in "[0-9]{1,45}", scale in scale(),
    ) {
        let text = format!("{whole}.{fraction}");
        let digits = Digits(format!("{whole}{fraction}").bytes().rev().map(|b| b - b'0').collect());
        let divisor = Digits::of(1).shifted(fraction.len());
        let expected = digits.trimmed().shifted(scale.into()).over(&divisor);
        prop_assert_eq!(parse_units(&text, scale).ok(), expected);
        prop_assert_eq!(text.parse::<Decimal>().is_ok(), digits_fit(&whole, &fraction));
    }

    #[test]
    fn rubbish_does_not_panic(
        a in any::<i128>(), b in any::<i128>(), a_scale in scale(), b_scale in scale(),
    ) {
        let _results = (
            (rescale(a, a_scale, b_scale), to_i64(a, a_scale), to_f64(a, a_scale)),
            (add(a, a_scale, b, b_scale), sub(a, a_scale, b, b_scale), rem(a, a_scale, b, b_scale)),
            (mul(a, a_scale, b, b_scale, b_scale), div(a, a_scale, b, b_scale, b_scale)),
            compare(a, a_scale, b, b_scale),
        );
    }
}

#[test]
fn literals() {
    let check = |text: &str, expected: Option<&str>| {
        let parsed = text.parse::<Decimal>().ok().map(|decimal| decimal.to_string());
        assert_eq!(parsed.as_deref(), expected, "{text}");
    };
    check("1.50", Some("1.50"));
    check(" -0.05 ", Some("-0.05"));
    check("1e3", Some("1000"));
    check("1.25e1", Some("12.5"));
    check("125e-4", Some("0.0125"));
    check(".5", Some("0.5"));
    check("5.", Some("5"));
    check("0000000000000000000000000000000000000000001.5", Some("1.5"));
    check("1e-40", Some("0.00000000000000000000000000000000000000"));
    check("1e37", Some("10000000000000000000000000000000000000"));
    check("1e38", None);
    check("265892510000000000000000000000000000000", None);
    check("999999999999999999999999999999999999999999", None);
    check("0e999999999", Some("0"));
    check("99999999999999999999999999999999999999.9", None);
    check(
        "9.99999999999999999999999999999999999999",
        Some("10.0000000000000000000000000000000000000"),
    );
    check("", None);
    check(".", None);
    check("1e", None);
    check("1 2", None);
    check("NaN", None);
    assert_eq!(parse_units("2.345", 2), Ok(235));
    assert_eq!(parse_units("-2.345", 2), Ok(-235));
    assert_eq!(from_f64(f64::NAN, 2), None);
    assert_eq!(from_f64(f64::INFINITY, 2), None);
    assert_eq!(from_f32(0.1, 3), Some(100));
    assert_eq!(to_i64(-25, 1), Some(-3));
}
