//! Fields of a moment, read from a text by a template.
//!
//! Consider `to_date('2000-JUN-01', 'YYYY Mon DD')`. 1. YYYY takes the digits up to the sign, since
//! no digits can follow it. 2. The blank takes the sign, as any blank or sign takes any other.
//! 3. Mon takes JUN, in whatever letters. Where a text has more blanks before a field than the
//! template, they are left out, and count for the literals of the template that come next.

use super::assemble::Fields;
use super::names::{DAYS, ERAS, HALVES, MONTHS, ROMAN_MONTHS, short};
use super::pattern::{Field, Node, Nodes, Pattern};
use crate::template::{Literal, LiteralKind, TemplateError, TemplatePace, is_separator, is_space};

type Result<T> = std::result::Result<T, TemplateError>;

pub(super) fn fields_of(text: &str, template: &str) -> Result<Fields> {
    let mut reader = Reader { text, at: 0, is_exact: false, skipped: 0 };
    let mut fields = Fields::default();
    let mut nodes = Nodes::of(template);
    let (mut is_first, mut pace) = (true, TemplatePace::default());
    while let Some(node) = nodes.next().filter(|_| !reader.rest().is_empty()) {
        pace.went()?;
        let is_exact = matches!(node, Node::Pattern(Pattern { field: Field::Exact, .. }));
        if !reader.is_exact && !is_exact && (matches!(node, Node::Pattern(_)) || is_first) {
            reader.skip_blanks();
        }
        is_first = false;
        match node {
            Node::Literal(literal) => reader.literal(literal),
            Node::Pattern(pattern) => {
                let is_open = pattern.is_bare || pattern.ordinal.is_some() || nodes.ends_number();
                reader.field(&mut fields, Wanted { pattern, is_open })?;
                if !reader.is_exact {
                    reader.skipped = 0;
                    reader.skip_blanks();
                }
            }
        }
    }
    Ok(fields)
}

/// A field to be read.
#[derive(Clone, Copy)]
struct Wanted<'t> {
    pattern: Pattern<'t>,
    /// a number takes all digits that there are, else as many as it is wide
    is_open: bool,
}

/// A number as it was read.
#[derive(Clone, Copy)]
struct Number {
    value: i32,
    /// bytes it took, blanks and sign among them
    length: usize,
}

/// What of a text has not been read.
struct Reader<'s> {
    text: &'s str,
    at: usize,
    /// FX: blanks are characters like others
    is_exact: bool,
    /// blanks and signs beyond what the template has for them; below 0: it has more
    skipped: i32,
}

