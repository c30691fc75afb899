//! A many-core machine in virtual time, on which the project's own code runs.
//!
//! Role         below `base`: under `--cfg hotrow_machine` its atomics, threads, futexes and clocks
//!              come here. Every access to a shared word is an event with a price; between events
//!              code costs by the instructions that ran, which the compiler counts. So latches,
//!              queues, indexes, engines and the log run as they are, on cores that are not there
//! States       of a thread: ready -> runs on a core -> waits for a word, a time or a thread ->
//!              ready
//! Invariants   I1 one thread runs at a time, on the operating system's one thread that called
//!                 [`run`]; it gives way only in the functions of [`hook`]
//!              I2 what other cores can see happens in the order of virtual time, but for accesses
//!                 in a core's own cache, which may be [`schedule`]'s slack early
//!              I3 same machine, same seed, same program: same events. Nothing of the program is
//!                 seeded by chance ([`chance`])
//! Concurrency  none. Other threads of the process that meet a hook go through it untouched
//! Source       execution-driven simulation, as Goldschmidt and Hennessy's Tango did it in 1993.
//!              DESIGN section 7 would have had each engine's waiting written a second time, as
//!              steps of a model; here nothing is written twice, and what is not modelled by hand
//!              (planning, indexes, undo, the log's buffers) is seen, too

#[cfg(hotrow_machine)]
mod chance;
#[cfg(hotrow_machine)]
mod copying;
mod costs;
pub mod hook;
mod instructions;
mod lines;
mod order;
mod schedule;
mod thread;

pub use costs::{CORES_MAX, Costs};
pub use lines::{Access, LineCounts};
pub use schedule::{Told, run};
pub use thread::ThreadId;

/// Whether this program's shared words are told to a machine, and its instructions counted. In
/// others [`run`] works, but what runs takes no time.
pub fn can_simulate() -> bool {
    cfg!(hotrow_machine) && instructions::are_counted()
}
