//! Routing rules: what plans say about partitions is what execution does.

use std::collections::HashMap;

use hotrow_base::ids::TableId;
use hotrow_transaction::actions::{Batch, Failure, Order, Wanted, execute};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::explain::explain;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::Granules;
use hotrow_transaction::interpret::{NoHook, run};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Plan;
use hotrow_transaction::reference::ModelStore;
use hotrow_transaction::routing::{
    Lies, PartitionSet, Routing, RoutingProgram, RoutingRule, SecondaryEntries,
};
use hotrow_workloads::workload_named;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::checked::Checked;
use crate::compare::{Planned, Subject};
use crate::generate::Generator;
use crate::noted::Noted;
use crate::workloads::{Database, NextCall, each_call};
use crate::{programs, world};

/// Bytes at, right before or right behind the key of a small integer.
fn boundary(random: &mut SmallRng) -> Box<[u8]> {
    let number: i32 = random.random_range(0..8);
    let mut bytes = (number as u32 ^ 1 << 31).to_be_bytes().to_vec();
    match random.random_range(0..3) {
        0 => {}
        1 => bytes.push(0),
        _ => drop(bytes.pop()),
    }
    bytes.into()
}

/// The rules, spread in some way.
fn spread(routing: &Routing, catalog: &Catalog, random: &mut SmallRng) -> Routing {
    let partitions = random.random_range(1..7);
    let mut routing = routing.clone().spread_over(partitions).expect("a small number");
    if random.random() {
        routing = routing.with_secondary(SecondaryEntries::Shared);
    }
    if random.random() {
        let mut boundaries: Vec<_> = (1..partitions).map(|_| boundary(random)).collect();
        boundaries.sort();
        for table in catalog.tables().iter().map(|table| table.id) {
            if let RoutingRule::Fields { .. } = routing.rule(table) {
                routing = routing.with_ranges(table, boundaries.clone()).expect("they ascend");
            }
        }
    }
    routing
}

fn noted<'a>(subject: &Subject<'a>, routing: &'a Routing, store: &ModelStore) -> Noted<'a> {
    let (catalog, granules) = (subject.catalog, subject.granules);
    let inner = Checked { store: store.clone(), catalog, granules, held: None, writes: 0 };
    let named = PartitionSet::EMPTY;
    Noted { inner, routing, named, outside: Vec::new(), seen: 0 }
}

/// Runs a planned call; how many partitions its plan named, and what it touched elsewhere.
fn planned(
    subject: &Subject<'_>,
    routing: &Routing,
    store: &ModelStore,
    invocation: &Invocation,
) -> (usize, Vec<String>) {
    let mut access = noted(subject, routing, store);
    let (mut plan, mut frame) = (Plan::default(), Frame::new());
    plan.make(&subject.compiled.plan, invocation, &mut frame, &mut access.inner)
        .expect("planning does not stop");
    routing.partitions(subject.catalog, &plan, &mut access.named);
    let granules = plan.footprint().granules().iter();
    access.inner.held = Some(granules.map(|g| (g.lock, g.mode)).collect::<HashMap<_, _>>());
    let program = &subject.compiled.program;
    frame.begin(program, invocation);
    match run(program, 0, &mut frame, &mut access, &mut plan.keys()) {
        Ok(()) | Err(Stop::Error | Stop::Replan) => {}
        Err(other) => panic!("stopped: {other:?}"),
    }
    (access.named.len(), access.outside)
}

/// Runs a call whose parameters tell its partition, without a plan; whether they tell, and what it
/// touched elsewhere.
fn routed(
    subject: &Subject<'_>,
    routing: &Routing,
    store: &ModelStore,
    invocation: &Invocation,
) -> (bool, Vec<String>) {
    let Subject { catalog, granules, compiled, .. } = subject;
    let program = RoutingProgram::new(catalog, granules, routing, &compiled.procedure);
    let place = program.map_or(Lies::Unknown, |program| program.place(&invocation.arguments));
    let mut access = noted(subject, routing, store);
    match place {
        Lies::Unknown => return (false, Vec::new()),
        Lies::Anywhere => {}
        Lies::In(partition) => access.named.insert(partition),
    }
    let (program, mut frame) = (&compiled.program, Frame::new());
    frame.begin(program, invocation);
    match run(program, 0, &mut frame, &mut access, &mut NoHook) {
        Ok(()) | Err(Stop::Error) => {}
        Err(other) => panic!("stopped: {other:?}"),
    }
    (true, access.outside)
}

/// Names each action's partitions when it begins.
struct EachAction;

