//! Expressions, value by value: `check(expression, expected)`.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::program::*;

use crate::build::*;

/// Evaluates twice: as written, which finds folded and fused forms, and over parameters.
fn check(expr: Expr, expected: &str) {
    let shown = match evaluate(&expr, 1_000_000) {
        Ok(Value::Null) => "NULL".to_owned(),
        Ok(value) => value.to_string(),
        Err(error) => format!("{}: {}", error.code(), error.message),
    };
    assert_eq!(shown, expected, "{expr:?}");
}

/// A condition: as a value, and as a jump where NULL counts as false.
fn check_condition(expr: Expr, expected: &str) {
    check(expr.clone(), expected);
    let branch = |value: &str| text(value);
    let chosen = typed(
        ExprKind::Case {
            arms: vec![(expr.clone(), branch("yes"))],
            otherwise: Some(Box::new(branch("no"))),
        },
        TEXT,
    );
    check(chosen, if expected == "t" { "yes" } else { "no" });
    let negated = typed(ExprKind::Not(Box::new(expr)), BOOL);
    let chosen = typed(
        ExprKind::Case {
            arms: vec![(negated, branch("yes"))],
            otherwise: Some(Box::new(branch("no"))),
        },
        TEXT,
    );
    check(chosen, if expected == "f" { "yes" } else { "no" });
}

fn small(value: i16) -> Expr {
    constant(DataType::SmallInt, value)
}

fn big(value: i64) -> Expr {
    constant(BIG, value)
}

fn double(value: f64) -> Expr {
    constant(DOUBLE, value)
}

use ArithmeticOp::{Add, Divide, Modulo, Multiply, Subtract};

#[test]
fn integers() {
    check(arithmetic(Add, int(2), int(3)), "5");
    check(arithmetic(Add, int(i32::MAX), int(1)), "22003: integer out of range");
    check(arithmetic(Subtract, int(i32::MIN), int(1)), "22003: integer out of range");
    check(arithmetic(Multiply, small(200), small(200)), "22003: smallint out of range");
    check(arithmetic(Add, big(i64::MAX), big(1)), "22003: bigint out of range");
    check(arithmetic(Multiply, big(i64::MIN), big(-1)), "22003: bigint out of range");
    check(arithmetic(Divide, int(-7), int(2)), "-3");
    check(arithmetic(Modulo, int(-7), int(2)), "-1");
    check(arithmetic(Divide, int(1), int(0)), "22012: division by zero");
    check(arithmetic(Modulo, int(1), int(0)), "22012: division by zero");
    check(arithmetic(Divide, big(i64::MIN), big(-1)), "22003: bigint out of range");
    check(arithmetic(Modulo, big(i64::MIN), big(-1)), "0");
    check(arithmetic(Divide, int(i32::MIN), int(-1)), "22003: integer out of range");
    check(arithmetic(Add, int(1), null(INT)), "NULL");
    check(arithmetic(Divide, null(INT), int(0)), "NULL");
    check(typed(ExprKind::Negate(Box::new(int(5))), INT), "-5");
    check(typed(ExprKind::Negate(Box::new(int(i32::MIN))), INT), "22003: integer out of range");
    check(typed(ExprKind::Negate(Box::new(null(INT))), INT), "NULL");
}

#[test]
fn numerics_and_floats() {
    let of = |text: &str| parsed(numeric(12, 2), text);
    let result = |op, a, b, scale| {
        let mut expr = arithmetic(op, a, b);
        expr.sql_type = SqlType::Scalar(numeric(38, scale));
        expr
    };
    check(result(Add, of("1.25"), of("2.50"), 2), "3.75");
    check(result(Subtract, of("1.25"), parsed(numeric(5, 4), "0.0001"), 4), "1.2499");
    check(result(Multiply, of("1.25"), of("-2.50"), 4), "-3.1250");
    check(result(Multiply, of("1.25"), of("0.50"), 2), "0.63");
    check(result(Divide, of("10.00"), of("3.00"), 16), "3.3333333333333333");
    check(result(Divide, of("-0.05"), of("2.00"), 2), "-0.03");
    check(result(Modulo, of("-7.50"), of("2.00"), 2), "-1.50");
    check(result(Divide, of("1.00"), of("0.00"), 16), "22012: division by zero");
    let large = parsed(numeric(38, 0), &"9".repeat(38));
    check(
        arithmetic(Add, large.clone(), parsed(numeric(38, 0), "1")),
        "22003: numeric field overflow",
    );
    check(arithmetic(Multiply, large.clone(), large), "22003: numeric field overflow");
    check(typed(ExprKind::Negate(Box::new(of("1.25"))), numeric(12, 2)), "-1.25");
    check(arithmetic(Add, double(1.5), double(2.25)), "3.75");
    check(arithmetic(Divide, double(1.0), double(0.0)), "22012: division by zero");
    check(
        arithmetic(Multiply, double(1e300), double(1e300)),
        "22003: value out of range: overflow",
    );
    check(
        arithmetic(Multiply, double(1e-300), double(1e-300)),
        "22003: value out of range: underflow",
    );
    check(typed(ExprKind::Negate(Box::new(null(DOUBLE))), DOUBLE), "NULL");
}

