//! A workload's text, compiled, without an engine.

use std::collections::BTreeMap;

use hotrow_sql::{Compiled, apply, compile, parse_script};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::program::Procedure;
use hotrow_workloads::{NAMES, Workload, workload_named};

/// A workload's catalog and procedures.
pub struct Database {
    pub catalog: Catalog,
    pub procedures: BTreeMap<String, Procedure>,
}

impl Database {
    pub fn new(workload: &dyn Workload) -> Self {
        let mut database = Self { catalog: Catalog::default(), procedures: BTreeMap::new() };
        database.run(&workload.schema_sql());
        database.run(&workload.procedures_sql());
        database
    }

    fn run(&mut self, text: &str) {
        for statement in parse_script(text).expect("the text parses") {
            match compile(&self.catalog, &self.procedures, &statement) {
                Ok(Compiled::Catalog(changes)) => {
                    for change in &changes {
                        apply(&mut self.catalog, change).expect("the schema applies");
                    }
                }
                Ok(Compiled::CreateProcedure { procedure, .. }) => {
                    self.procedures.insert(procedure.name.clone(), *procedure);
                }
                Ok(other) => panic!("neither schema nor procedure: {other:?}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Every workload, small, in all its sets of procedures.
pub fn small() -> Vec<Box<dyn Workload>> {
    let settings: &[(&str, &[(&str, &str)])] = &[
        ("tpcc", &[("items", "100"), ("customers", "30"), ("warehouses", "2")]),
        ("tpcb", &[("branches", "2"), ("accounts", "500"), ("reads", "50")]),
        ("tellers", &[("tellers", "300")]),
        ("tellers", &[("tellers", "300"), ("mix", "update")]),
        ("ycsb", &[("records", "1000"), ("reads", "50")]),
        ("counter", &[("rows", "600")]),
        ("tatp", &[("subscribers", "300")]),
        ("kv", &[("multi-partition", "30"), ("conflict", "20")]),
        ("kv", &[("multi-partition", "30"), ("conflict", "20"), ("aborts", "1")]),
        ("kv", &[("multi-partition", "50"), ("rounds", "2")]),
        ("kv", &[("multi-partition", "50"), ("rounds", "2"), ("aborts", "1")]),
    ];
    let make = |(name, set): &(&str, &[(&str, &str)])| {
        let mut workload = workload_named(name).expect("the name is listed");
        for (name, text) in *set {
            workload.parameters_mut().set(name, text).expect("the setting is legal");
        }
        workload
    };
    assert!(NAMES.iter().all(|name| settings.iter().any(|(listed, _)| listed == name)));
    settings.iter().map(make).collect()
}
