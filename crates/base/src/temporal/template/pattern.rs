//! Patterns of times, and how a template is taken apart into them.

use crate::template::{Literal, Ordinal, TemplateReader};

/// What a pattern stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// AM, PM, a.m. ...
    Half,
    /// AD, BC, b.c. ...
    Era,
    Century,
    DayName,
    ShortDayName,
    DayOfYear,
    Day,
    /// Sunday is 1
    Weekday,
    /// so many digits of the fraction of a second
    Fraction(u8),
    /// MS
    Millisecond,
    /// US
    Microsecond,
    /// FX: what follows is read without leaving blanks out
    Exact,
    Hour24,
    Hour12,
    IsoDayOfYear,
    /// Monday is 1
    IsoWeekday,
    IsoWeek,
    /// so many digits of the year
    IsoYear(u8),
    JulianDay,
    Minute,
    Month,
    MonthName,
    ShortMonthName,
    /// OF
    Offset,
    Quarter,
    RomanMonth,
    Second,
    SecondOfDay,
    ZoneHour,
    ZoneMinute,
    ZoneName,
    /// the first seven days of the year are week 1
    Week,
    WeekOfMonth,
    /// Y,YYY
    YearWithComma,
    /// so many digits of the year
    Year(u8),
}

/// How a date is told. A text has to keep to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Convention {
    Gregorian,
    IsoWeek,
}

/// In which letters a pattern is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Letters {
    /// capitals or small ones
    Either,
    /// these, or a capital and small ones
    Name,
}

/// All patterns, in capitals; of those that begin alike the longer one stands first.
const PATTERNS: &[(&str, Field, Letters)] = {
    use Field as F;
    use Letters::{Either, Name};
    &[
        ("A.D.", F::Era, Either),
        ("A.M.", F::Half, Either),
        ("AD", F::Era, Either),
        ("AM", F::Half, Either),
        ("B.C.", F::Era, Either),
        ("BC", F::Era, Either),
        ("CC", F::Century, Either),
        ("DAY", F::DayName, Name),
        ("DDD", F::DayOfYear, Either),
        ("DD", F::Day, Either),
        ("DY", F::ShortDayName, Name),
        ("D", F::Weekday, Either),
        ("FF1", F::Fraction(1), Either),
        ("FF2", F::Fraction(2), Either),
        ("FF3", F::Fraction(3), Either),
        ("FF4", F::Fraction(4), Either),
        ("FF5", F::Fraction(5), Either),
        ("FF6", F::Fraction(6), Either),
        ("FX", F::Exact, Either),
        ("HH24", F::Hour24, Either),
        ("HH12", F::Hour12, Either),
        ("HH", F::Hour12, Either),
        ("IDDD", F::IsoDayOfYear, Either),
        ("ID", F::IsoWeekday, Either),
        ("IW", F::IsoWeek, Either),
        ("IYYY", F::IsoYear(4), Either),
        ("IYY", F::IsoYear(3), Either),
        ("IY", F::IsoYear(2), Either),
        ("I", F::IsoYear(1), Either),
        ("J", F::JulianDay, Either),
        ("MI", F::Minute, Either),
        ("MM", F::Month, Either),
        ("MONTH", F::MonthName, Name),
        ("MON", F::ShortMonthName, Name),
        ("MS", F::Millisecond, Either),
        ("OF", F::Offset, Either),
        ("P.M.", F::Half, Either),
        ("PM", F::Half, Either),
        ("Q", F::Quarter, Either),
        ("RM", F::RomanMonth, Either),
        ("SSSSS", F::SecondOfDay, Either),
        ("SSSS", F::SecondOfDay, Either),
        ("SS", F::Second, Either),
        ("TZH", F::ZoneHour, Either),
        ("TZM", F::ZoneMinute, Either),
        ("TZ", F::ZoneName, Either),
        ("US", F::Microsecond, Either),
        ("WW", F::Week, Either),
        ("W", F::WeekOfMonth, Either),
        ("Y,YYY", F::YearWithComma, Either),
        ("YYYY", F::Year(4), Either),
        ("YYY", F::Year(3), Either),
        ("YY", F::Year(2), Either),
        ("Y", F::Year(1), Either),
    ]
};

impl Field {
    /// The way to tell a date that it belongs to.
    pub(super) const fn convention(self) -> Option<Convention> {
        use Field as F;
        match self {
            F::DayOfYear | F::Day | F::Weekday | F::Month | F::MonthName | F::ShortMonthName => {
                Some(Convention::Gregorian)
            }
            F::RomanMonth | F::Week | F::WeekOfMonth | F::YearWithComma | F::Year(_) => {
                Some(Convention::Gregorian)
            }
            F::IsoDayOfYear | F::IsoWeekday | F::IsoWeek | F::IsoYear(_) => {
                Some(Convention::IsoWeek)
            }
            _ => None,
        }
    }

