"""Checks of psycopg 3 against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too."""

import datetime as dt
import decimal
import ipaddress
import uuid
from dataclasses import dataclass

import psycopg
from psycopg import errors, rows, sql
from psycopg.pq import TransactionStatus
from psycopg.types import TypeInfo
from psycopg.types.composite import CompositeInfo, register_composite

from checks import check, equal, main, same

UTC = dt.timezone.utc
D = decimal.Decimal


def connect(**options):
    return psycopg.connect(**options)


def fresh(*definitions, drop=("t",), **options):
    """A connection in autocommit mode, and new tables."""
    conn = connect(autocommit=True, **options)
    for table in drop:
        conn.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(table)))
    for definition in definitions:
        conn.execute(definition)
    return conn


def raises(kind, run, *arguments):
    try:
        run(*arguments)
    except kind as error:
        equal(type(error), kind, "class of the error")
        return error
    raise AssertionError(f"{kind.__name__} was expected, and nothing came")


TYPES = """CREATE TABLE t (id int PRIMARY KEY, i2 int2, i4 int4, i8 int8, n numeric(20,4), te text,
    vc varchar(30), ch char(3), b bool, ts timestamp, tz timestamptz, da date, by bytea, f8 float8, f4 float4, u uuid)"""
VALUES = (
    1, -32768, 2147483647, -9223372036854775808, D("1234567890.1250"), "naïve ☃ 'quoted' \\ \n", "varying",
    "abc", True, dt.datetime(2024, 2, 29, 12, 30, 15, 123456),
    dt.datetime(1999, 12, 31, 23, 59, 59, 5, tzinfo=UTC), dt.date(1950, 1, 2), b"\x00\xff\\binary'", 1.5e-300, 0.25,
    uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
)


@check
def connection(_):
    "connect, ConnectionInfo, encoding, status, close"
    with connect(application_name="checks") as conn:
        info = conn.info
        equal(info.host, "127.0.0.1")
        equal(info.dbname, "app")
        equal(info.user, "tester")
        equal(info.encoding, "utf-8")
        equal(str(info.timezone), "UTC")
        equal(info.transaction_status, TransactionStatus.IDLE)
        assert info.server_version >= 150000, info.server_version
        equal(info.parameter_status("server_encoding"), "UTF8")
        equal(info.parameter_status("client_encoding"), "UTF8")
        equal(info.parameter_status("integer_datetimes"), "on")
        equal(info.parameter_status("standard_conforming_strings"), "on")
        equal(info.parameter_status("application_name"), "checks")
        equal(info.backend_pid > 0, True)
        equal(conn.execute("SELECT current_user, current_database()").fetchone(), ("tester", "app"))
        equal(info.transaction_status, TransactionStatus.INTRANS)
        raises(errors.SyntaxError, conn.execute, "SELEC 1")
        equal(info.transaction_status, TransactionStatus.INERROR)
        raises(errors.InFailedSqlTransaction, conn.execute, "SELECT 1")
        conn.rollback()
        equal(conn.execute("SHOW application_name").fetchone(), ("checks",))
        equal(conn.execute("SELECT current_setting('server_version_num')::int >= 150000").fetchone(), (True,))
        equal(conn.execute("SELECT version()").fetchone()[0].startswith("PostgreSQL "), True)
    equal(conn.closed, True)
    conn = connect(options="-c statement_timeout=12345 -c application_name=o")
    equal(conn.execute("SHOW statement_timeout").fetchone(), ("12345ms",))
    equal(conn.info.parameter_status("application_name"), "o")
    conn.close()


@check
def encoding(_):
    "client_encoding: SET to utf-8 spellings, set_config"
    with connect(client_encoding="utf8") as conn:
        equal(conn.execute("SELECT 'ß☃'").fetchone(), ("ß☃",))
        conn.execute("SELECT set_config('client_encoding', %s, false)", ["UTF8"])
        equal(conn.info.encoding, "utf-8")
        conn.execute("SELECT set_config('application_name', 'x', false)")
        equal(conn.info.parameter_status("application_name"), "x")
        equal(conn.execute("SELECT length('ß☃'), octet_length('ß☃')").fetchone(), (2, 5))


def types_check(binary):
    conn = fresh(TYPES)
    insert = "INSERT INTO t VALUES (" + ", ".join(["%s"] * 16) + ")"
    with conn.cursor(binary=binary) as cur:
        for ident, prepare in ((1, False), (2, True)):
            cur.execute(insert, (ident, *VALUES[1:]), prepare=prepare)
            equal(cur.rowcount, 1)
            equal(cur.statusmessage, "INSERT 0 1")
        cur.execute(insert, (3, *[None] * 15))
        cur.execute(insert.replace("%s", "%b"), (4, *VALUES[1:]))
        cur.execute(insert.replace("%s", "%t"), (5, *VALUES[1:]))
        for ident in (1, 2, 4, 5):
            cur.execute("SELECT * FROM t WHERE id = %s", [ident])
            same(cur.fetchone(), (ident, *VALUES[1:]), f"row {ident}")
        equal(
            [(c.name, c.type_code) for c in cur.description],
            [("id", 23), ("i2", 21), ("i4", 23), ("i8", 20), ("n", 1700), ("te", 25), ("vc", 1043), ("ch", 1042),
             ("b", 16), ("ts", 1114), ("tz", 1184), ("da", 1082), ("by", 17), ("f8", 701), ("f4", 700), ("u", 2950)],
        )
        column = {c.name: c for c in cur.description}
        equal((column["n"].precision, column["n"].scale), (20, 4), "numeric's precision")
        equal(column["vc"].display_size, 30, "display size")
        equal(column["i8"].internal_size, 8, "internal size")
        cur.execute("SELECT * FROM t WHERE id = 3")
        equal(cur.fetchone(), (3, *[None] * 15))
        for number, name in enumerate(("i2", "i4", "i8", "n", "te", "vc", "ch", "b", "ts", "tz", "da", "by", "f8", "f4", "u"), 1):
            found = cur.execute(f"SELECT id FROM t WHERE {name} = %s ORDER BY id", [VALUES[number]]).fetchall()
            equal(found, [(1,), (2,), (4,), (5,)], f"found by {name}")
    conn.close()


@check
def types_text(_):
    "parameters of all types, results as text"
    types_check(False)


@check
def types_binary(_):
    "parameters of all types, binary results"
    types_check(True)


