"""Checks of asyncpg against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too.

asyncpg sends everything in binary, asks the catalog for each type that it does not know, resets a
connection that goes back to its pool by a script of its own, and cancels over a second connection.
"""

import asyncio
import datetime as dt
import decimal
import json
import uuid

import asyncpg

from checks import check, equal, main, same

D = decimal.Decimal
UTC = dt.timezone.utc

LEDGER = """
DROP FUNCTION IF EXISTS pay, total;
DROP PROCEDURE IF EXISTS give;
DROP TABLE IF EXISTS account;
CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL);
INSERT INTO account SELECT i, 1000 FROM generate_series(0, 99) i;
CREATE OR REPLACE FUNCTION pay(a bigint, b bigint, much bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE rest bigint;
BEGIN
  UPDATE account SET cents = cents - much WHERE id = a RETURNING cents INTO rest;
  UPDATE account SET cents = cents + much WHERE id = b;
  RETURN rest;
END $$;
"""


def asynchronous(function):
    """A check that is a coroutine; its argument is a connection of its own."""

    def run(_):
        async def whole():
            conn = await asyncpg.connect()
            try:
                await asyncio.wait_for(function(conn), 60)
            finally:
                await conn.close(timeout=5)

        asyncio.run(whole())

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return check(run)


async def raises(kind, awaitable):
    try:
        await awaitable
    except kind as error:
        equal(type(error), kind, "class of the error")
        return error
    raise AssertionError(f"{kind.__name__} was expected, and nothing came")


@asynchronous
async def connection(conn):
    "connect, settings reported, version, close"
    equal(conn.get_server_version() >= (15, 0), True)
    settings = conn.get_settings()
    equal(settings.client_encoding, "UTF8")
    equal(settings.server_encoding, "UTF8")
    equal(settings.TimeZone, "UTC")
    equal(await conn.fetchval("SELECT current_user::text"), "tester")
    equal(conn.get_server_pid() > 0, True)
    equal(conn.is_in_transaction(), False)
    other = await asyncpg.connect(server_settings={"application_name": "checks", "search_path": "public"})
    equal(await other.fetchval("SHOW application_name"), "checks")
    await other.close()
    equal(other.is_closed(), True)


@asynchronous
async def types(conn):
    "parameters and results of each type, in binary"
    await conn.execute("DROP TABLE IF EXISTS t")
    await conn.execute(
        """CREATE TABLE t (id int PRIMARY KEY, i2 int2, i8 int8, n numeric(20,4), te text, vc varchar(30), b bool,
        ts timestamp, tz timestamptz, da date, by bytea, f8 float8, f4 float4, u uuid, iv interval, j json, jb jsonb)"""
    )
    row = (
        1, -32768, -9223372036854775808, D("1234567890.1250"), "naïve ☃ 'quoted' \\ \n", "varying", True,
        dt.datetime(2024, 2, 29, 12, 30, 15, 123456), dt.datetime(1999, 12, 31, 23, 59, 59, 5, tzinfo=UTC),
        dt.date(1950, 1, 2), b"\x00\xff\\binary'", 1.5e-300, 0.25,
        uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), dt.timedelta(days=3, seconds=5), '{"a": 1}', '{"b": [2]}',
    )
    places = ", ".join(f"${i + 1}" for i in range(len(row)))
    equal(await conn.execute(f"INSERT INTO t VALUES ({places})", *row), "INSERT 0 1")
    equal(tuple(await conn.fetchrow("SELECT * FROM t WHERE id = $1", 1)), row)
    await conn.execute(f"INSERT INTO t VALUES ({places})", 2, *[None] * (len(row) - 1))
    equal(tuple(await conn.fetchrow("SELECT * FROM t WHERE id = 2"))[1:], (None,) * (len(row) - 1))
    equal(await conn.fetchval("SELECT count(*) FROM t WHERE te = $1 OR n > $2", "no", D("1")), 1)


@asynchronous
async def arrays(conn):
    "arrays as parameters: = ANY, unnest side by side, INSERT from unnest, of procedures"
    await conn.execute(LEDGER)
    keys = [5, 7, 9, 1000]
    rows = await conn.fetch("SELECT id FROM account WHERE id = ANY($1::bigint[]) ORDER BY id", keys)
    equal([row["id"] for row in rows], [5, 7, 9])
    rows = await conn.fetch("SELECT x, y FROM unnest($1::int[], $2::text[]) AS u(x, y)", [1, 2], ["a", "b"])
    equal([tuple(row) for row in rows], [(1, "a"), (2, "b")])
    await conn.execute(
        "INSERT INTO account SELECT x, 0 FROM unnest($1::bigint[]) AS u(x)", list(range(5000, 5100))
    )
    equal(await conn.fetchval("SELECT count(*) FROM account WHERE id >= 5000"), 100)
    await conn.execute(
        """CREATE OR REPLACE FUNCTION total(which bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE s bigint;
        BEGIN SELECT CAST(sum(cents) AS bigint) INTO s FROM account WHERE id = ANY(which); RETURN s; END $$"""
    )
    equal(await conn.fetchval("SELECT total($1)", [1, 2, 3]), 3000)


