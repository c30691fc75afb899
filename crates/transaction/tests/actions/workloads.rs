//! The workloads' procedures, call by call on a growing database.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_sql::{Compiled, apply, compile, parse_script};
use hotrow_transaction::access::{Inserted, RecordAccess};
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::Procedure;
use hotrow_transaction::reference::ModelStore;
use hotrow_workloads::{Share, Workload, load_rows, workload_named};

use crate::compare::{Planned, Subject, Tally};

/// A workload's catalog and procedures.
#[derive(Default)]
pub struct Database {
    pub catalog: Catalog,
    pub procedures: BTreeMap<String, Procedure>,
}

impl Database {
    pub fn run(&mut self, text: &str) {
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

fn loaded(workload: &dyn Workload, catalog: &Catalog) -> ModelStore {
    let catalog = Arc::new(catalog.clone());
    let mut store = ModelStore::new(catalog.clone());
    load_rows(workload, &catalog, Share::WHOLE, 42, |table, row| {
        assert_eq!(store.insert(table.id, row, None), Ok(Inserted::Yes));
        ControlFlow::Continue(())
    })
    .expect("rows fit their tables");
    store.commit();
    store
}

/// A call of a workload that is about to be made, and the database it will meet.
pub struct NextCall<'a> {
    pub number: usize,
    pub database: &'a Database,
    pub granules: &'a Granules,
    pub store: &'a ModelStore,
    /// the procedure
    pub name: &'a str,
    pub subject: &'a Subject<'a>,
    pub invocation: &'a Invocation,
}

/// Makes calls of a workload on a growing database, each after `visit` has seen it.
pub fn each_call(
    name: &str,
    settings: &[(&str, &str)],
    seed: u64,
    calls: usize,
    mut visit: impl FnMut(&NextCall<'_>),
) {
    let mut workload = workload_named(name).expect("the name is listed");
    for (name, text) in settings {
        workload.parameters_mut().set(name, text).expect("the setting is legal");
    }
    let mut database = Database::default();
    database.run(&workload.schema_sql());
    database.run(&workload.procedures_sql());
    let Database { catalog, procedures } = &database;
    let granules = Granules::infer(catalog, procedures.values());
    let names = workload.procedures();
    let subjects: Vec<_> =
        names.iter().map(|name| Subject::new(catalog, &granules, &procedures[*name])).collect();
    let mut store = loaded(&*workload, catalog);
    let id = |name: &str| names.iter().position(|n| *n == name).expect("it is listed");
    let mut generator =
        workload.generator(Share::WHOLE, seed, &|name| ProcedureId(id(name) as u32));
    let (mut invocation, mut frame) = (Invocation::default(), Frame::new());
    for number in 0..calls {
        generator.next(&mut invocation);
        invocation.now_us = 850_000_000_000_000 + number as i64;
        let procedure = invocation.procedure.index();
        let subject = &subjects[procedure];
        visit(&NextCall {
            number,
            database: &database,
            granules: &granules,
            store: &store,
            name: names[procedure],
            subject,
            invocation: &invocation,
        });
        let _ = store.call(&subject.compiled.program, &invocation, &mut frame);
    }
}

/// Runs calls of a workload in all ways; the text of each procedure's last planned call.
fn run(name: &str, settings: &[(&str, &str)], calls: usize) -> (Tally, BTreeMap<String, String>) {
    let (mut plan, mut tally, mut texts) = <(Planned, Tally, BTreeMap<_, _>)>::default();
    each_call(name, settings, 7, calls, |call| {
        let NextCall { name, subject, .. } = call;
        let seed = call.number as u64;
        let checked = subject.check(call.store, call.invocation, &mut plan, seed, &mut tally);
        if let Err(text) = checked {
            panic!("{name} differs: {text}");
        }
        texts.insert((*name).to_owned(), subject.text(&plan));
    });
    (tally, texts)
}

/// What a batch has, but for the footprint of the call that was planned last.
fn shown(batch: &Batch) -> String {
    let text = format!("{batch:?}");
    let (before, rest) = text.split_once("footprint:").expect("it has a plan");
    before.to_owned() + rest.split_once("calls:").expect("it has calls").1
}

#[test]
fn a_call_that_cannot_be_planned_leaves_nothing_in_its_batch() {
    let settings = [("items", "20"), ("customers", "10"), ("by_name", "100")];
    let (mut planner, mut batch, mut frame) = <(ActionPlanner, Batch, Frame)>::default();
    let (mut refused, mut added) = (0, 0);
    each_call("tpcc", &settings, 7, 40, |call| {
        let NextCall { subject, store, invocation, .. } = call;
        let planned = (&subject.actions, *invocation);
        let mut access = subject.checked(store);
        access.held = Some(HashMap::new()); // so trial reads fail
        let before = shown(&batch);
        match planner.add(&mut batch, Wanted::Actions, planned, &mut frame, &mut access) {
            Ok(()) => added += 1,
            Err(stop) => {
                assert_eq!((stop, shown(&batch)), (Stop::Replan, before));
                refused += 1;
            }
        }
    });
    assert!(refused > 10 && added > 10, "{refused} and {added}");
    assert_eq!(batch.calls().len(), added);
}

#[test]
fn tpcc_in_actions_is_tpcc() {
    let settings = [("items", "20"), ("customers", "10"), ("warehouses", "2")];
    let (tally, texts) = run("tpcc", &settings, 150);
    for text in texts.values() {
        println!("{text}");
    }
    println!("{tally:?}");
    assert_eq!(tally.whole, 0, "every procedure can be cut");
    // All but some deliveries, where each district's guess is checked beside others' writes.
    assert!(tally.first * 10 > tally.calls * 9, "{tally:?}");
    // Items are checked at once; then what needs the order's number; then the reply.
    assert!(texts["new_order"].contains("actions in 3 phases"), "{}", texts["new_order"]);
    // The districts do not wait for each other.
    assert!(texts["delivery"].contains("actions in 4 phases"), "{}", texts["delivery"]);
    assert!(tally.replans * 10 < tally.calls, "{tally:?}");
}

/// A customer given by name is looked up first, one given by number changes at once.
#[test]
fn payment_has_a_phase_more_by_name() {
    for (by_name, phases) in [("0", 2), ("100", 3)] {
        let settings =
            [("items", "20"), ("customers", "10"), ("warehouses", "2"), ("by_name", by_name)];
        let (_, texts) = run("tpcc", &settings, 12);
        let (text, expected) = (&texts["payment"], format!("actions in {phases} phases"));
        assert!(text.contains(&expected), "{by_name} % by name: {text}");
    }
}

#[test]
fn ycsb_in_actions_is_ycsb() {
    let settings = [("records", "200"), ("reads", "50")];
    let (tally, texts) = run("ycsb", &settings, 150);
    for text in texts.values() {
        println!("{text}");
    }
    println!("{tally:?}");
    assert_eq!((tally.whole, tally.replans), (0, 0), "keys are parameters");
    assert_eq!(tally.flat, 2 * tally.calls, "every call is flat");
}

#[test]
fn tpcb_in_actions_is_tpcb() {
    let settings = [("branches", "2"), ("accounts", "20"), ("reads", "40")];
    let (tally, texts) = run("tpcb", &settings, 150);
    for text in texts.values() {
        println!("{text}");
    }
    println!("{tally:?}");
    assert_eq!((tally.whole, tally.replans), (0, 0), "keys are parameters");
    // Account, teller, branch and history do not wait for each other.
    assert!(texts["tpcb_update"].contains("actions in 2 phases"), "{}", texts["tpcb_update"]);
}

/// In how many phases of a planned call some action reaches a record.
fn rounds(text: &str) -> usize {
    text.split("\nphase ").skip(1).filter(|phase| phase.contains("kv_pkey")).count()
}

/// Writes of two rounds wait for what was read in the first one, those of one for nothing.
#[test]
fn kv_in_actions_is_kv() {
    for (parameter, several, expected) in [("1", "kv_multi", 1), ("2", "kv_two_rounds", 2)] {
        let settings = [("multi_partition", "50"), ("conflict", "30"), ("rounds", parameter)];
        let (tally, texts) = run("kv", &settings, 150);
        for text in texts.values() {
            println!("{text}");
        }
        println!("{tally:?}");
        assert_eq!((tally.whole, tally.replans), (0, 0), "keys are parameters");
        assert_eq!(rounds(&texts["kv_single"]), 1, "{}", texts["kv_single"]);
        assert_eq!(rounds(&texts[several]), expected, "{}", texts[several]);
    }
}

#[test]
fn kv_in_actions_aborts_as_kv_does() {
    for rounds in ["1", "2"] {
        let settings = [("multi_partition", "50"), ("aborts", "30"), ("rounds", rounds)];
        let (tally, _) = run("kv", &settings, 150);
        println!("{tally:?}");
        assert_eq!((tally.whole, tally.replans), (0, 0), "keys are parameters");
        assert!((25..65).contains(&tally.errors), "{tally:?}");
    }
}
