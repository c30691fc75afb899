// Checks of node-postgres against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too.

import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { attempt, check, equal, fails, main } from "../checks_of_node.mjs";

const require = createRequire(`${process.env.NODE_MODULES}/package.json`);
const pg = require("pg");
const Cursor = require("pg-cursor");
const QueryStream = require("pg-query-stream");
const { from: copyFrom, to: copyTo } = require("pg-copy-streams");

async function connected(run, options = {}) {
    const client = new pg.Client({ ...options });
    await client.connect();
    try {
        return await run(client);
    } finally {
        await client.end();
    }
}

const rows = async (client, text, values) => (await client.query({ text, values, rowMode: "array" })).rows;

check("connects", "connection, settings at the start, several statements in one text", () =>
    connected(async (client) => {
        equal(await rows(client, "SELECT 1, 'x', NULL, true"), [[1, "x", null, true]]);
        equal(await rows(client, "SHOW application_name"), [["checks"]]);
        equal(await rows(client, "SHOW statement_timeout"), [["7s"]]);
        equal(await rows(client, "SELECT current_user"), [["tester"]]);
        const results = await client.query("SELECT 1 AS a; SELECT 'b' AS b; SELECT 2 WHERE false");
        equal(results.map((result) => [result.command, result.rowCount, result.rows]), [
            ["SELECT", 1, [{ a: 1 }]], ["SELECT", 1, [{ b: "b" }]], ["SELECT", 0, []],
        ]);
        const empty = await client.query("");
        equal(empty.rows, []);
        equal((await client.query("/* nothing */", [])).rows, []);
        equal(client.processID > 0, true);
    }, { application_name: "checks", statement_timeout: 7000, lock_timeout: 5000, idle_in_transaction_session_timeout: 60000, options: "-c search_path=public" }));

