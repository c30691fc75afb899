//! The dependency graph: transactions, auxiliary nodes, edges, strongly connected components.
//!
//! An auxiliary node stands for "all of these". An edge that leaves a transaction has the kind of
//! its dependency and costs 1; edges that leave auxiliary nodes are `INNER` and cost nothing. So a
//! path transaction -> auxiliary ... -> transaction is one dependency, of the first edge's kind.

use std::ops::Range as Span;

use super::facts::Txn;

/// A range of positions in a sequence of leaves.
pub(super) type Range = Span<usize>;

/// Kind of an edge; the bits form masks.
pub(super) type Kinds = u8;

pub(super) const INNER: Kinds = 1;
pub(super) const WW: Kinds = 2;
pub(super) const WR: Kinds = 4;
pub(super) const RW: Kinds = 8;
pub(super) const RT: Kinds = 16;

/// No key: for `RT` and `INNER` edges.
pub(super) const NO_KEY: u32 = u32::MAX;

/// One edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub from: u32,
    pub kind: Kinds,
    pub key: u32,
    pub to: u32,
}

/// Edges while they are collected.
pub(super) struct Edges {
    transactions: u32,
    nodes: u32,
    list: Vec<Edge>,
}

impl Edges {
    /// No edges; nodes `0..transactions` are the transactions.
    pub fn new(transactions: usize) -> Edges {
        let transactions = transactions as u32;
        Edges { transactions, nodes: transactions, list: Vec::new() }
    }

    /// A new auxiliary node.
    pub fn auxiliary(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes - 1
    }

    /// Adds an edge. An edge from a transaction to itself says nothing and is dropped.
    pub fn add(&mut self, from: u32, kind: Kinds, key: u32, to: u32) {
        if from != to {
            self.list.push(Edge { from, kind, key, to });
        }
    }

    /// Adds an edge that continues a dependency out of an auxiliary node.
    pub fn add_inner(&mut self, from: u32, to: u32) {
        self.add(from, INNER, NO_KEY, to);
    }

    /// Adds `from` -> every leaf in the range except at the `holes` (any order, repetitions and
    /// strangers allowed); the tree must lead toward its range.
    pub fn add_to_range(
        &mut self,
        from: Txn,
        (kind, key): (Kinds, u32),
        tree: &RangeTree,
        range: Range,
        holes: impl IntoIterator<Item = usize>,
    ) {
        tree.cover_all_but(range, holes, |node| self.add(from, kind, key, node));
    }

    /// Adds every leaf in the range except at the `holes` -> `to`; the tree must lead toward one,
    /// with the same label.
    pub fn add_from_range(
        &mut self,
        tree: &RangeTree,
        range: Range,
        holes: impl IntoIterator<Item = usize>,
        (kind, key): (Kinds, u32),
        to: Txn,
    ) {
        let transactions = self.transactions;
        tree.cover_all_but(range, holes, |node| match node < transactions {
            true => self.add(node, kind, key, to),
            false => self.add_inner(node, to),
        });
    }

    /// The graph, ready to be walked.
    pub fn into_graph(mut self) -> Graph {
        self.list.sort_unstable();
        self.list.dedup();
        let mut starts = vec![0; self.nodes as usize + 1];
        for edge in &self.list {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..self.nodes as usize {
            starts[node + 1] += starts[node];
        }
        Graph { transactions: self.transactions, starts, edges: self.list }
    }
}

/// The finished graph; the edges of one node are sorted by kind, ww first.
pub(super) struct Graph {
    pub transactions: u32,
    starts: Vec<u32>,
    pub edges: Vec<Edge>,
}

impl Graph {
    /// Number of nodes, auxiliary ones included.
    pub fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Positions (in `edges`) of a node's outgoing edges.
    pub fn outgoing(&self, node: u32) -> Span<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    /// Strongly connected components of the edges in `mask`: per node its component's number.
    /// Tarjan's algorithm, with an explicit stack.
    pub fn components(&self, mask: Kinds) -> Vec<u32> {
        Tarjan::new(self.nodes()).run(self, mask)
    }
}

const UNSEEN: u32 = u32::MAX;

struct Tarjan {
    component: Vec<u32>,
    index: Vec<u32>,
    low: Vec<u32>,
    open: Vec<u32>,
    /// Node and the next edge to look at.
    calls: Vec<(u32, u32)>,
    indices: u32,
    components: u32,
}

impl Tarjan {
    fn new(nodes: u32) -> Tarjan {
        let unseen = vec![UNSEEN; nodes as usize];
        Tarjan {
            component: unseen.clone(),
            index: unseen.clone(),
            low: unseen,
            open: Vec::new(),
            calls: Vec::new(),
            indices: 0,
            components: 0,
        }
    }

