//! The procedures as actions: cut once per schema, shared by all workers.
//!
//! Role         those that there are when a round begins are cut at once; one that is added to the
//!              schema later, when it is first called. Its leaves have no numbers, so that its
//!              calls are not flat before the next round, which begins with it

use std::fmt;
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_engine::schema::{PerAdded, Schema};
use hotrow_transaction::actions::{ActionProgram, FlatLeaf};
use hotrow_transaction::compiled::CompiledProcedure;

/// By procedure of one schema, its actions, those added meanwhile, too.
pub struct Programs {
    schema: Arc<Schema>,
    /// procedures added to it that are among all, at least
    added_so_far: usize,
    all: Vec<Option<Arc<ActionProgram>>>,
    added: PerAdded<ActionProgram>,
    /// the leaves of all procedures whose calls may be flat: procedure, leaf
    codes: Vec<(u32, u16)>,
    /// by procedure: the first of its leaves among those
    first_codes: Vec<u32>,
}

impl Programs {
    /// Cuts all procedures of a schema.
    pub fn new(schema: &Arc<Schema>) -> Self {
        Self::behind(schema, Vec::new())
    }

    /// The same, and what was added to the schema since they were cut.
    pub fn with_added(&self) -> Self {
        Self::behind(&self.schema, self.all.clone())
    }

    /// Those that are cut already, and all behind them.
    fn behind(schema: &Arc<Schema>, mut all: Vec<Option<Arc<ActionProgram>>>) -> Self {
        let added_so_far = schema.added_so_far(); // what comes meanwhile may be there, too
        let new = schema.procedures_so_far().skip(all.len());
        all.extend(new.map(|compiled| cut(schema, compiled?).map(Arc::new)));
        let added = PerAdded::behind(all.len());
        let (mut codes, mut first_codes) = (Vec::new(), Vec::new());
        for (procedure, program) in (0..).zip(&all) {
            first_codes.push(codes.len() as u32);
            let flat = program.as_deref().and_then(|program| program.flat.as_ref());
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
    // Asked for with each action. A program that was added has none: to look for it here as well
    // kept the compiler from inlining, and took 300 instructions more for a call of YCSB.
    #[inline(always)]
    pub fn coded(&self, code: u32) -> (u32, &ActionProgram, &FlatLeaf) {
        let (procedure, leaf) = self.codes[code as usize];
        let program = self.all[procedure as usize].as_deref().expect(CAN_BE_CUT);
        let flat = program.flat.as_ref().expect("only leaves of flat procedures have numbers");
        (procedure, program, flat.leaf(leaf))
    }

    /// A procedure's. The schema has the procedure, and so it lowers.
    #[inline]
    pub fn of(&self, procedure: ProcedureId) -> &ActionProgram {
        match self.all.get(procedure.index()) {
            Some(program) => program.as_deref().expect(CAN_BE_CUT),
            None => self.added.get_or_init(procedure, || {
                let compiled = self.schema.procedure(procedure).expect("only known ones are run");
                let mut program = cut(&self.schema, compiled).expect(CAN_BE_CUT);
                program.flat = None;
                program
            }),
        }
    }
}

const CAN_BE_CUT: &str = "a procedure that was registered can be cut";

fn cut(schema: &Schema, compiled: &Arc<CompiledProcedure>) -> Option<ActionProgram> {
    ActionProgram::new(&schema.catalog, &schema.granules, compiled).ok()
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Programs").field("count", &self.all.len()).finish_non_exhaustive()
    }
}