check("types", "parameters and results of all types", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_types");
        await client.query(`CREATE TABLE np_types (id int PRIMARY KEY, i2 int2, i8 int8, n numeric(12,3), s text, v varchar(10), b bool,
            ts timestamp, tz timestamptz, d date, raw bytea, f8 float8, f4 float4, u uuid)`);
        const at = new Date(Date.UTC(2024, 1, 29, 12, 30, 15, 123));
        const values = [1, -5, "9223372036854775807", "1234.5", "naïve ☃ '\\", "v", true, "2024-02-29 12:30:15.5", at, "2024-02-29",
            Buffer.from([0, 1, 255]), 1.5e-300, 0.25, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"];
        const marks = values.map((_, index) => `$${index + 1}`).join(", ");
        await client.query(`INSERT INTO np_types VALUES (${marks})`, values);
        await client.query(`INSERT INTO np_types VALUES (${marks})`, [2, ...Array(13).fill(null)]);
        for (const query of [{ text: "SELECT * FROM np_types WHERE id = $1" }, { name: "typed", text: "SELECT * FROM np_types WHERE id = $1" }]) {
            for (let i = 0; i < 3; i++) {
                const { rows: [row], fields } = await client.query({ ...query, values: [1] });
                equal(row, {
                    id: 1, i2: -5, i8: "9223372036854775807", n: "1234.500", s: "naïve ☃ '\\", v: "v", b: true, ts: new Date(2024, 1, 29, 12, 30, 15, 500), tz: at,
                    d: new Date(2024, 1, 29), raw: Buffer.from([0, 1, 255]), f8: 1.5e-300, f4: 0.25, u: "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                });
                equal(fields.map((field) => field.dataTypeID), [23, 21, 20, 1700, 25, 1043, 16, 1114, 1184, 1082, 17, 701, 700, 2950]);
                equal(fields.map((field) => field.columnID), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
                equal(fields[0].tableID > 0, true);
            }
        }
        const binary = await client.query({ text: "SELECT id, 7::int2 AS i2, b, s FROM np_types WHERE id = $1", values: [1], binary: true });
        equal(binary.rows, [{ id: 1, i2: 7, b: true, s: "naïve ☃ '\\" }]);
        equal((await rows(client, "SELECT * FROM np_types WHERE id = 2"))[0].slice(1), Array(13).fill(null));
        for (const [index, name] of ["i2", "i8", "n", "s", "v", "b", "ts", "tz", "d", "raw", "f8", "f4", "u"].entries()) {
            await attempt(async () => equal(await rows(client, `SELECT id FROM np_types WHERE ${name} = $1`, [values[index + 1]]), [[1]]));
        }
        await attempt(async () => equal(await rows(client, "SELECT $1::int + 1, $2::text, $3, $4::bool", ["1", 2, "x", true]), [[2, "2", "x", true]]));
        await attempt(async () => equal(await rows(client, "SELECT tz > $1 FROM np_types WHERE id = 1", [new Date(0)]), [[true]]));
        await attempt(async () => equal(await rows(client, "SELECT $1::timestamptz", [at]), [[at]]));
    }));

check("arrays", "arrays as parameters and results", () =>
    connected(async (client) => {
        equal(await rows(client, "SELECT g FROM generate_series(1, 5) g WHERE g = ANY ($1) ORDER BY g", [[2, 4]]), [[2], [4]]);
        equal(await rows(client, "SELECT g FROM generate_series(1, 5) g WHERE g = ANY ($1::int[]) ORDER BY g", [[]]), []);
        await attempt(async () => equal(await rows(client, "SELECT $1::int[], $2::text[]", [[1, null], ["a", 'b"\\,{}', null]]), [[[1, null], ["a", 'b"\\,{}', null]]]));
        await attempt(async () => equal(await rows(client, "SELECT * FROM unnest($1::int[], $2::text[]) AS u (a, b)", [[1, 2], ["x", "y"]]), [[1, "x"], [2, "y"]]));
        await attempt(async () => equal(await rows(client, "SELECT array_agg(g) FROM generate_series(1, 3) g"), [[[1, 2, 3]]]));
        await attempt(async () => equal(await rows(client, "SELECT ARRAY['a', NULL], ARRAY[true], ARRAY[1.5]"), [[["a", null], [true], [1.5]]]));
    }));

check("statements", "named statements, changed results, the same name with another text, RETURNING, row counts", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_s");
        await client.query("CREATE TABLE np_s (id int PRIMARY KEY, n int)");
        for (let id = 1; id <= 20; id++) {
            const result = await client.query({ name: "put", text: "INSERT INTO np_s VALUES ($1, $2) RETURNING id, n AS m", values: [id, id * 2] });
            equal([result.command, result.rowCount, result.rows], ["INSERT", 1, [{ id, m: id * 2 }]]);
        }
        const queued = await Promise.all([1, 2, 3].map((id) => client.query({ name: "get", text: "SELECT n FROM np_s WHERE id = $1", values: [id] })));
        equal(queued.map((result) => result.rows[0].n), [2, 4, 6]);
        equal((await client.query("UPDATE np_s SET n = n + $1", [1])).rowCount, 20);
        equal((await client.query("DELETE FROM np_s WHERE id > $1", [10])).rowCount, 10);
        equal((await client.query("SELECT * FROM np_s LIMIT $1", [3])).rowCount, 3);
        equal((await client.query("DROP TABLE np_s")).command, "DROP");
    }));

check("keys", "serial columns and RETURNING", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_k");
        await client.query("CREATE TABLE np_k (id serial PRIMARY KEY, s text, at timestamptz DEFAULT now())");
        equal((await client.query("INSERT INTO np_k (s) VALUES ($1), ($2) RETURNING id", ["a", "b"])).rows, [{ id: 1 }, { id: 2 }]);
        const { rows: [row] } = await client.query("INSERT INTO np_k (s) VALUES ($1) RETURNING *", ["c"]);
        equal([row.id, row.s, row.at instanceof Date], [3, "c", true]);
    }));

