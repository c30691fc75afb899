//! Loading and checking over a store that is a list of rows.

use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};

use super::{LoadError, StoredContext, StoredRows, load_rows};
use crate::workload::{Share, Workload};
use crate::ycsb::{Ycsb, YcsbParameters};

/// `usertable` with a filler of this many bytes.
fn catalog(filler: u32) -> Catalog {
    let column = |name: &str, data_type| Column {
        name: name.to_owned(),
        data_type,
        nullable: false,
        default: None,
        draws: None,
        domain: None,
    };
    let columns = vec![
        column("y_id", DataType::BigInt),
        column("counter", DataType::BigInt),
        column("filler", DataType::Char(filler)),
    ];
    let primary = IndexDefinition {
        name: "usertable_pkey".to_owned(),
        columns: vec![ColumnId(0)],
        descending: Vec::new(),
        unique: true,
        kind: IndexKind::Hash,
        is_constraint: false,
        deferral: Deferral::Never,
    };
    let mut catalog = Catalog::default();
    catalog.add_table("usertable", columns, Some(primary)).expect("the table is small");
    catalog
}

struct List(Vec<Vec<u64>>);

impl StoredRows for List {
    type Row = [u64];

    fn visit(&mut self, _: TableId, visit: &mut dyn FnMut(&[u64])) {
        self.0.iter().for_each(|row| visit(row));
    }
}

fn load(catalog: &Catalog, limit: usize) -> Result<List, LoadError> {
    let workload = Ycsb { parameters: YcsbParameters { records: 50, ..Default::default() } };
    let mut rows = Vec::new();
    load_rows(&workload, catalog, Share::WHOLE, 1, |_, row| {
        rows.push(row.to_vec());
        if rows.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(List(rows))
}

#[test]
fn loaded_rows_pass_their_checks_and_a_changed_one_does_not() {
    let catalog = catalog(84);
    let mut rows = load(&catalog, 1_000).expect("rows fit");
    let table = catalog.table_named("usertable").expect("it was added");
    for (value, holds) in [(0, true), (5, false)] {
        let words = rows.0[7].clone();
        let changes = [(ColumnId(1), Datum::int(value))];
        let mut changed = Vec::new();
        let rebuilt = table.layout.rebuild(&words[..], &changes, &[], &mut changed);
        rebuilt.expect("an integer fits");
        rows.0[7] = changed;
        let list = List(rows.0.clone());
        let mut context =
            StoredContext { catalog: &catalog, rows: list, committed: None, tally: Some(0) };
        let results: Vec<_> =
            Ycsb::default().checks().iter().map(|check| check.result(&mut context)).collect();
        assert_eq!(results.iter().all(|result| result.holds()), holds, "{results:?}");
    }
}

#[test]
fn what_stops_a_load_is_told() {
    assert_eq!(load(&catalog(84), 10).err(), Some(LoadError::Stopped));
    assert_eq!(load(&Catalog::default(), 10).err(), Some(LoadError::NoTable("usertable")));
    assert!(matches!(load(&catalog(20), 10), Err(LoadError::Row("usertable", _))));
}
