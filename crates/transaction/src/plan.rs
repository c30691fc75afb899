//! The plan of one call: its keys and its footprint, made before anything is executed.
//!
//! Role         filled by running a procedure's [`crate::slice`]; read by every engine that wants
//!              to know keys or granules first. Reused from call to call without allocation.
//! Invariants   I1 `entries` stand in the order in which execution reaches their sites
//!              I2 `footprint` holds every granule at most once, in the strongest mode asked for
//! Source       DESIGN section 1; orthrus.txt 3.2 (footprints known in advance, OLLP)

mod footprint;
mod mark;
pub(crate) mod program;
mod record;

pub use footprint::{Footprint, Granule, NO_ENTRY};
pub use mark::MarkCode;
pub use program::PlanProgram;
pub(crate) use program::mark_unchanged;
pub(crate) use record::{PackedKey, Recorder, SingleMark};

use std::ops::Range;

use hotrow_base::ids::IndexId;

use crate::access::RecordAccess;
use crate::frame::Frame;
use crate::granule::LockMode;
use crate::interpret::{self, Hook, PlannedKey};
use crate::invocation::Invocation;
use crate::outcome::Stop;

/// A range of the plan's key arena.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyRange {
    start: u32,
    len: u32,
}

impl KeyRange {
    #[inline]
    fn new(start: usize, len: usize) -> Self {
        Self { start: start as u32, len: len as u32 }
    }
}

/// A key that planning computed and execution will use.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    key: KeyRange,
    /// the access site
    pub site: u16,
    /// the index
    pub index: IndexId,
    /// where the footprint has the granule that is this key, or [`NO_GRANULE`]
    pub granule: u32,
    /// [`key::hash`] of the key
    pub hash: u64,
}

/// The place of no granule.
pub const NO_GRANULE: u32 = u32::MAX;

/// Who looks on while a plan is made. Together with what the trial reads ask for it tells whether a
/// read came behind a write: a mark stands right before the trial reads of its own site.
pub trait Watch {
    /// A site is reached; the locks that follow are its own.
    fn mark(&self);

    /// The site holds this lock in this mode.
    fn lock(&self, lock: u64, mode: LockMode);
}

/// Nobody.
impl Watch for () {
    #[inline(always)]
    fn mark(&self) {}

    #[inline(always)]
    fn lock(&self, _: u64, _: LockMode) {}
}

/// Everything known about a call before it runs.
#[derive(Default, Debug)]
pub struct Plan {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    footprint: Footprint,
    is_short: bool,
}

impl Plan {
    /// Plans a call: runs `slice` over it. `access` serves the trial reads. Errors of expressions
    /// in the slice are not the call's: their values are NULL, what they would have decided is left
    /// out of the plan, and execution meets the same error, or none. Only a spent step budget ends
    /// planning early.
    pub fn make<A: RecordAccess>(
        &mut self,
        slice: &PlanProgram,
        invocation: &Invocation,
        frame: &mut Frame,
        access: &mut A,
    ) -> Result<(), Stop> {
        self.make_watched(slice, invocation, frame, access, &())
    }

    /// As [`Plan::make`], with somebody looking on.
    pub fn make_watched<A: RecordAccess>(
        &mut self,
        slice: &PlanProgram,
        invocation: &Invocation,
        frame: &mut Frame,
        access: &mut A,
        watch: &impl Watch,
    ) -> Result<(), Stop> {
        self.clear();
        let is_whole = self.add(slice, invocation, frame, access, watch)?;
        self.is_short = !is_whole || slice.may_miss;
        Ok(())
    }

