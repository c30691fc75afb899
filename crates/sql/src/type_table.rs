//! The types: what PostgreSQL's catalog says of each, and what its values are here.
//!
//! Role         asked by the system catalog, the server's protocol, casts to the catalog's names
//!              and whoever chooses between functions by the categories of their arguments

use hotrow_base::composite::CompositeType;
use hotrow_base::encoded::EncodedType;
use hotrow_base::enumeration::EnumType;
use hotrow_base::types::{AnyType, DataType, RangeKind, TIME_DIGITS};

/// A type, as PostgreSQL numbers it.
#[derive(Clone, Copy)]
pub struct KnownType {
    /// its number
    pub oid: i64,
    /// as the catalog writes it
    pub name: &'static str,
    /// as the standard writes it
    pub standard: &'static str,
    /// the number of the type of arrays of it
    pub array: i64,
    /// bytes of a value, -1 for any number
    pub length: i16,
    pub(crate) category: &'static str,
    /// the type that its values have here; none: there are no values of it
    pub(crate) kept: Option<DataType>,
}

/// What rows are called that have no type of their own.
pub(crate) const RECORD: &str = "record";

/// The number of citext, which has another one in each of PostgreSQL's databases.
const CITEXT: i64 = 16_370;

/// Numbers from here on are of enums and of arrays of them; those of relations are below.
const FIRST_ENUM: i64 = 1_600_000_000;

/// Numbers from here on are of composite types and of arrays of them.
const FIRST_COMPOSITE: i64 = 1_800_000_000;

/// The types: those that columns can have first, then what the catalog calls by other names, and
/// what some clients look up.
pub(crate) const TYPES: &[KnownType] = {
    use AnyType as A;
    use DataType as T;
    use EncodedType as E;
    const fn t(
        (oid, array): (i64, i64),
        name: &'static str,
        standard: &'static str,
        length: i16,
        category: &'static str,
        kept: Option<DataType>,
    ) -> KnownType {
        KnownType { oid, name, standard, array, length, category, kept }
    }
    &[
        t((16, 1000), "bool", "boolean", 1, "B", Some(T::Boolean)),
        t((17, 1001), "bytea", "bytea", -1, "U", Some(T::Bytea)),
        t((20, 1016), "int8", "bigint", 8, "N", Some(T::BigInt)),
        t((21, 1005), "int2", "smallint", 2, "N", Some(T::SmallInt)),
        t((23, 1007), "int4", "integer", 4, "N", Some(T::Integer)),
        t((25, 1009), "text", "text", -1, "S", Some(T::Text)),
        t((26, 1028), "oid", "oid", 4, "N", Some(T::Oid)),
        t((700, 1021), "float4", "real", 4, "N", Some(T::Real)),
        t((701, 1022), "float8", "double precision", 8, "N", Some(T::Double)),
        t((1042, 1014), "bpchar", "character", -1, "S", Some(T::Char(1))),
        t((1043, 1015), "varchar", "character varying", -1, "S", Some(T::Varchar(1))),
        t((1082, 1182), "date", "date", 4, "D", Some(T::Date)),
        t((1114, 1115), "timestamp", "timestamp without time zone", 8, "D", Some(T::TIMESTAMP)),
        t((1184, 1185), "timestamptz", "timestamp with time zone", 8, "D", Some(T::TIMESTAMPTZ)),
        t((1186, 1187), "interval", "interval", 16, "T", Some(T::Interval)),
        t((1700, 1231), "numeric", "numeric", -1, "N", Some(DataType::AnyNumeric)),
        t((2950, 2951), "uuid", "uuid", 16, "U", Some(T::Uuid)),
        t((114, 199), "json", "json", -1, "U", Some(T::Json)),
        t((3802, 3807), "jsonb", "jsonb", -1, "U", Some(T::Jsonb)),
        t((18, 1002), "char", "\"char\"", 1, "Z", Some(T::CatalogChar)),
        t((1083, 1183), "time", "time without time zone", 8, "D", Some(T::Time(TIME_DIGITS))),
        t((19, 1003), "name", "name", 64, "S", Some(T::Name)),
        t((3904, 3905), "int4range", "int4range", -1, "R", Some(T::Range(RangeKind::Int4))),
        t((3926, 3927), "int8range", "int8range", -1, "R", Some(T::Range(RangeKind::Int8))),
        t((3906, 3907), "numrange", "numrange", -1, "R", Some(T::Range(RangeKind::Num))),
        t((3908, 3909), "tsrange", "tsrange", -1, "R", Some(T::Range(RangeKind::Ts))),
        t((3910, 3911), "tstzrange", "tstzrange", -1, "R", Some(T::Range(RangeKind::TsTz))),
        t((3912, 3913), "daterange", "daterange", -1, "R", Some(T::Range(RangeKind::Date))),
        t((869, 1041), "inet", "inet", -1, "I", Some(T::Encoded(E::Inet))),
        t((650, 651), "cidr", "cidr", -1, "I", Some(T::Encoded(E::Cidr))),
        t((829, 1040), "macaddr", "macaddr", 6, "U", Some(T::Encoded(E::MacAddr))),
        t((774, 775), "macaddr8", "macaddr8", 8, "U", Some(T::Encoded(E::MacAddr8))),
        t((1560, 1561), "bit", "bit", -1, "V", Some(T::Encoded(E::Bit(0)))),
        t((1562, 1563), "varbit", "bit varying", -1, "V", Some(T::Encoded(E::VarBit(0)))),
        t(
            (1266, 1270),
            "timetz",
            "time with time zone",
            12,
            "D",
            Some(T::Encoded(E::TimeTz(TIME_DIGITS))),
        ),
        t((CITEXT, CITEXT + 1), "citext", "citext", -1, "S", Some(T::CiText)),
        t((1790, 2201), "refcursor", "refcursor", -1, "U", Some(T::RefCursor)),
        t((2283, 0), "anyelement", "anyelement", 4, "P", Some(T::Any(A::Element))),
        t((2277, 0), "anyarray", "anyarray", -1, "P", Some(T::Any(A::Array))),
        t((2776, 0), "anynonarray", "anynonarray", 4, "P", Some(T::Any(A::NonArray))),
        t((3500, 0), "anyenum", "anyenum", 4, "P", Some(T::Any(A::Enum))),
        t((5077, 0), "anycompatible", "anycompatible", 4, "P", Some(T::Any(A::Compatible))),
        t(
            (5078, 0),
            "anycompatiblearray",
            "anycompatiblearray",
            -1,
            "P",
            Some(T::Any(A::CompatibleArray)),
        ),
        t(
            (5079, 0),
            "anycompatiblenonarray",
            "anycompatiblenonarray",
            4,
            "P",
            Some(T::Any(A::CompatibleNonArray)),
        ),
        t((22, 1006), "int2vector", "int2vector", -1, "A", None),
        t((30, 1013), "oidvector", "oidvector", -1, "A", None),
        t((24, 1008), "regproc", "regproc", 4, "N", Some(T::Text)),
        t((28, 1011), "xid", "xid", 4, "U", Some(T::BigInt)),
        t((2205, 2210), "regclass", "regclass", 4, "N", None),
        t((2206, 2211), "regtype", "regtype", 4, "N", None),
        t((2249, 2287), "record", "record", -1, "P", None),
        t((2275, 1263), "cstring", "cstring", -2, "P", Some(T::Text)),
        t((2278, 0), "void", "void", 4, "P", None),
        t((4072, 4073), "jsonpath", "jsonpath", -1, "U", Some(T::Text)),
        t((4089, 4090), "regnamespace", "regnamespace", 4, "N", Some(T::Text)),
        t((4096, 4097), "regrole", "regrole", 4, "N", Some(T::Text)),
    ]
};

