"""Transactions typed by clients, on Hotrow and on PostgreSQL by turns: reservations of seats on few flights.

    tests/clients/flights.py path/to/hotrow [--sessions 8,64] [--flights 50] [--sold 20] [--seconds 4] [--index] [--count]
                             [--rounds 1] [--option engine options] [--only hotrow|postgres]

Each session, a process of its own, repeats: BEGIN; read a flight by its key; two reads of its reservations, by a
prefix of their UNIQUE (flight, seat); insert a reservation; update the flight; COMMIT. Who fails begins another
transaction, which counts as one failure. --index: one more index on reservations; --count: one more session
counts all reservations, ten times a second.

Both servers keep everything in memory (PostgreSQL: fsync and synchronous_commit off, serializable). PostgreSQL is
a scratch cluster (Debian: postgresql-15); without it only Hotrow runs. Needs psycopg 3. Prints commits, failures
by SQLSTATE, the worst second and the median one, and what of reservations and flights does not add up, which is
nothing. Asserts no time: compare by eye, or by --at-least RATIO.
"""

import argparse
import collections
import multiprocessing
import random
import statistics
import tempfile
import time

import psycopg

import scratch_postgres
from wire import Server

# Each session has seats of its own on each flight.
SEATS = 20_000_000


def load(conninfo, flights, sold, with_index):
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS res")
        connection.execute("DROP TABLE IF EXISTS flight")
        connection.execute("CREATE TABLE flight (id int PRIMARY KEY, sold int NOT NULL, price int NOT NULL)")
        connection.execute(
            "CREATE TABLE res (id bigint PRIMARY KEY, flight int NOT NULL, seat int NOT NULL, buyer int NOT NULL,"
            " UNIQUE (flight, seat))"
        )
        if with_index:
            connection.execute("CREATE INDEX res_buyer ON res (buyer)")
        for flight in range(flights):
            connection.execute("INSERT INTO flight VALUES (%s, %s, 100)", (flight, sold))
            for number in range(sold):
                seat = SEATS * 100 // (sold + 1) * (number + 1) + 99
                connection.execute("INSERT INTO res VALUES (%s, %s, %s, 0)", (-1 - flight * sold - number, flight, seat))


def reserve(connection, draw, flights, number):
    """One transaction."""
    flight, seat = draw.randrange(flights), draw.randrange(SEATS) * 100 + number // 10_000_000
    with connection.transaction():
        connection.execute("SELECT sold, price FROM flight WHERE id = %s", (flight,)).fetchone()
        connection.execute("SELECT count(*) FROM res WHERE flight = %s", (flight,)).fetchone()
        query = "SELECT seat, buyer FROM res WHERE flight = %s AND seat >= %s ORDER BY seat LIMIT 3"
        connection.execute(query, (flight, seat)).fetchall()
        row = (number, flight, seat, draw.randrange(1000))
        connection.execute("INSERT INTO res VALUES (%s, %s, %s, %s)", row)
        connection.execute("UPDATE flight SET sold = sold + 1 WHERE id = %s", (flight,))


def session(conninfo, options, number, begin, told):
    """Repeats transactions from `begin` on; tells commits by second, and failures by SQLSTATE."""
    draw = random.Random(number)
    commits, failures = [0] * options.seconds, collections.Counter()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        begin.wait()
        began = time.monotonic()
        count = 0
        while (second := int(time.monotonic() - began)) < options.seconds:
            count += 1
            try:
                reserve(connection, draw, options.flights, number * 10_000_000 + count)
                commits[second] += 1
            except psycopg.Error as error:
                failures[error.sqlstate or type(error).__name__] += 1
    told.put((commits, failures))


def count_all(conninfo, options, begin, told):
    """Counts the table every 100 ms; tells how often it did, and the longest time."""
    longest, counts, failures = 0, 0, collections.Counter()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        begin.wait()
        began = time.monotonic()
        while (now := time.monotonic()) - began < options.seconds:
            try:
                connection.execute("SELECT count(*) FROM res").fetchone()
                counts += 1
            except psycopg.Error as error:
                failures[error.sqlstate or type(error).__name__] += 1
            longest = max(longest, time.monotonic() - now)
            time.sleep(0.1)
    told.put((counts, longest, dict(failures)))


def check(conninfo):
    """Every reservation is counted by its flight, and the other way round."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        query = "SELECT f.id, f.sold, (SELECT count(*) FROM res r WHERE r.flight = f.id) FROM flight f"
        wrong = [row for row in connection.execute(query) if row[1] != row[2]]
        sold = connection.execute("SELECT sum(sold) FROM flight").fetchone()[0]
    return wrong, sold


def measure(server, options, sessions):
    load(server.conninfo, options.flights, options.sold, options.index)
    begin, told, counted = multiprocessing.Barrier(sessions + options.count), multiprocessing.Queue(), multiprocessing.Queue()
    work = [(session, (server.conninfo, options, number, begin, told)) for number in range(sessions)]
    if options.count:
        work.append((count_all, (server.conninfo, options, begin, counted)))
    processes = [multiprocessing.Process(target=target, args=arguments) for target, arguments in work]
    for process in processes:
        process.start()
    ends = [told.get() for _ in range(sessions)]
    counts = counted.get() if options.count else None
    for process in processes:
        process.join()
    seconds = [sum(commits[second] for commits, _ in ends) for second in range(options.seconds)]
    failures = sum((failures for _, failures in ends), collections.Counter())
    commits = sum(seconds)
    wrong, sold = check(server.conninfo)
    if wrong or sold < commits + options.flights * options.sold:
        raise SystemExit(f"{server.name}: {commits} commits, {sold} seats sold, wrong: {wrong}")
    failed = sum(failures.values())
    told = ", ".join(f"{state} {count}" for state, count in failures.most_common())
    print(
        f"{server.name:9} {sessions:3} sessions: {commits:6} commits, {failed:5} failures ({told or 'none'}), "
        f"one per {commits / failed if failed else float('inf'):.1f} commits; "
        f"a second: {min(seconds)} to {max(seconds)}, median {statistics.median(seconds):.0f} {seconds}"
        + (f"; counted {counts[0]} times, longest {counts[1] * 1000:.0f} ms, {counts[2]}" if counts else ""),
        flush=True,
    )
    return commits


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hotrow")
    parser.add_argument("--sessions", default="8,64")
    parser.add_argument("--flights", type=int, default=50)
    parser.add_argument("--sold", type=int, default=20, help="reservations of each flight at the beginning")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--index", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--option", default="", help="of hotrow serve, e.g. '--engine two_phase_locking:ranges=granules'")
    parser.add_argument("--only", choices=["hotrow", "postgres"])
    parser.add_argument("--at-least", type=float, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        servers = []
        try:
            if options.only != "postgres":
                servers.append(Server(options.hotrow, "--connections", "200", *options.option.split()))
            if options.only != "hotrow" and scratch_postgres.is_there():
                unlogged = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
                servers.append(scratch_postgres.Postgres(work, *unlogged, "default_transaction_isolation=serializable"))
            for sessions in map(int, options.sessions.split(",")):
                commits = collections.Counter()
                for _ in range(options.rounds):
                    for server in servers:
                        commits[server.name] += measure(server, options, sessions)
                if len(commits) == 2:
                    ratio = commits["hotrow"] / max(commits["postgres"], 1)
                    print(f"{sessions} sessions: {ratio:.2f} times the commits of PostgreSQL", flush=True)
                    if ratio < options.at_least:
                        raise SystemExit(f"less than {options.at_least} times")
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
