//! Recording: marks, compiled, and the hook that turns them into entries and granules.
//!
//! Role         marks are compiled once with the slice; while the slice runs, each mark that is
//!              reached encodes its keys and adds them to the plan
//!
//! Measured (callgrind, YCSB): a mark with one bigint key, kept and locked, takes 192 instructions;
//! it took 325 when parts went through a general sink and the key was hashed behind it.

use hotrow_base::datum::Datum;
use hotrow_base::key::{self, ArenaKey};
use hotrow_base::stack::deeper;

use super::footprint::{Granule, NO_ENTRY};
use super::mark::{GranuleCode, LockCode, MarkCode};
use super::program::PlanProgram;
use super::{Entry, KeyRange, NO_GRANULE, Plan, Watch};
use crate::access::RecordAccess;
use crate::bytecode::{KeyCode, KeyPartCode};
use crate::frame::{Frame, PackedBytes};
use crate::granule::{LockMode, Space, SpaceSeed};
use crate::interpret::{self, Hook, PlannedKey, pack};
use crate::invocation::Invocation;
use crate::outcome::Stop;
use crate::program::SlotId;

impl MarkCode {
    /// The mark's key, if it has one of integers, and that is the one granule to hold.
    pub(crate) fn single(&self) -> Option<SingleMark> {
        let (Some(code), [lock]) = (&self.entry, &*self.locks) else { return None };
        let LockCode { space, seed, mode, granule: GranuleCode::Entry } = *lock else {
            return None;
        };
        code.is_packed.then(|| SingleMark { code: code.clone(), seed, space, mode })
    }
}

/// A mark of one key that is the granule to hold.
#[derive(Clone, Debug)]
pub(crate) struct SingleMark {
    code: KeyCode,
    seed: SpaceSeed,
    /// the granule's lock space
    pub(crate) space: Space,
    /// its mode
    pub(crate) mode: LockMode,
}

/// Room for the key of a [`SingleMark`].
#[derive(Default)]
pub(crate) struct PackedKey(PackedBytes);

impl SingleMark {
    /// The key and its hash; none if no row can have it.
    #[inline]
    pub(crate) fn pack<'b>(
        &self,
        frame: &Frame,
        bytes: &'b mut PackedKey,
    ) -> Option<(&'b [u8], u64)> {
        pack(&self.code, &frame.machine, &mut bytes.0)
    }

    /// Identity of the lock on the granule whose key has this hash.
    #[inline]
    pub(crate) fn lock_id(&self, hash: u64) -> u64 {
        self.seed.lock_id(hash)
    }
}

/// Parts of the keys that are encoded in one step.
const PARTS_AT_ONCE: usize = 4;

/// The hook that turns marks into entries and granules.
pub(crate) struct Recorder<'a, W> {
    pub(crate) marks: &'a [MarkCode],
    pub(crate) plan: &'a mut Plan,
    pub(crate) watch: &'a W,
}

impl<W: Watch> Hook for Recorder<'_, W> {
    const PLANNED: bool = false;
    const FORGIVES: bool = true;

    fn next_key(&mut self, _: u16) -> Option<PlannedKey<'_>> {
        None
    }

    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        self.record(id, frame, |_, _, _| {});
        Ok(())
    }

    #[inline(never)]
    fn plan_text<A: RecordAccess>(
        &mut self,
        plan: &PlanProgram,
        invocation: &Invocation,
        frame: &mut Frame,
        access: &mut A,
    ) -> Result<(), Stop> {
        let entries = self.plan.entries.len();
        frame.begin(&plan.program, invocation);
        let mut inner = Recorder { marks: &plan.marks, plan: &mut *self.plan, watch: self.watch };
        let ran = deeper(|| interpret::run(&plan.program, 0, frame, access, &mut inner));
        // The text's sites are none of the procedure's: it is granules alone that are of use.
        self.plan.entries.truncate(entries);
        self.plan.footprint.forget_entries(entries as u32);
        match ran {
            Ok(Ok(()) | Err(Stop::Error)) | Err(_) => Ok(()), // it is short, and known to be
            Ok(Err(stop)) => Err(stop),
        }
    }
}