impl<'c> Order<Noted<'c>> for EachAction {
    fn choose(&mut self, _: usize) -> usize {
        0
    }

    fn enter(&mut self, access: &mut Noted<'c>, batch: &Batch, action: u32) {
        let action = &batch.actions()[action as usize];
        let uses = batch.uses(action).iter();
        access.inner.held = Some(uses.map(|held| (held.lock, held.mode)).collect());
        access.named = PartitionSet::EMPTY;
        let catalog = access.inner.catalog;
        access.routing.partitions_of_action(catalog, batch, action, &mut access.named);
    }
}

/// Runs a call as actions; what any of them touched outside its partitions.
fn acted(
    subject: &Subject<'_>,
    routing: &Routing,
    store: &ModelStore,
    invocation: &Invocation,
) -> Vec<String> {
    let mut access = noted(subject, routing, store);
    let mut plan = Planned::default();
    plan.make(&[], Wanted::Actions, (&subject.actions, invocation), &mut access.inner);
    let call = (&plan.batch, plan.call());
    match execute(&subject.actions, call, invocation, &mut access, &mut EachAction) {
        Ok(_) | Err(Failure::Error(_) | Failure::Stop(Stop::Replan)) => {}
        Err(Failure::Stop(other)) => panic!("stopped: {other:?}"),
    }
    access.outside
}

/// Calls of a workload under all kinds of routings: per procedure, how many calls had how many
/// partitions.
fn calls(name: &str, settings: &[(&str, &str)], count: usize) -> HashMap<String, Vec<usize>> {
    let mut random = SmallRng::seed_from_u64(3);
    let mut rules = None;
    let mut partitions = HashMap::new();
    each_call(name, settings, 11, count, |call| {
        let NextCall { name, subject, store, invocation, .. } = call;
        let Database { catalog, procedures } = call.database;
        let rules = rules
            .get_or_insert_with(|| Routing::infer(catalog, call.granules, procedures.values()));
        let routing = spread(rules, catalog, &mut random);
        let (named, outside) = planned(subject, &routing, store, invocation);
        assert_eq!(outside, [""; 0], "{name} {routing:?}");
        let outside = acted(subject, &routing, store, invocation);
        assert_eq!(outside, [""; 0], "an action of {name} {routing:?}");
        let (is_told, outside) = routed(subject, &routing, store, invocation);
        assert_eq!(outside, [""; 0], "by parameters, {name} {routing:?}");
        let program = RoutingProgram::new(catalog, call.granules, &routing, &procedures[*name]);
        assert!(named > 1 || is_told || program.is_none(), "{name} stays in one {routing:?}");
        partitions.entry((*name).to_owned()).or_insert_with(Vec::new).push(named);
    });
    partitions
}

#[test]
fn tpcc_stays_in_the_partitions_its_plans_name() {
    let settings = [("items", "20"), ("customers", "10"), ("warehouses", "6")];
    let partitions = calls("tpcc", &settings, 300);
    for single in ["order_status", "delivery", "stock_level"] {
        assert!(partitions[single].iter().all(|&named| named == 1), "{single} {partitions:?}");
    }
    assert!(partitions["payment"].iter().all(|named| (1..=2).contains(named)), "{partitions:?}");
    assert!(partitions["payment"].contains(&2), "{partitions:?}");
    assert!(partitions["new_order"].contains(&1), "{partitions:?}");
}

#[test]
fn ycsb_stays_in_the_partitions_its_plans_name() {
    let partitions = calls("ycsb", &[("records", "200"), ("reads", "50")], 150);
    assert!(partitions.values().flatten().any(|&named| named > 1), "{partitions:?}");
}

#[test]
fn kv_stays_in_the_partitions_its_plans_name() {
    for rounds in ["1", "2"] {
        let settings = [("multi_partition", "50"), ("conflict", "30"), ("rounds", rounds)];
        let partitions = calls("kv", &settings, 150);
        assert!(partitions["kv_single"].iter().all(|&named| named == 1), "{partitions:?}");
        let several = if rounds == "1" { "kv_multi" } else { "kv_two_rounds" };
        assert!(partitions[several].iter().all(|named| (1..=2).contains(named)), "{partitions:?}");
        assert!(partitions[several].contains(&2), "{partitions:?}");
    }
}

