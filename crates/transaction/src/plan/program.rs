//! The program that plans calls.

use crate::bytecode::Program;
use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::lower;
use crate::outcome::SqlError;
use crate::program::Procedure;
use crate::slice::Slice;
use crate::walk::{self, Site};

use super::mark::MarkCode;

/// The program that plans a procedure's calls.
#[derive(Clone, Debug)]
pub struct PlanProgram {
    /// the slice, lowered
    pub program: Program,
    /// its marks
    pub marks: Box<[MarkCode]>,
    /// whether planning reads records
    pub needs_reconnaissance: bool,
    /// whether a plan may lack what a call touches, however right its trial reads are: planning
    /// takes it that no error comes where one that is caught would lead elsewhere, or there are
    /// statements whose text is known only when they run
    pub may_miss: bool,
}

impl PlanProgram {
    /// Lowers a slice.
    pub(crate) fn new(
        catalog: &Catalog,
        granules: &Granules,
        slice: &Slice,
    ) -> Result<Self, SqlError> {
        let mut program = lower::lower(catalog, &slice.procedure)?;
        mark_unchanged(&mut program, catalog, granules, &slice.procedure);
        Ok(Self {
            program,
            marks: slice.marks.iter().map(|mark| MarkCode::new(catalog, mark)).collect(),
            needs_reconnaissance: slice.needs_reconnaissance,
            may_miss: slice.may_miss(),
        })
    }
}

/// Marks the sites of a procedure's program that read nothing which anybody changes.
pub(crate) fn mark_unchanged(
    program: &mut Program,
    catalog: &Catalog,
    granules: &Granules,
    procedure: &Procedure,
) {
    for (number, (site, _)) in (0..).zip(walk::sites(&procedure.body)) {
        if let Site::Access(access) = site
            && !procedure.row_locks.is_exclusive()
            && granules.reads_unchanged(catalog, access)
        {
            program.set_unchanged(number);
        }
    }
}
