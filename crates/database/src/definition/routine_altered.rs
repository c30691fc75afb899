//! ALTER FUNCTION, PROCEDURE and ROUTINE: the text of the routine becomes another one, and that is
//! compiled in its place.
//!
//! Role         with other options it is replaced by itself, as CREATE OR REPLACE does it; under
//!              another name it keeps its id, its owner, its grants, its comment and its triggers.
//!              Texts that call it by its old name would mean nothing: it is not renamed then, as
//!              it would not be dropped

use hotrow_base::ids::ProcedureId;
use hotrow_engine::schema::{Schema, Trees};
use hotrow_sql::AlteredRoutine;
use hotrow_transaction::catalog::{Object, local, shown};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::routine_name;

use super::broken_views::refuse_broken_view;
use super::{
    Becoming, Next, Sources, apply, callers_of, compile_again, compile_source, create_procedure,
    is_statement, newly_lacking, same_parameters, triggers,
};
use crate::error::advised;
use crate::lookup::unknown_procedure;

/// Alters a routine that was found when the statement was compiled.
///
/// # Errors
///
/// 2BP01 where something calls it by the name that it has no more; 42809 and 42P13 for what it is
/// not; what compiling says, where its own text says its old name.
pub(super) fn alter_routine(
    schema: &Schema,
    sources: &Sources,
    altered: &AlteredRoutine,
) -> Result<Next, SqlError> {
    let name = altered.name.as_str();
    let (id, compiled) = schema.procedure_named(name).ok_or_else(unknown_procedure)?;
    let text = altered.text(sources.get(id).unwrap_or_default())?;
    let trees = Trees::new();
    let becoming = Becoming { schema, trees: &trees, but: name };
    let procedure = compile_source((&schema.catalog, &becoming), &text).map_err(broken)?;
    if procedure.name == name {
        return create_procedure(schema, sources, procedure, (text, None));
    }
    refuse_called(schema, altered)?;
    let mut trees = Trees::new();
    let statements = callers_of(schema, &[name]);
    trees.extend(statements.into_iter().map(|caller| (caller, None)));
    let next_id = match same_parameters(&compiled.procedure, &procedure) {
        true => id,
        false => ProcedureId(schema.procedures.len() as u32),
    };
    let changes = triggers::renamed(&schema.catalog, name, &procedure);
    let mut catalog = schema.catalog.clone();
    changes.iter().try_for_each(|change| apply(&mut catalog, change))?;
    let object = |name: &str| Object::Function(name.into());
    catalog.move_object(&object(name), &object(&procedure.name));
    trees.insert(id, None);
    trees.insert(next_id, Some(procedure));
    let (trees, mut texts) = compile_again(schema, sources, (&catalog, &changes), trees)?;
    texts.push((next_id, Some(text)));
    let mut next = schema.clone();
    let said = newly_lacking(schema, &trees);
    let unfilled = next.adopt(catalog, trees, &[])?;
    refuse_broken_view(&next, sources, [local(routine_name(name)).to_owned()])?;
    Ok(Next::new(next, unfilled).with_changes(changes).with_texts(texts).saying(said))
}

/// That its own text would not compile under its new name, or with other options.
fn broken(error: SqlError) -> SqlError {
    if error.is_refusal() {
        return error;
    }
    let message = "the routine would no longer compile".to_owned();
    let hint = "Write CREATE OR REPLACE with a text that does, or drop it and create it anew.";
    let mut broken = advised(&error.sqlstate, message, hint);
    broken.detail = Some(error.message);
    broken
}

/// Fails with 2BP01 where a procedure calls one whose name goes.
fn refuse_called(schema: &Schema, altered: &AlteredRoutine) -> Result<(), SqlError> {
    let callers = callers_of(schema, &[&altered.name]).into_iter();
    let callers = callers.filter(|caller| !is_statement(schema, *caller));
    let named = callers.filter_map(|caller| schema.procedure(caller));
    let called = &altered.shown;
    let list: Vec<String> = named
        .map(|caller| {
            let caller = shown(routine_name(&caller.procedure.name).to_owned());
            format!("function {caller} calls function {called}")
        })
        .collect();
    if list.is_empty() {
        return Ok(());
    }
    let message =
        format!("cannot give function {called} another name because other objects depend on it");
    let hint = "Drop these functions first, and create them anew with its new name.";
    let mut error = advised(b"2BP01", message, hint);
    error.detail = Some(list.join("; "));
    Err(error)
}
