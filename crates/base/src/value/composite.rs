//! Rows as PostgreSQL's text: `(1,"two words",,"")`.

use std::fmt;

use super::{Value, ValueError};
use crate::composite::CompositeType;

/// Writes a row; NULL is nothing between two commas.
pub(super) fn write_composite(fields: &[Value], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("(")?;
    for (at, field) in fields.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { "," })?;
        if field.is_null() {
            continue;
        }
        let text = field.to_string();
        let is_special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | ',') || c.is_whitespace();
        if !text.is_empty() && !text.contains(is_special) {
            f.write_str(&text)?;
            continue;
        }
        let doubled = text.replace('\\', "\\\\").replace('"', "\"\"");
        write!(f, "\"{doubled}\"")?;
    }
    f.write_str(")")
}

impl Value {
    /// The row of a text.
    pub(super) fn parse_composite(of: CompositeType, text: &str) -> Result<Self, ValueError> {
        let malformed = |why| ValueError::malformed_record(text, why);
        let trimmed = text.trim_start().strip_prefix('(');
        let mut rest = trimmed.ok_or_else(|| malformed("Missing left parenthesis."))?.chars();
        let count = of.fields().len();
        let mut fields = Vec::with_capacity(count);
        let mut end = ',';
        for (at, data_type) in of.types().enumerate() {
            if at > 0 && end == ')' {
                return Err(malformed("Too few columns."));
            }
            let (read, ended) =
                field_text(&mut rest).ok_or_else(|| malformed("Unexpected end of input."))?;
            end = ended;
            fields.push(match read {
                None => Self::Null,
                Some(read) => Self::parse(data_type, &read)?,
            });
        }
        if count > 0 && end != ')' {
            return Err(malformed("Too many columns."));
        }
        if count == 0 && rest.next() != Some(')') {
            return Err(malformed("Too many columns."));
        }
        match rest.as_str().trim().is_empty() {
            true => Ok(Self::Composite(of, fields)),
            false => Err(malformed("Junk after right parenthesis.")),
        }
    }
}

/// The text of a field, none for NULL, and what ended it. None: nothing did.
fn field_text(rest: &mut std::str::Chars<'_>) -> Option<(Option<String>, char)> {
    let mut text = None::<String>;
    let mut is_quoted = false;
    loop {
        match rest.next()? {
            '\\' => text.get_or_insert_default().push(rest.next()?),
            '"' if is_quoted && rest.as_str().starts_with('"') => {
                rest.next();
                text.get_or_insert_default().push('"');
            }
            '"' => {
                is_quoted = !is_quoted;
                text.get_or_insert_default();
            }
            end @ (',' | ')') if !is_quoted => return Some((text, end)),
            other => text.get_or_insert_default().push(other),
        }
    }
}
