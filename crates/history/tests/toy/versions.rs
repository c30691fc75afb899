//! Stores that read from snapshots: snapshot isolation, two sites, a lagging replica.

use std::collections::BTreeMap;

use super::{Answer, Store, TxnId};

/// Committed appends in commit order, and what open transactions have appended so far.
#[derive(Default)]
struct Log {
    committed: Vec<(u64, i64)>,
    pending: BTreeMap<TxnId, Vec<(u64, i64)>>,
}

impl Log {
    /// A list as of a log position, with the transaction's own appends.
    fn read(&self, txn: TxnId, key: u64, position: usize) -> Vec<i64> {
        let own = self.pending.get(&txn).into_iter().flatten();
        let appends = self.committed[..position].iter().chain(own);
        appends.filter(|(list, _)| *list == key).map(|(_, value)| *value).collect()
    }

    fn append(&mut self, txn: TxnId, key: u64, value: i64) {
        self.pending.entry(txn).or_default().push((key, value));
    }

    fn commit(&mut self, txn: TxnId) {
        self.committed.extend(self.pending.remove(&txn).unwrap_or_default());
    }
}

/// Snapshot isolation, the first committer wins: write skew.
#[derive(Default)]
pub struct SnapshotStore {
    log: Log,
    snapshots: BTreeMap<TxnId, usize>,
}

impl Store for SnapshotStore {
    fn begin(&mut self, txn: TxnId) {
        self.snapshots.insert(txn, self.log.committed.len());
    }

    fn read(&mut self, txn: TxnId, key: u64) -> Answer<Vec<i64>> {
        Answer::Done(self.log.read(txn, key, self.snapshots[&txn]))
    }

    fn append(&mut self, txn: TxnId, key: u64, value: i64) -> Answer<()> {
        self.log.append(txn, key, value);
        Answer::Done(())
    }

    fn commit(&mut self, txn: TxnId) -> Answer<()> {
        let since = &self.log.committed[self.snapshots[&txn]..];
        let mut own = self.log.pending.get(&txn).into_iter().flatten();
        if own.any(|(key, _)| since.iter().any(|(list, _)| list == key)) {
            return Answer::Abort;
        }
        self.log.commit(txn);
        Answer::Done(())
    }

    fn rollback(&mut self, txn: TxnId) {
        self.log.pending.remove(&txn);
    }
}

/// Two sites: a list is written at the site of its parity, a transaction reads at the site of its
/// own, and appends reach the other site only when all is quiet: long fork. For transactions that
/// either append once or only read.
#[derive(Default)]
pub struct TwoSites {
    /// What both sites have.
    shared: Log,
    /// What only its own site has.
    local: [Log; 2],
}

impl Store for TwoSites {
    fn read(&mut self, txn: TxnId, key: u64) -> Answer<Vec<i64>> {
        let site = &self.local[(txn % 2) as usize];
        let mut values = self.shared.read(txn, key, self.shared.committed.len());
        values.extend(site.read(txn, key, site.committed.len()));
        Answer::Done(values)
    }

    fn append(&mut self, _txn: TxnId, key: u64, value: i64) -> Answer<()> {
        self.local[(key % 2) as usize].committed.push((key, value));
        Answer::Done(())
    }

    fn commit(&mut self, _txn: TxnId) -> Answer<()> {
        Answer::Done(())
    }

    fn rollback(&mut self, _txn: TxnId) {}

    fn quiesce(&mut self) {
        for site in &mut self.local {
            self.shared.committed.append(&mut site.committed);
        }
    }
}

/// A serial store whose transactions read a replica some commits behind until they write: stale
/// reads. Nobody may write after reading the replica, so histories stay serializable.
pub struct LaggingReplica {
    log: Log,
    /// Log positions at which a transaction committed.
    commits: Vec<usize>,
    lag: usize,
    snapshots: BTreeMap<TxnId, usize>,
}

impl LaggingReplica {
    pub fn new(lag: usize) -> LaggingReplica {
        LaggingReplica { log: Log::default(), commits: vec![0], lag, snapshots: BTreeMap::new() }
    }
}

impl Store for LaggingReplica {
    fn begin(&mut self, txn: TxnId) {
        let behind = self.commits.len().saturating_sub(1 + self.lag);
        self.snapshots.insert(txn, self.commits[behind]);
    }

    fn read(&mut self, txn: TxnId, key: u64) -> Answer<Vec<i64>> {
        Answer::Done(self.log.read(txn, key, self.snapshots[&txn]))
    }

    fn append(&mut self, txn: TxnId, key: u64, value: i64) -> Answer<()> {
        self.log.append(txn, key, value);
        Answer::Done(())
    }

    fn commit(&mut self, txn: TxnId) -> Answer<()> {
        self.log.commit(txn);
        self.commits.push(self.log.committed.len());
        Answer::Done(())
    }

    fn rollback(&mut self, txn: TxnId) {
        self.log.pending.remove(&txn);
    }
}
