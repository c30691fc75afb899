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
    build.say(StatementKind::ForEach { slot: key, elements: Elements::Array(keys), body });
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

fn range(prefix: Vec<Expr>, lower: Option<(Expr, bool)>, upper: Option<(Expr, bool)>) -> Path {
    let end =
        |end: Option<(Expr, bool)>| end.map(|(value, inclusive)| RangeEnd { value, inclusive });
    let index = ACCOUNT_VISITS;
    Path::Range { index, prefix, lower: end(lower), upper: end(upper), descending: false }
}

fn by_id(lower: Option<(Expr, bool)>, upper: Option<(Expr, bool)>) -> Path {
    match range(Vec::new(), lower, upper) {
        Path::Range { prefix, lower, upper, descending, .. } => {
            Path::Range { index: ACCOUNT_KEY, prefix, lower, upper, descending }
        }
        other => other,
    }
}

fn descending(path: Path) -> Path {
    match path {
        Path::Range { index, prefix, lower, upper, .. } => {
            Path::Range { index, prefix, lower, upper, descending: true }
        }
        other => other,
    }
}

/// What a query's rows are asked for, apart from their values.
#[derive(Default)]
struct Wish {
    distinct: bool,
    order_by: Vec<OrderKey>,
    limit: Option<Expr>,
    offset: Option<Expr>,
}

/// `RETURN QUERY SELECT columns FROM account WHERE path AND filter(id, owner, balance, visits)`
fn select(
    path: Path,
    filter: impl FnOnce(&[Expr; 4]) -> Option<Expr>,
    columns: impl FnOnce(&[Expr; 4]) -> Vec<Expr>,
    wish: impl FnOnce(&[Expr; 4]) -> Wish,
) -> Procedure {
    let mut build = Build::new();
    let slots = [INT, TEXT, MONEY, INT].map(|data_type| build.slot(data_type));
    let bound = slots.map(|slot| build.read(slot));
    let columns = columns(&bound);
    let types: Vec<_> = columns.iter().map(Expr::data_type).collect();
    build.returns(&types);
    let Wish { distinct, order_by, limit, offset } = wish(&bound);
    build.say(StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path,
        bind: vec![(ID, slots[0]), (OWNER, slots[1]), (BALANCE, slots[2]), (VISITS, slots[3])],
        filter: filter(&bound),
        effect: Effect::Read(Consume::Rows {
            to: RowsTo::Result,
            columns,
            distinct,
            order_by,
            limit,
            offset,
            counted: None,
        }),
    })));
    build.procedure
}

fn ids(path: Path) -> Procedure {
    select(path, |_| None, |row| vec![row[0].clone()], |_| Wish::default())
}

#[test]
fn ranges_have_inclusive_and_exclusive_ends() {
    let mut world = World::with_accounts(5);
    for (lower, upper, expected) in [
        (None, None, "1;2;3;4;5"),
        (Some((int(2), true)), None, "2;3;4;5"),
        (Some((int(2), false)), None, "3;4;5"),
        (None, Some((int(4), true)), "1;2;3;4"),
        (None, Some((int(4), false)), "1;2;3"),
        (Some((int(2), true)), Some((int(2), true)), "2"),
        (Some((int(2), false)), Some((int(2), true)), ""),
        (Some((int(4), true)), Some((int(2), true)), ""),
        (Some((null(INT), true)), None, ""),
        (None, Some((null(INT), true)), ""),
        (Some((int(i32::MAX), false)), None, ""),
        (Some((int(i32::MAX), true)), None, ""),
        (Some((int(i32::MIN), true)), Some((int(i32::MAX), true)), "1;2;3;4;5"),
    ] {
        let path = by_id(lower, upper);
        let backwards: Vec<_> = expected.rsplit(';').collect();
        assert_eq!(world.rows(&ids(path.clone()), &[]), expected, "{path:?}");
        assert_eq!(world.rows(&ids(descending(path)), &[]), backwards.join(";"));
    }
}

