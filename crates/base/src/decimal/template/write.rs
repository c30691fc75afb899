//! A number's digits written by a template.
//!
//! Consider `to_char(-12.3, '9999.99')`. The digits are `12.30`, and two of the four places before
//! the point are left: they become blanks. The sign is written where the first digit comes, before
//! it. FM leaves blanks out, and zeros at the end that no 0 of the template asks for.

use super::digits::{Digits, Sign};
use super::picture::{Anchor, Letters, Node, Nodes, Pattern, Picture};
use crate::template::{Ordinal, TemplateError, TemplatePace};

const ROMAN_WIDTH: usize = 15;

pub(super) fn text_of(
    digits: &Digits,
    picture: Picture,
    template: &str,
) -> Result<String, TemplateError> {
    if picture.has_exponent {
        return Ok(digits.text.clone());
    }
    let mut writer = Writer::new(digits, picture);
    let mut pace = TemplatePace::default();
    for node in Nodes::of(template) {
        pace.went()?;
        match node {
            Node::Literal(character) => writer.out.push(character),
            Node::Pattern(pattern) => writer.pattern(pattern)?,
        }
        if writer.is_over {
            break;
        }
    }
    Ok(writer.out)
}

struct Writer<'d> {
    digits: &'d Digits,
    picture: Picture,
    out: String,
    /// place in the digits
    at: usize,
    /// place in the template, counted in digits and points
    place: usize,
    /// the place of the last digit
    last_place: usize,
    has_sign: bool,
    /// the last place was a digit: a separator stands between two
    is_in_number: bool,
    /// FM: what of the digits is the last that is shown; the point, if none behind it is
    last_shown: Option<usize>,
    /// there is nothing left to write, as floats have fewer digits than templates: the text ends
    is_over: bool,
}

impl<'d> Writer<'d> {
    fn new(digits: &'d Digits, picture: Picture) -> Self {
        let mut picture = match picture.is_roman {
            true => Picture { is_roman: true, is_bare: picture.is_bare, ..Picture::default() },
            false => picture,
        };
        let is_minus = digits.sign == Sign::Minus;
        let has_own_sign = picture.has_plus || picture.has_minus;
        let has_sign = if has_own_sign {
            // PL alone shows no minus.
            picture.has_minus
        } else {
            if !is_minus && picture.is_bare {
                picture.is_bracketed = false;
            }
            if picture.whole == picture.whole_before_anchor {
                picture.anchor = picture.anchor.map(|_| Anchor::Behind);
            }
            digits.sign == Sign::Plus && picture.is_bare && picture.anchor.is_none()
        };
        let is_full = digits.places_before == 0;
        let places = picture.fraction + picture.whole + usize::from(!has_sign && is_full);
        let last_place = places
            .wrapping_sub(1)
            .wrapping_add(usize::from(!is_full) + usize::from(picture.has_point));
        Self {
            digits,
            picture,
            out: String::new(),
            at: 0,
            place: 0,
            last_place,
            has_sign,
            is_in_number: false,
            last_shown: last_shown(digits, &picture),
            is_over: false,
        }
    }

    fn pattern(&mut self, pattern: Pattern) -> Result<(), TemplateError> {
        let filler = if self.picture.is_bare { "" } else { " " };
        match pattern {
            Pattern::Nine | Pattern::Zero | Pattern::Point => self.digit(pattern),
            Pattern::Group if self.is_in_number => self.out.push(','),
            Pattern::Group => self.out.push_str(filler),
            Pattern::Currency => self.out.push(' '),
            Pattern::Roman(letters) => self.roman(letters),
            Pattern::Ordinal(ordinal) => self.ordinal(ordinal)?,
            Pattern::Minus if self.digits.sign == Sign::Minus => self.out.push('-'),
            Pattern::Plus if self.digits.sign == Sign::Plus => self.out.push('+'),
            Pattern::Minus | Pattern::Plus => self.out.push_str(filler),
            Pattern::Sign => match self.digits.sign {
                Sign::Plus => self.out.push('+'),
                Sign::Minus => self.out.push('-'),
                // A Roman numeral has none.
                Sign::Said => self.is_over = true,
            },
            _ => {}
        }
        Ok(())
    }

    fn is_last_shown_point(&self) -> bool {
        self.last_shown.is_some_and(|at| self.byte(at) == Some(b'.'))
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.digits.text.as_bytes().get(at).copied()
    }

    /// Whether the next digit is a 0 before the point that is not shown: 9.9 has ` .1` for 0.1.
    fn is_hidden_zero(&self) -> bool {
        self.picture.first_zero.is_none()
            && self.at == 0
            && self.byte(0) == Some(b'0')
            && self.picture.fraction != 0
    }

    /// Whether this is a place before the digits.
    fn is_before(&self) -> bool {
        self.place < self.digits.places_before
    }

