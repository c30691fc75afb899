//! The engine's settings.

use hotrow_engine::contract::{EngineOptions, OptionError};
use hotrow_engine::settings::{Choices, Known, ON_CALLERS, OnCallers, choose, number};
use hotrow_transaction::routing::PARTITIONS_MAX;

use crate::NAME;

/// How requests visit several lock threads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Visits {
    /// each lock thread hands the request on to the next: n + 1 messages for n of them
    #[default]
    Forwarded,
    /// each gives it back to its execution thread: 2 n messages
    Returned,
}

/// What lock threads keep locks in.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LockTable {
    /// each has a table of its own, with the granules that it owns
    #[default]
    Partitioned,
    /// all have one together, and any of them serves all of a transaction
    Shared,
}

/// Who decides how many threads lock.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Division {
    /// the settings
    #[default]
    Fixed,
    /// what queues and threads have to do, looked at while they run
    Auto,
    /// nobody: it is another number at every opportunity, for tests
    Changing,
}

/// All settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// threads in all
    pub threads: usize,
    /// threads that lock, at first if that may change; the others execute
    pub lock_threads: u16,
    /// see [`Division`]
    pub division: Division,
    /// see [`LockTable`]
    pub lock_table: LockTable,
    /// see [`Visits`]; says nothing where the table is shared
    pub visits: Visits,
    /// calls of at most so many granules, all of one lock thread, are run by that; 0: none
    pub run_there: u16,
    /// transactions that an execution thread has on their way at most
    pub in_flight: u16,
    /// it keeps to fewer, as long as it need not wait
    pub adapts: bool,
    /// see [`OnCallers`]
    pub on_callers: OnCallers,
}

const KNOWN: Known = Known {
    engine: NAME,
    names: "in_flight, lock_table, lock_threads, on_callers, run_there, visits",
};
const LOCK_THREADS: &str =
    "auto, changing, a whole number from 1 to one less than there are threads";
const IN_FLIGHTS: &str = "auto, a whole number from 1 to 1024";
/// The bound of those that adapt.
const IN_FLIGHT_AUTO: u16 = 64;
const RUN_THERES: &str = "a whole number from 0 to 1024";

const LOCK_TABLES: Choices<LockTable> = (
    &[("partitioned", LockTable::Partitioned), ("shared", LockTable::Shared)],
    "partitioned, shared",
);
const VISITS: Choices<Visits> =
    (&[("forwarded", Visits::Forwarded), ("returned", Visits::Returned)], "forwarded, returned");

impl Settings {
    /// Whether calls may run on their callers' threads: not where any lock thread may be at work in
    /// any table.
    pub fn runs_on_callers(&self) -> bool {
        self.on_callers == OnCallers::On && self.lock_table == LockTable::Partitioned
    }

    /// Reads settings.
    ///
    /// # Errors
    ///
    /// An unknown setting or value, and a number of threads that is not enough.
    pub fn read(options: &EngineOptions) -> Result<Self, OptionError> {
        let threads = options.threads;
        if threads < 2 {
            return Err(OptionError::Threads { engine: NAME, threads, allowed: "2 or more" });
        }
        let most = u16::try_from(threads - 1).unwrap_or(u16::MAX).min(PARTITIONS_MAX);
        let mut read = Self {
            threads,
            division: Division::default(),
            // A fifth of them, as in most of the paper's experiments.
            lock_threads: (most / 4).clamp(1, most),
            lock_table: LockTable::default(),
            visits: Visits::default(),
            run_there: 0,
            in_flight: IN_FLIGHT_AUTO,
            adapts: true,
            on_callers: OnCallers::default(),
        };
        KNOWN.read(&options.settings, |setting, value| {
            Some(match setting {
                "lock_threads" if value == "auto" => {
                    read.division = Division::Auto;
                    Ok(())
                }
                "lock_threads" if value == "changing" => {
                    read.division = Division::Changing;
                    Ok(())
                }
                "lock_threads" => {
                    number(value, (1..=most, LOCK_THREADS)).map(|n| read.lock_threads = n)
                }
                "in_flight" if value == "auto" => {
                    (read.in_flight, read.adapts) = (IN_FLIGHT_AUTO, true);
                    Ok(())
                }
                "in_flight" => number(value, (1..=1024, IN_FLIGHTS))
                    .map(|n| (read.in_flight, read.adapts) = (n, false)),
                "run_there" => number(value, (0..=1024, RUN_THERES)).map(|n| read.run_there = n),
                "lock_table" => choose(&mut read.lock_table, value, LOCK_TABLES),
                "on_callers" => choose(&mut read.on_callers, value, ON_CALLERS),
                "visits" => choose(&mut read.visits, value, VISITS),
                _ => return None,
            })
        })?;
        if read.lock_table == LockTable::Shared && read.run_there > 0 {
            let known = "0 with lock_table=shared";
            return Err(KNOWN.refused(&options.settings, "run_there", known));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(threads: usize, settings: &[(&str, &str)]) -> Result<Settings, String> {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let settings = settings.iter().map(owned).collect();
        let options = EngineOptions { threads, settings, ..EngineOptions::default() };
        Settings::read(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn a_fifth_of_the_threads_lock_unless_they_are_told() {
        let lock_threads = |threads| read(threads, &[]).expect("enough").lock_threads;
        assert_eq!([2, 4, 5, 10, 80].map(lock_threads), [1, 1, 1, 2, 19]);
        let told = read(4, &[("lock_threads", "3"), ("visits", "returned"), ("in_flight", "5")]);
        let visits = Visits::Returned;
        let lock_table = LockTable::Partitioned;
        let settings = Settings {
            threads: 4,
            lock_threads: 3,
            division: Division::Fixed,
            lock_table,
            visits,
            run_there: 0,
            in_flight: 5,
            adapts: false,
            on_callers: OnCallers::On,
        };
        assert_eq!(told, Ok(settings));
        let changes = |value| read(9, &[("lock_threads", value)]).expect("known");
        assert_eq!(
            [changes("auto"), changes("changing")].map(|read| (read.division, read.lock_threads)),
            [(Division::Auto, 2), (Division::Changing, 2)]
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert_eq!(read(1, &[]), Err("engine orthrus runs with 2 or more threads, not 1".into()));
        let text = read(4, &[("lock_threads", "4")]).expect_err("who would execute?");
        assert!(text.contains("\"4\"; it can be: auto, changing, a whole number"), "{text}");
        assert!(read(4, &[("visits", "x")]).expect_err("no").contains("forwarded, returned"));
        let both = read(4, &[("lock_table", "shared"), ("run_there", "3")]);
        assert!(both.expect_err("who would?").contains("0 with lock_table=shared"));
        assert!(read(4, &[("colour", "red")]).expect_err("no").contains(KNOWN.names));
    }
}
