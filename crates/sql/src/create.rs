//! CREATE FUNCTION and CREATE PROCEDURE: parameters, what is returned, the body.

use std::sync::Arc;

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{
    PUBLIC, SearchPath, TriggerFunction, is_temporary, key_in, local, split,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    OVERLOAD_MARK, Procedure, ResultColumn, RoutineSource, STATEMENT_MARK,
};

use crate::compiled::Compiled;
use crate::create_polymorphic::{is_polymorphic_routine, polymorphic};
use crate::error::{Advice, Result, error, place_in, syntax};
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::state::{Names, Returning, Variable};
use crate::syntax::{Mode, Returns, Routine, TypeNameKind};

/// Names and slots of what is returned.
pub(crate) type Outs = Vec<(String, hotrow_transaction::program::SlotId)>;

pub(crate) fn create_procedure(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    statement: &ScriptStatement,
) -> Result<Compiled> {
    let (key, outs) = begin(compiler, routine)?;
    if matches!(routine.returns, Some(Returns::Trigger)) {
        return Ok(trigger_function(compiler, (routine, &key), statement));
    }
    if is_polymorphic_routine(compiler, routine) {
        return polymorphic(compiler, (routine, &key), outs, statement);
    }
    compiler.calls.routine = Some(key.clone());
    let is_variadic = is_variadic(compiler, routine)?;
    let returns_set = result(compiler, routine, outs)?;
    let signature = compiler.signature(&key, returns_set, is_variadic);
    compiler.calls.own = Some(Arc::new(signature));
    let mut body = Vec::new();
    let by = (key.as_str(), routine.is_definer);
    // One that runs in itself is a loop for what it draws.
    compiler.loops += usize::from(compiler.calls.is_recursive);
    compiler.as_function(by, |this| {
        this.with_own_path(routine, |this| this.routine_body(routine, &mut body))
    })?;
    let body = compiler.repeatable(body)?;
    let body = compiler.with_firing(body, returns_set)?;
    let procedure = compiler.take_procedure(&key, body, returns_set);
    let outs = outs_of_call(routine);
    let is_hollow = compiler.calls.circle.is_hollow;
    let text = || Arc::new(RoutineSource { text: statement.text.clone(), is_hollow });
    let source = (!procedure.inlined.is_empty()).then(text);
    Ok(Compiled::CreateProcedure {
        procedure: Box::new(Procedure { is_variadic, outs, source, ..procedure }),
        source: statement.text.clone(),
        or_replace: routine.or_replace,
        maker: None,
        notices: Vec::new(),
    })
}

/// Declares a routine's parameters, and finds the key that it has.
pub(crate) fn begin(compiler: &mut Compiler<'_>, routine: &Routine) -> Result<(String, Outs)> {
    if routine.name.contains([STATEMENT_MARK, OVERLOAD_MARK]) {
        let message = "names of functions do not have control characters";
        return Err(error(b"42602", routine.place, message));
    }
    let outs = parameters(compiler, routine)?;
    let types = compiler.parameters.iter().map(|slot| compiler.slot_expr(*slot).sql_type);
    let types = types.collect::<Vec<_>>();
    let (key, is_there) = compiler.routine_key(&compiler.new_key(routine)?, &types);
    if !routine.or_replace && is_there {
        let name = local(&routine.name);
        let message = format!("function \"{name}\" already exists with same argument types");
        return Err(error(b"42723", routine.place, message).hint("write CREATE OR REPLACE"));
    }
    Ok((key, outs))
}

/// A routine of which only what it takes and gives is compiled: a call of it fails with this error.
/// `with` adds why.
pub(crate) fn create_failing(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    statement: &ScriptStatement,
    failed: &SqlError,
    with: impl FnOnce(Procedure) -> Procedure,
) -> Result<Compiled> {
    let (key, outs) = begin(compiler, routine)?;
    let is_variadic = is_variadic(compiler, routine)?;
    let returns_set = result(compiler, routine, outs)?;
    let mut body = Vec::new();
    compiler.place = failed.place;
    compiler.emit_raise(&mut body, &failed.sqlstate, failed.message.clone(), None);
    let procedure = compiler.take_procedure(&key, body, returns_set);
    let outs = outs_of_call(routine);
    let procedure = Box::new(with(Procedure { is_variadic, outs, ..procedure }));
    let (source, or_replace) = (statement.text.clone(), routine.or_replace);
    let notices = Vec::new();
    Ok(Compiled::CreateProcedure { procedure, source, or_replace, maker: None, notices })
}

/// See [`Procedure::outs`].
pub(crate) fn outs_of_call(routine: &Routine) -> Vec<u16> {
    let all = routine.parameters.iter().zip(0..).filter(|_| !routine.is_function);
    all.filter(|(parameter, _)| parameter.mode == Mode::Out).map(|(_, at)| at).collect()
}

