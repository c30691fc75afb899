"""What clients can do to others, measured: each row starts a server of its own, lets some clients do what hurts,
and tells what it cost the others, in time and in memory.

    tests/clients/neighbours.py path/to/hotrow [ROW ...]          without a ROW: all; --list tells them

Needs Python 3 and, for rates of calls, pgbench. Asserts no time: docs/neighbours.md keeps the figures. Fails
where an answer is wrong: a caller that was to end and did not, an error of another kind, a server that is gone.
"""

import argparse
import os
import re
import select
import socket
import struct
import subprocess
import tempfile
import threading
import time

from wire import Refused, Server, message, pgbench, told

ROWS = {}
COUNTERS = """
CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counter SELECT i, 0 FROM generate_series(1, 1000) i;
CREATE PROCEDURE bump(which bigint) LANGUAGE plpgsql AS $$
BEGIN UPDATE counter SET n = n + 1 WHERE id = which; END $$;
"""


def counters(server):
    """A thousand rows to bump, and a connection that made them."""
    control = server.connect()
    control.run(COUNTERS)
    return control


def row(function):
    ROWS[function.__name__] = function
    return function


class Neighbour(threading.Thread):
    """Somebody else, who bumps a row every few milliseconds; milliseconds of each call."""

    def __init__(self, server, text="CALL bump(1000)", pause=0.005):
        super().__init__(daemon=True)
        self.connection, self.text, self.pause = server.connect(), text, pause
        self.ends, self.times = threading.Event(), []

    def run(self):
        while not self.ends.is_set():
            began = time.monotonic()
            self.connection.run(self.text)
            self.times.append((time.monotonic() - began) * 1000)
            time.sleep(self.pause)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join()
        self.connection.close()

    def __str__(self):
        times = sorted(self.times)
        at = lambda share: times[min(len(times) - 1, int(share * len(times)))]
        return f"{len(times)} calls of a neighbour: median {at(.5):.1f}, p99 {at(.99):.1f}, longest {times[-1]:.1f} ms"


def timed(run):
    began = time.monotonic()
    run()
    return time.monotonic() - began


@row
def silent(hotrow):
    "100 and 1,000 connections that say nothing: how long a newcomer takes to be answered"
    for many in (100, 1000):
        with Server(hotrow) as server:
            sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(many)]
            took = timed(lambda: server.connect().run("SELECT 1"))
            print(f"  {many} silent: a newcomer's first answer after {took * 1000:.0f} ms")
            for each in sockets:
                each.close()


@row
def half_open(hotrow):
    "300 connections that stop in the middle of their first message: newcomers meanwhile"
    with Server(hotrow) as server:
        sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
        for each in sockets:
            each.sendall(b"\0\0\0\x40\0\3")
        longest = max(timed(lambda: server.connect().run("SELECT 1")) for _ in range(20))
        print(f"  20 newcomers, one after the other: the slowest was answered after {longest * 1000:.0f} ms")


@row
def crowd(hotrow):
    "5,000 connections at once where 100 may be: what each of them is told"
    with Server(hotrow) as server:
        names = b"user\0tester\0database\0app\0\0"
        startup = struct.pack("!ii", 8 + len(names), 196608) + names
        outcomes, sockets = {}, []

        def count(what):
            outcomes[what] = outcomes.get(what, 0) + 1

        for _ in range(5000):
            try:
                each = socket.create_connection(("127.0.0.1", server.port), timeout=20)
                each.sendall(startup)
                sockets.append(each)
            except OSError as error:
                count(f"connect: {type(error).__name__}")
        for each in sockets:
            try:
                come = each.recv(4096)
                if come[:1] == b"R":
                    count("let in")
                else:
                    count((told(come) or "closed without a word").split(",")[0])
            except OSError as error:
                count(f"{type(error).__name__}, without an answer")
        print("  " + "; ".join(f"{count}: {what}" for what, count in outcomes.items()))
        for each in sockets:
            each.close()
        time.sleep(0.5)
        print(f"  a newcomer afterwards: {timed(lambda: server.connect().run('SELECT 1')) * 1000:.0f} ms")


@row
def idle(hotrow):
    "400 connections that have asked once and are idle: what they keep, and what stays when they have gone"
    with Server(hotrow, "--connections", "500") as server:
        counters(server)
        before = server.settled(1)
        crowd = [server.connect() for _ in range(400)]
        for each in crowd:
            each.run("SELECT n FROM counter WHERE id = 1")
        kept = server.settled()
        for each in crowd:
            each.close()
        after = server.settled()
        print(f"  resident: {before:.0f} MiB before, {kept:.0f} with them, {after:.0f} when they have gone")