#[test]
fn range_ends_of_wider_types_are_fitted() {
    let mut world = World::with_accounts(5);
    let big = |value: i64| constant(BIG, value);
    let half = || parsed(numeric(5, 1), "2.5");
    for (lower, upper, expected) in [
        (Some((big(1 << 40), true)), None, ""),
        (Some((big(-(1 << 40)), true)), None, "1;2;3;4;5"),
        (None, Some((big(1 << 40), false)), "1;2;3;4;5"),
        (None, Some((big(-(1 << 40)), false)), ""),
        (Some((half(), true)), None, "3;4;5"),
        (Some((half(), false)), None, "3;4;5"),
        (None, Some((half(), true)), "1;2"),
        (None, Some((half(), false)), "1;2"),
        (Some((constant(DOUBLE, 4.0), true)), None, "4;5"),
        (None, Some((constant(DOUBLE, f64::INFINITY), true)), "1;2;3;4;5"),
    ] {
        let path = by_id(lower, upper);
        assert_eq!(world.rows(&ids(path.clone()), &[]), expected, "{path:?}");
    }
    for (key, expected) in [(big(3), "3"), (big(1 << 40), ""), (half(), ""), (null(INT), "")] {
        assert_eq!(world.rows(&ids(account_at(key)), &[]), expected);
    }
    let three = parsed(numeric(5, 1), "3.0");
    assert_eq!(world.rows(&ids(account_at(three)), &[]), "3");
}

#[test]
fn nulls_are_in_no_range_but_in_the_whole_index() {
    let mut world = World::with_accounts(8);
    let rows = |world: &mut World, path| world.rows(&ids(path), &[]);
    assert_eq!(rows(&mut world, range(vec![], None, None)), "3;6;1;4;2;5;8;7");
    assert_eq!(rows(&mut world, range(vec![], Some((int(1), true)), None)), "1;4;2;5;8");
    assert_eq!(rows(&mut world, range(vec![], None, Some((int(9), true)))), "3;6;1;4;2;5;8");
    assert_eq!(rows(&mut world, range(vec![int(2)], None, None)), "2;5;8");
    assert_eq!(rows(&mut world, range(vec![null(INT)], None, None)), "");
}

#[test]
fn rows_are_filtered_ordered_limited_and_distinct() {
    let mut world = World::with_accounts(8);
    let by_visits = |row: &[Expr; 4], descending, nulls_first| Wish {
        order_by: vec![OrderKey { value: row[3].clone(), descending, nulls_first }],
        ..Wish::default()
    };
    let id = |row: &[Expr; 4]| vec![row[0].clone()];
    let rows = |world: &mut World, procedure: Procedure| world.rows(&procedure, &[]);
    let filter = |row: &[Expr; 4]| Some(compare(CompareOp::Greater, row[3].clone(), int(0)));
    let procedure = select(Path::Whole, filter, id, |_| Wish::default());
    assert_eq!(rows(&mut world, procedure), "1;2;4;5;8");
    let procedure = select(Path::Whole, |_| None, id, |row| by_visits(row, false, false));
    assert_eq!(rows(&mut world, procedure), "3;6;1;4;2;5;8;7");
    let procedure = select(Path::Whole, |_| None, id, |row| by_visits(row, true, true));
    assert_eq!(rows(&mut world, procedure), "7;2;5;8;1;4;3;6");
    let procedure = select(
        Path::Whole,
        |_| None,
        id,
        |row| Wish {
            limit: Some(constant(BIG, 2_i64)),
            offset: Some(constant(BIG, 3_i64)),
            ..by_visits(row, false, false)
        },
    );
    assert_eq!(rows(&mut world, procedure), "4;2");
    let visits = |row: &[Expr; 4]| vec![row[3].clone()];
    let distinct = |_: &[Expr; 4]| Wish { distinct: true, ..Wish::default() };
    let procedure = select(Path::Whole, |_| None, visits, distinct);
    assert_eq!(rows(&mut world, procedure), "1;2;0;NULL");
    let window = |limit: Expr, offset: Expr| {
        let wish =
            |_: &[Expr; 4]| Wish { limit: Some(limit), offset: Some(offset), ..Wish::default() };
        select(Path::Whole, |_| None, |row| vec![row[1].clone()], wish)
    };
    let big = |value: i64| constant(BIG, value);
    for (limit, offset, expected) in [
        (big(2), big(1), "o2;o3"),
        (null(BIG), big(6), "o7;o8"),
        (big(0), null(BIG), ""),
        (big(i64::MAX), big(i64::MAX), ""),
        (big(-1), big(0), "2201W: LIMIT must not be negative @1"),
        (big(1), big(-1), "2201X: OFFSET must not be negative @1"),
    ] {
        assert_eq!(rows(&mut world, window(limit, offset)), expected);
    }
}

