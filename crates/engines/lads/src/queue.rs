//! Queues: the actions of a batch on one granule, in the order in which they take effect.
//!
//! Role         the *action queue* of a record and the *latest-action map* of lads.txt, Algorithm
//!              1: each new action is hung behind the latest one of its granule, and waits for that
//!              alone
//! Invariants   I1 a queue is a list of **runs**; the actions of one run use the granule in
//!              compatible modes and may take effect side by side; those of neighbouring runs may
//!              not
//!              I2 in a queue the actions of a call stand together, in the order of their phases
//! Source       lads.txt 3.1. We differ: a queue's place in memory is found by the identity of the
//!              granule's lock and not by a pointer in the record, since actions also wait for
//!              granules in which there is no record (yet), and for whole tables

#[cfg(test)]
use hotrow_base::ids::IndexId;
use hotrow_base::numbering::Numbering;
use hotrow_base::pool::NONE;
use hotrow_transaction::granule::{self, LockMode, Space};
use hotrow_transaction::plan::Granule;

use crate::flat::Flat;

/// The fewest reads of a record that several workers do, since all of them meet for it. In debug
/// builds few, so that tests do it, too.
const READS_MIN: u64 = if cfg!(debug_assertions) { 3 } else { 256 };

/// The actions on one granule.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// identity of the granule's lock
    pub lock: u64,
    /// its lock space
    pub space: Space,
    /// the first bytes of its key
    pub head: u64,
    /// how many links it has
    pub weight: u32,
    /// its first link
    pub first: Place,
    last: Place,
    /// the strongest mode of the last run
    mode: LockMode,
    /// flat actions that all may take effect side by side: they read
    only_reads: bool,
}

impl Queue {
    /// Whether it is worth it to have all of so many workers read its record, in a graph of this
    /// weight: it has more than a worker's share.
    #[inline]
    pub fn is_for_all(&self, workers: u64, weight: u64) -> bool {
        let own = u64::from(self.weight);
        self.only_reads && own >= READS_MIN && own * workers > weight
    }
}

#[cfg(test)]
impl Queue {
    /// One of a certain weight that has no links.
    pub fn of_weight(lock: u64, head: u64, weight: u32) -> Self {
        let (space, mode) = (Space::Index(IndexId(0)), LockMode::IntentShared);
        let (first, last) = (Place::END, Place::END);
        Self { lock, space, head, weight, first, last, mode, only_reads: false }
    }
}

/// The place of one action in one queue. There is a link for each use of a batch, with its number.
/// Flat actions are links of their own.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// the action
    pub action: u32,
    /// the queue
    pub queue: u32,
    /// the next link of the queue
    pub next: Place,
    /// the first one of a run
    pub begins_run: bool,
}

/// Where a queue goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

/// What stands at a [`Place`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stands {
    /// nothing: the queue ends
    Nothing,
    /// the link with this number
    Link(u32),
    /// the flat action with this number
    Flat(u32),
}

const FLAT: u32 = 1 << 31;

impl Place {
    /// The end of a queue.
    pub const END: Self = Self(NONE);

    /// That of a link.
    #[inline]
    pub const fn of_link(number: u32) -> Self {
        Self(number)
    }

    /// That of a flat action.
    #[inline]
    pub const fn of_flat(number: u32) -> Self {
        Self(number | FLAT)
    }

    /// As a word.
    #[inline]
    pub const fn to_word(self) -> u32 {
        self.0
    }

    /// The place with that word.
    #[inline]
    pub const fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// Whether a flat action stands there.
    #[inline]
    pub const fn is_flat(self) -> bool {
        matches!(self.stands(), Stands::Flat(_))
    }

    /// What stands there.
    #[inline]
    pub const fn stands(self) -> Stands {
        match self.0 {
            NONE => Stands::Nothing,
            flat if flat & FLAT != 0 => Stands::Flat(flat & !FLAT),
            link => Stands::Link(link),
        }
    }
}

/// The queues of a batch.
#[derive(Default, Debug)]
pub struct Queues {
    /// in the order in which they were begun
    pub all: Vec<Queue>,
    /// by use
    pub links: Vec<Link>,
    numbers: Numbering,
}

