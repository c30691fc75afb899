use hotrow_engine::lock_mode::Mode::{IS, IX, S, SIX, X};

use super::*;
use crate::policy::Deadlocks;

const FORMS: [Form; 3] = [Form::Plain, Form::Inherited, Form::Lightweight];
const TABLE: Coarse = Coarse::Table(TableId(3));

/// Owners with what each holds.
struct Scene {
    locks: TableLocks,
    owners: Vec<(Owner, Private)>,
}

impl Scene {
    fn new(form: Form) -> Self {
        let table = Arc::new(LockTable::new(4, Deadlocks::default()));
        let owners = (0..4).map(|number| {
            let mut owner = table.owner(number, Standing::Dynamic);
            table.begin(&mut owner, number as u64 + 1);
            (owner, Private::default())
        });
        let owners = owners.collect();
        Self { locks: TableLocks::new(table, form), owners }
    }

    fn ask(&mut self, owner: usize, mode: Mode) -> bool {
        let (owner, private) = &mut self.owners[owner];
        self.locks.try_acquire(owner, private, TABLE, mode)
    }

    fn end(&mut self, owner: usize) {
        let (owner, private) = &mut self.owners[owner];
        self.locks.release_all(owner, private);
        self.locks.table.begin(owner, 1);
    }
}

#[test]
fn modes_go_together_as_in_the_table() {
    for form in FORMS {
        for first in [IS, IX, SIX, S, X] {
            for second in [IS, IX, SIX, S, X] {
                let mut scene = Scene::new(form);
                assert!(scene.ask(0, first));
                assert_eq!(scene.ask(1, second), first.compatible(second), "{first:?} {second:?}");
                scene.end(0);
            }
        }
    }
}

#[test]
fn what_is_held_is_strengthened_beside_others() {
    for form in FORMS {
        let mut scene = Scene::new(form);
        assert!(scene.ask(0, IS) && scene.ask(1, IS) && scene.ask(0, S));
        assert!(scene.ask(0, IX), "{form:?}"); // SIX
        assert!(!scene.ask(1, IX) && scene.ask(1, IS) && !scene.ask(0, X));
        scene.end(1);
        if form == Form::Inherited {
            // Owner 1 ended without knowing that its intent was in somebody's way; it looks again.
            let (owner, private) = &mut scene.owners[1];
            scene.locks.release_unused(owner, private);
        }
        assert!(scene.ask(0, X), "{form:?}");
        scene.end(0);
        assert!(scene.ask(2, X), "{form:?}");
    }
}

/// I3: table locks order transactions as others do, and readers of a table follow its writers.
#[test]
fn who_takes_a_table_meets_who_wrote_below() {
    let position = |time| Position { epoch: 5, time };
    for form in FORMS {
        let mut scene = Scene::new(form);
        assert!(scene.ask(0, IX));
        scene.owners[0].0.commit_at(position(7));
        scene.end(0);
        // Another writer of some row has nothing to do with the first.
        assert!(scene.ask(1, IX));
        if form == Form::Lightweight {
            assert_eq!(scene.owners[1].0.met(), Position::default());
        }
        scene.end(1);
        let (owner, private) = &mut scene.owners[2];
        let granted = scene.locks.try_acquire(owner, private, TABLE, S);
        assert_eq!(granted, form != Form::Inherited);
        if form == Form::Inherited {
            for other in 0..2 {
                let (owner, private) = &mut scene.owners[other];
                scene.locks.release_unused(owner, private);
            }
            assert!(scene.ask(2, S));
        }
        assert_eq!(scene.owners[2].0.met(), position(7), "{form:?}");
        scene.owners[2].0.commit_at(position(9));
        scene.end(2);
        assert!(scene.ask(3, IX));
        assert_eq!(scene.owners[3].0.met(), position(9), "{form:?}");
    }
}

