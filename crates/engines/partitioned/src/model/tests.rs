//! The model's figures on the paper's costs, and its behaviour on others.

use super::ModelScheme::{Blocking, LocalSpeculation, Locking, MultiPartitionSpeculation};
use super::{Costs, ModelScheme, break_even, idle_filled_until, throughput};

/// Costs of other machines: a network that never stalls, one that hardly does, a slow one.
const OTHERS: [Costs; 3] = [
    Costs { multi_us: 60.0, ..Costs::PAPER },
    Costs { multi_us: 115.0, ..Costs::PAPER },
    Costs { multi_us: 5_000.0, ..Costs::PAPER },
];

#[test]
fn the_paper_s_costs_give_its_figure() {
    // Partitions: figure 10's curves at shares 0, 0.1, 0.5 and 1, by the equations of section 6.
    let figures = [
        (Blocking, [31_250, 20_040, 8_230, 4_739]),
        (LocalSpeculation, [31_250, 28_133, 12_821, 6_410]),
        (MultiPartitionSpeculation, [31_250, 28_133, 21_858, 18_182]),
        (Locking, [24_203, 23_035, 19_309, 16_062]),
    ];
    for (scheme, expected) in figures {
        for (share, expected) in [0.0, 0.1, 0.5, 1.0].into_iter().zip(expected) {
            let got = throughput(scheme, &Costs::PAPER, share);
            assert!((got - f64::from(expected)).abs() <= 1.0, "{scheme:?} at {share}: {got}");
        }
    }
}

#[test]
fn blocking_is_the_equation_of_section_6_1() {
    for share in [0.0, 0.07, 0.3, 0.99, 1.0] {
        let seconds = (2.0 * share * 211.0 + (1.0 - share) * 64.0) / 1e6;
        let got = throughput(Blocking, &Costs::PAPER, share);
        assert!((got * seconds / 2.0 - 1.0).abs() < 1e-12, "{share}: {got}");
    }
}

#[test]
fn shares_outside_are_taken_as_the_nearest_inside() {
    for scheme in ModelScheme::ALL {
        let at = |share| throughput(scheme, &Costs::PAPER, share);
        assert_eq!((at(-0.5), at(f64::NEG_INFINITY)), (at(0.0), at(0.0)));
        assert_eq!((at(1.5), at(f64::INFINITY)), (at(1.0), at(1.0)));
        assert!(at(f64::NAN).is_nan());
    }
}

#[test]
fn more_multi_partition_transactions_are_never_faster() {
    for costs in OTHERS.into_iter().chain([Costs::PAPER]) {
        for scheme in ModelScheme::ALL {
            let curve: Vec<_> = (0..=1_000)
                .map(|thousandth| throughput(scheme, &costs, f64::from(thousandth) / 1e3))
                .collect();
            assert!(curve.iter().all(|rate| rate.is_finite() && *rate > 0.0));
            // What rounds differently is no gain.
            let falls = |pair: &[f64]| pair[1] <= pair[0] * (1.0 + 1e-12);
            assert!(curve.windows(2).all(falls), "{scheme:?} {costs:?}");
        }
    }
}

#[test]
fn speculation_of_more_is_never_slower() {
    for costs in OTHERS.into_iter().chain([Costs::PAPER]) {
        for thousandth in 0..=1_000 {
            let at = |scheme| throughput(scheme, &costs, f64::from(thousandth) / 1e3);
            let [blocking, local, multi] =
                [Blocking, LocalSpeculation, MultiPartitionSpeculation].map(at);
            assert!(multi >= local * (1.0 - 1e-12), "{thousandth} {costs:?}: {multi} {local}");
            assert!(local >= blocking * (1.0 - 1e-12), "{thousandth} {costs:?}");
        }
    }
}

#[test]
fn without_idle_time_there_is_nothing_to_hide() {
    // The work takes longer than the stall: processors are busy all the time, and both kinds of
    // speculation do what they do.
    let [busy, ..] = OTHERS;
    assert_eq!(idle_filled_until(&busy), 1.0);
    for share in [0.0, 0.2, 0.9, 1.0] {
        let at = |scheme| throughput(scheme, &busy, share);
        assert_eq!(at(LocalSpeculation), at(MultiPartitionSpeculation));
        let seconds = (2.0 * share * 55.0 + (1.0 - share) * 64.0) / 1e6;
        assert!((at(LocalSpeculation) * seconds / 2.0 - 1.0).abs() < 1e-12);
    }
}

#[test]
fn local_speculation_falls_steeply_where_idle_time_is_not_filled() {
    // t_spS / (t_spS + 2 t_mpI) = 73 / (73 + 2 * 101).
    let knee = idle_filled_until(&Costs::PAPER);
    assert!((knee - 73.0 / 275.0).abs() < 1e-12, "{knee}");
    let local = |share| throughput(LocalSpeculation, &Costs::PAPER, share);
    let multi = |share| throughput(MultiPartitionSpeculation, &Costs::PAPER, share);
    assert!((local(knee) - multi(knee)).abs() < 1e-6, "up to here both hide all they can");
    assert!(local(knee + 0.05) < multi(knee + 0.05) - 1_000.0);
}

#[test]
fn break_even_shares_are_where_the_curves_cross() {
    let at = |one, other| break_even(one, other, &Costs::PAPER);
    // 5.1 measures 6 %.
    let blocking = at(Blocking, Locking).expect("the curves cross");
    assert!((blocking - 0.059).abs() < 0.000_5, "{blocking}");
    let local = at(LocalSpeculation, Locking).expect("the curves cross");
    assert!((local - 0.306).abs() < 0.000_5, "{local}");
    for (scheme, share) in [(Blocking, blocking), (LocalSpeculation, local)] {
        let [one, other] = [scheme, Locking].map(|it| throughput(it, &Costs::PAPER, share));
        assert!((one - other).abs() < 1e-6, "{scheme:?}: {one} {other}");
    }
    assert_eq!(at(MultiPartitionSpeculation, Locking), None, "it is ahead everywhere");
    assert_eq!(at(Locking, Blocking), None, "it begins behind");
    assert_eq!(at(Blocking, LocalSpeculation), None, "they begin alike");
}
