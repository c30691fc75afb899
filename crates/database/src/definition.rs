//! Definitions: changes of the catalog and of the registered procedures.
//!
//! Role         makes the next schema ([`make`]) and puts it in force ([`Next::put_in_force`]), or
//!              leaves everything as it was. Only the second half needs a quiet point: it fills new
//!              indexes, copies rows, and looks after rows that new constraints forbid. What has no
//!              more to do than to add a procedure needs none ([`Next::add`])
//! Invariants   I1 every registered procedure and every view compiles for the catalog in force: a
//!              change of the catalog compiles those again that it may concern, and one that fails
//!              refuses the change. It may concern whoever touches a table that is another one
//!              now, or that one of those refers to, and whoever mentions the name of such a table
//!              or of a view or procedure that changed ([`crate::mentions`])
//!              I2 an id names one list of parameter types for good, so that a call that was bound
//!              before a replacement still fits; a replacement with others gets a new id

mod broken_views;
mod lacking;
mod next;
mod routine_altered;
mod rows_anew;
mod schema_renamed;
mod sources;
mod triggers;

use std::collections::BTreeSet;
use std::sync::Arc;

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_base::types::SqlType;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Rebuilt, Schema, Trees, Unfilled};
use hotrow_sql::{
    CatalogChange, Compiled, Dropped, Naming, ProcedureNames, ScriptStatement, WrittenType, apply,
    changed_names, compile, compile_with_parameters, look_up_types, parse_script, split_path,
};
use hotrow_transaction::actions::{ActionProgram, draw_flow, explain_batch, explain_flow};
use hotrow_transaction::catalog::{Catalog, Object, ObjectKind, local, shown};
use hotrow_transaction::coarse;
use hotrow_transaction::explain;
use hotrow_transaction::granule::GranuleNotes;
use hotrow_transaction::outcome::{Notice, SqlError, apart};
use hotrow_transaction::program::{Place, Procedure, STATEMENT_MARK, routine_name, routine_schema};

use self::broken_views::{refuse_broken_view, refuse_broken_views};
use self::lacking::{
    concerned_by_routines, concerned_by_whole, lacking_source, newly_lacking, of_lacking,
};
pub(crate) use self::next::Next;
use self::next::Texts;
use self::routine_altered::alter_routine;
use self::rows_anew::{add_rebuilt, empty, rebuilt};
use self::schema_renamed::rename_schema;
pub(crate) use self::sources::{Definition, Sources};
use crate::callers::{Becoming, callers_of, compile_callers, in_order, statements_with};
use crate::error::advised;
use crate::lookup::{procedure_named, registered};
use crate::mentions::Mentioner;

/// What EXPLAIN PROCEDURE says, or 42883; and the procedure's actions.
pub(crate) fn explain(schema: &Schema, name: &str) -> Result<(String, ActionProgram), SqlError> {
    let (_, compiled) = procedure_named(schema, name)?;
    let Schema { catalog, granules, .. } = schema;
    let text = explain::explain(catalog, granules, schema.routing(), compiled);
    let actions = ActionProgram::new(catalog, granules, compiled)?;
    let flow = explain_flow(catalog, &actions, &compiled.procedure);
    Ok((text + &explain_batch(&actions) + &flow, actions))
}

/// The flow graph of a procedure as a drawing in DOT, or 42883.
pub(crate) fn draw(schema: &Schema, name: &str) -> Result<String, SqlError> {
    let (_, compiled) = procedure_named(schema, name)?;
    let Schema { catalog, granules, .. } = schema;
    let actions = ActionProgram::new(catalog, granules, compiled)?;
    Ok(draw_flow(catalog, &actions, &compiled.procedure))
}

/// What CREATE FUNCTION says of a procedure that has just been registered: which tables and indexes
/// its calls hold as wholes.
pub(crate) fn warnings(schema: &Schema, definition: &Compiled) -> Vec<Notice> {
    let Compiled::CreateProcedure { procedure, .. } = definition else { return Vec::new() };
    let Some((_, compiled)) = schema.procedure_named(&procedure.name) else { return Vec::new() };
    if let Some(warning) = of_lacking(&compiled.procedure, "cannot be called yet") {
        return vec![warning];
    }
    coarse::warnings(&schema.catalog, &schema.granules, &compiled.procedure)
}

