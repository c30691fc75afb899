//! Value entries: what a transaction left, as bytes; and the way back.
//!
//! Role         the other form of a call's log entry (see `journal::LogEntries`): after-images,
//!              for engines whose transactions cannot be run again from their calls. Written by
//!              [`ValueEncoder`] from the undo log, applied by [`Applier`]. Knows no file
//! Invariants   I1 a record that was changed is in an entry once, with its final state; one that is
//!              as it was is not in it
//!              I2 rows come back word for word, slack included, so commands logged later find
//!              what they found
//!              I3 whatever an entry's bytes say, nothing panics: what cannot be is an error
//! Source       after-images and their parallel repetition by key: Silo-R (Zheng and others, 2014);
//!              we differ: applied in the order of positions, because rows are changed by words
//!
//! ```text
//! entry      change ... to its end
//! change     head varint = table * 4 + operation, then
//!              0 insert   row
//!              1 delete   identity
//!              2 words    identity │ count varint │ (index varint │ word) ...
//!              3 row      identity │ row
//! identity   of a table with a primary key: its encoded bytes behind their length; of others the
//!            row as it was, which stands for any one of its equals
//! row        count varint │ word ...
//! word       mask 1 │ bytes: bit i of the mask says that byte i, counted from the lowest, is not 0
//!            and follows
//! ```
//!
//! A mask per word, since narrow columns share a word: zeros are in its middle, too.

mod apply;
mod decode;
mod encode;
mod writer;

pub use apply::{Applier, ValuesError};
pub use decode::{Change, Operation, Reader};
pub use encode::ValueEncoder;