/// `SELECT owner INTO s FROM account WHERE path`, then shows s, FOUND, ROW_COUNT.
fn first(path: Path, strict: bool, order_by: bool, offset: Option<i64>) -> Procedure {
    let mut build = Build::new();
    let (owner, id, target) = (build.slot(TEXT), build.slot(INT), build.slot(TEXT));
    build.assign(target, text("before"));
    let value = build.read(id);
    let key = OrderKey { value, descending: true, nulls_first: false };
    build.say(StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path,
        bind: vec![(OWNER, owner), (ID, id)],
        filter: None,
        effect: Effect::Read(Consume::First {
            into: vec![(target, build.read(owner))],
            strict,
            order_by: if order_by { vec![key] } else { Vec::new() },
            offset: offset.map(|n| constant(BIG, n)),
        }),
    })));
    build.show(&[target, FOUND, ROW_COUNT]);
    build.procedure
}

#[test]
fn select_into_takes_the_first_row() {
    let mut world = World::with_accounts(4);
    let all = || by_id(None, None);
    let none = || by_id(Some((int(9), true)), None);
    for (procedure, expected) in [
        (first(account_at(int(3)), false, false, None), "o3,t,1"),
        (first(account_at(int(9)), false, false, None), "NULL,f,0"),
        (first(account_at(int(9)), true, false, None), "P0002: query returned no rows @2"),
        (first(account_at(int(3)), true, false, None), "o3,t,1"),
        (first(all(), false, false, None), "o1,t,1"),
        (first(all(), true, false, None), "P0003: query returned more than one row @2"),
        (first(none(), true, false, None), "P0002: query returned no rows @2"),
        (first(none(), false, false, None), "NULL,f,0"),
        (first(all(), false, true, None), "o4,t,1"),
        (first(all(), false, true, Some(1)), "o3,t,1"),
        (first(all(), true, true, Some(1)), "P0003: query returned more than one row @2"),
        (first(all(), true, true, Some(3)), "o1,t,1"),
        (first(all(), false, false, Some(2)), "o3,t,1"),
        (first(all(), false, false, Some(4)), "NULL,f,0"),
        (first(all(), false, true, Some(4)), "NULL,f,0"),
        (first(account_at(int(3)), false, false, Some(1)), "NULL,f,0"),
    ] {
        assert_eq!(world.rows(&procedure, &[]), expected);
    }
}

