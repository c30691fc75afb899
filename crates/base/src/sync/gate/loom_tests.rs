//! One thread that passes the gate and one that closes it: never both inside.

use super::*;
use crate::sync::facade::{self, Arc, UnsafeCell, thread};

struct Room {
    gate: Gate,
    count: UnsafeCell<u32>,
}

// SAFETY: `count` is touched between enter and leave by the one thread that passes, and by the
// closer while the gate is closed; that these exclude each other is what the model checks (loom
// reports a race otherwise).
unsafe impl Sync for Room {}

#[test]
fn who_is_inside_excludes_who_closed() {
    facade::model(|| {
        let room = Arc::new(Room { gate: Gate::new(1), count: UnsafeCell::new(0) });
        let passer = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                room.gate.enter(0);
                // SAFETY: see `Room`.
                room.count.with_mut(|count| unsafe { *count += 1 });
                room.gate.leave(0);
            })
        };
        let closed = room.gate.close();
        // SAFETY: see `Room`.
        room.count.with_mut(|count| unsafe { *count += 1 });
        drop(closed);
        passer.join().expect("it does not panic");
        // SAFETY: the other thread has ended.
        assert_eq!(room.count.with(|count| unsafe { *count }), 2);
    });
}

/// Who closes does not wait for whoever is inside: the gate is quiet then, or open again, and who
/// was turned back comes in.
#[test]
fn who_gives_up_closing_leaves_the_gate_open() {
    facade::model(|| {
        let room = Arc::new(Room { gate: Gate::new(1), count: UnsafeCell::new(0) });
        let passer = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                room.gate.enter(0);
                // SAFETY: see `Room`.
                room.count.with_mut(|count| unsafe { *count += 1 });
                room.gate.leave(0);
            })
        };
        let closed = room.gate.close_behind(room.gate.take_turn(), || false);
        let expected = 1 + u32::from(closed.is_some());
        if closed.is_some() {
            // SAFETY: see `Room`.
            room.count.with_mut(|count| unsafe { *count += 1 });
        }
        drop(closed);
        assert!(!room.gate.wants_quiet());
        passer.join().expect("it does not panic");
        // SAFETY: the other thread has ended.
        assert_eq!(room.count.with(|count| unsafe { *count }), expected);
    });
}

struct Lingers(Latch<Option<KeptClosed>>);

impl Lingerer for Lingers {
    fn go(&self) {
        drop(self.0.lock().take());
    }
}

/// Who lingers has no need to open the gate again: whoever wants to pass has it opened (I4).
#[test]
fn who_lingers_keeps_nobody_waiting() {
    facade::model(|| {
        let gate = std::sync::Arc::new(Gate::new(1));
        let lingers = std::sync::Arc::new(Lingers(Latch::new(None)));
        let lingerer: std::sync::Arc<dyn Lingerer> = lingers.clone();
        gate.set_lingerer(std::sync::Arc::downgrade(&lingerer));
        let passer = {
            let gate = std::sync::Arc::clone(&gate);
            thread::spawn(move || {
                gate.enter(0);
                gate.leave(0);
            })
        };
        let closed = gate.close().keep(&gate);
        *lingers.0.lock() = Some(closed);
        if gate.is_wanted() {
            lingers.go();
        }
        passer.join().expect("it does not panic");
        drop(lingers.0.lock().take());
        assert!(!gate.wants_quiet());
    });
}
