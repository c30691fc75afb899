//! What arrives, in which order, when, and who is woken.

use std::thread;

use super::*;

/// One ring from each to each other one.
fn all_to_all<M: Send>(threads: usize, link: Link) -> Vec<(Senders<M>, Receivers<M>, Bed)> {
    let sleepers = Sleepers::new(threads);
    let others = |from, to| (from != to).then_some(link);
    let (senders, receivers) = sleepers.connect(0..threads, 0..threads, others);
    let ends = senders.into_iter().zip(receivers).enumerate();
    let spin = Spin::for_threads(threads);
    ends.map(|(own, (to, from))| (to, from, sleepers.bed(own, spin))).collect()
}

/// Every thread sends numbers to every other one, and receives theirs in order.
fn exchange(messages: u32, link: Link) {
    let threads = 3;
    thread::scope(|scope| {
        for (own, (mut to, mut from, bed)) in all_to_all(threads, link).into_iter().enumerate() {
            scope.spawn(move || {
                let others: Vec<_> = (0..threads).filter(|&other| other != own).collect();
                for number in 0..messages {
                    others.iter().for_each(|&other| to.send(other as u16, (own, number)));
                }
                let mut next = vec![0; threads];
                while others.iter().any(|&other| next[other] < messages) {
                    to.publish();
                    let deadline = [to.retry_at(), from.due()].into_iter().flatten().min();
                    bed.wait(deadline, || from.have_news(deadline));
                    from.receive(64, |(sender, number)| {
                        assert_eq!(number, next[sender], "in the order of sending");
                        next[sender] += 1;
                    });
                }
                to.flush(); // others may still miss what found its ring full
                assert!(!to.has_late());
                assert_eq!(to.take_sent(), u64::from(messages) * others.len() as u64);
            });
        }
    });
}

#[test]
fn everybody_gets_what_was_sent_to_it_in_order_though_rings_are_full() {
    exchange(20_000, Link::of(64));
    exchange(500, Link::of(1));
}

#[test]
fn messages_with_a_delay_keep_their_order() {
    exchange(2_000, Link { capacity: 64, delay: Some(Duration::from_micros(20)) });
}

#[test]
fn sending_never_waits_and_what_is_late_comes_when_there_is_room() {
    let [(mut to, ..), (_, mut from, _)] = all_to_all(2, Link::of(2)).try_into().ok().expect("two");
    for number in 0..7 {
        to.send(1, number);
    }
    assert!(to.has_late() && to.retry_at().is_some());
    assert_eq!(to.backlog(), 7);
    assert_eq!(from.waiting(), 2, "a full ring is published, or nobody would empty it");
    let mut seen = Vec::new();
    while seen.len() < 7 {
        let before = seen.len();
        from.receive(16, |number| seen.push(number));
        assert!(seen.len() > before);
        to.publish();
    }
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
    assert!(!to.has_late() && to.retry_at().is_none() && from.are_empty());
}

#[test]
fn what_is_unpublished_is_not_seen() {
    let [(mut to, ..), (_, mut from, _)] = all_to_all(2, Link::of(8)).try_into().ok().expect("two");
    to.send(1, 'a');
    assert!(from.are_empty());
    to.publish();
    assert_eq!((from.are_empty(), from.waiting()), (false, 1));
}

#[test]
fn a_message_with_a_delay_is_not_there_before_its_time() {
    let delay = Duration::from_millis(20);
    let link = Link { capacity: 8, delay: Some(delay) };
    let [(mut to, ..), (_, mut from, bed)] = all_to_all(2, link).try_into().ok().expect("two");
    let sent = Ticks::now();
    to.send(1, ());
    to.publish();
    assert_eq!((from.receive(8, drop), from.waiting()), (0, 1), "it is on its way");
    while from.are_empty() {
        bed.wait(from.due(), || !from.are_empty());
    }
    assert!(sent.elapsed() >= delay);
    assert_eq!(from.receive(8, drop), 1);
    assert_eq!(from.due(), None);
}

#[test]
fn who_sleeps_is_woken_by_a_message_and_by_a_call() {
    let [(mut to, ..), (_, mut from, bed)] =
        all_to_all(2, Link::of(8)).try_into().ok().expect("two");
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            bed.wait(None, || !from.are_empty());
            from.receive(8, drop)
        });
        thread::sleep(Duration::from_millis(5));
        to.wake_all(); // finds nothing, and sleeps on
        to.send(1, ());
        to.publish();
        assert_eq!(reader.join().expect("it has not panicked"), 1);
    });
}
