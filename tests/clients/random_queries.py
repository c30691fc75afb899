#!/usr/bin/env python3
"""Random statements, asked of PostgreSQL and of Hotrow; what differs is shown.

    pip install 'psycopg[binary]'
    tests/clients/random_queries.py "host=... port=5432 user=... dbname=..." "host=127.0.0.1 port=5433 ..." [SEED [COUNT]]

Both servers get the tables of crates/database/tests/suite/queries/setup.sql, which they must not have otherwise.
Statements are made of joins of every kind, with subqueries in every place where a value or a condition may stand,
lists of keys, groups, windows, set operations, and changes: UPDATE [FROM], DELETE [USING], INSERT ... SELECT. A third of them
has one thing in it that is wrong, or is with some rows: a name, a type, a place, a divisor, a key. Hotrow is asked each of them
twice, as it is and inside a procedure. Other rows or another SQLSTATE are a bug, and end with status 1. What is told apart from
bugs, counted with the shortest one as an example: what one of them refuses (0A000), what is KNOWN, and errors of values (SQLSTATE 21 and 22) that
depend on which rows and which operands are computed first, or at all: SQL leaves that open. CI does not
run this: it needs a PostgreSQL server. What it has found stands in crates/database/tests/suite/queries.
"""

import random
import re
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import psycopg
from psycopg.pq import ExecStatus

SETUP = Path(__file__).parents[2] / "crates/database/tests/suite/queries/setup.sql"
# By table: its columns, and what kind of values they have: integers, texts, numbers.
TABLES = {
    "t1": {"a": "int", "b": "int", "c": "text", "d": "number"},
    "t2": {"a": "int", "k": "int", "b": "int", "e": "int", "f": "text"},
    "t3": {"x": "int", "a": "int", "g": "number"},
}
KEYS = {"t1": ["a"], "t2": ["a", "k"], "t3": ["x"]}
TEXTS = ["''", "'bb'", "'x'", "'yy'", "'Zz'", "'aa'::varchar"]
SHOWN = 8
# What Hotrow says otherwise and is known to, by a part of the statement: nothing.
KNOWN = []