#[test]
fn intents_wait_behind_a_waiting_absolute_lock() {
    for form in FORMS {
        let mut scene = Scene::new(form);
        assert!(scene.ask(0, IX));
        let (mut rest, locks) = (scene.owners.split_off(1).into_iter(), &scene.locks);
        let (mut absolute, mut held) = rest.next().expect("there are four");
        let (mut late, mut late_held) = rest.next().expect("there are four");
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || {
                let waited = locks.acquire(&mut absolute, &mut held, (TABLE, X), |_| true);
                locks.release_all(&mut absolute, &mut held);
                waited
            });
            while locks.try_acquire(&mut late, &mut late_held, TABLE, IS) {
                locks.release_all(&mut late, &mut late_held);
                locks.release_unused(&mut late, &mut late_held);
                std::thread::yield_now();
            }
            // The intent that is held would have let it in: the absolute request stands before it.
            let (owner, private) = &mut scene.owners[0];
            locks.release_all(owner, private);
            locks.release_unused(owner, private);
            assert_eq!(waits.join().expect("it ends well"), Ok(()));
        });
        assert!(scene.locks.try_acquire(&mut late, &mut late_held, TABLE, IS), "{form:?}");
    }
}

#[test]
fn a_dynamic_owner_gives_up_a_table_after_a_while() {
    let mut scene = Scene::new(Form::Lightweight);
    assert!(scene.ask(0, X));
    let (owner, private) = &mut scene.owners[1];
    let waited = scene.locks.acquire(owner, private, (TABLE, IS), |_| true);
    assert_eq!(waited, Err(Conflict::TimeOut));
    scene.end(0);
    assert!(scene.ask(1, IS) && scene.ask(2, IX));
}

/// H6: the transaction that got the lock is undone, and the next one of its owner still follows
/// who had the table before.
#[test]
fn who_inherits_an_intent_follows_who_had_the_table() {
    let position = Position { epoch: 5, time: 7 };
    let mut scene = Scene::new(Form::Inherited);
    assert!(scene.ask(0, X));
    scene.owners[0].0.commit_at(position);
    scene.end(0);
    assert!(scene.ask(1, IX));
    scene.end(1);
    assert_eq!(scene.owners[1].0.met(), Position::default(), "a new transaction");
    assert!(scene.ask(1, IX));
    assert_eq!(scene.owners[1].0.met(), position);
}

/// H4: also when something else was given back in between.
#[test]
fn an_inherited_intent_is_given_back_as_of_all_who_used_it() {
    let position = Position { epoch: 5, time: 7 };
    let mut scene = Scene::new(Form::Inherited);
    assert!(scene.ask(0, IX));
    scene.owners[0].0.commit_at(position);
    scene.end(0);
    assert!(scene.ask(0, IX), "inherited");
    let (owner, private) = &mut scene.owners[0];
    scene.locks.release_inherited(owner, private);
    assert!(!scene.ask(1, S));
    scene.end(0); // undone: it stands nowhere
    assert!(scene.ask(1, S));
    assert_eq!(scene.owners[1].0.met(), position);
}

/// H7: the owner's own earlier transactions, too.
#[test]
fn who_takes_a_table_follows_its_owner_s_transactions_before() {
    let position = Position { epoch: 5, time: 7 };
    for form in FORMS {
        let mut scene = Scene::new(form);
        assert!(scene.ask(0, IX));
        scene.owners[0].0.commit_at(position);
        scene.end(0);
        assert!(scene.ask(0, S));
        assert_eq!(scene.owners[0].0.met(), position, "{form:?}");
    }
}

/// H2: giving back what is inherited, in the middle of a transaction, is not yet an answer to who
/// wants what the transaction holds.
#[test]
fn an_intent_that_somebody_wants_is_not_kept() {
    let mut scene = Scene::new(Form::Inherited);
    assert!(scene.ask(0, IX) && !scene.ask(1, X));
    let (owner, private) = &mut scene.owners[0];
    scene.locks.release_inherited(owner, private);
    assert!(!scene.ask(1, X));
    scene.end(0);
    assert!(scene.ask(1, X));
}

/// H5: an owner whose intent is granted while it gets ready to sleep for it, and wanted by somebody
/// else before it does.
#[test]
fn an_intent_that_was_waited_for_is_not_kept_from_who_wanted_it_meanwhile() {
    let mut scene = Scene::new(Form::Inherited);
    let ask = |scene: &mut Scene, number: usize, mode| {
        let (owner, private) = &mut scene.owners[number];
        scene.locks.announce(private, TABLE, mode);
        let acquired = scene.locks.table.acquire(owner, TABLE.lock(), mode);
        scene.locks.announce(private, TABLE, mode);
        acquired
    };
    assert!(scene.ask(0, X));
    assert_eq!(ask(&mut scene, 1, IX), Acquired::Waiting);
    scene.end(0);
    assert_eq!(ask(&mut scene, 0, X), Acquired::Waiting, "for owner 1, which has just got it");
    let (owner, private) = &mut scene.owners[1];
    scene.locks.prepare_to_wait(owner, private);
    assert_eq!(scene.locks.table.wait(owner, TABLE.lock()), Ok(()));
    private.take(owner, TABLE, IX);
    scene.end(1);
    let (owner, _) = &mut scene.owners[0];
    assert!(!scene.locks.table.is_awaited(TABLE.lock()), "owner 1 has let go of it");
    assert_eq!(scene.locks.table.wait(owner, TABLE.lock()), Ok(()));
}

