//! The text is within the SQL subset, every access is by key, rows fit their tables and calls fit
//! their procedures.

use std::ops::ControlFlow;

use hotrow_base::ids::ProcedureId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::program::{Access, Path, Procedure, Statement, StatementKind};
use hotrow_workloads::{Share, load_rows};

use crate::database::{Database, small};

/// Visits every access of a procedure.
fn accesses(body: &[Statement], visit: &mut impl FnMut(&Access)) {
    for statement in body {
        match &statement.kind {
            StatementKind::Access(access) => visit(access),
            StatementKind::If { then, otherwise, .. } => {
                accesses(then, visit);
                accesses(otherwise, visit);
            }
            StatementKind::ForRange { body, .. } | StatementKind::ForEach { body, .. } => {
                accesses(body, visit);
            }
            StatementKind::ForQuery { query, body, .. } => {
                visit(query);
                accesses(body, visit);
            }
            _ => {}
        }
    }
}

#[test]
fn every_listed_procedure_compiles() {
    for workload in small() {
        let database = Database::new(&*workload);
        let known: Vec<_> = database.procedures.keys().map(String::as_str).collect();
        let mut listed = workload.procedures().to_vec();
        listed.sort_unstable();
        assert_eq!(known, listed);
    }
}

#[test]
fn no_access_scans_a_whole_table_and_two_procedures_filter() {
    for workload in small() {
        let database = Database::new(&*workload);
        for procedure in database.procedures.values() {
            accesses(&procedure.body, &mut |access| {
                let table = &database.catalog.table(access.table).name;
                let at = format!("{} on {table}: {:?}", procedure.name, access.path);
                assert!(!matches!(access.path, Path::Whole), "{at}");
                let filters = ["stock_level", "tatp_get_new_destination"];
                let may_filter = filters.contains(&procedure.name.as_str());
                assert!(access.filter.is_none() || may_filter, "{at}");
            });
        }
    }
}

#[test]
fn loaded_rows_fit_the_tables() {
    for workload in small() {
        let database = Database::new(&*workload);
        let mut rows = 0;
        load_rows(&*workload, &database.catalog, Share::WHOLE, 1, |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        })
        .expect("rows fit their tables");
        assert!(rows >= 300);
    }
}

#[test]
fn generated_calls_fit_the_parameters() {
    for workload in small() {
        let database = Database::new(&*workload);
        let names = workload.procedures();
        let id = |name: &str| names.iter().position(|n| *n == name).expect("it is listed");
        let mut generator =
            workload.generator(Share::WHOLE, 1, &|name| ProcedureId(id(name) as u32));
        let mut invocation = Invocation::default();
        for _ in 0..2_000 {
            generator.next(&mut invocation);
            check_call(&database.procedures[names[invocation.procedure.index()]], &invocation);
        }
    }
}

fn check_call(procedure: &Procedure, invocation: &Invocation) {
    let arguments = &invocation.arguments;
    assert_eq!(arguments.datums.len(), procedure.parameters().len(), "{}", procedure.name);
    for (slot, &datum) in procedure.parameters().iter().zip(&arguments.datums) {
        let at = format!("{}, {}: {datum:?}", procedure.name, slot.name);
        let holds = match slot.sql_type {
            _ if datum.is_null() => true,
            SqlType::Scalar(DataType::SmallInt) => (0..=255).contains(&datum.as_int()),
            SqlType::Scalar(DataType::Integer) if slot.name == "p_location" => {
                (0..=i64::from(i32::MAX)).contains(&datum.as_int())
            }
            SqlType::Scalar(DataType::Integer) => (1..=3_000).contains(&datum.as_int()),
            SqlType::Scalar(DataType::BigInt) => (-1_000_000..=1_000_000).contains(&datum.as_int()),
            // Amounts are cents: the parameter must keep its declared scale.
            SqlType::Scalar(DataType::Numeric { scale, .. }) => scale == 2,
            SqlType::Scalar(data_type) if data_type.is_text() => {
                datum.as_range().range().end <= arguments.heap.len()
            }
            SqlType::Scalar(DataType::Bytea) => {
                datum.as_range().range().end <= arguments.heap.len()
            }
            SqlType::Array(_) => datum.as_range().range().end <= arguments.elements.len(),
            SqlType::Scalar(_) => false,
        };
        assert!(holds, "{at}");
    }
}
