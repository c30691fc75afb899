//! Marks of a slice, compiled: which key a plan keeps, and which granules it holds.

use hotrow_base::ids::IndexId;

use crate::bytecode::{Convert, KeyCode, KeyPartCode};
use crate::catalog::Catalog;
use crate::granule::{LockMode, Space, SpaceSeed};
use crate::lower::{key_code, packed_bits};
use crate::program::SlotId;
use crate::slice::{LockMark, SiteMark};

/// A mark, ready to run.
#[derive(Clone, Debug)]
pub struct MarkCode {
    pub(super) site: u16,
    /// the key to keep in the plan
    pub(super) entry: Option<KeyCode>,
    pub(super) locks: Box<[LockCode]>,
}

/// A granule to hold.
#[derive(Clone, Debug)]
pub(super) struct LockCode {
    pub(super) space: Space,
    pub(super) seed: SpaceSeed,
    pub(super) mode: LockMode,
    pub(super) granule: GranuleCode,
}

/// Where a granule's key comes from.
#[derive(Clone, Debug)]
pub(super) enum GranuleCode {
    /// it is the mark's entry
    Entry,
    /// it has parts of its own
    Parts(KeyCode),
    /// there is none: a table
    Table,
}

impl MarkCode {
    /// Compiles a mark.
    pub(crate) fn new(catalog: &Catalog, mark: &SiteMark) -> Self {
        let entry = mark.key.as_ref().map(|key| slots_code(catalog, key.index, &key.parts));
        let granule = |lock: &LockMark| match lock.space {
            Space::Index(_) if lock.is_key => GranuleCode::Entry,
            Space::Index(index) => GranuleCode::Parts(slots_code(catalog, index, &lock.parts)),
            Space::Table(_) => GranuleCode::Table,
        };
        let code = |lock: &LockMark| {
            debug_assert!(entry.is_some() || !lock.is_key, "a granule is a key that is kept");
            let (space, mode) = (lock.space, lock.mode);
            LockCode { space, seed: space.seed(), mode, granule: granule(lock) }
        };
        Self { site: mark.site, locks: mark.locks.iter().map(code).collect(), entry }
    }
}

/// The code of a key whose parts stand in slots, in their columns' types.
fn slots_code(catalog: &Catalog, index: IndexId, slots: &[SlotId]) -> KeyCode {
    let index = catalog.index(index);
    let part = |(slot, part): (&SlotId, _)| KeyPartCode {
        slot: slot.0,
        bits: packed_bits(part),
        convert: Convert::Same,
    };
    let parts = slots.iter().zip(index.key.parts().iter().copied()).map(part).collect();
    // Locks are known by their keys' hashes, whatever the index is.
    KeyCode { is_hashed: true, ..key_code(index, parts) }
}
