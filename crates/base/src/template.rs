//! Templates: how numbers and times look as texts, for to_char and its inverses.
//!
//! Role         what the templates of numbers (`decimal::template`) and of times
//!              (`temporal::template`) have in common: characters that stand for themselves, and
//!              what can be wrong
//! Source       PostgreSQL 15, chapter 9.8 and formatting.c: what is said here of odd templates was
//!              found by comparing. Names and signs are those of the C locale

use crate::interrupt::Interruption;
use crate::interrupt::current::Pace;
use std::fmt;

/// Why a value does not go into a template, or a text does not fit one. All is PostgreSQL's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateError {
    /// the SQLSTATE
    pub code: [u8; 5],
    /// what happened
    pub message: String,
    /// more about it
    pub detail: Option<String>,
    /// what to do
    pub hint: Option<&'static str>,
    /// why it was not gone through to the end: code and message are told by whoever runs statements
    pub interruption: Option<Interruption>,
}

impl TemplateError {
    pub(crate) fn new(code: &[u8; 5], message: impl Into<String>) -> Self {
        Self { code: *code, message: message.into(), detail: None, hint: None, interruption: None }
    }

    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl From<Interruption> for TemplateError {
    fn from(why: Interruption) -> Self {
        Self { interruption: Some(why), ..Self::new(b"57014", "canceling statement") }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TemplateError {}

/// Looks at the interrupt from time to time: a template has millions of parts where somebody wants
/// it to.
#[derive(Default)]
pub(crate) struct TemplatePace(Pace);

impl TemplatePace {
    /// One part has been gone through.
    pub(crate) fn went(&mut self) -> Result<(), TemplateError> {
        /// As long as so many bytes of text take elsewhere; not measured.
        const BYTES: usize = 64;
        Ok(self.0.went(BYTES)?)
    }
}

/// What an ordinal number ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ordinal {
    /// TH
    Upper,
    /// th
    Lower,
}

impl Ordinal {
    /// The ending of a number with these last two digits.
    pub(crate) const fn ending(self, last_two: u64) -> &'static str {
        let (upper, lower) = match (last_two / 10 % 10, last_two % 10) {
            (1, _) => ("TH", "th"),
            (_, 1) => ("ST", "st"),
            (_, 2) => ("ND", "nd"),
            (_, 3) => ("RD", "rd"),
            _ => ("TH", "th"),
        };
        match self {
            Self::Upper => upper,
            Self::Lower => lower,
        }
    }
}

/// A character of a template that stands for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Literal {
    pub(crate) character: char,
    pub(crate) kind: LiteralKind,
}

/// What a text that is read may have in a literal's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LiteralKind {
    Space,
    /// a visible sign of ASCII
    Separator,
    /// a letter or digit, or whatever stands in quotes
    Text,
}

/// What of a template has not been read. Within quotes there are literals only.
#[derive(Clone, Debug)]
pub(crate) struct TemplateReader<'t> {
    rest: &'t str,
    is_quoted: bool,
}

impl<'t> TemplateReader<'t> {
    pub(crate) const fn new(template: &'t str) -> Self {
        Self { rest: template, is_quoted: false }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Where patterns may begin; none: in quotes.
    pub(crate) const fn patterns(&self) -> Option<&'t str> {
        if self.is_quoted { None } else { Some(self.rest) }
    }

    /// Goes on behind a pattern.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// The literal here; none: a quotation mark, which begins or ends quotes, or the end.
    pub(crate) fn literal(&mut self) -> Option<Literal> {
        let character = self.character()?;
        if character == '"' {
            self.is_quoted = !self.is_quoted;
            return None;
        }
        if self.is_quoted {
            // A backslash quotes what follows it, if anything does.
            let quoted = if character == '\\' { self.character() } else { None };
            let character = quoted.unwrap_or(character);
            return Some(Literal { character, kind: LiteralKind::Text });
        }
        let is_mark = character == '\\' && self.rest.starts_with('"');
        let character = if is_mark { self.character()? } else { character };
        Some(Literal { character, kind: kind_of(character) })
    }

    fn character(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next();
        self.rest = characters.as_str();
        character
    }
}

const fn kind_of(character: char) -> LiteralKind {
    if is_separator(character) {
        LiteralKind::Separator
    } else if is_space(character) {
        LiteralKind::Space
    } else {
        LiteralKind::Text
    }
}

/// Whether it is a visible sign of ASCII, and neither letter nor digit.
pub(crate) const fn is_separator(character: char) -> bool {
    character.is_ascii_punctuation()
}

/// Whether C calls it a blank: as Rust does, and the vertical tabulator.
pub(crate) const fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\x0b'
}
