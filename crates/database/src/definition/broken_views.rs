//! Views that a definition would break.

use std::collections::BTreeSet;

use hotrow_engine::schema::Schema;
use hotrow_sql::{CatalogChange, broken_view};
use hotrow_transaction::catalog::{Catalog, local, query_name};
use hotrow_transaction::outcome::{SqlError, apart};

use super::{Sources, names_changed};
use crate::error::advised;
use crate::lookup::registered;

/// Fails where a view would not survive changes of the catalog, or does not compile itself.
pub(super) fn refuse_broken_views(
    schema: &Schema,
    catalog: &Catalog,
    sources: &Sources,
    changes: &[CatalogChange],
) -> Result<(), SqlError> {
    let mut own = BTreeSet::new();
    for change in changes {
        if let CatalogChange::SetView(view) = change {
            own.insert(view.qualified_name());
        }
    }
    let names = names_changed((&schema.catalog, catalog), changes);
    let concerned = &sources.mentions().views(names) | &own;
    match apart(|| broken_view(catalog, &registered(schema), &concerned))? {
        None => Ok(()),
        Some((view, error)) if own.contains(&view) => Err(error),
        Some((view, error)) => Err(needed_by_view(&view, error)),
    }
}

/// Fails where a view would not survive a change of procedures with these names.
pub(super) fn refuse_broken_view(
    next: &Schema,
    sources: &Sources,
    names: impl IntoIterator<Item = String>,
) -> Result<(), SqlError> {
    let concerned = sources.mentions().views(names);
    let broken = apart(|| broken_view(&next.catalog, &registered(next), &concerned))?;
    broken.map_or(Ok(()), |(view, error)| Err(needed_by_view(&view, error)))
}

/// 2BP01
fn needed_by_view(view: &str, error: SqlError) -> SqlError {
    let view = local(view);
    let view = view.strip_suffix(&query_name("")).unwrap_or(view);
    let message = format!("view \"{view}\" would no longer be what it is");
    let hint =
        "Drop the view first, and create it again afterwards; DROP ... CASCADE does the first.";
    let mut needed = advised(b"2BP01", message, hint);
    needed.detail = Some(error.message);
    needed
}
