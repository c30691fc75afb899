//! A procedure's leaves and the driver that lines them up: made once, shared by all threads.

use std::sync::Arc;

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};

use hotrow_base::types::SqlType;

use super::cut::{self, Arms, Cut, Step};
use super::flat::FlatProgram;
use super::flow::Flow;
use super::leaf::{self, Input, Leaf};
use crate::bytecode::{PathCode, Program};
use crate::catalog::Catalog;
use crate::compiled::CompiledProcedure;
use crate::granule::Granules;
use crate::lower;
use crate::outcome::SqlError;
use crate::plan::{PlanProgram, mark_unchanged};
use crate::program::{
    ExprKind, FIRST_PARAMETER, Path, ROW_COUNT, SlotId, Statement, StatementKind,
};
use crate::slice::{OWN_MARK, Slice};
use crate::walk;

/// How a slot's value is kept outside a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// the datum says all
    Plain,
    /// bytes of a heap
    Bytes,
    /// elements; `true`: which are bytes
    Array(bool),
}

impl Kept {
    fn of(sql_type: SqlType) -> Self {
        match sql_type {
            SqlType::Scalar(data_type) if data_type.is_bytes() => Self::Bytes,
            SqlType::Scalar(_) => Self::Plain,
            SqlType::Array(data_type) => Self::Array(data_type.is_bytes()),
        }
    }
}

/// How many programs there have been in this process.
static PROGRAMS: AtomicU64 = AtomicU64::new(0);

/// A procedure as leaves and driver.
#[derive(Clone, Debug)]
pub struct ActionProgram {
    /// no other program has it, but for clones
    pub(super) number: u64,
    /// the leaves, in program order
    pub leaves: Vec<Leaf>,
    /// the leaves' code: entry `i` runs leaf `i`
    pub program: Program,
    /// the procedure in one piece, for calls that are not cut
    pub whole: Arc<CompiledProcedure>,
    /// why no call is cut, if so: then the procedure is one action
    pub uncut: Option<String>,
    /// access sites of the procedure that are cut in two, ascending: what nobody writes is read
    /// apart from the rest
    pub apart: Vec<u16>,
    /// how its calls are run if they are flat; none: they never are
    pub flat: Option<FlatProgram>,
    pub(super) driver: PlanProgram,
    pub(super) steps: Vec<Step>,
    /// by step: slots of the driver whose values are kept, and how
    pub(super) captures: Vec<Box<[(SlotId, Kept)]>>,
    pub(super) kept: Vec<Kept>,
    /// parameters that are assigned, and so are values like all others
    pub(super) own_parameters: Vec<(SlotId, Kept)>,
}

impl ActionProgram {
    /// Cuts a procedure, for the catalog and the granules for which it was compiled.
    pub fn new(
        catalog: &Catalog,
        granules: &Granules,
        whole: &Arc<CompiledProcedure>,
    ) -> Result<Self, SqlError> {
        match cut::cut(catalog, granules, &whole.procedure) {
            Ok(cut) => Self::of_cut(catalog, granules, whole, cut),
            Err(why) => Ok(Self::uncut(whole, why)),
        }
    }

    /// The number in the procedure of an access site of the leaves.
    pub(super) fn original(&self, site: u16) -> u16 {
        let before = (0..).zip(&self.apart).filter(|(cut, apart)| **apart + cut < site);
        site - before.count() as u16
    }

