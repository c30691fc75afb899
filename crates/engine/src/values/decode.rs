//! Decoding: an entry's changes, one after the other.

use hotrow_base::ids::TableId;
use hotrow_base::row::ROW_WORDS_MAX;
use hotrow_base::varint::ByteReader;

use crate::schema::Schema;

/// What was done to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Operation {
    /// it was inserted
    Insert = 0,
    /// it was deleted
    Delete = 1,
    /// some of its words were changed
    Words = 2,
    /// it was laid out anew
    Row = 3,
}

const OPERATIONS: [Operation; 4] =
    [Operation::Insert, Operation::Delete, Operation::Words, Operation::Row];

/// A change as it is read. What the words say is not checked here.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// the row's table, which there is
    pub table: TableId,
    /// what was done
    pub operation: Operation,
    /// the row's primary key; empty where there is none, and for an insert
    pub key: &'a [u8],
    /// the row as it was, in a table without a primary key
    pub old: &'a [u64],
    /// the row as it is; or index and word by turns
    pub new: &'a [u64],
}

/// Reads the changes of one entry.
pub struct Reader<'a> {
    bytes: ByteReader<'a>,
}

impl<'a> Reader<'a> {
    /// A reader of an entry's body.
    pub fn new(body: &'a [u8]) -> Self {
        Self { bytes: ByteReader::new(body) }
    }

    /// The next change, whose words are put into `words` (the old ones first; its content is
    /// replaced); none at the end. The error says what is wrong.
    pub fn next<'b>(
        &mut self,
        schema: &Schema,
        words: &'b mut Vec<u64>,
    ) -> Result<Option<Change<'b>>, String>
    where
        'a: 'b,
    {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        words.clear();
        let cut = || "it is cut off".to_owned();
        let head = self.bytes.varint().ok_or_else(cut)?;
        let operation = OPERATIONS[(head & 3) as usize];
        let tables = schema.catalog.tables();
        let table = usize::try_from(head >> 2).ok().and_then(|number| tables.at(number));
        let Some(table) = table else {
            return Err(format!("there is no table number {}", head >> 2));
        };
        let mut key: &[u8] = &[];
        if operation != Operation::Insert {
            match table.primary {
                Some(_) => key = self.bytes.bytes().ok_or_else(cut)?,
                None => self.row(words).ok_or_else(cut)?,
            }
        }
        let old = words.len();
        match operation {
            Operation::Delete => {}
            Operation::Insert | Operation::Row => self.row(words).ok_or_else(cut)?,
            Operation::Words => self.changed_words(words).ok_or_else(cut)?,
        }
        let (old, new) = words.split_at(old);
        Ok(Some(Change { table: table.id, operation, key, old, new }))
    }

    fn row(&mut self, words: &mut Vec<u64>) -> Option<()> {
        for _ in 0..self.count()? {
            words.push(self.word()?);
        }
        Some(())
    }

    fn changed_words(&mut self, words: &mut Vec<u64>) -> Option<()> {
        for _ in 0..self.count()? {
            words.extend([self.bytes.varint()?, self.word()?]);
        }
        Some(())
    }

    fn count(&mut self) -> Option<u64> {
        self.bytes.varint().filter(|&count| count <= ROW_WORDS_MAX as u64)
    }

    fn word(&mut self) -> Option<u64> {
        let mask = self.bytes.byte()?;
        let given = self.bytes.take(mask.count_ones() as usize)?;
        let mut given = given.iter();
        let mut bytes = [0; 8];
        for (_, byte) in bytes.iter_mut().enumerate().filter(|(bit, _)| mask >> bit & 1 != 0) {
            *byte = *given.next()?;
        }
        Some(u64::from_le_bytes(bytes))
    }
}