impl Compiler<'_> {
    /// Under which key a routine stands that is made, but for the types of its parameters.
    pub(crate) fn new_key(&self, routine: &Routine) -> Result<String> {
        let name = match split(&routine.name).0 {
            Some(schema) if is_temporary(self.path.schema_meant(schema)) => {
                self.temporary_name(&routine.name, routine.place)?
            }
            _ => self.new_name(&routine.name, routine.place)?,
        };
        let (schema, own) = split(&name);
        Ok(key_in(schema.unwrap_or(PUBLIC), own).into_owned())
    }

    /// Compiles a routine's body in the path that its SET search_path gives it, if it has one.
    /// Where the session has an empty one, as dumps set it, that is the usual one: PostgreSQL looks
    /// bare names up when the routine is called, and then finds them there.
    pub(crate) fn with_own_path<T>(
        &mut self,
        routine: &Routine,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let usual = self.path.schemas().next().is_none().then(SearchPath::default);
        let Some(path) = routine.path.clone().or(usual) else { return compile(self) };
        let around = std::mem::replace(&mut self.path, path);
        let compiled = compile(self);
        self.path = around;
        compiled
    }
}

/// A function that returns trigger: what stands in its body is compiled where a trigger fires.
fn trigger_function(
    compiler: &mut Compiler<'_>,
    (routine, key): (&Routine, &str),
    statement: &ScriptStatement,
) -> Compiled {
    let mut body = Vec::new();
    let message = "trigger functions can only be called as triggers".to_owned();
    compiler.emit_raise(&mut body, b"0A000", message, None);
    let mut procedure = compiler.take_procedure(key, body, false);
    let (name, source) = (key.to_owned(), statement.text.clone());
    procedure.trigger = Some(Arc::new(TriggerFunction { name, text: source.clone() }));
    let (procedure, or_replace) = (Box::new(procedure), routine.or_replace);
    Compiled::CreateProcedure { procedure, source, or_replace, maker: None, notices: Vec::new() }
}

/// Whether the last parameter takes any number of arguments; fails where another one is to.
pub(crate) fn is_variadic(compiler: &Compiler<'_>, routine: &Routine) -> Result<bool> {
    let given = || routine.parameters.iter().filter(|parameter| parameter.mode != Mode::Out);
    let Some(at) = given().position(|parameter| parameter.is_variadic) else {
        let mut out = routine.parameters.iter().filter(|parameter| parameter.is_variadic);
        return match out.next() {
            None => Ok(false),
            Some(out) => Err(syntax(out.place, "VARIADIC parameters cannot be OUT")),
        };
    };
    let place = given().nth(at).map_or(routine.place, |parameter| parameter.place);
    if at + 1 < given().count() {
        let message = "VARIADIC parameter must be the last input parameter";
        return Err(error(b"42P13", place, message));
    }
    let slot = compiler.parameters[at];
    match compiler.slot_expr(slot).sql_type {
        SqlType::Array(_) => Ok(true),
        SqlType::Scalar(_) => Err(error(b"42P13", place, "VARIADIC parameter must be an array")),
    }
}

/// Declares the parameters: those that are passed first, then OUT parameters and the columns of
/// RETURNS TABLE.
pub(crate) fn parameters(compiler: &mut Compiler<'_>, routine: &Routine) -> Result<Outs> {
    compiler
        .names
        .push(Names { label: Some(local(&routine.name).to_owned()), variables: Vec::new() });
    let mut outs: Vec<(usize, String, hotrow_transaction::program::SlotId)> = Vec::new();
    let mut in_order: Vec<_> = routine.parameters.iter().enumerate().collect();
    in_order.sort_by_key(|(_, parameter)| parameter.mode == Mode::Out);
    let passed = in_order.iter().filter(|(_, parameter)| parameter.mode != Mode::Out).count();
    for (at, (position, parameter)) in in_order.into_iter().enumerate() {
        if at == passed {
            compiler.take_drawn_slots()?;
        }
        let sql_type = passed_type(compiler.type_of(&parameter.type_name)?);
        let slot = compiler.slot(&parameter.name, sql_type)?;
        compiler.ask_of_slot(slot, compiler.asking_domain_of(&parameter.type_name));
        if parameter.mode != Mode::Out {
            compiler.parameters.push(slot);
            match &parameter.default {
                Some(written) => {
                    let place = place_in(written, parameter.place);
                    let value = compiler.default_argument(written, sql_type, place)?;
                    compiler.defaults.push(value);
                }
                None if !compiler.defaults.is_empty() => {
                    let message =
                        "input parameters after one with a default value must also have defaults";
                    return Err(error(b"42P13", parameter.place, message));
                }
                None => {}
            }
        }
        if parameter.mode != Mode::In {
            outs.push((position, parameter.name.clone(), slot));
        }
        let variable = Variable::Scalar { slot, constant: false, not_null: false };
        let number = format!("${}", position + 1);
        if !parameter.is_unnamed() {
            compiler.declare(&number, variable.clone(), parameter.place)?;
        }
        compiler.declare(&parameter.name, variable, parameter.place).map_err(|_| {
            error(
                b"42P13",
                parameter.place,
                format!("parameter name \"{}\" used more than once", parameter.name),
            )
        })?;
    }
    if passed == routine.parameters.len() {
        compiler.take_drawn_slots()?;
    }
    if let Some(Returns::Table(columns)) = &routine.returns {
        for (name, place, type_name) in columns {
            let sql_type = passed_type(compiler.type_of(type_name)?);
            let slot = compiler.slot(name, sql_type)?;
            compiler.ask_of_slot(slot, compiler.asking_domain_of(type_name));
            let variable = Variable::Scalar { slot, constant: false, not_null: false };
            compiler.declare(name, variable, *place)?;
            outs.push((usize::MAX, name.clone(), slot));
        }
    }
    outs.sort_by_key(|(position, ..)| *position);
    Ok(outs.into_iter().map(|(_, name, slot)| (name, slot)).collect())
}

