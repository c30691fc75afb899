//! Inputs that nest, chain or double: data for every suite that has a database.
//!
//! Each ended the process once, or might: by a stack that overflows, by a panic, or by work that
//! grows exponentially with the text.

/// Statements in order, and the SQLSTATEs with which each may fail if it does not succeed.
pub struct Case {
    pub name: String,
    pub statements: Vec<String>,
    pub codes: &'static [&'static str],
}

/// Before all of them.
pub const SETUP: &str = "CREATE TABLE t0 (id int PRIMARY KEY, b int);
    INSERT INTO t0 VALUES (1, 1), (2, 2);";

/// Too deep or too long; also a number of variables, and what runs for too long.
const DEEP: &[&str] = &["54001", "54000", "57014", "42601", "0A000"];
const TYPES: &[&str] = &["42883", "42846", "42804", "42601", "0A000"];

fn chain(count: usize) -> String {
    let next = |n: usize| format!(", a{n} AS (SELECT * FROM a{})", n - 1);
    let chain: String = (1..count).map(next).collect();
    format!("WITH a0 AS (SELECT 1 x){chain} SELECT * FROM a{}", count - 1)
}

fn doubled(count: usize) -> String {
    let next = |n: usize| format!(", a{n} AS (SELECT p.x FROM a{0} p, a{0} q)", n - 1);
    let chain: String = (1..count).map(next).collect();
    format!("WITH a0 AS (SELECT 1 x){chain} SELECT * FROM a{}", count - 1)
}

fn body(statements: &str) -> String {
    format!("DO $$ DECLARE x int := 5; BEGIN {statements} END $$")
}

fn elsif(count: usize, inner: &str) -> String {
    let arms = "ELSIF 1 = 2 THEN NULL; ".repeat(count);
    format!("IF 1 = 2 THEN NULL; {arms} ELSE {inner} END IF; ")
}

fn nested(before: &str, inner: &str, behind: &str, count: usize) -> String {
    format!("{}{inner}{}", before.repeat(count), behind.repeat(count))
}

fn views(count: usize, query: impl Fn(usize) -> String) -> Vec<String> {
    let first = std::iter::once("CREATE VIEW v0 AS SELECT 1 x".to_owned());
    let next = (1..count).map(|n| format!("CREATE VIEW v{n} AS {}", query(n - 1)));
    let last = format!("SELECT * FROM v{}", count - 1);
    first.chain(next).chain([last, "DROP VIEW v0 CASCADE".to_owned()]).collect()
}

fn cascades(count: usize, columns: &[&str]) -> Vec<String> {
    let table = |n: usize| {
        let parent = n - 1;
        let columns = columns.iter().map(|name| {
            format!(", {name} int REFERENCES f{parent} (id) ON DELETE CASCADE ON UPDATE CASCADE")
        });
        format!("CREATE TABLE f{n} (id int PRIMARY KEY{})", columns.collect::<String>())
    };
    let delete = "DELETE FROM f0 WHERE id = 1".to_owned();
    let procedure = "CREATE PROCEDURE fd() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM f0 \
                     WHERE id = 1; END $$";
    let first = std::iter::once("CREATE TABLE f0 (id int PRIMARY KEY)".to_owned());
    let drops = (0..count).rev().map(|n| format!("DROP TABLE f{n}"));
    first
        .chain((1..count).map(table))
        .chain([delete, procedure.to_owned()])
        .chain(["DROP PROCEDURE IF EXISTS fd".to_owned()])
        .chain(drops)
        .collect()
}

