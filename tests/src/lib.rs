//! What the conformance suite stands on: engines to run on, states to compare, seeds, cases.
//!
//! Should I be using this? To test an engine, add it to the engine table and run
//! `cargo test -p hotrow-tests`: the suite (`tests/suite/`) runs on every engine of the table in
//! all its variants and knows none by name. To add a case, write text in `cases/`.
//!
//! Reading order: [`matrix`], [`state`], [`seed`], [`case`], [`case_run`], [`loaded`],
//! [`replay`], [`regression`].

#![forbid(unsafe_code)]

pub mod case;
pub mod case_run;
pub mod crash;
pub mod directory;
pub mod generate;
pub mod history_run;
pub mod loaded;
pub mod matrix;
pub mod regression;
pub mod replay;
pub mod schedule;
pub mod seed;
pub mod seen;
pub mod state;
