//! What was said of each setting, and what said it: a flag, else a variable of the environment,
//! else a file, else nothing.

use std::env::{self, VarError};
use std::path::PathBuf;

use super::file::{self, Said};
use super::table::{RULES, Rule};
use super::{Form, Otherwise, SETTINGS, Serving, Setting, nearest};
use crate::arguments::ServeArguments;
use crate::failure::Failure;

/// The setting that DIR is.
const DIRECTORY: &str = "data";
/// What all variables' names begin with.
const PREFIX: &str = "HOTROW_";
/// The file of settings, where no flag names it.
const CONFIG: &str = "HOTROW_CONFIG";
/// A user's password, which is no setting.
pub(crate) const PASSWORD: &str = "HOTROW_PASSWORD";

/// A setting and what holds of it.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) setting: &'static Setting,
    /// none: nothing was said, and there is no default
    pub(crate) value: Option<String>,
    origin: Origin,
}

/// What said it.
#[derive(Debug)]
enum Origin {
    /// DIR
    Argument,
    Flag,
    Environment,
    /// path and line
    File(String, usize),
    Default,
}

/// All settings, and the server that they make.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) serving: Serving,
}

impl Settings {
    /// Asks all sources; variables that look like settings and are none are told on stderr.
    ///
    /// # Errors
    ///
    /// Usage: what is wrong in the file or in a variable. A file that cannot be read.
    pub(crate) fn choose(arguments: &ServeArguments) -> Result<Self, Failure> {
        warn_of_unknown_variables();
        let path = match &arguments.config {
            Some(path) => Some(path.clone()),
            None => variable(CONFIG)?.map(PathBuf::from),
        };
        let said = path.as_deref().map(file::read).transpose()?.unwrap_or_default();
        let name = path.map(|path| path.display().to_string()).unwrap_or_default();
        let mut settings = Self { chosen: Vec::new(), serving: Serving::default() };
        for setting in SETTINGS {
            let chosen = choose(setting, arguments, (&name, &said))?;
            if let Some(value) = &chosen.value {
                let put = setting.form.put(&mut settings.serving, value);
                put.map_err(|what| Failure::Usage(format!("{}: {what}", chosen.origin())))?;
            }
            settings.chosen.push(chosen);
        }
        Ok(settings)
    }

    /// Whether settings go together, whatever said them.
    ///
    /// # Errors
    ///
    /// Usage: which two do not, and what said them.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let of = |name: &str| {
            let chosen = self.chosen.iter().find(|chosen| chosen.setting.name == name);
            chosen.expect("rules are about settings, as a test checks")
        };
        for rule in RULES {
            let broken = match rule {
                Rule::Excludes(one, other) if of(one).is_said() && of(other).is_said() => {
                    format!("{} and {} exclude each other", of(one).told(), of(other).told())
                }
                Rule::Needs(one, other) if of(one).is_said() && !of(other).is_said() => {
                    let Setting { name, .. } = of(other).setting;
                    let (key, variable) = (of(other).setting.key(), of(other).setting.variable());
                    let told = of(one).told();
                    format!("{told} needs {key} (flag --{name}, environment {variable})")
                }
                _ => continue,
            };
            return Err(Failure::Usage(broken));
        }
        Ok(())
    }
}

impl Chosen {
    /// What said it, for people.
    pub(crate) fn origin(&self) -> String {
        match &self.origin {
            Origin::Argument => format!("argument {}", self.setting.value_name),
            Origin::Flag => format!("flag --{}", self.setting.name),
            Origin::Environment => format!("environment {}", self.setting.variable()),
            Origin::File(path, line) => format!("file {path}:{line}"),
            Origin::Default => "default".to_owned(),
        }
    }

    /// Whether nothing was said.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.origin, Origin::Default)
    }

    /// Whether something was said that rules are about: to say of a switch that it is off is not.
    fn is_said(&self) -> bool {
        let is_off = matches!(self.setting.form, Form::Switch(_))
            && self.value.as_deref().is_none_or(|value| value == "false");
        !self.is_default() && !is_off
    }

    fn told(&self) -> String {
        format!("{} ({})", self.setting.key(), self.origin())
    }
}

fn choose(
    setting: &'static Setting,
    arguments: &ServeArguments,
    (path, said): (&str, &[Said]),
) -> Result<Chosen, Failure> {
    let chosen = |value: &str, origin| Chosen { setting, value: Some(value.to_owned()), origin };
    if let Some(value) = arguments.flags.of(setting) {
        return Ok(chosen(value, Origin::Flag));
    }
    if let Some(directory) = &arguments.directory
        && setting.name == DIRECTORY
    {
        return Ok(chosen(directory, Origin::Argument));
    }
    if let Some(value) = variable(&setting.variable())? {
        return Ok(chosen(&value, Origin::Environment));
    }
    if let Some(said) = said.iter().find(|said| said.setting.name == setting.name) {
        return Ok(chosen(&said.value, Origin::File(path.to_owned(), said.line)));
    }
    let value = match setting.otherwise {
        Otherwise::Value(value) => Some(value.to_owned()),
        Otherwise::Nothing(_) => None,
    };
    Ok(Chosen { setting, value, origin: Origin::Default })
}

/// A variable of the environment; an empty one says nothing.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::Usage(format!("environment {name}: it is not UTF-8")))
        }
    }
}

/// Only a warning: others may set such variables, as Kubernetes does for a service called hotrow.
fn warn_of_unknown_variables() {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| name.starts_with(PREFIX)) {
        let is_known = [CONFIG, PASSWORD].contains(&name.as_str())
            || SETTINGS.iter().any(|setting| setting.variable() == name);
        if !is_known {
            let hint = nearest(&name[PREFIX.len()..])
                .map(|setting| format!("; the nearest is {}", setting.variable()));
            let hint = hint.unwrap_or_default();
            eprintln!("hotrow: WARNING: {name} in the environment is no setting{hint}");
        }
    }
}