@check
def edges(_):
    "values at the edges of their types, text and binary"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, f8 float8, n numeric(30,6), da date, ts timestamp, te text, by bytea)")
    rows_ = [
        (1, float("inf"), D("0"), dt.date(1, 1, 1), dt.datetime(1, 1, 1), "", b""),
        (2, float("-inf"), D("-999999999999999999999999.999999"), dt.date(9999, 12, 31),
         dt.datetime(9999, 12, 31, 23, 59, 59, 999999), " ", bytes(range(256))),
        (3, 1e308, D("0.000001"), dt.date(2000, 1, 1), dt.datetime(2000, 1, 1), "x" * 20000, b"y" * 20000),
        (4, -0.0, D("10000.000000"), dt.date(1999, 12, 31), dt.datetime(1999, 12, 31, 23, 59, 59, 1), "\t\n\r", b"\n"),
    ]
    for mark in ("%t", "%b"):
        for row in rows_:
            conn.execute(f"INSERT INTO t VALUES ({', '.join([mark] * 7)})", row)
        for binary in (False, True):
            have = conn.cursor(binary=binary).execute("SELECT * FROM t ORDER BY id").fetchall()
            for row, want in zip(have, rows_):
                same(row, want, f"written by {mark}, read {'binary' if binary else 'as text'}")
        conn.execute("INSERT INTO t (id, f8) VALUES (5, %s)", [float("nan")])
        (value,) = conn.execute("SELECT f8 FROM t WHERE id = 5").fetchone()
        assert value != value
        equal(conn.execute("SELECT id FROM t WHERE f8 = 'NaN'").fetchall(), [(5,)])
        conn.execute("DELETE FROM t")
    conn.close()


@check
def untyped(_):
    "parameters where no column gives them a type"
    with connect() as conn:
        same(conn.execute("SELECT %s, %s, %s, %s", (1, "x", True, 1.5)).fetchone(), (1, "x", True, 1.5))
        same(conn.execute("SELECT %s, %s", (D("1.50"), 10**12)).fetchone(), (D("1.50"), 10**12))
        same(conn.execute("SELECT %s, %s", (dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, tzinfo=UTC))).fetchone(),
             (dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, tzinfo=UTC)))
        same(conn.execute("SELECT %s::int + 1, %s::text || 'y', %s + 1", (1, "x", 5)).fetchone(), (2, "xy", 6))
        same(conn.execute("SELECT %s", (None,)).fetchone(), (None,))
        same(conn.execute("SELECT coalesce(%s, %s)", (None, "b")).fetchone(), ("b",))
        same(conn.execute("SELECT %s", (b"\x00\x01",)).fetchone(), (b"\x00\x01",))
        same(conn.execute("SELECT %s", (uuid.UUID(int=5),)).fetchone(), (uuid.UUID(int=5),))
        same(conn.execute("SELECT 1 WHERE 'a' = %s", ("a",)).fetchone(), (1,))
        same(conn.execute("SELECT g FROM generate_series(1, %s) AS g", (3,)).fetchall(), [(1,), (2,), (3,)])
        same(conn.execute("SELECT count(*) FROM generate_series(1, 10) g WHERE g > %s LIMIT %s", (4, 1)).fetchone(), (6,))


@check
def intervals(_):
    "timedelta as a parameter beside timestamps"
    with connect() as conn:
        at = dt.datetime(2024, 1, 2, 3, tzinfo=UTC)
        same(conn.execute("SELECT %s + %s", (at, dt.timedelta(hours=5))).fetchone(), (at + dt.timedelta(hours=5),))
        same(conn.execute("SELECT now() - %s < now()", (dt.timedelta(days=1),)).fetchone(), (True,))


@check
def arrays(_):
    "lists as parameters: = ANY, <> ALL, unnest, array results"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, name text)")
    conn.execute("INSERT INTO t SELECT g, 'n' || g FROM generate_series(1, 10) g")
    for binary in (False, True):
        cur = conn.cursor(binary=binary)
        get = lambda query, *args: cur.execute(query, args).fetchall()  # noqa: E731
        equal(get("SELECT id FROM t WHERE id = ANY(%s) ORDER BY id", [2, 4, 99]), [(2,), (4,)])
        equal(get("SELECT id FROM t WHERE name = ANY(%s) ORDER BY id", ["n3", "n5"]), [(3,), (5,)])
        equal(get("SELECT id FROM t WHERE id <> ALL(%s) ORDER BY id", [1, 2, 3, 4, 5, 6, 7, 8]), [(9,), (10,)])
        equal(get("SELECT id FROM t WHERE id = ANY(%s)", []), [])
        equal(get("SELECT * FROM unnest(%s::int[], %s::text[]) AS u (a, b)", [1, 2], ["x", None]), [(1, "x"), (2, None)])
        equal(get("SELECT %s::int[]", [1, None, 3]), [([1, None, 3],)])
        equal(get("SELECT %s::text[]", ["a", 'q"\\,{}', None, ""]), [(["a", 'q"\\,{}', None, ""],)])
        equal(get("SELECT array_agg(id ORDER BY id DESC) FROM t WHERE id < %s", 4), [([3, 2, 1],)])
        equal(get("SELECT array_agg(name ORDER BY id) FROM t WHERE id < %s", 3), [(["n1", "n2"],)])
        equal(get("SELECT ARRAY[1.5, 2.25]"), [([D("1.5"), D("2.25")],)])
    conn.execute("INSERT INTO t SELECT * FROM unnest(%s::int[], %s::text[])", ([20, 21], ["a", "b"]))
    equal(conn.execute("SELECT id, name FROM t WHERE id >= 20 ORDER BY id").fetchall(), [(20, "a"), (21, "b")])
    conn.close()


@check
def prepared(_):
    "statements prepared at once, at the fifth use, and dropped again"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n int)", prepare_threshold=0)
    for ident in range(20):
        conn.execute("INSERT INTO t VALUES (%s, %s)", (ident, ident * 2))
    for ident in range(20):
        equal(conn.execute("SELECT n FROM t WHERE id = %s", (ident,)).fetchone(), (ident * 2,))
    equal(conn.execute("SELECT n FROM t WHERE id = %s", (7,), binary=True).fetchone(), (14,))
    equal(conn.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0] >= 2, True)
    conn.prepared_max = 2
    for each in range(6):
        equal(conn.execute(f"SELECT {each} + %s", (1,)).fetchone(), (each + 1,))
    # Of another type the next time: a statement of its own.
    equal(conn.execute("SELECT %s", (1,)).fetchone(), (1,))
    equal(conn.execute("SELECT %s", ("x",)).fetchone(), ("x",))
    conn.execute("DEALLOCATE ALL")
    equal(conn.execute("SELECT count(*) FROM t").fetchone(), (20,))
    conn.close()
    with connect(prepare_threshold=2) as conn:
        for each in range(10):
            equal(conn.execute("SELECT n FROM t WHERE id = %s", (each,)).fetchone(), (each * 2,))


@check
def prepared_and_definitions(_):
    "a prepared statement goes on behind ALTER TABLE, or says that its result has changed"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n int)", prepare_threshold=0)
    conn.execute("INSERT INTO t VALUES (1, 2)")
    equal(conn.execute("SELECT n FROM t WHERE id = %s", (1,)).fetchone(), (2,))
    conn.execute("ALTER TABLE t ADD COLUMN m int DEFAULT 5")
    equal(conn.execute("SELECT n FROM t WHERE id = %s", (1,)).fetchone(), (2,))
    with fresh("CREATE TABLE t (id int PRIMARY KEY, n int)", prepare_threshold=0) as other:
        other.execute("SELECT * FROM t WHERE id = %s", (1,))
        conn.execute("ALTER TABLE t ADD COLUMN m int")
        error = raises(errors.FeatureNotSupported, other.execute, "SELECT * FROM t WHERE id = %s", (1,))
        equal(error.diag.message_primary, "cached plan must not change result type")
    conn.close()


