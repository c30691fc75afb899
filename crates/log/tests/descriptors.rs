//! A process that has no file descriptor left: the log begins its next segments all the same. Alone
//! in its process, since it takes all descriptors there are.

use std::fs::File;
use std::sync::Arc;

use hotrow_base::ids::WorkerId;
use hotrow_log::entry::Kind;
use hotrow_log::error::LogError;
use hotrow_log::files::{Directory, Files};
use hotrow_log::log::{Log, LogOptions};
use hotrow_log::read::scan;
use rustix::process::{Resource, getrlimit, setrlimit};

/// Descriptors of the process: few, so that they are used up at once.
const DESCRIPTORS: u64 = 64;

#[test]
fn a_log_goes_on_though_no_descriptor_is_left() {
    let path = std::env::temp_dir().join(format!("hotrow-log-descriptors-{}", std::process::id()));
    let files: Arc<dyn Files> = Arc::new(Directory::create(&path).expect("it can be made"));
    let tail = scan(&*files, 0, |_| Ok::<_, LogError>(())).expect("it is empty");
    let options = LogOptions { segment_bytes: 16 << 10, ..LogOptions::new(1) };
    let log = Log::start(files, tail, options).expect("it is writable");
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(DESCRIPTORS);
    setrlimit(Resource::Nofile, limit).expect("fewer than allowed may be had");
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    assert!(!taken.is_empty());
    let worker = WorkerId(0);
    for time in 0..100 {
        let epoch = log.enter(worker).expect("the log is open");
        log.append(worker, time, Kind::Command, |body| body.resize(700, 1));
        log.leave(worker);
        log.wait_for(epoch).expect("nothing fails");
    }
    assert!(log.statistics().segments > 2, "several were begun");
    log.stop().expect("nothing fails");
    drop(taken);
    std::fs::remove_dir_all(&path).expect("it is there");
}
