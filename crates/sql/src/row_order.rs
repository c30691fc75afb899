//! The order of rows: what a statement does with several rows never depends on where they lie.
//!
//! Role         called wherever a query, UPDATE or DELETE becomes an access. Records lie in memory
//!              as threads put them there, so a scan of a table or of a hash index meets them in
//!              an order that differs between a run and its replay from a log of calls
//! Invariants   I1 a statement whose effect depends on the order of its rows visits or sorts them
//!              in one that the table's contents decide: by ORDER BY, then by the path's B+-tree
//!              index or by the primary key. Rows of a table without one are ordered by all
//!              columns; those that tie are the same
//!              I2 a statement whose effect does not depend on it pays nothing. Aggregates do
//!              not: count, min, max and exact sums

use hotrow_base::ids::ColumnId;
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Catalog, IndexKind};
use hotrow_transaction::program::{
    Access, Consume, Effect, Expr, FOUND, OrderKey, Path, ROW_COUNT, RowsTo, Statement,
    StatementKind,
};
use hotrow_transaction::walk::reads_any;

use crate::error::{Result, unsupported};
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Row;
use crate::typing::cast;

/// Whether a path meets rows in an order that the table's contents decide.
pub(crate) fn is_ordered(catalog: &Catalog, path: &Path) -> bool {
    let (index, bound) = match path.each() {
        Path::Point { .. } => return true,
        Path::Whole | Path::Lists { .. } => return false,
        Path::Range { index, prefix, .. } => (catalog.index(*index), prefix.len()),
    };
    let table = catalog.table(index.table);
    // A unique index lets NULLs repeat; entries of others end with the primary key.
    let mut open = index.columns[bound..].iter().map(|column| &table.columns[column.index()]);
    index.kind == IndexKind::BTree && (!index.unique || open.all(|column| !column.nullable))
}

/// Whether it matters in which order an effect meets its rows.
fn shows_order(row: &Row, effect: &Effect) -> bool {
    match effect.consume() {
        Consume::Discard | Consume::Aggregate { .. } => false,
        // There is one row, or an error.
        Consume::First { strict: true, offset: None, .. } => false,
        Consume::First { .. } if !matches!(effect, Effect::Read(_)) => false,
        Consume::First { into, .. } => into.iter().any(|(_, value)| row.is_read_by(value)),
        Consume::Rows { columns, .. } => columns.iter().any(|value| row.is_read_by(value)),
    }
}

