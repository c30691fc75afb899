//! The driver: what one run of a benchmark does, from an empty database to a report.
//!
//! States       load -> start the engine -> (warm up ->) measure -> stop -> check -> report
//! Invariants   I1 every run starts on a fresh population, unless the caller keeps one; checks
//!              then see the commits of all runs on it

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hotrow::{CallSource, Config, Database, EngineOptions, ProcedureId, Statistics, Wait};
use hotrow_base::clock::Ticks;
use hotrow_base::thread::{self, available_cores};
use hotrow_workloads::{Share, Workload};

use crate::books::SourceBooks;
use crate::check::{self, Totals};
use crate::clients::{CallLoop, Client};
use crate::data::{LogSettings, RunDirectory};
use crate::error::BenchError;
use crate::load;
use crate::phase::{Phase, PhaseFlag};
use crate::progress::Progress;
use crate::report::{
    AccessReport, CheckReport, KindReport, LatencyReport, LogUse, MemorySummary, RecoveryFigures,
    RunReport, TimeBreakdown, WaitReport, difference,
};
use crate::selection::Variant;
use crate::source::{CallTime, GeneratorSource, SourceParts};

/// 2026-01-01 as SQL counts time, in microseconds since 2000-01-01: when runs take place.
const CALL_TIME_US: i64 = 9_497 * 86_400 * 1_000_000;
/// Room that sources make for calls on their way before they must allocate.
const IN_FLIGHT_ROOM: usize = 64;

/// What was waited for longest, as reports tell it.
pub(crate) const WAITS_TOLD: usize = 10;

/// One source of calls per thread.
type Sources = Vec<Box<dyn CallSource>>;

/// How long a run takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Length {
    /// by the clock
    Time {
        /// before measuring
        warm_up: Duration,
        /// measured
        measured: Duration,
    },
    /// so many calls, split over the threads, all of them measured. `now()` then counts calls
    /// rather than time, so that one thread leaves the same rows each time.
    Calls(u64),
}

/// Runs benchmarks.
#[derive(Clone, Debug)]
pub struct Driver {
    /// how long each run takes
    pub length: Length,
    /// commits after which warming up, and measuring, end before their time; the count is looked at
    /// some times in it
    pub enough: Option<u64>,
    /// of population and calls
    pub seed: u64,
    /// bytes that records and indexes may take
    pub memory_bytes: u64,
    /// parts that each index is split into, where it can be
    pub split_indexes: u16,
    /// whether to run the workload's checks after a run, measure memory, and find out which rows
    /// were waited for
    pub inspect: bool,
    /// whether to pin threads to cores; never done with clients, which need cores too
    pub pin_threads: bool,
    /// clients that call through sessions; none: calls are generated inside the engine's threads
    pub clients: Option<usize>,
    /// how the database is logged; none: it is in memory only
    pub log: Option<LogSettings>,
    /// a table whose changes are recorded, thread by thread; not with clients
    pub watched: Option<String>,
    /// whether to show progress
    pub progress: Progress,
}

impl Default for Driver {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self {
            length: Length::Time { warm_up: second, measured: 3 * second },
            enough: None,
            seed: 42,
            memory_bytes: 16 << 30,
            split_indexes: 1,
            inspect: true,
            pin_threads: true,
            clients: None,
            log: None,
            watched: None,
            progress: Progress::Off,
        }
    }
}

/// A loaded database, and what was committed on it since.
pub struct Population {
    db: Database,
    threads: usize,
    totals: Totals,
    /// removed after the database is closed
    directory: Option<RunDirectory>,
}

impl Population {
    /// The database, for looking at it between runs.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Threads that runs on it may have.
    pub fn threads(&self) -> usize {
        self.threads
    }
}

impl Driver {
    /// Loads a workload for runs with up to `threads` threads.
    ///
    /// # Errors
    ///
    /// Refused parameters, SQL that does not compile, a full memory.
    pub fn load(&self, workload: &dyn Workload, threads: usize) -> Result<Population, BenchError> {
        // On a virtual machine only what is measured takes time.
        hotrow_machine::hook::set_timed(false);
        let threads = threads.max(available_cores().len());
        let directory = match &self.log {
            Some(log) => Some(RunDirectory::new(&log.directory)?),
            None => None,
        };
        let delay = self.log.as_ref().map_or(Duration::ZERO, |log| log.sync_delay);
        let path = directory.as_ref().map(|directory| (directory.path(), delay));
        let db = load::load(workload, self.config(threads), path, self.seed, self.progress)?;
        hotrow_machine::hook::set_loaded(db.status().memory_bytes);
        Ok(Population { db, threads, totals: Totals::default(), directory })
    }

