//! Columns that nobody changes: what needs no lock because of them, and which accesses are cut in
//! two.

use std::sync::Arc;

use hotrow_transaction::actions::ActionProgram;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::explain::explain;
use hotrow_transaction::granule::{ColumnSet, Granules};
use hotrow_transaction::routing::Routing;
use hotrow_transaction::slice::Knowledge;
use hotrow_workloads::workload_named;

use crate::workloads::Database;

/// As TATP has it: subscribers are found by a number that is not their key.
const PHONES: &str = "
    CREATE TABLE subscriber (s_id integer PRIMARY KEY, sub_nbr text NOT NULL UNIQUE,
        bit_1 smallint, vlr integer);
    CREATE TABLE facility (s_id integer, sf integer, active smallint, data text,
        PRIMARY KEY (s_id, sf));
    CREATE TABLE forwarding (s_id integer, sf integer, start integer, number text,
        PRIMARY KEY (s_id, sf, start));";

const CALLS: &str = "
    CREATE PROCEDURE update_location(nbr text, p_vlr integer) LANGUAGE plpgsql AS $$
    BEGIN UPDATE subscriber SET vlr = p_vlr WHERE sub_nbr = nbr; END $$;
    CREATE PROCEDURE insert_forwarding(nbr text, p_sf integer, p_start integer, p_number text)
    LANGUAGE plpgsql AS $$
    DECLARE v_id integer;
    BEGIN
        SELECT s_id INTO v_id FROM subscriber WHERE sub_nbr = nbr;
        INSERT INTO forwarding VALUES (v_id, p_sf, p_start, p_number);
    END $$;
    CREATE PROCEDURE update_facility(p_id integer, p_sf integer, p_active smallint)
    LANGUAGE plpgsql AS $$
    BEGIN UPDATE facility SET active = p_active WHERE s_id = p_id AND sf = p_sf; END $$;";

fn database(schema: &str, procedures: &str) -> Database {
    let mut database = Database::default();
    database.run(schema);
    database.run(procedures);
    database
}

fn granules(database: &Database) -> Granules {
    Granules::infer(&database.catalog, database.procedures.values())
}

fn compiled(database: &Database, name: &str) -> CompiledProcedure {
    let tree = database.procedures[name].clone();
    CompiledProcedure::new(&database.catalog, &granules(database), tree).expect("it lowers")
}

fn text(database: &Database, name: &str) -> String {
    let Database { catalog, procedures } = database;
    let granules = granules(database);
    let routing = Routing::infer(catalog, &granules, procedures.values());
    explain(catalog, &granules, &routing, &compiled(database, name))
}

fn says(database: &Database, name: &str, line: &str) {
    let text = text(database, name);
    assert!(text.contains(line), "{name} does not say {line:?}: {text}");
}

fn never_says(database: &Database, name: &str, line: &str) {
    let text = text(database, name);
    assert!(!text.contains(line), "{name} says {line:?}: {text}");
}

/// How many leading columns make a granule of a table's primary index.
fn parts(database: &Database, table: &str) -> usize {
    let table = database.catalog.table_named(table).expect("it is there");
    granules(database).parts(table.primary.expect("it has one"))
}

#[test]
fn a_key_read_where_nobody_writes_shortens_no_granule() {
    let phones = database(PHONES, CALLS);
    assert_eq!(parts(&phones, "forwarding"), 3);
    let insert = "insert_forwarding";
    says(&phones, insert, "no lock: no registered procedure writes the columns that it reads");
    says(&phones, insert, "lock X granule (s_id, sf, start) of forwarding_pkey");
    says(&phones, insert, "by reconnaissance that is never wrong, because v_id is read from a row");
    says(&phones, insert, "A call touches one partition.\n");
    let update = "update_location";
    says(&phones, update, "lock X each row found, by subscriber_pkey");
    says(&phones, update, "each row found is routed by its own key");
    never_says(&phones, update, "all partitions");
    never_says(&phones, update, "of subscriber_sub_nbr_key:");
    let known = compiled(&phones, update).knowledge;
    assert!(matches!(known[..], [Knowledge::Unchanging(_)]), "{known:?}");
}

/// What ends it, statement by statement.
#[test]
fn another_procedure_ends_it() {
    let update = "CREATE PROCEDURE more(i integer) LANGUAGE plpgsql AS $$ BEGIN
        UPDATE subscriber SET s_column WHERE s_id = i; END $$;";
    let others = [
        ("UPDATE of the column", update.replace("s_column", "sub_nbr = 'a'")),
        ("a column of varying size", update.replace("s_column", "sub_nbr = sub_nbr")),
        ("DELETE", update.replace("UPDATE", "DELETE FROM").replace("SET s_column", "")),
        (
            "INSERT",
            "CREATE PROCEDURE more(i integer) LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO subscriber VALUES (i, 'a', 0::smallint, 0); END $$;"
                .to_owned(),
        ),
    ];
    for (what, other) in others {
        let phones = database(PHONES, &format!("{CALLS}{other}"));
        assert_eq!(parts(&phones, "forwarding"), 0, "{what}");
        never_says(&phones, "insert_forwarding", "writes the columns that it reads");
        says(&phones, "update_location", "subscriber_sub_nbr_key");
    }
    let fixed = database(PHONES, &format!("{CALLS}{}", update.replace("s_column", "bit_1 = 1")));
    assert_eq!(parts(&fixed, "forwarding"), 3, "another column of fixed size");
}

