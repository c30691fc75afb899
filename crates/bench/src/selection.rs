//! Which engines to run, in which settings: texts such as `all` or `NAME:setting=value`.

use std::collections::BTreeMap;
use std::fmt;

use hotrow::{EngineEntry, engines};

use crate::error::BenchError;

/// An engine with its settings.
#[derive(Clone)]
pub struct Variant {
    /// its row in the engine table
    pub entry: &'static EngineEntry,
    /// its settings, by name; those not named have the engine's defaults
    pub settings: BTreeMap<String, String>,
}

impl Variant {
    fn of(entry: &'static EngineEntry, settings: &[(&str, &str)]) -> Self {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Self { entry, settings: settings.iter().map(owned).collect() }
    }

    /// Whether the engine can use so many threads.
    pub fn allows(&self, threads: usize) -> bool {
        self.entry.runs_with(threads)
    }

    /// The settings as `name=value,name=value`, `-` when there are none.
    pub fn settings_text(&self) -> String {
        if self.settings.is_empty() {
            return "-".to_owned();
        }
        let pairs = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join(",")
    }
}

/// The form that [`select_engines`] reads.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        if self.settings.is_empty() { Ok(()) } else { write!(f, ":{}", self.settings_text()) }
    }
}

/// The variants a text names: `all` is every variant of every engine, `NAME` every variant of one
/// engine, `NAME:setting=value,...` one variant (settings may be left out: `NAME:`).
///
/// # Errors
///
/// [`BenchError::Selection`]. Settings are checked by the engine when it starts.
pub fn select_engines(text: &str) -> Result<Vec<Variant>, BenchError> {
    let every = |entry: &'static EngineEntry| {
        entry.variants.iter().map(move |settings| Variant::of(entry, settings))
    };
    if text == "all" {
        return Ok(engines().iter().flat_map(every).collect());
    }
    let (name, settings) = match text.split_once(':') {
        Some((name, settings)) => (name, Some(settings)),
        None => (text, None),
    };
    let entry = engines().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = engines().iter().map(|entry| entry.name).collect();
        let known = known.join(", ");
        BenchError::Selection(format!("there is no engine \"{name}\"; there are: all, {known}"))
    })?;
    let Some(settings) = settings else { return Ok(every(entry).collect()) };
    let mut variant = Variant::of(entry, &[]);
    for pair in settings.split(',').filter(|pair| !pair.is_empty()) {
        let (setting, value) = pair.split_once('=').ok_or_else(|| {
            let message = format!("\"{pair}\" is no setting; write {name}:setting=value");
            BenchError::Selection(message)
        })?;
        variant.settings.insert(setting.trim().to_owned(), value.trim().to_owned());
    }
    Ok(vec![variant])
}

#[cfg(test)]
mod tests;
