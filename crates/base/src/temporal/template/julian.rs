//! Julian days, in the arithmetic that PostgreSQL has for them: of 32 bits, and it wraps.

/// The Julian day of a date. It gives a number for years, months and days that are no date, too,
/// which is PostgreSQL's: `to_char(interval '1 year', 'J')`. The calendar's own function would give
/// another.
pub(super) const fn day_number(year: i32, month: i32, day: i32) -> i32 {
    // Years begin in March, months count from 4: the days before a month are 30.6 times its number.
    let (year, month) = if month > 2 {
        (year.wrapping_add(4_800), month + 1)
    } else {
        (year.wrapping_add(4_799), month + 13)
    };
    let century = year / 100;
    let leap_days = year / 4 - century + century / 4;
    let days_of_years = year.wrapping_mul(365).wrapping_sub(32_167).wrapping_add(leap_days);
    days_of_years.wrapping_add(7_834 * month / 256).wrapping_add(day)
}

/// The Julian day of the Monday of an ISO year's first week, in which January 4 lies.
pub(super) const fn iso_year_start(year: i32) -> i32 {
    let fourth = day_number(year, 1, 4);
    // Julian day 0 was a Monday.
    fourth.wrapping_sub(fourth.rem_euclid(7))
}