/// The sequences that begin anew behind a definition, and with which numbers.
pub(crate) fn restarted(definition: &Compiled) -> impl Iterator<Item = (TableId, i64)> + '_ {
    let changes = match definition {
        Compiled::Catalog(changes) => changes.as_slice(),
        _ => &[],
    };
    changes.iter().filter_map(|change| match change {
        CatalogChange::SetSequence { sequence, restart, .. } => Some((*sequence, (*restart)?)),
        _ => None,
    })
}

/// A statement's text with as much blank space before it that its places are those in its script.
pub(crate) fn at_place(text: &str, place: Place) -> String {
    let lines = place.line.saturating_sub(1) as usize;
    let columns = place.column.saturating_sub(1) as usize;
    format!("{}{}{text}", "\n".repeat(lines), " ".repeat(columns))
}

/// Makes what a definition makes of a schema; none: it asks for what there is already (IF NOT
/// EXISTS), or is there no longer (IF EXISTS).
pub(crate) fn make(
    schema: &Schema,
    sources: &Sources,
    definition: Compiled,
    entry: &TextEntry<'_>,
) -> Result<Option<Next>, SqlError> {
    match definition {
        Compiled::Catalog(changes) => change_catalog(schema, sources, changes, entry.now_us),
        Compiled::CreateProcedure { procedure, source, maker, .. } => {
            let source = (at_place(&source, entry.place), maker);
            create_procedure(schema, sources, *procedure, source).map(Some)
        }
        Compiled::AlterRoutine(altered) => alter_routine(schema, sources, &altered).map(Some),
        Compiled::DropProcedures { names, if_exists, cascades } => {
            drop_procedures(schema, sources, &names, (if_exists, cascades))
        }
        Compiled::Naming(Naming::Prepare { types, text, .. }) => {
            let known = (&schema.catalog, &registered(schema));
            let procedure = compile_prepared(known, &types, &text)?;
            keep_statement(schema, sources, procedure, at_place(entry.text, entry.place))
        }
        Compiled::Refresh(refresh) => {
            change_catalog(schema, sources, refresh.changes, entry.now_us)
        }
        Compiled::Truncate(truncation) => empty(schema, &truncation).map(Some),
        _ => Err(SqlError::new(b"40001", "the schema changed meanwhile; try again")),
    }
}

/// CREATE, ALTER and DROP of tables and indexes.
fn change_catalog(
    schema: &Schema,
    sources: &Sources,
    changes: Vec<CatalogChange>,
    now_us: i64,
) -> Result<Option<Next>, SqlError> {
    if changes.iter().all(|change| matches!(change, CatalogChange::Nothing(_))) {
        return Ok(None);
    }
    if let [CatalogChange::RenameSchema { name, to }, ..] = changes.as_slice() {
        let names = (name.clone(), to.clone());
        return rename_schema(schema, sources, changes, (&names.0, &names.1)).map(Some);
    }
    let (routines, changes) = with_routines(schema, changes)?;
    let mut all_rebuilt: Vec<Rebuilt> = Vec::new();
    for change in &changes {
        for next in rebuilt(&schema.catalog, change, now_us)? {
            add_rebuilt(&mut all_rebuilt, next)?;
        }
    }
    let mut catalog = schema.catalog.clone();
    changes.iter().try_for_each(|change| apply(&mut catalog, change))?;
    refuse_broken_views(schema, &catalog, sources, &changes)?;
    let mut next = schema.clone();
    if changes.iter().all(CatalogChange::leaves_procedures) {
        next.catalog = catalog;
        return Ok(Some(Next::new(next, Unfilled::default()).with_changes(changes)));
    }
    let (trees, texts) = compile_again(schema, sources, (&catalog, &changes), routines)?;
    let gone = procedures_gone(schema, &trees);
    for name in &gone {
        catalog.forget(&Object::Function(name.as_str().into()));
    }
    let mut said: Vec<Notice> = gone.iter().map(|name| goes_with(name)).collect();
    said.append(&mut newly_lacking(schema, &trees));
    let unfilled = next.adopt(catalog, trees, &all_rebuilt)?;
    refuse_broken_view(&next, sources, gone)?;
    Ok(Some(Next::new(next, unfilled).with_changes(changes).with_texts(texts).saying(said)))
}

