//! Hostile text: an error, never a panic, never an overflow of the stack.

use crate::database::Database;
use hotrow_sql::{NESTING_MAX, TEXT_BYTES_MAX};

const CORPUS: &[&str] = &[
    include_str!("../../../workloads/src/tpcc/schema.sql"),
    include_str!("../../../workloads/src/tpcc/procedures.sql"),
    include_str!("../../../workloads/src/ycsb/procedures.sql"),
    include_str!("../../../workloads/src/kv/aborting.sql"),
];

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }
}

fn mutated(random: &mut Random, text: &str) -> String {
    const WORDS: &[&str] = &[
        "SELECT",
        "INTO",
        "FROM",
        "WHERE",
        "(",
        ")",
        ",",
        ";",
        "'",
        "$$",
        "END",
        "BEGIN",
        "IF",
        "CASE",
        "..",
        "1..",
        "[",
        "]",
        ":=",
        "%",
        "NULL",
        "LOOP",
        "-",
        "::",
        "\u{1F980}",
        "\"",
        "--",
        "/*",
        "FOR",
        "RETURNING",
        "9999999999999999999999999999999999999999",
        "1e999",
        "*",
        "EXCEPTION",
        "INTERVAL '1 day'",
        "ARRAY[1]",
        "count(*)",
        "%TYPE",
        "DEFAULT",
        "\\",
        "\0",
    ];
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(words.len());
        match random.below(4) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, WORDS[random.below(WORDS.len())]),
            2 => words[at] = WORDS[random.below(WORDS.len())],
            _ => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
        }
        if words.is_empty() {
            break;
        }
    }
    words.concat()
}

#[test]
fn mutations_never_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut schema = Database::with(CORPUS[0]);
    let mut refused = 0;
    for round in 0..6000 {
        let source = CORPUS[round % CORPUS.len()];
        // one statement at a time: the rest of the script would be the same
        let parts: Vec<&str> = source.split_inclusive("\n\n").collect();
        let part = parts[random.below(parts.len())];
        let text = mutated(&mut random, part);
        refused += usize::from(schema.try_run(&text).is_err());
    }
    assert!(refused > 1000, "mutations break something: {refused}");
}

#[test]
fn prefixes_never_panic() {
    for source in CORPUS {
        let step = source.len() / 300 + 1;
        for end in (0..source.len()).step_by(step).filter(|end| source.is_char_boundary(*end)) {
            let _ = Database::with(CORPUS[0]).try_run(&source[..end]);
        }
    }
}

#[test]
fn deep_and_long_text_is_refused() {
    let deep = [
        ("SELECT ".to_owned() + &"(".repeat(100_000) + "1" + &")".repeat(100_000)),
        ("SELECT ".to_owned() + &"1+".repeat(100_000) + "1"),
        ("SELECT ".to_owned() + &"NOT ".repeat(100_000) + "true"),
        ("SELECT ".to_owned() + &"- ".repeat(100_000) + "1"),
        ("SELECT ".to_owned() + &"CASE WHEN true THEN ".repeat(50_000) + "1"),
        ("SELECT 1".to_owned() + &"::int".repeat(50_000)),
        ("SELECT 1".to_owned() + &" UNION SELECT 1".repeat(50_000)),
        ("SELECT a".to_owned() + &"[1]".repeat(50_000)),
        ("SELECT ".to_owned() + &"(SELECT ".repeat(30_000)),
        "EXPLAIN ".repeat(50_000),
        ("DO $$ ".to_owned() + &"BEGIN ".repeat(50_000) + "$$"),
        ("DO $$ BEGIN ".to_owned() + &"IF true THEN ".repeat(50_000) + "$$"),
        ("CREATE TABLE t (a ".to_owned() + &"int[]".repeat(50_000) + ")"),
        "SELECT ".to_owned() + &"f(".repeat(50_000),
        "x".repeat(TEXT_BYTES_MAX + 1),
    ];
    for text in deep {
        let start: String = text.chars().take(60).collect();
        let problem = Database::default().error(&text);
        assert!(["54001", "42601"].contains(&problem.code()), "{start}: {}", problem.code());
    }
}

/// Its negation has no 64 bits.
#[test]
fn the_least_number_backwards_is_a_direction() {
    Database::default().run("MOVE BACKWARD -9223372036854775808 IN c");
    Database::default().run("FETCH BACKWARD 9223372036854775807 FROM c");
}

/// A JOIN whose ON is still to come holds the next one; 600 took all of the stack.
#[test]
fn joins_that_wait_for_their_condition_nest() {
    for levels in [50, 64, 100, 300, 600] {
        for text in [
            format!("SELECT 1 FROM t {}", "JOIN ".repeat(levels)),
            format!("SELECT 1 FROM t {}", "JOIN t ".repeat(levels)),
            format!("SELECT 1 FROM t {}u {}", "JOIN t ".repeat(levels / 2), "ON true ".repeat(90)),
            format!("SELECT 1 FROM t {}", "JOIN (SELECT DISTINCT ON (a) 1) x ".repeat(levels / 8)),
            format!("SELECT 1 FROM {}t", "(t JOIN t JOIN ".repeat(levels / 4)),
        ] {
            Database::default().error(&text);
        }
    }
    let mut database = Database::with("CREATE TABLE t (id int PRIMARY KEY)");
    let next = |n: usize| format!("JOIN t t{n} ON t{n}.id = t0.id ");
    let joins: String = (1..80).map(next).collect();
    database.run(&format!("SELECT count(*) FROM t t0 {joins}"));
}

#[test]
fn what_nests_less_compiles() {
    let n = NESTING_MAX / 2;
    let mut database = Database::default();
    database.run(&format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n)));
    database.run(&format!("SELECT {}true", "true AND ".repeat(300)));
    database.run(&format!("SELECT 1 IN ({}1)", "1, ".repeat(20_000)));
    database.run(&format!("SELECT {}1", "1 + ".repeat(150)));
}

/// Each level of these took the parser 25 KB of the stack; a hundred of them ended the process.
#[test]
fn statements_that_begin_with_statements_nest_little() {
    for levels in [20, 60, 100, 125, 200, 400] {
        for text in [
            "EXPLAIN ".repeat(levels) + "SELECT 1",
            "EXPLAIN ANALYZE ".repeat(levels) + "SELECT 1",
            "DESCRIBE ".repeat(levels) + "SELECT 1",
            "PREPARE a AS ".repeat(levels) + "SELECT 1",
            "EXPLAIN PREPARE a AS ".repeat(levels / 2) + "SELECT 1",
            "IF true THEN ".repeat(levels / 2),
            "WHILE true BEGIN ".repeat(levels / 2),
            "CASE WHEN true THEN ".repeat(levels / 2),
            "BEGIN ".repeat(levels),
            "CREATE TRIGGER t ".repeat(levels / 3),
        ] {
            if let Err(problem) = Database::default().try_run(&text) {
                assert!(["54001", "42601", "0A000"].contains(&problem.code()), "{text}: {problem}");
            }
        }
    }
}
