#!/usr/bin/env python3
"""Makes the generated areas of the regression suite: tests/regression/generated_*.sql, always the same.

    tests/regression/generate.py && tests/regression/record.py HOST PORT USER

Each function named like an area gives its statements. Combinations of which there are too many are sampled with a seed
of the area's own, so that a change in one area leaves the others as they are.
"""

import itertools
import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
AREAS = []


def area(make):
    AREAS.append(make)
    return make


def sample(rng, combinations, count):
    """Some of the combinations, in their order."""
    all_of_them = list(combinations)
    chosen = set(rng.sample(range(len(all_of_them)), min(count, len(all_of_them))))
    return [one for at, one in enumerate(all_of_them) if at in chosen]


def columns(expressions, width):
    """SELECTs of some expressions each; those that fail are better alone: width 1."""
    for at in range(0, len(expressions), width):
        yield f"SELECT {', '.join(expressions[at:at + width])};"


# By type: values as they are written, from small to large, then NULL.
VALUES = {
    "smallint": ["(-32768)::smallint", "0::smallint", "3::smallint", "NULL::smallint"],
    "integer": ["-7", "0", "2", "2147483647", "NULL::integer"],
    "bigint": ["(-5)::bigint", "3::bigint", "9223372036854775807", "NULL::bigint"],
    "numeric": ["-2.50", "0.0", "1.5", "123456789.987654321", "NULL::numeric"],
    "real": ["(-1.5)::real", "0.1::real", "NULL::real"],
    "float8": ["(-2.5)::float8", "0::float8", "1e100::float8", "'NaN'::float8", "'Infinity'::float8", "NULL::float8"],
    "text": ["''::text", "'abc'::text", "'Abc '::text", "'10'::text", "NULL::text"],
    "varchar": ["'abc'::varchar", "'b'::varchar(3)"],
    "char": ["'abc'::char(5)", "'b'::char(3)"],
    "boolean": ["true", "false", "NULL::boolean"],
    "date": ["date '2024-02-29'", "date '1999-12-31'", "date 'infinity'", "NULL::date"],
    "time": ["time '00:00'", "time '23:59:59.5'"],
    "timestamp": ["timestamp '2024-02-29 12:30:45.5'", "timestamp '1900-01-01'", "NULL::timestamp"],
    "timestamptz": ["timestamptz '2024-03-10 02:30:00+00'", "timestamptz '2026-06-01 00:00+05:30'"],
    "interval": ["interval '1 month -2 days 03:04:05'", "interval '-1 year'", "interval '36 hours'", "NULL::interval"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid"],
    "bytea": ["'\\x00ff'::bytea", "''::bytea"],
    "jsonb": ["'{\"a\": [1, 2]}'::jsonb", "'3'::jsonb", "NULL::jsonb"],
    "unknown": ["'5'", "'x'", "NULL"],
    "int[]": ["ARRAY[1, 2]", "'{}'::int[]"],
}


@area
def operators():
    """Each operator with each pair of types, values sampled."""
    rng = random.Random(1)
    signs = ["+", "-", "*", "/", "%", "=", "<>", "<", ">=", "||"]
    for left, right in itertools.product(VALUES, VALUES):
        for sign in sample(rng, signs, 3):
            yield f"SELECT {rng.choice(VALUES[left])} {sign} {rng.choice(VALUES[right])};"
    numbers = ["smallint", "integer", "bigint", "numeric", "real", "float8"]
    for left, right in itertools.product(numbers, numbers):
        for sign in ["+", "-", "*", "/", "%", "^"]:
            yield f"SELECT {rng.choice(VALUES[left][:-1])} {sign} {rng.choice(VALUES[right][:-1])};"
    moments = ["date", "time", "timestamp", "timestamptz", "interval"]
    for left, right in itertools.product(moments, moments):
        for sign in ["+", "-", "<", "="]:
            yield f"SELECT {VALUES[left][0]} {sign} {VALUES[right][0]};"
            yield f"SELECT {rng.choice(VALUES[left])} {sign} {rng.choice(VALUES[right])};"
    for kind in VALUES:
        for form in ["-({})", "+({})", "NOT ({})", "({}) IS NULL", "({}) IS TRUE", "~({})", "({}) IS NOT DISTINCT FROM NULL"]:
            yield f"SELECT {form.format(rng.choice(VALUES[kind]))};"
    for kind in ["smallint", "integer", "bigint"]:
        for sign in ["&", "|", "#", "<<", ">>"]:
            for left, right in sample(rng, itertools.product(VALUES[kind], ["1", "3", "-1", "31", "33", "2::bigint"]), 4):
                yield f"SELECT {left} {sign} {right};"
    for truth in itertools.product(["true", "false", "NULL"], repeat=2):
        yield "SELECT {0} AND {1}, {0} OR {1}, {0} = {1}, {0} IS DISTINCT FROM {1}, {0} <> {1}, NOT {0};".format(*truth)


TYPES = ["smallint", "integer", "bigint", "numeric", "numeric(5,2)", "real", "double precision", "text", "varchar(3)", "char(3)",
         "boolean", "date", "time", "timestamp", "timestamptz", "interval", "uuid", "bytea", "json", "jsonb", "oid", "integer[]", "text[]"]


@area
def casts():
    """Each type's values cast to each other type, by both ways to write it."""
    rng = random.Random(2)
    for kind, to in itertools.product(VALUES, TYPES):
        for value in sample(rng, VALUES[kind], 2):
            yield f"SELECT ({value})::{to};" if rng.random() < 0.5 else f"SELECT CAST({value} AS {to}) AS v;"


INPUTS = {
    "smallint": ["0", "-32768", "32767", "32768", " 5 ", "+5", "5.0", "", "x", "1e2", "0x10", "--1", "5 5"],
    "integer": ["2147483647", "2147483648", "-2147483648", "\t7\n", "1_000", "1.", "NaN", "true", "- 5", "00012"],
    "bigint": ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e3", " ", "12345678901234567890123"],
    "numeric": ["1.50", "-0", "+.5", "5.", "1e5", "1.5e-3", "1e", "NaN", "Infinity", "-inf", "abc", "1,000", " 7.10 ", "1e-30", "00.10", "1 2", "1e400", "."],
    "numeric(4,1)": ["999.94", "999.95", "-999.99", "0.05", "0.049", "1e2", "1000"],
    "real": ["1e38", "1e39", "1e-46", "NaN", "-Infinity", "inf", "0.1", "16777217", "1e", "x", "1.17549435e-38"],
    "double precision": ["1e308", "1e309", "1e-400", "nan", "+inf", "0.1", "-0", "123456789012345678", "1d", "", " 1.5 ", "4.9e-324", "1e23"],
    "boolean": ["t", "T", "tr", "true", "yes", "y", "on", "1", "f", "fa", "no", "n", "off", "of", "0", "2", "", "o", " on ", "TRUE", "nope", "10"],
    "text": ["", " ", "x", "Ünïcode"],
    "varchar(3)": ["abc", "abcd", "ab ", "ab   ", "äöüß", ""],
    "char(3)": ["a", "abc", "abcd", "abc   ", "  ", ""],
    "date": ["2026-01-31", "2026-02-29", "2024-02-29", "1/8/1999", "18/1/1999", "January 8, 1999", "08-Jan-1999", "Jan-08-1999", "1999-Jan-08",
             "99-01-08", "19990108", "990108", "1999.008", "J2451187", "epoch", "infinity", "-infinity", "0001-01-01 BC", "2026-13-01",
             "2026-00-10", "2026-1-1", "today x", "", "x", "2026-01-01 25:00", "2026-01-01 10:00:00", "99999-01-01", "5874898-01-01",
             "4714-11-24 BC", "4714-11-23 BC", "2026/01/02", "2026 01 02", "Mon Jan 5 2026", "2026-Feb-30", "5 January 2026", "Jan 5 2026 AD"],
    "time": ["10:11:12", "10:11", "24:00:00", "24:00:01", "25:00", "10:60", "10:59:60", "10:11:12.1234567", "101112", "1011", "04:05 AM", "04:05 PM",
             "12:00 AM", "13:00 PM", "10:11:12 PST", "allballs", "", "x", "10", "10:11:12+02", "T10:11", "2026-01-01 10:11", "23:59:59.9999999"],
    "timestamp": ["2026-01-02 03:04:05", "2026-01-02T03:04:05", "2026-01-02 03:04:05.123456789", "2026-01-02", "20260102T030405", "2026-01-02 03:04:05+02",
                  "2026-01-02 03:04:05Z", "2026-01-02 3:4", "2026-01-02 24:00", "2026-01-02 24:01", "Jan 2 03:04:05 2026", "2026-01-02 03:04 PM",
                  "Fri Jan 02 03:04:05 2026 PST", "epoch", "infinity", "-infinity", "2026-02-30 00:00", "x", "", "2026-01-02 03:04:60", "2026-01-02 03:61",
                  "294276-12-31 23:59:59", "294277-01-01", "4713-01-01 BC", "0000-01-01", "2026-01-02 03:04:05 BC", "2026-01-02 03:04:05.9999999", "1/2/2026 10:00"],
    "timestamptz": ["2026-01-02 03:04:05", "2026-01-02 03:04:05+02", "2026-01-02 03:04:05-08:30", "2026-01-02 03:04:05 PST", "2026-01-02 03:04:05 EST",
                    "2026-01-02T03:04:05Z", "2026-01-02 03:04:05 UTC", "2026-01-02 03:04:05 America/New_York", "2026-07-02 03:04:05 Europe/Berlin", "2026-01-02 03:04:05 nope",
                    "2026-01-02 03:04:05+16", "2026-01-02 03:04:05+15:59:59", "2026-01-02 03:04:05 GMT+3", "2026-01-02 03:04:05 UTC+3", "2026-01-02 03:04:05+0530", "epoch", "infinity"],
    "interval": ["1 day", "1 year 2 months 3 days 4 hours 5 minutes 6 seconds", "P1Y2M3DT4H5M6S", "P0001-02-03T04:05:06", "1-2", "3 4:05:06", "-1 day +2 hours", "1 week",
                 "1.5 days", "1.5 months", "0.5 years", "1 day ago", "@ 1 minute", "10:20", "10:20:30.5", "100", "1 fortnight", "", "x", "1", "1 decade", "1 millennium",
                 "P1W", "PT1.5H", "1 mon 1 mon", "5 ms", "5 us", "-1-2 +3 -4:05:06", "infinity", "1 day 25:00:00", "-00:00:01", "999999999 years", "1 hour 70 minutes", "2 h 3 m 4 s", "1 y 2 mons"],
    "uuid": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
             "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "", "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a111"],
    "bytea": ["\\\\x", "\\\\x00", "\\\\xABcd", "\\\\x0", "\\\\xgg", "abc", "a\\\\\\\\b", "a\\\\001b", "a\\\\9", "\\\\x 01 02", ""],
    "json": ["{}", "[]", "null", "1", "-1.5e3", "01", ".5", "\"a\"", "'a'", "{\"a\":1}", "{\"a\" 1}", "[1 2]", "tru", "", "[1]]", "\"\\\\x\"", "{\"a\":{\"b\":[]}}", "\"\\\\ud83d\"", "nan"],
    "jsonb": ["{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":2}", "1.0", "1e2", "-0", "-0.0", "1e-5", "[ 1 , 2 ]", "\"\\\\u0041\"", "\"\\\\u0000\"", "{", "1e400", "[1,2", "{\"\":1}", "  true  ", "123456789012345678901234567890"],
    "oid": ["0", "4294967295", "4294967296", "-1", "x", "", " 7 "],
    "integer[]": ["{}", "{1,2}", "{1,NULL}", "{1,,2}", "{1", "1,2", "{x}", " { 1 , 2 } ", "{{1,2},{3,4}}", "{{1},{2,3}}", "[2:3]={1,2}", "{1,2}x", "{\"1\"}"],
    "text[]": ["{a,b}", "{\"a,b\",c}", "{\"a\\\\\"b\"}", "{NULL,\"NULL\"}", "{ a b , c }", "{a\"b}", "{\"a\"b}", "{}", "{a}", "{{a},{b}}", "{\"\"}"],
}


