//! The table of functions, and which of it a call means.

use std::collections::HashMap;

use hotrow_base::types::{DataType, SqlType};
use hotrow_sql::{FUNCTIONS, FunctionRow, function_document, resolve_function};
use hotrow_transaction::program::Place;

fn of(types: &[Option<DataType>]) -> Vec<Option<SqlType>> {
    types.iter().map(|of| of.map(SqlType::Scalar)).collect()
}

/// The signature of what is chosen, or the error's code.
fn chosen(name: &str, types: &[Option<DataType>]) -> String {
    match resolve_function(name, &of(types), Place::default()) {
        Ok(row) => row.signature(),
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn overloads_are_chosen_as_postgresql_does() {
    use DataType as T;
    let numeric = Some(T::Numeric { precision: 8, scale: 2 });
    for (name, types, expected) in [
        // exactly
        ("round", vec![numeric], "round(numeric)"),
        ("length", vec![Some(T::Bytea)], "length(bytea)"),
        ("length", vec![Some(T::Varchar(3))], "length(text)"),
        ("date_trunc", vec![Some(T::Text), Some(T::Interval)], "date_trunc(text, interval)"),
        // by what it becomes, rather the preferred type
        ("round", vec![Some(T::Integer)], "round(double precision)"),
        ("round", vec![Some(T::Integer), Some(T::SmallInt)], "round(numeric, integer)"),
        ("age", vec![Some(T::Date), Some(T::Date)], "age(timestamptz, timestamptz)"),
        ("pg_advisory_lock", vec![Some(T::Integer)], "pg_advisory_lock(bigint)"),
        // literals without a type
        ("length", vec![None], "length(text)"),
        ("round", vec![None], "round(double precision)"),
        ("age", vec![None], "age(timestamptz)"),
        ("age", vec![Some(T::TIMESTAMP), None], "age(timestamp, timestamp)"),
        // a wider integer, where nothing else fits
        ("left", vec![Some(T::Text), Some(T::BigInt)], "left(text, integer)"),
        ("left", vec![Some(T::Text), Some(T::Double)], "42883"),
        ("round", vec![Some(T::Double), Some(T::Integer)], "42883"),
        ("lower", vec![Some(T::Integer)], "42883"),
        ("lower", vec![], "42883"),
        ("lowre", vec![None], "42883"),
    ] {
        assert_eq!(chosen(name, &types), expected, "{name} of {types:?}");
    }
}

#[test]
fn what_there_is_not_is_told_with_what_is_near() {
    let refused = |name: &str, types: &[Option<DataType>]| {
        resolve_function(name, &of(types), Place::default()).expect_err("there is no such function")
    };
    let near = refused("lowre", &[Some(DataType::Integer), None]);
    assert_eq!(near.message, "function lowre(integer, unknown) does not exist");
    assert!(near.hint.as_deref().is_some_and(|hint| hint.contains("lower?")), "{near:?}");
    let other = refused("round", &[Some(DataType::Double), Some(DataType::Integer)]);
    assert!(
        other.hint.as_deref().is_some_and(|hint| hint.contains("round(numeric, integer)")),
        "{other:?}"
    );
}

#[test]
fn functions_of_one_name_are_of_one_family() {
    let family = |row: &FunctionRow| (row.kind(), row.is_refused(), row.is_syntax());
    let mut families = HashMap::new();
    let mut count = 0;
    for row in FUNCTIONS.iter().flat_map(|group| group.rows) {
        for name in row.names() {
            let of_name = *families.entry(name).or_insert(family(row));
            assert_eq!(of_name, family(row), "{name}");
            count += 1;
        }
    }
    assert!(count > 250, "there are {count} names");
}

#[test]
fn the_document_is_what_the_table_says() {
    let document = include_str!("../../../../docs/functions.md");
    let same = document == function_document();
    assert!(same, "write it anew: hotrow functions --document docs/functions.md");
}
