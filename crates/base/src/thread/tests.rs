//! Names and pinning on this machine.

use super::*;

#[test]
fn a_spawned_thread_has_its_name_and_core() {
    let core = *available_cores().last().expect("never empty");
    let handle = ThreadOptions::named("worker-3")
        .on_core(core)
        .spawn(|| (std::thread::current().name().map(str::to_owned), available_cores()))
        .expect("the system can start one thread");
    let (name, cores) = handle.join().expect("it does not panic");
    assert_eq!(name.as_deref(), Some("worker-3"));
    if cfg!(target_os = "linux") {
        assert_eq!(cores, [core]);
    }
}

#[test]
fn a_background_thread_hears_what_it_is_told_and_ends_with_its_owner() {
    use crate::sync::EventCount;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let (rounds, heard) = (Arc::new(AtomicU32::new(0)), Arc::new(EventCount::new()));
    let body = {
        let (rounds, heard) = (Arc::clone(&rounds), Arc::clone(&heard));
        move |news: &News| {
            while news.wait(None) {
                rounds.fetch_add(1, Ordering::Relaxed);
                heard.notify_all();
            }
            rounds.fetch_add(100, Ordering::Relaxed);
        }
    };
    let thread = BackgroundThread::start("background", body).expect("there is room for one");
    for round in 1..=3 {
        thread.tell();
        heard.wait_for(None, || (rounds.load(Ordering::Relaxed) == round).then_some(()));
    }
    drop(thread);
    assert_eq!(rounds.load(Ordering::Relaxed), 103, "it has ended");
}

#[test]
fn pinning_to_no_core_is_refused_quietly() {
    assert!(!pin_current_thread(usize::MAX));
    assert!(!pin_current_thread(1023));
}