#[test]
fn comparisons() {
    use CompareOp::*;
    for (op, less, same, greater) in [
        (Equal, "f", "t", "f"),
        (NotEqual, "t", "f", "t"),
        (Less, "t", "f", "f"),
        (LessOrEqual, "t", "t", "f"),
        (Greater, "f", "f", "t"),
        (GreaterOrEqual, "f", "t", "t"),
    ] {
        let values: [[Expr; 2]; 4] = [
            [int(1), int(2)],
            [text("ab"), text("b")],
            [double(1.0), double(f64::NAN)],
            [parsed(numeric(5, 1), "1.5"), parsed(numeric(7, 3), "1.501")],
        ];
        for [a, b] in values {
            check_condition(compare(op, a.clone(), b.clone()), less);
            check_condition(compare(op, a.clone(), a.clone()), same);
            check_condition(compare(op, b.clone(), a.clone()), greater);
            check_condition(compare(op, b, null(a.data_type())), "NULL");
        }
    }
    check_condition(equal(double(f64::NAN), double(f64::NAN)), "t");
    check_condition(equal(double(0.0), double(-0.0)), "t");
    let distinct = |a, b| typed(ExprKind::NotDistinct(Box::new(a), Box::new(b)), BOOL);
    check_condition(distinct(int(1), int(1)), "t");
    check_condition(distinct(int(1), null(INT)), "f");
    check_condition(distinct(null(TEXT), null(TEXT)), "t");
    check_condition(typed(ExprKind::IsNull(Box::new(null(INT))), BOOL), "t");
    check_condition(typed(ExprKind::IsNull(Box::new(int(1))), BOOL), "f");
}

#[test]
fn three_valued_logic() {
    let value = |v: Option<bool>| match v {
        Some(v) => constant(BOOL, v),
        None => null(BOOL),
    };
    // As parameters of a comparison, so that nothing is known when lowering.
    let hidden = |v: Option<bool>| typed(ExprKind::Coalesce(vec![null(BOOL), value(v)]), BOOL);
    let show = |v: Option<bool>| match v {
        Some(true) => "t",
        Some(false) => "f",
        None => "NULL",
    };
    let all = [Some(true), Some(false), None];
    for a in all {
        for b in all {
            let and = match (a, b) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let or = match (a, b) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            for make in [&value as &dyn Fn(Option<bool>) -> Expr, &hidden] {
                let pair = || (Box::new(make(a)), Box::new(make(b)));
                let (x, y) = pair();
                check_condition(typed(ExprKind::And(x, y), BOOL), show(and));
                let (x, y) = pair();
                check_condition(typed(ExprKind::Or(x, y), BOOL), show(or));
            }
        }
        check_condition(typed(ExprKind::Not(Box::new(hidden(a))), BOOL), show(a.map(|a| !a)));
    }
    // The right side is not computed when the left one decides.
    let fails = || equal(arithmetic(Divide, int(1), int(0)), int(1));
    let f = Box::new(constant(BOOL, false));
    check(typed(ExprKind::And(f, Box::new(fails())), BOOL), "f");
    let t = Box::new(constant(BOOL, true));
    check(typed(ExprKind::Or(t, Box::new(fails())), BOOL), "t");
}

