//! Days to civil dates and back.

/// A date of the proleptic Gregorian calendar. Year 0 is 1 BC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Civil {
    /// astronomical year
    pub year: i32,
    /// 1 to 12
    pub month: u8,
    /// 1 to 31
    pub day: u8,
}

/// Days from 0000-03-01 to 2000-01-01.
const EPOCH: i64 = 730_425;
/// Days in 400 years.
const ERA: i64 = 146_097;

/// Days since 2000-01-01. `month` must be 1 to 12; a day beyond its month counts on.
pub const fn days_from_civil(date: Civil) -> i64 {
    // Years that begin in March have their leap day last.
    let month = date.month as i64;
    let year = date.year as i64 - (month <= 2) as i64;
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + date.day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA + day_of_era - EPOCH
}

/// The date that many days after 2000-01-01. Years beyond 32 bits do not occur within I1's range.
pub const fn civil_from_days(days: i64) -> Civil {
    let days = days + EPOCH;
    let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / (ERA - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    Civil { year: year as i32, month: month as u8, day: day as u8 }
}

pub(super) const fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Monday is 1, Sunday 7.
pub(super) const fn iso_weekday(days: i64) -> i64 {
    // 2000-01-01 was a Saturday.
    (days + 5).rem_euclid(7) + 1
}

/// ISO 8601 year and week: those of the week's Thursday.
pub(super) const fn iso_week(days: i64) -> (i32, i64) {
    let thursday = days - iso_weekday(days) + 4;
    let year = civil_from_days(thursday).year;
    (year, (thursday - days_from_civil(Civil { year, month: 1, day: 1 })) / 7 + 1)
}
