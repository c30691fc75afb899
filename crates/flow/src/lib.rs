//! Calls in parts: what engines share whose threads own data and send each other messages.
//!
//! Role         the floor under engines whose threads talk: how they reach each other ([`mesh`]),
//!              how they queue for what one of them owns ([`lock_space`]), where values of calls go
//!              from one to another ([`cells`]), and what a protocol is written against ([`node`])
//!              so that it runs on threads ([`exchange`]) and in virtual time ([`virtual_time`]).
//!              Knows no engine, and no call but as something that moves or waits
//! Source       orthrus.txt 3.1 and 3.3 (message passing between threads), partitioned.txt 3.1,
//!              lads.txt 3.3

#![forbid(unsafe_code)]

pub mod cells;
pub mod exchange;
pub mod lock_space;
pub mod mesh;
pub mod node;
pub mod virtual_time;