    /// Whether a number before it has to end by its own width: it begins with a digit, too.
    const fn is_digits(self) -> bool {
        use Field as F;
        !matches!(
            self,
            F::Half
                | F::Era
                | F::DayName
                | F::ShortDayName
                | F::Exact
                | F::MonthName
                | F::ShortMonthName
                | F::Offset
                | F::RomanMonth
                | F::ZoneHour
                | F::ZoneName
        )
    }
}

/// A pattern with what modifies it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pattern<'t> {
    pub(super) field: Field,
    /// as the template has it
    pub(super) name: &'t str,
    /// FM: neither blanks nor zeros fill it up
    pub(super) is_bare: bool,
    /// TM: a name in the language of the place, which is English
    pub(super) is_translated: bool,
    pub(super) ordinal: Option<Ordinal>,
}

/// A part of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Node<'t> {
    Pattern(Pattern<'t>),
    Literal(Literal),
}

/// The parts of a template, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Nodes<'t> {
    reader: TemplateReader<'t>,
}

impl<'t> Nodes<'t> {
    pub(super) const fn of(template: &'t str) -> Self {
        Self { reader: TemplateReader::new(template) }
    }

    /// Whether a number in the last part's place ends where its digits end, rather than where its
    /// width does: no other digits can follow.
    pub(super) fn ends_number(&self) -> bool {
        match self.clone().next() {
            Some(Node::Pattern(pattern)) => !pattern.field.is_digits(),
            Some(Node::Literal(literal)) => !literal.character.is_ascii_digit(),
            None => true,
        }
    }

    /// The pattern here, with its modifiers. A modifier without a pattern is left out.
    fn pattern(&mut self, start: &'t str) -> Option<Pattern<'t>> {
        let is_bare = start.starts_with("FM") || start.starts_with("fm");
        let is_translated = start.starts_with("TM") || start.starts_with("tm");
        if is_bare || is_translated {
            self.reader.skip(2);
        }
        let (name, field) = pattern_at(self.reader.patterns()?)?;
        self.reader.skip(name.len());
        let behind = self.reader.patterns().unwrap_or_default();
        let ordinal = match behind.get(..2) {
            Some("TH") => Some(Ordinal::Upper),
            Some("th") => Some(Ordinal::Lower),
            _ => None,
        };
        // SP would spell the number out: PostgreSQL knows it, and does nothing.
        if ordinal.is_some() || behind.starts_with("SP") {
            self.reader.skip(2);
        }
        Some(Pattern { field, name, is_bare, is_translated, ordinal })
    }
}

impl<'t> Iterator for Nodes<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        while !self.reader.is_empty() {
            if let Some(start) = self.reader.patterns()
                && let Some(pattern) = self.pattern(start)
            {
                return Some(Node::Pattern(pattern));
            }
            if let Some(literal) = self.reader.literal() {
                return Some(Node::Literal(literal));
            }
        }
        None
    }
}

/// The pattern that a text begins with.
fn pattern_at(text: &str) -> Option<(&str, Field)> {
    // Most characters begin none.
    let first = text.bytes().next().filter(u8::is_ascii_alphabetic)?.to_ascii_uppercase();
    PATTERNS
        .iter()
        .filter(|(name, ..)| name.as_bytes()[0] == first)
        .filter_map(|(name, field, letters)| Some((text.get(..name.len())?, name, field, letters)))
        .find(|(found, name, _, letters)| is_written_as(found, name, letters))
        .map(|(found, _, field, _)| (found, *field))
}

fn is_written_as(found: &str, name: &str, letters: &Letters) -> bool {
    if !found.eq_ignore_ascii_case(name) {
        return false;
    }
    let is_all = |of: &str, is: fn(&u8) -> bool| {
        of.bytes().filter(u8::is_ascii_alphabetic).all(|letter| is(&letter))
    };
    let is_upper = is_all(found, u8::is_ascii_uppercase);
    let is_lower = is_all(found, u8::is_ascii_lowercase);
    let is_name = found.starts_with(|first: char| first.is_ascii_uppercase())
        && found.get(1..).is_some_and(|rest| is_all(rest, u8::is_ascii_lowercase));
    match letters {
        Letters::Either => is_upper || is_lower,
        Letters::Name => is_upper || is_lower || is_name,
    }
}
