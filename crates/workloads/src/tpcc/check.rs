//! TPC-C's twelve consistency conditions (clause 3.3.2), over rows.
//!
//! Role         made after a run; the clause's conditions are joins, which procedures have not, so
//!              they are written over scans, one function each
//! Source       clauses 3.3.2.1 to 3.3.2.12. We differ in 3.3.2.11: its "= 2100" is said of a fresh
//!              population; here it is 2100 plus what was delivered since, which
//!              C_DELIVERY_CNT counts, so that it holds after any run.

use std::collections::BTreeMap;

use hotrow_base::datum::Datum;

use crate::check::{Check, CheckContext, Faults, Finding};

/// Up to three integer key columns; unused ones are 0.
type Key = [i64; 3];
/// Groups by key, in key order, so that the first fault is always the same.
type Groups<A> = BTreeMap<Key, A>;

const ORDER_KEY: [&str; 3] = ["o_w_id", "o_d_id", "o_id"];
const LINE_KEY: [&str; 3] = ["ol_w_id", "ol_d_id", "ol_o_id"];
const NEW_ORDER_KEY: [&str; 3] = ["no_w_id", "no_d_id", "no_o_id"];

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "tpcc-3.3.2.1",
        about: "W_YTD = sum(D_YTD) for each warehouse",
        run: warehouse_and_districts,
    },
    Check {
        name: "tpcc-3.3.2.2",
        about: "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID) for each district",
        run: next_order,
    },
    Check {
        name: "tpcc-3.3.2.3",
        about: "max(NO_O_ID) - min(NO_O_ID) + 1 = count of NEW-ORDER for each district",
        run: new_orders_without_gaps,
    },
    Check {
        name: "tpcc-3.3.2.4",
        about: "sum(O_OL_CNT) = count of ORDER-LINE for each district",
        run: lines_of_districts,
    },
    Check {
        name: "tpcc-3.3.2.5",
        about: "O_CARRIER_ID is null if and only if the order is in NEW-ORDER",
        run: carriers,
    },
    Check {
        name: "tpcc-3.3.2.6",
        about: "O_OL_CNT = count of ORDER-LINE for each order",
        run: lines_of_orders,
    },
    Check {
        name: "tpcc-3.3.2.7",
        about: "OL_DELIVERY_D is null if and only if the order's O_CARRIER_ID is",
        run: delivery_dates,
    },
    Check {
        name: "tpcc-3.3.2.8",
        about: "W_YTD = sum(H_AMOUNT) for each warehouse",
        run: warehouse_and_history,
    },
    Check {
        name: "tpcc-3.3.2.9",
        about: "D_YTD = sum(H_AMOUNT) for each district",
        run: district_and_history,
    },
    Check {
        name: "tpcc-3.3.2.10",
        about: "C_BALANCE = sum(delivered OL_AMOUNT) - sum(H_AMOUNT) for each customer",
        run: balances,
    },
    Check {
        name: "tpcc-3.3.2.11",
        about: "ORDER - NEW-ORDER = 7/10 of the customers + sum(C_DELIVERY_CNT) for each district",
        run: deliveries,
    },
    Check {
        name: "tpcc-3.3.2.12",
        about: "C_BALANCE + C_YTD_PAYMENT = sum(delivered OL_AMOUNT) for each customer",
        run: balances_and_payments,
    },
];

/// Scans a table, grouping by `key` and folding the columns `values` into each group.
fn group<A: Default>(
    context: &mut dyn CheckContext,
    table: &str,
    key: &[&str],
    values: &[&str],
    mut fold: impl FnMut(&mut A, &[Datum]),
) -> Groups<A> {
    let columns: Vec<&str> = key.iter().chain(values).copied().collect();
    let mut groups = Groups::new();
    context.rows(table, &columns, &mut |row, _| {
        let mut at = Key::default();
        for (part, datum) in at.iter_mut().zip(&row[..key.len()]) {
            *part = datum.as_int();
        }
        fold(groups.entry(at).or_default(), &row[key.len()..]);
    });
    groups
}

/// Sums of one numeric column, in its units.
fn sums(context: &mut dyn CheckContext, table: &str, key: &[&str], value: &str) -> Groups<i128> {
    group(context, table, key, &[value], |sum, row| *sum += row[0].as_numeric())
}