@area
def inputs():
    """Texts as values of each type, well and badly written: as a cast, as a typed literal, from a column of texts."""
    yield "CREATE TABLE texts (id serial PRIMARY KEY, v text);"
    for to, texts in INPUTS.items():
        for text in texts:
            literal = "E'" + text.replace("'", "''").replace("\t", "\\t").replace("\n", "\\n") + "'"
            yield f"SELECT {literal}::{to} AS v;"
    rng = random.Random(3)
    for to, texts in INPUTS.items():
        for text in sample(rng, texts, 5):
            literal = "E'" + text.replace("'", "''").replace("\t", "\\t").replace("\n", "\\n") + "'"
            yield f"INSERT INTO texts (v) VALUES ({literal});"
            yield f"SELECT v::{to} FROM texts WHERE id = (SELECT max(id) FROM texts);"


TEXTS = ["''", "'abc'", "'  aBc '", "'äöü ß'", "'a,b,,c'", "NULL"]


@area
def texts():
    """Functions of texts at their edges."""
    rng = random.Random(4)
    numbers = ["0", "1", "2", "-1", "-2", "100", "NULL"]
    calls = [f"{f}({t})" for f in ["length", "upper", "lower", "initcap", "reverse", "btrim", "ltrim", "rtrim", "md5", "ascii", "quote_ident",
                                   "quote_literal", "quote_nullable", "octet_length", "bit_length", "char_length", "to_hex"] for t in TEXTS]
    calls += [f"{f}({t}, {n})" for f in ["left", "right", "repeat", "substr", "lpad", "rpad"] for t in TEXTS for n in numbers]
    calls += [f"substr({t}, {a}, {b})" for t in TEXTS[1:4] for a in numbers for b in numbers]
    calls += [f"substring({t} FROM {a} FOR {b})" for t in TEXTS[1:4] for a in ["1", "-1", "2"] for b in ["0", "2", "-1"]]
    calls += [f"split_part({t}, {s}, {n})" for t in ["'a,b,,c'", "''", "'abc'"] for s in ["','", "''", "'bc'"] for n in ["1", "2", "0", "-1", "9"]]
    calls += [f"lpad({t}, {n}, {f})" for t in TEXTS[:3] for n in ["5", "2", "0", "-3"] for f in ["'xy'", "''", "'*'"]]
    calls += [f"rpad({t}, {n}, {f})" for t in TEXTS[:3] for n in ["5", "2"] for f in ["'xy'", "''"]]
    calls += [f"{f}({t}, {c})" for f in ["btrim", "ltrim", "rtrim", "strpos", "starts_with"] for t in TEXTS for c in ["' '", "'a'", "''", "'cba '"]]
    calls += [f"replace({t}, {a}, {b})" for t in TEXTS[:5] for a in ["'a'", "''", "','"] for b in ["'xx'", "''"]]
    calls += [f"translate({t}, {a}, {b})" for t in TEXTS[1:5] for a in ["'abc'", "''", "'a,'"] for b in ["'x'", "''", "'1234'"]]
    calls += [f"overlay({t} PLACING 'ZZ' FROM {a}{b})" for t in TEXTS[1:4] for a in ["1", "2", "9"] for b in ["", " FOR 0", " FOR 5"]]
    calls += [f"position({a} IN {t})" for t in TEXTS for a in ["'b'", "''", "'zz'"]]
    calls += [f"trim({how} {c} FROM {t})" for how in ["BOTH", "LEADING", "TRAILING"] for c in ["' '", "'a '"] for t in TEXTS[1:3]]
    calls += [f"concat({', '.join(a)})" for a in sample(rng, itertools.product(["1", "'a'", "NULL", "true", "1.50", "date '2026-01-01'"], repeat=3), 15)]
    calls += [f"concat_ws({', '.join(a)})" for a in sample(rng, itertools.product(["','", "NULL", "''"], ["1", "NULL", "'b'"], ["'c'", "NULL"]), 12)]
    calls += [f"format({', '.join(a)})" for a in [["'%s'", "1"], ["'%s %s'", "1"], ["'%I.%L'", "'My t'", "'it''s'"], ["'%L'", "NULL"], ["'%I'", "NULL"], ["'%%'"], ["'%5s|'", "'a'"],
                                              ["'%-5s|'", "'a'"], ["'%2$s %1$s'", "1", "2"], ["'%x'", "1"], ["'%'"], ["NULL", "1"], ["'%*s'", "5", "'a'"], ["'%s'", "ARRAY[1, 2]"], ["'%s'", "true"], ["'%1$s %s'", "1", "2"], ["'%0$s'", "1"]]]
    calls += [f"chr({n})" for n in ["65", "0", "228", "-1", "1114112", "8364", "NULL", "55296"]]
    calls += [f"{t} {op} {p}" for t in ["'abc'", "'a%c'", "''", "'ABC'", "NULL", "'a\nc'", "'äbc'"] for op in ["LIKE", "NOT LIKE", "ILIKE", "SIMILAR TO", "~", "~*", "!~"]
              for p in sample(rng, ["'a%'", "'_b_'", "'%'", "''", "'a\\%c'", "'(a|b)%'", "'^a.c$'", "'b'", "'[a-c]+'", "'A'", "NULL"], 3)]
    calls += [f"regexp_replace({', '.join(a)})" for a in sample(rng, itertools.product(["'abcabc'", "'a1b22'", "''"], ["'b'", "'[0-9]+'", "'(a)(b)'", "'^'", "'('"], ["'X'", "'<\\1>'", "'\\&'", "''"]), 30)]
    calls += [f"regexp_replace('abcABC', 'b', 'x', {flag})" for flag in ["'g'", "'i'", "'gi'", "'z'", "''"]]
    calls += [f"{f}({t}, {p})" for f in ["regexp_match", "regexp_split_to_array", "regexp_count", "regexp_substr", "regexp_instr", "regexp_like"]
              for t, p in [("'foobar'", "'o+'"), ("'foobar'", "'(f)(x)?'"), ("'a, b'", "', *'"), ("''", "''"), ("'abc'", "''"), ("'abc'", "'['"), ("'aaa'", "'a{2}'"), ("'a.b'", "'\\.'"), ("'x'", "NULL")]]
    calls += [f"regexp_matches({t}, {p}, 'g')" for t, p in [("'foobar'", "'o'"), ("'a1b2'", "'([a-z])([0-9])'"), ("'abc'", "'z'")]]
    calls += [f"string_to_array({t}, {s})" for t in ["'a,b'", "''", "NULL", "','"] for s in ["','", "''", "NULL"]]
    calls += [f"string_to_table('a,b', ',')", "regexp_split_to_table('a b', ' ')", "unnest(string_to_array('b a', ' '))"]
    calls += [f"to_hex({n})" for n in ["255", "-1", "0", "9223372036854775807"]]
    calls += [f"encode({b}::bytea, '{how}')" for b in ["'abc'", "'\\x00ff'", "''"] for how in ["hex", "base64", "escape", "nope"]]
    calls += [f"decode({b}, '{how}')" for b in ["'616263'", "'YWJj'", "'a\\001'", "'6'", "'???'"] for how in ["hex", "base64", "escape"]]
    calls += [f"normalize('a\u0308')", "unistr('\\0061')", "parse_ident('a.\"B c\"')", "casefold('A')", "levenshtein('a', 'b')", "similarity('a', 'b')", "unaccent('ä')", "soundex('x')"]
    for call in calls:
        yield f"SELECT {call};"


