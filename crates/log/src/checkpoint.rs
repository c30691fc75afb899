//! Checkpoints on disk: an image of all rows, so that replay need not begin at the beginning.
//!
//! Role         the engine's copying threads write sections through a [`Writer`]; a start finds the
//!              newest checkpoint ([`find`]) and reads it ([`Reader`]), by several threads too.
//!              Knows rows as words, tables as numbers with names, the catalog as bytes. Formats:
//!              `docs/checkpoints.md`
//! States       sections being written -> all durable -> manifest durable under a temporary name ->
//!              renamed, durable: the checkpoint exists -> older ones removed
//! Invariants   I1  a manifest under its final name is whole and all its sections are, so whatever
//!                  contradicts it is damage, never a crash
//!              I2  what lies in the directory without such a manifest is of no use and removed at
//!                  the next start
//!              I3  the newest checkpoint is never touched by the making of another one; so at any
//!                  moment the old one or the new one can be read
//! Source       the manifest as the one commit point: LevelDB's and its heirs'

mod chunk;
mod error;
mod find;
mod manifest;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use error::CheckpointError;
pub use find::{Found, find, remove_older};
pub use manifest::{Manifest, TableRows};
pub use read::{ChunkHead, Reader, Verified, verify};
pub use write::{Identity, Section, Writer};
