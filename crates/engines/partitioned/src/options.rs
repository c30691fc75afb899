//! The engine's settings.

use std::time::Duration;

use hotrow_engine::contract::{EngineOptions, OptionError};
use hotrow_engine::settings::{Choices, Known, choose, number};
use hotrow_transaction::routing::PARTITIONS_MAX;

use crate::NAME;
use crate::model::ModelScheme;
use crate::protocol::Speculation;
use crate::protocol::locking::Locks;

/// How calls of several partitions are kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Scheme {
    /// whoever runs a call holds all its partitions' locks
    #[default]
    Spinlocks,
    /// a partition has an owner, which waits while a call of several is undecided
    Blocking,
    /// the owner runs calls behind it, and keeps their results to itself
    Local,
    /// and reports calls of several, with whom they follow
    Speculation,
    /// the owner runs calls that need nothing that an undecided one has locked
    Locking,
    /// one of the last four, which [`crate::choice`] chooses
    Auto,
}

impl Scheme {
    /// Its name.
    pub fn name(self) -> &'static str {
        SCHEMES.0.iter().find(|(_, scheme)| *scheme == self).map_or("", |(name, _)| name)
    }

    /// What the model has for it, if it has something.
    pub fn in_model(self, locks: Locks) -> Option<ModelScheme> {
        Some(match (self, locks) {
            (Self::Blocking, _) => ModelScheme::Blocking,
            (Self::Local, _) => ModelScheme::LocalSpeculation,
            (Self::Speculation, _) => ModelScheme::MultiPartitionSpeculation,
            (Self::Locking, Locks::Needed) => ModelScheme::LockingIfNeeded,
            (Self::Locking, Locks::Always) => ModelScheme::Locking,
            (Self::Spinlocks | Self::Auto, _) => return None,
        })
    }

    /// What an owner does while a call is undecided.
    pub fn speculation(self) -> Speculation {
        match self {
            Self::Spinlocks | Self::Locking | Self::Blocking => Speculation::Blocking,
            Self::Local => Speculation::Local,
            Self::Speculation | Self::Auto => Speculation::Multi,
        }
    }
}

/// All settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// see [`Scheme`]
    pub scheme: Scheme,
    /// how many partitions there are
    pub partitions: u16,
    /// how many threads order calls of several partitions
    pub coordinators: u16,
    /// how many calls may be uncommitted in a partition
    pub depth: usize,
    /// when locks are taken
    pub locks: Locks,
    /// calls that each thread has on their way at most; none: as many as it is to plan ahead
    pub in_flight: Option<usize>,
    /// how long each message to another thread is on its way, as if threads were machines
    pub delay: Option<Duration>,
}

const KNOWN: Known = Known {
    engine: NAME,
    names: "coordinators, delay_us, depth, in_flight, locks, partitions, scheme",
};
const SCHEMES: Choices<Scheme> = (
    &[
        ("auto", Scheme::Auto),
        ("spinlocks", Scheme::Spinlocks),
        ("blocking", Scheme::Blocking),
        ("local", Scheme::Local),
        ("speculation", Scheme::Speculation),
        ("locking", Scheme::Locking),
    ],
    "auto, blocking, local, locking, speculation, spinlocks",
);
const LOCKS: Choices<Locks> =
    (&[("needed", Locks::Needed), ("always", Locks::Always)], "needed, always");
/// Calls that may be uncommitted in a partition.
const DEPTH: usize = 64;
const DEPTH_MAX: usize = 4096;
const DEPTHS: &str = "a whole number from 1 to 4096";
const IN_FLIGHT_MAX: usize = 4096;
const IN_FLIGHT: &str = "a whole number from 1 to 4096";
const DELAY_MAX: u64 = 1_000_000;
const DELAYS: &str = "a whole number of microseconds from 0 to 1000000";
const COORDINATORS_MAX: u16 = 64;
const COORDINATORS: &str = "a whole number from 1 to 64";
const PARTITIONS: &str = "a whole number from 1 to 1024";
const _: () = assert!(PARTITIONS_MAX == 1024);

impl Settings {
    /// Those of a scheme where nothing else is told.
    fn of(scheme: Scheme, partitions: u16) -> Self {
        let (coordinators, depth, locks) = (1, DEPTH, Locks::Needed);
        Self { scheme, partitions, coordinators, depth, locks, in_flight: None, delay: None }
    }