/// The routines of schemas that are dropped, which go with them, and the changes with what drops
/// the triggers that execute them.
fn with_routines(
    schema: &Schema,
    mut changes: Vec<CatalogChange>,
) -> Result<(Trees, Vec<CatalogChange>), SqlError> {
    let mut routines = Trees::new();
    let dropped: Vec<String> = changes
        .iter()
        .filter_map(|change| match change {
            CatalogChange::DropSchema(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    for name in dropped {
        for (id, compiled) in schema.named_procedures() {
            if compiled.procedure.schema() == name {
                // Before their tables go, which may be in the same schema.
                changes.splice(0..0, triggers::dropped(schema, &compiled.procedure.name, true)?);
                routines.insert(id, None);
            }
        }
    }
    Ok((routines, changes))
}

/// How often routines are compiled that others have made whole: circles of more routines that lack
/// each other are whole with the next definition.
const ROUNDS_MAX: usize = 16;

/// The procedures that another catalog may concern, for it: access paths and constraints come from
/// it (I1), beside those that are made; and the texts of those that go, or get another id (I2).
fn compile_again(
    schema: &Schema,
    sources: &Sources,
    (catalog, changes): (&Catalog, &[CatalogChange]),
    mut trees: Trees,
) -> Result<(Trees, Texts), SqlError> {
    let made: Vec<ProcedureId> = trees.keys().copied().collect();
    let mut next = made.iter().map(|id| id.0 + 1).fold(schema.procedures.len() as u32, u32::max);
    let mut moved = Vec::new();
    let mut failed = Vec::new();
    let is_cascade = |change: &CatalogChange| matches!(change, CatalogChange::DropDependents);
    let cascades = changes.iter().any(is_cascade);
    let mut concerned = procedures_concerned(schema, sources, catalog, changes);
    concerned.extend(concerned_by_routines(schema, sources, &trees));
    // Statements of those that they call stand in callers' programs.
    let called = concerned.iter().filter_map(|id| schema.procedure(*id));
    let called: Vec<_> = called.map(|compiled| compiled.procedure.name.as_str()).collect();
    concerned.extend(callers_of(schema, &called));
    concerned.extend(statements_with(schema, &called));
    for _ in 0..ROUNDS_MAX {
        for id in in_order(schema, std::mem::take(&mut concerned)) {
            let (Some(compiled), Some(source)) = (schema.procedure(id), sources.get(id)) else {
                continue;
            };
            if made.contains(&id) {
                continue;
            }
            let name = compiled.procedure.name.as_str();
            let becoming = Becoming { schema, trees: &trees, but: name };
            match compile_source((catalog, &becoming), source) {
                Ok(tree) if tree.draws == compiled.procedure.draws => {
                    trees.insert(id, Some(tree));
                }
                Ok(_) | Err(_) if compiled.procedure.is_statement() => {
                    trees.insert(id, None); // whoever sends it finds out what is wrong with it now
                }
                Ok(tree) => {
                    trees.insert(id, None);
                    trees.insert(ProcedureId(next), Some(tree));
                    moved.push((ProcedureId(next), Some(source.to_owned())));
                    next += 1;
                }
                Err(error) if cascades && !error.is_refusal() => {
                    trees.insert(id, None);
                }
                // It could not be called before, and cannot be now.
                Err(error) if compiled.procedure.lacks.is_some() && !error.is_refusal() => {
                    trees.insert(id, Some(lacking_source((catalog, &becoming), source, error)?));
                }
                Err(error) => failed.push((name, error)),
            }
        }
        concerned = concerned_by_whole(schema, sources, &trees);
        if concerned.is_empty() {
            break;
        }
    }
    if !failed.is_empty() {
        return Err(needed(schema, &failed, changes));
    }
    let mut texts = dropped_in(&trees);
    texts.append(&mut moved);
    Ok((trees, texts))
}

/// That a procedure goes with something that it needs.
fn goes_with(name: &str) -> Notice {
    let text = format!("drop cascades to function {}", shown(routine_name(name).to_owned()));
    Notice::new(SqlError::new(b"00000", text))
}

/// The names of procedures that go, and do not only get another id.
fn procedures_gone(schema: &Schema, trees: &Trees) -> Vec<String> {
    let stays = |name: &str| trees.values().flatten().any(|tree| tree.name == name);
    let gone = trees.iter().filter(|(_, tree)| tree.is_none());
    let gone = gone.filter_map(|(id, _)| schema.procedure(*id).map(|of| &of.procedure));
    let gone = gone.filter(|procedure| !procedure.is_statement() && !stays(&procedure.name));
    gone.map(|procedure| procedure.name.clone()).collect()
}

/// The names of tables, views and types that are not what they were.
fn names_changed<'a>(
    (before, next): (&'a Catalog, &'a Catalog),
    changes: &'a [CatalogChange],
) -> impl Iterator<Item = String> + 'a {
    let views = changes.iter().filter_map(CatalogChange::view).map(str::to_owned);
    let types = changes.iter().filter_map(CatalogChange::named_type).map(str::to_owned);
    changed_names(before, next).chain(views).chain(types)
}

/// Those of I1 but for their callers.
fn procedures_concerned(
    schema: &Schema,
    sources: &Sources,
    catalog: &Catalog,
    changes: &[CatalogChange],
) -> BTreeSet<ProcedureId> {
    let mut tables: BTreeSet<TableId> = schema.catalog.tables_changed(catalog).collect();
    for table in tables.clone() {
        // A statement that changes rows looks after those that refer to them.
        for catalog in [&schema.catalog, catalog] {
            let keys = &catalog.table(table).foreign_keys;
            tables.extend(keys.iter().map(|key| key.parent));
        }
    }
    let mut concerned: BTreeSet<_> =
        tables.iter().flat_map(|&table| schema.users_of(table)).collect();
    // A procedure that reads a view has the view's query in it, and those of views named there.
    let names: Vec<String> = names_changed((&schema.catalog, catalog), changes).collect();
    let views = sources.mentions().views(names.iter().cloned());
    for name in names.iter().chain(&views) {
        for mentioner in sources.mentions().of(local(name)) {
            if let Mentioner::Procedure(id) = mentioner {
                concerned.insert(*id);
            }
        }
    }
    // What triggers execute stands in whatever changes their tables.
    for table in triggers::tables_of(schema, &concerned) {
        concerned.extend(schema.users_of(table));
    }
    concerned
}

/// Compiles a procedure's text for a catalog, and for the procedures that there are.
pub(crate) fn compile_source(
    (catalog, procedures): (&Catalog, &impl ProcedureNames),
    source: &str,
) -> Result<Procedure, SqlError> {
    apart(|| compile_one((catalog, procedures), source))
}

fn compile_one(
    (catalog, procedures): (&Catalog, &impl ProcedureNames),
    source: &str,
) -> Result<Procedure, SqlError> {
    let statement = &parse_one(source)?;
    if let Some(Naming::Prepare { types, text, .. }) = statement.naming() {
        return compile_prepared((catalog, procedures), types, text);
    }
    created(compile(catalog, procedures, statement)?)
}

/// The procedure that a text makes, which is one of CREATE.
fn created(compiled: Compiled) -> Result<Procedure, SqlError> {
    match compiled {
        Compiled::CreateProcedure { procedure, .. } => Ok(*procedure),
        _ => Err(SqlError::new(b"XX000", "a procedure's text is no CREATE")),
    }
}

/// A statement whose parameters have types that are looked up.
fn compile_prepared(
    known: (&Catalog, &impl ProcedureNames),
    types: &[WrittenType],
    text: &str,
) -> Result<Procedure, SqlError> {
    compile_statement(known, &look_up_types(known.0, types)?, text)
}

/// Parses the text of a definition that was made here.
pub(crate) fn parse_one(text: &str) -> Result<ScriptStatement, SqlError> {
    let mut statements = parse_script(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(SqlError::new(b"XX000", "a definition's text is not one statement")),
    }
}

/// A single statement as a procedure.
fn compile_statement(
    (catalog, procedures): (&Catalog, &impl ProcedureNames),
    types: &[Option<SqlType>],
    text: &str,
) -> Result<Procedure, SqlError> {
    apart(|| {
        let statement = parse_one(text)?.in_one_program();
        let (compiled, types) = compile_with_parameters(catalog, procedures, &statement, types)?;
        let Compiled::Statement(mut procedure) = compiled else {
            let message = "a statement that is kept is one program";
            return Err(SqlError::new(b"0A000", message));
        };
        procedure.name = statement_name(text, &types);
        Ok(*procedure)
    })
}

/// The name of a single statement that is kept as a procedure; `types`: of its parameters.
pub(crate) fn statement_name(text: &str, types: &[SqlType]) -> String {
    format!("{STATEMENT_MARK}{text}{}", list_of(types))
}

/// The text by which such a statement is defined.
pub(crate) fn statement_source(text: &str, types: &[SqlType]) -> String {
    let (path, text) = split_path(text);
    format!("{path}PREPARE statement{} AS {text}", list_of(types))
}

/// ` (bigint, text)`; nothing for none.
fn list_of(types: &[SqlType]) -> String {
    let list: Vec<String> = types.iter().map(SqlType::to_string).collect();
    if list.is_empty() { String::new() } else { format!(" ({})", list.join(", ")) }
}

/// The error of a change that some procedures would not survive.
fn needed(schema: &Schema, failed: &[(&str, SqlError)], changes: &[CatalogChange]) -> SqlError {
    // Not the change is what they would not survive: the statement was interrupted, or has no room.
    if let Some((_, error)) = failed.iter().find(|(_, error)| error.is_refusal()) {
        return error.clone();
    }
    let list: Vec<_> =
        failed.iter().map(|(name, error)| format!("{name}: {}", error.message)).collect();
    let catalog = &schema.catalog;
    let dropped = changes.iter().find_map(|change| match change {
        CatalogChange::DropTable(id) => Some(format!("table \"{}\"", catalog.table(*id).name)),
        CatalogChange::DropIndex(id) => Some(format!("index \"{}\"", catalog.index(*id).name)),
        CatalogChange::DropView(name) => {
            let is_partition = catalog.view(name).is_some_and(|view| view.partition.is_some());
            let what = if is_partition { "table" } else { "view" };
            Some(format!("{what} \"{}\"", local(name)))
        }
        CatalogChange::DropType(name) => Some(format!("type {}", local(name))),
        _ => None,
    });
    let mut error = match dropped {
        Some(what) => {
            let message = format!("cannot drop {what} because procedures need it");
            advised(b"2BP01", message, "Drop or replace these procedures first.")
        }
        None => {
            let message = "procedures would no longer compile".to_owned();
            let hint = "Drop these procedures first and create them again afterwards.";
            advised(&failed[0].1.sqlstate, message, hint)
        }
    };
    error.detail = Some(list.join("; "));
    error
}

/// CREATE [OR REPLACE]; that it may replace was checked when it was compiled.
fn create_procedure(
    schema: &Schema,
    sources: &Sources,
    procedure: Procedure,
    (source, maker): (String, Option<Arc<str>>),
) -> Result<Next, SqlError> {
    let mut trees = Trees::new();
    let changes = triggers::replaced(schema, &procedure)?;
    let name = procedure.name.clone();
    let old = schema.procedure_named(&name);
    let id = match old {
        Some((id, compiled)) if same_parameters(&compiled.procedure, &procedure) => id,
        _ => ProcedureId(schema.procedures.len() as u32),
    };
    if let Some((old, _)) = old {
        trees.insert(old, None);
    }
    trees.insert(id, Some(procedure));
    compile_callers(schema, sources, &mut trees, &name)?;
    let others: Vec<_> = trees.values().flatten().map(|tree| tree.name.clone()).collect();
    let others: Vec<_> = others.iter().map(String::as_str).collect();
    trees.extend(statements_with(schema, &others).into_iter().map(|id| (id, None)));
    // What is sent to the same tables is kept again if it does not stand in the way.
    let notes = trees.values().flatten();
    let notes: Vec<_> = notes.map(|tree| GranuleNotes::of_changes(&schema.catalog, tree)).collect();
    let tables = notes.iter().flat_map(GranuleNotes::tables);
    let users = tables.flat_map(|table| schema.users_of(table));
    trees.extend(users.filter(|&id| is_statement(schema, id)).map(|id| (id, None)));
    let mut catalog = schema.catalog.clone();
    changes.iter().try_for_each(|change| apply(&mut catalog, change))?;
    if old.is_none() {
        let (object, made_by) = (Object::Function(name.as_str().into()), maker.as_deref());
        let maker = (made_by, Some(routine_schema(&name)));
        catalog.rights_mut().set_maker(&object, ObjectKind::Function, maker);
    }
    let (trees, mut texts) = compile_again(schema, sources, (&catalog, &changes), trees)?;
    texts.push((id, Some(source)));
    let mut next = schema.clone();
    let said = newly_lacking(schema, &trees);
    let unfilled = next.adopt(catalog, trees, &[])?;
    refuse_broken_view(&next, sources, [name])?;
    Ok(Next::new(next, unfilled).with_changes(changes).with_texts(texts).saying(said))
}

/// The procedures that go.
fn dropped_in(trees: &Trees) -> Texts {
    trees.iter().filter(|(_, tree)| tree.is_none()).map(|(&id, _)| (id, None)).collect()
}

/// How many statements are kept in a database's life: each is a definition in its log.
const STATEMENTS_MAX: usize = 1024;

/// Keeps a single statement as a procedure, unless it would make calls of procedures hold more than
/// they do: then 0A000. 54000 where [`STATEMENTS_MAX`] others were kept.
fn keep_statement(
    schema: &Schema,
    sources: &Sources,
    procedure: Procedure,
    source: String,
) -> Result<Option<Next>, SqlError> {
    if schema.procedure_named(&procedure.name).is_some() {
        return Ok(None);
    }
    if sources.statements() == STATEMENTS_MAX {
        let message = format!(
            "{STATEMENTS_MAX} kinds of statements are kept already, this engine's bound for a \
             database"
        );
        return Err(advised(
            b"54000",
            message,
            "Write a procedure for it, or prepare fewer kinds.",
        ));
    }
    let id = ProcedureId(schema.procedures.len() as u32);
    let notes = GranuleNotes::of_changes(&schema.catalog, &procedure);
    let mut next = schema.clone();
    let trees = Trees::from([(id, Some(procedure))]);
    let unfilled = next.adopt(schema.catalog.clone(), trees, &[])?;
    let changes = |table| {
        !next.granules.are_same(&schema.granules, &schema.catalog, table)
            && schema.users_of(table).any(|user| !is_statement(schema, user))
    };
    if notes.tables().any(changes) {
        let message = "calls of procedures would hold more if this statement ran beside them";
        return Err(advised(b"0A000", message.to_owned(), "Write a procedure for it."));
    }
    let texts = vec![(id, Some(source))];
    Ok(Some(Next::new(next, unfilled).with_texts(texts).keeping_statement()))
}

fn is_statement(schema: &Schema, id: ProcedureId) -> bool {
    schema.procedure(id).is_some_and(|compiled| compiled.procedure.is_statement())
}

/// I2
pub(crate) fn same_parameters(old: &Procedure, new: &Procedure) -> bool {
    let types = |procedure: &Procedure| -> Vec<_> {
        procedure.parameters().iter().map(|slot| slot.sql_type).collect()
    };
    types(old) == types(new) && old.draws == new.draws
}

/// DROP FUNCTION, DROP PROCEDURE
fn drop_procedures(
    schema: &Schema,
    sources: &Sources,
    names: &[Dropped],
    (if_exists, cascades): (bool, bool),
) -> Result<Option<Next>, SqlError> {
    let mut dropped = BTreeSet::new();
    for wanted in names {
        match procedure_named(schema, &wanted.name) {
            Ok((id, _)) => {
                dropped.insert(id);
            }
            Err(_) if if_exists => {}
            Err(mut error) => {
                error.place = wanted.place;
                return Err(error);
            }
        }
    }
    if dropped.is_empty() {
        return Ok(None);
    }
    let gone: Vec<String> = names.iter().map(|dropped| dropped.name.clone()).collect();
    let mut changes = Vec::new();
    for wanted in names {
        changes.extend(triggers::dropped(schema, &wanted.name, cascades)?);
    }
    let mut catalog = schema.catalog.clone();
    changes.iter().try_for_each(|change| apply(&mut catalog, change))?;
    for name in &gone {
        catalog.forget(&Object::Function(name.as_str().into()));
    }
    let mut next = schema.clone();
    let trees: Trees = dropped.iter().map(|&id| (id, None)).collect();
    let (trees, texts) = compile_again(schema, sources, (&catalog, &changes), trees)?;
    let said = newly_lacking(schema, &trees);
    let unfilled = next.adopt(catalog, trees, &[])?;
    refuse_broken_view(&next, sources, gone)?;
    Ok(Some(Next::new(next, unfilled).with_changes(changes).with_texts(texts).saying(said)))
}

#[cfg(test)]
mod tests;
