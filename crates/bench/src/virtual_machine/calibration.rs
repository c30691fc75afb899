//! What this machine costs, measured, in the form of `machines.toml`.
//!
//! Role         `hotrow bench calibrate`: a virtual machine like this one, so that what it predicts
//!              can be held against what runs here
//! Errors       what cannot be measured (one core, no core of another socket) is taken from what
//!              comes nearest, and the written table says so beside it. A socket is a memory node,
//!              as threads that run on virtual cores are told of theirs ([`Nodes`])
//! Source       chains of loads after McVoy and Staelin, "lmbench" (USENIX 1996), section 6; the
//!              relations between handing a word over and the directory's costs are those of
//!              `hotrow-machine`'s lines

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use hotrow_base::sync::facade::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use hotrow_base::sync::facade::atomic::{AtomicU64, AtomicUsize};
use hotrow_base::sync::futex::Futex;
use hotrow_base::thread::{Nodes, available_cores, pin_current_thread};
use hotrow_storage::ZeroedWords;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::figure::statistics::median;

/// Cycles of an instruction that finds its data in the first cache. Not measured by itself: chosen
/// once so that the workload of `orthrus-4` and `orthrus-12` comes out, on a machine whose other
/// costs were measured as here (`docs/machine.md`). The instructions are those that hooks count,
/// with what the hooks add.
const CYCLES_PER_INSTRUCTION: f64 = 0.29;
/// Cycles of a step of [`shift`]: three shifts and three exclusive ors, of which each needs the one
/// before and takes a cycle on all processors of today.
const CYCLES_PER_STEP: f64 = 6.0;
/// Chains go from one that the first cache holds, by doubling, to one that no cache does.
const SHORTEST_KIB: u64 = 32;
const LONGEST_KIB: u64 = 256 << 10;
/// A chain that the first cache has no room for and the second one has.
const SECOND_KIB: u64 = 128;
const LINE_BYTES: u64 = 64;
const LINE_WORDS: u64 = LINE_BYTES / 8;
/// Of several turns the middle one counts.
const TURNS: usize = 5;
/// Turns of what wakes or sleeps.
const WAKES: usize = 101;

/// What was measured. Times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Calibration {
    cores: Vec<usize>,
    sockets: usize,
    cycle: f64,
    /// a load of a chain, by the chain's KiB
    chain: Vec<(u64, f64)>,
    /// the same, in the order of addresses, of the longest
    in_order: f64,
    word: f64,
    atomic: f64,
    pause: f64,
    /// a word's way from one core to another, of the same socket and of another one
    handover: Option<f64>,
    handover_far: Option<f64>,
    call: f64,
    wake: f64,
    wake_latency: f64,
    switch: f64,
    timer_slack: f64,
}

/// Measures this machine, which takes some ten seconds and wants to have it to itself. `tell` is
/// told what is measured.
pub fn calibrate(tell: impl FnMut(&str) + Send) -> Calibration {
    let cores = available_cores();
    // On a thread of its own, which is pinned: the caller's threads may run anywhere afterwards.
    let measured = thread::scope(|scope| scope.spawn(|| measure(cores, tell)).join());
    measured.expect("measuring does not panic")
}

fn measure(cores: Vec<usize>, mut tell: impl FnMut(&str)) -> Calibration {
    let nodes = Nodes::of_machine();
    let by_socket = |wanted: bool| {
        let first = nodes.of_core(cores[0]);
        cores[1..].iter().copied().find(|&core| (nodes.of_core(core) == first) == wanted)
    };
    let (near, far) = (by_socket(true), by_socket(false));
    pin_current_thread(cores[0]);
    tell("cycles, pauses and atomic additions");
    let cycle = middle(|| per_turn(20_000_000, shift) / CYCLES_PER_STEP);
    let word = middle(word_of_loop);
    let counter = AtomicU64::new(0);
    let atomic = middle(|| {
        per_turn(5_000_000, |turns| {
            for _ in 0..turns {
                counter.fetch_add(1, AcqRel);
            }
        })
    });
    let pause = middle(|| per_turn(500_000, |turns| (0..turns).for_each(|_| hint::spin_loop())));
    tell("caches and memory");
    // One block for all: the allocator's next one might be of small pages that were in use.
    let words = ZeroedWords::try_new((LONGEST_KIB * 1024 / 8) as usize).expect("room for a chain");
    let chain = chain_kib().map(|kib| (kib, chained(&words, kib, Order::ByChance))).collect();
    let in_order = chained(&words, LONGEST_KIB, Order::OfAddresses);
    tell("words that go from core to core");
    let handover = near.map(|core| middle(|| handed_over(cores[0], core)));
    let handover_far = far.map(|core| middle(|| handed_over(cores[0], core)));
    tell("calls of the system, waking and sleeping");
    let nobody = Futex::new(0);
    let call = middle(|| per_turn(200_000, |turns| (0..turns).for_each(|_| nobody.wake_one())));
    let (wake, wake_latency) = woken(cores[0], near.or(far).unwrap_or(cores[0]));
    let switch = (middle(|| taken_in_turns(cores[0])) - call).max(call);
    let sockets: BTreeSet<_> = cores.iter().map(|&core| nodes.of_core(core)).collect();
    Calibration {
        sockets: sockets.len(),
        cycle,
        chain,
        in_order,
        word,
        atomic,
        pause,
        handover,
        handover_far,
        call,
        wake,
        wake_latency,
        switch,
        timer_slack: slept_too_long(),
        cores,
    }
}

