//! Type names: `sqlparser`'s data types to Hotrow's.

use std::fmt::Display;
use std::sync::Arc;

use hotrow_base::composite::{CompositeType, nesting};
use hotrow_base::decimal::DIGITS_MAX;
use hotrow_base::encoded::{ADDRESSES, EncodedType};
use hotrow_base::packed::DEPTH_MAX;
use hotrow_base::types::{AnyType, DataType, RangeKind, SqlType, TIME_DIGITS};
use hotrow_transaction::catalog::{Catalog, NamedType, SearchPath, Table, View};
use hotrow_transaction::program::Place;
use sqlparser::ast::{
    self, ArrayElemTypeDef, CharacterLength, DataType as Written, ExactNumberInfo, TimezoneInfo,
};

use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::type_table::kept_as;
use crate::written::object_name;

/// Longest char(n): it is stored in place.
const CHAR_MAX: u64 = 8192;
/// Longest varchar(n), as PostgreSQL has it.
const VARCHAR_MAX: u64 = 10_485_760;

/// Longest bit(n), as PostgreSQL has it.
const BITS_MAX: u64 = 83_886_080;

/// Where names of types are looked for.
#[derive(Clone, Copy)]
pub(crate) struct TypeNames<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) path: &'a SearchPath,
}

/// A type that may be an array.
pub(crate) fn sql_type(written: &Written, names: TypeNames<'_>, place: Place) -> Result<SqlType> {
    match written {
        Written::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::Qualified(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => {
            // As many dimensions as a value has.
            if let Written::Array(_) = **element {
                return sql_type(element, names, place);
            }
            match data_type(element, names, place)? {
                // A domain over one.
                DataType::Array(_) => {
                    Err(unsupported(place, "an array of a domain of arrays", "write type[][]"))
                }
                element => Ok(SqlType::Array(element)),
            }
        }
        scalar => Ok(SqlType::Scalar(data_type(scalar, names, place)?).spread()),
    }
}

/// A scalar type.
pub(crate) fn data_type(written: &Written, names: TypeNames<'_>, place: Place) -> Result<DataType> {
    if let Written::Array(_) = written {
        return sql_type(written, names, place).map(SqlType::packed);
    }
    let Written::Custom(name, _) = written else { return built_in(written, place) };
    match named_type(name, names, place) {
        Some(named) => scalar_of(&named, name, place),
        None if is_built_in(name, "oid") => Ok(DataType::Oid),
        None if is_built_in(name, "name") => Ok(DataType::Name),
        None if is_built_in(name, "refcursor") => Ok(DataType::RefCursor),
        None if let Some(of) = AnyType::ALL.into_iter().find(|of| is_built_in(name, of.name())) => {
            Ok(DataType::Any(of))
        }
        // PostgreSQL has it in the schema that CREATE EXTENSION has put it in.
        None if is_last_part(name, "citext") => Ok(DataType::CiText),
        None if let Some(kind) = range_named(name) => Ok(DataType::Range(kind)),
        None if let Some(of) = encoded_named(name) => Ok(DataType::Encoded(of)),
        None if let Some(element) = element_of_name(name, names, place) => Ok(element.array()),
        None if let Some(rows) = rows_of_name(name, names, place) => {
            let of = DataType::Composite(rows);
            check_nesting(nesting(of), place).map(|()| of)
        }
        None => Err(unknown(&name.to_string().to_lowercase(), place)),
    }
}

/// The type of the rows of the table, or the view, with a name.
fn rows_of_name(
    name: &ast::ObjectName,
    names: TypeNames<'_>,
    place: Place,
) -> Option<CompositeType> {
    let full_name = object_name(name, place).ok()?;
    let table = names.catalog.table_seen(names.path, &full_name);
    let of_table = table.filter(|table| table.sequence.is_none()).map(Table::row_type);
    of_table.or_else(|| view_of_name(name, names, place)?.row_type())
}

/// The view whose rows a type is of.
fn view_of_name<'a>(
    name: &ast::ObjectName,
    names: TypeNames<'a>,
    place: Place,
) -> Option<&'a View> {
    let view = names.catalog.view_seen(names.path, &object_name(name, place).ok()?)?;
    Some(&**view).filter(|view| view.partition.is_none())
}