#[test]
fn aggregates_add_up() {
    use AggregateFunction::*;
    let mut world = World::with_accounts(8);
    let check = |world: &mut World, function, on: usize, distinct, result, path, expected: &str| {
        let mut build = Build::new();
        let bound = [(ID, INT), (OWNER, TEXT), (BALANCE, MONEY), (VISITS, INT)];
        let slots = bound.map(|(_, data_type)| build.slot(data_type));
        let (total, target) = (build.slot(result), build.slot(result));
        let argument = bound.get(on).map(|_| build.read(slots[on]));
        let aggregates = vec![Aggregate { function, argument, distinct, result: total }];
        build.say(StatementKind::Access(Box::new(Access {
            table: ACCOUNT,
            path,
            bind: bound.iter().zip(slots).map(|(&(column, _), slot)| (column, slot)).collect(),
            filter: None,
            effect: Effect::Read(Consume::Aggregate {
                aggregates,
                into: vec![(target, build.read(total))],
            }),
        })));
        build.show(&[target, FOUND]);
        assert_eq!(world.rows(&build.procedure, &[]), expected, "{function:?} {on}");
    };
    let none = || by_id(Some((int(9), true)), None);
    let star = 9;
    check(&mut world, Count, star, false, BIG, Path::Whole, "8,t");
    check(&mut world, Count, 3, false, BIG, Path::Whole, "7,t");
    check(&mut world, Count, 3, true, BIG, Path::Whole, "3,t");
    check(&mut world, Count, 1, true, BIG, Path::Whole, "8,t");
    check(&mut world, Count, star, false, BIG, none(), "0,t");
    check(&mut world, Sum, 3, false, BIG, Path::Whole, "8,t");
    check(&mut world, Sum, 3, true, BIG, Path::Whole, "3,t");
    check(&mut world, Sum, 2, false, numeric(38, 2), Path::Whole, "360.00,t");
    check(&mut world, Sum, 3, false, BIG, none(), "NULL,t");
    check(&mut world, Min, 1, false, TEXT, Path::Whole, "o1,t");
    check(&mut world, Max, 1, false, TEXT, Path::Whole, "o8,t");
    check(&mut world, Max, 3, false, INT, Path::Whole, "2,t");
    check(&mut world, Min, 2, false, MONEY, none(), "NULL,t");
    check(&mut world, Avg, 3, false, numeric(38, 16), Path::Whole, "1.1428571428571429,t");
    check(&mut world, Avg, 2, false, numeric(38, 16), Path::Whole, "45.0000000000000000,t");
    check(&mut world, Max, 0, false, INT, account_at(int(4)), "4,t");
    check(&mut world, Max, 0, false, INT, account_at(int(44)), "NULL,t");
}

#[test]
fn ranges_are_updated_without_meeting_their_own_rows() {
    // The index that is scanned is the one that changes.
    let mut build = Build::new();
    let (visits, id) = (build.slot(INT), build.slot(INT));
    build.say(StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path: range(vec![], Some((int(0), true)), None),
        bind: vec![(VISITS, visits), (ID, id)],
        filter: Some(compare(CompareOp::NotEqual, build.read(id), int(2))),
        effect: Effect::Update {
            set: vec![(VISITS, add(build.read(visits), int(1)))],
            consume: Consume::Discard,
        },
    })));
    build.show(&[FOUND, ROW_COUNT]);
    let mut world = World::with_accounts(4);
    assert_eq!(world.rows(&build.procedure, &[]), "t,3");
    assert_eq!(world.table(ACCOUNT), "1,o1,10.00,2;2,o2,20.00,2;3,o3,30.00,1;4,o4,40.00,2");
}

/// `DELETE FROM account WHERE path [RETURNING id INTO gone]`, then shows gone, FOUND, ROW_COUNT.
fn delete(path: Path, returns: bool) -> Procedure {
    let mut build = Build::new();
    let (id, gone) = (build.slot(INT), build.slot(INT));
    let consume = if returns { into(vec![(gone, build.read(id))]) } else { Consume::Discard };
    build.say(StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path,
        bind: vec![(ID, id)],
        filter: None,
        effect: Effect::Delete { consume },
    })));
    build.show(&[gone, FOUND, ROW_COUNT]);
    build.procedure
}

#[test]
fn deletes_return_the_removed_row() {
    for (path, returns, expected, left) in [
        (account_at(int(2)), true, "2,t,1", "1,o1,10.00,1;3,o3,30.00,0"),
        (account_at(int(5)), true, "NULL,f,0", "1,o1,10.00,1;2,o2,20.00,2;3,o3,30.00,0"),
        (by_id(Some((int(3), true)), None), true, "3,t,1", "1,o1,10.00,1;2,o2,20.00,2"),
        (by_id(Some((int(2), true)), None), false, "NULL,t,2", "1,o1,10.00,1"),
        (Path::Whole, false, "NULL,t,3", ""),
    ] {
        let mut world = World::with_accounts(3);
        assert_eq!(world.rows(&delete(path, returns), &[]), expected);
        assert_eq!(world.table(ACCOUNT), left);
    }
    for path in [by_id(Some((int(2), true)), None), Path::Whole] {
        let error = "P0003: query returned more than one row @1";
        assert_eq!(World::with_accounts(3).rows(&delete(path, true), &[]), error);
    }
}