    /// Loads a workload, runs it and checks it.
    ///
    /// # Errors
    ///
    /// As [`Driver::load`], and settings or thread counts that the engine refuses.
    pub fn run(
        &self,
        workload: &dyn Workload,
        variant: &Variant,
        threads: usize,
    ) -> Result<RunReport, BenchError> {
        self.run_on(&mut self.load(workload, threads)?, workload, variant, threads)
    }

    /// Runs a workload on a population of it that may have been run on before.
    ///
    /// # Errors
    ///
    /// As [`Driver::run`].
    pub fn run_on(
        &self,
        population: &mut Population,
        workload: &dyn Workload,
        variant: &Variant,
        threads: usize,
    ) -> Result<RunReport, BenchError> {
        let mut reports = self.run_steps_on(population, &[workload], variant, threads)?;
        Ok(reports.pop().expect("one for each step"))
    }

    /// Runs a workload that changes while it runs, on a population that fits all of its steps: each
    /// takes as long as a run does, and the engine does not stop between. One report for each, the
    /// last with the checks. With a number of calls instead of a time, each step is a run.
    ///
    /// # Errors
    ///
    /// As [`Driver::run`]; [`BenchError::Selection`] for several steps with clients.
    pub fn run_steps_on(
        &self,
        population: &mut Population,
        steps: &[&dyn Workload],
        variant: &Variant,
        threads: usize,
    ) -> Result<Vec<RunReport>, BenchError> {
        debug_assert!(threads <= population.threads, "there are worker ids for all threads");
        if let (Length::Calls(_), [_, _, ..]) = (self.length, steps) {
            let each = steps.iter().map(|step| self.run_on(population, *step, variant, threads));
            return each.collect();
        }
        let what = format!("running {variant}, {}", threads_text(threads));
        hotrow_machine::hook::set_timed(true);
        let measured = match (self.clients, steps) {
            (None, _) => self.measure(&population.db, steps, variant, threads, what)?,
            (Some(clients), [workload]) => self.measure_clients(
                &mut population.db,
                *workload,
                variant,
                (threads, clients),
                what,
            )?,
            (Some(_), _) => {
                let message = "a workload that changes while it runs takes no clients";
                return Err(BenchError::Selection(message.to_owned()));
            }
        };
        hotrow_machine::hook::set_timed(false);
        let Some(&workload) = steps.last() else { return Ok(Vec::new()) };
        let mut books = SourceBooks::new(&workload.kinds());
        measured.steps.iter().for_each(|step| books.add(&step.books));
        population.totals.add(&books);
        let engine = variant.entry.name.to_owned();
        let ran = Ran { engine, options: variant.settings.clone(), threads };
        let report = |(workload, step): (&&dyn Workload, &Step)| {
            let mut report = measured.report(step, *workload, &ran);
            report.clients = self.clients.unwrap_or(0);
            report.split_indexes = self.split_indexes;
            report
        };
        let mut reports: Vec<_> = steps.iter().zip(&measured.steps).map(report).collect();
        let report = reports.last_mut().expect("there is one for each step");
        let mut checks = check::of_driver(&books, &measured.whole);
        let mut memory = MemorySummary::default();
        if self.inspect {
            checks.extend(check::of_workload(workload, &population.db, &population.totals)?);
            memory = MemorySummary::from(&population.db.memory()?);
        }
        if self.log.as_ref().is_some_and(|log| log.recover) {
            report.recovery = Some(self.recover(population)?);
            if self.inspect {
                let again = check::of_workload(workload, &population.db, &population.totals)?;
                let renamed = |mut check: CheckReport| {
                    check.name = format!("recovered: {}", check.name);
                    check
                };
                checks.extend(again.into_iter().map(renamed));
            }
        }
        (report.checks, report.memory) = (checks, memory);
        Ok(reports)
    }

