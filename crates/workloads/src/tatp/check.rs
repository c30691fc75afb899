//! What must hold of a mobile network's register, whatever has happened.

use std::collections::BTreeSet;

use super::{
    DELETE_CALL_FORWARDING, INSERT_CALL_FORWARDING, START_TIMES, TYPES, forwarded_at_first,
    write_number,
};
use crate::check::{Check, CheckContext, Faults, Finding};

pub(super) const CHECKS: [Check; 3] = [
    Check {
        name: "tatp-subscribers",
        about: "subscribers are numbered from 1 without gaps, and their numbers are theirs",
        run: subscribers,
    },
    Check {
        name: "tatp-forwarding",
        about: "what is forwarded is a facility's, from 0, 8 or 16 o'clock for 1 to 8 hours",
        run: forwarding,
    },
    Check {
        name: "tatp-forwarded",
        about: "as much is forwarded as at first and since then, less what was taken back",
        run: forwarded,
    },
];

fn subscribers(context: &mut dyn CheckContext) -> Finding {
    let (mut ids, mut faults, mut number) = (Vec::new(), Faults::default(), Vec::new());
    context.rows("subscriber", &["s_id", "sub_nbr"], &mut |row, heap| {
        let s_id = row[0].as_int();
        number.clear();
        write_number(s_id, &mut number);
        let told = &heap[row[1].as_range().range()];
        faults.expect(told == number, || format!("subscriber {s_id} has the number {told:?}"));
        ids.push(s_id);
    });
    ids.sort_unstable();
    for (expected, &s_id) in (1..).zip(&ids) {
        faults.expect(s_id == expected, || format!("subscriber {s_id} where {expected} should be"));
    }
    faults.finish(ids.len(), "subscribers")
}

fn forwarding(context: &mut dyn CheckContext) -> Finding {
    let (mut facilities, mut faults) = (BTreeSet::new(), Faults::default());
    context.rows("special_facility", &["s_id", "sf_type"], &mut |row, _| {
        let (s_id, sf_type) = (row[0].as_int(), row[1].as_int());
        let fits = (1..=TYPES as i64).contains(&sf_type) && facilities.insert((s_id, sf_type));
        faults.expect(fits, || format!("facility {sf_type} of subscriber {s_id}"));
    });
    let (mut rows, mut seen) = (0, BTreeSet::new());
    let columns = ["s_id", "sf_type", "start_time", "end_time"];
    context.rows("call_forwarding", &columns, &mut |row, _| {
        rows += 1;
        let [s_id, sf_type, start, end] = std::array::from_fn(|at| row[at].as_int());
        let is_there = facilities.contains(&(s_id, sf_type));
        faults.expect(is_there, || {
            format!("subscriber {s_id} forwards calls of facility {sf_type}, which is not there")
        });
        let fits = START_TIMES.contains(&start) && (1..=8).contains(&(end - start));
        faults.expect(fits, || format!("subscriber {s_id} forwards calls from {start} to {end}"));
        let is_first = seen.insert((s_id, sf_type, start));
        faults.expect(is_first, || {
            format!("subscriber {s_id} forwards facility {sf_type} twice from {start} on")
        });
    });
    faults.finish(rows, "times that calls are forwarded")
}

fn forwarded(context: &mut dyn CheckContext) -> Finding {
    let (Some(inserted), Some(deleted)) =
        (context.committed(INSERT_CALL_FORWARDING), context.committed(DELETE_CALL_FORWARDING))
    else {
        return Finding::Skipped("nobody counted what was committed");
    };
    let (mut first, mut rows) = (0, 0_u64);
    context.rows("special_facility", &["error_cntrl"], &mut |row, _| {
        first += forwarded_at_first(row[0].as_int() as u64);
    });
    context.rows("call_forwarding", &["s_id"], &mut |_, _| rows += 1);
    let mut faults = Faults::default();
    faults.expect(rows + deleted == first + inserted, || {
        format!("{rows} rows of {first} at first, {inserted} put there and {deleted} taken away")
    });
    faults.finish(rows as usize, "times that calls are forwarded")
}