/// Reads something of what PostgreSQL's catalog says of a type, which is not copied for it: answers
/// ask for each column.
#[inline]
pub fn of_known_type<T>(data_type: DataType, read: impl FnOnce(&KnownType) -> T) -> T {
    match data_type {
        DataType::Enum(_) | DataType::Array(_) | DataType::Composite(_) => {
            read(&known_type(data_type))
        }
        other => read(&TYPES[place_of(other)]),
    }
}

/// What PostgreSQL's catalog says of a type.
pub fn known_type(data_type: DataType) -> KnownType {
    match data_type {
        DataType::Enum(of) => return enum_type(of),
        DataType::Composite(of) => return composite_type(of),
        DataType::Array(element) => return array_type(known_type(*element)),
        _ => {}
    }
    TYPES[place_of(data_type)]
}

/// A type's length or digits, as `atttypmod` and RowDescription tell them.
pub fn type_modifier(data_type: DataType) -> i32 {
    let of_digits = |precision: u16, scale: i16| {
        // A scale has eleven bits, one of them its sign.
        (i32::from(precision) << 16 | i32::from(scale) & 0x7FF) + 4
    };
    match data_type {
        DataType::Varchar(n) | DataType::Char(n) => n as i32 + 4,
        DataType::Numeric { precision, scale } => of_digits(precision.into(), scale.into()),
        DataType::WideNumeric { precision, scale } => of_digits(precision, scale),
        DataType::Array(element) => type_modifier(*element),
        DataType::Encoded(EncodedType::Bit(bits @ 1..) | EncodedType::VarBit(bits @ 1..)) => {
            bits as i32
        }
        DataType::Encoded(EncodedType::TimeTz(digits)) if digits < TIME_DIGITS => digits.into(),
        DataType::Time(digits) | DataType::Timestamp(digits) | DataType::TimestampTz(digits)
            if digits < TIME_DIGITS =>
        {
            digits.into()
        }
        _ => -1,
    }
}