@check
def many(_):
    "executemany, with RETURNING and results by nextset"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n text)")
    with conn.cursor() as cur:
        cur.executemany("INSERT INTO t VALUES (%s, %s)", [(each, f"n{each}") for each in range(100)])
        equal(cur.rowcount, 100)
        cur.executemany("UPDATE t SET n = %s WHERE id = %s RETURNING id, n", [("a", 1), ("b", 2)], returning=True)
        equal(cur.fetchall(), [(1, "a")])
        equal(cur.nextset(), True)
        equal(cur.fetchall(), [(2, "b")])
        equal(cur.nextset(), None)
        error = raises(errors.UniqueViolation, cur.executemany, "INSERT INTO t VALUES (%s, 'x')", [(500,), (501,), (1,)])
        equal(error.diag.constraint_name, "t_pkey")
        # executemany is a pipeline, and a pipeline up to its Sync one transaction: nothing of it remains.
        equal(cur.execute("SELECT count(*) FROM t").fetchone(), (100,))
    conn.close()


@check
def pipeline(_):
    "pipeline mode: results in order, several fetches, sync in between"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n int)")
    with conn.pipeline() as pipe:
        one = conn.execute("INSERT INTO t VALUES (%s, %s) RETURNING id", (1, 10))
        two = conn.execute("SELECT count(*) FROM t")
        conn.execute("INSERT INTO t VALUES (2, 20)")
        equal(one.fetchone(), (1,))
        pipe.sync()
        three = conn.execute("SELECT sum(n) FROM t")
        equal(two.fetchone(), (1,))
        equal(three.fetchone(), (30,))
        cur = conn.cursor()
        cur.executemany("INSERT INTO t VALUES (%s, %s)", [(each, each) for each in range(3, 50)])
    equal(conn.execute("SELECT count(*) FROM t").fetchone(), (49,))
    conn.close()


@check
def pipeline_transaction(_):
    "a pipeline is one transaction up to its Sync: an error undoes what stands before it"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n int)")
    try:
        with conn.pipeline():
            first = conn.execute("INSERT INTO t VALUES (1, 1)")
            bad = conn.execute("INSERT INTO t VALUES (%s, 1)", (1,))
            after = conn.execute("INSERT INTO t VALUES (2, 1)")
        raise AssertionError("no error")
    except errors.UniqueViolation as error:
        equal(error.diag.sqlstate, "23505")
    equal(first.statusmessage, "INSERT 0 1")
    for cursor in (bad, after):
        equal(cursor.statusmessage, None)
    equal(conn.execute("SELECT count(*) FROM t").fetchone(), (0,))
    with conn.pipeline() as pipe:
        conn.execute("INSERT INTO t VALUES (1, 1)")
        pipe.sync()
        conn.execute("INSERT INTO t VALUES (2, 1)")
        try:
            conn.execute("SELECT 1 / %s", (0,)).fetchone()
            raise AssertionError("no error")
        except errors.DivisionByZero:
            pass
        raises(errors.PipelineAborted, lambda: conn.execute("INSERT INTO t VALUES (3, 1)").fetchone())
        pipe.sync()
        conn.execute("INSERT INTO t VALUES (4, 1)")
    equal(conn.execute("SELECT id FROM t ORDER BY id").fetchall(), [(1,), (4,)])
    equal(conn.info.transaction_status, TransactionStatus.IDLE)
    conn.close()


@check
def pipeline_in_transaction(_):
    "a pipeline inside a transaction, BEGIN and COMMIT in the pipeline"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n int)")
    with conn.pipeline():
        with conn.transaction():
            conn.execute("INSERT INTO t VALUES (1, 1)")
            cur = conn.execute("SELECT count(*) FROM t")
        with conn.transaction():
            conn.execute("INSERT INTO t VALUES (2, 1)")
        equal(cur.fetchone(), (1,))
    try:
        with conn.pipeline(), conn.transaction():
            conn.execute("INSERT INTO t VALUES (3, 1)")
            conn.execute("INSERT INTO t VALUES (1, 1)")
        raise AssertionError("no error")
    except errors.UniqueViolation:
        pass
    equal(conn.info.transaction_status, TransactionStatus.IDLE)
    equal(conn.execute("SELECT id FROM t ORDER BY id").fetchall(), [(1,), (2,)])
    conn.close()
    with connect() as conn, conn.pipeline():  # not autocommit: BEGIN goes along
        conn.execute("INSERT INTO t VALUES (3, 1)")
        equal(conn.execute("SELECT count(*) FROM t").fetchone(), (3,))
    with connect() as conn:
        equal(conn.execute("SELECT count(*) FROM t").fetchone(), (3,))


@check
def scripts(_):
    "several statements in one text are one transaction"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY)")
    cur = conn.execute("SELECT 1; SELECT 'two', 2; INSERT INTO t VALUES (1)")
    equal(cur.fetchall(), [(1,)])
    equal(cur.nextset(), True)
    equal(cur.fetchall(), [("two", 2)])
    equal(cur.nextset(), True)
    equal(cur.statusmessage, "INSERT 0 1")
    equal(cur.nextset(), None)
    raises(errors.UniqueViolation, conn.execute, "INSERT INTO t VALUES (2); INSERT INTO t VALUES (1)")
    equal(conn.execute("SELECT id FROM t").fetchall(), [(1,)])
    raises(errors.UniqueViolation, conn.execute,
           "BEGIN; INSERT INTO t VALUES (3); COMMIT; INSERT INTO t VALUES (4); INSERT INTO t VALUES (1)")
    equal(conn.execute("SELECT id FROM t ORDER BY id").fetchall(), [(1,), (3,)])
    equal(conn.info.transaction_status, TransactionStatus.IDLE)
    equal(conn.execute("").statusmessage, None)
    equal(conn.execute("CREATE TABLE IF NOT EXISTS t2 (id int PRIMARY KEY); DROP TABLE t2").statusmessage, "CREATE TABLE")
    conn.close()


