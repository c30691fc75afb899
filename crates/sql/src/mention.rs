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

/// Whether two names differ by one letter only (left out, added, changed) or by underscores.
pub(crate) fn is_near(known: &str, name: &str) -> bool {
    if known.is_empty() || known.len() > 128 || name.len() > 128 {
        return false;
    }
    let bare = |s: &str| s.chars().filter(|c| *c != '_').collect::<Vec<_>>();
    let (a, b) = (bare(known), bare(name));
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    let equal_after = |i: usize, j: usize| a.get(i..).zip(b.get(j..)).is_some_and(|(x, y)| x == y);
    a == b || equal_after(1, 1) || equal_after(1, 0) || equal_after(0, 1)
}
