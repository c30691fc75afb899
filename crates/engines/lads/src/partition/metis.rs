//! Partitioning by a library: METIS's multilevel k-way scheme.
//!
//! Role         tells how many edges a better partitioning than Algorithm 2 would leave cut. It is
//!              no choice for running: a graph of some thousand queues takes it milliseconds, and
//!              all workers some hundred microseconds to execute

use metis::{Graph, Idx, option};

use super::{EPSILON, cost};
use crate::queue::Queue;

/// Deals out queues; where METIS refuses, they stay with their owners. `listed`: where each queue's
/// neighbours begin, and all of them.
pub(super) fn partition(
    workers: u16,
    queues: &[Queue],
    listed: (&[u32], &[u32]),
    owners: &mut [u16],
) {
    let (starts, neighbours) = listed;
    let weights: Vec<Idx> = queues.iter().map(|queue| cost(queue) as Idx).collect();
    let (mut begins, mut to, mut counts) = (vec![0], Vec::new(), Vec::new());
    let mut own: Vec<Idx> = Vec::new();
    for (number, range) in (0..).zip(starts.windows(2)) {
        own.clear();
        let all = &neighbours[range[0] as usize..range[1] as usize];
        own.extend(all.iter().map(|&other| other as Idx).filter(|&other| other != number));
        own.sort_unstable();
        for same in own.chunk_by(|one, other| one == other) {
            to.push(same[0]);
            counts.push(same.len() as Idx);
        }
        begins.push(to.len() as Idx);
    }
    let mut parts = vec![0; queues.len()];
    let found = Graph::new(1, Idx::from(workers as i16), &begins, &to).is_ok_and(|graph| {
        let graph = graph.set_vwgt(&weights).set_adjwgt(&counts);
        // In thousandths above the mean.
        let graph = graph.set_option(option::UFactor((EPSILON * 1000 / 1024) as Idx));
        graph.part_kway(&mut parts).is_ok()
    });
    if found {
        let parts = parts.into_iter().map(|part| part as u16);
        owners.iter_mut().zip(parts).for_each(|(owner, part)| *owner = part);
    }
}
