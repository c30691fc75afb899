//! A worker that stays in an epoch while others append to it and to the next one.

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;

use super::{LogOptions, TemporaryDirectory, commit, read, start};
use crate::entry::Kind;
use crate::files::Files;

#[test]
fn nothing_is_durable_before_who_stays_has_its_entries() {
    let directory = TemporaryDirectory::new();
    let files: Arc<dyn Files> = Arc::new(directory.files());
    let log = start(&files, LogOptions::new(2));
    let stays = WorkerId(0);
    let first = log.enter(stays).expect("the log is open");
    let other = commit(&log, 1, 5, b"follows").expect("the log is open");
    let soon = || Ticks::from_now(Duration::from_millis(20));
    assert!(log.wait_for_until(other, soon()).is_none(), "{first} goes on");
    assert_eq!(log.current_epoch(), first + 1, "the writer waits for it to end");
    let later = commit(&log, 1, 0, b"in the next").expect("the log is open");
    assert_eq!((other, later), (first, first + 1));
    assert_eq!(log.enter_beside(stays).expect("the log is open"), first + 1);
    let append = |epoch: u64, time, body: &'static [u8]| {
        log.append_to(stays, epoch);
        log.append(stays, time, Kind::Command, |out| out.extend_from_slice(body));
    };
    append(first, 4, b"is followed");
    assert!(log.wait_for_until(first, soon()).is_none(), "it may have more");
    log.move_on(stays);
    log.wait_for(first).expect("nothing fails");
    assert!(log.wait_for_until(later, soon()).is_none(), "now it stays there");
    append(first + 1, 1, b"too");
    log.leave(stays);
    log.wait_for(later).expect("nothing fails");
    log.stop().expect("nothing fails");
    let (seen, _) = read(&*files, 0).expect("the log is whole");
    let seen: Vec<_> =
        seen.iter().map(|(epoch, worker, time, ..)| (*epoch, *worker, *time)).collect();
    let next = first + 1;
    assert_eq!(seen, [(first, 0, 4), (first, 1, 5), (next, 1, 0), (next, 0, 1)]);
}
