//! Planning and actions, compared with running the procedure from start to end.

mod checked;
mod compare;
mod flat;
mod generate;
mod leaving;
mod noted;
mod operators;
mod programs;
mod protecting;
mod routing;
mod unchanged;
mod workloads;
mod world;
