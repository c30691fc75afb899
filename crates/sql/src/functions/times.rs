//! Functions of dates, times and intervals.

use hotrow_base::types::{DataType as T, TIME_DIGITS};
use hotrow_transaction::program::{Function as F, IntervalFunction as I, TemplateFunction as P};

use super::row::Evaluation::{Program, Syntax, Time, Values};
use super::row::{
    FunctionGroup, FunctionRow, SyntaxForm as S, ValueForm as V, Volatility, functions,
};
use super::signature::{
    BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, opt,
};

/// Time is decided once per call, and logged with it: a clock that goes on while a call runs would
/// show another time when it is replayed.
pub(super) const TIMES: FunctionGroup = functions! { "Dates, times and intervals":
    now | current_timestamp | transaction_timestamp | statement_timestamp | clock_timestamp()
        -> TIMESTAMPTZ, Stable, Time(T::TIMESTAMPTZ),
        "when the call, or its transaction, began", "now() = clock_timestamp()", "true";
    localtimestamp() -> TIMESTAMP, Stable, Time(T::TIMESTAMP),
        "the same without a zone", "localtimestamp = now()::timestamp", "true";
    current_date() -> DATE, Stable, Time(T::Date),
        "its day", "current_date = now()::date", "true";
    localtime() -> TIME, Stable, Time(T::Time(TIME_DIGITS)),
        "its time of day", "localtime = now()::time", "true";
    extract(TEXT, TIMESTAMP) -> NUMERIC, Immutable, Syntax(S::Extract),
        "a field: year, month, day, hour, dow, epoch ..., as `extract(field FROM time)`",
        "extract(year FROM timestamp '2026-11-21 10:20:30')", "2026";
    extract(TEXT, TIMESTAMPTZ) -> NUMERIC, Stable, Syntax(S::Extract),
        "a field: year, month, day, hour, dow, epoch ...",
        "extract(hour FROM timestamptz '2026-11-21 10:20:30+00')", "10";
    extract(TEXT, TIME) -> NUMERIC, Immutable, Syntax(S::Extract),
        "a field: hour, minute, second, epoch ...", "extract(hour FROM time '10:20:30')", "10";
    extract(TEXT, INTERVAL) -> NUMERIC, Immutable, Syntax(S::Extract),
        "a field: years, days, hours ...", "extract(day FROM interval '3 days 4 hours')", "3";
    date_part(TEXT, TIMESTAMP) -> DOUBLE, Immutable, Syntax(S::Extract),
        "the same as a float", "date_part('second', timestamp '2026-11-21 10:20:30.5')", "30.5";
    date_part(TEXT, TIMESTAMPTZ) -> DOUBLE, Stable, Syntax(S::Extract),
        "the same as a float", "date_part('hour', timestamptz '2026-11-21 10:20:30+00')", "10";
    date_part(TEXT, TIME) -> DOUBLE, Immutable, Syntax(S::Extract),
        "the same as a float", "date_part('hour', time '10:20:30')", "10";
    date_part(TEXT, INTERVAL) -> DOUBLE, Immutable, Syntax(S::Extract),
        "the same as a float", "date_part('epoch', interval '1 minute 0.5 seconds')", "60.5";
    date_trunc(TEXT, TIMESTAMP) -> TIMESTAMP, Immutable, Syntax(S::DateTrunc),
        "cut to a unit: year, month, week, day, hour ...",
        "date_trunc('hour', timestamp '2026-11-21 10:20:30')", "2026-11-21 10:00:00";
    date_trunc(TEXT, TIMESTAMPTZ, opt(TEXT)) -> TIMESTAMPTZ, Stable, Syntax(S::DateTrunc),
        "cut to a unit: year, month, week, day, hour ... of the session's zone, or of this one",
        "date_trunc('day', timestamptz '2026-11-21 10:20:30+00')", "2026-11-21 00:00:00+00";
    date_trunc(TEXT, INTERVAL) -> INTERVAL, Immutable, Syntax(S::DateTrunc),
        "cut to a unit: year, month, day, hour ...",
        "date_trunc('hour', interval '2 hours 30 minutes')", "02:00:00";
    to_char(TIMESTAMP, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it: YYYY, MM, Mon, DD, HH24, MI, SS ...",
        "to_char(timestamp '2026-11-21 10:20:30', 'FMDay, DDth Mon YYYY HH12:MI am')",
        "Saturday, 21st Nov 2026 10:20 am";
    to_char(TIMESTAMPTZ, TEXT) -> TEXT, Stable, Program(F::Template(P::ToChar)),
        "as a template has it: YYYY, MM, Mon, DD, HH24, MI, SS ...",
        "to_char(timestamptz '2026-11-21 10:20:30+00', 'HH24:MI TZ')", "10:20 UTC";
    to_char(INTERVAL, TEXT) -> TEXT, Immutable, Program(F::Template(P::ToChar)),
        "as a template has it: YYYY, MM, DD, HH24, MI, SS ...",
        "to_char(interval '15 hours 2 minutes', 'HH24:MI')", "15:02";
    to_date(TEXT, TEXT) -> DATE, Immutable, Program(F::Template(P::ToDate)),
        "a text as a template has it", "to_date('21 Nov 2026', 'DD Mon YYYY')", "2026-11-21";
    to_timestamp(TEXT, TEXT) -> TIMESTAMPTZ, Stable, Program(F::Template(P::ToTimestamp)),
        "a text as a template has it; without TZH it is in the session's zone",
        "to_timestamp('21.11.26 10:20', 'DD.MM.YY HH24:MI')", "2026-11-21 10:20:00+00";
    to_timestamp(DOUBLE) -> TIMESTAMPTZ, Immutable, Program(F::Template(P::OfEpoch)),
        "so many seconds after 1970 began", "to_timestamp(1795256430.5)",
        "2026-11-21 10:20:30.5+00";
    date_bin(INTERVAL, TIMESTAMP, TIMESTAMP) -> TIMESTAMP, Immutable, Program(F::DateBin),
        "the start of the stride it lies in, counted from an origin",
        "date_bin('15 minutes', timestamp '2026-11-21 10:20:30', timestamp '2026-01-01')",
        "2026-11-21 10:15:00";
    date_bin(INTERVAL, TIMESTAMPTZ, TIMESTAMPTZ) -> TIMESTAMPTZ, Immutable, Program(F::DateBin),
        "the start of the stride it lies in, counted from an origin",
        "date_bin('1 day', timestamptz '2026-11-21 10:20+00', timestamptz '2026-01-01 06:00+00')",
        "2026-11-21 06:00:00+00";
    age(TIMESTAMP, TIMESTAMP) -> INTERVAL, Immutable, Values(V::Age),
        "from the second to the first, in years, months and days",
        "age(timestamp '2026-11-21', timestamp '2025-10-20')", "1 year 1 mon 1 day";
    age(TIMESTAMPTZ, TIMESTAMPTZ) -> INTERVAL, Immutable, Values(V::Age),
        "from the second to the first, in years, months and days",
        "age(timestamptz '2026-11-21 00:00+00', timestamptz '2026-11-20 00:00+00')", "1 day";
    age(TIMESTAMP) -> INTERVAL, Stable, Values(V::Age),
        "from it to today's midnight", "age(current_date::timestamp)", "00:00:00";
    age(TIMESTAMPTZ) -> INTERVAL, Stable, Values(V::Age),
        "from it to today's midnight", "age(current_date::timestamptz)", "00:00:00";
    justify_hours(INTERVAL) -> INTERVAL, Immutable, Program(F::Interval(I::JustifyHours)),
        "24 hours as a day", "justify_hours(interval '27 hours')", "1 day 03:00:00";
    justify_days(INTERVAL) -> INTERVAL, Immutable, Program(F::Interval(I::JustifyDays)),
        "30 days as a month", "justify_days(interval '35 days')", "1 mon 5 days";
    justify_interval(INTERVAL) -> INTERVAL, Immutable, Program(F::Interval(I::Justify)),
        "both, with one sign", "justify_interval(interval '1 mon -1 hour')", "29 days 23:00:00";
    make_interval(
        opt(INTEGER), opt(INTEGER), opt(INTEGER), opt(INTEGER), opt(INTEGER), opt(INTEGER),
        opt(DOUBLE)
    ) -> INTERVAL, Immutable, Syntax(S::MakeInterval),
        "of years, months, weeks, days, hours, mins and secs, also by these names",
        "make_interval(days => 10, mins => 5)", "10 days 00:05:00";
    make_date(INTEGER, INTEGER, INTEGER) -> DATE, Immutable, Program(F::MakeDate),
        "of year, month and day; a year below 0 is before Christ", "make_date(2026, 11, 21)",
        "2026-11-21";
    make_time(INTEGER, INTEGER, DOUBLE) -> TIME, Immutable, Program(F::MakeTime),
        "of hour, minute and seconds", "make_time(10, 20, 30.5)", "10:20:30.5";
    make_timestamp(INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE)
        -> TIMESTAMP, Immutable, Program(F::MakeTimestamp),
        "of year, month, day, hour, minute and seconds", "make_timestamp(2026, 11, 21, 10, 20, 30)",
        "2026-11-21 10:20:30";
    make_timestamptz(INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE, opt(TEXT))
        -> TIMESTAMPTZ, Stable, Program(F::MakeTimestamp),
        "the same, in the session's zone, or in this one",
        "make_timestamptz(2026, 11, 21, 10, 20, 30)", "2026-11-21 10:20:30+00";
    isfinite(DATE) -> BOOLEAN, Immutable, Program(F::IsFinite),
        "whether it is neither infinity nor -infinity", "isfinite(date 'infinity')", "false";
    isfinite(TIMESTAMP) -> BOOLEAN, Immutable, Program(F::IsFinite),
        "whether it is neither infinity nor -infinity", "isfinite(timestamp '-infinity')", "false";
    isfinite(TIMESTAMPTZ) -> BOOLEAN, Immutable, Program(F::IsFinite),
        "whether it is neither infinity nor -infinity", "isfinite(now())", "true";
    isfinite(INTERVAL) -> BOOLEAN, Immutable, Program(F::IsFinite),
        "true: no interval is infinite", "isfinite(interval '1 day')", "true";
    timezone(TEXT, TIMESTAMPTZ) -> TIMESTAMP, Immutable, Values(V::AtTimeZone),
        "what a clock shows then in a zone; also `time AT TIME ZONE zone`",
        "timestamptz '2026-11-21 10:20+00' AT TIME ZONE 'PST'", "2026-11-21 02:20:00";
    timezone(TEXT, TIMESTAMP) -> TIMESTAMPTZ, Immutable, Values(V::AtTimeZone),
        "when a clock there shows it", "timezone('UTC', timestamp '2026-11-21 10:20')",
        "2026-11-21 10:20:00+00";
    timezone(INTERVAL, TIMESTAMPTZ) -> TIMESTAMP, Immutable, Values(V::AtTimeZone),
        "what a clock shows then that is so much ahead of UTC",
        "timezone(interval '2 hours', timestamptz '2026-11-21 10:20+00')", "2026-11-21 12:20:00";
    timezone(INTERVAL, TIMESTAMP) -> TIMESTAMPTZ, Immutable, Values(V::AtTimeZone),
        "when it shows that", "timezone(interval '2 hours', timestamp '2026-11-21 10:20')",
        "2026-11-21 08:20:00+00";
};