@check
def transactions(_):
    "commit, rollback, nested blocks as savepoints, two connections"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY)")
    count = lambda: conn.execute("SELECT count(*) FROM t").fetchone()[0]  # noqa: E731
    with conn.transaction():
        conn.execute("INSERT INTO t VALUES (1)")
        with conn.transaction() as inner:
            conn.execute("INSERT INTO t VALUES (2)")
            raise psycopg.Rollback(inner)
        with conn.transaction("named"):
            conn.execute("INSERT INTO t VALUES (3)")
            try:
                with conn.transaction():
                    conn.execute("INSERT INTO t VALUES (4)")
                    conn.execute("INSERT INTO t VALUES (1)")
            except errors.UniqueViolation:
                pass
    equal(conn.execute("SELECT id FROM t ORDER BY id").fetchall(), [(1,), (3,)])
    with conn.transaction(force_rollback=True):
        conn.execute("DELETE FROM t")
        equal(count(), 0)
    equal(count(), 2)
    try:
        with conn.transaction():
            conn.execute("INSERT INTO t VALUES (5)")
            raise KeyError
    except KeyError:
        pass
    equal(count(), 2)
    conn.close()
    conn = connect()
    conn.execute("INSERT INTO t VALUES (6)")
    with connect() as other:
        equal(other.execute("SELECT count(*) FROM t WHERE id = 1").fetchone(), (1,))
    conn.rollback()
    conn.execute("INSERT INTO t VALUES (7)")
    conn.commit()
    conn.close()
    with connect() as conn:
        conn.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        equal(conn.execute("SHOW transaction_isolation").fetchone(), ("serializable",))
        conn.rollback()
        conn.read_only = True
        raises(errors.ReadOnlySqlTransaction, conn.execute, "DELETE FROM t")
        conn.rollback()
        conn.read_only = None
        conn.deferrable = True
        equal(count(), 3) if not conn.closed and not conn.execute("SELECT 1").fetchone() else None
        equal(conn.execute("SELECT count(*) FROM t").fetchone(), (3,))
        conn.rollback()
        conn.deferrable = None
        conn.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        equal(conn.execute("SELECT count(*) FROM t").fetchone(), (3,))


@check
def definitions_in_transactions(_):
    "CREATE TABLE inside a transaction, committed and rolled back"
    with connect() as conn:
        conn.execute("DROP TABLE IF EXISTS t")
        conn.execute("CREATE TABLE t (id int PRIMARY KEY)")
        conn.execute("INSERT INTO t VALUES (1)")
    with connect() as conn:
        conn.execute("CREATE TABLE rolled_back (id int)")
        conn.rollback()
        raises(errors.UndefinedTable, conn.execute, "SELECT * FROM rolled_back")


@check
def copy_in(_):
    "cur.copy FROM STDIN: rows, text, csv, an error in the middle, nothing at all"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n numeric(10,2), s text, at timestamptz, b bool)")
    cur = conn.cursor()
    at = dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    with cur.copy("COPY t (id, n, s, at, b) FROM STDIN") as copy:
        for each in range(1000):
            copy.write_row((each, D("1.50"), "tab\t, back\\slash, \n" if each % 2 else None, at, each % 3 == 0))
    equal(cur.rowcount, 1000)
    equal(cur.statusmessage, "COPY 1000")
    equal(conn.execute("SELECT * FROM t WHERE id = 3").fetchone(), (3, D("1.50"), "tab\t, back\\slash, \n", at, True))
    with cur.copy("COPY t (id, s) FROM STDIN WITH (FORMAT csv, HEADER true)") as copy:
        copy.write("id,s\n2000,\"a,b\"\n20")
        copy.write("01,\n")
    equal(conn.execute("SELECT id, s FROM t WHERE id >= 2000 ORDER BY id").fetchall(), [(2000, "a,b"), (2001, None)])
    with cur.copy("COPY t (id) FROM STDIN"):
        pass
    equal(cur.rowcount, 0)

    def bad_row():
        with cur.copy("COPY t (id) FROM STDIN") as copy:
            copy.write("3000\nx\n")

    error = raises(errors.InvalidTextRepresentation, bad_row)
    equal(error.diag.context, 'COPY t, line 2, column id: "x"')

    def cancelled():
        with cur.copy("COPY t (id) FROM STDIN") as copy:
            copy.write_row((4000,))
            raise KeyError("mine")

    raises(KeyError, cancelled)
    equal(conn.info.transaction_status, TransactionStatus.IDLE)

    def twice():
        with cur.copy("COPY t (id) FROM STDIN") as copy:
            copy.write_row((5000,))
            copy.write_row((1,))

    error = raises(errors.UniqueViolation, twice)
    equal(error.diag.constraint_name, "t_pkey")
    equal(conn.execute("SELECT count(*) FROM t WHERE id >= 3000").fetchone(), (0,))
    with conn.transaction(force_rollback=True), cur.copy("COPY t (id) FROM STDIN") as copy:
        copy.write_row((6000,))
    equal(conn.execute("SELECT count(*) FROM t").fetchone(), (1002,))
    conn.close()


@check
def copy_out(_):
    "cur.copy TO STDOUT: a table, a query with parameters, rows, blocks"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, s text)")
    conn.execute("INSERT INTO t SELECT g, CASE WHEN g % 2 = 0 THEN 's' || g END FROM generate_series(1, 500) g")
    cur = conn.cursor()
    with cur.copy("COPY t TO STDOUT") as copy:
        equal(sum(len(bytes(block).splitlines()) for block in copy), 500)
    equal(cur.rowcount, 500)
    with cur.copy("COPY (SELECT id, s FROM t WHERE id <= 4 ORDER BY id) TO STDOUT") as copy:
        copy.set_types(["int4", "text"])
        equal(list(copy.rows()), [(1, None), (2, "s2"), (3, None), (4, "s4")])
    with cur.copy("COPY (SELECT * FROM t WHERE id = %s) TO STDOUT (FORMAT csv, HEADER, DELIMITER ';')", (2,)) as copy:
        equal(b"".join(bytes(block) for block in copy), b"id;s\n2;s2\n")
    raises(errors.UndefinedTable, lambda: cur.copy("COPY nothing TO STDOUT").__enter__())
    conn.close()


