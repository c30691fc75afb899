//! How many threads change an index at a time.
//!
//! Role         an index of a partition is changed by whoever holds the partition, and by nobody
//!              else: its writer then says "I am changing this node" by a plain store and not by a
//!              compare-exchange. Readers do as always: they check versions, so that anybody may
//!              look into the index at any time, as planning does before a partition is held
//! Invariants   I1 while there is one writer, changes come one after the other, each ordered after
//!              the one before by what the callers hold. Asserted in debug builds where two meet
//!              I2 all node memory is atomic words, so that breaking I1 gives wrong answers and
//!              lost entries, but never undefined behaviour
//! Source       H-Store (partitioned.txt 2.1) and Partitioned-store (orthrus.txt 4.3): unlatched
//!              indexes in each partition. We differ: there readers, too, must hold the partition

use hotrow_base::sync::facade::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether one thread at a time changes an index; see the module.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    one: AtomicBool,
    /// the one is at work
    #[cfg(debug_assertions)]
    busy: AtomicBool,
}

impl Writers {
    /// Says how it is from now on. Called while nobody changes the index.
    pub(crate) fn set_one(&self, one: bool) {
        self.one.store(one, Relaxed); // whoever changes the index next comes after the caller
    }

    /// Whether there is one at a time.
    #[inline(always)]
    pub(crate) fn is_one(&self) -> bool {
        self.one.load(Relaxed)
    }

    /// Around each change.
    #[inline(always)]
    pub(crate) fn change(&self) -> Change<'_> {
        #[cfg(debug_assertions)]
        if self.is_one() {
            assert!(!self.busy.swap(true, Relaxed), "I1: two writers in an index of one");
        }
        Change { _writers: self }
    }
}

/// A change that is being made.
pub(crate) struct Change<'a> {
    _writers: &'a Writers,
}

#[cfg(debug_assertions)]
impl Drop for Change<'_> {
    fn drop(&mut self) {
        if self._writers.is_one() {
            self._writers.busy.store(false, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Writers;

    #[test]
    fn many_writers_may_meet() {
        let writers = Writers::default();
        let _one = writers.change();
        let _other = writers.change();
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "two writers"))]
    fn two_writers_where_there_is_one_are_found() {
        let writers = Writers::default();
        writers.set_one(true);
        drop(writers.change());
        let _one = writers.change();
        let _other = writers.change();
    }
}
