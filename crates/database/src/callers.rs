//! Procedures that call others: what is compiled again with them, in which order, and what cannot
//! be dropped.
//!
//! Role         a called procedure's statements stand in its callers' programs
//!              ([`Procedure::inlined`]), so that a definition that makes it another one makes
//!              them others, too
//! Invariants   I1 what is called is compiled before who calls it: it has fewer names in `inlined`,
//!              since a caller's are its own name and all of those

use std::collections::BTreeSet;

use hotrow_base::ids::ProcedureId;
use hotrow_engine::schema::{Schema, Trees};
use hotrow_sql::ProcedureNames;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Procedure, routine_name};

use crate::definition::{Sources, compile_source, same_parameters};
use crate::error::advised;

/// The procedures as they will be, for the compiler: those of a schema, and in their places those
/// that are compiled again.
pub(crate) struct Becoming<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) trees: &'a Trees,
    /// the one that is compiled
    pub(crate) but: &'a str,
}

impl ProcedureNames for Becoming<'_> {
    fn overloads(&self, name: &str) -> Vec<&Procedure> {
        let is_it = |of: &&Procedure| routine_name(&of.name) == name && of.name != self.but;
        let new = self.trees.values().flatten().filter(is_it);
        let old = self.schema.overloads(name);
        let old = old.filter(|(id, _)| !self.trees.contains_key(id)).map(|(_, of)| &of.procedure);
        new.chain(old.filter(is_it)).collect()
    }

    fn procedure(&self, name: &str) -> Option<&Procedure> {
        if name == self.but {
            return None;
        }
        let new = self.trees.values().flatten().find(|tree| tree.name == name);
        let old = || {
            let (id, compiled) = self.schema.procedure_named(name)?;
            (!self.trees.contains_key(&id)).then_some(&compiled.procedure)
        };
        new.or_else(old)
    }

    fn compiled_again(&self) -> Option<&str> {
        Some(self.but)
    }

    fn all_names(&self) -> Vec<String> {
        let all = self.schema.named_procedures();
        all.map(|(_, compiled)| compiled.procedure.name.clone()).collect()
    }
}

/// Procedures in the order in which they are compiled (I1).
pub(crate) fn in_order(schema: &Schema, ids: BTreeSet<ProcedureId>) -> Vec<ProcedureId> {
    let mut ids: Vec<_> = ids.into_iter().collect();
    ids.sort_by_key(|id| schema.procedure(*id).map_or(0, |of| of.procedure.inlined.len()));
    ids
}

/// Who calls one of these, directly or not.
pub(crate) fn callers_of(schema: &Schema, called: &[&str]) -> BTreeSet<ProcedureId> {
    let all = schema.named_procedures();
    let calling = all.filter(|(_, compiled)| calls_one(&compiled.procedure, called));
    calling.map(|(id, _)| id).collect()
}

fn calls_one(procedure: &Procedure, called: &[&str]) -> bool {
    procedure.inlined.iter().any(|inlined| called.contains(&inlined.as_str()))
}

/// Statements that are kept as procedures, and call one of these, directly or not.
pub(crate) fn statements_with(schema: &Schema, called: &[&str]) -> BTreeSet<ProcedureId> {
    let calls = |procedure: &Procedure| procedure.is_statement() && calls_one(procedure, called);
    let all = (0..).map(ProcedureId).zip(schema.procedures_so_far());
    all.filter(|(_, compiled)| compiled.is_some_and(|of| calls(&of.procedure)))
        .map(|(id, _)| id)
        .collect()
}

/// Compiles the callers of a procedure again, which is among the trees as it will be.
///
/// # Errors
///
/// One of them would not be what its callers know, or would not compile.
pub(crate) fn compile_callers(
    schema: &Schema,
    sources: &Sources,
    trees: &mut Trees,
    name: &str,
) -> Result<(), SqlError> {
    for id in in_order(schema, callers_of(schema, &[name])) {
        let (Some(compiled), Some(source)) = (schema.procedure(id), sources.get(id)) else {
            continue;
        };
        let caller = &compiled.procedure;
        let becoming = Becoming { schema, trees, but: &caller.name };
        let tree = compile_source((&schema.catalog, &becoming), source);
        let tree = tree.map_err(|error| needed(&caller.name, name, &error))?;
        if !same_parameters(caller, &tree) {
            let message = "it would draw other numbers than calls do that wait";
            return Err(needed(&caller.name, name, &SqlError::new(b"0A000", message)));
        }
        trees.insert(id, Some(tree));
    }
    Ok(())
}

fn needed(caller: &str, called: &str, error: &SqlError) -> SqlError {
    if error.is_refusal() {
        return error.clone();
    }
    let message = format!("{caller}, which calls {called}, would no longer compile");
    let hint = "Drop the caller first, and create it again afterwards.";
    let mut needed = advised(&error.sqlstate, message, hint);
    needed.detail = Some(error.message.clone());
    needed
}
