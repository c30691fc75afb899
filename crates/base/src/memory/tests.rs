use super::{Charge, MemoryAccount, OutOfMemory, Scope, granule, machine_bytes};
use std::sync::Arc;

fn tree() -> [Arc<MemoryAccount>; 3] {
    let process = MemoryAccount::process(1000);
    let session = process.child(Scope::Session, 800);
    let statement = session.child(Scope::Statement, 500);
    [process, session, statement]
}

fn used(accounts: &[Arc<MemoryAccount>; 3]) -> [u64; 3] {
    accounts.each_ref().map(|account| account.used())
}

#[test]
fn what_is_charged_counts_in_all_accounts_above_until_it_is_dropped() {
    let accounts = tree();
    let mut charge = Charge::new(&accounts[2]);
    charge.add(256).expect("there is room");
    assert_eq!(used(&accounts), [256; 3]);
    charge.set(64).expect("less always fits");
    assert_eq!((charge.bytes(), used(&accounts)), (64, [64; 3]));
    charge.move_to(&accounts[1]);
    assert_eq!(used(&accounts), [64, 64, 0]);
    drop(charge);
    assert_eq!(used(&accounts), [0; 3]);
}

#[test]
fn a_refusal_names_the_budget_and_charges_nothing() {
    let accounts = tree();
    let mut charge = Charge::new(&accounts[2]);
    let refused = |scope, limit, used, wanted| Err(OutOfMemory { scope, limit, used, wanted });
    assert_eq!(charge.add(501), refused(Scope::Statement, 500, 0, 501));
    charge.add(500).expect("all there is");
    let mut kept = Charge::new(&accounts[1]);
    assert_eq!(kept.add(301), refused(Scope::Session, 800, 500, 301));
    let mut other = Charge::new(&accounts[0].child(Scope::Session, 1000));
    assert_eq!(other.add(501), refused(Scope::Process, 1000, 500, 501));
    assert_eq!(used(&accounts), [500; 3]);
    let said = other.add(501).expect_err("as before").to_string();
    let expected = "Of the 1000 bytes for all sessions together 500 bytes are in use, and 501 \
     bytes \
                    more were wanted";
    assert_eq!(said, expected);
}

#[test]
fn what_is_there_already_is_charged_beyond_the_limits() {
    let accounts = tree();
    let mut charge = Charge::new(&accounts[2]);
    charge.take(2000);
    assert_eq!(used(&accounts), [2000; 3]);
    charge.add(1).expect_err("there is no room");
    charge.clear();
    assert_eq!(used(&accounts), [0; 3]);
}

#[test]
fn charges_go_to_the_account_in_granules() {
    let account = MemoryAccount::process(1 << 30);
    let mut charge = Charge::new(&account);
    let mut steps = 0;
    for _ in 0..1 << 20 {
        let before = account.used();
        charge.add(16).expect("there is room");
        steps += u32::from(account.used() != before);
    }
    assert_eq!(account.used(), 16 << 20);
    assert!(steps < 400, "{steps} steps to 16 MiB: 64 KiB each, and smaller ones before");
    for bytes in [0, 1, 8, 1000, 1 << 20] {
        assert!(granule(bytes) <= (bytes / 4).max(1), "{bytes}");
    }
}

#[test]
fn no_account_refuses_nothing() {
    let mut charge = Charge::default();
    charge.add(usize::MAX).expect("nobody counts");
    charge.subtract(5);
    charge.set(1).expect("nobody counts");
    assert_eq!(charge.bytes(), 1);
}

#[test]
fn the_machine_has_memory() {
    assert!(machine_bytes() >= 64 << 20);
}