#[test]
fn returning_sees_swapped_columns() {
    let mut build = Build::new();
    let (id, visits) = (build.slot(INT), build.slot(INT));
    let (a, b) = (build.slot(INT), build.slot(INT));
    let (owner, shown) = (build.slot(TEXT), build.slot(TEXT));
    build.say(StatementKind::Access(Box::new(Access {
        table: ACCOUNT,
        path: account_at(int(2)),
        bind: vec![(VISITS, visits), (ID, id), (OWNER, owner)],
        filter: None,
        effect: Effect::Update {
            set: vec![
                (VISITS, arithmetic(ArithmeticOp::Multiply, build.read(visits), int(50))),
                (OWNER, call(Function::Upper, TEXT, vec![build.read(owner)])),
            ],
            consume: into(vec![
                (a, build.read(visits)),
                (b, build.read(a)),
                (shown, build.read(owner)),
            ]),
        },
    })));
    build.show(&[a, b, shown]);
    let mut world = World::with_accounts(2);
    assert_eq!(world.rows(&build.procedure, &[]), "100,NULL,O2");
}

fn insert_of(values: Vec<Expr>, ignore_conflict: bool) -> Procedure {
    let mut build = Build::new();
    let id = build.slot(INT);
    build.assign(id, int(-1));
    build.say(StatementKind::Insert(Box::new(Insert {
        table: ACCOUNT,
        values,
        returning: vec![(id, ID)],
        ignore_conflict,
    })));
    build.show(&[id, FOUND, ROW_COUNT]);
    build.procedure
}

fn account(id: Expr, owner: Expr, balance: Expr) -> Vec<Expr> {
    vec![id, owner, balance, null(INT)]
}

#[test]
fn inserts_and_their_violations() {
    let mut world = World::with_accounts(2);
    let five = || constant(BIG, 5_i64);
    let rows = |world: &mut World, values, ignore| world.rows(&insert_of(values, ignore), &[]);
    assert_eq!(rows(&mut world, account(int(3), text("x"), cast(five(), MONEY)), false), "3,t,1");
    let money = || null(MONEY);
    let again = account(int(3), text("y"), money());
    assert_eq!(
        rows(&mut world, again.clone(), false),
        "23505: duplicate key value violates unique constraint \"account_pkey\" @2"
    );
    assert_eq!(rows(&mut world, again.clone(), true), "NULL,f,0");
    let error = world.run(&insert_of(again, false), &[]).expect_err("a duplicate");
    assert_eq!(error.detail.as_deref(), Some("Key (id)=(3) already exists."));
    let owner = account(int(4), text("x"), money());
    let error = world.run(&insert_of(owner, false), &[]).expect_err("a duplicate");
    assert_eq!(error.detail.as_deref(), Some("Key (owner)=(x) already exists."));
    assert_eq!(error.constraint.as_deref(), Some("account_owner_key"));
    let error = world.run(&insert_of(account(null(INT), text("z"), money()), false), &[]);
    let error = error.expect_err("a NULL in the primary key");
    assert_eq!((error.code(), error.column.as_deref()), ("23502", Some("id")));
    assert_eq!(error.detail.as_deref(), Some("Failing row contains (null, z, null, null)."));
    let long = account(int(9), text(&"x".repeat(600)), money());
    assert!(rows(&mut world, long, false).starts_with("54000: index row size exceeds"));
    assert_eq!(world.table(ACCOUNT).matches(';').count(), 2, "three rows");
}