impl Compiler<'_> {
    /// The access with this effect, in an order that the contents decide where it matters.
    pub(crate) fn access(&mut self, mut source: Source, mut effect: Effect) -> Result<Access> {
        if shows_order(&source.row, &effect) && !is_ordered(self.catalog, &source.path) {
            match self.primary_path(&source) {
                Some(path) => source.path = path,
                None => self.sort(&mut source, &mut effect)?,
            }
        }
        Ok(source.access(effect))
    }

    /// A scan of the whole table by its primary key, where that is ordered.
    fn primary_path(&self, source: &Source) -> Option<Path> {
        let index = self.catalog.table(source.row.table).primary?;
        let path =
            Path::Range { index, prefix: vec![], lower: None, upper: None, descending: false };
        let possible = matches!(source.path, Path::Whole) && is_ordered(self.catalog, &path);
        possible.then_some(path)
    }

    /// Adds keys to ORDER BY, after which no rows tie that differ.
    fn sort(&mut self, source: &mut Source, effect: &mut Effect) -> Result<()> {
        let (Effect::Read(consume) | Effect::Update { consume, .. } | Effect::Delete { consume }) =
            effect;
        let distinct = match consume {
            // Which of several equal rows stays is not known; what it shows is.
            Consume::Rows { columns, distinct: true, .. } => Some(columns.clone()),
            _ => None,
        };
        let keys = match distinct {
            Some(columns) => columns,
            None => self.identity(source)?,
        };
        if let Consume::First { order_by, .. } | Consume::Rows { order_by, .. } = consume {
            order_by.extend(keys.into_iter().map(ascending));
        }
        Ok(())
    }

    /// Expressions that tell rows apart: the primary key, or all columns.
    fn identity(&mut self, source: &mut Source) -> Result<Vec<Expr>> {
        let table = self.catalog.table(source.row.table);
        let mut keys = Vec::new();
        let columns = match table.primary {
            Some(primary) => self.catalog.index(primary).columns.clone(),
            None => (0..table.columns.len()).map(|at| ColumnId(at as u16)).collect(),
        };
        for column in columns {
            let value = self.bind_in(&mut source.row, column)?;
            let has_equals =
                matches!(value.data_type(), DataType::Real | DataType::Double | DataType::Interval);
            keys.push(value.clone());
            if table.primary.is_none() && has_equals {
                // 0 and -0 are equal and still not the same, and so are 1 month and 30 days
                keys.push(cast(value, DataType::Text));
            }
        }
        Ok(keys)
    }

    /// Emits an UPDATE or DELETE.
    ///
    /// An UPDATE that computes columns of a unique index from its rows may or may not meet a
    /// duplicate on the way, as their order has it. Where no index gives an order, it goes through
    /// the rows' sorted keys.
    pub(crate) fn emit_change(
        &mut self,
        out: &mut Vec<Statement>,
        mut source: Source,
        effect: Effect,
    ) -> Result<()> {
        if self.may_collide(&source.row, &effect) && !is_ordered(self.catalog, &source.path) {
            match self.primary_path(&source) {
                Some(path) => source.path = path,
                None => return self.emit_change_by_key(out, source, effect),
            }
        }
        let access = self.access(source, effect)?;
        if !self.emit_by_turns(out, &access)? {
            self.emit(out, StatementKind::Access(Box::new(access)));
        }
        Ok(())
    }

    /// Whether rows of an UPDATE may have each other's old and new values of a unique index.
    fn may_collide(&self, row: &Row, effect: &Effect) -> bool {
        let Effect::Update { set, .. } = effect else { return false };
        let table = self.catalog.table(row.table);
        let mut unique = table.secondary.iter().map(|&id| self.catalog.index(id));
        unique.any(|index| {
            let changed = set.iter().filter(|(column, _)| index.columns.contains(column));
            index.unique && changed.into_iter().any(|(_, value)| row.is_read_by(value))
        })
    }

    /// A loop over the primary keys of the rows, sorted, with a change of one row in it.
    fn emit_change_by_key(
        &mut self,
        out: &mut Vec<Statement>,
        source: Source,
        effect: Effect,
    ) -> Result<()> {
        let shows_found = |slot| [FOUND, ROW_COUNT].contains(&slot);
        let reads_found = match &effect {
            Effect::Update { set, .. } => {
                set.iter().any(|(_, value)| reads_any(value, shows_found))
            }
            _ => false,
        };
        if matches!(effect.consume(), Consume::First { .. }) || reads_found {
            self.needs_query = Some(unsupported(
                self.place,
                "RETURNING ... INTO, or FOUND, in an UPDATE that computes a unique column of many \
                 rows",
                "loop over the rows in order and UPDATE each by its primary key",
            ));
            return Ok(());
        }
        let table = self.catalog.table(source.row.table);
        let primary = table.primary.expect("a table with a unique column has a primary key");
        let (row, path) = (source.row.clone(), source.path);
        let mut found = Source { row: source.row, path, filter: source.filter };
        let columns = self.identity(&mut found)?;
        let mut key = Vec::with_capacity(columns.len());
        for column in &columns {
            key.push(self.temporary("key", column.data_type())?);
        }
        let rows = self.row_set();
        let consume = Consume::all_rows(RowsTo::Loop(rows), columns);
        let query = Box::new(self.access(found, Effect::Read(consume))?);
        let path = Path::Point {
            index: primary,
            key: key.iter().map(|slot| self.slot_expr(*slot)).collect(),
        };
        let change = Source { row, path, filter: None }.access(effect);
        let changed = self.begin_count(out)?;
        let mut body = Vec::new();
        self.emit(&mut body, StatementKind::Access(Box::new(change)));
        let sum = self.row_sum(changed);
        self.emit_assign(&mut body, changed, sum);
        self.emit(out, StatementKind::ForQuery { rows, query, into: key, body });
        self.end_count(out, changed);
        Ok(())
    }
}

fn ascending(value: Expr) -> OrderKey {
    OrderKey { value, descending: false, nulls_first: false }
}
