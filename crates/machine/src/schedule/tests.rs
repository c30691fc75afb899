use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use crate::hook;

fn costs(cores: u16) -> Costs {
    Costs {
        sockets: 1,
        cores_per_socket: cores,
        instruction_ps: 200,
        word_ps: 0,
        atomic_ps: 10_000,
        pause_ps: 10_000,
        own_lines: 1024,
        shared_lines: 4096,
        shared_ps: 20_000,
        memory_ps: 100_000,
        memory_far_ps: 100_000,
        dirty_ps: 50_000,
        dirty_far_ps: 50_000,
        stream_percent: 100,
        call_ps: 200_000,
        wake_ps: 1_000_000,
        wake_latency_ps: 4_000_000,
        switch_ps: 1_000_000,
        slice_ps: 100_000_000,
        timer_slack_ps: 0,
    }
}

/// A word of the machine: the hook, then the access, as the atomics of `base` do it.
#[derive(Default)]
#[repr(align(64))]
struct Word(Cell<u64>);

impl Word {
    fn load(&self) -> u64 {
        hook::access(self.0.as_ptr().addr(), Access::Load);
        self.0.get()
    }

    fn store(&self, value: u64) {
        hook::access(self.0.as_ptr().addr(), Access::Store);
        self.0.set(value);
    }

    fn add(&self, value: u64) -> u64 {
        hook::access(self.0.as_ptr().addr(), Access::Change);
        self.0.replace(self.0.get() + value)
    }
}

/// Starts a thread and gives its number.
fn spawn(core: Option<usize>, body: impl FnOnce() + 'static) -> ThreadId {
    // SAFETY: the body borrows nothing.
    unsafe { hook::spawn(core, Box::new(body)) }
}

#[test]
fn threads_run_side_by_side() {
    let (ends, told) = run(&costs(4), 1, || {
        let words: Vec<Rc<Word>> = (0..4).map(|_| Rc::default()).collect();
        let ends: Vec<Rc<Cell<u64>>> = (0..4).map(|_| Rc::default()).collect();
        let threads: Vec<_> = (0..4)
            .map(|core| {
                let (word, end) = (Rc::clone(&words[core]), Rc::clone(&ends[core]));
                spawn(Some(core), move || {
                    (0..1000).for_each(|_| _ = word.add(1));
                    end.set(hook::now_ns().expect("a machine"));
                })
            })
            .collect();
        threads.into_iter().for_each(hook::join);
        assert!(words.iter().all(|word| word.0.get() == 1000));
        ends.iter().map(|end| end.get()).collect::<Vec<_>>()
    });
    assert!(
        ends.iter().all(|end| (10_000..30_000).contains(end)),
        "not after each other: {ends:?}"
    );
    assert_eq!(told.left, 0);
    assert!(told.events >= 4000);
}

#[test]
fn one_word_is_a_bottleneck() {
    let time = |cores: u16| {
        let (count, told) = run(&costs(cores), 1, || {
            let word = Rc::<Word>::default();
            let threads: Vec<_> = (0..usize::from(cores))
                .map(|core| {
                    let word = Rc::clone(&word);
                    spawn(Some(core), move || (0..1000).for_each(|_| _ = word.add(1)))
                })
                .collect();
            threads.into_iter().for_each(hook::join);
            word.0.get()
        });
        assert_eq!(count, u64::from(cores) * 1000, "nothing is lost");
        told.picoseconds
    };
    let (one, eight) = (time(1), time(8));
    assert!(eight > one * 20, "each of 8,000 comes from another core: {one} and {eight}");
}

#[test]
fn a_sleeper_is_woken_or_late() {
    let (seen, _) = run(&costs(2), 1, || {
        let word = Rc::<Word>::default();
        let (late, woken) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(u64::MAX)));
        let (waits, tells) = (Rc::clone(&word), Rc::clone(&word));
        let (of_late, of_woken) = (Rc::clone(&late), Rc::clone(&woken));
        let sleeper = spawn(Some(0), move || {
            let address = waits.0.as_ptr().addr();
            let soon = Some(Duration::from_micros(10));
            of_late.set(hook::wait(address, soon, || waits.load() == 0));
            while waits.load() == 0 {
                assert!(!hook::wait(address, None, || waits.load() == 0), "nothing to be late for");
            }
            of_woken.set(hook::now_ns().expect("a machine"));
        });
        spawn(Some(1), move || {
            hook::sleep(Duration::from_micros(100));
            tells.store(1);
            hook::wake(tells.0.as_ptr().addr(), 1);
        });
        hook::join(sleeper);
        (late.get(), woken.get())
    });
    assert!(seen.0, "nobody woke it in the first 10 us");
    assert!((100_000..125_000).contains(&seen.1), "{seen:?}");
}

