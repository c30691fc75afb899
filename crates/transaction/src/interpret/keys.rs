//! Keys of accesses: from slots to memcomparable bytes, with SQL's idea of equality.
//!
//! NULL equals nothing, and a value the column's type cannot hold equals no row's value: both mean
//! that no row is looked for.

use std::ops::Bound;

use hotrow_base::any_numeric;
use hotrow_base::datum::Datum;
use hotrow_base::key::{self, KeyBuffer, KeyError, successor_of_prefix};
use hotrow_base::types::DataType;

use crate::bytecode::{Convert, KeyCode, KeyPartCode, RangeCode, RangeEndCode};
use crate::fault::Fault;
use crate::frame::{Keys, Machine, PackedBytes};
use crate::functions::cast::{Fitted, fit};

/// Encodes a key's parts. False: it matches nothing.
#[inline(always)]
pub(super) fn encode(key: &KeyCode, machine: &Machine, out: &mut KeyBuffer) -> bool {
    out.clear();
    for (i, part) in key.parts.iter().enumerate() {
        let mut datum = machine.slots[part.slot];
        if datum.is_null() {
            return false;
        }
        if let Convert::Other { from, to } = part.convert {
            match fit(datum, (from, to), &machine.heap, machine.conventions.zone) {
                Fitted::Exact(same) => datum = same,
                _ => return false,
            }
        }
        if key.layout.encode_part(i, datum, &machine.heap, out).is_err() {
            return false;
        }
    }
    true
}

/// Encodes a key with `is_packed` into `bytes`: the same as [`encode`] gives, sooner, and its hash
/// if the index wants one. `None`: it matches nothing.
#[inline(always)]
pub(crate) fn pack<'b>(
    key: &KeyCode,
    machine: &Machine,
    bytes: &'b mut PackedBytes,
) -> Option<(&'b [u8], u64)> {
    if let ([part], true) = (&key.parts[..], key.is_hashed) {
        return pack_one(part, machine, bytes);
    }
    let mut len = 0;
    for part in &key.parts {
        let ordered = ordered(part, machine)?;
        // What lies behind the part is written over.
        bytes.get_mut(len..len + 8)?.copy_from_slice(&ordered);
        len += usize::from(part.bits / 8);
    }
    let packed = bytes.get(..len)?;
    Some((packed, if key.is_hashed { key::hash(packed) } else { 0 }))
}

/// As [`pack`], of a single part, whose bytes are hashed as the word that they are.
#[inline(always)]
fn pack_one<'b>(
    part: &KeyPartCode,
    machine: &Machine,
    bytes: &'b mut PackedBytes,
) -> Option<(&'b [u8], u64)> {
    let ordered = ordered(part, machine)?;
    bytes[..8].copy_from_slice(&ordered);
    let len = usize::from(part.bits / 8);
    let hash = match len {
        // Behind its bytes there are zeros.
        4 | 8 => key::hash_word(u64::from_le_bytes(ordered), len),
        _ => key::hash(&ordered[..2]),
    };
    Some((bytes.get(..len)?, hash))
}

/// An integer's bytes in a key, at the beginning of 8: the sign flipped, the highest first.
#[inline(always)]
fn ordered(part: &KeyPartCode, machine: &Machine) -> Option<[u8; 8]> {
    let datum = machine.slots[part.slot];
    let shift = (64 - u32::from(part.bits)) & 63;
    let high = datum.as_int() << shift;
    let is_exact = high >> shift == datum.as_int();
    (is_exact && !datum.is_null()).then(|| (high as u64 ^ 1 << 63).to_be_bytes())
}

/// What a range's ends come to.
pub(super) enum Ends {
    /// nothing can lie between them
    Empty,
    /// which of the buffers bound the range
    Between { lower: BoundKind, upper: BoundKind },
}

/// How one end bounds the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BoundKind {
    Unbounded,
    Included,
    Excluded,
}

impl BoundKind {
    pub(super) fn over(self, bytes: &[u8]) -> Bound<&[u8]> {
        match self {
            Self::Unbounded => Bound::Unbounded,
            Self::Included => Bound::Included(bytes),
            Self::Excluded => Bound::Excluded(bytes),
        }
    }
}

