//! A session's settings: PostgreSQL's names, what each may be, and what holds for how long.
//!
//! Role         SET, SHOW and RESET; a server reports those that clients rely on. What a setting
//!              means is with whoever asks for it: most are kept so that what a client sets is
//!              what it is shown
//! Invariants   I1 a map holds only what differs from the default
//!              I2 what was SET in a transaction that is rolled back is as before it; SET LOCAL
//!              ends with the transaction
//!              I3 a transaction keeps what it replaced, not copies of everything: what it takes
//!              grows with what was SET in it, up to [`REPLACED_BYTES_MAX`]
//! Source       PostgreSQL 15, "Setting Parameters" and its list of parameters

mod known;
mod without_effect;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use hotrow_base::conventions::{Conventions, Style};
use hotrow_base::temporal::TimeZone;
use hotrow_base::types::DataType;
use hotrow_sql::Setting;
use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::ResultColumn;

use self::known::{DATE_STYLE, KNOWN, Known, all, known};
use crate::error::advised;
use crate::savepoints::SavepointNames;

type Values = BTreeMap<String, String>;

/// Longest name and value of a setting of a client's own.
const CUSTOM_BYTES_MAX: usize = 64 << 10;
/// Settings of clients' own, and as many that are local to a transaction.
const CUSTOM_MAX: usize = 1000;
/// Bytes of what one transaction replaces.
const REPLACED_BYTES_MAX: usize = 16 << 20;

/// Whether a setting, by its name in lower case, is one that nothing asks for.
pub(crate) fn is_without_effect(name: &str) -> bool {
    known(name).is_some_and(|known| known.is_without_effect)
}

/// What is said of such a setting.
pub(crate) fn no_effect(name: &str) -> String {
    format!("setting \"{name}\" is PostgreSQL's: it has no effect here")
}

/// What SET ROLE says.
pub(crate) const ROLE: &str = "role";
/// What SET SESSION AUTHORIZATION says.
pub(crate) const AUTHORIZATION: &str = "session_authorization";

/// One session's values, and what they were before the open transaction and its savepoints.
#[derive(Default)]
pub(crate) struct Settings {
    /// what the client asked for when it connected: what RESET goes back to
    start: Values,
    session: Values,
    local: Values,
    /// what the open transaction has replaced, in order; none: none is open
    replaced: Option<Vec<Replaced>>,
    /// bytes of that
    replaced_bytes: usize,
    savepoints: SavepointNames,
    /// of each savepoint, how much had been replaced before it
    marks: Vec<usize>,
    /// something has changed since the client was told
    has_changed: bool,
    /// and since limits were set by what there is
    is_due: bool,
    told: Values,
    /// until something changes
    often: Cell<Option<OftenAsked>>,
    path: RefCell<Option<SearchPath>>,
}

/// What is asked with every message and every statement.
#[derive(Clone, Copy)]
pub(crate) struct OftenAsked {
    /// how long a client may say nothing; none: for ever
    pub(crate) idle_outside: Option<Duration>,
    /// in a transaction
    pub(crate) idle_in_transaction: Option<Duration>,
    /// transactions only read, unless they say something else
    pub(crate) is_read_only: bool,
    /// by which values are shown and read
    pub(crate) conventions: Conventions,
}

/// A value that was set, removed or replaced.
struct Replaced {
    is_local: bool,
    name: String,
    /// none: there was none
    value: Option<String>,
}

impl Replaced {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.value.as_ref().map_or(0, String::len)
    }
}

/// What the session's transaction tells the settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TransactionStep {
    Begun,
    Committed,
    RolledBack,
    Savepoint(String),
    RolledBackTo(String),
    Released(String),
}

impl Settings {
    /// What a setting is.
    pub(crate) fn get(&self, name: &str) -> Result<String, SqlError> {
        let set = self.local.get(name).or_else(|| self.session.get(name));
        if let Some(set) = set {
            return Ok(set.clone());
        }
        self.default_of(name)
    }

    fn default_of(&self, name: &str) -> Result<String, SqlError> {
        match (self.start.get(name), known(name)) {
            (Some(start), _) => Ok(start.clone()),
            (None, Some(known)) => Ok(known.default.to_owned()),
            (None, None) => Err(unrecognized(name)),
        }
    }

