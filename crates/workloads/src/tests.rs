//! What all workloads have in common, and [`Population`]: a database that is only its rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::ProcedureId;
use hotrow_transaction::invocation::Invocation;

use crate::check::{CheckContext, CheckResult};
use crate::workload::{Generator, Share, TransactionKind, Workload};
use crate::{NAMES, ParameterError, workload_named};

/// A row: datums, and the heap they point into.
pub(crate) type Row = (Vec<Datum>, Vec<u8>);

/// Rows as a loader made them, without any engine.
#[derive(Default)]
pub(crate) struct Population {
    columns: BTreeMap<String, Vec<String>>,
    pub(crate) tables: BTreeMap<&'static str, Vec<Row>>,
    pub(crate) tally: Option<u64>,
    /// by kind; empty: nobody counted
    pub(crate) committed: Vec<u64>,
}

impl Population {
    pub(crate) fn load(workload: &dyn Workload, parts: u32, seed: u64) -> Self {
        let mut population =
            Self { columns: columns_of(&workload.schema_sql()), ..Self::default() };
        for index in 0..parts {
            let flow = workload.load(Share { index, of: parts }, seed, &mut |table, row, heap| {
                population.tables.entry(table).or_default().push((row.to_vec(), heap.to_vec()));
                ControlFlow::Continue(())
            });
            assert!(flow.is_continue());
        }
        population
    }

    pub(crate) fn column(&self, table: &str, column: &str) -> usize {
        let columns = &self.columns[table];
        columns.iter().position(|c| c == column).expect("the schema has this column")
    }

    /// All values of an integer, or date, or timestamp column.
    pub(crate) fn ints(&self, table: &str, column: &str) -> Vec<i64> {
        let at = self.column(table, column);
        self.tables[table].iter().map(|(row, _)| row[at].as_int()).collect()
    }

    /// All values of a numeric column, in its units.
    pub(crate) fn numerics(&self, table: &str, column: &str) -> Vec<i128> {
        let at = self.column(table, column);
        self.tables[table].iter().map(|(row, _)| row[at].as_numeric()).collect()
    }

    /// All values of a text column.
    pub(crate) fn texts(&self, table: &str, column: &str) -> Vec<String> {
        let at = self.column(table, column);
        let text = |(row, heap): &Row| heap[row[at].as_range().range()].to_vec();
        let texts = self.tables[table].iter().map(text);
        texts.map(|bytes| String::from_utf8(bytes).expect("loaders write ASCII")).collect()
    }

    pub(crate) fn set(&mut self, table: &str, row: usize, column: &str, datum: Datum) {
        let at = self.column(table, column);
        let rows = self.tables.get_mut(table).expect("the table has rows");
        rows[row].0[at] = datum;
    }

    /// Results of the checks that fail.
    pub(crate) fn failures(&mut self, workload: &dyn Workload) -> Vec<CheckResult> {
        let results: Vec<_> = workload.checks().iter().map(|check| check.result(self)).collect();
        results.into_iter().filter(|result| !result.holds()).collect()
    }
}

impl CheckContext for Population {
    fn rows(&mut self, table: &str, columns: &[&str], visit: &mut dyn FnMut(&[Datum], &[u8])) {
        let at: Vec<_> = columns.iter().map(|column| self.column(table, column)).collect();
        for (row, heap) in self.tables.get(table).into_iter().flatten() {
            let datums: Vec<_> = at.iter().map(|&i| row[i]).collect();
            visit(&datums, heap);
        }
    }

    fn committed(&self, kind: TransactionKind) -> Option<u64> {
        self.committed.get(kind.index()).copied()
    }

    fn tally(&self) -> Option<u64> {
        self.tally
    }
}

/// Table names and column names, read from the lines of a schema.
fn columns_of(schema: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut table = None;
    for line in schema.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some("CREATE"), Some("TABLE"), Some(name)) => table = Some(name.to_owned()),
            (Some("PRIMARY" | ")" | ");"), ..) => {}
            (Some(column), Some(_), _) if line.starts_with("    ") => {
                let table = table.clone().expect("columns stand in a table");
                tables.entry(table).or_default().push(column.to_owned());
            }
            _ => {}
        }
    }
    tables
}

