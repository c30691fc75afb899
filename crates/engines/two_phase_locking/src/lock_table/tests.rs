use super::*;
use crate::policy::Victim;
use Mode::{IS, IX, S, X};

const LOCK: u64 = 42;

/// A table whose owners ask by script; nobody really waits.
struct Scene {
    table: LockTable,
    owners: Vec<Owner>,
}

impl Scene {
    /// Owner 0 is the oldest.
    fn new(policy: Policy) -> Self {
        let table = LockTable::with_buckets(16, 2, Deadlocks::of(policy));
        let dynamic = |number| table.owner(number, Standing::Dynamic);
        let mut owners: Vec<Owner> = (0..16).map(dynamic).collect();
        owners.iter_mut().zip(1..).for_each(|(owner, age)| table.begin(owner, age));
        Self { table, owners }
    }

    fn ask(&mut self, owner: usize, mode: Mode) -> Acquired {
        self.table.acquire(&mut self.owners[owner], LOCK, mode)
    }

    fn release(&mut self, owner: usize) {
        self.table.release(&mut self.owners[owner], LOCK);
    }

    /// Requests for the lock: owner, held, wanted.
    fn queue(&self) -> String {
        let name = |mode: Option<Mode>| mode.map_or("-", Mode::name);
        let requests = self.table.bucket(LOCK).of_lock(LOCK);
        let texts = requests
            .into_iter()
            .map(|(owner, held, wanted)| format!("{owner}:{}/{}", name(held), name(wanted)));
        texts.collect::<Vec<_>>().join(" ")
    }

    /// What became of an owner's request.
    fn verdict(&mut self, owner: usize) -> Option<Result<(), Conflict>> {
        let decided = self.table.cells[owner].verdict().is_some();
        decided.then(|| self.table.wait(&mut self.owners[owner], LOCK))
    }
}

#[test]
fn two_modes_are_granted_together_only_when_compatible() {
    for (first, second, together) in [
        (IS, IS, true),
        (IS, IX, true),
        (IS, S, true),
        (IS, X, false),
        (IX, IX, true),
        (IX, S, false),
        (IX, X, false),
        (S, S, true),
        (S, X, false),
        (X, X, false),
    ] {
        for (first, second) in [(first, second), (second, first)] {
            let mut scene = Scene::new(Policy::NoWait);
            assert_eq!(scene.ask(0, first), Acquired::Granted);
            let expected =
                if together { Acquired::Granted } else { Acquired::Refused(Conflict::NoWait) };
            assert_eq!(scene.ask(1, second), expected, "{first:?} then {second:?}");
        }
    }
}

#[test]
fn a_lock_held_strongly_enough_is_granted_again() {
    let mut scene = Scene::new(Policy::NoWait);
    for mode in [IS, S, X, S, IX, IS] {
        assert_eq!(scene.ask(3, mode), Acquired::Granted);
    }
    assert_eq!(scene.queue(), "3:X/-");
    scene.release(3);
    assert_eq!(scene.table.requests(), 0);
}

#[test]
fn a_reader_does_not_pass_a_waiting_writer() {
    let mut scene = Scene::new(Policy::Wait);
    assert_eq!(scene.ask(0, S), Acquired::Granted);
    assert_eq!(scene.ask(1, X), Acquired::Waiting);
    assert_eq!(scene.ask(2, S), Acquired::Waiting);
    assert_eq!(scene.ask(3, S), Acquired::Waiting);
    scene.release(0);
    assert_eq!(scene.queue(), "1:X/- 2:-/S 3:-/S");
    assert_eq!(scene.verdict(1), Some(Ok(())));
    assert_eq!(scene.verdict(2), None);
    scene.release(1);
    assert_eq!(scene.queue(), "2:S/- 3:S/-");
    assert_eq!((scene.verdict(2), scene.verdict(3)), (Some(Ok(())), Some(Ok(()))));
}

#[test]
fn a_request_that_disturbs_nobody_passes_waiting_ones() {
    let mut scene = Scene::new(Policy::Wait);
    assert_eq!(scene.ask(0, IX), Acquired::Granted);
    assert_eq!(scene.ask(1, S), Acquired::Waiting);
    assert_eq!(scene.ask(2, IS), Acquired::Granted);
    assert_eq!(scene.ask(3, IX), Acquired::Waiting);
    scene.release(0);
    assert_eq!(scene.queue(), "1:S/- 2:IS/- 3:-/IX");
}

