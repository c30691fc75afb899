//! Compilation: a parsed statement and a catalog to what the database has to do.

use std::sync::Arc;

use crate::overload::needs_query;
use hotrow_base::stack::with_room;
use hotrow_base::types::SqlType;
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::draw::Draw;
use hotrow_transaction::needs::Needs;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Statement;
use sqlparser::ast;

use crate::anonymous::Holds;
use crate::around::{AroundUse, Circle};
use crate::call::may_be_computed;
use crate::called_function::called_function;
use crate::changes::{CatalogChange, left_out};
use crate::compiled::Compiled;
use crate::consume::Sink;
use crate::create::create_procedure;
use crate::cursors::is_of_cursor_value;
use crate::drawn::in_rounds;
use crate::drop::drop_relations;
use crate::error::{Advice, Result, error, unsupported};
use crate::explain::{Analyzed, ExplainForm, explain};
use crate::extension::create_extension;
use crate::interpreted::called::{
    call, create_instead, create_interpreted, is_run_by_statement, is_run_instead,
};
use crate::lacking::{is_of_lacking, lacking};
use crate::notify::notification;
use crate::open_literals::Literals;
use crate::operators::is_for_sessions;
use crate::parameters::parameters_named;
use crate::relation::one_access::{Rows, Wanted};
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::state::{Calls, Overriding, ProcedureNames, Programs};
use crate::syntax::{Block, Syntax};
use crate::written::{changed_by, has_changes, returns_queries};

/// Compiles one statement.
///
/// Errors: SQLSTATE, message, hint and the place in the script: 42P01, 42703, 42883, 42702 for
/// names, 42804 for types, 0A000 for what the subset leaves out, 42P07 for what exists already.
pub fn compile<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
) -> Result<Compiled> {
    compile_in_rounds(catalog, procedures, statement, |_| Ok(())).map(|(compiled, _)| compiled)
}

/// As [`compile`], for somebody who makes a definition: what it makes is his. None: the database's
/// maker, whom the statement may call by the name that it has for him.
///
/// Errors: as [`compile`].
pub fn compile_for<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
    role: Option<&Arc<str>>,
) -> Result<Compiled> {
    let prepare = |compiler: &mut Compiler<'c>| {
        compiler.role = role.cloned();
        Ok(())
    };
    compile_in_rounds(catalog, procedures, statement, prepare).map(|(compiled, _)| compiled)
}

/// Compiles CREATE FUNCTION or PROCEDURE within the routines that are around it; with how it calls
/// these.
pub(crate) fn compile_within<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
    circle: &Circle,
) -> Result<(Compiled, Vec<AroundUse>)> {
    let prepare = |compiler: &mut Compiler<'c>| {
        // They run it any number of times.
        compiler.calls.is_recursive = true;
        compiler.calls.circle = circle.clone();
        Ok(())
    };
    let (compiled, compiler) = compile_in_rounds(catalog, procedures, statement, prepare)?;
    Ok((compiled, compiler.calls.circle.used))
}

/// Compiles a statement, once more if it draws something: what is known when it is compiled, and
/// it stands before all other slots.
fn compile_in_rounds<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
    prepare: impl Fn(&mut Compiler<'c>) -> Result<()>,
) -> Result<(Compiled, Compiler<'c>)> {
    let compiler_of = |room, is_recursive| -> Result<_> {
        let mut compiler = compiler_of(catalog, procedures, statement)?;
        (compiler.room, compiler.calls.is_recursive) = (room, is_recursive);
        prepare(&mut compiler)?;
        Ok(compiler)
    };
    let compile_once = |room: Vec<Draw>| -> Result<_> {
        let mut compiler = compiler_of(room.clone(), false)?;
        let mut compiled = compile_by(&mut compiler, procedures, statement);
        if compiled.is_err() && compiler.meets_itself {
            compiler = compiler_of(room, true)?;
            compiled = compile_by(&mut compiler, procedures, statement);
        }
        if let (Err(failed), Syntax::Routine(routine)) = (&compiled, &statement.syntax)
            && is_of_lacking(failed)
        {
            let failed = failed.clone();
            compiler = compiler_of(Vec::new(), false)?;
            compiled = lacking(&mut compiler, routine, statement, failed);
        }
        if let (Err(failed), Syntax::Routine(routine)) = (&compiled, &statement.syntax)
            && is_run_instead(routine, failed)
        {
            let failed = failed.clone();
            compiler = compiler_of(Vec::new(), false)?;
            compiled = create_instead(&mut compiler, routine, statement, &failed);
        }
        let compiled = compiled?;
        Ok((compiled.draws(), (compiled, compiler)))
    };
    with_room(|| in_rounds(compile_once))
}