    fn run(mut self, graph: &Graph, mask: Kinds) -> Vec<u32> {
        for root in 0..graph.nodes() {
            if self.index[root as usize] == UNSEEN {
                self.enter(graph, root);
                while let Some((node, edge)) = self.calls.pop() {
                    self.step(graph, mask, node, edge);
                }
            }
        }
        self.component
    }

    fn enter(&mut self, graph: &Graph, node: u32) {
        self.index[node as usize] = self.indices;
        self.low[node as usize] = self.indices;
        self.indices += 1;
        self.open.push(node);
        self.calls.push((node, graph.outgoing(node).start));
    }

    fn step(&mut self, graph: &Graph, mask: Kinds, node: u32, edge: u32) {
        for position in edge..graph.outgoing(node).end {
            let Edge { kind, to, .. } = graph.edges[position as usize];
            if kind & mask == 0 {
                continue;
            }
            if self.index[to as usize] == UNSEEN {
                self.calls.push((node, position));
                self.enter(graph, to);
                return;
            }
            if self.component[to as usize] == UNSEEN {
                self.low[node as usize] = self.low[node as usize].min(self.low[to as usize]);
            }
        }
        if self.low[node as usize] == self.index[node as usize] {
            while let Some(member) = self.open.pop() {
                self.component[member as usize] = self.components;
                if member == node {
                    break;
                }
            }
            self.components += 1;
        }
    }
}

/// A segment tree over a sequence of transactions, for edges to or from whole ranges: "this reader
/// precedes every writer from here on, except itself" costs a logarithmic number of edges.
pub(super) struct RangeTree {
    /// Number of leaves, a power of two.
    width: u32,
    /// Node of each tree position, leaves behind; `UNSEEN` beyond the sequence's end.
    nodes: Vec<u32>,
}

/// Whether edges run into a range of transactions or out of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    /// From one transaction to all of the range.
    Range,
    /// From all of the range, by edges of this kind and key, to one transaction.
    One(Kinds, u32),
}

impl RangeTree {
    /// The tree over `leaves`, its inner edges already added.
    pub fn new(edges: &mut Edges, leaves: &[Txn], toward: Toward) -> RangeTree {
        let width = leaves.len().next_power_of_two();
        let mut nodes = vec![UNSEEN; 2 * width];
        nodes[width..width + leaves.len()].copy_from_slice(leaves);
        for position in (1..width).rev() {
            let children = [nodes[2 * position], nodes[2 * position + 1]];
            if children == [UNSEEN; 2] {
                continue;
            }
            let node = edges.auxiliary();
            nodes[position] = node;
            for child in children.into_iter().filter(|child| *child != UNSEEN) {
                match toward {
                    Toward::Range => edges.add_inner(node, child),
                    Toward::One(kind, key) if child < edges.transactions => {
                        edges.add(child, kind, key, node);
                    }
                    Toward::One(..) => edges.add_inner(child, node),
                }
            }
        }
        RangeTree { width: width as u32, nodes }
    }

    fn cover_all_but(
        &self,
        range: Range,
        holes: impl IntoIterator<Item = usize>,
        mut visit: impl FnMut(u32),
    ) {
        let mut holes: Vec<usize> = holes.into_iter().filter(|hole| range.contains(hole)).collect();
        holes.sort_unstable();
        let mut start = range.start;
        for end in holes.into_iter().chain([range.end]) {
            self.cover(start..end.max(start), &mut visit);
            start = end + 1;
        }
    }

    /// Calls `visit` with few nodes that together cover exactly the range of leaves.
    fn cover(&self, range: Range, mut visit: impl FnMut(u32)) {
        let width = self.width as usize;
        let (mut low, mut high) = (range.start + width, range.end + width);
        while low < high {
            if low % 2 == 1 {
                visit(self.nodes[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                visit(self.nodes[high]);
            }
            low /= 2;
            high /= 2;
        }
    }
}
