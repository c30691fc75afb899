"""Durable transfers through one fee account, by CALL, of one or more servers by turns.

    tests/clients/fees.py path/to/hotrow [another ...] [--clients 1,16,64,256] [--seconds 4] [--rounds 3]

Each call takes cents from one of 10,000 accounts, gives them to another one, and a fee to the one account that all
share. pgbench sends them, prepared, over TCP; all servers run beside each other, and rounds take them by turns.
Prints calls a second: the best round of each, which a busy machine spoils least, and their ratio to the first's.
Checks that no cent is lost. Needs pgbench.
"""

import argparse
import contextlib
import os
import tempfile

from wire import Server, pgbench

SCHEMA = """
CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL);
INSERT INTO account SELECT i, 1000000 FROM generate_series(0, 10000) i;
CREATE PROCEDURE transfer(a bigint, b bigint, much bigint) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE account SET cents = cents - much - 1 WHERE id = a;
  UPDATE account SET cents = cents + much WHERE id = b;
  UPDATE account SET cents = cents + 1 WHERE id = 0;
END $$;
"""
SCRIPT = "\\set a random(1, 5000)\n\\set b random(5001, 10000)\nCALL transfer(:a, :b, 5);\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--clients", default="1,16,64,256")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as all_of_them:
        servers = []
        for number, program in enumerate(options.programs):
            data = os.path.join(directory, str(number))
            servers.append(all_of_them.enter_context(Server(program, "--connections", "300", directory=data)))
            servers[-1].connect().run(SCHEMA)
        for clients in map(int, options.clients.split(",")):
            best = [0] * len(servers)
            for _ in range(options.rounds):
                for number, server in enumerate(servers):
                    best[number] = max(best[number], pgbench(server, SCRIPT, clients, options.seconds))
            rates = ", ".join(f"{rate:.0f} ({rate / best[0]:.2f})" for rate in best)
            print(f"{clients:3} clients: {rates} calls a second", flush=True)
        for server in servers:
            total = server.connect().value("SELECT CAST(sum(cents) AS bigint) FROM account")
            if total != str(10_001 * 1_000_000):
                raise SystemExit(f"{total} cents are there")


if __name__ == "__main__":
    main()