class Maker:
    """Makes statements. `scope`: names of what FROM has, with their tables; `depth`: how deep to nest.
    `wrong`: how many things in the statement may still be wrong."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.wrong = 0

    def spoils(self, percent):
        """Whether to be wrong here."""
        if not self.wrong or not self.may(percent):
            return False
        self.wrong -= 1
        return True

    def wrong_number(self, scope):
        """An expression in the place of a number that no number comes of, or not of all rows."""
        one, two, text = self.column(scope, "int"), self.column(scope, "int"), f"{self.column(scope, 'text')}::text"
        name = scope[-1][0] if scope else "t1"
        return self.any(
            f"({one} / {two})", f"({one} % {two})", f"({one} / ({two} - 1))", f"({text})::int", f"({text} || '1')::bigint",
            f"({one} + 2147483647)", f"({one} * 9223372036854775807)", f"({one} + 2147483648)::int", f"{one}::smallint * 9999::smallint",
            "nope", f"{name}.nope", "zz.a", "a", "b", "k", "x", f"nope({one})", f"length({one})", f"abs({text})", f"abs({one}, {two})",
            f"({one} + {text})", f"({text} - {text})", f"-({text})", f"({one} || {two})", f"upper({one})", f"{one}::nope",
            f"coalesce({one}, {text})", f"nullif({one}, {text})", f"CASE WHEN {one} = 1 THEN {two} ELSE {text} END",
            f"CASE WHEN {one} THEN {two} END", f"CASE {one} WHEN {text} THEN 1 END", "'x' + 1", "(1 + 'x')", "CAST('1.5' AS int)",
            "(SELECT a FROM t1)", "(SELECT a, b FROM t1)", "(SELECT nope FROM t1)", "(SELECT 1 FROM nowhere)", "(SELECT a FROM t1, t2)",
            "(SELECT k FROM t2 WHERE a = 3)", f"(SELECT max(a) FROM t1 WHERE max(a) = {one})", "(SELECT a FROM t1 GROUP BY b)",
            f"max({one})", f"sum(max({one}))", "row_number()", f"rank() OVER (ORDER BY {one})",
            f"lag({one})", f"{one} IN (SELECT a, k FROM t2)", f"({one} = {two})", f"({one})::date",
            f"'abc'::date - {one}", f"({one} AND {two})", f"substr({text}, 1, -1)", f"sqrt({one} - 9)", f"ln({one})", f"power({one} - 3, 0.5)",
            f"repeat({text}, 2)::int", "NULL::int / 0", "1 / 0", f"round({text})", f"mod({one}, {two})",
            f"'{{'::jsonb", f"({text})::numeric", "ARRAY[1, 'x']",
        )

    def wrong_statement(self):
        """A statement whose clauses do not fit."""
        one, own = self.table()
        two, other = self.table()
        a, b = self.column([own], "int"), self.column([own], "int")
        text, far = self.column([own], "text"), self.column([other], "int")
        table, column = self.any(*TABLES), self.any("b", "a", "nope", "k")
        return self.any(
            f"SELECT {a} FROM {one} ORDER BY 2", f"SELECT {a} FROM {one} ORDER BY nope", f"SELECT {a} FROM {one} GROUP BY 3",
            f"SELECT {a} FROM {one} LIMIT -1", f"SELECT {a} FROM {one} OFFSET -1", f"SELECT {a} FROM {one} LIMIT 'x'",
            f"SELECT {a} FROM {one} LIMIT {b}", f"SELECT {a} FROM {one} UNION SELECT {far}, 1 FROM {two}",
            f"SELECT {a} FROM {one} UNION ALL SELECT 'x' FROM {two}", f"SELECT {a} FROM {one} EXCEPT SELECT {text} FROM {one}",
            f"SELECT {a} AS n FROM {one} UNION SELECT {far} FROM {two} ORDER BY {far}",
            f"SELECT {a}, {b}, count(*) FROM {one} GROUP BY {a}", f"SELECT {a}, count(*) FROM {one}",
            f"SELECT count(*) FROM {one} HAVING {a} > 1", f"SELECT {a} FROM {one} HAVING count(*) > 1",
            f"SELECT {a} FROM {one} WHERE count(*) > 1", f"SELECT {a} FROM {one} GROUP BY count(*)",
            f"SELECT * FROM {one} GROUP BY {a}", f"SELECT {a} FROM {one} GROUP BY {a} ORDER BY {b}",
            f"SELECT DISTINCT {a} FROM {one} ORDER BY {text}", f"SELECT DISTINCT ON ({a}) {b} FROM {one} ORDER BY {text}",
            f"SELECT {a} FROM {one} JOIN {two} ON {a}", f"SELECT {a} FROM {one} JOIN {two} ON {a} = {far} AND max({a}) = 1",
            f"SELECT 1 FROM {one} JOIN {two} USING (nope)", f"SELECT 1 FROM {one} JOIN {two} USING (a)", f"SELECT a FROM {one}, {two}",
            f"SELECT 1 FROM {one}, {table} {own[0]}", f"SELECT 1 FROM {table}, {table}", f"SELECT {far} FROM {one}",
            f"SELECT 1 FROM (SELECT {a}, {a} FROM {one}) z WHERE z.a = 1", f"SELECT z.n FROM (SELECT {a} AS m FROM {one}) z",
            f"SELECT 1 FROM {one}, (SELECT {a} AS m) z", f"SELECT {a} FROM {one} WHERE {text}", f"SELECT {a} FROM {one} WHERE {b} + 1",
            f"SELECT {a} FROM {one} WHERE NOT {b}", f"SELECT {a} FROM {one} WHERE {text} LIKE {b}", f"SELECT {a} FROM {one} WHERE {b} LIKE 'x'",
            f"SELECT {a} FROM {one} WHERE {b} = {text}", f"SELECT {a} FROM {one} WHERE {b} IN ('x', 1)", f"SELECT {a} FROM {one} WHERE {b} IN ({text})",
            f"SELECT {a} FROM {one} WHERE {b} BETWEEN 1 AND {text}", f"SELECT {a} FROM {one} WHERE ({a}, {b}) = (1, 2, 3)",
            f"SELECT {a} FROM {one} WHERE ({a}, {b}) IN (SELECT a FROM t1)", f"SELECT {a} FROM {one} WHERE {b} = ANY (1)",
            f"SELECT {a} FROM {one} WHERE {b} = ALL (SELECT c FROM t1)", f"SELECT sum({a}) OVER (ORDER BY nope) FROM {one}",
            f"SELECT sum({a}) OVER w FROM {one}", f"SELECT {a} FROM {one} WHERE rank() OVER (ORDER BY {a}) = 1",
            f"SELECT ntile(0) OVER (ORDER BY {a}) FROM {one}", f"SELECT sum({a}) OVER (ORDER BY {a} ROWS -1 PRECEDING) FROM {one}",
            f"SELECT sum({a}) OVER (ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM {one}", f"SELECT upper({a}) OVER () FROM {one}",
            f"SELECT string_agg({a}, ',') FROM {one}", f"SELECT bool_and({a}) FROM {one}", f"SELECT min({a}) FILTER (WHERE {b}) FROM {one}",
            f"SELECT max({a}) FILTER (WHERE max({b}) > 0) FROM {one}", f"SELECT upper({text}) FILTER (WHERE true) FROM {one}",
            f"SELECT upper(DISTINCT {text}) FROM {one}", f"SELECT count(DISTINCT *) FROM {one}", f"SELECT {text} FROM {one} FOR UPDATE OF zz", f"SELECT sum({text}::text) FROM {one}", f"SELECT count({a}, {b}) FROM {one}", f"SELECT avg(*) FROM {one}",
            f"SELECT sum(count(*) OVER ()) FROM {one}",
            f"SELECT {a} FROM {one} GROUP BY {a} FOR UPDATE", f"SELECT DISTINCT {a} FROM {one} FOR UPDATE", "SELECT *", "SELECT nope", "SELECT 1 WHERE 2",
            "SELECT FROM", "SELEC 1", "SELECT 1 FROM t1 WHERE", "SELECT (1", "SELECT 1 1", "SELECT 'x", "SELECT 1 FROM nowhere",
            "SELECT 1 FROM t1.nope", "SELECT nope.t1.a FROM t1", "VALUES (1), (1, 2)", "VALUES (1), ('x')", "SELECT * FROM generate_series(1, 3, 0)",
            "SELECT * FROM generate_series(1, 'x')", "SELECT * FROM nope(1)", f"WITH w AS (SELECT {a} FROM {one}) SELECT nope FROM w",
            f"WITH w (m, n) AS (SELECT {a} FROM {one}) SELECT 1 FROM w", "WITH w AS (SELECT 1), w AS (SELECT 2) SELECT 1",
            f"SELECT z.m FROM {one} AS z (m, n, o, p, q, r, s)", "SELECT a FROM t1 WHERE a = 'x'", "SELECT a FROM t1 WHERE a = '99999999999'",
            "SELECT h FROM t3 WHERE h = 'no date'", "SELECT i FROM t3 WHERE i = 'maybe'", "SELECT i FROM t3 WHERE i > 1", "SELECT sum(i) FROM t3",
            "SELECT h + h FROM t3", "SELECT h * 2 FROM t3", "SELECT i::date FROM t3", "SELECT h::int FROM t3", "SELECT g || h FROM t3 WHERE -i",
            "SELECT ''::int", "SELECT '1e400'::double precision", "SELECT 1e200::double precision * 1e200::double precision",
            "SELECT '2024-02-30'::date", "SELECT 'x'::boolean", "SELECT 'x'::uuid", "SELECT '{'::json", "SELECT 10 ^ 1000",
            "SELECT 99999999999::int", "SELECT 32768::smallint", "SELECT 123.456::numeric(4,2)", "SELECT (1)::numeric(0)", "SELECT 'a'::varchar(0)",
            "SELECT extract(nope FROM h) FROM t3", "SELECT date_trunc('nope', now())", "SELECT nextval('nowhere')", "SELECT currval('nowhere')",
            "SELECT 'x' LIKE 'x' ESCAPE 'ab'", "SELECT 'x' ~ '('", "SELECT regexp_replace('x', '[', '')", "SELECT split_part('a', ',', 0)",
            "SELECT substring('abc', 1, -2)", "SELECT left(1, 2)", "SELECT lpad('a', 'b')", "SELECT sqrt(-1)", "SELECT ln(0)", "SELECT ln(-1.0)",
            "SELECT power(0, -1)", "SELECT 5 % 0", "SELECT 1.5 / 0", "SELECT 1::double precision / 0", "SELECT -9223372036854775808 / -1",
            "SELECT abs(-2147483648::int)", "SELECT - (-32768)::smallint",
            "SELECT '{1,2'::int[]", "SELECT ARRAY[]", "SELECT unnest(1)", "SELECT 1 = ALL (ARRAY['x'])",
        )

    def wrong_change(self):
        """A change whose clauses or values do not fit."""
        one, own = self.table()
        a, text = self.column([own], "int"), self.column([own], "text")
        return self.any(
            "INSERT INTO t1 VALUES (1, 1, 'x', 1) RETURNING *", "INSERT INTO t1 (a) VALUES (NULL) RETURNING *", "INSERT INTO t1 (b) VALUES (1) RETURNING *",
            "INSERT INTO t1 (a, b) VALUES (1) RETURNING *", "INSERT INTO t1 (a) VALUES (100, 2) RETURNING *", "INSERT INTO t1 (a, a) VALUES (100, 1) RETURNING *",
            "INSERT INTO t1 (a, nope) VALUES (100, 1) RETURNING *", "INSERT INTO nowhere VALUES (1) RETURNING *", "INSERT INTO t1 (a) VALUES ('x') RETURNING *",
            "INSERT INTO t1 (a) VALUES (99999999999) RETURNING *", "INSERT INTO t1 (a, d) VALUES (100, 123456789.12) RETURNING *",
            "INSERT INTO t1 (a, c) VALUES (100, upper(1)) RETURNING *", "INSERT INTO t1 (a) VALUES (100), (100) RETURNING *", "INSERT INTO t1 (a) VALUES (nope) RETURNING *",
            "INSERT INTO t1 (a) VALUES (100) RETURNING nope", "INSERT INTO t1 (a) VALUES (true) RETURNING *", "INSERT INTO t1 (a) VALUES (100.5) RETURNING *",
            "INSERT INTO t2 (a, k) VALUES (3, 2) RETURNING *", "INSERT INTO t2 (a) VALUES (3) RETURNING *", "INSERT INTO t3 (x, h) VALUES (100, 'never') RETURNING *",
            "INSERT INTO t3 (x, i) VALUES (100, 2) RETURNING *", "INSERT INTO emp (id, name) VALUES (100, NULL) RETURNING *",
            "INSERT INTO emp (id, name, dept_id) VALUES (100, 'n', 77) RETURNING *", "INSERT INTO emp (id, name) VALUES (100, 'a name of more than twenty') RETURNING *",
            "INSERT INTO emp (id, name, salary) VALUES (100, 'n', 1e11) RETURNING *", f"INSERT INTO t1 (a) SELECT {a} FROM {one} RETURNING *",
            f"INSERT INTO t1 (a, b) SELECT {a} + 100 FROM {one} RETURNING *", f"INSERT INTO t1 (a) SELECT {text} FROM {one} RETURNING *",
            f"INSERT INTO t1 (a) SELECT {a} + 100, 1 FROM {one} RETURNING *", f"INSERT INTO t1 (a, b) SELECT {a} + 100, {text} FROM {one} RETURNING *",
            "INSERT INTO t1 (a) VALUES (1) ON CONFLICT (b) DO NOTHING RETURNING *", "INSERT INTO t1 (a) VALUES (1) ON CONFLICT (nope) DO NOTHING RETURNING *",
            "INSERT INTO t1 (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET nope = 1 RETURNING c", "INSERT INTO t1 (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = a RETURNING *",
            "INSERT INTO t1 (a) VALUES (1) ON CONFLICT DO UPDATE SET b = 1 RETURNING *", "INSERT INTO t1 (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.nope RETURNING c",
            "UPDATE nowhere SET a = 1 RETURNING *", "UPDATE t1 SET nope = 1 RETURNING *", "UPDATE t1 SET a = NULL RETURNING *", "UPDATE t1 SET b = 1, b = 2 RETURNING *",
            "UPDATE t1 SET b = c RETURNING *", "UPDATE t1 SET b = 'x' RETURNING *", "UPDATE t1 SET b = d / 0 RETURNING *", "UPDATE t1 SET b = a / b RETURNING *",
            "UPDATE t1 SET d = d * 100000000 RETURNING *", "UPDATE t1 SET a = 1 WHERE a = 2 RETURNING *", "UPDATE t1 SET b = (SELECT k FROM t2) RETURNING *",
            "UPDATE t1 SET b = (SELECT k, e FROM t2 LIMIT 1) RETURNING *", "UPDATE t1 SET b = max(a) RETURNING *", "UPDATE t1 SET b = 2147483647 + a RETURNING *",
            "UPDATE t1 SET b = e FROM t2 WHERE t2.a = t1.a RETURNING t1.*", "UPDATE t1 SET b = a FROM t2 RETURNING t1.*", "UPDATE t1 SET b = 1 FROM t1 RETURNING *",
            "UPDATE t1 SET t1.b = 1 RETURNING *", "UPDATE t1 SET (a, b) = (1) RETURNING *", "UPDATE t1 SET b = 1 WHERE a RETURNING *", "UPDATE t1 SET b = 1 RETURNING nope",
            "UPDATE t1 SET b = row_number() OVER () RETURNING *", "UPDATE t3 SET i = 1 RETURNING *", "UPDATE t3 SET h = 'soon' RETURNING *", "UPDATE emp SET dept_id = 77 RETURNING *",
            "UPDATE emp SET name = NULL RETURNING *", "UPDATE emp SET name = repeat('x', 30) RETURNING *", "UPDATE dept SET id = id + 100 RETURNING *",
            "DELETE FROM nowhere RETURNING *", "DELETE FROM t1 WHERE nope = 1 RETURNING *", "DELETE FROM t1 USING t2 WHERE a = 1 RETURNING t1.*",
            "DELETE FROM t1 WHERE 1 / b = 1 RETURNING *", "DELETE FROM t1 WHERE c = 1 RETURNING *", "DELETE FROM t1 WHERE max(a) = 1 RETURNING *", "DELETE FROM t1 USING t1 RETURNING *",
            "DELETE FROM t1 WHERE a = (SELECT a FROM t2) RETURNING *", "DELETE FROM t1 RETURNING nope", "DELETE FROM dept WHERE id = 1 RETURNING *", "DELETE FROM dept RETURNING *",
            "DELETE t1 RETURNING *", "UPDATE t1 WHERE a = 1 RETURNING *", "INSERT t1 VALUES (1) RETURNING *", "DELETE FROM t1 WHERE c::int = 1 RETURNING *",
        )

    def any(self, *things):
        return self.random.choice(things)

    def may(self, percent):
        return self.random.random() * 100 < percent

    def name(self):
        self.names += 1
        return f"u{self.names}"

    def table(self):
        name, table = self.name(), self.any(*TABLES)
        return f"{table} {name}", (name, table)

    def column(self, scope, kind):
        all_of = [f"{n}.{c}" for n, t in scope for c, k in TABLES[t].items() if k == kind]
        return self.any(*all_of) if all_of else {"int": "1", "text": "'bb'", "number": "8.75"}[kind]

    def literal(self, kind):
        if self.may(8):
            return "NULL"
        if kind == "text":
            return self.any(*TEXTS)
        n = self.random.randint(-1, 8)
        return self.any(str(n), f"'{abs(n)}'", f"{n}::bigint", f"{n}.0", f"{n}.5", f"({n} + 1)")

    def number(self, scope, depth):
        if self.spoils(12):
            return self.wrong_number(scope)
        if depth <= 0 or self.may(45):
            return self.any(self.column(scope, "int"), self.column(scope, "int"), str(self.random.randint(-2, 9)), "NULL::int")
        one, two = self.number(scope, depth - 1), self.number(scope, depth - 1)
        return self.any(
            f"({one} {self.any('+', '-', '*')} {two})",
            f"({one} / {self.any('2', '3', '-2')})",
            f"coalesce({one}, {two})",
            f"CASE WHEN {self.condition(scope, depth - 1)} THEN {one} ELSE {two} END",
            f"length({self.text(scope, depth - 1)})",
            f"nullif({one}, {two})",
            f"abs({one})",
            self.scalar(scope, depth - 1),
        )

    def text(self, scope, depth):
        if depth <= 0 or self.may(60):
            return self.any(self.column(scope, "text"), "'yy'", "''")
        return self.any(
            f"({self.text(scope, depth - 1)} || ({self.number(scope, depth - 1)})::text)",
            f"upper({self.text(scope, depth - 1)})",
            f"substr({self.text(scope, depth - 1)}, {self.random.randint(0, 3)})",
        )

    def scalar(self, scope, depth):
        written, own = self.table()
        both = scope + [own]
        where = f" WHERE {self.condition(self.any(both, [own]), depth - 1)}" if self.may(80) else ""
        # An aggregate of nothing but outer columns would be the outer query's.
        argument = f"{self.column([own], 'int')} + {self.number(both, depth - 1)}"
        if self.may(10):
            return f"length((SELECT string_agg({self.column([own], 'int')}::text, {self.text(scope, 0)}) FROM {written}{where}))"
        return f"(SELECT {self.any('max', 'min', 'count', 'sum')}({argument}) FROM {written}{where})"

    def condition(self, scope, depth):
        one, two = self.number(scope, depth - 1), self.number(scope, depth - 1)
        if depth <= 0 or self.may(35):
            return f"{one} {self.any('=', '<', '>=', '<>')} {two}"
        written, own = self.table()
        inner = self.any(scope + [own], [own])
        values = ", ".join(self.literal("int") for _ in range(self.random.randint(1, 5)))
        texts = ", ".join(self.literal("text") for _ in range(self.random.randint(1, 3)))
        compared = self.any("IN", "NOT IN", "= ANY", "<> ALL", "> ANY", "< ALL")
        return self.any(
            f"({self.condition(scope, depth - 1)} {self.any('AND', 'OR')} {self.condition(scope, depth - 1)})",
            f"NOT {self.condition(scope, depth - 1)}",
            f"{one} IS {self.any('', 'NOT ')}NULL",
            f"{one} BETWEEN {two} AND {self.number(scope, depth - 1)}",
            f"{self.column(scope, 'int')} {self.any('', 'NOT ')}IN ({values})",
            f"{self.column(scope, 'int')} = ANY (ARRAY[1, {self.random.randint(0, 5)}, NULL])",
            f"{self.column(scope, 'text')} IN ({texts})",
            f"{self.text(scope, depth - 1)} {self.any('', 'NOT ')}LIKE {self.any(*TEXTS[1:4])}",
            f"{self.any('', 'NOT ')}EXISTS (SELECT 1 FROM {written} WHERE {self.condition(scope + [own], depth - 1)})",
            f"{one} {compared} (SELECT {self.number(inner, depth - 1)} FROM {written} WHERE {self.condition(inner, depth - 1)})",
        )

    def joined(self, depth):
        """FROM, and its scope."""
        written, own = self.table()
        scope = [own]
        for _ in range(self.any(0, 0, 1, 1, 2)):
            more, own = self.table()
            scope.append(own)
            kind = self.any("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN")
            written += f" {kind} {more}"
            if kind != "CROSS JOIN":
                parts = [f"{self.column(scope[-2:], 'int')} = {self.column([own], 'int')}"]
                if self.may(50):
                    parts.append(self.condition(scope, depth))
                self.random.shuffle(parts)
                written += f" ON {' AND '.join(parts)}"
        return written, scope

    def query(self):
        written, scope = self.joined(2)
        where = ""
        if self.may(70):
            where = " WHERE " + " AND ".join(self.condition(scope, 2) for _ in range(self.any(1, 1, 2)))
        return self.any(self.rows, self.rows, self.groups, self.groups, self.ranked, self.united)(written, scope, where)

    def rows(self, written, scope, where):
        if len(scope) == 1 and self.may(40):
            name, table = scope[0]
            key = ", ".join(f"{name}.{column}" for column in KEYS[table])
            return f"SELECT * FROM {written}{where} ORDER BY {key} {self.any('', 'LIMIT 3', 'FOR UPDATE')}"
        items = [self.any(self.number, self.number, self.text)(scope, 2) for _ in range(self.random.randint(1, 3))]
        return f"SELECT {self.any('', '', 'DISTINCT ')}{', '.join(items)} FROM {written}{where}"

    def groups(self, written, scope, where):
        keys = [self.column(scope, self.any("int", "text")) for _ in range(self.random.randint(0, 2))]
        keys = [key for key in keys if "." in key and "'" not in key]
        totals = []
        for _ in range(self.random.randint(1, 2)):
            argument = f"{self.any('', 'DISTINCT ')}{self.column(scope, 'int')} + {self.number(scope, 1)}"
            only = self.any("", f" FILTER (WHERE {self.condition(scope, 1)})")
            totals.append(f"{self.any('count', 'sum', 'min', 'max')}({argument}){only}")
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = f" HAVING {self.any(*totals)} {self.any('<', '=', '>')} {self.random.randint(0, 5)}" if self.may(40) else ""
        return f"SELECT {', '.join(keys + totals)} FROM {written}{where}{grouped}{having}"

    def ranked(self, written, scope, where):
        order = ", ".join(f"{name}.{column}" for name, table in scope for column in KEYS[table])
        total = self.any("row_number()", "rank()", "count(*)", f"sum({self.number(scope, 0)})", f"max({self.number(scope, 0)})")
        over = f"OVER (PARTITION BY {self.column(scope, 'int')} ORDER BY {order})"
        return f"SELECT {self.number(scope, 1)}, {total} {over} FROM {written}{where}"

    def united(self, *_):
        def part():
            written, scope = self.joined(1)
            return f"SELECT {self.number(scope, 1)}, {self.text(scope, 1)} FROM {written} WHERE {self.condition(scope, 1)}"

        all_or_not = self.any("", " ALL")
        return f"{part()} {self.any('UNION', 'EXCEPT', 'INTERSECT')}{all_or_not} {part()}"

    def change(self):
        if self.may(40):
            return self.change_by_query()
        table = self.any(*TABLES)
        scope = [(table, table)]
        where = " AND ".join(self.condition(scope, 2) for _ in range(self.any(1, 1, 2)))
        if self.may(60):
            column = "a" if table == "t3" else "b"
            return f"UPDATE {table} SET {column} = {self.number(scope, 2)} WHERE {where} RETURNING *"
        return f"DELETE FROM {table} WHERE {where} RETURNING *"


    def change_by_query(self):
        """A change of rows that a query gives, one for each row that is changed."""
        table = self.any(*TABLES)
        column = "a" if table == "t3" else "b"
        written, scope = self.joined(1)
        key = KEYS[table][0]
        if self.may(30):
            order = ", ".join(f"{name}.{column}" for name, table in scope for column in KEYS[table])
            values = f"100 + row_number() OVER (ORDER BY {order}), {self.number(scope, 1)}, {self.number(scope, 1)}"
            columns = {"t1": "a, b, d", "t2": "a, k, b", "t3": "x, a, g"}[table]
            return f"INSERT INTO {table} ({columns}) SELECT {values} FROM {written} RETURNING *"
        grouped = f"(SELECT {self.column(scope, 'int')} AS at, max({self.number(scope, 1)}) AS most FROM {written} GROUP BY 1) g"
        where = f"g.at = {table}.{key} AND {self.condition([(table, table)], 1)}"
        if self.may(60):
            value = self.any("g.most", f"g.most + {table}.{column}", f"coalesce(g.most, {self.number([(table, table)], 1)})")
            return f"UPDATE {table} SET {column} = {value} FROM {grouped} WHERE {where} RETURNING {table}.*"
        return f"DELETE FROM {table} USING {grouped} WHERE {where} RETURNING {table}.*"


def shown(value):
    """A value, of which the digits that a procedure's numeric adds are left out."""
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return "" if value is None else str(value)


