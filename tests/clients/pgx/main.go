// Checks of pgx and lib/pq against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

var (
	all         = os.Getenv("CHECK_ALL") != ""
	ctx         = context.Background()
	differences []string
)

type stopped struct{}

// difference tells what is not as it should be; without CHECK_ALL the check ends there.
func difference(text string) {
	for up := 1; up < 10; up++ {
		_, _, line, _ := runtime.Caller(up)
		frame, _, _, _ := runtime.Caller(up)
		name := runtime.FuncForPC(frame).Name()
		if strings.HasSuffix(name, "equal") || strings.HasSuffix(name, "ok") || strings.HasSuffix(name, "fails") {
			continue
		}
		text = fmt.Sprintf("line %d: %s", line, text)
		break
	}
	differences = append(differences, text)
	if !all {
		panic(stopped{})
	}
}

func equal(have, want any) {
	if !reflect.DeepEqual(have, want) {
		difference(fmt.Sprintf("got %#v, expected %#v", have, want))
	}
}

func ok(err error) bool {
	if err != nil {
		difference(err.Error())
	}
	return err == nil
}

func fails(state string, err error) *pgconn.PgError {
	var is *pgconn.PgError
	if !errors.As(err, &is) {
		difference(fmt.Sprintf("got error %v, expected %s", err, state))
		return &pgconn.PgError{}
	}
	equal(is.Code, state)
	return is
}

func connect(options string) *pgx.Conn {
	conn, err := pgx.Connect(ctx, options)
	if err != nil {
		panic(err)
	}
	return conn
}

func run(conn *pgx.Conn, statements ...string) {
	for _, text := range statements {
		_, err := conn.Exec(ctx, text)
		ok(err)
	}
}

func one[T any](conn *pgx.Conn, text string, arguments ...any) (value T) {
	ok(conn.QueryRow(ctx, text, arguments...).Scan(&value))
	return
}

type check struct {
	name, about string
	run         func()
}