impl Calibration {
    /// The machine's table under a name, with what was measured in comments.
    pub fn write_toml(&self, name: &str) -> String {
        let (own_lines, shared_lines, shared) = self.caches();
        let memory = self.chain_of(LONGEST_KIB);
        let dirty = self.handover.map_or(shared, |ns| (ns - shared).max(shared));
        let dirty_far = self.handover_far.map_or(dirty, |ns| (ns / 2.0).max(dirty));
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            writeln!(text, "{name} = {value}").expect("text takes all");
        };
        let ns = |value: f64| format!("{value:.2}");
        line("what", format!("\"{}\"", self.what()));
        line("sockets", self.sockets.to_string());
        line("cores_per_socket", (self.cores.len() / self.sockets).max(1).to_string());
        line("instruction", format!("{:.4}", self.cycle * CYCLES_PER_INSTRUCTION));
        line("word", ns(self.word));
        line("atomic", ns(self.atomic));
        line("pause", ns(self.pause));
        line("own_lines", own_lines.to_string());
        line("shared_lines", shared_lines.to_string());
        line("shared", ns(shared));
        line("memory", ns(memory));
        line("memory_far", ns(memory + (dirty_far - dirty)));
        line("dirty", ns(dirty));
        line("dirty_far", ns(dirty_far));
        line(
            "stream_percent",
            format!("{:.0}", (self.in_order / memory * 100.0).clamp(1.0, 100.0)),
        );
        line("call", ns(self.call));
        line("wake", ns(self.wake));
        line("wake_latency", ns(self.wake_latency));
        line("switch", ns(self.switch));
        line("slice", ns(3_000_000.0));
        line("timer_slack", ns(self.timer_slack));
        format!("{}[{name}]\n{text}", self.remarks())
    }

    fn what(&self) -> String {
        let (sockets, cores) = (self.sockets, self.cores.len() / self.sockets);
        format!("{sockets} x {cores} cores, {:.1} GHz: measured", 1.0 / self.cycle)
    }

    /// What stands above the table.
    fn remarks(&self) -> String {
        let mut text =
            String::from("# Written by `hotrow bench calibrate`. A load of a chain of lines in\n#");
        for (kib, ns) in &self.chain {
            write!(text, " {kib} KiB {ns:.1} ns,").expect("text takes all");
        }
        writeln!(
            text,
            "\n# and {:.1} ns in the order of addresses, of the longest.",
            self.in_order
        )
        .expect("text takes all");
        match (self.handover, self.handover_far) {
            (None, None) => {
                text.push_str("# One core: what goes between cores is as a cache's line.\n")
            }
            (near, far) => {
                for (ns, whose) in [(near, "the socket"), (far, "another socket")] {
                    if let Some(ns) = ns {
                        writeln!(text, "# A word goes to another core of {whose} in {ns:.0} ns.")
                            .expect("text takes all");
                    }
                }
            }
        }
        text.push_str(
            "# `slice` is the system's usual one, `instruction` a share of a cycle: see\n",
        );
        text.push_str("# docs/machine.md.\n");
        text
    }

    fn chain_of(&self, kib: u64) -> f64 {
        self.chain.iter().find(|(of, _)| *of == kib).expect("it was measured").1
    }

    /// The lines of a core's own cache, those of the one it shares, and a load from there: a
    /// cache's size is that of the longest chain whose loads are nearer to its time than to the
    /// next one's. The system is asked only for the size of the second one, behind which the third
    /// begins: what a virtual machine has of the third is less than it is told.
    fn caches(&self) -> (u64, u64, f64) {
        let second = second_cache_kib().unwrap_or(1 << 10);
        let memory = self.chain_of(LONGEST_KIB);
        let behind = self.chain.iter().find(|(kib, _)| *kib >= second * 4);
        let (own, shared) = (self.chain_of(SECOND_KIB), behind.map_or(memory, |(_, ns)| *ns));
        let up_to = |most: f64| {
            let within = self.chain.iter().take_while(|(_, ns)| *ns <= most).last();
            within.map_or(SECOND_KIB, |(kib, _)| *kib) * 1024 / LINE_BYTES
        };
        let own_lines = up_to(f64::midpoint(own, shared));
        (own_lines, up_to(f64::midpoint(shared, memory)).max(own_lines), shared)
    }
}

