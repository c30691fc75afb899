use std::sync::Arc;

use hotrow_base::interrupt::{Interrupt, Interruption, current};
use hotrow_base::memory::{MemoryAccount, Scope};

use super::*;

const KEPT: usize = 1 << 10;

/// Accounts of a session and its statement, and its interrupt.
fn session(statement_bytes: u64) -> (Arc<MemoryAccount>, Arc<Interrupt>) {
    let session = MemoryAccount::process(1 << 30).child(Scope::Session, 1 << 30);
    let interrupt = Arc::new(Interrupt::new(session.child(Scope::Statement, statement_bytes)));
    (session, interrupt)
}

fn push(payer: &mut Payer, list: &mut Vec<u64>, count: usize) {
    for item in 0..count as u64 {
        if list.len() == list.capacity() {
            payer.grow(list, 1, KEPT);
        }
        list.push(item);
    }
}

#[test]
fn a_large_buffer_is_charged_with_its_capacity_and_given_back() {
    let (_, interrupt) = session(1 << 30);
    let (mut payer, mut list) = (Payer::default(), Vec::new());
    payer.set(Some(&interrupt));
    push(&mut payer, &mut list, KEPT);
    assert_eq!((interrupt.memory().used(), payer.has_charged()), (0, false), "I1");
    push(&mut payer, &mut list, 100 * KEPT);
    let bytes = (list.capacity() * size_of::<u64>()) as u64;
    assert_eq!(payer.statement.bytes(), bytes, "I1");
    assert!(interrupt.memory().used() >= bytes);
    list.truncate(10 * KEPT);
    payer.shrink(&mut list, KEPT);
    assert_eq!(payer.statement.bytes(), (15 * KEPT * size_of::<u64>()) as u64);
    list.clear();
    payer.shrink(&mut list, KEPT);
    assert_eq!((interrupt.memory().used(), list.capacity()), (0, KEPT));
}

#[test]
fn what_has_no_room_interrupts_the_statement_and_costs_little() {
    let (_, interrupt) = session(1 << 20);
    let (mut payer, mut list) = (Payer::default(), Vec::new());
    payer.set(Some(&interrupt));
    let running = interrupt.begin();
    while interrupt.check().is_ok() {
        push(&mut payer, &mut list, 100);
    }
    assert_eq!(interrupt.check(), Err(Interruption::Memory));
    assert!(interrupt.memory().used() <= (1 << 20) + (1 << 16), "{}", interrupt.memory().used());
    drop(running);
    push(&mut payer, &mut list, 1000); // as until the next look
    assert_eq!(list.len() % 100, 0, "nothing is lost");
}

#[test]
fn an_open_transactions_changes_are_its_sessions() {
    let (session, interrupt) = session(1 << 20);
    let (mut payer, mut list) = (Payer::default(), Vec::new());
    payer.set(Some(&interrupt));
    for _ in 0..8 {
        push(&mut payer, &mut list, 20_000);
        payer.end_statement();
        assert_eq!(interrupt.memory().used(), 0, "I2");
        assert_eq!(payer.transaction.bytes(), (list.capacity() * size_of::<u64>()) as u64, "I1");
    }
    assert!(session.used() > 1 << 20, "all statements together took more than one may");
    list.clear();
    payer.shrink(&mut list, KEPT);
    assert_eq!(session.used(), 0);
}

#[test]
fn a_log_of_nobody_is_paid_by_who_looks_on_its_thread() {
    let ((_, before), (_, own)) = (session(1 << 30), session(1 << 30));
    let (mut payer, mut list) = (Payer::default(), Vec::new());
    current::note_look(&before);
    payer.begin();
    push(&mut payer, &mut list, 2 * KEPT);
    assert_eq!(before.memory().used(), 0, "it looked before the log began");
    list.clear();
    payer.shrink(&mut list, KEPT);
    current::note_look(&own);
    push(&mut payer, &mut list, 10 * KEPT);
    assert!(own.memory().used() > 0);
    list.clear();
    payer.shrink(&mut list, KEPT);
    assert_eq!(own.memory().used(), 0);
}
