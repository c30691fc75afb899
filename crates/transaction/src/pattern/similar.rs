//! SIMILAR TO: patterns of the SQL standard.

use crate::outcome::SqlError;
use hotrow_base::interrupt::current;

/// The regular expression that a pattern of the standard stands for; `escape` is empty or one
/// character.
///
/// # Errors
///
/// 22025 where it is longer, 2200C where it marks more than two borders of a part.
pub fn expression(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let mut chars = escape.chars();
    let escape = chars.next();
    if chars.next().is_some() {
        let mut error = SqlError::new(b"22025", "invalid escape string");
        error.hint = Some("Escape string must be empty or one character.".into());
        return Err(error);
    }
    let mut made = String::with_capacity(pattern.len() + 16);
    current::charge().add(4 * pattern.len())?;
    made.push_str("^(?:");
    let (mut is_escaped, mut in_brackets, mut borders) = (false, false, 0);
    for c in pattern.chars() {
        if std::mem::take(&mut is_escaped) {
            match (c, borders) {
                // What stands before the part is as short as it can be, the part as long.
                ('"', 0) if !in_brackets => made.push_str("){1,1}?("),
                ('"', 1) if !in_brackets => made.push_str("){1,1}(?:"),
                ('"', _) if !in_brackets => {
                    let message = "SQL regular expression may not contain more than two \
                                   escape-double-quote separators";
                    return Err(SqlError::new(b"2200C", message));
                }
                _ => made.extend(['\\', c]),
            }
            borders += u32::from(c == '"' && !in_brackets);
        } else if Some(c) == escape {
            is_escaped = true;
        } else if in_brackets {
            if c == '\\' {
                made.push('\\');
            }
            made.push(c);
            in_brackets = c != ']';
        } else {
            match c {
                '[' => {
                    made.push(c);
                    in_brackets = true;
                }
                '%' => made.push_str(".*"),
                '_' => made.push('.'),
                '(' => made.push_str("(?:"),
                '\\' | '.' | '^' | '$' => made.extend(['\\', c]),
                c => made.push(c),
            }
        }
    }
    made.push_str(")$");
    Ok(made)
}
