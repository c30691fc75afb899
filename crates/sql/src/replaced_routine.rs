//! CREATE OR REPLACE of a routine: what has to stay as it was.
//!
//! Role         asked once, when a session sends one, as rights are: what a log holds was made
//! Source       PostgreSQL 15, "CREATE FUNCTION", and `ProcedureCreate`

use hotrow_base::types::DataType;
use hotrow_transaction::catalog::local;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Procedure;

use crate::error::{Advice, Result, error};
use crate::script::parse_script;
use crate::script_statement::ScriptStatement;
use crate::syntax::{Returns, Routine, Syntax, TypeNameKind};
use crate::type_table::known_type;

/// Fails where a routine that replaces another one, whose text is `source`, is of another kind
/// (42809), or returns something else (42P13).
///
/// # Errors
///
/// As said.
pub fn refuse_other_routine(
    (old, source): (&Procedure, &str),
    (new, statement): (&Procedure, &ScriptStatement),
) -> Result<()> {
    let (Syntax::Routine(written), false) = (&statement.syntax, statement.is_own) else {
        return Ok(());
    };
    let mut statements = parse_script(source)?;
    let Some(Syntax::Routine(before)) = statements.pop().map(ScriptStatement::into_syntax) else {
        return Ok(());
    };
    let refused = |code, message: &str| -> SqlError { error(code, written.place, message) };
    if before.is_function != written.is_function {
        let what = if before.is_function { "function" } else { "procedure" };
        return Err(refused(b"42809", "cannot change routine kind")
            .detail(format!("\"{}\" is a {what}.", local(&written.name))));
    }
    if !written.is_function || gives_same((&before, old), (written, new)) {
        return Ok(());
    }
    let types = old.given().iter().map(|parameter| parameter.sql_type.to_string());
    let types = types.collect::<Vec<_>>().join(",");
    let hint = format!("Use DROP FUNCTION {}({types}) first.", local(&written.name));
    Err(refused(b"42P13", "cannot change return type of existing function").hint(hint))
}

/// Whether two functions return the same.
fn gives_same((before, old): (&Routine, &Procedure), (next, new): (&Routine, &Procedure)) -> bool {
    if old.returns_set != new.returns_set || kind_of(before) != kind_of(next) {
        return false;
    }
    // A record has the columns that its body gives it.
    if kind_of(before) == Kind::Record {
        return true;
    }
    let number = |of: DataType| match of {
        // varchar without a length is text
        DataType::Varchar(_) => known_type(DataType::Text).oid,
        of => known_type(of).oid,
    };
    let types = |of: &Procedure| -> Vec<i64> {
        of.result.iter().map(|column| number(column.data_type)).collect()
    };
    let names = |of: &Procedure| -> Vec<String> {
        let is_row = of.result.len() > 1;
        of.result.iter().filter(|_| is_row).map(|column| column.name.clone()).collect()
    };
    types(old) == types(new) && names(old) == names(new)
}

/// What RETURNS says, but for types.
#[derive(PartialEq, Eq)]
enum Kind {
    Void,
    Trigger,
    Record,
    Typed,
}

fn kind_of(routine: &Routine) -> Kind {
    let has_outs = routine.parameters.iter().any(|of| of.mode != crate::syntax::Mode::In);
    match &routine.returns {
        Some(Returns::Void) => Kind::Void,
        Some(Returns::Trigger) => Kind::Trigger,
        Some(Returns::Record) if !has_outs => Kind::Record,
        Some(Returns::SetOf(of)) if matches!(of.kind, TypeNameKind::Record) && !has_outs => {
            Kind::Record
        }
        _ => Kind::Typed,
    }
}
