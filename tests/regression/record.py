#!/usr/bin/env python3
"""Answers of PostgreSQL 15 to the statements of the regression suite: AREA.out beside each AREA.sql.

    tests/regression/record.py HOST PORT USER [AREA ...]            writes AREA.out of all areas, or of some
    tests/regression/record.py --compare target/debug/hotrow [AREA ...]
                                                            shows what servers of that program answer otherwise

The server is PostgreSQL 15; each area has a database of its own there, of the collation C, which is made and dropped
here. With --compare each area has a server of its own, in memory. The formats of both files are told in tests/src/regression.rs, which reads them.
"""

import socket
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "clients"))
from wire import Server, message, query  # noqa: E402

SETTINGS = ["SET TimeZone = 'UTC'", "SET DateStyle = 'ISO, MDY'", "SET statement_timeout = '5s'"]


def statements(text):
    """As `statements` of tests/src/regression.rs."""
    found, current = [], None
    for line in text.splitlines():
        if current is None and (not line.strip() or line.startswith("--")):
            continue
        current = line if current is None else current + "\n" + line
        if line.endswith(";") and current.count("$$") % 2 == 0:
            found.append(current)
            current = None
    assert current is None, f"a statement has no end: {current}"
    return found


def keys(texts):
    """As `keys` of tests/src/regression.rs."""
    seen, found = {}, []
    for text in texts:
        key = 0x811C9DC5
        for byte in text.encode():
            key = (key ^ byte) * 0x01000193 & 0xFFFFFFFF
        seen[key] = seen.get(key, 0) + 1
        found.append(f"{key:08x}" if seen[key] == 1 else f"{key:08x}.{seen[key]}")
    return found


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


class Gone(Exception):
    """The server has closed the connection."""


class Session:
    def __init__(self, host, port, user, database):
        if host.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(f"{host}/.s.PGSQL.{port}")
        else:
            self.socket = socket.create_connection((host, port))
        self.socket.settimeout(60)
        names = f"user\0{user}\0database\0{database}\0client_encoding\0UTF8\0\0".encode()
        self.socket.sendall(struct.pack("!ii", len(names) + 8, 196608) + names)
        self.rest = b""
        self.read()

    def read(self):
        """The messages up to ReadyForQuery."""
        come = []
        while True:
            while len(self.rest) >= 5:
                length = struct.unpack_from("!i", self.rest, 1)[0]
                if len(self.rest) < 1 + length:
                    break
                kind, body = self.rest[:1], self.rest[5:1 + length]
                self.rest = self.rest[1 + length:]
                come.append((kind, body))
                if kind == b"Z":
                    return come
                if kind == b"G":  # COPY FROM STDIN: nothing comes
                    self.socket.sendall(message(b"c"))
            more = self.socket.recv(1 << 16)
            if not more:
                raise Gone(come)
            self.rest += more

    def answer(self, statement):
        """The lines that AREA.out has of a statement."""
        self.socket.sendall(query(statement))
        try:
            come = self.read()
        except (OSError, Gone) as gone:
            return [f"! gone {gone}"]
        tag, columns, rows = "", [], []
        for kind, body in come:
            if kind == b"E":
                fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
                return [f"! {fields[b'C']} {escaped(fields[b'M'])}"]
            if kind == b"T":
                columns, rows = [f": {names(body)}"], []
            if kind == b"D":
                rows.append(row(body))
            if kind == b"C":
                tag = body[:-1].decode()
        if "order by" not in statement.lower():
            rows.sort(key=str.encode)
        return [f"+ {tag}"] + columns + [f"= {row}" for row in rows]


def names(body):
    """The columns of a RowDescription."""
    found, at = [], 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        end = body.index(b"\0", at)
        found.append(escaped(body[at:end].decode()))
        at = end + 19
    return "|".join(found)


def row(body):
    cells, at = [], 2
    for _ in range(struct.unpack_from("!h", body)[0]):
        length = struct.unpack_from("!i", body, at)[0]
        at += 4
        if length < 0:
            cells.append("\\N")
        else:
            cells.append(escaped(body[at:at + length].decode()))
            at += length
    return "|".join(cells)


def areas(names):
    return [HERE / f"{name}.sql" for name in names] or sorted(HERE.glob("*.sql"))


def record(host, port, user, names):
    for path in areas(names):
        own = Session(host, port, user, "postgres")
        own.answer(f'DROP DATABASE IF EXISTS "regression_{path.stem}" WITH (FORCE)')
        made = own.answer(f"CREATE DATABASE \"regression_{path.stem}\" TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'")
        assert made == ["+ CREATE DATABASE"], made
        session = Session(host, port, user, f"regression_{path.stem}")
        for setting in SETTINGS:
            session.answer(setting)
        texts, lines = statements(path.read_text()), []
        for key, text in zip(keys(texts), texts):
            lines += [f"@ {key}", *session.answer(text)]
            assert not lines[-1].startswith("! gone"), text
        path.with_suffix(".out").write_text("".join(line + "\n" for line in lines))
        own.answer(f'DROP DATABASE "regression_{path.stem}" WITH (FORCE)')
        print(f"{path.stem}: {len(texts)} statements")


def recorded(path):
    """The answers of AREA.out, each its lines."""
    found = []
    for line in path.read_text().split("\n")[:-1]:
        if line.startswith("@ "):
            found.append([])
        else:
            found[-1].append(line)
    return found


def compare(program, names):
    for path in areas(names):
        with Server(program) as server:
            compare_area(path, server.port)


def compare_area(path, port):
    session = Session("127.0.0.1", port, "tester", "app")
    session.answer(SETTINGS[-1])
    texts, alike, words = statements(path.read_text()), 0, 0
    for text, expected in zip(texts, recorded(path.with_suffix(".out"))):
        found = session.answer(text)
        if found[0].startswith("! gone"):
            session = Session("127.0.0.1", port, "tester", "app")
        if found == expected or found[0][:7] == expected[0][:7] and found[0].startswith("! "):
            alike, words = alike + 1, words + (found != expected)
            continue
        answers = " / ".join(expected[:12]), " / ".join(found[:12])
        print(f"{path.stem}: {text}\n    PostgreSQL {answers[0]}\n    Hotrow     {answers[1]}")
    print(f"## {path.stem}: {alike} of {len(texts)} alike, {words} with other words", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"] and sys.argv[2:]:
        compare(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) >= 4:
        record(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])
    else:
        sys.exit(__doc__)
