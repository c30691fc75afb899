#!/usr/bin/env python3
"""Seconds of contended calls while definitions, procedures and prepared statements come and go: the longest stop, and
whether anybody was answered by a plan of an old catalog.

    tests/clients/definitions.py path/to/hotrow [--engine ENGINE ...] [--seconds 12] [--clients 8]

pgbench's clients bump five rows by prepared CALLs; its log tells how long each took. Meanwhile one connection makes,
replaces and drops what the calls do not need, and what the watchers ask for: a function that gives its own number, a
procedure that calls it, a view of it. A watcher's answer must be of a number between the last one that was there before
it asked and the last one that was begun before it was answered. Fails where it is not, where a call fails, or where the
rows do not add up; asserts no time. Without --engine: all engines of the table. Needs pgbench.
"""

import argparse
import glob
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time

from wire import Refused, Server, message, messages, run_pgbench

SETUP = """
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter SELECT i, 0 FROM generate_series(1, 1000) i;
CREATE TABLE one (id bigint PRIMARY KEY); INSERT INTO one VALUES (1);
CREATE PROCEDURE bump(which bigint) LANGUAGE plpgsql AS $$ BEGIN UPDATE counter SET n = n + 1 WHERE id = which; END $$;
CREATE FUNCTION number() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN 0; END $$;
CREATE FUNCTION asks() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN number(); END $$;
CREATE VIEW latest AS SELECT id, 0 AS number FROM one;
CREATE FUNCTION looks() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE found_number bigint; BEGIN SELECT number INTO found_number FROM latest; RETURN found_number; END $$;
"""
# What is made over and over, with its number as {n}; the first ones are what watchers ask for.
REPLACED = {
    "function": "CREATE OR REPLACE FUNCTION number() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN {n}; END $$",
    "view": "CREATE OR REPLACE VIEW latest AS SELECT id, {n} AS number FROM one",
}
OTHERS = [
    "CREATE INDEX counter_n ON counter (n)", "DROP INDEX counter_n",
    "CREATE TABLE more (id bigint PRIMARY KEY, n bigint REFERENCES counter)", "INSERT INTO more VALUES (1, 7)",
    "ALTER TABLE more ADD COLUMN what text DEFAULT 'x'",
    "CREATE PROCEDURE new_one(x bigint) LANGUAGE plpgsql AS $$ BEGIN UPDATE more SET n = x; UPDATE one SET id = 1; END $$",
    "CALL new_one(8)", "DROP PROCEDURE new_one", "DROP TABLE more",
]
# By what is replaced: statements whose one value is its number.
ASKED = {
    "function": ["SELECT number()", "SELECT asks()", "SELECT number() + 0 AS n FROM one"],
    "view": ["SELECT number FROM latest", "SELECT looks()"],
}


class Numbers:
    """By what is replaced: the last number that was begun, and the last one that is there."""

    def __init__(self):
        self.begun, self.there = dict.fromkeys(REPLACED, 0), dict.fromkeys(REPLACED, 0)


class Thread(threading.Thread):
    """Does something over and over until it is told to end; keeps what went wrong."""

    def __init__(self, turn):
        super().__init__(daemon=True)
        self.turn, self.ends, self.turns, self.failed = turn, threading.Event(), 0, None

    def run(self):
        try:
            while not self.ends.is_set():
                self.turn()
                self.turns += 1
        except (Refused, AssertionError, OSError) as error:
            self.failed = error


def definer(server, numbers, done):
    """A turn: one thing watched is replaced, and one other thing made or dropped. Adds to `done` what was when."""
    connection, state = server.connect(), {"at": 0}

    def run(text):
        began = time.time()
        connection.run(text)
        done.append((began, time.time(), text))

    def turn():
        at = state["at"]
        what = list(REPLACED)[at % len(REPLACED)]
        number = numbers.begun[what] + 1
        numbers.begun[what] = number
        run(REPLACED[what].format(n=number))
        numbers.there[what] = number
        run(OTHERS[at % len(OTHERS)])
        state["at"] = at + 1

    return turn


def checked(ask, numbers, what, text):
    least = numbers.there[what]
    found = int(ask())
    most = numbers.begun[what]
    assert least <= found <= most, f"{text} gave {found}, where {least} to {most} were right"


