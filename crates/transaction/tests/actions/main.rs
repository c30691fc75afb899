//! Planning and actions, compared with running the procedure from start to end.

mod checked;
mod compare;
mod generate;
mod programs;
mod workloads;
mod world;
