//! Which of several functions of one name a call means.
//!
//! Source       PostgreSQL 15, chapter 10.3: what is exactly of the argument's type goes first,
//!              then what it becomes by itself, of that what its category prefers; literals without
//!              a type are texts where they may be. We differ: where nothing fits so, a wider
//!              integer is taken for a narrower one, and fails when it is too large (22003)

use hotrow_base::encoded::EncodedType;
use hotrow_base::types::{AnyType, DataType, RangeKind, SqlType};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use super::row::{FunctionRow, is_sign};
use super::signature::Type;
use super::{named, names};
use crate::error::{Advice, error};
use crate::type_table::known_type;

/// The type of an argument; none: a literal, NULL or a parameter that has had no type yet.
pub type Given = Option<SqlType>;

/// Why no function was chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unresolved {
    Nothing,
    Several,
}

/// The category of texts.
const TEXT: &str = "S";

/// How an argument becomes what a function takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fit {
    Narrowed,
    Converted,
    /// converted to the type that its category prefers
    Preferred,
    Exact,
    /// its type is open
    Open,
}

/// The function that a call means: 42883 where there is none, 42725 where there are several.
pub fn resolve(
    name: &str,
    given: &[Given],
    place: Place,
) -> Result<&'static FunctionRow, SqlError> {
    chosen(named(name), given).map_err(|why| match why {
        Unresolved::Nothing => no_function(name, given, place),
        Unresolved::Several => {
            let call = call_text(name, given);
            let message = match is_sign(name) {
                true => format!("operator is not unique: {call}"),
                false => format!("function {call} is not unique"),
            };
            error(b"42725", place, message).hint(
                "Could not choose a best candidate function. You might need to add explicit type \
                 casts.",
            )
        }
    })
}

/// 42883, with the names that are near, or what there is of this name.
pub(crate) fn no_function(name: &str, given: &[Given], place: Place) -> SqlError {
    let call = call_text(name, given);
    if is_sign(name) {
        let hint = "No operator matches the given name and argument types. You might need to add \
                    explicit type casts.";
        return error(b"42883", place, format!("operator does not exist: {call}")).hint(hint);
    }
    let known: Vec<_> = named(name).iter().map(|row| row.signature()).collect();
    let hint = if known.is_empty() {
        let near = near(name);
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        format!("{near}docs/functions.md lists those that are built in")
    } else {
        format!("there is {}. You might need to add explicit type casts.", known.join(", "))
    };
    error(b"42883", place, format!("function {call} does not exist")).hint(hint)
}

/// `name(type, type)`
pub(crate) fn call_text(name: &str, given: &[Given]) -> String {
    let of = |given: &Given| given.map_or_else(|| "unknown".to_owned(), type_text);
    let types: Vec<_> = given.iter().map(of).collect();
    match types.as_slice() {
        [left, right] if is_sign(name) => format!("{left} {name} {right}"),
        types => format!("{name}({})", types.join(", ")),
    }
}

/// A type without how long or precise its values are, which tells no functions apart.
/// A type without its precision, as PostgreSQL names it where only that counts.
pub(crate) fn type_text(of: SqlType) -> String {
    let name = |of: DataType| match of {
        of if of.is_numeric() => known_type(of).standard.to_owned(),
        DataType::Varchar(_) | DataType::Char(_) | DataType::Time(_) => {
            known_type(of).standard.to_owned()
        }
        of => of.with_all_digits().to_string(),
    };
    match of {
        SqlType::Scalar(of) => name(of),
        SqlType::Array(of) => format!("{}[]", name(of)),
    }
}

/// The name that is most like this one, if one is.
fn near(name: &str) -> Option<&'static str> {
    const LIKE: f64 = 0.85;
    let likeness = |known: &str| strsim::jaro_winkler(known, name);
    let best = names().max_by(|one, other| {
        likeness(one).total_cmp(&likeness(other)).then_with(|| other.cmp(one))
    });
    best.filter(|best| likeness(best) >= LIKE)
}