@area
def numbers():
    """Functions of numbers at their edges."""
    values = ["0", "1", "-1", "2.5", "-2.5", "-0.5", "1234.5678", "0::float8", "2.5::float8", "-3.5::float8", "'NaN'::float8", "'Infinity'::float8", "9223372036854775807", "NULL::int", "32767::smallint"]
    for name in ["abs", "sign", "ceil", "ceiling", "floor", "round", "trunc", "sqrt", "cbrt", "exp", "ln", "log", "log10", "degrees", "radians", "sin", "cos", "tan", "atan", "asin", "acos", "cot", "sinh", "cosh", "tanh", "sind"]:
        for value in values if name in ["abs", "sign", "ceil", "floor", "round", "trunc", "sqrt", "exp", "ln"] else values[:9:2]:
            yield f"SELECT {name}({value});"
    pairs = [("7", "3"), ("-7", "3"), ("7", "-3"), ("7.5", "2"), ("-7.5", "2"), ("5", "0"), ("2", "10"), ("0", "0"), ("2", "0.5"), ("-8", "0.5"), ("2::float8", "-1"), ("9223372036854775807", "-1"), ("NULL", "1")]
    for name in ["mod", "div", "power", "pow", "round", "trunc", "atan2", "gcd", "lcm", "log"]:
        for one, two in pairs:
            yield f"SELECT {name}({one}, {two});"
    for value, digits in itertools.product(["1234.5678", "-1234.5678", "0.05", "5", "1e10", "2.345"], ["0", "1", "2", "-2", "-5", "10"]):
        yield f"SELECT round({value}, {digits}), trunc({value}, {digits});"
    for name in ["pi()", "factorial(5)", "factorial(-1)", "factorial(30)", "scale(1.500)", "min_scale(1.500)", "trim_scale(1.500)", "width_bucket(5.35, 0.024, 10.06, 5)", "width_bucket(3, ARRAY[1, 2, 5])",
                 "numeric_inc(1)", "isfinite(date '2026-01-01')", "int4(2.5)", "float8(1)", "greatest(1, 2.5)", "greatest(1, NULL, 3)", "least('a', 'b')", "greatest(NULL, NULL)", "least(1, 'x')", "greatest(true, false)", "nullif(1, 1.0)",
                 "nullif('a', 'b')", "coalesce(NULL, 1, 2)", "coalesce(NULL, NULL)", "coalesce(1, 'x')", "coalesce(1, 1 / 0)", "coalesce(NULL, 1.5, 2)", "pg_size_pretty(1048576)", "pg_size_pretty(10240::bigint)", "pg_size_pretty(123456789.5)", "pg_size_bytes('1 MB')",
                 "num_nulls(1, NULL)", "random() < 1", "random_normal() IS NOT NULL", "setseed(0.5)", "bit_count('\\x0f'::bytea)", "to_number('1,234.5', '9,999.9')", "to_number('x', '9')", "to_number('-12', 'S99')"]:
        yield f"SELECT {name};"
    for value, template in itertools.product(["0", "1", "-5", "1234.567", "-0.5", "1e6", "NULL::int"], ["'9'", "'999'", "'FM999.99'", "'0000'", "'9,999.00'", "'S999'", "'999PR'", "'MI999'", "'RN'", "'L99'", "'99V9'", "'9.99EEEE'", "'FM$9'", "''", "'999th'", "'x9'"]):
        yield f"SELECT to_char({value}, {template});"
    rng = random.Random(5)
    constants = ["1", "2", "3.0", "0.25", "7::bigint", "1.5::float8", "-4", "10.00"]
    for _ in range(150):
        expression = rng.choice(constants)
        for _ in range(rng.randint(1, 4)):
            expression = rng.choice(["{} {} {}", "({} {} {})", "- {} {} {}"]).format(expression, rng.choice(["+", "-", "*", "/", "%"]), rng.choice(constants))
        yield f"SELECT {expression} AS v;"


