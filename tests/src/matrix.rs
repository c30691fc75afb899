//! The matrix: every engine of the table, in all its variants, with several thread counts, and
//! every third time with split indexes.

use hotrow::{Config, Database, EngineEntry, engines};

/// Memory of a test database: small, so that hundreds of them are cheap.
const MEMORY_BYTES: u64 = 256 << 20;
/// Parts of indexes, where they are split.
const SPLIT: u16 = 3;
/// The setting with which each part lies in a partition of its own: never tested without parts.
const OF_PARTS: (&str, &str) = ("partitions", "3");
/// A call of a test that runs longer than this is a bug.
const STEP_BUDGET: u64 = 200_000;

/// One way to run the suite.
#[derive(Clone)]
pub struct Setup {
    /// for messages: engine, variant, threads
    pub name: String,
    /// the engine
    pub entry: EngineEntry,
    /// how a database is opened with it
    pub config: Config,
    /// what it is one of several of: a variant with several thread counts, an engine's crews
    pub group: (&'static str, Settings),
}

impl Setup {
    /// A set-up of one engine.
    pub fn new(entry: &EngineEntry, variant: &[(&str, &str)], threads: usize) -> Self {
        let settings: Vec<_> =
            variant.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let config = Config::default()
            .engine(entry.name)
            .variant(variant)
            .threads(threads)
            .memory_bytes(MEMORY_BYTES)
            .step_budget(STEP_BUDGET);
        let name = format!("{} {} x {threads}", entry.name, settings.join(","));
        Self { name, entry: *entry, config, group: (entry.name, &[]) }
    }

    fn with_split_indexes(mut self) -> Self {
        self.config = self.config.split_indexes(SPLIT);
        self.name = format!("{} split {SPLIT}", self.name);
        self
    }

    /// An empty database.
    pub fn open(&self) -> Database {
        self.open_with(|config| config)
    }

    /// An empty database, with a change of the configuration.
    pub fn open_with(&self, change: impl FnOnce(Config) -> Config) -> Database {
        Database::open_in_memory_with(&self.entry, change(self.config.clone()))
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// An engine's settings.
pub type Settings = &'static [(&'static str, &'static str)];

/// Settings that only tests use, by engine.
const TEST_VARIANTS: &[(&str, Settings)] = &[
    // Which locks are taken last, and in which order, changes at every opportunity.
    (
        "two_phase_locking",
        &[("acquisition", "ordered"), ("order", "identity"), ("last_use", "release")],
    ),
    (
        "two_phase_locking",
        &[
            ("acquisition", "ordered"),
            ("order", "drawn"),
            ("heat_ms", "0"),
            ("last_use", "release"),
        ],
    ),
];

/// Settings that need a number of threads, by engine: with it they are tested wherever four threads
/// are.
const TEST_CREWS: &[(&str, usize, Settings)] = &[
    ("orthrus", 4, &[("lock_threads", "2")]),
    ("orthrus", 4, &[("lock_threads", "changing")]),
    ("orthrus", 4, &[("lock_threads", "2"), ("lock_table", "shared")]),
    ("orthrus", 4, &[("lock_threads", "2"), ("run_there", "16"), ("on_callers", "off")]),
    ("orthrus", 16, &[("lock_threads", "4"), ("on_callers", "off")]),
    ("partitioned", 2, &[("scheme", "speculation"), ("coordinators", "2"), ("depth", "2")]),
    ("partitioned", 4, &[("scheme", "locking"), ("locks", "always")]),
];

/// Every engine of the table, in all variants, with each of the thread counts it can use. With
/// `HOTROW_ENGINE` in the environment, of that engine only, or, if that is `NAME:setting=value,..`,
/// with these settings only: for whoever works on it.
pub fn setups(threads: &[usize]) -> Vec<Setup> {
    let mut all = Vec::new();
    let wanted = std::env::var("HOTROW_ENGINE").ok();
    if let Some((name, settings)) = wanted.as_deref().and_then(|wanted| wanted.split_once(':')) {
        let pairs = settings.split(',').filter_map(|setting| setting.split_once('='));
        return of_variant(engine(name), &pairs.collect::<Vec<_>>(), threads);
    }
    let wanted = wanted.map(|name| engine(&name).name);
    for entry in engines().iter().filter(|entry| wanted.is_none_or(|name| name == entry.name)) {
        let plain: &[&[(&str, &str)]] = &[&[]];
        let variants = if entry.variants.is_empty() { plain } else { entry.variants };
        let of_tests = TEST_VARIANTS.iter().filter(|(engine, _)| *engine == entry.name);
        for variant in variants.iter().chain(of_tests.map(|(_, variant)| variant)) {
            let fitting = threads.iter().filter(|&&threads| entry.runs_with(threads));
            for &threads in fitting {
                let setup = Setup::new(entry, variant, threads);
                // In turn, so that each variant has its indexes split with some thread count.
                let in_turn = (all.len() + all.len() / 3) % 3 == 2;
                let splits = in_turn || variant.contains(&OF_PARTS);
                let setup = if splits { setup.with_split_indexes() } else { setup };
                all.push(Setup { group: (entry.name, variant), ..setup });
            }
        }
        let crews = TEST_CREWS.iter().filter(|(engine, ..)| *engine == entry.name);
        for &(_, crew, variant) in crews.filter(|_| threads.contains(&4)) {
            all.push(Setup { group: ("crew", &[]), ..Setup::new(entry, variant, crew) });
        }
    }
    all
}

/// As [`setups`], but every variant with one of its thread counts, and every engine that has crews
/// with one of them: which, `turn` decides. With `HOTROW_SETUPS=all` in the environment, with all.
pub fn setups_in_turn(turn: usize) -> Vec<Setup> {
    let all = setups(&[1, 2, 4]);
    if std::env::var("HOTROW_SETUPS").is_ok_and(|wanted| wanted == "all") {
        return all;
    }
    let groups = all.chunk_by(|a, b| (a.entry.name, a.group) == (b.entry.name, b.group));
    groups.map(|group| group[turn % group.len()].clone()).collect()
}

/// One variant, with each of the thread counts it can use, every third time with split indexes.
fn of_variant(entry: &EngineEntry, variant: &[(&str, &str)], threads: &[usize]) -> Vec<Setup> {
    let fitting = threads.iter().filter(|&&threads| entry.runs_with(threads));
    let setups = fitting.map(|&threads| Setup::new(entry, variant, threads)).enumerate();
    let split = |(at, setup): (usize, Setup)| match at % 3 {
        2 => setup.with_split_indexes(),
        _ => setup,
    };
    setups.map(split).collect()
}

/// The engine with this name.
pub fn engine(name: &str) -> &'static EngineEntry {
    engines().iter().find(|entry| entry.name == name).expect("it is in the table")
}

/// The engine every other one is compared with: the table's first, with one thread.
pub fn reference() -> Setup {
    let entry = &engines()[0];
    Setup::new(entry, entry.variants.first().copied().unwrap_or(&[]), 1)
}
