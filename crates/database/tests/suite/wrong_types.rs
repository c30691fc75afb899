//! Every function, operator, cast and aggregate with arguments of every type, too few and too many
//! of them, NULL, empty and huge: an error or a value, and never a panic.

use hotrow::{Config, Database, Error, Session};

const FUNCTIONS: &str = "\
    abs age array_length array_position array_to_json array_to_string array_upper btrim \
    cardinality ceil ceiling char_length coalesce concat current_setting currval date_part \
    date_trunc exp floor format_type generate_series generate_subscripts greatest \
    json_array_elements json_array_elements_text json_array_length json_build_array \
    json_object json_to_record json_to_recordset jsonb_object jsonb_path_exists \
    jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first \
    jsonb_to_record jsonb_to_recordset regexp_count regexp_instr regexp_match regexp_matches \
    regexp_split_to_array regexp_split_to_table regexp_substr row_to_json similar_to_escape \
    json_build_object json_each json_each_text json_extract_path json_extract_path_text \
    json_object_keys json_strip_nulls json_typeof jsonb_array_elements \
    jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object \
    jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert \
    jsonb_object_keys jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof justify_days \
    format gen_random_uuid justify_hours justify_interval least left length ln lower lpad \
    ltrim make_interval mod \
    nextval now nullif obj_description octet_length pg_cancel_backend pg_get_constraintdef \
    pg_get_expr pg_get_functiondef pg_get_indexdef pg_get_serial_sequence pg_get_viewdef \
    pg_partition_ancestors pg_relation_size pg_size_pretty pg_table_is_visible power \
    quote_ident quote_literal random regexp_like regexp_replace repeat replace reverse right round \
    rpad rtrim set_config setval sign split_part sqrt string_to_array strpos substr substring \
    to_char to_date to_json to_jsonb to_number to_regclass to_regtype to_timestamp \
    trunc unnest upper uuidv7 version _pg_expandarray \
    information_schema._pg_expandarray pg_catalog.format_type";

const AGGREGATES: &str = "\
    count sum min max avg bool_and bool_or every string_agg array_agg json_agg jsonb_agg \
    json_object_agg jsonb_object_agg row_number rank dense_rank percent_rank cume_dist ntile \
    lag lead first_value last_value nth_value grouping";

const VALUES: &[&str] = &[
    "NULL",
    "1",
    "-9223372036854775808",
    "99999999999999999999999999999999999999",
    "1.5",
    "'NaN'::double precision",
    "true",
    "''",
    "'hour'",
    "'{1,2}'",
    "'[1,{\"a\":null}]'::jsonb",
    "'{\"a\":[1]}'::json",
    "now()",
    "'2026-02-28'::date",
    "'5874897-12-31'::date",
    "interval '1 month -3 days'",
    "ARRAY['a',NULL]",
    "'\\xff00'::bytea",
    "'6ecd8c99-4036-403d-bf84-cf8400f67836'::uuid",
    "(SELECT 1)",
    "DATE '2000-01-01' - 1",
    "repeat('x', 1000)::varchar(5)",
    "'x'::char(3)",
];

const TYPES: &[&str] = &[
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "numeric(3,2)",
    "text",
    "varchar(2)",
    "char(2)",
    "bytea",
    "timestamp",
    "timestamptz",
    "date",
    "interval",
    "uuid",
    "json",
    "jsonb",
    "integer[]",
    "text[]",
    "regclass",
    "regtype",
    "oid",
    "name",
];

const OPERATORS: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "||",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "AND",
    "OR",
    "->",
    "->>",
    "#>",
    "#>>",
    "@>",
    "<@",
    "?",
    "?|",
    "?&",
    "#-",
    "~",
    "!~",
    "~*",
    "!~*",
    "&",
    "LIKE",
    "NOT ILIKE",
    "SIMILAR TO",
    "IS DISTINCT FROM",
    "= ANY",
    "<> ALL",
    "IN",
    "BETWEEN 1 AND",
    "AT TIME ZONE",
    "COLLATE",
];

