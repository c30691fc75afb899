//! The settings there are: a table.

use hotrow_base::conventions::{
    BytesStyle, DateStyleError, IntervalStyle, date_style, date_style_name,
};
use hotrow_base::temporal::{KNOWN_SESSION_ZONES, TimeZone};
use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::outcome::SqlError;

use super::without_effect::WITHOUT_EFFECT;
use crate::error::advised;

/// A setting.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) default: &'static str,
    pub(super) description: &'static str,
    may: May,
    /// clients are told when it changes
    pub(super) is_reported: bool,
    /// nothing here asks for it
    pub(super) is_without_effect: bool,
}

/// What a setting may be.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum May {
    BeAnything,
    NotChange,
    BeOnOrOff,
    /// on or off, and what else it is shown as
    BeOneOf(&'static [&'static str]),
    /// one of these, which mean the one that it is shown as; anything else is an honest error
    OnlyMean {
        these: &'static [&'static str],
        hint: &'static str,
    },
    BeInteger(i64, i64),
    /// a number between these, perhaps with a unit of bytes or of time
    BeAmount(f64, f64),
    /// milliseconds, or with a unit
    BeDuration,
    /// kibibytes, or with a unit
    BeSize,
    BeSearchPath,
    BeZone,
    /// the one encoding there is; letters and digits tell which is meant, as in PostgreSQL
    BeEncoding,
}

/// The setting whose values say a part of it only.
pub(super) const DATE_STYLE: &str = "DateStyle";

const LEVELS: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error",
    "info",
];
const SERVER_VERSION: &str = concat!("15.0 (Hotrow ", env!("CARGO_PKG_VERSION"), ")");

const fn plain(
    name: &'static str,
    default: &'static str,
    may: May,
    description: &'static str,
) -> Known {
    Known { name, default, description, may, is_reported: false, is_without_effect: false }
}

const fn reported(
    name: &'static str,
    default: &'static str,
    may: May,
    description: &'static str,
) -> Known {
    Known { name, default, description, may, is_reported: true, is_without_effect: false }
}

/// One of those that nothing asks for.
pub(super) const fn without_effect(name: &'static str, default: &'static str, may: May) -> Known {
    let description = "PostgreSQL's, and without effect.";
    Known { name, default, description, may, is_reported: false, is_without_effect: true }
}

