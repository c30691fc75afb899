//! Calls of routines that are run statement by statement.
//!
//! Role         a routine with definitions in it, or with COMMIT and ROLLBACK before its end, is no
//!              program: what it defines is not there when it is compiled, and a program is one
//!              transaction. A call of it by itself, `CALL p(...)` or `SELECT f(...)`, becomes a
//!              block whose variables are its parameters; called by another routine, or among
//!              other expressions, it is refused
//! Source       PostgreSQL 15, 43.8 and 43.5

use std::sync::Arc;

use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Place, Procedure};

use crate::anonymous::{Anonymous, Holds};
use crate::call::{may_be_computed, places_given};
use crate::call_syntax::CallArgument;
use crate::changes::left_out;
use crate::compiled::Compiled;
use crate::create::create_failing;
use crate::cursors::is_of_cursor_value;
use crate::declaration::is_refcursor;
use crate::dynamic_text::{OPEN_CURSOR, OPEN_RECORD};
use crate::error::{Advice, Result, unsupported};
use crate::functions;
use crate::holds::{each_in_block, has_definitions};
use crate::interpreted::run::RETURNED;
use crate::kept_rows::NO_QUERY;
use crate::operators::is_for_sessions;
use crate::scope::Compiler;
use crate::script::parse_script;
use crate::script_statement::ScriptStatement;
use crate::syntax::{
    Block, BlockStatement, BlockStatementKind as Kind, Declaration, Mode, Returns, Routine, Syntax,
    VariableSyntax,
};

/// Whether a routine can only be run statement by statement, and can be.
pub(crate) fn is_run_by_statement(routine: &Routine) -> bool {
    if routine.is_in_sql {
        return false;
    }
    let mut ends = false;
    if !routine.is_function {
        each_in_block(&routine.body, &mut |statement, is_protected| {
            ends |= matches!(statement.kind, Kind::End { is_last: false, .. }) && !is_protected;
        });
    }
    (ends || has_definitions(&routine.body) || hands_cursors(routine)) && is_simple(routine)
}

/// Whether a routine opens or reads cursors, and takes or gives names of cursors.
fn hands_cursors(routine: &Routine) -> bool {
    let mut has_cursors = false;
    each_in_block(&routine.body, &mut |statement, _| {
        has_cursors |= matches!(
            statement.kind,
            Kind::Open(_) | Kind::Fetch(_) | Kind::Close(_) | Kind::ForCursor { .. }
        );
    });
    let given = match &routine.returns {
        Some(Returns::Scalar(of) | Returns::SetOf(of)) => Some(of),
        _ => None,
    };
    let mut types = routine.parameters.iter().map(|of| &of.type_name).chain(given);
    has_cursors && types.any(is_refcursor)
}

/// Whether a call of a routine can be run statement by statement.
fn is_simple(routine: &Routine) -> bool {
    let is_simple = |returns: &Returns| match returns {
        Returns::Void | Returns::Scalar(_) => true,
        Returns::SetOf(of) => is_refcursor(of),
        _ => false,
    };
    !routine.is_in_sql
        && !routine.is_definer
        && routine.path.is_none()
        && routine.returns.as_ref().is_none_or(is_simple)
        && routine.parameters.iter().all(|of| !of.is_variadic)
}

/// Whether a routine that is refused as a program is one that runs statement by statement.
pub(crate) fn is_run_instead(routine: &Routine, failed: &SqlError) -> bool {
    let others = [OPEN_RECORD, OPEN_CURSOR, NO_QUERY];
    let is_other =
        || is_of_cursor_value(failed) || others.iter().any(|what| failed.message.starts_with(what));
    let is_of_session =
        || is_for_sessions(failed) || failed.hint.as_deref() == Some(functions::PASS_VALUE);
    failed.sqlstate == *b"0A000" && (is_of_session() || is_other()) && is_simple(routine)
}

/// What a call of such a routine comes to in a program.
pub(crate) fn called_alone() -> SqlError {
    let message = "a call, beside others, of a routine that is run statement by statement is not \
                   supported";
    SqlError::new(b"0A000", message)
}

/// Whether something is refused since it has such a call in it.
pub(crate) fn is_called_alone(refused: &SqlError) -> bool {
    let alone = called_alone();
    refused.sqlstate == alone.sqlstate && refused.message == alone.message
}

/// As [`create_interpreted`], by a compiler that has compiled nothing yet, for why the routine is
/// no program.
pub(crate) fn create_instead(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    statement: &ScriptStatement,
    failed: &SqlError,
) -> Result<Compiled> {
    compiler.place = statement.place;
    let compiled = create_interpreted(compiler, routine, statement);
    let mut compiled = compiled.map_err(|e| e.or_at(statement.place))?;
    if let Compiled::CreateProcedure { notices, .. } = &mut compiled {
        let name = hotrow_transaction::catalog::local(&routine.name);
        let why = &failed.message;
        notices.push(left_out(format!(
            "{name} can only be called by itself, and is run statement by statement: {why}"
        )));
    }
    compiler.give_needs(&mut compiled);
    compiler.give_maker(&mut compiled);
    Ok(compiled)
}

