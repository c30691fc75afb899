//! Names and texts as SQL text: quote_ident, quote_literal, and what format() makes of its values.

use crate::keywords::may_be_name;

/// A name as SQL text: in quotes, unless it means the same without.
pub fn identifier(name: &str) -> String {
    let is_plain = name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
        && name.bytes().next().is_some_and(|c| !c.is_ascii_digit())
        && may_be_name(name);
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// A text as a literal of SQL.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_postgresql_does() {
        for (name, expected) in [
            ("a_1", "a_1"),
            ("_a", "_a"),
            ("1a", "\"1a\""),
            ("A", "\"A\""),
            ("a b", "\"a b\""),
            ("a\"b", "\"a\"\"b\""),
            ("", "\"\""),
            ("select", "\"select\""),
            ("between", "\"between\""),
            ("left", "\"left\""),
            ("table", "\"table\""),
            ("name", "name"),
            ("month", "month"),
        ] {
            assert_eq!(identifier(name), expected);
        }
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\b'"), "E'a\\\\b'''");
    }
}