/// Two that hold an intent and want the table: counters know no cycle, but each sees the other one
/// wait.
#[test]
fn of_two_that_strengthen_an_intent_one_gives_up() {
    let mut scene = Scene::new(Form::Lightweight);
    assert!(scene.ask(0, IX) && scene.ask(1, IX));
    let locks = &scene.locks;
    let ends = std::thread::scope(|scope| {
        let waits: Vec<_> = (scene.owners[..2].iter_mut())
            .map(|(owner, private)| {
                scope.spawn(move || {
                    let waited = locks.acquire(owner, private, (TABLE, S), |_| true);
                    locks.release_all(owner, private);
                    waited
                })
            })
            .collect();
        waits.into_iter().map(|wait| wait.join().expect("it ends well")).collect::<Vec<_>>()
    });
    assert!(ends.contains(&Err(Conflict::TimeOut)), "{ends:?}");
    assert!(scene.ask(2, X), "nothing is left behind");
}

/// Writers under intents and a reader of the whole table: what the reader adds up never changes
/// under it.
#[test]
fn absolute_locks_keep_everybody_out() {
    use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering};
    const ROUNDS: usize = 2_000;
    for form in FORMS {
        let table = Arc::new(LockTable::new(4, Deadlocks::default()));
        let locks = TableLocks::new(Arc::clone(&table), form);
        let cells: [AtomicU64; 3] = Default::default();
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (locks, cells, table, done) = (&locks, &cells, &table, &done);
                scope.spawn(move || {
                    let mut owner = table.owner(number, Standing::Planned);
                    let mut private = Private::default();
                    for round in 0..ROUNDS {
                        owner.begin();
                        let mode = if number < 3 { IX } else { [S, X][round % 2] };
                        if !locks.try_acquire(&mut owner, &mut private, TABLE, mode) {
                            let asked = (TABLE, mode);
                            let waited = locks.acquire(&mut owner, &mut private, asked, |_| true);
                            assert_eq!(waited, Ok(()));
                        }
                        let sum = || cells.iter().map(|c| c.load(Ordering::Relaxed)).sum::<u64>();
                        match mode {
                            IX => {
                                let count = cells[number].load(Ordering::Relaxed);
                                cells[number].store(count + 1, Ordering::Relaxed);
                            }
                            _ => {
                                let before = sum();
                                std::hint::spin_loop();
                                assert_eq!(sum(), before, "{form:?}");
                            }
                        }
                        locks.release_all(&mut owner, &mut private);
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                    while done.load(Ordering::Relaxed) < 4 {
                        locks.release_unused(&mut owner, &mut private);
                        std::thread::yield_now();
                    }
                });
            }
        });
        let sum: u64 = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 3 * ROUNDS as u64);
    }
}

/// H3: an intent that is only inherited is given back before it is waited for in a stronger mode.
#[test]
fn two_who_strengthen_what_they_inherited_do_not_wait_for_each_other() {
    let mut scene = Scene::new(Form::Inherited);
    for owner in 0..2 {
        assert!(scene.ask(owner, IX));
        scene.end(owner);
        assert_eq!(scene.owners[owner].1.inherited.len(), 1);
    }
    for owner in 0..2 {
        assert!(!scene.ask(owner, X), "the other one has kept its intent");
        let private = &scene.owners[owner].1;
        assert_eq!((private.held.len(), private.inherited.len()), (0, 1));
    }
    let locks = &scene.locks;
    hotrow_base::thread::scope(|scope| {
        for (owner, private) in &mut scene.owners[..2] {
            scope.spawn(move || {
                let granted = locks.acquire(owner, private, (TABLE, X), |_| true);
                granted.expect("nobody holds it while waiting");
                locks.release_all(owner, private);
            });
        }
    });
    assert!(scene.ask(2, X));
}
