//! The plan of one call: its keys and its footprint, made before anything is executed.
//!
//! Role         filled by running a procedure's [`crate::slice`]; read by every engine that wants
//!              to know keys or granules first. Reused from call to call without allocation.
//! Invariants   I1 `entries` stand in the order in which execution reaches their sites
//!              I2 `footprint` holds every granule at most once, in the strongest mode asked for
//! Source       DESIGN section 1; orthrus.txt 3.2 (footprints known in advance, OLLP)

use hotrow_base::datum::Datum;
use hotrow_base::ids::IndexId;
use hotrow_base::key::{self, ArenaKey};

use crate::access::RecordAccess;
use crate::catalog::Catalog;
use crate::frame::Frame;
use crate::granule::{LockMode, Space};
use crate::interpret::{self, Hook, PlannedKey};
use crate::invocation::Invocation;
use crate::outcome::Stop;
use crate::slice::{KeyMark, LockMark, SiteMark};

/// A range of the plan's key arena.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyRange {
    start: u32,
    len: u32,
}

/// A key that planning computed and execution will use.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    key: KeyRange,
    /// the access site
    pub site: u16,
    /// the index
    pub index: IndexId,
    /// [`key::hash`] of the key
    pub hash: u64,
}

/// A granule of the footprint.
#[derive(Clone, Copy, Debug)]
pub struct Granule {
    key: KeyRange,
    /// identity of its lock
    pub lock: u64,
    /// its lock space
    pub space: Space,
    /// strongest mode asked for
    pub mode: LockMode,
}

/// Everything known about a call before it runs.
#[derive(Default, Debug)]
pub struct Plan {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    footprint: Footprint,
}

/// The granules a call touches, each once.
#[derive(Default, Debug)]
pub struct Footprint {
    granules: Vec<Granule>,
    /// open addressing over lock identities; a cell counts only when its round is the current one
    cells: Vec<Cell>,
    round: u32,
}

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    round: u32,
    granule: u32,
}

const CELLS_MIN: usize = 64;

/// Parts of the keys that are encoded in one step.
const PARTS_AT_ONCE: usize = 4;

impl Footprint {
    /// Empties the footprint, keeps the memory.
    pub fn clear(&mut self) {
        self.granules.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 || self.cells.is_empty() {
            self.cells.clear();
            self.cells.resize(CELLS_MIN, Cell::default());
            self.round = 1;
        }
    }

    /// The granules, in the order in which they were first planned.
    pub fn granules(&self) -> &[Granule] {
        &self.granules
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
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = lock as usize & mask;
        loop {
            let cell = *self.cells.get(at)?;
            if cell.round != self.round {
                return None;
            }
            if self.granules[cell.granule as usize].lock == lock {
                return Some(cell.granule as usize);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a granule or strengthens it. For engines that lock as they go and keep what they hold
    /// in a footprint; such granules carry no key bytes.
    #[inline]
    pub fn join(&mut self, lock: u64, space: Space, mode: LockMode) {
        self.add(Granule { key: KeyRange::default(), lock, space, mode });
    }

    /// Adds a granule or strengthens its mode; its position.
    fn add(&mut self, granule: Granule) -> u32 {
        let number = self.granules.len();
        let mask = self.cells.len().wrapping_sub(1);
        let mut at = granule.lock as usize & mask;
        while let Some(cell) = self.cells.get_mut(at) {
            if cell.round != self.round {
                *cell = Cell { round: self.round, granule: number as u32 };
                break;
            }
            let held = &mut self.granules[cell.granule as usize];
            if held.lock == granule.lock {
                held.mode = held.mode.join(granule.mode);
                return cell.granule;
            }
            at = (at + 1) & mask;
        }
        self.granules.push(granule);
        if self.granules.len() * 2 > self.cells.len() {
            self.grow();
        }
        number as u32
    }

    fn place(&mut self, granule: usize) {
        let mask = self.cells.len() - 1;
        let mut at = self.granules[granule].lock as usize & mask;
        while self.cells[at].round == self.round {
            at = (at + 1) & mask;
        }
        self.cells[at] = Cell { round: self.round, granule: granule as u32 };
    }

    #[cold]
    fn grow(&mut self) {
        let cells = self.cells.len() * 2;
        self.cells.clear();
        self.cells.resize(cells, Cell::default());
        self.round = 1;
        (0..self.granules.len()).for_each(|granule| self.place(granule));
    }
}

impl Plan {
    /// Plans a call: runs `slice` (lowered, with `marks`) over it. `access` serves the trial
    /// reads. Errors of expressions in the slice are not the call's: their values are NULL, what
    /// they would have decided is left out of the plan, and execution meets the same error, or
    /// none. Only a spent step budget ends planning early.
    pub fn make<A: RecordAccess>(
        &mut self,
        catalog: &Catalog,
        slice: &crate::compiled::PlanProgram,
        invocation: &Invocation,
        frame: &mut Frame,
        access: &mut A,
    ) -> Result<(), Stop> {
        self.clear();
        frame.begin(&slice.program, invocation);
        let mut recorder = Recorder { catalog, marks: &slice.marks, plan: self };
        match interpret::run(&slice.program, 0, frame, access, &mut recorder) {
            Ok(()) | Err(Stop::Error) => Ok(()),
            Err(stop) => Err(stop),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.arena.clear();
        self.entries.clear();
        self.footprint.clear();
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

    #[inline]
    fn bytes(&self, range: KeyRange) -> &[u8] {
        &self.arena[range.start as usize..(range.start + range.len) as usize]
    }

    /// A hook that hands the planned keys to an execution of the whole program.
    pub fn keys(&self) -> PlannedKeys<'_> {
        PlannedKeys { plan: self, next: 0 }
    }
}

/// Hands out planned keys in order.
#[derive(Debug)]
pub struct PlannedKeys<'a> {
    plan: &'a Plan,
    next: usize,
}

impl Hook for PlannedKeys<'_> {
    const PLANNED: bool = true;

    #[inline]
    fn next_key(&mut self, site: u16) -> Option<PlannedKey<'_>> {
        let at = self.next;
        let entry = self.plan.entries.get(at)?;
        if entry.site != site {
            debug_assert!(false, "site {site} executed where {} was planned", entry.site);
            return None;
        }
        self.next = at + 1;
        Some(PlannedKey { key: self.plan.key(entry), hash: entry.hash, entry: at as u32 })
    }

    fn mark(&mut self, _: u32, _: &mut Frame) -> Result<(), Stop> {
        Ok(())
    }
}

/// The hook that turns marks into entries and granules.
pub(crate) struct Recorder<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) marks: &'a [SiteMark],
    pub(crate) plan: &'a mut Plan,
}