def watcher(server, numbers):
    """A turn: each statement, as text and prepared once for good."""
    connection = server.connect()
    asked = [(what, text) for what, texts in ASKED.items() for text in texts]
    for at, (_, text) in enumerate(asked):
        connection.socket.sendall(message(b"P", b"w%d\0" % at + text.encode() + b"\0\0\0") + message(b"S"))
        connection.answer()

    def prepared(at):
        bind = message(b"B", b"\0w%d\0" % at + b"\0\0\0\0\0\0")
        connection.socket.sendall(bind + message(b"E", b"\0\0\0\0\0") + message(b"S"))
        for kind, body in messages(connection.answer()):
            if kind == b"D":
                length = struct.unpack_from("!i", body, 2)[0]
                return body[6:6 + length]
        raise AssertionError(f"{asked[at][1]} gave no row")

    def turn():
        for at, (what, text) in enumerate(asked):
            checked(lambda: connection.value(text), numbers, what, text)
            checked(lambda: prepared(at), numbers, what, f"prepared, {text}")

    return turn


def preparer(server):
    """A turn: a statement is prepared, executed and forgotten."""
    connection, state = server.connect(), {"at": 0}

    def turn():
        state["at"] += 1
        name, key = f"p{state['at']}", state["at"] % 900 + 100
        connection.run(f"PREPARE {name} AS SELECT n FROM counter WHERE id = $1 AND n >= {state['at'] % 7 - 7}")
        assert connection.value(f"EXECUTE {name}({key})") == "0", "a row that nobody bumps"
        connection.run(f"DEALLOCATE {name}")
        time.sleep(0.001)

    return turn


def calls(directory):
    """By pgbench's log: begin and end of each call, in seconds."""
    found = []
    for name in glob.glob(os.path.join(directory, "log.*")):
        with open(name) as log:
            for line in log:
                _, _, latency_us, _, second, microsecond = line.split()[:6]
                end = int(second) + int(microsecond) / 1e6
                found.append((end - int(latency_us) / 1e6, end))
    return sorted(found, key=lambda call: call[1])


def during(done, begin, end):
    names = [text.split(" AS ")[0][:60] for began, ended, text in done if began < end and ended > begin]
    return "; ".join(names[:3]) or "no definition"


def measure(hotrow, engine, seconds, clients):
    with Server(hotrow, "--engine", engine) as server, tempfile.TemporaryDirectory() as directory:
        control = server.connect()
        control.run(SETUP)
        numbers, done = Numbers(), []
        threads = [Thread(definer(server, numbers, done)), Thread(watcher(server, numbers)), Thread(preparer(server))]
        script = os.path.join(directory, "bump.sql")
        with open(script, "w") as file:
            file.write("\\set which random(1, 5)\nCALL bump(:which);\n")
        for thread in threads:
            thread.start()
        said = run_pgbench(server, "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(seconds), "-f", script,
                           "-l", "--log-prefix", os.path.join(directory, "log"))
        for thread in threads:
            thread.ends.set()
        for thread in threads:
            thread.join()
        wrong = [thread.failed for thread in threads if thread.failed]
        made = int(control.value("SELECT sum(n) FROM counter"))
        told = calls(directory)
    if wrong or "failed transactions: 0 " not in said or made != len(told):
        print(f"{engine}: {wrong}; {made} bumps of {len(told)} calls\n{said}")
        return False
    took = sorted(((end - begin) * 1000, begin, end) for begin, end in told)
    silent = max((two[1] - one[1], one[1], two[1]) for one, two in zip(told, told[1:]))
    longest = took[-1]
    print(f"{engine}: {len(told) / seconds:.0f} calls a second beside {len(done) / seconds:.0f} definitions, {threads[1].turns} rounds "
          f"of ten questions, {threads[2].turns} statements prepared and gone: no answer of an old catalog\n"
          f"  a call: median {took[len(took) // 2][0]:.2f}, p99.9 {took[int(len(took) * .999)][0]:.1f}, "
          f"longest {longest[0]:.1f} ms (beside {during(done, *longest[1:])}); over 20 ms: {sum(ms > 20 for ms, _, _ in took)}\n"
          f"  nobody was answered for {silent[0] * 1000:.1f} ms at most (beside {during(done, *silent[1:])})\n"
          f"  longest definition: {max((end - begin) * 1000 for begin, end, _ in done):.1f} ms", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hotrow")
    parser.add_argument("--engine", action="append")
    parser.add_argument("--seconds", type=int, default=12)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    table = subprocess.run([options.hotrow, "engines"], capture_output=True, text=True, check=True).stdout
    engines = options.engine or [line.split()[0] for line in table.splitlines() if line[0] != " "]
    right = [measure(options.hotrow, engine, options.seconds, options.clients) for engine in engines]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