#[test]
fn a_conversion_passes_ordinary_requests() {
    let mut scene = Scene::new(Policy::Wait);
    assert_eq!(scene.ask(0, S), Acquired::Granted);
    assert_eq!(scene.ask(1, S), Acquired::Granted);
    assert_eq!(scene.ask(2, X), Acquired::Waiting);
    assert_eq!(scene.ask(0, X), Acquired::Waiting);
    assert_eq!(scene.ask(3, S), Acquired::Waiting);
    assert_eq!(scene.queue(), "0:S/X 1:S/- 2:-/X 3:-/S");
    scene.release(1);
    assert_eq!(scene.queue(), "0:X/- 2:-/X 3:-/S");
    scene.release(0);
    assert_eq!(scene.queue(), "2:X/- 3:-/S");
}

#[test]
fn a_conversion_that_disturbs_no_holder_is_granted_at_once() {
    let mut scene = Scene::new(Policy::Wait);
    assert_eq!(scene.ask(0, IS), Acquired::Granted);
    assert_eq!(scene.ask(1, IX), Acquired::Granted);
    assert_eq!(scene.ask(2, S), Acquired::Waiting);
    assert_eq!(scene.ask(0, IX), Acquired::Granted);
    assert_eq!(scene.queue(), "0:IX/- 1:IX/- 2:-/S");
}

#[test]
fn no_wait_refuses_and_keeps_what_is_held() {
    let mut scene = Scene::new(Policy::NoWait);
    assert_eq!(scene.ask(0, S), Acquired::Granted);
    assert_eq!(scene.ask(1, S), Acquired::Granted);
    assert_eq!(scene.ask(0, X), Acquired::Refused(Conflict::NoWait));
    assert_eq!(scene.queue(), "0:S/- 1:S/-");
}

#[test]
fn the_old_wait_and_the_young_die() {
    let mut scene = Scene::new(Policy::WaitDie);
    assert_eq!(scene.ask(5, X), Acquired::Granted);
    assert_eq!(scene.ask(3, X), Acquired::Waiting);
    assert_eq!(scene.ask(7, S), Acquired::Refused(Conflict::Die));
    assert_eq!(scene.ask(4, S), Acquired::Refused(Conflict::Die), "3 waits before it");
    assert_eq!(scene.ask(2, S), Acquired::Waiting);
    scene.release(5);
    assert_eq!(scene.queue(), "3:X/- 2:-/S");
}

#[test]
fn of_two_conversions_the_younger_dies() {
    let mut scene = Scene::new(Policy::WaitDie);
    assert_eq!(scene.ask(1, S), Acquired::Granted);
    assert_eq!(scene.ask(2, S), Acquired::Granted);
    assert_eq!(scene.ask(1, X), Acquired::Waiting);
    assert_eq!(scene.ask(2, X), Acquired::Refused(Conflict::Die));
    scene.release(2);
    assert_eq!(scene.queue(), "1:X/-");
}

/// Without the refusal 3 would wait for 1, which is older: with a fourth lock, a deadlock.
#[test]
fn a_conversion_refuses_younger_requests_that_it_passes() {
    let mut scene = Scene::new(Policy::WaitDie);
    assert_eq!(scene.ask(1, IS), Acquired::Granted);
    assert_eq!(scene.ask(5, S), Acquired::Granted);
    assert_eq!(scene.ask(3, IX), Acquired::Waiting, "only 5 is in its way");
    assert_eq!(scene.ask(1, S), Acquired::Granted);
    assert_eq!(scene.verdict(3), Some(Err(Conflict::Die)));
    assert_eq!(scene.queue(), "1:S/- 5:S/-");
}

