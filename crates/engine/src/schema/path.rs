//! What an access needs to know of an index, gathered in one place.
//!
//! Role         made from catalog, granules and storage whenever one of them changes; the access
//!              path then finds everything by one look-up in an array instead of by five
//! Invariants   I1 says the same as what it was made from

use std::sync::Arc;

use hotrow_base::ids::IndexId;
use hotrow_base::key::KeyLayout;
use hotrow_base::row::{Field, FieldKind, Words};
use hotrow_storage::slab::RecordStore;
use hotrow_storage::table::{Index as StoredIndex, Table as StoredTable};
use hotrow_transaction::catalog::{Catalog, Index, Table};
use hotrow_transaction::granule::{ColumnSet, Granules, Space};

use super::parts::Parts;

/// An index and its table.
pub(crate) struct AccessPath {
    pub(crate) parts: Parts,
    pub(crate) records: Arc<RecordStore>,
    key: KeyLayout,
    fields: Box<[Field]>,
    /// the column, where the key is that of one plain integer
    only_int: Option<Field>,
    pub(crate) space: Space,
    /// how many leading key columns make a granule
    granule_parts: u8,
    /// rows of the table must be held: some procedure writes it
    pub(crate) is_locked: bool,
    /// granules of the index must be held
    pub(crate) has_granules: bool,
    pub(crate) is_primary: bool,
    pub(crate) id: IndexId,
}

impl AccessPath {
    /// The path through an index of a stored table, which has these parts.
    pub(crate) fn new(
        catalog: &Catalog,
        granules: &Granules,
        index: &Index,
        owner: &StoredTable,
        parts: Parts,
    ) -> Self {
        let only_int = match &index.fields[..] {
            &[field] if field.is_plain_int() && field.kind() != FieldKind::N64 => Some(field),
            _ => None,
        };
        Self {
            only_int,
            parts,
            records: Arc::clone(owner.shared_records()),
            key: index.key.clone(),
            fields: index.fields.as_slice().into(),
            space: Space::Index(index.id),
            id: index.id,
            granule_parts: granules.parts(index.id) as u8,
            is_locked: granules.table(index.table).is_written(),
            has_granules: granules.needs_granules(catalog, index.id),
            is_primary: catalog.table(index.table).primary == Some(index.id),
        }
    }

    /// The path through an index that was dropped, for whoever asks all the same: nothing is there.
    pub(super) fn of_nothing(owner: &StoredTable, stored: Arc<StoredIndex>) -> Self {
        let catalog = Catalog::default();
        let index = catalog.index(IndexId(0));
        Self {
            only_int: None,
            parts: Parts::new(index, None, &[stored], 0),
            records: Arc::clone(owner.shared_records()),
            key: index.key.clone(),
            fields: Box::new([]),
            space: Space::Index(index.id),
            id: index.id,
            granule_parts: 0,
            is_locked: true,
            has_granules: true,
            is_primary: false,
        }
    }

    /// Whether a row has this key.
    #[inline(always)]
    pub(crate) fn is_key_of<W: Words + ?Sized>(&self, row: &W, key: &[u8]) -> bool {
        if let Some(field) = self.only_int
            && let Some(value) = only_int(key)
        {
            return field.read_int(row) == value;
        }
        self.key.matches_row(&self.fields, row, key)
    }

    /// Whether a range that binds so many leading key columns lies in no single granule, so that
    /// the table is held for it.
    #[inline]
    pub(crate) fn is_wider_than_granules(&self, prefix_parts: usize) -> bool {
        prefix_parts == 0 || prefix_parts < self.granule_parts.into()
    }

    /// The bytes of a key's granule.
    #[inline]
    pub(crate) fn granule<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        &key[..self.key.prefix_bytes(key, self.granule_parts.into())]
    }
}

/// The integer of which an integer key part of 4 or 8 bytes was made.
#[inline(always)]
fn only_int(key: &[u8]) -> Option<i64> {
    match *key {
        [a, b, c, d] => Some((u32::from_be_bytes([a, b, c, d]) ^ 1 << 31).cast_signed().into()),
        [a, b, c, d, e, f, g, h] => {
            Some((u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ 1 << 63).cast_signed())
        }
        _ => None,
    }
}

/// The columns of a table that entries of its secondary indexes hold.
pub(crate) fn indexed_columns(catalog: &Catalog, table: &Table) -> ColumnSet {
    let columns = table.secondary.iter().flat_map(|&id| &catalog.index(id).entry_columns);
    ColumnSet::of(columns.map(|column| column.index()))
}

#[cfg(test)]
mod tests {
    use super::only_int;

    #[test]
    fn a_key_of_one_integer_is_read_back() {
        let key = |parts: &[u8]| only_int(parts);
        assert_eq!(key(&[0x80, 0, 0, 5]), Some(5));
        assert_eq!(key(&[0x7f, 0xff, 0xff, 0xff]), Some(-1));
        assert_eq!(key(&[0; 4]), Some(i32::MIN.into()));
        assert_eq!(key(&[0x80, 0, 0, 0, 0, 0, 0, 7]), Some(7));
        assert_eq!(key(&[0xff; 8]), Some(i64::MAX));
        assert_eq!(key(&[0x80, 0]), None, "rare widths go the general way");
    }
}