/// Where a type stands among [`TYPES`], whatever its length and digits. Answers ask for each
/// column.
const fn place_of(data_type: DataType) -> usize {
    use DataType as T;
    match data_type {
        T::Boolean => 0,
        T::Bytea => 1,
        T::BigInt => 2,
        T::SmallInt => 3,
        T::Integer => 4,
        // An enum is asked for by its number.
        // Nor is an array asked for here, nor a row.
        T::Text | T::Enum(_) | T::Array(_) | T::Composite(_) => 5,
        T::Oid => 6,
        T::Real => 7,
        T::Double => 8,
        T::Char(_) => 9,
        T::Varchar(_) => 10,
        T::Date => 11,
        T::Timestamp(_) => 12,
        T::TimestampTz(_) => 13,
        T::Interval => 14,
        T::Numeric { .. } | T::AnyNumeric | T::WideNumeric { .. } => 15,
        T::Uuid => 16,
        T::Json => 17,
        T::Jsonb => 18,
        T::CatalogChar => 19,
        T::Time(_) => 20,
        T::Name => 21,
        T::Range(RangeKind::Int4) => 22,
        T::Range(RangeKind::Int8) => 23,
        T::Range(RangeKind::Num) => 24,
        T::Range(RangeKind::Ts) => 25,
        T::Range(RangeKind::TsTz) => 26,
        T::Range(RangeKind::Date) => 27,
        T::Encoded(of) => 28 + of.place(),
        T::CiText => 35,
        T::RefCursor => 36,
        T::Any(of) => 37 + of as usize,
    }
}

/// Each type stands where it is looked for: further names of a type stand behind its own.
const _: () = {
    let (mut at, mut found) = (0, 0);
    while at < TYPES.len() {
        if let Some(kept) = TYPES[at].kept {
            let place = place_of(kept);
            assert!(place <= at && matches!(TYPES[place].kept, Some(of) if place_of(of) == place));
            found += (place == at) as usize;
        }
        at += 1;
    }
    assert!(found == 44);
};

/// Whether the catalog has a type of this name.
pub(crate) fn is_known(name: &str) -> bool {
    TYPES.iter().any(|known| known.name == name)
}

/// The type that values have which the catalog calls so.
pub(crate) fn kept_as(name: &str) -> Option<DataType> {
    let kept = TYPES.iter().find(|known| known.name == name)?.kept?;
    let is_own = kept.is_folded() || kept == DataType::RefCursor;
    Some(if kept.is_text() && !is_own { DataType::Text } else { kept })
}

/// The type of arrays of another one. Its name is that of the other, which says so where it is
/// shown.
fn array_type(of: KnownType) -> KnownType {
    KnownType { oid: of.array, array: 0, length: -1, category: "A", kept: None, ..of }
}

/// An enum, or a composite type, gets its numbers when this process meets it: they may be others
/// after a restart, so clients ask for them on each connection, as they do elsewhere.
fn numbered(
    (first, number): (i64, u32),
    name: &'static str,
    length: i16,
    category: &'static str,
    kept: DataType,
) -> KnownType {
    let oid = first + 2 * i64::from(number);
    KnownType { oid, name, standard: name, array: oid + 1, length, category, kept: Some(kept) }
}

/// The number of the type among those of its kind that has such a number in the catalog.
fn number_of(oid: u32, first: i64) -> Option<u32> {
    let number = u32::try_from(i64::from(oid) - first).ok().filter(|number| number % 2 == 0)?;
    Some(number / 2)
}

pub(crate) fn enum_type(of: EnumType) -> KnownType {
    numbered((FIRST_ENUM, of.number()), of.name(), 4, "E", DataType::Enum(of))
}

pub(crate) fn composite_type(of: CompositeType) -> KnownType {
    if of.name() == RECORD
        && let Some(record) = TYPES.iter().find(|known| known.name == RECORD)
    {
        return KnownType { kept: Some(DataType::Composite(of)), ..*record };
    }
    numbered((FIRST_COMPOSITE, of.number()), of.name(), -1, "C", DataType::Composite(of))
}

/// The composite type that has such a number.
pub fn composite_with_oid(oid: u32) -> Option<CompositeType> {
    CompositeType::with_number(number_of(oid, FIRST_COMPOSITE)?)
}

/// The enum that has such a number.
pub fn enum_with_oid(oid: u32) -> Option<EnumType> {
    EnumType::with_number(number_of(oid, FIRST_ENUM)?)
}