#[test]
fn a_refused_conversion_keeps_its_old_mode() {
    let mut scene = Scene::new(Policy::WaitDie);
    assert_eq!(scene.ask(1, IS), Acquired::Granted);
    assert_eq!(scene.ask(3, IS), Acquired::Granted);
    assert_eq!(scene.ask(5, S), Acquired::Granted);
    assert_eq!(scene.ask(3, IX), Acquired::Refused(Conflict::Die), "1 is older and holds");
    scene.release(1);
    assert_eq!(scene.ask(3, IX), Acquired::Waiting);
    assert_eq!(scene.ask(2, X), Acquired::Waiting, "older than all it waits for");
    assert_eq!(scene.queue(), "3:IS/IX 5:S/- 2:-/X");
    scene.release(5);
    assert_eq!(scene.queue(), "3:IX/- 2:-/X");
}

/// The conversion that waits is itself passed by an older one.
#[test]
fn a_conversion_refuses_a_younger_conversion_that_waits() {
    let mut scene = Scene::new(Policy::WaitDie);
    assert_eq!(scene.ask(3, IS), Acquired::Granted);
    assert_eq!(scene.ask(5, S), Acquired::Granted);
    assert_eq!(scene.ask(3, IX), Acquired::Waiting);
    assert_eq!(scene.ask(1, IS), Acquired::Granted);
    assert_eq!(scene.ask(1, S), Acquired::Granted);
    assert_eq!(scene.verdict(3), Some(Err(Conflict::Die)));
    assert_eq!(scene.queue(), "3:IS/- 5:S/- 1:S/-");
}

#[test]
fn a_bucket_spills_and_keeps_order() {
    let mut scene = Scene::new(Policy::Wait);
    assert_eq!(scene.ask(0, X), Acquired::Granted);
    for owner in 1..16 {
        assert_eq!(scene.ask(owner, X), Acquired::Waiting);
    }
    for owner in 0..15 {
        scene.release(owner);
        assert_eq!(scene.verdict(owner + 1), Some(Ok(())));
    }
    scene.release(15);
    assert_eq!(scene.table.requests(), 0);
    assert_eq!(scene.ask(0, X), Acquired::Granted);
}

#[test]
fn locks_of_one_bucket_do_not_meet() {
    let (table, mut one, mut other) = two_owners(Policy::NoWait);
    for lock in 0..20 {
        let owner = if lock % 2 == 0 { &mut one } else { &mut other };
        assert_eq!(table.acquire(owner, lock, X), Acquired::Granted);
    }
    assert_eq!(table.acquire(&mut one, 1, S), Acquired::Refused(Conflict::NoWait));
    for lock in (0..20).rev() {
        let owner = if lock % 2 == 0 { &mut one } else { &mut other };
        table.release(owner, lock);
    }
    assert_eq!(table.requests(), 0);
}

#[test]
fn a_bucket_is_two_cache_lines() {
    assert_eq!(size_of::<CachePadded<Latch<Bucket>>>(), 128);
}

fn two_owners(policy: Policy) -> (LockTable, Owner, Owner) {
    let table = LockTable::with_buckets(2, 2, Deadlocks::of(policy));
    let dynamic = |number| table.owner(number, Standing::Dynamic);
    let (mut one, mut other) = (dynamic(0), dynamic(1));
    table.begin(&mut one, 1);
    table.begin(&mut other, 2);
    (table, one, other)
}

/// Sleeping and waking for real: the owner waits until another thread releases.
#[test]
fn a_release_wakes_a_sleeper() {
    let (table, mut one, mut other) = two_owners(Policy::Wait);
    assert_eq!(table.acquire(&mut one, LOCK, X), Acquired::Granted);
    std::thread::scope(|scope| {
        let table = &table;
        let sleeper = scope.spawn(move || {
            assert_eq!(table.acquire(&mut other, LOCK, X), Acquired::Waiting);
            table.wait(&mut other, LOCK)
        });
        while table.requests() < 2 {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(20)); // long enough to fall asleep
        table.release(&mut one, LOCK);
        assert_eq!(sleeper.join().expect("the sleeper ends well"), Ok(()));
    });
}

