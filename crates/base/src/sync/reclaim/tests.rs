use std::sync::Mutex;

use super::*;

fn drained(retired: &mut Retired<u32>, safe: ReclaimEpoch) -> Vec<u32> {
    let mut ids = Vec::new();
    retired.drain_safe(safe, |id| ids.push(id));
    ids
}

#[test]
fn a_pin_holds_back_what_is_retired_under_it() {
    let epochs = ReclaimEpochs::new(2);
    let mut retired = Retired::default();
    let guard = epochs.pin(WorkerId(0));
    retired.retire(epochs.retire_epoch(), 7);
    epochs.advance();
    epochs.advance();
    assert_eq!(drained(&mut retired, epochs.safe_epoch()), [0_u32; 0]);
    drop(guard);
    assert_eq!(drained(&mut retired, epochs.safe_epoch()), [7]);
}

#[test]
fn a_younger_pin_does_not_hold_back() {
    let epochs = ReclaimEpochs::new(2);
    let mut retired = Retired::default();
    retired.retire(epochs.retire_epoch(), 7);
    epochs.advance();
    let _guard = epochs.pin(WorkerId(0));
    assert_eq!(drained(&mut retired, epochs.safe_epoch()), [7]);
}

#[test]
fn nested_pins_keep_the_outermost_epoch() {
    let epochs = ReclaimEpochs::new(1);
    let outer = epochs.pin(WorkerId(0));
    let first = outer.epoch();
    epochs.advance();
    let inner = epochs.pin(WorkerId(0));
    assert_eq!(inner.epoch(), first);
    drop(inner);
    assert_eq!(epochs.safe_epoch(), first);
    drop(outer);
    assert!(epochs.safe_epoch() > first);
}

#[test]
fn an_epoch_out_of_order_waits_for_the_newest() {
    let epochs = ReclaimEpochs::new(1);
    let old = epochs.retire_epoch();
    let new = epochs.advance();
    let mut retired = Retired::default();
    retired.retire(new, 1);
    retired.retire(old, 2);
    assert_eq!(drained(&mut retired, new), [0_u32; 0]);
    assert_eq!(drained(&mut retired, epochs.advance()), [1, 2]);
}

/// Readers follow a link to a cell and must find it alive for as long as they are pinned, while a
/// writer replaces the link, retires the old cell and poisons and reuses what is safe.
#[test]
fn no_reader_sees_a_reused_cell() {
    const READERS: usize = 3;
    const ROUNDS: u64 = 200_000;
    const POISON: u64 = u64::MAX;
    let epochs = ReclaimEpochs::new(READERS + 1);
    let cells: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(POISON)).collect();
    cells[0].store(0, Relaxed);
    let link = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let reused = Mutex::new(0_u64);
    std::thread::scope(|scope| {
        for reader in (0..READERS as u16).map(WorkerId) {
            let (epochs, cells, link, done) = (&epochs, &cells, &link, &done);
            scope.spawn(move || {
                while done.load(Relaxed) == 0 {
                    let _guard = epochs.pin(reader);
                    let cell = &cells[link.load(Acquire) as usize];
                    let first = cell.load(Relaxed);
                    std::thread::yield_now();
                    assert_ne!(first, POISON);
                    assert_eq!(cell.load(Relaxed), first, "reused under a pin");
                }
            });
        }
        scope.spawn(|| {
            let mut retired = Retired::default();
            let mut free: Vec<u64> = (1..64).collect();
            for round in 1..=ROUNDS {
                let Some(next) = free.pop() else {
                    epochs.advance();
                    let safe = epochs.safe_epoch();
                    retired.drain_safe(safe, |id: u64| {
                        cells[id as usize].store(POISON, Relaxed);
                        free.push(id);
                        *reused.lock().expect("no holder panics") += 1;
                    });
                    std::thread::yield_now();
                    continue;
                };
                cells[next as usize].store(round, Relaxed);
                let old = link.swap(next, SeqCst);
                retired.retire(epochs.retire_epoch(), old);
            }
            done.store(1, Relaxed);
        });
    });
    assert!(*reused.lock().expect("no holder panics") > 0);
}