/// A generator whose procedures are numbered as the workload lists them.
pub(crate) fn generator(workload: &dyn Workload, worker: Share, seed: u64) -> Box<dyn Generator> {
    let procedures = workload.procedures();
    workload.generator(worker, seed, &|name| {
        let at = procedures.iter().position(|p| *p == name).expect("only listed names are asked");
        ProcedureId(at as u32)
    })
}

/// A call, as integers: procedure, datums, elements, and the heap.
pub(crate) type Call = (u32, Vec<Datum>, Vec<Datum>, Vec<u8>);

pub(crate) fn call(invocation: &Invocation) -> Call {
    let arguments = &invocation.arguments;
    let (datums, elements) = (arguments.datums.clone(), arguments.elements.clone());
    (invocation.procedure.0, datums, elements, arguments.heap.clone())
}

/// The first `count` calls, with their kinds.
pub(crate) fn calls(
    workload: &dyn Workload,
    worker: Share,
    seed: u64,
    count: usize,
) -> Vec<(TransactionKind, Call)> {
    let mut generator = generator(workload, worker, seed);
    let mut invocation = Invocation::default();
    (0..count).map(|_| (generator.next(&mut invocation), call(&invocation))).collect()
}

/// Every workload, small.
fn small() -> Vec<Box<dyn Workload>> {
    let settings: &[(&str, &[(&str, &str)])] = &[
        ("tpcc", &[("items", "100"), ("customers", "30"), ("warehouses", "2")]),
        ("tpcb", &[("branches", "2"), ("accounts", "500"), ("reads", "50")]),
        ("tellers", &[("tellers", "600")]),
        ("tellers", &[("tellers", "600"), ("mix", "update")]),
        ("ycsb", &[("records", "1000"), ("reads", "50")]),
        ("counter", &[("rows", "600")]),
        ("tatp", &[("subscribers", "300")]),
        ("kv", &[("multi-partition", "30"), ("conflict", "20")]),
        (
            "kv",
            &[("partitions", "5"), ("multi-partition", "60"), ("rounds", "2"), ("aborts", "10")],
        ),
    ];
    let make = |(name, set): &(&str, &[(&str, &str)])| {
        let mut workload = workload_named(name).expect("the name is listed");
        for (name, text) in *set {
            workload.parameters_mut().set(name, text).expect("the setting is legal");
        }
        workload.parameters().validate().expect("the settings go together");
        workload
    };
    settings.iter().map(make).collect()
}

