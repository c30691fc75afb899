//! One test per kind of statement and of consuming rows.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::program::*;

use crate::build::*;

fn bump(build: &mut Build, key: Expr, consume: Consume) -> SlotId {
    let visits = build.slot(INT);
    let set = vec![(VISITS, add(build.read(visits), int(1)))];
    build.say(StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path: account_at(key),
        bind: vec![(VISITS, visits)],
        filter: None,
        effect: Effect::Update { set, consume },
    })));
    visits
}

#[test]
fn loops_over_an_array_update_points() {
    let mut build = Build::new();
    let keys = build.parameter(SqlType::Array(INT));
    let key = build.slot(INT);
    let visits = build.slot(INT);
    let set = vec![(VISITS, add(build.read(visits), int(1)))];
    let update = StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path: account_at(build.read(key)),
        bind: vec![(VISITS, visits)],
        filter: None,
        effect: Effect::Update { set, consume: Consume::Discard },
    }));
    let body = vec![at(update, 2)];
    build.say(StatementKind::ForEach { slot: key, array: keys, body });
    build.show(&[FOUND, ROW_COUNT]);
    let mut world = World::with_accounts(3);
    let keys = Value::Array(vec![1.into(), 3.into(), 1.into(), 9.into()]);
    assert_eq!(world.rows(&build.procedure, &[keys]), "t,0");
    assert_eq!(world.table(ACCOUNT), "1,o1,10.00,3;2,o2,20.00,2;3,o3,30.00,1");
    assert_eq!(world.rows(&build.procedure, &[Value::Array(vec![])]), "f,0");
    let null = world.rows(&build.procedure, &[Value::Null]);
    assert_eq!(null, "22004: FOREACH expression must not be null @1");
}

#[test]
fn a_point_update_returns_new_values() {
    let mut build = Build::new();
    let out = build.slot(INT);
    let visits = SlotId(out.0 + 1);
    let value = Expr { kind: ExprKind::Slot(visits), sql_type: SqlType::Scalar(INT) };
    bump(&mut build, int(2), into(vec![(out, value)]));
    build.show(&[out, FOUND, ROW_COUNT]);
    let mut world = World::with_accounts(3);
    assert_eq!(world.rows(&build.procedure, &[]), "3,t,1");
}
