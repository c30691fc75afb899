//! Footprints: the granules a call touches, each once.
//!
//! Role         part of every plan; engines that lock as they go keep what they hold in one
//! Invariants   I1 every granule at most once, in the strongest mode asked for

#[cfg(test)]
mod tests;

use hotrow_base::ids::TableId;
use hotrow_base::numbering::Numbering;

use super::KeyRange;
use crate::granule::{self, LockMode, LockRequest, Space};

/// A granule of the footprint.
#[derive(Clone, Copy, Debug)]
pub struct Granule {
    pub(super) key: KeyRange,
    /// identity of its lock
    pub lock: u64,
    /// its lock space
    pub space: Space,
    /// strongest mode asked for
    pub mode: LockMode,
    /// the plan's first entry whose access needs the granule, or [`NO_ENTRY`]: accesses without an
    /// entry ask for what they need
    pub first: u32,
    /// the last one; [`NO_ENTRY`] where accesses without an entry may need it, too
    pub last: u32,
}

/// The number of no entry.
pub const NO_ENTRY: u32 = u32::MAX;

/// The granules a call touches, each once.
#[derive(Default, Debug)]
pub struct Footprint {
    granules: Vec<Granule>,
    /// by lock identity
    numbers: Numbering,
    /// some granule is a table as a whole
    has_tables: bool,
}

impl Granule {
    /// One that is known by its lock alone.
    #[inline]
    pub fn of_lock(lock: u64, space: Space, mode: LockMode) -> Self {
        Self { key: KeyRange::default(), lock, space, mode, first: NO_ENTRY, last: NO_ENTRY }
    }

    /// The same one, in this mode.
    #[inline]
    pub(crate) const fn held_in(self, mode: LockMode) -> Self {
        Self { mode, ..self }
    }

    /// The table, if it is one as a whole.
    #[inline]
    pub fn table(&self) -> Option<TableId> {
        match self.space {
            Space::Table(table) => Some(table),
            Space::Index(_) => None,
        }
    }
}

impl Footprint {
    /// Empties the footprint, keeps the memory.
    pub fn clear(&mut self) {
        self.granules.clear();
        self.has_tables = false;
        self.numbers.clear();
    }

    /// The granules, in the order in which they were first planned.
    pub fn granules(&self) -> &[Granule] {
        &self.granules
    }

    /// The locks on granules of indexes to hold, in ascending order, each once.
    pub fn requests(&self, out: &mut Vec<LockRequest>) {
        out.clear();
        let request = |held: &Granule| LockRequest::new(held.lock, held.mode);
        if self.has_tables {
            let granules = self.granules.iter().filter(|held| held.table().is_none());
            out.extend(granules.map(request));
        } else {
            out.extend(self.granules.iter().map(request));
        }
        out.sort_unstable();
    }

    /// The tables to hold as wholes, or to announce finer locks in, in no order.
    #[inline]
    pub fn tables(&self) -> impl Iterator<Item = (TableId, LockMode)> + '_ {
        let granules = if self.has_tables { &self.granules[..] } else { &[] };
        granules.iter().filter_map(|held| Some((held.table()?, held.mode)))
    }

    /// The mode in which a granule is planned.
    #[inline]
    pub fn mode(&self, lock: u64) -> Option<LockMode> {
        self.find(lock).map(|at| self.granules[at].mode)
    }

    /// Whether a granule is planned in a mode that grants `mode`.
    #[inline]
    pub fn covers(&self, lock: u64, mode: LockMode) -> bool {
        self.mode(lock).is_some_and(|held| held.covers(mode))
    }

    #[inline]
    fn find(&self, lock: u64) -> Option<usize> {
        let is = |number: u32| self.granules[number as usize].lock == lock;
        self.numbers.find(granule::lock_hash(lock) as usize, is).map(|number| number as usize)
    }

    /// Adds a granule or strengthens it. For engines that lock as they go and keep what they hold
    /// in a footprint; such granules carry no key bytes.
    #[inline]
    pub fn join(&mut self, lock: u64, space: Space, mode: LockMode) {
        self.add(Granule::of_lock(lock, space, mode));
    }

    /// Granules that entries from this one on ask for may be asked for at any time: those entries
    /// are none any more.
    pub(super) fn forget_entries(&mut self, from: u32) {
        for granule in &mut self.granules {
            if granule.last >= from {
                granule.last = NO_ENTRY;
            }
            if granule.first >= from {
                granule.first = NO_ENTRY;
            }
        }
    }

    /// Adds a granule or strengthens its mode; its position.
    #[inline]
    pub(super) fn add(&mut self, granule: Granule) -> u32 {
        let Self { granules, numbers, has_tables } = self;
        let is = |number: u32| granules[number as usize].lock == granule.lock;
        let next = granules.len() as u32;
        match numbers.find_or_add(granule::lock_hash(granule.lock) as usize, next, is) {
            Some(number) => {
                let held = &mut granules[number as usize];
                held.mode = held.mode.join(granule.mode);
                held.first = held.first.min(granule.first);
                held.last = held.last.max(granule.last);
                number
            }
            None => {
                *has_tables |= granule.table().is_some();
                granules.push(granule);
                let begin =
                    |number: u32| granule::lock_hash(granules[number as usize].lock) as usize;
                numbers.keep_room(granules.len(), begin);
                next
            }
        }
    }
}