@asynchronous
async def array_values(conn):
    "arrays that come back as they went: empty, with NULL, with quotes"
    same(await conn.fetchval("SELECT $1::bigint[]", [1, None, 3]), [1, None, 3])
    same(await conn.fetchval("SELECT $1::text[]", ["a", 'b"c', None, "d,e", ""]), ["a", 'b"c', None, "d,e", ""])
    same(await conn.fetchval("SELECT $1::int[]", []), [])
    oids = "SELECT array_agg(x ORDER BY x) FROM unnest($1::oid[]) AS u(x)"
    same(await conn.fetchval(oids, [1, 4294967295]), [1, 4294967295])


@asynchronous
async def calls(conn):
    "a function by SELECT and a procedure by CALL, with parameters"
    await conn.execute(LEDGER)
    equal(await conn.fetchval("SELECT pay($1, $2, $3)", 1, 2, 10), 990)
    await conn.execute(
        """CREATE OR REPLACE PROCEDURE give(a bigint, much bigint) LANGUAGE plpgsql AS $$
        BEGIN UPDATE account SET cents = cents + much WHERE id = a; END $$"""
    )
    equal(await conn.execute("CALL give($1, $2)", 3, 5), "CALL")
    equal(await conn.fetchval("SELECT cents FROM account WHERE id = 3"), 1005)


@asynchronous
async def prepared(conn):
    "prepared statements: parameters' and columns' types, again after a definition"
    await conn.execute(LEDGER)
    statement = await conn.prepare("SELECT id, cents, cents / 2.0 AS half FROM account WHERE id = $1")
    equal([each.name for each in statement.get_parameters()], ["int8"])
    columns = [(each.name, each.type.name) for each in statement.get_attributes()]
    equal(columns, [("id", "int8"), ("cents", "int8"), ("half", "numeric")])
    equal(tuple(await statement.fetchrow(4)), (4, 1000, D("500.0000000000000000")))
    equal(statement.get_statusmsg(), "SELECT 1")
    await conn.execute("ALTER TABLE account ADD COLUMN note text")
    equal(tuple(await conn.fetchrow("SELECT * FROM account WHERE id = $1", 4)), (4, 1000, None))
    equal(tuple(await conn.fetchrow("SELECT * FROM account WHERE id = $1", 5)), (5, 1000, None))
    await conn.execute("ALTER TABLE account DROP COLUMN note")
    await conn.reload_schema_state()


@asynchronous
async def many(conn):
    "executemany: one pipeline of binds, all or nothing"
    await conn.execute(LEDGER)
    await conn.executemany("INSERT INTO account VALUES ($1, $2)", [(i, i) for i in range(1000, 3000)])
    equal(await conn.fetchval("SELECT count(*) FROM account"), 2100)
    error = await raises(
        asyncpg.UniqueViolationError,
        conn.executemany("INSERT INTO account VALUES ($1, $2)", [(7000, 1), (7001, 1), (7000, 2)]),
    )
    equal((error.sqlstate, error.constraint_name), ("23505", "account_pkey"))
    equal(await conn.fetchval("SELECT count(*) FROM account WHERE id >= 7000"), 0)


@asynchronous
async def transactions(conn):
    "transaction(), nested as savepoints, isolation levels, read only"
    await conn.execute(LEDGER)
    async with conn.transaction(isolation="serializable"):
        await conn.execute("UPDATE account SET cents = 1 WHERE id = 1")
        equal(conn.is_in_transaction(), True)
        try:
            async with conn.transaction():
                await conn.execute("UPDATE account SET cents = 2 WHERE id = 1")
                raise KeyError
        except KeyError:
            pass
        equal(await conn.fetchval("SELECT cents FROM account WHERE id = 1"), 1)
    equal(await conn.fetchval("SELECT cents FROM account WHERE id = 1"), 1)
    transaction = conn.transaction(readonly=True)
    await transaction.start()
    await raises(asyncpg.ReadOnlySQLTransactionError, conn.execute("DELETE FROM account"))
    await transaction.rollback()
    equal(await conn.fetchval("SELECT count(*) FROM account"), 100)


