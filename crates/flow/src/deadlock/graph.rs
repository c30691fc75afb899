//! The wait-for graph, in one local part per owner: a list of those it waits for.
//!
//! Role         policy `wait-for-graph`
//! Invariants   G1 an owner's part has all that its waiting request waits for, written under the
//!              latch of that request's bucket by whoever changes the queue; it is empty when the
//!              owner runs. It may have others, who have let go of that lock: an edge names the
//!              generation of the owner it leads to, which ends when that one holds nothing. So
//!              nobody has to take edges out of others' parts when it releases a lock. Who believes
//!              in a cycle looks at its edges in the queues before
//!              G2 who begins to wait has published its part before it looks for a cycle through
//!              itself; a conversion that comes to stand before others adds itself to their parts
//!              first. So of the requests that close a cycle the last one sees it all
//! Concurrency  parts are read without latches. Two that begin to wait at once each store their own
//!              part and then load the other's: between the two stands a **SeqCst** fence, so that
//!              one of them sees both
//! Source       orthrus.txt 4 (each thread maintains a local partition of the graph, as Yu et al.
//!              do, whose edges name transactions)

use std::sync::OnceLock;

use hotrow_base::sync::facade::atomic::{AtomicU32, Ordering, fence};

use super::{Cells, Waiter};

/// An owner in one of its generations, of which the last bits are known, in one word: numbers come
/// again after 4,096.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OwnerVersion(u32);

impl OwnerVersion {
    const OWNER_BITS: u32 = 20;
    /// There may be so many owners.
    pub const OWNERS_MAX: usize = 1 << Self::OWNER_BITS;

    /// An owner in its generation with this number.
    #[inline]
    pub fn new(owner: u32, generation: u32) -> Self {
        Self(generation << Self::OWNER_BITS | owner)
    }

    /// Who it is.
    #[inline]
    pub fn owner(self) -> u32 {
        self.0 & (Self::OWNERS_MAX as u32 - 1)
    }
}

/// What edges to an owner are called that lead somewhere now.
#[inline]
fn present(cells: &Cells<impl Waiter>, owner: u32) -> OwnerVersion {
    OwnerVersion::new(owner, cells[owner as usize].generation())
}

/// Edges that have room in a part itself.
const FEW: usize = 15;

/// Whom one owner waits for.
#[derive(Debug)]
pub struct Part {
    count: AtomicU32,
    few: [AtomicU32; FEW],
    /// the others, made when they are first needed
    many: OnceLock<Box<[AtomicU32]>>,
    /// edges at most: one to each owner
    most: usize,
}

impl Part {
    /// An empty part of a graph of so many owners.
    pub fn new(owners: usize) -> Self {
        Self {
            count: AtomicU32::new(0),
            few: [const { AtomicU32::new(0) }; FEW],
            many: OnceLock::new(),
            most: owners,
        }
    }

    /// The owner waits for these and nobody else. Under the latch of its bucket.
    pub fn replace(&self, with: impl Iterator<Item = OwnerVersion>) {
        let mut count = 0;
        for edge in with.take(self.most) {
            self.place(count).store(edge.0, Ordering::Relaxed); // the fence of a search orders it
            count += 1;
        }
        if count != 0 || self.len() != 0 {
            self.count.store(count as u32, Ordering::Release); // with its edges
        }
    }

    /// The owner waits for one more. Under the latch of its bucket.
    pub fn add(&self, edge: OwnerVersion) {
        let count = self.len();
        let known = (0..count).find(|&at| self.edge(at).owner() == edge.owner());
        self.place(known.unwrap_or(count)).store(edge.0, Ordering::Relaxed); // as above
        if known.is_none() {
            self.count.store(count as u32 + 1, Ordering::Release); // with its edges
        }
    }

    /// Its edges, those among them that lead to nobody any more, too.
    pub fn edges(&self) -> impl DoubleEndedIterator<Item = OwnerVersion> {
        (0..self.len()).map(|at| self.edge(at))
    }