/// A type as routines take and give it: with all digits of a second, whatever is written, as
/// PostgreSQL does. (Amounts keep the digits that are written, by which they are faster.)
fn passed_type(of: SqlType) -> SqlType {
    match of {
        SqlType::Scalar(of) => SqlType::Scalar(of.with_all_digits()),
        SqlType::Array(of) => SqlType::Array(of.with_all_digits()),
    }
}

/// Sets what the routine returns; whether that is a set of rows.
pub(crate) fn result(compiler: &mut Compiler<'_>, routine: &Routine, outs: Outs) -> Result<bool> {
    let scalar = |compiler: &Compiler<'_>, type_name| -> Result<DataType> {
        compiler.type_of(type_name).map(|of| passed_type(of).packed())
    };
    let columns = outs.iter().enumerate().map(|(at, (name, slot))| {
        // As PostgreSQL calls what has no name.
        let name = match name.starts_with('$') {
            true if outs.len() == 1 => local(&routine.name).to_owned(),
            true => format!("column{}", at + 1),
            false => name.clone(),
        };
        ResultColumn::new(name, compiler.slot_type(*slot).packed())
    });
    compiler.result = columns.collect();
    let slots: Vec<_> = outs.into_iter().map(|(_, slot)| slot).collect();
    let named = |name: &str, data_type| vec![ResultColumn::new(name, data_type)];
    match &routine.returns {
        Some(_) if !routine.is_function => {
            return Err(syntax(routine.place, "a procedure has no RETURNS")
                .hint("write CREATE FUNCTION, or OUT parameters"));
        }
        None if routine.is_function && slots.is_empty() => {
            return Err(error(b"42P13", routine.place, "function result type must be specified"));
        }
        Some(Returns::Table(_)) => {
            compiler.returning = Returning::SetOfRows(slots);
            return Ok(true);
        }
        Some(Returns::SetOf(type_name)) => return set_of(compiler, routine, type_name, slots),
        Some(Returns::Record) | None if !slots.is_empty() => {
            compiler.returning = Returning::Outs(slots);
        }
        Some(Returns::Record) => {
            compiler.opens_result = true;
            compiler.returning = Returning::Row;
        }
        Some(Returns::Void | Returns::Trigger) | None => {}
        Some(Returns::Scalar(type_name)) if slots.is_empty() => {
            if let Some(fields) = compiler.row_type(type_name) {
                compiler.result = compiler.columns_of_rows(fields);
                compiler.returning = Returning::Row;
                return Ok(false);
            }
            let data_type = scalar(compiler, type_name)?;
            compiler.domains.returned = compiler.asking_domain_of(type_name);
            compiler.result = named(local(&routine.name), data_type);
            compiler.returning = Returning::Value(data_type);
        }
        Some(Returns::Scalar(_)) => compiler.returning = Returning::Outs(slots),
    }
    Ok(false)
}

/// RETURNS SETOF a scalar type, a table, or record with OUT parameters.
pub(crate) fn set_of(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    type_name: &crate::syntax::TypeName,
    slots: Vec<hotrow_transaction::program::SlotId>,
) -> Result<bool> {
    if !slots.is_empty() {
        compiler.returning = Returning::SetOfRows(slots);
        return Ok(true);
    }
    if matches!(type_name.kind, TypeNameKind::Record) {
        compiler.opens_result = true;
        compiler.returning = Returning::SetOfRows(Vec::new());
        return Ok(true);
    }
    if let Some(fields) = compiler.row_type(type_name) {
        compiler.result = compiler.columns_of_rows(fields);
        compiler.returning = Returning::SetOfRows(Vec::new());
        return Ok(true);
    }
    let data_type = compiler.type_of(type_name)?.packed();
    compiler.domains.returned = compiler.asking_domain_of(type_name);
    compiler.result = vec![ResultColumn::new(local(&routine.name), data_type)];
    compiler.returning = Returning::SetOfValues(data_type);
    Ok(true)
}