/// A compiler for a statement.
pub(crate) fn compiler_of<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
) -> Result<Compiler<'c>> {
    let mut compiler = Compiler::new(catalog);
    compiler.is_own = statement.is_own;
    (compiler.path, compiler.role) = (statement.path.clone(), statement.role.clone());
    compiler.maker.clone_from(&statement.maker);
    compiler.programs = statement.programs;
    compiler.procedures = Some(procedures);
    compiler.overriding = match statement.is_own {
        true => Overriding::System,
        false => statement.overriding,
    };
    compiler.settles_times = defines_tables(&statement.syntax);
    let routine = match &statement.syntax {
        Syntax::Routine(routine) => Some(compiler.new_key(routine)?),
        _ => None,
    };
    compiler.calls = Calls::of(routine.as_deref(), &statement.text);
    Ok(compiler)
}

/// Whether a statement says what tables, or domains of their columns, are.
fn defines_tables(syntax: &Syntax) -> bool {
    use ast::Statement as S;
    match syntax {
        Syntax::Sql(statement) => {
            matches!(**statement, S::CreateTable(_) | S::AlterTable(_) | S::CreateIndex(_))
        }
        Syntax::Domain(_) => true,
        _ => false,
    }
}

/// Compiles a statement whose parameters `$1`, `$2` ... are given when it is run. `types` are those
/// of the first ones, as far as they are known; the others follow from where they stand, as a
/// literal's would. Tells all of them.
///
/// Errors: as [`compile`], and 42P18 for a parameter whose type nothing tells.
pub fn compile_with_parameters<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
    types: &[Option<SqlType>],
) -> Result<(Compiled, Vec<SqlType>)> {
    use Syntax::{Call, Explain, Firing, Sql};
    let has_parameters =
        matches!(statement.syntax, Sql(_) | Call { .. } | Explain { .. } | Firing(_));
    let named = if has_parameters { parameters_named(&statement.text)? } else { 0 };
    let (compiled, compiler) = compile_in_rounds(catalog, procedures, statement, |compiler| {
        compiler.place = statement.place;
        if has_parameters { compiler.take_parameters(types, named) } else { Ok(()) }
    })?;
    Ok((compiled, compiler.given_types()?))
}

/// Compiles a statement of [`crate::parse_shaped`], whose literals are given when it is run, except
/// those that have no type here: what they are is part of what was compiled.
///
/// Errors: as [`compile`], with places that are told by [`crate::place_in_text`], and 0A000 where
/// what is compiled depends on the values of its literals.
pub fn compile_with_literals<'c>(
    catalog: &'c Catalog,
    procedures: &'c impl ProcedureNames,
    statement: &ScriptStatement,
) -> Result<(Compiled, Vec<Option<SqlType>>)> {
    let (compiled, compiler) = compile_in_rounds(catalog, procedures, statement, |compiler| {
        compiler.place = statement.place;
        compiler.literals = Literals::new(statement.literals.clone());
        compiler.take_parameters(&[], compiler.literals.len())
    })?;
    match compiler.literals.is_refused() {
        true => Err(error(b"0A000", statement.place, "the plan depends on literals")),
        false => Ok((compiled, compiler.given)),
    }
}

