//! Walking ranges entry by entry: through one part of an index, or through several side by side.
//!
//! Role         ranges whose keys and gaps are held as they are passed, and ranges that lie in more
//!              than one part of a split index and are visited in the order of their keys
//! Invariants   I1 side by side, each part's next entry is held before the first of them is
//!              visited: at most one key for each part is held that a scan that ends early would
//!              not have needed

use hotrow_base::sync::facade::atomic::AtomicU64;
use std::ops::ControlFlow;

use hotrow_storage::btree::{Direction, KeyRange, Walk, WalkBuffers};
use hotrow_storage::record::Record;
use hotrow_transaction::access::{Intent, RangeAt};
use hotrow_transaction::outcome::Stop;

use super::visit::live_record;
use super::{InPlace, Scratch};
use crate::lock_mode::Strength::{None as Free, Shared};
use crate::protection::Protection;
use crate::schema::{AccessPath, Part};

/// How what a walk passes is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    /// why rows are visited
    pub(super) intent: Intent,
    /// keys and gaps, as they are passed
    pub(super) keys: bool,
    /// rows, by their primary keys
    pub(super) rows: bool,
}

/// A walk through one part, at an entry that is not visited yet.
struct Head<'w, 'a> {
    part: &'w Part,
    walk: Walk<'w, 'w>,
    record: Record<'a>,
}

impl<'a, P: Protection> InPlace<'a, P> {
    /// Visits the live rows of a range that lies in these parts of a B+-tree, in its order.
    pub(super) fn walk_range(
        &mut self,
        range: &RangeAt<'_>,
        (path, parts): (&'a AccessPath, &'a [Part]),
        holding: Holding,
        mut visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let schema = self.schema;
        let protection = &mut self.protection;
        let Scratch { key: buffer, walk: buffers, .. } = &mut *self.scratch;
        let mut pass = |protection: &mut P, record: Record<'a>| {
            let row = record.row();
            if holding.rows {
                Self::hold_row(protection, schema, buffer, range.table, row, holding.intent)?;
            }
            Ok(visit(record, row))
        };
        if let [part] = parts {
            let mut walk = begin(part, range, buffers);
            while let Some(record) = Self::advance(protection, path, part, &mut walk, holding)? {
                if pass(protection, record)?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let mut buffers: Vec<_> = parts.iter().map(|_| WalkBuffers::default()).collect();
        let mut heads = Vec::with_capacity(parts.len());
        for (part, buffers) in parts.iter().zip(&mut buffers) {
            let mut walk = begin(part, range, buffers);
            if let Some(record) = Self::advance(protection, path, part, &mut walk, holding)? {
                heads.push(Head { part, walk, record });
            }
        }
        while let Some(at) = next_of(&heads, range) {
            let Head { part, walk, record } = &mut heads[at];
            if pass(protection, *record)?.is_break() {
                break;
            }
            match Self::advance(protection, path, part, walk, holding)? {
                Some(next) => *record = next,
                None => drop(heads.swap_remove(at)),
            }
        }
        Ok(())
    }

    /// Goes on to the next live row, and holds what lies on the way.
    fn advance(
        protection: &mut P,
        path: &'a AccessPath,
        part: &Part,
        walk: &mut Walk<'_, '_>,
        holding: Holding,
    ) -> Result<Option<Record<'a>>, Stop> {
        while let Some(step) = walk.step() {
            if holding.keys {
                let is_entry = step.entry.is_some();
                let key = if is_entry { path.key_strength(holding.intent) } else { Free };
                let gap = if step.gap { Shared } else { Free };
                protection.hold_key(part.keys.lock(walk.key()), key, gap)?;
                if is_entry {
                    let mode = Self::path_mode(path, holding.intent);
                    Self::hold_granule(protection, path, walk.key(), mode)?;
                }
            }
            if !walk.confirm() {
                continue;
            }
            let Some(id) = step.entry.and_then(live_record) else { continue };
            let record = path.records.record(id);
            if !record.is_ghost() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

fn begin<'w>(part: &'w Part, range: &RangeAt<'_>, buffers: &'w mut WalkBuffers) -> Walk<'w, 'w> {
    let tree = part.stored.as_btree().expect("only trees are walked");
    tree.walk(buffers, KeyRange { lower: range.lower, upper: range.upper }, direction(range))
}

pub(crate) fn direction(range: &RangeAt<'_>) -> Direction {
    if range.descending { Direction::Descending } else { Direction::Ascending }
}

/// Which walk stands at the next entry of them all.
fn next_of(heads: &[Head<'_, '_>], range: &RangeAt<'_>) -> Option<usize> {
    let key = |&at: &usize| heads[at].walk.at();
    match direction(range) {
        Direction::Ascending => (0..heads.len()).min_by(|a, b| key(a).cmp(key(b))),
        Direction::Descending => (0..heads.len()).max_by(|a, b| key(a).cmp(key(b))),
    }
}
