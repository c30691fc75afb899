//! TPC-B's consistency: every balance is the sum of the amounts that history has for it.
//!
//! Role         made after a run, over rows
//! Source       the specification's consistency conditions: the sums of the balances of accounts,
//!              tellers and branches and of the history's amounts are equal, and the tellers' of
//!              each branch are the branch's. We add the same for each single record, which holds
//!              where updates were turned into reads, too, because history says which were left.

use std::collections::BTreeMap;

use super::{MIXED, UPDATE};
use crate::check::{Check, CheckContext, Faults, Finding};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "tpcb-accounts",
        about: "A_BALANCE = sum(H_DELTA) of the account's updates",
        run: |context| records(context, "account", ["a_id", "a_balance"], "h_a_id", 1),
    },
    Check {
        name: "tpcb-tellers",
        about: "T_BALANCE = sum(H_DELTA) of the teller's updates",
        run: |context| records(context, "teller", ["t_id", "t_balance"], "h_t_id", 2),
    },
    Check {
        name: "tpcb-branches",
        about: "B_BALANCE = sum(H_DELTA) of the branch's updates",
        run: |context| records(context, "branch", ["b_id", "b_balance"], "h_b_id", 4),
    },
    Check {
        name: "tpcb-sums",
        about: "sum(A_BALANCE) = sum(T_BALANCE) = sum(B_BALANCE) = sum(H_DELTA); by branch, too",
        run: sums,
    },
    Check {
        name: "tpcb-history",
        about: "count of HISTORY = committed transactions that updated",
        run: history,
    },
];

/// Sums by number, in its order, so that the first fault is always the same.
type Sums = BTreeMap<i64, i64>;

/// Sums of the second column by the first, over rows whose third has one of the bits `updates`.
fn sums_where(
    context: &mut dyn CheckContext,
    table: &str,
    columns: [&str; 3],
    updates: i64,
) -> Sums {
    let mut sums = Sums::new();
    context.rows(table, &columns, &mut |row, _| {
        if row[2].as_int() & updates != 0 {
            *sums.entry(row[0].as_int()).or_default() += row[1].as_int();
        }
    });
    sums
}

/// Sums of the second column by the first.
fn sums_of(context: &mut dyn CheckContext, table: &str, columns: [&str; 2]) -> Sums {
    let mut sums = Sums::new();
    context.rows(table, &columns, &mut |row, _| {
        *sums.entry(row[0].as_int()).or_default() += row[1].as_int();
    });
    sums
}

/// The sum for a number; one that nobody added to is 0.
fn of(sums: &Sums, number: i64) -> i64 {
    sums.get(&number).copied().unwrap_or(0)
}

/// Compares each record's balance with the history of its updates, those with the bit `update`.
fn records(
    context: &mut dyn CheckContext,
    table: &str,
    columns: [&str; 2],
    history_column: &str,
    update: i64,
) -> Finding {
    let columns_of_history = [history_column, "h_delta", "h_updates"];
    let expected = sums_where(context, "history", columns_of_history, update);
    let mut found = Sums::new();
    let mut rows = 0;
    context.rows(table, &columns, &mut |row, _| {
        rows += 1;
        *found.entry(row[0].as_int()).or_default() += row[1].as_int();
    });
    let mut faults = Faults::default();
    let strangers = expected.keys().filter(|&number| !found.contains_key(number));
    for &number in found.keys().chain(strangers) {
        let (balance, deltas) = (of(&found, number), of(&expected, number));
        faults.expect(balance == deltas, || {
            format!("{table} {number}: balance {balance}, history adds up to {deltas}")
        });
    }
    let (first, last) = (found.keys().next(), found.keys().next_back());
    let complete = first == Some(&1) && last == Some(&(rows as i64)) && found.len() == rows;
    faults.expect(complete, || format!("numbers {first:?} to {last:?} in {rows} rows"));
    faults.finish(rows, "rows")
}

fn sums(context: &mut dyn CheckContext) -> Finding {
    let columns = ["h_b_id", "h_delta", "h_updates"];
    let mut all_updated = true;
    context.rows("history", &["h_updates"], &mut |row, _| all_updated &= row[0].as_int() == 7);
    if !all_updated {
        return Finding::Skipped("some updates were turned into reads");
    }
    let deltas = sums_where(context, "history", columns, 7);
    let branches = sums_of(context, "branch", ["b_id", "b_balance"]);
    let tellers = sums_of(context, "teller", ["t_b_id", "t_balance"]);
    let accounts = sums_of(context, "account", ["a_b_id", "a_balance"]);
    let mut faults = Faults::default();
    for (&branch, &own) in &branches {
        let (tellers, deltas) = (of(&tellers, branch), of(&deltas, branch));
        faults.expect(own == tellers && own == deltas, || {
            format!("branch {branch}: {own}, its tellers {tellers}, its history {deltas}")
        });
    }
    let totals = [&accounts, &tellers, &branches, &deltas].map(|s| s.values().sum::<i64>());
    faults.expect(totals.iter().all(|total| *total == totals[0]), || {
        format!("accounts, tellers, branches and history add up to {totals:?}")
    });
    faults.finish(branches.len(), "branches")
}

fn history(context: &mut dyn CheckContext) -> Finding {
    let (Some(updates), Some(mixed)) = (context.committed(UPDATE), context.committed(MIXED)) else {
        return Finding::Skipped("nobody counted the committed transactions");
    };
    let mut rows = 0_u64;
    context.rows("history", &[], &mut |_, _| rows += 1);
    let mut faults = Faults::default();
    faults.expect(rows == updates + mixed, || {
        format!("{rows} rows of history, {updates} + {mixed} committed transactions that updated")
    });
    faults.finish(rows as usize, "rows")
}
