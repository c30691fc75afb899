//! The procedures as actions: cut once per schema, shared by all workers.
//!
//! Role         those that there are when a round begins are cut at once; one that is added to the
//!              schema later, when it is first called. Its leaves have no numbers, so that its
//!              calls are not flat before the next round, which begins with it

use std::fmt;
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_base::sync::facade::OnceLock;
use hotrow_engine::schema::{ADDED_MAX, Schema};
use hotrow_transaction::actions::{ActionProgram, FlatLeaf};
use hotrow_transaction::compiled::CompiledProcedure;

/// See the module.
pub struct Programs {
    schema: Arc<Schema>,
    /// procedures added to it that are among all, at least
    added_so_far: usize,
    all: Vec<Option<ActionProgram>>,
    added: Box<[OnceLock<Box<ActionProgram>>]>,
    /// the leaves of all procedures whose calls may be flat: procedure, leaf
    codes: Vec<(u32, u16)>,
    /// by procedure: the first of its leaves among those
    first_codes: Vec<u32>,
}

impl Programs {
    /// Cuts all procedures of a schema.
    pub fn new(schema: &Arc<Schema>) -> Self {
        let cut = |compiled: Option<&Arc<CompiledProcedure>>| {
            let tree = &compiled?.procedure;
            ActionProgram::new(&schema.catalog, &schema.granules, tree).ok()
        };
        let added_so_far = schema.added_so_far(); // what comes meanwhile may be there, too
        let added = (0..ADDED_MAX).map(|_| OnceLock::new()).collect();
        let all: Vec<_> = schema.procedures_so_far().map(cut).collect();
        let (mut codes, mut first_codes) = (Vec::new(), Vec::new());
        for (procedure, program) in (0..).zip(&all) {
            first_codes.push(codes.len() as u32);
            let flat = program.as_ref().and_then(|program| program.flat.as_ref());
            let leaves = flat.map_or(0, |flat| flat.leaves() as u16);
            codes.extend((0..leaves).map(|leaf| (procedure, leaf)));
        }
        Self { schema: Arc::clone(schema), added_so_far, all, added, codes, first_codes }
    }

    /// Whether procedures were added since they were cut.
    #[inline]
    pub fn lack_some(&self) -> bool {
        self.schema.added_so_far() > self.added_so_far
    }

    /// The number of a procedure's first leaf among those of all that may be flat.
    pub fn first_code(&self, procedure: ProcedureId) -> u32 {
        self.first_codes[procedure.index()]
    }

    /// The procedure and the leaf with a number that was handed out before.
    #[inline]
    pub fn coded(&self, code: u32) -> (u32, &ActionProgram, &FlatLeaf) {
        let (procedure, leaf) = self.codes[code as usize];
        let program = self.of(ProcedureId(procedure));
        let flat = program.flat.as_ref().expect("only leaves of flat procedures have numbers");
        (procedure, program, flat.leaf(leaf))
    }

    /// A procedure's. The schema has the procedure, and so it lowers.
    #[inline]
    pub fn of(&self, procedure: ProcedureId) -> &ActionProgram {
        let program = match self.all.get(procedure.index()) {
            Some(program) => program.as_ref(),
            None => self.of_added(procedure),
        };
        program.expect("a procedure that was registered can be cut")
    }

    #[cold]
    fn of_added(&self, procedure: ProcedureId) -> Option<&ActionProgram> {
        let Self { schema, all, added, .. } = self;
        let program = added.get(procedure.index() - all.len())?.get_or_init(|| {
            let compiled = schema.procedure(procedure).expect("only known ones are run");
            let tree = &compiled.procedure;
            let program = ActionProgram::new(&schema.catalog, &schema.granules, tree);
            let mut program = program.expect("a procedure that was registered can be cut");
            program.flat = None;
            Box::new(program)
        });
        Some(program)
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs").field("count", &self.all.len()).finish_non_exhaustive()
    }
}