    fn digit(&mut self, pattern: Pattern) {
        if self.picture.is_roman {
            return;
        }
        self.is_in_number = false;
        let is_zero_before = self.picture.first_zero.is_some_and(|first| first <= self.place);
        let starts = !self.is_before() || self.picture.first_zero == Some(self.place);
        if !self.has_sign && starts && (!self.is_hidden_zero() || self.is_last_shown_point()) {
            self.sign_before();
        }
        if self.is_before() && is_zero_before {
            self.out.push('0');
            self.is_in_number = true;
        } else if self.is_before() {
            self.out.push_str(if self.picture.is_bare { "" } else { " " });
        } else {
            self.own_digit(pattern);
        }
        if self.is_over {
            return;
        }
        let end = match self.last_shown {
            Some(last) if last == self.at => self.place,
            _ => self.last_place,
        };
        if self.place + 1 == end {
            self.sign_behind();
        }
        self.place += 1;
    }

    fn sign_before(&mut self) {
        let (is_minus, is_bare) = (self.digits.sign == Sign::Minus, self.picture.is_bare);
        let sign = match self.picture.anchor {
            Some(Anchor::Before) if is_minus => "-",
            Some(Anchor::Before) => "+",
            // It comes behind the last digit.
            Some(Anchor::Behind) => return,
            None if self.picture.is_bracketed && is_minus => "<",
            None if is_minus => "-",
            // Brackets have a blank where they are not, with FM, too.
            None if is_bare && !self.picture.is_bracketed => "",
            None => " ",
        };
        self.out.push_str(sign);
        self.has_sign = true;
    }

    fn sign_behind(&mut self) {
        let is_minus = self.digits.sign == Sign::Minus;
        if self.has_sign && self.picture.is_bracketed {
            self.out.push(if is_minus { '>' } else { ' ' });
        } else if self.picture.anchor == Some(Anchor::Behind) {
            self.out.push(if is_minus { '-' } else { '+' });
        }
    }

    /// The next of the digits, or the point.
    fn own_digit(&mut self, pattern: Pattern) {
        let is_beyond = self.last_shown.is_some_and(|last| self.at > last);
        match self.byte(self.at) {
            Some(b'.') => {
                if self.picture.is_bare || !self.is_last_shown_point() {
                    self.out.push('.');
                }
            }
            _ if is_beyond && pattern != Pattern::Zero => {}
            Some(_) if self.is_hidden_zero() => {
                if !self.picture.is_bare {
                    self.out.push(' ');
                } else if self.is_last_shown_point() {
                    self.out.push('0');
                }
            }
            Some(digit) => {
                self.out.push(digit.into());
                self.is_in_number = true;
            }
            None => self.is_over = true,
        }
        if self.at < self.digits.text.len() {
            self.at += 1;
        }
    }

    fn roman(&mut self, letters: Letters) {
        let width = if self.picture.is_bare { 0 } else { ROMAN_WIDTH };
        let text = &self.digits.text[self.at..];
        let text = match letters {
            Letters::Upper => text.to_owned(),
            Letters::Lower => text.to_ascii_lowercase(),
        };
        self.out.push_str(&format!("{text:>width$}"));
    }

    /// ST, ND, RD, TH: behind a whole number that is not negative.
    fn ordinal(&mut self, ordinal: Ordinal) -> Result<(), TemplateError> {
        let text = self.digits.text.as_str();
        let is_none = self.picture.is_roman || text.starts_with('#');
        if is_none || self.digits.sign == Sign::Minus || self.picture.has_point {
            return Ok(());
        }
        let mut last = text.bytes().rev();
        let Some(units) = last.next().filter(u8::is_ascii_digit) else {
            let message = format!("\"{text}\" is not a number");
            return Err(TemplateError::new(b"22P02", message));
        };
        let tens = last.next().filter(u8::is_ascii_digit).unwrap_or(b'0');
        let last_two = u64::from(tens - b'0') * 10 + u64::from(units - b'0');
        self.out.push_str(ordinal.ending(last_two));
        Ok(())
    }
}

/// FM shows no zeros at the end, but where the template has a 0.
fn last_shown(digits: &Digits, picture: &Picture) -> Option<usize> {
    if !picture.is_bare || !picture.has_point {
        return None;
    }
    let text = digits.text.as_bytes();
    let point = text.iter().position(|byte| *byte == b'.')?;
    let last = text.iter().rposition(|byte| *byte != b'0').map_or(point, |last| last.max(point));
    let wanted = picture.zeros_end.checked_sub(digits.places_before).filter(|wanted| *wanted > 0);
    let wanted = wanted.map_or(0, |wanted| wanted.min(text.len() - 1));
    Some(last.max(wanted))
}
