//! What `hotrow check` asks: definitions without rows, and what their procedures' calls would hold.
//!
//! Role         does what definitions say, so that the next ones find them; all other statements
//!              are compiled, which finds what is wrong with them, and not run

use hotrow_base::ids::ProcedureId;
use hotrow_base::panics;
use hotrow_engine::schema::Schema;
use hotrow_sql::Compiled;
use hotrow_transaction::holdings::Holdings;
use hotrow_transaction::outcome::{Notice, NoticeLevel, SqlError};

use super::Session;
use crate::database::Database;
use crate::error::Error;
use crate::perform::Outcome;
use crate::prepared::Prepared;

/// What became of a statement that was checked.
#[derive(Default, Debug)]
pub struct Checked {
    /// the procedure that it has created
    pub created: Option<ProcedureId>,
    /// what it says of itself; not what calls would hold, which [`Database::holdings`] tells when
    /// all procedures are there
    pub notices: Vec<Notice>,
}

impl Session {
    /// Does what the statements of a text define, and compiles the others without running them. One
    /// that opens or ends a transaction does nothing: each definition is one.
    ///
    /// # Errors
    ///
    /// As [`Session::execute`]; what came before it keeps its effect.
    pub fn check(&self, text: &str) -> Result<Checked, Error> {
        let mut checked = Checked::default();
        let mut script = self.parse(text)?;
        let mut lack = Vec::new();
        while let Some(statement) = self.next_of(&mut script) {
            self.check_one(&*statement?, &mut checked, &mut lack)?;
        }
        // What one names may have come behind it.
        let schema = self.context.core.schema.current();
        let lacks = |name: &str| {
            schema.procedure_named(name).is_some_and(|(_, of)| of.procedure.lacks.is_some())
        };
        match lack.into_iter().find(|(name, _)| lacks(name)) {
            Some((_, error)) => Err(error),
            None => Ok(checked),
        }
    }

    /// Checks a statement; routines that name what is not there yet go to `lack`, with the error.
    fn check_one(
        &self,
        statement: &Prepared,
        checked: &mut Checked,
        lack: &mut Vec<(String, Error)>,
    ) -> Result<(), Error> {
        let compiled = self.compile_only(statement).map_err(|error| statement.placed(error))?;
        let Some(compiled) = compiled.filter(is_definition) else { return Ok(()) };
        let Outcome::Done(result) = self.perform(statement, &[])? else { return Ok(()) };
        let creates = matches!(compiled, Compiled::CreateProcedure { .. });
        // A procedure's warnings are those of what it would hold among those before it.
        let is_told = |notice: &Notice| !creates || notice.level != NoticeLevel::Warning;
        checked.notices.extend(result.notices.into_iter().filter(is_told));
        if let Compiled::CreateProcedure { procedure, .. } = &compiled {
            if let Some(lacking) = &procedure.lacks {
                let error = statement.placed(lacking.error.clone().into());
                lack.push((procedure.name.clone(), error));
            }
            let schema = self.context.core.schema.current();
            checked.created = schema.procedure_named(&procedure.name).map(|(id, _)| id);
        }
        Ok(())
    }

    /// What a statement was compiled to; none: it needs no compilation, as COMMIT.
    fn compile_only(&self, statement: &Prepared) -> Result<Option<Compiled>, Error> {
        let _guard = panics::guard();
        let _entered = self.enter();
        if statement.statement().is_transaction_control() {
            return Ok(None);
        }
        Ok(statement.compile_now(&self.context.core.schema)?)
    }
}

/// Whether later statements may need what it does.
fn is_definition(compiled: &Compiled) -> bool {
    matches!(
        compiled,
        Compiled::Catalog(_)
            | Compiled::CreateProcedure { .. }
            | Compiled::AlterRoutine(_)
            | Compiled::DropProcedures { .. }
            | Compiled::Setting(_)
    )
}

impl Database {
    /// What each call of a procedure would hold, among all that are registered now.
    ///
    /// # Errors
    ///
    /// 42883 when it was dropped.
    pub fn holdings(&self, procedure: ProcedureId) -> Result<Holdings, Error> {
        let schema: &Schema = &self.schema();
        let gone = || SqlError::new(b"42883", "the procedure does not exist any more");
        let compiled = schema.procedure(procedure).ok_or_else(gone)?;
        Ok(Holdings::of(&schema.catalog, &schema.granules, compiled))
    }
}
