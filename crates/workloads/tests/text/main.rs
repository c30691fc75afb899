//! The workloads' SQL text, compiled and run one call after another on the model store.

mod compiled;
mod database;
mod model;
