//! Functions that triggers execute: their statements stand in all programs that change the
//! triggers' tables, so that these are compiled again with them, and keep them.

use std::collections::BTreeSet;
use std::sync::Arc;

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_engine::schema::Schema;
use hotrow_sql::{CatalogChange, tables_with, views_with};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::Procedure;

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
            list.push(format!("{what} depends on function {function}()"));
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
            list.push(format!("{what} depends on function {function}()"));
        }
    }
    if list.is_empty() || cascades {
        return Ok(changes);
    }
    let message = format!("cannot drop function {function}() because other objects depend on it");
    let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
    let mut error = advised(b"2BP01", message, hint);
    error.detail = Some(list.join("\n"));
    Err(error)
}
