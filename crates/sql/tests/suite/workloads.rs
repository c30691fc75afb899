//! The workloads' SQL compiles.

use crate::database::Database;

#[test]
fn tpcc_compiles() {
    let mut database = Database::default();
    database.run(include_str!("../../../workloads/src/tpcc/schema.sql"));
    database.run(include_str!("../../../workloads/src/tpcc/procedures.sql"));
    assert!(database.procedures.len() >= 5);
    for procedure in database.procedures.values() {
        let text = database.tree(procedure);
        let lowered = hotrow_transaction::lower::lower(&database.catalog, procedure);
        assert!(lowered.is_ok(), "{}: {:?}", procedure.name, lowered.err());
        assert!(!text.contains("scan of all"), "{text}");
        if std::env::var_os("PRINT_TREES").is_some() {
            println!("{text}");
        }
    }
}

#[test]
fn ycsb_compiles() {
    let mut database = Database::default();
    database.run(include_str!("../../../workloads/src/ycsb/schema.sql"));
    database.run(include_str!("../../../workloads/src/ycsb/procedures.sql"));
    assert!(!database.procedures.is_empty());
}

#[test]
fn kv_compiles() {
    for procedures in [
        include_str!("../../../workloads/src/kv/procedures.sql"),
        include_str!("../../../workloads/src/kv/aborting.sql"),
    ] {
        let mut database = Database::default();
        database.run(include_str!("../../../workloads/src/kv/schema.sql"));
        database.run(procedures);
        assert_eq!(database.procedures.len(), 3);
    }
}

#[test]
fn tpcb_compiles() {
    let mut database = Database::default();
    database.run(include_str!("../../../workloads/src/tpcb/schema.sql"));
    database.run(include_str!("../../../workloads/src/tpcb/procedures.sql"));
    assert!(!database.procedures.is_empty());
}
