//! The words of dates and times: months, weekdays, eras, labels and special values.

use super::zone;

/// What a word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// 1 to 12
    Month(i32),
    /// which is read and not looked at
    Weekday,
    BeforeChrist,
    AnnoDomini,
    Morning,
    Afternoon,
    /// `at`, `on`
    Filler,
    /// `dst` behind a zone: an hour more
    SummerTime,
    /// a zone, seconds east of Greenwich
    Zone {
        offset: i32,
        is_summer: bool,
    },
    /// what the next number is
    Label(Label),
    /// midnight in UTC
    Allballs,
    Epoch,
    Infinity,
    MinusInfinity,
    Clock(ClockWord),
}

/// A word that depends on a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockWord {
    /// this moment
    Now,
    /// midnight, so many days after that of today
    Day(i32),
}

impl ClockWord {
    /// `now`, `today`, `tomorrow` or `yesterday`, in letters of either case; none: it is no such
    /// word.
    pub fn of(text: &[u8]) -> Option<Self> {
        WORDS.iter().find_map(|(known, word)| match word {
            Word::Clock(of) if text.eq_ignore_ascii_case(known.as_bytes()) => Some(*of),
            _ => None,
        })
    }
}

/// What a word says of the number behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    Julian,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    /// `t`: a time follows
    Time,
    /// a unit that no number of a date is in
    Other,
}

/// The words but for zones, in small letters.
const WORDS: [(&str, Word); 71] = [
    ("-infinity", Word::MinusInfinity),
    ("ad", Word::AnnoDomini),
    ("allballs", Word::Allballs),
    ("am", Word::Morning),
    ("apr", Word::Month(4)),
    ("april", Word::Month(4)),
    ("at", Word::Filler),
    ("aug", Word::Month(8)),
    ("august", Word::Month(8)),
    ("bc", Word::BeforeChrist),
    ("d", Word::Label(Label::Day)),
    ("dec", Word::Month(12)),
    ("december", Word::Month(12)),
    ("dow", Word::Label(Label::Other)),
    ("doy", Word::Label(Label::Other)),
    ("dst", Word::SummerTime),
    ("epoch", Word::Epoch),
    ("feb", Word::Month(2)),
    ("february", Word::Month(2)),
    ("fri", Word::Weekday),
    ("friday", Word::Weekday),
    ("h", Word::Label(Label::Hour)),
    ("infinity", Word::Infinity),
    ("isodow", Word::Label(Label::Other)),
    ("isoyear", Word::Label(Label::Other)),
    ("j", Word::Label(Label::Julian)),
    ("jan", Word::Month(1)),
    ("january", Word::Month(1)),
    ("jd", Word::Label(Label::Julian)),
    ("jul", Word::Month(7)),
    ("julian", Word::Label(Label::Julian)),
    ("july", Word::Month(7)),
    ("jun", Word::Month(6)),
    ("june", Word::Month(6)),
    ("m", Word::Label(Label::Month)),
    ("mar", Word::Month(3)),
    ("march", Word::Month(3)),
    ("may", Word::Month(5)),
    ("mm", Word::Label(Label::Minute)),
    ("mon", Word::Weekday),
    ("monday", Word::Weekday),
    ("nov", Word::Month(11)),
    ("november", Word::Month(11)),
    ("now", Word::Clock(ClockWord::Now)),
    ("oct", Word::Month(10)),
    ("october", Word::Month(10)),
    ("on", Word::Filler),
    ("pm", Word::Afternoon),
    ("s", Word::Label(Label::Second)),
    ("sat", Word::Weekday),
    ("saturday", Word::Weekday),
    ("sep", Word::Month(9)),
    ("sept", Word::Month(9)),
    ("september", Word::Month(9)),
    ("sun", Word::Weekday),
    ("sunday", Word::Weekday),
    ("t", Word::Label(Label::Time)),
    ("thu", Word::Weekday),
    ("thur", Word::Weekday),
    ("thurs", Word::Weekday),
    ("thursday", Word::Weekday),
    ("today", Word::Clock(ClockWord::Day(0))),
    ("tomorrow", Word::Clock(ClockWord::Day(1))),
    ("tue", Word::Weekday),
    ("tues", Word::Weekday),
    ("tuesday", Word::Weekday),
    ("wed", Word::Weekday),
    ("wednesday", Word::Weekday),
    ("weds", Word::Weekday),
    ("y", Word::Label(Label::Year)),
    ("yesterday", Word::Clock(ClockWord::Day(-1))),
];

/// A word that is no zone, in small letters.
pub(super) fn plain_word(text: &str) -> Option<Word> {
    let at = WORDS.binary_search_by_key(&text, |(known, _)| *known).ok()?;
    Some(WORDS[at].1)
}

/// A word in small letters; an abbreviation of a zone goes first.
pub(super) fn word(text: &str) -> Option<Word> {
    let zone = zone::abbreviation(text)
        .map(|zone| Word::Zone { offset: zone.offset, is_summer: zone.is_summer });
    zone.or_else(|| plain_word(text))
}
