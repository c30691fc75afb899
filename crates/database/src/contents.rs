//! What a checkpoint holds besides rows: its position, the definitions, outcomes of keyed calls.
//!
//! ```text
//! version varint │ epoch varint │ time varint
//! definitions varint │ each: line varint │ column varint │ text behind its length
//! outcomes varint    │ each: key behind its length │ call varint │ ended signed varint │ answer
//! ```

use hotrow_base::varint::{ByteReader, put, put_bytes, put_signed};
use hotrow_log::position::Position;
use hotrow_transaction::program::Place;

use crate::definition::Definition;
use crate::once::codec::{decode_answer, encode_answer};
use crate::once::{Outcome, Outcomes};

const VERSION: u64 = 1;

/// The parts of a checkpoint that are no rows.
#[derive(Default, Debug)]
pub(crate) struct Contents {
    pub(crate) position: Position,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) outcomes: Vec<(Box<[u8]>, Outcome)>,
}

impl Contents {
    pub(crate) fn gather(
        position: Position,
        definitions: Vec<Definition>,
        outcomes: &Outcomes,
    ) -> Self {
        let mut gathered = Vec::new();
        outcomes.for_each(|key, outcome| gathered.push((key.into(), outcome.clone())));
        Self { position, definitions, outcomes: gathered }
    }

    /// The epoch in which all of it is durable.
    pub(crate) fn durable_in(&self) -> u64 {
        let epochs = self.outcomes.iter().map(|(_, outcome)| outcome.durable_in);
        epochs.fold(self.position.epoch, u64::max)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, VERSION);
        put(&mut out, self.position.epoch);
        put(&mut out, self.position.time);
        put(&mut out, self.definitions.len() as u64);
        for definition in &self.definitions {
            put(&mut out, definition.place.line.into());
            put(&mut out, definition.place.column.into());
            put_bytes(&mut out, definition.text.as_bytes());
        }
        put(&mut out, self.outcomes.len() as u64);
        for (key, outcome) in &self.outcomes {
            put_bytes(&mut out, key);
            put(&mut out, outcome.call.into());
            put_signed(&mut out, outcome.ended_us);
            encode_answer(&mut out, &outcome.answer);
        }
        out
    }

    /// `None`: the bytes are of another version, or of nothing.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        if reader.varint()? != VERSION {
            return None;
        }
        let position = Position { epoch: reader.varint()?, time: reader.varint()? };
        let mut contents = Self { position, ..Self::default() };
        for _ in 0..reader.varint()? {
            let line = u32::try_from(reader.varint()?).ok()?;
            let column = u32::try_from(reader.varint()?).ok()?;
            let text = std::str::from_utf8(reader.bytes()?).ok()?.to_owned();
            contents.definitions.push(Definition { place: Place { line, column }, text });
        }
        for _ in 0..reader.varint()? {
            let key = reader.bytes()?.into();
            let call = u32::try_from(reader.varint()?).ok()?;
            let ended_us = reader.signed()?;
            let answer = decode_answer(&mut reader)?;
            let outcome = Outcome { call, ended_us, answer, durable_in: 0 };
            contents.outcomes.push((key, outcome));
        }
        reader.is_empty().then_some(contents)
    }
}
