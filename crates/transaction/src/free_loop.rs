//! Loops whose turns may come in any order.
//!
//! Role         found once per procedure. Engines that want the hottest rows last take the turns of
//!              such a loop in another order than its array has ([`FreeLoop`]), call by call
//! Invariants   I1 with the turns in another order, in which two turns in one granule keep theirs,
//!              a call that does not fail and finds all its rows leaves the same rows, the same
//!              slots that anybody reads later, and the same row count. One that fails may fail
//!              with another error: it is to be repeated in its own order
//! Source       DESIGN section 1: "within the dependencies, actions on cold granules run first and
//!              the hottest last"
//!
//! One form is known, that of a transaction on a list of rows:
//!
//! ```text
//! FOREACH slot IN ARRAY parameter LOOP
//!     UPDATE t SET ... WHERE key = (unique, one row per turn; moves no index entry)
//! END LOOP
//! ```

use crate::catalog::Catalog;
use crate::program::{
    Access, Consume, Effect, Elements, FIRST_PARAMETER, FOUND, Path, Procedure, ROW_COUNT, SlotId,
    Statement, StatementKind,
};
use crate::walk;

/// The array that the loop goes over, and the one access of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeLoop {
    /// the array parameter; nothing else in the procedure looks at it
    pub array: SlotId,
    /// the one access of a turn, which has a planned key
    pub site: u16,
}

impl FreeLoop {
    /// The procedure's first loop of this kind. `planned`: by site, whether plans have its keys.
    pub fn of(catalog: &Catalog, procedure: &Procedure, planned: &[bool]) -> Option<Self> {
        let mut site = 0;
        for statement in &procedure.body {
            if let Some(array) = free_array(catalog, procedure, statement)
                && planned[site]
            {
                return Some(Self { array, site: site as u16 });
            }
            site += walk::sites(std::slice::from_ref(statement)).len();
        }
        None
    }
}

fn free_array(catalog: &Catalog, procedure: &Procedure, whole: &Statement) -> Option<SlotId> {
    let StatementKind::ForEach { slot, elements: Elements::Array(array), body } = &whole.kind
    else {
        return None;
    };
    let [Statement { kind: StatementKind::Access(access), .. }] = &body[..] else { return None };
    let is_free = is_parameter(procedure, *array)
        && touches_its_row_only(catalog, access)
        && !sees_the_turn_before(access)
        && is_only_used_by(procedure, *array, whole)
        && is_only_used_by(procedure, *slot, whole);
    is_free.then_some(*array)
}

fn is_parameter(procedure: &Procedure, slot: SlotId) -> bool {
    (FIRST_PARAMETER..FIRST_PARAMETER + procedure.parameters).contains(&slot.0)
}

/// Whether turns with other keys neither see nor disturb what the access does: one row, none of
/// whose index entries moves.
fn touches_its_row_only(catalog: &Catalog, access: &Access) -> bool {
    let is_one_row = matches!(access.path, Path::Point { .. }) && access.filter.is_none();
    let Effect::Update { set, consume: Consume::Discard } = &access.effect else { return false };
    let indexes = catalog.table(access.table).indexes();
    let mut indexed = indexes.flat_map(|index| &catalog.index(index).entry_columns);
    is_one_row && !indexed.any(|column| set.iter().any(|(changed, _)| changed == column))
}

/// Whether an access reads what the access of another turn left in slots.
fn sees_the_turn_before(access: &Access) -> bool {
    let mut sees = false;
    walk::access_uses(access, &mut |slot| sees |= slot == FOUND || slot == ROW_COUNT);
    sees
}

/// Whether no statement but `user` and those in it reads or sets a slot.
fn is_only_used_by(procedure: &Procedure, slot: SlotId, user: &Statement) -> bool {
    let uses = |body: &[Statement]| {
        let mut count = 0_usize;
        walk::statements(body, &mut |statement| {
            walk::uses(statement, &mut |used| count += usize::from(used == slot));
            walk::defines(statement, &mut |set| count += usize::from(set == slot));
        });
        count
    };
    uses(&procedure.body) == uses(std::slice::from_ref(user))
}
