//! Reading a checkpoint: its chunks, each given once to one of the threads that ask.
//!
//! Invariants   I1  when all chunks were given, all checksums and counts of the manifest were
//!                  compared; nothing is allocated that the files are not as long as
//! Concurrency  `cursor` -> latched for reading a chunk's header (40 bytes); its rows are read and
//!              checked outside, so threads read in parallel

use std::io;

use hotrow_base::sync::Latch;

use super::chunk::{
    self, CHUNK_HEADER_BYTES, ChunkHeader, Fault, SECTION_HEADER_BYTES, SectionHeader,
};
use super::error::CheckpointError;
use super::manifest::{Manifest, SectionEntry};
use crate::checksum::checksum;
use crate::files::{File, Files};

/// A checkpoint that is being read.
pub struct Reader {
    manifest: Manifest,
    manifest_path: String,
    sections: Vec<OpenSection>,
    cursor: Latch<Cursor>,
}

/// A section and what the manifest says of it.
struct OpenSection {
    file: Box<dyn File>,
    path: String,
    entry: SectionEntry,
}

/// Where the next chunk is.
struct Cursor {
    section: usize,
    offset: u64,
    chunks: u32,
    headers_crc: u32,
    /// by place in the manifest
    rows: Vec<u64>,
}

/// What is told of a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkHead {
    /// the table's number
    pub table: u32,
    /// rows in it
    pub rows: u64,
    /// its file
    pub path: String,
    /// where in it
    pub offset: u64,
}

impl Reader {
    /// Opens the checkpoint that `manifest` describes: all its files are there, and have the right
    /// lengths and headers.
    pub fn open(files: &dyn Files, manifest: Manifest) -> Result<Self, CheckpointError> {
        let sections: Result<Vec<_>, _> = manifest
            .sections
            .iter()
            .map(|&entry| OpenSection::open(files, &manifest, entry))
            .collect();
        let rows = vec![0; manifest.tables.len()];
        let start = SECTION_HEADER_BYTES as u64;
        let cursor = Cursor { section: 0, offset: start, chunks: 0, headers_crc: 0, rows };
        Ok(Self {
            manifest_path: files.path(&manifest.name().manifest()),
            sections: sections?,
            cursor: Latch::new(cursor),
            manifest,
        })
    }

    /// What is read.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Refuses the checkpoint of another database than the one whose log has this id.
    pub fn check_log(&self, log_id: u64) -> Result<(), CheckpointError> {
        if self.manifest.log_id == log_id {
            return Ok(());
        }
        let (path, found) = (self.manifest_path.clone(), self.manifest.log_id);
        Err(CheckpointError::WrongLog { path, found, expected: log_id })
    }