@check
def copy_binary(_):
    "COPY in the binary format, both ways"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n numeric(10,2), s text, d date)")
    cur = conn.cursor()
    with cur.copy("COPY t FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "numeric", "text", "date"])
        copy.write_row((1, D("1.25"), "x", dt.date(2024, 1, 1)))
        copy.write_row((2, None, None, None))
    equal(cur.rowcount, 2)
    with cur.copy("COPY (SELECT * FROM t ORDER BY id) TO STDOUT (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "numeric", "text", "date"])
        equal(list(copy.rows()), [(1, D("1.25"), "x", dt.date(2024, 1, 1)), (2, None, None, None)])
    conn.close()


@check
def cursors(_):
    "server-side cursors: DECLARE, FETCH, MOVE, scroll, WITH HOLD, CLOSE"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, s text)")
    conn.execute("INSERT INTO t SELECT g, 's' || g FROM generate_series(1, 300) g")
    conn.autocommit = False
    with conn.cursor("named") as cur:
        cur.execute("SELECT id, s FROM t WHERE id > %s ORDER BY id", (100,))
        equal(cur.description[1].name, "s")
        equal(cur.fetchone(), (101, "s101"))
        equal(cur.fetchmany(2), [(102, "s102"), (103, "s103")])
        equal(len(cur.fetchall()), 197)
        equal(cur.fetchone(), None)
    with conn.cursor("iterated") as cur:
        cur.itersize = 7
        equal(sum(row[0] for row in cur.execute("SELECT id FROM t")), 45150)
    with conn.cursor("binary", binary=True) as cur:
        cur.execute("SELECT id FROM t ORDER BY id")
        equal(cur.fetchone(), (1,))
        # Another statement beside the open cursor.
        equal(conn.execute("SELECT count(*) FROM t").fetchone(), (300,))
        equal(cur.fetchone(), (2,))
    with conn.cursor("scrolled", scrollable=True) as cur:
        cur.execute("SELECT id FROM t ORDER BY id")
        cur.scroll(9)
        equal(cur.fetchone(), (10,))
        cur.scroll(-2)
        equal(cur.fetchone(), (9,))
        cur.scroll(0, mode="absolute")
        equal(cur.fetchone(), (1,))
    conn.execute("DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id")
    equal(conn.execute("FETCH 2 FROM c").fetchall(), [(1,), (2,)])
    equal(conn.execute("FETCH NEXT FROM c").fetchall(), [(3,)])
    equal(conn.execute("FETCH c").fetchall(), [(4,)])
    equal(conn.execute("MOVE FORWARD 3 IN c").statusmessage, "MOVE 3")
    equal(conn.execute("FETCH FORWARD 1 IN c").fetchall(), [(8,)])
    equal(conn.execute("FETCH ALL c").rowcount, 292)
    conn.execute("CLOSE c")
    raises(errors.InvalidCursorName, conn.execute, "FETCH c")
    conn.rollback()
    conn.execute("DECLARE d CURSOR FOR SELECT 1")
    conn.commit()
    raises(errors.InvalidCursorName, conn.execute, "FETCH d")
    conn.rollback()
    cur = conn.cursor("held", withhold=True)
    cur.execute("SELECT id FROM t ORDER BY id")
    conn.commit()
    equal(cur.fetchmany(2), [(1,), (2,)])
    cur.close()
    conn.autocommit = True
    raises(errors.NoActiveSqlTransaction, conn.execute, "DECLARE e CURSOR FOR SELECT 1")
    conn.close()


@check
def stream(_):
    "cur.stream: rows one by one (single-row mode)"
    with connect() as conn, conn.cursor() as cur:
        equal(sum(row[0] for row in cur.stream("SELECT g FROM generate_series(1, %s) g", (1000,))), 500500)
        equal(sum(row[0] for row in cur.stream("SELECT g FROM generate_series(1, 1000) g", size=50)), 500500)


@check
def calls(_):
    "functions and procedures: SELECT f, SELECT * FROM f, CALL, arrays as arguments, their errors"
    conn = fresh(
        "CREATE TABLE called (id int PRIMARY KEY, n int NOT NULL)",
        """CREATE OR REPLACE FUNCTION add_up(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
           BEGIN RETURN a + b; END $$""",
        """CREATE OR REPLACE FUNCTION raise_n(p_id int, p_by int) RETURNS int LANGUAGE plpgsql AS $$
           DECLARE res int;
           BEGIN UPDATE called t SET n = n + p_by WHERE t.id = p_id RETURNING t.n INTO res;
           IF NOT FOUND THEN RAISE EXCEPTION 'no row %', p_id USING ERRCODE = 'no_data_found', HINT = 'look', DETAIL = 'gone'; END IF;
           RETURN res; END $$""",
        """CREATE OR REPLACE FUNCTION all_of(p_ids int[]) RETURNS TABLE (o_id int, o_n int) LANGUAGE plpgsql AS $$
           DECLARE x int;
           BEGIN FOREACH x IN ARRAY p_ids LOOP
             SELECT t.id, t.n INTO o_id, o_n FROM called t WHERE t.id = x; RETURN NEXT;
           END LOOP; END $$""",
        """CREATE OR REPLACE PROCEDURE put(p_id int, p_n int) LANGUAGE plpgsql AS $$
           BEGIN INSERT INTO called VALUES (p_id, p_n); END $$""",
        """CREATE OR REPLACE PROCEDURE swap(INOUT a int, INOUT b text) LANGUAGE plpgsql AS $$
           BEGIN a := a + 1; b := b || '!'; END $$""",
        drop=("called",),
    )
    for prepare in (False, True):
        run = lambda query, *args, prepare=prepare: conn.execute(query, args, prepare=prepare)  # noqa: E731
        equal(run("SELECT add_up(%s, %s)", 1, 2).fetchone(), (3,))
        equal(run("SELECT add_up(%s, b => %s) AS x", 1, 2).fetchone(), (3,))
        equal(run("SELECT * FROM add_up(%s, 5)", 1).fetchone(), (6,))
        equal(run("SELECT add_up(%s, %s) + 1 AS more", 1, 2).fetchone(), (4,))
        conn.execute("DELETE FROM called")
        equal(run("CALL put(%s, %s)", 1, 10).statusmessage, "CALL")
        run("CALL put(%s, %s)", 2, 20)
        equal(run("SELECT raise_n(%s, %s)", 1, 5).fetchone(), (15,))
        cur = run("SELECT * FROM all_of(%s)", [2, 1])
        equal(cur.fetchall(), [(2, 20), (1, 15)])
        equal([c.name for c in cur.description], ["o_id", "o_n"])
        equal(run("SELECT o_n FROM all_of(%s) WHERE o_id = %s", [2, 1], 2).fetchall(), [(20,)])
        cur = run("CALL swap(%s, %s)", 1, "x")
        equal(cur.fetchone(), (2, "x!"))
        equal([c.name for c in cur.description], ["a", "b"])
        error = raises(errors.NoDataFound, run, "SELECT raise_n(%s, %s)", 77, 5)
        equal((error.diag.message_primary, error.diag.message_hint, error.diag.message_detail), ("no row 77", "look", "gone"))
        raises(errors.UniqueViolation, run, "CALL put(%s, %s)", 1, 10)
        raises(errors.UndefinedFunction, run, "SELECT no_such(%s)", 1)
    with conn.transaction():
        conn.execute("CALL put(3, 30)")
        equal(conn.execute("SELECT raise_n(3, 1)").fetchone(), (31,))
        with conn.transaction(force_rollback=True):
            conn.execute("CALL put(4, 40)")
    equal(conn.execute("SELECT count(*) FROM called").fetchone(), (3,))
    cur = conn.cursor(row_factory=rows.dict_row)
    equal(cur.execute("SELECT raise_n(1, 1) AS n").fetchone(), {"n": 16})
    conn.execute("DROP FUNCTION all_of(int[])")
    conn.execute("DROP FUNCTION raise_n")
    conn.execute("DROP PROCEDURE put")
    conn.execute("DROP TABLE called")
    conn.close()


@check
def error_fields(_):
    "errors: their classes, and what diag says"
    conn = fresh(
        "CREATE TABLE parent (id int PRIMARY KEY, code text NOT NULL UNIQUE)",
        """CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent (id), q int CHECK (q > 0), r int NOT NULL,
           s varchar(3), CONSTRAINT low_q CHECK (q < 100))""",
        "CREATE UNIQUE INDEX child_r ON child (r, s)",
        drop=("child", "parent"),
    )
    conn.execute("INSERT INTO parent VALUES (1, 'a')")
    conn.execute("INSERT INTO child VALUES (1, 1, 1, 1, 'x')")

    def fields(kind, query, *args):
        diag = raises(kind, conn.execute, query, args).diag
        return (diag.sqlstate, diag.schema_name, diag.table_name, diag.column_name, diag.constraint_name, diag.message_detail)

    equal(fields(errors.UniqueViolation, "INSERT INTO parent VALUES (%s, 'b')", 1),
          ("23505", "public", "parent", None, "parent_pkey", "Key (id)=(1) already exists."))
    equal(fields(errors.UniqueViolation, "INSERT INTO parent VALUES (%s, 'a')", 2),
          ("23505", "public", "parent", None, "parent_code_key", "Key (code)=(a) already exists."))
    equal(fields(errors.UniqueViolation, "INSERT INTO child VALUES (2, 1, 1, 1, 'x')"),
          ("23505", "public", "child", None, "child_r", "Key (r, s)=(1, x) already exists."))
    equal(fields(errors.ForeignKeyViolation, "INSERT INTO child VALUES (2, 9, 1, 2, 'x')"),
          ("23503", "public", "child", None, "child_p_fkey", 'Key (p)=(9) is not present in table "parent".'))
    equal(fields(errors.ForeignKeyViolation, "DELETE FROM parent"),
          ("23503", "public", "child", None, "child_p_fkey", 'Key (id)=(1) is still referenced from table "child".'))
    equal(fields(errors.NotNullViolation, "INSERT INTO child VALUES (2, 1, 1, NULL, 'x')"),
          ("23502", "public", "child", "r", None, "Failing row contains (2, 1, 1, null, x)."))
    equal(fields(errors.CheckViolation, "INSERT INTO child VALUES (2, 1, -1, 5, 'x')"),
          ("23514", "public", "child", None, "child_q_check", "Failing row contains (2, 1, -1, 5, x)."))
    equal(fields(errors.CheckViolation, "UPDATE child SET q = 100")[:5], ("23514", "public", "child", None, "low_q"))
    error = raises(errors.UniqueViolation, conn.execute, "INSERT INTO parent VALUES (1, 'b')")
    equal(error.diag.message_primary, 'duplicate key value violates unique constraint "parent_pkey"')
    equal(error.diag.severity, "ERROR")
    equal(error.diag.severity_nonlocalized, "ERROR")
    for kind, query in (
        (errors.StringDataRightTruncation, "INSERT INTO child VALUES (2, 1, 1, 5, 'long')"),
        (errors.NumericValueOutOfRange, "SELECT 2147483647 + 1"),
        (errors.NumericValueOutOfRange, "INSERT INTO child (id, r) VALUES (99999999999, 1)"),
        (errors.InvalidTextRepresentation, "SELECT 'x'::int"),
        (errors.InvalidDatetimeFormat, "SELECT 'x'::timestamp"),
        (errors.DatetimeFieldOverflow, "SELECT '2024-02-30'::date"),
        (errors.UndefinedTable, "SELECT * FROM nothing"),
        (errors.UndefinedColumn, "SELECT nothing FROM parent"),
        (errors.UndefinedFunction, "SELECT nothing(1)"),
        (errors.UndefinedObject, "SELECT 1::nothing"),
        (errors.AmbiguousColumn, "SELECT id FROM parent, child"),
        (errors.DuplicateTable, "CREATE TABLE parent (id int)"),
        (errors.DatatypeMismatch, "SELECT 1 WHERE 1"),
        (errors.GroupingError, "SELECT id, count(*) FROM parent"),
        (errors.DivisionByZero, "SELECT 1 / 0"),
        (errors.SyntaxError, "SELECT FROM WHERE"),
        (errors.CardinalityViolation, "SELECT (SELECT g FROM generate_series(1, 2) g)"),
        (errors.NotNullViolation, "INSERT INTO parent (id) VALUES (3)"),
        (errors.InvalidSavepointSpecification, "BEGIN; ROLLBACK TO nothing"),
    ):
        raises(kind, conn.execute, query)
        conn.rollback()
    error = raises(errors.UndefinedTable, conn.execute, "SELECT *\n  FROM nothing")
    equal(error.diag.statement_position, "17")
    equal(error.diag.message_primary, 'relation "nothing" does not exist')
    error = raises(errors.UndefinedColumn, conn.execute, "SELECT idd FROM parent")
    equal(error.diag.message_primary, 'column "idd" does not exist')
    raises(errors.IndeterminateDatatype, conn.execute, "SELECT 1 WHERE %s IS NULL", (None,))
    equal(conn.execute("SELECT 1").fetchone(), (1,))
    conn.close()


@check
def notices(_):
    "notices come to the handlers, with severity and state"
    conn = fresh()
    got = []
    conn.add_notice_handler(lambda diag: got.append((diag.severity_nonlocalized, diag.sqlstate, diag.message_primary)))
    conn.execute("DROP TABLE IF EXISTS nothing")
    conn.execute("COMMIT")
    conn.execute("BEGIN")
    conn.execute("BEGIN")
    conn.execute("ROLLBACK")
    conn.execute("CREATE TABLE IF NOT EXISTS t (id int PRIMARY KEY)")
    conn.execute("CREATE TABLE IF NOT EXISTS t (id int PRIMARY KEY)")
    equal(got, [
        ("NOTICE", "00000", 'table "nothing" does not exist, skipping'),
        ("WARNING", "25P01", "there is no transaction in progress"),
        ("WARNING", "25001", "there is already a transaction in progress"),
        ("NOTICE", "42P07", 'relation "t" already exists, skipping'),
    ])
    conn.close()


@check
def raised_notices(_):
    "RAISE NOTICE of DO and of functions comes to the handlers"
    conn = fresh()
    got = []
    conn.add_notice_handler(lambda diag: got.append((diag.severity_nonlocalized, diag.message_primary)))
    conn.execute("DO $$ BEGIN RAISE NOTICE 'hello %', 1; RAISE WARNING 'beware'; END $$")
    equal(got, [("NOTICE", "hello 1"), ("WARNING", "beware")])
    conn.close()


@check
def factories(_):
    "row factories, and names of columns"
    @dataclass
    class Item:
        id: int
        name: str

    with fresh("CREATE TABLE t (id int PRIMARY KEY, name text)") as conn:
        conn.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        query = "SELECT id, name FROM t ORDER BY id"
        equal(conn.cursor(row_factory=rows.dict_row).execute(query).fetchall(), [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
        equal(conn.cursor(row_factory=rows.namedtuple_row).execute(query).fetchone().name, "a")
        equal(conn.cursor(row_factory=rows.class_row(Item)).execute(query).fetchone(), Item(1, "a"))
        equal(conn.cursor(row_factory=rows.kwargs_row(Item)).execute(query).fetchone(), Item(1, "a"))
        equal(conn.cursor(row_factory=rows.scalar_row).execute(query).fetchall(), [1, 2])
        cur = conn.execute("SELECT id, id + 1, count(*), max(name), 'x', id AS \"Big Name\", name::varchar, CASE WHEN true THEN 1 END, "
                           "coalesce(name, ''), now() FROM t GROUP BY id, name")
        equal([c.name for c in cur.description],
              ["id", "?column?", "count", "max", "?column?", "Big Name", "name", "case", "coalesce", "now"])


@check
def client_cursors(_):
    "ClientCursor (parameters merged by the client) and RawCursor ($1)"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, s text, at timestamptz, n numeric(8,2), by bytea, d date, f float8, u uuid)")
    row = (1, "it's \\ ok", dt.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC), D("-1.50"), b"\x00'\\", dt.date(2024, 1, 1), -1.5,
           uuid.UUID(int=7))
    cur = psycopg.ClientCursor(conn)
    cur.execute("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", row)
    equal(cur.execute("SELECT * FROM t WHERE id = %s AND s = %s AND d = %s", (1, row[1], row[5])).fetchone(), row)
    equal(cur.execute("SELECT id FROM t WHERE id = ANY(%s) AND n < %s", ([1, 2], -1)).fetchone(), (1,))
    equal(cur.execute("SELECT id FROM t WHERE s IN (%s, %s)", ("a", row[1])).fetchone(), (1,))
    cur = psycopg.RawCursor(conn)
    equal(cur.execute("SELECT id FROM t WHERE id = $1 AND $1 > $2", (1, 0)).fetchone(), (1,))
    conn.close()


@check
def composed(_):
    "psycopg.sql: identifiers and literals, quoted names"
    conn = fresh(drop=("Odd Name",))
    table = sql.Identifier("Odd Name")
    conn.execute(sql.SQL("CREATE TABLE {} ({} int PRIMARY KEY, {} text)").format(table, sql.Identifier("Id"), sql.Identifier("select")))
    conn.execute(sql.SQL("INSERT INTO {} VALUES ({}, {})").format(table, sql.Literal(1), sql.Literal("it's")))
    equal(conn.execute(sql.SQL('SELECT {}."Id", "select" FROM {}').format(table, table)).fetchone(), (1, "it's"))
    equal(conn.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("public", "Odd Name"))).rowcount, 1)
    conn.execute(sql.SQL("DROP TABLE {}").format(table))
    conn.close()


