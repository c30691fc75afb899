//! Partitioning: which worker executes which queues of a graph.
//!
//! Role         the weighted graph of lads.txt 3.2: its vertices are queues, its edges lead where
//!              values or turns go from one queue to another. Knows no calls
//! Invariants   I1 all actions that have their home in one queue are executed by one worker
//!              I2 graphs that are dealt out by the same cuts agree on who owns a granule, so that
//!              a worker may go on from one to the next whatever the others do
//!              I3 key ranges that follow one another go to workers of one memory node, as long
//!              as that has workers without one
//!              I4 a range ends where the beginnings of keys differ most, near the end of its
//!              worker's share: where all keys begin with a warehouse, those of one warehouse
//!              are with one worker in every table, and most calls have all they touch there
//! Source       lads.txt 3.2, Algorithm 2. We differ: each lock space is cut into key ranges by
//!              itself, so that what belongs together in several tables (a warehouse, its
//!              districts) lies together; the cuts come from samples of the graphs of earlier
//!              rounds, since sorting a batch's granules would take longer than running it, and
//!              so that all graphs of a round have the same ones (I2). Data of one memory node are
//!              to be more probably in one part: the paper does not say how. Where a record lies is
//!              not looked up here, since the system is asked for that page by page; rows are on
//!              the node of whoever wrote there first, which is the worker that had their range,
//!              and ranges move to workers of the same node first (I3). Small graphs are dealt out
//!              by key range alone. I4 is how Bayer and
//!              Unterauer split the pages of prefix B-trees (TODS 1977), for short separators

#[cfg(feature = "metis")]
mod metis;

use std::collections::BinaryHeap;

use hotrow_base::pool::NONE;
use hotrow_transaction::granule::{self, Space};
use hotrow_transaction::plan::{Granule, Plan};

use crate::options::Partitioning;
use crate::queue::Queue;

/// Into so many parts of equal weight a graph is cut to be sampled.
const SAMPLE_PARTS: u64 = 1024;
/// How much more than its share a worker may get, in parts of 1024 (the paper's epsilon): a tenth.
const EPSILON: u64 = 102;
/// What finding the record of a queue costs, in actions on it: 250 instructions to 100, about.
const FIND_COST: u32 = 2;
/// A worker's share of a graph, as queues cost, from which on queues are moved for their edges:
/// all workers meet around such a graph, which takes longer than the messages that are saved where
/// there is little to do between two meetings (24 simulated workers, TPC-C, 16 calls in a graph:
/// 115,000 calls a second with moves, 177,000 without). In debug builds 0, so that tests do it.
const MOVING_MIN: u64 = if cfg!(debug_assertions) { 0 } else { 128 };
/// Moves of queues per graph, at most.
const MOVES_MAX: usize = 2000;

/// A queue that stands for others besides: its lock space, the first bytes of its key, the weight
/// of all.
pub type Sampled = (Space, u64, u64);

/// What a graph weighs: the work on all of its queues.
pub fn weight(queues: &[Queue]) -> u64 {
    queues.iter().map(|queue| u64::from(cost(queue))).sum()
}

/// Whether so many workers have enough to do with a graph of this weight to meet around it, so that
/// queues may be moved for their edges.
pub const fn is_worth_meeting(workers: u64, weight: u64) -> bool {
    weight >= MOVING_MIN * workers
}

/// Takes a sample of queues: one wherever so much weight has gone by since the last, so that none
/// that is heavier can be missed. Those that all workers share are left out.
pub fn sample(queues: &[Queue], workers: u16, taken: &mut Vec<Sampled>) {
    let weight = weight(queues);
    let part = weight.div_ceil(SAMPLE_PARTS).max(1);
    let mut gone_by = 0;
    taken.clear();
    let own = |queue: &&Queue| !queue.is_for_all(workers.into(), weight);
    for queue in queues.iter().filter(own) {
        gone_by += u64::from(cost(queue));
        if gone_by >= part {
            taken.push((queue.space, queue.head, gone_by - gone_by % part));
            gone_by %= part;
        }
    }
}

