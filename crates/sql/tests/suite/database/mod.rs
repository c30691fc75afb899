//! A catalog and its procedures, filled by scripts; and procedures printed as text.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod session;
mod tree;

use std::collections::BTreeMap;

use hotrow_sql::{Compiled, apply, compile, parse_script};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Procedure;

/// A catalog and its procedures.
#[derive(Default)]
pub struct Database {
    pub catalog: Catalog,
    pub procedures: BTreeMap<String, Procedure>,
    /// what was compiled last
    pub last: Option<Compiled>,
}

impl Database {
    /// A database with these tables and procedures.
    pub fn with(script: &str) -> Self {
        let mut database = Self::default();
        database.run(script);
        database
    }

    /// Compiles a script and applies it; panics on errors.
    pub fn run(&mut self, script: &str) {
        if let Err(problem) = self.try_run(script) {
            panic!("{problem}\nin:\n{script}");
        }
    }

    /// Compiles a script and applies it.
    pub fn try_run(&mut self, script: &str) -> Result<(), SqlError> {
        for statement in parse_script(script)? {
            let compiled = compile(&self.catalog, &self.procedures, &statement)?;
            match &compiled {
                Compiled::Catalog(changes) => {
                    for change in changes {
                        apply(&mut self.catalog, change)?;
                    }
                }
                Compiled::CreateProcedure { procedure, .. } => {
                    self.procedures.insert(procedure.name.clone(), (**procedure).clone());
                }
                Compiled::DropProcedures { names, .. } => {
                    for dropped in names {
                        self.procedures.remove(&dropped.name);
                    }
                }
                _ => {}
            }
            self.last = Some(compiled);
        }
        Ok(())
    }

    /// The error of a script that must not compile, or of a call of the routine that it makes.
    pub fn error(&mut self, script: &str) -> SqlError {
        let lacking = |last: &Option<Compiled>| match last {
            Some(Compiled::CreateProcedure { procedure, .. }) => {
                procedure.lacks.as_ref().map(|lacking| lacking.error.clone())
            }
            _ => None,
        };
        match self.try_run(script) {
            Err(problem) => problem,
            Ok(()) => match lacking(&self.last) {
                Some(problem) => problem,
                None => panic!("compiles, but must not:\n{script}"),
            },
        }
    }

    /// The tree of a procedure as text.
    pub fn tree(&self, procedure: &Procedure) -> String {
        tree::print(&self.catalog, procedure)
    }

    /// The tree of an ad-hoc statement as text.
    pub fn statement(&mut self, text: &str) -> String {
        self.run(text);
        match &self.last {
            Some(Compiled::Statement(procedure)) => self.tree(&procedure.clone()),
            other => panic!("not a statement: {other:?}"),
        }
    }

    /// The tree of the procedure that a script creates, as text.
    pub fn created(&mut self, text: &str) -> String {
        self.run(text);
        match &self.last {
            Some(Compiled::CreateProcedure { procedure, .. }) => self.tree(&procedure.clone()),
            other => panic!("not a procedure: {other:?}"),
        }
    }
}
