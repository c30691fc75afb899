//! The contract every engine meets, and what engines have in common.
//!
//! Should I be using this? Only to write an engine. An engine lowers a [`hotrow_transaction`] plan
//! to its own form; this crate gives it calls to run ([`source`]), the tables and procedures to
//! run them on ([`schema`]) with a gate for quiet points, records changed in place with
//! undo ([`in_place`]), lock modes ([`lock_mode`]), trial reads ([`reconnaissance`]), looks into
//! indexes that note what they saw ([`probe`]), transactions of several statements
//! ([`interactive`]), images of it all ([`checkpoint`]) and of some tables ([`snapshot`]), and the
//! books to keep ([`statistics`]).
//!
//! Reading order: [`contract`], [`settings`], [`source`], [`schema`], [`worker`], [`protection`],
//! [`in_place`], [`interactive`], [`reconnaissance`], [`planning`], [`probe`], [`statistics`],
//! [`trace`], [`checkpoint`], [`snapshot`], [`recovery`], [`values`], [`waits`].
//!
//! Architecture invariants: no engine's name occurs here; nothing here knows SQL text, files or
//! the network.

#![forbid(unsafe_code)]

pub mod accesses;
pub mod back_off;
pub mod checkpoint;
pub mod contract;
pub mod crew;
pub mod ghosts;
pub mod in_place;
pub mod interactive;
pub mod journal;
pub mod lock_mode;
pub mod owners;
pub mod planning;
pub mod probe;
pub mod protection;
pub mod reconnaissance;
pub mod recovery;
pub mod schema;
pub mod settings;
pub mod snapshot;
pub mod source;
pub mod stamp;
pub mod statistics;
pub mod trace;
pub mod values;
pub mod waits;
pub mod worker;