@area
def times():
    """Dates and times: fields, units, templates, arithmetic."""
    moments = ["timestamp '2024-02-29 13:14:15.678'", "timestamptz '1999-12-31 23:59:59.999999+00'", "date '2026-11-27'", "time '01:02:03.5'", "interval '1 year 2 months 3 days 04:05:06.7'", "timestamp 'infinity'", "date '0044-03-15 BC'"]
    for field in ["century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian", "microseconds", "millennium", "milliseconds", "minute", "month", "quarter", "second", "timezone", "timezone_hour", "week", "year", "nope"]:
        for moment in moments:
            yield f"SELECT extract({field} FROM {moment});"
        yield f"SELECT date_part('{field}', timestamp '2024-02-29 13:14:15.678'), date_part('{field}', interval '1 day 2 hours');"
    for unit in ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "nope"]:
        for moment in moments[:5]:
            yield f"SELECT date_trunc('{unit}', {moment});"
    templates = ["YYYY-MM-DD HH24:MI:SS", "YY Y,YYY YYY", "Month MONTH month FMMonth", "Mon DD Dy Day", "HH12:MI AM", "HH:MI:SS.MS US", "DDD D J Q", "WW IW IYYY ID", "CC RM FMRM", "TZ OF TZH:TZM", "SSSS SSSSS", "FMDDth DDTH", "\"text\" YYYY", "a.m. P.M.", "FF3 FF6", "BC ad", "", "xyz", "YYYYMMDD", "Dth FMHH24h", "YYYY\"T\"", "MM/DD/YY"]
    for template, moment in itertools.product(templates, moments[:6]):
        yield f"SELECT to_char({moment}, '{template}');"
    for text, template in [("2026-01-02", "YYYY-MM-DD"), ("02 Jan 2026", "DD Mon YYYY"), ("20260102", "YYYYMMDD"), ("1/2/26", "MM/DD/YY"), ("2026-13-01", "YYYY-MM-DD"), ("2026-02-30", "YYYY-MM-DD"), ("x", "YYYY"), ("2026", "YYYY"), ("2026-060", "YYYY-DDD"),
                           ("2026-W01", "IYYY-\"W\"IW"), ("January 5, 2026", "Month DD, YYYY"), ("5th", "DDth"), ("", "YYYY"), ("99", "YY"), ("69", "YY"), ("2026-1-2", "YYYY-MM-DD"), ("12:30 PM", "HH12:MI AM"), ("2026-01-02 13:14:15", "YYYY-MM-DD HH24:MI:SS"), ("13", "HH12"), ("2026-01-02 10:00+05", "YYYY-MM-DD HH24:MITZH"), ("10:11:12.345", "HH24:MI:SS.MS"), ("2026 01", "YYYY MM"), ("a2026", "YYYY"), ("44 BC", "YY BC")]:
        yield f"SELECT to_date('{text}', '{template}');"
        yield f"SELECT to_timestamp('{text}', '{template}');"
    bases = ["date '2024-01-31'", "timestamp '2024-01-31 10:00'", "timestamptz '2024-03-31 10:00+00'", "time '23:30'", "interval '1 month'"]
    spans = ["interval '1 month'", "interval '1 day'", "interval '-1 year'", "interval '25 hours'", "interval '0.5 seconds'", "1", "-30", "time '01:00'", "2.5", "date '2024-03-01'"]
    for base, span, sign in itertools.product(bases, spans, "+-"):
        yield f"SELECT {base} {sign} {span};"
    for span, number, sign in itertools.product(["interval '1 month 1 day 1 hour'", "interval '-90 minutes'"], ["2", "0.5", "-1.5", "0", "3::float8"], "*/"):
        yield f"SELECT {span} {sign} {number};"
    for one, two in [("2026-03-01", "2024-02-29"), ("2024-02-29", "2026-03-01"), ("2026-01-31 10:00", "2025-12-31 12:00"), ("infinity", "2026-01-01")]:
        yield f"SELECT age(timestamp '{one}', timestamp '{two}'), timestamp '{one}' - timestamp '{two}';"
    for call in ["make_date(2026, 2, 29)", "make_date(2024, 2, 29)", "make_date(-44, 3, 15)", "make_time(10, 11, 12.5)", "make_time(25, 0, 0)", "make_timestamp(2026, 1, 2, 3, 4, 5.5)", "make_timestamptz(2026, 1, 2, 3, 4, 5, 'UTC')", "make_interval(1, 2, 3, 4)", "make_interval(days => 10)", "make_interval(hours => 5, secs => 1.5)",
                 "justify_days(interval '35 days')", "justify_hours(interval '27 hours')", "justify_interval(interval '1 mon -1 hour')", "isfinite(timestamp 'infinity')", "isfinite(interval '1 day')", "date_bin('15 minutes', timestamp '2026-01-01 10:22', timestamp '2026-01-01')", "date_bin('0', timestamp '2026-01-01', timestamp '2026-01-01')", "date_bin('1 month', timestamp '2026-01-01', timestamp '2026-01-01')",
                 "to_timestamp(0)", "to_timestamp(1e9 + 0.5)", "to_timestamp('NaN')", "timezone('UTC', timestamp '2026-01-01')", "date '2026-01-01' + time '10:00'", "date 'infinity' - date '2026-01-01'", "date '2026-01-01' - 10", "current_date - current_date", "now() = current_timestamp", "localtimestamp IS NOT NULL", "clock_timestamp() >= now()",
                 "date '2026-01-01' = timestamp '2026-01-01'", "date '2026-01-01' < timestamptz '2026-01-01 00:00:01+00'", "time '10:00' < '11:00'", "interval '1 month' = interval '30 days'", "interval '1 day' > '23 hours'", "'2026-01-01'::date BETWEEN '2025-01-01' AND '2027-01-01'", "greatest(date '2026-01-01', '2027-01-01')",
                 "extract(epoch FROM interval '1 month')", "extract(epoch FROM timestamptz '1970-01-02 00:00+00')::bigint", "(timestamp '2026-01-02' - timestamp '2026-01-01')::text", "(date '2026-01-02')::timestamp", "(timestamp '2026-01-02 10:00')::date", "(timestamp '2026-01-02 10:00')::time", "(timestamptz '2026-01-02 10:00+02')::date", "(interval '25:00')::time", "(time '10:00')::interval", "'10:00'::time::text",
                 "(date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-15', date '2024-03-01')", "(timestamp '2024-01-01', interval '1 day') OVERLAPS (timestamp '2024-01-02', interval '1 day')", "interval '1' day", "interval '1-2' year to month", "interval '10' minute", "interval '1 day 2 hours' hour", "interval(0) '1.6 seconds'", "timestamp(0) '2026-01-01 10:00:00.5'", "timestamp without time zone '2026-01-01 10:00+05'", "time with time zone '10:00+02'", "current_time IS NOT NULL", "localtime IS NOT NULL"]:
        yield f"SELECT {call};"
    for zone in ["'UTC'", "'PST'", "'America/New_York'", "'+03'", "'UTC+3'", "'-05:30'", "interval '2 hours'", "'nope'", "'CET'", "'Europe/London'"]:
        yield f"SELECT timestamp '2026-07-01 12:00' AT TIME ZONE {zone};"
        yield f"SELECT timestamptz '2026-01-01 12:00+00' AT TIME ZONE {zone};"


