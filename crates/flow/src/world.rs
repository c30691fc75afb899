//! What the engine makes of a schema: who owns what, and procedures as routes and as actions.
//!
//! Role         made once for each schema, by the first thread that meets it, and shared. What it
//!              has of a procedure is made when that is called for the first time: a definition
//!              costs nothing for procedures that it does not concern

use std::sync::Arc;

use hotrow_base::ids::{PartitionId, ProcedureId};
use hotrow_base::sync::Latch;
use hotrow_base::sync::facade::OnceLock;
use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
use hotrow_engine::owners::Owners;
use hotrow_engine::schema::{PerAdded, Schema};
use hotrow_transaction::actions::ActionProgram;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::routing::{Lies, RoutingProgram};

/// A schema as an engine runs it; made anew with each schema, and read by all its threads.
pub struct World {
    /// tables and procedures
    pub schema: Arc<Schema>,
    /// the owners of granules
    pub owners: Owners,
    procedures: Vec<Made>,
    /// of those that are added while the schema is in force
    added: PerAdded<Box<Made>>,
}

/// What is made of a procedure.
#[derive(Default)]
struct Made {
    /// none: only planning tells
    route: OnceLock<Option<RoutingProgram>>,
    program: OnceLock<ActionProgram>,
}

impl World {
    /// That of a schema, for so many partitions.
    pub fn new(schema: Arc<Schema>, partitions: u16) -> Self {
        let owners = Owners::new(&schema, partitions);
        let procedures = schema.procedures.iter().map(|_| Made::default()).collect();
        let added = PerAdded::behind(schema.procedures.len());
        Self { owners, procedures, added, schema }
    }

    #[inline]
    fn made_of(&self, procedure: ProcedureId) -> &Made {
        match self.procedures.get(procedure.index()) {
            Some(made) => made,
            None => self.added.get_or_init(procedure, Box::default),
        }
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u16 {
        self.owners.count()
    }

    /// Where a call lies, as far as its parameters tell. The schema has its procedure.
    #[inline]
    pub fn place(&self, invocation: &Invocation) -> Lies {
        let Some(routing) = self.owners.routing() else { return Lies::In(PartitionId(0)) };
        let route = self.made_of(invocation.procedure).route.get_or_init(|| {
            let (catalog, granules) = (&self.schema.catalog, &self.schema.granules);
            let compiled = self.compiled(invocation.procedure);
            RoutingProgram::new(catalog, granules, routing, &compiled.procedure)
        });
        route.as_ref().map_or(Lies::Unknown, |route| route.place(&invocation.arguments))
    }

    /// A procedure as actions. The schema has the procedure, and so it lowers.
    pub fn program(&self, procedure: ProcedureId) -> &ActionProgram {
        self.made_of(procedure).program.get_or_init(|| {
            let (catalog, granules) = (&self.schema.catalog, &self.schema.granules);
            let compiled = self.compiled(procedure);
            let program = ActionProgram::new(catalog, granules, compiled);
            program.expect("a procedure that was registered can be cut")
        })
    }

    fn compiled(&self, procedure: ProcedureId) -> &Arc<CompiledProcedure> {
        self.schema.procedure(procedure).expect("only known ones are run")
    }
}

/// What threads make of the schema in force, and share: the first who asks makes it.
pub struct PerSchema<T> {
    /// of which schema, and what
    made: Latch<Option<(Arc<Schema>, Arc<T>)>>,
    /// schemas so far
    count: AtomicU64,
}

impl<T> Default for PerSchema<T> {
    fn default() -> Self {
        Self { made: Latch::default(), count: AtomicU64::new(0) }
    }
}

impl<T> PerSchema<T> {
    /// What is made of a schema; `make` is told a number that it has given to no other.
    pub fn get(&self, schema: &Arc<Schema>, make: impl FnOnce(u64) -> T) -> Arc<T> {
        let mut known = self.made.lock();
        match &*known {
            Some((of, made)) if Arc::ptr_eq(of, schema) => Arc::clone(made),
            _ => {
                let number = self.count.fetch_add(1, Ordering::Relaxed); // under the latch
                let made = Arc::new(make(number + 1));
                *known = Some((Arc::clone(schema), Arc::clone(&made)));
                made
            }
        }
    }
}
