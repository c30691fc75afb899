//! What a transaction holds: locks by identity, each once, in the strongest mode asked for.
//!
//! Role         kept by transactions that lock as they go, so that what is held already costs no
//!              look at the lock table, and all of it can be released
//! Concurrency  none: one owner

use hotrow_base::numbering::Numbering;
use hotrow_engine::lock_mode::Mode;
use hotrow_transaction::granule;

/// See the module. Kept from transaction to transaction: after warm-up nothing is allocated.
#[derive(Debug)]
pub struct Held {
    locks: Vec<(u64, Mode)>,
    numbers: Numbering,
}

impl Default for Held {
    fn default() -> Self {
        let mut held = Self { locks: Vec::new(), numbers: Numbering::default() };
        held.clear();
        held
    }
}

impl Held {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.locks.clear();
        self.numbers.clear();
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// The locks, in the order in which they were first acquired.
    pub fn locks(&self) -> impl Iterator<Item = u64> + '_ {
        self.locks.iter().map(|(lock, _)| *lock)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.locks.len()
    }

    /// Of the locks behind the first `from`, forgets those that `keeps` does not want kept.
    pub fn keep(&mut self, from: usize, mut keeps: impl FnMut(u64, Mode) -> bool) {
        let Self { locks, numbers } = self;
        for (number, &(lock, _)) in locks.iter().enumerate().skip(from).rev() {
            numbers.take_back(begin(lock), number as u32);
        }
        let mut kept = from;
        for number in from..locks.len() {
            let (lock, mode) = locks[number];
            if keeps(lock, mode) {
                locks[kept] = (lock, mode);
                numbers.find_or_add(begin(lock), kept as u32, |_| false);
                kept += 1;
            }
        }
        locks.truncate(kept);
    }

    /// How a lock is held.
    #[inline]
    pub fn mode(&self, lock: u64) -> Option<Mode> {
        let is = |number: u32| self.locks[number as usize].0 == lock;
        self.numbers.find(begin(lock), is).map(|number| self.locks[number as usize].1)
    }

    /// Whether a lock is held in a mode that grants `mode`.
    #[inline]
    pub fn covers(&self, lock: u64, mode: Mode) -> bool {
        self.mode(lock).is_some_and(|held| held.covers(mode))
    }

    /// Notes that a lock is held in `mode`, besides as it is held already.
    pub fn join(&mut self, lock: u64, mode: Mode) {
        let Self { locks, numbers } = self;
        let is = |number: u32| locks[number as usize].0 == lock;
        match numbers.find_or_add(begin(lock), locks.len() as u32, is) {
            Some(number) => {
                let held = &mut locks[number as usize].1;
                *held = held.join(mode);
            }
            None => {
                locks.push((lock, mode));
                numbers.keep_room(locks.len(), |number| begin(locks[number as usize].0));
            }
        }
    }
}

/// Where the search for a lock begins.
fn begin(lock: u64) -> usize {
    granule::lock_hash(lock) as usize
}

#[cfg(test)]
mod tests {
    use hotrow_transaction::granule::LOCK_ID_STEP;

    use super::*;

    #[test]
    fn each_lock_is_held_once_in_the_strongest_mode() {
        let mut held = Held::default();
        for round in 0..3_u64 {
            for number in 0..200_u64 {
                // Few of the low bits differ, so that cells are fought for.
                let lock = LOCK_ID_STEP * ((number << 32) + number % 7);
                assert_eq!(held.mode(lock), None);
                held.join(lock, Mode::NS);
                assert!(held.covers(lock, Mode::NS) && !held.covers(lock, Mode::SN));
                if number % 2 == round % 2 {
                    held.join(lock, Mode::XN);
                    assert_eq!(held.mode(lock), Some(Mode::XS));
                }
            }
            assert_eq!(held.locks().count(), 200);
            held.clear();
            assert!(held.is_empty() && held.locks().next().is_none());
        }
    }

    #[test]
    fn what_is_not_kept_is_forgotten() {
        let mut held = Held::default();
        // Few of the low bits differ, so that cells are fought for.
        let lock = |number: u64| LOCK_ID_STEP * ((number << 32) + number % 7);
        for number in 0..100 {
            held.join(lock(number), if number % 3 == 0 { Mode::X } else { Mode::S });
        }
        held.keep(10, |_, mode| mode == Mode::X);
        let is_kept = |number: u64| number < 10 || number.is_multiple_of(3);
        assert_eq!(held.len(), (0..100).filter(|&number| is_kept(number)).count());
        for number in 0..100 {
            assert_eq!(held.mode(lock(number)).is_some(), is_kept(number), "{number}");
        }
        held.join(lock(11), Mode::NS);
        assert_eq!(held.mode(lock(11)), Some(Mode::NS));
    }
}