#[test]
fn updates_and_their_violations() {
    let set = |column, value: Expr| {
        let mut build = Build::new();
        build.say(StatementKind::Access(Box::new(Access {
            table: ACCOUNT,
            path: account_at(int(1)),
            bind: vec![],
            filter: None,
            effect: Effect::Update { set: vec![(column, value)], consume: Consume::Discard },
        })));
        build.show(&[FOUND]);
        build.procedure
    };
    let mut world = World::with_accounts(2);
    let message = "23505: duplicate key value violates unique constraint \"account_owner_key\" @1";
    assert_eq!(world.rows(&set(OWNER, text("o2")), &[]), message);
    let message = "23502: null value in column \"owner\" of relation \"account\" violates not-null \
                   constraint @1";
    assert_eq!(world.rows(&set(OWNER, null(TEXT)), &[]), message);
    let error = world.run(&set(OWNER, null(TEXT)), &[]).expect_err("a NULL");
    assert_eq!(error.detail.as_deref(), Some("Failing row contains (1, null, 10.00, 1)."));
    let long = text(&"x".repeat(600));
    assert!(world.rows(&set(OWNER, long), &[]).starts_with("54000: index row size"));
    assert_eq!(world.rows(&set(OWNER, text("o1")), &[]), "t");
    assert_eq!(world.rows(&set(BALANCE, parsed(numeric(20, 4), "1.2350")), &[]), "t");
    assert_eq!(world.rows(&set(BALANCE, int(-3)), &[]), "t");
    let huge = parsed(numeric(38, 2), "12345678901.00");
    assert_eq!(world.rows(&set(BALANCE, huge), &[]), "22003: numeric field overflow @1");
    assert_eq!(world.table(ACCOUNT), "1,o1,-3.00,1;2,o2,20.00,2");
}

#[test]
fn checks_hold_for_inserts_and_updates() {
    let mut catalog = account_catalog();
    let slot = |i: u16, data_type| typed(ExprKind::Slot(SlotId(i)), data_type);
    // CHECK (balance >= visits): NULL satisfies it.
    let condition = compare(CompareOp::GreaterOrEqual, slot(0, MONEY), cast(slot(1, INT), MONEY));
    catalog.table_mut(ACCOUNT).checks.push(hotrow_transaction::catalog::Check {
        name: "account_check".into(),
        columns: vec![BALANCE, VISITS],
        condition,
    });
    let mut world = World::of(catalog);
    let row = |id: i32, balance: i32, visits: i32| {
        let owner = text(&id.to_string());
        insert_of(vec![int(id), owner, cast(int(balance), MONEY), int(visits)], false)
    };
    assert_eq!(world.rows(&row(1, 5, 5), &[]), "1,t,1");
    let message =
        "23514: new row for relation \"account\" violates check constraint \"account_check\" @2";
    assert_eq!(world.rows(&row(2, 5, 6), &[]), message);
    let error = world.run(&row(2, 5, 6), &[]).expect_err("a violation");
    assert_eq!(error.detail.as_deref(), Some("Failing row contains (2, 2, 5.00, 6)."));
    let without_key = vec![null(INT), text("x"), cast(int(5), MONEY), int(1)];
    let error = world.run(&insert_of(without_key, false), &[]).expect_err("a NULL");
    assert_eq!((error.code(), error.column.as_deref()), ("23502", Some("id")));
    assert_eq!(error.detail.as_deref(), Some("Failing row contains (null, x, 5.00, 1)."));
    let set = |path, column, value: Expr| {
        let mut build = Build::new();
        build.say(StatementKind::Access(Box::new(Access {
            table: ACCOUNT,
            path,
            bind: vec![],
            filter: None,
            effect: Effect::Update { set: vec![(column, value)], consume: Consume::Discard },
        })));
        build.show(&[ROW_COUNT]);
        build.procedure
    };
    let message = "23514: new row for relation \"account\" violates check constraint \
                   \"account_check\" @1";
    for path in [account_at(int(1)), Path::Whole] {
        assert_eq!(world.rows(&set(path.clone(), BALANCE, int(4)), &[]), message);
        assert_eq!(world.rows(&set(path.clone(), VISITS, int(6)), &[]), message);
        let error = world.run(&set(path.clone(), VISITS, int(6)), &[]).expect_err("a violation");
        assert_eq!(error.detail.as_deref(), Some("Failing row contains (1, 1, 5.00, 6)."));
        assert_eq!(world.rows(&set(path.clone(), VISITS, int(3)), &[]), "1");
        assert_eq!(world.rows(&set(path.clone(), BALANCE, null(MONEY)), &[]), "1");
        assert_eq!(world.rows(&set(path.clone(), VISITS, int(5)), &[]), "1");
        assert_eq!(world.rows(&set(path, BALANCE, int(5)), &[]), "1");
    }
}