    /// Whether a setting is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        let set = self.local.get(name).or_else(|| self.session.get(name));
        match set.or_else(|| self.start.get(name)) {
            Some(value) => value == "on",
            None => known(name).is_some_and(|known| known.default == "on"),
        }
    }

    /// Looked up once, until something changes.
    pub(crate) fn often_asked(&self) -> OftenAsked {
        self.often.get().unwrap_or_else(|| {
            let found = OftenAsked {
                idle_outside: self.duration("idle_session_timeout"),
                idle_in_transaction: self.duration("idle_in_transaction_session_timeout"),
                is_read_only: self.is_on("default_transaction_read_only"),
                conventions: Conventions { zone: self.zone(), style: self.style() },
            };
            self.often.set(Some(found));
            found
        })
    }

    fn zone(&self) -> TimeZone {
        let value = self.get("timezone").unwrap_or_default();
        TimeZone::of_setting(&value).map_or(TimeZone::UTC, |(zone, _)| zone)
    }

    fn style(&self) -> Style {
        let value = |name| self.get(name).unwrap_or_default();
        Style::of_settings(
            &value("datestyle"),
            &value("intervalstyle"),
            &value("bytea_output"),
            &value("extra_float_digits"),
        )
    }

    /// A span of time; none: no limit.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        let set = self.local.get(name).or_else(|| self.session.get(name));
        let text = set.or_else(|| self.start.get(name))?; // by default there is none
        let milliseconds = known::milliseconds(text).filter(|span| *span > 0)?;
        Some(Duration::from_millis(milliseconds))
    }

    /// A number of bytes; none: as the database has it.
    pub(crate) fn bytes(&self, name: &str) -> Option<u64> {
        let set = self.local.get(name).or_else(|| self.session.get(name));
        let text = set.or_else(|| self.start.get(name))?;
        known::bytes(&text.to_lowercase()).filter(|bytes| *bytes > 0)
    }

    /// SET; none: to its default.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<(), SqlError> {
        let value = match (value, known(name)) {
            (Some(value), Some(known)) => self.checked(known, value)?,
            (Some(value), None) => {
                self.check_custom(name, value)?;
                value.to_owned()
            }
            (None, Some(known)) => {
                known.refuse_fixed()?;
                self.default_of(name)?
            }
            (None, None) => self.default_of(name).unwrap_or_default(),
        };
        if self.replaced_bytes > REPLACED_BYTES_MAX {
            let message = "the transaction has changed too many settings to be taken back";
            return Err(advised(b"54000", message.to_owned(), "Commit, and begin another one."));
        }
        if local {
            self.put(true, name, Some(value));
        } else {
            self.put(false, name, Some(value));
            self.put(true, name, None);
        }
        self.note_change();
        Ok(())
    }

    /// What a session has said a setting is.
    pub(crate) fn said(&self, name: &str) -> Option<String> {
        self.local.get(name).or_else(|| self.session.get(name)).cloned()
    }

    /// Sets what is no setting for everybody, and was looked at by who has; none: to its default.
    pub(crate) fn say(&mut self, name: &str, value: Option<&str>, local: bool) {
        self.put(local, name, value.map(str::to_owned));
        if !local {
            self.put(true, name, None);
        } else if value.is_none() {
            // Which hides what was said for the session.
            let default = self.default_of(name).unwrap_or_default();
            self.put(true, name, Some(default));
        }
        self.note_change();
    }

    /// Sets what is told of the session, and nobody sets.
    pub(crate) fn tell(&mut self, name: &str, value: &str) {
        if self.get(name).is_ok_and(|known| known != value) {
            self.start.insert(name.to_owned(), value.to_owned());
            self.has_changed = true;
        }
    }

    /// Sets or removes a value, keeping what it replaces for the open transaction.
    fn put(&mut self, is_local: bool, name: &str, value: Option<String>) {
        let values = if is_local { &mut self.local } else { &mut self.session };
        let before = match value {
            Some(value) => values.insert(name.to_owned(), value),
            None => values.remove(name),
        };
        if let Some(replaced) = &mut self.replaced {
            let one = Replaced { is_local, name: name.to_owned(), value: before };
            self.replaced_bytes += one.bytes();
            replaced.push(one);
        }
    }

    /// Takes back all that the open transaction has replaced but for the first `mark`.
    fn take_back(&mut self, mark: usize) {
        let Some(replaced) = &mut self.replaced else { return };
        for one in replaced.drain(mark.min(replaced.len())..).rev() {
            self.replaced_bytes -= one.bytes();
            let values = if one.is_local { &mut self.local } else { &mut self.session };
            match one.value {
                Some(value) => values.insert(one.name, value),
                None => values.remove(&one.name),
            };
        }
        self.note_change();
    }

    /// A value as it is kept. What it does not say of the style of dates stays as it is.
    fn checked(&self, known: &Known, value: &str) -> Result<String, SqlError> {
        match known.name {
            DATE_STYLE => known.check_date_style(value, &self.get("datestyle")?),
            _ => known.check(value),
        }
    }

    /// Fails where sessions to come cannot begin with a value (none: with its default), and says
    /// what is to be said of a setting that nothing asks for.
    pub(crate) fn check_for_others(
        name: &str,
        value: Option<&str>,
    ) -> Result<Option<String>, SqlError> {
        let nobodys = Self::default();
        match (known(name), value) {
            _ if name == ROLE => return Ok(None), // whose it is, is looked at when it begins
            (Some(known), Some(value)) => drop(nobodys.checked(known, value)?),
            (Some(known), None) => known.refuse_fixed()?,
            (None, Some(value)) => nobodys.check_custom(name, value)?,
            (None, None) => {} // which nothing is forgotten of
        }
        Ok(value.filter(|_| is_without_effect(name)).map(|_| no_effect(name)))
    }

    fn check_custom(&self, name: &str, value: &str) -> Result<(), SqlError> {
        if !name.contains('.') {
            return Err(unrecognized(name));
        }
        let most = self.session.len().max(self.local.len());
        if name.len() + value.len() > CUSTOM_BYTES_MAX || most >= CUSTOM_MAX {
            let message = format!("setting \"{name}\" is too much to keep");
            return Err(advised(b"54000", message, "Keep it in a table."));
        }
        Ok(())
    }

    /// RESET ALL
    pub(crate) fn reset_all(&mut self) {
        for is_local in [false, true] {
            let values = if is_local { &self.local } else { &self.session };
            let is_reset = |name: &&String| **name != ROLE && **name != AUTHORIZATION;
            let names: Vec<String> = values.keys().filter(is_reset).cloned().collect();
            names.iter().for_each(|name| self.put(is_local, name, None));
        }
        self.note_change();
    }

    /// What a client asks for when it connects.
    pub(crate) fn start(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let name = name.to_lowercase();
        let value = match known(&name) {
            Some(known) => self.checked(known, value)?,
            None => {
                self.check_custom(&name, value)?;
                value.to_owned()
            }
        };
        self.start.insert(name, value);
        self.note_change();
        Ok(())
    }

    /// What the server knows of the client.
    pub(crate) fn start_fixed(&mut self, name: &str, value: &str) {
        self.start.insert(name.to_owned(), value.to_owned());
        self.note_change();
    }

    /// SHOW ALL: names, values, descriptions.
    pub(crate) fn all(&self) -> Vec<[String; 3]> {
        let show = |known: &Known| {
            let value = self.get(&known.name.to_lowercase()).unwrap_or_default();
            [known.name.to_owned(), value, known.description.to_owned()]
        };
        let mut all: Vec<_> = all().map(show).collect();
        all.sort_by_cached_key(|[name, ..]| name.to_lowercase());
        all
    }

    fn note_change(&mut self) {
        (self.has_changed, self.is_due) = (true, true);
        self.often.set(None);
        self.path.replace(None);
    }

    /// Where bare names are looked for; made once, until something changes.
    pub(crate) fn search_path(&self) -> SearchPath {
        self.with_path(SearchPath::clone)
    }

    /// Whether that is `public` alone.
    pub(crate) fn has_usual_path(&self) -> bool {
        self.with_path(SearchPath::is_default)
    }

    fn with_path<T>(&self, look: impl FnOnce(&SearchPath) -> T) -> T {
        let mut path = self.path.borrow_mut();
        let made = || SearchPath::read(&self.get("search_path").ok()?);
        look(path.get_or_insert_with(|| made().unwrap_or_default()))
    }

    /// Whether something may have changed since this was asked last.
    pub(crate) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Those that clients are told of, as far as they have changed since the last time.
    pub(crate) fn take_changed(&mut self) -> Vec<(&'static str, String)> {
        if !std::mem::take(&mut self.has_changed) {
            return Vec::new();
        }
        let mut changed = Vec::new();
        for known in KNOWN.iter().filter(|known| known.is_reported) {
            let value = self.get(&known.name.to_lowercase()).unwrap_or_default();
            if self.told.get(known.name) != Some(&value) {
                self.told.insert(known.name.to_owned(), value.clone());
                changed.push((known.name, value));
            }
        }
        changed
    }

    /// I2
    pub(crate) fn step(&mut self, step: TransactionStep) {
        match step {
            TransactionStep::Begun => {
                (self.replaced, self.replaced_bytes) = (Some(Vec::new()), 0);
            }
            TransactionStep::Committed => self.end(),
            TransactionStep::RolledBack => {
                self.take_back(0);
                self.end();
            }
            TransactionStep::Savepoint(name) => {
                self.savepoints.push(name);
                self.marks.push(self.replaced.as_ref().map_or(0, Vec::len));
            }
            TransactionStep::RolledBackTo(name) => {
                if let Some(at) = self.savepoints.find(&name) {
                    self.take_back(self.marks[at]);
                    self.forget(at + 1);
                }
            }
            TransactionStep::Released(name) => {
                if let Some(at) = self.savepoints.find(&name) {
                    self.forget(at);
                }
            }
        }
    }

    /// Forgets savepoints but for the `len` oldest ones.
    fn forget(&mut self, len: usize) {
        self.savepoints.truncate(len);
        self.marks.truncate(len);
    }

    fn end(&mut self) {
        self.note_change();
        (self.replaced, self.replaced_bytes) = (None, 0);
        self.local.clear();
        self.savepoints.clear();
        self.marks = Vec::new();
    }
}

/// How a setting's name is written.
fn canonical(name: &str) -> String {
    known(name).map_or_else(|| name.to_owned(), |known| known.name.to_owned())
}

fn unrecognized(name: &str) -> SqlError {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    advised(b"42704", message, "SHOW ALL lists those there are; names of your own have a dot.")
}

/// The columns of SHOW; of other statements none.
pub(crate) fn shown_columns(setting: &Setting) -> Vec<ResultColumn> {
    let column = |name: String| ResultColumn::new(name, DataType::Text);
    match setting {
        Setting::Show(name) => vec![column(canonical(name))],
        Setting::ShowAll => {
            ["name", "setting", "description"].map(|name| column(name.to_owned())).into()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
