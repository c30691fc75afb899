#!/usr/bin/env python3
"""PostgreSQL's own regression files, answered by PostgreSQL 15 and by a server of Hotrow, one beside the other.

    tests/regression/postgresql.py SOURCE HOST PORT USER target/debug/hotrow [FILE ...]

SOURCE is the source tree of PostgreSQL 15, which is not part of this repository; the server at HOST and PORT is PostgreSQL 15, where a
database `own_files` is made anew. All files of the schedule and of PL/pgSQL are run in their order, in one database, each in a session of
its own; or test_setup and those that are named. Statements that PostgreSQL does not parse do not count. An answer is alike if tag, columns
and rows are, or the SQLSTATE. Named files show what differs; all together give a count for each file, and what was said most often.

Not run: files of tablespaces, collations of other providers, replication and large objects, and statements that give a role a password,
since everybody has to prove one from then on.
"""

import collections
import os
import re
import struct
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients")]
from record import SETTINGS, Gone, Session  # noqa: E402
from wire import Server, message  # noqa: E402

NOT_RUN = {
    "tablespace", "collate.icu.utf8", "collate.linux.utf8", "publication", "subscription", "largeobject", "infinite_recurse",
    "vacuum_parallel", "euc_kr", "database",
}
PASSWORD = re.compile(r"^(create|alter) (role|user|group).*\bpassword\b", re.I | re.S)
# What stands in a statement as one piece, whatever is in it.
PIECES = re.compile(r"""(?<![\w])[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$.*?\$\1\$|--[^\n]*|\\[^\n]*|[\s\S]""", re.S)


def statements(text, regress):
    """Pairs of a statement and what COPY reads: commands of psql are left out, its variables are filled in."""
    variables = {"abs_srcdir": str(regress), "libdir": "/nowhere", "dlsuffix": ".so", "regresslib": "/nowhere/regress.so"}
    found, current, depth, at = [], "", 0, 0

    def fill(statement):
        return re.sub(r":'(\w+)'", lambda name: f"'{variables.get(name[1], name[1])}'", statement).strip()

    def end():
        nonlocal current, depth
        statement, current, depth = fill(current), "", 0
        if statement.strip(";"):
            found.append([statement, None])

    while at < len(text):
        if text.startswith("/*", at):
            at, current = comment_end(text, at), current + " "
            continue
        piece = PIECES.match(text, at)[0]
        at += len(piece)
        if piece.startswith("--"):
            continue
        if piece.startswith("\\;"):
            current, at = current + ";", at - len(piece) + 2
            continue
        if piece.startswith("\\"):
            named = re.match(r"\\set\s+(\w+)\s+(.*)", piece)
            if current.strip():
                end()
            elif named:
                parts = named[2].split()
                variables[named[1]] = "".join(variables.get(p[1:], p) if p[0] == ":" else p.strip("'") for p in parts)
            continue
        current += piece
        depth += (piece in "([") - (piece in ")]") if len(piece) == 1 else 0
        is_atomic = re.search(r"\bbegin\s+atomic\b", current, re.I) and not re.search(r"\bend\s*;$", current, re.I)
        if piece == ";" and depth <= 0 and not is_atomic:
            end()
            at = copied(found, text, at)
    end()
    return [pair for pair in found if not PASSWORD.match(pair[0])]


def comment_end(text, at):
    depth, at = 1, at + 2
    while depth and at < len(text):
        two = text[at:at + 2]
        depth += (two == "/*") - (two == "*/")
        at += 2 if two in ("/*", "*/") else 1
    return at


def copied(found, text, at):
    """Gives the last statement what it copies: the lines behind it, or a file of the server. Where the text goes on."""
    statement = found[-1][0] if found else ""
    if re.match(r"copy\b.*\bfrom\s+stdin\b", statement, re.I | re.S) and found[-1][1] is None:
        begin = text.index("\n", at) + 1
        last = re.compile(r"^\\\.$", re.M).search(text, begin)
        found[-1][1] = text[begin:last.start() if last else len(text)]
        return last.end() if last else len(text)
    from_file = re.match(r"(copy\b.*\bfrom\s+)'([^']+)'(.*)$", statement, re.I | re.S)
    if from_file and os.path.exists(from_file[2]):
        found[-1] = [f"{from_file[1]}STDIN{from_file[3]}", Path(from_file[2]).read_text(errors="replace")]
    return at


