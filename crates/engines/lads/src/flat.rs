//! Flat actions: those that wait for nothing but their turn in one queue.
//!
//! Role         the *queue-oriented* half of a graph: one cache line per action, which has all that
//!              running it takes, so that no other part of the graph is touched. What is known of
//!              a flat call is kept by the batch, as of all calls; its actions are no rows of the
//!              batch, since half of such a line is the graph's: the record, the place in a queue,
//!              what was made
//! Invariants   I1 the flat actions of a call follow one another, in the order of its procedure
//!              I2 `made` of an action -> stored by its executor, read by the builder behind a
//!              barrier, so that Relaxed is enough

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};

use hotrow_engine::planning;
use hotrow_engine::schema::Schema;
use hotrow_transaction::actions::{Captured, FlatAction, FlatLeaf, FlatSink};
use hotrow_transaction::plan::Granule;

use crate::programs::Programs;
use crate::queue::{Place, Queues};

/// Bytes of a key that an action has room for.
pub const KEY_BYTES_MAX: usize = 16;

/// A flat action.
#[derive(Debug)]
#[repr(align(64))]
pub struct Flat {
    key: [u8; KEY_BYTES_MAX],
    /// the record that its key leads to (bits of its id plus one, 0 for none)
    pub hint: u64,
    /// the words of its first output
    made: [AtomicU64; 2],
    /// its call
    pub call: u32,
    /// where its queue goes on
    pub next: Place,
    /// what it runs: the number of a leaf among those of all procedures
    pub code: u32,
    /// its captured values
    pub captured: Captured,
    /// where its other outputs are kept
    pub more: u32,
    key_bytes: u8,
    /// it is the first of a run of its queue
    pub begins_run: bool,
    /// it is its call's last one
    pub is_last: bool,
}

const _: () = assert!(size_of::<Flat>() == 64, "one cache line");

impl Flat {
    /// Its key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key[..self.key_bytes.into()]
    }

    /// Keeps its first output.
    #[inline]
    pub fn make(&self, words: (u64, u64)) {
        self.made[0].store(words.0, Relaxed); // I2
        self.made[1].store(words.1, Relaxed);
    }

    /// The words of its first output.
    #[inline]
    pub fn made(&self) -> (u64, u64) {
        (self.made[0].load(Relaxed), self.made[1].load(Relaxed)) // I2
    }
}

/// The flat actions of a graph.
#[derive(Default, Debug)]
pub struct Flats {
    /// the actions
    pub all: Vec<Flat>,
    /// how many outputs there are besides first ones
    pub more: u32,
    /// of the call that is being planned: how each of its actions is to be hung up
    pending: Vec<Pending>,
}

/// A flat action that is in no queue yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// identity of its granule's lock
    lock: u64,
    /// of its key
    hash: u64,
}

/// Takes the actions of one call.
pub struct Taker<'a> {
    /// where to
    pub flats: &'a mut Flats,
    /// where they will be hung up
    pub queues: &'a Queues,
    /// tables
    pub schema: &'a Schema,
    /// the call's number
    pub call: u32,
    /// the number of its procedure's first leaf among those of all
    pub first_code: u32,
}

impl Flats {
    /// Forgets all actions, keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.pending.clear();
        self.more = 0;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets the actions of a call that turned out not to be flat.
    pub fn cut_back(&mut self, end: usize) {
        self.all.truncate(end);
        self.pending.clear();
    }

    /// The call's actions have been taken: looks up their records, and hangs them up.
    pub fn settle(&mut self, schema: &Schema, programs: &Programs, queues: &mut Queues) {
        let Self { all, pending, .. } = self;
        let first = all.len() - pending.len();
        for (at, Pending { lock, hash }) in (first..).zip(pending.drain(..)) {
            let action = &mut all[at];
            let (.., leaf) = programs.coded(action.code);
            action.hint = planning::hint(schema, leaf.index, action.key(), hash);
            let head = u64::from_be_bytes(*action.key.first_chunk().expect("it is longer"));
            let (space, mode) = leaf.granule();
            queues.hang_flat(at as u32, &Granule::of_lock(lock, space, mode), head, all);
        }
    }
}

impl FlatSink for Taker<'_> {
    #[inline]
    fn take(&mut self, action: FlatAction<'_>, leaf: &FlatLeaf) -> bool {
        let Self { flats, queues, schema, call, first_code } = self;
        let FlatAction { leaf: number, key, hash, lock, captured } = action;
        if key.len() > KEY_BYTES_MAX {
            return false;
        }
        planning::prefetch_index(schema, leaf.index, key, hash);
        queues.prefetch(lock);
        let mut padded = [0; KEY_BYTES_MAX];
        padded[..key.len()].copy_from_slice(key);
        let more = flats.more;
        flats.more += leaf.outputs.len().saturating_sub(1) as u32;
        flats.pending.push(Pending { lock, hash });
        flats.all.push(Flat {
            key: padded,
            hint: 0,
            made: [AtomicU64::new(0), AtomicU64::new(0)],
            call: *call,
            next: Place::END,
            code: *first_code + u32::from(number),
            captured,
            more,
            key_bytes: key.len() as u8,
            begins_run: false,
            is_last: false,
        });
        true
    }
}
