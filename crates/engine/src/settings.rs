//! Reading an engine's own settings.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::contract::OptionError;

/// The settings that an engine knows.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// the engine
    pub engine: &'static str,
    /// their names, for messages
    pub names: &'static str,
}

impl Known {
    /// Hands each setting and its value to `read`, which gives nothing for a setting that it does
    /// not know, and for a value that cannot be says which can.
    ///
    /// # Errors
    ///
    /// The first unknown setting, or value that cannot be.
    pub fn read(
        self,
        settings: &BTreeMap<String, String>,
        mut read: impl FnMut(&str, &str) -> Option<Result<(), &'static str>>,
    ) -> Result<(), OptionError> {
        for (setting, value) in settings {
            let Some(understood) = read(setting, value) else {
                let (engine, known) = (self.engine, self.names);
                return Err(OptionError::Unknown { engine, setting: setting.clone(), known });
            };
            understood.map_err(|known| self.refused(settings, setting, known))?;
        }
        Ok(())
    }

    /// The error of a setting, one of these, whose value cannot be; `known`: what can.
    pub fn refused(
        self,
        settings: &BTreeMap<String, String>,
        setting: &str,
        known: &'static str,
    ) -> OptionError {
        let (setting, value) = (setting.to_owned(), settings[setting].clone());
        OptionError::Value { engine: self.engine, setting, value, known }
    }
}

/// The values of a setting by name, and all names in one text.
pub type Choices<T> = (&'static [(&'static str, T)], &'static str);

/// Sets a setting to what a name stands for.
///
/// # Errors
///
/// The names there are.
pub fn choose<T: Copy>(
    place: &mut T,
    name: &str,
    (choices, names): Choices<T>,
) -> Result<(), &'static str> {
    let (_, chosen) = choices.iter().find(|(known, _)| *known == name).ok_or(names)?;
    *place = *chosen;
    Ok(())
}

/// Whether calls may run on their callers' threads
/// ([`caller_places`](crate::worker::caller_places)), in an engine that can do that.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnCallers {
    /// short ones of sessions do
    #[default]
    On,
    /// all go to the engine's threads
    Off,
}

/// The values of the setting `on_callers`.
pub const ON_CALLERS: Choices<OnCallers> =
    (&[("on", OnCallers::On), ("off", OnCallers::Off)], "on, off");

/// A number, if it is one of these.
///
/// # Errors
///
/// What was given for it: which numbers there are.
pub fn number<T: FromStr + PartialOrd>(
    text: &str,
    (range, known): (RangeInclusive<T>, &'static str),
) -> Result<T, &'static str> {
    text.parse().ok().filter(|number| range.contains(number)).ok_or(known)
}
