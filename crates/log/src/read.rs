//! Reading the log: every block from an epoch on, checked, in order; and where the log ends.
//!
//! Role         recovery, `hotrow verify` and `hotrow log dump`. [`scan`] changes nothing on disk:
//!              what to do about the end it found is the business of [`Log::start`], which gets
//!              the [`Tail`]
//! Invariants   I1  the blocks visited are exactly the first so many of those written: never
//!                  another one, never one left out
//!              I2  one block at a time is in memory; no length is believed before it is compared
//!                  with the length of the file
//!
//! The end. The last segment ends at the first place where no valid block stands. Most often that
//! is nothing but zeros: the place was never written to. Anything else is either a **torn write**
//! (power failed before the block was synced: nobody was told of it, it is cut off) or **damage**
//! (it was synced once: to go on without it would lose what was acknowledged, so reading refuses).
//! What tells them apart is evidence of a later sync: a valid block further on that says it was
//! written when this one was durable (`synced_through`), a later segment, or a file that is shorter
//! than it was made. Of the very last block nothing says so; but its place was zeros before, and a
//! disk writes a sector of 512 bytes wholly or not at all. So a block of which no sector is zeros
//! was written wholly, and if it is not valid, was damaged later.
//!
//! [`Log::start`]: crate::log::Log::start

mod blocks;
mod segments;
mod tail;
#[cfg(test)]
mod tests;
mod window;

pub use segments::{SegmentInfo, segments};
pub use tail::{Cut, Tail};

use crate::block::BlockHeader;
use crate::entry::{Entry, EntrySpan};
use crate::error::LogError;
use crate::files::Files;
use blocks::{Found, Reader, Segment};
use segments::Listing;

/// One block, as long as it is visited.
#[derive(Debug)]
pub struct Block<'a> {
    /// The epoch of all its entries.
    pub epoch: u64,
    /// Its number.
    pub number: u64,
    /// The name of its file.
    pub file: &'a str,
    /// Where in the file it begins.
    pub offset: u64,
    /// Its length in the file, with header and padding.
    pub bytes: u64,
    /// The last block that was durable when this one was written.
    pub synced_through: u64,
    payload: &'a [u8],
    spans: &'a [EntrySpan],
}

impl<'a> Block<'a> {
    /// The entries by (time, worker, order of appending): a valid serial order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'a>> + use<'a> {
        let payload = self.payload;
        self.spans.iter().map(move |span| span.view(payload))
    }
}

/// Reads the log in `files`, checks all of it from the segment on in which `from_epoch` may lie,
/// and shows the blocks of `from_epoch` and later to `visit`, in order.
///
/// `from_epoch` is where replay begins: 0 without a checkpoint, and then the log must reach back to
/// its first block. An error of `visit` ends the scan.
pub fn scan<E: From<LogError>>(
    files: &dyn Files,
    from_epoch: u64,
    mut visit: impl FnMut(Block<'_>) -> Result<(), E>,
) -> Result<Tail, E> {
    let listing = Listing::read(files)?;
    let mut tail = Tail::before(&listing, from_epoch);
    let begin = listing.begin(files, from_epoch)?;
    let mut reader = Reader::default();
    for index in begin..listing.segments.len() {
        let info = &listing.segments[index];
        let limit = listing.segments.get(index + 1).map(|next| next.header.first_number);
        if index == begin {
            tail.begin(&info.header);
        } else {
            tail.check_continues(files, info)?;
        }
        let mut segment = Segment::open(files, info, limit)?;
        while tail.next_number < limit.unwrap_or(u64::MAX) {
            match reader.next(&mut segment, &tail.expected())? {
                Found::Block(header, chain) => {
                    if header.epoch >= from_epoch {
                        visit(reader.block(&segment, &header))?;
                    }
                    tail.advance(segment.offset, &header, chain, from_epoch);
                    segment.offset += header.block_bytes().unwrap_or(0);
                }
                Found::Seal(header) => {
                    segment.check_seal()?;
                    tail.seal(&segment, &header);
                    return Ok(tail);
                }
                Found::Fault(fault) => {
                    let cut = reader.judge(&mut segment, &tail, fault)?;
                    tail.end(&segment, cut);
                    return Ok(tail);
                }
            }
        }
        tail.finish_segment(&segment);
    }
    Ok(tail)
}

/// The number and epoch of a block, for messages.
fn describe(header: &BlockHeader) -> String {
    format!("block {} of epoch {}", header.number, header.epoch)
}
