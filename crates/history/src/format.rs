//! Formats that other checkers read.

pub mod dbcop;
mod edn;
pub mod elle;
