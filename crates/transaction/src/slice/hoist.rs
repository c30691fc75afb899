//! Marks that say the same at each turn of a loop are set once, before it.
//!
//! NewOrder inserts ten order lines into one granule: the granule needs one mark, not ten. A loop
//! that does not run at all then holds a granule that it does not touch, which costs a lock and
//! harms nobody. Marks of sites with trial reads stay right before these (slice, I4).

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::SiteMark;
use crate::program::{SlotId, Statement, StatementKind};
use crate::walk;

/// Moves marks without a key of their own out of loops that do not change their granules.
pub(super) fn hoist_marks(block: &mut Vec<Statement>, marks: &[SiteMark]) {
    let mut at = 0;
    while at < block.len() {
        for nested in walk::blocks_mut(&mut block[at]) {
            hoist_marks(nested, marks);
        }
        let hoisted = take_invariant(&mut block[at], marks);
        let count = hoisted.len();
        block.splice(at..at, hoisted);
        at += count + 1;
    }
}

/// Takes the marks out of a loop's body that are the same at each turn.
fn take_invariant(statement: &mut Statement, marks: &[SiteMark]) -> Vec<Statement> {
    let mut changed = HashSet::new();
    walk::statements(std::slice::from_ref(statement), &mut |inner| {
        walk::defines(inner, &mut |slot| {
            changed.insert(slot);
        });
    });
    let (StatementKind::ForRange { body, .. }
    | StatementKind::ForEach { body, .. }
    | StatementKind::Loop { body }) = &mut statement.kind
    else {
        return Vec::new();
    };
    let is_invariant = |inner: &mut Statement| match inner.kind {
        StatementKind::Mark(id) => {
            // Marks that the procedure had before it was cut are somebody else's.
            marks.get(id as usize).is_some_and(|mark| is_fixed(mark, &changed))
        }
        _ => false,
    };
    body.extract_if(.., is_invariant).collect()
}

fn is_fixed(mark: &SiteMark, changed: &HashSet<SlotId>) -> bool {
    let mut parts = mark.locks.iter().flat_map(|lock| &lock.parts);
    mark.key.is_none() && !mark.is_read && parts.all(|slot| !changed.contains(slot))
}
