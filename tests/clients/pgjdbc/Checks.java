// Checks of pgjdbc against the server that PGHOST and PGPORT name. They pass against PostgreSQL 15, too.

import java.io.StringReader;
import java.io.StringWriter;
import java.io.ByteArrayInputStream;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

public class Checks {
    interface Action {
        void run() throws Exception;
    }

    record Check(String name, String about, Action action) {}

    static final List<Check> CHECKS = new ArrayList<>();
    static final boolean ALL = System.getenv("CHECK_ALL") != null;
    static final List<String> differences = new ArrayList<>();

    static void check(String name, String about, Action action) {
        CHECKS.add(new Check(name, about, action));
    }

    static void difference(String text) {
        if (!ALL) throw new AssertionError(text);
        int line = 0;
        for (StackTraceElement at : Thread.currentThread().getStackTrace()) {
            String method = at.getMethodName();
            if (at.getClassName().startsWith("Checks") && !Set.of("difference", "equal", "attempt", "fails").contains(method)) {
                line = at.getLineNumber();
                break;
            }
        }
        differences.add("line " + line + ": " + text);
    }

    static void equal(Object have, Object want) {
        if (!Objects.deepEquals(have, want)) difference("got " + show(have) + ", expected " + show(want));
    }

    static String show(Object value) {
        if (value instanceof Object[] array) return Arrays.deepToString(array);
        if (value instanceof byte[] bytes) return Arrays.toString(bytes);
        if (value instanceof int[] ints) return Arrays.toString(ints);
        return value + (value == null ? "" : " (" + value.getClass().getSimpleName() + ")");
    }

    /** Steps that do not depend on one another: with CHECK_ALL the next goes on. */
    static void attempt(Action action) throws Exception {
        if (!ALL) {
            action.run();
            return;
        }
        try {
            action.run();
        } catch (Exception error) {
            difference(describe(error));
        }
    }

    static String describe(Throwable error) {
        String state = error instanceof SQLException sql ? " " + sql.getSQLState() : "";
        return error.getClass().getSimpleName() + state + ": " + String.valueOf(error.getMessage()).replace("\n", " | ");
    }

    static SQLException fails(String state, Action action) throws Exception {
        try {
            action.run();
        } catch (SQLException error) {
            equal(error.getSQLState(), state);
            return error;
        }
        difference("no error, expected " + state);
        return new SQLException("none");
    }

