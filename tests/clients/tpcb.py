"""TPC-B by pgbench on Hotrow and on PostgreSQL by turns, both durable.

    tests/clients/tpcb.py path/to/hotrow [--clients 16] [--scale 1] [--seconds 10] [--rounds 3] [--modes prepared,simple]
                          [--at-least RATIO,RATIO]

pgbench's own tables and transaction (five statements in BEGIN and COMMIT, all of which update the one branch of
scale 1). PostgreSQL is a scratch cluster as it comes, with fsync, synchronous_commit and read committed; Hotrow is
serializable. Prints transactions a second: of each the best of its rounds, which a busy machine spoils least, and
their ratio. Checks that branches, tellers, accounts and history agree. Needs pgbench and PostgreSQL's server.
--at-least: a ratio for each mode, below which this ends with an error.
"""

import argparse
import contextlib
import os
import sys
import tempfile

from scratch_postgres import Postgres
from wire import Connection, Server, pgbench_rate, run_pgbench

SUMS = """SELECT CAST((SELECT sum(bbalance) FROM pgbench_branches) AS text) || ' '
  || CAST((SELECT sum(tbalance) FROM pgbench_tellers) AS text) || ' '
  || CAST((SELECT sum(abalance) FROM pgbench_accounts) AS text) || ' '
  || CAST((SELECT coalesce(sum(delta), 0) FROM pgbench_history) AS text)"""


def check(server):
    sums = Connection(server.port, database=server.database).value(SUMS)
    if len(set(sums.split())) != 1:
        sys.exit(f"{server.name}: branches, tellers, accounts and history do not agree: {sums}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hotrow")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", default="prepared,simple")
    parser.add_argument("--at-least", default="0,0")
    options = parser.parse_args()
    modes, goals = options.modes.split(","), map(float, options.at_least.split(","))
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as all_of_them:
        hotrow = all_of_them.enter_context(Server(options.hotrow, directory=os.path.join(work, "hotrow")))
        servers = [hotrow, all_of_them.enter_context(Postgres(work))]
        for server in servers:
            run_pgbench(server, "-i", "-q", "-s", str(options.scale))
        for mode, goal in zip(modes, goals):
            best = dict.fromkeys(servers, 0)
            for _ in range(options.rounds):
                for server in servers:
                    run = dict(clients=options.clients, seconds=options.seconds, mode=mode)
                    best[server] = max(best[server], pgbench_rate(server, "-b", "tpcb-like", **run))
            ratio = best[servers[0]] / best[servers[1]]
            rates = ", ".join(f"{server.name} {best[server]:.0f}" for server in servers)
            print(f"{mode:9} {rates} transactions a second: {ratio:.2f} times", flush=True)
            if ratio < goal:
                sys.exit(f"less than {goal} times")
        for server in servers:
            check(server)


if __name__ == "__main__":
    main()
