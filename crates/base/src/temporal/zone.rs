//! Time zones: abbreviations, offsets, and the regions of the IANA database.
//!
//! Role         for the input of times, for AT TIME ZONE, and of sessions ([`TimeZone`])
//! Invariants   I1 what a zone says does not hang on the machine: the database is the binary's own,
//!              so that a replay finds what the call found. Another version of Hotrow may have
//!              another one
//! Source       PostgreSQL 15: its default set of abbreviations, and what it takes a clock's
//!              reading for that comes twice or never (localtime.c, DetermineTimeZoneOffset,
//!              DetermineTimeZoneAbbrevOffset); POSIX for names with an offset, which counts to the
//!              west

mod time_zone;

pub use time_zone::TimeZone;
pub(crate) use time_zone::write_offset;

use jiff::tz::{AmbiguousOffset, Offset, TimeZoneDatabase};

use super::MICROS_PER_DAY;

/// A zone that an abbreviation stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Zone {
    /// seconds east of Greenwich
    pub(super) offset: i32,
    pub(super) is_summer: bool,
}

const STANDARD: bool = false;
const SUMMER: bool = true;

/// Abbreviations in small letters, minutes east of Greenwich, and whether that is a summer time.
const ABBREVIATIONS: [(&str, i32, bool); 145] = [
    ("acdt", 630, SUMMER),
    ("acsst", 630, SUMMER),
    ("acst", 570, STANDARD),
    ("act", -300, STANDARD),
    ("acwst", 525, STANDARD),
    ("adt", -180, SUMMER),
    ("aedt", 660, SUMMER),
    ("aesst", 660, SUMMER),
    ("aest", 600, STANDARD),
    ("aft", 270, STANDARD),
    ("akdt", -480, SUMMER),
    ("akst", -540, STANDARD),
    ("almst", 420, SUMMER),
    ("almt", 360, STANDARD),
    ("amt", -240, STANDARD),
    ("ast", -240, STANDARD),
    ("awsst", 540, SUMMER),
    ("awst", 480, STANDARD),
    ("azost", 0, SUMMER),
    ("azot", -60, STANDARD),
    ("bdst", 120, SUMMER),
    ("bdt", 360, STANDARD),
    ("bnt", 480, STANDARD),
    ("bort", 480, STANDARD),
    ("bot", -240, STANDARD),
    ("bra", -180, STANDARD),
    ("brst", -120, SUMMER),
    ("brt", -180, STANDARD),
    ("bst", 60, SUMMER),
    ("btt", 360, STANDARD),
    ("cadt", 630, SUMMER),
    ("cast", 570, STANDARD),
    ("cct", 480, STANDARD),
    ("cdt", -300, SUMMER),
    ("cest", 120, SUMMER),
    ("cet", 60, STANDARD),
    ("cetdst", 120, SUMMER),
    ("chadt", 825, SUMMER),
    ("chast", 765, STANDARD),
    ("chut", 600, STANDARD),
    ("clst", -180, SUMMER),
    ("cot", -300, STANDARD),
    ("cst", -360, STANDARD),
    ("cxt", 420, STANDARD),
    ("ddut", 600, STANDARD),
    ("eat", 180, STANDARD),
    ("edt", -240, SUMMER),
    ("eest", 180, SUMMER),
    ("eet", 120, STANDARD),
    ("eetdst", 180, SUMMER),
    ("egst", 0, SUMMER),
    ("egt", -60, STANDARD),
    ("est", -300, STANDARD),
    ("fet", 180, STANDARD),
    ("fjst", 780, SUMMER),
    ("fjt", 720, STANDARD),
    ("fnst", -60, SUMMER),
    ("fnt", -120, STANDARD),
    ("galt", -360, STANDARD),
    ("gamt", -540, STANDARD),
    ("gft", -180, STANDARD),
    ("gilt", 720, STANDARD),
    ("gmt", 0, STANDARD),
    ("hkt", 480, STANDARD),
    ("hst", -600, STANDARD),
    ("ict", 420, STANDARD),
    ("idt", 180, SUMMER),
    ("irt", 210, STANDARD),
    ("ist", 120, STANDARD),
    ("jayt", 540, STANDARD),
    ("jst", 540, STANDARD),
    ("kdt", 600, SUMMER),
    ("kgst", 360, SUMMER),
    ("kst", 540, STANDARD),
    ("lhst", 630, STANDARD),
    ("ligt", 600, STANDARD),
    ("mart", -570, STANDARD),
    ("mdt", -360, SUMMER),
    ("mest", 120, SUMMER),
    ("mesz", 120, SUMMER),
    ("met", 60, STANDARD),
    ("metdst", 120, SUMMER),
    ("mez", 60, STANDARD),
    ("mht", 720, STANDARD),
    ("mmt", 390, STANDARD),
    ("mpt", 600, STANDARD),
    ("msd", 240, SUMMER),
    ("mst", -420, STANDARD),
    ("must", 300, SUMMER),
    ("mut", 240, STANDARD),
    ("mvt", 300, STANDARD),
    ("myt", 480, STANDARD),
    ("ndt", -150, SUMMER),
    ("nft", -210, STANDARD),
    ("npt", 345, STANDARD),
    ("nst", -210, STANDARD),
    ("nzdt", 780, SUMMER),
    ("nzst", 720, STANDARD),
    ("nzt", 720, STANDARD),
    ("pdt", -420, SUMMER),
    ("pet", -300, STANDARD),
    ("pgt", 600, STANDARD),
    ("pht", 480, STANDARD),
    ("pkst", 360, SUMMER),
    ("pkt", 300, STANDARD),
    ("pmdt", -120, SUMMER),
    ("pmst", -180, STANDARD),
    ("pont", 660, STANDARD),
    ("pst", -480, STANDARD),
    ("pwt", 540, STANDARD),
    ("pyst", -180, SUMMER),
    ("ret", 240, STANDARD),
    ("sadt", 630, SUMMER),
    ("sast", 120, STANDARD),
    ("sct", 240, STANDARD),
    ("taht", -600, STANDARD),
    ("tft", 300, STANDARD),
    ("tjt", 300, STANDARD),
    ("tot", 780, STANDARD),
    ("trut", 600, STANDARD),
    ("tvt", 720, STANDARD),
    ("uct", 0, STANDARD),
    ("ulast", 540, SUMMER),
    ("ut", 0, STANDARD),
    ("utc", 0, STANDARD),
    ("uyst", -120, SUMMER),
    ("uyt", -180, STANDARD),
    ("uzst", 360, SUMMER),
    ("uzt", 300, STANDARD),
    ("vut", 660, STANDARD),
    ("wadt", 480, SUMMER),
    ("wakt", 720, STANDARD),
    ("wast", 420, STANDARD),
    ("wat", 60, STANDARD),
    ("wdt", 540, SUMMER),
    ("wet", 0, STANDARD),
    ("wetdst", 60, SUMMER),
    ("wft", 720, STANDARD),
    ("wgst", -120, SUMMER),
    ("wgt", -180, STANDARD),
    ("xjt", 360, STANDARD),
    ("yapt", 600, STANDARD),
    ("yekst", 360, SUMMER),
    ("z", 0, STANDARD),
    ("zulu", 0, STANDARD),
];

