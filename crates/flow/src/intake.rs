//! Where calls come in: a thread's side towards its source, and the gate.
//!
//! Role         for threads on which others' calls depend, so that they never wait here: neither
//!              for calls, nor for the gate, nor for room in the log
//! States       outside the gate -> inside, while calls are on their way: everybody else works on
//!              them under this roof -> outside, when all have ended and nobody works on them any
//!              more
//! Invariants   I1 a call fetched is finished, whatever happens
//!              I2 nobody waits here long for anything but calls: others' calls wait for this
//!              thread

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::WorkerId;
use hotrow_base::sync::gate::Gate;
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::{CallSource, Fetch};
use hotrow_engine::worker::Call;

use crate::exchange::Exchange;

/// How long a thread looks in vain whether the gate is open before it queues for that, where one
/// after the other closes it. Should somebody inside need this thread meanwhile, who closes the
/// gate gives up after some milliseconds.
const KEPT_OUT_MAX: Duration = Duration::from_millis(20);

/// One thread's source of calls, and whether the thread is inside the gate.
pub struct Intake {
    schema: Arc<SharedSchema>,
    worker: WorkerId,
    source: Box<dyn CallSource>,
    /// calls on their way at most
    in_flight: usize,
    /// the source has no more calls
    is_closed: bool,
    is_inside: bool,
    /// it has found the gate closed since then
    kept_out_since: Option<Ticks>,
    /// calls that were fetched and have not ended
    on_their_way: usize,
}

impl Intake {
    /// That of `worker`'s thread, which has at most `in_flight` calls on their way.
    pub fn new(
        schema: &Arc<SharedSchema>,
        worker: WorkerId,
        source: Box<dyn CallSource>,
        in_flight: usize,
    ) -> Self {
        Self {
            schema: Arc::clone(schema),
            worker,
            source,
            in_flight,
            is_closed: false,
            is_inside: false,
            kept_out_since: None,
            on_their_way: 0,
        }
    }

    /// The source, to tell it how calls have ended.
    pub fn source(&mut self) -> &mut dyn CallSource {
        &mut *self.source
    }

    /// Whether calls are on their way.
    pub fn is_busy(&self) -> bool {
        self.on_their_way > 0
    }

    /// Whether the source may have calls, and there is room for one more.
    pub fn may_fetch(&self) -> bool {
        !self.is_closed && self.on_their_way < self.in_flight
    }

    /// Whether the source has no more calls.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Fetches a call; it is on its way then, until [`Intake::note_end`]. Called inside the gate;
    /// who wants it closed waits for the calls that are on their way, not for more of them.
    pub fn fetch(&mut self, call: &mut Call, schema: &Schema) -> bool {
        debug_assert!(self.is_inside, "calls run inside the gate");
        if !self.may_fetch() || self.gate().wants_quiet() {
            return false;
        }
        let fetched = call.fetch(&mut *self.source, schema);
        self.is_closed |= fetched == Fetch::Closed;
        let is_ready = matches!(fetched, Fetch::Ready(_));
        self.on_their_way += usize::from(is_ready);
        is_ready
    }

    /// A call has ended, and its source knows.
    pub fn note_end(&mut self) {
        self.on_their_way -= 1;
    }

    /// Waits at the source, which is called away by its bell.
    pub fn wait_at_source(&mut self) {
        self.source.wait();
    }

    /// Has others call this thread away from its source, if it can be; whether it can.
    pub fn set_bell<M: Send + 'static>(&self, exchange: &Exchange<M>) -> bool {
        let Some(bell) = self.source.bell() else { return false };
        exchange.set_bell(move || bell.ring());
        true
    }

    fn gate(&self) -> &Gate {
        self.schema.gate()
    }

    /// Whether it is inside the gate.
    pub fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// Goes inside the gate, from outside, if it is open (I2).
    pub fn go_inside(&mut self) {
        debug_assert!(!self.is_inside, "once is enough");
        let thread = self.worker.index();
        self.is_inside = self.gate().try_enter(thread);
        if self.is_inside {
            self.kept_out_since = None;
            return;
        }
        self.gate().ask_to_go(); // who lingers is gone by the next try
        let since = *self.kept_out_since.get_or_insert_with(Ticks::now);
        if since.elapsed() > KEPT_OUT_MAX {
            self.gate().enter(thread);
            (self.is_inside, self.kept_out_since) = (true, None);
        }
    }

    /// Whether the gate was closed when this last wanted to go inside.
    pub fn is_kept_out(&self) -> bool {
        self.kept_out_since.is_some()
    }

    /// Goes outside, if it is inside and no call is on its way; nobody works on one any more
    /// either.
    pub fn go_outside(&mut self) {
        if self.is_inside && self.on_their_way == 0 {
            self.gate().leave(self.worker.index());
            self.is_inside = false;
        }
    }
}