#[test]
fn loops_over_ranges_of_integers() {
    let run = |from: Expr, to: Expr, step: Expr, reverse| {
        let mut build = Build::new();
        build.returns(&[INT]);
        let i = build.slot(INT);
        let body = vec![
            at(StatementKind::ReturnNext(vec![build.read(i)]), 2),
            // The loop goes on from its own counter.
            at(StatementKind::Assign { slot: i, value: int(0) }, 3),
        ];
        build.say(StatementKind::ForRange { slot: i, from, to, step, reverse, body });
        build.say(StatementKind::If {
            condition: build.read(FOUND),
            then: vec![at(StatementKind::ReturnNext(vec![int(-1)]), 5)],
            otherwise: Vec::new(),
        });
        World::new().rows(&build.procedure, &[])
    };
    assert_eq!(run(int(1), int(3), int(1), false), "1;2;3;-1");
    assert_eq!(run(int(3), int(1), int(2), true), "3;1;-1");
    assert_eq!(run(int(1), int(6), int(2), false), "1;3;5;-1");
    assert_eq!(run(int(2), int(1), int(1), false), "");
    assert_eq!(run(int(i32::MAX - 1), int(i32::MAX), int(i32::MAX), false), "2147483646;-1");
    let null_bound = "22004: upper bound of FOR loop cannot be null @1";
    assert_eq!(run(int(1), null(INT), int(1), false), null_bound);
    let zero_step = "22023: BY value of FOR loop must be greater than zero @1";
    assert_eq!(run(int(1), int(2), int(0), false), zero_step);
}

#[test]
fn loops_over_queries_see_the_rows_of_their_start() {
    let mut build = Build::new();
    build.returns(&[INT, TEXT]);
    build.procedure.row_sets = 1;
    let (id, owner) = (build.slot(INT), build.slot(TEXT));
    let (r_id, r_owner) = (build.slot(INT), build.slot(TEXT));
    let query = Box::new(Access {
        table: ACCOUNT,
        path: Path::Whole,
        bind: vec![(ID, id), (OWNER, owner)],
        filter: None,
        effect: Effect::Read(Consume::all_rows(
            RowsTo::Loop(RowSetId(0)),
            vec![build.read(id), build.read(owner)],
        )),
    });
    let insert = StatementKind::Insert(Box::new(Insert {
        table: ACCOUNT,
        values: vec![
            add(build.read(r_id), int(100)),
            typed(ExprKind::Concat(Box::new(build.read(r_owner)), Box::new(text("'"))), TEXT),
            null(MONEY),
            null(INT),
        ],
        returning: Vec::new(),
        ignore_conflict: false,
    }));
    let show = StatementKind::ReturnNext(vec![build.read(r_id), build.read(r_owner)]);
    let body = vec![at(insert, 2), at(show, 3)];
    let into = vec![r_id, r_owner];
    build.say(StatementKind::ForQuery { rows: RowSetId(0), query, into, body });
    let mut world = World::with_accounts(2);
    assert_eq!(world.rows(&build.procedure, &[]), "1,o1;2,o2");
    let after = "1,o1,10.00,1;2,o2,20.00,2;101,o1',NULL,NULL;102,o2',NULL,NULL";
    assert_eq!(world.table(ACCOUNT), after);
    assert_eq!(World::new().rows(&build.procedure, &[]), "");
}