    /// As [`Plan::make_watched`], behind what is planned of other calls, when [this one has
    /// begun](Plan::begin_call); whether planning came to its end within the steps that a call may
    /// take.
    pub(crate) fn add<A: RecordAccess>(
        &mut self,
        slice: &PlanProgram,
        invocation: &Invocation,
        frame: &mut Frame,
        access: &mut A,
        watch: &impl Watch,
    ) -> Result<bool, Stop> {
        frame.begin(&slice.program, invocation);
        let mut recorder = Recorder { marks: &slice.marks, plan: self, watch };
        match interpret::run(&slice.program, 0, frame, access, &mut recorder) {
            Ok(()) => Ok(true),
            Err(Stop::Error) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.arena.clear();
        self.entries.clear();
        self.footprint.clear();
        self.is_short = false;
    }

    /// Whether planning came to no end within its steps, or took it that no error comes: what it
    /// has found is the call's, and is perhaps not all. Another plan would not be better.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Keys and granules of another call come next: keys go behind those that are there, and the
    /// footprint is empty.
    pub(crate) fn begin_call(&mut self) {
        self.footprint.clear();
    }

    /// How many entries, and bytes of keys, there are.
    pub(crate) fn end(&self) -> (usize, usize) {
        (self.entries.len(), self.arena.len())
    }

    /// Forgets entries, and bytes of keys, that came later.
    pub(crate) fn cut_back(&mut self, (entries, bytes): (usize, usize)) {
        self.entries.truncate(entries);
        self.arena.truncate(bytes);
    }

    /// The planned keys, in execution order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The granules to hold.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// The bytes of an entry's key; empty when the key has a NULL and matches nothing.
    #[inline]
    pub fn key(&self, entry: &Entry) -> &[u8] {
        self.bytes(entry.key)
    }

    /// The key bytes of a granule, for display.
    pub fn granule_key(&self, granule: &Granule) -> &[u8] {
        self.bytes(granule.key)
    }

    /// The first bytes of a granule's key, as a number that ascends with keys.
    pub fn head(&self, granule: &Granule) -> u64 {
        let key = self.granule_key(granule);
        let mut head = [0; 8];
        let bytes = key.len().min(head.len());
        head[..bytes].copy_from_slice(&key[..bytes]);
        u64::from_be_bytes(head)
    }

    #[inline]
    fn bytes(&self, range: KeyRange) -> &[u8] {
        &self.arena[range.start as usize..(range.start + range.len) as usize]
    }

    /// Where the entries of a site stand whose turns follow one another; empty where it has none.
    pub fn entries_of(&self, site: u16) -> Range<usize> {
        let is_its = |entry: &Entry| entry.site == site;
        let start = self.entries.iter().position(is_its).unwrap_or(0);
        let count = self.entries[start..].iter().take_while(|entry| is_its(entry)).count();
        start..start + count
    }

    /// Puts `entries` into another order: the one that was `order[i]`-th of them comes `i`-th.
    pub fn rearrange(&mut self, entries: Range<usize>, order: impl Iterator<Item = usize>) {
        let (first, end) = (entries.start, self.entries.len());
        self.entries.reserve(entries.len());
        order.for_each(|from| self.entries.push(self.entries[first + from]));
        self.entries.copy_within(end.., first);
        self.entries.truncate(end);
    }

    /// A hook that hands the planned keys to an execution of the whole program.
    pub fn keys(&self) -> PlannedKeys<'_> {
        self.keys_among(0..self.entries.len())
    }

    /// As [`Plan::keys`], of those that stand there; they are numbered from the first of them.
    #[inline]
    pub fn keys_among(&self, entries: Range<usize>) -> PlannedKeys<'_> {
        PlannedKeys { plan: self, first: entries.start, next: entries.start, end: entries.end }
    }
}

/// Hands out planned keys in order.
#[derive(Debug)]
pub struct PlannedKeys<'a> {
    plan: &'a Plan,
    first: usize,
    next: usize,
    end: usize,
}

impl Hook for PlannedKeys<'_> {
    const PLANNED: bool = true;

    #[inline]
    fn next_key(&mut self, site: u16) -> Option<PlannedKey<'_>> {
        let at = self.next;
        if at == self.end {
            return None;
        }
        let entry = &self.plan.entries[at];
        if entry.site != site {
            debug_assert!(false, "site {site} executed where {} was planned", entry.site);
            return None;
        }
        self.next = at + 1;
        let number = (at - self.first) as u32;
        Some(PlannedKey { key: self.plan.key(entry), hash: entry.hash, entry: number })
    }

    fn mark(&mut self, _: u32, _: &mut Frame) -> Result<(), Stop> {
        Ok(())
    }
}
