//! A database behind PostgreSQL's protocol.
//!
//! Should I be using this? If programs that are not in Rust, or not in this process, are to use a
//! [`hotrow::Database`]: psql, and the drivers people have. [`Server::bind`] listens,
//! [`Server::run`] serves until it is told to stop.
//!
//! Reading order: `server` (connections come and go), `listening` (from where), `connection`
//! (bytes), `frontend` (messages that come), `startup`, `tls` and `scram` (who is let in),
//! `conversation` (simple and extended queries), `answer` and `portal` (their results), `wire`
//! (values), `report` (errors); beside them `http` and `metrics`, for machines that watch.
//!
//! A connection is a thread, as a session of the embedded database is: a thread that waits for a
//! call costs nothing but its stack, and a call goes from the socket to the engine without passing
//! through a scheduler of tasks, which on few cores would take the core that the engine needs.
//!
//! What is there and what is not: docs/server.md.
//!
//! Architecture invariants: this crate knows no engine; what clients may do to each other goes
//! through the database. Whatever bytes come, no thread panics: its session would end with it.

#![forbid(unsafe_code)]

mod answer;
mod attempts;
mod connection;
mod conversation;
mod frontend;
mod held;
mod http;
mod listening;
mod metrics;
mod places;
mod portal;
mod report;
mod scram;
mod server;
mod startup;
mod tls;
mod wire;

pub use places::Keepalive;
pub use server::{Plain, Server, ServerError, ServerOptions, Stopper};
pub use tls::TlsIdentity;
