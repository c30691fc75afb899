//! Dreadlocks: everybody who waits keeps a digest of those it waits for, directly or not.
//!
//! Role         policy `dreadlocks`
//! States       running: the digest is the owner alone; waiting: the owner, and the digests of all
//!              that its request waits for, computed again at each look
//! Invariants   D1 a true deadlock is found: digests on a cycle grow until each has all of them
//!              D2 false ones come from digests that are older than a release, and from Bloom
//!              filters. With back-off a suspicion is believed when it comes again after the other
//!              one has looked once more; each is doubted once, so that D1 holds
//!              D3 whom it waits for is told before others' digests are read: of two who begin to
//!              wait for each other one sees the other. Else both might look once, and sleep
//! Concurrency  a digest is written by its owner and read by anybody, word by word, without a latch
//!              (orthrus.txt 4); a torn one is some digest of before and after, and digests are
//!              hints that grow
//! Source       locking.txt 4.2, Algorithm 5, with lock conversions and the outdated flag. We
//!              differ: D3, which spinning owners do without; an outdated owner still counts as
//!              itself (only whom it waited for is ignored), so that its neighbours' digests stay
//!              complete; and grants are handed over by whoever releases, so that a digest decides
//!              nothing but deadlocks

use super::sets::{self, SetForm};
use super::{Cells, Waiter};

/// One owner's view.
#[derive(Debug)]
pub struct Dreadlocks {
    form: SetForm,
    owner: u32,
    digest: Vec<u64>,
}

impl Dreadlocks {
    /// The view of `owner`.
    pub fn new(form: SetForm, owner: u32) -> Self {
        Self { form, owner, digest: vec![0; form.words()] }
    }

    /// Says that the owner waits for nobody.
    pub fn run(&mut self, cells: &Cells<impl Waiter>) {
        self.digest.fill(0);
        self.form.add(&mut self.digest, self.owner);
        let cell = &cells[self.owner as usize];
        sets::publish(cell.set(), &self.digest);
        cell.set_outdated(false);
    }

    /// Computes the digest of an owner that waits for `others`. One of those that waits for the
    /// owner, if there seems to be any. `outdated`: where it is heeded, who has to look again
    /// before his digest counts; the owner's own mark is taken away before its queue is looked at.
    pub fn look(
        &mut self,
        cells: &Cells<impl Waiter>,
        others: impl Iterator<Item = u32> + Clone,
        mut outdated: Option<&mut Vec<u32>>,
    ) -> Option<u32> {
        let cell = &cells[self.owner as usize];
        others.clone().for_each(|other| self.form.add(&mut self.digest, other));
        sets::publish(cell.set(), &self.digest); // D3
        self.digest.fill(0);
        self.form.add(&mut self.digest, self.owner);
        let mut suspect = None;
        for other in others {
            let cell = &cells[other as usize];
            self.form.add(&mut self.digest, other);
            if cell.is_doomed() {
                continue;
            }
            if let Some(outdated) = &mut outdated
                && cell.is_outdated()
            {
                outdated.push(other);
                continue;
            }
            if self.form.may_contain(cell.set(), self.owner) {
                suspect = Some(other);
            }
            sets::add_all(&mut self.digest, cell.set());
        }
        sets::publish(cell.set(), &self.digest);
        suspect
    }
}
