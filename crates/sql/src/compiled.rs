//! What a statement was compiled to.

use std::sync::Arc;

use hotrow_query::Query;
use hotrow_transaction::catalog::Object;
use hotrow_transaction::draw::Draw;
use hotrow_transaction::needs::Needs;
use hotrow_transaction::outcome::Notice;
use hotrow_transaction::program::{Place, Procedure};

use crate::altered_routine::AlteredRoutine;
use crate::call::Argument;
use crate::changes::CatalogChange;
use crate::copy::Copy;
use crate::explain::Analyzed;
use crate::maintenance::{Maintenance, Truncation};
use crate::relation::Change;
use crate::setting::{Naming, Setting};
use crate::transaction_control::TransactionControl;

/// What a statement asks for.
#[derive(Clone, Debug)]
pub enum Compiled {
    /// CREATE, ALTER or DROP of tables, indexes and users: changes for [`crate::apply`], in order
    Catalog(Vec<CatalogChange>),
    /// CREATE FUNCTION or PROCEDURE
    CreateProcedure {
        /// the program
        procedure: Box<Procedure>,
        /// the statement's text, to compile it again
        source: String,
        /// OR REPLACE
        or_replace: bool,
        /// whose it is, where there is none that it replaces; none: the database's maker's
        maker: Option<Arc<str>>,
        /// what of it is without effect
        notices: Vec<Notice>,
    },
    /// DROP FUNCTION or PROCEDURE
    DropProcedures {
        /// which
        names: Vec<Dropped>,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE: triggers that use them go with them
        cascades: bool,
    },
    /// ALTER FUNCTION, PROCEDURE or ROUTINE
    AlterRoutine(AlteredRoutine),
    /// SELECT, INSERT, UPDATE, DELETE or DO: a procedure without a name and parameters, to be run
    /// once
    Statement(Box<Procedure>),
    /// SELECT that is more than one access to one table
    Query(Arc<Query>),
    /// INSERT, UPDATE or DELETE of rows that a query gives
    Change(Box<Change>),
    /// CALL, or SELECT of one function
    Call {
        /// procedure
        name: String,
        /// one per parameter
        arguments: Vec<Argument>,
        /// how its only column is called, if not as it was declared: of a function that gives a
        /// row, that is the row
        label: Option<String>,
    },
    /// DO of a block that holds definitions, or asks for the system catalog: it is run statement by
    /// statement ([`ScriptStatement::interpret`](crate::ScriptStatement::interpret))
    Interpreted,
    /// CALL of a routine that is run statement by statement
    InterpretedCall {
        /// the routine
        name: String,
        /// what it does
        block: Arc<crate::ScriptStatement>,
        /// as of [`Compiled::Call`]
        label: Option<String>,
    },
    /// EXPLAIN PROCEDURE
    ExplainProcedure {
        /// procedure
        name: String,
        /// what to plan a call with
        arguments: Option<Vec<Argument>>,
    },
    /// EXPLAIN of a statement: the text
    Explained {
        /// its lines
        lines: Vec<String>,
        /// what whoever asks needs the right to do
        needs: Needs,
    },
    /// EXPLAIN ANALYZE
    Analyzed(Box<Analyzed>),
    /// BEGIN, COMMIT, ROLLBACK and savepoints
    Transaction(TransactionControl),
    /// TRUNCATE
    Truncate(Truncation),
    /// REFRESH MATERIALIZED VIEW
    Refresh(Refresh),
    /// VACUUM, ANALYZE, CHECKPOINT
    Maintenance(Maintenance),
    /// COPY
    Copy(Copy),
    /// SET, SHOW, RESET
    Setting(Setting),
    /// PREPARE, EXECUTE, DEALLOCATE
    Naming(Naming),
}

impl Compiled {
    /// What whoever runs it needs the right to do; none: it is no statement that is kept.
    pub fn needs(&self) -> Option<&Needs> {
        match self {
            Self::Statement(procedure) => Some(&procedure.needs),
            Self::Query(query) => Some(&query.needs),
            Self::Change(change) => Some(&change.apply.needs),
            _ => None,
        }
    }

    /// What its program draws.
    pub(crate) fn draws(&self) -> Vec<Draw> {
        match self {
            Self::Statement(procedure) | Self::CreateProcedure { procedure, .. } => {
                procedure.draws.clone()
            }
            _ => Vec::new(),
        }
    }

    /// What the client is told about parts of it that are left out.
    pub fn notices(&self) -> Vec<&Notice> {
        let changes = match self {
            Self::Catalog(changes) => changes,
            Self::CreateProcedure { notices, .. } => return notices.iter().collect(),
            _ => return Vec::new(),
        };
        let left_out = changes.iter().filter_map(|change| match change {
            CatalogChange::Nothing(notice) => Some(notice),
            _ => None,
        });
        left_out.collect()
    }
}

/// REFRESH MATERIALIZED VIEW: what makes its rows anew, and then what it changes of the catalog.
#[derive(Clone, Debug)]
pub struct Refresh {
    /// whose owner may refresh it
    pub object: Object,
    /// the block that makes the rows
    pub text: String,
    /// none: it has rows before and behind
    pub changes: Vec<CatalogChange>,
}

/// A procedure named by DROP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// its name
    pub name: String,
    /// where it is named, for the error when there is none
    pub place: Place,
}
