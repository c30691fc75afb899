"""Calls a second of connections that have several calls in flight, at the server that PGHOST and PGPORT name.

    python3 tests/clients/pipelines.py [--seconds 3] [CONNECTIONSxIN_FLIGHT ...]      (1x1 1x40 16x1 16x40)

Each call is a Bind, an Execute and a Sync of a prepared statement, whose answer need not have come for
the next one to be sent. Needs nothing but Python: the bytes of a call are made once, and answers are
counted by their ReadyForQuery. Prints calls a second, and how many entries shared a sync of the log.
"""

import argparse
import struct
import time
from multiprocessing import Process, Queue

from wire import Connection, message

READY = b"Z\0\0\0\5I"
SCHEMA = """
CREATE TABLE pipelined (id bigint PRIMARY KEY, n bigint NOT NULL);
CREATE PROCEDURE pipelined_bump(which bigint) LANGUAGE plpgsql AS $$
BEGIN UPDATE pipelined SET n = n + 1 WHERE id = which; END $$;
"""


def call(seconds, in_flight, start, queue, which):
    connection = Connection()
    connection.prepare("CALL pipelined_bump($1)")
    value = str(which).encode()
    bind = b"\0s\0" + struct.pack("!hhi", 0, 1, len(value)) + value + struct.pack("!h", 0)
    one = message(b"B", bind) + message(b"E", b"\0" + struct.pack("!i", 0)) + message(b"S")
    time.sleep(max(0, start - time.time()))
    end, done, rest = time.time() + seconds, 0, b""
    connection.socket.sendall(one * in_flight)
    while True:
        come = rest + connection.socket.recv(1 << 16)
        ready = come.count(READY)
        # A ReadyForQuery may come in two pieces.
        rest = come[max(come.rfind(READY) + len(READY), len(come) - len(READY) + 1):] if ready else come[-5:]
        if b"SERROR" in come:
            raise RuntimeError(come)
        done += ready
        if time.time() >= end:
            break
        if ready:
            connection.socket.sendall(one * ready)
    queue.put(done)


def log_figures(control):
    return [int(control.value(f"SELECT {column} FROM hotrow.engine_status")) for column in ("log_entries", "log_syncs")]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("runs", nargs="*", default=["1x1", "1x40", "16x1", "16x40"])
    given = arguments.parse_args()
    control = Connection()
    control.run("DROP TABLE IF EXISTS pipelined CASCADE; DROP PROCEDURE IF EXISTS pipelined_bump")
    control.run(SCHEMA)
    control.run("INSERT INTO pipelined SELECT g, 0 FROM generate_series(1, 64) AS g")
    for run in given.runs:
        connections, in_flight = map(int, run.split("x"))
        queue, start = Queue(), time.time() + 0.5
        each = [(given.seconds, in_flight, start, queue, 1 + n) for n in range(connections)]
        processes = [Process(target=call, args=one) for one in each]
        before = log_figures(control)
        for process in processes:
            process.start()
        calls = sum(queue.get() for _ in processes)
        for process in processes:
            process.join()
        after = log_figures(control)
        entries, syncs = after[0] - before[0], after[1] - before[1]
        shared = f"{entries / syncs:8.1f} entries a sync" if syncs else "  no log"
        print(f"{connections:3} connections x {in_flight:3} in flight: {calls / given.seconds:9.0f} calls/s {shared}", flush=True)
    control.run("DROP PROCEDURE pipelined_bump; DROP TABLE pipelined")


main()
