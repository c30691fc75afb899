//! What logging costs: the time of an append, and the commits a second of clients that wait.
//!
//! `cargo run --release -p hotrow-log --example append_rate [DIRECTORY [SECONDS]]`
//!
//! The directory (the temporary one by default) decides which disk is measured; a log is made in it
//! and removed.

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_base::thread;
use hotrow_log::files::{Directory, Files};
use hotrow_log::{Durability, Kind, Log, LogError, LogOptions, scan};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// About what a call of a procedure with a few arguments takes.
const BODY_BYTES: usize = 60;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory: PathBuf = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let seconds = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let path = directory.join("hotrow-append-rate");
    for durability in [Durability::Durable, Durability::Buffered] {
        println!("{durability:?}, entries with {BODY_BYTES} bytes:");
        for workers in [1, 2] {
            with_log(&path, durability, workers, |log| pipelined(log, workers, seconds))?;
        }
        for clients in [1, 2, 8, 64] {
            with_log(&path, durability, clients, |log| waiting(log, clients, seconds))?;
        }
    }
    Ok(())
}

fn with_log(
    path: &Path,
    durability: Durability,
    workers: usize,
    measure: impl FnOnce(&Log),
) -> Result<(), Box<dyn std::error::Error>> {
    let files: Arc<dyn Files> = Arc::new(Directory::create(path)?);
    let tail = scan(&*files, 0, |_| Ok::<_, LogError>(()))?;
    let log = Log::start(files, tail, LogOptions { durability, ..LogOptions::new(workers) })?;
    measure(&log);
    log.stop()?;
    let statistics = log.statistics();
    let per_block = statistics.entries as f64 / statistics.blocks.max(1) as f64;
    let sync_us = statistics.sync_nanos as f64 / statistics.syncs.max(1) as f64 / 1000.0;
    let write_us = statistics.write_nanos as f64 / statistics.blocks.max(1) as f64 / 1000.0;
    println!(
        "    {} blocks with {per_block:.1} entries, write {write_us:.0} us, sync {sync_us:.0} us",
        statistics.blocks
    );
    std::fs::remove_dir_all(path)?;
    Ok(())
}

fn commit(log: &Log, worker: usize, time: u64) -> u64 {
    let worker = WorkerId(worker as u16);
    log.wait_for_room(worker);
    let epoch = log.enter(worker).expect("the log is open");
    log.append(worker, time, Kind::Command, |body| body.extend_from_slice(&[7; BODY_BYTES]));
    log.leave(worker);
    epoch
}

/// Runs `turn` on `threads` threads for some seconds; how often in all.
fn repeat(threads: usize, seconds: u64, turn: impl Fn(usize, u64) + Sync) -> u64 {
    let end = Ticks::from_now(Duration::from_secs(seconds));
    thread::scope(|scope| {
        let run = |thread: usize| {
            let turn = &turn;
            move || {
                let mut count = 0;
                while !end.has_passed() {
                    turn(thread, count);
                    count += 1;
                }
                count
            }
        };
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(run(thread))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).sum()
    })
}

/// Workers that go on without waiting, at a pace the disk can follow: the cost of appending.
fn pipelined(log: &Log, workers: usize, seconds: u64) {
    const BATCH: u64 = 1000;
    let commits = repeat(workers, seconds, |worker, batch| {
        for time in 0..BATCH {
            commit(log, worker, batch * BATCH + time);
        }
    });
    let rate = (commits * BATCH) as f64 / seconds as f64;
    let nanos = 1e9 * workers as f64 / rate;
    println!("  {workers} workers that do not wait: {rate:.0} a second, {nanos:.0} ns each");
}

/// Clients that wait for each commit.
fn waiting(log: &Log, clients: usize, seconds: u64) {
    let commits = repeat(clients, seconds, |client, time| {
        let epoch = commit(log, client, time);
        log.wait_for(epoch).expect("nothing fails");
    });
    let rate = commits as f64 / seconds as f64;
    let us = 1e6 * clients as f64 / rate;
    println!("  {clients} clients that wait: {rate:.0} a second, {us:.0} us each");
}