    fn of_cut(
        catalog: &Catalog,
        granules: &Granules,
        whole: &Arc<CompiledProcedure>,
        cut: Cut,
    ) -> Result<Self, SqlError> {
        let procedure = &whole.procedure;
        let Cut { marked, mut steps, marks, arms, mut leaves, parts, apart } = cut;
        for (leaf, part) in leaves.iter_mut().zip(&parts) {
            leaf.decides |= part.iter().any(|statement| leaf::decides(catalog, statement));
        }
        let slice = Slice::with_marks(catalog, granules, &marked, &marks);
        for arms in arms {
            if goes_through_both(&slice.procedure.body, arms) {
                steps[arms.then as usize] = Step::Nothing;
                steps[arms.otherwise as usize] = Step::Nothing;
            }
        }
        let lowered = |parts: &[Vec<Statement>]| {
            let parts: Vec<&[Statement]> = parts.iter().map(Vec::as_slice).collect();
            lower::lower_parts(catalog, &marked, &parts)
        };
        let mut shorter = parts.clone();
        leave_out_keys(&lowered(&parts)?, &slice.planned, &mut leaves, &mut shorter);
        let mut program = lowered(&shorter)?;
        for (site, &planned) in slice.planned.iter().enumerate() {
            program.set_planned(site as u16, planned);
        }
        mark_unchanged(&mut program, catalog, granules, &marked);
        let kept: Vec<_> = marked.slots.iter().map(|slot| Kept::of(slot.sql_type)).collect();
        let parameters = (FIRST_PARAMETER..).zip(procedure.parameters());
        let parameters = parameters.map(|(slot, _)| SlotId(slot)).filter(|slot| {
            leaves.iter().any(|leaf| leaf.inputs.iter().any(|input| input.slot == *slot))
        });
        let own_parameters = parameters.map(|slot| (slot, kept[slot.index()])).collect();
        let captures = steps.iter().map(|step| captures(*step, &leaves, &kept)).collect();
        let driver = PlanProgram::new(catalog, granules, &slice)?;
        let pieces = (&leaves[..], &parts[..], &kept[..]);
        let flat =
            FlatProgram::new(catalog, (procedure, &slice), (&program, &driver), &steps, pieces);
        Ok(Self {
            number: PROGRAMS.fetch_add(1, Ordering::Relaxed), // only its uniqueness counts
            leaves,
            program,
            whole: Arc::clone(whole),
            uncut: None,
            apart,
            flat,
            kept,
            driver,
            steps,
            captures,
            own_parameters,
        })
    }

    fn uncut(whole: &Arc<CompiledProcedure>, why: String) -> Self {
        Self {
            number: PROGRAMS.fetch_add(1, Ordering::Relaxed), // as above
            leaves: Vec::new(),
            program: Program::default(),
            whole: Arc::clone(whole),
            uncut: Some(why),
            apart: Vec::new(),
            flat: None,
            driver: whole.plan.clone(),
            steps: Vec::new(),
            captures: Vec::new(),
            kept: Vec::new(),
            own_parameters: Vec::new(),
        }
    }

    /// Whether planning a call reads records.
    pub fn needs_reconnaissance(&self) -> bool {
        self.driver.needs_reconnaissance
    }
}

/// What is kept of the driver's values when it comes to a step.
fn captures(step: Step, leaves: &[Leaf], kept: &[Kept]) -> Box<[(SlotId, Kept)]> {
    match step {
        Step::Leaf(leaf) => {
            let known = leaves[usize::from(leaf)].inputs.iter().filter(|input| input.known);
            known.map(|input| (input.slot, kept[input.slot.index()])).collect()
        }
        Step::Let { slot, from } => Box::new([(from, kept[slot.index()])]),
        Step::Nothing => Box::new([]),
    }
}

/// Leaves do not compute keys that they are always given: those of accesses to one row whose keys
/// are planned, and taken as they were. (A key that cannot be computed is not known from planning:
/// its leaf fails.)
fn leave_out_keys(
    program: &Program,
    planned: &[bool],
    leaves: &mut [Leaf],
    parts: &mut [Vec<Statement>],
) {
    let is_given = |site: u16| {
        let site = usize::from(site);
        let is_plain = |path: &PathCode| matches!(path, PathCode::Point(key) if key.is_plain);
        planned[site] && is_plain(&program.access[site].path)
    };
    for (leaf, part) in leaves.iter_mut().zip(parts) {
        if let ([statement], Some(site)) = (&mut part[..], leaf.site)
            && let StatementKind::Access(access) = &mut statement.kind
            && let Path::Point { key, .. } = &mut access.path
            && is_given(site)
            && !key.iter().any(walk::can_fail)
        {
            // Some slot: nobody looks at it.
            key.iter_mut().for_each(|expr| expr.kind = ExprKind::Slot(ROW_COUNT));
            // Nor are they given what only the keys were computed from.
            let read = Flow::of(statement).inputs;
            let is_read = |input: &&Input| !input.known || read.contains(&input.slot);
            leaf.inputs = leaf.inputs.iter().filter(is_read).copied().collect();
        }
    }
}

/// Whether the marks of both arms stand in one block.
fn goes_through_both(block: &[Statement], arms: Arms) -> bool {
    let is = |statement: &Statement, step: u32| match statement.kind {
        StatementKind::Mark(id) => id == step | OWN_MARK,
        _ => false,
    };
    let has = |step| block.iter().any(|statement| is(statement, step));
    has(arms.then) && has(arms.otherwise)
        || block.iter().flat_map(walk::blocks).any(|nested| goes_through_both(nested, arms))
}