#[test]
fn choices() {
    let fails = || arithmetic(Divide, int(1), int(0));
    let when = |condition: Expr, value: Expr, otherwise: Option<Expr>| {
        let otherwise = otherwise.map(Box::new);
        typed(ExprKind::Case { arms: vec![(condition, value)], otherwise }, INT)
    };
    check(when(constant(BOOL, true), int(1), Some(fails())), "1");
    check(when(null(BOOL), fails(), Some(int(2))), "2");
    check(when(constant(BOOL, false), int(1), None), "NULL");
    check(typed(ExprKind::Coalesce(vec![null(INT), int(3), fails()]), INT), "3");
    check(typed(ExprKind::Coalesce(vec![null(INT), null(INT)]), INT), "NULL");
    let greatest = |values| call(Function::Greatest, INT, values);
    check(greatest(vec![int(1), null(INT), int(3)]), "3");
    check(greatest(vec![null(INT)]), "NULL");
    check(call(Function::Least, TEXT, vec![text("b"), text("ab")]), "ab");
    check(call(Function::NullIf, INT, vec![int(1), int(1)]), "NULL");
    check(call(Function::NullIf, INT, vec![int(1), int(2)]), "1");
    check(call(Function::NullIf, INT, vec![int(1), null(INT)]), "1");
}

#[test]
fn casts() {
    check(cast(big(5), INT), "5");
    check(cast(big(1 << 40), INT), "22003: integer out of range");
    check(cast(double(2.5), INT), "2");
    check(cast(double(3.5), INT), "4");
    check(cast(double(f64::NAN), INT), "22003: integer out of range");
    check(cast(double(9.3e18), BIG), "22003: bigint out of range");
    check(cast(parsed(numeric(5, 2), "2.50"), INT), "3");
    check(cast(parsed(numeric(5, 2), "-2.50"), INT), "-3");
    check(cast(int(7), numeric(5, 2)), "7.00");
    check(cast(int(1000), numeric(5, 2)), "22003: numeric field overflow");
    check(cast(parsed(numeric(9, 4), "1.2350"), numeric(5, 2)), "1.24");
    check(cast(double(1e300), DataType::Real), "22003: value out of range: overflow");
    check(cast(int(-12), TEXT), "-12");
    check(cast(parsed(numeric(5, 2), "-0.50"), TEXT), "-0.50");
    check(cast(constant(BOOL, true), TEXT), "true");
    check(cast(text(" 42 "), INT), "42");
    check(cast(text("4x"), INT), "22P02: invalid input syntax for type integer: \"4x\"");
    check(cast(text("abc"), DataType::Varchar(3)), "abc");
    check(cast(text("abc  "), DataType::Varchar(3)), "abc");
    check(
        cast(text("äöüx"), DataType::Varchar(3)),
        "22001: value too long for type character varying(3)",
    );
    check(cast(text("äöü"), DataType::Varchar(3)), "äöü");
    check(cast(text("abcd"), DataType::Char(3)), "22001: value too long for type character(3)");
    check(cast(parsed(DataType::Date, "2026-11-21"), DataType::TIMESTAMP), "2026-11-21 00:00:00");
    check(cast(parsed(DataType::TIMESTAMP, "1999-12-31 23:00:00"), DataType::Date), "1999-12-31");
    let stamp = |text: &str| parsed(DataType::TIMESTAMP, text);
    check(cast(stamp("infinity"), DataType::Date), "infinity");
    check(cast(parsed(DataType::Date, "-infinity"), DataType::TIMESTAMPTZ), "-infinity");
    check(cast(stamp("2026-11-21 10:20:30.5"), DataType::Time(0)), "10:20:31");
    check(cast(stamp("infinity"), DataType::Time(6)), "NULL");
    let time = || parsed(DataType::Time(6), "10:20:30.25");
    check(cast(time(), DataType::Interval), "10:20:30.25");
    check(cast(time(), DataType::Time(1)), "10:20:30.3");
    check(cast(time(), TEXT), "10:20:30.25");
    check(
        cast(text("4 PM 10:00"), DataType::Time(6)),
        "22007: invalid input syntax for type time: \"4 PM 10:00\"",
    );
    check(cast(parsed(DataType::Interval, "-25:00"), DataType::Time(6)), "23:00:00");
    check(cast(null(TEXT), INT), "NULL");
    check(cast(int(3), BOOL), "t");
    check(cast(constant(BOOL, true), INT), "1");
}

