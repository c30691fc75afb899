//! Actions as text, for EXPLAIN.

use std::fmt::Write;
use std::ops::Range;

use super::batch::{Action, Batch, BatchCall, WhyWhole};
use super::leaf::Leaf;
use super::program::ActionProgram;
use crate::catalog::Catalog;
use crate::granule::Space;
use crate::program::Procedure;

/// What becomes of a procedure's calls in a batch, in a line.
pub fn explain_batch(program: &ActionProgram) -> String {
    if let Some(why) = &program.uncut {
        return format!("In a batch each call is one action, because {why}.\n");
    }
    if program.flat.is_some() {
        return "In a batch calls are flat: each access waits for nothing but its turn.\n"
            .to_owned();
    }
    let count = |holds: fn(&Leaf) -> bool| program.leaves.iter().filter(|leaf| holds(leaf)).count();
    let both = count(|leaf| leaf.decides && leaf.writes);
    let how = match (count(|leaf| leaf.decides), count(|leaf| leaf.writes)) {
        (0, _) | (_, 0) => "",
        _ if both > 1 => ", or are one action where several of them both decide and write",
        _ => ", conditions first, or are one action where something is decided by what was written",
    };
    let leaves = program.leaves.len();
    let mut text = format!("In a batch calls are cut into actions, by {leaves} leaves{how}.\n");
    for site in &program.apart {
        let _ = writeln!(
            text,
            "Access {} is cut in two: what it reads of unwritten columns waits for nothing.",
            site + 1
        );
    }
    text
}

/// The leaves of a procedure: what each takes, makes and waits for.
pub fn explain_leaves(program: &ActionProgram, procedure: &Procedure) -> String {
    let mut text = String::new();
    if let Some(why) = &program.uncut {
        let _ = writeln!(text, "One action, because {why}.");
        return text;
    }
    let _ = writeln!(text, "{} leaves", program.leaves.len());
    for (number, leaf) in program.leaves.iter().enumerate() {
        let _ = writeln!(text, "{number:>3}. {}", leaf_text(program, leaf, procedure));
    }
    text
}

fn leaf_text(program: &ActionProgram, leaf: &Leaf, procedure: &Procedure) -> String {
    let name = |slot: crate::program::SlotId| match procedure.slots.get(slot.index()) {
        Some(slot) => slot.name.clone(),
        None => format!("${}", slot.0),
    };
    let mut text = match (leaf.site, leaf.expects) {
        (Some(site), _) => format!("access {}", program.original(site) + 1),
        (None, Some(expected)) => format!("expect {expected}"),
        (None, None) => "values".to_owned(),
    };
    for guard in &leaf.guards {
        let when = if guard.when { "if" } else { "unless" };
        let _ = write!(text, ", {when} {}", name(guard.slot));
    }
    let list = |slots: Vec<String>| slots.join(", ");
    let inputs: Vec<_> =
        leaf.inputs.iter().filter(|i| !i.known).map(|input| name(input.slot)).collect();
    if !inputs.is_empty() {
        let _ = write!(text, "; takes {}", list(inputs));
    }
    let outputs: Vec<_> = leaf.outputs.iter().map(|&output| name(output)).collect();
    if !outputs.is_empty() {
        let _ = write!(text, "; makes {}", list(outputs));
    }
    text
}

/// What becomes of a planned call in a batch: its actions, with conditions first, as it was
/// [wanted](super::Wanted), or why it is one.
pub fn explain_in_batch(
    catalog: &Catalog,
    program: &ActionProgram,
    (batch, call): (&Batch, &BatchCall),
) -> String {
    if call.whole == Some(WhyWhole::DecidesLate) {
        return "In a batch this call is one action, because its conditions cannot come before all \
            of its changes.\n"
            .to_owned();
    }
    format!("In a batch this call is {}", explain_call(catalog, program, (batch, call)))
}

/// The actions of a planned call, phase by phase.
pub fn explain_call(
    catalog: &Catalog,
    program: &ActionProgram,
    (batch, call): (&Batch, &BatchCall),
) -> String {
    let mut text = String::new();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let Range { start: first, end } = batch.actions_of(call);
    let actions = &batch.actions()[first as usize..end as usize];
    let phases = actions.iter().map(|action| action.phase + 1).max().unwrap_or(0);
    let (of_actions, of_phases) = (plural(actions.len()), plural(phases as usize));
    let _ = writeln!(text, "{} action{of_actions} in {phases} phase{of_phases}:", actions.len());
    for phase in 0..phases {
        let _ = writeln!(text, "phase {}", phase + 1);
        let numbered = (0..).zip(actions);
        for (number, action) in numbered.filter(|(_, action)| action.phase == phase) {
            let _ = writeln!(text, "  action {number}: {}", place(catalog, batch, action));
            let _ = writeln!(text, "    leaves {}", leaves(batch, action));
            let after: Vec<_> = batch
                .dependencies()
                .iter()
                .filter(|(_, to)| *to == first + number)
                .map(|(from, _)| (from - first).to_string())
                .collect();
            if !after.is_empty() {
                let _ = writeln!(text, "    after actions {}", after.join(", "));
            }
        }
    }
    let why = match call.whole {
        None => return text,
        Some(WhyWhole::Uncut) => program.uncut.as_deref().unwrap_or("it cannot be cut"),
        Some(WhyWhole::TooLong) => "planning it takes too many steps",
        Some(WhyWhole::DecidesLate) => "its conditions cannot come before all of its changes",
        Some(WhyWhole::Wanted) => "that is wanted",
        Some(WhyWhole::Local) => "one worker has all that it touches",
    };
    let _ = writeln!(text, "The call is one action, because {why}.");
    text
}

fn leaves(batch: &Batch, action: &Action) -> String {
    let number = |&at: &u32| match batch.leaf(at) {
        Some(leaf) => leaf.to_string(),
        None => "all".to_owned(),
    };
    batch.lines(action).iter().map(number).collect::<Vec<_>>().join(", ")
}

fn place(catalog: &Catalog, batch: &Batch, action: &Action) -> String {
    let uses = batch.uses(action);
    let Some(granule) = uses.first() else { return "on values alone".to_owned() };
    let mode = granule.mode.name();
    let more = match uses.len() {
        1 => String::new(),
        count => format!(" and {} more granules", count - 1),
    };
    match granule.space {
        Space::Table(table) => format!("{mode} table {}{more}", catalog.table(table).name),
        Space::Index(index) => {
            let index = catalog.index(index);
            let values = index.key.decode(batch.plan.granule_key(granule)).unwrap_or_default();
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            format!("{mode} {} ({}){more}", index.name, values.join(", "))
        }
    }
}
