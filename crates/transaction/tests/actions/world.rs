//! Tables with few rows and small values, so that everything meets everything.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::reference::ModelStore;
use rand::Rng;
use rand::rngs::SmallRng;

pub const INT: DataType = DataType::Integer;
pub const TEXT: DataType = DataType::Text;

/// `a(id primary key, v, name text)`
pub const A: TableId = TableId(0);
/// `b(g, k, v, primary key (g, k))`
pub const B: TableId = TableId(1);
/// `c(id primary key, u unique, x)`
pub const C: TableId = TableId(2);
/// `d(id primary key, h, v)`, with an index on `(h, v)`
pub const D: TableId = TableId(3);
/// `log(n, x)`
pub const LOG: TableId = TableId(4);
/// `e(id primary key, u unique, n, v, name text)`: rows neither come nor go, and `v` alone is
/// changed
pub const E: TableId = TableId(5);

pub const A_KEY: IndexId = IndexId(0);
pub const B_KEY: IndexId = IndexId(1);
pub const C_KEY: IndexId = IndexId(2);
pub const C_U: IndexId = IndexId(3);
pub const D_KEY: IndexId = IndexId(4);
pub const D_HV: IndexId = IndexId(5);
pub const E_KEY: IndexId = IndexId(6);
pub const E_U: IndexId = IndexId(7);

pub const fn col(number: u16) -> ColumnId {
    ColumnId(number)
}

fn column(name: &str, data_type: DataType, nullable: bool) -> Column {
    Column { name: name.into(), data_type, nullable, default: None, draws: None, domain: None }
}

fn index(name: &str, columns: &[u16], unique: bool) -> IndexDefinition {
    IndexDefinition {
        name: name.into(),
        columns: columns.iter().map(|&c| ColumnId(c)).collect(),
        descending: Vec::new(),
        unique,
        kind: IndexKind::BTree,
        is_constraint: false,
        deferral: Deferral::Never,
    }
}

pub fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    let tables = [
        ("a", &["id", "v", "name"][..], Some(&[0][..])),
        ("b", &["g", "k", "v"], Some(&[0, 1])),
        ("c", &["id", "u", "x"], Some(&[0])),
        ("d", &["id", "h", "v"], Some(&[0])),
        ("log", &["n", "x", "y"], None),
        ("e", &["id", "u", "n", "v", "name"], Some(&[0])),
    ];
    for (name, columns, key) in tables {
        let columns = columns.iter().enumerate().map(|(i, &column_name)| {
            let data_type = if column_name == "name" { TEXT } else { INT };
            column(column_name, data_type, !key.is_some_and(|key| key.contains(&(i as u16))))
        });
        let key = key.map(|key| index(&format!("{name}_pkey"), key, true));
        let table = catalog.add_table(name, columns.collect(), key).expect("a small table");
        match name {
            "c" => drop(catalog.add_index(table, index("c_u", &[1], true)).expect("small")),
            "e" => drop(catalog.add_index(table, index("e_u", &[1], true)).expect("small")),
            "d" => drop(catalog.add_index(table, index("d_hv", &[1, 2], false)).expect("small")),
            _ => {}
        }
    }
    catalog
}

/// A store with random rows.
pub fn store(catalog: &Catalog, random: &mut SmallRng) -> ModelStore {
    let mut store = ModelStore::new(Arc::new(catalog.clone()));
    let small = |random: &mut SmallRng| match random.random_range(0..12) {
        0 => Value::Null,
        _ => Value::Int(random.random_range(0..6)),
    };
    for id in 0..6 {
        if random.random_bool(0.8) {
            let name = Value::Text(format!("n{}", random.random_range(0..9)));
            let v = small(random);
            store.load(A, &[Value::Int(id), v, name]);
        }
        for k in 0..3 {
            if random.random_bool(0.6) {
                let v = small(random);
                store.load(B, &[Value::Int(id), Value::Int(k), v]);
            }
        }
        if random.random_bool(0.8) {
            let x = small(random);
            store.load(C, &[Value::Int(id), Value::Int(5 - id), x]);
        }
        if random.random_bool(0.8) {
            let (h, v) = (small(random), small(random));
            store.load(D, &[Value::Int(id), h, v]);
        }
    }
    // The same in all stores: other rows are what they were before this table came.
    for id in [0, 1, 2, 3, 5] {
        let n = if id == 3 { Value::Null } else { Value::Int((id + 2) % 6) };
        let (u, v) = (Value::Int(5 - id), Value::Int(id % 3));
        store.load(E, &[Value::Int(id), u, n, v, Value::Text(format!("e{id}"))]);
    }
    store
}