/// By name.
pub(super) const KNOWN: &[Known] = &[
    reported("application_name", "", May::BeAnything, "What the client calls itself."),
    plain("bytea_output", "hex", May::BeOneOf(BytesStyle::NAMES), "How bytea is written."),
    plain(
        "check_function_bodies",
        "on",
        May::BeOnOrOff,
        "Off: functions may come before what they name.",
    ),
    reported("client_encoding", "UTF8", May::BeEncoding, "Encoding of the client."),
    plain("client_min_messages", "notice", May::BeOneOf(LEVELS), "Notices that are told."),
    reported(
        DATE_STYLE,
        "ISO, MDY",
        May::BeAnything,
        "How dates and times are written, and the order of a date's fields where they are read.",
    ),
    plain(
        "deadlock_timeout",
        "1s",
        May::BeDuration,
        "Kept, and without effect: deadlocks are found at once.",
    ),
    plain(
        "default_table_access_method",
        "heap",
        May::OnlyMean { these: &["heap"], hint: "Tables lie in memory: heap is the only one." },
        "The only one.",
    ),
    plain("default_tablespace", "", May::BeAnything, "Kept, and without effect."),
    plain(
        "default_transaction_isolation",
        "serializable",
        May::OnlyMean {
            these: &["serializable", "repeatable read", "read committed", "read uncommitted"],
            hint: "All transactions are serializable.",
        },
        "Isolation of transactions: always serializable.",
    ),
    reported("default_transaction_read_only", "off", May::BeOnOrOff, "Transactions only read."),
    plain(
        "extra_float_digits",
        "1",
        May::BeInteger(-15, 3),
        "Digits of floats beside those that are always exact; from 1 on, as few as tell them.",
    ),
    plain(
        "hotrow.call_deadline",
        "0",
        May::BeDuration,
        "Within which a thread must take a call; 0: as the server has it.",
    ),
    plain(
        "hotrow.statement_memory",
        "0",
        May::BeSize,
        "Memory of a statement or call, up to the session's own; 0: as the server has it.",
    ),
    plain(
        "idle_in_transaction_session_timeout",
        "0",
        May::BeDuration,
        "Longest silence in a transaction, up to the database's own limit.",
    ),
    plain("idle_session_timeout", "0", May::BeDuration, "Longest silence outside transactions."),
    reported("in_hot_standby", "off", May::NotChange, "Whether it is a standby."),
    reported("integer_datetimes", "on", May::NotChange, "Times are integers."),
    reported(
        "IntervalStyle",
        "postgres",
        May::BeOneOf(IntervalStyle::NAMES),
        "How intervals are written.",
    ),
    reported("is_superuser", "on", May::NotChange, "Whether the user may do everything."),
    plain("jit", "off", May::BeOnOrOff, "Kept, and without effect."),
    plain("lc_collate", "C", May::NotChange, "Order of texts: by their bytes."),
    plain("lc_ctype", "C.UTF-8", May::NotChange, "What letters are."),
    plain("lock_timeout", "0", May::BeDuration, "Longest wait for a lock."),
    plain("max_connections", "100", May::NotChange, "PostgreSQL's; see the server's option."),
    plain("max_identifier_length", "63", May::NotChange, "Bytes of a name in PostgreSQL."),
    plain("max_index_keys", "32", May::NotChange, "Columns of a key."),
    plain(
        "password_encryption",
        "scram-sha-256",
        May::OnlyMean { these: &["scram-sha-256"], hint: "Passwords are kept for SCRAM-SHA-256." },
        "What is kept of passwords.",
    ),
    plain("role", "none", May::NotChange, "The role: SET ROLE changes it."),
    plain("row_security", "on", May::BeOnOrOff, "Off: what policies would keep rows from fails."),
    plain("search_path", "\"$user\", public", May::BeSearchPath, "Schemas of unqualified names."),
    reported("server_encoding", "UTF8", May::NotChange, "Encoding of the database."),
    reported("server_version", SERVER_VERSION, May::NotChange, "The PostgreSQL to expect."),
    plain("server_version_num", "150000", May::NotChange, "The same as a number."),
    reported("session_authorization", "", May::NotChange, "The user."),
    reported(
        "standard_conforming_strings",
        "on",
        May::OnlyMean { these: &["on", "true", "yes", "1"], hint: "Write E'...' for escapes." },
        "Backslashes in '...' are plain.",
    ),
    plain("statement_timeout", "0", May::BeDuration, "Longest time of a statement."),
    plain(
        "synchronous_commit",
        "on",
        May::BeOneOf(&["on", "off", "local", "remote_write", "remote_apply"]),
        "Kept, and without effect: the server's --durability holds.",
    ),
    reported(
        "TimeZone",
        "UTC",
        May::BeZone,
        "Zone in which times are shown, and read where they do not tell theirs.",
    ),
    plain(
        "transaction_isolation",
        "serializable",
        May::OnlyMean {
            these: &["serializable", "repeatable read", "read committed", "read uncommitted"],
            hint: "All transactions are serializable.",
        },
        "Isolation of the transaction.",
    ),
    plain("transaction_read_only", "off", May::BeOnOrOff, "The transaction only reads."),
    plain("work_mem", "4MB", May::BeAnything, "Kept, and without effect."),
    plain("xmloption", "content", May::BeOneOf(&["content", "document"]), "Kept."),
];

/// All settings.
pub(super) fn all() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().chain(WITHOUT_EFFECT)
}

/// The setting with this name, in lower case.
pub(super) fn known(name: &str) -> Option<&'static Known> {
    all().find(|known| known.name.eq_ignore_ascii_case(name))
}

impl Known {
    /// Fails with 55P02 for one that cannot be changed.
    pub(super) fn refuse_fixed(&self) -> Result<(), SqlError> {
        if self.may != May::NotChange {
            return Ok(());
        }
        let message = format!("parameter \"{}\" cannot be changed", self.name);
        Err(SqlError::new(b"55P02", message))
    }

    /// A value of DateStyle as it is kept, where it was another one before.
    pub(super) fn check_date_style(&self, value: &str, before: &str) -> Result<String, SqlError> {
        let before = date_style(before, Default::default()).unwrap_or_default();
        date_style(value, before).map(date_style_name).map_err(|wrong| {
            let mut error = SqlError::new(b"22023", self.invalid(value));
            error.detail = Some(match wrong {
                DateStyleError::Syntax => "List syntax is invalid.".to_owned(),
                DateStyleError::Unknown(word) => format!("Unrecognized key word: \"{word}\"."),
                DateStyleError::Conflict => "Conflicting \"datestyle\" specifications.".to_owned(),
            });
            error
        })
    }

    fn invalid(&self, value: &str) -> String {
        let name = match self.may {
            May::BeOneOf(_) => self.name.to_lowercase(), // as it is looked up
            _ => self.name.to_owned(),
        };
        format!("invalid value for parameter \"{name}\": \"{value}\"")
    }

