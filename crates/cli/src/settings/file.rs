//! Settings in a TOML file.
//!
//! Role         reads the file that was named, and no other; says of everything that is wrong in it
//!              where that is. Never shows a line of it: somebody may have put a secret there (I3)

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{Form, SETTINGS, Setting, nearest};
use crate::failure::Failure;

/// What a file says of a setting.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) setting: &'static Setting,
    pub(super) value: String,
    pub(super) line: usize,
}

/// What is wrong in a file, and where: byte and text.
pub(super) type Fault = (usize, String);

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Vec<Said>, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(&name, &error))?;
    parse(&text).map_err(|faults| {
        let told = faults.into_iter().map(|(at, what)| {
            let (line, column) = place(&text, at);
            format!("{name}:{line}:{column}: {what}")
        });
        Failure::Usage(told.collect::<Vec<_>>().join("\nhotrow: "))
    })
}

/// What a text says, or all that is wrong with it, from its beginning to its end.
pub(super) fn parse(text: &str) -> Result<Vec<Said>, Vec<Fault>> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        vec![(at, format!("not TOML: {}", error.message().trim_end()))]
    })?;
    let (mut said, mut faults) = (Vec::new(), Vec::new());
    for (key, value) in table.get_ref().iter() {
        let at = key.span().start;
        let found = SETTINGS.iter().find(|setting| setting.key() == *key.get_ref());
        let Some(setting) = found else {
            faults.push((at, unknown(key.get_ref(), value.get_ref())));
            continue;
        };
        let text_of = text_of(setting, value.get_ref());
        match text_of.and_then(|value| setting.check(&value).map(|()| value)) {
            Ok(value) => said.push(Said { setting, value, line: place(text, at).0 }),
            Err(what) => faults.push((value.span().start, format!("{}: {what}", setting.key()))),
        }
    }
    faults.sort();
    if faults.is_empty() { Ok(said) } else { Err(faults) }
}

/// A value as a flag would have it, if it is of a type that the setting can be of.
fn text_of(setting: &Setting, value: &DeValue<'_>) -> Result<String, String> {
    let number = |digits: &str, radix| i64::from_str_radix(digits, radix).ok();
    let text = match (&setting.form, value) {
        (Form::Switch(_), DeValue::Boolean(is_on)) => Some(is_on.to_string()),
        (Form::Whole(..) | Form::Size(..), DeValue::Integer(integer)) => {
            number(integer.as_str(), integer.radix()).map(|number| number.to_string())
        }
        (Form::Text(..) | Form::Size(..) | Form::Span(..), DeValue::String(text)) => {
            Some(text.to_string())
        }
        _ => None,
    };
    let kind = value.type_str();
    text.ok_or_else(|| format!("expected {}, found: {kind}", setting.form.expected()))
}

fn unknown(key: &str, value: &DeValue<'_>) -> String {
    let hint = match nearest(key) {
        _ if value.is_table() => "settings do not stand in tables".to_owned(),
        Some(setting) => format!("the nearest is {}", setting.key()),
        None => "\"hotrow config print\" lists them".to_owned(),
    };
    format!("there is no setting {key}; {hint}")
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line..].chars().count() + 1)
}
