//! The cycle search: which circles of dependencies there are, and the smallest of each.
//!
//! The subgraphs ww, ww+wr, all data edges, all edges are searched in this order. A strongly
//! connected component of one of them gives one anomaly, unless a component of an earlier subgraph
//! lies in it: then the more basic anomaly is reported already and everything else may follow
//! from it.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::report::{Anomaly, AnomalyClass, Dependency, Report, Step};

use super::explain;
use super::facts::{Facts, KeyKind, Txn};
use super::graph::{Edge, Edges, Graph, INNER, Kinds, NO_KEY, RT, RW, WR, WW};

/// Edges looked at per component before the smallest cycle found so far must do.
const SEARCH_EDGES_MAX: u64 = 20_000_000;

/// The subgraphs, from the most basic one.
const LEVELS: [Kinds; 4] =
    [WW | INNER, WW | WR | INNER, WW | WR | RW | INNER, WW | WR | RW | RT | INNER];

/// Finds the cycles and reports them.
pub(super) fn search(facts: &Facts<'_>, edges: Edges, report: &mut Report) {
    let graph = edges.into_graph();
    let whole = graph.components(LEVELS[3]);
    if members_by_component(&graph, &whole).is_empty() {
        return;
    }
    let mut search = Search::new(&graph);
    let mut explained: HashSet<Txn> = HashSet::new();
    for mask in LEVELS {
        let components = graph.components(mask);
        for members in members_by_component(&graph, &components) {
            if members.iter().any(|txn| explained.contains(txn)) {
                continue;
            }
            let backward = (mask == LEVELS[3]).then(|| backward(facts, &graph, &members)).flatten();
            let cycle = backward.or_else(|| search.smallest(&components, &members, mask));
            if let Some(cycle) = cycle {
                report.add(anomaly(facts, &graph, &cycle, members.len()));
                explained.extend(&members);
            }
        }
    }
}

/// A dependency on something that had not begun: the two edges of the smallest real-time cycle.
/// Looked for apart, because frontiers make almost everything a neighbour of everything.
fn backward(facts: &Facts<'_>, graph: &Graph, members: &[Txn]) -> Option<Vec<Edge>> {
    let edges = members.iter().flat_map(|txn| graph.outgoing(*txn));
    let mut edges = edges.map(|position| graph.edges[position as usize]);
    let edge = edges.find(|edge| {
        let known = edge.key != NO_KEY && edge.to < graph.transactions;
        let invoked = facts.transaction(edge.from).invoked_ns;
        known && facts.known_completion(edge.to).is_some_and(|completed| completed < invoked)
    })?;
    Some(vec![edge, Edge { from: edge.to, kind: RT, key: NO_KEY, to: edge.from }])
}

/// The transactions of every component that has at least two.
fn members_by_component(graph: &Graph, components: &[u32]) -> Vec<Vec<Txn>> {
    let mut members: HashMap<u32, Vec<Txn>> = HashMap::new();
    for txn in 0..graph.transactions {
        members.entry(components[txn as usize]).or_default().push(txn);
    }
    let mut members: Vec<Vec<Txn>> =
        members.into_values().filter(|members| members.len() > 1).collect();
    members.sort_unstable();
    members
}

/// Breadth-first search over (node, whether the one permitted rw edge was used), with edges of
/// cost 0 and 1; the buffers are reused.
struct Search<'g> {
    graph: &'g Graph,
    /// Per state: the round that reached it and the cost.
    reached: Vec<(u32, u32)>,
    /// Per state: the edge and state that it was reached by.
    parent: Vec<(u32, u32)>,
    queue: VecDeque<(u32, u32)>,
    round: u32,
    looked_at: u64,
}

