//! Which loops may take their turns in any order (`hotrow_transaction::free_loop`).

use crate::database::Database;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::granule::Granules;

const TABLES: &str = "
CREATE TABLE counter (
    id bigint PRIMARY KEY, value bigint NOT NULL, owner bigint, tag bigint UNIQUE);
CREATE INDEX counter_owner ON counter (owner);
";

/// Whether a loop of a procedure over `p_ids bigint[]` is free.
fn is_free(body: &str) -> bool {
    let mut database = Database::with(TABLES);
    database.run(&format!(
        "CREATE PROCEDURE p(p_ids bigint[], p_by bigint) LANGUAGE plpgsql AS $$
         DECLARE v bigint; n bigint := 0;
         BEGIN {body} END; $$;"
    ));
    let procedure = database.procedures.values().next().expect("it was created").clone();
    let granules = Granules::infer(&database.catalog, [&procedure]);
    let compiled = CompiledProcedure::new(&database.catalog, &granules, procedure);
    let free = compiled.expect("it compiles").free_loop;
    free.is_some()
}

fn each(statement: &str) -> String {
    format!("FOREACH v IN ARRAY p_ids LOOP {statement} END LOOP;")
}

const BUMP: &str = "UPDATE counter SET value = value + p_by WHERE id = v;";

#[test]
fn a_loop_that_updates_a_row_at_each_turn_is_free() {
    assert!(is_free(&each(BUMP)));
    assert!(is_free(&each("UPDATE counter SET value = v * 2 WHERE id = v + p_by;")));
    assert!(is_free(&format!("n := p_by; {} n := n + 1;", each(BUMP))));
}

#[test]
fn a_loop_whose_turns_others_can_tell_apart_is_not() {
    let refused = [
        ("the last turn's variable is read", format!("{} n := v;", each(BUMP))),
        ("the array is read elsewhere", format!("n := p_ids[1]; {}", each(BUMP))),
        ("two statements", each(&format!("{BUMP} n := n + v;"))),
        ("a row is removed", each("DELETE FROM counter WHERE id = v;")),
        ("a row is made", each("INSERT INTO counter VALUES (v, 0, 0, v);")),
        ("a filter may miss", each("UPDATE counter SET value = 0 WHERE id = v AND value > 0;")),
        ("an index entry moves", each("UPDATE counter SET owner = 1 WHERE id = v;")),
        ("a unique entry moves", each("UPDATE counter SET tag = v WHERE id = v;")),
        ("several rows", each("UPDATE counter SET value = 0 WHERE owner = v;")),
        ("under a condition", each(&format!("IF v > 0 THEN {BUMP} END IF;"))),
        ("rows are only read", each("SELECT value INTO n FROM counter WHERE id = v;")),
    ];
    for (why, body) in refused {
        assert!(!is_free(&body), "{why}: {body}");
    }
}
