//! A database that runs what it compiles, on the model store.

use std::borrow::Cow;
use std::sync::Arc;

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::{Compiled, compile, compile_with_parameters, parse_script, with_literals};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower::lower;
use hotrow_transaction::outcome::{Outcome, Rows, SqlError};
use hotrow_transaction::program::Procedure;
use hotrow_transaction::reference::ModelStore;

use super::Database;

/// More than any call of the suite needs, and little enough that one without an end is soon over.
const STEP_BUDGET: u64 = 1_000_000;

/// A session on the model store. Tables and indexes are made by [`Session::with`] only.
pub struct Session {
    pub database: Database,
    pub store: ModelStore,
    frame: Frame,
}

impl Session {
    /// A session on these tables and procedures.
    pub fn with(script: &str) -> Self {
        let database = Database::with(script);
        let store = ModelStore::new(Arc::new(database.catalog.clone()));
        let mut frame = Frame::new();
        frame.set_step_budget(STEP_BUDGET);
        Self { database, store, frame }
    }

    /// Runs a script; the outcome of its last statement.
    pub fn outcome(&mut self, script: &str) -> Outcome {
        let mut last = Ok(Default::default());
        for statement in parse_script(script)? {
            let catalog = &self.database.catalog;
            match compile(catalog, &self.database.procedures, &statement)? {
                Compiled::Statement(procedure) => last = self.call(&procedure, &[]),
                Compiled::Call { name, arguments, .. } => {
                    let Some(procedure) = self.database.procedures.get(&name).cloned() else {
                        return Err(SqlError::new(b"42883", format!("no procedure {name}")));
                    };
                    let values = given(&arguments, &[]);
                    last = self.call(&procedure, &values);
                }
                Compiled::CreateProcedure { procedure, .. } => {
                    self.database.procedures.insert(procedure.name.clone(), *procedure);
                }
                other => panic!("a session cannot run {other:?}"),
            }
            last.as_ref().map_err(Clone::clone)?;
        }
        last
    }

    /// Runs a statement with parameters; its outcome, and their types.
    pub fn given(
        &mut self,
        text: &str,
        types: &[Option<SqlType>],
        values: &[Value],
    ) -> Result<(Outcome, Vec<SqlType>), SqlError> {
        let statement = &parse_script(text)?[0];
        let (catalog, procedures) = (&self.database.catalog, &self.database.procedures);
        let (compiled, types) = compile_with_parameters(catalog, procedures, statement, types)?;
        let outcome = match compiled {
            Compiled::Statement(procedure) => {
                let written = with_literals(statement, &types, values)?;
                let store = self.store.clone();
                let outcome = self.call(&procedure, values);
                let changed = std::mem::replace(&mut self.store, store);
                // A value's cast gives a column a name that a parameter does not.
                let nameless =
                    |outcome: Outcome| outcome.map(|rows| Rows { columns: Vec::new(), ..rows });
                let by_text = nameless(self.outcome(&written));
                assert_eq!(by_text, nameless(outcome.clone()), "{written}");
                assert_eq!(self.store.dump(), changed.dump(), "{written}");
                outcome
            }
            Compiled::Call { name, arguments, .. } => {
                let procedure = self.database.procedures[&name].clone();
                let values = given(&arguments, values);
                self.call(&procedure, &values)
            }
            other => panic!("has no parameters: {other:?}"),
        };
        Ok((outcome, types))
    }

    fn call(&mut self, procedure: &Procedure, values: &[Value]) -> Outcome {
        let program = lower(&self.database.catalog, procedure)?;
        let mut invocation = Invocation { now_us: 1_000_000, ..Default::default() };
        for (parameter, value) in procedure.parameters().iter().zip(values) {
            let pushed = invocation.arguments.push_value(parameter.sql_type, value);
            pushed.map_err(|e| SqlError::new(b"22023", e.message()))?;
        }
        self.store.call(&program, &invocation, &mut self.frame)
    }

    /// The rows of the last statement as text: `a,b;c,d`.
    pub fn rows(&mut self, script: &str) -> String {
        let outcome = self.outcome(script).unwrap_or_else(|e| panic!("{e}\nin:\n{script}"));
        let row = |row: &Vec<hotrow_base::value::Value>| {
            row.iter()
                .map(|v| if v.is_null() { "NULL".to_owned() } else { v.to_string() })
                .collect::<Vec<_>>()
                .join(",")
        };
        outcome.rows.iter().map(row).collect::<Vec<_>>().join(";")
    }

    /// The error of the script.
    pub fn error(&mut self, script: &str) -> SqlError {
        match self.outcome(script) {
            Err(problem) => problem,
            Ok(rows) => panic!("gives {rows:?}, but must fail:\n{script}"),
        }
    }
}

/// The values of a call's arguments, at the beginning of time.
fn given(arguments: &[hotrow_sql::Argument], values: &[Value]) -> Vec<Value> {
    let value = |argument: &hotrow_sql::Argument| argument.value(values, 0).map(Cow::into_owned);
    arguments.iter().map(value).collect::<Result<_, _>>().expect("they are constants")
}
