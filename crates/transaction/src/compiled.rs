//! A procedure, ready to be called: its bytecode and its planning program.
//!
//! Role         made at a quiet point when a procedure is registered, and again when a table that
//!              it touches, or its granules, change; shared read-only by all threads

use hotrow_base::stack::with_room;

use crate::bytecode::Program;
use crate::catalog::Catalog;
use crate::free_loop::FreeLoop;
use crate::granule::{GranuleNotes, Granules};
use crate::lower;
use crate::outcome::SqlError;
use crate::plan::program::{PlanProgram, mark_unchanged};
use crate::program::Procedure;
use crate::slice::{Knowledge, LoopKnowledge, ProtectedKnowledge, Slice};

/// A procedure in all its forms.
#[derive(Clone, Debug)]
pub struct CompiledProcedure {
    /// the tree
    pub procedure: Procedure,
    /// the bytecode; sites whose keys a plan holds are flagged in it
    pub program: Program,
    /// the planning program
    pub plan: PlanProgram,
    /// per site: how its granules become known
    pub knowledge: Vec<Knowledge>,
    /// per loop without a bound: what planning does with it
    pub loops: Vec<LoopKnowledge>,
    /// per block whose errors are caught: what planning does with it
    pub protected: Vec<ProtectedKnowledge>,
    /// a loop whose turns may come in any order
    pub free_loop: Option<FreeLoop>,
    /// what it does with granules
    pub notes: GranuleNotes,
}

impl CompiledProcedure {
    /// Whether it changes rows, as far as is known before it runs.
    pub fn writes(&self) -> bool {
        self.notes.has_changes()
    }

    /// Lowers and slices a procedure for a catalog and a set of granules.
    pub fn new(
        catalog: &Catalog,
        granules: &Granules,
        procedure: Procedure,
    ) -> Result<Self, SqlError> {
        with_room(|| Self::of(catalog, granules, procedure))
    }

    fn of(catalog: &Catalog, granules: &Granules, procedure: Procedure) -> Result<Self, SqlError> {
        let mut program = lower::lower(catalog, &procedure)?;
        let slice = Slice::of(catalog, granules, &procedure);
        for (site, &planned) in slice.planned.iter().enumerate() {
            program.set_planned(site as u16, planned);
        }
        mark_unchanged(&mut program, catalog, granules, &procedure);
        let plan = PlanProgram::new(catalog, granules, &slice)?;
        let free_loop = FreeLoop::of(catalog, &procedure, &slice.planned);
        let notes = GranuleNotes::of(catalog, granules, &procedure);
        let Slice { knowledge, loops, protected, .. } = slice;
        Ok(Self { procedure, program, plan, knowledge, loops, protected, free_loop, notes })
    }
}