impl Queues {
    /// Forgets all queues, keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.links.clear();
        self.numbers.clear();
    }

    /// Asks for the place at which the queue of a granule is looked for.
    #[inline]
    pub fn prefetch(&self, lock: u64) {
        self.numbers.prefetch(granule::lock_hash(lock) as usize);
    }

    /// Makes room for the links of so many uses in all.
    pub fn make_room(&mut self, uses: usize) {
        let none = Link { action: NONE, queue: NONE, next: Place::END, begins_run: false };
        self.links.resize(uses, none);
    }

    /// Hangs an action behind the latest one on a granule. `at`: the number of its use; `head`:
    /// the first bytes of the granule's key, asked for if it has no queue yet.
    #[inline]
    pub fn hang(
        &mut self,
        action: u32,
        at: u32,
        granule: &Granule,
        head: impl FnOnce() -> u64,
        flats: &mut [Flat],
    ) {
        let (queue, begins_run) = self.append(Place::of_link(at), granule, head, flats);
        self.links[at as usize] = Link { action, queue, next: Place::END, begins_run };
    }

    /// As [`Queues::hang`], for a flat action.
    #[inline]
    pub fn hang_flat(&mut self, at: u32, granule: &Granule, head: u64, flats: &mut [Flat]) {
        let (_, begins_run) = self.append(Place::of_flat(at), granule, || head, flats);
        flats[at as usize].begins_run = begins_run;
    }

    /// Appends a place to the queue of a granule: which that is, and whether it begins a run.
    #[inline]
    fn append(
        &mut self,
        at: Place,
        granule: &Granule,
        head: impl FnOnce() -> u64,
        flats: &mut [Flat],
    ) -> (u32, bool) {
        let Self { all, links, numbers } = self;
        let is = |number: u32| all[number as usize].lock == granule.lock;
        let next = all.len() as u32;
        match numbers.find_or_add(granule::lock_hash(granule.lock) as usize, next, is) {
            Some(number) => {
                let queue = &mut all[number as usize];
                let joins = queue.mode.compatible(granule.mode);
                queue.mode = if joins { queue.mode.join(granule.mode) } else { granule.mode };
                match queue.last.stands() {
                    Stands::Link(last) => links[last as usize].next = at,
                    Stands::Flat(last) => flats[last as usize].next = at,
                    Stands::Nothing => unreachable!("a queue is begun with its first link"),
                }
                queue.last = at;
                queue.weight += 1;
                queue.only_reads &= joins && at.is_flat();
                (number, !joins)
            }
            None => {
                let (&Granule { lock, space, mode, .. }, head) = (granule, head());
                let (first, last, only_reads) = (at, at, at.is_flat());
                all.push(Queue { lock, space, head, weight: 1, first, last, mode, only_reads });
                let begin = |number: u32| granule::lock_hash(all[number as usize].lock) as usize;
                numbers.keep_room(all.len(), begin);
                (next, true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hotrow_transaction::granule::LOCK_ID_STEP;

    use super::*;

    #[test]
    fn compatible_neighbours_share_a_run() {
        use LockMode::{Exclusive, IntentExclusive, IntentShared, Shared};
        let modes = [Shared, Shared, Exclusive, Exclusive, Shared, IntentShared, IntentExclusive];
        let mut queues = Queues::default();
        queues.clear();
        queues.make_room(2 * modes.len());
        for (at, &mode) in (0..).zip(&modes) {
            // Every other action is on a granule of its own.
            for (link, lock) in [(2 * at, 7), (2 * at + 1, 8 + u64::from(at))] {
                let lock = lock * LOCK_ID_STEP;
                let granule = Granule::of_lock(lock, Space::Index(IndexId(0)), mode);
                queues.hang(at, link, &granule, || 0, &mut []);
            }
        }
        assert_eq!(queues.all.len(), 1 + modes.len());
        let queue = queues.all[0];
        assert_eq!(queue.weight, modes.len() as u32);
        let (mut at, mut runs, mut seen) = (queue.first, Vec::new(), 0);
        while let Stands::Link(number) = at.stands() {
            let link = queues.links[number as usize];
            assert_eq!((link.action, link.queue), (seen, 0));
            runs.push(link.begins_run);
            (at, seen) = (link.next, seen + 1);
        }
        assert_eq!(runs, [true, false, true, true, true, false, true]);
    }
}
