//! What the engine makes of a schema: who owns what, and procedures as routes and as actions.
//!
//! Role         made once for each schema, by the first thread that meets it, and shared; the
//!              actions of a procedure when one of its calls is of several partitions for the first
//!              time

use std::sync::{Arc, OnceLock};

use hotrow_base::ids::{PartitionId, ProcedureId};
use hotrow_engine::owners::Owners;
use hotrow_engine::schema::Schema;
use hotrow_transaction::actions::ActionProgram;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::routing::{Lies, RoutingProgram};

/// See the module.
pub struct World {
    /// tables and procedures
    pub schema: Arc<Schema>,
    /// the owners of granules
    pub owners: Owners,
    /// by procedure; none: only planning tells
    routes: Vec<Option<RoutingProgram>>,
    /// by procedure
    programs: Vec<OnceLock<ActionProgram>>,
}

impl World {
    /// That of a schema, for so many partitions.
    pub fn new(schema: Arc<Schema>, partitions: u16) -> Self {
        let owners = Owners::new(&schema, partitions);
        let route = |compiled: &Option<Arc<CompiledProcedure>>| {
            let (compiled, routing) = compiled.as_ref().zip(owners.routing())?;
            let (catalog, granules) = (&schema.catalog, &schema.granules);
            RoutingProgram::new(catalog, granules, routing, &compiled.procedure)
        };
        let routes = schema.procedures.iter().map(route).collect();
        let programs = schema.procedures.iter().map(|_| OnceLock::new()).collect();
        Self { owners, routes, programs, schema }
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u16 {
        self.owners.count()
    }

    /// Where a call lies, as far as its parameters tell.
    #[inline]
    pub fn place(&self, invocation: &Invocation) -> Lies {
        if self.partitions() == 1 {
            return Lies::In(PartitionId(0));
        }
        let route = self.routes.get(invocation.procedure.index()).and_then(Option::as_ref);
        route.map_or(Lies::Unknown, |route| route.place(&invocation.arguments))
    }

    /// A procedure as actions. The schema has the procedure, and so it lowers.
    pub fn program(&self, procedure: ProcedureId) -> &ActionProgram {
        self.programs[procedure.index()].get_or_init(|| {
            let compiled = self.schema.procedure(procedure).expect("only known ones are run");
            let (catalog, granules) = (&self.schema.catalog, &self.schema.granules);
            let program = ActionProgram::new(catalog, granules, &compiled.procedure);
            program.expect("a procedure that was registered can be cut")
        })
    }
}