    fn len(&self) -> usize {
        self.count.load(Ordering::Acquire) as usize
    }

    fn edge(&self, at: usize) -> OwnerVersion {
        OwnerVersion(self.place(at).load(Ordering::Relaxed)) // `len` orders it
    }

    fn place(&self, at: usize) -> &AtomicU32 {
        match self.few.get(at) {
            Some(place) => place,
            None => {
                let more = || (FEW..self.most).map(|_| AtomicU32::new(0)).collect();
                &self.many.get_or_init(more)[at - FEW]
            }
        }
    }
}

/// Owners from which a search came to each owner.
///
/// Invariants: whence an owner was reached stays as it is once the search has gone on from it, so
/// that ways back end at the start, however generations change meanwhile.
#[derive(Default, Debug)]
pub struct Search {
    /// per owner: whence it was reached (none: not yet), and by which edge, until the search has
    /// gone on from it
    reached_from: Vec<Option<(u32, Option<OwnerVersion>)>>,
    to_visit: Vec<OwnerVersion>,
}

impl Search {
    /// Room for so many owners.
    pub fn new(owners: usize) -> Self {
        Self { reached_from: vec![None; owners], to_visit: Vec::with_capacity(owners) }
    }

    /// A cycle of waiting through `start`, as far as parts tell: the owner before `start`, from
    /// which [`Search::members`] lists them all. It goes from holder to holder as far as it can,
    /// for a queue begins with who holds the lock: that is where cycles close, and whoever only
    /// stands in a queue on the way would be undone for nothing.
    pub fn cycle(&mut self, cells: &Cells<impl Waiter>, start: u32) -> Option<u32> {
        let Self { reached_from, to_visit } = self;
        fence(Ordering::SeqCst); // G2
        let own = present(cells, start);
        reached_from.fill(None);
        reached_from[start as usize] = Some((start, Some(own)));
        to_visit.clear();
        to_visit.push(own);
        while let Some(version) = to_visit.pop() {
            let owner = version.owner();
            let cell = &cells[owner as usize];
            let reached = &mut reached_from[owner as usize];
            let Some((_, by)) = reached.as_mut().filter(|(_, by)| *by == Some(version)) else {
                continue; // it was reached by another edge since
            };
            // Who is doomed will let go of everything.
            if owner != start && (version != present(cells, owner) || cell.is_doomed()) {
                continue; // G1
            }
            *by = None;
            for edge in cell.part().edges().rev() {
                if edge == own {
                    return Some(owner);
                }
                let next = edge.owner();
                let reached = &mut reached_from[next as usize];
                let is_known = match *reached {
                    None => false,
                    Some((_, None)) => true,
                    Some((_, Some(by))) => by == edge || edge != present(cells, next),
                };
                if !is_known {
                    *reached = Some((owner, Some(edge)));
                    to_visit.push(edge);
                }
            }
        }
        None
    }

    /// The owners on the way from `start` to `last`.
    pub fn members(&self, start: u32, last: u32) -> impl Iterator<Item = u32> {
        let before = move |&owner: &u32| {
            let from = self.reached_from[owner as usize].map_or(start, |(from, _)| from);
            (owner != start).then_some(from)
        };
        std::iter::successors(Some(last), before)
    }
}

