//! The flow graph of a procedure: which accesses wait for what others make.
//!
//! Role         made of a procedure's leaves once, without a call: accesses of one phase may run
//!              side by side, those of the next one when all they take is there. Loops stand for
//!              one of their rounds. For people: as text, and as a drawing in DOT
//! Source       dora.txt 4.1.2 and figure 5: actions, phases and rendezvous points

use std::fmt::Write;

use super::leaf::Leaf;
use super::program::ActionProgram;
use crate::catalog::Catalog;
use crate::explain;
use crate::program::{Procedure, SlotId};

/// An access or a computation, and what it waits for.
struct Node {
    /// in which it runs
    phase: u32,
    /// the first in which an access may take what it makes
    ready: u32,
    /// what it does
    label: String,
    /// the access in the procedure; none: it touches no row
    site: Option<u16>,
    /// which it waits for, and for what
    after: Vec<(usize, String)>,
}

/// The graph as text: phase by phase; why there is none, if no call is cut.
pub fn explain_flow(catalog: &Catalog, program: &ActionProgram, procedure: &Procedure) -> String {
    let nodes = match nodes(catalog, program, procedure) {
        Ok(nodes) => nodes,
        Err(why) => return format!("Flow graph: one action, because {why}.\n"),
    };
    let phases = nodes.iter().map(|node| node.phase + 1).max().unwrap_or(0);
    let plural = if phases == 1 { "" } else { "s" };
    let mut text = format!("Flow graph: {phases} phase{plural}\n");
    for phase in 0..phases {
        let _ = writeln!(text, "  phase {}", phase + 1);
        for node in nodes.iter().filter(|node| node.phase == phase && node.site.is_some()) {
            let _ = write!(text, "    {}", node.label);
            let after = node.after.iter().map(|(maker, what)| match nodes[*maker].site {
                Some(site) => format!("{what} of {}", site + 1),
                None => format!("{what}, which is computed"),
            });
            let after: Vec<_> = after.collect();
            if !after.is_empty() {
                let _ = write!(text, ", after {}", after.join(" and "));
            }
            text.push('\n');
        }
    }
    text
}

/// The graph as a drawing in DOT: a column for each phase, an arrow for each value that is waited
/// for, and a rendezvous point between two phases.
pub fn draw_flow(catalog: &Catalog, program: &ActionProgram, procedure: &Procedure) -> String {
    let mut text = format!("digraph {} {{\n", quoted(procedure.shown_name()));
    text.push_str("  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    match nodes(catalog, program, procedure) {
        Err(why) => {
            let _ = writeln!(text, "  whole [label={}];", quoted(&format!("one action: {why}")));
        }
        Ok(nodes) => draw_nodes(&nodes, &mut text),
    }
    text.push_str("}\n");
    text
}

fn draw_nodes(nodes: &[Node], text: &mut String) {
    let phases = nodes.iter().map(|node| node.phase + 1).max().unwrap_or(0);
    for phase in 0..phases {
        let _ = writeln!(text, "  subgraph cluster_{phase} {{ label=\"phase {}\";", phase + 1);
        for (number, node) in nodes.iter().enumerate().filter(|(_, node)| node.phase == phase) {
            let style = if node.site.is_none() { ", style=rounded" } else { "" };
            let _ = writeln!(text, "    n{number} [label={}{style}];", quoted(&node.label));
        }
        text.push_str("  }\n");
        // All of a phase meet before the next one begins.
        let meets =
            if phase + 1 < phases { format!("rendezvous {}", phase + 1) } else { "commit".into() };
        let _ = writeln!(text, "  r{phase} [shape=circle, label={}];", quoted(&meets));
        let is_met = |node: &Node| node.phase == phase && node.site.is_some();
        for (number, _) in nodes.iter().enumerate().filter(|(_, node)| is_met(node)) {
            let _ = writeln!(text, "  n{number} -> r{phase} [style=dotted];");
        }
    }
    for (number, node) in nodes.iter().enumerate() {
        for (maker, what) in &node.after {
            let _ = writeln!(text, "  n{maker} -> n{number} [label={}];", quoted(what));
        }
    }
}

/// A string of DOT.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn nodes(
    catalog: &Catalog,
    program: &ActionProgram,
    procedure: &Procedure,
) -> Result<Vec<Node>, String> {
    if let Some(why) = &program.uncut {
        return Err(why.clone());
    }
    let accesses = explain::accesses(catalog, &procedure.body);
    let name = |slot: SlotId| match procedure.slots.get(slot.index()) {
        Some(slot) if !slot.name.is_empty() => slot.name.clone(),
        _ => "a value".to_owned(),
    };
    let mut nodes = Vec::<Node>::new();
    for (number, leaf) in program.leaves.iter().enumerate() {
        let site = leaf.site.map(|site| program.original(site));
        let label = match site {
            Some(site) => {
                let head = accesses.get(usize::from(site)).map_or("", String::as_str);
                format!("{}. {head}", site + 1)
            }
            None if leaf.expects.is_some() => "a guess is checked".to_owned(),
            None => "computed".to_owned(),
        };
        let taken = leaf.inputs.iter().filter(|input| !input.known).map(|input| input.slot);
        let taken = taken.chain(leaf.guards.iter().map(|guard| guard.slot));
        let mut after = Vec::new();
        for slot in taken {
            if let Some(maker) = maker_of(&program.leaves[..number], slot)
                && !after.iter().any(|&(known, _)| known == maker)
            {
                after.push((maker, name(slot)));
            }
        }
        // What works on values alone runs where the last of these is made; what touches rows, one
        // phase behind each access whose values it takes, computed or not.
        let ready = after.iter().map(|&(maker, _)| nodes[maker].ready).max().unwrap_or(0);
        let (phase, ready) = match site {
            None => (ready.saturating_sub(1), ready),
            Some(_) => (ready, ready + 1),
        };
        nodes.push(Node { phase, ready, label, site, after });
    }
    Ok(nodes)
}

/// The last leaf before one that makes what a slot has.
fn maker_of(before: &[Leaf], slot: SlotId) -> Option<usize> {
    before.iter().rposition(|leaf| leaf.outputs.contains(&slot))
}
