//! A server and its clients, in one process.

mod crowding;
mod cursors;
mod encryption;
mod held;
mod limits;
mod loading;
mod local;
mod notifying;
mod passwords;
mod pipelines;
mod rights;
#[path = "../running/mod.rs"]
mod running;
mod sessions;
mod types;
mod watching;
