//! What the fields of a text are: year, month, day, time and zone.
//!
//! Role         takes fields in their order; what a number is depends on those before it, and in a
//!              date that is written in numbers alone, on the session's DateStyle
//! Invariants   I1 nothing is said twice: a field that says what another has said is an error
//! Source       PostgreSQL 15, whose input decides every case (datetime.c, manual B.1). We differ:
//!              what depends on a clock is an error of its own

use super::calendar::days_in_month;
use super::parse::TemporalError;
use super::text_fields::{Kind, TextFields};
use super::words::{Label, Word, plain_word, word};
use super::{
    Civil, MICROS_PER_DAY, MICROS_PER_SECOND, TimeZone, civil_from_days, days_from_civil, zone,
};
use crate::conventions::DateOrder;

type Result<T> = std::result::Result<T, TemporalError>;

/// What has been said, as bits.
mod said {
    pub(super) const YEAR: u32 = 1;
    pub(super) const MONTH: u32 = 1 << 1;
    pub(super) const DAY: u32 = 1 << 2;
    pub(super) const DATE: u32 = YEAR | MONTH | DAY;
    pub(super) const DAY_OF_YEAR: u32 = 1 << 3;
    pub(super) const HOUR: u32 = 1 << 4;
    pub(super) const MINUTE: u32 = 1 << 5;
    pub(super) const SECOND: u32 = 1 << 6;
    pub(super) const FRACTION: u32 = 1 << 7;
    pub(super) const TIME: u32 = HOUR | MINUTE | SECOND | FRACTION;
    pub(super) const ZONE: u32 = 1 << 8;
    /// a zone's abbreviation that is a summer time, and `dst`
    pub(super) const SUMMER_ZONE: u32 = 1 << 9;
    pub(super) const SUMMER: u32 = 1 << 10;
    pub(super) const WEEKDAY: u32 = 1 << 12;
    pub(super) const ERA: u32 = 1 << 13;
    pub(super) const HALF: u32 = 1 << 14;
    pub(super) const SPECIAL: u32 = 1 << 15;
}

/// What is wanted of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// a date, maybe with a time
    Moment,
    /// a time, maybe with a date
    TimeOfDay,
}

/// A value that is said by a word alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Special {
    Epoch,
    Infinity,
    MinusInfinity,
}

/// What the fields said.
#[derive(Default, Debug)]
pub(super) struct Moment {
    pub(super) special: Option<Special>,
    year: i32,
    month: i32,
    day: i32,
    day_of_year: i32,
    hour: i32,
    minute: i32,
    second: i32,
    micros: i64,
    /// seconds east of Greenwich
    pub(super) offset: i32,
    /// a zone whose offset depends on the date
    pub(super) region: Option<TimeZone>,
    said: u32,
    /// of the fields of a date in numbers
    order: DateOrder,
    /// the year has one or two digits
    is_short_year: bool,
    is_before_christ: bool,
    is_julian: bool,
    has_month_name: bool,
    is_afternoon: Option<bool>,
    label: Option<Label>,
}

/// A C-like look at a number: its value, and what is behind it.
fn leading(text: &str) -> (Option<i32>, &str) {
    let signed = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = signed.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (Some(0), text);
    }
    let end = text.len() - signed.len() + digits;
    (text[..end].parse().ok(), &text[end..])
}

/// A number that fits, and what is behind it.
fn number(text: &str) -> Result<(i32, &str)> {
    let (number, rest) = leading(text);
    number.map(|number| (number, rest)).ok_or(TemporalError::FieldRange)
}

/// Digits as a number that wraps, as C's.
fn wrapped(digits: &str) -> i32 {
    digits.parse::<i64>().unwrap_or(i64::MAX) as i32
}

/// `.digits` as microseconds, rounded; a point alone is none.
fn fraction(text: &str) -> Result<i64> {
    match text.bytes().skip(1).all(|byte| byte.is_ascii_digit()) {
        true => loose_fraction(text),
        false => Err(TemporalError::Syntax),
    }
}

/// The same of a text that may go on.
fn loose_fraction(text: &str) -> Result<i64> {
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let fraction: f64 = format!("0{}", &text[..=digits]).parse().unwrap_or_default();
    Ok((fraction * MICROS_PER_SECOND as f64).round_ties_even() as i64)
}

