//! numeric in binary: groups of four decimal digits.
//!
//! Source       PostgreSQL 15, numeric_send and numeric_recv: digits in base 10,000, the weight of
//!              the first one, sign, and the number of decimal digits behind the point

use hotrow_base::any_numeric::{AnyNumeric, SCALE_MAX, WHOLE_DIGITS_MAX};

use super::Buffer;

const POSITIVE: u16 = 0;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITE: u16 = 0xD000;
const NEGATIVE_INFINITE: u16 = 0xF000;

/// Appends a number's binary form.
pub(super) fn write(number: &AnyNumeric, out: &mut impl Buffer) {
    let mut head = |groups: usize, weight: i32, sign: u16| {
        out.put_slice(&(groups as u16).to_be_bytes());
        out.put_slice(&(weight as i16).to_be_bytes());
        out.put_slice(&sign.to_be_bytes());
        out.put_slice(&number.scale().to_be_bytes());
    };
    match number {
        AnyNumeric::NaN => return head(0, 0, NAN),
        AnyNumeric::Infinite { negative: false } => return head(0, 0, INFINITE),
        AnyNumeric::Infinite { negative: true } => return head(0, 0, NEGATIVE_INFINITE),
        AnyNumeric::Short(_) | AnyNumeric::Long(_) => {}
    }
    let text = number.to_string();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (NEGATIVE, digits),
        None => (POSITIVE, text.as_str()),
    };
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    // Groups begin at the point: the first one may be short, the last one is filled with zeros.
    let first = whole.len() % 4;
    let mut groups = Vec::with_capacity(digits.len() / 4 + 2);
    let group = |digits: &[u8]| {
        let filled = digits.iter().copied().chain(std::iter::repeat(b'0')).take(4);
        filled.fold(0, |group, digit| group * 10 + u16::from(digit - b'0'))
    };
    if first > 0 {
        let number = whole.as_bytes()[..first].iter();
        groups.push(number.fold(0, |group, digit| group * 10 + u16::from(digit - b'0')));
    }
    groups.extend(whole.as_bytes()[first..].chunks(4).map(group));
    let weight = groups.len() as i32 - 1;
    groups.extend(behind.as_bytes().chunks(4).map(group));
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let leading = groups.iter().take_while(|&&group| group == 0).count();
    let weight = if groups.is_empty() { 0 } else { weight - leading as i32 };
    head(groups.len() - leading, weight, sign);
    groups[leading..].iter().for_each(|group| out.put_slice(&group.to_be_bytes()));
}

/// Reads a number's binary form as text, which is then read as a numeric of any type is; none if
/// it is no number.
pub(super) fn read(bytes: &[u8]) -> Option<String> {
    let (head, digits) = bytes.split_first_chunk::<8>()?;
    let field = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign, scale) =
        (usize::from(field(0)), i32::from(field(2) as i16), field(4), field(6));
    match sign {
        NAN => return Some("NaN".to_owned()),
        INFINITE => return Some("Infinity".to_owned()),
        NEGATIVE_INFINITE => return Some("-Infinity".to_owned()),
        POSITIVE | NEGATIVE => {}
        _ => return None,
    }
    let groups: Vec<u16> =
        digits.as_chunks::<2>().0.iter().map(|group| u16::from_be_bytes(*group)).collect();
    if digits.len() != count * 2 || scale > SCALE_MAX || groups.iter().any(|group| *group > 9_999) {
        return None;
    }
    // No number has more, wherever it begins.
    if weight > (WHOLE_DIGITS_MAX / 4) as i32 || weight < -i32::from(SCALE_MAX / 4) - 1 {
        return None;
    }
    let group = |at: i32| usize::try_from(at).ok().and_then(|at| groups.get(at)).unwrap_or(&0);
    let mut text = String::new();
    if sign == NEGATIVE {
        text.push('-');
    }
    text.push('0');
    for at in 0..=weight.max(-1) {
        text.push_str(&format!("{:04}", group(at)));
    }
    let scale = usize::from(scale);
    if scale > 0 {
        text.push('.');
        let start = text.len();
        // The group that stands behind the point; before the first one are zeros.
        for at in (weight + 1..).take(scale.div_ceil(4)) {
            text.push_str(&format!("{:04}", group(at)));
        }
        text.truncate(start + scale);
    }
    Some(text)
}
