//! Frames that lie ready for what runs beside a call: expressions of a query's operators, the text
//! of an EXECUTE.
//!
//! Role         a new frame has slots for the largest program, a megabyte of zeros, which takes
//!              longer than most of what runs in it. Each thread keeps some
//! Invariants   I1 one that lies ready is charged to nobody, and obeys nobody
//! Bounds       [`KEPT_MAX`] a thread; their buffers as [`Frame::release`] leaves them

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use super::{Frame, RowsMax, STEPS_DEFAULT};

/// Frames that a thread keeps: of queries in functions of queries there are some at once.
const KEPT_MAX: usize = 4;

thread_local! {
    static READY: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// A frame that lies ready again when it is dropped.
#[derive(Debug)]
pub struct SpareFrame(Option<Frame>);

impl SpareFrame {
    /// One that lies ready, as a new one would be, or a new one.
    pub fn take() -> Self {
        let ready = READY.try_with(|ready| ready.borrow_mut().pop()).ok().flatten();
        Self(Some(ready.unwrap_or_default()))
    }
}

impl Drop for SpareFrame {
    fn drop(&mut self) {
        let Some(mut frame) = self.0.take() else { return };
        frame.lay_aside();
        // A thread that ends keeps none.
        let _ = READY.try_with(|ready| {
            let mut ready = ready.borrow_mut();
            if ready.len() < KEPT_MAX {
                ready.push(frame);
            }
        });
    }
}

impl Deref for SpareFrame {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for SpareFrame {
    fn deref_mut(&mut self) -> &mut Frame {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Frame {
    /// Makes it as a new one is, but for the memory that it has.
    fn lay_aside(&mut self) {
        self.set_interrupt(None);
        let machine = &mut self.machine;
        machine.forget();
        machine.protected.clear();
        machine.caught.clear();
        (machine.is_over, machine.rows_max) = (false, RowsMax::default());
        self.step_budget = STEPS_DEFAULT;
        self.running.clear();
        self.texts = None;
    }
}
