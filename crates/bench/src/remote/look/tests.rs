use super::*;

fn call(procedure: &str, calls: u64, queue_us: f32) -> ServerCall {
    let phases_us = [queue_us, 0.0, 0.0, 10.0, 0.0, 0.0];
    ServerCall { procedure: procedure.to_owned(), calls, phases_us, ..ServerCall::default() }
}

#[test]
fn calls_between_two_looks_have_means_of_their_own() {
    let before = [call("buy", 100, 5.0), call("dropped", 7, 1.0), call("dropped", 3, 1.0)];
    let after = [
        call("sell", 1, 3.0),
        call("buy", 300, 15.0),
        call("dropped", 7, 1.0),
        call("dropped", 3, 1.0),
    ];
    let between = ServerCall::between(&before, &after);
    let named = |name: &str| between.iter().find(|call| call.procedure == name).expect("there");
    assert_eq!((named("buy").calls, named("buy").phases_us[0]), (200, 20.0));
    assert_eq!((named("sell").calls, named("sell").mean_us()), (1, 13.0));
    assert_eq!((named("dropped").calls, named("dropped").mean_us()), (0, 0.0));
    assert_eq!((between.len(), between[0].procedure.as_str()), (3, "buy"));
    // A server that was started anew.
    assert_eq!(ServerCall::between(&after, &before[..1])[0].calls, 0);
}

#[test]
fn waits_between_two_looks_are_those_that_were_added() {
    let wait = |key: &str, waits: u64, total_ms: f32| ServerWait {
        key: key.to_owned(),
        waits,
        total_ms,
        ..ServerWait::default()
    };
    let before = [wait("a", 10, 5.0), wait("", 1, 1.0), wait("b", 4, 9.0)];
    let after = [wait("b", 4, 9.0), wait("a", 12, 6.5), wait("", 1, 1.0), wait("", 5, 7.0)];
    let between = ServerWait::between(&before, &after);
    let told: Vec<_> =
        between.iter().map(|wait| (wait.key.as_str(), wait.waits, wait.total_ms)).collect();
    assert_eq!(told, [("", 5, 7.0), ("a", 2, 1.5)]);
}