#[test]
fn raise_formats_and_undoes() {
    let mut build = Build::new();
    bump(&mut build, int(1), Consume::Discard);
    let list = build.parameter(SqlType::Array(INT));
    build.procedure.slots.swap(3, 4);
    let list = SlotId(list.0 - 1);
    // The slots were swapped: the update's own is now number 4.
    let fixed = |statement: &mut Statement| {
        if let StatementKind::Access(access) = &mut statement.kind {
            access.bind = vec![(VISITS, SlotId(4))];
            let visits = typed(ExprKind::Slot(SlotId(4)), INT);
            access.effect = Effect::Update {
                set: vec![(VISITS, add(visits, int(1)))],
                consume: Consume::Discard,
            };
        }
    };
    build.procedure.body.iter_mut().for_each(fixed);
    build.say(StatementKind::Raise(Raise {
        sqlstate: *b"P0001",
        message: vec!["got ".into(), " and ".into(), ", list ".into(), "%".into()],
        arguments: vec![parsed(MONEY, "1.50"), null(INT), build.read(list)],
        detail: Some(text("more")),
        hint: None,
        of: None,
        is_again: false,
        parts: Vec::new(),
    }));
    let mut world = World::with_accounts(1);
    let argument = Value::Array(vec![1.into(), Value::Null]);
    let error = world.run(&build.procedure, &[argument]).expect_err("it raises");
    assert_eq!(error.message, "got 1.50 and <NULL>, list {1,NULL}%");
    assert_eq!((error.code(), error.detail.as_deref()), ("P0001", Some("more")));
    assert_eq!(error.place.line, 2);
    assert_eq!(world.table(ACCOUNT), "1,o1,10.00,1");
}

#[test]
fn returns_end_the_procedure() {
    let mut build = Build::new();
    build.procedure.returns_set = false;
    let n = build.parameter(SqlType::Scalar(INT));
    build.returns(&[numeric(6, 1)]);
    build.say(StatementKind::If {
        condition: compare(CompareOp::Less, build.read(n), int(0)),
        then: vec![at(StatementKind::Return(vec![int(5)]), 2)],
        otherwise: Vec::new(),
    });
    let mut world = World::new();
    assert_eq!(world.rows(&build.procedure, &[(-1).into()]), "5.0");
    let message = "2F005: control reached end of function without RETURN @0";
    assert_eq!(world.rows(&build.procedure, &[1.into()]), message);
}

#[test]
fn steps_are_bounded() {
    let mut build = Build::new();
    let i = build.slot(INT);
    let (from, to, step) = (int(1), int(i32::MAX), int(1));
    let body = Vec::new();
    build.say(StatementKind::ForRange { slot: i, from, to, step, reverse: false, body });
    let mut world = World::with_accounts(20);
    world.frame.set_step_budget(10);
    assert_eq!(world.rows(&build.procedure, &[]), "54000: step budget exceeded @1");
    assert_eq!(world.rows(&ids(Path::Whole), &[]), "54000: step budget exceeded @1");
    world.frame.set_step_budget(1_000);
    assert_eq!(world.rows(&ids(by_id(None, Some((int(2), true)))), &[]), "1;2");
}

#[test]
fn loops_reach_both_ends_of_bigint() {
    let run = |from: i64, to: i64, step: i64, reverse| {
        let mut build = Build::new();
        build.returns(&[BIG]);
        let i = build.slot(BIG);
        let body = vec![at(StatementKind::ReturnNext(vec![build.read(i)]), 2)];
        let [from, to, step] = [from, to, step].map(|bound| constant(BIG, bound));
        build.say(StatementKind::ForRange { slot: i, from, to, step, reverse, body });
        World::new().rows(&build.procedure, &[])
    };
    let (min, max) = (i64::MIN, i64::MAX);
    assert_eq!(run(min, max, max, false), format!("{min};-1;{}", max - 1));
    assert_eq!(run(max, min, max, true), format!("{max};0;{}", min + 1));
    assert_eq!(run(max - 1, max, 1, false), format!("{};{max}", max - 1));
    assert_eq!(run(min + 1, min, 1, true), format!("{};{min}", min + 1));
}