#[test]
fn texts() {
    use Function::*;
    let of = |function, arguments| call(function, TEXT, arguments);
    let concat = |a, b| typed(ExprKind::Concat(Box::new(a), Box::new(b)), TEXT);
    check(concat(concat(text("a"), text("b")), text("c")), "abc");
    check(concat(text("a"), null(TEXT)), "NULL");
    check(of(Concat, vec![text("a"), null(TEXT), text("b")]), "ab");
    check(call(Length, INT, vec![text("äbc")]), "3");
    check(call(OctetLength, INT, vec![text("äbc")]), "4");
    check(of(Upper, vec![text("äbc")]), "ÄBC");
    check(of(Lower, vec![text("ABC")]), "abc");
    for (start, count, expected) in [
        (2, Some(3), "bcd"),
        (0, Some(3), "ab"),
        (-5, Some(7), "a"),
        (-5, Some(3), ""),
        (4, None, "def"),
        (9, None, ""),
        (i32::MAX, Some(i32::MAX), ""),
        (1, Some(-1), "22011: negative substring length not allowed"),
    ] {
        let mut arguments = vec![text("abcdef"), int(start)];
        arguments.extend(count.map(int));
        check(of(Substring, arguments), expected);
    }
    for (n, left, right) in
        [(2, "äb", "de"), (-2, "äbc", "cde"), (9, "äbcde", "äbcde"), (0, "", "")]
    {
        check(of(Left, vec![text("äbcde"), int(n)]), left);
        check(of(Right, vec![text("äbcde"), int(n)]), right);
    }
    check(call(Position, INT, vec![text("äbc"), text("bc")]), "2");
    check(call(Position, INT, vec![text("abc"), text("x")]), "0");
    check(call(Position, INT, vec![text("abc"), text("")]), "1");
    check(of(Trim, vec![text("  a b ")]), "a b");
    check(of(LTrim, vec![text("xyxa"), text("yx")]), "a");
    check(of(RTrim, vec![text("aää"), text("ä")]), "a");
    check(of(LPad, vec![text("7"), int(3), text("0")]), "007");
    check(of(LPad, vec![text("abcd"), int(2)]), "ab");
    check(of(RPad, vec![text("a"), int(6), text("xy")]), "axyxyx");
    check(of(LPad, vec![text("a"), int(i32::MAX)]), "54000: requested length too large");
    check(of(Replace, vec![text("a.b.c"), text("."), text("--")]), "a--b--c");
    check(of(Replace, vec![text("abc"), text(""), text("x")]), "abc");
    check(of(Repeat, vec![text("ab"), int(3)]), "ababab");
    check(of(Repeat, vec![text("ab"), int(-1)]), "");
    check(of(Repeat, vec![text("ab"), int(i32::MAX)]), "54000: requested length too large");
    check(of(Reverse, vec![text("aäb")]), "bäa");
}

#[test]
fn like() {
    let like = |a: &str, b: &str| call(Function::Like, BOOL, vec![text(a), text(b)]);
    for (value, pattern, expected) in [
        ("abc", "abc", "t"),
        ("abc", "a%", "t"),
        ("abc", "%c", "t"),
        ("abc", "%b%", "t"),
        ("abc", "_b_", "t"),
        ("äbc", "_bc", "t"),
        ("abc", "ab", "f"),
        ("", "%", "t"),
        ("", "", "t"),
        ("", "_", "f"),
        ("a%c", "a\\%c", "t"),
        ("abc", "a\\%c", "f"),
        ("a\\c", "a\\\\c", "t"),
        ("aaab", "%a%ab", "t"),
        ("mississippi", "%iss%ippi", "t"),
        ("mississippi", "%iss%ippo", "f"),
        ("ab", "%_", "t"),
        ("a", "%__", "f"),
        ("abc", "abc\\", "22025: LIKE pattern must not end with escape character"),
    ] {
        check(like(value, pattern), expected);
    }
    check(call(Function::Like, BOOL, vec![null(TEXT), text("%")]), "NULL");
}

#[test]
fn numbers() {
    use Function::*;
    let n = |value: &str| parsed(numeric(10, 3), value);
    let of = |function, value: &str| call(function, numeric(38, 3), vec![n(value)]);
    check(of(Abs, "-1.5"), "1.500");
    check(of(Floor, "-1.5"), "-2.000");
    check(of(Floor, "-2"), "-2.000");
    check(of(Ceil, "1.001"), "2.000");
    check(of(Round, "2.5"), "3.000");
    check(of(Round, "-2.5"), "-3.000");
    check(of(Trunc, "-2.9"), "-2.000");
    check(of(Sign, "-2.9"), "-1.000");
    let digits = |function, value: &str, digits: i32| {
        call(function, numeric(38, 3), vec![n(value), int(digits)])
    };
    check(digits(Round, "1.255", 2), "1.260");
    check(digits(Round, "155", -1), "160.000");
    check(digits(Trunc, "159.9", -1), "150.000");
    check(digits(Round, "155", -50), "0.000");
    check(call(Round, DOUBLE, vec![double(2.5)]), "2");
    check(call(Abs, INT, vec![int(i32::MIN)]), "22003: integer out of range");
    check(call(Mod, INT, vec![int(7), int(-3)]), "1");
    check(call(Mod, INT, vec![int(7), int(0)]), "22012: division by zero");
    check(call(Sqrt, DOUBLE, vec![double(9.0)]), "3");
    check(
        call(Sqrt, DOUBLE, vec![double(-1.0)]),
        "2201F: cannot take square root of a negative number",
    );
    check(call(Ln, DOUBLE, vec![double(0.0)]), "2201E: cannot take logarithm of zero");
    check(call(Power, DOUBLE, vec![double(2.0), double(10.0)]), "1024");
    check(
        call(Power, DOUBLE, vec![double(0.0), double(-1.0)]),
        "2201F: zero raised to a negative power is undefined",
    );
    check(call(Exp, DOUBLE, vec![double(1000.0)]), "22003: value out of range: overflow");
}

