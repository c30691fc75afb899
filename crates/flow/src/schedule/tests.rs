//! New-Order, laid out over two partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use hotrow_base::ids::ProcedureId;
use hotrow_base::value::Value;
use hotrow_engine::schema::{Memory, Schema};
use hotrow_sql::{Compiled, apply, compile, parse_script};
use hotrow_transaction::access::NoRows;
use hotrow_transaction::actions::{ActionPlanner, Batch, Wanted};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::program::Procedure;
use hotrow_workloads::workload_named;

use super::Schedule;
use crate::world::World;

pub(crate) fn tpcc() -> Schema {
    let workload = workload_named("tpcc").expect("the name is listed");
    let (mut catalog, mut procedures) = <(Catalog, BTreeMap<String, Procedure>)>::default();
    for text in [workload.schema_sql(), workload.procedures_sql()] {
        for statement in parse_script(&text).expect("the text parses") {
            match compile(&catalog, &procedures, &statement).expect("it compiles") {
                Compiled::Catalog(changes) => {
                    let apply = |change| apply(&mut catalog, change).expect("the schema applies");
                    changes.iter().for_each(apply);
                }
                Compiled::CreateProcedure { procedure, .. } => {
                    procedures.insert(procedure.name.clone(), *procedure);
                }
                other => panic!("neither schema nor procedure: {other:?}"),
            }
        }
    }
    let mut schema = Schema::empty(Arc::new(Memory::new(1, 1 << 26)));
    schema.adopt_all(catalog, procedures.into_values().map(Some).collect()).expect("it is legal");
    schema
}

/// A New-Order of warehouse 1 that takes its lines from these warehouses.
fn new_order(schema: &Schema, supply: &[i32]) -> Invocation {
    let (procedure, compiled) = schema.procedure_named("new_order").expect("it is there");
    let lines = supply.len() as i32;
    let array =
        |numbers: &mut dyn Iterator<Item = i32>| Value::Array(numbers.map(Value::Int).collect());
    let arguments = [
        Value::Int(1),
        Value::SmallInt(1),
        Value::Int(1),
        array(&mut (1..=lines)),
        array(&mut supply.iter().copied()),
        array(&mut (1..=lines)),
    ];
    let mut invocation = Invocation { procedure, ..Invocation::default() };
    for (slot, value) in compiled.procedure.parameters().iter().zip(&arguments) {
        invocation.arguments.push_value(slot.sql_type, value).expect("it fits");
    }
    invocation
}

/// A New-Order, planned as actions.
pub(crate) fn planned(world: &World, supply: &[i32]) -> Batch {
    let invocation = new_order(&world.schema, supply);
    let procedure: ProcedureId = invocation.procedure;
    let (mut planner, mut batch) = (ActionPlanner::default(), Batch::default());
    let call = (world.program(procedure), &invocation);
    let planned = planner.add(&mut batch, Wanted::Actions, call, &mut Frame::new(), &mut NoRows);
    planned.expect("it plans");
    batch
}

/// The last rounds of a New-Order in two partitions; none: it lies in one.
fn rounds(schema: Schema, supply: &[i32]) -> Option<Vec<(u16, u32)>> {
    let world = World::new(Arc::new(schema), 2);
    let batch = planned(&world, supply);
    let (mut schedule, mut participants) = (Schedule::default(), Vec::new());
    let is_made = schedule.make(
        &batch,
        |plan, used| world.owners.concern(&world.schema.catalog, plan, used),
        &mut participants,
    );
    (is_made && participants.len() > 1).then_some(participants)
}

#[test]
fn a_new_order_with_a_line_of_another_warehouse_takes_one_round() {
    assert_eq!(rounds(tpcc(), &[1, 1, 1]), None);
    assert_eq!(rounds(tpcc(), &[1, 2, 1]), Some(vec![(0, 0), (1, 0)]));
    assert_eq!(rounds(tpcc(), &[2, 2, 2]), Some(vec![(0, 0), (1, 0)]));
}

/// Where somebody may change the texts of stock, the order line waits for them.
#[test]
fn it_takes_two_where_all_columns_may_change() {
    let mut schema = tpcc();
    schema.expect_writers().expect("it compiles");
    assert_eq!(rounds(schema, &[1, 2, 1]), Some(vec![(0, 1), (1, 0)]));
}
