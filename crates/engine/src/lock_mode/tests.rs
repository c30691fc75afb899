//! The tables against what modes mean, and against the papers' own tables.

use super::Mode::{IS, IX, NS, NX, S, SIX, SN, SX, UN, X, XN, XS};
use super::*;

/// Keys and gaps, three of each, under one coarse lock.
const THINGS: usize = 6;

/// What a holder of a coarse lock may read and write below it, with whatever finer locks it may
/// take; and what it reads and writes without any.
struct Reach {
    read: [bool; THINGS],
    written: [bool; THINGS],
    read_below: bool,
    written_below: bool,
}

/// A key-range lock stands for the first key and the first gap; any other for all of them.
fn reach(mode: Mode, is_range: bool) -> Reach {
    let Parts { key, gap, below } = mode.parts();
    let mut reach = Reach {
        read: [false; THINGS],
        written: [false; THINGS],
        read_below: below != Strength::None,
        written_below: below == Strength::Exclusive,
    };
    for thing in 0..if is_range { 2 } else { THINGS } {
        let strength = if thing % 2 == 0 { key } else { gap };
        reach.read[thing] = strength != Strength::None;
        reach.written[thing] = strength == Strength::Exclusive;
    }
    reach
}

/// Whether what one may do is out of the way of what the other may do: nobody writes what the other
/// reads or writes, unless finer locks of both tell them apart.
fn disjoint(one: &Reach, other: &Reach) -> bool {
    let apart = |a: &Reach, b: &Reach| {
        (0..THINGS).all(|thing| {
            !(a.written[thing] && (b.read[thing] || b.read_below))
                && !(a.written_below && b.read[thing])
        })
    };
    apart(one, other) && apart(other, one)
}

const RANGE_MODES: [Mode; 8] = [S, X, NS, NX, SN, SX, XN, XS];
const COARSE_MODES: [Mode; 5] = [IS, IX, SIX, S, X];

#[test]
fn modes_go_together_iff_what_they_protect_does() {
    for (modes, is_range) in [(&RANGE_MODES[..], true), (&COARSE_MODES[..], false)] {
        for &one in modes {
            for &other in modes {
                let expected = disjoint(&reach(one, is_range), &reach(other, is_range));
                assert_eq!(one.compatible(other), expected, "{one:?} {other:?}");
            }
        }
    }
}

#[test]
fn key_range_modes_are_those_of_the_paper() {
    // locking.txt, table 2, without the row and the column of N.
    let columns = [S, X, NS, NX, SN, SX, XN, XS];
    let rows = [
        (S, "+-+-+---"),
        (X, "--------"),
        (NS, "+-+-+-++"),
        (NX, "----+-+-"),
        (SN, "+-++++--"),
        (SX, "----+---"),
        (XN, "--++----"),
        (XS, "--+-----"),
    ];
    check(&columns, &rows);
}

#[test]
fn one_of_those_who_read_may_write_next() {
    let together = [S, NS, NX, SN, SX, IS];
    for mode in Mode::ALL {
        assert_eq!(UN.compatible(mode), together.contains(&mode), "{mode:?}");
    }
    assert_eq!([UN.join(SN), UN.join(XN), UN.join(NS)], [UN, XN, XS]);
    assert!(UN.covers(SN) && !UN.covers(XN) && !UN.is_exclusive() && !UN.is_intent());
}

#[test]
fn coarse_modes_are_those_of_the_paper() {
    // locking.txt, table 4.
    let columns = [S, X, IS, IX, SIX];
    let rows = [(S, "+-+--"), (X, "-----"), (IS, "+-+++"), (IX, "--++-"), (SIX, "--+--")];
    check(&columns, &rows);
}

fn check(columns: &[Mode], rows: &[(Mode, &str)]) {
    for (row, marks) in rows {
        for (column, mark) in columns.iter().zip(marks.chars()) {
            assert_eq!(row.compatible(*column), mark == '+', "{row:?} {column:?}");
        }
    }
}

#[test]
fn a_join_is_the_weakest_mode_that_grants_both() {
    for one in Mode::ALL {
        for other in Mode::ALL {
            let both = one.join(other);
            assert_eq!(both, other.join(one));
            assert!(both.covers(one) && both.covers(other));
            for third in Mode::ALL {
                let excluded = !one.compatible(third) || !other.compatible(third);
                assert!(!excluded || !both.compatible(third), "{one:?}+{other:?} let {third:?} in");
                let alike = third.covers(one) && third.covers(other);
                assert!(!alike || third.covers(both), "{third:?} is weaker than {both:?}");
            }
        }
    }
    assert_eq!([S.join(IX), SN.join(NS), XN.join(NS), SIX.join(IS)], [SIX, S, XS, SIX]);
}

#[test]
fn plans_modes_mean_the_same_here() {
    for one in LockMode::ALL {
        for other in LockMode::ALL {
            let (a, b) = (Mode::from(one), Mode::from(other));
            assert_eq!(one.compatible(other), a.compatible(b));
            assert_eq!(one.covers(other), a.covers(b), "{one:?} {other:?}");
            assert_eq!(one.name(), a.name());
        }
    }
}

#[test]
fn parts_give_back_their_mode() {
    for mode in RANGE_MODES {
        let Parts { key, gap, .. } = mode.parts();
        assert_eq!(Mode::of_range(key, gap), Some(mode));
    }
    assert_eq!(Mode::of_range(Strength::None, Strength::None), None);
}