impl<'s> Reader<'s> {
    fn rest(&self) -> &'s str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn first(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_character(&mut self) {
        self.at += self.first().map_or(0, char::len_utf8);
    }

    fn skip_blanks(&mut self) {
        while self.first().is_some_and(is_space) {
            self.at += 1;
            self.skipped = self.skipped.saturating_add(1);
        }
    }

    /// Takes what stands in the place of a literal, whatever it is.
    fn literal(&mut self, literal: Literal) {
        if self.is_exact {
            return self.skip_character();
        }
        match literal.kind {
            LiteralKind::Text if self.skipped > 0 => self.skipped -= 1,
            LiteralKind::Text => self.skip_character(),
            LiteralKind::Space | LiteralKind::Separator => {
                if self.first().is_some_and(|first| is_space(first) || is_separator(first)) {
                    self.at += 1;
                } else {
                    self.skipped = self.skipped.saturating_sub(1);
                }
            }
        }
    }

    fn field(&mut self, fields: &mut Fields, wanted: Wanted<'_>) -> Result<()> {
        use Field as F;
        let pattern = wanted.pattern;
        fields.keep_to(pattern.field)?;
        match pattern.field {
            F::Exact => self.is_exact = true,
            F::Half => {
                let half = self.word(HALVES.like(pattern.name), pattern)?;
                set(&mut fields.half, half, pattern)?;
                fields.is_half_day = true;
            }
            F::Era => {
                let era = self.word(ERAS.like(pattern.name), pattern)?;
                set(&mut fields.era, era, pattern)?;
            }
            F::MonthName | F::ShortMonthName => {
                let month = self.name(&MONTHS, pattern, F::ShortMonthName)?;
                set(&mut fields.month, month + 1, pattern)?;
            }
            F::DayName | F::ShortDayName => {
                let day = self.name(&DAYS, pattern, F::ShortDayName)?;
                set(&mut fields.weekday, day, pattern)?;
                fields.weekday += 1;
            }
            F::RomanMonth => {
                let backwards = self.word(&ROMAN_MONTHS, pattern)?;
                set(&mut fields.month, 12 - backwards, pattern)?;
            }
            F::ZoneName | F::Offset => {
                let name = pattern.name;
                let message = format!("formatting field \"{name}\" is only supported in to_char");
                return Err(TemplateError::new(b"0A000", message));
            }
            F::YearWithComma => {
                let year = self.year_with_comma()?;
                set(&mut fields.year, year, pattern)?;
                fields.year_digits = 4;
            }
            _ => self.number_field(fields, wanted)?,
        }
        if pattern.ordinal.is_some() && has_ordinal(pattern.field) {
            self.skip_character();
            self.skip_character();
        }
        Ok(())
    }

    fn number_field(&mut self, fields: &mut Fields, wanted: Wanted<'_>) -> Result<()> {
        use Field as F;
        let name_width = wanted.pattern.name.len();
        match wanted.pattern.field {
            F::Hour12 => {
                self.number_into(&mut fields.hour, 2, wanted)?;
                fields.is_half_day = true;
            }
            F::Hour24 => self.number_into(&mut fields.hour, 2, wanted)?,
            F::Minute => self.number_into(&mut fields.minute, 2, wanted)?,
            F::Second => self.number_into(&mut fields.second, 2, wanted)?,
            F::SecondOfDay => self.number_into(&mut fields.second_of_day, name_width, wanted)?,
            F::Millisecond => self.fraction_into(&mut fields.milliseconds, 3, 3, wanted)?,
            F::Microsecond => self.fraction_into(&mut fields.microseconds, 6, 6, wanted)?,
            F::Fraction(digits) => {
                fields.fraction_digits = digits;
                self.fraction_into(&mut fields.microseconds, digits.into(), 6, wanted)?;
            }
            F::ZoneHour => {
                fields.zone_sign = self.zone_sign();
                self.number_into(&mut fields.zone_hour, 2, wanted)?;
            }
            F::ZoneMinute => {
                if fields.zone_sign == 0 {
                    fields.zone_sign = 1;
                }
                self.number_into(&mut fields.zone_minute, 2, wanted)?;
            }
            F::Month => self.number_into(&mut fields.month, 2, wanted)?,
            F::Day => self.number_into(&mut fields.day, 2, wanted)?,
            F::DayOfYear | F::IsoDayOfYear => {
                self.number_into(&mut fields.day_of_year, 3, wanted)?;
            }
            F::Weekday => self.number_into(&mut fields.weekday, 1, wanted)?,
            F::IsoWeekday => {
                self.number_into(&mut fields.weekday, 1, wanted)?;
                // Sunday is the first day here, and the seventh there.
                fields.weekday = fields.weekday.wrapping_add(1);
                if fields.weekday > 7 {
                    fields.weekday = 1;
                }
            }
            F::Week | F::IsoWeek => self.number_into(&mut fields.week, 2, wanted)?,
            F::WeekOfMonth => self.number_into(&mut fields.week_of_month, 1, wanted)?,
            // Which day of the quarter it is nobody says: it is read and forgotten.
            F::Quarter => _ = self.number(1, wanted)?,
            F::Century => self.number_into(&mut fields.century, 2, wanted)?,
            F::JulianDay => self.number_into(&mut fields.julian_day, 1, wanted)?,
            F::Year(digits) | F::IsoYear(digits) => self.year(fields, digits, wanted)?,
            _ => {}
        }
        Ok(())
    }

    fn number_into(&mut self, field: &mut i32, width: usize, wanted: Wanted<'_>) -> Result<()> {
        let number = self.number(width, wanted)?;
        set(field, number.value, wanted.pattern)
    }

    /// Digits behind the point: 25 are 250 milliseconds.
    fn fraction_into(
        &mut self,
        field: &mut i32,
        width: usize,
        digits: u32,
        wanted: Wanted<'_>,
    ) -> Result<()> {
        let number = self.number(width, wanted)?;
        set(field, number.value, wanted.pattern)?;
        let missing = digits.saturating_sub(u32::try_from(number.length).unwrap_or(digits));
        *field = field.wrapping_mul(10_i32.pow(missing));
        Ok(())
    }

    /// A year, which is one near 2020 if it has fewer than four digits.
    fn year(&mut self, fields: &mut Fields, digits: u8, wanted: Wanted<'_>) -> Result<()> {
        // The width of IYY is 3, as that of YYY: that of the pattern as it is written.
        let number = self.number(wanted.pattern.name.len(), wanted)?;
        set(&mut fields.year, number.value, wanted.pattern)?;
        if digits < 4 && number.length < 4 {
            fields.year += match fields.year {
                ..70 => 2_000,
                70..100 => 1_900,
                100..520 => 2_000,
                520..1_000 => 1_000,
                _ => 0,
            };
        }
        fields.year_digits = digits;
        Ok(())
    }

    /// Y,YYY: two numbers, of which the second has three digits at most.
    fn year_with_comma(&mut self) -> Result<i32> {
        let fits_not = || TemplateError::new(b"22007", "invalid input string for \"Y,YYY\"");
        let (thousands, length) = integer(self.rest()).ok_or_else(fits_not)?;
        let behind = self.rest()[length..].strip_prefix(',').ok_or_else(fits_not)?;
        let blanks = behind.len() - behind.trim_start_matches(is_space).len();
        let width = behind.len().min(blanks + 3);
        let (years, more) = integer(cut(behind, width)).ok_or_else(fits_not)?;
        self.at += length + 1 + more;
        Ok((thousands as i32).wrapping_mul(1_000).wrapping_add(years as i32))
    }

    /// The sign of an offset, which a separator of the template may have taken already.
    fn zone_sign(&mut self) -> i32 {
        match self.first() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.at += 1;
                if sign == '-' { -1 } else { 1 }
            }
            _ if self.skipped > 0 && self.text[..self.at].ends_with('-') => -1,
            _ => 1,
        }
    }

    /// A number of so many digits, or of however many there are.
    fn number(&mut self, width: usize, wanted: Wanted<'_>) -> Result<Number> {
        const WIDEN: &str =
            "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let name = wanted.pattern.name;
        let start = self.at;
        let blanks = self.rest().len() - self.rest().trim_start_matches(is_space).len();
        let rest = &self.rest()[blanks..];
        let shown = cut(rest, width);
        let needs = |found: usize, what: &str| {
            format!("Field requires {width} characters, but only {found} {what}.")
        };
        let invalid = || TemplateError::new(b"22007", invalid_value(shown, name));
        let value = if wanted.is_open {
            let (value, length) = integer(self.rest()).unwrap_or_default();
            self.at += length;
            value
        } else {
            if rest.len() < width {
                let message = format!("source string too short for \"{name}\" formatting field");
                return Err(TemplateError::new(b"22007", message)
                    .detail(needs(rest.len(), "remain"))
                    .hint(WIDEN));
            }
            let (value, length) = integer(shown).unwrap_or_default();
            if length > 0 && length < width {
                return Err(invalid().detail(needs(length, "could be parsed")).hint(WIDEN));
            }
            // Blanks alone are 0, where they are characters like others.
            self.at += blanks + length;
            value
        };
        if self.at == start {
            return Err(invalid().detail("Value must be an integer."));
        }
        let value = i32::try_from(value).map_err(|_| {
            let message = format!("value for \"{name}\" in source string is out of range");
            let range = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            TemplateError::new(b"22008", message).detail(range)
        })?;
        Ok(Number { value, length: self.at - start })
    }

    fn name(&mut self, names: &[&'static str], pattern: Pattern<'_>, shorts: Field) -> Result<i32> {
        if pattern.field == shorts {
            let mut short_names = [""; 12];
            for (to, name) in short_names.iter_mut().zip(names) {
                *to = short(name);
            }
            return self.word(&short_names[..names.len().min(12)], pattern);
        }
        self.word(names, pattern)
    }

    /// One of these words, in whatever letters: its place among them.
    fn word(&mut self, words: &[&str], pattern: Pattern<'_>) -> Result<i32> {
        let rest = self.rest();
        let begins = |word: &&str| {
            rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        let Some(at) = words.iter().position(begins) else {
            let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
            let detail = "The given value did not match any of the allowed values for this field.";
            let message = invalid_value(&rest[..end], pattern.name);
            return Err(TemplateError::new(b"22007", message).detail(detail));
        };
        self.at += words[at].len();
        Ok(at as i32)
    }
}

/// Whether TH stands for two characters behind it, whatever they are.
const fn has_ordinal(field: Field) -> bool {
    use Field as F;
    !matches!(
        field,
        F::Half
            | F::Era
            | F::MonthName
            | F::ShortMonthName
            | F::DayName
            | F::ShortDayName
            | F::RomanMonth
            | F::ZoneHour
            | F::ZoneMinute
            | F::Exact
    )
}

fn invalid_value(value: &str, name: &str) -> String {
    format!("invalid value \"{value}\" for \"{name}\"")
}

/// Sets a field, which may have been set to the same before.
fn set(field: &mut i32, value: i32, pattern: Pattern<'_>) -> Result<()> {
    if *field != 0 && *field != value {
        let name = pattern.name;
        let message = format!("conflicting values for \"{name}\" field in formatting string");
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(TemplateError::new(b"22007", message).detail(detail));
    }
    *field = value;
    Ok(())
}

/// At most so many bytes of a text's beginning.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The integer that a text begins with, behind blanks, and how many bytes it takes. One that is
/// too great is the greatest.
fn integer(text: &str) -> Option<(i64, usize)> {
    let digits = text.trim_start_matches(is_space);
    let (sign, digits) = match digits.as_bytes().first() {
        Some(b'-') => (-1, &digits[1..]),
        Some(b'+') => (1, &digits[1..]),
        _ => (1, digits),
    };
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &digits[..digits.len() - rest.len()];
    if digits.is_empty() {
        return None;
    }
    let push = |value: i64, digit: u8| {
        value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0'))
    };
    Some((digits.bytes().fold(0, push), text.len() - rest.len()))
}