@check
def time_zones(_):
    "the session's zone: what comes is of it, and what goes is a moment"
    with connect(options="-c timezone=America/New_York") as conn:
        equal(str(conn.info.timezone), "America/New_York")
        at = dt.datetime(2026, 7, 15, 3, 30, tzinfo=UTC)
        for cursor in (conn.cursor(), conn.cursor(binary=True)):
            row = cursor.execute("SELECT %s::timestamptz, (%s::timestamptz)::date, %s::timestamptz", (at, at, "2026-07-14 23:30")).fetchone()
            equal(row, (at, dt.date(2026, 7, 14), at))
            equal(row[0].utcoffset(), dt.timedelta(hours=-4))
        conn.execute("SET TIME ZONE 'Europe/Berlin'")
        equal(str(conn.info.timezone), "Europe/Berlin")
        equal(conn.execute("SELECT %s::timestamptz::text", (at,)).fetchone(), ("2026-07-15 05:30:00+02",))
        conn.rollback()
        equal(str(conn.info.timezone), "America/New_York")
        raises(errors.InvalidParameterValue, conn.execute, "SET TIME ZONE 'Mars/Olympus'")


@check
def addresses(_):
    "inet, cidr and times with a zone, in text and in binary"
    ip, net = ipaddress.ip_address("10.1.2.3"), ipaddress.ip_network("10.0.0.0/8")
    face, six = ipaddress.ip_interface("10.1.2.3/8"), ipaddress.ip_address("2001:db8::1")
    at = dt.time(10, 20, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    conn = fresh("CREATE TABLE t (ip inet PRIMARY KEY, net cidr, at timetz, bits varbit, mac macaddr)")
    for binary in (False, True):
        cursor = conn.cursor(binary=binary)
        row = cursor.execute("SELECT %s::inet, %s::inet, %s::inet, %s::cidr, %s::timetz", (ip, face, six, net, at)).fetchone()
        equal(row, (ip, face, six, net, at), f"binary={binary}")
        cursor.execute("DELETE FROM t")
        cursor.execute("INSERT INTO t VALUES (%s, %s, %s, '101', '08:00:2b:01:02:03')", (ip, net, at))
        equal(cursor.execute("SELECT ip, net, at FROM t WHERE ip << %s", (net,)).fetchone(), (ip, net, at))
        equal(cursor.execute("SELECT bits::text, mac::text FROM t").fetchone(), ("101", "08:00:2b:01:02:03"))
    raises(errors.InvalidTextRepresentation, conn.execute, "SELECT '10.1.2.300'::inet")


@check
def composites(_):
    "rows of composite types as Python's, in text and in binary, alone and in arrays"
    with connect() as conn:
        conn.execute("DROP TYPE IF EXISTS psycopg_line CASCADE")
        conn.execute("CREATE TYPE psycopg_line AS (sku text, many integer)")
        conn.execute("CREATE FUNCTION psycopg_total(items psycopg_line[]) RETURNS bigint LANGUAGE sql"
                     " AS $$ SELECT sum(many) FROM unnest(items) $$")
        info = CompositeInfo.fetch(conn, "psycopg_line")
        equal((info.field_names, info.field_types), (("sku", "many"), (25, 23)))
        register_composite(info, conn)
        Line = info.python_type
        lines = [Line("a", 1), Line('two "words", and more', 2), Line(None, 39)]
        for binary in (False, True):
            cursor = conn.cursor(binary=binary)
            equal(cursor.execute("SELECT '(a,1)'::psycopg_line, %s::psycopg_line[]", (lines,)).fetchone(), (lines[0], lines))
            equal(cursor.execute("SELECT psycopg_total(%s)", (lines,)).fetchone(), (42,))
            equal(cursor.execute("SELECT (%s::psycopg_line).sku", (lines[1],)).fetchone(), ('two "words", and more',))
        conn.rollback()


@check
def type_info(_):
    "TypeInfo.fetch: types by name, as adapters of extensions ask for them"
    with connect() as conn:
        for name, oid, array in (("int4", 23, 1007), ("text", 25, 1009), ("numeric", 1700, 1231), ("timestamptz", 1184, 1185),
                                 ("uuid", 2950, 2951), ("pg_catalog.int8", 20, 1016)):
            info = TypeInfo.fetch(conn, name)
            equal((info.oid, info.array_oid), (oid, array), name)
        equal(TypeInfo.fetch(conn, "timestamp with time zone").oid, 1184)
        equal(TypeInfo.fetch(conn, "hstore"), None)


@check
def defaults_and_keys(_):
    "keys that the server makes: serial, identity, RETURNING"
    conn = fresh(
        "CREATE TABLE t (id serial PRIMARY KEY, s text DEFAULT 'new', at timestamptz DEFAULT now(), n int NOT NULL DEFAULT 3)",
        "CREATE TABLE t2 (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, s text)",
        "CREATE TABLE t3 (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, s text)",
        drop=("t", "t2", "t3"),
    )
    equal(conn.execute("INSERT INTO t DEFAULT VALUES RETURNING id, s, n").fetchone(), (1, "new", 3))
    equal(conn.execute("INSERT INTO t (s) VALUES (%s), (%s) RETURNING id", ("a", "b")).fetchall(), [(2,), (3,)])
    equal(conn.execute("INSERT INTO t (id, s, at) VALUES (DEFAULT, 'c', DEFAULT) RETURNING id, at IS NOT NULL").fetchone(), (4, True))
    equal(conn.execute("SELECT currval('t_id_seq'), lastval()").fetchone(), (4, 4))
    equal(conn.execute("SELECT nextval('t_id_seq')").fetchone(), (5,))
    equal(conn.execute("SELECT pg_get_serial_sequence('t', 'id')").fetchone(), ("public.t_id_seq",))
    equal(conn.execute("SELECT setval('t_id_seq', 100)").fetchone(), (100,))
    equal(conn.execute("INSERT INTO t DEFAULT VALUES RETURNING id").fetchone(), (101,))
    equal(conn.execute("INSERT INTO t2 (s) VALUES ('x') RETURNING id").fetchone(), (1,))
    raises(errors.GeneratedAlways, conn.execute, "INSERT INTO t2 (id) VALUES (5)")
    equal(conn.execute("INSERT INTO t2 (id) OVERRIDING SYSTEM VALUE VALUES (5) RETURNING id").fetchone(), (5,))
    equal(conn.execute("INSERT INTO t3 (s) VALUES ('x') RETURNING id").fetchone(), (1,))
    equal(conn.execute("INSERT INTO t3 (id) VALUES (9) RETURNING id").fetchone(), (9,))
    conn.close()


@check
def writes(_):
    "ON CONFLICT, UPDATE FROM, DELETE USING, RETURNING of several rows, rowcount"
    conn = fresh("CREATE TABLE t (id int PRIMARY KEY, n int, s text)", "CREATE TABLE t2 (id int PRIMARY KEY, n int)", drop=("t", "t2"))
    run = lambda query, *args: conn.execute(query, args)  # noqa: E731
    run("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")
    equal(run("INSERT INTO t VALUES (%s, %s, 'x') ON CONFLICT (id) DO UPDATE SET n = excluded.n + t.n RETURNING n", 1, 10).fetchone(), (11,))
    equal(run("INSERT INTO t VALUES (%s, 5, 'x') ON CONFLICT DO NOTHING", 1).rowcount, 0)
    equal(run("INSERT INTO t VALUES (1, 5, 'x') ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET n = 0 WHERE t.n > 100").rowcount, 0)
    run("INSERT INTO t2 SELECT id, n * 10 FROM t WHERE id > %s", 1)
    equal(run("UPDATE t SET n = t2.n FROM t2 WHERE t2.id = t.id RETURNING t.id, t.n").rowcount, 2)
    equal(sorted(run("UPDATE t SET n = n + %s RETURNING id, n", 1).fetchall()), [(1, 12), (2, 21), (3, 31)])
    equal(run("DELETE FROM t USING t2 WHERE t.id = t2.id AND t2.n > %s", 20).rowcount, 1)
    equal(run("DELETE FROM t WHERE id = ANY(%s) RETURNING *", [1]).fetchall(), [(1, 12, "a")])
    equal(run("UPDATE t SET (n, s) = (%s, %s) WHERE id = 2", 0, "z").rowcount, 1)
    equal(run("UPDATE t SET id = %s WHERE id = 2", 22).rowcount, 1)
    equal(run("WITH d AS (DELETE FROM t2 WHERE id = 2 RETURNING n) SELECT n FROM d").fetchall(), [(20,)])
    equal(run("SELECT * FROM t FOR UPDATE").fetchall(), [(22, 0, "z")])
    equal(run("SELECT * FROM t WHERE id = %s FOR UPDATE SKIP LOCKED", 22).rowcount, 1)
    equal(run("TRUNCATE t").statusmessage, "TRUNCATE TABLE")
    conn.close()


@check
def queries(_):
    "queries of several tables with parameters"
    conn = fresh(
        "CREATE TABLE t (id int PRIMARY KEY, grp text, n int)", "CREATE TABLE t2 (id int PRIMARY KEY, t_id int, v numeric(8,2))",
        drop=("t2", "t"))
    conn.execute("INSERT INTO t SELECT g, 'g' || g % 3, g * 2 FROM generate_series(1, 9) g")
    conn.execute("INSERT INTO t2 SELECT g, g % 5 + 1, g + 0.5 FROM generate_series(1, 20) g")
    run = lambda query, *args: conn.execute(query, args).fetchall()  # noqa: E731
    equal(run("SELECT t.grp, count(*), sum(t2.v) FROM t JOIN t2 ON t2.t_id = t.id WHERE t.id > %s GROUP BY 1 "
              "HAVING count(*) > %s ORDER BY 1", 1, 3), [("g0", 4, D("40.00")), ("g1", 4, D("44.00")), ("g2", 8, D("84.00"))])
    equal(run("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t2 WHERE t2.t_id = t.id AND v > %s) ORDER BY id DESC LIMIT %s OFFSET %s", 16, 2, 1),
          [(4,), (3,)])
    equal(run("WITH x AS (SELECT grp, max(n) m FROM t GROUP BY grp) SELECT * FROM x WHERE m >= %s ORDER BY grp", 16), [("g0", 18), ("g2", 16)])
    equal(run("SELECT id, row_number() OVER (PARTITION BY grp ORDER BY id DESC) FROM t WHERE id < %s ORDER BY id", 5), [(1, 2), (2, 1), (3, 1), (4, 1)])
    equal(run("SELECT CASE WHEN n > %s THEN %s ELSE %s END FROM t WHERE id IN (%s, %s) ORDER BY id", 4, "big", "small", 1, 5), [("small",), ("big",)])
    equal(run("SELECT %s UNION SELECT grp FROM t WHERE grp LIKE %s ORDER BY 1", "z", "g%"), [("g0",), ("g1",), ("g2",), ("z",)])
    equal(run("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < %s) SELECT sum(n) FROM r", 10), [(55,)])
    equal(run("SELECT count(*) FILTER (WHERE n > %s), avg(n), string_agg(grp, ',' ORDER BY id) FROM t WHERE id <= 3", 2), [(2, D("4.0000000000000000"), "g1,g2,g0")])
    equal(run("SELECT id FROM t WHERE (grp, n) = (%s, %s)", "g1", 2), [(1,)])
    equal(run("SELECT id FROM t WHERE n BETWEEN %s AND %s ORDER BY n DESC NULLS LAST", 4, 7), [(3,), (2,)])
    equal(run("VALUES (%s, 'a'), (2, %s)", 1, "b"), [(1, "a"), (2, "b")])
    equal(run("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v (id, s) WHERE id = %s", 2), [(2, "b")])
    equal(run("SELECT EXTRACT(year FROM %s::date), date_trunc('month', %s::timestamp)", dt.date(2024, 5, 6), dt.datetime(2024, 5, 6)),
          [(D(2024), dt.datetime(2024, 5, 1))])
    conn.close()


main("psycopg")
