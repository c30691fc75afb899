//! Ranges in binary.
//!
//! ```text
//! byte 0     | 1: empty, 2: the lower bound lies in it, 4: the upper one does, 8: there is no
//!            | lower bound, 16: no upper one
//! then       | those bounds that are there, each behind its length in 4 bytes
//! ```

use hotrow_base::range::{Bound, Range};
use hotrow_base::types::{RangeKind, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use super::{Buffer, incorrect, read as read_value, write_with_length};

const EMPTY: u8 = 1;
const LOWER_INCLUSIVE: u8 = 2;
const UPPER_INCLUSIVE: u8 = 4;
const NO_LOWER: u8 = 8;
const NO_UPPER: u8 = 16;

/// Appends a range.
pub(super) fn write(range: &Range, out: &mut impl Buffer) {
    let Some([lower, upper]) = range.bounds() else { return out.put_u8(EMPTY) };
    let flag = |bound: &Bound, inclusive, none| match (&bound.value, bound.inclusive) {
        (None, _) => none,
        (Some(_), true) => inclusive,
        (Some(_), false) => 0,
    };
    out.put_u8(flag(lower, LOWER_INCLUSIVE, NO_LOWER) | flag(upper, UPPER_INCLUSIVE, NO_UPPER));
    for value in [lower, upper].into_iter().filter_map(|bound| bound.value.as_ref()) {
        write_with_length(value, range.kind().element(), out);
    }
}

/// Reads a range.
///
/// # Errors
///
/// 22P03 and the like: it is none. 22000: its bounds are not in order.
pub(super) fn read(bytes: &[u8], kind: RangeKind) -> Result<Value, SqlError> {
    let (flags, mut rest) = bytes.split_first().ok_or_else(incorrect)?;
    let has = |flag: u8| flags & flag != 0;
    let mut bound = |none, inclusive| {
        if has(EMPTY) || has(none) {
            return Ok(Bound::default());
        }
        let (length, behind) = rest.split_first_chunk::<4>().ok_or_else(incorrect)?;
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| incorrect())?;
        let (value, behind) = behind.split_at_checked(length).ok_or_else(incorrect)?;
        rest = behind;
        let value = Some(read_value(value, SqlType::Scalar(kind.element()))?);
        Ok::<_, SqlError>(Bound { value, inclusive: has(inclusive) })
    };
    let (lower, upper) = (bound(NO_LOWER, LOWER_INCLUSIVE)?, bound(NO_UPPER, UPPER_INCLUSIVE)?);
    if !rest.is_empty() {
        return Err(incorrect());
    }
    let range = if has(EMPTY) { Range::empty(kind) } else { Range::new(kind, lower, upper)? };
    Ok(range.into())
}
