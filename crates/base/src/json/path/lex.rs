//! The words and signs of a path.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::value::ValueError;

use super::super::Result;

/// A word, a sign or a literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// a name or a keyword, as it is written
    Word(String),
    /// in quotes
    Text(String),
    Variable(String),
    /// as it is written
    Number(String),
    Sign(&'static str),
}

/// Signs, longer ones before those that they begin with.
const SIGNS: [&str; 29] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "<", ">", "=", "!", "?", "%", "$", ".", "[",
    "]", "{", "}", "(", ")", "@", ",", "*", ":", "-", "+", "/",
];

pub(super) fn error_at(place: &str) -> ValueError {
    let message = match place {
        "" => "syntax error at end of jsonpath input".to_owned(),
        place => format!("syntax error at or near \"{place}\" of jsonpath input"),
    };
    ValueError::json_error("42601", message)
}

fn is_special(c: char) -> bool {
    "?%$.[]{}()|&!=<>@#,*:-+/\"\\".contains(c) || c.is_ascii_whitespace()
}

struct Lexer<'t> {
    text: &'t str,
    left: Peekable<CharIndices<'t>>,
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer { text, left: text.char_indices().peekable() };
    let mut all = Vec::new();
    while let Some(token) = lexer.next()? {
        all.push(token);
    }
    Ok(all)
}

impl<'t> Lexer<'t> {
    fn peek(&mut self) -> Option<char> {
        self.left.peek().map(|(_, c)| *c)
    }

    fn rest(&mut self) -> &'t str {
        let at = self.left.peek().map_or(self.text.len(), |(at, _)| *at);
        &self.text[at..]
    }

    fn skip(&mut self, chars: usize) {
        self.left.by_ref().take(chars).for_each(drop);
    }

    fn next(&mut self) -> Result<Option<Token>> {
        loop {
            match self.peek() {
                None => return Ok(None),
                Some(c) if c.is_ascii_whitespace() => self.skip(1),
                Some('/') if self.rest().starts_with("/*") => {
                    let Some(end) = self.rest().find("*/") else {
                        let message = "unexpected end of comment at end of jsonpath input";
                        return Err(ValueError::json_error("42601", message.to_owned()));
                    };
                    let chars = self.rest()[..end + 2].chars().count();
                    self.skip(chars);
                }
                Some(_) => break,
            }
        }
        let rest = self.rest();
        let mut ahead = rest.chars();
        match (ahead.next().unwrap_or_default(), ahead.next()) {
            ('"', _) => {
                self.skip(1);
                self.quoted().map(Token::Text).map(Some)
            }
            ('$', Some('"')) => {
                self.skip(2);
                self.quoted().map(Token::Variable).map(Some)
            }
            ('$', Some(c)) if !is_special(c) || c == '\\' => {
                self.skip(1);
                self.word().map(Token::Variable).map(Some)
            }
            (c, _) if c.is_ascii_digit() => self.number().map(Some),
            ('.', Some(c)) if c.is_ascii_digit() => self.number().map(Some),
            (c, _) if !is_special(c) || c == '\\' => self.word().map(Token::Word).map(Some),
            (c, _) => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                let Some(sign) = sign else { return Err(error_at(&c.to_string())) };
                self.skip(sign.len());
                Ok(Some(Token::Sign(sign)))
            }
        }
    }

    fn word(&mut self) -> Result<String> {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.skip(1);
                self.escape(&mut word)?;
            } else if is_special(c) {
                break;
            } else {
                word.push(c);
                self.skip(1);
            }
        }
        Ok(word)
    }

    fn quoted(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            let Some((_, c)) = self.left.next() else {
                let message = "unterminated quoted string at end of jsonpath input";
                return Err(ValueError::json_error("42601", message.to_owned()));
            };
            match c {
                '"' => return Ok(text),
                '\\' => self.escape(&mut text)?,
                c => text.push(c),
            }
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        let Some((_, c)) = self.left.next() else {
            let message = "unexpected end after backslash at end of jsonpath input";
            return Err(ValueError::json_error("42601", message.to_owned()));
        };
        let invalid = |what: &str| {
            let message = format!("invalid {what} at or near \"\\{c}\" of jsonpath input");
            ValueError::json_error("42601", message)
        };
        out.push(match c {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => {
                let code = self.hex(2).ok_or_else(|| invalid("hexadecimal character sequence"))?;
                self.character(code)?
            }
            'u' => {
                let code = self.unicode().ok_or_else(|| invalid("Unicode escape sequence"))?;
                self.character(code)?
            }
            other => other,
        });
        Ok(())
    }

    fn character(&self, code: u32) -> Result<char> {
        if code == 0 {
            return Err(ValueError::json_zero());
        }
        char::from_u32(code).ok_or_else(|| {
            let message = "invalid input syntax for type jsonpath".to_owned();
            ValueError::json_error("22P02", message)
        })
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.left.next()?.1.to_digit(16)?;
            code = code * 16 + digit;
        }
        Some(code)
    }

    /// Four digits, or some in `{}`; a pair of surrogates is one character.
    fn unicode(&mut self) -> Option<u32> {
        if self.peek() == Some('{') {
            self.skip(1);
            let (mut code, mut digits) = (0, 0);
            loop {
                match self.left.next()?.1 {
                    '}' if digits > 0 => return Some(code),
                    c if digits < 6 => code = code * 16 + c.to_digit(16)?,
                    _ => return None,
                }
                digits += 1;
            }
        }
        let high = self.hex(4)?;
        if !(0xd800..0xdc00).contains(&high) || !self.rest().starts_with("\\u") {
            return Some(high);
        }
        self.skip(2);
        let low = self.hex(4)?;
        match (0xdc00..0xe000).contains(&low) {
            true => Some(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
            false => None,
        }
    }

    fn number(&mut self) -> Result<Token> {
        let rest = self.rest().as_bytes();
        let digits = |from: usize| rest[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        // A number does not begin with a 0 and further digits.
        let mut end = match rest[0] {
            b'0' => 1,
            _ => digits(0),
        };
        if rest.get(end) == Some(&b'.') {
            end += 1;
            end += digits(end);
        }
        if let Some(b'e' | b'E') = rest.get(end) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == 0 {
                return Err(self.junk(end + 1));
            }
            end += 1 + sign + exponent;
        }
        let behind = self.rest()[end..].chars().next();
        if behind.is_some_and(|c| !is_special(c) || c == '\\') {
            return Err(self.junk(end + 1));
        }
        let text = self.rest()[..end].to_owned();
        self.skip(end);
        Ok(Token::Number(text))
    }

    fn junk(&mut self, chars: usize) -> ValueError {
        let near: String = self.rest().chars().take(chars).collect();
        let what = "trailing junk after numeric literal";
        ValueError::json_error("42601", format!("{what} at or near \"{near}\" of jsonpath input"))
    }
}
