//! Runs a test on every engine of the table, in all variants, with one and with two threads, and
//! now and then with split indexes.

use hotrow::{Config, Database, EngineEntry, Error};

/// Calls `test` once per engine, variant and thread count.
pub fn every_engine(test: impl Fn(Config) -> Result<(), Error>) {
    let mut tried = 0;
    for entry in hotrow::engines() {
        let plain: &[&[(&str, &str)]] = &[&[]];
        let variants = if entry.variants.is_empty() { plain } else { entry.variants };
        for settings in variants {
            for threads in [1, 2] {
                if !entry.runs_with(threads) {
                    continue;
                }
                tried += 1;
                let split = if tried % 4 == 3 { 3 } else { 1 };
                let name = format!("{} {settings:?} x {threads}, split {split}", entry.name);
                let config = Config::default()
                    .engine(entry.name)
                    .variant(settings)
                    .threads(threads)
                    .split_indexes(split)
                    .memory_bytes(256 << 20);
                println!("on {name}");
                test(config).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

/// Calls `test` once per engine, with one and with two threads where it can: for what has little to
/// do with how an engine is set up, and takes long.
pub fn each_engine(test: impl Fn(Config) -> Result<(), Error>) {
    for entry in hotrow::engines() {
        for threads in [1, 2].into_iter().filter(|&threads| entry.runs_with(threads)) {
            let name = format!("{} x {threads}", entry.name);
            let config = Config::default().engine(entry.name).threads(threads);
            println!("on {name}");
            test(config.memory_bytes(256 << 20)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// An engine with two threads, or as many as it has.
pub fn two_threads(entry: &EngineEntry) -> Config {
    let config = Config::default().engine(entry.name).threads(entry.threads_near(2));
    config.memory_bytes(256 << 20)
}

/// Opens a database.
pub fn open(config: Config) -> Database {
    Database::open_in_memory(config).expect("the configuration is right")
}

/// Calls `test` with a database per engine, in which `script` has run, and the engine's name.
pub fn each_engine_with(script: &str, test: impl Fn(&Database, &str)) {
    each_engine(|config| {
        let engine = config.engine.clone();
        let db = open(config);
        db.session().execute(script)?;
        test(&db, &engine);
        Ok(())
    });
}