/// Abbreviations in small letters that mean what a region has by that name, or has at all.
pub(super) const REGIONAL: [(&str, &str); 50] = [
    ("amst", "Asia/Yerevan"),
    ("anast", "Asia/Anadyr"),
    ("anat", "Asia/Anadyr"),
    ("arst", "America/Argentina/Buenos_Aires"),
    ("art", "America/Argentina/Buenos_Aires"),
    ("azst", "Asia/Baku"),
    ("azt", "Asia/Baku"),
    ("ckt", "Pacific/Rarotonga"),
    ("clt", "America/Santiago"),
    ("davt", "Antarctica/Davis"),
    ("easst", "Pacific/Easter"),
    ("east", "Pacific/Easter"),
    ("fkst", "Atlantic/Stanley"),
    ("fkt", "Atlantic/Stanley"),
    ("gest", "Asia/Tbilisi"),
    ("get", "Asia/Tbilisi"),
    ("gyt", "America/Guyana"),
    ("iot", "Indian/Chagos"),
    ("irkst", "Asia/Irkutsk"),
    ("irkt", "Asia/Irkutsk"),
    ("kgt", "Asia/Bishkek"),
    ("kost", "Pacific/Kosrae"),
    ("krast", "Asia/Krasnoyarsk"),
    ("krat", "Asia/Krasnoyarsk"),
    ("lhdt", "Australia/Lord_Howe"),
    ("lint", "Pacific/Kiritimati"),
    ("lkt", "Asia/Colombo"),
    ("magst", "Asia/Magadan"),
    ("magt", "Asia/Magadan"),
    ("mawt", "Antarctica/Mawson"),
    ("msk", "Europe/Moscow"),
    ("novst", "Asia/Novosibirsk"),
    ("novt", "Asia/Novosibirsk"),
    ("nut", "Pacific/Niue"),
    ("omsst", "Asia/Omsk"),
    ("omst", "Asia/Omsk"),
    ("petst", "Asia/Kamchatka"),
    ("pett", "Asia/Kamchatka"),
    ("pyt", "America/Asuncion"),
    ("sgt", "Asia/Singapore"),
    ("tkt", "Pacific/Fakaofo"),
    ("tmt", "Asia/Ashgabat"),
    ("ulat", "Asia/Ulaanbaatar"),
    ("vet", "America/Caracas"),
    ("vlast", "Asia/Vladivostok"),
    ("vlat", "Asia/Vladivostok"),
    ("volt", "Europe/Volgograd"),
    ("yakst", "Asia/Yakutsk"),
    ("yakt", "Asia/Yakutsk"),
    ("yekt", "Asia/Yekaterinburg"),
];