/// I5, at once and after waiting.
#[test]
fn who_is_granted_a_lock_meets_who_released_it() {
    let position = |time| Position { epoch: 3, time };
    let (table, mut one, mut other) = two_owners(Policy::Wait);
    assert_eq!(table.acquire(&mut one, LOCK, X), Acquired::Granted);
    assert_eq!(one.met(), Position::default());
    assert_eq!(table.acquire(&mut other, LOCK, X), Acquired::Waiting);
    one.commit_at(position(8));
    table.release(&mut one, LOCK);
    assert_eq!(table.wait(&mut other, LOCK), Ok(()));
    assert_eq!(other.met(), position(8));
    // One that is undone stands nowhere, and the tag stays.
    table.release(&mut other, LOCK);
    table.begin(&mut one, 3);
    assert_eq!(table.acquire(&mut one, LOCK, S), Acquired::Granted);
    assert_eq!(one.met(), position(8));
    // Readers are met by later writers, too.
    one.commit_at(position(9));
    table.release(&mut one, LOCK);
    table.begin(&mut other, 4);
    assert_eq!(table.acquire(&mut other, LOCK, X), Acquired::Granted);
    assert_eq!(other.met(), position(9));
    table.release(&mut other, LOCK);
}

/// What does not wait: it is granted to who holds the lock or meets nobody, and refused otherwise.
#[test]
fn a_request_that_may_not_wait_leaves_nothing_behind() {
    let mut scene = Scene::new(Policy::Wait);
    let attempt = |scene: &mut Scene, owner: usize, mode| {
        scene.table.try_acquire(&mut scene.owners[owner], LOCK, mode)
    };
    assert!(attempt(&mut scene, 0, Mode::NS));
    assert!(attempt(&mut scene, 1, Mode::XN));
    assert!(!attempt(&mut scene, 2, Mode::NX));
    assert!(!attempt(&mut scene, 0, Mode::S));
    assert!(attempt(&mut scene, 1, Mode::XS));
    assert_eq!(scene.queue(), "0:NS/- 1:XS/-");
    assert!(scene.table.is_claimed(&mut scene.owners[1], LOCK, Mode::NX));
    scene.release(0);
    assert!(!scene.table.is_claimed(&mut scene.owners[1], LOCK, Mode::NX));
    assert!(scene.table.is_claimed(&mut scene.owners[3], LOCK, Mode::NX));
}

/// Owners 0 and 1 each hold a lock and wait for the other's, dynamic ones but for the `other` one;
/// who goes away.
fn deadlock(
    deadlocks: Deadlocks,
    other: Option<(usize, Standing)>,
    completed: [u64; 2],
) -> Vec<usize> {
    let table = LockTable::with_buckets(2, 2, deadlocks);
    let mut owners: Vec<Owner> = (0..2)
        .map(|number| {
            let standing =
                other.filter(|(other, _)| *other == number).map(|(_, standing)| standing);
            if standing == Some(Standing::Planned) {
                return table.owner(number, Standing::Planned);
            }
            let mut owner = table.owner(number, Standing::Dynamic);
            table.begin(&mut owner, number as u64 + 1);
            table.set_completed(&owner, completed[number]);
            if standing == Some(Standing::Ahead) {
                table.set_ahead(&mut owner, true);
            }
            owner
        })
        .collect();
    for (lock, owner) in owners.iter_mut().enumerate() {
        assert_eq!(table.acquire(owner, lock as u64, X), Acquired::Granted);
    }
    let table = &table;
    std::thread::scope(|scope| {
        let ends: Vec<_> = owners
            .iter_mut()
            .enumerate()
            .map(|(number, owner)| {
                scope.spawn(move || {
                    let other = 1 - number as u64;
                    let waited = match table.acquire(owner, other, X) {
                        Acquired::Granted => Ok(()),
                        Acquired::Waiting => table.wait(owner, other),
                        Acquired::Refused(conflict) => Err(conflict),
                    };
                    if waited.is_ok() {
                        table.release(owner, other);
                    }
                    table.release(owner, number as u64);
                    waited.is_err()
                })
            })
            .collect();
        let ended = ends.into_iter().map(|end| end.join().expect("both end well"));
        ended.enumerate().filter(|(_, undone)| *undone).map(|(number, _)| number).collect()
    })
}