/// Encodes both ends of a range into `keys.lower` and `keys.upper`; `keys.key` holds the prefix.
pub(super) fn encode_ends(
    range: &RangeCode,
    machine: &Machine,
    keys: &mut Keys,
) -> Result<Ends, Fault> {
    let lower = match &range.lower {
        None => lower_of_prefix(keys),
        Some(end) => match encode_end(range, end, machine, &keys.key, &mut keys.lower, true)? {
            End::Nothing => return Ok(Ends::Empty),
            End::Everything => lower_of_prefix(keys),
            End::At { inclusive: true } => BoundKind::Included,
            End::At { inclusive: false } => after(&mut keys.lower, BoundKind::Included),
        },
    };
    let upper = match &range.upper {
        None => upper_of_prefix(range, keys),
        Some(end) => match encode_end(range, end, machine, &keys.key, &mut keys.upper, false)? {
            End::Nothing => return Ok(Ends::Empty),
            End::Everything => upper_of_prefix(range, keys),
            End::At { inclusive: false } => BoundKind::Excluded,
            End::At { inclusive: true } => after(&mut keys.upper, BoundKind::Excluded),
        },
    };
    // A lower end behind the last key of all.
    if range.lower.is_some() && lower == BoundKind::Unbounded && keys.lower.is_empty() {
        return Ok(Ends::Empty);
    }
    if lower != BoundKind::Unbounded && upper != BoundKind::Unbounded && *keys.lower >= *keys.upper
    {
        return Ok(Ends::Empty);
    }
    Ok(Ends::Between { lower, upper })
}

fn lower_of_prefix(keys: &mut Keys) -> BoundKind {
    keys.lower.set(&keys.key);
    BoundKind::Included
}

/// The end behind all keys with the prefix; before the NULLs, when there is a lower end, because a
/// comparison with NULL is not true.
fn upper_of_prefix(range: &RangeCode, keys: &mut Keys) -> BoundKind {
    let stops_before_nulls =
        range.next_nullable && (range.lower.is_some() || range.upper.is_some());
    keys.upper.set(&keys.key);
    if stops_before_nulls {
        let next = range.prefix.parts.len();
        let null = range.prefix.layout.encode_part(next, Datum::NULL, &[], &mut keys.upper);
        debug_assert!(null.is_ok(), "the part is nullable");
        return BoundKind::Excluded;
    }
    after(&mut keys.upper, BoundKind::Excluded)
}

/// Replaces `key` by the successor of all keys that start with it.
fn after(key: &mut KeyBuffer, kind: BoundKind) -> BoundKind {
    let mut next = KeyBuffer::new();
    if successor_of_prefix(key, &mut next) {
        key.set(&next);
        return kind;
    }
    key.clear();
    BoundKind::Unbounded
}

enum End {
    Nothing,
    Everything,
    At { inclusive: bool },
}

/// Encodes the prefix and one end's value. A value between two of the column's type is replaced by
/// the one below it.
fn encode_end(
    range: &RangeCode,
    end: &RangeEndCode,
    machine: &Machine,
    prefix: &KeyBuffer,
    out: &mut KeyBuffer,
    is_lower: bool,
) -> Result<End, Fault> {
    let KeyPartCode { slot, convert, .. } = end.part;
    let mut datum = machine.slots[slot];
    if datum.is_null() {
        return Ok(End::Nothing);
    }
    let mut inclusive = end.inclusive;
    if let Convert::Other { from, to } = convert {
        match fit(datum, (from, to), &machine.heap, machine.conventions.zone) {
            Fitted::Exact(same) => datum = same,
            Fitted::Below(next) => {
                datum = next;
                inclusive = !is_lower;
            }
            Fitted::AboveAll => return Ok(if is_lower { End::Nothing } else { End::Everything }),
            Fitted::BelowAll => return Ok(if is_lower { End::Everything } else { End::Nothing }),
        }
    }
    let part = range.prefix.parts.len();
    out.set(prefix);
    match range.prefix.layout.encode_part(part, datum, &machine.heap, out) {
        Ok(()) => Ok(End::At { inclusive }),
        Err(KeyError::OutOfRange { .. }) => {
            let data_type = range.prefix.layout.parts()[part].data_type;
            beyond_type(data_type, datum, machine, is_lower, (range, prefix, out))
        }
        Err(_) => Err(Fault::new(b"54000", "a range's end is longer than any key may be")),
    }
}

/// An end that the column's type cannot hold: above or below all its values, or, for char(n), a
/// longer text, which lies just behind its first n bytes.
fn beyond_type(
    data_type: DataType,
    datum: Datum,
    machine: &Machine,
    is_lower: bool,
    (range, prefix, out): (&RangeCode, &KeyBuffer, &mut KeyBuffer),
) -> Result<End, Fault> {
    let above = match data_type {
        DataType::Char(n) => {
            let bytes = datum.as_range();
            let cut = Datum::range(bytes.start, bytes.len.min(n));
            out.set(prefix);
            let part = range.prefix.parts.len();
            let encoded = range.prefix.layout.encode_part(part, cut, &machine.heap, out);
            debug_assert!(encoded.is_ok(), "n bytes fit char(n)");
            return Ok(End::At { inclusive: !is_lower });
        }
        DataType::Numeric { .. } => datum.as_numeric() > 0,
        of if of.is_any_numeric() => {
            any_numeric::read(&machine.heap[datum.as_range().range()]).sign().is_gt()
        }
        _ => datum.as_int() > 0,
    };
    Ok(if above == is_lower { End::Nothing } else { End::Everything })
}
