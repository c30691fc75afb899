//! Every case in `tests/cases/`, on every engine and in every variant: those of several clients at
//! once with two of 1, 2 and 4 threads in turn, others with one of these numbers.

use hotrow_tests::{case, case_run, matrix, state};

fn run_file(file: &str, text: &str) {
    let cases = case::parse(text);
    assert!(!cases.is_empty(), "{file} holds no case");
    let only = std::env::var("HOTROW_CASE").unwrap_or_default();
    let mut failures = Vec::new();
    for (turn, case) in cases.iter().enumerate().filter(|(_, case)| case.name.contains(&only)) {
        let has_crowds = case.steps.iter().any(|step| !case_run::is_alone(step));
        let setups = match has_crowds {
            true => matrix::setups([[1, 2], [2, 4], [1, 4]][turn % 3].as_slice()),
            false => matrix::setups_in_turn(turn),
        };
        for setup in setups {
            let db = setup.open();
            if let Err(difference) = case_run::run(&db, case) {
                failures.push(format!("{file}, {}, on {}\n{difference}", case.name, setup.name));
                break;
            }
            state::dump_checked(&db);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

macro_rules! files {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!(stringify!($name), ".case");
            run_file(file, include_str!(concat!("../../cases/", stringify!($name), ".case")));
        })*

        /// A case file that nobody runs says nothing.
        #[test]
        fn all_files_are_run() {
            let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
            let mut there: Vec<_> = std::fs::read_dir(directory)
                .expect("there are cases")
                .map(|file| file.expect("an entry").file_name().to_string_lossy().into_owned())
                .collect();
            there.sort();
            let mut run = vec![$(concat!(stringify!($name), ".case")),*];
            run.sort();
            assert_eq!(there, run);
        }
    };
}

files! {
    comments zones styles said_times arrays calls_and_rows cursors generated statements
    constraints control indexes kept_rows wide_numbers_and_names reconnaissance concurrency
    definitions order json interval lists templates times patterns schemas table_rows temporary
    expressions_in_indexes triggers writable_views merge overloads array_columns rights numerics
    alterations materialized variadic row_security instead partitions reports
    tables_without_keys recursion json_records ranges dynamic addresses array_dimensions bits
    refcursors circles composites citext deferred deferred_triggers computed_arguments
    variable_stars defining_blocks altered_routines
    renamed_schemas returned_queries random_bytes called_in_queries domains_in_routines
    told_errors altered_columns ending_calls choices settings_of_routines run_instead enum_order
    children_without_index table_syntax role_settings altered_domains dropped_types too_free
    views_and_not_valid truncating chains polymorphic parts_and_rows partition_indexes
    lazy_calls
}
