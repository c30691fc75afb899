//! ORDER BY and DISTINCT over gathered rows, in reused memory.

use std::cmp::Ordering;

use hotrow_base::datum::Datum;
use hotrow_base::sort::sort_numbers;

use super::pure::compare;
use crate::bytecode::{CompareKind, OrderCode, RowRun};
use crate::fault::Fault;
use crate::frame::Machine;

/// Sorts the row numbers in `order` by the rows' keys; equal keys keep arrival order.
pub(super) fn sort(
    order: &mut Vec<u32>,
    datums: &[Datum],
    run: RowRun,
    keys: &[OrderCode],
    machine: &Machine,
) -> Result<(), Fault> {
    let (width, heap) = (run.width(), &machine.heap[..]);
    let row = |n: u32| &datums[n as usize * width..];
    let bytes =
        |n: u32| keys.iter().zip(row(n)).map(|(key, &datum)| bytes_of(key.kind, datum)).sum();
    let compare_keys = |a: u32, b: u32| {
        let by_keys = keys.iter().zip(row(a).iter().zip(row(b))).find_map(|(key, (&a, &b))| {
            Some(compare_key(key, a, b, heap)).filter(|ordering| ordering.is_ne())
        });
        by_keys.unwrap_or(Ordering::Equal)
    };
    sort_numbers(order, bytes, compare_keys, || machine.look())
}

/// What a comparison goes over.
pub(super) fn bytes_of(kind: CompareKind, datum: Datum) -> usize {
    match kind {
        _ if datum.is_null() => size_of::<Datum>(),
        CompareKind::Bytes
        | CompareKind::Folded
        | CompareKind::AnyNumeric
        | CompareKind::Array
        | CompareKind::Row => datum.as_range().len as usize,
        _ => size_of::<Datum>(),
    }
}

fn compare_key(key: &OrderCode, a: Datum, b: Datum, heap: &[u8]) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if key.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if key.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let ordering = compare(key.kind, a, b, heap);
            if key.descending { ordering.reverse() } else { ordering }
        }
    }
}

/// Keeps the first of the rows with equal values, in arrival order.
pub(super) fn dedup(
    order: &mut Vec<u32>,
    datums: &[Datum],
    run: RowRun,
    kinds: &[CompareKind],
    machine: &Machine,
) -> Result<(), Fault> {
    let (width, heap) = (run.width(), &machine.heap[..]);
    let values = |n: u32| {
        let start = n as usize * width + run.keys as usize;
        &datums[start..start + run.values as usize]
    };
    let compare_values = |a: u32, b: u32| {
        kinds
            .iter()
            .zip(values(a).iter().zip(values(b)))
            .map(|(&kind, (&a, &b))| compare_nulls_equal(kind, a, b, heap))
            .find(|ordering| ordering.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    // 0 and -0 are equal and still not the same, and so are 1 month and 30 days, 1.0 and 1.00:
    // which one stays must not depend on arrival.
    let compare_bits = |a: u32, b: u32| {
        let mut all = kinds.iter().zip(values(a).iter().zip(values(b)));
        all.find_map(|(kind, (a, b))| {
            let ordering = match kind {
                _ if a.is_null() || b.is_null() => return None,
                CompareKind::Float => a.as_float().total_cmp(&b.as_float()),
                CompareKind::Interval => a.as_interval().cmp(&b.as_interval()),
                CompareKind::AnyNumeric
                | CompareKind::Folded
                | CompareKind::Array
                | CompareKind::Row => heap[a.as_range().range()].cmp(&heap[b.as_range().range()]),
                _ => return None,
            };
            Some(ordering).filter(|ordering| ordering.is_ne())
        })
        .unwrap_or(Ordering::Equal)
    };
    let bytes = |n: u32| {
        let sizes = kinds.iter().zip(values(n)).map(|(&kind, &datum)| bytes_of(kind, datum));
        sizes.sum()
    };
    let compare_all = |a: u32, b: u32| compare_values(a, b).then_with(|| compare_bits(a, b));
    sort_numbers(order, bytes, compare_all, || machine.look())?;
    order.dedup_by(|later, first| compare_values(*later, *first).is_eq());
    sort_numbers(order, |_| 0, |a, b| a.cmp(&b), || machine.look())
}

/// Order in which NULL equals NULL and is greatest.
pub(super) fn compare_nulls_equal(kind: CompareKind, a: Datum, b: Datum, heap: &[u8]) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (false, false) => compare(kind, a, b, heap),
        (a, b) => a.cmp(&b),
    }
}
