//! The protocol in virtual time, on data small enough to be checked.

mod orders;
mod store;
mod world;
