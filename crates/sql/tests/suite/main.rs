//! What becomes of SQL: compiled, or refused with a reason.

mod database;
mod expressions;
mod free_loops;
mod fuzz;
mod hostile;
mod last_use;
mod leaving;
#[path = "../mutation/mod.rs"]
mod mutation;
mod parameters;
mod paths;
mod procedures;
mod refusals;
mod workloads;
