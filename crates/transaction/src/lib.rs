//! The description of a transaction: what every engine lowers and nobody writes twice.
//!
//! Should I be using this? To embed Hotrow, use the crate `hotrow`. Read this one to learn how a
//! procedure becomes data: a [`program::Procedure`] (a small structured program whose only effects
//! are accesses) is *lowered* to bytecode once, and each call is either interpreted straight away
//! or *planned* first, by running the part of the program that decides keys.
//!
//! Reading order: [`catalog`] (tables and indexes), [`program`] (the procedure as a tree),
//! [`access`] (what an engine gives the interpreter), `lower` and `interpret` (bytecode),
//! [`granule`] (what planned engines lock), `slice` and [`plan`] (planning), [`actions`]
//! (calls in pieces, for several threads), [`free_loop`] (turns in another order), [`routing`]
//! (which partition has what), [`explain`], [`holdings`].
//!
//! Architecture invariants: this crate knows no storage, no engine, no thread and no SQL text.

#![forbid(unsafe_code)]

pub mod access;
pub mod actions;
pub mod binding;
pub mod bytecode;
pub mod catalog;
pub mod coarse;
pub mod compiled;
pub mod constant;
pub mod deferred;
pub mod draw;
pub mod dynamic;
pub mod explain;
mod expression_text;
pub mod fault;
pub mod frame;
pub mod free_loop;
pub mod functions;
pub mod granule;
pub mod holdings;
pub mod interpret;
pub mod invocation;
pub mod locks;
pub mod lower;
pub mod needs;
pub mod operators;
pub mod outcome;
pub mod pattern;
pub mod place;
pub mod plan;
pub mod program;
mod protected;
pub mod random;
pub mod reference;
pub mod rename;
pub mod routing;
pub mod slice;
pub mod walk;
pub mod zoned;