    /// Runs the workload's checks on a population, over the commits of all runs on it.
    ///
    /// # Errors
    ///
    /// What the database says.
    pub fn checks(
        &self,
        population: &Population,
        workload: &dyn Workload,
    ) -> Result<Vec<CheckReport>, BenchError> {
        check::of_workload(workload, &population.db, &population.totals)
    }

    /// Closes a population's database and opens it again from what its directory has.
    fn recover(&self, population: &mut Population) -> Result<RecoveryFigures, BenchError> {
        let directory = population.directory.as_ref().expect("only logged databases are recovered");
        let config = self.config(population.threads);
        population.db.shutdown();
        let bar = self.progress.bar("recovering".to_owned(), 1);
        let opened = Database::open_without_engine(directory.path(), config, |done| {
            bar.set_length(done.log_bytes_total.max(1));
            bar.set_position(done.log_bytes);
        });
        bar.finish_and_clear();
        population.db = opened?;
        let report = population.db.recovery().expect("it has a directory");
        Ok(RecoveryFigures::of(report))
    }

    fn config(&self, threads: usize) -> Config {
        let config = Config::default()
            .threads(threads)
            .memory_bytes(self.memory_bytes)
            .split_indexes(self.split_indexes);
        match &self.log {
            Some(log) => config.durability(log.durability).log_entries(log.entries),
            None => config,
        }
    }

    fn measure(
        &self,
        db: &Database,
        steps: &[&dyn Workload],
        variant: &Variant,
        threads: usize,
        what: String,
    ) -> Result<Measured, BenchError> {
        let phase = Arc::new(PhaseFlag::new(self.first_phase()));
        let (sources, done) = self.sources(db, steps, threads, &phase)?;
        let log_before = LogUse::of(db);
        if let Some(table) = &self.watched {
            db.watch_rows(table)?;
        }
        let engine = db.start_engine(variant.entry, &self.options(variant, threads), sources)?;
        let waits = || self.inspect.then(|| db.tell_waits(engine.waits(), WAITS_TOLD));
        let mut books: Vec<_> = steps.iter().map(|of| SourceBooks::new(&of.kinds())).collect();
        let (timed, whole, (waits, expected, choice)) = match self.length {
            Length::Time { warm_up, measured } => {
                self.pass(|| engine.statistics(), warm_up, format!("{what}, warming up"));
                let time = |step| {
                    self.time(|| engine.statistics(), (&phase, step), measured, what.clone())
                };
                let timed: Vec<_> = (0..steps.len() as u16).map(time).collect();
                phase.set(Phase::Ended);
                let told = (waits(), engine.expected_rate(), engine.choice());
                let whole = engine.stop();
                collect(&done, threads, &mut books)?;
                (timed, whole, told)
            }
            Length::Calls(_) => {
                // Sources close by themselves; threads that see it drop them.
                collect(&done, threads, &mut books)?;
                let told = (waits(), engine.expected_rate(), engine.choice());
                let whole = engine.stop();
                let timed = books.iter().map(|books| (books.seconds(), whole.clone())).collect();
                (timed, whole, told)
            }
        };
        let log = LogUse::of(db).since(log_before);
        let accesses = self.watched.as_ref().map(|_| AccessReport::of(db.take_accesses()));
        let steps = timed.into_iter().zip(books);
        let steps = steps.map(|((seconds, part), books)| Step { seconds, part, books }).collect();
        let durability = db.durability().to_string();
        Ok(Measured { steps, whole, expected, choice, accesses, waits, log, durability })
    }

