//! The words for units and fields of times.

/// Letters that tell words from each other, as in PostgreSQL: `millenniums`.
const LETTERS: usize = 10;

/// A word for a unit or a field, in any case, by the name that all others of it share; other words
/// in small letters.
pub fn unit_name(word: &str) -> String {
    let small = word.to_ascii_lowercase();
    let known = small.get(..LETTERS).unwrap_or(&small);
    let name = match known {
        "us" | "usec" | "usecs" | "useconds" | "usecond" | "microsecon" => "microseconds",
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => "milliseconds",
        "s" | "sec" | "secs" | "second" | "seconds" => "second",
        "m" | "min" | "mins" | "minute" | "minutes" => "minute",
        "h" | "hr" | "hrs" | "hour" | "hours" => "hour",
        "d" | "day" | "days" => "day",
        "w" | "week" | "weeks" => "week",
        "mon" | "mons" | "month" | "months" => "month",
        "qtr" | "quarter" => "quarter",
        "y" | "yr" | "yrs" | "year" | "years" => "year",
        "dec" | "decs" | "decade" | "decades" => "decade",
        "c" | "cent" | "century" | "centuries" => "century",
        "mil" | "mils" | "millennium" | "millennia" => "millennium",
        "j" | "jd" | "julian" => "julian",
        "timezone_h" => "timezone_hour",
        "timezone_m" => "timezone_minute",
        _ => return small,
    };
    name.to_owned()
}
