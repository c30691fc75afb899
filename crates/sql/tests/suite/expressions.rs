//! Expressions, compiled and run: the results are PostgreSQL 15's, but for the scale of numeric
//! results where docs/sql.md says so.

use crate::database::session::Session;

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let mut session = Session::with("");
    for (expression, expected) in cases {
        assert_eq!(session.rows(&format!("SELECT {expression}")), *expected, "{expression}");
    }
}

#[track_caller]
fn check_errors(cases: &[(&str, &str)]) {
    let mut session = Session::with("");
    for (expression, code) in cases {
        let problem = session.error(&format!("SELECT {expression}"));
        assert_eq!(problem.code(), *code, "{expression}: {problem}");
    }
}

#[test]
fn arithmetic() {
    check(&[
        ("1 + 2 * 3", "7"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("mod(7, 4)", "3"),
        ("2147483647 + 1::bigint", "2147483648"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.5 + 1", "2.5"),
        ("1.50 * 2.5", "3.750"),
        ("10.0 / 4", "2.5000000000000000"),
        ("1 / 3.0", "0.33333333333333333333"),
        ("0.1::double precision + 0.2", "0.30000000000000004"),
        ("2 ^ 10", "1024"),
        ("- (3 - 5)", "2"),
        ("1e3", "1000"),
        ("1.5e-2", "0.015"),
        ("NULL + 1", "NULL"),
        ("'5' + 1", "6"),
        ("1::smallint + 1::smallint", "2"),
    ]);
    check_errors(&[
        ("1 / 0", "22012"),
        ("2147483647 + 1", "22003"),
        ("32767::smallint + 1::smallint", "22003"),
        ("'x' + 1", "22P02"),
        ("true + 1", "42883"),
        ("'a' + 'b'", "42883"),
    ]);
}

#[test]
fn logic_and_comparison() {
    check(&[
        ("1 < 2 AND 2 < 3", "t"),
        ("1 = 1.0", "t"),
        ("NULL AND false", "f"),
        ("NULL AND true", "NULL"),
        ("NULL OR true", "t"),
        ("NOT NULL::boolean", "NULL"),
        ("NULL IS NULL", "t"),
        ("1 IS DISTINCT FROM NULL", "t"),
        ("NULL IS NOT DISTINCT FROM NULL", "t"),
        ("2 BETWEEN 1 AND 3", "t"),
        ("2 NOT BETWEEN 1 AND 3", "f"),
        ("2 IN (1, 2, 3)", "t"),
        ("4 NOT IN (1, 2, NULL)", "NULL"),
        ("(1, 2) = (1, 2)", "t"),
        ("'abc' LIKE 'a%'", "t"),
        ("'ABC' ILIKE 'a_c'", "t"),
        ("'abc' NOT LIKE 'a%'", "f"),
        ("'a' < 'b'", "t"),
        ("'ab'::char(5) = 'ab'", "t"),
        ("true IS TRUE", "t"),
        ("NULL::boolean IS NOT TRUE", "t"),
        ("date '2026-11-21' < timestamp '2026-11-21 00:00:01'", "t"),
    ]);
    check_errors(&[("1 = true", "42883"), ("1 AND true", "42804"), ("'a' LIKE 1", "42883")]);
}

#[test]
fn conditionals() {
    check(&[
        ("CASE WHEN 1 = 2 THEN 'a' ELSE 'b' END", "b"),
        ("CASE 3 WHEN 1 THEN 10 WHEN 3 THEN 30 END", "30"),
        ("CASE 4 WHEN 1 THEN 10 END", "NULL"),
        ("CASE WHEN true THEN 1 ELSE 2.5 END", "1"),
        ("coalesce(NULL, 5, 6)", "5"),
        ("nullif(5, 5)", "NULL"),
        ("greatest(1, 3, NULL, 2)", "3"),
        ("least(2.5, 1)", "1"),
    ]);
    check_errors(&[("CASE WHEN true THEN 1 ELSE true END", "42804")]);
}

#[test]
fn text() {
    check(&[
        ("'a' || 'b' || 1", "ab1"),
        ("'a' || NULL", "NULL"),
        ("length('héllo')", "5"),
        ("octet_length('héllo')", "6"),
        ("upper('abc') || lower('DEF')", "ABCdef"),
        ("substring('hello' from 2 for 3)", "ell"),
        ("substr('hello', 2)", "ello"),
        ("left('hello', 2) || right('hello', 2)", "helo"),
        ("position('l' in 'hello')", "3"),
        ("strpos('hello', 'l')", "3"),
        ("trim('  x  ')", "x"),
        ("trim(leading 'x' from 'xxa')", "a"),
        ("rtrim('axx', 'x')", "a"),
        ("lpad('7', 3, '0')", "007"),
        ("rpad('7', 3)", "7  "),
        ("replace('abcabc', 'b', 'x')", "axcaxc"),
        ("repeat('ab', 2)", "abab"),
        ("reverse('abc')", "cba"),
        ("concat('a', NULL, 1)", "a1"),
        ("'abcdef'::varchar(3)", "abc"),
        ("cast(5 as text)", "5"),
        ("'12'::integer + 1", "13"),
    ]);
    check_errors(&[("nosuch('a')", "42883"), ("lower(5)", "42883"), ("1 || 2", "42883")]);
}

#[test]
fn numbers() {
    check(&[
        ("abs(-5)", "5"),
        ("round(2.5)", "3"),
        ("round(-2.567, 2)", "-2.57"),
        ("trunc(2.567, 1)", "2.5"),
        ("floor(-1.5)", "-2"),
        ("ceil(1.2)", "2"),
        ("sign(-3.2)", "-1"),
        ("sqrt(16)", "4"),
        ("power(2, 3)", "8"),
        ("2.5::integer", "3"),
        ("(1.005 * 100)::numeric(6,2)", "100.50"),
    ]);
}

#[test]
fn times() {
    check(&[
        ("now()", "2000-01-01 00:00:01+00"),
        ("current_date", "2000-01-01"),
        ("date 'today'", "2000-01-01"),
        ("'tomorrow'::date", "2000-01-02"),
        ("timestamp 'yesterday'", "1999-12-31 00:00:00"),
        ("timestamptz 'now'", "2000-01-01 00:00:01+00"),
        ("date '2026-01-31' + 1", "2026-02-01"),
        ("date '2026-03-01' - date '2026-02-01'", "28"),
        ("timestamp '2026-01-01 10:00' + interval '1 day 02:30:00'", "2026-01-02 12:30:00"),
        ("timestamp '2026-01-01 10:00' + '-90 minutes'", "2026-01-01 08:30:00"),
        ("timestamp '2026-01-31' - interval '1 mon'", "2025-12-31 00:00:00"),
        ("timestamp '2026-01-02 01:00' - timestamp '2026-01-01'", "1 day 01:00:00"),
        ("interval '1 month'", "1 mon"),
        ("- interval '1 day' * 1.5", "-1 days -12:00:00"),
        ("make_interval(days => 10)", "10 days"),
        ("timestamp '2026-01-01' + 3 * interval '1 hour'", "2026-01-01 03:00:00"),
        ("extract(year from date '2026-11-21')", "2026"),
        ("extract(epoch from timestamp '2000-01-01 00:00:01.5')", "946684801.500000"),
        ("date_trunc('hour', timestamp '2026-01-01 10:20:30')", "2026-01-01 10:00:00"),
        ("date_trunc('month', date '2026-01-31')", "2026-01-01 00:00:00+00"),
        ("date_trunc('hour', time '10:20')", "10:00:00"),
        ("localtime", "00:00:01"),
        ("date 'January 8, 1999' = '1/8/99'", "t"),
        ("date 'infinity' + 1 > timestamp '294276-12-31'", "t"),
        ("isfinite(date '-infinity') or isfinite(timestamp 'infinity')", "f"),
        ("extract(day from timestamp 'infinity')", "NULL"),
        ("time '23:00' + '2 hours'", "01:00:00"),
        ("time '10:00' - '11:30'", "-01:30:00"),
        ("time(0) '10:00:00.5'", "10:00:01"),
        ("time '10:00' + date '2026-01-02'", "2026-01-02 10:00:00"),
        ("timestamp '2026-01-02 10:20:30.25'::time(1)", "10:20:30.3"),
        ("time '10:00' < interval '1 day'", "t"),
        ("make_date(-44, 3, 15)", "0044-03-15 BC"),
        ("timestamp '2026-01-02 10:00' at time zone 'PST'", "2026-01-02 18:00:00+00"),
        ("timestamptz '2026-01-02 10:00+00' at time zone 'PST'", "2026-01-02 02:00:00"),
        ("timezone(interval '-08:00', timestamptz '2026-01-02 10:00+00')", "2026-01-02 02:00:00"),
        ("date_bin('1 day', date '2026-01-02', '2000-01-01 06:00')", "2026-01-01 06:00:00+00"),
    ]);
    check_errors(&[
        ("timestamp '2026-01-01' - '1 day'", "22007"),
        ("extract(dow from interval '1 day')", "0A000"),
        ("date_trunc('week', interval '1 day')", "0A000"),
        ("interval '1 day' + 1", "42883"),
        ("date 'nonsense'", "22007"),
        ("date '13/13/2026'", "22008"),
        ("timestamptz '2026-01-02 10:00+16'", "22009"),
        ("timestamp '2026-01-02' at time zone 'America/Nowhere'", "22023"),
        ("timestamp '2026-01-02' at time zone interval '1 day'", "22023"),
        ("date 'infinity' - date 'infinity'", "22008"),
        ("extract(year from timestamp 'infinity')", "0A000"),
        ("extract(year from time '10:00')", "0A000"),
        ("date '2026-01-02'::time", "42846"),
        ("make_time(25, 0, 0)", "22008"),
    ]);
}
