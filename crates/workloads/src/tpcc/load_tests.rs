//! The population against clause 4.3.3.1, and the checks against damaged rows.

use std::collections::{BTreeMap, BTreeSet};

use hotrow_base::datum::Datum;

use super::{Tpcc, TpccParameters};
use crate::tests::Population;

fn tpcc(parameters: TpccParameters) -> Tpcc {
    Tpcc { parameters }
}

/// Two warehouses of 2,000 items and 300 customers per district.
fn middle() -> Population {
    let parameters =
        TpccParameters { warehouses: 2, items: 2_000, customers: 300, ..Default::default() };
    Population::load(&tpcc(parameters), 3, 11)
}

fn within<T: PartialOrd + Copy + std::fmt::Debug>(values: &[T], least: T, most: T) {
    for value in values {
        assert!((least..=most).contains(value), "{value:?} is not in {least:?} to {most:?}");
    }
}

#[test]
fn every_table_has_the_rows_the_clause_asks_for() {
    let population = middle();
    let count = |table: &str| population.tables[table].len();
    assert_eq!(count("item"), 2_000);
    assert_eq!(count("warehouse"), 2);
    assert_eq!(count("stock"), 2 * 2_000);
    assert_eq!(count("district"), 2 * 10);
    assert_eq!(count("customer"), 2 * 10 * 300);
    assert_eq!(count("history"), 2 * 10 * 300);
    assert_eq!(count("orders"), 2 * 10 * 300);
    assert_eq!(count("new_order"), 2 * 10 * 90);
    let lines: i64 = population.ints("orders", "o_ol_cnt").iter().sum();
    assert_eq!(count("order_line") as i64, lines);
}

#[test]
fn every_row_has_as_many_values_as_its_table_has_columns() {
    let population = middle();
    for (table, columns) in [("warehouse", 9), ("district", 11), ("customer", 21), ("history", 8)]
        .into_iter()
        .chain([("orders", 8), ("new_order", 3), ("order_line", 10), ("item", 5), ("stock", 17)])
    {
        assert!(population.tables[table].iter().all(|(row, _)| row.len() == columns), "{table}");
    }
}

#[test]
fn numbers_lie_in_their_ranges() {
    let population = middle();
    let p = &population;
    within(&p.ints("item", "i_im_id"), 1, 10_000);
    within(&p.numerics("item", "i_price"), 100, 10_000);
    within(&p.numerics("warehouse", "w_tax"), 0, 2_000);
    within(&p.numerics("district", "d_tax"), 0, 2_000);
    within(&p.ints("district", "d_next_o_id"), 301, 301);
    within(&p.numerics("customer", "c_discount"), 0, 5_000);
    within(&p.numerics("customer", "c_balance"), -1_000, -1_000);
    within(&p.ints("stock", "s_quantity"), 10, 100);
    within(&p.ints("orders", "o_ol_cnt"), 5, 15);
    within(&p.ints("order_line", "ol_i_id"), 1, 2_000);
    within(&p.ints("order_line", "ol_quantity"), 5, 5);
    within(&p.numerics("order_line", "ol_amount"), 0, 999_999);
    within(&p.ints("new_order", "no_o_id"), 211, 300);
}

#[test]
fn strings_have_their_lengths_and_alphabets() {
    let population = middle();
    let lengths = |table: &str, column: &str, least: usize, most: usize| {
        let texts = population.texts(table, column);
        let lengths: Vec<_> = texts.iter().map(String::len).collect();
        within(&lengths, least, most);
        assert!(texts.iter().all(|t| t.bytes().all(|b| b.is_ascii_alphanumeric())), "{column}");
        let used: BTreeSet<_> = lengths.into_iter().collect();
        assert!(used.len() > (most - least) / 2, "{column} uses {used:?}");
    };
    lengths("item", "i_name", 14, 24);
    lengths("item", "i_data", 26, 50);
    lengths("stock", "s_data", 26, 50);
    lengths("stock", "s_dist_01", 24, 24);
    lengths("stock", "s_dist_10", 24, 24);
    lengths("district", "d_name", 6, 10);
    lengths("customer", "c_first", 8, 16);
    lengths("customer", "c_street_1", 10, 20);
    lengths("customer", "c_state", 2, 2);
    lengths("customer", "c_phone", 16, 16);
    lengths("customer", "c_data", 300, 500);
    lengths("history", "h_data", 12, 24);
    assert!(population.texts("customer", "c_zip").iter().all(|z| z.ends_with("11111")));
    assert!(population.texts("customer", "c_phone").iter().all(|p| p.parse::<u64>().is_ok()));
}

#[test]
fn one_in_ten_is_original_or_has_bad_credit() {
    let population = middle();
    let share = |texts: Vec<String>, needle: &str| {
        texts.iter().filter(|t| t.contains(needle)).count() as f64 / texts.len() as f64
    };
    let shares = [
        share(population.texts("item", "i_data"), "ORIGINAL"),
        share(population.texts("stock", "s_data"), "ORIGINAL"),
        share(population.texts("customer", "c_credit"), "BC"),
    ];
    assert!(shares.iter().all(|s| (0.08..0.12).contains(s)), "{shares:?}");
}

