"""What a Python driver makes of a call when nobody has told it otherwise: BEGIN, the call, COMMIT.

    tests/clients/implicit_begin.py path/to/hotrow [--clients 16] [--calls 100000] [--accounts 100] [--rounds 1]
                                    [--disk] [--at-least RATIO]

Each client, a process of its own, moves money between two random accounts: first by calls alone (autocommit), then by
as many calls that begin transactions of their own accord, as psycopg does unless it is told not to. A call that fails
is counted by its SQLSTATE and not repeated; none may fail, neither with a deadlock (40P01) nor otherwise. --calls: of
all clients, in each way. --disk: with a log; else everything is in memory.

Prints calls per second both ways, their ratio, and how much processor time the server took for a call; ends with an
error when a call failed, money is missing, or the ratio is below --at-least. Needs psycopg 3.
"""

import argparse
import collections
import multiprocessing
import os
import random
import tempfile
import time

import psycopg

from wire import Server

SCRIPT = """
CREATE TABLE account (id int PRIMARY KEY, cents bigint NOT NULL);
CREATE FUNCTION move(origin int, target int, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    rest bigint;
BEGIN
    UPDATE account SET cents = cents - amount WHERE id = origin RETURNING cents INTO rest;
    UPDATE account SET cents = cents + amount WHERE id = target;
    RETURN rest;
END $$
"""


def client(conninfo, autocommit, accounts, calls, seed, begin, told):
    draw, failures = random.Random(seed), collections.Counter()
    with psycopg.connect(conninfo, autocommit=autocommit) as connection:
        begin.wait()
        began = time.monotonic()
        for _ in range(calls):
            origin, target = draw.sample(range(accounts), 2)
            try:
                connection.execute("SELECT move(%s, %s, %s)", (origin, target, draw.randrange(100))).fetchone()
                connection.commit()
            except psycopg.Error as error:
                failures[error.sqlstate or type(error).__name__] += 1
                connection.rollback()
        told.put((began, time.monotonic(), failures))


def processor_seconds(process):
    """Of a server so far."""
    fields = open(f"/proc/{process}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server, options, autocommit, seed):
    calls = options.calls // options.clients
    begin, told = multiprocessing.Barrier(options.clients), multiprocessing.Queue()
    before = processor_seconds(server.process.pid)
    arguments = (server.conninfo, autocommit, options.accounts, calls)
    processes = [
        multiprocessing.Process(target=client, args=(*arguments, seed + number, begin, told))
        for number in range(options.clients)
    ]
    for process in processes:
        process.start()
    ends = [told.get() for _ in processes]
    for process in processes:
        process.join()
    spent = processor_seconds(server.process.pid) - before
    took = max(end for _, end, _ in ends) - min(began for began, _, _ in ends)
    failures = sum((failures for _, _, failures in ends), collections.Counter())
    rate = calls * options.clients / took
    print(
        f"{'calls alone' if autocommit else 'BEGIN, call, COMMIT':20} {rate:7.0f} a second, "
        f"{spent / calls / options.clients * 1e6:4.0f} us of the server's processors each; "
        f"failures: {dict(failures) or 'none'}",
        flush=True,
    )
    return rate, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hotrow")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--accounts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--disk", action="store_true")
    parser.add_argument("--at-least", type=float, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        server = Server(options.hotrow, "--connections", "200", directory=os.path.join(work, "data") if options.disk else None)
        with server:
            with psycopg.connect(server.conninfo, autocommit=True) as connection:
                connection.execute(SCRIPT)
                connection.execute("INSERT INTO account SELECT g, 0 FROM generate_series(0, %s) AS g" % (options.accounts - 1))
            rates, failures = collections.Counter(), collections.Counter()
            for turn in range(options.rounds):
                for autocommit in (True, False):
                    rate, failed = measure(server, options, autocommit, turn * 1000)
                    rates[autocommit] += rate
                    failures += failed
            with psycopg.connect(server.conninfo, autocommit=True) as connection:
                total = connection.execute("SELECT sum(cents) FROM account").fetchone()[0]
    ratio = rates[False] / rates[True]
    print(f"{ratio:.2f} of the rate of calls alone")
    if failures or total != 0:
        raise SystemExit(f"failures: {dict(failures)}, money made: {total}")
    if ratio < options.at_least:
        raise SystemExit(f"less than {options.at_least}")


if __name__ == "__main__":
    main()
