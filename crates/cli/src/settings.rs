//! What `hotrow serve` can be told: one table, of which flags, variables of the environment, keys
//! of the file, help, checks and the sample file are made.
//!
//! Role         a setting says what it is called, what may be said and where that goes; `sources`
//!              finds out what was said
//! Invariants   I1 a setting has one name: `tls-cert` is the flag `--tls-cert`, the variable
//!                 HOTROW_TLS_CERT and the key `tls_cert`
//!              I2 what holds where nothing is said is what the libraries have by default
//!              I3 a password is no setting: it stands in no file of settings and is never shown

mod file;
mod flags;
mod sources;
mod table;
mod units;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use hotrow::Config;
use hotrow_server::ServerOptions;

use crate::logging::Logging;

pub(crate) use flags::Flags;
pub(crate) use sources::{Chosen, PASSWORD, Settings};
use table::SETTINGS;
use units::{SIZES, SPANS};

/// A setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// its name, with hyphens
    pub(crate) name: &'static str,
    /// what its value is called in help
    pub(crate) value_name: &'static str,
    /// what holds where nothing is said
    pub(crate) otherwise: Otherwise,
    /// the heading under which it stands
    pub(crate) heading: &'static str,
    /// what it is
    pub(crate) about: &'static str,
    /// what may be said, and where it goes
    pub(crate) form: Form,
}

/// What holds where nothing is said.
#[derive(Debug)]
pub(crate) enum Otherwise {
    /// this value
    Value(&'static str),
    /// no value, which means this
    Nothing(&'static str),
}

/// What may be said, and where it goes.
#[derive(Debug)]
pub(crate) enum Form {
    /// a text: what it has to be
    Text(&'static str, fn(&mut Serving, &str) -> Result<(), String>),
    /// true or false
    Switch(fn(&mut Serving, bool)),
    /// a whole number
    Whole(RangeInclusive<u64>, fn(&mut Serving, u64)),
    /// bytes, with a unit or without
    Size(RangeInclusive<u64>, fn(&mut Serving, u64)),
    /// milliseconds, with a unit
    Span(RangeInclusive<u64>, fn(&mut Serving, Duration)),
}

/// All that a server is started with.
#[derive(Default, Debug)]
pub(crate) struct Serving {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) memory: bool,
    pub(crate) logging: Logging,
    pub(crate) user: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) tls_required: bool,
    pub(crate) insecure_no_tls: bool,
    pub(crate) config: Config,
    pub(crate) server: ServerOptions,
}

impl Setting {
    /// Its key in a file (I1).
    pub(crate) fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Its variable in the environment (I1).
    pub(crate) fn variable(&self) -> String {
        format!("HOTROW_{}", self.key().to_uppercase())
    }

    /// What is right for it.
    fn check(&self, text: &str) -> Result<(), String> {
        self.form.put(&mut Serving::default(), text)
    }
}

impl Form {
    /// What a value has to be, for people.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Text(what, _) => (*what).to_owned(),
            Self::Switch(_) => "true or false".to_owned(),
            Self::Whole(range, _) => {
                format!("a whole number from {} to {}", range.start(), range.end())
            }
            Self::Size(range, _) => {
                let (from, to) = (SIZES.show(*range.start()), SIZES.show(*range.end()));
                format!("a size from {from} to {to}, in {}", SIZES.names())
            }
            Self::Span(range, _) => {
                let (from, to) = (SPANS.show(*range.start()), SPANS.show(*range.end()));
                format!("a span of time from {from} to {to}, in {}", SPANS.names())
            }
        }
    }

    /// Puts a value where it goes; an error says what is wrong with it.
    pub(crate) fn put(&self, to: &mut Serving, text: &str) -> Result<(), String> {
        let wrong = || is_not(text, &self.expected());
        let inside = |range: &RangeInclusive<u64>, number: Option<u64>| {
            number.filter(|number| range.contains(number)).ok_or_else(wrong)
        };
        match self {
            Self::Text(_, put) => put(to, text)?,
            Self::Switch(put) => put(to, text.parse().map_err(|_| wrong())?),
            Self::Whole(range, put) => put(to, inside(range, text.parse().ok())?),
            Self::Size(range, put) => {
                let bytes = text.parse().ok().or_else(|| SIZES.read(text));
                put(to, inside(range, bytes)?);
            }
            Self::Span(range, put) => {
                put(to, Duration::from_millis(inside(range, SPANS.read(text))?));
            }
        }
        Ok(())
    }
}

fn is_not(text: &str, expected: &str) -> String {
    format!("\"{text}\" is not {expected}")
}

/// How alike two names must be for one to be taken for a slip of the other, from 0 to 1.
const ALIKE_MIN: f64 = 0.8;

/// The setting that somebody may have meant.
fn nearest(name: &str) -> Option<&'static Setting> {
    let name = name.to_lowercase().replace('_', "-");
    let likeness = |setting: &&Setting| strsim::jaro_winkler(setting.name, &name);
    let best = SETTINGS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= ALIKE_MIN).then_some(best)
}

#[cfg(test)]
mod tests;
