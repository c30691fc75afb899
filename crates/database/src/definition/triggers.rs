//! Functions that triggers execute: their statements stand in all programs that change the
//! triggers' tables, so that these are compiled again with them, and keep them.

use std::collections::BTreeSet;
use std::sync::Arc;

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_engine::schema::Schema;
use hotrow_sql::{CatalogChange, tables_with, views_with};
use hotrow_transaction::catalog::{Catalog, Trigger, shown};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::{Procedure, routine_name};

use crate::error::advised;

/// The tables whose triggers execute one of these procedures.
pub(super) fn tables_of(schema: &Schema, procedures: &BTreeSet<ProcedureId>) -> BTreeSet<TableId> {
    let known = procedures.iter().filter_map(|id| schema.procedure(*id));
    let functions = known.filter_map(|compiled| compiled.procedure.trigger.as_ref());
    functions.flat_map(|function| tables_with(&schema.catalog, &function.name)).collect()
}

/// What a procedure that takes the place of another one changes of triggers.
///
/// # Errors
///
/// 42P13: triggers need one that returns trigger.
pub(super) fn replaced(
    schema: &Schema,
    procedure: &Procedure,
) -> Result<Vec<CatalogChange>, SqlError> {
    let views: Vec<_> = views_with(&schema.catalog, &procedure.name).collect();
    if tables_with(&schema.catalog, &procedure.name).is_empty() && views.is_empty() {
        return Ok(Vec::new());
    }
    match &procedure.trigger {
        Some(function) => {
            let mut changes = vec![CatalogChange::SetTriggerFunction(Arc::clone(function))];
            for view in views {
                let mut view = view.clone();
                let used = view.triggers.iter_mut().filter(|of| of.function.name == function.name);
                used.for_each(|trigger| trigger.function = Arc::clone(function));
                changes.push(CatalogChange::SetView(view));
            }
            Ok(changes)
        }
        None => {
            let message = "cannot change return type of existing function".to_owned();
            let hint = format!("Drop the triggers that execute {}() first.", procedure.name);
            Err(advised(b"42P13", message, &hint))
        }
    }
}

/// What a procedure that gets another name changes of triggers that execute it.
pub(super) fn renamed(
    catalog: &Catalog,
    before: &str,
    procedure: &Procedure,
) -> Vec<CatalogChange> {
    let Some(function) = &procedure.trigger else { return Vec::new() };
    let take = |trigger: &mut Trigger| {
        if trigger.function.name == before {
            trigger.function = Arc::clone(function);
        }
    };
    let mut changes = Vec::new();
    for table in tables_with(catalog, before) {
        let triggers = catalog.table(table).triggers.iter();
        for trigger in triggers.filter(|trigger| trigger.function.name == before) {
            let mut trigger = trigger.clone();
            take(&mut trigger);
            changes.push(CatalogChange::SetTrigger { table, trigger });
        }
    }
    for view in views_with(catalog, before) {
        let mut view = view.clone();
        view.triggers.iter_mut().for_each(take);
        changes.push(CatalogChange::SetView(view));
    }
    changes
}

/// What DROP takes along of the triggers that execute a function.
///
/// # Errors
///
/// 2BP01 where there are such, and nothing is said of CASCADE.
pub(super) fn dropped(
    schema: &Schema,
    function: &str,
    cascades: bool,
) -> Result<Vec<CatalogChange>, SqlError> {
    let mut changes = Vec::new();
    let mut list = Vec::new();
    let called = shown(routine_name(function).to_owned());
    for id in tables_with(&schema.catalog, function) {
        let table = schema.catalog.table(id);
        for trigger in table.triggers.iter().filter(|of| of.function.name == function) {
            let what = format!("trigger {} on table {}", trigger.name, table.name);
            let name = trigger.name.clone();
            changes.push(CatalogChange::DropTrigger { table: id, name });
            if cascades {
                let text = format!("drop cascades to {what}");
                let notice = Notice::new(SqlError::new(b"00000", text));
                changes.push(CatalogChange::Nothing(notice));
            }
            list.push(format!("{what} depends on function {called}()"));
        }
    }
    for view in views_with(&schema.catalog, function) {
        let mut next = view.clone();
        next.triggers.retain(|trigger| trigger.function.name != function);
        changes.push(CatalogChange::SetView(next));
        for trigger in view.triggers.iter().filter(|of| of.function.name == function) {
            let what = format!("trigger {} on view {}", trigger.name, view.name);
            if cascades {
                let text = format!("drop cascades to {what}");
                let notice = Notice::new(SqlError::new(b"00000", text));
                changes.push(CatalogChange::Nothing(notice));
            }
            list.push(format!("{what} depends on function {called}()"));
        }
    }
    if list.is_empty() || cascades {
        return Ok(changes);
    }
    let message = format!("cannot drop function {called}() because other objects depend on it");
    let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
    let mut error = advised(b"2BP01", message, hint);
    error.detail = Some(list.join("\n"));
    Err(error)
}
