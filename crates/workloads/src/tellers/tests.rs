//! Ranges at keys and between them; updates in key order; the check notices a lost update.

use hotrow_base::datum::Datum;

use super::{Mix, Tellers, TellersParameters};
use crate::parameter::Parameters;
use crate::tests::{Call, Population, calls};
use crate::workload::{Share, Workload};

fn tellers(parameters: TellersParameters) -> Tellers {
    parameters.validate().expect("the test's parameters go together");
    Tellers { parameters }
}

/// The arrays of each call.
fn arrays(parameters: TellersParameters, count: usize) -> Vec<Vec<Vec<i64>>> {
    let arrays = if parameters.mix == Mix::Search { 2 } else { 1 };
    let array = |call: &Call, at: usize| -> Vec<i64> {
        call.2[call.1[at].as_range().range()].iter().map(|datum| datum.as_int()).collect()
    };
    let calls = calls(&tellers(parameters), Share::WHOLE, 3, count).into_iter();
    calls.map(|(_, call)| (0..arrays).map(|at| array(&call, at)).collect()).collect()
}

#[test]
fn ranges_start_and_end_at_keys_or_between_them() {
    for (existing, at_keys) in [(100.0, 4_000), (0.0, 0), (50.0, 2_000)] {
        let parameters = TellersParameters { tellers: 30, existing, ..Default::default() };
        let mut found = 0_i64;
        for call in arrays(parameters, 1_000) {
            assert_eq!((call[0].len(), call[1].len()), (4, 4));
            for (&from, &to) in call[0].iter().zip(&call[1]) {
                let keys = (1..=30).filter(|key| (from..=to).contains(&(key * 10))).count();
                assert!((1..=10).contains(&keys), "{from} to {to}");
                assert!((from % 10, to % 10) == (0, 0) || (from % 10, to % 10) == (5, 5));
                found += i64::from(from % 10 == 0);
            }
        }
        // Five standard deviations of 31.6.
        assert!((found - at_keys).abs() <= 158, "{found} of 4,000 at {existing} %");
    }
}

#[test]
fn updates_ascend() {
    let parameters =
        TellersParameters { tellers: 6, mix: Mix::Update, span: 1, ..Default::default() };
    for call in arrays(parameters, 500) {
        let keys = &call[0];
        assert!(keys.len() == 5 && keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
        assert!(keys.iter().all(|key| key % 10 == 0 && (10..=60).contains(key)));
    }
}

#[test]
fn only_the_called_procedure_is_registered() {
    let search = tellers(TellersParameters::default());
    let update = tellers(TellersParameters { mix: Mix::Update, ..Default::default() });
    assert!(!search.procedures_sql().contains("tellers_update"));
    assert!(!update.procedures_sql().contains("tellers_search"));
}

#[test]
fn a_lost_update_is_noticed() {
    let workload = tellers(TellersParameters::default());
    let mut population = Population::load(&workload, 1, 5);
    population.set("teller", 0, "t_balance", Datum::int(4));
    population.tally = Some(4);
    assert_eq!(population.failures(&workload), []);
    population.tally = Some(5);
    assert_eq!(population.failures(&workload).len(), 1);
}