/// The sizes of chains, ascending.
fn chain_kib() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(SHORTEST_KIB), |kib| Some(kib * 2))
        .take_while(|kib| *kib <= LONGEST_KIB)
}

/// The size of the first core's second cache, if the system tells it.
fn second_cache_kib() -> Option<u64> {
    let read = |index: usize, what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
        std::fs::read_to_string(path).ok()
    };
    let index =
        (0..8).find(|&index| read(index, "level").is_some_and(|level| level.trim() == "2"))?;
    read(index, "size")?.trim().strip_suffix('K')?.parse().ok()
}

/// The middle one of some measurements.
fn middle(mut measure: impl FnMut() -> f64) -> f64 {
    median(&std::array::from_fn::<_, TURNS, _>(|_| measure()))
}

/// Nanoseconds of a turn of what runs so many.
fn per_turn(turns: u64, run: impl FnOnce(u64)) -> f64 {
    let began = Instant::now();
    run(turns);
    began.elapsed().as_nanos() as f64 / turns as f64
}

/// So many steps of a generator of random numbers (Marsaglia's xorshift).
fn shift(steps: u64) {
    let mut n = hint::black_box(1_u64);
    for _ in 0..steps {
        n ^= n << 13;
        n ^= n >> 7;
        n ^= n << 17;
    }
    hint::black_box(n);
}

/// A word of a loop that copies words which threads share, all of them in the first cache.
fn word_of_loop() -> f64 {
    let from: Vec<AtomicU64> = (0..1024).map(AtomicU64::new).collect();
    let to: Vec<AtomicU64> = (0..1024).map(AtomicU64::new).collect();
    let rounds = 2_000;
    let ns = per_turn(rounds, |rounds| {
        for _ in 0..rounds {
            for (from, to) in hint::black_box(&from).iter().zip(&to) {
                to.store(from.load(Relaxed), Relaxed);
            }
        }
    });
    ns / from.len() as f64
}

/// How a chain goes through its lines.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    ByChance,
    OfAddresses,
}

/// A load that needs the one before, in a chain through all lines of so much memory. The memory is
/// as tables have theirs, in huge pages.
fn chained(words: &[AtomicU64], kib: u64, order: Order) -> f64 {
    let lines = kib * 1024 / LINE_BYTES;
    let mut places: Vec<u64> = (0..lines).collect();
    if order == Order::ByChance {
        let mut random = SmallRng::seed_from_u64(kib);
        for last in (1..places.len()).rev() {
            places.swap(last, random.random_range(0..=last));
        }
    }
    for (at, &place) in places.iter().enumerate() {
        let next = places[(at + 1) % places.len()];
        words[(place * LINE_WORDS) as usize].store(next * LINE_WORDS, Relaxed);
    }
    let follow = |from: u64, steps: u64| {
        let mut at = from;
        for _ in 0..steps {
            at = words[at as usize].load(Relaxed);
        }
        hint::black_box(at)
    };
    let at = follow(0, lines); // it comes into the caches
    per_turn(lines.max(1 << 20), |steps| {
        follow(at, steps);
    })
}

/// Runs a body on a core of its own, beside the caller's on another one; gives the caller's.
fn beside<T: Send>(
    cores: (usize, usize),
    other: impl FnOnce() + Send,
    own: impl FnOnce() -> T + Send,
) -> T {
    thread::scope(|scope| {
        scope.spawn(|| {
            pin_current_thread(cores.1);
            other();
        });
        let own = scope.spawn(|| {
            pin_current_thread(cores.0);
            own()
        });
        own.join().expect("measuring does not panic")
    })
}

/// A word's way from one core to another: half of its way there and back.
fn handed_over(one: usize, other: usize) -> f64 {
    one_by_one((one, other), 100_000, || ()) // a pause would be measured, too
}

/// From one thread of a core to another that waits for it: each gives way until it is its turn.
fn taken_in_turns(core: usize) -> f64 {
    one_by_one((core, core), 20_000, thread::yield_now)
}

/// Nanoseconds of a turn of two threads that change a word one after the other; `wait` is what each
/// does while it is not its turn.
fn one_by_one(cores: (usize, usize), rounds: u64, wait: impl Fn() + Sync) -> f64 {
    let word = AtomicU64::new(0);
    let go = |first: u64| {
        for turn in (0..rounds).map(|round| 2 * round + first) {
            while word.load(Acquire) != turn {
                wait();
            }
            word.store(turn + 1, Release);
        }
    };
    beside(cores, || go(1), || per_turn(2 * rounds, |_| go(0)))
}

