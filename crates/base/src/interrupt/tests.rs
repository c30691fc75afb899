use std::sync::Arc;
use std::time::Duration;

use super::{Interrupt, Interruption};
use crate::clock::Ticks;
use crate::thread::{self, ThreadOptions};

#[test]
fn a_cancel_hits_the_statement_that_runs_and_no_other() {
    let interrupt = Arc::new(Interrupt::default());
    assert!(!interrupt.cancel(), "nothing runs");
    assert_eq!(interrupt.check(), Ok(()));
    {
        let _running = interrupt.begin();
        assert_eq!(interrupt.check(), Ok(()));
        assert!(interrupt.cancel());
        assert!(!interrupt.cancel(), "once is enough");
        // A part of it ends, and the whole stays interrupted.
        drop(interrupt.begin());
        assert_eq!(interrupt.check(), Err(Interruption::Request));
    }
    assert_eq!(interrupt.check(), Ok(()));
    let _next = interrupt.begin();
    assert_eq!(interrupt.check(), Ok(()));
}

#[test]
fn limits_interrupt_and_the_first_reason_stays() {
    let interrupt = Arc::new(Interrupt::default());
    interrupt.set_statement_time(Some(Duration::from_millis(5)));
    interrupt.set_lock_time(Some(Duration::ZERO));
    {
        let _running = interrupt.begin();
        let deadline = interrupt.lock_deadline();
        assert_eq!(interrupt.check_wait(deadline), Err(Interruption::LockTime));
        thread::sleep(Duration::from_millis(6));
        assert_eq!(interrupt.check(), Err(Interruption::LockTime));
    }
    interrupt.set_lock_time(None);
    let _running = interrupt.begin();
    assert_eq!(interrupt.lock_deadline(), None);
    thread::sleep(Duration::from_millis(6));
    assert_eq!(interrupt.check_wait(None), Err(Interruption::StatementTime));
}

#[test]
fn an_attempt_is_given_up_and_the_statement_goes_on() {
    let interrupt = Arc::new(Interrupt::default());
    let _running = interrupt.begin();
    {
        let attempt = interrupt.attempt(Duration::from_millis(2));
        assert_eq!(interrupt.check(), Ok(()));
        assert_eq!(interrupt.sleep(Duration::from_secs(60)), Err(Interruption::Attempt));
        assert!(attempt.is_over());
    }
    assert_eq!(interrupt.give_up_attempt(), Ok(()), "another way begins");
    {
        let attempt = interrupt.attempt(Duration::from_secs(60));
        assert_eq!(interrupt.give_up_attempt(), Err(Interruption::Attempt));
        assert!(attempt.is_over());
    }
    {
        let attempt = interrupt.attempt(Duration::ZERO);
        assert_eq!(interrupt.check(), Err(Interruption::Attempt));
        assert!(interrupt.cancel(), "the statement as a whole runs on");
        assert!(!attempt.is_over());
        assert!(!interrupt.cancel(), "once is enough");
    }
    assert_eq!(interrupt.check(), Err(Interruption::Request), "and it ends with the request");
}

#[test]
fn a_sleeper_is_woken_by_a_cancel() {
    let interrupt = Arc::new(Interrupt::default());
    let running = interrupt.begin();
    let other = Arc::clone(&interrupt);
    let canceller = ThreadOptions::named("canceller")
        .spawn(move || {
            thread::sleep(Duration::from_millis(20));
            other.cancel()
        })
        .expect("there is room for a thread");
    let began = Ticks::now();
    assert_eq!(interrupt.sleep(Duration::from_secs(60)), Err(Interruption::Request));
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(canceller.join().expect("it ends well"));
    assert!(interrupt.is_running(), "until the guard is dropped");
    drop(running);
    assert!(!interrupt.is_running());
}