#[test]
fn what_is_changed_is_known_column_by_column() {
    let phones = database(PHONES, CALLS);
    let changed = |name: &str| {
        let table = phones.catalog.table_named(name).expect("it is there").id;
        granules(&phones).table(table).changed
    };
    assert_eq!(changed("subscriber"), ColumnSet::of([3]));
    assert_eq!(changed("facility"), ColumnSet::of([2]));
    assert_eq!(changed("forwarding"), ColumnSet::ALL);
}

fn program(database: &Database, name: &str) -> ActionProgram {
    let Database { catalog, procedures } = database;
    let granules = granules(database);
    let compiled = CompiledProcedure::new(catalog, &granules, procedures[name].clone());
    let compiled = Arc::new(compiled.expect("it lowers"));
    ActionProgram::new(catalog, &granules, &compiled).expect("it lowers")
}

fn leaves(schema: &str, procedures: &str, name: &str) -> Vec<usize> {
    let program = program(&database(schema, procedures), name);
    program.apart.iter().map(|&site| usize::from(site) + 1).collect()
}

const STOCK: &str = "
    CREATE TABLE stock (id integer PRIMARY KEY, n integer, dist char(24), data text);
    CREATE TABLE line (id integer PRIMARY KEY, dist char(24), n integer, data text);";

/// The body of a procedure of two parameters, with three variables.
fn sell(body: &str) -> String {
    format!(
        "CREATE PROCEDURE sell(i integer, l integer) LANGUAGE plpgsql AS $$
         DECLARE d char(24); t text; m integer; BEGIN {body} END $$;"
    )
}

#[test]
fn an_access_is_cut_in_two_where_that_saves_waiting() {
    let cut = |body: &str| leaves(STOCK, &sell(body), "sell");
    let take = "UPDATE stock SET n = n - 1 WHERE id = i RETURNING dist INTO d;";
    let put = "INSERT INTO line VALUES (l, d, 1, 'a');";
    assert_eq!(cut(&format!("{take} {put}")), [1]);
    assert_eq!(cut(&format!("{put} {take}")), [2], "in a loop it would come before");
    assert_eq!(cut(take), [0; 0], "nobody takes it");
    let both = take.replace("RETURNING dist INTO d", "RETURNING dist, n INTO d, m");
    assert_eq!(cut(&format!("{both} {put}")), [1]);
    let needs_both = put.replace("d, 1", "d, m");
    assert_eq!(cut(&format!("{both} {needs_both}")), [0; 0], "it waits all the same");
    let guarded = format!("IF FOUND THEN {put} END IF;");
    assert_eq!(cut(&format!("{take} {guarded}")), [0; 0], "so it does here");
    let computed = format!("{both} t := d || 'x'; INSERT INTO line VALUES (l, d, 1, t);");
    assert_eq!(cut(&computed), [1], "through a variable");
    let read = "SELECT dist, n INTO d, m FROM stock WHERE id = i;";
    let change = "UPDATE stock SET n = 0 WHERE id = l;";
    assert_eq!(cut(&format!("{read} {change} {put}")), [1], "a read that holds its row");
    assert_eq!(cut(&format!("{read} {put}")), [0; 0], "nobody writes stock");
    let long = format!("{take} {put} UPDATE stock SET data = 'b' WHERE id = i;");
    assert_eq!(cut(&long), [0; 0], "rows are laid anew");
    let strict = take.replace("INTO", "INTO STRICT");
    assert_eq!(cut(&format!("{strict} {put}")), [1], "the rest sees to it");
}

#[test]
fn tpcc_needs_no_lock_for_taxes_and_texts() {
    let workload = workload_named("tpcc").expect("the name is listed");
    let tpcc = database(&workload.schema_sql(), &workload.procedures_sql());
    says(&tpcc, "new_order", "no lock: no registered procedure writes the columns that it reads");
    for (name, apart) in [("new_order", &[6][..]), ("payment", &[]), ("delivery", &[])] {
        assert_eq!(program(&tpcc, name).apart, apart, "{name}");
    }
    says(&tpcc, "new_order", "Nobody writes of warehouse: w_id, w_name, w_street_1, w_street_2");
}