/// Whether one of those who wait for an owner, over others or not, is as asked.
pub fn any_waiter<W: Waiter>(cells: &Cells<W>, owner: u32, is_such: impl Fn(&W) -> bool) -> bool {
    fence(Ordering::SeqCst); // G2
    let mut reached = vec![false; cells.len()];
    reached[owner as usize] = true;
    let mut to_visit = vec![owner];
    while let Some(awaited) = to_visit.pop() {
        let edge_to_it = present(cells, awaited);
        for (other, cell) in cells.iter().enumerate() {
            if reached[other] || !cell.part().edges().any(|edge| edge == edge_to_it) {
                continue;
            }
            if is_such(cell) {
                return true;
            }
            reached[other] = true;
            to_visit.push(other as u32);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use crossbeam_utils::CachePadded;

    use super::*;

    struct Owner {
        part: Part,
        generation: u32,
        /// it is in the next one from the second look on
        is_moving: bool,
        looks: AtomicU32,
        is_doomed: bool,
    }

    impl Waiter for Owner {
        fn set(&self) -> &[AtomicU64] {
            &[]
        }

        fn part(&self) -> &Part {
            &self.part
        }

        fn generation(&self) -> u32 {
            let looks = self.looks.fetch_add(1, Ordering::Relaxed);
            self.generation + u32::from(self.is_moving && looks > 0)
        }

        fn is_doomed(&self) -> bool {
            self.is_doomed
        }

        fn is_outdated(&self) -> bool {
            false
        }

        fn set_outdated(&self, _: bool) {}
    }

    /// Owners in generation 1, of whom each waits for these, in this order.
    fn owners(waits: &[&[u32]]) -> Vec<CachePadded<Owner>> {
        let owner = |awaited: &&[u32]| {
            let part = Part::new(waits.len());
            part.replace(awaited.iter().map(|&other| OwnerVersion::new(other, 1)));
            let (is_moving, looks, is_doomed) = (false, AtomicU32::new(0), false);
            CachePadded::new(Owner { part, generation: 1, is_moving, looks, is_doomed })
        };
        waits.iter().map(owner).collect()
    }

    fn cycle(owners: &[CachePadded<Owner>], start: u32) -> Option<Vec<u32>> {
        let mut search = Search::new(owners.len());
        let last = search.cycle(owners, start)?;
        Some(search.members(start, last).collect())
    }

    #[test]
    fn a_part_has_one_edge_to_each() {
        let part = Part::new(100);
        part.replace((0..99).map(|owner| OwnerVersion::new(owner, 1)));
        part.add(OwnerVersion::new(99, 1));
        part.add(OwnerVersion::new(7, 2));
        let edges: Vec<_> = part.edges().collect();
        assert_eq!((edges.len(), edges[7]), (100, OwnerVersion::new(7, 2)));
        let is_of = |generation| edges[99] == OwnerVersion::new(99, generation);
        assert!(is_of(1) && is_of(1 + (1 << 12)) && !is_of(2));
        part.replace(std::iter::empty());
        assert_eq!(part.edges().count(), 0);
    }

    #[test]
    fn a_cycle_goes_from_holder_to_holder() {
        // 1 holds what 0, 2 and 3 wait for; 0 holds what 1 waits for.
        let all = owners(&[&[1, 2], &[0], &[1], &[1, 2]]);
        assert_eq!(cycle(&all, 0), Some(vec![1, 0]), "not over 2, who only stands in the queue");
        assert_eq!(cycle(&all, 3), None, "nobody waits for it");
    }

    #[test]
    fn neither_who_is_doomed_nor_who_has_let_go_closes_a_cycle() {
        let mut all = owners(&[&[1, 2], &[0], &[1]]);
        all[1].generation = 2;
        assert_eq!(cycle(&all, 0), None);
        // Found by another edge, of its present generation.
        all[2].part.replace([OwnerVersion::new(1, 2)].into_iter());
        assert_eq!(cycle(&all, 0), Some(vec![1, 2, 0]));
        all[1].is_doomed = true;
        assert_eq!(cycle(&all, 0), None);
    }

    /// The search has gone on from 1, which begins its next generation then and is reached again:
    /// over 2, to which it came from 1.
    #[test]
    fn ways_back_end_whoever_begins_a_generation_meanwhile() {
        let mut all = owners(&[&[1], &[2], &[0, 1]]);
        all[1].is_moving = true;
        all[2].part.add(OwnerVersion::new(1, 2));
        assert_eq!(cycle(&all, 0), Some(vec![2, 1, 0]));
    }
}
