//! Names of months and days, and what marks halves of days and eras.

/// In full; the first three letters are the short form.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// In full, from Sunday on; the first three letters are the short form.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Months backwards, so that of two that begin alike the longer one comes first: II before I.
pub(super) const ROMAN_MONTHS: [&str; 12] =
    ["XII", "XI", "X", "IX", "VIII", "VII", "VI", "V", "IV", "III", "II", "I"];

/// What a pattern that comes in two forms is read and written as, the first half or era first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub(super) plain: [&'static str; 2],
    pub(super) dotted: [&'static str; 2],
}

pub(super) const HALVES: Pair = Pair { plain: ["AM", "PM"], dotted: ["A.M.", "P.M."] };
pub(super) const ERAS: Pair = Pair { plain: ["AD", "BC"], dotted: ["A.D.", "B.C."] };

impl Pair {
    /// The names with points or without, as the pattern has them.
    pub(super) fn like(&self, pattern: &str) -> &[&'static str; 2] {
        if pattern.contains('.') { &self.dotted } else { &self.plain }
    }
}

/// The short form of a name.
pub(super) fn short(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or(name)
}

/// A name in the letters of its pattern: MONTH, Month or month.
pub(super) fn in_letters_of(pattern: &str, name: &str) -> String {
    let is_upper = |at: usize| pattern.as_bytes().get(at).is_some_and(u8::is_ascii_uppercase);
    // The second letter of one with points is no letter.
    match (is_upper(0), is_upper(1) || pattern.contains('.')) {
        (false, _) => name.to_ascii_lowercase(),
        (true, true) => name.to_ascii_uppercase(),
        (true, false) => name.to_owned(),
    }
}
