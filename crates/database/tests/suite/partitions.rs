//! Partitioned tables: that a restart finds them again, rows, bounds and what calls check.

use hotrow::{Config, Session};

use crate::alterations::{refusal, survives_restarts, texts};

/// Partitions that come, go, are detached, attached, emptied, renamed and altered.
const HISTORY: &[&str] = &[
    "CREATE TABLE sale (id int, day date, amount int, PRIMARY KEY (id, day)) \
     PARTITION BY RANGE (day)",
    "CREATE TABLE sale_23 PARTITION OF sale FOR VALUES FROM ('2023-01-01') TO ('2024-01-01')",
    "CREATE TABLE sale_24 PARTITION OF sale FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') \
     PARTITION BY LIST (id)",
    "CREATE TABLE sale_24_low PARTITION OF sale_24 FOR VALUES IN (2, 6)",
    "CREATE FUNCTION sell(i int, d date, a int) RETURNS bigint LANGUAGE plpgsql AS $$ \
     DECLARE n bigint; BEGIN INSERT INTO sale VALUES (i, d, a); \
     SELECT count(*) INTO n FROM sale_23; RETURN n; END $$",
    "SELECT sell(1, '2023-05-05', 10)",
    "SELECT sell(2, '2024-05-05', 2)",
    "CREATE TABLE sale_rest PARTITION OF sale DEFAULT",
    "SELECT sell(3, '2030-05-05', 7)",
    "ALTER TABLE sale DETACH PARTITION sale_rest",
    "INSERT INTO sale_rest VALUES (4, '2030-06-06', 8)",
    "CREATE TABLE sale_30 (LIKE sale_rest INCLUDING ALL)",
    "INSERT INTO sale_30 SELECT * FROM sale_rest",
    "ALTER TABLE sale ATTACH PARTITION sale_30 FOR VALUES FROM ('2030-01-01') TO (MAXVALUE)",
    "ALTER TABLE sale ADD COLUMN note text DEFAULT 'n'",
    "UPDATE sale SET day = '2023-07-07', note = 'moved' WHERE id = 4",
    "ALTER TABLE sale RENAME COLUMN day TO at",
    "ALTER TABLE sale_30 RENAME TO sale_late",
    "INSERT INTO sale_23 VALUES (5, '2023-01-01', 5)",
    "TRUNCATE sale_24",
    "INSERT INTO sale_24 VALUES (6, '2024-01-01', NULL)",
    "CREATE TABLE sale_25 PARTITION OF sale FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
    "INSERT INTO sale VALUES (7, '2025-01-01', 1)",
    "DROP TABLE sale_25",
];

fn check(session: &Session) {
    let all = "SELECT id, at, amount, note FROM sale ORDER BY id";
    assert_eq!(
        texts(session, all),
        [
            "1,2023-05-05,10,n",
            "3,2030-05-05,7,n",
            "4,2023-07-07,8,moved",
            "5,2023-01-01,5,n",
            "6,2024-01-01,NULL,n"
        ]
    );
    assert_eq!(texts(session, "SELECT id FROM sale_late"), ["3"]);
    assert_eq!(texts(session, "SELECT id FROM sale_24_low"), ["6"]);
    assert_eq!(texts(session, "SELECT id FROM sale_rest ORDER BY id"), ["3", "4"]);
    assert_eq!(texts(session, "SELECT id FROM sale_23 ORDER BY id"), ["1", "4", "5"]);
    for (script, code) in [
        ("SELECT sell(8, '2025-05-05', 1)", "23514"),
        ("SELECT sell(8, '2024-05-05', 3)", "23514"),
        ("SELECT sell(1, '2023-05-05', 3)", "23505"),
        ("INSERT INTO sale_late VALUES (9, '2023-01-01', 1)", "23514"),
        ("UPDATE sale SET at = '2025-05-05' WHERE id = 3", "23514"),
        (
            "CREATE TABLE bad PARTITION OF sale FOR VALUES FROM ('2031-01-01') TO ('2032-01-01')",
            "42P17",
        ),
        ("SELECT * FROM sale_25", "42P01"),
        ("INSERT INTO sale_rest VALUES (3, '2030-05-05', 7)", "23505"),
    ] {
        assert_eq!(refusal(session, script).0, code, "{script}");
    }
}

#[test]
fn partitions_survive_restarts_with_and_without_a_checkpoint() {
    for checkpoint_behind in [None, Some(1), Some(8), Some(14), Some(20), Some(HISTORY.len() - 1)] {
        let config = Config::default().threads(1);
        survives_restarts(("partitions", &config), HISTORY, checkpoint_behind, check);
    }
}
