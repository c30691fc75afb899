"""The protocol's bytes, for programs that need more connections than a driver likes, and the server they talk to."""

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

READY = b"Z\0\0\0\5"


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def query(text):
    return message(b"Q", text.encode() + b"\0")


class Refused(Exception):
    """The server's error; its SQLSTATE and text."""


class Connection:
    """A connection; answers are bytes. PGHOST and PGPORT say where, unless `port` does."""

    def __init__(self, port=None, user="tester", database="app", timeout=60):
        at = os.environ.get("PGHOST", "127.0.0.1"), port or int(os.environ.get("PGPORT", "5432"))
        self.socket = socket.create_connection(at, timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        names = f"user\0{user}\0database\0{database}\0\0".encode()
        self.socket.sendall(struct.pack("!ii", len(names) + 8, 196608) + names)
        self.answer()

    def answer(self):
        """Everything up to a ReadyForQuery; an error is raised."""
        come = b""
        while not (len(come) >= 6 and come[-6:-1] == READY):
            more = self.socket.recv(1 << 16)
            if not more:
                raise Refused(f"the server has gone: {told(come) or come[-80:]}")
            come += more
        if error := told(come):
            raise Refused(error)
        return come

    def send(self, text):
        self.socket.sendall(query(text))

    def run(self, text):
        self.send(text)
        return self.answer()

    def value(self, text):
        """The first row's first value, as text."""
        for kind, body in messages(self.run(text)):
            if kind == b"D":
                length = struct.unpack_from("!i", body, 2)[0]
                return None if length < 0 else body[6:6 + length].decode()
        return None

    def prepare(self, text):
        """A statement named s."""
        self.socket.sendall(message(b"P", b"s\0" + text.encode() + b"\0\0\0") + message(b"S"))
        self.answer()

    def close(self):
        try:
            self.socket.sendall(message(b"X"))
        except OSError:
            pass
        self.socket.close()


def messages(come):
    at = 0
    while at + 5 <= len(come):
        length = struct.unpack_from("!i", come, at + 1)[0]
        yield come[at:at + 1], come[at + 5:at + 1 + length]
        at += 1 + length


def told(come):
    """What the first error among messages says, if one is there: its SQLSTATE and text."""
    for kind, body in messages(come):
        if kind == b"E":
            fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
            return f"{fields.get(b'C')} {fields.get(b'M')}"
    return None


class Server:
    """`hotrow serve` on a free port; in memory, unless a directory is given. Ends with its `with`."""

    name = "hotrow"
    database = "app"

    def __init__(self, program, *options, directory=None):
        where = ["--data", directory] if directory else ["--memory"]
        command = [program, "serve", *where, "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(r"listening on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                self.conninfo = f"host=127.0.0.1 port={self.port} user=tester dbname=app"
                # What it logs from now on must not fill the pipe, or it would wait for a reader.
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return
        sys.exit("the server does not listen:\n" + "".join(said))

    def connect(self, **options):
        return Connection(self.port, **options)

    def resident(self):
        """MiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1024

    def settled(self, seconds=3):
        """MiB resident, after some seconds in which memory may be given back."""
        time.sleep(seconds)
        return self.resident()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def run_pgbench(server, *options):
    """What pgbench says when it has run; ends the program if it fails."""
    where = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "tester"]
    ran = subprocess.run(["pgbench", *where, *options, server.database], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{server.name}: pgbench: {ran.stdout}{ran.stderr}")
    return ran.stdout


def pgbench_rate(server, *options, clients, seconds, mode="prepared"):
    """Transactions a second. Ends the program if one of them fails."""
    threads = str(min(clients, 2))
    said = run_pgbench(server, "-n", "-M", mode, "-c", str(clients), "-j", threads, "-T", str(seconds), *options)
    if not (found := re.search(r"tps = ([\d.]+)", said)) or "failed transactions: 0 " not in said:
        sys.exit(f"{server.name}: pgbench: {said}")
    return float(found[1])


def pgbench(server, script, clients, seconds, mode="prepared"):
    """As pgbench_rate, of a script."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        return pgbench_rate(server, "-f", file.name, clients=clients, seconds=seconds, mode=mode)