#[test]
fn of_two_that_wait_for_each_other_the_chosen_one_goes() {
    for policy in [Policy::WaitForGraph, Policy::Dreadlocks] {
        // The first one is the older transaction; its pipeline is the longer, then the shorter one.
        let rows =
            [(Victim::Young, [1, 1]), (Victim::KillLong, [0, 1]), (Victim::KillShort, [1, 0])];
        for (victim, gone) in rows {
            let deadlocks = Deadlocks { victim, ..Deadlocks::of(policy) };
            for (completed, gone) in [[9, 4], [4, 9]].into_iter().zip(gone) {
                let undone = deadlock(deadlocks, None, completed);
                assert_eq!(undone, [gone], "{policy:?} {victim:?} {completed:?}");
            }
        }
    }
    assert_eq!(deadlock(Deadlocks::of(Policy::WaitDie), None, [0, 0]), [1]);
    assert_eq!(deadlock(Deadlocks::of(Policy::WoundWait), None, [0, 0]), [1]);
}

#[test]
fn a_planned_owner_is_never_the_one_that_goes() {
    let policies = [Policy::WaitForGraph, Policy::Dreadlocks, Policy::WaitDie, Policy::WoundWait];
    for policy in policies.into_iter().chain([Policy::NoWait, Policy::TimeOut]) {
        for planned in 0..2 {
            let other = Some((planned, Standing::Planned));
            let undone = deadlock(Deadlocks::of(policy), other, [0, 0]);
            // Where nobody waits, the planned one may have been through before.
            assert!(!undone.contains(&planned), "{policy:?}");
            assert!(undone.len() == 1 || policy == Policy::NoWait, "{policy:?}");
        }
    }
}

#[test]
fn a_session_s_planned_call_gives_way_to_an_older_transaction_only() {
    for number in 0..2 {
        let other = Some((number, Standing::Ahead));
        assert_eq!(deadlock(Deadlocks::of(Policy::WaitForGraph), other, [0, 0]), [1]);
    }
}

/// locking.txt 4.2: A holds, B and C wait; A lets go, B has the lock, C has not looked since. When
/// A comes back behind C, C's digest still has A in it.
#[test]
fn a_stale_digest_is_no_deadlock_with_back_off() {
    for (waiting, is_suspected) in [(Waiting::Sleep, true), (Waiting::BackOff, false)] {
        let deadlocks = Deadlocks { waiting, ..Deadlocks::of(Policy::Dreadlocks) };
        let table = LockTable::with_buckets(3, 2, deadlocks);
        let mut owners: Vec<Owner> =
            (0..3).map(|number| table.owner(number, Standing::Dynamic)).collect();
        owners.iter_mut().zip(1..).for_each(|(owner, age)| table.begin(owner, age));
        let look = |owner: &mut Owner| {
            table.look_at_queue(owner, LOCK);
            (table.look(owner), std::mem::take(&mut owner.told))
        };
        assert_eq!(table.acquire(&mut owners[0], LOCK, X), Acquired::Granted);
        for owner in &mut owners[1..] {
            assert_eq!(table.acquire(owner, LOCK, X), Acquired::Waiting);
            assert_eq!(look(owner), (None, Vec::new()));
        }
        table.release(&mut owners[0], LOCK);
        owners[1].dreadlocks.run(&table.cells);
        assert_eq!(table.acquire(&mut owners[0], LOCK, X), Acquired::Waiting);
        let (suspect, asked) = look(&mut owners[0]);
        assert_eq!(suspect.is_some(), is_suspected, "{waiting:?}");
        assert_eq!(asked, if is_suspected { vec![] } else { vec![2] }, "{waiting:?}");
    }
}

/// Between two looks at the queue, who has ended its transaction leaves the digests of those behind
/// it, and a doom that was meant for that transaction hits no other one.
#[test]
fn who_has_ended_is_waited_for_no_more() {
    let table = LockTable::with_buckets(3, 2, Deadlocks::of(Policy::Dreadlocks));
    let mut owners: Vec<Owner> =
        (0..3).map(|number| table.owner(number, Standing::Dynamic)).collect();
    owners.iter_mut().zip(1..).for_each(|(owner, age)| table.begin(owner, age));
    assert_eq!(table.acquire(&mut owners[0], LOCK, X), Acquired::Granted);
    for owner in &mut owners[1..] {
        assert_eq!(table.acquire(owner, LOCK, X), Acquired::Waiting);
    }
    let waits_for = |owner: &mut Owner| {
        table.forget_ended(owner);
        assert_eq!(table.look(owner), None);
        let set = table.cells[owner.number as usize].set();
        (0..3).filter(|&other| table.form.may_contain(set, other)).collect::<Vec<_>>()
    };
    table.look_at_queue(&mut owners[2], LOCK);
    assert_eq!(waits_for(&mut owners[2]), [0, 1, 2], "itself, too");
    let transaction = table.cells[0].sequence();
    table.release(&mut owners[0], LOCK);
    assert_eq!(waits_for(&mut owners[2]), [0, 1, 2], "it has not ended yet");
    table.end(&owners[0]);
    assert_eq!(waits_for(&mut owners[2]), [1, 2]);
    table.begin(&mut owners[0], 4);
    table.cells[0].doom_transaction(transaction);
    assert!(!table.is_doomed(&owners[0]));
    table.cells[0].doom_transaction(table.cells[0].sequence());
    assert!(table.is_doomed(&owners[0]));
}

