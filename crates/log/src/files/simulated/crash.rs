//! What a power failure leaves.
//!
//! Role         builds crash images out of the recorded operations: those before the failure are
//!              done again on the durable state; what was not synced is pending, and each pending
//!              piece is there or not as the caller chooses
//! Invariants   I1  a piece that would change nothing is no choice, so that zeros written ahead of
//!                  a log do not swell the number of images

use super::{Operation, SimulatedDisk, put};
use std::collections::BTreeMap;

const SECTOR_BYTES: usize = 512;

/// A piece of a file that is not synced.
#[derive(Clone, Debug)]
enum Piece {
    /// The file grows to this length.
    Grow(usize),
    /// The file gets this length.
    SetLength(usize),
    /// A part of one sector; lost if the file does not reach so far.
    Sector { offset: usize, bytes: Vec<u8> },
}

impl Piece {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Grow(length) => content.resize(content.len().max(*length), 0),
            Self::SetLength(length) => content.resize(*length, 0),
            Self::Sector { offset, bytes } if offset + bytes.len() <= content.len() => {
                put(content, *offset, bytes);
            }
            Self::Sector { .. } => {}
        }
    }

    fn changes(&self, content: &[u8]) -> bool {
        match self {
            Self::Grow(length) => content.len() < *length,
            Self::SetLength(length) => content.len() != *length,
            Self::Sector { offset, bytes } => {
                content.get(*offset..offset + bytes.len()).is_some_and(|old| old != bytes)
            }
        }
    }
}

/// A change of a name that is not synced.
#[derive(Clone, Debug)]
enum Naming {
    Link(String, usize),
    Unlink(String),
    Rename(String, String, usize),
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Link(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Unlink(name) => {
                names.remove(name);
            }
            Self::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
        }
    }
}

/// The disk in the course of the operations: what is durable, and what is pending.
struct Image {
    contents: Vec<Vec<u8>>,
    pending: Vec<Vec<Piece>>,
    /// What a reader would see, to know which file a name means.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    namings: Vec<Naming>,
}

impl Image {
    fn perform(&mut self, operation: &Operation, choose: &mut dyn FnMut() -> bool) {
        match operation {
            Operation::Create { name, file } => {
                self.reserve(*file);
                self.name(Naming::Link(name.clone(), *file));
            }
            Operation::Rename { from, to } => {
                let file = self.names[from];
                self.name(Naming::Rename(from.clone(), to.clone(), file));
            }
            Operation::Remove { name } => self.name(Naming::Unlink(name.clone())),
            Operation::SyncDirectory => {
                self.namings.clear();
                self.durable_names = self.names.clone();
            }
            Operation::Write { file, offset, bytes } => {
                self.pending[*file].extend(pieces(*offset, bytes));
            }
            Operation::SetLength { file, length } => {
                self.pending[*file].push(Piece::SetLength(*length));
            }
            Operation::Sync { file } => self.settle(*file, &mut || true),
            Operation::FailedSync { file } => self.settle(*file, choose),
        }
    }

    fn reserve(&mut self, file: usize) {
        let files = self.contents.len().max(file + 1);
        self.contents.resize(files, Vec::new());
        self.pending.resize(files, Vec::new());
    }

    fn name(&mut self, naming: Naming) {
        naming.apply(&mut self.names);
        self.namings.push(naming);
    }

    /// Decides about all that is pending of a file.
    fn settle(&mut self, file: usize, choose: &mut dyn FnMut() -> bool) {
        let content = &mut self.contents[file];
        for piece in std::mem::take(&mut self.pending[file]) {
            if piece.changes(content) && choose() {
                piece.apply(content);
            }
        }
    }

    /// Decides about all that is pending.
    fn fail_power(&mut self, choose: &mut dyn FnMut() -> bool) {
        for file in 0..self.contents.len() {
            self.settle(file, choose);
        }
        for naming in std::mem::take(&mut self.namings) {
            if choose() {
                naming.apply(&mut self.durable_names);
            }
        }
    }
}

fn pieces(offset: usize, bytes: &[u8]) -> impl Iterator<Item = Piece> {
    let end = offset + bytes.len();
    let first = offset / SECTOR_BYTES * SECTOR_BYTES;
    let sectors = (first..end).step_by(SECTOR_BYTES).map(move |sector| {
        let (begin, end) = (sector.max(offset), (sector + SECTOR_BYTES).min(end));
        Piece::Sector { offset: begin, bytes: bytes[begin - offset..end - offset].to_vec() }
    });
    std::iter::once(Piece::Grow(end)).chain(sectors)
}

impl SimulatedDisk {
    /// The disk as it is found after power failed when `done` operations had been done. `choose` is
    /// asked of each piece that was not synced whether it is there; constant answers give the
    /// images with all and with nothing of it.
    pub fn crash(&self, done: usize, choose: &mut dyn FnMut() -> bool) -> Self {
        let state = self.state.lock();
        let mut image = Image {
            contents: state.first_contents.clone(),
            pending: vec![Vec::new(); state.first_contents.len()],
            names: state.first_names.clone(),
            durable_names: state.first_names.clone(),
            namings: Vec::new(),
        };
        for operation in &state.operations[..done] {
            image.perform(operation, choose);
        }
        image.fail_power(choose);
        Self::with(image.contents, image.durable_names)
    }

    /// All images that a power failure after `done` operations may leave, each shown to `visit`;
    /// `false`, and not all of them, if there are more than `images_max`.
    pub fn every_crash(&self, done: usize, images_max: usize, mut visit: impl FnMut(Self)) -> bool {
        // Counts through the answers as through the digits of a number: the last answer that was
        // "no" becomes "yes", those behind it are asked again.
        let mut answers: Vec<bool> = Vec::new();
        for _ in 0..images_max {
            let mut asked = 0;
            let image = self.crash(done, &mut || {
                if asked == answers.len() {
                    answers.push(false);
                }
                asked += 1;
                answers[asked - 1]
            });
            visit(image);
            while answers.last() == Some(&true) {
                answers.pop();
            }
            match answers.last_mut() {
                None => return true,
                Some(last) => *last = true,
            }
        }
        false
    }
}
