//! Whether text typed so far is whole statements: it ends with a semicolon that is not part of a
//! string, a quoted name, a comment or a `$$` body.

/// What text typed so far is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Typed {
    /// blanks and comments
    Nothing,
    /// statements that want more text
    Open,
    /// whole statements
    Whole,
}

/// Looks at text typed so far.
pub(crate) fn typed(text: &str) -> Typed {
    let mut rest = text;
    let mut typed = Typed::Nothing;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        if rest.starts_with("--") {
            rest = after.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        if rest.starts_with("/*") {
            match after_comment(rest) {
                Some(after) => rest = after,
                None => return Typed::Open,
            }
            continue;
        }
        let closed = match c {
            // Doubled quotes close and open again, which comes to the same.
            '\'' | '"' => after.split_once(c).map(|(_, after)| after),
            '$' => match dollar_quote(rest) {
                Some(quote) => rest[quote.len()..].split_once(quote).map(|(_, after)| after),
                None => Some(after),
            },
            _ => Some(after),
        };
        let Some(closed) = closed else { return Typed::Open };
        rest = closed;
        typed = match c {
            ';' => Typed::Whole,
            c if c.is_whitespace() => typed,
            _ => Typed::Open,
        };
    }
    typed
}

/// What follows a comment, which may have others inside; none when it is not closed.
pub(crate) fn after_comment(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return text.get(at..);
            }
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
}

/// `$$` or `$name$` at the start of the text.
pub(crate) fn dollar_quote(text: &str) -> Option<&str> {
    let name = text.get(1..)?;
    let end = name.find('$')?;
    let mut letters = name[..end].chars();
    let starts = letters.next().is_none_or(|c| c.is_alphabetic() || c == '_');
    let is_name = starts && letters.all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| &text[..end + 2])
}

#[cfg(test)]
mod tests;