/// All inputs.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut add = |name: String, statements: Vec<String>, codes| {
        all.push(Case { name, statements, codes });
    };
    for n in [50, 120, 150, 200, 240, 3000] {
        add(format!("chain of WITH, {n}"), vec![chain(n), format!("EXPLAIN {}", chain(n))], DEEP);
    }
    for n in [5, 8, 20, 60] {
        let texts = vec![doubled(n), format!("EXPLAIN {}", doubled(n))];
        add(format!("doubled WITH, {n}"), texts, DEEP);
    }
    for operation in ["UNION", "UNION ALL", "EXCEPT", "INTERSECT"] {
        for n in [100, 240, 1000, 45_000] {
            let text = vec!["SELECT 1,2"; n].join(&format!(" {operation} "));
            let view = format!("CREATE VIEW vc (a, b) AS {text}");
            let drop = "DROP VIEW IF EXISTS vc".to_owned();
            add(
                format!("{operation}, {n}"),
                vec![format!("EXPLAIN {text}"), text, view, drop],
                DEEP,
            );
        }
    }
    for n in [100, 240, 1000, 10_000] {
        let cases: String = (0..n).map(|n| format!("WHEN {n} THEN NULL; ")).collect();
        let texts = vec![
            body(&elsif(n, "NULL;")),
            format!(
                "CREATE PROCEDURE pe() LANGUAGE plpgsql AS $$ BEGIN {} END $$",
                elsif(n, "NULL;")
            ),
            "DROP PROCEDURE IF EXISTS pe".to_owned(),
            body(&format!("CASE x {cases} ELSE NULL; END CASE;")),
        ];
        add(format!("branches, {n}"), texts, DEEP);
    }
    for n in [3, 30, 60, 64, 65, 5000] {
        let arms = (0..n).fold("NULL;".to_owned(), |inner, _| elsif(3, &inner));
        let loops: String = (0..n).map(|n| format!("FOR i{n} IN 1..1 LOOP ")).collect();
        let texts = vec![
            body(&nested("IF true THEN ", "NULL;", "END IF; ", n)),
            body(&format!("{loops} NULL; {}", "END LOOP; ".repeat(n))),
            body(&nested("BEGIN ", "NULL;", "END; ", n)),
            body(&arms),
            body(&nested("CASE WHEN true THEN ", "NULL;", "END CASE; ", n)),
        ];
        add(format!("nested blocks, {n}"), texts, DEEP);
    }
    for n in [20, 60, 64, 500] {
        let texts = vec![
            format!("SELECT {}", nested("(SELECT ", "1", ")", n)),
            format!("SELECT * FROM {}", nested("(SELECT * FROM ", "(SELECT 1 x) q", ") q", n)),
            format!("SELECT 1 WHERE {}", nested("EXISTS (SELECT 1 WHERE ", "true", ")", n)),
            nested("WITH x AS (", "SELECT 1 a", ") SELECT * FROM x", n),
            nested("(", "SELECT 1", ")", n),
            format!("SELECT {}", nested("abs(", "1", ")", n)),
            format!("SELECT {}", nested("(", "1", " BETWEEN 0 AND 1)::int", n)),
            format!("SELECT {}", nested("CASE (", "1", ") WHEN 1 THEN 1 WHEN 2 THEN 2 END", n)),
            format!("SELECT {}", nested("nullif(", "1", ", 2)", n)),
            format!("SELECT {}", nested("(", "1", " IN (1, 2, 3))::int", n)),
            format!("SELECT '{}'::jsonb", nested("[", "", "]", n)),
            format!("SELECT ARRAY{}", nested("[", "1", "]", n)),
            format!("SELECT 1{}", "::int::text".repeat(n)),
            format!("SELECT {}true", "NOT ".repeat(n)),
            format!("SELECT {}1", "- ".repeat(n)),
            format!("SELECT true{}", " IS NOT NULL".repeat(n)),
            format!("SELECT '{{}}'::jsonb{}", " -> 'a'".repeat(n)),
            format!("{}SELECT 1", "EXPLAIN ".repeat(n)),
        ];
        add(format!("nested queries and expressions, {n}"), texts, DEEP);
        // The pattern's own depth is that of the library that reads it.
        let pattern = vec![format!("SELECT 'a' ~ '{}'", nested("(", "a", ")", n))];
        add(format!("a nested pattern, {n}"), pattern, &["2201B", "54001"]);
    }
    for (sign, value) in [("AND", "true"), ("OR", "false"), ("||", "'a'"), ("+", "1"), ("-", "1")] {
        for n in [100, 190, 300, 495, 5000] {
            let text = vec![value; n].join(&format!(" {sign} "));
            let texts = vec![
                format!("SELECT {text}"),
                body(&format!("RAISE NOTICE '%', {text};")),
                format!("EXPLAIN SELECT {text} FROM t0"),
                format!("CREATE VIEW vc AS SELECT {text} x"),
                "DROP VIEW IF EXISTS vc".to_owned(),
            ];
            add(format!("chain of {sign}, {n}"), texts, DEEP);
        }
    }
    for n in [50, 80, 200, 2000] {
        let join = |kind: &str| -> String {
            let next = |n: usize| format!(" {kind} JOIN t0 t{n} ON t{n}.id = t0.id");
            format!("SELECT count(*) FROM t0{}", (1..n).map(next).collect::<String>())
        };
        let cross: String = (1..n).map(|n| format!(", t0 t{n}")).collect();
        let texts = vec![
            join("INNER"),
            join("LEFT"),
            format!("EXPLAIN {}", join("FULL")),
            format!("EXPLAIN SELECT count(*) FROM t0{cross}"),
        ];
        add(format!("joins, {n}"), texts, DEEP);
    }
    let build = "DECLARE j jsonb := '1'; BEGIN FOR i IN 1..10000 LOOP j := ";
    let texts = vec![
        format!("DO $$ {build} jsonb_build_array(j); END LOOP; END $$"),
        format!("DO $$ {build} jsonb_build_object('a', j); END LOOP; END $$"),
        format!("SELECT '{}'::json", "[".repeat(500_000)),
    ];
    add("json built level by level".to_owned(), texts, &["54001", "22P02"]);
    let checks: String = (0..1599).map(|n| format!(", CHECK (id <> {n})")).collect();
    let texts = vec![
        format!("CREATE TABLE checked (id int PRIMARY KEY{checks})"),
        "DROP TABLE checked".to_owned(),
        format!("CREATE TABLE checked (id int PRIMARY KEY{checks}{checks})"),
    ];
    add("many CHECKs".to_owned(), texts, &["54011", "54000"]);
    let view = |n: usize| format!("SELECT * FROM v{n}");
    let codes = &["54001", "42P01"];
    add("views over views".to_owned(), views(70, view), codes);
    let view = |n: usize| format!("SELECT p.x FROM v{n} p, v{n} q");
    add("views that double".to_owned(), views(30, view), codes);
    let codes = &["54001", "0A000"];
    add("cascades".to_owned(), cascades(100, &["p"]), codes);
    add("cascades that double".to_owned(), cascades(25, &["p", "q"]), codes);
    let numbers = [
        "SELECT json_each(1)",
        "SELECT * FROM json_each(1)",
        "SELECT jsonb_each_text(true)",
        "SELECT jsonb_array_elements(1)",
        "SELECT jsonb_array_elements_text(now())",
        "SELECT json_object_keys(1.5)",
        "SELECT date_trunc(now(), now())",
        "SELECT date_trunc(1, now())",
        "SELECT regexp_replace(1, 2, 3)",
        "SELECT unnest(1)",
        "SELECT array_length(1, 1)",
        "SELECT lower(now())",
        "SELECT extract(year FROM 1)",
    ];
    for text in numbers {
        add(text.to_owned(), vec![text.to_owned()], TYPES);
    }
    all
}

/// Long, and no deeper than what people write: all of these succeed.
pub fn worked() -> Vec<String> {
    vec![
        chain(100),
        vec!["SELECT 1,2"; 200].join(" UNION "),
        body(&elsif(200, "NULL;")),
        format!("SELECT {}", vec!["'a'"; 150].join(" || ")),
        format!("SELECT {}", vec!["true"; 300].join(" AND ")),
        format!("SELECT 1 WHERE 1 IN ({}1)", "1, ".repeat(10_000)),
        format!("SELECT '{}'::jsonb", nested("[", "", "]", 100)),
        body(&nested("IF true THEN ", "NULL;", "END IF; ", 60)),
    ]
}
