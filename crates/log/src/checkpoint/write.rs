//! Writing a checkpoint.
//!
//! Concurrency  each section belongs to one thread

use std::sync::Arc;

use super::chunk::{CHUNK_HEADER_BYTES, ChunkHeader, Name, Part, SectionHeader};
use super::error::CheckpointError;
use super::manifest::{Manifest, SectionEntry, TableRows};
use crate::checksum::checksum;
use crate::files::{File, Files};

/// Bytes of a section between two syncs. Without them the system would gather gigabytes to write,
/// and a sync of the log would have to wait behind them.
const BYTES_PER_SYNC: u64 = 16 << 20;

/// Which checkpoint is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// the database's log
    pub log_id: u64,
    /// everything with a lower epoch is in it
    pub epoch: u64,
}

/// A checkpoint that is being written. Dropped before [`Writer::finish`], it leaves nothing behind
/// (what a failing disk does not let it remove, the next start does).
pub struct Writer {
    files: Arc<dyn Files>,
    identity: Identity,
    name: Name,
    sections: u32,
    finished: bool,
}

impl Writer {
    /// Begins a checkpoint of `sections` sections.
    pub fn begin(
        files: Arc<dyn Files>,
        identity: Identity,
        sections: usize,
    ) -> Result<(Self, Vec<Section>), CheckpointError> {
        let io = CheckpointError::io("list", files.path(""));
        let names = files.list().map_err(io)?;
        let taken = names.iter().filter_map(|name| Name::parse(name));
        let taken = taken.filter(|(name, _)| name.epoch == identity.epoch);
        let serial = taken.map(|(name, _)| name.serial).max().map_or(0, |serial| serial + 1);
        let name = Name { epoch: identity.epoch, serial };
        let sections = u32::try_from(sections).expect("a section is a thread's");
        let writer = Self { files, identity, name, sections, finished: false };
        let sections: Result<Vec<_>, _> =
            (0..sections).map(|number| Section::create(&writer, number)).collect();
        Ok((writer, sections?))
    }

    /// Makes the checkpoint exist. `sections` are all of it, `catalog` is what the database wants
    /// to read again, `tables` says what the sections have.
    pub fn finish(
        mut self,
        sections: Vec<Section>,
        catalog: Vec<u8>,
        tables: Vec<TableRows>,
    ) -> Result<Manifest, CheckpointError> {
        assert_eq!(sections.len(), self.sections as usize, "all sections are given back");
        let sections: Result<Vec<_>, _> = sections.into_iter().map(Section::end).collect();
        let manifest = Manifest {
            log_id: self.identity.log_id,
            epoch: self.identity.epoch,
            catalog,
            tables,
            serial: self.name.serial,
            sections: sections?,
        };
        let files = &*self.files;
        let (unfinished, last) = (self.name.unfinished(), self.name.manifest());
        let io = |action, name: &str| CheckpointError::io(action, files.path(name));
        let file = files.create(&unfinished).map_err(io("make", &unfinished))?;
        file.write_at(&manifest.encode(), 0).map_err(io("write to", &unfinished))?;
        file.sync_data().map_err(io("sync", &unfinished))?;
        // The sections' names are durable before the manifest's can be.
        files.sync_directory().map_err(io("sync", ""))?;
        files.rename(&unfinished, &last).map_err(io("rename", &unfinished))?;
        // Whether the name is on the disk is not known from here on, so the files must stay.
        self.finished = true;
        files.sync_directory().map_err(io("sync", ""))?;
        Ok(manifest)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let names = self.files.list().unwrap_or_default();
        let is_ours = |name: &&String| {
            Name::parse(name).is_some_and(|(of, part)| of == self.name && part != Part::Manifest)
        };
        for name in names.iter().filter(is_ours) {
            // What stays is removed at the next start.
            let _ = self.files.remove(name);
        }
    }
}

/// A part of a checkpoint, written by one thread.
pub struct Section {
    file: Box<dyn File>,
    path: String,
    number: u32,
    chunks: u32,
    length: u64,
    synced: u64,
    headers_crc: u32,
    buffer: Vec<u8>,
}

impl Section {
    fn create(writer: &Writer, number: u32) -> Result<Self, CheckpointError> {
        let name = writer.name.section(number);
        let path = writer.files.path(&name);
        let file = writer.files.create(&name).map_err(CheckpointError::io("make", path.clone()))?;
        let Identity { log_id, epoch } = writer.identity;
        let header = SectionHeader { log_id, epoch, serial: writer.name.serial, section: number };
        let bytes = header.encode();
        file.write_at(&bytes, 0).map_err(CheckpointError::io("write to", path.clone()))?;
        Ok(Self {
            file,
            path,
            number,
            chunks: 0,
            length: bytes.len() as u64,
            synced: 0,
            headers_crc: 0,
            buffer: Vec::new(),
        })
    }

    /// Writes a chunk: `rows` rows of table number `table`, whose form is the caller's business.
    pub fn put(&mut self, table: u32, rows: u64, words: &[u64]) -> Result<(), CheckpointError> {
        self.buffer.clear();
        self.buffer.resize(CHUNK_HEADER_BYTES + size_of_val(words), 0);
        let (header_place, payload) = self.buffer.split_at_mut(CHUNK_HEADER_BYTES);
        for (place, word) in payload.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let payload_crc = checksum(payload);
        let words = words.len() as u64;
        let header = ChunkHeader { number: self.chunks, table, payload_crc, rows, words }.encode();
        header_place.copy_from_slice(&header);
        let io = |action| CheckpointError::io(action, self.path.clone());
        self.file.write_at(&self.buffer, self.length).map_err(io("write to"))?;
        // The headers' own checksums in them are masked, so this depends on every bit of them.
        self.headers_crc = crc32c::crc32c_append(self.headers_crc, &header);
        self.chunks += 1;
        self.length += self.buffer.len() as u64;
        if self.length - self.synced >= BYTES_PER_SYNC {
            self.sync()?;
        }
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.length
    }

    fn sync(&mut self) -> Result<(), CheckpointError> {
        self.file.sync_data().map_err(CheckpointError::io("sync", self.path.clone()))?;
        self.synced = self.length;
        Ok(())
    }

    fn end(mut self) -> Result<SectionEntry, CheckpointError> {
        self.sync()?;
        let Self { number, chunks, length, headers_crc, .. } = self;
        Ok(SectionEntry { section: number, chunks, length, crc: headers_crc })
    }
}
