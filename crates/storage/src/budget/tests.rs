use super::*;

#[test]
fn charges_up_to_the_limit_and_names_what_was_wanted() {
    let budget = MemoryBudget::new(100);
    budget.try_charge(MemoryKind::Records, 60).expect("60 of 100 fit");
    budget.try_charge(MemoryKind::Indexes, 40).expect("100 of 100 fit");
    let refused = budget.try_charge(MemoryKind::Records, 1);
    assert_eq!(refused, Err(OutOfMemoryBudget { used: 100, limit: 100, wanted: 1 }));
    assert_eq!(budget.used_by(MemoryKind::Records), 60);
    assert_eq!(budget.used_by(MemoryKind::Indexes), 40);
    budget.release(MemoryKind::Indexes, 40);
    budget.try_charge(MemoryKind::Records, 1).expect("room was given back");
    assert_eq!(budget.used(), 61);
}

#[test]
fn a_charge_that_would_overflow_is_refused() {
    let budget = MemoryBudget::unlimited();
    budget.try_charge(MemoryKind::Records, u64::MAX).expect("the limit itself fits");
    assert!(budget.try_charge(MemoryKind::Records, 1).is_err());
}

#[test]
fn threads_together_never_pass_the_limit() {
    let budget = MemoryBudget::new(1_000);
    let charged: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    (0..1_000).filter(|_| budget.try_charge(MemoryKind::Records, 1).is_ok()).count()
                        as u64
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no charge panics")).sum()
    });
    assert_eq!((charged, budget.used()), (1_000, 1_000));
}

#[test]
fn a_suspended_limit_refuses_nothing_and_holds_again_afterwards() {
    let budget = MemoryBudget::new(100);
    {
        let _all = budget.suspend_limit();
        budget.try_charge(MemoryKind::Records, 150).expect("no limit holds");
    }
    assert_eq!((budget.used(), budget.excess()), (150, 50));
    assert!(budget.try_charge(MemoryKind::Records, 1).is_err(), "it is above the limit");
    budget.release(MemoryKind::Records, 51);
    budget.try_charge(MemoryKind::Indexes, 1).expect("it is below the limit again");
    assert_eq!(budget.excess(), 0);
}
