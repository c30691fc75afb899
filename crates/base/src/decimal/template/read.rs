//! A number read from a text by a template.
//!
//! Digits of the text go where the template has digits, one by one. What else the template has, the
//! text may have or not: a character that stands for itself takes one of the text, whatever it is;
//! a separator, a sign or an ordinal's end only what looks like one.

use super::super::{Decimal, DecimalError};
use super::picture::{Anchor, Node, Nodes, Pattern, Picture};
use crate::template::{TemplateError, TemplatePace};

pub(super) fn number_of(
    text: &str,
    picture: &Picture,
    template: &str,
) -> Result<Decimal, TemplateError> {
    for (is_there, name) in [(picture.has_exponent, "EEEE"), (picture.is_roman, "RN")] {
        if is_there {
            let message = format!("\"{name}\" not supported for input");
            return Err(TemplateError::new(b"0A000", message));
        }
    }
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        picture,
        sign: ' ',
        number: String::new(),
        has_point: false,
        whole: 0,
        fraction: 0,
    };
    let mut pace = TemplatePace::default();
    for node in Nodes::of(template) {
        pace.went()?;
        if reader.is_over() {
            break;
        }
        match node {
            Node::Literal(_) => reader.skip_character(),
            Node::Pattern(pattern) => reader.pattern(pattern),
        }
    }
    reader.number()
}

struct Reader<'s, 'p> {
    text: &'s [u8],
    /// where in the text; it may be beyond its end, or within a character
    at: usize,
    picture: &'p Picture,
    /// a blank: none has been read
    sign: char,
    /// digits and a point
    number: String,
    has_point: bool,
    /// digits before the point
    whole: usize,
    /// digits behind it
    fraction: usize,
}

impl Reader<'_, '_> {
    const fn is_over(&self) -> bool {
        self.at >= self.text.len()
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn here(&self) -> u8 {
        self.byte(self.at)
    }

    const fn has_digits(&self) -> bool {
        self.whole + self.fraction > 0
    }

    fn skip_character(&mut self) {
        self.at += match self.here() {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
    }

    /// Leaves out so many characters, but no digits, points or signs.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            if self.is_over() || b"0123456789.,+-".contains(&self.here()) {
                return;
            }
            self.skip_character();
        }
    }

    fn pattern(&mut self, pattern: Pattern) {
        match pattern {
            Pattern::Nine | Pattern::Zero | Pattern::Point => {
                self.digit(pattern);
                self.at += 1;
            }
            Pattern::Group if !self.picture.is_bare && self.here() == b',' => self.at += 1,
            Pattern::Currency => self.skip_others(1),
            Pattern::Ordinal(_) if !self.picture.has_point => self.skip_others(2),
            Pattern::Minus => self.own_sign(b"-"),
            Pattern::Plus => self.own_sign(b"+"),
            Pattern::Sign => self.own_sign(b"-+"),
            _ => {}
        }
    }

    fn own_sign(&mut self, signs: &[u8]) {
        let sign = self.here();
        if signs.contains(&sign) {
            self.sign = sign.into();
            self.at += 1;
        } else {
            self.skip_others(1);
        }
    }

    /// Reads a digit or a point, and a sign before the first and behind the last. It ends at the
    /// last byte that it has taken.
    fn digit(&mut self, pattern: Pattern) {
        if self.is_over() {
            return;
        }
        if self.here() == b' ' {
            self.at += 1;
        }
        if self.is_over() {
            return;
        }
        if self.sign == ' ' && pattern != Pattern::Point && !self.has_digits() {
            self.sign_before();
        }
        if self.is_over() {
            return;
        }
        let mut is_read = false;
        if self.here().is_ascii_digit() {
            if self.has_point && self.fraction == self.picture.fraction {
                return;
            }
            self.number.push(self.here().into());
            if self.has_point {
                self.fraction += 1;
            } else {
                self.whole += 1;
            }
            is_read = true;
        } else if self.picture.has_point && !self.has_point && self.here() == b'.' {
            self.number.push('.');
            self.has_point = true;
            is_read = true;
        }
        if self.sign == ' ' && self.has_digits() {
            self.sign_behind(is_read);
        }
    }

    fn sign_before(&mut self) {
        let sign = match (self.picture.anchor, self.here()) {
            (Some(Anchor::Behind) | None, b'<') if self.picture.is_bracketed => '-',
            (_, sign @ (b'-' | b'+')) => sign.into(),
            _ => return,
        };
        self.sign = sign;
        self.at += 1;
    }

    /// Where the sign stands is known only by what is there: FM9.99MI takes `5.01-`.
    fn sign_behind(&mut self, is_read: bool) {
        let next = self.byte(self.at + 1);
        let has_next = self.at + 1 < self.text.len();
        if self.picture.anchor.is_some() && is_read && has_next && !next.is_ascii_digit() {
            if let b'-' | b'+' = next {
                self.sign = next.into();
                self.at += 1;
            }
        } else if !is_read
            && self.picture.anchor.is_none()
            && (self.picture.has_plus || self.picture.has_minus)
            && let sign @ (b'-' | b'+') = self.here()
        {
            self.sign = sign.into();
        }
    }

    fn number(self) -> Result<Decimal, TemplateError> {
        let digits = self.number.strip_suffix('.').unwrap_or(&self.number);
        let text = format!("{}{digits}", self.sign);
        let out_of_range = || TemplateError::new(b"22003", "numeric field overflow");
        let number: Decimal = text.parse().map_err(|error| match error {
            DecimalError::Syntax => {
                let message = format!("invalid input syntax for type numeric: \"{text}\"");
                TemplateError::new(b"22P02", message)
            }
            DecimalError::OutOfRange => out_of_range(),
        })?;
        let room = self.picture.whole + self.picture.shift;
        let whole = digits.split('.').next().unwrap_or_default().trim_start_matches('0');
        if whole.len() > room {
            let (precision, scale) = (room + self.fraction, self.fraction);
            let limit = if room == 0 { "1".to_owned() } else { format!("10^{room}") };
            return Err(out_of_range().detail(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute \
                 value less than {limit}."
            )));
        }
        let shift = u8::try_from(self.picture.shift).map_err(|_| out_of_range())?;
        let scale = number.scale().checked_add(shift).ok_or_else(out_of_range)?;
        Decimal::new(number.units(), scale).ok_or_else(out_of_range)
    }
}
