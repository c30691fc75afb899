//! A text that is being built for a statement: charged before it grows, and interruptible.

use crate::interrupt::current::{self, Pace};
use crate::memory::Charge;
use crate::value::ValueError;
use std::fmt;

/// Up to here a text is doubled when it grows, beyond it grows by half.
const DOUBLED_BYTES: usize = 16 << 20;

/// See the module. Its charge ends when it is [finished](TextBuilder::finish): then the text is its
/// owner's to charge.
#[derive(Debug)]
pub struct TextBuilder {
    text: String,
    charge: Charge,
    pace: Pace,
    /// what it is, and how long it may be
    what: &'static str,
    bytes_max: usize,
}

impl TextBuilder {
    /// No text yet, of at most so many bytes.
    pub fn new(what: &'static str, bytes_max: usize) -> Self {
        let (charge, pace) = (current::charge(), Pace::default());
        Self { text: String::new(), charge, pace, what, bytes_max }
    }

    /// Appends a text.
    ///
    /// # Errors
    ///
    /// 54000 when it gets too long, 53200, and why its statement was interrupted.
    pub fn push(&mut self, text: &str) -> Result<(), ValueError> {
        self.reserve(text.len())?;
        self.pace.went(text.len() + 1)?;
        self.text.push_str(text);
        Ok(())
    }

    /// Makes room for a text of so many bytes.
    ///
    /// # Errors
    ///
    /// As [`TextBuilder::push`].
    pub fn reserve(&mut self, bytes: usize) -> Result<(), ValueError> {
        let (len, capacity) = (self.text.len().saturating_add(bytes), self.text.capacity());
        if len > self.bytes_max {
            return Err(ValueError::too_many_bytes(self.what, self.bytes_max));
        }
        if len <= capacity {
            return Ok(());
        }
        let more = if capacity < DOUBLED_BYTES { capacity } else { capacity / 2 };
        let generous = len.max(capacity + more);
        // While the old one is copied there are both.
        let wanted = match self.charge.add(generous) {
            Ok(()) => generous,
            Err(_) => {
                self.charge.add(len)?;
                len
            }
        };
        self.text.reserve_exact(wanted - self.text.len());
        self.charge.subtract(capacity);
        Ok(())
    }

    /// Appends what is written into the text itself, for which there is [room](Self::reserve).
    pub fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it is empty so far.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// What is refused is an error without reasons; values that are formatted are short.
impl fmt::Write for TextBuilder {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text).map_err(|_| fmt::Error)
    }
}
