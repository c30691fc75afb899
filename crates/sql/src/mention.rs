//! Words of a text: what a definition may name.
//!
//! Role         tells what a change of something with a name may concern, without compiling
//! Invariants   I1 a text that names something has the [key](key_of) of its name among its words,
//!                 however it is quoted and in whatever case; it may have it without naming it

use hotrow_transaction::catalog::local;

/// The words of a text, in lower case: letters, digits and underscores.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The word that a text has when it names this: the first one of the name. None: a name without
/// words, which any text may have.
pub fn key_of(name: &str) -> Option<String> {
    words(local(name)).next()
}

/// Whether a text may name something.
pub fn may_name(text: &str, name: &str) -> bool {
    key_of(name).is_none_or(|key| words(text).any(|word| word == key))
}
