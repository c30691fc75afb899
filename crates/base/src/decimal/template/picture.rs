//! Patterns of numbers, and what a template says by all of them together.

use crate::template::{Ordinal, TemplateError, TemplatePace, TemplateReader};

/// A pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// `,` and G
    Group,
    /// `.` and D
    Point,
    Zero,
    Nine,
    /// C, which does nothing
    Nothing,
    /// EEEE
    Exponent,
    /// FM
    Bare,
    /// L
    Currency,
    /// MI
    Minus,
    /// PL
    Plus,
    /// SG
    Sign,
    /// PR
    Brackets,
    /// S
    Anchored,
    /// SP, which PostgreSQL knows and does nothing for
    Spelled,
    /// RN or rn
    Roman(Letters),
    Ordinal(Ordinal),
    /// V
    Shift,
    /// B: blanks for zero, which PostgreSQL does not write either
    Blank,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Letters {
    Upper,
    Lower,
}

/// Patterns in capitals; of those that begin alike the longer one stands first.
const PATTERNS: &[(&str, Pattern)] = &[
    (",", Pattern::Group),
    (".", Pattern::Point),
    ("0", Pattern::Zero),
    ("9", Pattern::Nine),
    ("B", Pattern::Blank),
    ("C", Pattern::Nothing),
    ("D", Pattern::Point),
    ("EEEE", Pattern::Exponent),
    ("FM", Pattern::Bare),
    ("G", Pattern::Group),
    ("L", Pattern::Currency),
    ("MI", Pattern::Minus),
    ("PL", Pattern::Plus),
    ("PR", Pattern::Brackets),
    ("RN", Pattern::Roman(Letters::Upper)),
    ("SG", Pattern::Sign),
    ("SP", Pattern::Spelled),
    ("S", Pattern::Anchored),
    ("TH", Pattern::Ordinal(Ordinal::Upper)),
    ("V", Pattern::Shift),
];

/// A part of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Pattern(Pattern),
    Literal(char),
}

/// The parts of a template, one after the other.
pub(super) struct Nodes<'t> {
    reader: TemplateReader<'t>,
}

impl<'t> Nodes<'t> {
    pub(super) const fn of(template: &'t str) -> Self {
        Self { reader: TemplateReader::new(template) }
    }
}

impl Iterator for Nodes<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        while !self.reader.is_empty() {
            if let Some((length, pattern)) = self.reader.patterns().and_then(pattern_at) {
                self.reader.skip(length);
                return Some(Node::Pattern(pattern));
            }
            if let Some(literal) = self.reader.literal() {
                return Some(Node::Literal(literal.character));
            }
        }
        None
    }
}

/// The pattern that a text begins with, in capitals or in small letters, and its length.
fn pattern_at(text: &str) -> Option<(usize, Pattern)> {
    PATTERNS.iter().find_map(|(name, pattern)| {
        let found = text.get(..name.len()).filter(|found| found.eq_ignore_ascii_case(name))?;
        if found == *name {
            return Some((name.len(), *pattern));
        }
        let is_lower = found.bytes().all(|letter| letter.is_ascii_lowercase());
        is_lower.then_some((name.len(), in_small_letters(*pattern)))
    })
}

const fn in_small_letters(pattern: Pattern) -> Pattern {
    match pattern {
        Pattern::Roman(_) => Pattern::Roman(Letters::Lower),
        Pattern::Ordinal(_) => Pattern::Ordinal(Ordinal::Lower),
        other => other,
    }
}

/// Where S puts the sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Before,
    Behind,
}

/// What a template asks for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Picture {
    /// digits before the point
    pub(super) whole: usize,
    /// digits behind it
    pub(super) fraction: usize,
    /// digits behind V
    pub(super) shift: usize,
    /// S
    pub(super) anchor: Option<Anchor>,
    /// digits before the point that stand before S
    pub(super) whole_before_anchor: usize,
    /// digits before the first 0, if one stands before the point
    pub(super) first_zero: Option<usize>,
    /// digits up to the last 0
    pub(super) zeros_end: usize,
    pub(super) has_point: bool,
    pub(super) is_blank: bool,
    /// FM
    pub(super) is_bare: bool,
    /// PR
    pub(super) is_bracketed: bool,
    /// MI or SG
    pub(super) has_minus: bool,
    /// PL or SG
    pub(super) has_plus: bool,
    /// RN
    pub(super) is_roman: bool,
    /// V
    pub(super) is_shifted: bool,
    /// EEEE
    pub(super) has_exponent: bool,
}