/// Where key ranges end, in each lock space.
#[derive(Debug)]
pub struct Cuts {
    /// lock space, last head, worker
    all: Vec<(Space, u64, u16)>,
    /// workers in the order in which they get ranges: those of a memory node one after the other
    order: Vec<u16>,
}

impl Cuts {
    /// Becomes like others, in its own memory.
    pub fn copy(&mut self, others: &Self) {
        self.all.clone_from(&others.all);
        self.order.clone_from(&others.order);
    }

    /// No cuts yet; by worker, its memory node.
    pub fn new(nodes: &[u16]) -> Self {
        let mut order: Vec<_> = (0..nodes.len() as u16).collect();
        order.sort_by_key(|worker| nodes[usize::from(*worker)]); // stable
        Self { all: Vec::new(), order }
    }

    /// Cuts each lock space into as many ranges as there are workers, of about the same weight in
    /// a sample (I4).
    pub fn find(&mut self, sample: &mut [Sampled]) {
        let Self { all: cuts, order } = self;
        let workers = order.len() as u64;
        cuts.clear();
        sample.sort_unstable();
        for space in sample.chunk_by_mut(|one, other| one.0 == other.0) {
            let mut weight = 0;
            for (.., up_to) in space.iter_mut() {
                weight += *up_to;
                *up_to = weight; // with all before it
            }
            let mut first = 0;
            for (&worker, number) in order.iter().zip(1..) {
                let end = match number == workers {
                    true => space.len(),
                    false => best_cut(space, (number, workers)).max(first),
                };
                if end > first {
                    cuts.push((space[0].0, last_head(space, end), worker));
                }
                first = end;
            }
        }
    }

    /// As [`Cuts::owner_at`], of a queue.
    fn owner(&self, workers: u16, queue: &Queue) -> u16 {
        self.owner_at(workers, (queue.space, queue.head), queue.lock)
    }

    /// The worker in whose range a granule is: its lock space and the first bytes of its key, and
    /// the identity of its lock. Spaces that were not in the sample are small.
    fn owner_at(&self, workers: u16, key: (Space, u64), lock: u64) -> u16 {
        let at = self.all.partition_point(|&(space, head, _)| (space, head) < key);
        match self.all.get(at) {
            Some(&(space, _, worker)) if space == key.0 => worker,
            _ => granule::one_of(workers, lock),
        }
    }

    /// Whether one worker has all granules of the call that was planned last.
    pub fn have_at_one(&self, workers: u16, plan: &Plan) -> bool {
        let owner = |granule: &Granule| {
            self.owner_at(workers, (granule.space, plan.head(granule)), granule.lock)
        };
        let mut owners = plan.footprint().granules().iter().map(owner);
        let first = owners.next();
        first.is_none_or(|first| owners.all(|owner| owner == first))
    }
}

/// How many of a sampled space's queues lie before the cut with this number, of so many ranges:
/// where two neighbours' keys begin most differently, among places that give no worker more than a
/// bit above its share; the nearest place, if there is none. Weights are those up to a queue.
fn best_cut(space: &[Sampled], (number, ranges): (u64, u64)) -> usize {
    let weight = space.last().map_or(0, |last| last.2);
    let share = weight * number / ranges;
    let bit = weight * EPSILON / (1024 * ranges) / (ranges - 1).min(2); // both ends may be moved
    let low = space.partition_point(|queue| queue.2 < share.saturating_sub(bit));
    let high = space.partition_point(|queue| queue.2 <= share + bit).min(space.len() - 1);
    let differ = |at: usize| (space[at - 1].1 ^ space[at].1).checked_ilog2();
    let best = (low + 1..=high).max_by_key(|&at| {
        let off = space[at - 1].2.abs_diff(share);
        (differ(at), std::cmp::Reverse(off))
    });
    best.unwrap_or_else(|| {
        // The worker in whose share the middle of a queue falls has it.
        let before = |at: usize| at.checked_sub(1).map_or(0, |before| space[before].2);
        let middle = |at: usize| before(at) + space[at].2; // twice
        (0..space.len()).take_while(|&at| middle(at) * ranges < 2 * weight * number).count()
    })
}

