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
fn pinning_to_no_core_is_refused_quietly() {
    assert!(!pin_current_thread(usize::MAX));
    assert!(!pin_current_thread(1023));
}