fn compile_by(
    compiler: &mut Compiler<'_>,
    procedures: &impl ProcedureNames,
    statement: &ScriptStatement,
) -> Result<Compiled> {
    compiler.place = statement.place;
    if !matches!(statement.syntax, Syntax::Routine(_)) {
        compiler.take_drawn_slots()?;
    }
    let compiled = match &statement.syntax {
        Syntax::Routine(routine) if is_run_by_statement(routine) => {
            create_interpreted(compiler, routine, statement)
        }
        Syntax::Routine(routine) => create_procedure(compiler, routine, statement),
        Syntax::Anonymous(of) if of.holds == Holds::Definitions => Ok(Compiled::Interpreted),
        Syntax::Anonymous(of) => match anonymous(compiler, &of.block) {
            Err(refused) if is_interpreted(of.holds, &refused) => {
                return Ok(Compiled::Interpreted);
            }
            compiled => compiled,
        },
        Syntax::Call { name, arguments, place } => {
            let (arguments, _) = compiler.without_outs(name, arguments);
            let mark = compiler.mark();
            // A text whose literals are parameters is compiled as it is written instead.
            let is_written = compiler.literals.len() == 0;
            match call(compiler, (name, None), &arguments, *place) {
                Err(refused) if is_written && may_be_computed(&refused) => {
                    compiler.back_to(&mark);
                    compiler.call_by_program((name, &arguments), *place, refused)
                }
                called => called,
            }
        }
        Syntax::Explain { name, arguments, place } => {
            let procedure = match arguments {
                None => compiler.routine_alone(name, *place)?,
                Some(written) => compiler.routine_meant(name, written, *place)?,
            };
            let arguments = match arguments {
                None => None,
                Some(written) => Some(compiler.call_arguments(name, procedure, written, *place)?),
            };
            let name = procedure.map_or(name, |of| &of.name).clone();
            Ok(Compiled::ExplainProcedure { name, arguments })
        }
        Syntax::DropRoutine { names, if_exists, cascades } => Ok(Compiled::DropProcedures {
            names: names
                .iter()
                .map(|written| compiler.routine_dropped(written))
                .collect::<Result<_>>()?,
            if_exists: *if_exists,
            cascades: *cascades,
        }),
        Syntax::AlterRoutine(written) => compiler.alter_routine(written),
        Syntax::Refresh(written) => compiler.refresh(written).map(Compiled::Refresh),
        Syntax::Comment(written) => compiler.comment(written).map(Compiled::Catalog),
        Syntax::Alter(written) => compiler.altering(written).map(Compiled::Catalog),
        Syntax::RenameSchema { name, to, place } => {
            compiler.rename_schema((name, *place), to).map(Compiled::Catalog)
        }
        Syntax::SetSchema { table, schema, if_exists, place } => {
            compiler.set_schema((table, *place), schema, *if_exists).map(Compiled::Catalog)
        }
        Syntax::Transaction(control) => Ok(Compiled::Transaction(control.clone())),
        Syntax::Setting(setting) => Ok(Compiled::Setting(setting.clone())),
        Syntax::Naming(naming) => Ok(Compiled::Naming(naming.clone())),
        Syntax::Role(role) => compiler.role_statement(role),
        Syntax::Grant(grant) => compiler.grant_statement(grant).map(Compiled::Catalog),
        Syntax::Trigger(written) => {
            compiler.create_trigger(written).map(|change| Compiled::Catalog(vec![change]))
        }
        Syntax::Firing(written) => compiler.firing_statement(written),
        Syntax::DropTrigger(written) => {
            compiler.drop_trigger(written).map(|change| Compiled::Catalog(vec![change]))
        }
        Syntax::Policy(written) => {
            compiler.policy_statement(written).map(|change| Compiled::Catalog(vec![change]))
        }
        Syntax::Domain(written) => {
            compiler.create_domain(written).map(|change| Compiled::Catalog(vec![change]))
        }
        Syntax::Absent(said) => {
            Ok(Compiled::Catalog(vec![CatalogChange::Nothing(left_out(said.clone()))]))
        }
        Syntax::Copy(copy) => compiler.copy(copy).map(Compiled::Copy),
        Syntax::Maintenance(maintenance) => {
            maintenance.check(compiler)?;
            Ok(Compiled::Maintenance(maintenance.clone()))
        }
        Syntax::Sql(sql) => sql_statement(compiler, procedures, sql),
    };
    // What no change of rows has asked for is an argument, or a value of a definition.
    let compiled = compiled.and_then(|of| compiler.needs_query.take().map_or(Ok(of), Err));
    let mut compiled = compiled.map_err(|e| e.or_at(statement.place))?;
    if let (Compiled::CreateProcedure { notices, .. }, Syntax::Routine(routine)) =
        (&mut compiled, &statement.syntax)
    {
        let told = routine.without_effect.iter();
        notices.extend(compiler.calls.told.iter().map(|text| left_out((*text).to_owned())));
        notices.extend(told.map(|name| left_out(format!("SET {name} has no effect in a routine"))));
    }
    if let Compiled::Catalog(changes) = &mut compiled {
        compiler.settle_partitions(changes).map_err(|e| e.or_at(statement.place))?;
    }
    compiler.give_needs(&mut compiled);
    compiler.give_maker(&mut compiled);
    Ok(compiled)
}

