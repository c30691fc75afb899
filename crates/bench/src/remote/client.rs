//! Remote clients: threads with connections of their own, each of which calls, waits for the
//! answer, and calls again.
//!
//! Role         what `clients` is for sessions of a database in this process
//! Concurrency  a client shares nothing with its siblings but the phase

use std::sync::Arc;

use hotrow::{Invocation, SqlError};
use hotrow_base::clock::Ticks;
use hotrow_workloads::{Generator, KindInfo};
use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::blueprint::Blueprint;
use super::wire::{self, Parameter};
use crate::books::{OnItsWay, SourceBooks};
use crate::error::{BenchError, told};
use crate::phase::{Phase, PhaseFlag};

/// One client.
pub(crate) struct RemoteClient<'a> {
    pub(crate) connection: Client,
    pub(crate) blueprint: &'a Blueprint,
    /// by the number of the procedure in the blueprint
    pub(crate) statements: Vec<Statement>,
    pub(crate) generator: Box<dyn Generator>,
    pub(crate) kinds: Vec<KindInfo>,
    pub(crate) phase: Arc<PhaseFlag>,
    /// calls to make in all
    pub(crate) calls: u64,
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
    pub(crate) fn run(mut self) -> SourceBooks {
        let mut books = SourceBooks::new(&self.kinds);
        let (mut invocation, mut given) = (Invocation::default(), Vec::new());
        while self.calls > 0 && self.phase.get() != Phase::Ended {
            self.calls -= 1;
            let since = Ticks::now();
            let kind = self.generator.next(&mut invocation);
            books.span.get_or_insert((since, since));
            let end = self.call(&invocation, &mut given);
            let (now, measured) = (Ticks::now(), self.phase.get().step().is_some());
            let committed = end.is_ok();
            if let Err(error) = end {
                let Some(refusal) = error.as_db_error().filter(|_| !error.is_closed()) else {
                    // Nobody knows how this call ended, and none after it would end better.
                    books.failures += 1;
                    books.first_failure.get_or_insert_with(|| told(&error));
                    break;
                };
                let code = refusal.code().code().as_bytes().try_into().unwrap_or(*b"XX000");
                books.note_abort(kind, &SqlError::new(&code, refusal.message()));
            }
            let tally = self.generator.tally();
            books.settle(OnItsWay { kind, tally, since }, committed, now, measured);
        }
        books
    }

    fn call(
        &mut self,
        invocation: &Invocation,
        given: &mut Vec<Parameter>,
    ) -> Result<(), postgres::Error> {
        let mut procedures = self.blueprint.procedures.iter();
        let at = procedures.position(|procedure| procedure.id == invocation.procedure);
        let at = at.expect("generators call procedures of the blueprint");
        wire::parameters(&self.blueprint.procedures[at].parameters, &invocation.arguments, given);
        let given: Vec<&(dyn ToSql + Sync)> =
            given.iter().map(|parameter| parameter as &(dyn ToSql + Sync)).collect();
        self.connection.query(&self.statements[at], &given).map(drop)
    }
}
