//! CREATE FUNCTION of a polymorphic one: what it takes and gives. Its text is compiled for the
//! types of each call ([`crate::polymorphic`]).

use std::sync::Arc;

use hotrow_base::types::AnyType;
use hotrow_transaction::program::{Place, Procedure, RoutineSource};

use crate::compiled::Compiled;
use crate::create::{Outs, result};
use crate::error::{Advice, Result, error, unsupported};
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::syntax::{Mode, Returns, Routine, TypeName};

/// Whether a parameter that was declared is polymorphic.
fn takes_any(compiler: &Compiler<'_>) -> bool {
    compiler.parameters.iter().any(|slot| compiler.slot_type(*slot).any().is_some())
}

/// Whether a routine, whose parameters are declared, takes or gives what is polymorphic.
pub(crate) fn is_polymorphic_routine(compiler: &Compiler<'_>, routine: &Routine) -> bool {
    takes_any(compiler) || !given_any(compiler, routine).is_empty()
}

/// The polymorphic types of what a routine gives.
fn given_any(compiler: &Compiler<'_>, routine: &Routine) -> Vec<(AnyType, Place)> {
    let mut given: Vec<&TypeName> = Vec::new();
    match &routine.returns {
        Some(Returns::Scalar(of) | Returns::SetOf(of)) => given.push(of),
        Some(Returns::Table(columns)) => given.extend(columns.iter().map(|(_, _, of)| of)),
        _ => {}
    }
    let outs = routine.parameters.iter().filter(|of| of.mode != Mode::In);
    given.extend(outs.map(|of| &of.type_name));
    let any = |of: &TypeName| Some((compiler.type_of(of).ok()?.any()?, of.place));
    given.into_iter().filter_map(any).collect()
}

/// CREATE FUNCTION of a polymorphic one, whose parameters are declared.
///
/// Errors: 42P13 where no argument tells what it gives.
pub(crate) fn polymorphic(
    compiler: &mut Compiler<'_>,
    (routine, key): (&Routine, &str),
    outs: Outs,
    statement: &ScriptStatement,
) -> Result<Compiled> {
    refuse_open_result(compiler, routine)?;
    let place = routine.place;
    if !routine.is_function {
        return Err(unsupported(place, "a polymorphic procedure", "write a function"));
    }
    if let Some(of) = routine.parameters.iter().find(|of| of.is_variadic) {
        let advice = "take an array, and write ARRAY[...] in calls";
        return Err(unsupported(of.place, "VARIADIC of a polymorphic function", advice));
    }
    let is_any = |of: &TypeName| compiler.type_of(of).is_ok_and(|of| of.any().is_some());
    let mut defaults = routine.parameters.iter().filter(|of| of.default.is_some());
    if let Some(of) = defaults.find(|of| is_any(&of.type_name)) {
        let advice = "give it in calls, or declare it of a type";
        return Err(unsupported(of.place, "a DEFAULT of a polymorphic parameter", advice));
    }
    let returns_set = result(compiler, routine, outs)?;
    let mut body = Vec::new();
    let message = "a polymorphic function is called in a query or an expression".to_owned();
    compiler.emit_raise(&mut body, b"0A000", message, None);
    let procedure = compiler.take_procedure(key, body, returns_set);
    let text = RoutineSource { text: statement.text.clone(), is_hollow: false };
    Ok(Compiled::CreateProcedure {
        procedure: Box::new(Procedure { source: Some(Arc::new(text)), ..procedure }),
        source: statement.text.clone(),
        or_replace: routine.or_replace,
        maker: None,
        notices: Vec::new(),
    })
}

fn refuse_open_result(compiler: &Compiler<'_>, routine: &Routine) -> Result<()> {
    let taken = compiler.parameters.iter().filter_map(|of| compiler.slot_type(*of).any());
    let families: Vec<bool> = taken.map(AnyType::is_compatible).collect();
    let mut given = given_any(compiler, routine).into_iter();
    let Some((any, place)) = given.find(|(any, _)| !families.contains(&any.is_compatible())) else {
        return Ok(());
    };
    let takes = match any.is_compatible() {
        false => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        true => {
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or \
             anycompatiblemultirange"
        }
    };
    let of = any.name();
    Err(error(b"42P13", place, "cannot determine result data type")
        .detail(format!("A result of type {of} requires at least one input of type {takes}.")))
}