@row
def scripts(hotrow):
    "a script of 50,000 and of 100,000 `SELECT 1;`: its time, and what stays"
    with Server(hotrow) as server:
        with_script = server.connect()
        for many in (50_000, 100_000):
            before = server.resident()
            took = timed(lambda: with_script.run("SELECT 1;" * many))
            print(f"  {many:,}: {took:.2f} s; resident {before:.0f} MiB before, {server.settled():.0f} afterwards")


@row
def savepoints(hotrow):
    "25,000 and 50,000 savepoints in a transaction"
    for many in (25_000, 50_000):
        with Server(hotrow) as server:
            counters(server)
            own = server.connect()
            before = server.resident()
            own.run("BEGIN")
            text = "".join(f"SAVEPOINT s{n};" for n in range(many))
            took = timed(lambda: own.run(text))
            undone = timed(lambda: own.run("ROLLBACK TO s0; COMMIT"))
            print(f"  {many:,}: {took:.2f} s, undone in {undone:.2f} s; "
                  f"resident {before:.0f} MiB before, {server.settled():.0f} afterwards")


@row
def tables(hotrow):
    "tables made and dropped, 3,000 times: time of each thousand, memory and budget afterwards"
    with Server(hotrow) as server:
        own = server.connect()
        own.run("CREATE TABLE goes (id bigint PRIMARY KEY, n bigint UNIQUE); DROP TABLE goes")
        before, used = server.settled(1), int(own.value("SELECT memory_bytes FROM hotrow.engine_status"))
        took = []
        for _ in range(3):
            began = time.monotonic()
            for _ in range(1000):
                own.run("CREATE TABLE goes (id bigint PRIMARY KEY, n bigint UNIQUE)")
                own.run("INSERT INTO goes VALUES (1, 1)")
                own.run("DROP TABLE goes")
            took.append(time.monotonic() - began)
        after, then = server.settled(), int(own.value("SELECT memory_bytes FROM hotrow.engine_status"))
        print("  seconds of each thousand: " + ", ".join(f"{each:.1f}" for each in took)
              + f"; resident {before:.0f} MiB before, {after:.0f} afterwards; budget {(then - used) // 1024:+} KiB")


@row
def restart(hotrow):
    "872 definitions in the log, then kill -9: the next start, until somebody is answered"
    with tempfile.TemporaryDirectory() as directory:
        data = os.path.join(directory, "data")
        with Server(hotrow, directory=data) as server:
            own = server.connect()
            for n in range(109):
                own.run(f"CREATE TABLE t{n} (id bigint PRIMARY KEY, n bigint NOT NULL, name text UNIQUE)")
                own.run(f"CREATE INDEX t{n}_n ON t{n} (n)")
                own.run(f"CREATE FUNCTION f{n}(k bigint) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE r bigint; BEGIN"
                        f" UPDATE t{n} SET n = n + 1 WHERE id = k RETURNING n INTO r; RETURN r; END $$")
                own.run(f"CREATE VIEW v{n} AS SELECT id, sum(n) AS n FROM t{n} GROUP BY id")
                own.run(f"INSERT INTO t{n} VALUES (1, 0, 'one')")
                own.run(f"SELECT f{n}(1)")
                own.run(f"DROP VIEW v{n}" if n % 2 else f"SELECT n FROM v{n}")
                own.run(f"DROP FUNCTION f{n}" if n % 2 else f"ALTER TABLE t{n} ADD COLUMN more bigint")
            server.process.kill()
            server.process.wait()
        began = time.monotonic()
        with Server(hotrow, directory=data) as server:
            n = server.connect().value("SELECT n FROM t108")
            print(f"  answered after {time.monotonic() - began:.2f} s; the last call's row has {n}")


@row
def waiters(hotrow):
    "one session idles in BEGIN with a row, 200 CALLs wait for it: calls of other rows, and the waiters' time-outs"
    with Server(hotrow, "--connections", "300", "--idle-while-awaited", "60s") as server:
        control = counters(server)
        script = "\\set id random(2, 900)\nCALL bump(:id);\n"
        without = pgbench(server, script, 8, 4)
        control.run("BEGIN")
        control.run("UPDATE counter SET n = 0 WHERE id = 1")
        crowd = [server.connect() for _ in range(200)]
        for each in crowd:
            each.run("SET lock_timeout = '8s'")
        began = time.monotonic()
        for each in crowd:
            each.send("CALL bump(1)")
        time.sleep(0.5)
        beside = pgbench(server, script, 8, 4)
        ended, codes = [], set()
        for each in crowd:
            try:
                each.answer()
                codes.add("none")
            except Refused as error:
                codes.add(str(error)[:5])
            ended.append(time.monotonic() - began)
        control.run("COMMIT")
        again = pgbench(server, script, 8, 4)
        print(f"  calls of other rows a second: {without:.0f} before, {beside:.0f} beside the waiters "
              f"({beside / without:.2f}), {again:.0f} afterwards; with lock_timeout = 8 s the 200 ended after "
              f"{min(ended):.1f} to {max(ended):.1f} s with {', '.join(sorted(codes))}")
        if codes != {"55P03"}:
            raise SystemExit("each waiter was to end with 55P03")