@asynchronous
async def cursors(conn):
    "cursors in a transaction: by steps, fetched, moved"
    await conn.execute(LEDGER)
    async with conn.transaction():
        seen = [row["id"] async for row in conn.cursor("SELECT id FROM account ORDER BY id", prefetch=7)]
        equal(seen, list(range(100)))
        cursor = await conn.cursor("SELECT id FROM account WHERE id >= $1 ORDER BY id", 10)
        equal([row["id"] for row in await cursor.fetch(3)], [10, 11, 12])
        await cursor.forward(5)
        equal((await cursor.fetchrow())["id"], 18)


@asynchronous
async def copying(conn):
    "copy_records_to_table, copy_from_query, copy_to_table, in text and in binary"
    await conn.execute(LEDGER)
    done = await conn.copy_records_to_table("account", records=[(i, 5) for i in range(200, 700)])
    equal(done, "COPY 500")
    lines = []

    async def keep(part):
        lines.append(part)

    done = await conn.copy_from_query(
        "SELECT id, cents FROM account WHERE id < $1 ORDER BY id", 3, output=keep, format="csv"
    )
    equal((done, b"".join(lines)), ("COPY 3", b"0,1000\n1,1000\n2,1000\n"))

    async def two():
        yield b"900\t1\n901"
        yield b"\t2\n"

    equal(await conn.copy_to_table("account", source=two()), "COPY 2")
    equal(await conn.fetchval("SELECT sum(cents)::bigint FROM account WHERE id >= 900"), 3)


@asynchronous
async def errors(conn):
    "classes of errors, their fields, and that the connection goes on"
    await conn.execute(LEDGER)
    await raises(asyncpg.PostgresSyntaxError, conn.fetch("SELEC 1"))
    await raises(asyncpg.UndefinedTableError, conn.fetch("SELECT * FROM nowhere"))
    error = await raises(asyncpg.UniqueViolationError, conn.execute("INSERT INTO account VALUES (1, 1)"))
    equal((error.table_name, error.detail), ("account", "Key (id)=(1) already exists."))
    await raises(asyncpg.DivisionByZeroError, conn.fetchval("SELECT 1 / $1::int", 0))
    await raises(asyncpg.DataError, conn.fetchval("SELECT $1::int", "text"))
    equal(await conn.fetchval("SELECT 1"), 1)


@asynchronous
async def pools(conn):
    "a pool of 5 for 200 tasks; what a task has set is reset before the next one has the connection"
    await conn.execute(LEDGER)
    async with asyncpg.create_pool(min_size=2, max_size=5) as pool:

        async def task(number):
            async with pool.acquire() as own:
                await own.fetchval("SELECT pay($1, $2, 1)", number % 100, (number + 1) % 100)
                await own.execute("SET statement_timeout = 12345")

        await asyncio.gather(*(task(number) for number in range(200)))
        equal(await pool.fetchval("SELECT CAST(sum(cents) AS bigint) FROM account"), 100_000)
        equal(await pool.fetchval("SHOW statement_timeout"), "0")
        own = await pool.acquire()
        await own.execute("BEGIN")
        await own.execute("UPDATE account SET cents = 0 WHERE id = 1")
        await own.execute("SELECT pg_advisory_lock(77)")
        await pool.release(own)
        equal(await pool.fetchval("SELECT cents > 0 FROM account WHERE id = 1"), True)
        equal(await conn.fetchval("SELECT pg_try_advisory_lock(77)"), True)
        equal(await conn.fetchval("SELECT pg_advisory_unlock(77)"), True)
        equal(pool.get_size() <= 5, True)


@asynchronous
async def timeouts(conn):
    "timeout=, which cancels over a second connection, and statement_timeout"
    await raises(asyncio.TimeoutError, conn.fetchval("SELECT pg_sleep(30)::text", timeout=0.3))
    equal(await conn.fetchval("SELECT 1"), 1)
    await conn.execute("SET statement_timeout = 100")
    await raises(asyncpg.QueryCanceledError, conn.execute("SELECT pg_sleep(30)"))
    await conn.execute("RESET statement_timeout")


@asynchronous
async def codecs(conn):
    "set_type_codec for json, and composite rows of a query"
    await conn.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    equal(await conn.fetchval("SELECT $1::jsonb", {"a": [1, None, "x"]}), {"a": [1, None, "x"]})
    row = await conn.fetchrow("SELECT 1 AS one, 'a' AS letter")
    equal((dict(row), row["letter"]), ({"one": 1, "letter": "a"}, "a"))


@asynchronous
async def notices(conn):
    "a listener hears what RAISE NOTICE tells"
    heard = []
    conn.add_log_listener(lambda _, message: heard.append(message.message))
    await conn.execute("DO $$ BEGIN RAISE NOTICE 'hello %', 5; END $$")
    await asyncio.sleep(0.1)
    equal(heard, ["hello 5"])


if __name__ == "__main__":
    main("asyncpg")