/// Whether a block that is refused as a program can be run statement by statement: what it lacks
/// may be what its texts define, or is what sessions can ask.
fn is_interpreted(holds: Holds, refused: &SqlError) -> bool {
    let lacks = || refused.sqlstate == *b"0A000" || is_of_lacking(refused);
    is_for_sessions(refused) || is_of_cursor_value(refused) || holds == Holds::Perhaps && lacks()
}

pub(crate) fn sql_statement(
    compiler: &mut Compiler<'_>,
    procedures: &impl ProcedureNames,
    statement: &ast::Statement,
) -> Result<Compiled> {
    let place = compiler.place;
    match statement {
        ast::Statement::CreateTable(table) => compiler.create_table(table).map(Compiled::Catalog),
        ast::Statement::CreateSchema { schema_name, if_not_exists, .. } => {
            compiler.create_schema(schema_name, *if_not_exists).map(Compiled::Catalog)
        }
        ast::Statement::CreateSequence { .. } => {
            compiler.create_sequence(statement).map(Compiled::Catalog)
        }
        ast::Statement::CreateExtension(extension) => {
            create_extension(extension, place).map(Compiled::Catalog)
        }
        ast::Statement::CreateIndex(index) => compiler.create_index(index).map(Compiled::Catalog),
        ast::Statement::CreateView(view) if view.materialized => {
            compiler.create_materialized(view).map(Compiled::Catalog)
        }
        ast::Statement::CreateView(view) => compiler.create_view(view).map(Compiled::Catalog),
        ast::Statement::CreateType { name, representation } => {
            Ok(Compiled::Catalog(vec![compiler.create_type(name, representation.as_ref())?]))
        }
        ast::Statement::AlterType(written) => compiler.alter_type(written).map(Compiled::Catalog),
        ast::Statement::DropDomain(written) => compiler.drop_domain(written),
        ast::Statement::Drop { object_type, if_exists, names, cascade, .. } => {
            drop_relations(compiler, *object_type, (*if_exists, *cascade), names)
        }
        ast::Statement::Query(query) => {
            let shows = changed_by(query).is_some_and(|(_, change)| returns_queries(change));
            if has_changes(query) || shows {
                compiler.is_whole = true;
                return one_program(compiler, |compiler, body| compiler.sql(statement, None, body));
            }
            if let Some((_, change)) = changed_by(query) {
                return change_of_rows(compiler, change, query.with.as_ref());
            }
            if let Some((name, arguments, label)) =
                called_function(query, (procedures, None), &compiler.path, place)
                && !arguments.iter().any(|of| needs_query(&of.value, procedures, &compiler.path))
            {
                return call(compiler, (&name, label), &arguments, place);
            }
            query_of_rows(compiler, query)
        }
        ast::Statement::Merge(_) => change_of_rows(compiler, statement, None),
        ast::Statement::NOTIFY { .. } => {
            one_program(compiler, |compiler, body| compiler.sql(statement, None, body))
        }
        ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_)
            if returns_queries(statement) || compiler.view_that_acts(statement)?.is_some() =>
        {
            one_program(compiler, |compiler, body| compiler.sql(statement, None, body))
        }
        ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_) => {
            let mark = compiler.mark();
            if compiler.programs == Programs::Several && compiler.goes_by_lists(statement) {
                if let Ok(change) = compiler.relational_change(statement, None) {
                    return Ok(Compiled::Change(Box::new(change)));
                }
                compiler.back_to(&mark);
            }
            compiler.ad_hoc = true;
            let mut body = Vec::new();
            match compiler.change_by_accesses(&mut body, statement, None)? {
                None => statement_of(compiler, body),
                Some(_) => {
                    compiler.back_to(&mark);
                    change_of_rows(compiler, statement, None)
                }
            }
        }
        ast::Statement::AlterTable(table) => compiler.alter_table(table),
        ast::Statement::Truncate(truncate) => compiler.truncation(truncate).map(Compiled::Truncate),
        ast::Statement::Explain { analyze, statement, options, format, .. } => {
            let form = ExplainForm::of(*analyze, options.as_deref(), format.as_ref(), place)?;
            let cannot = || {
                let hint = "SELECT, INSERT, UPDATE and DELETE can be explained, and EXPLAIN \
                            PROCEDURE name(arguments) tells what a call would hold";
                unsupported(place, "EXPLAIN of this statement", hint)
            };
            if matches!(**statement, ast::Statement::Explain { .. }) {
                return Err(cannot());
            }
            let compiled = sql_statement(compiler, procedures, statement)?;
            let lines = explain(compiler.catalog, &compiled, form, None).ok_or_else(cannot)?;
            Ok(match form.runs {
                true => {
                    let text = statement.to_string();
                    Compiled::Analyzed(Box::new(Analyzed { text, compiled, form }))
                }
                false => Compiled::Explained { lines, needs: Needs::default() },
            })
        }
        other => {
            let text = other.to_string();
            let verb = text.split_whitespace().next().unwrap_or_default();
            Err(unsupported(
                place,
                format!("statement {verb}"),
                "docs/sql.md lists the statements there are",
            ))
        }
    }
}

