//! Tables and procedures by their names, as statements and clients say them.

use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_engine::schema::Schema;
use hotrow_sql::Registered;
use hotrow_transaction::catalog;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::outcome::SqlError;

use crate::error::advised;

/// The registered procedures of a schema, for the compiler.
pub(crate) fn registered(schema: &Schema) -> Registered<'_> {
    Registered(schema)
}

/// The procedure with this name, or 42883.
pub(crate) fn procedure_named<'a>(
    schema: &'a Schema,
    name: &str,
) -> Result<(ProcedureId, &'a Arc<CompiledProcedure>), SqlError> {
    // By its key, or by its name where there is one of it; a schema may stand before that.
    let in_schema = name.split_once('.').map(|(schema, own)| catalog::key_in(schema, own));
    let name = match &in_schema {
        Some(key) if schema.overloads(key).next().is_some() => key,
        _ => name,
    };
    let mut of_name = schema.overloads(name);
    let found = schema.procedure_named(name).or_else(|| of_name.next());
    if of_name.next().is_some() && schema.procedure_named(name).is_none() {
        let message = format!("function name \"{name}\" is not unique");
        let hint = "Call it by a statement, with arguments that tell which one is meant.";
        return Err(advised(b"42725", message, hint));
    }
    found.ok_or_else(|| {
        let names = schema.named_procedures().map(|(_, known)| known.procedure.shown_name());
        let mut names: Vec<_> = names.take(20).collect();
        names.dedup();
        let hint = match names.as_slice() {
            [] => "No procedure is registered; CREATE FUNCTION registers one.".to_owned(),
            names => format!("There are: {}.", names.join(", ")),
        };
        let message = match name.ends_with(')') {
            true => format!("function {name} does not exist"), // with the types of its parameters
            false => format!("procedure \"{name}\" does not exist"),
        };
        advised(b"42883", message, hint)
    })
}

/// The error of a call whose procedure has gone.
pub(crate) fn unknown_procedure() -> SqlError {
    let message = "the procedure was dropped before the call ran".to_owned();
    advised(b"42883", message, "Create it again, then call it.")
}

/// The table with this name, which may have its schema and a point before it, or 42P01.
pub(crate) fn table_named<'a>(
    schema: &'a Schema,
    name: &str,
) -> Result<&'a catalog::Table, SqlError> {
    let missing = || SqlError::new(b"42P01", format!("relation \"{name}\" does not exist"));
    let in_schema = || {
        let (schema_name, name) = name.split_once('.')?;
        schema.catalog.table_named(&catalog::qualified(schema_name, name))
    };
    schema.catalog.table_named(name).or_else(in_schema).ok_or_else(missing)
}