    /// A value as it is kept.
    pub(super) fn check(&self, value: &str) -> Result<String, SqlError> {
        self.refuse_fixed()?;
        let plain = value.trim().to_lowercase();
        let wrong = |hint: String| {
            let message = self.invalid(value);
            if hint.is_empty() {
                SqlError::new(b"22023", message)
            } else {
                advised(b"22023", message, hint)
            }
        };
        match self.may {
            May::BeAnything | May::NotChange => Ok(value.to_owned()),
            May::BeOnOrOff => match plain.as_str() {
                "on" | "true" | "yes" | "1" | "t" | "y" => Ok("on".to_owned()),
                "off" | "false" | "no" | "0" | "f" | "n" => Ok("off".to_owned()),
                _ => {
                    let message = format!("parameter \"{}\" requires a Boolean value", self.name);
                    Err(SqlError::new(b"22023", message))
                }
            },
            May::BeOneOf(these) => match these.contains(&plain.as_str()) {
                true => Ok(plain),
                false => Err(wrong(format!("Available values: {}.", these.join(", ")))),
            },
            May::BeZone => match TimeZone::of_setting(value) {
                Some((_, shown)) => Ok(shown),
                None => Err(wrong(KNOWN_SESSION_ZONES.to_owned())),
            },
            May::OnlyMean { these, hint } => match these.contains(&plain.as_str()) {
                true => Ok(self.default.to_owned()),
                false => Err(wrong(hint.to_owned())),
            },
            May::BeInteger(least, most) => match plain.parse::<i64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(number.to_string()),
                Ok(number) => {
                    let name = self.name;
                    let range = format!("({least} .. {most})");
                    let message = format!(
                        "{number} is outside the valid range for parameter \"{name}\" {range}"
                    );
                    Err(SqlError::new(b"22023", message))
                }
                Err(_) => Err(wrong(String::new())),
            },
            May::BeAmount(least, most) => {
                let end = plain.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(plain.len());
                let (number, unit) = plain.split_at(end);
                let units = ["", "b", "kb", "mb", "gb", "tb", "us", "ms", "s", "min", "h", "d"];
                match number.trim().parse::<f64>() {
                    Ok(number) if units.contains(&unit) && number.is_finite() => {
                        // With a unit it is another number than the one that is compared.
                        let is_within = !unit.is_empty() || (least..=most).contains(&number);
                        if is_within {
                            return Ok(value.trim().to_owned());
                        }
                        let message = format!(
                            "{number} is outside the valid range for parameter \"{}\" ({least} .. \
                             {most})",
                            self.name
                        );
                        Err(SqlError::new(b"22023", message))
                    }
                    _ => Err(wrong(String::new())),
                }
            }
            May::BeDuration => {
                let hint = "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \
                            \"h\", and \"d\".";
                milliseconds(&plain).map(shown).ok_or_else(|| wrong(hint.to_owned()))
            }
            May::BeSize => {
                let hint =
                    "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".";
                bytes(&plain).map(shown_size).ok_or_else(|| wrong(hint.to_owned()))
            }
            May::BeEncoding => {
                let name: String = plain.chars().filter(char::is_ascii_alphanumeric).collect();
                match matches!(name.as_str(), "utf8" | "unicode") {
                    true => Ok(self.default.to_owned()),
                    false => Err(wrong("Hotrow speaks UTF8.".to_owned())),
                }
            }
            May::BeSearchPath => {
                let hint = "Write names with commas between them.";
                let read = SearchPath::read(value).ok_or_else(|| wrong(hint.to_owned()));
                read.map(|_| value.to_owned())
            }
        }
    }
}

/// PostgreSQL's limit: what 32 bits hold.
const MILLISECONDS_MAX: f64 = 2_147_483_647.0;

/// `100`, `100ms`, `1.5 min` ...
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "us" => 0.001,
        "" | "ms" => 1.0,
        "s" => 1e3,
        "min" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return None,
    };
    let milliseconds = (number.parse::<f64>().ok()? * factor).round();
    (milliseconds <= MILLISECONDS_MAX).then_some(milliseconds as u64)
}

/// `100`, `100kb`, `1.5 mb` ..., in lower case.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "b" => 1_u64,
        "" | "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        _ => return None,
    };
    let bytes = (number.parse::<f64>().ok()? * factor as f64).round();
    (bytes <= BYTES_MAX).then_some(bytes as u64)
}

/// More than any machine has.
const BYTES_MAX: f64 = (1_u64 << 50) as f64;

/// In the largest unit that divides it.
fn shown_size(bytes: u64) -> String {
    let units = [(1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"), (1, "B")];
    let divides = |(size, _): &&(u64, &str)| bytes > 0 && bytes.is_multiple_of(*size);
    match units.iter().find(divides) {
        Some((size, unit)) => format!("{}{unit}", bytes / size),
        None => "0".to_owned(),
    }
}

/// In the largest unit that divides it.
fn shown(milliseconds: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")];
    let divides = |(size, _): &&(u64, &str)| milliseconds > 0 && milliseconds.is_multiple_of(*size);
    match units.iter().find(divides) {
        Some((size, unit)) => format!("{}{unit}", milliseconds / size),
        None => "0".to_owned(),
    }
}