def asked(server, statement):
    """The rows of a statement as sorted lines, or the SQLSTATE of its error."""
    try:
        found = server.execute(statement)
        return sorted("|".join(shown(value) for value in row) for row in found.fetchall())
    except psycopg.Error as failed:
        return f"error {failed.sqlstate}"


def types_of(server, statement):
    """The types of a statement's columns; one of text if it has none, or is wrong."""
    pgconn = server.pgconn
    if pgconn.prepare(b"", statement.encode()).status != ExecStatus.COMMAND_OK:
        return ["text"]
    told = pgconn.describe_prepared(b"")
    oids = [told.ftype(at) for at in range(told.nfields)]
    found = [psycopg.adapters.types.get(oid) for oid in oids]
    return [info.name if info else "text" for info in found] or ["text"]


def asked_inside(server, statement, ask):
    """As `ask` does, by a procedure. Definitions are not undone, so it is made outside of what `ask` takes back."""
    columns = ", ".join(f"r{at} {name}" for at, name in enumerate(types_of(server, statement)))
    try:
        server.execute("DROP FUNCTION IF EXISTS inside")
        server.execute(
            f"CREATE FUNCTION inside() RETURNS TABLE ({columns}) AS $$ BEGIN RETURN QUERY {statement}; END $$ LANGUAGE plpgsql"
        )
    except psycopg.Error as failed:
        return f"error {failed.sqlstate}"
    return ask(server, "SELECT * FROM inside()")