    fn measure_clients(
        &self,
        db: &mut Database,
        workload: &dyn Workload,
        variant: &Variant,
        (threads, clients): (usize, usize),
        what: String,
    ) -> Result<Measured, BenchError> {
        let phase = Arc::new(PhaseFlag::new(self.first_phase()));
        let ids = procedure_ids(db, workload)?;
        let log_before = LogUse::of(db);
        db.serve(variant.entry, &self.options(variant, threads))?;
        let served = &*db;
        let (books, timed) = thread::scope(|scope| {
            let client = |index: u32| {
                let share = Share { index, of: clients as u32 };
                let calls = CallLoop {
                    generator: workload.generator(share, self.seed, &|name| ids[name]),
                    kinds: workload.kinds(),
                    phase: Arc::clone(&phase),
                    calls: self.calls_of(share),
                };
                let time = self.call_time(share);
                let client = Client { session: served.session(), calls, time };
                scope.spawn(move || client.run())
            };
            let running: Vec<_> = (0..clients as u32).map(client).collect();
            let timed = match self.length {
                Length::Time { warm_up, measured } => {
                    self.pass(|| served.statistics(), warm_up, format!("{what}, warming up"));
                    let timed = self.time(|| served.statistics(), (&phase, 0), measured, what);
                    phase.set(Phase::Ended);
                    Some(timed)
                }
                Length::Calls(_) => None,
            };
            let mut books = SourceBooks::new(&workload.kinds());
            for client in running {
                let ended = client.join();
                books.add(&ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            (books, timed)
        });
        let waits = self.inspect.then(|| db.waits(WAITS_TOLD));
        let choice = db.status().choice;
        let whole = db.rest()?;
        let (seconds, part) = timed.unwrap_or_else(|| (books.seconds(), whole.clone()));
        let log = LogUse::of(db).since(log_before);
        let steps = vec![Step { seconds, part, books }];
        let durability = db.durability().to_string();
        let (expected, accesses) = (None, None);
        Ok(Measured { steps, whole, expected, choice, accesses, waits, log, durability })
    }

    pub(crate) fn first_phase(&self) -> Phase {
        match self.length {
            Length::Time { .. } => Phase::WarmUp,
            Length::Calls(_) => Phase::Measure(0),
        }
    }

    fn options(&self, variant: &Variant, threads: usize) -> EngineOptions {
        EngineOptions {
            threads,
            pin_threads: self.pin_threads && self.clients.is_none(),
            settings: variant.settings.clone(),
            ..EngineOptions::default()
        }
    }

    /// Lets the engine run one step for some time; how long it was, and what its threads did in it.
    fn time(
        &self,
        statistics: impl Fn() -> Statistics,
        (phase, step): (&PhaseFlag, u16),
        time: Duration,
        what: String,
    ) -> (f64, Statistics) {
        let (before, start) = (statistics(), Ticks::now());
        phase.set(Phase::Measure(step));
        self.pass(&statistics, time, what);
        let (end, after) = (Ticks::now(), statistics());
        (end.nanos_since(start) as f64 / 1e9, difference(&after, &before))
    }

    /// Lets some time pass, or less if enough is committed in it.
    fn pass(&self, statistics: impl Fn() -> Statistics, time: Duration, what: String) {
        const LOOKS: u32 = 64;
        let Some(enough) = self.enough else { return self.progress.sleep(what, time) };
        let (end, before) = (Ticks::from_now(time), statistics().committed);
        while !end.has_passed() && statistics().committed - before < enough {
            thread::sleep(end.remaining().min(time / LOOKS));
        }
    }

    fn sources(
        &self,
        db: &Database,
        steps: &[&dyn Workload],
        threads: usize,
        phase: &Arc<PhaseFlag>,
    ) -> Result<(Sources, Receiver<Vec<SourceBooks>>), BenchError> {
        let ids = procedure_ids(db, steps[0])?;
        let (sender, done) = channel();
        let of = threads as u32;
        let source = |index: u32| -> Box<dyn CallSource> {
            let worker = Share { index, of };
            let generator = |of: &&dyn Workload| of.generator(worker, self.seed, &|name| ids[name]);
            Box::new(GeneratorSource::new(SourceParts {
                generators: steps.iter().map(generator).collect(),
                kinds: steps[0].kinds(),
                phase: Arc::clone(phase),
                calls: self.calls_of(worker),
                time: self.call_time(worker),
                in_flight: IN_FLIGHT_ROOM,
                log: self.log.as_ref().zip(db.log()).map(|(settings, log)| {
                    (Arc::clone(log), settings.in_flight.div_ceil(threads).max(1))
                }),
                done: sender.clone(),
            }))
        };
        Ok(((0..of).map(source).collect(), done))
    }

    pub(crate) fn calls_of(&self, worker: Share) -> u64 {
        match self.length {
            Length::Time { .. } => u64::MAX,
            Length::Calls(calls) => {
                let range = worker.range(calls);
                range.end - range.start
            }
        }
    }

    pub(crate) fn call_time(&self, worker: Share) -> CallTime {
        match self.length {
            Length::Time { .. } => CallTime::Clock { at: Ticks::now(), us: CALL_TIME_US },
            Length::Calls(calls) => {
                CallTime::Counted { us: CALL_TIME_US + worker.range(calls).start as i64 }
            }
        }
    }
}

/// The ids of the procedures that the workload lists, which are all that its generators resolve.
fn procedure_ids(
    db: &Database,
    workload: &dyn Workload,
) -> Result<BTreeMap<&'static str, ProcedureId>, BenchError> {
    let session = db.session();
    let id = |&name: &&'static str| Ok((name, session.procedure(name)?.id()));
    workload.procedures().iter().map(id).collect()
}

/// The part of its time in which each thread that has done anything was busy.
fn busy_by_thread(part: &Statistics, seconds: f64) -> Vec<f64> {
    let busy = part.busy_nanos.iter().filter(|&&nanos| nanos > 0);
    busy.map(|&nanos| nanos as f64 / 1e9 / seconds.max(1e-9)).collect()
}

/// Waits for the books of all sources; adds them up by step.
fn collect(
    done: &Receiver<Vec<SourceBooks>>,
    threads: usize,
    sums: &mut [SourceBooks],
) -> Result<(), BenchError> {
    for _ in 0..threads {
        let books = done.recv().map_err(|_| BenchError::LostCalls)?;
        sums.iter_mut().zip(&books).for_each(|(sum, books)| sum.add(books));
    }
    Ok(())
}

/// `1 thread`, `2 threads`.
pub(crate) fn threads_text(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// What running gave.
pub(crate) struct Measured {
    /// one for each step of the workload
    pub(crate) steps: Vec<Step>,
    /// the engine's books
    pub(crate) whole: Statistics,
    /// calls a second that the engine's model expects, if it has one
    pub(crate) expected: Option<f64>,
    /// what the engine said of its choices in the end, if it makes some
    pub(crate) choice: Option<String>,
    /// who has changed which rows of a table that was watched
    pub(crate) accesses: Option<AccessReport>,
    /// what was waited for longest, where that was looked at
    pub(crate) waits: Option<Vec<Wait>>,
    /// what the log took, from start to end
    pub(crate) log: LogUse,
    pub(crate) durability: String,
}

/// What ran: an engine with its settings.
pub(crate) struct Ran {
    pub(crate) engine: String,
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) threads: usize,
}

/// What one step of a workload gave.
pub(crate) struct Step {
    pub(crate) seconds: f64,
    pub(crate) books: SourceBooks,
    /// the engine's books of the measured part
    pub(crate) part: Statistics,
}

impl Measured {
    pub(crate) fn report(&self, step: &Step, workload: &dyn Workload, ran: &Ran) -> RunReport {
        let Step { seconds, books, part } = step;
        let (seconds, ends) = (*seconds, books.measured());
        let parameters = workload.parameters().list();
        let kinds = workload.kinds();
        let kinds = kinds.iter().zip(&books.kinds);
        RunReport {
            engine: ran.engine.clone(),
            options: ran.options.clone(),
            workload: workload.name().to_owned(),
            parameters: parameters.into_iter().map(|p| (p.name, p.value)).collect(),
            threads: ran.threads,
            clients: 0,
            split_indexes: 1,
            seconds,
            committed: ends.committed,
            user_aborts: ends.user_aborts,
            conflict_aborts: part.conflict_aborts(),
            restarts: part.replans,
            waits: part.waits,
            messages: part.messages,
            in_vain: part.in_vain,
            choice: self.choice.clone(),
            accesses: self.accesses.clone(),
            locks: part.locks,
            waited_for: self.waits.iter().flatten().cloned().map(WaitReport::from).collect(),
            txn_per_s: ends.committed as f64 / seconds.max(1e-9),
            expected_per_s: self.expected,
            latency_us: LatencyReport::of_nanos(&books.latency_ns()),
            time_breakdown: TimeBreakdown::of_execution(part),
            lock_threads: TimeBreakdown::of_lock_threads(part),
            busy_by_thread: busy_by_thread(part, seconds),
            checks: Vec::new(),
            memory: MemorySummary::default(),
            durability: self.durability.clone(),
            remote: None,
            log: self.log.report(self.whole.committed),
            recovery: None,
            kinds: kinds
                .map(|(info, books)| (info.name.to_owned(), KindReport::of(books)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
