//! Intervals against the standard clock.

use super::*;
use std::time::Instant;

#[test]
fn intervals_agree_with_the_standard_clock() {
    calibrate();
    let (ticks, instant) = (Ticks::now(), Instant::now());
    std::thread::sleep(Duration::from_millis(20));
    let ours = ticks.elapsed();
    let theirs = instant.elapsed();
    let difference = ours.abs_diff(theirs);
    assert!(difference < Duration::from_millis(5), "{ours:?} against {theirs:?}");
}

#[test]
fn an_interval_is_never_negative() {
    let earlier = Ticks::now();
    let later = earlier.after(Duration::from_millis(1));
    assert_eq!(earlier.nanos_since(later), 0);
    let span = later.nanos_since(earlier);
    assert!(span.abs_diff(1_000_000) < 100, "{span}");
}

#[test]
fn deadlines_pass() {
    let deadline = Ticks::from_now(Duration::from_millis(5));
    assert!(!deadline.has_passed());
    assert!(deadline.remaining() > Duration::ZERO);
    std::thread::sleep(Duration::from_millis(6));
    assert!(deadline.has_passed());
    assert_eq!(deadline.remaining(), Duration::ZERO);
    assert!(!Ticks::from_now(Duration::MAX).has_passed());
}

#[test]
fn the_time_of_day_is_between_2024_and_2200() {
    const YEAR_US: i64 = 31_556_952_000_000;
    assert!((24 * YEAR_US..200 * YEAR_US).contains(&super::now_us()));
}

#[test]
fn a_sum_of_ticks_is_converted_as_the_spans_are() {
    let earlier = Ticks::now();
    while earlier.elapsed_nanos() < 1000 {}
    let later = Ticks::now();
    assert_eq!(Ticks::nanos_of(later.ticks_since(earlier)), later.nanos_since(earlier));
    assert_eq!(earlier.ticks_since(later), 0);
}
