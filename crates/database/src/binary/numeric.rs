//! numeric in binary: groups of four decimal digits.
//!
//! Source       PostgreSQL 15, numeric_send and numeric_recv: digits in base 10,000, the weight of
//!              the first one, sign, and the number of decimal digits behind the point

use hotrow_base::decimal::Decimal;

use super::Buffer;

const POSITIVE: u16 = 0;
const NEGATIVE: u16 = 0x4000;
/// Digits of a number of ours: 38 in all.
const GROUPS_MAX: usize = 20;

/// Appends a number's binary form.
pub(super) fn write(number: Decimal, out: &mut impl Buffer) {
    let scale = u32::from(number.scale());
    let units = number.units();
    // Groups begin at the point, so the part behind it is filled up to whole groups.
    let behind = scale.div_ceil(4);
    let mut rest = units.unsigned_abs();
    let mut groups = Vec::with_capacity(GROUPS_MAX);
    let last = scale % 4;
    if last > 0 {
        let power = 10_u128.pow(last);
        groups.push((rest % power * 10_u128.pow(4 - last)) as u16);
        rest /= power;
    }
    while rest > 0 {
        groups.push((rest % 10_000) as u16);
        rest /= 10_000;
    }
    let weight = groups.len() as i32 - behind as i32 - 1;
    groups.reverse();
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let leading = groups.iter().take_while(|&&group| group == 0).count();
    groups.drain(..leading);
    let weight = if groups.is_empty() { 0 } else { weight - leading as i32 };
    let sign = if units < 0 { NEGATIVE } else { POSITIVE };
    out.put_slice(&(groups.len() as u16).to_be_bytes());
    out.put_slice(&(weight as i16).to_be_bytes());
    out.put_slice(&sign.to_be_bytes());
    out.put_slice(&(scale as u16).to_be_bytes());
    groups.iter().for_each(|group| out.put_slice(&group.to_be_bytes()));
}

/// Reads a number's binary form as text, which is then read as a numeric of any type is; none if
/// it is no number.
pub(super) fn read(bytes: &[u8]) -> Option<String> {
    let (head, digits) = bytes.split_first_chunk::<8>()?;
    let field = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign, scale) =
        (usize::from(field(0)), i32::from(field(2) as i16), field(4), usize::from(field(6)));
    if digits.len() != count * 2 || !matches!(sign, POSITIVE | NEGATIVE) || count > GROUPS_MAX {
        return None;
    }
    // Longer ones do not fit any numeric of ours.
    if !(-20..=20).contains(&weight) || scale > 80 {
        return None;
    }
    let group = |at: i32| {
        let at = usize::try_from(at).ok()?;
        let bytes = digits.get(at * 2..at * 2 + 2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let mut text = String::new();
    if sign == NEGATIVE {
        text.push('-');
    }
    text.push('0');
    for at in 0..=weight.max(-1) {
        text.push_str(&format!("{:04}", group(at).unwrap_or(0)));
    }
    if scale > 0 {
        text.push('.');
        let start = text.len();
        let mut at = weight + 1;
        // A weight below -1: groups of zeros between the point and the first one.
        for _ in at..0 {
            text.push_str("0000");
        }
        at = at.max(0);
        while text.len() - start < scale {
            text.push_str(&format!("{:04}", group(at).unwrap_or(0)));
            at += 1;
        }
        text.truncate(start + scale);
    }
    if (0..count as i32).any(|at| group(at).is_some_and(|group| group > 9_999)) {
        return None;
    }
    Some(text)
}
