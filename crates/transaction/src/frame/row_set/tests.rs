//! Rows that join a loop, each once.

use hotrow_base::datum::Datum;

use super::{Machine, RowSet};
use crate::bytecode::CompareKind::{Bytes, Float, Int, Numeric};

#[test]
fn rows_join_once() {
    let machine = &mut Machine::default();
    let mut rows = RowSet { datums: vec![Datum::int(1), Datum::int(2)], ..RowSet::default() };
    rows.begin();
    rows.next = 1;
    rows.append(&[Datum::int(2), Datum::int(3), Datum::int(3)], &[Int], machine)
        .expect("there is room");
    assert_eq!(rows.datums, [1, 2, 3].map(Datum::int));
    // Rows that the loop has had do not come back.
    rows.next = 3;
    rows.append(&[Datum::int(1), Datum::NULL, Datum::int(0), Datum::NULL], &[Int], machine)
        .expect("there is room");
    assert_eq!(rows.datums[3..], [Datum::NULL, Datum::int(0)]);
    assert_eq!(rows.next, 3);
    // Another loop begins.
    rows.datums.clear();
    rows.begin();
    rows.append(&[Datum::int(3)], &[Int], machine).expect("there is room");
    assert_eq!((rows.datums.len(), rows.next), (1, 0));
}

#[test]
fn equal_values_are_one() {
    let mut rows = RowSet::default();
    let mut heap = Vec::new();
    let [a, again, b] = ["ab", "ab", "a"].map(|text| Datum::of_bytes(text.as_bytes(), &mut heap));
    let machine = &mut Machine { heap, ..Machine::default() };
    let kinds = [Float, Numeric, Bytes];
    let row = |x: f64, n: i128, text| [Datum::float(x), Datum::numeric(n), text];
    rows.append(&row(0.0, -1, a), &kinds, machine).expect("there is room");
    rows.append(&row(-0.0, -1, again), &kinds, machine).expect("there is room");
    assert_eq!(rows.datums.len(), 3);
    rows.append(&row(f64::NAN, -1, a), &kinds, machine).expect("there is room");
    rows.append(&row(-f64::NAN, -1, a), &kinds, machine).expect("there is room");
    assert_eq!(rows.datums.len(), 6);
    rows.append(&row(0.0, 1, a), &kinds, machine).expect("there is room");
    rows.append(&row(0.0, -1, b), &kinds, machine).expect("there is room");
    rows.append(&[row(0.0, -1, b)[0], Datum::NULL, b], &kinds, machine).expect("there is room");
    assert_eq!(rows.datums.len(), 15);
}