/// Two who close a circle at the same time: whoever begins to wait later is known to wait before
/// the other one's digest is read, so that one of the two finds the circle at its first look.
#[test]
fn who_waits_is_known_before_it_looks() {
    let deadlocks = Deadlocks::of(Policy::Dreadlocks);
    let table = LockTable::with_buckets(2, 2, deadlocks);
    let mut owners: Vec<Owner> =
        (0..2).map(|number| table.owner(number, Standing::Dynamic)).collect();
    // Whom it waits for is named twice: the first time, to be told.
    let read = std::cell::Cell::new(0_u32);
    let others = std::iter::once_with(|| read.set(read.get() + 1)).map(|()| {
        let told = table.form.may_contain(table.cells[0].set(), 1);
        assert_eq!(told, read.get() > 1, "it is told between the two passes");
        1
    });
    owners[0].dreadlocks.look(&table.cells, others, None);
    assert_eq!(read.get(), 2);
}

/// Who lets go of a lock stays in the parts of those who still wait for it, until it holds nothing;
/// nobody is undone for that.
#[test]
fn an_edge_to_who_has_let_go_closes_no_cycle() {
    const OTHER: u64 = LOCK + 1;
    let table = LockTable::with_buckets(3, 2, Deadlocks::of(Policy::WaitForGraph));
    let mut owners: Vec<Owner> =
        (0..3).map(|number| table.owner(number, Standing::Dynamic)).collect();
    owners.iter_mut().zip(1..).for_each(|(owner, age)| table.begin(owner, age));
    for (owner, lock, mode) in [(0, LOCK, S), (1, LOCK, S), (2, OTHER, X)] {
        assert_eq!(table.acquire(&mut owners[owner], lock, mode), Acquired::Granted);
    }
    assert_eq!(table.acquire(&mut owners[2], LOCK, X), Acquired::Waiting);
    table.release(&mut owners[0], LOCK);
    assert_eq!(table.acquire(&mut owners[0], OTHER, X), Acquired::Waiting);
    let [first, second, third] = &mut owners[..] else { unreachable!("there are three") };
    assert_eq!(first.search.cycle(&table.cells, 0), Some(2), "the edge is still there");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| table.wait(first, OTHER));
        while table.cells[2].part().edges().count() > 1 && !waits.is_finished() {
            std::thread::yield_now(); // until who waits has looked at it
        }
        let is_doomed = table.is_doomed(third);
        table.release(second, LOCK);
        let granted = table.wait(third, LOCK);
        if granted.is_ok() {
            table.release(third, LOCK);
        }
        table.release(third, OTHER);
        let waited = waits.join().expect("it ends well");
        assert_eq!((is_doomed, granted, waited), (false, Ok(()), Ok(())));
    });
}

/// As long as nobody waits who is not planned, no cycle closes, and none is looked for.
#[test]
fn planned_owners_look_for_cycles_while_others_wait() {
    let (table, ..) = two_owners(Policy::WaitForGraph);
    let planned = table.owner(0, Standing::Planned);
    let dynamic = table.owner(1, Standing::Dynamic);
    assert!(!table.may_close_cycle(&planned) && table.may_close_cycle(&dynamic));
    let counted = table.count_dynamic_wait();
    assert!(table.may_close_cycle(&planned));
    drop(counted);
    assert!(!table.may_close_cycle(&planned));
}
