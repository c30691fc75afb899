use hotrow_base::interrupt::Interrupt;

use super::*;

fn ended(value: i64, at: i64) -> Outcome {
    let error = SqlError::new(b"P0001", format!("{value}"));
    Outcome { call: 1, ended_us: at, answer: Err(Box::new(error)), durable_in: 7 }
}

fn told(claim: Result<Claim, SqlError>) -> String {
    match claim {
        Ok(Claim::Run) => "run".to_owned(),
        Ok(Claim::Running) => "running".to_owned(),
        Ok(Claim::Ended(Reply { answer, durable_in, .. })) => {
            format!("{} in {durable_in}", answer.expect_err("all end with an error").message)
        }
        Err(error) => error.message,
    }
}

#[test]
fn a_key_runs_once_and_tells_its_end_ever_after() {
    let outcomes = Outcomes::new(100, 1000);
    assert_eq!(told(outcomes.claim(b"a", 1, 0)), "run");
    assert_eq!(told(outcomes.claim(b"a", 1, 1)), "running");
    assert_eq!(told(outcomes.claim(b"b", 1, 1)), "run", "another key is another call");
    outcomes.end(b"a", ended(5, 2));
    assert_eq!(told(outcomes.claim(b"a", 1, 3)), "5 in 7");
    let other = told(outcomes.claim(b"a", 2, 3));
    assert_eq!(other, "the idempotency key \"a\" was used for another call");
    outcomes.release(b"a");
    assert_eq!(told(outcomes.claim(b"a", 1, 3)), "5 in 7", "what has ended stays");
}

#[test]
fn a_call_that_was_not_run_may_be_run_again() {
    let outcomes = Outcomes::new(100, 1000);
    assert_eq!(told(outcomes.claim(b"a", 1, 0)), "run");
    outcomes.release(b"a");
    assert_eq!(told(outcomes.claim(b"a", 1, 0)), "run");
}

#[test]
fn outcomes_are_forgotten_when_their_window_is_past() {
    let outcomes = Outcomes::new(100, 1000);
    outcomes.end(b"a", ended(5, 0));
    assert_eq!(told(outcomes.claim(b"a", 1, 1000)), "5 in 7");
    assert_eq!(told(outcomes.claim(b"a", 1, 1001)), "run");
}

#[test]
fn outcomes_are_bounded_in_number() {
    let outcomes = Outcomes::new(16 * 4, i64::MAX / 2);
    let key = |number: i64| number.to_be_bytes();
    (0..1000).for_each(|number| outcomes.end(&key(number), ended(number, 0)));
    (0..1000).for_each(|number| drop(outcomes.claim(&key(number + 5000), 1, 1)));
    let mut kept = 0;
    outcomes.for_each(|_, _| kept += 1);
    assert!(kept <= 16 * 4, "{kept} are kept");
    assert_eq!(told(outcomes.claim(&key(0), 1, 1)), "run", "the oldest is forgotten");
}

#[test]
fn who_waits_for_a_key_is_woken_by_its_end() {
    let outcomes = Outcomes::new(100, 1000);
    assert_eq!(told(outcomes.claim(b"a", 1, 0)), "run");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            outcomes.wait(b"a", &Interrupt::default()).expect("nobody interrupts");
            told(outcomes.claim(b"a", 1, 1))
        });
        std::thread::yield_now();
        outcomes.end(b"a", ended(3, 1));
        assert_eq!(waiting.join().expect("it is woken"), "3 in 7");
    });
}
