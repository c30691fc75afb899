//! Every interleaving of one or two writers with a reader, on two protected words.

use super::*;
use crate::sync::facade;
use loom::sync::Arc;
use loom::thread;

struct Node {
    latch: VersionLatch,
    words: [AtomicU64; 2],
}

impl Node {
    fn new() -> Arc<Self> {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        Arc::new(Self { latch: VersionLatch::new(), words })
    }

    fn load(&self) -> (u64, u64) {
        (self.words[0].load(Ordering::Relaxed), self.words[1].load(Ordering::Relaxed))
    }

    /// Reads, if nobody writes: a read that is valid is that of its version.
    fn read_untorn(&self) {
        let Some(version) = self.latch.try_read_begin() else { return };
        let (first, second) = self.load();
        if self.latch.validate(version) {
            assert_eq!(first, second);
            assert_eq!(first, version.to_word() / STEP);
        }
    }

    fn bump(&self) {
        let (first, _) = self.load();
        self.words[0].store(first + 1, Ordering::Relaxed);
        self.words[1].store(first + 1, Ordering::Relaxed);
    }
}

#[test]
fn a_validated_read_is_not_torn() {
    facade::model(|| {
        let node = Node::new();
        let writer = {
            let node = Arc::clone(&node);
            thread::spawn(move || {
                node.latch.lock().expect("never obsolete");
                node.bump();
                node.latch.unlock();
            })
        };
        node.read_untorn();
        writer.join().expect("the writer does not panic");
    });
}

#[test]
fn a_read_beside_the_only_writer_is_not_torn() {
    facade::model(|| {
        let node = Node::new();
        let writer = {
            let node = Arc::clone(&node);
            thread::spawn(move || {
                for _ in 0..2 {
                    let version = node.latch.try_read_begin().expect("nobody else locks it");
                    assert!(node.latch.upgrade_alone(version));
                    node.bump();
                    node.latch.unlock();
                }
            })
        };
        node.read_untorn();
        writer.join().expect("the writer does not panic");
    });
}

/// Two transactions, each of which changes its word if the other's is 0.
#[test]
fn of_two_that_read_what_the_other_changes_one_fails() {
    facade::model(|| {
        let nodes = [Node::new(), Node::new()];
        let commit = |own: &Node, other: &Node| {
            let read = other.latch.try_read_begin()?;
            let (seen, _) = other.load();
            own.latch.try_lock()?;
            order_locks_before_checks();
            let valid = other.latch.validate(read);
            own.words[0].store(1, Ordering::Relaxed);
            own.latch.unlock();
            valid.then_some(seen)
        };
        let [a, b] = nodes;
        let other = {
            let (a, b) = (Arc::clone(&a), Arc::clone(&b));
            thread::spawn(move || commit(&a, &b))
        };
        let mine = commit(&b, &a);
        let theirs = other.join().expect("the other one does not panic");
        assert_ne!((mine, theirs), (Some(0), Some(0)), "write skew");
    });
}

#[test]
fn an_upgrade_loses_no_update() {
    facade::model(|| {
        let node = Node::new();
        let upgrade = |node: &Node| {
            loop {
                let version = node.latch.read_begin().expect("never obsolete");
                let (first, second) = node.load();
                if node.latch.try_upgrade(version) {
                    assert_eq!(first, second, "a successful upgrade validates earlier loads");
                    node.words[0].store(first + 1, Ordering::Relaxed);
                    node.words[1].store(first + 1, Ordering::Relaxed);
                    return node.latch.unlock();
                }
            }
        };
        let other = {
            let node = Arc::clone(&node);
            thread::spawn(move || upgrade(&node))
        };
        let mine = upgrade(&node);
        let theirs = other.join().expect("the other writer does not panic");
        assert_ne!(mine, theirs);
        assert!(node.latch.read_begin().is_some());
        assert_eq!(node.load(), (2, 2));
    });
}

#[test]
fn a_reader_of_a_dead_node_never_validates_its_next_life() {
    facade::model(|| {
        let node = Node::new();
        let owner = {
            let node = Arc::clone(&node);
            thread::spawn(move || {
                node.latch.lock().expect("first life");
                node.latch.unlock_obsolete();
                assert!(node.latch.lock_for_reuse());
                node.bump();
                node.latch.unlock();
            })
        };
        if let Some(version) = node.latch.try_read_begin() {
            let (first, second) = node.load();
            if node.latch.validate(version) {
                assert_eq!(first, second);
                assert_eq!(first == 0, version.to_word() == 0);
            }
        }
        owner.join().expect("the owner does not panic");
    });
}
