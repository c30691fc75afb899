//! Toy stores, right and deliberately wrong, and a single-threaded simulator that runs clients
//! against them in a random but repeatable interleaving.
#![allow(dead_code, reason = "each test program uses its part")]

pub mod locks;
pub mod simulator;
pub mod versions;

/// A transaction's number; smaller is older.
pub type TxnId = u64;

/// What a store answers to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    Done(T),
    /// Ask again later.
    Wait,
    /// The transaction must roll back.
    Abort,
}

/// A store of lists. A register is the last element of a list; an index is a list whose order
/// nobody looks at, with a key of at least [`FIRST_INDEX`].
pub trait Store {
    fn begin(&mut self, _txn: TxnId) {}
    fn read(&mut self, txn: TxnId, key: u64) -> Answer<Vec<i64>>;
    fn append(&mut self, txn: TxnId, key: u64, value: i64) -> Answer<()>;
    fn commit(&mut self, txn: TxnId) -> Answer<()>;
    fn rollback(&mut self, txn: TxnId);
    /// All transactions are over: propagate what is to be propagated.
    fn quiesce(&mut self) {}
}

pub const FIRST_INDEX: u64 = 100;

pub fn is_index(key: u64) -> bool {
    key >= FIRST_INDEX
}