/// What it takes to wake a thread of another core, and from there until that runs.
fn woken(waker: usize, sleeper: usize) -> (f64, f64) {
    let (word, round_of_sleeper) = (Futex::new(0), AtomicUsize::new(0));
    let woke_at: [AtomicU64; WAKES] = [const { AtomicU64::new(0) }; WAKES];
    let began = Instant::now();
    let now = || began.elapsed().as_nanos() as u64;
    let sleep = || {
        for (round, at) in woke_at.iter().enumerate() {
            round_of_sleeper.store(round + 1, Release);
            while word.load(Acquire) as usize == round {
                word.wait(round as u32, None);
            }
            at.store(now(), Release);
        }
    };
    let wake = || {
        let mut calls = Vec::new();
        for round in 0..WAKES {
            while round_of_sleeper.load(Acquire) != round + 1 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_micros(200)); // it sleeps by now
            let before = now();
            word.store(round as u32 + 1, Release);
            word.wake_one();
            calls.push((before, now()));
        }
        calls
    };
    let calls = beside((waker, sleeper), sleep, wake);
    let wakes: Vec<_> = calls.iter().map(|(before, after)| (after - before) as f64).collect();
    let until_it_runs = calls
        .iter()
        .zip(&woke_at)
        .map(|((_, after), at)| at.load(Acquire).saturating_sub(*after) as f64);
    (median(&wakes), median(&until_it_runs.collect::<Vec<_>>()))
}

/// How much longer than asked for a short sleep takes.
fn slept_too_long() -> f64 {
    let asked = Duration::from_micros(50);
    let too_long = || {
        let began = Instant::now();
        thread::sleep(asked);
        began.elapsed().saturating_sub(asked).as_nanos() as f64
    };
    median(&std::array::from_fn::<_, WAKES, _>(|_| too_long()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_virtual_machines;

    fn calibration() -> Calibration {
        let levels = [(32, 1.0), (512, 3.5), (1024, 7.0), (16384, 13.0), (u64::MAX, 155.0)];
        let ns = |kib| levels.iter().find(|(most, _)| kib <= *most).expect("the last one").1;
        Calibration {
            cores: vec![0, 1],
            sockets: 1,
            cycle: 0.24,
            chain: chain_kib().map(|kib| (kib, ns(kib))).collect(),
            in_order: 15.5,
            word: 0.2,
            atomic: 4.0,
            pause: 16.0,
            handover: Some(60.0),
            handover_far: None,
            call: 100.0,
            wake: 1_500.0,
            wake_latency: 20_000.0,
            switch: 900.0,
            timer_slack: 55_000.0,
        }
    }

    #[test]
    fn what_is_written_is_a_machine() {
        let text = calibration().write_toml("here");
        let machines = read_virtual_machines(&text).expect("it can be read");
        let costs = &machines[0].costs;
        assert_eq!((machines[0].name.as_str(), costs.cores()), ("here", 2));
        assert_eq!(costs.instruction_ps, 70, "0.29 of a cycle of 240 ps: 69.6");
        assert_eq!((costs.memory_ps, costs.stream_percent), (155_000, 10));
        assert_eq!(costs.dirty_ps, 47_000, "60 ns, 13 of them to be the only one who has it");
    }

    #[test]
    fn a_cache_ends_where_loads_are_nearer_to_the_next_ones_time() {
        let mut of = calibration();
        let lines_of = |kib: u64| kib * 1024 / LINE_BYTES;
        assert_eq!(of.caches(), (lines_of(1024), lines_of(16384), 13.0));
        of.chain.iter_mut().filter(|(kib, _)| *kib == 1024).for_each(|(_, ns)| *ns = 10.0);
        assert_eq!(of.caches().0, lines_of(512));
    }

    #[test]
    fn who_asks_may_run_on_all_cores_afterwards() {
        let before = available_cores();
        let measured = calibrate(|_| ());
        assert_eq!(available_cores(), before);
        assert!(measured.chain.iter().all(|(_, ns)| *ns > 0.0), "{measured:?}");
    }

    #[test]
    fn one_core_is_a_machine_too() {
        let of = Calibration { cores: vec![0], handover: None, ..calibration() };
        let text = of.write_toml("alone");
        let costs = read_virtual_machines(&text).expect("it can be read")[0].costs.clone();
        assert_eq!((costs.cores(), costs.dirty_ps), (1, 13_000));
        assert!(text.contains("One core"), "it says what it could not measure: {text}");
    }
}
