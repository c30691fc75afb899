//! Blocks: all entries of one epoch, in one piece that is wholly there or not at all.
//!
//! Role         made by the writer, checked and taken apart by the reader. Layout and rules:
//!              `docs/log-format.md`
//! Invariants   I1  a block begins at a multiple of [`ALIGNMENT`], so that writing one touches no
//!                  sector of one that was acknowledged
//!              I2  block numbers ascend by one from 1, through all segments; epochs ascend
//!              I3  `chain` is the header checksum of the block before: a block of another past
//!                  does not fit
//!              I4  `synced_through` names a block that was durable, with all before it, when this
//!                  one was written: what the reader may call damage, and what a torn write

#[cfg(test)]
mod tests;

use crate::checksum::checksum;
use crate::entry::{self, EntrySpan, read_u32, read_u64};

/// The sector size of today's disks, and a page of memory.
pub const ALIGNMENT: u64 = 4096;
/// The length of a block's header.
pub const HEADER_BYTES: usize = 64;
/// Worker, entries and bytes of a run.
const RUN_HEADER_BYTES: usize = 16;
const MAGIC: [u8; 4] = *b"HRBK";
const FLAG_SEAL: u32 = 1;

/// The first [`HEADER_BYTES`] of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// The database's log.
    pub log_id: u64,
    /// The block's number.
    pub number: u64,
    /// The epoch of its entries.
    pub epoch: u64,
    /// The last block known durable when this one was written; 0 for none.
    pub synced_through: u64,
    /// Bytes of the runs, without the padding.
    pub payload_bytes: u64,
    /// Entries in all runs.
    pub entries: u32,
    /// The checksum of the runs.
    pub payload_checksum: u32,
    /// The header checksum of the block before; 0 for the first.
    pub chain: u32,
    /// Whether this is no block but the seal of a log that was closed in order: it has no entries,
    /// and the next block, in another segment, has its number.
    pub seal: bool,
}

/// What stands where a block's header should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    Zeros,
    NoBlock,
    Checksum,
}

impl HeaderFault {
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::NoBlock => "no block begins there",
            Self::Checksum => "the checksum of the block's header is wrong",
        }
    }
}

impl BlockHeader {
    /// The header's bytes; the last four are its checksum, the chain value for the next block.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        let flags = if self.seal { FLAG_SEAL } else { 0 };
        bytes[4..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.log_id.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.synced_through.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.entries.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.payload_checksum.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.chain.to_le_bytes());
        let own = checksum(&bytes[..60]);
        bytes[60..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// The header in `bytes`, and its checksum.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<(Self, u32), HeaderFault> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(HeaderFault::Zeros);
        }
        if bytes[..4] != MAGIC {
            return Err(HeaderFault::NoBlock);
        }
        let own = read_u32(bytes, 60);
        let flags = read_u32(bytes, 4);
        if checksum(&bytes[..60]) != own || flags > FLAG_SEAL {
            return Err(HeaderFault::Checksum);
        }
        let header = Self {
            log_id: read_u64(bytes, 8),
            number: read_u64(bytes, 16),
            epoch: read_u64(bytes, 24),
            synced_through: read_u64(bytes, 32),
            payload_bytes: read_u64(bytes, 40),
            entries: read_u32(bytes, 48),
            payload_checksum: read_u32(bytes, 52),
            chain: read_u32(bytes, 56),
            seal: flags == FLAG_SEAL,
        };
        Ok((header, own))
    }

    /// The length of the block in its file, with header and padding; `None` if no file is so long.
    pub fn block_bytes(&self) -> Option<u64> {
        let bytes = self.payload_bytes.checked_add(HEADER_BYTES as u64)?;
        bytes.checked_next_multiple_of(ALIGNMENT)
    }
}

/// A buffer in which one block after the other is put together.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    bytes: Vec<u8>,
    entries: u32,
}

impl BlockBuilder {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; HEADER_BYTES], entries: 0 }
    }

    /// Forgets the last block; keeps its memory unless that is `keep_bytes_max` or more.
    pub(crate) fn clear(&mut self, keep_bytes_max: usize) {
        self.bytes.truncate(HEADER_BYTES);
        self.bytes.shrink_to(keep_bytes_max);
        self.entries = 0;
    }

    /// Adds the entries that `worker` appended, as encoded by [`entry::encode`].
    pub(crate) fn push_run(&mut self, worker: u16, entries: u32, bytes: &[u8]) {
        self.bytes.reserve(RUN_HEADER_BYTES + bytes.len());
        self.bytes.extend_from_slice(&worker.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&entries.to_le_bytes());
        self.bytes.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
        self.entries += entries;
    }

    pub(crate) fn entries(&self) -> u32 {
        self.entries
    }

    /// The length that the finished block will have.
    pub(crate) fn block_bytes(&self) -> u64 {
        (self.bytes.len() as u64).next_multiple_of(ALIGNMENT)
    }

    /// The block's bytes, padded with zeros, and the chain value for the next. Lengths, counts and
    /// checksums in `header` are filled in here.
    pub(crate) fn finish(&mut self, mut header: BlockHeader) -> (&[u8], u32) {
        let payload = &self.bytes[HEADER_BYTES..];
        header.payload_bytes = payload.len() as u64;
        header.payload_checksum = checksum(payload);
        header.entries = self.entries;
        let encoded = header.encode();
        let length = self.block_bytes() as usize;
        self.bytes[..HEADER_BYTES].copy_from_slice(&encoded);
        self.bytes.resize(length, 0);
        (&self.bytes, read_u32(&encoded, 60))
    }
}

/// Takes a payload apart into `spans`, in the order of runs. `payload` has passed its checksum, so
/// an error (where in it, and what) means that it was written wrongly.
pub(crate) fn decode_payload(
    payload: &[u8],
    entries: u32,
    spans: &mut Vec<EntrySpan>,
) -> Result<(), (usize, &'static str)> {
    spans.clear();
    let mut at = 0;
    while at < payload.len() {
        at = decode_run(payload, at, spans)?;
    }
    if spans.len() != entries as usize {
        return Err((0, "the block does not have as many entries as its header says"));
    }
    Ok(())
}

fn decode_run(
    payload: &[u8],
    begin: usize,
    spans: &mut Vec<EntrySpan>,
) -> Result<usize, (usize, &'static str)> {
    let rest = &payload[begin..];
    if rest.len() < RUN_HEADER_BYTES {
        return Err((begin, "a run's header is cut off"));
    }
    let worker = u16::from_le_bytes([rest[0], rest[1]]);
    let entries = read_u32(rest, 4);
    let length = usize::try_from(read_u64(rest, 8)).unwrap_or(usize::MAX);
    if length > rest.len() - RUN_HEADER_BYTES {
        return Err((begin, "a run is longer than its block"));
    }
    let mut at = begin + RUN_HEADER_BYTES;
    let end = at + length;
    for _ in 0..entries {
        let decoded = entry::decode(&payload[..end], at, worker);
        let (span, next) = decoded.map_err(|what| (at, what))?;
        spans.push(span);
        at = next;
    }
    if at != end {
        return Err((at, "a run is longer than its entries"));
    }
    Ok(end)
}