#[test]
fn every_name_is_a_workload_and_every_default_is_legal() {
    for name in NAMES {
        let workload = workload_named(name).expect("the name is listed");
        assert_eq!(workload.name(), *name);
        workload.parameters().validate().expect("defaults are legal");
        let sum: f64 = workload.kinds().iter().map(|kind| kind.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{name}");
    }
    assert!(workload_named("chess").is_none());
}

#[test]
fn parameters_read_back_what_they_show() {
    for name in NAMES {
        let mut workload = workload_named(name).expect("the name is listed");
        let before = workload.parameters().list();
        for parameter in &before {
            assert!(!parameter.about.is_empty() && !parameter.values.is_empty());
            let set = workload.parameters_mut().set(&parameter.name, &parameter.value);
            assert_eq!(set, Ok(()), "{name}: {}", parameter.name);
        }
        assert_eq!(workload.parameters().list(), before);
        let unknown = workload.parameters_mut().set("colour", "red");
        assert!(matches!(unknown, Err(ParameterError::Unknown(..))));
        for parameter in &before {
            let refused = workload.parameters_mut().set(&parameter.name, "sqrt(2)");
            assert!(matches!(refused, Err(ParameterError::Value(..))), "{}", parameter.name);
        }
    }
}

/// Parameters that a workload says only its calls depend on change nothing else; the others do.
#[test]
fn a_population_serves_all_calls_that_it_says_it_does() {
    let loaded = |workload: &dyn Workload| {
        let sql = [workload.schema_sql(), workload.procedures_sql()].map(String::from);
        (sql, Population::load(workload, 1, 7).tables, workload.kinds().len())
    };
    for (at, workload) in small().into_iter().enumerate() {
        let Some(counting) = workload.population_parameters() else { continue };
        let before = loaded(&*workload);
        let list = workload.parameters().list();
        assert!(counting.iter().all(|name| list.iter().any(|of| of.name == *name)));
        for parameter in &list {
            let one_of = parameter.values.split('|');
            let values = ["true", "31", "3", "0.5"].into_iter().chain(one_of);
            for value in values.filter(|value| *value != parameter.value) {
                let mut other = small().swap_remove(at);
                let is_set = other.parameters_mut().set(&parameter.name, value).is_ok();
                if !is_set || other.parameters().validate().is_err() {
                    continue;
                }
                let counts = counting.contains(&parameter.name.as_str());
                assert_eq!(loaded(&*other) != before, counts, "{} = {value}", parameter.name);
            }
        }
    }
}

#[test]
fn shares_cover_everything_without_overlap() {
    for (total, of) in [(0, 1), (1, 3), (10, 3), (7, 7), (5, 8), (u64::MAX, 1_000)] {
        let mut next = 0;
        for index in 0..of {
            let range = Share { index, of }.range(total);
            assert_eq!(range.start, next);
            next = range.end;
        }
        assert_eq!(next, total);
    }
}

#[test]
fn a_population_depends_on_its_seed_and_not_on_the_number_of_parts() {
    for workload in small() {
        let whole = Population::load(&*workload, 1, 42);
        for parts in [2, 3, 7] {
            let cut = Population::load(&*workload, parts, 42);
            assert!(cut.tables == whole.tables, "{} in {parts} parts", workload.name());
        }
        // Counters and values begin at 0; there is nothing to draw.
        let differs = Population::load(&*workload, 1, 43).tables != whole.tables;
        let draws = !["counter", "kv"].contains(&workload.name());
        assert_eq!(differs, draws, "{}", workload.name());
    }
}

#[test]
fn a_sink_that_breaks_ends_the_load() {
    for workload in small() {
        let mut rows = 0;
        let flow = workload.load(Share::WHOLE, 1, &mut |_, _, _| {
            rows += 1;
            if rows == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(flow.is_break() && rows == 5, "{}", workload.name());
    }
}

#[test]
fn rows_expected_is_about_what_the_loader_makes() {
    for workload in small() {
        let tables = Population::load(&*workload, 1, 42).tables;
        let rows: usize = tables.values().map(Vec::len).sum();
        let ratio = rows as f64 / workload.rows_expected() as f64;
        assert!((0.97..1.03).contains(&ratio), "{}: {ratio}", workload.name());
    }
}

#[test]
fn calls_depend_on_seed_and_worker_only() {
    let worker = |index| Share { index, of: 4 };
    for workload in small() {
        let first = calls(&*workload, worker(0), 1, 200);
        assert!(first == calls(&*workload, worker(0), 1, 200));
        assert!(first != calls(&*workload, worker(1), 1, 200));
        assert!(first != calls(&*workload, worker(0), 2, 200));
    }
}

#[test]
fn kinds_come_in_their_shares() {
    for workload in small() {
        const CALLS: usize = 20_000;
        let kinds = workload.kinds();
        let mut counts = vec![0_usize; kinds.len()];
        for (kind, _) in calls(&*workload, Share::WHOLE, 7, CALLS) {
            counts[kind.index()] += 1;
        }
        // Chi-square with at most 4 degrees of freedom: 18.5 is passed once in a thousand seeds.
        let mut chi_square = 0.0;
        for (info, count) in kinds.iter().zip(&counts) {
            let expected = info.share * CALLS as f64;
            if expected == 0.0 {
                assert_eq!(*count, 0);
            } else {
                chi_square += (*count as f64 - expected).powi(2) / expected;
            }
        }
        assert!(chi_square < 18.5, "{}: {counts:?}", workload.name());
    }
}

#[test]
fn a_fresh_population_passes_all_checks() {
    for workload in small() {
        let mut population = Population::load(&*workload, 2, 42);
        population.tally = Some(0);
        assert_eq!(population.failures(&*workload), []);
    }
}

#[test]
fn generators_reuse_the_invocation_s_memory() {
    for workload in small() {
        let mut generator = generator(&*workload, Share::WHOLE, 5);
        let mut invocation = Invocation::default();
        let capacities = |invocation: &Invocation| {
            let arguments = &invocation.arguments;
            (arguments.datums.capacity(), arguments.elements.capacity(), arguments.heap.capacity())
        };
        for _ in 0..2_000 {
            generator.next(&mut invocation);
        }
        let warm = capacities(&invocation);
        for _ in 0..2_000 {
            generator.next(&mut invocation);
        }
        assert_eq!(capacities(&invocation), warm, "{}", workload.name());
    }
}
