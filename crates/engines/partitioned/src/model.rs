//! The analytical model of partitioned.txt: throughput from what a few things cost.
//!
//! Role         says what a scheme of concurrency control would do with a mix of transactions, from
//!              costs that were measured: for `scheme=auto` ([`crate::choice`]), and for figures.
//!              Pure functions
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
//!
//! [`expected`] is that form for a [`Mix`], with terms of ours for what 5.2 to 5.4 measure and the
//! model leaves out. P partitions of which k have a part of a multi-partition transaction: P and k
//! in place of the twos. R rounds: only behind the last one may others run, so that all the time
//! before it is as with blocking. Of multi-partition transactions a share is undone: what ran
//! behind them runs again. Of those that ask for locks a share waits: they are as with blocking.
//! One coordinator orders multi-partition transactions: no more of them than it has time for.

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

/// What transactions there are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mix {
    /// partitions
    pub partitions: f64,
    /// partitions of a multi-partition transaction
    pub participants: f64,
    /// the share of multi-partition transactions
    pub multi_share: f64,
    /// rounds of a multi-partition transaction
    pub rounds: f64,
    /// the share of multi-partition transactions that are undone
    pub undone_share: f64,
    /// the share of transactions that wait for a lock, where locks are taken
    pub conflict_share: f64,
    /// what a multi-partition transaction costs the one coordinator, where there is one,
    /// microseconds
    pub coordinator_us: f64,
}

impl Mix {
    /// The paper's: two partitions, one round, nothing undone, no conflicts. A share outside of 0
    /// to 1 is taken as 0 or as 1.
    pub fn of_share(multi_share: f64) -> Self {
        Self {
            partitions: 2.0,
            participants: 2.0,
            multi_share: multi_share.clamp(0.0, 1.0),
            rounds: 1.0,
            undone_share: 0.0,
            conflict_share: 0.0,
            coordinator_us: 0.0,
        }
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
    /// as that, with locks only while a multi-partition transaction is open (4.3): not in the
    /// paper's model
    LockingIfNeeded,
}

impl ModelScheme {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Blocking,
        Self::LocalSpeculation,
        Self::MultiPartitionSpeculation,
        Self::Locking,
        Self::LockingIfNeeded,
    ];
}

/// Transactions a second of a mix, of all partitions together. Costs are above 0.
pub fn expected(scheme: ModelScheme, costs: &Costs, mix: &Mix) -> f64 {
    let rate = mix.partitions * 1e6 / all_partitions_us(scheme, costs, mix);
    let is_ordered = !matches!(scheme, ModelScheme::Locking | ModelScheme::LockingIfNeeded);
    let coordinator_us = mix.multi_share * mix.coordinator_us;
    match is_ordered && coordinator_us > 0.0 {
        true => rate.min(1e6 / coordinator_us),
        false => rate,
    }
}

/// Transactions a second, of both partitions together, where `multi_partition_share` of the
/// transactions (f, 0 to 1) are multi-partition ones. A share outside is taken as 0 or as 1; one
/// that is no number gives none. Costs are above 0.
pub fn throughput(scheme: ModelScheme, costs: &Costs, multi_partition_share: f64) -> f64 {
    expected(scheme, costs, &Mix::of_share(multi_partition_share))
}

/// The share of multi-partition transactions up to which `one` is the faster scheme, where it is
/// so with none of them and `other` is with nothing else; else there is no such share.
///
/// Example: on the paper's costs blocking beats locking up to 0.059, which 5.1 measures as 6 %.
pub fn break_even(one: ModelScheme, other: ModelScheme, costs: &Costs) -> Option<f64> {
    let us = |scheme, share| all_partitions_us(scheme, costs, &Mix::of_share(share));
    let ahead = |share: f64| us(one, share) < us(other, share);
    let behind = |share: f64| us(one, share) > us(other, share);
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

/// Work of all partitions for one transaction of the mix: the denominators of section 6.
fn all_partitions_us(scheme: ModelScheme, costs: &Costs, mix: &Mix) -> f64 {
    let multi = mix.participants * mix.multi_share;
    let single = 1.0 - mix.multi_share;
    let Costs { single_us, single_speculative_us, multi_us, multi_cpu_us, .. } = *costs;
    // Behind the last round others may run; the time of those before it is lost.
    let (last, before) = (1.0 / mix.rounds, multi_us * (1.0 - 1.0 / mix.rounds));
    // 2 f N_hidden of the paper, which is defined without a share to divide by: those of the
    // single-partition transactions that run while multi-partition ones wait.
    let idle_us = costs.idle_us() * last;
    let hidden = single.min(multi * idle_us / single_speculative_us);
    let in_the_open = (single - hidden) * single_us;
    let blocking = multi * multi_us + single * single_us;
    let conflicts = mix.conflict_share;
    let locked = |unlocked: f64, open: f64| {
        (1.0 - conflicts) * ((1.0 + costs.lock_overhead) * unlocked + open) + conflicts * blocking
    };
    match scheme {
        ModelScheme::Blocking => blocking,
        ModelScheme::LocalSpeculation => {
            let again = mix.undone_share * hidden * single_speculative_us;
            multi * (costs.multi_interval_us() * last + before) + in_the_open + again
        }
        ModelScheme::MultiPartitionSpeculation => {
            // Nobody waits: all that is done while one is undecided is behind it.
            let again = multi * mix.undone_share * costs.stall_us() * last;
            let own = multi * (multi_cpu_us * last + before);
            own + hidden * single_speculative_us + in_the_open + again
        }
        ModelScheme::Locking => locked(multi * multi_cpu_us + single * single_speculative_us, 0.0),
        ModelScheme::LockingIfNeeded => {
            let locked_us = (1.0 + costs.lock_overhead) * single_speculative_us;
            let beside = single.min(multi * costs.stall_us() / locked_us);
            let unlocked = multi * multi_cpu_us + beside * single_speculative_us;
            locked(unlocked, (single - beside) * single_us)
        }
    }
}

#[cfg(test)]
mod tests;