/// `+HH[:MM[:SS]]`, `+HHMM`: seconds east of Greenwich.
pub(super) fn zone_displacement(text: &str) -> Result<i32> {
    if !text.starts_with(['+', '-']) {
        return Err(TemporalError::Syntax);
    }
    let checked = |text| {
        let (number, rest) = leading(text);
        number.map(|number| (number, rest)).ok_or(TemporalError::ZoneRange)
    };
    let (mut hour, mut rest) = checked(&text[1..])?;
    let (mut minute, mut second) = (0, 0);
    if let Some(minutes) = rest.strip_prefix(':') {
        (minute, rest) = checked(minutes)?;
        if let Some(seconds) = rest.strip_prefix(':') {
            (second, rest) = checked(seconds)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    let is_in_range =
        (0..=15).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    if !is_in_range {
        return Err(TemporalError::ZoneRange);
    }
    if !rest.is_empty() {
        return Err(TemporalError::Syntax);
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Ok(if text.starts_with('-') { -seconds } else { seconds })
}

impl Moment {
    /// Reads a text.
    pub(super) fn read(text: &str, wanted: Wanted, order: DateOrder) -> Result<Self> {
        let fields = TextFields::read(text)?;
        let mut moment = Self { order, ..Self::default() };
        for at in 0..fields.len() {
            let says = moment.field(&fields, at, wanted)?;
            moment.say(says)?;
        }
        moment.finish(wanted)?;
        Ok(moment)
    }

    fn say(&mut self, says: u32) -> Result<()> {
        if self.said & says != 0 {
            return Err(TemporalError::Syntax); // I1
        }
        self.said |= says;
        Ok(())
    }

    fn has(&self, all: u32) -> bool {
        self.said & all == all
    }

    fn field(&mut self, fields: &TextFields, at: usize, wanted: Wanted) -> Result<u32> {
        let (kind, text) = fields.get(at);
        match (kind, wanted) {
            (Kind::Date, Wanted::Moment) => self.date_or_zone(text),
            (Kind::Date, Wanted::TimeOfDay) => self.beside_time(fields, at),
            (Kind::Time, _) => {
                self.label_before_time(wanted)?;
                self.time(text)?;
                if wanted == Wanted::Moment && self.is_time_beyond_day() {
                    return Err(TemporalError::FieldRange);
                }
                Ok(said::TIME)
            }
            (Kind::Zone, _) => {
                self.offset = zone_displacement(text)?;
                Ok(said::ZONE)
            }
            (Kind::Number, _) => match self.label.take() {
                Some(label) => self.labelled(label, text),
                None if wanted == Wanted::Moment => self.number_of_moment(text),
                None => self.number_of_time(fields, at),
            },
            (Kind::Word, _) => {
                let next = fields.kind(at + 1);
                self.word(text, next, wanted)
            }
        }
    }

    /// A date, or what stands behind one: a zone's name, or a time in one piece with its zone.
    fn date_or_zone(&mut self, text: &str) -> Result<u32> {
        if self.label == Some(Label::Julian) {
            self.label = None;
            let (day, zone) = number(text)?;
            self.julian(day);
            self.offset = zone_displacement(zone)?;
            return Ok(said::DATE | said::TIME | said::ZONE);
        }
        if self.label.is_none() && !self.has(said::MONTH | said::DAY) {
            return self.date(text).map(|()| 0);
        }
        if self.label.is_none() && !text.starts_with(|first: char| first.is_ascii_digit()) {
            return self.zone_name(text);
        }
        match self.label.take() {
            None | Some(Label::Time) => self.time_with_zone(text, self.said),
            Some(_) => Err(TemporalError::Syntax),
        }
    }

    /// `010203-08`, of which `said` is known.
    fn time_with_zone(&mut self, text: &str, said: u32) -> Result<u32> {
        let sign = text.find('-').filter(|_| !self.has(said::TIME));
        let sign = sign.ok_or(TemporalError::Syntax)?;
        self.offset = zone_displacement(&text[sign..])?;
        Ok(self.run_together(&text[..sign], said)? | said::ZONE)
    }

    /// A date of a time: the first field, where others show that it is not the time itself.
    fn beside_time(&mut self, fields: &TextFields, at: usize) -> Result<u32> {
        let (_, text) = fields.get(at);
        let last = fields.kind(fields.len() - 1);
        let is_date = at == 0
            && fields.len() >= 2
            && (last == Some(Kind::Date) || fields.kind(1) == Some(Kind::Time));
        if is_date {
            return self.date(text).map(|()| 0);
        }
        match text.starts_with(|first: char| first.is_ascii_digit()) {
            true => self.time_with_zone(text, self.said | said::DATE),
            false => self.zone_name(text),
        }
    }

    fn zone_name(&mut self, text: &str) -> Result<u32> {
        self.known_zone(text).ok_or_else(|| TemporalError::UnknownZone(text.to_owned()))
    }

    /// A zone with a name; none: it is another word.
    fn known_zone(&mut self, text: &str) -> Option<u32> {
        match zone::named(text) {
            Some(offset) => self.offset = offset,
            None => {
                let small = text.to_ascii_lowercase();
                let known = TimeZone::abbreviated(&small);
                self.region = Some(known.or_else(|| TimeZone::region_named(&small))?);
            }
        }
        Some(said::ZONE)
    }

    fn label_before_time(&mut self, wanted: Wanted) -> Result<()> {
        match self.label {
            Some(Label::Time) => self.label = None,
            Some(_) if wanted == Wanted::Moment => return Err(TemporalError::Syntax),
            _ => {}
        }
        Ok(())
    }

    /// `HH:MM[:SS[.fraction]]`, or `MM:SS.fraction`.
    fn time(&mut self, text: &str) -> Result<()> {
        let (hour, rest) = number(text)?;
        let rest = rest.strip_prefix(':').ok_or(TemporalError::Syntax)?;
        let (minute, rest) = number(rest)?;
        (self.hour, self.minute, self.second, self.micros) = (hour, minute, 0, 0);
        if rest.starts_with('.') {
            self.micros = fraction(rest)?;
            (self.hour, self.minute, self.second) = (0, hour, minute);
        } else if let Some(seconds) = rest.strip_prefix(':') {
            let (second, rest) = number(seconds)?;
            self.second = second;
            if !rest.is_empty() {
                let digits = Some(rest).filter(|rest| rest.starts_with('.'));
                self.micros = fraction(digits.ok_or(TemporalError::Syntax)?)?;
            }
        } else if !rest.is_empty() {
            return Err(TemporalError::Syntax);
        }
        let is_in_range = self.hour >= 0
            && (0..60).contains(&self.minute)
            && (0..=60).contains(&self.second)
            && (0..=MICROS_PER_SECOND).contains(&self.micros);
        if is_in_range { Ok(()) } else { Err(TemporalError::FieldRange) }
    }

    /// More than 24:00:00, or a part of it that is no part of a time.
    fn is_time_beyond_day(&self) -> bool {
        !(0..=24).contains(&self.hour)
            || !(0..60).contains(&self.minute)
            || !(0..=60).contains(&self.second)
            || self.micros_of_day() > MICROS_PER_DAY
    }

    fn micros_of_day(&self) -> i64 {
        let [hour, minute, second] = [self.hour, self.minute, self.second].map(i64::from);
        ((hour * 60 + minute) * 60 + second) * MICROS_PER_SECOND + self.micros
    }

    fn julian(&mut self, day: i32) {
        /// the Julian day of 2000-01-01
        const EPOCH: i64 = 2_451_545;
        let date = civil_from_days(i64::from(day) - EPOCH);
        (self.year, self.month, self.day) = (date.year, date.month.into(), date.day.into());
        self.is_julian = true;
    }

    /// A number that a word before it has given a meaning.
    fn labelled(&mut self, label: Label, text: &str) -> Result<u32> {
        let (value, rest) = number(text)?;
        let may_have_fraction = matches!(label, Label::Julian | Label::Time | Label::Second);
        if !(rest.is_empty() || may_have_fraction && rest.starts_with('.')) {
            return Err(TemporalError::Syntax);
        }
        // A label says that this is no special value.
        self.special = None;
        let (place, says) = match label {
            Label::Year => (&mut self.year, said::YEAR),
            Label::Month if self.has(said::MONTH | said::HOUR) => (&mut self.minute, said::MINUTE),
            Label::Month => (&mut self.month, said::MONTH),
            Label::Day => (&mut self.day, said::DAY),
            Label::Hour => (&mut self.hour, said::HOUR),
            Label::Minute => (&mut self.minute, said::MINUTE),
            Label::Second => {
                self.second = value;
                if rest.is_empty() {
                    return Ok(said::SECOND);
                }
                self.micros = fraction(rest)?;
                return Ok(said::SECOND | said::FRACTION);
            }
            Label::Julian => {
                self.julian(value);
                if rest.is_empty() {
                    return Ok(said::DATE);
                }
                self.part_of_day(rest)?;
                return Ok(said::DATE | said::TIME);
            }
            Label::Time => {
                let says = self.run_together(text, self.said | said::DATE)?;
                return if says == said::TIME { Ok(says) } else { Err(TemporalError::Syntax) };
            }
            Label::Other => return Err(TemporalError::Syntax),
        };
        *place = value;
        Ok(says)
    }

    /// `.digits` of a day as a time.
    fn part_of_day(&mut self, text: &str) -> Result<()> {
        let part: f64 = format!("0{text}").parse().map_err(|_| TemporalError::Syntax)?;
        let micros = (part * MICROS_PER_DAY as f64) as i64;
        let seconds = (micros / MICROS_PER_SECOND) as i32;
        (self.hour, self.minute, self.second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        self.micros = micros % MICROS_PER_SECOND;
        Ok(())
    }

    fn number_of_moment(&mut self, text: &str) -> Result<u32> {
        let point = text.find('.');
        let is_date_open = self.said & said::DATE == 0;
        match point {
            Some(_) if is_date_open => self.date(text).map(|()| 0),
            Some(point) if point > 2 => self.run_together(text, self.said),
            // With a date and a time, six digits are a year.
            _ if text.len() >= 6 && (is_date_open || self.said & said::TIME == 0) => {
                self.run_together(text, self.said)
            }
            _ => self.single(text, self.said),
        }
    }

    fn number_of_time(&mut self, fields: &TextFields, at: usize) -> Result<u32> {
        let (_, text) = fields.get(at);
        match text.find('.') {
            Some(_)
                if at == 0
                    && fields.len() >= 2
                    && fields.kind(fields.len() - 1) == Some(Kind::Date) =>
            {
                self.date(text).map(|()| 0)
            }
            Some(point) if point > 2 => self.run_together(text, self.said | said::DATE),
            Some(_) => Err(TemporalError::Syntax),
            None if text.len() > 4 => self.run_together(text, self.said | said::DATE),
            None => self.single(text, self.said | said::DATE),
        }
    }

    /// A date in one field: its parts stand between signs, and one may be a month's name.
    fn date(&mut self, text: &str) -> Result<()> {
        let mut parts = [""; 25];
        let mut count = 0;
        let mut rest = text;
        while !rest.is_empty() && count < parts.len() {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let first = rest.chars().next().ok_or(TemporalError::Syntax)?;
            let is_like =
                |c: char| c.is_ascii_alphanumeric() && c.is_ascii_digit() == first.is_ascii_digit();
            let end = rest.find(|c| !is_like(c)).unwrap_or(rest.len());
            parts[count] = &rest[..end];
            count += 1;
            // What ends a part is dropped, be it a letter.
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        let parts = &parts[..count];
        let is_name = |part: &&&str| part.starts_with(|first: char| first.is_ascii_alphabetic());
        let mut has_month_name = false;
        for name in parts.iter().filter(is_name) {
            match plain_word(name) {
                Some(Word::Filler) => {}
                Some(Word::Month(month)) => {
                    self.month = month;
                    has_month_name = true;
                    self.say(said::MONTH)?;
                }
                _ => return Err(TemporalError::Syntax),
            }
        }
        let own = std::mem::replace(&mut self.has_month_name, has_month_name);
        // `at` and `on` are names that stay, and no numbers.
        let is_number = |part: &&&str| !matches!(plain_word(part), Some(Word::Month(_)));
        for part in parts.iter().filter(is_number) {
            let says = self.single(part, self.said)?;
            self.say(says)?;
        }
        self.has_month_name = own;
        let date = self.said & !(said::DAY_OF_YEAR | said::ZONE);
        if date == said::DATE { Ok(()) } else { Err(TemporalError::Syntax) }
    }

    /// A number alone: the next part of the date, by what of it is known; behind that, a time.
    fn single(&mut self, text: &str, said: u32) -> Result<u32> {
        let (value, rest) = number(text)?;
        let digits = text.len() - rest.len();
        if digits == 0 {
            return Err(TemporalError::Syntax);
        }
        if rest.starts_with('.') {
            if digits > 2 {
                return self.run_together(text, said | said::DATE);
            }
            self.micros = fraction(rest)?;
        } else if !rest.is_empty() {
            return Err(TemporalError::Syntax);
        }
        let is_long = text.len() >= 3;
        let is_year_first = is_long || self.order == DateOrder::Ymd;
        let known = said & said::DATE;
        if text.len() == 3 && known == said::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(said::DAY_OF_YEAR | said::MONTH | said::DAY);
        }
        let says = match known {
            0 if is_year_first => said::YEAR,
            0 if self.order == DateOrder::Dmy => said::DAY,
            0 | said::YEAR | said::DAY => said::MONTH,
            said::MONTH if self.has_month_name && is_year_first => said::YEAR,
            said::MONTH => said::DAY,
            YEAR_AND_MONTH => {
                if self.has_month_name && is_long && self.is_short_year {
                    // The first number was the day.
                    (self.day, self.year, self.is_short_year) = (self.year, value, false);
                    return Ok(said::DAY);
                }
                said::DAY
            }
            MONTH_AND_DAY => said::YEAR,
            said::DATE => return self.run_together(text, said),
            _ => return Err(TemporalError::Syntax),
        };
        match says {
            said::YEAR => (self.year, self.is_short_year) = (value, !is_long),
            said::MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(says)
    }

    /// `YYYYMMDD`, `YYMMDD`, and behind a date `HHMMSS[.fraction]`, `HHMM[.fraction]`.
    fn run_together(&mut self, text: &str, said: u32) -> Result<u32> {
        let point = text.find('.');
        let digits = &text[..point.unwrap_or(text.len())];
        let pair = |at: usize| wrapped(digits.get(at..at + 2).unwrap_or_default());
        if let Some(point) = point {
            self.micros = loose_fraction(&text[point..])?;
        } else if said & said::DATE != said::DATE && digits.len() >= 6 {
            let year = digits.len() - 4;
            (self.month, self.day) = (pair(year), pair(year + 2));
            self.year = wrapped(&digits[..year]);
            self.is_short_year |= year == 2;
            return Ok(said::DATE);
        }
        if said & said::TIME == said::TIME {
            return Err(TemporalError::Syntax);
        }
        match digits.len() {
            6 => (self.hour, self.minute, self.second) = (pair(0), pair(2), pair(4)),
            4 => (self.hour, self.minute, self.second) = (pair(0), pair(2), 0),
            _ => return Err(TemporalError::Syntax),
        }
        Ok(said::TIME)
    }

    fn word(&mut self, text: &str, next: Option<Kind>, wanted: Wanted) -> Result<u32> {
        let is_moment = wanted == Wanted::Moment;
        Ok(match word(text) {
            Some(Word::Filler) => 0,
            Some(Word::Month(month)) if is_moment => self.month_name(month),
            Some(Word::Weekday) if is_moment => said::WEEKDAY,
            Some(Word::BeforeChrist) => {
                self.is_before_christ = true;
                said::ERA
            }
            Some(Word::AnnoDomini) => {
                self.is_before_christ = false;
                said::ERA
            }
            Some(Word::Morning) => {
                self.is_afternoon = Some(false);
                said::HALF
            }
            Some(Word::Afternoon) => {
                self.is_afternoon = Some(true);
                said::HALF
            }
            Some(Word::SummerTime) => {
                self.offset += 3_600;
                said::SUMMER | said::SUMMER_ZONE
            }
            Some(Word::Zone { offset, is_summer }) => {
                self.offset = offset;
                if is_summer { said::ZONE | said::SUMMER_ZONE } else { said::ZONE }
            }
            Some(Word::Label(Label::Time)) => {
                let is_time_next = matches!(next, Some(Kind::Number | Kind::Time | Kind::Date));
                if !is_time_next || is_moment && !self.has(said::DATE) {
                    return Err(TemporalError::Syntax);
                }
                self.label = Some(Label::Time);
                0
            }
            Some(Word::Label(label)) => {
                self.label = Some(label);
                0
            }
            Some(Word::Allballs) => {
                (self.hour, self.minute, self.second, self.offset) = (0, 0, 0, 0);
                self.special = None;
                said::TIME | said::ZONE
            }
            Some(Word::Clock(_)) if is_moment || text == "now" => {
                return Err(TemporalError::Clock);
            }
            Some(Word::Epoch) if is_moment => self.special(Special::Epoch),
            Some(Word::Infinity) if is_moment => self.special(Special::Infinity),
            Some(Word::MinusInfinity) if is_moment => self.special(Special::MinusInfinity),
            Some(_) => return Err(TemporalError::Syntax),
            None => self.known_zone(text).ok_or(TemporalError::Syntax)?,
        })
    }

    /// A month's name: a number that was taken for the month before it is the day.
    fn month_name(&mut self, month: i32) -> u32 {
        let is_day_first = self.has(said::MONTH)
            && !self.has_month_name
            && !self.has(said::DAY)
            && (1..=31).contains(&self.month);
        let month_was = std::mem::replace(&mut self.month, month);
        self.has_month_name = true;
        if is_day_first {
            self.day = month_was;
            return said::DAY;
        }
        said::MONTH
    }

    fn special(&mut self, special: Special) -> u32 {
        self.special = Some(special);
        said::SPECIAL
    }

    /// What can be told when all has been read.
    fn finish(&mut self, wanted: Wanted) -> Result<()> {
        self.finish_date()?;
        if let Some(is_afternoon) = self.is_afternoon {
            if self.hour > 12 {
                return Err(TemporalError::FieldRange);
            }
            self.hour = self.hour % 12 + if is_afternoon { 12 } else { 0 };
        }
        if wanted == Wanted::TimeOfDay && self.is_time_beyond_day() {
            return Err(TemporalError::FieldRange);
        }
        let needed = match wanted {
            Wanted::Moment if self.special.is_some() => return Ok(()),
            Wanted::Moment => said::DATE,
            Wanted::TimeOfDay => said::TIME,
        };
        // What has no zone is in the session's, for which a whole date is needed, or none; so it is
        // with an abbreviation that depends on the date.
        let is_part_of_date = !matches!(self.said & said::DATE, 0 | said::DATE);
        let is_abbreviated = self.region.is_some_and(TimeZone::is_abbreviation);
        let is_open = (is_abbreviated || !self.has(said::ZONE))
            && (self.has(said::SUMMER) || is_part_of_date);
        match self.has(needed) && !is_open {
            true => Ok(()),
            false => Err(TemporalError::Syntax),
        }
    }

    fn finish_date(&mut self) -> Result<()> {
        if self.has(said::YEAR) && !self.is_julian {
            let is_two_digits = self.is_short_year && !self.is_before_christ;
            match self.year {
                year @ 0..70 if is_two_digits => self.year = 2000 + year,
                year @ 70..100 if is_two_digits => self.year = 1900 + year,
                1.. if is_two_digits => {}
                year @ 1.. if self.is_before_christ => self.year = 1 - year,
                1.. => {}
                _ => return Err(TemporalError::FieldRange),
            }
        }
        if self.has(said::DAY_OF_YEAR) {
            let first = days_from_civil(Civil { year: self.year, month: 1, day: 1 });
            let date = civil_from_days(first + i64::from(self.day_of_year) - 1);
            (self.year, self.month, self.day) = (date.year, date.month.into(), date.day.into());
        }
        let is_month = !self.has(said::MONTH) || (1..=12).contains(&self.month);
        let is_day = !self.has(said::DAY) || (1..=31).contains(&self.day);
        if !is_month || !is_day {
            return Err(TemporalError::FieldOrder);
        }
        let is_in_month = !self.has(said::DATE)
            || self.day <= i32::from(days_in_month(self.year, self.month as u8));
        if is_in_month { Ok(()) } else { Err(TemporalError::FieldRange) }
    }

    /// Days since 2000-01-01, of a text that was read as a moment.
    pub(super) fn days(&self) -> i64 {
        days_from_civil(Civil { year: self.year, month: self.month as u8, day: self.day as u8 })
    }

    /// Whether the text says in which zone it is.
    pub(super) const fn has_zone(&self) -> bool {
        self.said & (said::ZONE | said::SUMMER_ZONE) != 0
    }

    /// Fails for a region without a date, on which its offset depends.
    pub(super) fn refuse_region_without_date(&self) -> Result<()> {
        let is_open = self.region.is_some_and(|region| !region.is_abbreviation());
        if is_open && !self.has_date() { Err(TemporalError::Syntax) } else { Ok(()) }
    }

    /// Whether the text says a date.
    pub(super) const fn has_date(&self) -> bool {
        self.said & said::DATE == said::DATE
    }

    /// Microseconds since 2000-01-01 where it was said.
    pub(super) fn local_micros(&self) -> i128 {
        i128::from(self.days()) * i128::from(MICROS_PER_DAY) + i128::from(self.micros_of_day())
    }

    /// Microseconds since midnight, of a text that was read as a time.
    pub(super) fn time_of_day(&self) -> i64 {
        self.micros_of_day()
    }
}

const YEAR_AND_MONTH: u32 = said::YEAR | said::MONTH;
const MONTH_AND_DAY: u32 = said::MONTH | said::DAY;
