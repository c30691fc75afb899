use super::*;

const BITS: ClaimBits = ClaimBits { stamp: 1, busy: 2, nothing: 4 };
const OTHER: u64 = 0xff00;

#[test]
fn a_word_is_claimed_once_for_each_image() {
    let word = AtomicU64::new(OTHER);
    for current in [1, 0, 1] {
        assert!(!BITS.is_done(word.load(Ordering::Relaxed), current));
        assert!(BITS.claim(&word, current));
        assert!(!BITS.is_done(word.load(Ordering::Relaxed), current), "busy is not done");
        BITS.finish(&word, current);
        assert!(BITS.is_done(word.load(Ordering::Relaxed), current));
        assert!(!BITS.claim(&word, current));
        assert_eq!(word.load(Ordering::Relaxed), OTHER | current, "other bits are left alone");
    }
}

#[test]
fn where_there_is_nothing_to_copy_nothing_is_claimed() {
    let word = AtomicU64::new(OTHER | BITS.nothing);
    assert!(!BITS.claim(&word, 1));
    assert_eq!(word.load(Ordering::Relaxed), OTHER | BITS.nothing);
}
