//! Calls in parts: what engines share whose threads own data and send each other messages.
//!
//! Role         the floor under engines whose threads talk: how they reach each other ([`mesh`]),
//!              which of them has which rows ([`datasets`]), how they queue for what one of them
//!              owns ([`lock_space`]) and for what none does ([`slots`]), how a home has its calls
//!              planned and told ([`client_calls`]), where values of calls go from one to another
//!              ([`cells`]), what a call is cut into ([`schedule`]), shared as ([`shared_call`])
//!              and undone by ([`part`]), how its results come together ([`reply`]), who waits for
//!              whom ([`deadlock`]), and what a protocol is written against ([`node`]) so that it
//!              runs on threads ([`exchange`]) and in virtual time ([`virtual_time`]). Knows no
//!              engine
//! Source       orthrus.txt 3.1 and 3.3 (message passing between threads), partitioned.txt 3.1,
//!              lads.txt 3.3

#![forbid(unsafe_code)]

pub mod away;
pub mod cells;
pub mod clerk;
pub mod client_calls;
pub mod datasets;
pub mod deadlock;
pub mod exchange;
pub mod host;
pub mod intake;
pub mod lock_space;
pub mod mesh;
pub mod node;
pub mod part;
pub mod reply;
pub mod roster;
pub mod schedule;
pub mod shared_call;
pub mod slots;
pub mod virtual_time;
pub mod world;
