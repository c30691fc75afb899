//! Routines whose bodies name what is not there: which definitions make them so, and whole again.

use std::collections::BTreeSet;

use hotrow_base::ids::ProcedureId;
use hotrow_engine::schema::{Schema, Trees};
use hotrow_sql::{ProcedureNames, compile_lacking};
use hotrow_transaction::catalog::{Catalog, local};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::{Lacking, Place, Procedure, routine_name};

use super::sources::Sources;
use super::{created, parse_one};
use crate::callers::callers_of;
use crate::mentions::Mentioner;

/// That a routine cannot be called, if it cannot.
pub(super) fn of_lacking(procedure: &Procedure, how: &str) -> Option<Notice> {
    let Lacking { error, .. } = &**procedure.lacks.as_ref()?;
    let mut told = error.clone();
    told.message = format!("function {} {how}: {}", procedure.shown_name(), error.message);
    Some(Notice::warning(told))
}

/// What is said of routines that could be called before, and cannot be any more.
pub(super) fn newly_lacking(schema: &Schema, trees: &Trees) -> Vec<Notice> {
    let could_be_called = |id: &ProcedureId| {
        schema.procedure(*id).is_some_and(|compiled| compiled.procedure.lacks.is_none())
    };
    let known = trees.iter().filter(|(id, _)| could_be_called(id));
    let trees = known.filter_map(|(_, tree)| tree.as_ref());
    let told = trees.filter_map(|tree| of_lacking(tree, "cannot be called any more"));
    // Its place is one in the routine's text, which is not what was sent.
    told.map(|mut told| {
        told.said.place = Place::default();
        told
    })
    .collect()
}

/// Who may be another one for routines that come and go, but for their callers: who lacks what has
/// come, and who calls what goes.
pub(super) fn concerned_by_routines(
    schema: &Schema,
    sources: &Sources,
    trees: &Trees,
) -> BTreeSet<ProcedureId> {
    let mut concerned = BTreeSet::new();
    for (id, tree) in trees {
        match tree {
            Some(tree) => {
                concerned.extend(lacking_with(schema, sources, &tree.name));
            }
            None => {
                let gone = schema.procedure(*id).map(|of| of.procedure.name.as_str());
                concerned.extend(callers_of(schema, gone.as_slice()));
            }
        }
    }
    concerned
}

/// Routines that lack something, and name a routine.
fn lacking_with(schema: &Schema, sources: &Sources, name: &str) -> Vec<ProcedureId> {
    let mentioners = sources.mentions().of(local(routine_name(name)));
    let lacking = mentioners.filter_map(|of| match of {
        Mentioner::Procedure(id) => Some(*id),
        Mentioner::View(_) => None,
    });
    lacking.filter(|id| lacks(schema, *id)).collect()
}

fn lacks(schema: &Schema, id: ProcedureId) -> bool {
    schema.procedure(id).is_some_and(|compiled| compiled.procedure.lacks.is_some())
}

/// Who may be another one, too, when routines have become whole that lacked something: who lacks
/// what these are, as routines that call each other do, and who calls them.
pub(super) fn concerned_by_whole(
    schema: &Schema,
    sources: &Sources,
    trees: &Trees,
) -> BTreeSet<ProcedureId> {
    let is_whole = |id: &ProcedureId| matches!(trees.get(id), Some(Some(of)) if of.lacks.is_none());
    let mut concerned = BTreeSet::new();
    for (id, tree) in trees {
        if let Some(tree) = tree
            && lacks(schema, *id)
            && is_whole(id)
        {
            concerned.extend(lacking_with(schema, sources, &tree.name));
        }
    }
    concerned.retain(|id| !is_whole(id));
    let names: Vec<_> = concerned.iter().filter_map(|id| schema.procedure(*id)).collect();
    let names: Vec<_> = names.iter().map(|of| of.procedure.name.as_str()).collect();
    let callers = callers_of(schema, &names);
    concerned.extend(callers);
    concerned
}

/// A routine's text, as one that cannot be called for this reason.
pub(super) fn lacking_source(
    (catalog, procedures): (&Catalog, &impl ProcedureNames),
    source: &str,
    failed: SqlError,
) -> Result<Procedure, SqlError> {
    created(compile_lacking(catalog, procedures, &parse_one(source)?, failed)?)
}
