//! Numbers of JSON, as PostgreSQL's numeric writes them: all digits, no exponent.

use super::Result;
use crate::value::{TextBuilder, ValueError};

/// Digits that a numeric of PostgreSQL has before the point, and behind it.
const WHOLE_MAX: i64 = 131_072;
const FRACTION_MAX: i64 = 16_383;

/// A number taken apart.
pub(super) struct Parts {
    pub(super) is_negative: bool,
    /// from the first that is not 0; none in a zero
    pub(super) significant: String,
    /// where the point stands in the digits, counted from the first of them
    pub(super) point: i64,
    /// digits behind the point, as it is written
    scale: i64,
}

impl Parts {
    /// Those of a number that has been checked to be one.
    pub(super) fn of(raw: &str) -> Result<Self> {
        let unsigned = raw.strip_prefix('-');
        let (is_negative, unsigned) = (unsigned.is_some(), unsigned.unwrap_or(raw));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i64 = exponent.parse().map_err(|_| ValueError::numeric_format())?;
        let exponent = exponent.clamp(-1 << 32, 1 << 32);
        let digits = [whole, fraction].concat();
        let significant = digits.trim_start_matches('0').to_owned();
        let point = significant.len() as i64 + exponent - fraction.len() as i64;
        let scale = (fraction.len() as i64 - exponent).max(0);
        Ok(Self { is_negative, significant, point, scale })
    }
}

/// Appends a number's normal form. It has been checked to be one.
pub(super) fn write_normal(raw: &str, out: &mut TextBuilder) -> Result<()> {
    let Parts { is_negative, significant, point, scale } = Parts::of(raw)?;
    if significant.is_empty() {
        if scale > FRACTION_MAX {
            return Err(ValueError::numeric_format());
        }
        out.push("0")?;
        return write_fraction("", scale, scale, out);
    }
    if point > WHOLE_MAX || scale > FRACTION_MAX {
        return Err(ValueError::numeric_format());
    }
    out.push(if is_negative { "-" } else { "" })?;
    let (before, behind) = significant.split_at(point.clamp(0, significant.len() as i64) as usize);
    match before {
        "" => out.push("0")?,
        digits => out.push(digits)?,
    }
    let zeros = point - significant.len() as i64;
    out.push(&"0".repeat(usize::try_from(zeros).unwrap_or(0)))?;
    write_fraction(behind, scale, (-point).clamp(0, scale), out)
}

/// Appends a point, zeros and digits: `scale` characters behind the point in all.
fn write_fraction(digits: &str, scale: i64, zeros: i64, out: &mut TextBuilder) -> Result<()> {
    if scale > 0 {
        out.push(".")?;
        out.push(&"0".repeat(zeros as usize))?;
        out.push(digits)?;
    }
    Ok(())
}

/// A number without the zeros at its end, which two equal ones may differ in. It is a normal form.
pub(super) fn trimmed(normal: &str) -> &str {
    match normal.contains('.') {
        true => normal.trim_end_matches('0').trim_end_matches('.'),
        false => normal,
    }
}
