//! How many messages a ring moves between two threads, and how long one takes there and back.
//!
//! `cargo run --release -p hotrow-base --example ring_rate [MILLIONS]`
//!
//! Messages of 64 bytes, published and taken one by one and in batches; then the machine's own
//! limit, two cores that take turns at writing one cache line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::spsc::ring;
use hotrow_base::thread::{ThreadOptions, available_cores};

const CAPACITY: usize = 1024;
const TURNS: u64 = 1_000_000;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Message([u64; 8]);

/// Runs something on a core, as a thread of its own.
fn run_on(core: usize, run: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    let thread = ThreadOptions::named(format!("core-{core}")).on_core(core);
    thread.spawn(run).expect("the system can start a thread")
}

fn rate(far_core: usize, messages: u64, batch: u64) -> f64 {
    let (mut producer, mut consumer) = ring::<Message>(CAPACITY);
    let far = run_on(far_core, move || {
        let mut sum = 0;
        let mut taken = 0;
        while taken < messages {
            match consumer.take(batch as usize, |message| sum += message.0[0] + message.0[7]) {
                0 => std::hint::spin_loop(),
                more => taken += more as u64,
            }
        }
        assert_eq!(sum, messages * (messages - 1), "every message came once");
    });
    let began = Ticks::now();
    for number in 0..messages {
        let mut message = Message([number; 8]);
        while let Err(back) = producer.push(message) {
            message = back;
            producer.publish();
            std::hint::spin_loop();
        }
        if (number + 1).is_multiple_of(batch) {
            producer.publish();
        }
    }
    producer.publish();
    far.join().expect("it counts right");
    messages as f64 / began.elapsed().as_secs_f64()
}

/// There and back, through two rings.
fn round_trip(far_core: usize) -> Duration {
    let (mut there, mut taken) = ring::<Message>(CAPACITY);
    let (mut back, mut answers) = ring::<Message>(CAPACITY);
    let far = run_on(far_core, move || {
        for _ in 0..TURNS {
            let message = loop {
                match taken.pop() {
                    Some(message) => break message,
                    None => std::hint::spin_loop(),
                }
            };
            assert!(back.try_push(message).is_ok(), "there is one message at a time");
        }
    });
    let began = Ticks::now();
    for turn in 0..TURNS {
        assert!(there.try_push(Message([turn; 8])).is_ok(), "there is one message at a time");
        while answers.pop().is_none() {
            std::hint::spin_loop();
        }
    }
    let elapsed = began.elapsed();
    far.join().expect("it answers all");
    elapsed / TURNS as u32
}

/// Two threads that add 1 to one word by turns: there and back.
fn ping_pong(far_core: usize) -> Duration {
    let word = Arc::new(AtomicU64::new(0));
    let wait = |word: &AtomicU64, turn| {
        while word.load(Ordering::Acquire) != turn {
            std::hint::spin_loop();
        }
        word.store(turn + 1, Ordering::Release);
    };
    let shared = Arc::clone(&word);
    let far = run_on(far_core, move || (0..TURNS).for_each(|turn| wait(&shared, 2 * turn + 1)));
    let began = Ticks::now();
    (0..TURNS).for_each(|turn| wait(&word, 2 * turn));
    far.join().expect("it takes its turns");
    began.elapsed() / TURNS as u32
}

fn main() {
    let cores = available_cores();
    let &[near, far, ..] = cores.as_slice() else {
        return eprintln!("ring_rate needs two cores");
    };
    let millions = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50);
    run_on(near, move || measure(far, millions)).join().expect("it measures");
}

fn measure(far_core: usize, millions: u64) {
    for batch in [1, 8, 64, 512] {
        let rate = rate(far_core, millions * 1_000_000, batch) / 1e6;
        println!(
            "64-byte messages, published {batch:>3} at a time: {rate:>6.1} million per second"
        );
    }
    println!("there and back through rings: {:?}", round_trip(far_core));
    println!("there and back on one word:   {:?}", ping_pong(far_core));
}