#[test]
fn times() {
    use Function::*;
    use hotrow_base::temporal::{ExtractField, TruncateUnit};
    let stamp = || parsed(DataType::TIMESTAMP, "2026-11-21 10:20:30.5");
    let field = |field: ExtractField| int(field as i32);
    let extract = |f, scale| call(Extract, numeric(20, scale), vec![stamp(), field(f)]);
    check(extract(ExtractField::Year, 0), "2026");
    check(extract(ExtractField::Second, 6), "30.500000");
    check(extract(ExtractField::Hour, 0), "10");
    let unit = int(TruncateUnit::Hour as i32);
    check(call(DateTrunc, DataType::TIMESTAMP, vec![unit, stamp()]), "2026-11-21 10:00:00");
    let day = || parsed(DataType::Date, "2026-02-27");
    check(call(DateAdd, DataType::Date, vec![day(), int(2)]), "2026-03-01");
    check(call(DateAdd, DataType::Date, vec![day(), int(i32::MAX)]), "22008: date out of range");
    check(call(DateDiff, INT, vec![day(), parsed(DataType::Date, "2026-02-01")]), "26");
    let interval = |text: &str| parsed(DataType::Interval, text);
    let later = vec![stamp(), interval("3 mons 10 days 01:00")];
    check(call(TimestampAdd, DataType::TIMESTAMP, later), "2027-03-03 11:20:30.5");
    let twice = vec![
        interval("1 mon 1 day"),
        typed(ExprKind::Constant(Value::Double(2.0)), DataType::Double),
    ];
    check(call(Interval(IntervalFunction::Multiply), DataType::Interval, twice), "2 mons 2 days");
    let never =
        vec![interval("1 day"), typed(ExprKind::Constant(Value::Double(0.0)), DataType::Double)];
    check(
        call(Interval(IntervalFunction::Divide), DataType::Interval, never),
        "22012: division by zero",
    );
    let never = || parsed(DataType::TIMESTAMP, "infinity");
    check(call(TimestampAdd, DataType::TIMESTAMP, vec![never(), interval("-1 day")]), "infinity");
    let endless = vec![never(), stamp()];
    check(
        call(TimestampDiff, DataType::Interval, endless),
        "22008: cannot subtract infinite timestamps",
    );
    let of_infinity = |f| call(Extract, numeric(20, 0), vec![never(), field(f)]);
    check(of_infinity(ExtractField::Hour), "NULL");
    check(of_infinity(ExtractField::Year), "0A000: infinity is not supported for type numeric");
    check(call(IsFinite, BOOL, vec![never()]), "f");
    let noon = || parsed(DataType::Time(6), "12:00");
    let around = vec![noon(), interval("3 days -13:00")];
    check(call(TimestampAdd, DataType::Time(6), around), "23:00:00");
    check(call(MakeDate, DataType::Date, vec![int(2024), int(2), int(29)]), "2024-02-29");
    check(
        call(MakeDate, DataType::Date, vec![int(2023), int(2), int(29)]),
        "22008: date field value out of range: 2023-02-29",
    );
    let shown = |zone: &str, at: &str| {
        call(InZone, DataType::TIMESTAMP, vec![text(zone), parsed(DataType::TIMESTAMPTZ, at)])
    };
    check(shown("PST", "2024-07-01 12:00+00"), "2024-07-01 04:00:00");
    check(shown("Europe/Berlin", "2024-07-01 12:00+00"), "2024-07-01 14:00:00");
    check(shown("europe/berlin", "2024-01-01 12:00+00"), "2024-01-01 13:00:00");
    check(shown("America/New_York", "infinity"), "infinity");
    check(shown("Mars/Base", "2024-01-01"), "22023: time zone \"Mars/Base\" not recognized");
    let when = |zone: &str, clock: &str| {
        call(InZone, DataType::TIMESTAMPTZ, vec![text(zone), parsed(DataType::TIMESTAMP, clock)])
    };
    check(when("Europe/Berlin", "2024-03-31 02:30"), "2024-03-31 01:30:00+00"); // left out
    check(when("Europe/Berlin", "2024-10-27 02:30"), "2024-10-27 01:30:00+00"); // comes twice
    let stride = vec![interval("15 min"), stamp(), parsed(DataType::TIMESTAMP, "2000-01-01")];
    check(call(DateBin, DataType::TIMESTAMP, stride), "2026-11-21 10:15:00");
    let now = typed(ExprKind::Slot(NOW), DataType::TIMESTAMPTZ);
    check(now, "2000-01-01 00:00:01+00");
}

