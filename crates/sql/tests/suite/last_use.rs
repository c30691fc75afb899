//! Which exclusive locks of the workloads' procedures could be released before the last access: a
//! call that has released one must not fail any more. None could, which is why `last_use=release`
//! of two_phase_locking leaves them alone.

use crate::database::Database;
use hotrow_transaction::program::{Consume, Effect, Expr, Procedure, Statement, StatementKind};
use hotrow_transaction::walk;

const WORKLOADS: [(&str, &str); 7] = [
    (
        include_str!("../../../workloads/src/tpcc/schema.sql"),
        include_str!("../../../workloads/src/tpcc/procedures.sql"),
    ),
    (
        include_str!("../../../workloads/src/tpcb/schema.sql"),
        include_str!("../../../workloads/src/tpcb/procedures.sql"),
    ),
    (
        include_str!("../../../workloads/src/ycsb/schema.sql"),
        include_str!("../../../workloads/src/ycsb/procedures.sql"),
    ),
    (
        include_str!("../../../workloads/src/counter/schema.sql"),
        include_str!("../../../workloads/src/counter/procedures.sql"),
    ),
    (
        include_str!("../../../workloads/src/tatp/schema.sql"),
        include_str!("../../../workloads/src/tatp/procedures.sql"),
    ),
    (
        include_str!("../../../workloads/src/kv/schema.sql"),
        include_str!("../../../workloads/src/kv/procedures.sql"),
    ),
    (
        include_str!("../../../workloads/src/kv/schema.sql"),
        include_str!("../../../workloads/src/kv/aborting.sql"),
    ),
];

/// Whether a statement can end its call: by an error of an expression or a constraint, by memory
/// that is used up, or because a loop, a visited row or a returned one took the last step of the
/// call's budget.
fn can_fail(statement: &Statement) -> bool {
    let fails = |exprs: &[&Expr]| exprs.iter().any(|expr| walk::can_fail(expr));
    match &statement.kind {
        StatementKind::Assign { value, .. } => walk::can_fail(value),
        StatementKind::If { condition, then, otherwise } => {
            walk::can_fail(condition) || then.iter().chain(otherwise).any(can_fail)
        }
        StatementKind::Return(values) => values.iter().any(walk::can_fail),
        StatementKind::Access(access) => {
            let reads_one = matches!(&access.effect, Effect::Read(consume)
                if matches!(consume, Consume::Discard | Consume::First { strict: false, .. }));
            let is_point = matches!(access.path, hotrow_transaction::program::Path::Point { .. });
            !(reads_one && is_point)
                || fails(&walk::path_exprs(&access.path))
                || fails(&walk::row_exprs(access))
        }
        _ => true,
    }
}

fn changes(statement: &Statement) -> bool {
    let mut changes = false;
    walk::statements(std::slice::from_ref(statement), &mut |inner| {
        changes |= match walk::own_site(inner) {
            Some(walk::Site::Access(access)) => !matches!(access.effect, Effect::Read(_)),
            Some(walk::Site::Insert(_)) => true,
            None => false,
        };
    });
    changes
}

/// How many accesses come behind the statement from which on nothing can fail, when a row was
/// changed before: that long an exclusive lock could be given back early.
fn accesses_without_fail(procedure: &Procedure) -> usize {
    let body = &procedure.body;
    let safe = body.iter().rposition(can_fail).map_or(0, |last| last + 1);
    if !body[..safe].iter().any(changes) {
        return 0;
    }
    walk::sites(&body[safe..]).len()
}

fn procedures(schema: &str, text: &str) -> Vec<Procedure> {
    let mut database = Database::with(schema);
    database.run(text);
    database.procedures.into_values().collect()
}

#[test]
fn no_procedure_of_the_workloads_could_release_an_exclusive_lock_early() {
    let mut seen = 0;
    for (schema, text) in WORKLOADS {
        for procedure in procedures(schema, text) {
            assert_eq!(accesses_without_fail(&procedure), 0, "{}", procedure.name);
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} procedures");
}

#[test]
fn one_that_reads_at_its_end_could() {
    let tables = "CREATE TABLE t (id bigint PRIMARY KEY, value bigint NOT NULL);";
    let body =
        "UPDATE t SET value = value + 1 WHERE id = p; SELECT value INTO v FROM t WHERE id = q;";
    let text = format!(
        "CREATE FUNCTION f(p bigint, q bigint) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE v bigint; BEGIN {body} RETURN v; END; $$;"
    );
    let found: Vec<_> = procedures(tables, &text).iter().map(accesses_without_fail).collect();
    assert_eq!(found, [1]);
}
