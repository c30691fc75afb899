use hotrow_transaction::granule::LOCK_ID_STEP;

use super::*;
use LockMode::{Exclusive, IntentExclusive, IntentShared, Shared};

/// Locks 1, 2, ... in buckets of their own.
fn claims(of: &[(u64, LockMode)]) -> Vec<Claim> {
    let mut claims: Vec<_> =
        of.iter().map(|&(lock, mode)| Claim::new(lock * LOCK_ID_STEP, mode)).collect();
    Claim::normalize(&mut claims);
    claims
}

/// Enters calls into slots and numbers 0, 1, ...; which of them were ready at once.
fn enter_all(chains: &mut Chains, calls: &[&[(u64, LockMode)]]) -> Vec<bool> {
    (0..).zip(calls).map(|(at, call)| chains.enter(at, at, &claims(call))).collect()
}

fn leave(chains: &mut Chains, slot: u32) -> Vec<u32> {
    let mut ready = Vec::new();
    chains.leave(slot, |slot| ready.push(slot));
    ready.sort_unstable();
    ready
}

#[test]
fn claims_on_one_bucket_become_one() {
    let all =
        claims(&[(2, Shared), (1, Shared), (2, Exclusive), (3, IntentExclusive), (3, Shared)]);
    let modes: Vec<_> = all.iter().map(|claim| (claim.bucket(), claim.mode())).collect();
    assert_eq!(modes, [(1, Shared), (2, Exclusive), (3, Exclusive)]);
    let far = Claim::new((BUCKETS as u64 + 2) * LOCK_ID_STEP, Shared);
    assert_eq!(far.bucket(), 2, "locks share buckets");
}

#[test]
fn readers_run_together_and_writers_one_after_the_other() {
    let mut chains = Chains::new(8);
    let (read, write): (&[_], &[_]) = (&[(1, Shared)], &[(1, Exclusive)]);
    let ready = enter_all(&mut chains, &[read, read, write, write, read, read]);
    assert_eq!(ready, [true, true, false, false, false, false]);
    assert_eq!(leave(&mut chains, 1), [] as [u32; 0]);
    assert_eq!(leave(&mut chains, 0), [2]);
    assert_eq!(leave(&mut chains, 2), [3]);
    assert_eq!(leave(&mut chains, 3), [4, 5]);
    assert!(!chains.enter(0, 6, &claims(write)));
    assert_eq!(leave(&mut chains, 5), [] as [u32; 0]);
    assert_eq!(leave(&mut chains, 4), [0]);
    assert_eq!(leave(&mut chains, 0), [] as [u32; 0]);
    chains.forget();
}

#[test]
fn a_call_waits_for_all_its_locks() {
    let mut chains = Chains::new(4);
    let both: &[_] = &[(1, Exclusive), (2, Shared)];
    let ready = enter_all(&mut chains, &[&[(1, Exclusive)], &[(2, Exclusive)], both]);
    assert_eq!(ready, [true, true, false]);
    assert_eq!(leave(&mut chains, 1), [] as [u32; 0]);
    assert_eq!(leave(&mut chains, 0), [2]);
}

#[test]
fn intents_get_along_and_whole_tables_do_not() {
    let mut chains = Chains::new(8);
    let calls: &[&[_]] = &[
        &[(1, IntentExclusive)],
        &[(1, IntentShared)],
        &[(1, IntentExclusive)],
        &[(1, Shared)],
        &[(1, IntentShared)],
        &[(1, IntentExclusive)],
        &[(1, Exclusive)],
    ];
    let ready = enter_all(&mut chains, calls);
    assert_eq!(ready, [true, true, true, false, false, false, false]);
    assert_eq!(leave(&mut chains, 0), [] as [u32; 0]);
    assert_eq!(leave(&mut chains, 2), [] as [u32; 0]);
    assert_eq!(leave(&mut chains, 1), [3, 4]);
    assert_eq!(leave(&mut chains, 4), [] as [u32; 0]);
    assert_eq!(leave(&mut chains, 3), [5]);
    assert_eq!(leave(&mut chains, 5), [6]);
}

#[test]
fn what_is_being_written_is_not_settled() {
    let mut chains = Chains::new(4);
    let [read] = claims(&[(1, Shared)])[..] else { unreachable!() };
    let [intent] = claims(&[(1, IntentShared)])[..] else { unreachable!() };
    assert!(chains.is_settled(read) && chains.is_unchanged_since(read, 0));
    enter_all(&mut chains, &[&[(1, Shared)], &[(1, IntentExclusive)], &[(2, Exclusive)]]);
    assert!(!chains.is_settled(read) && !chains.is_settled(intent), "one waits behind a reader");
    leave(&mut chains, 0);
    assert!(!chains.is_settled(read) && chains.is_settled(intent));
    assert!(!chains.is_unchanged_since(read, 1) && chains.is_unchanged_since(read, 2));
    assert!(chains.is_unchanged_since(intent, 0));
    leave(&mut chains, 1);
    assert!(chains.is_settled(read));
    assert!(!chains.is_unchanged_since(read, 1), "it has been written since call 0 had ended");
    assert!(!chains.enter(3, 3, &claims(&[(2, Exclusive)])));
    let [other] = claims(&[(2, IntentShared)])[..] else { unreachable!() };
    assert!(!chains.is_settled(other) && !chains.is_unchanged_since(other, 3));
    leave(&mut chains, 2);
    leave(&mut chains, 3);
    chains.forget();
    assert!(chains.is_unchanged_since(other, 0));
}
