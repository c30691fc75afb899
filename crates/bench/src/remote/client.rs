//! Remote clients: threads with connections of their own, each of which calls, waits for the
//! answer, and calls again.
//!
//! Role         what `clients` is for sessions of a database in this process
//! Concurrency  a client shares nothing with its siblings but the phase

use hotrow::SqlError;
use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::blueprint::Blueprint;
use super::wire;
use crate::books::SourceBooks;
use crate::clients::{CallLoop, Failed};
use crate::error::{BenchError, told};

/// One client.
pub(crate) struct RemoteClient<'a> {
    pub(crate) connection: Client,
    pub(crate) blueprint: &'a Blueprint,
    /// by the number of the procedure in the blueprint
    pub(crate) statements: Vec<Statement>,
    pub(crate) calls: CallLoop,
}

/// Prepares a call of each procedure.
pub(crate) fn prepare(
    connection: &mut Client,
    blueprint: &Blueprint,
) -> Result<Vec<Statement>, BenchError> {
    let prepare = |statement: String| {
        let prepared = connection.prepare(&statement);
        prepared.map_err(|error| BenchError::server(&format!("preparing {statement}"), &error))
    };
    blueprint.procedures.iter().map(|procedure| procedure.statement()).map(prepare).collect()
}

impl RemoteClient<'_> {
    /// Calls until the run ends, or so many times; gives its books.
    pub(crate) fn run(self) -> SourceBooks {
        let Self { mut connection, blueprint, statements, calls } = self;
        let mut given = Vec::new();
        calls.run(|invocation, _| {
            let mut procedures = blueprint.procedures.iter();
            let at = procedures.position(|procedure| procedure.id == invocation.procedure);
            let at = at.expect("generators call procedures of the blueprint");
            wire::parameters(
                &blueprint.procedures[at].parameters,
                &invocation.arguments,
                &mut given,
            );
            let given: Vec<&(dyn ToSql + Sync)> =
                given.iter().map(|parameter| parameter as &(dyn ToSql + Sync)).collect();
            connection.query(&statements[at], &given).map(drop).map_err(|error| failed(&error))
        })
    }
}

fn failed(error: &postgres::Error) -> Failed {
    let Some(refusal) = error.as_db_error().filter(|_| !error.is_closed()) else {
        return Failed::Unknown(told(error));
    };
    let code = refusal.code().code().as_bytes().try_into().unwrap_or(*b"XX000");
    Failed::Call(Box::new(SqlError::new(&code, refusal.message())))
}
