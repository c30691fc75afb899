//! Words of a text: what a definition may name.
//!
//! Role         tells what a change of something with a name may concern, without compiling
//! Invariants   I1 a text that names something has the [key](key_of) of its name among its words,
//!                 however it is quoted and in whatever case; it may have it without naming it

/// The words of a text, in lower case: letters, digits and underscores.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The word that a text has when it names this: the first one of the name. None: a name without
/// words, which any text may have.
pub fn key_of(name: &str) -> Option<String> {
    words(name).next()
}

/// Whether a text may name something.
pub(crate) fn may_name(text: &str, name: &str) -> bool {
    key_of(name).is_none_or(|key| words(text).any(|word| word == key))
}

#[cfg(test)]
mod tests {
    use super::may_name;

    #[test]
    fn a_name_is_found_however_it_is_written() {
        let found = [
            ("SELECT a FROM Orders", "orders"),
            ("SELECT \"a\"\"b\" FROM t", "a\"b"),
            ("SELECT * FROM \"My Table\"", "My Table"),
            ("SELECT nextval('s')", "s"),
            ("SELECT * FROM public.t", "t"),
            ("SELECT 1", "!"),
        ];
        for (text, name) in found {
            assert!(may_name(text, name), "{text} names {name}");
        }
        for (text, name) in [("SELECT * FROM orders_2", "orders"), ("SELECT tt", "t")] {
            assert!(!may_name(text, name), "{text} does not name {name}");
        }
    }
}