@area
def aggregates():
    """Aggregates and windows over one table of all types."""
    yield "CREATE TABLE m (id int PRIMARY KEY, g text, i int, s smallint, b bigint, n numeric(8,2), u numeric, r real, d double precision, t text, o boolean, a date, z timestamptz, v interval, j jsonb);"
    rng = random.Random(6)
    for at in range(1, 25):
        row = [str(at), rng.choice(["'x'", "'y'", "'z'", "NULL"]), rng.choice(["1", "2", "3", "-5", "NULL"]), rng.choice(["1", "20", "NULL"]), rng.choice(["10000000000", "5", "NULL"]), rng.choice(["1.50", "2.25", "100", "NULL"]),
               rng.choice(["1.5", "2", "0.333", "NULL"]), rng.choice(["0.5", "1.25", "NULL"]), rng.choice(["0.25", "2.5", "-1", "NULL"]), rng.choice(["'a'", "'b'", "'B'", "''", "NULL"]), rng.choice(["true", "false", "NULL"]),
               rng.choice(["'2026-01-01'", "'2026-02-01'", "NULL"]), rng.choice(["'2026-01-01 10:00+00'", "'2026-05-01 00:00+00'", "NULL"]), rng.choice(["'1 day'", "'2 hours'", "NULL"]), rng.choice(["'1'", "'{\"a\": 1}'", "NULL"])]
        yield f"INSERT INTO m VALUES ({', '.join(row)});"
    fields = ["i", "s", "b", "n", "u", "r", "d", "t", "o", "a", "z", "v", "j"]
    names = ["count", "sum", "avg", "min", "max", "bool_and", "bool_or", "stddev", "var_pop", "bit_and"]
    for name, field in itertools.product(names, fields):
        yield f"SELECT {name}({field}) FROM m;"
    for name, field in itertools.product(["count", "sum", "avg", "max"], fields[:8]):
        yield f"SELECT g, {name}({field}) FROM m GROUP BY g ORDER BY g;"
        yield f"SELECT {name}(DISTINCT {field}), {name}({field}) FILTER (WHERE o) FROM m;"
    for field in fields:
        yield f"SELECT array_agg({field} ORDER BY id) FROM m;"
        yield f"SELECT json_agg({field} ORDER BY id) FROM m WHERE id < 8;"
        yield f"SELECT count(*) FROM m a JOIN m b ON a.{field} = b.{field};"
        yield f"SELECT {field}, count(*) FROM m GROUP BY {field} ORDER BY {field} NULLS FIRST;"
        yield f"SELECT DISTINCT {field} FROM m ORDER BY 1 DESC;"
        yield f"SELECT id, {field} FROM m ORDER BY {field} NULLS FIRST, id LIMIT 5;"
        yield f"SELECT id, lag({field}) OVER (ORDER BY id), first_value({field}) OVER (PARTITION BY g ORDER BY id) FROM m ORDER BY id LIMIT 6;"
        yield f"SELECT id FROM m WHERE {field} = (SELECT max({field}) FROM m) ORDER BY id;"
        yield f"SELECT id FROM m WHERE {field} IN (SELECT {field} FROM m WHERE id < 4) ORDER BY id;"
        yield f"SELECT id FROM m WHERE {field} IS DISTINCT FROM (SELECT {field} FROM m WHERE id = 3) ORDER BY id;"
    functions = ["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "lag(i)", "lead(i, 2, 0)", "sum(i)", "count(*)", "avg(n)", "min(d)", "max(t)", "first_value(i)", "last_value(i)", "nth_value(i, 2)", "string_agg(t, '')", "bool_or(o)"]
    windows = ["()", "(ORDER BY id)", "(PARTITION BY g ORDER BY id)", "(ORDER BY i NULLS FIRST, id)", "(PARTITION BY g)", "(ORDER BY g DESC, id)", "(ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)", "(ORDER BY id ROWS UNBOUNDED PRECEDING)", "(ORDER BY i RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)", "(ORDER BY g GROUPS 1 PRECEDING)", "(PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", "(ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)"]
    for function, window in sample(rng, itertools.product(functions, windows), 130):
        if window in ["()", "(PARTITION BY g)", "(ORDER BY i RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)", "(ORDER BY g GROUPS 1 PRECEDING)"] and function.split("(")[0] in ["row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value", "string_agg"]:
            continue
        yield f"SELECT id, {function} OVER {window} FROM m ORDER BY id;"
    for grouping in ["ROLLUP (g, o)", "CUBE (g, o)", "GROUPING SETS ((g), (o), ())", "g, ROLLUP (o)", "GROUPING SETS ((g, o), ())", "ROLLUP ((g, o), i)", "CUBE (g)", "GROUPING SETS (ROLLUP (g), CUBE (o))"]:
        yield f"SELECT g, o, count(*), sum(i) FROM m GROUP BY {grouping} ORDER BY 1, 2, 3, 4, 5;".replace("g, o, count", "g, o, GROUPING(g), count")
        yield f"SELECT g, count(*) FROM m GROUP BY {grouping} HAVING count(*) > 3 ORDER BY 1, 2;"


@area
def joins():
    """Kinds of joins, conditions, and set operations over three small tables with NULLs."""
    yield "CREATE TABLE a (id int PRIMARY KEY, x int, y text);"
    yield "CREATE TABLE b (id int PRIMARY KEY, x int, z numeric(4,1));"
    yield "CREATE TABLE c (x int, y text, w bigint);"
    yield "INSERT INTO a VALUES (1, 1, 'a'), (2, 2, NULL), (3, NULL, 'c'), (4, 2, 'a'), (5, 7, 'e');"
    yield "INSERT INTO b VALUES (1, 2, 1.5), (2, 2, 2), (3, 3, NULL), (4, NULL, 1.5), (6, 1, 0);"
    yield "INSERT INTO c VALUES (1, 'a', 10), (2, 'a', NULL), (NULL, NULL, 30), (2, 'e', 2), (2, 'e', 2);"
    rng = random.Random(7)
    kinds = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
    conditions = ["ON a.x = b.x", "ON a.id = b.id", "USING (x)", "USING (id)", "USING (id, x)", "ON a.x = b.x AND a.id < b.id", "ON a.x = b.x AND b.z > 1", "ON a.x = b.z", "ON true", "ON a.x < b.x", "ON a.x IS NOT DISTINCT FROM b.x", "ON a.id = b.id OR a.x = b.x", "ON a.id = 1"]
    for kind, condition in itertools.product(kinds, conditions):
        yield f"SELECT a.id, b.id FROM a {kind} b {condition} ORDER BY 1, 2;"
    for kind in kinds:
        for where in ["a.id IS NULL", "b.id IS NULL", "b.z > 1", "a.y = 'a' OR b.z IS NULL", "coalesce(a.x, b.x) = 2", "a.id = 1 AND b.id = 6"]:
            yield f"SELECT a.id, b.id, z FROM a {kind} b USING (x) WHERE {where} ORDER BY 1, 2;"
        yield f"SELECT * FROM a {kind} b USING (x) ORDER BY 1, 2, 4;"
        yield f"SELECT * FROM a NATURAL {kind} b ORDER BY 1, 2;"
        yield f"SELECT x, count(*), sum(z) FROM a {kind} b USING (x) GROUP BY x ORDER BY x;"
    for one, two in itertools.product(kinds, kinds):
        yield f"SELECT a.id, b.id, c.w FROM a {one} b ON a.x = b.x {two} c ON c.x = b.x ORDER BY 1, 2, 3;"
        yield f"SELECT a.id, b.id, c.w FROM a {one} b USING (x) {two} c USING (x) ORDER BY 1, 2, 3;"
        yield f"SELECT x, y, z, w FROM a {one} b USING (x) {two} c USING (x, y) ORDER BY 1, 2, 3, 4;"
        yield f"SELECT a.id, b.id, c.w FROM a {one} (b {two} c ON c.x = b.x) ON a.x = b.x ORDER BY 1, 2, 3;"
        yield f"SELECT a.id, b.id, c.w FROM a {one} b ON a.x = b.x {two} c ON c.y = a.y ORDER BY 1, 2, 3;"
    for inner in ["SELECT b.id FROM b WHERE b.x = a.x", "SELECT max(b.id) FROM b WHERE b.x = a.x", "SELECT b.id FROM b WHERE b.z > a.id ORDER BY 1 LIMIT 1", "SELECT count(*) FROM c WHERE c.y = a.y"]:
        yield f"SELECT a.id, l.* FROM a, LATERAL ({inner}) l ORDER BY 1, 2;"
        yield f"SELECT a.id, l.* FROM a LEFT JOIN LATERAL ({inner}) l ON true ORDER BY 1, 2;"
        yield f"SELECT a.id FROM a WHERE EXISTS ({inner}) ORDER BY 1;"
        yield f"SELECT a.id FROM a WHERE a.id IN ({inner}) ORDER BY 1;"
        yield f"SELECT a.id FROM a WHERE a.id NOT IN ({inner}) ORDER BY 1;"
        yield f"SELECT a.id FROM a WHERE a.id > ALL ({inner}) ORDER BY 1;"
        yield f"SELECT a.id, ({inner}) AS v FROM a ORDER BY 1;"
        yield f"SELECT a.id, ARRAY({inner}) AS v FROM a WHERE id < 3 ORDER BY 1;"
    queries = ["SELECT x FROM a", "SELECT x FROM b", "SELECT x FROM c", "SELECT id FROM a WHERE id < 3", "VALUES (2), (NULL)", "SELECT z FROM b", "SELECT w FROM c"]
    for one, sign, two in itertools.product(queries, ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"], queries[:5]):
        if rng.random() < 0.5:
            yield f"{one} {sign} {two} ORDER BY 1;"
    for first, second in itertools.product(["UNION", "INTERSECT", "EXCEPT", "UNION ALL"], repeat=2):
        yield f"SELECT x FROM a {first} SELECT x FROM b {second} SELECT x FROM c ORDER BY 1;"
        yield f"SELECT x, y FROM a {first} (SELECT x, y FROM c {second} SELECT x, NULL FROM b) ORDER BY 1, 2;"
    clauses = ["WHERE x = 2", "WHERE x IS NULL", "WHERE y = 'a' AND x > 0", "WHERE id IN (1, 3)", "WHERE id BETWEEN 2 AND 4", "WHERE x <> 2", "WHERE NOT (x = 2)", "WHERE x = 2 OR y = 'c'", "WHERE id = ANY ('{1,5}')", "WHERE (id, x) = (1, 1)", "WHERE (x, y) IN ((2, 'a'), (1, 'a'))", "WHERE y > 'a'", "WHERE id % 2 = 1", "WHERE x IN (SELECT x FROM c)", "WHERE id = x"]
    for clause, order in itertools.product(clauses, ["id", "x DESC NULLS LAST, id", "y NULLS FIRST, id DESC"]):
        yield f"SELECT id, x, y FROM a {clause} ORDER BY {order};"
    for clause in clauses:
        yield f"SELECT count(*), sum(x), max(y) FROM a {clause};"
        yield f"UPDATE a SET x = x {clause} RETURNING id, x;"


@area
def procedures():
    """PL/pgSQL: expressions, loops, handlers and changes put together."""
    rng = random.Random(8)
    yield "CREATE TABLE w (id int PRIMARY KEY, n int, t text);"
    yield "INSERT INTO w VALUES (1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c');"
    types = {"int": ["1", "p + 1", "p * 2", "NULL", "'7'", "2.6", "p / 0", "length('abc')", "(SELECT max(n) FROM w)", "'x'"],
             "text": ["'s'", "p", "p || 'x'", "NULL", "1.50", "true", "current_date = current_date", "upper(t)"],
             "numeric": ["1.5", "p / 3.0", "p", "'2.50'", "NULL", "1 / 3"],
             "boolean": ["p > 1", "'t'", "NULL", "p IS NULL", "1", "'maybe'"],
             "date": ["'2026-01-31'", "date '2026-01-31' + p", "'x'", "NULL"]}
    number = 0
    for kind, expressions in types.items():
        for expression in expressions:
            number += 1
            yield f"CREATE FUNCTION e{number}(p int) RETURNS {kind} LANGUAGE plpgsql AS $$ DECLARE v {kind}; t text := 'q'; BEGIN v := {expression}; RETURN v; END $$;"
            yield f"SELECT e{number}(3), e{number}(NULL);"
            yield f"CREATE FUNCTION d{number}(p int) RETURNS {kind} LANGUAGE plpgsql AS $$ DECLARE t text := 'q'; BEGIN RETURN {expression}; EXCEPTION WHEN division_by_zero OR invalid_text_representation THEN RETURN NULL; END $$;"
            yield f"SELECT d{number}(3) IS NULL;"
    errors = {"1 / 0": "division_by_zero", "'x'::text::int": "invalid_text_representation", "2147483647 + p": "numeric_value_out_of_range", "(SELECT n FROM w WHERE id < 3)": "cardinality_violation", "sqrt(-p)": "invalid_argument_for_power_function",
              "substring('a' FROM 1 FOR -p)": "substring_error", "ln(0 * p)": "invalid_argument_for_logarithm", "'2026-02-30'::text::date": "datetime_field_overflow", "chr(-p)": "program_limit_exceeded", "repeat('x', p)::char(1)::int": "data_exception", "('{1' || p)::int[]": "OTHERS", "(p || 'z')::numeric": "OTHERS", "p::smallint * 30000::smallint": "OTHERS", "make_date(p, 13, 1)": "OTHERS"}
    for at, (expression, condition) in enumerate(errors.items()):
        for form, body in [("PERFORM", f"PERFORM {expression};"), ("SELECT INTO", f"SELECT {expression} INTO x;"), (":=", f"x := {expression};"), ("IF", f"IF ({expression}) IS NOT NULL THEN x := '1'; END IF;"), ("RETURN", f"RETURN ({expression})::text;")]:
            name = f"h{at}_{form.lower().replace(' ', '_').replace(':=', 'set')}"
            yield f"CREATE FUNCTION {name}(p int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE x text := '-'; BEGIN BEGIN {body} EXCEPTION WHEN {condition} THEN RETURN SQLSTATE || ' ' || SQLERRM; END; RETURN x; END $$;"
            yield f"SELECT {name}(1);"
    changes = ["INSERT INTO w VALUES (1, 1, 'dup')", "INSERT INTO w VALUES (NULL, 1, 'null')", "INSERT INTO w VALUES (9, 9, 'new')", "UPDATE w SET n = n + 1 WHERE id = 1", "UPDATE w SET n = 1 / (id - 2)", "DELETE FROM w WHERE id = 3", "UPDATE w SET id = 1 WHERE id = 2", "UPDATE w SET n = n WHERE id = 77", "INSERT INTO w SELECT id, n, t FROM w", "INSERT INTO w VALUES (1, 1, 'x') ON CONFLICT DO NOTHING"]
    for at, change in enumerate(changes):
        yield f"CREATE FUNCTION c{at}() RETURNS text LANGUAGE plpgsql AS $$ DECLARE k int; BEGIN {change}; GET DIAGNOSTICS k = ROW_COUNT; RETURN FOUND || ' ' || k; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;"
        yield "BEGIN;"
        yield f"SELECT c{at}();"
        yield "SELECT * FROM w ORDER BY id;"
        yield "ROLLBACK;"
        if change[:6] != "INSERT" or "VALUES" in change:
            yield "BEGIN;"
            yield f"DO $$ DECLARE r record; BEGIN {change} RETURNING id, t INTO r; RAISE EXCEPTION 'got % %', r.id, r.t; END $$;"
            yield "ROLLBACK;"
    loops = ["FOR i IN 1..3 LOOP s := s || i; END LOOP;", "FOR i IN REVERSE 3..1 LOOP s := s || i; END LOOP;", "FOR i IN 3..1 LOOP s := s || i; END LOOP;", "FOR i IN 1..10 BY 4 LOOP s := s || i; END LOOP;", "FOR i IN 1..p LOOP CONTINUE WHEN i = 2; s := s || i; END LOOP;",
             "WHILE length(s) < 5 LOOP s := s || 'x'; END LOOP;", "LOOP s := s || 'y'; EXIT WHEN length(s) > 3; END LOOP;", "FOREACH e IN ARRAY ARRAY['a', 'b'] LOOP s := s || e; END LOOP;", "FOR r IN SELECT id, t FROM w ORDER BY id LOOP s := s || r.id || r.t; END LOOP;",
             "FOR r IN SELECT n FROM w ORDER BY id LOOP s := s || coalesce(r.n::text, '?'); END LOOP;", "FOR r IN EXECUTE 'SELECT t FROM w ORDER BY id DESC' LOOP s := s || r.t; END LOOP;", "FOR r IN UPDATE w SET n = n RETURNING id LOOP s := s || 'u'; END LOOP;", "FOR i IN 1..3 LOOP FOR j IN i..3 LOOP s := s || i || j || ' '; EXIT WHEN j = 2; END LOOP; END LOOP;",
             "<<o>> FOR i IN 1..3 LOOP LOOP s := s || i; CONTINUE o WHEN i < 3; EXIT o; END LOOP; END LOOP;", "FOR i IN (SELECT min(id) FROM w)..(SELECT max(id) FROM w) LOOP s := s || i; END LOOP;", "FOR i IN 1..3 LOOP BEGIN s := s || 6 / (i - 2); EXCEPTION WHEN division_by_zero THEN s := s || 'E'; END; END LOOP;",
             "FOR r IN VALUES (1, 'x'), (2, 'y') LOOP s := s || r.column1 || r.column2; END LOOP;", "FOR r IN SELECT * FROM generate_series(1, p) g LOOP s := s || r.g; END LOOP;", "FOR i IN 1..2 LOOP IF i = 1 THEN s := s || 'one'; ELSIF i = 2 THEN s := s || 'two'; ELSE s := 'no'; END IF; END LOOP;", "CASE p WHEN 1 THEN s := 'one'; WHEN 2, 3 THEN s := 'few'; ELSE s := 'many'; END CASE;"]
    for at, loop in enumerate(loops):
        yield f"CREATE FUNCTION l{at}(p int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; r record; e text; BEGIN {loop} RETURN s; END $$;"
        yield f"SELECT l{at}(3), l{at}(0);"
        yield f"DO $$ DECLARE s text := ''; r record; e text; p int := 2; BEGIN {loop} RAISE EXCEPTION '%', s; END $$;"
    fetches = ["FETCH NEXT", "FETCH PRIOR", "FETCH FIRST", "FETCH LAST", "FETCH ABSOLUTE 2", "FETCH ABSOLUTE -1", "FETCH RELATIVE 2", "FETCH RELATIVE -1", "FETCH FORWARD", "FETCH BACKWARD", "FETCH ABSOLUTE 0", "FETCH RELATIVE 0", "FETCH ABSOLUTE 99"]
    for at in range(40):
        steps = rng.choices(fetches, k=4)
        body = " ".join(f"{step} FROM c INTO x; s := s || coalesce(x::text, '-') || (CASE WHEN FOUND THEN 't' ELSE 'f' END);" for step in steps)
        yield f"DO $$ DECLARE c SCROLL CURSOR FOR SELECT id FROM w ORDER BY id; x int; s text := ''; BEGIN OPEN c; {body} CLOSE c; RAISE EXCEPTION '%', s; END $$;"


@area
def arrays():
    """Arrays as values: operators and functions."""
    values = ["ARRAY[1, 2, 3]", "'{}'::int[]", "ARRAY[3, NULL, 1]", "NULL::int[]", "ARRAY[[1, 2], [3, 4]]", "ARRAY['a', 'b']", "ARRAY['x', NULL]::text[]", "ARRAY[1.5, 2]"]
    for one, sign, two in itertools.product(values[:5], ["=", "<>", "<", ">", "||", "@>", "<@", "&&"], values[:4]):
        yield f"SELECT {one} {sign} {two};"
    for value in values:
        for call in ["array_length({}, 1)", "cardinality({})", "array_ndims({})", "array_dims({})", "array_upper({}, 1)", "array_lower({}, 1)", "array_to_string({}, ',')", "array_to_string({}, ',', '*')", "({})[1]", "({})[9]", "({})[1:2]", "({})[:2]", "({})[2:]", "({})::text", "array_to_json({})", "to_jsonb({})", "unnest({})", "({}) IS NULL"]:
            yield f"SELECT {call.format(value)};"
    for value, element in itertools.product(values[:4], ["1", "NULL", "2.5", "'x'", "9"]):
        for call in ["array_append({}, {})", "array_prepend({1}, {0})", "array_remove({}, {})", "array_position({}, {})", "array_positions({}, {})", "{1} = ANY ({0})", "{1} <> ALL ({0})", "{} || {}"]:
            yield f"SELECT {call.format(value, element)};"
    for call in ["ARRAY(SELECT generate_series(1, 3))", "ARRAY(VALUES ('a'), ('b'))", "array_cat(ARRAY[1], ARRAY[2, 3])", "array_replace(ARRAY[1, 2, 1], 1, 5)", "array_agg(x) FROM generate_series(1, 3) x", "array_agg(DISTINCT x % 2) FROM generate_series(1, 5) x", "ARRAY[1, 2] = '{1,2}'", "ARRAY['a'] || 'b'", "'{a,b}'::text[] || '{c}'", "1 = ANY ('{1,2}'::int[])", "ARRAY[1, 'a']", "ARRAY[true, NULL]", "ARRAY[date '2026-01-01']", "ARRAY[NULL]", "ARRAY[]", "cardinality(ARRAY[]::int[])",
                 "(ARRAY['a', 'b', 'c'])[2]", "(string_to_array('a b c', ' '))[3]", "array_sample(ARRAY[1], 1)", "array_shuffle(ARRAY[1])", "trim_array(ARRAY[1, 2, 3], 2)", "array_fill(0, ARRAY[2])", "generate_subscripts(ARRAY[5, 6], 1)", "width_bucket(5, ARRAY[1, 3, 10])", "ARRAY[1, 2, 3] <@ ARRAY[3, 2, 1, 0]", "ARRAY[ARRAY[1], ARRAY[2]]", "ARRAY[1, 2]::bigint[]", "ARRAY[1, 2]::text", "'{1,2}'::text::int[]", "'{1.6,2}'::numeric[]::int[]", "ARRAY[1, 2]::varchar[]"]:
        yield f"SELECT {call};"


@area
def json():
    """Operators and functions of json and jsonb over documents."""
    documents = ["{}", "[]", "null", "5", "\"s\"", "true", "{\"a\": 1, \"b\": {\"c\": [1, 2, {\"d\": null}]}}", "[1, \"two\", null, [3, 4], {\"x\": 1.50}]", "{\"a\": null, \"t\": \"x\", \"n\": 1e2}", "{\"\": 1, \"a b\": [], \"ü\": \"\\u00fc\"}"]
    accesses = ["-> 'a'", "->> 'a'", "-> 0", "->> 1", "-> -1", "#> '{b,c,1}'", "#>> '{b,c}'", "#> '{}'", "-> 'b' -> 'c'", "->> NULL"]
    for document, access in itertools.product(documents, accesses):
        yield f"SELECT '{document}'::jsonb {access}, '{document}'::json {access};"
    for document in documents:
        for form in ["jsonb_typeof({})", "jsonb_pretty({})", "jsonb_strip_nulls({})", "({})::text", "({})::json", "jsonb_array_length({})", "jsonb_object_keys({})", "jsonb_array_elements({})", "jsonb_each({})", "({})::int", "({})::boolean", "({}) - 'a'", "({}) - 1", "({}) #- '{{a}}'", "({}) || '{{\"z\": 0}}'", "({}) || '[7]'", "({}) ? 'a'", "({}) ?| ARRAY['a', 't']", "({}) @> '{{\"a\": 1}}'", "({}) <@ '[1, \"two\", null, 5]'", "({}) = '{{}}'", "({}) @> '[1]'", "jsonb_set({}, '{{a}}', '9')", "jsonb_set({}, '{{0}}', '9')", "jsonb_insert({}, '{{0}}', '8')", "jsonb_extract_path({}, 'a')", "({}) < '1'"]:
            yield f"SELECT {form.format(chr(39) + document + chr(39) + '::jsonb')};"
    paths = ["$", "$.a", "$.b.c[*]", "$.b.c[0]", "$[*]", "$[last]", "$[0 to 1]", "$.*", "$.**", "$.b.c.size()", "$.type()", "$.a + 1", "$.b.c[*] ? (@ > 1)", "$[*] ? (@.x > 1)", "$ ? (@.a == 1)", "$.nope", "strict $.nope", "$.t starts with \"x\"", "$.t like_regex \"^X\" flag \"i\"", "$.n.floor()", "-$.a", "exists($.a)", "$.a ? (", "$[9]", "$.\"a b\"", "$.keyvalue()", "$.b.c[*].d", "$.t.double()", "$.a == 1", "($.a == 1) is unknown"]
    for document, path in itertools.product(documents[6:], paths):
        yield f"SELECT jsonb_path_query('{document}', '{path}');"
    for path in paths:
        yield f"SELECT jsonb_path_exists('{documents[6]}', '{path}'), jsonb_path_query_array('{documents[6]}', '{path}');"
        yield f"SELECT '{documents[6]}'::jsonb @? '{path}', '{documents[6]}'::jsonb @@ '{path}';"
    for value in ["1", "1.50", "'x'::text", "NULL::text", "true", "ARRAY[1, NULL]", "date '2026-01-01'", "timestamp '2026-01-01 10:00:00.5'", "timestamptz '2026-01-01 10:00+02'", "time '10:00'", "interval '1 day'", "'NaN'::float8", "1e20::float8", "0.1::real", "'{\"a\":1}'::jsonb", "'[1, 2]'::json", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "'\\x01'::bytea", "E'q\"\\\\\\n\\u0001'::text", "ARRAY['a\"b']", "'x'", "5::oid", "'c'::char(3)"]:
        yield f"SELECT to_json({value}), to_jsonb({value});"
        yield f"SELECT json_build_object('k', {value}), jsonb_build_array({value});"
        yield f"SELECT json_agg(v), jsonb_object_agg('k', v) FROM (SELECT {value} AS v) s;"
        yield f"SELECT row_to_json(s), to_jsonb(s) FROM (SELECT {value} AS v) s;"


@area
def errors():
    """Statements with one thing that is wrong, in each place of a statement."""
    yield "CREATE TABLE t (id int PRIMARY KEY, a int, b text, c numeric(5,2), d date, j jsonb);"
    yield "INSERT INTO t VALUES (1, 1, 'one', 1.5, '2026-01-01', '{}'), (2, 2, NULL, NULL, NULL, NULL);"
    yield "CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN x; END $$;"
    wrong = ["nope", "t.nope", "nope.a", "a + b", "a || ", "a = b", "b + 1", "a AND true", "NOT a", "nope(a)", "length(a)", "upper(1, 2)", "f('x')", "f(1, 2)", "a::nope", "b::int", "'x'::date", "CASE a WHEN 'x' THEN 1 END", "CASE WHEN a THEN 1 END", "coalesce(a, b)", "a IN (1, 'x')", "a IN (SELECT id, a FROM t)", "(SELECT a FROM t)", "(SELECT a, b FROM t LIMIT 1)", "a = ANY (1)", "sum(sum(a))", "a BETWEEN 'x' AND 5", "d + d", "d > 5", "j + 1", "j = 1", "j -> 1.5", "b LIKE 5", "extract(nope FROM d)", "a[1]", "(a).x", "-b", "a / 0", "c * 1e10::numeric(5,2)", "greatest(a, d)", "ARRAY[a, b]", "row_number()", "rank() OVER (ORDER BY nope)", "interval 'x'", "$1", "a ~ 'x'", "b ~ '('", "count(a, b)", "avg(b)", "max(j)", "CURRENT_DATE + 'x'", "a IS TRUE", "b COLLATE nope", "EXISTS (SELECT nope)"]
    places = ["SELECT {} FROM t;", "SELECT id FROM t WHERE ({}) IS NULL;", "SELECT id FROM t ORDER BY {}, id;", "SELECT count(*) FROM t GROUP BY {};", "UPDATE t SET a = {} WHERE id = 1;", "INSERT INTO t (id, a) SELECT 9, {} FROM t WHERE false;", "SELECT x.id FROM t x JOIN t y ON ({}) IS NOT NULL;", "SELECT count(*) FROM t HAVING ({}) IS NULL;", "DELETE FROM t WHERE ({}) IS NULL AND false;", "SELECT (SELECT {} FROM t WHERE false);"]
    rng = random.Random(9)
    for expression in wrong:
        for place in sample(rng, places, 6):
            yield place.format(expression)
    shapes = ["SELECT", "SELECT * FORM t", "SELECT * FROM t WHERE", "SELECT * FROM t ORDER", "SELECT * FROM t GROUP a", "SELECT a b c FROM t", "SELECT * FROM t LIMIT", "SELECT * FROM (t", "SELECT * FROM t JOIN", "SELECT * FROM t t t", "INSERT t VALUES (1)", "INSERT INTO t", "INSERT INTO t VALUES", "INSERT INTO t VALUES ()", "INSERT INTO t (a,) VALUES (1)", "UPDATE t", "UPDATE t SET", "UPDATE t SET a", "UPDATE t SET a = ", "UPDATE SET a = 1", "DELETE t", "DELETE FROM", "DELETE FROM t WHERE", "CREATE TABLE", "CREATE TABLE x", "CREATE TABLE x (", "CREATE TABLE x (a)", "CREATE TABLE x (a int,)", "CREATE TABLE x a int", "CREATE INDEX ON", "CREATE INDEX i t (a)", "CREATE VIEW v", "CREATE VIEW v AS", "CREATE VIEW v AS UPDATE t SET a = 1", "DROP t", "DROP TABLE", "ALTER TABLE t", "ALTER TABLE t ADD", "ALTER TABLE t DROP", "ALTER t ADD x int", "TRUNCATE", "CREATE FUNCTION g() AS $$ $$", "CREATE FUNCTION g() RETURNS int AS $$ $$ LANGUAGE plpgsql", "CREATE FUNCTION g() RETURNS int LANGUAGE plpgsql", "CALL", "CALL nope()", "CALL f", "DO", "DO $$ BEGIN $$", "DO $$ END $$", "DO $$ BEGIN x; END $$", "DO $$ DECLARE BEGIN NULL; END $$", "DO 'BEGIN NULL; END'", "BEGIN x", "COMMIT x", "SAVEPOINT", "SET", "SET x", "SHOW", "EXPLAIN", "EXPLAIN x", "GRANT", "COPY", "COPY t", "PREPARE", "EXECUTE nope", "FETCH", "DECLARE c", "VALUES", "VALUES ()", "WITH x SELECT 1", "WITH x AS () SELECT 1", "TABLE", "(SELECT 1", "SELECT 1)", "SELECT 'a", "SELECT \"a", "SELECT $$a", "SELECT /* a", "x", "1", "SELECT 1 2", "SELECT 1 + + + 2", "SELECT * FROM t WHERE a == 1", "SELECT a FROM t WHERE a = = 1", "SELECT # 1", "SELECT 1 FROM t AS", "SELECT @", "SELECT ?", "SELECT * FROM t;;", "SELECT !true", "SELECT a.b.c.d.e FROM t", "SELECT 1 != 2, 1 <> 2", "SELECT 1 == 1", "SELECT 5 && 3", "SELECT NOT", "SELECT count(DISTINCT *) FROM t", "SELECT DISTINCT FROM t", "SELECT * EXCEPT (a) FROM t", "SELECT TOP 1 * FROM t", "SELECT `a` FROM t", "SELECT [a] FROM t", "SELECT IFNULL(a, 1) FROM t", "SELECT a FROM t LIMIT 1, 2", "REPLACE INTO t VALUES (1)", "SELECT ISNULL(1)", "SELECT a ISNULL, a NOTNULL FROM t ORDER BY id", "SHOW TABLES", "DESCRIBE t", "USE x", "SELECT NVL(a, 1) FROM t", "SELECT 1 FROM dual", "SELECT GETDATE()", "SELECT IF(true, 1, 2)", "INSERT INTO t SET a = 1", "UPDATE t SET a = 1 FROM", "SELECT 1 MINUS SELECT 2", "SELECT * FROM t QUALIFY true", "SELECT a FROM t WHERE ROWNUM = 1", "SELECT 1 AS 'x'", "SELECT 1 AS \"\"", "CREATE TABLE x (a int) ENGINE=InnoDB", "CREATE TABLE x (a int AUTO_INCREMENT)", "CREATE TABLE x (a nvarchar(5))", "CREATE TABLE x (a datetime)", "CREATE TABLE x (a tinyint)", "CREATE TABLE x (a blob)", "CREATE TABLE x (a string)", "CREATE TABLE x (a number(5))", "CREATE TABLE x (a int unsigned)", "CREATE TABLE x (a varchar)", "DROP TABLE IF EXISTS x", "CREATE TABLE select (a int)", "CREATE TABLE x (select int)", "CREATE TABLE x (user int)", "CREATE TABLE x (order int)", "CREATE TABLE x (value int, type text, name text, key text, date date, time time, year int, position int, level int, status text)"]
    for at, shape in enumerate(shapes):
        # Each table has a name of its own, so that one which is made does not hide the next error.
        shape = shape.replace("CREATE TABLE x", f"CREATE TABLE x{at}")
        if shape.count("$$") % 2 == 0:
            yield f"{shape};"


@area
def tables():
    """Columns of each type: defaults, changes, keys, indexes, order."""
    rng = random.Random(10)
    kinds = {"smallint": ["-5", "7"], "int": ["-5", "7"], "bigint": ["-5", "5000000000"], "numeric(8,2)": ["-1.50", "20"], "numeric": ["0.5", "1.25"], "real": ["-0.5", "2.25"], "double precision": ["-0.5", "1e20"], "text": ["'B'", "'a'"], "varchar(5)": ["''", "'abc'"], "char(4)": ["'a'", "'b'"],
             "boolean": ["false", "true"], "date": ["'1999-12-31'", "'2026-01-01'"], "time": ["'01:02'", "'23:00'"], "timestamp": ["'1999-12-31 10:00'", "'2026-01-01'"], "timestamptz": ["'1999-12-31 10:00+05'", "'2026-01-01'"], "interval": ["'1 day'", "'1 month'"], "uuid": ["'00000000-0000-0000-0000-000000000001'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
             "bytea": ["'\\x00'", "'\\x01ff'"], "jsonb": ["'1'", "'{\"a\": 1}'"], "json": ["'1'", "'{\"a\":1}'"], "oid": ["1", "2"], "int[]": ["'{1}'", "'{1,2}'"], "inet": ["'10.0.0.1'", "'10.0.0.2'"], "timetz": ["'10:00+00'", "'11:00+00'"], "int4range": ["'[1,2)'", "'[3,9)'"], "bit(3)": ["'101'", "'111'"], "money": ["'1.50'", "'2'"], "name": ["'n'", "'o'"], "xml": ["'<a/>'", "'<b/>'"], "tsvector": ["'a'", "'b'"]}
    for at, (kind, (low, high)) in enumerate(kinds.items()):
        name = f"k{at}"
        yield f"CREATE TABLE {name} (id int PRIMARY KEY, v {kind} DEFAULT {low});"
        yield f"INSERT INTO {name} VALUES (1, {high}), (2, {low}), (3, NULL) RETURNING *;"
        yield f"INSERT INTO {name} (id) VALUES (4) RETURNING v;"
        yield f"SELECT * FROM {name} ORDER BY v DESC NULLS LAST, id;"
        yield f"SELECT id FROM {name} WHERE v = {low} ORDER BY id;"
        yield f"SELECT id FROM {name} WHERE v > {low} ORDER BY id;"
        yield f"SELECT v, count(*) FROM {name} GROUP BY v ORDER BY 2, v;"
        yield f"CREATE INDEX {name}_v ON {name} (v);"
        yield f"SELECT id FROM {name} WHERE v >= {high} ORDER BY v, id;"
        yield f"SELECT min(v), max(v) FROM {name};"
        yield f"CREATE TABLE u{at} (v {kind} PRIMARY KEY);"
        yield f"INSERT INTO u{at} VALUES ({high}), ({low});"
        yield f"INSERT INTO u{at} VALUES ({low});"
        yield f"INSERT INTO u{at} VALUES ({low}) ON CONFLICT DO NOTHING;"
        yield f"UPDATE {name} SET v = {high} WHERE v = {low} RETURNING id;"
        yield f"DELETE FROM {name} WHERE v IS NULL;"
        yield f"SELECT format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = '{name}'::regclass AND attname = 'v';"
        yield f"SELECT data_type, column_default, udt_name FROM information_schema.columns WHERE table_name = '{name}' AND column_name = 'v';"
        yield f"SELECT pg_typeof(v), v::text FROM {name} ORDER BY id LIMIT 1;"
        yield f"ALTER TABLE {name} ALTER v TYPE text;"
        yield f"ALTER TABLE {name} ALTER v DROP DEFAULT, ALTER id TYPE bigint;"
        yield f"SELECT * FROM {name} ORDER BY id;"
    actions = ["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"]
    for at, (delete, update) in enumerate(itertools.product(actions, actions)):
        yield f"CREATE TABLE p{at} (id int PRIMARY KEY, t text);"
        yield f"CREATE TABLE c{at} (id int PRIMARY KEY, p int DEFAULT 1 REFERENCES p{at} ON DELETE {delete} ON UPDATE {update});"
        yield f"INSERT INTO p{at} SELECT g, 'x' FROM generate_series(1, 4) g;"
        yield f"INSERT INTO c{at} VALUES (1, 2), (2, 3), (3, 2), (4, NULL);"
        yield f"DELETE FROM p{at} WHERE id = 2;"
        yield f"SELECT * FROM c{at} ORDER BY id;"
        yield f"UPDATE p{at} SET id = 30 WHERE id = 3;"
        yield f"SELECT * FROM c{at} ORDER BY id;"
        yield f"UPDATE p{at} SET t = 'y';"
    for at, expression in enumerate(["lower(t)", "(a + 1)", "(a % 3)", "(t || a)", "date_trunc('day', d)", "abs(a)", "(a IS NULL)", "coalesce(a, 0)", "length(t)", "(j->>'k')", "left(t, 2)", "round(n)", "(a::text)", "(d::date)", "md5(t)", "extract(year FROM d)", "(CASE WHEN a > 1 THEN t END)", "upper(t), a", "(a = 1)", "substr(t, 1, 1) DESC"]):
        name = f"x{at}"
        bare = expression.split(",")[0].replace(" DESC", "") if not expression.startswith("date") and not expression.startswith("left") and not expression.startswith("substr") and not expression.startswith("coalesce") else expression.replace(" DESC", "")
        yield f"CREATE TABLE {name} (id int PRIMARY KEY, a int, t text, n numeric(5,2), d timestamp, j jsonb);"
        yield f"INSERT INTO {name} VALUES (1, 1, 'Ab', 1.5, '2026-01-01 10:00', '{{\"k\": \"v\"}}'), (2, NULL, 'ab', 2.5, '2026-01-01 12:00', NULL), (3, 4, NULL, NULL, NULL, '{{}}');"
        yield f"CREATE INDEX ON {name} ({expression});"
        yield f"SELECT id FROM {name} WHERE {bare} = (SELECT {bare} FROM {name} WHERE id = 1) ORDER BY id;"
        yield f"SELECT id FROM {name} ORDER BY {bare} NULLS FIRST, id;"
        yield f"CREATE UNIQUE INDEX {name}_u ON {name} ({expression});"
        yield f"INSERT INTO {name} (id, a, t, d) VALUES (9, 1, 'AB', '2026-01-01 10:00');"
        yield f"SELECT count(*) FROM {name};"
        yield f"ALTER TABLE {name} ADD COLUMN g text GENERATED ALWAYS AS (({bare})::text) STORED;"


def main():
    for make in AREAS:
        lines = [f"-- Made by generate.py. {make.__doc__}"]
        lines += list(dict.fromkeys(make()) if make not in KEEP_REPEATED else make())
        path = HERE / f"generated_{make.__name__}.sql"
        path.write_text("".join(f"{line}\n" for line in lines))
        print(f"{path.name}: {len(lines) - 1} statements")


# Areas in which the same text comes again on purpose.
KEEP_REPEATED = [inputs, procedures, tables]

if __name__ == "__main__":
    sys.exit(main())
