//! The calls against clauses 2.1.6 and 2.4.1 to 2.8.1.

use super::nurand::{C_LOAD_LAST, Constants, last_name_number, nurand};
use super::{Mix, NEW_ORDER, PAYMENT, Tpcc, TpccParameters};
use crate::random::stream;
use crate::tests::{Call, calls};
use crate::workload::{Share, TransactionKind, Workload};

const CALLS: usize = 20_000;

fn tpcc(warehouses: u32, mix: Mix) -> Tpcc {
    Tpcc { parameters: TpccParameters { warehouses, mix, ..Default::default() } }
}

fn of_kind(workload: &Tpcc, kind: TransactionKind) -> Vec<Call> {
    let all = calls(workload, Share::WHOLE, 3, CALLS).into_iter();
    all.filter(|(k, _)| *k == kind).map(|(_, call)| call).collect()
}

/// The integers of array argument `at`.
fn array(call: &Call, at: usize) -> Vec<i64> {
    call.2[call.1[at].as_range().range()].iter().map(|d| d.as_int()).collect()
}

fn about(share: f64, expected: f64) {
    let sigma = (expected * (1.0 - expected) / CALLS as f64).sqrt();
    assert!((share - expected).abs() < 5.0 * sigma, "{share} is not about {expected}");
}

fn share<T>(all: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    all.iter().filter(|t| holds(t)).count() as f64 / all.len() as f64
}

#[test]
fn nurand_stays_in_range_and_is_not_uniform() {
    let mut rng = stream(1, 1, 1);
    for (a, c, x, y) in [(255, 7, 0, 999), (1_023, 1_000, 1, 3_000), (8_191, 0, 1, 100_000)] {
        let mut counts = vec![0_u32; y as usize + 1];
        for _ in 0..200_000 {
            counts[nurand(&mut rng, a, c, x, y) as usize] += 1;
        }
        assert!(counts[..x as usize].iter().all(|&n| n == 0));
        let mean = 200_000.0 / f64::from(y - x + 1);
        let most = f64::from(counts.iter().copied().max().unwrap_or(0));
        assert!(most > 5.0 * mean, "A = {a}: {most} against a mean of {mean}");
    }
}

#[test]
fn the_run_s_constant_keeps_its_distance_from_the_load_s() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..2_000 {
        let constants = Constants::of_run(seed);
        let delta = constants.last.abs_diff(C_LOAD_LAST);
        assert!((65..=119).contains(&delta) && delta != 96 && delta != 112);
        assert!(constants.last <= 255 && constants.customer <= 1_023 && constants.item <= 8_191);
        seen.insert(constants.last);
    }
    assert!(seen.len() > 30);
}

#[test]
fn drawn_last_names_exist_in_small_districts() {
    let mut rng = stream(1, 1, 1);
    for customers in [10, 30, 999, 1_000, 3_000] {
        for _ in 0..1_000 {
            assert!(last_name_number(&mut rng, 200, customers) < customers.min(1_000));
        }
    }
}

#[test]
fn new_orders_have_their_lines() {
    let orders = of_kind(&tpcc(4, Mix::NewOrder), NEW_ORDER);
    let mut lengths = [0_u32; 16];
    for order in &orders {
        let [items, supply, quantities] = [3, 4, 5].map(|at| array(order, at));
        assert!(items.len() == supply.len() && items.len() == quantities.len());
        lengths[items.len()] += 1;
        assert!((1..=4).contains(&order.1[0].as_int()));
        assert!((1..=10).contains(&order.1[1].as_int()));
        assert!((1..=3_000).contains(&order.1[2].as_int()));
        assert!(items.iter().all(|i| (1..=100_001).contains(i)));
        assert!(supply.iter().all(|w| (1..=4).contains(w)));
        assert!(quantities.iter().all(|q| (1..=10).contains(q)));
        let unused = items.iter().position(|&i| i == 100_001);
        assert!(unused.is_none_or(|at| at == items.len() - 1), "only the last item is unused");
    }
    assert!(lengths[5..].iter().all(|&n| n > 0) && lengths[..5].iter().all(|&n| n == 0));
    about(share(&orders, |o| array(o, 3).contains(&100_001)), 0.01);
    // Ten lines on average, each remote with 1 %: the mean over 5 to 15 lines of 1 - 0.99^n.
    let expected = (5..=15).map(|n| 1.0 - 0.99_f64.powi(n)).sum::<f64>() / 11.0;
    about(share(&orders, |o| array(o, 4).iter().any(|&w| w != o.1[0].as_int())), expected);
}

#[test]
fn payments_go_abroad_and_by_name_as_often_as_asked() {
    let payments = of_kind(&tpcc(4, Mix::Payment), PAYMENT);
    about(share(&payments, |p| p.1[0] != p.1[2]), 0.15);
    about(share(&payments, |p| p.1[4].is_null()), 0.6);
    for payment in &payments {
        assert_ne!(payment.1[4].is_null(), payment.1[5].is_null(), "number or name, not both");
        assert!((100..=500_000).contains(&payment.1[6].as_numeric()));
        assert!(payment.1[0] != payment.1[2] || payment.1[1] == payment.1[3]);
    }
}

#[test]
fn one_warehouse_has_no_remote_transactions() {
    let payments = of_kind(&tpcc(1, Mix::Payment), PAYMENT);
    assert!(payments.iter().all(|p| p.1[0] == p.1[2] && p.1[1] == p.1[3]));
    let orders = of_kind(&tpcc(1, Mix::NewOrder), NEW_ORDER);
    assert!(orders.iter().all(|o| array(o, 4).iter().all(|&w| w == 1)));
}

#[test]
fn remote_percentages_can_be_set() {
    let mut workload = tpcc(4, Mix::NewOrderPayment);
    for (name, text) in [("remote-lines", "100"), ("remote-payments", "0"), ("by-name", "0")] {
        workload.parameters_mut().set(name, text).expect("a legal setting");
    }
    let orders = of_kind(&workload, NEW_ORDER);
    assert!(orders.iter().all(|o| array(o, 4).iter().all(|&w| w != o.1[0].as_int())));
    let payments = of_kind(&workload, PAYMENT);
    assert!(payments.iter().all(|p| p.1[0] == p.1[2] && !p.1[4].is_null()));
    about(payments.len() as f64 / CALLS as f64, 0.5);
}

#[test]
fn workers_at_home_keep_to_their_warehouses() {
    let parameters = TpccParameters { warehouses: 5, home: true, ..Default::default() };
    let workload = Tpcc { parameters };
    for (of, expected) in [(2, vec![vec![1, 2], vec![3, 4, 5]]), (10, vec![vec![1], vec![2]])] {
        for (index, expected) in expected.into_iter().enumerate() {
            let worker = Share { index: index as u32, of };
            let all = calls(&workload, worker, 3, 2_000);
            let mut homes: Vec<_> = all.iter().map(|(_, call)| call.1[0].as_int()).collect();
            homes.sort_unstable();
            homes.dedup();
            assert_eq!(homes, expected, "worker {index} of {of}");
        }
    }
}