check("json", "JSON columns and parameters", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_j");
        await client.query("CREATE TABLE np_j (id int PRIMARY KEY, j jsonb, k json)");
        await client.query("INSERT INTO np_j VALUES ($1, $2, $3)", [1, { a: [1, "x", null] }, JSON.stringify([1])]);
        equal(await rows(client, "SELECT j, k, j->'a'->>1 FROM np_j"), [[{ a: [1, "x", null] }, [1], "x"]]);
    }));

check("errors", "DatabaseError's fields; the connection goes on", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_child; DROP TABLE IF EXISTS np_parent");
        await client.query("CREATE TABLE np_parent (id int PRIMARY KEY, code text UNIQUE)");
        await client.query("CREATE TABLE np_child (id int PRIMARY KEY, p int NOT NULL REFERENCES np_parent (id), n int CHECK (n > 0))");
        await client.query("INSERT INTO np_parent VALUES (1, 'a')");
        await client.query("INSERT INTO np_child VALUES (1, 1, 1)");
        const cases = [
            ["23505", "INSERT INTO np_parent VALUES (1, 'b')", "np_parent", undefined, "np_parent_pkey", "Key (id)=(1) already exists."],
            ["23505", "INSERT INTO np_parent VALUES (2, 'a')", "np_parent", undefined, "np_parent_code_key", "Key (code)=(a) already exists."],
            ["23503", "INSERT INTO np_child VALUES (2, 9, 1)", "np_child", undefined, "np_child_p_fkey", 'Key (p)=(9) is not present in table "np_parent".'],
            ["23503", "DELETE FROM np_parent", "np_child", undefined, "np_child_p_fkey", 'Key (id)=(1) is still referenced from table "np_child".'],
            ["23502", "INSERT INTO np_child VALUES (2, NULL, 1)", "np_child", "p", undefined, "Failing row contains (2, null, 1)."],
            ["23514", "INSERT INTO np_child VALUES (2, 1, 0)", "np_child", undefined, "np_child_n_check", "Failing row contains (2, 1, 0)."],
        ];
        for (const [code, text, table, column, constraint, detail] of cases) {
            const error = await fails(code, () => client.query(text));
            equal([error.table, error.column, error.constraint, error.detail, error.schema, error.severity, error.name],
                [table, column, constraint, detail, "public", "ERROR", "error"]);
        }
        const unknown = await fails("42P01", () => client.query("SELECT * FROM np_nothing WHERE id = $1", [1]));
        equal([unknown.message, unknown.position], ['relation "np_nothing" does not exist', "15"]);
        equal(typeof unknown.routine, "string");
        await fails("22P02", () => client.query("SELECT * FROM np_parent WHERE id = $1", ["x"]));
        await fails("08P01", () => client.query("SELECT * FROM np_parent WHERE id = $1", [1, 2]));
        await fails("42P02", () => client.query("SELECT * FROM np_parent WHERE id = $1"));
        await fails("42601", () => client.query("SELEC"));
        await fails("22012", () => client.query({ name: "zero", text: "SELECT 1 / $1::int", values: [0] }));
        equal(await rows(client, "SELECT 1"), [[1]]);
        // Several failing and good ones, queued.
        const settled = await Promise.allSettled([client.query("SELECT 1 AS x"), client.query("SELECT nothing"), client.query("SELECT $1::int AS x", [2])]);
        equal(settled.map((each) => each.value?.rows[0].x ?? each.reason.code), [1, "42703", 2]);
    }));

