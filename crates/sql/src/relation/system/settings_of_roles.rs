//! Settings that sessions begin with, as the system catalog shows them.

use hotrow_base::value::Value;
use hotrow_transaction::catalog::{SessionSettings, SettingScope};

use super::SystemContext;
use super::cells::text;

/// Settings whose names have capitals where they are shown; they are kept in lower case.
const WITH_CAPITALS: [&str; 3] = ["DateStyle", "IntervalStyle", "TimeZone"];

/// What a role's sessions begin with in every database; NULL: nothing was said.
pub(super) fn of_role(context: &SystemContext<'_>, name: &str) -> Value {
    let of = SettingScope { role: Some(name.into()), in_database: false };
    let mut all = context.catalog.rights().session_settings();
    all.find(|(scope, _)| **scope == of).map_or(Value::Null, |(_, settings)| shown(settings))
}

pub(super) fn shown(settings: &SessionSettings) -> Value {
    let shown = settings.iter().map(|(name, value)| {
        let known = WITH_CAPITALS.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        text(format!("{}={value}", known.unwrap_or(name)))
    });
    Value::Array(shown.collect())
}