def spinning(control, seconds):
    """Makes spin(much), a function that only computes; how much takes so long, and how long it takes."""
    control.run("""CREATE FUNCTION spin(much bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE s bigint := 0; BEGIN FOR i IN 1..much LOOP s := s + i % 7; END LOOP; RETURN s; END $$""")
    much = 1000
    while (took := timed(lambda: control.run(f"SELECT spin({much})"))) < seconds:
        much = int(much * max(1.1, min(4, 1.03 * seconds / took)))
    return much, took


@row
def slow_calls(hotrow):
    "80 clients with calls of some 28 ms: somebody else's short call"
    with Server(hotrow) as server:
        control = counters(server)
        much, took = spinning(control, 0.028)
        with Neighbour(server) as quiet:
            time.sleep(2)
        print(f"  spin({much}) takes {took * 1000:.0f} ms; without the crowd: {quiet}")
        crowd = [server.connect() for _ in range(80)]
        ends = time.monotonic() + 8
        with Neighbour(server) as neighbour:
            done, waiting = 0, {each.socket: each for each in crowd}
            for each in crowd:
                each.send(f"SELECT spin({much})")
            while time.monotonic() < ends:
                for ready in select.select(list(waiting), [], [], 0.1)[0]:
                    waiting[ready].answer()
                    done += 1
                    waiting[ready].send(f"SELECT spin({much})")
        print(f"  {done / 8:.0f} slow calls a second beside it: {neighbour}")


@row
def lists(hotrow):
    "WHERE id IN (two parameters) in a procedure, against two UPDATEs: 16 clients"
    with Server(hotrow) as server:
        control = counters(server)
        control.run("""CREATE PROCEDURE both(a bigint, b bigint) LANGUAGE plpgsql AS $$
            BEGIN UPDATE counter SET n = n + 1 WHERE id IN (a, b); END $$""")
        control.run("""CREATE PROCEDURE each(a bigint, b bigint) LANGUAGE plpgsql AS $$
            BEGIN UPDATE counter SET n = n + 1 WHERE id = a; UPDATE counter SET n = n + 1 WHERE id = b; END $$""")
        draw = "\\set a random(1, 500)\n\\set b random(501, 1000)\n"
        rates = {name: pgbench(server, f"{draw}CALL {name}(:a, :b);\n", 16, 4) for name in ("both", "each")}
        print(f"  a second: {rates['both']:.0f} by IN, {rates['each']:.0f} by two UPDATEs "
              f"({rates['both'] / rates['each']:.2f})")


@row
def unread(hotrow):
    "30 clients that ask for 150 MB each and do not read: memory, and others meanwhile"
    with Server(hotrow) as server:
        counters(server)
        before = server.settled(1)
        crowd = [server.connect() for _ in range(30)]
        most = 0
        with Neighbour(server) as neighbour:
            for each in crowd:
                each.send("SELECT repeat('x', 1000) FROM generate_series(1, 150000)")
            ends = time.monotonic() + 10
            while time.monotonic() < ends:
                most = max(most, server.resident())
                time.sleep(0.05)
        print(f"  resident: {before:.0f} MiB before, at most {most:.0f}; {neighbour}")
        for each in crowd:
            each.socket.close()
        print(f"  when they have gone: {server.settled(5):.0f} MiB; "
              f"{server.connect().value('SELECT count(*) FROM counter')} rows are there")


@row
def definition_behind_a_slow_statement(hotrow):
    "a definition waits for a statement of 3 s: others meanwhile, and the definition's own time-out"
    with Server(hotrow, "--step-budget", "1000000000") as server:
        control, slow, definer = counters(server), server.connect(), server.connect()
        much, _ = spinning(control, 3)
        slow.send(f"SELECT spin({much})")
        definer.run("SET statement_timeout = '1s'")
        with Neighbour(server) as neighbour:
            began = time.monotonic()
            try:
                definer.run("CREATE INDEX counter_n ON counter (n)")
                outcome = "done"
            except Refused as error:
                outcome = str(error)[:5]
            waited = time.monotonic() - began
            slow.answer()
            took = time.monotonic() - began
        print(f"  the definition: {outcome} after {waited * 1000:.0f} ms; the statement took {took:.1f} s; {neighbour}")