#[test]
fn who_looks_at_one_word_sleeps_until_it_changes() {
    let ((seen, turns), told) = run(&costs(2), 1, || {
        let word = Rc::<Word>::default();
        let seen = Rc::new(Cell::new((0, 0)));
        let (looks, of_seen) = (Rc::clone(&word), Rc::clone(&seen));
        let spins = spawn(Some(0), move || {
            let mut turns = 0;
            while looks.load() == 0 {
                (0..8).for_each(|_| hook::spin());
                turns += 1;
            }
            of_seen.set((hook::now_ns().expect("a machine"), turns));
        });
        spawn(Some(1), move || {
            hook::sleep(Duration::from_micros(1_000));
            word.store(1);
        });
        hook::join(spins);
        seen.get()
    });
    assert!(
        (1_010_000..1_016_000).contains(&seen),
        "starts, sleeps, is woken; seen at once: {seen}"
    );
    assert!((11_000..13_000).contains(&turns), "a turn is 80 ns and its instructions: {turns}");
    assert!(told.events < turns + 1_000, "its turns are looks, and nothing else: {told:?}");
}

#[test]
fn threads_of_one_core_take_turns() {
    let (most, told) = run(&costs(1), 1, || {
        let word = Rc::<Word>::default();
        let (other, most) = (Rc::clone(&word), Rc::new(Cell::new(0)));
        let seen = Rc::clone(&most);
        // Spins until the other thread of the same core has run: without slices, for ever.
        let spins = spawn(Some(0), move || {
            while other.load() == 0 {
                hook::spin();
            }
            seen.set(hook::now_ns().expect("a machine"));
        });
        spawn(Some(0), move || word.store(1));
        hook::join(spins);
        most.get()
    });
    assert!((100_000..115_000).contains(&most), "a slice of 100 us: {most}");
    assert_eq!(told.left, 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let once = |seed| {
        let (sum, told) = run(&costs(8), seed, || {
            let words: Vec<Rc<Word>> = (0..3).map(|_| Rc::default()).collect();
            let threads: Vec<_> = (0..12_u64)
                .map(|number| {
                    let words = words.clone();
                    spawn(None, move || {
                        for turn in 0..300 {
                            let before = words[(turn % 3) as usize].add(number);
                            if before.is_multiple_of(17) {
                                hook::yield_now();
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(hook::join);
            words.iter().map(|word| word.0.get()).sum::<u64>()
        });
        assert_eq!(sum, 300 * 66);
        told
    };
    assert_eq!(once(1), once(1));
    assert_ne!(once(1).picoseconds, once(2).picoseconds, "chance has a part in it");
}

#[test]
#[should_panic(expected = "wait for each other")]
fn a_deadlock_is_told() {
    run(&costs(2), 1, || {
        let word = Word::default();
        hook::wait(word.0.as_ptr().addr(), None, || true);
    });
}

#[test]
#[should_panic(expected = "of the body")]
fn a_panic_comes_out() {
    run(&costs(2), 1, || panic!("of the body"));
}

#[test]
fn what_costs_nothing_takes_no_time() {
    let (sum, told) = run(&costs(2), 1, || {
        hook::set_timed(false);
        let word = Rc::<Word>::default();
        let counts = Rc::clone(&word);
        let thread = spawn(Some(0), move || (0..1000).for_each(|_| _ = counts.add(1)));
        hook::join(thread);
        hook::set_timed(true);
        word.0.get()
    });
    assert_eq!(sum, 1000);
    assert!(told.picoseconds <= 10_000_000, "starting and ending a thread: {}", told.picoseconds);
}
