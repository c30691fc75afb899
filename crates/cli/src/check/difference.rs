//! What procedures of one version hold more, or less, than those of another.
//!
//! Role         compares procedures of one name and the same parameters' types
//! Invariants   I1 granules are told apart by their index and its columns, and counted: values are
//!              written otherwise where a variable has another name, and are not compared

use std::collections::BTreeMap;

use hotrow::{LockMode, Planning};

use super::report::granules;
use super::version::{Procedure, Version};

/// How a procedure differs.
#[derive(Debug)]
pub(super) enum Difference {
    Came {
        procedure: String,
        planning: Planning,
    },
    Went {
        procedure: String,
    },
    Changed {
        procedure: String,
        /// before and now
        planning: (Planning, Planning),
        /// what calls hold now beside what they held
        more: Vec<String>,
        /// what they held beside what they hold now
        less: Vec<String>,
    },
}

impl Difference {
    /// What there is to say of it, the worst first.
    pub(super) fn words(&self) -> Vec<&'static str> {
        let Self::Changed { planning: (before, now), more, less, .. } = self else {
            return Vec::new();
        };
        let all = [
            (*before == Planning::Planned && now > before, "no longer planned"),
            (*before > Planning::Planned && now > before, "may run alone now"),
            (!more.is_empty(), "holds more"),
            (!less.is_empty(), "holds less"),
            (*now == Planning::Planned && now < before, "planned now"),
            (*now > Planning::Planned && now < before, "runs alone no longer"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect()
    }
}

/// The differences, those of the new version's procedures in its order, then those that are gone.
pub(super) fn differences(before: &Version, now: &Version) -> Vec<Difference> {
    let named = |version: &Version, key: &str| {
        version.procedures.iter().position(|procedure| procedure.key == key)
    };
    let stays = now.procedures.iter().filter_map(|procedure| match named(before, &procedure.key) {
        Some(at) => changed(&before.procedures[at], procedure),
        None => Some(Difference::Came {
            procedure: procedure.key.clone(),
            planning: procedure.holdings.planning(),
        }),
    });
    let gone = before.procedures.iter().filter(|procedure| named(now, &procedure.key).is_none());
    let gone = gone.map(|procedure| Difference::Went { procedure: procedure.key.clone() });
    stays.chain(gone).collect()
}

fn changed(before: &Procedure, now: &Procedure) -> Option<Difference> {
    let (old, new) = (footprint(before), footprint(now));
    let planning = (before.holdings.planning(), now.holdings.planning());
    let (more, less) = (beyond(&new, &old), beyond(&old, &new));
    let is_same = more.is_empty() && less.is_empty() && planning.0 == planning.1;
    let procedure = now.key.clone();
    (!is_same).then_some(Difference::Changed { procedure, planning, more, less })
}

/// Granules of one kind: how strongly they are held, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Kind {
    mode: LockMode,
    count: usize,
}

/// By index or table, and the columns that granules are made of; none: all of it.
type Footprint = BTreeMap<(String, Vec<String>), Kind>;

fn footprint(procedure: &Procedure) -> Footprint {
    let mut footprint = Footprint::new();
    for granule in granules(&procedure.holdings) {
        let mut columns: Vec<_> = granule.held.key.iter().map(|(name, _)| name.clone()).collect();
        if granule.held.is_of_rows_found {
            columns.push("each row found".to_owned());
        }
        let one = Kind { mode: granule.mode, count: 0 };
        let kind = footprint.entry((granule.held.of.clone(), columns)).or_insert(one);
        kind.mode = kind.mode.max(granule.mode);
        kind.count += 1;
    }
    footprint
}

/// What one footprint has beside another.
fn beyond(one: &Footprint, other: &Footprint) -> Vec<String> {
    let added = one.iter().filter(|((of, columns), kind)| {
        match other.get(&(of.clone(), columns.clone())) {
            Some(known) => kind.mode > known.mode || kind.count > known.count,
            // A longer prefix of the same key is a part of what a shorter one holds.
            None => !(0..columns.len()).any(|length| {
                let wider = other.get(&(of.clone(), columns[..length].to_vec()));
                wider.is_some_and(|wider| wider.mode >= kind.mode)
            }),
        }
    });
    let text = |((of, columns), kind): (&(String, Vec<String>), &Kind)| {
        let of = match columns.as_slice() {
            [] => format!("{of}, all of it"),
            columns => format!("{of} ({})", columns.join(", ")),
        };
        let times = if kind.count > 1 { format!(", {} times", kind.count) } else { String::new() };
        format!("{} {of}{times}", kind.mode.name())
    };
    added.map(text).collect()
}