fn counts(context: &mut dyn CheckContext, table: &str, key: &[&str]) -> Groups<i128> {
    group(context, table, key, &[], |count, _| *count += 1)
}

/// Expects the same groups with the same values on both sides; an absent group counts as 0.
fn equal(left: &Groups<i128>, right: &Groups<i128>, noun: &str) -> Finding {
    let mut faults = Faults::default();
    let absent = right.keys().filter(|&key| !left.contains_key(key));
    for key in left.keys().chain(absent) {
        let at = |side: &Groups<i128>| side.get(key).copied().unwrap_or(0);
        faults.expect(at(left) == at(right), || {
            format!("{key:?}: {} is not {}", at(left), at(right))
        });
    }
    faults.finish(left.len(), noun)
}

fn warehouse_and_districts(context: &mut dyn CheckContext) -> Finding {
    let warehouses = sums(context, "warehouse", &["w_id"], "w_ytd");
    let districts = sums(context, "district", &["d_w_id"], "d_ytd");
    equal(&warehouses, &districts, "warehouses")
}

/// Smallest and greatest order number of a district, and how many there are.
#[derive(Clone, Copy)]
struct Span {
    min: i64,
    max: i64,
    count: i64,
}

impl Default for Span {
    fn default() -> Self {
        Self { min: i64::MAX, max: i64::MIN, count: 0 }
    }
}

fn spans(context: &mut dyn CheckContext, table: &str, key: [&str; 3]) -> Groups<Span> {
    group(context, table, &key[..2], &key[2..], |span: &mut Span, row| {
        let number = row[0].as_int();
        span.min = span.min.min(number);
        span.max = span.max.max(number);
        span.count += 1;
    })
}

fn next_order(context: &mut dyn CheckContext) -> Finding {
    let next: Groups<i64> =
        group(context, "district", &["d_w_id", "d_id"], &["d_next_o_id"], |next, row| {
            *next = row[0].as_int();
        });
    let orders = spans(context, "orders", ORDER_KEY);
    let new_orders = spans(context, "new_order", NEW_ORDER_KEY);
    let mut faults = Faults::default();
    for (key, next) in &next {
        let newest = orders.get(key).map_or(0, |span| span.max);
        faults.expect(next - 1 == newest, || {
            format!("{key:?}: next order {next}, newest order {newest}")
        });
        // A district whose orders are all delivered has no max(NO_O_ID).
        let undelivered = new_orders.get(key).map_or(newest, |span| span.max);
        faults.expect(undelivered == newest, || {
            format!("{key:?}: newest order {newest}, newest new order {undelivered}")
        });
    }
    faults.finish(next.len(), "districts")
}

fn new_orders_without_gaps(context: &mut dyn CheckContext) -> Finding {
    let new_orders = spans(context, "new_order", NEW_ORDER_KEY);
    let mut faults = Faults::default();
    for (key, span) in &new_orders {
        faults.expect(span.max - span.min + 1 == span.count, || {
            format!("{key:?}: {} new orders in {} to {}", span.count, span.min, span.max)
        });
    }
    faults.finish(new_orders.len(), "districts")
}

/// Sums of O_OL_CNT for the first `parts` columns of the order's key.
fn declared_lines(context: &mut dyn CheckContext, parts: usize) -> Groups<i128> {
    group(context, "orders", &ORDER_KEY[..parts], &["o_ol_cnt"], |sum, row| {
        *sum += i128::from(row[0].as_int());
    })
}

fn lines_of_districts(context: &mut dyn CheckContext) -> Finding {
    let declared = declared_lines(context, 2);
    equal(&declared, &counts(context, "order_line", &LINE_KEY[..2]), "districts")
}

fn lines_of_orders(context: &mut dyn CheckContext) -> Finding {
    let declared = declared_lines(context, 3);
    equal(&declared, &counts(context, "order_line", &LINE_KEY), "orders")
}

/// 1 for each order without a carrier, 0 for the others.
fn undelivered(context: &mut dyn CheckContext) -> Groups<i128> {
    group(context, "orders", &ORDER_KEY, &["o_carrier_id"], |flag, row| {
        *flag = i128::from(row[0].is_null());
    })
}

