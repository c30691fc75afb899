//! The conformance suite: what every engine must prove, and what the rooms must keep.

mod broken;
mod cases;
mod checkpoints;
mod crash;
mod early_release;
mod histories;
mod hostile;
mod isolation;
mod layering;
mod lists;
mod messages;
mod optimistic;
mod regression;
mod replay;
mod row_order;
mod seen;
mod serial;
mod values;
mod workloads;
