#!/usr/bin/env python3
"""Random statements, asked of PostgreSQL and of Hotrow; what differs is shown.

    pip install 'psycopg[binary]'
    tests/clients/random_queries.py "host=... port=5432 user=... dbname=..." "host=127.0.0.1 port=5433 ..." [SEED [COUNT]]

Both servers get the tables of crates/database/tests/suite/queries/setup.sql, which they must not have otherwise.
Statements are made of joins of every kind, with subqueries in every place where a value or a condition may stand,
lists of keys, groups, windows, set operations, and changes: UPDATE [FROM], DELETE [USING], INSERT ... SELECT. Hotrow is asked
each of them twice, as it is and inside a procedure. A statement that Hotrow refuses is counted by its
code and PostgreSQL's, with the shortest one as an example; different rows are a bug, and end with status 1. CI does not
run this: it needs a PostgreSQL server. What it has found stands in crates/database/tests/suite/queries.
"""

import random
import re
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import psycopg

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


class Maker:
    """Makes statements. `scope`: names of what FROM has, with their tables; `depth`: how deep to nest."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

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
        if depth <= 0 or self.may(45):
            return self.any(self.column(scope, "int"), self.column(scope, "int"), str(self.random.randint(-2, 9)), "NULL::int")
        one, two = self.number(scope, depth - 1), self.number(scope, depth - 1)
        return self.any(
            f"({one} {self.any('+', '-', '*')} {two})",
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
            f"({self.text(scope, depth - 1)} || {self.number(scope, depth - 1)}::text)",
            f"upper({self.text(scope, depth - 1)})",
        )

    def scalar(self, scope, depth):
        written, own = self.table()
        both = scope + [own]
        where = f" WHERE {self.condition(self.any(both, [own]), depth - 1)}" if self.may(80) else ""
        # An aggregate of nothing but outer columns would be the outer query's.
        argument = f"{self.column([own], 'int')} + {self.number(both, depth - 1)}"
        if self.may(10):
            return f"length((SELECT string_agg({self.column([own], 'text')}, {self.text(scope, 0)}) FROM {written}{where}))"
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
    """The rows of a statement as sorted lines, or its error's code; and the types of its columns."""
    try:
        found = server.execute(statement)
        types = [psycopg.adapters.types[column.type_code].name for column in found.description]
        return sorted("|".join(shown(value) for value in row) for row in found.fetchall()), types
    except psycopg.Error as failed:
        return f"error {failed.sqlstate}", None


def asked_inside(server, statement, types):
    """As `asked`, by a procedure."""
    columns = ", ".join(f"r{at} {name}" for at, name in enumerate(types or ["text"]))
    try:
        server.execute("DROP FUNCTION IF EXISTS inside")
        server.execute(
            f"CREATE FUNCTION inside() RETURNS TABLE ({columns}) AS $$ BEGIN RETURN QUERY {statement}; END $$ LANGUAGE plpgsql"
        )
    except psycopg.Error as failed:
        return f"error {failed.sqlstate}"
    return asked(server, "SELECT * FROM inside()")[0]


def undone(server, ask):
    """What is asked in a transaction that is rolled back."""
    server.execute("BEGIN")
    found = ask()
    server.execute("ROLLBACK")
    return found


def inside_of(server, statement, types, changes):
    """What a procedure gives. Definitions are not undone, so a change is called in its own transaction."""
    if not changes:
        return asked_inside(server, statement, types)
    body = f"{statement.rsplit(' RETURNING ', 1)[0]}; GET DIAGNOSTICS n = ROW_COUNT; RETURN n;"
    try:
        server.execute("DROP FUNCTION IF EXISTS inside")
        server.execute(
            "CREATE FUNCTION inside() RETURNS bigint AS $$ DECLARE n bigint; "
            f"BEGIN {body} END $$ LANGUAGE plpgsql"
        )
    except psycopg.Error as failed:
        return f"error {failed.sqlstate}"
    found, _ = undone(server, lambda: asked(server, "SELECT inside()"))
    return found


def prepare(server):
    server.execute("SET statement_timeout = 20000")
    server.execute("DROP FUNCTION IF EXISTS inside")
    script = SETUP.read_text()
    for table in reversed(re.findall(r"CREATE TABLE (\w+)", script)):
        server.execute(f"DROP TABLE IF EXISTS {table} CASCADE")
    server.execute(script)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seed, count = (int(text) for text in (sys.argv[3:] + ["1", "1000"][len(sys.argv) - 3:])[:2])
    servers = [psycopg.connect(address, autocommit=True, prepare_threshold=None) for address in sys.argv[1:3]]
    for server in servers:
        prepare(server)
    maker, different, refused, examples = Maker(seed), 0, Counter(), {}
    for _ in range(count):
        maker.names = 0
        changes = maker.may(15)
        statement = maker.change() if changes else maker.query()
        ask = undone if changes else lambda _, ask: ask()
        (theirs, _), (ours, types) = (ask(server, lambda: asked(server, statement)) for server in servers)
        inside = inside_of(servers[1], statement, types, changes)
        if changes and not isinstance(inside, str) and not isinstance(theirs, str):
            inside = theirs if inside == [str(len(theirs))] else inside
        for where, found in (("", ours), (" in a procedure", inside)):
            if theirs == found:
                continue
            # Which rows a statement meets first, and so whether it fails, is each one's own affair.
            if isinstance(found, str) or isinstance(theirs, str):
                kind = (theirs if isinstance(theirs, str) else "rows", found if isinstance(found, str) else "rows", where)
                refused[kind] += 1
                examples[kind] = min(examples.get(kind, statement), statement, key=len)
                continue
            different += 1
            print(f"{statement}\n  PostgreSQL {len(theirs)}: {theirs[:SHOWN]}\n  Hotrow{where} {len(found)}: {found[:SHOWN]}")
    for kind, times in refused.items():
        theirs, found, where = kind
        print(f"{times} times PostgreSQL said {theirs} and Hotrow{where} {found}: {examples[kind]}")
    print(f"{count} statements from seed {seed}: {different} with different rows")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