/// Every code the compiler uses for a field or unit must be the interpreter's.
#[test]
fn codes_of_fields_are_discriminants() {
    use hotrow_transaction::functions::time::{EXTRACT_FIELDS, TRUNCATE_UNITS};
    for (code, &field) in EXTRACT_FIELDS.iter().enumerate() {
        assert_eq!(field as usize, code);
    }
    for (code, &unit) in TRUNCATE_UNITS.iter().enumerate() {
        assert_eq!(unit as usize, code);
    }
}

#[test]
fn arrays() {
    let mut build = Build::new();
    let array = build.parameter(SqlType::Array(TEXT));
    let number = build.parameter(SqlType::Scalar(INT));
    build.returns(&[TEXT, INT, INT]);
    let element = typed(ExprKind::Element(array, Box::new(build.read(number))), TEXT);
    let length = typed(ExprKind::ArrayLength(array), INT);
    let cardinality = call(Function::Cardinality, INT, vec![build.read(array)]);
    // A constant text first, so that arguments' ranges are moved.
    build.assign(number, build.read(number));
    let tagged = typed(ExprKind::Concat(Box::new(text("<")), Box::new(element)), TEXT);
    build.say(StatementKind::ReturnNext(vec![tagged, length, cardinality]));
    let mut world = World::new();
    let array = || Value::Array(vec!["a".into(), "bc".into()]);
    let mut rows = |array: Value, n: i32| world.rows(&build.procedure, &[array, n.into()]);
    assert_eq!(rows(array(), 1), "<a,2,2");
    assert_eq!(rows(array(), 2), "<bc,2,2");
    assert_eq!(rows(array(), 0), "NULL,2,2");
    assert_eq!(rows(array(), 3), "NULL,2,2");
    assert_eq!(rows(array(), i32::MIN), "NULL,2,2");
    assert_eq!(rows(Value::Array(vec![]), 1), "NULL,NULL,0");
    assert_eq!(rows(Value::Null, 1), "NULL,NULL,NULL");
}

#[test]
fn numeric_results_are_narrowed_to_their_columns() {
    let overflow = "22003: numeric field overflow";
    let narrowed = |op, a: &str, b: &str, precision: u8| {
        let operand = |text: &str| parsed(numeric(38, 2), text);
        let scale = if op == Multiply { 4 } else { 2 };
        let mut expr = arithmetic(op, operand(a), operand(b));
        expr.sql_type = SqlType::Scalar(numeric(38, scale));
        cast(expr, numeric(precision, scale))
    };
    check(narrowed(Add, "99.98", "0.01", 4), "99.99");
    check(narrowed(Add, "99.99", "0.01", 4), overflow);
    check(narrowed(Subtract, "-99.98", "0.01", 4), "-99.99");
    check(narrowed(Subtract, "-99.99", "0.01", 4), overflow);
    check(narrowed(Multiply, "9.99", "1.00", 5), "9.9900");
    check(narrowed(Multiply, "-10.00", "1.00", 5), overflow);
    // Beyond 64 bits, on both sides of it.
    check(narrowed(Add, "92233720368547758.07", "0.01", 19), "92233720368547758.08");
    check(narrowed(Add, "99999999999999999.99", "0.01", 19), overflow);
    check(narrowed(Add, "99999999999999999.99", "0.01", 20), "100000000000000000.00");
    check(
        narrowed(Multiply, "99999999999.99", "99999999999.99", 26),
        "9999999999998000000000.0001",
    );
}
