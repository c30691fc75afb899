//! Settings that sessions begin with: what ALTER ROLE ... SET and ALTER DATABASE ... SET have said.
//!
//! Role         kept as it was written; which settings there are, and what they may be, is for who
//!              has sessions
//! Source       PostgreSQL 15, "pg_db_role_setting"

use std::sync::Arc;

use super::rights::Rights;

/// Whose sessions begin with a setting. In the order of these, later ones win: all sessions, those
/// of the database, those of a role, those of a role in the database.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SettingScope {
    /// of this role; none: of all
    pub role: Option<Arc<str>>,
    /// IN DATABASE, and ALTER DATABASE: there is one
    pub in_database: bool,
}

/// Settings with their values, in the order in which they were said first.
pub type SessionSettings = Vec<(String, String)>;

impl Rights {
    /// All that sessions begin with.
    pub fn session_settings(&self) -> impl Iterator<Item = (&SettingScope, &SessionSettings)> {
        self.session_settings.iter().map(|(scope, settings)| (scope, &**settings))
    }

    /// What sessions of a role begin with, in the order in which it is to be set.
    pub fn session_settings_of(
        &self,
        role: Option<&str>,
    ) -> impl Iterator<Item = &(String, String)> {
        let is_his =
            move |scope: &SettingScope| scope.role.is_none() || scope.role.as_deref() == role;
        let all = self.session_settings();
        all.filter(move |(scope, _)| is_his(scope)).flat_map(|(_, settings)| settings)
    }

    /// Sets one (no value: forgets it), or forgets all of them (no name).
    pub fn set_session_setting(
        &mut self,
        scope: &SettingScope,
        name: Option<&str>,
        value: Option<&str>,
    ) {
        let known = self.session_settings.get(scope);
        let mut settings = known.map_or_else(Vec::new, |known| SessionSettings::clone(known));
        match (name, value) {
            (None, _) => settings.clear(),
            (Some(name), None) => settings.retain(|(known, _)| known != name),
            (Some(name), Some(value)) => {
                match settings.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => value.clone_into(known),
                    None => settings.push((name.to_owned(), value.to_owned())),
                }
            }
        }
        match settings.is_empty() {
            true => drop(self.session_settings.remove_mut(scope)),
            false => self.session_settings.insert_mut(scope.clone(), Arc::new(settings)),
        }
    }

    /// Forgets those of a role that goes.
    pub(super) fn forget_session_settings(&mut self, role: &str) {
        for in_database in [false, true] {
            self.session_settings
                .remove_mut(&SettingScope { role: Some(role.into()), in_database });
        }
    }
}
