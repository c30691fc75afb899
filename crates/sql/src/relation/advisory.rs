//! The functions of advisory locks, by their names.
//!
//! ```text
//! pg_[try_]advisory_[xact_]lock[_shared](key | key, key)
//! pg_advisory_unlock[_shared](key | key, key)   pg_advisory_unlock_all()
//! ```

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Advisory, AdvisoryLevel, AdvisoryMode, AdvisoryStep};

const TEXT: SqlType = SqlType::Scalar(DataType::Text);
const TRUTH: SqlType = SqlType::Scalar(DataType::Boolean);
const KEY: SqlType = SqlType::Scalar(DataType::BigInt);
const HALF: SqlType = SqlType::Scalar(DataType::Integer);

/// The function of a name and a number of arguments, what it takes and what it gives.
pub(super) fn advisory(
    name: &str,
    arguments: usize,
) -> Option<(Advisory, &'static [SqlType], SqlType)> {
    let rest = name.strip_prefix("pg_")?;
    let (is_try, rest) = match rest.strip_prefix("try_") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = rest.strip_prefix("advisory_")?;
    let (level, rest) = match rest.strip_prefix("xact_") {
        Some(rest) => (AdvisoryLevel::Transaction, rest),
        None => (AdvisoryLevel::Session, rest),
    };
    let (mode, verb) = match rest.strip_suffix("_shared") {
        Some(verb) => (AdvisoryMode::Shared, verb),
        None => (AdvisoryMode::Exclusive, rest),
    };
    let is_plain = !is_try && level == AdvisoryLevel::Session;
    let (step, gives) = match verb {
        "lock" if is_try => (AdvisoryStep::Try, TRUTH),
        "lock" => (AdvisoryStep::Lock, TEXT),
        "unlock" if is_plain => (AdvisoryStep::Unlock, TRUTH),
        "unlock_all" if is_plain && mode == AdvisoryMode::Exclusive => {
            (AdvisoryStep::UnlockAll, TEXT)
        }
        _ => return None,
    };
    let takes: &[SqlType] = match (step, arguments) {
        (AdvisoryStep::UnlockAll, 0) => &[],
        (AdvisoryStep::UnlockAll, _) => return None,
        (_, 1) => &[KEY],
        (_, 2) => &[HALF, HALF],
        _ => return None,
    };
    Some((Advisory { step, mode, level }, takes, gives))
}