    /// Reads settings: as many partitions as threads, unless told otherwise.
    ///
    /// # Errors
    ///
    /// An unknown setting or value.
    pub fn read(options: &EngineOptions) -> Result<Self, OptionError> {
        let partitions = options.threads.clamp(1, PARTITIONS_MAX.into()) as u16;
        let scheme = Scheme::default();
        let mut read = Self::of(scheme, partitions);
        KNOWN.read(&options.settings, |setting, value| {
            Some(match setting {
                "partitions" => number(value, (1..=PARTITIONS_MAX, PARTITIONS))
                    .map(|number| read.partitions = number),
                "in_flight" => number(value, (1..=IN_FLIGHT_MAX, IN_FLIGHT))
                    .map(|number| read.in_flight = Some(number)),
                "delay_us" => number(value, (0..=DELAY_MAX, DELAYS)).map(|micros| {
                    read.delay = (micros > 0).then(|| Duration::from_micros(micros));
                }),
                "locks" => choose(&mut read.locks, value, LOCKS),
                "depth" => number(value, (1..=DEPTH_MAX, DEPTHS)).map(|number| read.depth = number),
                "coordinators" => number(value, (1..=COORDINATORS_MAX, COORDINATORS))
                    .map(|number| read.coordinators = number),
                "scheme" => choose(&mut read.scheme, value, SCHEMES),
                _ => return None,
            })
        })?;
        read.check(options)?;
        Ok(read)
    }

    /// Refuses settings that the scheme would ignore.
    fn check(&self, options: &EngineOptions) -> Result<(), OptionError> {
        use Scheme::{Auto, Blocking, Local, Locking, Speculation};
        let owning = &[Auto, Blocking, Local, Speculation, Locking];
        let owners = "set where partitions have owners only, not with scheme=spinlocks";
        let needs: [(_, &[Scheme], _); 5] = [
            ("in_flight", owning, owners),
            ("delay_us", owning, owners),
            (
                "coordinators",
                &[Blocking, Local, Speculation],
                "set with scheme=blocking, local or \
             speculation only: with locking each thread coordinates its own calls",
            ),
            (
                "depth",
                &[Auto, Local, Speculation],
                "set with scheme=auto, local or speculation only",
            ),
            ("locks", &[Locking], "set with scheme=locking only"),
        ];
        for (setting, schemes, known) in needs {
            if let Some(value) = options.settings.get(setting)
                && !schemes.contains(&self.scheme)
            {
                let (setting, value) = (setting.to_owned(), value.clone());
                return Err(OptionError::Value { engine: NAME, setting, value, known });
            }
        }
        Ok(())
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
    fn there_are_as_many_partitions_as_threads_unless_told_otherwise() {
        let scheme = Scheme::Spinlocks;
        assert_eq!(read(3, &[]), Ok(Settings::of(scheme, 3)));
        assert_eq!(read(2000, &[]), Ok(Settings::of(scheme, 1024)));
        let told = read(3, &[("scheme", "spinlocks"), ("partitions", "7")]);
        assert_eq!(told, Ok(Settings::of(scheme, 7)));
    }

    #[test]
    fn what_the_scheme_would_ignore_is_refused() {
        let told = read(2, &[("scheme", "local"), ("depth", "7"), ("coordinators", "2")]);
        let told = told.expect("both count");
        assert_eq!((told.depth, told.coordinators, told.locks), (7, 2, Locks::Needed));
        let told = read(2, &[("scheme", "locking"), ("locks", "always"), ("delay_us", "40")]);
        let told = told.expect("both count");
        assert_eq!((told.locks, told.delay), (Locks::Always, Some(Duration::from_micros(40))));
        for (scheme, setting, value) in [
            ("spinlocks", "coordinators", "2"),
            ("spinlocks", "in_flight", "2"),
            ("spinlocks", "delay_us", "40"),
            ("locking", "coordinators", "2"),
            ("blocking", "depth", "7"),
            ("speculation", "locks", "always"),
        ] {
            let text = read(2, &[("scheme", scheme), (setting, value)]);
            let text = text.expect_err("it would be ignored");
            assert!(text.contains("only"), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for wrong in ["0", "1025", "two"] {
            let text = read(2, &[("partitions", wrong)]).expect_err("no such number");
            assert!(text.contains(PARTITIONS), "{text}");
        }
        assert!(read(2, &[("scheme", "x")]).expect_err("no such scheme").contains("spinlocks"));
        for (setting, value) in [
            ("depth", "0"),
            ("coordinators", "65"),
            ("locks", "often"),
            ("in_flight", "0"),
            ("delay_us", "-1"),
        ] {
            let text = read(2, &[("scheme", "speculation"), (setting, value)]);
            let text = text.expect_err("no such value");
            assert!(text.contains(setting) && text.contains(value), "{text}");
        }
        assert!(read(2, &[("colour", "red")]).expect_err("unknown").contains(KNOWN.names));
    }
}