/// The last head that lies before a cut: all that begin as the queue before it does, as far as the
/// one behind it begins otherwise.
fn last_head(space: &[Sampled], end: usize) -> u64 {
    let Some(behind) = space.get(end) else { return u64::MAX };
    let before = space[end - 1].1;
    match (before ^ behind.1).checked_ilog2() {
        Some(bit) => (behind.1 >> bit << bit) - 1,
        None => before,
    }
}

/// See the module. Memory is used again.
#[derive(Default, Debug)]
pub struct Partitioner {
    /// by queue: where its edges begin
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    loads: Vec<u64>,
    pulls: Vec<u32>,
    /// queues with edges to other workers
    candidates: Vec<u32>,
    /// what moving a queue gains, the greatest first
    benefits: BinaryHeap<(u32, u32)>,
}

impl Partitioner {
    /// Finds an owner for each queue, `0..workers`; whether some are others than the cuts say.
    /// `edges`: pairs of queues.
    pub fn partition(
        &mut self,
        how: Partitioning,
        (workers, cuts): (u16, &Cuts),
        queues: &[Queue],
        edges: &[(u32, u32)],
        owners: &mut Vec<u16>,
    ) -> bool {
        owners.clear();
        if workers == 1 {
            owners.resize(queues.len(), 0);
            return false;
        }
        if how == Partitioning::Hash {
            owners.extend(queues.iter().map(|queue| granule::one_of(workers, queue.lock)));
            return false;
        }
        owners.extend(queues.iter().map(|queue| cuts.owner(workers, queue)));
        if !how.needs_edges() || edges.is_empty() {
            return false;
        }
        self.link(queues.len(), edges);
        match how {
            #[cfg(feature = "metis")]
            Partitioning::Metis => {
                metis::partition(workers, queues, (&self.starts, &self.neighbours), owners);
                true
            }
            _ => self.repair(workers, queues, edges, owners) > 0,
        }
    }

    /// Algorithm 2: moves queues to where most of their edges lead, as long as no worker gets more
    /// than its share and a bit. How many moves there were. Neighbours are listed.
    fn repair(
        &mut self,
        workers: u16,
        queues: &[Queue],
        edges: &[(u32, u32)],
        owners: &mut [u16],
    ) -> usize {
        self.loads.clear();
        self.loads.resize(workers.into(), 0);
        for (queue, &owner) in queues.iter().zip(&*owners) {
            self.loads[usize::from(owner)] += u64::from(cost(queue));
        }
        let weight: u64 = self.loads.iter().sum();
        let load_max = weight * (1024 + EPSILON) / (1024 * u64::from(workers)) + 1;
        self.candidates.clear();
        for &(from, to) in edges {
            if owners[from as usize] != owners[to as usize] {
                self.candidates.extend([from, to]);
            }
        }
        self.candidates.sort_unstable();
        self.candidates.dedup();
        let mut benefits = std::mem::take(&mut self.benefits);
        for at in 0..self.candidates.len() {
            let queue = self.candidates[at];
            benefits.extend(self.best_move(queue, owners).map(|(_, gain)| (gain, queue)));
        }
        let mut moves = 0;
        while moves < MOVES_MAX
            && let Some((told, queue)) = benefits.pop()
        {
            let Some((to, gain)) = self.best_move(queue, owners) else { continue };
            if gain < told {
                benefits.push((gain, queue)); // neighbours have moved since
                continue;
            }
            let own = owners[queue as usize];
            let weight = u64::from(cost(&queues[queue as usize]));
            if self.loads[usize::from(to)] + weight > load_max {
                continue;
            }
            owners[queue as usize] = to;
            self.loads[usize::from(own)] -= weight;
            self.loads[usize::from(to)] += weight;
            moves += 1;
            for at in self.starts[queue as usize]..self.starts[queue as usize + 1] {
                let other = self.neighbours[at as usize];
                benefits.extend(self.best_move(other, owners).map(|(_, gain)| (gain, other)));
            }
        }
        benefits.clear();
        self.benefits = benefits;
        moves
    }