/// A type of values that are kept: of columns, fields and domains.
pub(crate) fn kept_type(written: &Written, names: TypeNames<'_>, place: Place) -> Result<SqlType> {
    let mut element = written;
    while let Written::Array(
        ArrayElemTypeDef::SquareBracket(of, _)
        | ArrayElemTypeDef::Qualified(of, _)
        | ArrayElemTypeDef::AngleBracket(of)
        | ArrayElemTypeDef::Parenthesis(of),
    ) = element
    {
        element = of;
    }
    if let Written::Custom(name, _) = element
        && named_type(name, names, place).is_none()
        && view_of_name(name, names, place).is_some()
    {
        let what = format!("a column or a field that has rows of the view {name}");
        return Err(unsupported(place, what, "make a composite type, and cast to it"));
    }
    let of = sql_type(written, names, place)?;
    match of.packed() {
        DataType::Any(any) => {
            let message = format!("a column or a field has pseudo-type {}", any.name());
            Err(error(b"42P16", place, message))
        }
        _ => Ok(of),
    }
}

/// Fails for a type with more rows and arrays within each other than values may have.
pub(crate) fn check_nesting(levels: usize, place: Place) -> Result<()> {
    if levels <= DEPTH_MAX {
        return Ok(());
    }
    Err(error(b"54001", place, format!("types are nested more than {DEPTH_MAX} levels deep")))
}

/// The type of the elements of `_int4` and its kin.
fn element_of_name(name: &ast::ObjectName, names: TypeNames<'_>, place: Place) -> Option<DataType> {
    let shown = name.to_string().to_lowercase();
    let element = shown.strip_prefix("pg_catalog.").unwrap_or(&shown).strip_prefix('_')?;
    let own = || {
        let part = ast::ObjectNamePart::Identifier(ast::Ident::new(element));
        data_type(&Written::Custom(ast::ObjectName(vec![part]), Vec::new()), names, place).ok()
    };
    kept_as(element).or_else(own).filter(|of| of.element().is_none())
}

/// Whether a type that is written is one of arrays.
pub(crate) fn is_array_type(written: &Written, names: TypeNames<'_>, place: Place) -> bool {
    matches!(sql_type(written, names, place), Ok(SqlType::Array(_)))
}

/// The type of addresses that has this name.
fn encoded_named(name: &ast::ObjectName) -> Option<EncodedType> {
    ADDRESSES.into_iter().find(|of| is_built_in(name, of.name()))
}

/// The kind of ranges whose type has this name.
fn range_named(name: &ast::ObjectName) -> Option<RangeKind> {
    RangeKind::ALL.into_iter().find(|kind| is_built_in(name, kind.name()))
}

/// Whether a name of a type is that of a built-in one that the parser does not know.
fn is_built_in(name: &ast::ObjectName, built_in: &str) -> bool {
    let name = name.to_string().to_lowercase();
    name.strip_prefix("pg_catalog.").unwrap_or(&name) == built_in
}

fn is_last_part(name: &ast::ObjectName, wanted: &str) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|last| last.value.eq_ignore_ascii_case(wanted))
}

/// A scalar type that nobody has to make.
pub(crate) fn built_in(written: &Written, place: Place) -> Result<DataType> {
    use Written as W;
    Ok(match written {
        W::Boolean | W::Bool => DataType::Boolean,
        W::SmallInt(None) | W::Int2(None) => DataType::SmallInt,
        W::Int(None) | W::Integer(None) | W::Int4(None) => DataType::Integer,
        W::BigInt(None) | W::Int8(None) => DataType::BigInt,
        W::Real | W::Float4 => DataType::Real,
        W::Double(ExactNumberInfo::None) | W::DoublePrecision | W::Float8 => DataType::Double,
        W::Float(ExactNumberInfo::None) => DataType::Double,
        W::Float(ExactNumberInfo::Precision(bits)) if *bits <= 24 => DataType::Real,
        W::Float(ExactNumberInfo::Precision(_)) => DataType::Double,
        W::Numeric(info) | W::Decimal(info) | W::Dec(info) => numeric(*info, place)?,
        W::Text => DataType::Text,
        W::Varchar(length) | W::CharacterVarying(length) | W::CharVarying(length) => match length {
            None => DataType::Text,
            Some(length) => DataType::Varchar(bounded("varchar", *length, VARCHAR_MAX, place)?),
        },
        W::Char(length) | W::Character(length) => match length {
            None => DataType::Char(1),
            Some(length) => DataType::Char(bounded("char", *length, CHAR_MAX, place)?),
        },
        W::Bytea => DataType::Bytea,
        W::Uuid => DataType::Uuid,
        W::Interval { fields: None, precision: None } => DataType::Interval,
        W::Interval { .. } => return Err(crate::temporal::precision(place)),
        W::JSON => DataType::Json,
        W::JSONB => DataType::Jsonb,
        W::Date => DataType::Date,
        W::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            DataType::Time(digits_of_second(*digits))
        }
        W::Time(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            DataType::Encoded(EncodedType::TimeTz(digits_of_second(*digits)))
        }
        W::Bit(bits) => {
            let bits = within("bit", bits.unwrap_or(1), BITS_MAX, place)?;
            DataType::Encoded(EncodedType::Bit(bits))
        }
        W::BitVarying(None) | W::VarBit(None) => DataType::Encoded(EncodedType::VarBit(0)),
        W::BitVarying(Some(bits)) | W::VarBit(Some(bits)) => {
            DataType::Encoded(EncodedType::VarBit(within("varbit", *bits, BITS_MAX, place)?))
        }
        W::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            DataType::Timestamp(digits_of_second(*digits))
        }
        W::Timestamp(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
            DataType::TimestampTz(digits_of_second(*digits))
        }
        W::Array(_) => return Err(unsupported(place, "an array here", "write the scalar type")),
        other => return Err(unknown(&other.to_string().to_lowercase(), place)),
    })
}