    /// Reads the next chunk's words into `words`, whose content is replaced, by way of `bytes`, a
    /// buffer. `None` when all chunks were given, to whomever. May be called from several threads.
    pub fn next(
        &self,
        bytes: &mut Vec<u8>,
        words: &mut Vec<u64>,
    ) -> Result<Option<ChunkHead>, CheckpointError> {
        let Some((section, offset, header)) = self.advance()? else { return Ok(None) };
        let payload = offset + CHUNK_HEADER_BYTES as u64;
        // `advance` has seen that the file is that long.
        bytes.resize(header.words as usize * 8, 0);
        section.read(bytes, payload)?;
        if checksum(bytes) != header.payload_crc {
            return Err(section.damaged(payload, "the checksum of a chunk's rows is wrong"));
        }
        words.clear();
        words.extend(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        let (table, rows, path) = (header.table, header.rows, section.path.clone());
        Ok(Some(ChunkHead { table, rows, path, offset }))
    }

    /// Takes the next chunk; its section, its offset and its header.
    fn advance(&self) -> Result<Option<(&OpenSection, u64, ChunkHeader)>, CheckpointError> {
        let mut cursor = self.cursor.lock();
        while let Some(section) = self.sections.get(cursor.section) {
            if cursor.offset < section.entry.length {
                let (offset, header) = self.take_chunk(section, &mut cursor)?;
                return Ok(Some((section, offset, header)));
            }
            section.check_end(&cursor)?;
            cursor.section += 1;
            cursor.offset = SECTION_HEADER_BYTES as u64;
            cursor.chunks = 0;
            cursor.headers_crc = 0;
        }
        for (table, &rows) in self.manifest.tables.iter().zip(&cursor.rows) {
            if table.rows != rows {
                let (name, wanted) = (&table.name, table.rows);
                let what = format!("table \"{name}\" has {rows} rows, and should have {wanted}");
                let path = self.manifest_path.clone();
                return Err(CheckpointError::Damaged { path, offset: 0, what });
            }
        }
        Ok(None)
    }

    fn take_chunk(
        &self,
        section: &OpenSection,
        cursor: &mut Cursor,
    ) -> Result<(u64, ChunkHeader), CheckpointError> {
        let offset = cursor.offset;
        let damaged = |what: &str| section.damaged(offset, what);
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        section.read(&mut bytes, offset)?;
        let header = ChunkHeader::decode(&bytes).map_err(|fault| section.fault(offset, fault))?;
        if header.number != cursor.chunks {
            return Err(damaged("a chunk stands in the place of another one"));
        }
        let end = (header.words.checked_mul(8))
            .and_then(|bytes| bytes.checked_add(offset + CHUNK_HEADER_BYTES as u64))
            .filter(|&end| end <= section.entry.length);
        let Some(end) = end else {
            return Err(damaged("a chunk is longer than its file"));
        };
        let tables = &self.manifest.tables;
        let Some(at) = tables.iter().position(|table| table.number == header.table) else {
            return Err(damaged("a chunk belongs to no table of the manifest"));
        };
        cursor.rows[at] = cursor.rows[at].saturating_add(header.rows);
        cursor.headers_crc = crc32c::crc32c_append(cursor.headers_crc, &bytes);
        cursor.chunks += 1;
        cursor.offset = end;
        Ok((offset, header))
    }
}

impl OpenSection {
    fn open(
        files: &dyn Files,
        manifest: &Manifest,
        entry: SectionEntry,
    ) -> Result<Self, CheckpointError> {
        let name = manifest.name().section(entry.section);
        let path = files.path(&name);
        let io = |action| CheckpointError::io(action, path.clone());
        let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let file = match files.open(&name) {
            Err(error) if missing(&error) => {
                let what = "the file is missing".to_owned();
                return Err(CheckpointError::Damaged { path, offset: 0, what });
            }
            opened => opened.map_err(io("open"))?,
        };
        let length = file.length().map_err(io("read"))?;
        let section = Self { file, path: path.clone(), entry };
        if length != entry.length {
            let what = format!("it has {length} bytes, and should have {}", entry.length);
            return Err(section.damaged(length.min(entry.length), &what));
        }
        let mut bytes = [0; SECTION_HEADER_BYTES];
        section.read(&mut bytes, 0)?;
        let found = SectionHeader::decode(&bytes).map_err(|fault| section.fault(0, fault))?;
        let Manifest { log_id, epoch, serial, .. } = *manifest;
        if found != (SectionHeader { log_id, epoch, serial, section: entry.section }) {
            return Err(section.damaged(0, "it belongs to another checkpoint"));
        }
        Ok(section)
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), CheckpointError> {
        let io = CheckpointError::io("read", self.path.clone());
        let read = self.file.read_at(bytes, offset).map_err(io)?;
        if read < bytes.len() {
            return Err(self.damaged(offset + read as u64, "the file ends too early"));
        }
        Ok(())
    }

    fn check_end(&self, cursor: &Cursor) -> Result<(), CheckpointError> {
        let SectionEntry { chunks, crc, .. } = self.entry;
        if cursor.offset == self.entry.length
            && (cursor.chunks, cursor.headers_crc) == (chunks, crc)
        {
            return Ok(());
        }
        Err(self.damaged(cursor.offset, "its chunks are not those that the manifest counts"))
    }

    fn fault(&self, offset: u64, fault: Fault) -> CheckpointError {
        match fault {
            Fault::Is(what) => self.damaged(offset, what),
            Fault::Version(found) => {
                let (path, known) = (self.path.clone(), chunk::FORMAT_VERSION);
                CheckpointError::UnknownVersion { path, found, known }
            }
        }
    }

    fn damaged(&self, offset: u64, what: &str) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.clone(), offset, what: what.to_owned() }
    }
}

/// What a checkpoint was found to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    /// what it says of itself
    pub manifest: Manifest,
    /// chunks read
    pub chunks: u64,
}

/// Reads the newest checkpoint of a directory and checks everything that can be checked without a
/// schema; `None` when there is no checkpoint.
pub fn verify(files: &dyn Files) -> Result<Option<Verified>, CheckpointError> {
    let Some(manifest) = super::find(files)?.newest else { return Ok(None) };
    let reader = Reader::open(files, manifest)?;
    let (mut bytes, mut words, mut chunks) = (Vec::new(), Vec::new(), 0);
    while reader.next(&mut bytes, &mut words)?.is_some() {
        chunks += 1;
    }
    Ok(Some(Verified { manifest: reader.manifest, chunks }))
}