/// xorshift64*
struct Random(u64);

impl Random {
    fn one<'l>(&mut self, list: &[&'l str]) -> &'l str {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        list[(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % list.len()]
    }
}

/// How many statements were tried, and how many succeeded.
#[derive(Default)]
struct Tried {
    statements: usize,
    done: usize,
}

impl Tried {
    fn run(&mut self, session: &Session, text: &str) {
        self.statements += 1;
        match session.execute(text) {
            Ok(_) => self.done += 1,
            Err(Error::Sql(error)) => assert_ne!(error.code(), "XX000", "{text}: {error}"),
            Err(other) => panic!("{text}: {other}"),
        }
    }
}

fn open() -> (Database, Session) {
    let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
    let session = db.session();
    session
        .execute(
            "SET statement_timeout = '500ms'; CREATE TABLE t (id int PRIMARY KEY, a text);
        INSERT INTO t VALUES (1, 'a'), (2, NULL)",
        )
        .expect("it is made");
    (db, session)
}

#[test]
fn functions_take_what_they_can_read() {
    let (_db, session) = open();
    let (mut tried, mut random) = (Tried::default(), Random(7));
    for function in FUNCTIONS.split_whitespace() {
        let mut run = |arguments: &str| {
            let called = format!("{function}({arguments})");
            tried.run(&session, &format!("SELECT {called}"));
        };
        run("");
        VALUES.iter().for_each(|one| run(one));
        for _ in 0..80 {
            run(&[random.one(VALUES), random.one(VALUES)].join(", "));
            run(&[(); 3].map(|()| random.one(VALUES)).join(", "));
        }
        for _ in 0..20 {
            run(&[(); 4].map(|()| random.one(VALUES)).join(", "));
            run(&format!("id, {}", random.one(VALUES)));
        }
    }
    assert!(tried.done > tried.statements / 20, "{} of {}", tried.done, tried.statements);
}

/// In FROM and WHERE, of columns and parameters, which are not folded, in procedures and defaults.
#[test]
fn functions_take_what_they_can_read_wherever_they_stand() {
    let (_db, session) = open();
    let (mut tried, mut random) = (Tried::default(), Random(11));
    let functions = FUNCTIONS.split_whitespace();
    for (number, function) in functions.clone().chain(functions).enumerate() {
        for count in 0..4 {
            let arguments: Vec<_> = (0..count).map(|_| random.one(VALUES)).collect();
            let called = format!("{function}({})", arguments.join(", "));
            let of = random.one(TYPES);
            let names: Vec<_> = (0..count).map(|n| format!("p{n}")).collect();
            let named = format!("{function}({})", names.join(", "));
            let types: Vec<_> = (0..count).map(|_| random.one(TYPES)).collect();
            let list: Vec<_> =
                names.iter().zip(&types).map(|(n, of)| format!("{n} {of}")).collect();
            let declared: String = list.iter().map(|one| format!("{one}; ")).collect();
            let values = arguments.iter().zip(&types).map(|(v, of)| format!("({v})::{of}"));
            let values: Vec<_> = values.collect();
            for text in [
                format!("SELECT * FROM {called}"),
                format!("SELECT id FROM t WHERE {called} = {}", random.one(VALUES)),
                format!("SELECT id FROM t WHERE {called}"),
                format!("SELECT {called} FROM t GROUP BY id ORDER BY 1"),
                format!("UPDATE t SET a = {called} WHERE id = 1"),
                format!("DO $$ DECLARE {declared} BEGIN RAISE NOTICE '%', {named}; END $$"),
                format!("DO $$ DECLARE {declared} BEGIN UPDATE t SET a = {named}; END $$"),
                format!(
                    "CREATE FUNCTION f{number}_{count}({}) RETURNS {of} LANGUAGE plpgsql AS $$
                    BEGIN RETURN {named}; END $$",
                    list.join(", ")
                ),
                format!("SELECT f{number}_{count}({})", values.join(", ")),
                format!("DROP FUNCTION IF EXISTS f{number}_{count}"),
                format!("CREATE TABLE d (id int PRIMARY KEY, a {of} DEFAULT {called})"),
                "INSERT INTO d VALUES (1)".to_owned(),
                format!("ALTER TABLE d ADD CHECK ({function}(a) IS NULL)"),
                "DROP TABLE IF EXISTS d".to_owned(),
            ] {
                tried.run(&session, &text);
            }
        }
    }
    assert!(tried.done > tried.statements / 20, "{} of {}", tried.done, tried.statements);
}