#[test]
fn random_programs_stay_in_the_partitions_their_plans_name() {
    let catalog = world::catalog();
    let (mut one, mut more, mut told) = (0, 0, 0);
    for seed in 0..1500 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut procedure = Generator::procedure(&mut random);
        if seed % 3 == 0 {
            Generator::use_unchanged(&mut procedure, &mut SmallRng::seed_from_u64(seed));
        }
        let granules = Granules::infer(&catalog, [&procedure]);
        let rules = Routing::infer(&catalog, &granules, [&procedure]);
        let subject = Subject::new(&catalog, &granules, &procedure);
        for _ in 0..4 {
            let store = world::store(&catalog, &mut random);
            let invocation = programs::arguments(&procedure, &mut random);
            let routing = spread(&rules, &catalog, &mut random);
            let context = || format!("seed {seed} {routing:?} {:#?}", procedure.body);
            let (named, outside) = planned(&subject, &routing, &store, &invocation);
            assert_eq!(outside, [""; 0], "{}", context());
            let outside = acted(&subject, &routing, &store, &invocation);
            assert_eq!(outside, [""; 0], "action; {}", context());
            let (is_told, outside) = routed(&subject, &routing, &store, &invocation);
            assert_eq!(outside, [""; 0], "by parameters; {}", context());
            told += u32::from(is_told);
            *(if named <= 1 { &mut one } else { &mut more }) += 1;
        }
    }
    assert!(one > 500 && more > 500, "both kinds occur: {one} and {more}");
    assert!(told > 100, "parameters tell of some: {told}");
}

fn parts(routing: &Routing, catalog: &Catalog, name: &str) -> Option<u8> {
    let table: TableId = catalog.table_named(name).expect("it is there").id;
    match routing.rule(table) {
        RoutingRule::Fields { parts, .. } => Some(*parts),
        RoutingRule::Replicated | RoutingRule::Unkeyed => None,
    }
}

fn database(schema: &str, procedures: &str) -> Database {
    let mut database = Database::default();
    database.run(schema);
    database.run(procedures);
    database
}

/// The rules of a database, and what EXPLAIN says of each procedure.
fn explained(database: &Database) -> (Routing, HashMap<&str, String>) {
    let Database { catalog, procedures } = database;
    let granules = Granules::infer(catalog, procedures.values());
    let routing = Routing::infer(catalog, &granules, procedures.values());
    let texts = procedures.iter().map(|(name, procedure)| {
        let compiled = CompiledProcedure::new(catalog, &granules, procedure.clone());
        (name.as_str(), explain(catalog, &granules, &routing, &compiled.expect("it lowers")))
    });
    let texts = texts.collect();
    (routing, texts)
}

#[test]
fn tpcc_is_routed_by_warehouse() {
    let workload = workload_named("tpcc").expect("the name is listed");
    let database = database(&workload.schema_sql(), &workload.procedures_sql());
    let (routing, texts) = explained(&database);
    for table in ["warehouse", "district", "customer", "stock", "orders", "new_order", "order_line"]
    {
        assert_eq!(parts(&routing, &database.catalog, table), Some(1), "{table}");
    }
    let rule = |name| routing.rule(database.catalog.table_named(name).expect("it is there").id);
    assert_eq!(rule("item"), &RoutingRule::Replicated);
    assert_eq!(rule("history"), &RoutingRule::Unkeyed);
    let says = |name: &str, line: &str| {
        assert!(texts[name].contains(line), "{name} does not say {line:?}: {}", texts[name]);
    };
    says("new_order", "routed by d_w_id = p_w_id\n");
    says("new_order", "routed by s_w_id = supply_warehouse\n");
    says("new_order", "any partition (read only)\n");
    says(
        "new_order",
        "A call touches one partition when supply_warehouse = p_w_id. Its parameters tell which.\n",
    );
    says(
        "payment",
        "A call touches one partition when p_w_id = p_c_w_id. Its parameters tell which.\n",
    );
    for single in ["order_status", "delivery", "stock_level"] {
        says(single, "A call touches one partition. Its parameters tell which.\n");
    }
}

#[test]
fn ycsb_is_routed_by_key() {
    let workload = workload_named("ycsb").expect("the name is listed");
    let database = database(&workload.schema_sql(), &workload.procedures_sql());
    let (routing, texts) = explained(&database);
    assert_eq!(parts(&routing, &database.catalog, "usertable"), Some(1));
    assert!(texts.values().any(|text| text.contains("routed by y_id = ")), "{texts:?}");
}