class Copying(Session):
    """A session that gives COPY FROM STDIN its lines."""

    data = None

    def read(self):
        come = []
        while True:
            while len(self.rest) >= 5 and len(self.rest) > struct.unpack_from("!i", self.rest, 1)[0]:
                length = struct.unpack_from("!i", self.rest, 1)[0]
                kind, body, self.rest = self.rest[:1], self.rest[5:1 + length], self.rest[1 + length:]
                come.append((kind, body))
                if kind == b"Z":
                    return come
                if kind == b"G":
                    lines = message(b"d", self.data.encode()) if self.data else b""
                    self.socket.sendall(lines + message(b"c"))
            more = self.socket.recv(1 << 16)
            if not more:
                raise Gone(come)
            self.rest += more

    def ask(self, statement, data=None):
        self.data = data
        try:
            return self.answer(statement)
        except UnicodeDecodeError as error:
            return [f"! bytes {error}"]


def files(source):
    regress = source / "src/test/regress"
    scheduled = [line[5:].split() for line in (regress / "parallel_schedule").read_text().splitlines() if line.startswith("test:")]
    all_files = [regress / "sql" / f"{name}.sql" for names in scheduled for name in names if name not in NOT_RUN]
    return [path for path in all_files if path.exists()] + sorted((source / "src/pl/plpgsql/src/sql").glob("*.sql"))


def answers(connect, paths, regress):
    found = {}
    for path in paths:
        session, found[path.stem] = None, []
        for statement, data in statements(path.read_text(errors="replace"), regress):
            if session is None:
                session = connect()
                for setting in SETTINGS:
                    session.ask(setting)
            found[path.stem].append((statement, session.ask(statement, data)))
            if found[path.stem][-1][1][0].startswith("! gone"):
                session = None
    return found


def is_alike(expected, given):
    return expected == given or given[0].startswith("! ") and given[0][:7] == expected[0][:7]


def report(own, ours, shown):
    said, total, alike_in_all = collections.Counter(), 0, 0
    for name, given in ours.items():
        pairs = [(text, one, other) for (text, one), (_, other) in zip(own[name], given) if not one[0].startswith("! 42601")]
        differ = [pair for pair in pairs if not is_alike(*pair[1:])]
        total, alike_in_all = total + len(pairs), alike_in_all + len(pairs) - len(differ)
        for text, one, other in differ:
            said[re.sub(r"\"[^\"]*\"|\d{3,}", "_", other[0][8:]) if other[0].startswith("!") else "another answer"] += 1
            if name in shown:
                print(f"{text}\n    PostgreSQL {' / '.join(one[:12])}\n    Hotrow     {' / '.join(other[:12])}")
        print(f"## {name}: {len(pairs) - len(differ)} of {len(pairs)} alike")
    for what, count in said.most_common(40):
        print(f"{count:6} {what[:120]}")
    print(f"## all: {alike_in_all} of {total} alike, {100 * alike_in_all / max(total, 1):.1f} %")


def main(source, host, port, user, program, names):
    source = Path(source)
    regress = source / "src/test/regress"
    paths = [path for path in files(source) if not names or path.stem in ("test_setup", *names)]
    own = Copying(host, int(port), user, "postgres")
    own.ask("DROP DATABASE IF EXISTS own_files WITH (FORCE)")
    made = own.ask("CREATE DATABASE own_files TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    assert made == ["+ CREATE DATABASE"], made
    theirs = answers(lambda: Copying(host, int(port), user, "own_files"), paths, regress)
    with Server(program) as server:
        ours = answers(lambda: Copying("127.0.0.1", server.port, "tester", "app"), paths, regress)
    report(theirs, ours, names)


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    main(*sys.argv[1:6], sys.argv[6:])