impl<W: Watch> Recorder<'_, W> {
    /// Records a mark; `granule` hears of each granule's position in the footprint, what it is one
    /// of, and its mode.
    #[inline]
    pub(crate) fn record(
        &mut self,
        id: u32,
        frame: &Frame,
        mut granule: impl FnMut(u32, Space, LockMode),
    ) {
        let marks = self.marks;
        let mark = &marks[id as usize];
        self.watch.mark();
        let entry =
            mark.entry.as_ref().and_then(|key| self.plan.record_entry(mark.site, key, frame));
        let number =
            if mark.entry.is_some() { self.plan.entries.len() as u32 - 1 } else { NO_ENTRY };
        for lock in &mark.locks {
            let key = match &lock.granule {
                GranuleCode::Entry => entry,
                GranuleCode::Parts(key) => self.plan.encode(key, frame),
                GranuleCode::Table => Some((KeyRange::default(), key::hash(&[]))),
            };
            // A granule with a NULL in its key holds no row and needs no lock.
            if let Some((key, hash)) = key {
                let (space, mode) = (lock.space, lock.mode);
                let id = lock.seed.lock_id(hash);
                self.watch.lock(id, mode);
                let at = self.plan.footprint.add(Granule {
                    key,
                    lock: id,
                    space,
                    mode,
                    first: number,
                    last: number,
                });
                if let GranuleCode::Entry = lock.granule {
                    self.plan.entries[number as usize].granule = at;
                }
                granule(at, space, mode);
            }
        }
    }
}

impl Plan {
    #[inline(always)]
    fn record_entry(
        &mut self,
        site: u16,
        code: &KeyCode,
        frame: &Frame,
    ) -> Option<(KeyRange, u64)> {
        let encoded = self.encode(code, frame);
        let (key, hash) = encoded.unwrap_or_default();
        self.entries.push(Entry { key, site, index: code.index, granule: NO_GRANULE, hash });
        encoded
    }

    /// Puts a key into the arena: its place and its hash; `None`, and nothing is put, if no row
    /// can have it.
    #[inline(always)]
    fn encode(&mut self, key: &KeyCode, frame: &Frame) -> Option<(KeyRange, u64)> {
        if !key.is_packed {
            return self.encode_general(key, frame);
        }
        let start = self.arena.len();
        let mut bytes = PackedBytes::default();
        let (packed, hash) = pack(key, &frame.machine, &mut bytes)?;
        let len = packed.len();
        // All bytes at once: a number of them that is known here needs no call.
        self.arena.extend_from_slice(&bytes);
        self.arena.truncate(start + len);
        Some((KeyRange::new(start, len), hash))
    }

    #[inline(never)]
    fn encode_general(&mut self, key: &KeyCode, frame: &Frame) -> Option<(KeyRange, u64)> {
        let start = self.arena.len();
        let mut sink = ArenaKey::new(&mut self.arena);
        let mut values = [Datum::NULL; PARTS_AT_ONCE];
        let slot = |part: &KeyPartCode| frame.slot(SlotId(part.slot));
        let encoded = if let Some(values) = values.get_mut(..key.parts.len()) {
            values.iter_mut().zip(&key.parts).for_each(|(value, part)| *value = slot(part));
            key.layout.encode(values, frame.heap(), &mut sink)
        } else {
            key.parts.iter().enumerate().try_for_each(|(at, part)| {
                key.layout.encode_part(at, slot(part), frame.heap(), &mut sink)
            })
        };
        if encoded.is_err() {
            self.arena.truncate(start);
            return None;
        }
        let len = self.arena.len() - start;
        Some((KeyRange::new(start, len), key::hash(&self.arena[start..])))
    }
}