/// Other names of UTC.
const UTC_NAMES: [&str; 11] = [
    "utc",
    "gmt",
    "zulu",
    "universal",
    "greenwich",
    "uct",
    "etc/utc",
    "etc/gmt",
    "etc/zulu",
    "etc/universal",
    "etc/uct",
];

/// POSIX: what an offset may be.
const POSIX_HOURS_MAX: i32 = 7 * 24 - 1;

/// The zone that an abbreviation in small letters stands for.
pub(super) fn abbreviation(text: &str) -> Option<Zone> {
    let at = ABBREVIATIONS.binary_search_by_key(&text, |(known, ..)| *known).ok()?;
    let (_, minutes, is_summer) = ABBREVIATIONS[at];
    Some(Zone { offset: minutes * 60, is_summer })
}

/// The offset of a zone with a name, in small letters: one of UTC's, or any letters before an
/// offset to the west, as `utc+3`.
pub(super) fn named(text: &str) -> Option<i32> {
    if UTC_NAMES.contains(&text) {
        return Some(0);
    }
    let letters = text.find(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ','))?;
    posix_offset(&text[letters..]).map(|west| -west)
}

/// `[+-]H[H][:MM[:SS]]`
fn posix_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut seconds = 0;
    let mut parts = digits.split(':');
    for (unit, most) in [(3_600, POSIX_HOURS_MAX), (60, 59), (1, 60)] {
        let Some(part) = parts.next() else { break };
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: i32 = part.parse().ok().filter(|n| is_number && *n <= most)?;
        seconds += number * unit;
    }
    parts.next().is_none().then_some(sign * seconds)
}

/// A region of the IANA database.
#[derive(Clone, Debug)]
struct Region(jiff::tz::TimeZone);

/// The region that the database has by this name.
fn region(name: &str) -> Option<Region> {
    TimeZoneDatabase::bundled().get(name).ok().map(Region)
}

impl Region {
    fn offset_at(&self, micros: i64) -> i32 {
        self.0.to_offset(moment(micros)).seconds()
    }

    /// What people there call the time that they have at a moment: CET, CEST.
    fn abbreviation_at(&self, micros: i64) -> String {
        self.0.to_offset_info(moment(micros)).abbreviation().to_owned()
    }

    /// The offset that an abbreviation in small letters means at a moment: what the region had by
    /// that name then or before; none: it has had none.
    fn offset_called(&self, abbreviation: &str, micros: i64) -> Option<i32> {
        /// Changes of clocks that are looked through: more than any region has had.
        const CHANGES_MAX: usize = 400;
        let at = moment(micros);
        let now = self.0.to_offset_info(at);
        if now.abbreviation().eq_ignore_ascii_case(abbreviation) {
            return Some(now.offset().seconds());
        }
        let mut before = self.0.preceding(at).take(CHANGES_MAX);
        let named = before.find(|it| it.abbreviation().eq_ignore_ascii_case(abbreviation));
        named.map(|named| named.offset().seconds())
    }

    /// A reading that comes twice is taken for the later time, and one that is left out for what
    /// it would have been before: as PostgreSQL does.
    fn offset_of(&self, clock: i64) -> i32 {
        let clock = Offset::UTC.to_datetime(moment(clock));
        let offset = match self.0.to_ambiguous_timestamp(clock).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        offset.seconds()
    }
}

/// A moment of the years that the library has: later ones are moved by multiples of 400 years,
/// after which days come again on the same days of the week; before the first ones no zone changed.
fn moment(micros: i64) -> jiff::Timestamp {
    const CYCLE: i64 = 146_097 * MICROS_PER_DAY;
    const UNIX_EPOCH: i64 = 10_957 * MICROS_PER_DAY;
    let micros = match micros {
        late if late >= 18 * CYCLE => 17 * CYCLE + late % CYCLE,
        other => other.max(-27 * CYCLE),
    };
    jiff::Timestamp::from_microsecond(micros + UNIX_EPOCH).unwrap_or_default()
}