@row
def guesses(hotrow):
    "400 wrong passwords of one user: how many are tried, how long it takes, and whether its owner gets in elsewhere"
    with tempfile.TemporaryDirectory() as directory:
        with Server(hotrow, directory=os.path.join(directory, "data")) as server:
            control = server.connect()
            control.run("CREATE USER ann PASSWORD 'a long one'")
            began, answers = time.monotonic(), {}
            for _ in range(400):
                try:
                    wrong(server, "ann")
                except Refused as error:
                    code = str(error)[:5]
                    answers[code] = answers.get(code, 0) + 1
            print(f"  after {time.monotonic() - began:.1f} s: {answers}")


@row
def second_server(hotrow):
    "hotrow.lock removed under a running server, then a second server on its directory"
    with tempfile.TemporaryDirectory() as directory:
        data = os.path.join(directory, "data")
        with Server(hotrow, directory=data) as server:
            counters(server)
            for name in os.listdir(data):
                if name.endswith(".lock"):
                    os.unlink(os.path.join(data, name))
            second = subprocess.run([hotrow, "serve", "--data", data, "--listen", "127.0.0.1:0"],
                                    capture_output=True, text=True, timeout=30)
            print(f"  the second ends with {second.returncode}: {second.stderr.strip().splitlines()[-1]}")
            if second.returncode == 0:
                raise SystemExit("it was to be refused")


@row
def log_removed(hotrow):
    "the log's file deleted, or cut to nothing, under a running server: calls acknowledged afterwards"
    for what in ("deleted", "cut"):
        with tempfile.TemporaryDirectory() as directory:
            data = os.path.join(directory, "data")
            with Server(hotrow, directory=data) as server:
                control = counters(server)
                for name in os.listdir(os.path.join(data, "log")):
                    path = os.path.join(data, "log", name)
                    os.unlink(path) if what == "deleted" else os.truncate(path, 0)
                acknowledged, began = 0, time.monotonic()
                try:
                    while time.monotonic() < began + 5:
                        control.run("CALL bump(1)")
                        acknowledged += 1
                    ended = "nothing was told"
                except (Refused, OSError) as error:
                    ended = str(error)
                took = time.monotonic() - began
                if ended == "nothing was told":
                    raise SystemExit(f"{what}: {acknowledged} calls were acknowledged, and nothing was told")
                print(f"  {what}: {acknowledged} calls acknowledged in {took * 1000:.0f} ms, then: {ended}")


@row
def few_descriptors(hotrow):
    "160 descriptors and 100 half-open sockets, while the log changes its files: writes meanwhile"
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "limited")
        with open(program, "w") as script:
            script.write(f'#!/bin/sh\nulimit -n 160\nexec "{os.path.realpath(hotrow)}" "$@"\n')
        os.chmod(program, 0o755)
        with Server(program, "--checkpoint-log-bytes", "16MiB", directory=os.path.join(directory, "data")) as server:
            control = server.connect()
            control.run("CREATE TABLE wide (id bigint PRIMARY KEY, filler text)")
            sockets = []
            for _ in range(100):
                try:
                    sockets.append(socket.create_connection(("127.0.0.1", server.port), timeout=1))
                    sockets[-1].sendall(b"\0\0\0\x40\0\3")
                except OSError:
                    break
            done = 0
            for number in range(100):
                control.run(f"INSERT INTO wide SELECT i, repeat('x', 1000) FROM generate_series({number * 1000}, {number * 1000 + 999}) i")
                done += 1000
            checkpoints = control.value("SELECT count(*) FROM wide")
            print(f"  {len(sockets)} half-open; {done} rows of 1 kB written, {checkpoints} are there; "
                  f"a checkpoint: {control.run('CHECKPOINT')[5:15]}")


def wrong(server, user):
    """SCRAM with a proof that is none."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    names = f"user\0{user}\0database\0app\0\0".encode()
    connection.sendall(struct.pack("!ii", len(names) + 8, 196608) + names)
    first = connection.recv(4096)
    if first[:1] == b"E":
        raise Refused(told(first))
    plain = b"n,,n=,r=abcdefghijklmnop"
    connection.sendall(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(plain)) + plain))
    come = connection.recv(4096)
    if come[:1] == b"E":
        raise Refused(told(come))
    nonce = re.search(rb"r=([^,]+)", come)[1]
    connection.sendall(message(b"p", b"c=biws,r=" + nonce + b",p=" + b"A" * 43 + b"="))
    come = connection.recv(4096)
    connection.close()
    raise Refused(told(come) or "gone")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hotrow", nargs="?")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list or not options.hotrow:
        for name, function in ROWS.items():
            print(f"{name}: {function.__doc__}")
        return
    for name in options.rows or ROWS:
        print(f"{name}: {ROWS[name].__doc__}", flush=True)
        ROWS[name](options.hotrow)


if __name__ == "__main__":
    main()
