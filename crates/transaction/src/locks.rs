//! The locks of one access site, as templates over expressions.
//!
//! Role         one description of "what must be held here", used by granule-planning slices,
//!              by EXPLAIN and (by the same rule at run time) by engines that lock as they go
//! Invariants   I1 to I4 of [`crate::granule`]

use hotrow_base::ids::{IndexId, TableId};

use crate::access::Intent;
use crate::catalog::Catalog;
use crate::granule::{self, Granules, LockMode, Space};
use crate::program::{Access, Effect, Expr, Insert};
use crate::walk::Site;

/// A lock to take: the granule whose key parts these expressions give.
#[derive(Clone, Debug)]
pub struct LockTemplate<'a> {
    /// lock space
    pub space: Space,
    /// the granule's key parts; empty for a table or a whole index
    pub parts: Vec<&'a Expr>,
    /// mode
    pub mode: LockMode,
}

/// What must be held at one site.
#[derive(Clone, Default, Debug)]
pub struct SiteLocks<'a> {
    /// locks whose granules the site's own expressions give
    pub given: Vec<LockTemplate<'a>>,
    /// every row visited also needs its primary granule in this mode, and only the row itself
    /// tells which that is
    pub rows: Option<(IndexId, LockMode)>,
}

/// The locks a site needs.
pub fn site_locks<'a>(catalog: &Catalog, granules: &Granules, site: &Site<'a>) -> SiteLocks<'a> {
    match site {
        Site::Access(access) => access_locks(catalog, granules, access),
        Site::Insert(insert) => insert_locks(catalog, granules, insert),
    }
}

/// Why an access reaches its rows.
pub fn intent(access: &Access) -> Intent {
    match access.effect {
        Effect::Read(_) => Intent::Read,
        Effect::Update { .. } | Effect::Delete { .. } => Intent::Write,
    }
}

/// The granule mode for an intent.
pub const fn granule_mode(intent: Intent) -> LockMode {
    match intent {
        Intent::Read => LockMode::Shared,
        Intent::Write => LockMode::Exclusive,
    }
}

/// The table mode that announces granule locks for an intent.
pub const fn intent_mode(intent: Intent) -> LockMode {
    match intent {
        Intent::Read => LockMode::IntentShared,
        Intent::Write => LockMode::IntentExclusive,
    }
}

fn whole_table<'a>(table: TableId, mode: LockMode) -> LockTemplate<'a> {
    LockTemplate { space: Space::Table(table), parts: Vec::new(), mode }
}

fn access_locks<'a>(catalog: &Catalog, granules: &Granules, access: &'a Access) -> SiteLocks<'a> {
    let mut locks = SiteLocks::default();
    let (table, intent) = (access.table, intent(access));
    let (usage, mode) = (granules.table(table), granule_mode(intent));
    if !usage.is_written() || granules.reads_unchanged(catalog, access) {
        return locks;
    }
    let Some(index) = granule::path_index(access).filter(|_| !granule::is_coarse(access)) else {
        locks.given.push(whole_table(table, mode));
        // An access that binds nothing makes each index whose entries it moves one granule.
        for (moved, _) in granule::moved_entries(catalog, access) {
            locks.given.extend(bound_granule(catalog, granules, access, moved, mode));
        }
        return locks;
    };
    if usage.coarse {
        locks.given.push(whole_table(table, intent_mode(intent)));
    }
    let primary = catalog.table(table).primary;
    let moved = granule::moved_entries(catalog, access);
    let path_moves = moved.iter().any(|(other, _)| *other == index);
    let path_mode = if primary == Some(index) || path_moves { mode } else { LockMode::Shared };
    if path_moves || granules.needs_granules(catalog, index) {
        locks.given.extend(bound_granule(catalog, granules, access, index, path_mode));
    }
    if let Some(primary) = primary
        && primary != index
        && !granule::is_covered(catalog, access)
    {
        match bound_granule(catalog, granules, access, primary, mode) {
            Some(template) => locks.given.push(template),
            None => locks.rows = Some((primary, mode)),
        }
    }
    for (moved_index, changes) in moved {
        if moved_index != index {
            locks.given.extend(bound_granule(catalog, granules, access, moved_index, mode));
        }
        let new: Option<Vec<_>> = granule_columns(catalog, granules, moved_index)
            .map(|column| {
                let changed = changes.iter().find(|(c, _)| *c == column).map(|(_, e)| *e);
                changed.or_else(|| granule::bound_column(catalog, access, column))
            })
            .collect();
        if !changes.is_empty()
            && let Some(parts) = new
        {
            locks.given.push(LockTemplate { space: Space::Index(moved_index), parts, mode });
        }
    }
    locks
}

fn insert_locks<'a>(catalog: &Catalog, granules: &Granules, insert: &'a Insert) -> SiteLocks<'a> {
    let mut locks = SiteLocks::default();
    if granules.table(insert.table).coarse {
        locks.given.push(whole_table(insert.table, LockMode::IntentExclusive));
    }
    for index in catalog.table(insert.table).indexes() {
        let parts = granule_columns(catalog, granules, index)
            .map(|column| &insert.values[column.index()])
            .collect();
        let space = Space::Index(index);
        locks.given.push(LockTemplate { space, parts, mode: LockMode::Exclusive });
    }
    locks
}

fn granule_columns<'c>(
    catalog: &'c Catalog,
    granules: &Granules,
    index: IndexId,
) -> impl Iterator<Item = hotrow_base::ids::ColumnId> + 'c {
    catalog.index(index).columns.iter().copied().take(granules.parts(index))
}

/// The granule of `index` that an access's path binds by equality, if it binds all of it.
fn bound_granule<'a>(
    catalog: &Catalog,
    granules: &Granules,
    access: &'a Access,
    index: IndexId,
    mode: LockMode,
) -> Option<LockTemplate<'a>> {
    let parts: Option<Vec<_>> = granule_columns(catalog, granules, index)
        .map(|column| granule::bound_column(catalog, access, column))
        .collect();
    parts.map(|parts| LockTemplate { space: Space::Index(index), parts, mode })
}