var checks = []check{
	{"connects", "connection, parameters, ping, all ways of executing", func() {
		conn := connect("application_name=checks")
		defer conn.Close(ctx)
		ok(conn.Ping(ctx))
		equal(one[string](conn, "SHOW application_name"), "checks")
		equal(conn.PgConn().ParameterStatus("server_encoding"), "UTF8")
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			var number int32
			var text string
			for range 3 {
				ok(conn.QueryRow(ctx, "SELECT $1::int, $2::text", mode, 7, "x'y").Scan(&number, &text))
				equal([]any{number, text}, []any{int32(7), "x'y"})
			}
		}
	}},
	{"types", "values of all types, binary both ways", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_types", `CREATE TABLE go_types (id int PRIMARY KEY, i2 int2, i8 int8, n numeric(12,3), s text, v varchar(10), b bool,
			ts timestamp, tz timestamptz, d date, raw bytea, f8 float8, f4 float4, u uuid)`)
		at := time.Date(2024, 2, 29, 12, 30, 15, 123456000, time.UTC)
		day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
		var number pgtype.Numeric
		ok(number.Scan("1234.5"))
		values := []any{int32(1), int16(-5), int64(-1 << 63), number, "naïve ☃ '\\", "v", true, at, at, day, []byte{0, 1, 255}, 1.5e-300, float32(0.25), [16]byte{0xa0, 0xee, 15: 1}}
		marks := "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14"
		_, err := conn.Exec(ctx, "INSERT INTO go_types VALUES ("+marks+")", values...)
		ok(err)
		_, err = conn.Exec(ctx, "INSERT INTO go_types (id, s, n) VALUES ($1, $2, $3)", 2, nil, nil)
		ok(err)
		rows, err := conn.Query(ctx, "SELECT * FROM go_types WHERE id = $1", 1)
		ok(err)
		got, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		if ok(err) {
			text, _ := got[3].(pgtype.Numeric).Value()
			equal(text, "1234.500")
			got[3] = number
			got[8] = got[8].(time.Time).UTC()
			equal(got, values)
		}
		for index, name := range []string{"i2", "i8", "n", "s", "v", "b", "ts", "tz", "d", "raw", "f8", "f4", "u"} {
			equal(one[int32](conn, "SELECT id FROM go_types WHERE "+name+" = $1", values[index+1]), int32(1))
		}
		equal(one[*string](conn, "SELECT s FROM go_types WHERE id = $1", 2), (*string)(nil))
		equal(one[[]int32](conn, "SELECT $1::int[]", []int32{1, 2}), []int32{1, 2})
		equal(one[[]string](conn, "SELECT array_agg(s ORDER BY id) FROM go_types WHERE id = $1", 1), []string{"naïve ☃ '\\"})
		equal(one[int32](conn, "SELECT id FROM go_types WHERE id = ANY ($1)", []int{1, 99}), int32(1))
		equal(one[int64](conn, "SELECT count(*) FROM go_types WHERE tz > $1 AND d <= $2 LIMIT $3", at.Add(-time.Hour), day, 5), int64(1))
	}},
	{"intervals", "time.Duration beside timestamps", func() {
		conn := connect("")
		defer conn.Close(ctx)
		equal(one[bool](conn, "SELECT now() - $1::interval < now()", time.Hour), true)
	}},
	{"statements", "command tags, structs, several rows, prepared statements, definitions beside them", func() {
		conn, other := connect(""), connect("")
		defer conn.Close(ctx)
		defer other.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_s", "CREATE TABLE go_s (id int PRIMARY KEY, name text)")
		for id := range 10 {
			tag, err := conn.Exec(ctx, "INSERT INTO go_s (id, name) VALUES ($1, $2)", id, fmt.Sprint("n", id))
			ok(err)
			equal(tag.String(), "INSERT 0 1")
		}
		type item struct {
			ID   int32
			Name string
		}
		rows, _ := conn.Query(ctx, "SELECT id, name FROM go_s WHERE id > $1 ORDER BY id", 7)
		items, err := pgx.CollectRows(rows, pgx.RowToStructByName[item])
		ok(err)
		equal(items, []item{{8, "n8"}, {9, "n9"}})
		_, err = conn.Prepare(ctx, "named", "UPDATE go_s SET name = $1 WHERE id = $2 RETURNING name")
		ok(err)
		equal(one[string](conn, "named", "new", 3), "new")
		ok(conn.Deallocate(ctx, "named"))
		run(other, "ALTER TABLE go_s ADD COLUMN more int")
		equal(one[string](conn, "SELECT name FROM go_s WHERE id = $1", 3), "new")
		ok(conn.DeallocateAll(ctx))
		_, err = conn.Exec(ctx, "INSERT INTO go_s (id) SELECT * FROM unnest($1::int[])", []int32{100, 101})
		ok(err)
		_, err = conn.Exec(ctx, "INSERT INTO go_s (id, name) SELECT * FROM unnest($1::int[], $2::text[])", []int32{102, 103}, []string{"a", "b"})
		ok(err)
		equal(one[int64](conn, "SELECT count(*) FROM go_s"), int64(14))
	}},
	{"batches", "SendBatch: a pipeline is one transaction", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_b", "CREATE TABLE go_b (id int PRIMARY KEY, n int)")
		batch := &pgx.Batch{}
		for id := range 50 {
			batch.Queue("INSERT INTO go_b VALUES ($1, $2)", id, id)
		}
		var sum int64
		batch.Queue("SELECT sum(n) FROM go_b").QueryRow(func(row pgx.Row) error { return row.Scan(&sum) })
		ok(conn.SendBatch(ctx, batch).Close())
		equal(sum, int64(1225))
		batch = &pgx.Batch{}
		for _, id := range []int{100, 101, 5, 102} {
			batch.Queue("INSERT INTO go_b VALUES ($1, $2)", id, id)
		}
		fails("23505", conn.SendBatch(ctx, batch).Close())
		equal(one[int64](conn, "SELECT count(*) FROM go_b"), int64(50))
	}},
	{"transactions", "Begin, nested transactions, isolation, read only, two connections", func() {
		conn, other := connect(""), connect("")
		defer conn.Close(ctx)
		defer other.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_t", "CREATE TABLE go_t (id int PRIMARY KEY)")
		ok(pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO go_t VALUES ($1)", 1)
			ok(err)
			inner, err := tx.Begin(ctx)
			ok(err)
			_, err = inner.Exec(ctx, "INSERT INTO go_t VALUES ($1)", 1)
			fails("23505", err)
			ok(inner.Rollback(ctx))
			_, err = tx.Exec(ctx, "INSERT INTO go_t VALUES ($1)", 2)
			return err
		}))
		equal(one[int64](other, "SELECT count(*) FROM go_t"), int64(2))
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable, AccessMode: pgx.ReadOnly, DeferrableMode: pgx.Deferrable})
		if ok(err) {
			_, err = tx.Exec(ctx, "DELETE FROM go_t")
			fails("25006", err)
			ok(tx.Rollback(ctx))
		}
		tx, err = conn.Begin(ctx)
		ok(err)
		_, err = tx.Exec(ctx, "SELECT nothing")
		fails("42703", err)
		equal(tx.Commit(ctx), pgx.ErrTxCommitRollback)
	}},
	{"definitions", "a migration in one transaction, and in one text", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_d", "BEGIN", "CREATE TABLE go_d (id int PRIMARY KEY)", "ROLLBACK", "CREATE TABLE IF NOT EXISTS go_d (id int PRIMARY KEY, n int); CREATE INDEX go_d_n ON go_d (n); INSERT INTO go_d VALUES (1, 2)")
		equal(one[int32](conn, "SELECT n FROM go_d"), int32(2))
	}},
	{"copies", "CopyFrom (binary), CopyTo", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_c", "CREATE TABLE go_c (id int PRIMARY KEY, name text, n numeric(8,2), at timestamptz)")
		rows := [][]any{}
		for id := range 1000 {
			rows = append(rows, []any{id, fmt.Sprint("n", id), float64(id) / 4, time.Now()})
		}
		count, err := conn.CopyFrom(ctx, pgx.Identifier{"go_c"}, []string{"id", "name", "n", "at"}, pgx.CopyFromRows(rows))
		ok(err)
		equal(count, int64(1000))
		_, err = conn.CopyFrom(ctx, pgx.Identifier{"go_c"}, []string{"id"}, pgx.CopyFromRows([][]any{{2000}, {1}}))
		fails("23505", err)
		var out strings.Builder
		_, err = conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT id FROM go_c WHERE id < 2 ORDER BY id) TO STDOUT")
		ok(err)
		equal(out.String(), "0\n1\n")
		equal(one[int64](conn, "SELECT count(*) FROM go_c"), int64(1000))
	}},
	{"keys", "serial columns and RETURNING", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_k", "CREATE TABLE go_k (id bigserial PRIMARY KEY, name text)")
		equal(one[int64](conn, "INSERT INTO go_k (name) VALUES ($1) RETURNING id", "a"), int64(1))
		equal(one[int64](conn, "INSERT INTO go_k (name) VALUES ($1) RETURNING id", "b"), int64(2))
	}},
	{"calls", "CALL and functions", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP FUNCTION IF EXISTS go_add(int, int)", "DROP PROCEDURE IF EXISTS go_put(int)", "DROP TABLE IF EXISTS go_f", "CREATE TABLE go_f (id int PRIMARY KEY)",
			"CREATE FUNCTION go_add(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a + b; END $$",
			"CREATE PROCEDURE go_put(p int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO go_f VALUES (p); END $$")
		equal(one[int32](conn, "SELECT go_add($1, $2)", 1, 2), int32(3))
		equal(one[int32](conn, "SELECT go_add($1, $2) AS sum", 1, 2), int32(3))
		_, err := conn.Exec(ctx, "CALL go_put($1)", 1)
		ok(err)
		_, err = conn.Exec(ctx, "CALL go_put($1)", 1)
		equal(fails("23505", err).ConstraintName, "go_f_pkey")
	}},
	{"errors", "PgError's fields, errors in all ways of executing", func() {
		conn := connect("")
		defer conn.Close(ctx)
		run(conn, "DROP TABLE IF EXISTS go_child", "DROP TABLE IF EXISTS go_parent", "CREATE TABLE go_parent (id int PRIMARY KEY)", "CREATE TABLE go_child (id int PRIMARY KEY, p int REFERENCES go_parent)")
		_, err := conn.Exec(ctx, "INSERT INTO go_child VALUES ($1, $2)", 1, 1)
		is := fails("23503", err)
		equal([]string{is.SchemaName, is.TableName, is.ConstraintName}, []string{"public", "go_child", "go_child_p_fkey"})
		_, err = conn.Exec(ctx, "SELECT * FROM go_nothing WHERE id = $1", 1)
		equal(fails("42P01", err).Position, int32(15))
		_, err = conn.Exec(ctx, "SELECT 1 / $1", 0)
		fails("22012", err)
		ok(conn.Ping(ctx))
	}},
	{"pool", "pgxpool: concurrent use", func() {
		pool, err := pgxpool.New(ctx, "pool_max_conns=4")
		ok(err)
		defer pool.Close()
		_, err = pool.Exec(ctx, "DROP TABLE IF EXISTS go_p")
		ok(err)
		_, err = pool.Exec(ctx, "CREATE TABLE go_p (id int PRIMARY KEY, n int)")
		ok(err)
		_, err = pool.Exec(ctx, "INSERT INTO go_p VALUES (1, 0)")
		ok(err)
		done := make(chan error)
		for range 20 {
			go func() {
				_, err := pool.Exec(ctx, "UPDATE go_p SET n = n + 1 WHERE id = $1", 1)
				done <- err
			}()
		}
		for range 20 {
			ok(<-done)
		}
		var n int
		ok(pool.QueryRow(ctx, "SELECT n FROM go_p").Scan(&n))
		equal(n, 20)
	}},
	{"database_sql", "database/sql over pgx and over lib/pq", func() {
		for _, driver := range []string{"pgx", "postgres"} {
			db, err := sql.Open(driver, "")
			ok(err)
			run := func(text string, arguments ...any) {
				_, err := db.Exec(text, arguments...)
				ok(err)
			}
			run("DROP TABLE IF EXISTS go_q")
			run("CREATE TABLE go_q (id int PRIMARY KEY, name varchar(20), at timestamptz, raw bytea)")
			at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
			run("INSERT INTO go_q VALUES ($1, $2, $3, $4)", 1, "a", at, []byte{0, 255})
			statement, err := db.Prepare("SELECT name, at, raw FROM go_q WHERE id = $1")
			if ok(err) {
				var name sql.NullString
				var have time.Time
				var raw []byte
				ok(statement.QueryRow(1).Scan(&name, &have, &raw))
				equal([]any{name.String, have.UTC(), raw}, []any{"a", at, []byte{0, 255}})
				ok(statement.Close())
			}
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
			if ok(err) {
				_, err = tx.Exec("DELETE FROM go_q")
				ok(err)
				ok(tx.Rollback())
			}
			var count int
			ok(db.QueryRow("SELECT count(*) FROM go_q").Scan(&count))
			equal(count, 1)
			ok(db.Close())
		}
	}},
}

func main() {
	done, failed := 0, 0
	for _, check := range checks {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], check.name) {
			continue
		}
		differences = nil
		func() {
			defer func() {
				if caught := recover(); caught != nil {
					if _, is := caught.(stopped); !is {
						differences = append(differences, fmt.Sprint(caught))
					}
				}
			}()
			check.run()
		}()
		if len(differences) == 0 {
			done++
			fmt.Printf("pgx: %s: %s\n", check.name, check.about)
			continue
		}
		failed++
		for _, text := range differences {
			fmt.Fprintf(os.Stderr, "pgx: FAILED %s: %s\n", check.name, text)
		}
		if !all {
			break
		}
	}
	fmt.Printf("pgx: %d checks", done)
	if failed > 0 {
		fmt.Printf(", %d FAILED\n", failed)
		os.Exit(1)
	}
	fmt.Println()
}
