//! Hostile text: an error, never a panic, never an overflow of the stack.

mod database;

use database::Database;
use hotrow_sql::{NESTING_MAX, TEXT_BYTES_MAX};

const CORPUS: &[&str] = &[
    include_str!("../../workloads/src/tpcc/schema.sql"),
    include_str!("../../workloads/src/tpcc/procedures.sql"),
    include_str!("../../workloads/src/ycsb/procedures.sql"),
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

#[test]
fn what_nests_less_compiles() {
    let n = NESTING_MAX / 2;
    let mut database = Database::default();
    database.run(&format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n)));
    database.run(&format!("SELECT {}true", "true AND ".repeat(300)));
    database.run(&format!("SELECT 1 IN ({}1)", "1, ".repeat(20_000)));
    database.run(&format!("SELECT {}1", "1 + ".repeat(150)));
}
