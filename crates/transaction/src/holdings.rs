//! What each call of a procedure holds, as data: for checks before it is deployed.
//!
//! Role         the facts of EXPLAIN PROCEDURE ([`crate::explain`]) without a call, statement by
//!              statement, and what to write where parameters do not decide them
//! Invariants   I1 granules depend on all procedures that are registered, so do these; ask when
//!              the last one is

use hotrow_base::ids::ColumnId;

use crate::catalog::Catalog;
use crate::coarse;
use crate::compiled::CompiledProcedure;
use crate::explain::{alone_by_error, alone_by_loop, head};
use crate::expression_text::expression_text;
use crate::granule::{Granules, LockMode, Space};
use crate::locks::{self, LockTemplate};
use crate::outcome::Notice;
use crate::program::{Place, Procedure};
use crate::slice::{Knowledge, LoopKnowledge, ProtectedKnowledge};
use crate::walk::{self, Site};

/// How what a call holds becomes known, from best to worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Planning {
    /// its parameters tell, or columns that nobody changes
    Planned,
    /// some rows are read on trial first; a call is planned again where they have changed since
    Reconnoitred,
    /// some calls may run alone, while nothing else runs
    MayRunAlone,
}

impl Planning {
    /// One or a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Reconnoitred => "reconnoitred",
            Self::MayRunAlone => "may run alone",
        }
    }
}

/// A lock that a statement takes: a granule, whose key is told as it is written, or a whole table
/// or index. Locks that only announce others are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// S or X
    pub mode: LockMode,
    /// the index whose granule it is, or the table
    pub of: String,
    /// columns of the granule and what they equal; none: it is held as a whole
    pub key: Vec<(String, String)>,
    /// each row found needs its own, which only the row tells
    pub is_of_rows_found: bool,
}

/// A statement's access to one table.
#[derive(Clone, Debug)]
pub struct AccessHoldings {
    /// where the statement stands
    pub place: Place,
    /// what it does, and how its rows are found
    pub what: String,
    /// what it holds
    pub held: Vec<Held>,
    /// why its keys are not known from parameters, where they are not
    pub doubt: Option<Doubt>,
}

/// Why something is not planned, and what to write to have it so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Doubt {
    /// where it stands
    pub place: Place,
    /// why
    pub why: String,
    /// what to write
    pub hint: String,
}

/// What each call of a procedure holds.
#[derive(Clone, Debug)]
pub struct Holdings {
    /// of each access, in their order
    pub accesses: Vec<AccessHoldings>,
    /// why some calls may run alone
    pub alone: Vec<Doubt>,
    /// what is held as a whole, with advice
    pub wholes: Vec<Notice>,
    /// what it calls, whose accesses are among its own
    pub inlined: Vec<String>,
}

impl Holdings {
    /// Of a procedure, among the others that granules were inferred from.
    pub fn of(catalog: &Catalog, granules: &Granules, compiled: &CompiledProcedure) -> Self {
        let procedure = &compiled.procedure;
        let sites = walk::sites(&procedure.body);
        let accesses = sites.iter().zip(&compiled.knowledge).map(|((site, statement), known)| {
            let locks = locks::site_locks(catalog, granules, site);
            let given = locks.given.iter().filter_map(|lock| held(catalog, procedure, lock));
            let rows = locks.rows.map(|(index, mode)| Held {
                mode,
                of: catalog.index(index).name.clone(),
                key: Vec::new(),
                is_of_rows_found: true,
            });
            AccessHoldings {
                place: statement.place,
                what: head(catalog, site),
                held: given.chain(rows).collect(),
                doubt: doubt(catalog, granules, site, known, statement.place),
            }
        });
        Self {
            accesses: accesses.collect(),
            alone: alone(compiled),
            wholes: coarse::warnings(catalog, granules, procedure),
            inlined: procedure.inlined.clone(),
        }
    }

    /// The worst of its parts.
    pub fn planning(&self) -> Planning {
        if !self.alone.is_empty() {
            Planning::MayRunAlone
        } else if self.accesses.iter().any(|access| access.doubt.is_some()) {
            Planning::Reconnoitred
        } else {
            Planning::Planned
        }
    }
}

fn held(catalog: &Catalog, procedure: &Procedure, lock: &LockTemplate<'_>) -> Option<Held> {
    let (of, key) = match lock.space {
        Space::Table(_) if lock.mode < LockMode::Shared => return None,
        Space::Table(table) => (catalog.table(table).name.clone(), Vec::new()),
        Space::Index(index) => {
            let index = catalog.index(index);
            let columns = &catalog.table(index.table).columns;
            let parts = index.columns.iter().zip(&lock.parts).map(|(column, part)| {
                (columns[column.index()].name.clone(), expression_text(procedure, part))
            });
            (index.name.clone(), parts.collect())
        }
    };
    Some(Held { mode: lock.mode, of, key, is_of_rows_found: false })
}

/// Why parameters do not tell the keys of an access.
fn doubt(
    catalog: &Catalog,
    granules: &Granules,
    site: &Site<'_>,
    known: &Knowledge,
    place: Place,
) -> Option<Doubt> {
    let Knowledge::Reconnaissance(why) = known else { return None };
    let hint = match locks::site_locks(catalog, granules, site).rows {
        Some((primary, _)) => {
            let index = catalog.index(primary);
            let columns = &catalog.table(index.table).columns;
            let name = |column: &ColumnId| columns[column.index()].name.as_str();
            let first = index.columns.iter().take(granules.parts(primary)).map(name);
            let names = first.collect::<Vec<_>>().join(", ");
            format!("compare {names} with = to parameters in this statement")
        }
        None => "pass as a parameter what it is compared with, or read it from a table or columns \
                 that no procedure changes"
            .to_owned(),
    };
    Some(Doubt { place, why: why.clone(), hint })
}

/// Loops and blocks by which a call may run alone.
fn alone(compiled: &CompiledProcedure) -> Vec<Doubt> {
    use crate::program::StatementKind::{Loop, Protected};
    let (mut loops, mut blocks) = (compiled.loops.iter(), compiled.protected.iter());
    let mut found = Vec::new();
    walk::statements(&compiled.procedure.body, &mut |statement| {
        let (what, (why, hint)) = match &statement.kind {
            Loop { .. } if loops.next() == Some(&LoopKnowledge::Trial) => {
                ("the loop", alone_by_loop())
            }
            Protected(_) if blocks.next() == Some(&ProtectedKnowledge::Guessed) => {
                ("the EXCEPTION block", alone_by_error())
            }
            _ => return,
        };
        found.push(Doubt { place: statement.place, why: format!("{what} {why}"), hint });
    });
    found
}
