//! Reuse, misuse and waiting.

use super::*;
use std::thread;
use std::time::Duration;

#[test]
fn a_slot_is_reused() {
    let slot = ReplySlot::new();
    for request in 0..3 {
        assert_eq!(slot.try_take(), None);
        slot.complete(request).expect("empty");
        assert!(slot.is_full());
        assert_eq!(slot.complete(99), Err(99));
        assert_eq!(slot.wait(), request);
    }
}

#[test]
fn a_late_answer_is_taken_later() {
    let slot = ReplySlot::new();
    assert_eq!(slot.wait_until(Ticks::from_now(Duration::from_millis(2))), None);
    slot.complete('a').expect("empty");
    assert_eq!(slot.try_take(), Some('a'));
}

#[test]
fn an_answer_nobody_took_is_dropped_once() {
    let counted = std::sync::Arc::new(());
    let slot = ReplySlot::new();
    slot.complete(std::sync::Arc::clone(&counted)).expect("empty");
    drop(slot);
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
}

/// Several callers with one answering thread each, more threads than cores: a lost wake-up hangs.
#[test]
fn every_request_gets_its_answer() {
    const REQUESTS: u64 = 2_000;
    let pairs = [(); 3].map(|()| (ReplySlot::new(), ReplySlot::new()));
    thread::scope(|scope| {
        for (request, answer) in &pairs {
            scope.spawn(move || {
                for _ in 0..REQUESTS {
                    answer.complete(request.wait() * 2).expect("the last one was taken");
                }
            });
            scope.spawn(move || {
                for number in 0..REQUESTS {
                    request.complete(number).expect("the last one was taken");
                    assert_eq!(answer.wait(), number * 2);
                }
            });
        }
    });
}
