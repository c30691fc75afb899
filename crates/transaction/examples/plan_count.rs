//! Counts instructions of planning: as keys and granules, or as actions.
//!
//! ```text
//! cargo build --release -p hotrow-transaction --example plan_count
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     target/release/examples/plan_count actions 1000
//! ```
//!
//! The difference between 1000 and 2000 calls, divided by 1000, is the cost of a call of YCSB with
//! 20 operations, half of them reads; `keys` makes the plain plan, `draw` only draws the call.

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_sql::{Compiled, apply, compile, parse_script};
use hotrow_transaction::actions::{ActionPlanner, ActionProgram, Batch, Wanted};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::plan::Plan;
use hotrow_transaction::program::Procedure;
use hotrow_transaction::reference::ModelStore;
use hotrow_workloads::{Share, workload_named};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "actions".to_owned());
    let calls: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut workload = workload_named("ycsb").expect("it is listed");
    for (name, text) in [("records", "100000"), ("operations", "20"), ("reads", "50")] {
        workload.parameters_mut().set(name, text).expect("the setting is legal");
    }
    let mut catalog = Catalog::default();
    let mut procedures: BTreeMap<String, Procedure> = BTreeMap::new();
    for text in [workload.schema_sql(), workload.procedures_sql()] {
        for statement in parse_script(&text).expect("the text parses") {
            match compile(&catalog, &procedures, &statement).expect("it compiles") {
                Compiled::Catalog(changes) => {
                    changes.iter().for_each(|change| {
                        apply(&mut catalog, change).expect("it applies");
                    });
                }
                Compiled::CreateProcedure { procedure, .. } => {
                    procedures.insert(procedure.name.clone(), *procedure);
                }
                other => panic!("neither schema nor procedure: {other:?}"),
            }
        }
    }
    let granules = Granules::infer(&catalog, procedures.values());
    let names = workload.procedures();
    let compiled: Vec<_> = names
        .iter()
        .map(|name| CompiledProcedure::new(&catalog, &granules, procedures[*name].clone()).unwrap())
        .map(Arc::new)
        .collect();
    let actions: Vec<_> = compiled
        .iter()
        .map(|compiled| ActionProgram::new(&catalog, &granules, compiled).unwrap())
        .collect();
    let id = |name: &str| names.iter().position(|n| *n == name).expect("it is listed");
    let mut generator = workload.generator(Share::WHOLE, 1, &|name| ProcedureId(id(name) as u32));
    let mut store = ModelStore::new(Arc::new(catalog.clone()));
    let (mut invocation, mut frame) = (Invocation::default(), Frame::new());
    let (mut plan, mut planner, mut batch) = <(Plan, ActionPlanner, Batch)>::default();
    let mut made = 0;
    for _ in 0..calls {
        generator.next(&mut invocation);
        let number = invocation.procedure.index();
        match what.as_str() {
            "keys" => {
                plan.make(&compiled[number].plan, &invocation, &mut frame, &mut store).unwrap();
                made += plan.entries().len();
            }
            "actions" => {
                batch.clear();
                let (call, wanted) = ((&actions[number], &invocation), Wanted::ConditionsFirst);
                planner.add(&mut batch, wanted, call, &mut frame, &mut store).unwrap();
                made += batch.actions().len();
            }
            _ => {}
        }
    }
    println!("{made}");
}
