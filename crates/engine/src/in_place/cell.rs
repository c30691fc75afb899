//! An integer cell that several transactions change one after the other, and that is stored once.
//!
//! Role         for engines that run what several transactions do to a record together, and commit
//!              them together: of the versions between only the hashes are kept, for the log
//! Source       lads.txt 4.2.2: only the last update of a record in a batch is stored in place

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;

use hotrow_base::ids::TableId;
use hotrow_base::row::Field;
use hotrow_storage::record::Record;
use hotrow_storage::write_hash;
use hotrow_transaction::access::{Inserted, RecordAccess};

use super::{InPlace, Savepoint};
use crate::protection::Protection;
use crate::schema::Schema;

/// See the module. It is held exclusively from begin to end.
#[derive(Debug)]
pub struct CellChange<'a> {
    table: TableId,
    record: Record<'a>,
    field: Field,
    value: i64,
    before: Savepoint,
}

impl<'a> CellChange<'a> {
    /// Whether a column can be changed so: no index has it, so that no version between could have
    /// been a duplicate.
    #[inline]
    pub fn fits(schema: &Schema, table: TableId, field: Field) -> bool {
        !schema.may_be_indexed(table, field.column())
    }

    /// A cell as it is; none if it is NULL.
    #[inline]
    pub fn begin<P: Protection>(
        access: &InPlace<'a, P>,
        (table, record, field): (TableId, Record<'a>, Field),
    ) -> Option<Self> {
        let row = record.row();
        let value = || field.read_int(row);
        let before = access.savepoint();
        (!field.is_null(row)).then(|| Self { table, record, field, value: value(), before })
    }

    /// Whether it is a cell of this column, of the table that it was begun with.
    #[inline]
    pub fn is_of(&self, field: Field) -> bool {
        self.field.column() == field.column()
    }

    /// What the cell is now.
    #[inline]
    pub fn value(&self) -> i64 {
        self.value
    }

    /// What a transaction can be taken back to; all others that have changed the cell go with it.
    #[inline]
    pub fn before(&self) -> Savepoint {
        self.before
    }

    /// Changes the cell, to a value that fits its column. The hash of the change, as
    /// [`InPlace::changed_since`] would tell it.
    #[inline]
    pub fn set(&mut self, value: i64) -> u64 {
        let (at, field) = (self.field.word(), self.field);
        let word = self.record.row()[at].load(Relaxed);
        let (old, new) = (field.with_int(word, self.value), field.with_int(word, value));
        self.value = value;
        write_hash::word(self.table, at, old, new)
    }

    /// Stores the cell.
    #[inline]
    pub fn store<P: Protection>(self, access: &mut InPlace<'a, P>) {
        let Self { table, record, field, value, .. } = self;
        let stored = access.update_int(table, record, field, value);
        debug_assert!(matches!(stored, Ok(Inserted::Yes)), "it fits");
    }
}
