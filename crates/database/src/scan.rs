//! Scans of whole tables at a quiet point: for checks, dumps and tests.

use hotrow_base::datum::Datum;
use hotrow_base::row::read_field;
use hotrow_base::value::Value;
use hotrow_engine::schema::Purpose;

use crate::database::Database;
use crate::error::Error;
use crate::lookup::table_named;

impl Database {
    /// Visits every row of a table as values, in no particular order. No call runs meanwhile. What
    /// was visited counts when this has returned: it waits until all of it is durable.
    ///
    /// # Errors
    ///
    /// 42P01 when there is no such table, 58030 when the log has failed and rows that were visited
    /// may not outlast a restart, [`Error::Closed`].
    pub fn scan(&self, table: &str, mut visit: impl FnMut(&[Value])) -> Result<(), Error> {
        let types: Vec<_> =
            self.describe(table)?.columns.iter().map(|column| column.data_type).collect();
        let mut values = Vec::new();
        self.scan_datums(table, |datums, heap| {
            values.clear();
            let datums = datums.iter().zip(&types);
            values.extend(datums.map(|(&datum, &of)| Value::from_datum(datum, of, heap)));
            visit(&values);
        })
    }

    /// As [`Database::scan`], with datums and the heap that byte-like ones point into: allocates
    /// nothing per row.
    ///
    /// # Errors
    ///
    /// As [`Database::scan`].
    pub fn scan_datums(
        &self,
        table: &str,
        mut visit: impl FnMut(&[Datum], &[u8]),
    ) -> Result<(), Error> {
        let quiet = self.core().quiet(Purpose::SCAN)?;
        let seen = self.core().journal.entered();
        let schema = quiet.schema();
        let table = table_named(&schema, table)?;
        let fields = &table.layout.fields()[..table.shown().len()];
        let (mut datums, mut heap) = (Vec::with_capacity(fields.len()), Vec::new());
        schema.table(table.id).records().for_each_record(|_, record| {
            if record.is_ghost() {
                return;
            }
            datums.clear();
            heap.clear();
            let row = record.row();
            datums.extend(fields.iter().map(|&field| read_field(field, row, &mut heap)));
            visit(&datums, &heap);
        });
        drop(quiet);
        self.core().settle_seen(seen)
    }
}