/// What a search may use, and where.
#[derive(Clone, Copy)]
struct Bounds<'c> {
    components: &'c [u32],
    mask: Kinds,
    one_rw: bool,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph) -> Search<'g> {
        let states = 2 * graph.nodes() as usize;
        let (reached, parent) = (vec![(0, 0); states], vec![(0, 0); states]);
        Search { graph, reached, parent, queue: VecDeque::new(), round: 0, looked_at: 0 }
    }

    /// A smallest cycle through one component; with as few rw edges as the mask leaves room for.
    fn smallest(&mut self, components: &[u32], members: &[Txn], mask: Kinds) -> Option<Vec<Edge>> {
        if mask == LEVELS[2] {
            let bounds = Bounds { components, mask, one_rw: true };
            if let Some(cycle) = self.smallest_within(bounds, members) {
                return Some(cycle);
            }
        }
        self.smallest_within(Bounds { components, mask, one_rw: false }, members)
    }

    fn smallest_within(&mut self, bounds: Bounds<'_>, members: &[Txn]) -> Option<Vec<Edge>> {
        self.looked_at = 0;
        let mut best: Option<(u32, Vec<Edge>)> = None;
        for start in members {
            let limit = best.as_ref().map_or(u32::MAX, |(cost, _)| *cost);
            if limit == 2 || self.looked_at > SEARCH_EDGES_MAX {
                break;
            }
            if let Some(found) = self.from(bounds, *start, limit) {
                best = Some(found);
            }
        }
        best.map(|(_, cycle)| cycle)
    }

    /// A smallest cycle through `start` that costs less than `limit`.
    fn from(&mut self, bounds: Bounds<'_>, start: Txn, limit: u32) -> Option<(u32, Vec<Edge>)> {
        self.round += 1;
        self.queue.clear();
        self.queue.push_back((2 * start, 0));
        self.reached[2 * start as usize] = (self.round, 0);
        let goal = 2 * start + u32::from(bounds.one_rw);
        let component = bounds.components[start as usize];
        let mut limit = limit;
        let mut found = None;
        while let Some((state, cost)) = self.queue.pop_front() {
            // Costs come out in order: from here on nothing cheaper can follow.
            if cost >= limit {
                break;
            }
            if self.reached[state as usize] != (self.round, cost) {
                continue;
            }
            for position in self.graph.outgoing(state / 2) {
                self.looked_at += 1;
                let edge = self.graph.edges[position as usize];
                let inside = bounds.components[edge.to as usize] == component;
                let second_rw = bounds.one_rw && edge.kind == RW && state % 2 == 1;
                if edge.kind & bounds.mask == 0 || !inside || second_rw {
                    continue;
                }
                let used = (state % 2) | u32::from(bounds.one_rw && edge.kind == RW);
                let (next, cost) = (2 * edge.to + used, cost + u32::from(edge.kind != INNER));
                if cost >= limit {
                    continue;
                }
                if next == goal {
                    self.parent[goal as usize] = (position, state);
                    limit = cost;
                    found = Some(cost);
                } else {
                    self.visit(next, cost, (position, state));
                }
            }
        }
        found.map(|cost| (cost, self.path(goal, 2 * start)))
    }

    fn visit(&mut self, state: u32, cost: u32, parent: (u32, u32)) {
        let (round, known) = self.reached[state as usize];
        if round == self.round && known <= cost {
            return;
        }
        self.reached[state as usize] = (self.round, cost);
        self.parent[state as usize] = parent;
        // An edge out of an auxiliary node is free: its target goes first.
        let free = self.graph.edges[parent.0 as usize].kind == INNER;
        if free {
            self.queue.push_front((state, cost));
        } else {
            self.queue.push_back((state, cost));
        }
    }

    /// The edges of the cycle just closed, in order.
    fn path(&self, goal: u32, start: u32) -> Vec<Edge> {
        let mut path = Vec::new();
        let mut state = goal;
        loop {
            let (position, before) = self.parent[state as usize];
            path.push(self.graph.edges[position as usize]);
            if before == start {
                path.reverse();
                return path;
            }
            state = before;
        }
    }
}

/// One dependency of a cycle, auxiliary nodes removed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub from: Txn,
    pub kind: Kinds,
    pub key: u32,
    pub to: Txn,
}

fn links(graph: &Graph, cycle: &[Edge]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for edge in cycle {
        if edge.kind != INNER {
            links.push(Link { from: edge.from, kind: edge.kind, key: edge.key, to: edge.to });
        }
        if let Some(link) = links.last_mut()
            && edge.to < graph.transactions
        {
            link.to = edge.to;
        }
    }
    links
}

fn anomaly(facts: &Facts<'_>, graph: &Graph, cycle: &[Edge], tangled: usize) -> Anomaly {
    let links = links(graph, cycle);
    let class = classify(facts, &links);
    let steps: Vec<Step> = links.iter().map(|link| step(facts, link)).collect();
    let transactions = steps.iter().map(|step| step.from).collect();
    let explanation = explain::cycle(facts, class, &links, &steps, tangled);
    Anomaly { class, transactions, cycle: steps, explanation }
}

fn step(facts: &Facts<'_>, link: &Link) -> Step {
    let dependency = match link.kind {
        WW => Dependency::WriteWrite,
        WR => Dependency::WriteRead,
        RW => Dependency::ReadWrite,
        _ => Dependency::RealTime,
    };
    let key = (link.key != NO_KEY).then(|| facts.keys[link.key as usize].name);
    let [from, to] = [link.from, link.to].map(|txn| facts.transaction(txn).id);
    Step { from, to, dependency, key, why: explain::link(facts, link) }
}

/// The class of a cycle, by its kinds of edges and their order.
fn classify(facts: &Facts<'_>, links: &[Link]) -> AnomalyClass {
    let count = |kind: Kinds| links.iter().filter(|link| link.kind == kind).count();
    let one_key = links.iter().all(|link| link.key == links[0].key);
    let over_predicate =
        |link: &Link| link.kind == RW && facts.keys[link.key as usize].kind == KeyKind::Index;
    let next = |place: usize| links[(place + 1) % links.len()].kind;
    let adjacent = (0..links.len()).any(|place| links[place].kind == RW && next(place) == RW);
    match (count(RW), count(WR), count(RT)) {
        (_, _, 1..) => AnomalyClass::StaleRead,
        (0, 0, _) => AnomalyClass::WriteCycle,
        (0, _, _) => AnomalyClass::CircularInformationFlow,
        _ if links.iter().any(over_predicate) => AnomalyClass::Phantom,
        (_, 0, _) if one_key => AnomalyClass::LostUpdate,
        (1, _, _) => AnomalyClass::ReadSkew,
        _ if adjacent => AnomalyClass::WriteSkew,
        _ => AnomalyClass::LongFork,
    }
}
