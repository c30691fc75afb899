//! The analytical model of partitioned.txt: throughput from what a few things cost.
//!
//! Role         says what a scheme of concurrency control would do with a mix of transactions, from
//!              costs that were measured. Pure functions; nothing asks them yet
//! Invariants   I1 no scheme gains by a larger share of multi-partition transactions where these
//!              cost a partition at least half of what a single-partition one does (tests): with
//!              less, a system does well to split its work
//! Source       partitioned.txt 6: equations of 6.1 to 6.3, costs of table 2. Two partitions; a
//!              single-partition transaction is in either as often, a multi-partition one in both,
//!              with one round and half of the work in each; nothing conflicts, nothing aborts.
//!              For two partitions only: with more of them a multi-partition transaction may wait
//!              until its two are free at the same time, which the derivation has no term for
//!
//! All equations have one form: in N transactions each partition works on N f multi-partition ones
//! and on N (1 - f) / 2 of the others, so that throughput is N / time = 2 / (2 f a + (1 - f) b),
//! with what either costs it (a, b) under the scheme.

/// What transactions cost, microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// a single-partition transaction, run when nothing else is open (t_sp)
    pub single_us: f64,
    /// a single-partition transaction with an undo buffer, run speculatively (t_spS)
    pub single_speculative_us: f64,
    /// a multi-partition transaction, from its first fragment until it is resolved (t_mp)
    pub multi_us: f64,
    /// of that, time in which the partition's processor works for it (t_mpC)
    pub multi_cpu_us: f64,
    /// time that locks add to a transaction, as a share of it: 0.132 is 13.2 % (l - 1)
    pub lock_overhead: f64,
}

impl Costs {
    /// Table 2. Its stall (t_mpN) is not taken over: it is printed as 40, but 6.2 defines it as
    /// t_mp - t_mpC, which is 156; with 40 a processor that works for 55 would never idle, and
    /// local speculation would keep 18,182 transactions a second at a share of 1, where figure 10
    /// has it fall to 6,410.
    pub const PAPER: Self = Self {
        single_us: 64.0,
        single_speculative_us: 73.0,
        multi_us: 211.0,
        multi_cpu_us: 55.0,
        lock_overhead: 0.132,
    };

    /// While a multi-partition transaction waits for the network (t_mpN).
    fn stall_us(&self) -> f64 {
        self.multi_us - self.multi_cpu_us
    }

    /// Between two multi-partition transactions, if the next one's work begins while the one before
    /// waits (t_mpL): whichever takes longer, the waiting or the work.
    fn multi_interval_us(&self) -> f64 {
        self.stall_us().max(self.multi_cpu_us)
    }

    /// Of that, time in which the processor has nothing to do (t_mpI).
    fn idle_us(&self) -> f64 {
        self.multi_interval_us() - self.multi_cpu_us
    }
}

/// The schemes that the model knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelScheme {
    /// nothing else runs in a partition until its multi-partition transaction is resolved (6.1)
    Blocking,
    /// single-partition transactions run while one is not resolved yet; their results are held
    /// back (6.2)
    LocalSpeculation,
    /// multi-partition transactions do so as well (6.2.1)
    MultiPartitionSpeculation,
    /// transactions that do not conflict run side by side, under locks (6.3)
    Locking,
}

impl ModelScheme {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Blocking, Self::LocalSpeculation, Self::MultiPartitionSpeculation, Self::Locking];
}

/// Transactions a second, of both partitions together, where `multi_partition_share` of the
/// transactions (f, 0 to 1) are multi-partition ones. A share outside is taken as 0 or as 1; one
/// that is no number gives none. Costs are above 0.
pub fn throughput(scheme: ModelScheme, costs: &Costs, multi_partition_share: f64) -> f64 {
    2e6 / both_partitions_us(scheme, costs, multi_partition_share)
}

/// The share of multi-partition transactions up to which `one` is the faster scheme, where it is
/// so with none of them and `other` is with nothing else; else there is no such share.
///
/// Example: on the paper's costs blocking beats locking up to 0.059, which 5.1 measures as 6 %.
pub fn break_even(one: ModelScheme, other: ModelScheme, costs: &Costs) -> Option<f64> {
    let ahead = |share: f64| {
        both_partitions_us(one, costs, share) < both_partitions_us(other, costs, share)
    };
    let behind = |share: f64| {
        both_partitions_us(one, costs, share) > both_partitions_us(other, costs, share)
    };
    if !ahead(0.0) || !behind(1.0) {
        return None;
    }
    // A double has 53 bits; each step finds one.
    let (from, to) = (0..53).fold((0.0, 1.0), |(from, to), _| {
        let middle = (from + to) / 2.0;
        if ahead(middle) { (middle, to) } else { (from, middle) }
    });
    Some((from + to) / 2.0)
}

/// The share of multi-partition transactions up to which there are enough of the others to fill
/// the time that these leave idle; speculation falls steeply behind it (6.2). 1 if they leave none.
pub fn idle_filled_until(costs: &Costs) -> f64 {
    costs.single_speculative_us / (costs.single_speculative_us + 2.0 * costs.idle_us())
}

/// Work of both partitions for one transaction of the mix: the denominators of section 6.
fn both_partitions_us(scheme: ModelScheme, costs: &Costs, multi_partition_share: f64) -> f64 {
    let multi = multi_partition_share.clamp(0.0, 1.0);
    let single = 1.0 - multi;
    // 2 f N_hidden of the paper, which is defined without a share to divide by: those of the
    // single-partition transactions that run while multi-partition ones wait.
    let hidden = single.min(2.0 * multi * costs.idle_us() / costs.single_speculative_us);
    let in_the_open = (single - hidden) * costs.single_us;
    match scheme {
        ModelScheme::Blocking => 2.0 * multi * costs.multi_us + single * costs.single_us,
        ModelScheme::LocalSpeculation => 2.0 * multi * costs.multi_interval_us() + in_the_open,
        ModelScheme::MultiPartitionSpeculation => {
            2.0 * multi * costs.multi_cpu_us + hidden * costs.single_speculative_us + in_the_open
        }
        ModelScheme::Locking => {
            let unlocked = 2.0 * multi * costs.multi_cpu_us + single * costs.single_speculative_us;
            (1.0 + costs.lock_overhead) * unlocked
        }
    }
}

#[cfg(test)]
mod tests;
