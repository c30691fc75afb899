#!/usr/bin/env python3
"""Dumps and restores a database, between Hotrow and PostgreSQL and back; see dumps.sh.

    tests/clients/dumps.py path/to/hotrow

A dump of Hotrow has to be restored without an error by Hotrow and by PostgreSQL; whoever was restored has to have
the same rows in every relation, and what he dumps in turn has to be the same text, where it is Hotrow. What PostgreSQL
dumps of the same database is restored into Hotrow, too. What routines and sequences say is compared by CALLS.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scratch_postgres

SHOP = Path(__file__).parent / "dumps/shop.sql"
# Roles are of no database, and in no dump.
ROLES = "CREATE ROLE clerk;\n"
RELATIONS = """SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'hotrow')
    ORDER BY 1"""
# What is asked of each restored database: routines, defaults, sequences, triggers, constraints, comments.
CALLS = """SELECT add_up(1, 2, 3), add_up('x'), (SELECT count(*) FROM seats_of(1)), (SELECT total FROM hall.price_of(4));
SELECT guests(ARRAY[who]), (who).home, at_work, ip <<= '10.0.0.0/8', flags | B'1000', comes, homes FROM hall.guest ORDER BY id;
INSERT INTO open_seats VALUES (2, 7, 3.50);
SELECT place_id, no, state, price, tax, dbl, doc, states FROM hall.seat WHERE no = 7;
INSERT INTO "Odd one"."Ta ble" (t, d, u) VALUES ('2024-02-02', '2024-02-02', 'y') RETURNING "Id", b, l;
UPDATE "Odd one"."Ta ble" SET l = 'new' WHERE "Id" = 10 RETURNING u;
SELECT nextval('ticket');
SELECT obj_description('hall'::regnamespace, 'pg_namespace'), col_description('hall.seat'::regclass, 2),
    obj_description('hall.totals'::regclass, 'pg_class');