#[test]
fn kv_is_routed_by_parameters_alone() {
    for (aborts, suffix) in [("0", ""), ("5", "_or_abort")] {
        let mut workload = workload_named("kv").expect("the name is listed");
        workload.parameters_mut().set("aborts", aborts).expect("it is a number");
        let database = database(&workload.schema_sql(), &workload.procedures_sql());
        let (routing, texts) = explained(&database);
        assert_eq!(parts(&routing, &database.catalog, "kv"), Some(1));
        let says = |name: &str, line: &str| {
            let text = &texts[format!("{name}{suffix}").as_str()];
            assert!(text.contains(line), "{name} does not say {line:?}: {text}");
        };
        for name in ["kv_single", "kv_multi", "kv_two_rounds"] {
            says(name, "Planning a call needs its parameters only.\n");
        }
        says("kv_single", "routed by kv_partition = p_partition\n");
        says("kv_single", "A call touches one partition. Its parameters tell which.\n");
        says(
            "kv_multi",
            "A call touches one partition when p_second = p_first. Its parameters tell which.\n",
        );
        says(
            "kv_two_rounds",
            "A call touches one partition when p_second = p_first. Its parameters tell which.\n",
        );
    }
}

#[test]
fn rules_follow_the_procedures() {
    let schema = "CREATE TABLE a (x integer, y integer, v integer, PRIMARY KEY (x, y));
        CREATE TABLE b (x bigint, y integer, v integer, PRIMARY KEY (x, y));
        CREATE TABLE person (id integer PRIMARY KEY, email text UNIQUE, n integer);";
    let alone = "CREATE PROCEDURE p(i integer, j integer) LANGUAGE plpgsql AS $$ BEGIN
            UPDATE a SET v = 1 WHERE x = i AND y = j; END $$;
        CREATE PROCEDURE read_person(e text) LANGUAGE plpgsql AS $$ BEGIN
            UPDATE person SET n = 1 WHERE email = e; END $$;
        CREATE PROCEDURE forget_person(i integer) LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM person WHERE id = i; END $$;";
    let alone = database(schema, alone);
    let (routing, texts) = explained(&alone);
    assert_eq!(parts(&routing, &alone.catalog, "a"), Some(2), "the longest prefix spreads best");
    assert_eq!(parts(&routing, &alone.catalog, "b"), None, "nobody writes it");
    assert_eq!(parts(&routing, &alone.catalog, "person"), Some(1), "email is no part of the key");
    let text = &texts["read_person"];
    assert!(text.contains("all partitions, because person_email_key does not tell id"), "{text}");
    assert!(text.contains("each row found is routed by its own key"), "{text}");

    let loops = "CREATE PROCEDURE p(i integer) LANGUAGE plpgsql AS $$ BEGIN
            FOR j IN 1..3 LOOP UPDATE a SET v = 1 WHERE x = i AND y = j; END LOOP; END $$;
        CREATE PROCEDURE q(i bigint) LANGUAGE plpgsql AS $$ BEGIN
            UPDATE a SET v = 1 WHERE x = 1 AND y = 1; UPDATE b SET v = 1 WHERE x = i AND y = 1;
            END $$;";
    let loops = database(schema, loops);
    let (routing, texts) = explained(&loops);
    assert_eq!(parts(&routing, &loops.catalog, "a"), Some(1), "p stays in one partition so");
    assert!(
        texts["p"].contains("A call touches one partition. Its parameters tell which.\n"),
        "{}",
        texts["p"]
    );
    let several = "several partitions: a is routed by (x), b by (x, y)";
    assert!(texts["q"].contains(several), "integers of two widths never meet: {}", texts["q"]);
}

#[test]
fn a_declared_prefix_stands() {
    let schema = "CREATE TABLE a (x integer, y integer, v integer, PRIMARY KEY (x, y))
        WITH (routing = 'x', primary_index = hash);";
    let write = "CREATE PROCEDURE p(i integer, j integer) LANGUAGE plpgsql AS $$ BEGIN
            UPDATE a SET v = 1 WHERE x = i AND y = j; END $$;";
    let declared = database(schema, write);
    let (routing, texts) = explained(&declared);
    assert_eq!(parts(&routing, &declared.catalog, "a"), Some(1));
    assert!(texts["p"].contains("routed by x = i\n"), "{}", texts["p"]);

    let schema = schema.replace("'x'", "'x, y'");
    let scan = "CREATE PROCEDURE p(i integer) LANGUAGE plpgsql AS $$ BEGIN
            UPDATE a SET v = 1 WHERE x = i; END $$;"
        .to_owned();
    let fine = database(&schema.replace("hash", "btree"), &scan);
    let (routing, texts) = explained(&fine);
    assert_eq!(parts(&routing, &fine.catalog, "a"), Some(2));
    let all = "all partitions, because granules do not tell x, y";
    assert!(texts["p"].contains(all), "{}", texts["p"]);
}