#[test]
fn each_customer_of_a_district_has_one_order_in_random_order() {
    let population = middle();
    let p = &population;
    let mut districts: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
    let (warehouses, numbers) = (p.ints("orders", "o_w_id"), p.ints("orders", "o_d_id"));
    let customers = p.ints("orders", "o_c_id");
    for ((warehouse, district), customer) in warehouses.iter().zip(&numbers).zip(customers) {
        districts.entry((*warehouse, *district)).or_default().push(customer);
    }
    assert_eq!(districts.len(), 20);
    let mut orders = BTreeSet::new();
    for customers in districts.values() {
        let mut sorted = customers.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(1..=300) && *customers != sorted);
        orders.insert(customers.clone());
    }
    assert_eq!(orders.len(), 20, "each district has its own permutation");
}

#[test]
fn carriers_and_dates_are_null_exactly_for_the_last_three_tenths() {
    let population = middle();
    let nulls = |table: &str, column: &str, order: &str| {
        let at = population.column(table, column);
        let orders = population.ints(table, order);
        for ((row, _), order) in population.tables[table].iter().zip(orders) {
            assert_eq!(row[at].is_null(), order > 210, "{table}, order {order}");
        }
    };
    nulls("orders", "o_carrier_id", "o_id");
    nulls("order_line", "ol_delivery_d", "ol_o_id");
}

#[test]
fn the_first_thousand_customers_take_the_last_names_in_turn() {
    let parameters = TpccParameters { items: 100, customers: 1_500, ..Default::default() };
    let population = Population::load(&tpcc(parameters), 1, 11);
    let names = population.texts("customer", "c_last");
    assert_eq!(&names[..3], ["BARBARBAR", "BARBAROUGHT", "BARBARABLE"]);
    assert_eq!(names[371], "PRICALLYOUGHT");
    let first: BTreeSet<_> = names[..1_000].iter().collect();
    assert_eq!(first.len(), 1_000);
    let later: BTreeSet<_> = names[1_000..1_500].iter().collect();
    assert!(later.len() < 400, "NURand(255, 0, 999) favours some: {}", later.len());
}

/// A damage: table, column, new value of its first row; and the conditions that must notice.
type Damage = (&'static str, &'static str, Datum, &'static [&'static str]);

#[test]
fn each_condition_notices_a_damaged_row() {
    let workload = tpcc(TpccParameters::tiny(2));
    let damages: &[Damage] = &[
        ("warehouse", "w_ytd", Datum::numeric(1), &["tpcc-3.3.2.1", "tpcc-3.3.2.8"]),
        ("district", "d_ytd", Datum::numeric(1), &["tpcc-3.3.2.1", "tpcc-3.3.2.9"]),
        ("district", "d_next_o_id", Datum::int(9), &["tpcc-3.3.2.2"]),
        ("new_order", "no_o_id", Datum::int(1), &["tpcc-3.3.2.3", "tpcc-3.3.2.5"]),
        ("orders", "o_ol_cnt", Datum::int(99), &["tpcc-3.3.2.4", "tpcc-3.3.2.6"]),
        ("orders", "o_carrier_id", Datum::NULL, &["tpcc-3.3.2.5", "tpcc-3.3.2.7"]),
        ("order_line", "ol_delivery_d", Datum::NULL, &["tpcc-3.3.2.7"]),
        ("order_line", "ol_amount", Datum::numeric(7), &["tpcc-3.3.2.10", "tpcc-3.3.2.12"]),
        ("customer", "c_balance", Datum::numeric(0), &["tpcc-3.3.2.10", "tpcc-3.3.2.12"]),
        ("customer", "c_ytd_payment", Datum::numeric(0), &["tpcc-3.3.2.12"]),
        ("customer", "c_delivery_cnt", Datum::int(1), &["tpcc-3.3.2.11"]),
        (
            "history",
            "h_amount",
            Datum::numeric(999),
            &["tpcc-3.3.2.8", "tpcc-3.3.2.9", "tpcc-3.3.2.10"],
        ),
    ];
    for (table, column, datum, conditions) in damages {
        let mut population = Population::load(&workload, 1, 5);
        population.set(table, 0, column, *datum);
        let failures = population.failures(&workload);
        let names: Vec<_> = failures.iter().map(|result| result.name).collect();
        assert_eq!(names, *conditions, "{table}.{column}: {failures:?}");
    }
}

#[test]
fn a_lost_row_is_noticed() {
    let workload = tpcc(TpccParameters::tiny(1));
    let losses: &[(&str, &[&str])] = &[
        ("order_line", &["tpcc-3.3.2.4", "tpcc-3.3.2.6"]),
        ("orders", &["tpcc-3.3.2.4", "tpcc-3.3.2.6", "tpcc-3.3.2.7", "tpcc-3.3.2.11"]),
        ("history", &["tpcc-3.3.2.8", "tpcc-3.3.2.9", "tpcc-3.3.2.10"]),
        ("new_order", &["tpcc-3.3.2.5", "tpcc-3.3.2.11"]),
    ];
    for (table, conditions) in losses {
        let mut population = Population::load(&workload, 1, 5);
        let rows = population.tables.get_mut(table).expect("the table has rows");
        rows.remove(0);
        let failures = population.failures(&workload);
        let names: Vec<_> = failures.iter().map(|result| result.name).collect();
        assert_eq!(names, *conditions, "{table}: {failures:?}");
    }
}
