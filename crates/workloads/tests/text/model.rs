//! Every workload on the model store: calls succeed, or fail as the benchmark has it, and all
//! checks hold afterwards.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_transaction::access::{Inserted, Intent, RecordAccess};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower::lower;
use hotrow_transaction::outcome::Rows;
use hotrow_transaction::reference::ModelStore;
use hotrow_workloads::tpcc::{DELIVERY, NEW_ORDER, PAYMENT};
use hotrow_workloads::{
    CheckResult, Share, StoredContext, StoredRows, Workload, load_rows, workload_named,
};

use crate::database::{Database, small};

struct Visited<'a>(&'a mut ModelStore);

impl StoredRows for Visited<'_> {
    type Row = [u64];

    fn visit(&mut self, table: TableId, visit: &mut dyn FnMut(&[u64])) {
        let seen = self.0.scan_table(table, Intent::Read, |_, row| {
            visit(row);
            ControlFlow::Continue(())
        });
        seen.expect("the model store never stops");
    }
}

/// A loaded workload, its programs, and what was committed.
struct Run {
    store: ModelStore,
    programs: Vec<Program>,
    committed: Vec<u64>,
    failed: BTreeMap<String, u64>,
    rows: Vec<(usize, Rows)>,
    tally: u64,
}

impl Run {
    fn new(workload: &dyn Workload) -> Self {
        let Database { catalog, procedures } = Database::new(workload);
        let program = |name: &&str| lower(&catalog, &procedures[*name]).expect("it lowers");
        let programs = workload.procedures().iter().map(program).collect();
        let catalog = Arc::new(catalog);
        let mut store = ModelStore::new(catalog.clone());
        load_rows(workload, &catalog, Share::WHOLE, 42, |table, row| {
            assert_eq!(store.insert(table.id, row, None), Ok(Inserted::Yes));
            ControlFlow::Continue(())
        })
        .expect("rows fit their tables");
        store.commit();
        let committed = vec![0; workload.kinds().len()];
        Self { store, programs, committed, failed: BTreeMap::new(), rows: Vec::new(), tally: 0 }
    }

    fn calls(&mut self, workload: &dyn Workload, count: usize) {
        let names = workload.procedures();
        let id = |name: &str| names.iter().position(|n| *n == name).expect("it is listed");
        let mut generator =
            workload.generator(Share::WHOLE, 7, &|name| ProcedureId(id(name) as u32));
        let (mut invocation, mut frame) = (Invocation::default(), Frame::new());
        for call in 0..count {
            let kind = generator.next(&mut invocation);
            invocation.now_us = 850_000_000_000_000 + call as i64;
            let program = &self.programs[invocation.procedure.index()];
            match self.store.call(program, &invocation, &mut frame) {
                Ok(rows) => {
                    self.committed[kind.index()] += 1;
                    self.tally += generator.tally();
                    self.rows.push((kind.index(), rows));
                }
                Err(error) => {
                    let message = format!("{}: {}", error.code(), error.message);
                    *self.failed.entry(message).or_default() += 1;
                }
            }
        }
    }

    fn check(&mut self, workload: &dyn Workload) -> Vec<CheckResult> {
        let catalog = Arc::new(self.store.catalog().clone());
        let mut context = StoredContext {
            catalog: &catalog,
            rows: Visited(&mut self.store),
            committed: Some(&self.committed),
            tally: Some(self.tally),
        };
        workload.checks().iter().map(|check| check.result(&mut context)).collect()
    }
}

#[test]
fn all_checks_hold_after_a_serial_run() {
    for workload in small() {
        let mut run = Run::new(&*workload);
        run.calls(&*workload, 2_000);
        for result in run.check(&*workload) {
            assert!(result.holds(), "{}: {}", result.name, result.detail());
        }
        for (message, count) in &run.failed {
            let expected: &[_] = match workload.name() {
                "kv" => &["P0001: There is no such key"],
                "tatp" => &[
                    "P0001: no special facility of this type",
                    "P0001: nothing is forwarded at this time",
                    "P0001: calls are forwarded at this time already",
                ],
                _ => &["P0001: Item number is not valid"],
            };
            assert!(expected.contains(&message.as_str()), "{message}");
            assert!((1..40).contains(count), "{count} of 900 or 2,000 calls were rolled back");
        }
        for (info, count) in workload.kinds().iter().zip(&run.committed) {
            assert!((*count == 0) == (info.share == 0.0) || info.share < 0.01, "{}", info.name);
        }
    }
}

#[test]
fn tpcc_leaves_as_many_rows_as_its_transactions_say() {
    let mut workload = workload_named("tpcc").expect("the name is listed");
    for (name, text) in [("items", "100"), ("customers", "30")] {
        workload.parameters_mut().set(name, text).expect("the setting is legal");
    }
    let mut run = Run::new(&*workload);
    run.calls(&*workload, 500);
    let count = |table: &str| {
        let id = run.store.catalog().table_named(table).expect("the schema was applied").id;
        run.store.rows(id).len() as u64
    };
    let of = |kind: usize| run.rows.iter().filter(move |(k, _)| *k == kind);
    assert_eq!(count("orders"), 300 + run.committed[NEW_ORDER.index()]);
    assert_eq!(count("history"), 300 + run.committed[PAYMENT.index()]);
    let delivered: usize = of(DELIVERY.index()).map(|(_, rows)| rows.rows.len()).sum();
    assert_eq!(
        count("new_order") + delivered as u64,
        90 + run.committed[NEW_ORDER.index()],
        "each delivered order is one row of Delivery's result"
    );
    assert!(of(NEW_ORDER.index()).all(|(_, rows)| (6..=16).contains(&rows.rows.len())));
    assert!(of(PAYMENT.index()).all(|(_, rows)| rows.rows.len() == 1));
    assert!(of(2).all(|(_, rows)| (5..=15).contains(&rows.rows.len())));
    assert!(of(4).all(|(_, rows)| rows.rows.len() == 1));
}