check("transactions", "BEGIN, COMMIT, ROLLBACK, savepoints, two clients", () =>
    connected((one) => connected(async (two) => {
        await one.query("DROP TABLE IF EXISTS np_t");
        await one.query("CREATE TABLE np_t (id int PRIMARY KEY, n int)");
        await one.query("INSERT INTO np_t VALUES (1, 0), (2, 0)");
        equal((await one.query("BEGIN")).command, "BEGIN");
        await one.query("UPDATE np_t SET n = n + $1 WHERE id = $2", [5, 1]);
        await one.query("SAVEPOINT s");
        await fails("23505", () => one.query("INSERT INTO np_t VALUES (1, 1)"));
        await fails("25P02", () => one.query("SELECT 1"));
        await one.query("ROLLBACK TO SAVEPOINT s");
        equal(await rows(two, "SELECT n FROM np_t WHERE id = 2"), [[0]]);
        equal((await one.query("COMMIT")).command, "COMMIT");
        equal(await rows(two, "SELECT n FROM np_t WHERE id = 1"), [[5]]);
        await one.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
        await one.query("DELETE FROM np_t");
        await fails("42703", () => one.query("SELECT nothing"));
        equal((await one.query("COMMIT")).command, "ROLLBACK");
        await one.query("START TRANSACTION READ ONLY");
        await fails("25006", () => one.query("DELETE FROM np_t"));
        await one.query("ROLLBACK");
        equal(await rows(two, "SELECT count(*) FROM np_t"), [["2"]]);
        // A text of several statements is one transaction.
        await fails("23505", () => one.query("INSERT INTO np_t VALUES (3, 0); INSERT INTO np_t VALUES (1, 0)"));
        equal(await rows(two, "SELECT count(*) FROM np_t"), [["2"]]);
    })));

check("definitions", "a migration: tables, indexes and rows in one transaction", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_m");
        await client.query("BEGIN");
        await client.query("CREATE TABLE np_m (id int PRIMARY KEY, s text)");
        await client.query("CREATE INDEX np_m_s ON np_m (s)");
        await client.query("INSERT INTO np_m VALUES ($1, $2)", [1, "a"]);
        await client.query("COMMIT");
        equal(await rows(client, "SELECT * FROM np_m"), [[1, "a"]]);
    }));

check("pool", "Pool: concurrent clients, release, errors", async () => {
    const pool = new pg.Pool({ max: 5 });
    try {
        await pool.query("DROP TABLE IF EXISTS np_p");
        await pool.query("CREATE TABLE np_p (id int PRIMARY KEY, n int NOT NULL)");
        await pool.query("INSERT INTO np_p VALUES (1, 0)");
        await Promise.all(Array.from({ length: 50 }, () => pool.query("UPDATE np_p SET n = n + 1 WHERE id = $1", [1])));
        equal((await pool.query("SELECT n FROM np_p")).rows, [{ n: 50 }]);
        const client = await pool.connect();
        await client.query("BEGIN");
        await client.query("UPDATE np_p SET n = 0");
        await client.query("ROLLBACK");
        client.release();
        equal((await pool.query("SELECT n FROM np_p")).rows, [{ n: 50 }]);
        await fails("42P01", () => pool.query("SELECT * FROM np_nothing"));
    } finally {
        await pool.end();
    }
});

check("cursors", "pg-cursor: portals with row limits, closed early", () =>
    connected(async (client) => {
        const cursor = client.query(new Cursor("SELECT g FROM generate_series(1, $1::int) g", [100]));
        equal((await cursor.read(3)).map((row) => row.g), [1, 2, 3]);
        equal((await cursor.read(50)).length, 50);
        equal((await cursor.read(1000)).length, 47);
        equal((await cursor.read(1)).length, 0);
        await cursor.close();
        const early = client.query(new Cursor("SELECT g FROM generate_series(1, 100) g"));
        await early.read(1);
        await early.close();
        const bad = client.query(new Cursor("SELECT nothing"));
        await fails("42703", () => bad.read(1));
        equal(await rows(client, "SELECT 1"), [[1]]);
        await client.query("BEGIN");
        const inside = client.query(new Cursor("SELECT g FROM generate_series(1, 10) g"));
        equal((await inside.read(4)).length, 4);
        await inside.close();
        await client.query("COMMIT");
    }));