/// More digits than there are are the most, as in PostgreSQL.
fn digits_of_second(written: Option<u64>) -> u8 {
    let digits = written.and_then(|digits| u8::try_from(digits).ok());
    digits.map_or(TIME_DIGITS, |digits| digits.min(TIME_DIGITS))
}

/// The type that was given such a name.
pub(crate) fn named_type(
    name: &ast::ObjectName,
    names: TypeNames<'_>,
    place: Place,
) -> Option<Arc<NamedType>> {
    let name = object_name(name, place).ok()?;
    names.catalog.type_seen(names.path, &name).cloned()
}

/// A named type where a value of one piece is to be.
fn scalar_of(named: &NamedType, name: &ast::ObjectName, place: Place) -> Result<DataType> {
    match named {
        NamedType::Enum(of) => Ok(DataType::Enum(*of)),
        NamedType::Domain(domain) if domain.checks.is_empty() && domain.nullable => Ok(domain.of),
        NamedType::Domain(_) => Err(unsupported(
            place,
            format!("domain {name} here"),
            "columns can have domains with constraints; write the type that it is made from",
        )),
        NamedType::Composite(of) => Ok(DataType::Composite(*of)),
    }
}

fn unknown(name: &str, place: Place) -> hotrow_transaction::outcome::SqlError {
    const KNOWN_ELSEWHERE: &[(&str, &str)] = &[
        ("serial", "write integer and pass the value, or keep a counter in a row"),
        ("bigserial", "write bigint and pass the value, or keep a counter in a row"),
        ("smallserial", "write smallint and pass the value, or keep a counter in a row"),
        ("money", "write numeric(19,2)"),
    ];
    if let Some((_, hint)) = KNOWN_ELSEWHERE.iter().find(|(known, _)| name == *known) {
        return unsupported(place, format!("type {name}"), *hint);
    }
    if name.starts_with("time") {
        let hint = "keep a timestamptz, or a time and an interval for the zone";
        return unsupported(place, format!("type {name}"), hint);
    }
    error(b"42704", place, format!("type \"{name}\" does not exist")).hint(
        "types are boolean, smallint, integer, bigint, real, double precision, numeric(p,s), \
         text, varchar(n), char(n), bytea, timestamp, timestamptz, date, time, interval, \
         uuid, json, jsonb, int4range and its kin",
    )
}

fn numeric(info: ExactNumberInfo, place: Place) -> Result<DataType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(DataType::AnyNumeric),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let out_of = |what: &str, n: &dyn Display, least: i32| {
        error(b"22023", place, format!("NUMERIC {what} {n} must be between {least} and 1000"))
    };
    if !(1..=1000).contains(&precision) {
        return Err(out_of("precision", &precision, 1));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(out_of("scale", &scale, -1000));
    }
    Ok(match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision @ ..=DIGITS_MAX), Ok(scale)) if scale <= precision => {
            DataType::Numeric { precision, scale }
        }
        _ => DataType::WideNumeric { precision: precision as u16, scale: scale as i16 },
    })
}

fn bounded(name: &str, length: CharacterLength, max: u64, place: Place) -> Result<u32> {
    match length {
        CharacterLength::IntegerLength { length, .. } => within(name, length, max, place),
        CharacterLength::Max => Err(syntax(place, "syntax error at or near \"max\"")),
    }
}

/// A length that a type may have.
fn within(name: &str, length: u64, max: u64, place: Place) -> Result<u32> {
    let wrong = match length {
        0 => "must be at least 1".to_owned(),
        length if length > max => format!("cannot exceed {max}"),
        length => return Ok(length as u32),
    };
    Err(error(b"22023", place, format!("length for type {name} {wrong}")))
}
