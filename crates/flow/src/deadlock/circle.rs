//! Circles of waiting among those whose waits one thread knows.
//!
//! Role         a depth-first search that starts at whoever has just begun to wait
//! Invariants   I1 a circle is found when it closes: whoever closes it has the search start at
//!              itself, and every circle that is new then goes through it
//! Bounds       looks at each one once; the list of those it has come to is searched from its
//!              beginning each time, which is the faster way as long as they are a few dozen
//! Source       partitioned.txt 4.3

/// Memory of the search, used again. `O` says who waits.
#[derive(Debug)]
pub struct CircleSearch<O> {
    /// whom it has come to, and from whom
    reached: Vec<(O, O)>,
    to_visit: Vec<O>,
}

impl<O> Default for CircleSearch<O> {
    fn default() -> Self {
        Self { reached: Vec::new(), to_visit: Vec::new() }
    }
}

impl<O: Copy + Eq> CircleSearch<O> {
    /// The members of a circle that `start` waits in, from the one before it to itself; none if it
    /// waits in no circle. `visit_awaited` tells whom somebody waits for, one after the other and
    /// perhaps more than once.
    pub fn find(
        &mut self,
        start: O,
        mut visit_awaited: impl FnMut(O, &mut dyn FnMut(O)),
    ) -> Option<impl Iterator<Item = O> + Clone> {
        let Self { reached, to_visit } = self;
        reached.clear();
        to_visit.clear();
        to_visit.push(start);
        while let Some(waiter) = to_visit.pop() {
            let mut closes = false;
            visit_awaited(waiter, &mut |awaited| {
                closes |= awaited == start;
                if reached.iter().all(|&(known, _)| known != awaited) {
                    reached.push((awaited, waiter));
                    to_visit.push(awaited);
                }
            });
            if closes {
                let reached = &*reached;
                let before = move |&at: &O| {
                    let from = reached.iter().find(|&&(known, _)| known == at);
                    from.filter(|_| at != start).map(|&(_, from)| from)
                };
                return Some(std::iter::successors(Some(waiter), before));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circle through a start, where each waits for those named.
    fn circle(waits: &[(u32, &[u32])], start: u32) -> Option<Vec<u32>> {
        let mut search = CircleSearch::default();
        let found = search.find(start, |waiter, visit| {
            let of_it = waits.iter().filter(|&&(who, _)| who == waiter);
            of_it.for_each(|(_, awaited)| awaited.iter().for_each(|&awaited| visit(awaited)));
        });
        found.map(Iterator::collect)
    }

    #[test]
    fn a_circle_through_the_start_is_found_with_all_its_members() {
        let waits: &[(u32, &[u32])] = &[(1, &[2, 5]), (2, &[3]), (3, &[1]), (5, &[4]), (4, &[5])];
        assert_eq!(circle(waits, 1), Some(vec![3, 2, 1]));
        assert_eq!(circle(waits, 4), Some(vec![5, 4]));
        assert_eq!(circle(&[(7, &[7])], 7), Some(vec![7]), "one that waits for itself");
    }

    #[test]
    fn who_waits_for_a_circle_is_not_in_it() {
        let waits: &[(u32, &[u32])] = &[(1, &[2]), (2, &[3]), (3, &[2]), (4, &[])];
        assert_eq!(circle(waits, 1), None);
        assert_eq!(circle(waits, 4), None);
        assert_eq!(circle(waits, 9), None, "nobody");
    }
}