fn syntax(message: &str) -> TemplateError {
    TemplateError::new(b"42601", message)
}

impl Picture {
    pub(super) fn of(template: &str) -> Result<Self, TemplateError> {
        let (mut picture, mut pace) = (Self::default(), TemplatePace::default());
        for node in Nodes::of(template) {
            pace.went()?;
            if let Node::Pattern(pattern) = node {
                picture.add(pattern)?;
            }
        }
        Ok(picture)
    }

    fn add(&mut self, pattern: Pattern) -> Result<(), TemplateError> {
        if self.has_exponent && pattern != Pattern::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        match pattern {
            Pattern::Nine if self.is_bracketed => {
                return Err(syntax("\"9\" must be ahead of \"PR\""));
            }
            Pattern::Nine if self.is_shifted => self.shift += 1,
            Pattern::Nine => self.add_digit(),
            Pattern::Zero if self.is_bracketed => {
                return Err(syntax("\"0\" must be ahead of \"PR\""));
            }
            Pattern::Zero => {
                if !self.has_point {
                    self.first_zero.get_or_insert(self.whole);
                }
                self.add_digit();
                self.zeros_end = self.whole + self.fraction;
            }
            Pattern::Blank => {
                let is_first = self.whole == 0 && self.fraction == 0;
                self.is_blank |= is_first && self.first_zero.is_none();
            }
            Pattern::Point if self.has_point => return Err(syntax("multiple decimal points")),
            Pattern::Point | Pattern::Shift if self.has_point || self.is_shifted_by(pattern) => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            Pattern::Point => self.has_point = true,
            Pattern::Shift => self.is_shifted = true,
            Pattern::Bare => self.is_bare = true,
            Pattern::Roman(_) => self.is_roman = true,
            Pattern::Anchored | Pattern::Minus | Pattern::Plus | Pattern::Sign => {
                self.add_sign(pattern)?;
            }
            Pattern::Brackets if self.anchor.is_some() || self.has_plus || self.has_minus => {
                let message = "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
                return Err(syntax(message));
            }
            Pattern::Brackets => self.is_bracketed = true,
            Pattern::Exponent => self.add_exponent()?,
            Pattern::Group
            | Pattern::Currency
            | Pattern::Spelled
            | Pattern::Nothing
            | Pattern::Ordinal(_) => {}
        }
        Ok(())
    }

    /// Whether a point would come behind a V; several V are one.
    const fn is_shifted_by(&self, pattern: Pattern) -> bool {
        self.is_shifted && matches!(pattern, Pattern::Point)
    }

    const fn add_digit(&mut self) {
        if self.has_point {
            self.fraction += 1;
        } else {
            self.whole += 1;
        }
    }

    fn add_sign(&mut self, pattern: Pattern) -> Result<(), TemplateError> {
        if self.anchor.is_some() {
            return Err(syntax(match pattern {
                Pattern::Minus => "cannot use \"S\" and \"MI\" together",
                Pattern::Plus => "cannot use \"S\" and \"PL\" together",
                Pattern::Sign => "cannot use \"S\" and \"SG\" together",
                _ => "cannot use \"S\" twice",
            }));
        }
        match pattern {
            Pattern::Minus => self.has_minus = true,
            Pattern::Plus => self.has_plus = true,
            Pattern::Sign => (self.has_minus, self.has_plus) = (true, true),
            _ if self.has_plus || self.has_minus || self.is_bracketed => {
                let message = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
                return Err(syntax(message));
            }
            _ if self.has_point => self.anchor = Some(Anchor::Behind),
            _ => {
                self.anchor = Some(Anchor::Before);
                self.whole_before_anchor = self.whole;
            }
        }
        Ok(())
    }

    fn add_exponent(&mut self) -> Result<(), TemplateError> {
        if self.has_exponent {
            return Err(syntax("cannot use \"EEEE\" twice"));
        }
        let has_sign = self.anchor.is_some() || self.has_minus || self.has_plus;
        let is_other = self.is_blank || self.is_bare || self.is_bracketed;
        if has_sign || is_other || self.is_roman || self.is_shifted {
            let detail =
                "\"EEEE\" may only be used together with digit and decimal point patterns.";
            let message = "\"EEEE\" is incompatible with other formats";
            return Err(syntax(message).detail(detail));
        }
        self.has_exponent = true;
        Ok(())
    }
}