    static Connection connect(String... options) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("PGUSER"));
        for (int i = 0; i < options.length; i += 2) properties.setProperty(options[i], options[i + 1]);
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection(url, properties);
    }

    static void run(Connection conn, String... statements) throws SQLException {
        try (Statement statement = conn.createStatement()) {
            for (String text : statements) statement.execute(text);
        }
    }

    /** All rows, their columns as strings. */
    static List<List<String>> rows(ResultSet result, String... columns) throws SQLException {
        List<List<String>> rows = new ArrayList<>();
        while (result.next()) {
            List<String> row = new ArrayList<>();
            if (columns.length == 0) {
                for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) row.add(result.getString(i));
            }
            for (String column : columns) row.add(result.getString(column));
            rows.add(row);
        }
        result.close();
        return rows;
    }

    static List<List<String>> query(Connection conn, String text, Object... parameters) throws SQLException {
        try (PreparedStatement statement = conn.prepareStatement(text)) {
            for (int i = 0; i < parameters.length; i++) statement.setObject(i + 1, parameters[i]);
            return rows(statement.executeQuery());
        }
    }

    static List<List<String>> table(String... rows) {
        List<List<String>> table = new ArrayList<>();
        for (String row : rows) {
            List<String> cells = new ArrayList<>();
            for (String cell : row.split(",", -1)) cells.add(cell.equals("~") ? null : cell);
            table.add(cells);
        }
        return table;
    }

    static final String[] SHOP = {
        "DROP TABLE IF EXISTS jd_line", "DROP TABLE IF EXISTS jd_item", "DROP TABLE IF EXISTS jd_kind",
        "CREATE TABLE jd_kind (a int, b int, label varchar(20) NOT NULL, PRIMARY KEY (a, b))",
        "CREATE TABLE jd_item (id int PRIMARY KEY, name varchar(30) NOT NULL, price numeric(10,2) DEFAULT 1.50, ka int, kb int,"
            + " note text, made timestamp, at timestamptz DEFAULT now(), day date, ok boolean, raw bytea, f8 double precision, i8 bigint, i2 smallint, r real, u uuid,"
            + " CONSTRAINT jd_item_name UNIQUE (name), CONSTRAINT jd_item_kind FOREIGN KEY (ka, kb) REFERENCES jd_kind (a, b))",
        "CREATE INDEX jd_item_day ON jd_item (day, price)",
        "CREATE TABLE jd_line (id bigint PRIMARY KEY, item_id int NOT NULL REFERENCES jd_item (id), n int CHECK (n > 0))",
    };

    public static void main(String[] only) throws Exception {
        check("connects", "connection properties, server version, isValid, client info, close", () -> {
            try (Connection conn = connect("ApplicationName", "checks", "options", "-c statement_timeout=9s")) {
                equal(conn.isValid(5), true);
                DatabaseMetaData about = conn.getMetaData();
                equal(about.getDatabaseProductName(), "PostgreSQL");
                equal(about.getDatabaseMajorVersion() >= 15, true);
                equal(conn.getCatalog(), "app");
                equal(conn.getSchema(), "public");
                equal(about.getUserName(), "tester");
                equal(query(conn, "SHOW application_name"), table("checks"));
                equal(query(conn, "SHOW statement_timeout"), table("9s"));
                conn.setClientInfo("ApplicationName", "other");
                equal(query(conn, "SHOW application_name"), table("other"));
                conn.setSchema("public");
                equal(conn.getClientInfo("ApplicationName"), "other");
                equal(((PGConnection) conn).getBackendPID() > 0, true);
                equal(conn.getWarnings(), null);
                equal(query(conn, "SELECT ?, ?", 1, "x"), table("1,x"));
                equal(conn.nativeSQL("{fn now()}"), "now()");
                attempt(() -> equal(conn.getMetaData().getMaxColumnsInIndex(), 32));
                equal(conn.getMetaData().getSQLKeywords().length() > 0, true);
            }
            for (String mode : new String[] {"simple", "extended", "extendedForPrepared", "extendedCacheEverything"}) {
                attempt(() -> {
                    try (Connection conn = connect("preferQueryMode", mode)) {
                        run(conn, "DROP TABLE IF EXISTS jd_mode", "CREATE TABLE jd_mode (id int PRIMARY KEY, s text)", "INSERT INTO jd_mode VALUES (1, 'a')");
                        for (int i = 0; i < 8; i++) equal(query(conn, "SELECT id, s FROM jd_mode WHERE id = ?", 1), table("1,a"));
                    }
                });
            }
            attempt(() -> connect("assumeMinServerVersion", "9.4").close());
            attempt(() -> connect("readOnly", "true", "readOnlyMode", "always").close());
        });

        check("types", "parameters and results of all types, as text and (from the sixth use on) binary", () -> {
            try (Connection conn = connect("prepareThreshold", "3")) {
                run(conn, SHOP);
                String insert = "INSERT INTO jd_item (id, name, price, note, made, at, day, ok, raw, f8, i8, i2, r, u) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
                LocalDateTime made = LocalDateTime.of(2024, 2, 29, 1, 2, 3, 456789000);
                OffsetDateTime at = OffsetDateTime.of(2023, 12, 31, 23, 59, 59, 0, ZoneOffset.UTC);
                UUID uuid = UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
                try (PreparedStatement statement = conn.prepareStatement(insert)) {
                    for (int id = 1; id <= 8; id++) {
                        statement.setInt(1, id);
                        statement.setString(2, "n" + id);
                        statement.setBigDecimal(3, new BigDecimal("12345.67"));
                        statement.setString(4, "naïve ☃ '\\");
                        if (id % 2 == 0) statement.setTimestamp(5, Timestamp.valueOf(made)); else statement.setObject(5, made);
                        if (id % 2 == 0) statement.setTimestamp(6, Timestamp.from(at.toInstant())); else statement.setObject(6, at);
                        if (id % 2 == 0) statement.setDate(7, java.sql.Date.valueOf("2024-02-29")); else statement.setObject(7, LocalDate.of(2024, 2, 29));
                        statement.setBoolean(8, true);
                        statement.setBytes(9, new byte[] {0, 1, -1});
                        statement.setDouble(10, -1.5e300);
                        statement.setLong(11, Long.MIN_VALUE);
                        statement.setShort(12, Short.MAX_VALUE);
                        statement.setFloat(13, 0.25f);
                        statement.setObject(14, uuid);
                        equal(statement.executeUpdate(), 1);
                    }
                    statement.setInt(1, 9);
                    statement.setString(2, "nulls");
                    for (int[] each : new int[][] {{3, Types.NUMERIC}, {4, Types.VARCHAR}, {5, Types.TIMESTAMP}, {6, Types.TIMESTAMP_WITH_TIMEZONE},
                            {7, Types.DATE}, {8, Types.BOOLEAN}, {9, Types.BINARY}, {10, Types.DOUBLE}, {11, Types.BIGINT}, {12, Types.SMALLINT}, {13, Types.REAL}, {14, Types.OTHER}}) {
                        statement.setNull(each[0], each[1]);
                    }
                    equal(statement.executeUpdate(), 1);
                }
                try (PreparedStatement statement = conn.prepareStatement("SELECT * FROM jd_item WHERE id = ?")) {
                    for (int id = 1; id <= 8; id++) {
                        statement.setInt(1, id);
                        ResultSet row = statement.executeQuery();
                        row.next();
                        equal(row.getInt("id"), id);
                        equal(row.getBigDecimal("price"), new BigDecimal("12345.67"));
                        equal(row.getString("note"), "naïve ☃ '\\");
                        equal(row.getTimestamp("made").toLocalDateTime(), made);
                        equal(row.getObject("made", LocalDateTime.class), made);
                        equal(row.getObject("at", OffsetDateTime.class).toInstant(), at.toInstant());
                        equal(row.getDate("day").toString(), "2024-02-29");
                        equal(row.getObject("day", LocalDate.class), LocalDate.of(2024, 2, 29));
                        equal(row.getBoolean("ok"), true);
                        equal(row.getBytes("raw"), new byte[] {0, 1, -1});
                        equal(row.getDouble("f8"), -1.5e300);
                        equal(row.getLong("i8"), Long.MIN_VALUE);
                        equal(row.getObject("i2"), 32767);
                        equal(row.getFloat("r"), 0.25f);
                        equal(row.getObject("u"), uuid);
                        equal(row.getString("made"), "2024-02-29 01:02:03.456789");
                        equal(row.next(), false);
                    }
                    statement.setInt(1, 9);
                    ResultSet row = statement.executeQuery();
                    row.next();
                    for (String column : new String[] {"price", "note", "made", "at", "day", "ok", "raw", "f8", "i8", "i2", "r", "u"}) equal(row.getObject(column), null);
                    ResultSetMetaData meta = row.getMetaData();
                    List<String> have = new ArrayList<>();
                    for (int i = 1; i <= meta.getColumnCount(); i++) have.add(meta.getColumnName(i) + ":" + meta.getColumnTypeName(i) + ":" + meta.getColumnType(i));
                    equal(String.join(" ", have), "id:int4:4 name:varchar:12 price:numeric:2 ka:int4:4 kb:int4:4 note:text:12 made:timestamp:93 at:timestamptz:93 day:date:91 "
                        + "ok:bool:-7 raw:bytea:-2 f8:float8:8 i8:int8:-5 i2:int2:5 r:float4:7 u:uuid:1111");
                    equal(meta.getPrecision(3) + "," + meta.getScale(3) + "," + meta.getPrecision(2), "10,2,30");
                    attempt(() -> {
                        equal(meta.getTableName(1), "jd_item");
                        equal(((org.postgresql.PGResultSetMetaData) meta).getBaseColumnName(2), "name");
                        equal(meta.isNullable(1), ResultSetMetaData.columnNoNulls);
                        equal(meta.isNullable(3), ResultSetMetaData.columnNullable);
                        equal(meta.isAutoIncrement(1), false);
                    });
                }
                for (String column : new String[] {"made", "day", "u", "f8", "i8", "i2", "ok", "price", "note", "raw"}) {
                    attempt(() -> {
                        Object value;
                        try (Statement statement = conn.createStatement(); ResultSet row = statement.executeQuery("SELECT " + column + " FROM jd_item WHERE id = 1")) {
                            row.next();
                            value = row.getObject(1);
                        }
                        for (int i = 0; i < 5; i++) equal(query(conn, "SELECT count(*) FROM jd_item WHERE " + column + " = ?", value), table("8"));
                    });
                }
            }
        });

        check("arrays", "Connection.createArrayOf, = ANY (?), unnest, array results", () -> {
            try (Connection conn = connect("prepareThreshold", "2")) {
                run(conn, SHOP);
                run(conn, "INSERT INTO jd_kind SELECT g, g, 'l' || g FROM generate_series(1, 5) g");
                for (int i = 0; i < 4; i++) {
                    attempt(() -> equal(query(conn, "SELECT a FROM jd_kind WHERE a = ANY (?) ORDER BY a", conn.createArrayOf("int4", new Object[] {1, 3, null})), table("1", "3")));
                    attempt(() -> equal(query(conn, "SELECT a FROM jd_kind WHERE label = ANY (?) ORDER BY a", conn.createArrayOf("text", new Object[] {"l2", "it's {,\"\\"})), table("2")));
                    attempt(() -> equal(query(conn, "SELECT * FROM unnest(?) AS x", conn.createArrayOf("int8", new Object[] {5L, 6L})), table("5", "6")));
                    attempt(() -> {
                        try (Statement statement = conn.createStatement(); ResultSet row = statement.executeQuery("SELECT array_agg(a ORDER BY a), array_agg(label ORDER BY a) FROM jd_kind")) {
                            row.next();
                            equal(row.getArray(1).getArray(), new Integer[] {1, 2, 3, 4, 5});
                            equal(row.getArray(2).getArray(), new String[] {"l1", "l2", "l3", "l4", "l5"});
                        }
                    });
                }
            }
        });

        check("statements", "update counts, several statements in one text, maxRows, empty statements, DDL", () -> {
            try (Connection conn = connect(); Statement statement = conn.createStatement()) {
                run(conn, SHOP);
                equal(statement.executeUpdate("INSERT INTO jd_kind VALUES (1, 1, 'a'), (2, 2, 'b')"), 2);
                equal(statement.execute("UPDATE jd_kind SET label = 'c' WHERE a = 1; SELECT label FROM jd_kind WHERE a = 1; DELETE FROM jd_kind WHERE a = 2"), false);
                equal(statement.getUpdateCount(), 1);
                equal(statement.getMoreResults(), true);
                equal(rows(statement.getResultSet()), table("c"));
                equal(statement.getMoreResults(), false);
                equal(statement.getUpdateCount(), 1);
                fails("23505", () -> statement.execute("INSERT INTO jd_kind VALUES (8, 8, 'x'); INSERT INTO jd_kind VALUES (1, 1, 'x')"));
                equal(query(conn, "SELECT count(*) FROM jd_kind"), table("1"));
                statement.setMaxRows(3);
                equal(rows(statement.executeQuery("SELECT g FROM generate_series(1, 10) g")), table("1", "2", "3"));
                statement.setMaxRows(0);
                equal(statement.execute(""), false);
                equal(statement.execute("/* nothing */"), false);
                equal(statement.executeLargeUpdate("DELETE FROM jd_kind"), 1L);
                equal(rows(statement.executeQuery("SELECT {fn concat('a', 'b')}, {d '2024-01-02'}, {fn ucase('x')}")), table("ab,2024-01-02,X"));
            }
        });

        check("prepared", "server-side statements beyond the threshold, of changing types; DDL beside them", () -> {
            try (Connection conn = connect("prepareThreshold", "1"); Connection other = connect()) {
                run(conn, "DROP TABLE IF EXISTS jd_p", "CREATE TABLE jd_p (id int PRIMARY KEY, n bigint)");
                try (PreparedStatement insert = conn.prepareStatement("INSERT INTO jd_p VALUES (?, ?)")) {
                    for (int i = 0; i < 20; i++) {
                        insert.setInt(1, i);
                        if (i % 2 == 0) insert.setLong(2, i); else insert.setInt(2, i);
                        equal(insert.executeUpdate(), 1);
                    }
                    insert.setInt(1, 20);
                    insert.setNull(2, Types.BIGINT);
                    insert.executeUpdate();
                    equal(((org.postgresql.PGStatement) insert).isUseServerPrepare(), true);
                }
                try (PreparedStatement select = conn.prepareStatement("SELECT * FROM jd_p WHERE id = ?")) {
                    for (int i = 0; i < 5; i++) {
                        select.setInt(1, i);
                        equal(rows(select.executeQuery()), table(i + "," + i));
                    }
                    // Outside a transaction the driver prepares anew by itself when the result has changed.
                    run(other, "ALTER TABLE jd_p ADD COLUMN s text");
                    select.setInt(1, 1);
                    equal(rows(select.executeQuery()), table("1,1,~"));
                }
                attempt(() -> {
                    try (PreparedStatement statement = conn.prepareStatement("SELECT n FROM jd_p WHERE id = ? AND n > ?")) {
                        ParameterMetaData meta = statement.getParameterMetaData();
                        equal(meta.getParameterCount(), 2);
                        equal(meta.getParameterTypeName(2), "int8");
                        equal(statement.getMetaData().getColumnName(1), "n");
                    }
                });
                attempt(() -> {
                    run(conn, "DEALLOCATE ALL");
                    equal(query(conn, "SELECT n FROM jd_p WHERE id = ?", 3), table("3"));
                });
            }
        });

        check("batches", "batches of statements and of parameters, rewritten or not, with errors, with generated keys", () -> {
            for (String rewrite : new String[] {"false", "true"}) {
                try (Connection conn = connect("reWriteBatchedInserts", rewrite)) {
                    run(conn, SHOP);
                    try (PreparedStatement insert = conn.prepareStatement("INSERT INTO jd_kind (a, b, label) VALUES (?, ?, ?)")) {
                        for (int i = 0; i < 300; i++) {
                            insert.setInt(1, i);
                            insert.setInt(2, i);
                            insert.setString(3, "l" + i);
                            insert.addBatch();
                        }
                        int[] counts = insert.executeBatch();
                        equal(counts.length, 300);
                        equal(counts[5], rewrite.equals("true") ? Statement.SUCCESS_NO_INFO : 1);
                        equal(query(conn, "SELECT count(*), sum(a) FROM jd_kind"), table("300,44850"));
                        // A batch in autocommit mode is one transaction: an error undoes all of it.
                        for (int i : new int[] {300, 301, 5, 302}) {
                            insert.setInt(1, i);
                            insert.setInt(2, i);
                            insert.setString(3, "l" + i);
                            insert.addBatch();
                        }
                        SQLException error = fails("23505", insert::executeBatch);
                        equal(error instanceof BatchUpdateException, true);
                        equal(query(conn, "SELECT count(*) FROM jd_kind"), table("300"));
                    }
                    try (Statement statement = conn.createStatement()) {
                        statement.addBatch("UPDATE jd_kind SET label = 'x' WHERE a < 10");
                        statement.addBatch("DELETE FROM jd_kind WHERE a >= 290");
                        statement.addBatch("INSERT INTO jd_kind VALUES (1000, 1, 'y')");
                        equal(statement.executeBatch(), new int[] {10, 10, 1});
                    }
                    conn.setAutoCommit(false);
                    try (PreparedStatement update = conn.prepareStatement("UPDATE jd_kind SET label = ? WHERE a = ? AND b = ?")) {
                        for (int i = 0; i < 200; i++) {
                            update.setString(1, "u" + i);
                            update.setInt(2, i);
                            update.setInt(3, i);
                            update.addBatch();
                        }
                        equal(Arrays.stream(update.executeBatch()).sum(), 200);
                    }
                    conn.rollback();
                    equal(query(conn, "SELECT label FROM jd_kind WHERE a = 150"), table("l150"));
                    try (PreparedStatement insert = conn.prepareStatement("INSERT INTO jd_kind VALUES (?, 1, 'k')", new String[] {"a", "label"})) {
                        for (int i = 2000; i < 2010; i++) {
                            insert.setInt(1, i);
                            insert.addBatch();
                        }
                        insert.executeBatch();
                        List<List<String>> keys = rows(insert.getGeneratedKeys());
                        equal(keys.size(), 10);
                        equal(keys.get(3), List.of("2003", "k"));
                    }
                    conn.commit();
                }
            }
        });

        check("fetch_size", "setFetchSize inside a transaction: portals with row limits", () -> {
            try (Connection conn = connect()) {
                run(conn, SHOP);
                run(conn, "INSERT INTO jd_kind SELECT g, g, 'l' || g FROM generate_series(1, 1000) g");
                conn.setAutoCommit(false);
                for (int size : new int[] {1, 7, 1000, 5000}) {
                    try (PreparedStatement select = conn.prepareStatement("SELECT a FROM jd_kind WHERE a <= ? ORDER BY a")) {
                        select.setFetchSize(size);
                        select.setInt(1, 100);
                        ResultSet result = select.executeQuery();
                        int sum = 0;
                        while (result.next()) {
                            sum += result.getInt(1);
                            if (result.getInt(1) == 50) equal(query(conn, "SELECT count(*) FROM jd_kind"), table("1000"));
                        }
                        equal(sum, 5050);
                    }
                }
                try (Statement statement = conn.createStatement(); Statement second = conn.createStatement()) {
                    statement.setFetchSize(10);
                    second.setFetchSize(3);
                    ResultSet one = statement.executeQuery("SELECT a FROM jd_kind ORDER BY a");
                    ResultSet two = second.executeQuery("SELECT a FROM jd_kind ORDER BY a DESC");
                    for (int i = 1; i <= 100; i++) {
                        one.next();
                        two.next();
                        equal(one.getInt(1) + two.getInt(1), 1001);
                    }
                    one.close();
                    conn.commit();
                }
            }
        });

        check("scrolling", "scrollable and updatable result sets", () -> {
            try (Connection conn = connect(); Statement statement = conn.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                run(conn, SHOP);
                run(conn, "INSERT INTO jd_item (id, name) SELECT g, 'n' || g FROM generate_series(1, 10) g");
                ResultSet result = statement.executeQuery("SELECT id, name, price FROM jd_item ORDER BY id");
                result.last();
                equal(result.getRow(), 10);
                result.absolute(3);
                result.updateString("name", "updated");
                result.updateRow();
                equal(result.getString("name"), "updated");
                result.moveToInsertRow();
                result.updateInt("id", 11);
                result.updateString("name", "inserted");
                result.insertRow();
                result.absolute(1);
                result.deleteRow();
                equal(query(conn, "SELECT id, name FROM jd_item WHERE id IN (1, 3, 11) ORDER BY id"), table("3,updated", "11,inserted"));
            }
        });

        check("generated_keys", "serial and identity columns, RETURN_GENERATED_KEYS", () -> {
            try (Connection conn = connect()) {
                run(conn, "DROP TABLE IF EXISTS jd_s", "DROP TABLE IF EXISTS jd_i",
                    "CREATE TABLE jd_s (id bigserial PRIMARY KEY, s text)", "CREATE TABLE jd_i (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, s text)");
                for (String name : new String[] {"jd_s", "jd_i"}) {
                    try (PreparedStatement insert = conn.prepareStatement("INSERT INTO " + name + " (s) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
                        insert.setString(1, "x");
                        insert.executeUpdate();
                        equal(rows(insert.getGeneratedKeys()), table("1,x"));
                        insert.setString(1, "y");
                        insert.addBatch();
                        insert.setString(1, "z");
                        insert.addBatch();
                        insert.executeBatch();
                        equal(rows(insert.getGeneratedKeys(), "id"), table("2", "3"));
                    }
                    try (ResultSet result = conn.createStatement().executeQuery("SELECT id FROM " + name)) {
                        equal(result.getMetaData().isAutoIncrement(1), true);
                    }
                    equal(rows(conn.getMetaData().getColumns(null, "public", name, "id"), "IS_AUTOINCREMENT"), table("YES"));
                }
                equal(rows(conn.getMetaData().getColumns(null, "public", "jd_s", "id"), "TYPE_NAME"), table("bigserial"));
            }
        });

        check("calls", "CallableStatement: procedures, functions, OUT parameters, functions that give rows", () -> {
            try (Connection conn = connect("prepareThreshold", "2")) {
                run(conn, "DROP FUNCTION IF EXISTS jd_add(int, int)", "DROP FUNCTION IF EXISTS jd_rows(int)", "DROP FUNCTION IF EXISTS jd_out(int)", "DROP PROCEDURE IF EXISTS jd_put(int, text)",
                    "DROP PROCEDURE IF EXISTS jd_swap(int, int)", "DROP FUNCTION IF EXISTS jd_len(text[])",
                    "DROP TABLE IF EXISTS jd_c", "CREATE TABLE jd_c (id int PRIMARY KEY, s text)",
                    "CREATE FUNCTION jd_add(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a + b; END $$",
                    "CREATE FUNCTION jd_len(x text[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN cardinality(x); END $$",
                    "CREATE FUNCTION jd_rows(p_n int) RETURNS TABLE (o_id int, o_s text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT c.id, c.s FROM jd_c c WHERE c.id <= p_n ORDER BY c.id; END $$",
                    "CREATE FUNCTION jd_out(a int, OUT twice int, OUT label text) LANGUAGE plpgsql AS $$ BEGIN twice := a * 2; label := 'n' || a; END $$",
                    "CREATE PROCEDURE jd_put(p_id int, p_s text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO jd_c VALUES (p_id, p_s); END $$",
                    "CREATE PROCEDURE jd_swap(INOUT a int, INOUT b int) LANGUAGE plpgsql AS $$ DECLARE t int; BEGIN t := a; a := b; b := t; END $$");
                // A procedure needs CALL: escapeSyntaxCallMode says when the driver sends that.
                try (Connection call = connect("escapeSyntaxCallMode", "callIfNoReturn", "prepareThreshold", "2")) {
                    for (int i = 0; i < 4; i++) {
                        int id = i;
                        attempt(() -> {
                            try (CallableStatement put = call.prepareCall("{call jd_put(?, ?)}")) {
                                put.setInt(1, id);
                                put.setString(2, "s" + id);
                                put.execute();
                            }
                        });
                        attempt(() -> {
                            try (CallableStatement add = call.prepareCall("{? = call jd_add(?, ?)}")) {
                                add.registerOutParameter(1, Types.INTEGER);
                                add.setInt(2, id);
                                add.setInt(3, 10);
                                add.execute();
                                equal(add.getInt(1), id + 10);
                            }
                        });
                        attempt(() -> {
                            try (CallableStatement swap = call.prepareCall("{call jd_swap(?, ?)}")) {
                                swap.setInt(1, 1);
                                swap.setInt(2, 2);
                                swap.registerOutParameter(1, Types.INTEGER);
                                swap.registerOutParameter(2, Types.INTEGER);
                                swap.execute();
                                equal(swap.getInt(1) + "," + swap.getInt(2), "2,1");
                            }
                        });
                    }
                }
                attempt(() -> {
                    try (CallableStatement out = conn.prepareCall("{call jd_out(?, ?, ?)}")) {
                        out.setInt(1, 4);
                        out.registerOutParameter(2, Types.INTEGER);
                        out.registerOutParameter(3, Types.VARCHAR);
                        out.execute();
                        equal(out.getInt(2) + out.getString(3), "8n4");
                    }
                });
                for (int i = 0; i < 4; i++) {
                    attempt(() -> equal(query(conn, "SELECT jd_add(?, ?)", 1, 2), table("3")));
                    attempt(() -> equal(query(conn, "SELECT * FROM jd_rows(?)", 1), table("0,s0", "1,s1")));
                    attempt(() -> equal(query(conn, "SELECT o_s FROM jd_rows(?) WHERE o_id = 1", 3), table("s1")));
                    attempt(() -> equal(query(conn, "SELECT * FROM jd_out(?)", 3), table("6,n3")));
                    attempt(() -> equal(query(conn, "SELECT jd_len(?)", conn.createArrayOf("text", new Object[] {"a", "b"})), table("2")));
                    attempt(() -> {
                        try (PreparedStatement put = conn.prepareStatement("CALL jd_put(?, ?)")) {
                            put.setInt(1, 0);
                            put.setString(2, "again");
                            fails("23505", put::execute);
                        }
                    });
                }
                attempt(() -> {
                    try (CallableStatement add = conn.prepareCall("{call jd_add(?, ?)}")) {
                        add.setInt(1, 1);
                        add.setInt(2, 2);
                        equal(rows(add.executeQuery()), table("3"));
                    }
                });
            }
        });

        check("transactions", "commit, rollback, savepoints, isolation, read only, autosave", () -> {
            try (Connection conn = connect(); Connection other = connect()) {
                run(conn, SHOP);
                conn.setAutoCommit(false);
                run(conn, "INSERT INTO jd_kind VALUES (1, 1, 'a')");
                Savepoint one = conn.setSavepoint();
                run(conn, "INSERT INTO jd_kind VALUES (2, 2, 'a')");
                Savepoint two = conn.setSavepoint("it's \"two\"");
                fails("23505", () -> run(conn, "INSERT INTO jd_kind VALUES (1, 1, 'a')"));
                fails("25P02", () -> run(conn, "SELECT 1"));
                conn.rollback(two);
                run(conn, "INSERT INTO jd_kind VALUES (3, 3, 'a')");
                conn.releaseSavepoint(two);
                conn.rollback(one);
                conn.commit();
                equal(query(other, "SELECT a FROM jd_kind"), table("1"));
                run(conn, "DELETE FROM jd_kind");
                conn.rollback();
                equal(query(conn, "SELECT a FROM jd_kind"), table("1"));
                conn.commit();
                for (int level : new int[] {Connection.TRANSACTION_SERIALIZABLE}) {
                    conn.setTransactionIsolation(level);
                    equal(conn.getTransactionIsolation(), level);
                    equal(query(conn, "SELECT a FROM jd_kind"), table("1"));
                    conn.commit();
                }
                for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ}) {
                    conn.setTransactionIsolation(level);
                    equal(query(conn, "SELECT a FROM jd_kind"), table("1"));
                    conn.commit();
                }
                conn.setReadOnly(true);
                fails("25006", () -> run(conn, "DELETE FROM jd_kind"));
                conn.rollback();
                conn.setReadOnly(false);
                run(conn, "DELETE FROM jd_kind");
                fails("25P02", () -> {
                    try {
                        run(conn, "SELECT 1 / 0");
                    } catch (SQLException error) {
                        equal(error.getSQLState(), "22012");
                    }
                    run(conn, "SELECT 1");
                });
                conn.rollback();
                equal(query(conn, "SELECT count(*) FROM jd_kind"), table("1"));
                conn.commit();
            }
            try (Connection conn = connect("autosave", "always")) {
                conn.setAutoCommit(false);
                run(conn, "INSERT INTO jd_kind VALUES (10, 1, 'a')");
                fails("23505", () -> run(conn, "INSERT INTO jd_kind VALUES (10, 1, 'a')"));
                run(conn, "INSERT INTO jd_kind VALUES (11, 1, 'a')");
                conn.commit();
                equal(query(conn, "SELECT count(*) FROM jd_kind"), table("3"));
            }
        });

        check("definitions_in_transactions", "CREATE TABLE and CREATE INDEX with autocommit off", () -> {
            try (Connection conn = connect()) {
                run(conn, "DROP TABLE IF EXISTS jd_d");
                conn.setAutoCommit(false);
                run(conn, "CREATE TABLE jd_d (id int PRIMARY KEY, n int)", "CREATE INDEX jd_d_n ON jd_d (n)", "INSERT INTO jd_d VALUES (1, 1)");
                conn.rollback();
                run(conn, "CREATE TABLE jd_d (id int PRIMARY KEY, n int)", "INSERT INTO jd_d VALUES (1, 1)", "ALTER TABLE jd_d ADD COLUMN s text");
                conn.commit();
                equal(query(conn, "SELECT * FROM jd_d"), table("1,1,~"));
                run(conn, "DROP TABLE jd_d");
                conn.commit();
            }
        });

        check("copy", "CopyManager: in, out, errors", () -> {
            try (Connection conn = connect()) {
                run(conn, SHOP);
                CopyManager copy = ((PGConnection) conn).getCopyAPI();
                equal(copy.copyIn("COPY jd_kind FROM STDIN", new StringReader("1\t1\ta\n2\t2\tb\\tc\n")), 2L);
                equal(copy.copyIn("COPY jd_kind (a, b, label) FROM STDIN WITH (FORMAT CSV, HEADER)", new ByteArrayInputStream("a,b,label\n3,3,\"x,y\"\n".getBytes())), 1L);
                StringWriter out = new StringWriter();
                equal(copy.copyOut("COPY (SELECT * FROM jd_kind ORDER BY a) TO STDOUT WITH CSV", out), 3L);
                equal(out.toString(), "1,1,a\n2,2,b\tc\n3,3,\"x,y\"\n");
                fails("22P02", () -> copy.copyIn("COPY jd_kind FROM STDIN", new StringReader("x\t1\ta\n")));
                fails("23505", () -> copy.copyIn("COPY jd_kind FROM STDIN", new StringReader("9\t1\ta\n1\t1\ta\n")));
                equal(query(conn, "SELECT count(*) FROM jd_kind"), table("3"));
                attempt(() -> {
                    java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
                    equal(copy.copyOut("COPY jd_kind TO STDOUT (FORMAT BINARY)", bytes), 3L);
                    run(conn, "DELETE FROM jd_kind");
                    equal(copy.copyIn("COPY jd_kind FROM STDIN (FORMAT BINARY)", new ByteArrayInputStream(bytes.toByteArray())), 3L);
                });
            }
        });

        check("errors", "SQLException states, and ServerErrorMessage's fields", () -> {
            try (Connection conn = connect()) {
                run(conn, SHOP);
                run(conn, "INSERT INTO jd_kind VALUES (1, 1, 'a')", "INSERT INTO jd_item (id, name, ka, kb) VALUES (1, 'a', 1, 1)");
                String[][] cases = {
                    {"23505", "INSERT INTO jd_item (id, name) VALUES (2, 'a')", "public,jd_item,null,jd_item_name"},
                    {"23503", "INSERT INTO jd_item (id, name, ka, kb) VALUES (2, 'b', 7, 7)", "public,jd_item,null,jd_item_kind"},
                    {"23503", "DELETE FROM jd_kind", "public,jd_item,null,jd_item_kind"},
                    {"23502", "INSERT INTO jd_item (id) VALUES (2)", "public,jd_item,name,null"},
                    {"23514", "INSERT INTO jd_line VALUES (1, 1, 0)", "public,jd_line,null,jd_line_n_check"},
                    {"42P01", "SELECT * FROM nothing", "null,null,null,null"},
                    {"42703", "SELECT nothing FROM jd_item", "null,null,null,null"},
                    {"42601", "SELEC 1", "null,null,null,null"},
                    {"22012", "SELECT 1 / 0", "null,null,null,null"},
                    {"22001", "INSERT INTO jd_kind VALUES (2, 2, 'a label that is too long')", "null,null,null,null"},
                    {"22003", "INSERT INTO jd_item (id, name, price) VALUES (5, 'p', 1234567890.00)", "null,null,null,null"},
                    {"22007", "SELECT 'x'::date", "null,null,null,null"},
                    {"42P07", "CREATE TABLE jd_item (id int)", "null,null,null,null"},
                    {"42883", "SELECT jd_no_such(1)", "null,null,null,null"},
                    {"42804", "UPDATE jd_item SET ok = 1", "null,null,null,null"},
                    {"42701", "CREATE TABLE jd_twice (a int, a int)", "null,null,null,null"},
                    {"42P10", "INSERT INTO jd_item (id, name) VALUES (1, 'a') ON CONFLICT (note) DO NOTHING", "null,null,null,null"},
                };
                for (String[] each : cases) {
                    attempt(() -> {
                        SQLException error = fails(each[0], () -> run(conn, each[1]));
                        ServerErrorMessage message = ((PSQLException) error).getServerErrorMessage();
                        String fields = message.getSchema() + "," + message.getTable() + "," + message.getColumn() + "," + message.getConstraint();
                        if (!fields.equals(each[2])) difference(each[1] + ": fields " + fields + ", expected " + each[2]);
                    });
                }
                fails("23505", () -> {
                    try (PreparedStatement insert = conn.prepareStatement("INSERT INTO jd_kind VALUES (?, ?, ?)")) {
                        insert.setInt(1, 1);
                        insert.setInt(2, 1);
                        insert.setString(3, "x");
                        insert.executeUpdate();
                    }
                });
                SQLWarning warning;
                try (Statement statement = conn.createStatement()) {
                    statement.execute("DROP TABLE IF EXISTS jd_nothing");
                    warning = statement.getWarnings();
                }
                equal(warning == null ? null : warning.getMessage(), "table \"jd_nothing\" does not exist, skipping");
                equal(query(conn, "SELECT 1"), table("1"));
            }
        });

        check("tables", "DatabaseMetaData: getTables, getColumns, getSchemas, getCatalogs, getTableTypes", () -> {
            try (Connection conn = connect()) {
                run(conn, SHOP);
                DatabaseMetaData meta = conn.getMetaData();
                attempt(() -> equal(rows(meta.getTables(null, "public", "jd\\_%", new String[] {"TABLE"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE").stream()
                    .filter(row -> Set.of("jd_item", "jd_kind", "jd_line").contains(row.get(1))).toList(), table("public,jd_item,TABLE", "public,jd_kind,TABLE", "public,jd_line,TABLE")));
                attempt(() -> equal(rows(meta.getTables("app", null, "jd_item", null), "TABLE_NAME", "TABLE_TYPE"), table("jd_item,TABLE")));
                attempt(() -> equal(rows(meta.getTables(null, null, "pg_class", new String[] {"SYSTEM TABLE"}), "TABLE_SCHEM", "TABLE_NAME"), table("pg_catalog,pg_class")));
                attempt(() -> equal(rows(meta.getTables(null, "public", "jd_item%", new String[] {"INDEX"}), "TABLE_NAME"), table("jd_item_day", "jd_item_name", "jd_item_pkey")));
                attempt(() -> {
                    List<List<String>> columns = rows(meta.getColumns(null, "public", "jd_item", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "COLUMN_DEF",
                        "ORDINAL_POSITION", "IS_NULLABLE", "IS_AUTOINCREMENT", "IS_GENERATEDCOLUMN");
                    equal(columns.size(), 16);
                    equal(columns.get(0), table("id,4,int4,10,0,0,~,1,NO,NO,NO").get(0));
                    equal(columns.get(1), table("name,12,varchar,30,0,0,~,2,NO,NO,NO").get(0));
                    equal(columns.get(2), table("price,2,numeric,10,2,1,1.50,3,YES,NO,NO").get(0));
                    equal(columns.get(5), table("note,12,text,2147483647,0,1,~,6,YES,NO,NO").get(0));
                    equal(columns.get(7), table("at,93,timestamptz,35,6,1,now(),8,YES,NO,NO").get(0));
                    equal(columns.get(8), table("day,91,date,13,0,1,~,9,YES,NO,NO").get(0));
                    equal(columns.get(9), table("ok,-7,bool,1,0,1,~,10,YES,NO,NO").get(0));
                    equal(columns.get(10), table("raw,-2,bytea,2147483647,0,1,~,11,YES,NO,NO").get(0));
                });
                attempt(() -> equal(rows(meta.getColumns(null, null, "jd_kind", "label"), "TABLE_NAME", "COLUMN_NAME"), table("jd_kind,label")));
                attempt(() -> equal(rows(meta.getSchemas(), "TABLE_SCHEM"), table("information_schema", "pg_catalog", "public")));
                attempt(() -> equal(rows(meta.getSchemas(null, "pub%"), "TABLE_SCHEM"), table("public")));
                attempt(() -> equal(rows(meta.getCatalogs()).contains(List.of("app")), true));
                attempt(() -> equal(rows(meta.getTableTypes()).contains(List.of("TABLE")), true));
                attempt(() -> equal(rows(meta.getColumnPrivileges(null, "public", "jd_kind", "a")).size() >= 0, true));
                attempt(() -> equal(rows(meta.getTablePrivileges(null, "public", "jd_kind"), "PRIVILEGE").contains(List.of("SELECT")), true));
                attempt(() -> equal(rows(meta.getVersionColumns(null, "public", "jd_kind"), "COLUMN_NAME"), table("ctid")));
                attempt(() -> equal(rows(meta.getClientInfoProperties(), "NAME"), table("ApplicationName")));
                attempt(() -> equal(rows(meta.getUDTs(null, "public", "none", null)), List.of()));
            }
        });

        check("keys", "DatabaseMetaData: getPrimaryKeys, getImportedKeys, getExportedKeys, getCrossReference, getIndexInfo, getBestRowIdentifier", () -> {
            try (Connection conn = connect()) {
                run(conn, SHOP);
                DatabaseMetaData meta = conn.getMetaData();
                attempt(() -> equal(rows(meta.getPrimaryKeys(null, "public", "jd_kind"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"), table("a,1,jd_kind_pkey", "b,2,jd_kind_pkey")));
                attempt(() -> equal(rows(meta.getPrimaryKeys(null, null, "jd_item"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"), table("id,1,jd_item_pkey")));
                String[] columns = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE", "FK_NAME", "PK_NAME", "DEFERRABILITY"};
                List<List<String>> kind = table("jd_kind,a,jd_item,ka,1,3,3,jd_item_kind,jd_kind_pkey,7", "jd_kind,b,jd_item,kb,2,3,3,jd_item_kind,jd_kind_pkey,7");
                attempt(() -> equal(rows(meta.getImportedKeys(null, "public", "jd_item"), columns), kind));
                attempt(() -> equal(rows(meta.getExportedKeys(null, "public", "jd_kind"), columns), kind));
                attempt(() -> equal(rows(meta.getCrossReference(null, "public", "jd_kind", null, "public", "jd_item"), columns), kind));
                attempt(() -> equal(rows(meta.getImportedKeys(null, null, "jd_line"), columns), table("jd_item,id,jd_line,item_id,1,3,3,jd_line_item_id_fkey,jd_item_pkey,7")));
                String[] index = {"INDEX_NAME", "NON_UNIQUE", "TYPE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC", "FILTER_CONDITION"};
                attempt(() -> equal(rows(meta.getIndexInfo(null, "public", "jd_item", false, true), index), table("jd_item_name,f,3,1,name,A,~", "jd_item_pkey,f,3,1,id,A,~",
                    "jd_item_day,t,3,1,day,A,~", "jd_item_day,t,3,2,price,A,~")));
                attempt(() -> equal(rows(meta.getIndexInfo(null, null, "jd_kind", true, false), index), table("jd_kind_pkey,f,3,1,a,A,~", "jd_kind_pkey,f,3,2,b,A,~")));
                attempt(() -> equal(rows(meta.getBestRowIdentifier(null, "public", "jd_kind", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"), table("a", "b")));
            }
        });

        check("routines", "DatabaseMetaData: getFunctions, getFunctionColumns, getProcedures, getProcedureColumns", () -> {
            try (Connection conn = connect()) {
                run(conn, "DROP FUNCTION IF EXISTS jd_meta_f(int, text)", "DROP PROCEDURE IF EXISTS jd_meta_p(int)", "DROP FUNCTION IF EXISTS jd_meta_t(int)",
                    "CREATE FUNCTION jd_meta_f(a int, b text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$",
                    "CREATE FUNCTION jd_meta_t(n int) RETURNS TABLE (x int, y text) LANGUAGE plpgsql AS $$ BEGIN x := n; RETURN NEXT; END $$",
                    "CREATE PROCEDURE jd_meta_p(a int) LANGUAGE plpgsql AS $$ BEGIN NULL; END $$");
                DatabaseMetaData meta = conn.getMetaData();
                attempt(() -> equal(rows(meta.getFunctions(null, "public", "jd\\_meta%"), "FUNCTION_NAME", "FUNCTION_TYPE"), table("jd_meta_f,1", "jd_meta_t,2")));
                attempt(() -> equal(rows(meta.getProcedures(null, "public", "jd\\_meta%"), "PROCEDURE_NAME", "PROCEDURE_TYPE"), table("jd_meta_p,2")));
                attempt(() -> equal(rows(meta.getFunctionColumns(null, "public", "jd_meta_f", null), "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME", "ORDINAL_POSITION"),
                    table("returnValue,4,int8,0", "a,1,int4,1", "b,1,text,2")));
                attempt(() -> equal(rows(meta.getFunctionColumns(null, "public", "jd_meta_t", null), "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME"),
                    table("n,1,int4", "x,4,int4", "y,4,text")));
                attempt(() -> equal(rows(meta.getProcedureColumns(null, "public", "jd_meta_p", null), "COLUMN_NAME", "COLUMN_TYPE", "TYPE_NAME").contains(table("a,1,int4").get(0)), true));
            }
        });

        check("type_info", "DatabaseMetaData.getTypeInfo, and types by name", () -> {
            try (Connection conn = connect()) {
                Map<String, String> types = new HashMap<>();
                for (List<String> row : rows(conn.getMetaData().getTypeInfo(), "TYPE_NAME", "DATA_TYPE")) types.put(row.get(0), row.get(1));
                for (String[] each : new String[][] {{"int4", "4"}, {"int8", "-5"}, {"text", "12"}, {"varchar", "12"}, {"numeric", "2"}, {"bool", "-7"}, {"timestamptz", "93"}, {"bytea", "-2"}, {"uuid", "1111"}}) {
                    equal(types.get(each[0]), each[1]);
                }
                equal(conn.createArrayOf("timestamptz", new Object[0]).getBaseTypeName(), "timestamptz");
            }
        });

        Set<String> names = Set.of(only);
        int done = 0, failed = 0;
        for (Check check : CHECKS) {
            if (!names.isEmpty() && !names.contains(check.name)) continue;
            differences.clear();
            try {
                check.action.run();
            } catch (Exception | AssertionError error) {
                if (!ALL || "2".equals(System.getenv("CHECK_ALL"))) error.printStackTrace();
                int line = 0;
                for (StackTraceElement at : error.getStackTrace()) {
                    if (at.getClassName().startsWith("Checks") && at.getMethodName().startsWith("lambda$main")) { line = at.getLineNumber(); break; }
                }
                differences.add("line " + line + ": " + describe(error));
            }
            if (differences.isEmpty()) {
                done++;
                System.out.println("pgjdbc: " + check.name + ": " + check.about);
                continue;
            }
            failed++;
            for (String difference : new LinkedHashSet<>(differences)) System.err.println("pgjdbc: FAILED " + check.name + ": " + difference);
            if (!ALL) break;
        }
        System.out.println("pgjdbc: " + done + " checks" + (failed > 0 ? ", " + failed + " FAILED" : ""));
        System.exit(failed > 0 ? 1 : 0);
    }
}
