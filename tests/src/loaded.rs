//! A workload's schema, procedures and population in a fresh database.

use std::ops::ControlFlow;

use hotrow::{Config, Database};
use hotrow_workloads::{Share, Workload};

use crate::directory::TestDirectory;

/// A database without an engine, loaded by one thread.
pub fn open_loaded(workload: &dyn Workload, seed: u64, config: Config) -> Database {
    let db = Database::open_in_memory_without_engine(config).expect("the configuration is right");
    load(workload, seed, &db);
    db
}

/// As [`open_loaded`], in a directory.
pub fn open_loaded_in(
    directory: &TestDirectory,
    workload: &dyn Workload,
    seed: u64,
    config: Config,
) -> Database {
    let db = Database::open_without_engine(directory.path(), config, |_| ());
    let db = db.unwrap_or_else(|error| panic!("{error}"));
    load(workload, seed, &db);
    db
}

fn load(workload: &dyn Workload, seed: u64, db: &Database) {
    let session = db.session();
    session.execute(&workload.schema_sql()).expect("the schema is right");
    session.execute(&workload.procedures_sql()).expect("the procedures are right");
    let loader = db.bulk_loader().expect("no engine runs");
    let mut part = loader.parts().remove(0);
    let flow = workload.load(Share::WHOLE, seed, &mut |table, row, heap| {
        part.load(table, row, heap).unwrap_or_else(|error| panic!("{table}: {error}"));
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    drop(part);
    loader.finish().expect("the disk takes it");
}
