//! Two requests through one slot, and a race of two completers.

use super::*;
use crate::sync::facade::{self, Arc, thread};

#[test]
fn two_answers_in_turn_reach_their_waiter() {
    facade::model(|| {
        let slot = ReplySlot::<Box<u32>>::new;
        let pair = Arc::new((slot(), slot()));
        let answerer = {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                pair.1.complete(Box::new(*pair.0.wait() + 10)).expect("empty");
                pair.1.complete(Box::new(*pair.0.wait() + 20)).expect("taken");
            })
        };
        pair.0.complete(Box::new(1)).expect("empty");
        assert_eq!(*pair.1.wait(), 11);
        pair.0.complete(Box::new(2)).expect("taken");
        assert_eq!(*pair.1.wait(), 22);
        answerer.join().expect("it does not panic");
    });
}

#[test]
fn one_of_two_completers_is_refused() {
    facade::model(|| {
        let slot = Arc::new(ReplySlot::new());
        let others: Vec<_> = (0..2)
            .map(|value| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || slot.complete(Box::new(value)).is_ok())
            })
            .collect();
        let first = *slot.wait();
        let accepted: Vec<_> =
            others.into_iter().map(|other| other.join().expect("it does not panic")).collect();
        assert!(accepted[first]);
        assert_eq!(accepted[1 - first], slot.try_take().is_some());
    });
}
