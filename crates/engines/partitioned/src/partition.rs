//! Partitions, and who holds them.
//!
//! Invariants   I1 partitions are held in ascending order, each until all are let go
//!              I2 who holds a partition has met whoever held it before: its position stays there

use crossbeam_utils::CachePadded;
use hotrow_base::ids::PartitionId;
use hotrow_base::sync::Latch;
use hotrow_engine::statistics::Stopwatch;
use hotrow_log::position::Position;

/// All partitions.
#[derive(Debug)]
pub struct Partitions {
    /// by partition: the greatest position of a call that held it
    held: Box<[CachePadded<Latch<Position>>]>,
}

impl Partitions {
    /// So many.
    pub fn new(count: u16) -> Self {
        Self { held: (0..count).map(|_| CachePadded::default()).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        self.held.len() as u16
    }

    /// Does something while holding some partitions, given in ascending order. It is told whom it
    /// follows, and says where it stands itself; the beginning of all if it was undone.
    pub fn hold(
        &self,
        partitions: &mut impl Iterator<Item = PartitionId>,
        met: Position,
        watch: &mut Stopwatch,
        run: impl FnOnce(Position, &mut Stopwatch) -> Position,
    ) -> Position {
        let Some(partition) = partitions.next() else { return run(met, watch) };
        let latch = &self.held[partition.index()];
        let mut tag = latch.try_lock().unwrap_or_else(|| {
            let before = watch.begin_wait();
            let tag = latch.lock();
            watch.switch(before);
            tag
        });
        let position = self.hold(partitions, met.max(*tag), watch, run); // I1
        *tag = position.max(*tag); // I2
        position
    }
}

#[cfg(test)]
mod tests {
    use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    fn at(time: u64) -> Position {
        Position { time, ..Position::default() }
    }

    #[test]
    fn who_holds_partitions_follows_all_who_held_one_of_them() {
        let partitions = Partitions::new(4);
        let mut watch = Stopwatch::default();
        let mut hold = |numbers: &[u16], time| {
            let mut met = Position::default();
            let mut chosen = numbers.iter().map(|&number| PartitionId(number));
            partitions.hold(&mut chosen, Position::default(), &mut watch, |before, _| {
                met = before;
                at(time)
            });
            met.time
        };
        assert_eq!(hold(&[0, 2], 7), 0);
        assert_eq!(hold(&[1], 9), 0);
        assert_eq!(hold(&[2, 3], 8), 7);
        assert_eq!(hold(&[0], 0), 7, "one that was undone");
        assert_eq!(hold(&[0, 1, 2, 3], 10), 9);
        assert_eq!(hold(&[3], 11), 10);
    }

    #[test]
    fn one_at_a_time_is_in_a_partition() {
        let partitions = Partitions::new(3);
        let inside: [AtomicU64; 3] = Default::default();
        thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (partitions, inside) = (&partitions, &inside);
                scope.spawn(move || {
                    let mut watch = Stopwatch::default();
                    for turn in 0..2_000 {
                        let sets: [&[u16]; 4] = [&[0, 1], &[1, 2], &[0, 2], &[1]];
                        let numbers = sets[(thread + turn) as usize % sets.len()];
                        let mut chosen = numbers.iter().map(|&number| PartitionId(number));
                        partitions.hold(&mut chosen, at(0), &mut watch, |_, _| {
                            for &number in numbers {
                                let before = inside[usize::from(number)].swap(1, Ordering::Relaxed);
                                assert_eq!(before, 0, "partition {number}");
                            }
                            for &number in numbers {
                                inside[usize::from(number)].store(0, Ordering::Relaxed);
                            }
                            at(0)
                        });
                    }
                });
            }
        });
    }
}
