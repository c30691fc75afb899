//! ALTER SCHEMA ... RENAME TO.
//!
//! Role         routines in the schema get its next name before theirs, keep their ids, owners,
//!              grants, comments and triggers, and all texts that tell the schema as a path, or
//!              before a name, are compiled again with its next name
//! Invariants   I1 what a string says stays as it is, as in PostgreSQL: a routine whose body names
//!                 the schema would not find it any more, and the schema is not renamed then

use std::collections::{BTreeMap, BTreeSet};

use hotrow_base::ids::ProcedureId;
use hotrow_engine::schema::{Schema, Trees};
use hotrow_sql::{CatalogChange, broken_view, renamed_in_definition};
use hotrow_transaction::catalog::{Catalog, Object, local, qualified, shown};
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::{Procedure, routine_name};

use super::{
    Becoming, Next, Sources, Texts, apply, compile_source, in_order, newly_lacking, triggers,
};
use crate::error::advised;
use crate::lookup::registered;

/// A routine as it is, and as it will be.
struct Renamed<'s> {
    before: &'s Procedure,
    name: String,
    text: String,
    has_changed: bool,
}

/// Gives a schema another name, which is the first of the changes.
///
/// # Errors
///
/// 2BP01 where something would not find what it names any more.
pub(super) fn rename_schema(
    schema: &Schema,
    sources: &Sources,
    mut changes: Vec<CatalogChange>,
    (from, to): (&str, &str),
) -> Result<Next, SqlError> {
    let routines = renamed(schema, sources, (from, to));
    let mut catalog = schema.catalog.clone();
    changes.iter().try_for_each(|change| apply(&mut catalog, change))?;
    let (mut trees, mut failed) = (Trees::new(), Vec::new());
    let ids: BTreeSet<ProcedureId> = routines.keys().copied().collect();
    // What triggers execute stands in whatever changes their tables: it comes first.
    let (functions, others): (BTreeSet<_>, BTreeSet<_>) =
        ids.into_iter().partition(|id| routines[id].before.trigger.is_some());
    for id in functions.iter().copied().chain(in_order(schema, others)) {
        let routine = &routines[&id];
        let before = routine.before;
        let becoming = Becoming { schema, trees: &trees, but: &routine.name };
        match compile_source((&catalog, &becoming), &routine.text) {
            Ok(tree) if tree.draws == before.draws => {
                if routine.has_changed {
                    let more = triggers::renamed(&catalog, &before.name, &tree);
                    more.iter().try_for_each(|change| apply(&mut catalog, change))?;
                    changes.extend(more);
                }
                trees.insert(id, Some(tree));
            }
            Ok(_) | Err(_) if before.is_statement() => {
                trees.insert(id, None); // whoever sends it finds out what is wrong with it now
            }
            Err(error) if error.is_refusal() => return Err(error),
            Ok(_) => failed.push((routine, "it would draw other numbers".to_owned())),
            Err(error) => failed.push((routine, error.message)),
        }
    }
    if !failed.is_empty() {
        return Err(needed(from, &failed));
    }
    for routine in routines.values().filter(|routine| routine.name != routine.before.name) {
        let object = |name: &str| Object::Function(name.into());
        catalog.move_object(&object(&routine.before.name), &object(&routine.name));
    }
    let mut texts: Texts =
        trees.iter().filter(|(_, t)| t.is_none()).map(|(id, _)| (*id, None)).collect();
    let changed = routines.into_iter().filter(|(_, routine)| routine.has_changed);
    texts.extend(changed.map(|(id, routine)| (id, Some(routine.text))));
    let mut next = schema.clone();
    let said = newly_lacking(schema, &trees);
    let unfilled = next.adopt(catalog, trees, &[])?;
    refuse_broken(&next.catalog, &next, from)?;
    Ok(Next::new(next, unfilled).with_changes(changes).with_texts(texts).saying(said))
}

/// All procedures, under the names and with the texts that they will have.
fn renamed<'s>(
    schema: &'s Schema,
    sources: &Sources,
    (from, to): (&str, &str),
) -> BTreeMap<ProcedureId, Renamed<'s>> {
    let mut all = BTreeMap::new();
    for (at, compiled) in schema.procedures.iter().enumerate() {
        let id = ProcedureId(at as u32);
        let (Some(compiled), Some(source)) = (compiled, sources.get(id)) else { continue };
        let before = &compiled.procedure;
        let text = match before.is_statement() {
            true => source.to_owned(),
            false => renamed_in_definition(source, from, to),
        };
        let own = before.name.strip_prefix(&qualified(from, "")).filter(|_| !before.is_statement());
        let name = own.map_or_else(|| before.name.clone(), |own| qualified(to, own));
        let has_changed = text != source || name != before.name;
        all.insert(id, Renamed { before, name, text, has_changed });
    }
    all
}

fn refuse_broken(catalog: &Catalog, next: &Schema, from: &str) -> Result<(), SqlError> {
    let views = catalog.views().map(|view| view.qualified_name()).collect();
    let broken = apart(|| broken_view(catalog, &registered(next), &views))?;
    let Some((view, error)) = broken else { return Ok(()) };
    let message = format!("view \"{}\" would no longer be what it is", local(&view));
    let hint = format!("Drop the view first, and create it anew where schema {from} has its name.");
    let mut needed = advised(b"2BP01", message, &hint);
    needed.detail = Some(error.message);
    Err(needed)
}

fn needed(from: &str, failed: &[(&Renamed<'_>, String)]) -> SqlError {
    let message = format!("cannot give schema {from} another name because functions name it");
    let hint = "Drop these functions first, and create them anew afterwards.";
    let mut error = advised(b"2BP01", message, hint);
    let shown = |of: &Renamed<'_>| shown(routine_name(&of.before.name).to_owned());
    let list = failed.iter().map(|(of, why)| format!("{}: {why}", shown(of)));
    error.detail = Some(list.collect::<Vec<_>>().join("; "));
    error
}
