use super::*;

#[test]
fn spans_grow_up_to_a_bound() {
    let mut back_off = BackOff::new(7);
    for (attempts, limit_us) in [(0, 2), (1, 4), (5, 64), (9, 1024), (1000, 1024)] {
        let spans: Vec<Duration> = (0..1000).map(|_| back_off.span(attempts)).collect();
        let longest = *spans.iter().max().expect("there are spans");
        let limit = Duration::from_micros(limit_us);
        assert!(longest < limit, "{longest:?} after {attempts}");
        assert!(longest > limit / 2, "{longest:?} after {attempts}");
    }
}

#[test]
fn workers_wait_differently() {
    let spans = |seed| {
        let mut back_off = BackOff::new(seed);
        (0..8).map(|_| back_off.span(9)).collect::<Vec<_>>()
    };
    assert_ne!(spans(0), spans(1));
}