INSERT INTO sales VALUES (9, '2025-06-01', 1);
SELECT count(*) FROM sales_2025"""
REFUSED = [
    ("INSERT INTO hall.seat (place_id, no, price) VALUES (1, -5, 1)", "no_positive"),
    ("INSERT INTO hall.seat (place_id, no, price) VALUES (1, 8, -1)", ""),
    ("INSERT INTO hall.seat (place_id, no, price, buyer) VALUES (1, 8, 1, 'nobody')", ""),
    ("INSERT INTO hall.seat (place_id, no, price, state) VALUES (2, 2, 1, 'sold')", "seat_sold"),
    ("INSERT INTO hall.seat (place_id, no, price) VALUES (9, 9, 1)", "seat_place_id_fkey"),
    ("INSERT INTO hall.guest (id, at_work) VALUES (9, ROW('x', 0))", ""),
    ("INSERT INTO hall.guest (id, ip) VALUES (9, '::1')", "guest_ip_key"),
]


class Server:
    """Somebody who can be asked by psql: `conninfo` but for the database's name."""

    def __init__(self, name, conninfo):
        self.name, self.conninfo = name, conninfo

    def psql(self, database, *arguments, text=None):
        command = ["psql", "-X", "-q", "-d", f"{self.conninfo} dbname={database}", *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True)

    def run(self, database, text):
        """Runs a script that must not fail."""
        done = self.psql(database, "-v", "ON_ERROR_STOP=1", "-At", text=text)
        if done.returncode != 0:
            sys.exit(f"dumps: {self.name}, {database}: {done.stderr.strip()}")
        return done.stdout

    def dump(self, database):
        command = ["pg_dump", "-d", f"{self.conninfo} dbname={database}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"dumps: pg_dump of {self.name}, {database}: {done.stderr.strip()}")
        # Without a random word and who dumped; rows without a key have no order.
        text = re.sub(r"(?m)^\\(un)?restrict .*$|^-- Dumped .*$", "", done.stdout)
        in_order = lambda copy: copy[1] + "".join(sorted(copy[2].splitlines(True))) + copy[3]
        return re.sub(r"(?ms)(^COPY [^\n]*\n)(.*?)(^\\\.$)", in_order, text)

    def contents(self, database):
        """The rows of all relations, by their names."""
        relations = self.run(database, RELATIONS).split("\n")[:-1]
        return {name: self.run(database, f"SELECT * FROM {name} ORDER BY 1, 2") for name in relations}

    def answers(self, database):
        """What the calls say, and by what the refused statements are refused."""
        said = [self.run(database, CALLS)]
        for statement, constraint in REFUSED:
            done = self.psql(database, "-v", "VERBOSITY=verbose", "-c", statement)
            code = re.search(r"ERROR:  (\w{5}):", done.stderr)
            said.append((statement, code and code[1], constraint in done.stderr))
        return said


def compare(what, one, other):
    if one == other:
        return
    lines = [str(of).splitlines() if isinstance(of, str) else [f"{k}: {v}" for k, v in of.items()] if isinstance(of, dict)
             else [str(line) for line in of] for of in (one, other)]
    print("\n".join(difflib.unified_diff(*lines, lineterm="", n=1)), file=sys.stderr)
    sys.exit(f"dumps: {what}")


def serve(hotrow, work, running):
    """A Hotrow in memory, with one database."""
    out = os.path.join(work, f"out{len(running)}")
    with open(out, "w") as file:
        running.append(subprocess.Popen([hotrow, "serve", "--memory", "--listen", "127.0.0.1:0"], stdout=file, stderr=file))
    for _ in range(300):
        port = re.search(r"listening on 127\.0\.0\.1:(\d+)", Path(out).read_text())
        if port:
            return Server("Hotrow", f"host=127.0.0.1 port={port[1]} user=tester")
        time.sleep(0.1)
    sys.exit(f"the server does not listen: {Path(out).read_text()}")


def check(hotrow, work, running):
    own = serve(hotrow, work, running)
    own.run("app", SHOP.read_text())
    dumped, contents = own.dump("app"), own.contents("app")
    again = serve(hotrow, work, running)
    again.run("app", ROLES + dumped)
    compare("rows of Hotrow restored into Hotrow", contents, again.contents("app"))
    compare("what Hotrow dumps of what it restored", dumped, again.dump("app"))
    answers = again.answers("app")
    print(f"dumps: Hotrow into Hotrow: {len(contents)} relations alike, and the same text when it is dumped again")
    if not scratch_postgres.is_there():
        print("dumps: there is no server of PostgreSQL here: what is asked of one is left out")
        return
    with scratch_postgres.Postgres(work) as postgres:
        other = Server("PostgreSQL", postgres.conninfo.rsplit(" dbname", 1)[0])
        for database in ("restored", "own"):
            other.run("postgres", f"CREATE DATABASE {database}")
        other.run("restored", ROLES + dumped)
        compare("rows of Hotrow restored into PostgreSQL", contents, other.contents("restored"))
        compare("answers of PostgreSQL with what Hotrow dumped", answers, other.answers("restored"))
        print(f"dumps: Hotrow into PostgreSQL: {len(contents)} relations alike, and the same answers")
        other.run("own", SHOP.read_text().replace(ROLES, ""))
        of_own = other.contents("own")
        back = serve(hotrow, work, running)
        back.run("app", ROLES + other.dump("own"))
        compare("rows of PostgreSQL restored into Hotrow", of_own, back.contents("app"))
        compare("answers of Hotrow with what PostgreSQL dumped", answers, back.answers("app"))
        print(f"dumps: PostgreSQL into Hotrow: {len(of_own)} relations alike, and the same answers")


def main():
    running = []
    with tempfile.TemporaryDirectory() as work:
        try:
            check(os.path.realpath(sys.argv[1]), work, running)
        finally:
            for server in running:
                server.kill()
                server.wait()


main()
