//! TRUNCATE in a transaction: what fires before and behind it, and what takes the rows away.
//!
//! Role         programs that a session runs in its transaction, one after the other. At a quiet
//!              point, where nothing fires, nobody needs them

use hotrow_transaction::catalog::{Catalog, SearchPath, TriggerEvent, TriggerLevel, TriggerTiming};
use hotrow_transaction::program::{Procedure, Statement};
use sqlparser::ast;

use crate::compile::sql_statement;
use crate::compiled::Compiled;
use crate::drawn::in_rounds;
use crate::error::{Result, syntax};
use crate::fire::{Fired, RowSlots};
use crate::maintenance::Truncation;
use crate::scope::Compiler;
use crate::script::parse_script;
use crate::state::{ProcedureNames, Programs};
use crate::syntax::Syntax;
use crate::token::quoted_name;

impl Truncation {
    /// Whether a trigger fires for it.
    pub fn fires(&self, catalog: &Catalog) -> bool {
        let mut triggers = self.named.iter().flat_map(|table| &catalog.table(*table).triggers);
        triggers.any(|trigger| trigger.fires(TriggerEvent::Truncate, &[]))
    }

    /// What fires before it, or behind it, as one program.
    ///
    /// Errors: those of the triggers' functions.
    pub fn compile_fired(
        &self,
        timing: TriggerTiming,
        (catalog, procedures, path): (&Catalog, &dyn ProcedureNames, &SearchPath),
    ) -> Result<Compiled> {
        in_rounds(|room| {
            let mut compiler = Compiler::new(catalog).seeing(path);
            (compiler.room, compiler.procedures) = (room, Some(procedures));
            compiler.is_procedure = true;
            compiler.take_drawn_slots()?;
            let mut body = Vec::new();
            for table in &self.named {
                compiler.fire_truncation(&mut body, catalog.table(*table).id, timing)?;
            }
            let needs = std::mem::take(&mut compiler.needs);
            let procedure = Procedure { needs, ..compiler.take_procedure("", body, false) };
            Ok((procedure.draws.clone(), Compiled::Statement(Box::new(procedure))))
        })
    }
}

impl Compiler<'_> {
    fn fire_truncation(
        &mut self,
        out: &mut Vec<Statement>,
        table: hotrow_base::ids::TableId,
        timing: TriggerTiming,
    ) -> Result<()> {
        let (event, rows) = (TriggerEvent::Truncate, &RowSlots::default());
        for trigger in self.firing_triggers(table, (TriggerLevel::Statement, timing), (event, &[]))
        {
            let table = self.catalog.table(table);
            self.fire(out, &Fired { table, trigger, event, rows, skip: None })?;
        }
        Ok(())
    }
}

/// What takes all rows of a table, or of a partition, away. No trigger of DELETE fires for it, and
/// nobody needs the right to DELETE.
///
/// Errors: as [`crate::compile`].
pub fn compile_emptied(
    name: &str,
    (catalog, procedures, path): (&Catalog, &dyn ProcedureNames, &SearchPath),
) -> Result<Compiled> {
    let text = format!("DELETE FROM {}", quoted_name(name));
    let statement = parse_script(&text)?.pop();
    let gone = || syntax(Default::default(), "a statement is no statement any more");
    let syntax = statement.ok_or_else(gone)?.into_syntax();
    let Syntax::Sql(delete) = syntax else { return Err(gone()) };
    in_rounds(|room| emptied(room, &delete, (catalog, procedures, path)))
}

fn emptied(
    room: Vec<hotrow_transaction::draw::Draw>,
    delete: &ast::Statement,
    (catalog, procedures, path): (&Catalog, &dyn ProcedureNames, &SearchPath),
) -> Result<(Vec<hotrow_transaction::draw::Draw>, Compiled)> {
    let mut compiler = Compiler::new(catalog).seeing(path);
    (compiler.room, compiler.procedures) = (room, Some(procedures));
    (compiler.is_own, compiler.programs) = (true, Programs::One);
    compiler.firing.is_silent = true;
    compiler.take_drawn_slots()?;
    let compiled = sql_statement(&mut compiler, &procedures, delete)?;
    Ok((compiled.draws(), compiled))
}