check("streams", "pg-query-stream", () =>
    connected(async (client) => {
        const stream = client.query(new QueryStream("SELECT g, 'x' || g AS s FROM generate_series(1, $1::int) g", [1000], { batchSize: 50 }));
        let sum = 0;
        for await (const row of stream) sum += row.g;
        equal(sum, 500500);
        const left = client.query(new QueryStream("SELECT g FROM generate_series(1, 1000) g", [], { batchSize: 10 }));
        for await (const row of left) if (row.g === 25) break;
        equal(await rows(client, "SELECT 1"), [[1]]);
    }));

check("copies", "pg-copy-streams: in, out, errors, an abandoned copy", () =>
    connected(async (client) => {
        await client.query("DROP TABLE IF EXISTS np_c");
        await client.query("CREATE TABLE np_c (id int PRIMARY KEY, s text)");
        const copy = async (text, lines) => {
            const into = client.query(copyFrom(text));
            await pipeline(Readable.from(lines), into);
            return into.rowCount;
        };
        equal(await copy("COPY np_c FROM STDIN", ["1\ta\n2\t", "\\N\n"]), 2);
        equal(await copy("COPY np_c (s, id) FROM STDIN WITH (FORMAT csv)", Array.from({ length: 5000 }, (_, i) => `"s,${i}",${i + 10}\n`)), 5000);
        equal(await rows(client, "SELECT * FROM np_c WHERE id < 11 ORDER BY id"), [[1, "a"], [2, null], [10, "s,0"]]);
        await fails("22P02", () => copy("COPY np_c FROM STDIN", ["x\ta\n"]));
        await fails("23505", () => copy("COPY np_c FROM STDIN", ["9000\ta\n", "1\ta\n"]));
        let out = "";
        for await (const chunk of client.query(copyTo("COPY (SELECT * FROM np_c WHERE id < 11 ORDER BY id) TO STDOUT"))) out += chunk;
        equal(out, "1\ta\n2\t\\N\n10\ts,0\n");
        const abandoned = client.query(copyFrom("COPY np_c FROM STDIN"));
        abandoned.write("7000\tx\n");
        await fails("57014", () => new Promise((resolve, reject) => {
            abandoned.on("error", reject);
            abandoned.destroy();
            client.query("SELECT 1").then(resolve, reject);
        })).catch(() => {});
        equal(await rows(client, "SELECT count(*) FROM np_c"), [["5002"]]);
    }));

check("calls", "CALL and functions", () =>
    connected(async (client) => {
        await client.query("DROP FUNCTION IF EXISTS np_add(int, int); DROP PROCEDURE IF EXISTS np_put(int, text); DROP FUNCTION IF EXISTS np_all(); DROP TABLE IF EXISTS np_f");
        await client.query("CREATE TABLE np_f (id int PRIMARY KEY, s text)");
        await client.query("CREATE FUNCTION np_add(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a + b; END $$");
        await client.query("CREATE FUNCTION np_all() RETURNS SETOF np_f LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM np_f ORDER BY id; END $$");
        await client.query("CREATE PROCEDURE np_put(p_id int, p_s text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO np_f VALUES (p_id, p_s); END $$");
        equal((await client.query("SELECT np_add($1, $2) AS sum", [1, 2])).rows, [{ sum: 3 }]);
        equal((await client.query("CALL np_put($1, $2)", [1, "a"])).command, "CALL");
        await client.query({ name: "put", text: "CALL np_put($1, $2)", values: [2, "b"] });
        equal((await client.query("SELECT * FROM np_all()")).rows, [{ id: 1, s: "a" }, { id: 2, s: "b" }]);
        const error = await fails("23505", () => client.query("CALL np_put($1, $2)", [1, "again"]));
        equal(error.constraint, "np_f_pkey");
    }));

check("notices", "notices are events", () =>
    connected(async (client) => {
        const got = [];
        client.on("notice", (notice) => got.push([notice.severity, notice.message]));
        await client.query("DROP TABLE IF EXISTS np_nothing");
        equal(got, [["NOTICE", 'table "np_nothing" does not exist, skipping']]);
    }));

await main("nodepg", 30);