def asked_undone(server, statement):
    """As `asked`, in a transaction that is rolled back."""
    server.execute("BEGIN")
    found = asked(server, statement)
    server.execute("ROLLBACK")
    return found


def kind_of(statement, theirs, ours):
    """What a difference is: "known", "rows", "refused" (by either), "evaluated" (see above) or "code"."""
    if any(re.search(part, statement) for part, _ in KNOWN):
        return "known"
    fails = [found if isinstance(found, str) else None for found in (theirs, ours)]
    if fails == [None, None]:
        return "rows"
    if "error 0A000" in (theirs, ours):
        return "refused"
    classes = [fail and fail[6:8] for fail in fails]
    # A constraint may break at one row before a value fails at another: whose turn comes first is open, too.
    is_of_values = any(of in ("21", "22") for of in classes) and all(of in (None, "21", "22", "23") for of in classes)
    return "evaluated" if is_of_values else "code"


def prepare(server):
    server.execute("SET statement_timeout = 20000")
    server.execute("DROP FUNCTION IF EXISTS inside")
    script = SETUP.read_text()
    for table in reversed(re.findall(r"CREATE TABLE (\w+)", script)):
        server.execute(f"DROP TABLE IF EXISTS {table} CASCADE")
    server.execute(script)


def make(maker):
    """A statement, and whether it changes rows."""
    maker.names, maker.wrong = 0, int(maker.may(33))
    changes = maker.may(15)
    if maker.wrong and maker.may(15):
        return (maker.wrong_change if changes else maker.wrong_statement)(), changes
    return (maker.change if changes else maker.query)(), changes


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seed, count = (int(text) for text in (sys.argv[3:] + ["1", "1000"][len(sys.argv) - 3:])[:2])
    servers = [psycopg.connect(address, autocommit=True, prepare_threshold=None) for address in sys.argv[1:3]]
    for server in servers:
        prepare(server)
    maker, kinds, examples, codes = Maker(seed), Counter(), {}, Counter()
    for _ in range(count):
        statement, changes = make(maker)
        ask = asked_undone if changes else asked
        theirs, ours = (ask(server, statement) for server in servers)
        inside = asked_inside(servers[1], statement, ask)
        if isinstance(theirs, str):
            codes[theirs[6:]] += 1
        for where, found in (("", ours), (" in a procedure", inside)):
            if theirs == found:
                continue
            told = [found if isinstance(found, str) else "rows" for found in (theirs, found)]
            kind = (kind_of(statement, theirs, found), *told, where)
            kinds[kind] += 1
            examples[kind] = min(examples.get(kind, statement), statement, key=len)
            if kind[0] == "rows":
                print(f"{statement}\n  PostgreSQL {len(theirs)}: {theirs[:SHOWN]}\n  Hotrow{where} {len(found)}: {found[:SHOWN]}")
    for kind, times in sorted(kinds.items()):
        what, theirs, found, where = kind
        print(f"{what}, {times} times: PostgreSQL said {theirs} and Hotrow{where} {found}: {examples[kind]}")
    sums = {what: sum(times for kind, times in kinds.items() if kind[0] == what) for what in ("rows", "code", "refused", "evaluated", "known")}
    failed = ", ".join(f"{code} {times}" for code, times in sorted(codes.items()))
    print(f"{count} statements from seed {seed}, of which PostgreSQL refused {sum(codes.values())} ({failed}): {sums['rows']} times other rows, "
          f"{sums['code']} times another SQLSTATE, {sums['refused']} times 0A000, {sums['evaluated']} times errors of values, "
          f"{sums['known']} known")
    sys.exit(1 if sums["rows"] + sums["code"] else 0)


if __name__ == "__main__":
    main()