/// A query: one access, or operators.
pub(crate) fn query_of_rows(compiler: &mut Compiler<'_>, query: &ast::Query) -> Result<Compiled> {
    if let ast::SetExpr::Select(select) = &*query.body
        && select.projection.is_empty()
    {
        // All that such rows have is their number, and no result keeps that.
        return Err(unsupported(compiler.place, "a query without columns", "select something"));
    }
    if let Some(given) = notification(query) {
        return one_program(compiler, |compiler, body| {
            compiler.notify(given, body)?;
            compiler.emit_notified(body)
        });
    }
    if compiler.programs == Programs::One {
        return one_program(compiler, |compiler, body| {
            compiler.emit_query(body, query, Wanted::All, |_, _| Ok(Sink::Result))
        });
    }
    compiler.ad_hoc = true;
    match compiler.rows_of(query, Wanted::All)? {
        Rows::Access(selected) => {
            let mut body = Vec::new();
            compiler.emit_selected(&mut body, *selected, Sink::Result)?;
            statement_of(compiler, body)
        }
        Rows::Operators(query) => Ok(Compiled::Query(Arc::new(query))),
    }
}

/// A change of rows that a query gives: as one program, or in two parts that a transaction holds
/// together. Where both may be, what comes second is for what the first cannot do.
fn change_of_rows(
    compiler: &mut Compiler<'_>,
    change: &ast::Statement,
    with: Option<&ast::With>,
) -> Result<Compiled> {
    let in_parts = |compiler: &mut Compiler<'_>| {
        let change = compiler.relational_change(change, with)?;
        Ok(Compiled::Change(Box::new(change)))
    };
    let as_one = |compiler: &mut Compiler<'_>| {
        one_program(compiler, |compiler, body| match with {
            Some(_) => compiler.change_of_rows(body, (change, with), None),
            None => compiler.sql(change, None, body),
        })
    };
    let mark = compiler.mark();
    let first = match compiler.programs {
        Programs::Several => in_parts(compiler),
        _ => as_one(compiler),
    };
    match (first, compiler.programs) {
        (Err(refused), Programs::Several) if &refused.sqlstate == b"0A000" => {
            compiler.back_to(&mark);
            as_one(compiler)
        }
        (Err(refused), Programs::IfNeedBe) if &refused.sqlstate == b"0A000" => {
            compiler.back_to(&mark);
            in_parts(compiler)
        }
        (compiled, _) => compiled,
    }
}

/// A single statement as a procedure has it.
pub(crate) fn one_program(
    compiler: &mut Compiler<'_>,
    compile: impl FnOnce(&mut Compiler<'_>, &mut Vec<Statement>) -> Result<()>,
) -> Result<Compiled> {
    (compiler.ad_hoc, compiler.is_procedure) = (true, true);
    let mut body = Vec::new();
    compiler.with_what_comes_before(&mut body, compile)?;
    statement_of(compiler, body)
}

/// What was compiled, as a statement that gives the rows of its result.
pub(crate) fn statement_of(compiler: &mut Compiler<'_>, body: Vec<Statement>) -> Result<Compiled> {
    let returns_set = !compiler.result.is_empty();
    let body = compiler.with_firing(body, returns_set)?;
    Ok(Compiled::Statement(Box::new(compiler.take_procedure("", body, returns_set))))
}

fn anonymous(compiler: &mut Compiler<'_>, block: &Block) -> Result<Compiled> {
    let mut body = Vec::new();
    compiler.block(block, &mut body)?;
    let body = compiler.with_firing(body, false)?;
    Ok(Compiled::Statement(Box::new(compiler.take_procedure("", body, false))))
}