    /// The worker to which more of a queue's edges lead than to its own, by most, and by how many.
    fn best_move(&mut self, queue: u32, owners: &[u16]) -> Option<(u16, u32)> {
        let Self { starts, neighbours, pulls, .. } = self;
        pulls.clear();
        pulls.resize(self.loads.len(), 0);
        let (start, end) = (starts[queue as usize] as usize, starts[queue as usize + 1] as usize);
        for &other in &neighbours[start..end] {
            pulls[usize::from(owners[other as usize])] += 1;
        }
        let own = pulls[usize::from(owners[queue as usize])];
        let better = (0..).zip(&*pulls).filter(|(_, pull)| **pull > own);
        better.map(|(to, &pull)| (to, pull - own)).max_by_key(|&(to, gain)| (gain, !to))
    }

    /// Lists the neighbours of each queue.
    fn link(&mut self, queues: usize, edges: &[(u32, u32)]) {
        let Self { starts, neighbours, .. } = self;
        starts.clear();
        starts.resize(queues + 1, 0);
        let ends = || edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        ends().for_each(|(from, _)| starts[from as usize] += 1);
        let mut sum = 0;
        for start in starts.iter_mut() {
            sum += *start;
            *start = sum;
        }
        neighbours.clear();
        neighbours.resize(sum as usize, NONE);
        for (from, to) in ends() {
            starts[from as usize] -= 1;
            neighbours[starts[from as usize] as usize] = to;
        }
    }
}

/// What a queue weighs. We differ: in the paper, as many actions as it has.
fn cost(queue: &Queue) -> u32 {
    queue.weight + FIND_COST
}

#[cfg(test)]
mod tests {
    use hotrow_base::ids::IndexId;
    use hotrow_transaction::granule::LOCK_ID_STEP;

    use super::*;

    fn queues(heads: impl Iterator<Item = u64>, weight: u32) -> Vec<Queue> {
        let queue = |(number, head)| Queue::of_weight(number * LOCK_ID_STEP, head, weight);
        (0..).zip(heads).map(queue).collect()
    }

    fn partition(
        how: Partitioning,
        workers: u16,
        queues: &[Queue],
        edges: &[(u32, u32)],
    ) -> Vec<u16> {
        let one_node = vec![0; usize::from(workers)];
        let (mut taken, mut cuts, mut owners) = (Vec::new(), Cuts::new(&one_node), vec![7]);
        sample(queues, workers, &mut taken);
        cuts.find(&mut taken);
        let dealt = (workers, &cuts);
        let has_moved = Partitioner::default().partition(how, dealt, queues, edges, &mut owners);
        let by_cuts = queues.iter().map(|queue| cuts.owner(workers, queue));
        if how != Partitioning::Hash {
            assert!(has_moved || by_cuts.eq(owners.iter().copied()));
        }
        owners
    }

    #[test]
    fn key_ranges_have_about_the_same_weight() {
        // More than are looked at, in no order.
        let mut queues = queues((0..5000).map(|number| number * 977 % 5000), 1);
        // The first tenth weighs two fifths of what all others do.
        queues.iter_mut().filter(|queue| queue.head < 500).for_each(|queue| queue.weight = 9);
        let owners = partition(Partitioning::Keys, 4, &queues, &[]);
        let mut loads = [0; 4];
        for (queue, &owner) in queues.iter().zip(&owners) {
            loads[usize::from(owner)] += cost(queue);
            let ascends = |(other, &its): (&Queue, &u16)| queue.head > other.head || owner <= its;
            assert!(queues.iter().zip(&owners).take(100).all(ascends), "ranges");
        }
        // Both ends of a range may be moved, by half of EPSILON each.
        assert!(loads.iter().all(|load| (4275..=5225).contains(load)), "{loads:?}");
    }

