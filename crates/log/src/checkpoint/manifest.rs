//! The manifest: what a checkpoint consists of. With it a checkpoint exists, without it not.

use super::chunk::{self, Fault, Name, PREAMBLE_BYTES};
use super::error::CheckpointError;
use crate::checksum::checksum;
use crate::entry::{read_u32, read_u64};
use crate::files::Files;

const MAGIC: [u8; 8] = *b"HOTROWCM";
/// Bytes before the body.
const HEADER_BYTES: usize = 64;
/// The longest manifest that is read: a catalog is text that somebody wrote.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// What a checkpoint consists of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// the database's log
    pub log_id: u64,
    /// everything with a lower epoch is in the checkpoint, and replay begins with this one
    pub epoch: u64,
    /// what the database wrote for itself: its catalog
    pub catalog: Vec<u8>,
    /// the tables and their rows
    pub tables: Vec<TableRows>,
    pub(super) serial: u32,
    pub(super) sections: Vec<SectionEntry>,
}

/// A table in a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableRows {
    /// its number in the chunks
    pub number: u32,
    /// its name
    pub name: String,
    /// its rows
    pub rows: u64,
}

/// A section file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SectionEntry {
    pub(super) section: u32,
    pub(super) chunks: u32,
    pub(super) length: u64,
    /// checksum of all its chunks' headers, one behind the other
    pub(super) crc: u32,
}

impl Manifest {
    /// Bytes of all sections.
    pub fn bytes(&self) -> u64 {
        self.sections.iter().fold(0, |sum, section| sum.saturating_add(section.length))
    }

    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| sum.saturating_add(table.rows))
    }

    pub(super) fn name(&self) -> Name {
        Name { epoch: self.epoch, serial: self.serial }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_bytes(&mut body, &self.catalog);
        body.extend((self.tables.len() as u64).to_le_bytes());
        for table in &self.tables {
            body.extend(table.number.to_le_bytes());
            body.extend(table.rows.to_le_bytes());
            put_bytes(&mut body, table.name.as_bytes());
        }
        body.extend((self.sections.len() as u64).to_le_bytes());
        for section in &self.sections {
            body.extend(section.section.to_le_bytes());
            body.extend(section.chunks.to_le_bytes());
            body.extend(section.length.to_le_bytes());
            body.extend(section.crc.to_le_bytes());
        }
        let mut bytes = chunk::preamble(MAGIC).to_vec();
        bytes.extend(self.log_id.to_le_bytes());
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(self.serial.to_le_bytes());
        bytes.extend(checksum(&body).to_le_bytes());
        bytes.resize(HEADER_BYTES - 4, 0);
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, (u64, Fault)> {
        let header = |fault| (0, fault);
        chunk::check_preamble(bytes, MAGIC).map_err(header)?;
        if bytes.len() < HEADER_BYTES {
            return Err((0, Fault::Is("the file is shorter than a header")));
        }
        if checksum(&bytes[..HEADER_BYTES - 4]) != read_u32(bytes, HEADER_BYTES - 4) {
            let what = "the checksum of the header is wrong";
            return Err((PREAMBLE_BYTES as u64, Fault::Is(what)));
        }
        let body = &bytes[HEADER_BYTES..];
        if body.len() as u64 != read_u64(bytes, 32) {
            return Err((bytes.len() as u64, Fault::Is("the file does not have its length")));
        }
        let of_body = (HEADER_BYTES as u64, Fault::Is("the checksum of what follows is wrong"));
        if checksum(body) != read_u32(bytes, 44) {
            return Err(of_body);
        }
        let mut rest = Rest(body);
        let manifest = Self::decode_body(bytes, &mut rest).filter(|_| rest.0.is_empty());
        let at = (bytes.len() - rest.0.len()) as u64;
        manifest.ok_or((at, Fault::Is("it is not laid out as a manifest is")))
    }

    fn decode_body(bytes: &[u8], rest: &mut Rest<'_>) -> Option<Self> {
        let catalog = rest.bytes()?.to_vec();
        // Lists grow as their parts are found, so that no count is believed.
        let mut tables = Vec::new();
        for _ in 0..rest.u64()? {
            let (number, rows) = (rest.u32()?, rest.u64()?);
            let name = String::from_utf8(rest.bytes()?.to_vec()).ok()?;
            tables.push(TableRows { number, name, rows });
        }
        let mut sections = Vec::new();
        for _ in 0..rest.u64()? {
            let (section, chunks) = (rest.u32()?, rest.u32()?);
            let (length, crc) = (rest.u64()?, rest.u32()?);
            sections.push(SectionEntry { section, chunks, length, crc });
        }
        let (log_id, epoch) = (read_u64(bytes, 16), read_u64(bytes, 24));
        let serial = read_u32(bytes, 40);
        Some(Self { log_id, epoch, catalog, tables, serial, sections })
    }

    /// Reads and checks the manifest of a checkpoint.
    pub(super) fn read(files: &dyn Files, name: Name) -> Result<Self, CheckpointError> {
        let file_name = name.manifest();
        let path = files.path(&file_name);
        let io = |action| CheckpointError::io(action, path.clone());
        let damaged = |offset, what: &str| CheckpointError::Damaged {
            path: path.clone(),
            offset,
            what: what.to_owned(),
        };
        let file = files.open(&file_name).map_err(io("open"))?;
        let length = file.length().map_err(io("read"))?;
        if length > BODY_BYTES_MAX {
            return Err(damaged(0, "it is longer than any manifest"));
        }
        let mut bytes = vec![0; length as usize];
        let read = file.read_at(&mut bytes, 0).map_err(io("read"))?;
        bytes.truncate(read);
        match Self::decode(&bytes) {
            Ok(manifest) if manifest.name() == name => Ok(manifest),
            Ok(_) => Err(damaged(PREAMBLE_BYTES as u64, "it has the name of another one")),
            Err((_, Fault::Version(found))) => {
                let known = chunk::FORMAT_VERSION;
                Err(CheckpointError::UnknownVersion { path: path.clone(), found, known })
            }
            Err((offset, Fault::Is(what))) => Err(damaged(offset, what)),
        }
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

/// What is left to decode.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| read_u32(bytes, 0))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|bytes| read_u64(bytes, 0))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u64()?;
        self.take(length)
    }
}
