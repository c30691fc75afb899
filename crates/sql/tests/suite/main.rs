//! What becomes of SQL: compiled, or refused with a reason.

mod database;
mod expressions;
mod free_loops;
mod functions;
mod fuzz;
mod hostile;
mod last_use;
mod leaving;
mod literals;
mod mention;
#[path = "../mutation/mod.rs"]
mod mutation;
mod parameters;
mod paths;
mod procedures;
mod refusals;
mod roles;
mod scripts;
mod search_path;
mod transaction_control;
mod workloads;