fn carriers(context: &mut dyn CheckContext) -> Finding {
    let undelivered = undelivered(context);
    equal(&undelivered, &counts(context, "new_order", &NEW_ORDER_KEY), "orders")
}

fn delivery_dates(context: &mut dyn CheckContext) -> Finding {
    let undelivered = undelivered(context);
    let lines: Groups<(u32, u32)> =
        group(context, "order_line", &LINE_KEY, &["ol_delivery_d"], |(without, all), row| {
            *without += u32::from(row[0].is_null());
            *all += 1;
        });
    let mut faults = Faults::default();
    for (key, &(without, all)) in &lines {
        let expected = match undelivered.get(key) {
            Some(1) => Some(all),
            Some(_) => Some(0),
            None => None,
        };
        faults.expect(expected == Some(without), || match expected {
            Some(_) => format!("{key:?}: {without} of {all} lines without a delivery date"),
            None => format!("{key:?}: lines without an order"),
        });
    }
    faults.finish(lines.len(), "orders")
}

fn warehouse_and_history(context: &mut dyn CheckContext) -> Finding {
    let warehouses = sums(context, "warehouse", &["w_id"], "w_ytd");
    let history = sums(context, "history", &["h_w_id"], "h_amount");
    equal(&warehouses, &history, "warehouses")
}

fn district_and_history(context: &mut dyn CheckContext) -> Finding {
    let districts = sums(context, "district", &["d_w_id", "d_id"], "d_ytd");
    let history = sums(context, "history", &["h_w_id", "h_d_id"], "h_amount");
    equal(&districts, &history, "districts")
}

/// Sum of the amounts of delivered order lines for each customer.
fn delivered_amounts(context: &mut dyn CheckContext) -> Groups<i128> {
    let amounts: Groups<i128> =
        group(context, "order_line", &LINE_KEY, &["ol_delivery_d", "ol_amount"], |sum, row| {
            if !row[0].is_null() {
                *sum += row[1].as_numeric();
            }
        });
    let mut customers = Groups::new();
    let columns = [ORDER_KEY[0], ORDER_KEY[1], ORDER_KEY[2], "o_c_id"];
    context.rows("orders", &columns, &mut |row, _| {
        let [warehouse, district, order, customer] = [0, 1, 2, 3].map(|i: usize| row[i].as_int());
        let amount = amounts.get(&[warehouse, district, order]).copied().unwrap_or(0);
        *customers.entry([warehouse, district, customer]).or_default() += amount;
    });
    customers
}

const CUSTOMER_KEY: [&str; 3] = ["c_w_id", "c_d_id", "c_id"];

fn balances(context: &mut dyn CheckContext) -> Finding {
    let balances = sums(context, "customer", &CUSTOMER_KEY, "c_balance");
    let mut expected = delivered_amounts(context);
    let paid = sums(context, "history", &["h_c_w_id", "h_c_d_id", "h_c_id"], "h_amount");
    for (key, paid) in paid {
        *expected.entry(key).or_default() -= paid;
    }
    equal(&balances, &expected, "customers")
}

fn deliveries(context: &mut dyn CheckContext) -> Finding {
    let mut delivered = counts(context, "orders", &ORDER_KEY[..2]);
    for (key, waiting) in counts(context, "new_order", &NEW_ORDER_KEY[..2]) {
        *delivered.entry(key).or_default() -= waiting;
    }
    let customers: Groups<(i128, i128)> =
        group(context, "customer", &CUSTOMER_KEY[..2], &["c_delivery_cnt"], |(all, count), row| {
            *all += 1;
            *count += i128::from(row[0].as_int());
        });
    let expected: Groups<i128> = customers
        .into_iter()
        .map(|(key, (customers, delivered))| (key, customers - customers * 3 / 10 + delivered))
        .collect();
    equal(&delivered, &expected, "districts")
}

fn balances_and_payments(context: &mut dyn CheckContext) -> Finding {
    let columns = ["c_balance", "c_ytd_payment"];
    let balances: Groups<i128> = group(context, "customer", &CUSTOMER_KEY, &columns, |sum, row| {
        *sum += row[0].as_numeric() + row[1].as_numeric();
    });
    equal(&balances, &delivered_amounts(context), "customers")
}