fn chosen(
    rows: &[&'static FunctionRow],
    given: &[Given],
) -> Result<&'static FunctionRow, Unresolved> {
    let fitting = |least: Fit| {
        let fits = |row: &&&'static FunctionRow| {
            row.takes(given.len()) && fits(row, given).all(|fit| fit.is_some_and(|f| f >= least))
        };
        rows.iter().filter(fits).copied().collect::<Vec<_>>()
    };
    let mut left = fitting(Fit::Converted);
    if left.is_empty() {
        left = fitting(Fit::Narrowed);
    }
    for good in [Fit::Exact, Fit::Preferred] {
        let count = |row: &FunctionRow| {
            fits(row, given).flatten().filter(|fit| (good..Fit::Open).contains(fit)).count()
        };
        let most = left.iter().map(|row| count(row)).max();
        left.retain(|row| Some(count(row)) == most);
    }
    if left.len() > 1 {
        left = by_category(left, given);
    }
    if left.len() > 1 {
        left = as_the_known(left, given);
    }
    match left.as_slice() {
        [one] => Ok(one),
        [] => Err(Unresolved::Nothing),
        _ => Err(Unresolved::Several),
    }
}

/// Those whose arguments are of the category that open arguments have: text where one takes a
/// text, else the one that all take; and of those what the category prefers.
fn by_category(mut left: Vec<&'static FunctionRow>, given: &[Given]) -> Vec<&'static FunctionRow> {
    for at in (0..given.len()).filter(|at| given[*at].is_none()) {
        let of = |row: &FunctionRow| category(row.argument(at));
        let first = of(left[0]);
        let wanted = if left.iter().any(|row| of(row) == TEXT) {
            TEXT
        } else if left.iter().all(|row| of(row) == first) {
            first
        } else {
            return left;
        };
        left.retain(|row| of(row) == wanted);
        if left.iter().any(|row| is_preferred(row.argument(at))) {
            left.retain(|row| is_preferred(row.argument(at)));
        }
    }
    left
}

/// Where all known arguments are of one type, open ones are taken to be of it.
fn as_the_known(left: Vec<&'static FunctionRow>, given: &[Given]) -> Vec<&'static FunctionRow> {
    let mut known = given.iter().flatten();
    let Some(first) = known.next().filter(|first| known.all(|other| other == *first)) else {
        return left;
    };
    let all = vec![Some(*first); given.len()];
    let better: Vec<_> = left
        .iter()
        .filter(|row| fits(row, &all).all(|fit| fit.is_some_and(|fit| fit >= Fit::Converted)))
        .copied()
        .collect();
    if better.len() == 1 { better } else { left }
}

/// How each argument fits; none: it does not.
fn fits<'a>(row: &'a FunctionRow, given: &'a [Given]) -> impl Iterator<Item = Option<Fit>> + 'a {
    given.iter().enumerate().map(|(at, given)| fit(*given, row.argument(at)))
}

/// How an argument becomes a value of a type; none: it does not.
pub(crate) fn fit_of(given: Given, wanted: SqlType) -> Option<Fit> {
    fit(given, Type::Is(wanted)).filter(|fit| *fit != Fit::Narrowed)
}

fn fit(given: Given, wanted: Type) -> Option<Fit> {
    let Some(given) = given else { return Some(Fit::Open) };
    let (fits, how) = match (given, wanted) {
        (_, Type::Any | Type::AnyElement) => (true, Fit::Converted),
        (SqlType::Scalar(DataType::Json | DataType::Composite(_)), Type::Record) => {
            (true, Fit::Exact)
        }
        (SqlType::Array(_), Type::AnyArray) => (true, Fit::Exact),
        (given, Type::Is(SqlType::Scalar(DataType::Any(of)))) => {
            let is_array = matches!(given.spread(), SqlType::Array(_));
            let is_enum = matches!(given, SqlType::Scalar(DataType::Enum(_)));
            let takes = match of {
                AnyType::Array | AnyType::CompatibleArray => is_array,
                AnyType::NonArray | AnyType::CompatibleNonArray => !is_array,
                AnyType::Enum => is_enum,
                AnyType::Element | AnyType::Compatible => true,
            };
            (takes, Fit::Converted)
        }
        (SqlType::Array(given), Type::Is(SqlType::Array(wanted))) => {
            let is_alike = given.with_all_digits() == wanted.with_all_digits();
            (is_alike || given.is_text() && wanted.is_text(), Fit::Exact)
        }
        (SqlType::Scalar(given), Type::AnyRange) => {
            (matches!(given, DataType::Range(_)), Fit::Exact)
        }
        (SqlType::Scalar(given), Type::RangeElement) => (is_in_ranges(given), Fit::Exact),
        (SqlType::Scalar(given), Type::Number) => (given.is_number(), Fit::Exact),
        (SqlType::Scalar(given), Type::Numeric) if given.is_numeric() => (true, Fit::Exact),
        (SqlType::Scalar(given), Type::Numeric) => (given.is_integer(), Fit::Converted),
        (SqlType::Scalar(given), Type::Relation) => {
            (given.is_text() || given.is_integer(), Fit::Converted)
        }
        (SqlType::Scalar(given), Type::RelationNumber) => return scalar_fit(given, DataType::Oid),
        (SqlType::Scalar(given), Type::Is(SqlType::Scalar(to))) => return scalar_fit(given, to),
        _ => (false, Fit::Exact),
    };
    fits.then_some(how)
}

/// Whether there are ranges of such values.
fn is_in_ranges(of: DataType) -> bool {
    of.is_numeric() || RangeKind::ALL.iter().any(|kind| kind.element() == of.with_all_digits())
}

fn scalar_fit(given: DataType, to: DataType) -> Option<Fit> {
    use DataType as T;
    let becomes = match (given, to) {
        (T::Date, T::Timestamp(_) | T::TimestampTz(_)) | (T::Timestamp(_), T::TimestampTz(_)) => {
            true
        }
        (T::Time(_), T::Interval | T::Encoded(EncodedType::TimeTz(_))) => true,
        (T::Encoded(given), T::Encoded(to)) => {
            given.common(to) == Some(to.bare())
                || given.is_kept_like(to) && to == EncodedType::Bit(0)
        }
        (T::SmallInt | T::Integer | T::BigInt, T::Oid) | (T::Oid, T::BigInt) => true,
        _ => width(given).is_some_and(|own| width(to).is_some_and(|to| own < to)),
    };
    let is_alike = given.is_text() && to.is_text()
        || given.is_numeric() && to.is_numeric()
        || given.with_all_digits() == to.with_all_digits();
    if is_alike {
        Some(Fit::Exact)
    } else if becomes && is_preferred(Type::Is(SqlType::Scalar(to))) {
        Some(Fit::Preferred)
    } else if becomes {
        Some(Fit::Converted)
    } else if given.is_integer() && to.is_integer() {
        Some(Fit::Narrowed)
    } else {
        None
    }
}

/// The order in which numbers become each other by themselves.
const fn width(of: DataType) -> Option<u8> {
    Some(match of {
        DataType::SmallInt => 0,
        DataType::Integer => 1,
        DataType::BigInt => 2,
        of if of.is_numeric() => 3,
        DataType::Real => 4,
        DataType::Double => 5,
        _ => return None,
    })
}

/// The category of a type, as the catalog calls it; none: whatever there is.
fn category(of: Type) -> &'static str {
    match of {
        Type::Numeric | Type::Number => "N",
        Type::Is(SqlType::Scalar(of)) => known_type(of).category,
        Type::AnyRange => "R",
        _ => "",
    }
}

const fn is_preferred(of: Type) -> bool {
    matches!(
        of,
        Type::Is(SqlType::Scalar(
            DataType::Double
                | DataType::Text
                | DataType::TimestampTz(_)
                | DataType::Encoded(EncodedType::Inet | EncodedType::VarBit(_))
        ))
    )
}
