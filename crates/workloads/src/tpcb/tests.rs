//! Scaling, the 85/15 rule, reads in place of updates; each check notices what it is for.

use std::collections::BTreeMap;

use hotrow_base::datum::Datum;

use super::{MIXED, READ, TELLERS, Tpcb, TpcbParameters, UPDATE};
use crate::parameter::Parameters;
use crate::tests::{Population, calls};
use crate::workload::{Share, TransactionKind, Workload};

fn tpcb(parameters: TpcbParameters) -> Tpcb {
    parameters.validate().expect("the test's parameters go together");
    Tpcb { parameters }
}

fn tiny() -> TpcbParameters {
    TpcbParameters { branches: 3, accounts: 40, ..Default::default() }
}

/// Kind and integer arguments of each call.
fn arguments(parameters: TpcbParameters, count: usize) -> Vec<(TransactionKind, Vec<i64>)> {
    let calls = calls(&tpcb(parameters), Share::WHOLE, 9, count).into_iter();
    calls.map(|(kind, call)| (kind, call.1.iter().map(|d| d.as_int()).collect())).collect()
}

#[test]
fn the_papers_scale_is_20_branches() {
    let workload = tpcb(TpcbParameters { branches: 20, ..Default::default() });
    assert_eq!(workload.rows_expected(), 20 + 200 + 2_000_000);
}

#[test]
fn tellers_and_accounts_belong_to_branches_in_turn() {
    let population = Population::load(&tpcb(tiny()), 2, 1);
    assert_eq!(population.ints("branch", "b_id"), [1, 2, 3]);
    let tellers = population.ints("teller", "t_b_id");
    assert_eq!((tellers.len(), tellers[9], tellers[10]), (30, 1, 2));
    let accounts = population.ints("account", "a_b_id");
    assert_eq!((accounts.len(), accounts[39], accounts[40], accounts[119]), (120, 1, 2, 3));
}

#[test]
fn an_account_is_of_another_branch_in_15_percent() {
    let mut remote = 0;
    for (kind, call) in arguments(tiny(), 10_000) {
        let [account, teller, branch, delta] = call[..] else { panic!("{call:?}") };
        assert_eq!((kind, (teller - 1) / i64::from(TELLERS)), (UPDATE, branch - 1));
        assert!((1..=120).contains(&account) && (1..=3).contains(&branch));
        assert!((-999_999..=999_999).contains(&delta));
        remote += i64::from((account - 1) / 40 != branch - 1);
    }
    // Five standard deviations of 35.7.
    assert!((1_320..=1_680).contains(&remote), "{remote} of 10,000");
}

#[test]
fn one_branch_has_no_remote_accounts() {
    let one = TpcbParameters { branches: 1, remote: 100.0, ..tiny() };
    assert!(arguments(one, 100).iter().all(|(_, call)| (1..=40).contains(&call[0])));
}

#[test]
fn updates_turn_into_reads_one_by_one() {
    let half = TpcbParameters { reads: 50.0, ..tiny() };
    let mut left = BTreeMap::new();
    for (kind, call) in arguments(half, 8_000) {
        let updates = match kind {
            READ => 0,
            MIXED => call[4],
            _ => 7,
        };
        *left.entry(updates).or_insert(0) += 1;
    }
    assert_eq!(left.len(), 8, "{left:?}");
    // Five standard deviations of 29.6.
    assert!(left.values().all(|count: &i64| (850..=1_150).contains(count)), "{left:?}");
    let all = TpcbParameters { reads: 100.0, ..tiny() };
    assert!(arguments(all, 100).iter().all(|(kind, call)| *kind == READ && call.len() == 3));
}

#[test]
fn a_skew_favours_some_tellers_and_accounts() {
    let skewed = TpcbParameters { theta: 1.0, remote: 0.0, ..tiny() };
    let calls = arguments(skewed, 3_000);
    let first = calls.iter().filter(|(_, call)| call[1] == 1).count();
    let last = calls.iter().filter(|(_, call)| call[1] == 30).count();
    assert!(first > 10 * last, "teller 1 {first} times, teller 30 {last} times");
}

/// A population after one transaction of every combination of updates.
fn after_updates(masks: &[i64]) -> Population {
    let mut population = Population::load(&tpcb(tiny()), 1, 5);
    let (account, teller, branch, delta) = (0, 0, 0, 100);
    for &updates in masks {
        let mut row =
            [teller + 1, branch + 1, account + 1, delta, updates, 0].map(Datum::int).to_vec();
        row.push(Datum::range(0, 0));
        population.tables.entry("history").or_default().push((row, Vec::new()));
    }
    for (bit, table, column) in
        [(1, "account", "a_balance"), (2, "teller", "t_balance"), (4, "branch", "b_balance")]
    {
        let count = masks.iter().filter(|mask| *mask & bit != 0).count() as i64;
        population.set(table, 0, column, Datum::int(count * delta));
    }
    population
}

fn failures(mut population: Population) -> Vec<&'static str> {
    population.failures(&tpcb(tiny())).iter().map(|result| result.name).collect()
}

#[test]
fn checks_hold_after_updates_and_after_some_of_them() {
    assert_eq!(failures(after_updates(&[7, 7])), Vec::<&str>::new());
    assert_eq!(failures(after_updates(&[1, 2, 3, 4, 5, 6, 7])), Vec::<&str>::new());
}

#[test]
fn each_check_notices_a_damaged_row() {
    let damages: &[(&str, &str, i64, &[&str])] = &[
        ("account", "a_balance", 1, &["tpcb-accounts", "tpcb-sums"]),
        ("teller", "t_balance", 1, &["tpcb-tellers", "tpcb-sums"]),
        ("branch", "b_balance", 1, &["tpcb-branches", "tpcb-sums"]),
        ("teller", "t_b_id", 2, &["tpcb-sums"]),
        ("account", "a_id", 7, &["tpcb-accounts"]),
        ("history", "h_delta", 1, &["tpcb-accounts", "tpcb-tellers", "tpcb-branches", "tpcb-sums"]),
        ("history", "h_a_id", 2, &["tpcb-accounts"]),
    ];
    for &(table, column, value, expected) in damages {
        let mut population = after_updates(&[7]);
        population.set(table, 0, column, Datum::int(value));
        assert_eq!(failures(population), expected, "{table}.{column}");
    }
}

#[test]
fn a_lost_row_is_noticed() {
    for (table, expected) in [("account", "tpcb-accounts"), ("teller", "tpcb-tellers")] {
        let mut population = after_updates(&[]);
        population.tables.get_mut(table).expect("it has rows").remove(0);
        assert_eq!(failures(population), [expected]);
    }
}