impl Hook for Recorder<'_> {
    const PLANNED: bool = false;
    const FORGIVES: bool = true;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        self.record(id, frame, |_, _| {});
        Ok(())
    }
}

impl Recorder<'_> {
    /// Records a mark; `granule` hears of each granule's position in the footprint and its mode.
    #[inline]
    pub(crate) fn record(
        &mut self,
        id: u32,
        frame: &Frame,
        mut granule: impl FnMut(u32, LockMode),
    ) {
        let marks = self.marks;
        let mark = &marks[id as usize];
        let key = mark.key.as_ref().map(|key| self.record_key(mark.site, key, frame));
        for lock in &mark.locks {
            let recorded = match key {
                Some((key, hash)) if lock.is_key => (key.len > 0).then(|| {
                    let id = lock.space.lock_id_hashed(hash);
                    self.record_lock(lock, id, key)
                }),
                _ => self.record_granule(lock, frame),
            };
            if let Some(at) = recorded {
                granule(at, lock.mode);
            }
        }
    }

    fn record_key(&mut self, site: u16, mark: &KeyMark, frame: &Frame) -> (KeyRange, u64) {
        let key = self.encode(mark.index, &mark.parts, frame).unwrap_or_default();
        let hash = key::hash(self.plan.bytes(key));
        self.plan.entries.push(Entry { key, site, index: mark.index, hash });
        (key, hash)
    }

    /// A granule with a NULL in its key holds no row and needs no lock.
    fn record_granule(&mut self, lock: &LockMark, frame: &Frame) -> Option<u32> {
        let key = match lock.space {
            Space::Index(index) => self.encode(index, &lock.parts, frame),
            Space::Table(_) => Some(KeyRange::default()),
        };
        key.map(|key| {
            let id = lock.space.lock_id(self.plan.bytes(key));
            self.record_lock(lock, id, key)
        })
    }

    fn record_lock(&mut self, mark: &LockMark, lock: u64, key: KeyRange) -> u32 {
        let granule = Granule { key, lock, space: mark.space, mode: mark.mode };
        self.plan.footprint.add(granule)
    }

    fn encode(
        &mut self,
        index: IndexId,
        parts: &[crate::program::SlotId],
        frame: &Frame,
    ) -> Option<KeyRange> {
        let layout = &self.catalog.index(index).key;
        let start = self.plan.arena.len();
        let mut sink = ArenaKey::new(&mut self.plan.arena);
        let mut values = [Datum::NULL; PARTS_AT_ONCE];
        let encoded = if let Some(values) = values.get_mut(..parts.len()) {
            for (value, slot) in values.iter_mut().zip(parts) {
                *value = frame.slot(*slot);
            }
            layout.encode(values, frame.heap(), &mut sink)
        } else {
            parts.iter().enumerate().try_for_each(|(part, slot)| {
                layout.encode_part(part, frame.slot(*slot), frame.heap(), &mut sink)
            })
        };
        if encoded.is_err() {
            self.plan.arena.truncate(start);
            return None;
        }
        Some(KeyRange { start: start as u32, len: (self.plan.arena.len() - start) as u32 })
    }
}