    #[test]
    fn ranges_that_follow_one_another_are_of_one_memory_node() {
        let queues = queues(0..4000, 1);
        let owners = |nodes: &[u16]| {
            let (mut taken, mut cuts) = (Vec::new(), Cuts::new(nodes));
            sample(&queues, nodes.len() as u16, &mut taken);
            cuts.find(&mut taken);
            let owner = |queue: &Queue| cuts.owner(nodes.len() as u16, queue);
            let mut owners: Vec<_> = queues.iter().map(owner).collect();
            let loads: Vec<_> = (0..nodes.len() as u16)
                .map(|worker| owners.iter().filter(|owner| **owner == worker).count())
                .collect();
            assert!(loads.iter().all(|load| (950..=1050).contains(load)), "{loads:?}");
            owners.dedup();
            owners
        };
        // Cores are numbered from node to node on some machines, and node by node on others.
        assert_eq!(owners(&[0, 1, 0, 1]), [0, 2, 1, 3]);
        assert_eq!(owners(&[1, 1, 0, 0]), [2, 3, 0, 1]);
        assert_eq!(owners(&[0, 0, 0, 0]), [0, 1, 2, 3]);
    }

    #[test]
    fn ranges_end_between_warehouses_in_every_table() {
        // Two tables: a row of each of six warehouses, and a thousand of each, whose numbers come
        // behind its own. Loads are not quite even.
        let stock = (0..6000).map(|number| (number / 1000 + 1) << 32 | (number % 1000));
        let mut sampled: Vec<Sampled> = Vec::new();
        let spaces = [Space::Index(IndexId(3)), Space::Index(IndexId(4))];
        sampled.extend((1..=6).map(|number| (spaces[0], number << 32, 40 + number)));
        sampled.extend(stock.clone().map(|head| (spaces[1], head, 2 + head % 2)));
        for workers in [2, 3] {
            let mut cuts = Cuts::new(&vec![0; workers]);
            cuts.find(&mut sampled.clone());
            for head in stock.clone() {
                let owner = |space| cuts.owner_at(workers as u16, (space, head), 0);
                let warehouse = head >> 32;
                let wanted = (warehouse - 1) * workers as u64 / 6;
                assert_eq!(spaces.map(owner), [wanted as u16; 2], "{warehouse} of {workers}");
            }
        }
    }

    #[test]
    fn a_heavy_queue_is_never_missed() {
        for heavy in [0, 1, 1777, 4999] {
            let mut queues = queues(0..5000, 1);
            queues[heavy].weight = 5000;
            let owners = partition(Partitioning::Keys, 2, &queues, &[]);
            let mut loads = [0; 2];
            for (queue, &owner) in queues.iter().zip(&owners) {
                loads[usize::from(owner)] += cost(queue);
            }
            assert!(loads.iter().all(|load| (9_000..=11_000).contains(load)), "{loads:?}");
        }
    }

    #[test]
    fn queues_move_to_their_neighbours_while_loads_allow_it() {
        // Pairs of a low and a high key: all edges are cut by key ranges, and none need be.
        let queues = queues(0..256, 1);
        let edges: Vec<_> = (0..128).flat_map(|low| [(low, 255 - low); 3]).collect();
        let cut = |owners: &[u16]| {
            edges.iter().filter(|(a, b)| owners[*a as usize] != owners[*b as usize]).count()
        };
        let by_keys = partition(Partitioning::Keys, 2, &queues, &edges);
        assert_eq!(cut(&by_keys), edges.len());
        let repaired = partition(Partitioning::Repaired, 2, &queues, &edges);
        let load = repaired.iter().filter(|&&owner| owner == 0).count();
        assert!((113..=143).contains(&load), "{load}");
        // Who finds no room is not asked again, so that some stay apart.
        assert!(cut(&repaired) <= edges.len() * 7 / 10, "{} are cut", cut(&repaired));
        #[cfg(feature = "metis")]
        {
            let owners = partition(Partitioning::Metis, 2, &queues, &edges);
            assert_eq!(cut(&owners), 0, "each pair lies together");
            let load = owners.iter().filter(|&&owner| owner == 0).count();
            assert!((113..=143).contains(&load), "{load}");
        }
        let hashed = partition(Partitioning::Hash, 2, &queues, &edges);
        assert_eq!(hashed.iter().filter(|&&owner| owner == 0).count(), 128);
    }
}