/// CREATE FUNCTION or PROCEDURE of such a routine: what it takes and gives, and its text.
pub(crate) fn create_interpreted(
    compiler: &mut Compiler<'_>,
    routine: &Routine,
    statement: &ScriptStatement,
) -> Result<Compiled> {
    let failed = SqlError { place: compiler.place, ..called_alone() };
    let text = Some(Arc::from(statement.text.as_str()));
    let with = |procedure| Procedure { interpreted: text, ..procedure };
    create_failing(compiler, routine, statement, &failed, with)
}

/// CALL, or a query of nothing but a call.
pub(crate) fn call(
    compiler: &mut Compiler<'_>,
    (name, label): (&str, Option<String>),
    arguments: &[CallArgument],
    place: Place,
) -> Result<Compiled> {
    let procedure = compiler.routine_meant(name, arguments, place)?;
    if let Some(procedure) = procedure {
        if procedure.is_polymorphic() {
            let what = format!("a call by itself of {name}, which is polymorphic,");
            return Err(unsupported(place, what, format!("write SELECT {name}(...)")));
        }
        compiler.need_call(procedure);
        if let Some(text) = &procedure.interpreted {
            // What they are, and the types of parameters among them. The block computes others.
            let mark = compiler.mark();
            match compiler.call_arguments(name, Some(procedure), arguments, place) {
                Ok(_) => {}
                Err(refused) if may_be_computed(&refused) => compiler.back_to(&mark),
                Err(refused) => return Err(refused),
            }
            let block = Arc::new(called(procedure, text, (name, arguments), place)?);
            let name = procedure.name.clone();
            return Ok(Compiled::InterpretedCall { name, block, label });
        }
    }
    let arguments = compiler.call_arguments(name, procedure, arguments, place)?;
    let name = procedure.map_or(name, |of| &of.name).to_owned();
    Ok(Compiled::Call { name, arguments, label })
}

/// The block that a call is.
fn called(
    procedure: &Procedure,
    text: &str,
    (name, written): (&str, &[CallArgument]),
    place: Place,
) -> Result<ScriptStatement> {
    let other = || SqlError::new(b"XX000", "a routine's text makes no routine");
    let mut script = parse_script(text)?;
    let mut statement = script.pop().ok_or_else(other)?;
    let Syntax::Routine(routine) = std::mem::replace(&mut statement.syntax, Syntax::NONE) else {
        return Err(other());
    };
    let places = places_given(procedure, name, written, place)?;
    let Routine { name: own, parameters, returns, body, text, is_function, .. } = *routine;
    let (mut declarations, mut outs, mut passed) = (Vec::new(), Vec::new(), 0);
    for (parameter, number) in parameters.into_iter().zip(1..) {
        let mut given = None;
        let alias = (!parameter.is_unnamed()).then(|| (parameter.name.clone(), parameter.place));
        if parameter.mode != Mode::Out {
            let argument = places.get(passed).copied().flatten();
            given = argument.and_then(|at| written.get(at)).map(|of| of.value.clone());
            given = given.or(parameter.default);
            passed += 1;
        }
        if parameter.mode != Mode::In {
            outs.push(parameter.name.clone());
        }
        declarations.push(variable(parameter.name, parameter.place, parameter.type_name, given));
        if let Some((name, place)) = alias {
            let of = vec![name];
            declarations.push(Declaration::Alias { name: format!("${number}"), place, of });
        }
    }
    let returns_set = matches!(returns, Some(Returns::SetOf(_)));
    if let Some(Returns::Scalar(of) | Returns::SetOf(of)) = returns
        && outs.is_empty()
    {
        outs.push(RETURNED.to_owned());
        declarations.push(variable(RETURNED.to_owned(), place, of, None));
    }
    let body = BlockStatement { place, kind: Kind::Block(body) };
    let label = hotrow_transaction::catalog::local(&own).to_owned();
    let block =
        Block { label: Some(label), declarations, statements: vec![body], handlers: Vec::new() };
    let (origin, text) = text;
    let of = Anonymous::new(block, (text, origin), Holds::Definitions);
    let of = Anonymous { outs, returns_set, may_end: !is_function, ..of };
    statement.syntax = Syntax::Anonymous(Box::new(of));
    Ok(statement)
}

/// A variable in DECLARE.
pub(super) fn variable(
    name: String,
    place: Place,
    type_name: crate::syntax::TypeName,
    default: Option<sqlparser::ast::Expr>,
) -> Declaration {
    let (constant, not_null) = (false, false);
    let written = VariableSyntax { name, place, constant, not_null, type_name, default };
    Declaration::Variable(Box::new(written))
}