#[test]
fn operators_and_casts_take_what_they_can_read() {
    let (_db, session) = open();
    let mut tried = Tried::default();
    for a in VALUES {
        for b in VALUES {
            let all = OPERATORS.iter().map(|sign| format!("({a}) {sign} ({b})"));
            for (at, text) in all.enumerate() {
                // One statement each would say the same in three times the time.
                if (at + a.len() + b.len()).is_multiple_of(3) {
                    tried.run(&session, &format!("SELECT {text}"));
                }
            }
            tried.run(&session, &format!("SELECT CASE {a} WHEN {b} THEN {a} ELSE {b} END"));
            tried.run(&session, &format!("SELECT {a} UNION SELECT {b} ORDER BY 1"));
            tried.run(&session, &format!("SELECT (ARRAY[{a}, {b}])[{b}]"));
        }
        for of in TYPES {
            tried.run(&session, &format!("SELECT ({a})::{of}"));
            let text = format!("SELECT ({a})::{of}::text::{of}");
            tried.run(&session, &text);
            tried.run(
                &session,
                &format!("DO $$ DECLARE v {of} := {a}; w text; BEGIN w := v; END $$"),
            );
        }
        for unary in ["-", "+", "NOT", "~", "|/", "EXISTS"] {
            tried.run(&session, &format!("SELECT {unary} ({a})"));
        }
        for behind in ["IS NULL", "IS TRUE", "IS UNKNOWN", "IS JSON", "[1]", "[1:2]"] {
            tried.run(&session, &format!("SELECT ({a}) {behind}"));
        }
    }
    assert!(tried.done > tried.statements / 20, "{} of {}", tried.done, tried.statements);
}

#[test]
fn aggregates_and_windows_take_what_they_can_read() {
    let (_db, session) = open();
    let (mut tried, mut random) = (Tried::default(), Random(13));
    for aggregate in AGGREGATES.split_whitespace() {
        for a in VALUES.iter().chain(&["id", "a", "*", "DISTINCT a", ""]) {
            let b = random.one(VALUES);
            for text in [
                format!("SELECT {aggregate}({a}) FROM t"),
                format!("SELECT {aggregate}({a}, {b}) FROM t"),
                format!("SELECT {aggregate}({a}) OVER (ORDER BY {b}) FROM t"),
                format!("SELECT {aggregate}({a}, {b}) OVER (PARTITION BY {b}) FROM t"),
                format!(
                    "SELECT {aggregate}({a}) OVER (ORDER BY id RANGE BETWEEN {b} PRECEDING
                    AND CURRENT ROW) FROM t"
                ),
                format!("SELECT {aggregate}({a} ORDER BY {b}) FILTER (WHERE {b}) FROM t"),
                format!("SELECT id FROM t GROUP BY id HAVING {aggregate}({a}) > {b}"),
                format!(
                    "DO $$ DECLARE v text; BEGIN SELECT {aggregate}({a}) INTO v FROM t; END $$"
                ),
                format!("SELECT id FROM t LIMIT {a} OFFSET {b}"),
            ] {
                tried.run(&session, &text);
            }
        }
    }
    assert!(tried.done > tried.statements / 50, "{} of {}", tried.done, tried.statements);
}
