//! The scalar functions of programs.

use hotrow_base::encoded::EncodedFunction;
use hotrow_base::json::JsonFunction;
use hotrow_base::range::RangeFunction;

use super::operator::{ArithmeticOp, CompareOp};
use crate::random::Randomness;

/// What is done with bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BitFunction {
    /// `a & b`
    And,
    /// `a | b`
    Or,
    /// `a # b`
    Xor,
    /// `~a`
    Not,
    /// `a << n`
    ShiftLeft,
    /// `a >> n`
    ShiftRight,
}

/// Functions of intervals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntervalFunction {
    /// - interval
    Negate,
    /// interval + interval
    Add,
    /// interval - interval
    Subtract,
    /// interval * double precision
    Multiply,
    /// interval / double precision
    Divide,
    /// justify_hours(interval)
    JustifyHours,
    /// justify_days(interval)
    JustifyDays,
    /// justify_interval(interval)
    Justify,
    /// make_interval(years, months, weeks, days, hours, mins, secs): integers and a double
    Make,
}

/// Functions of numerics, of which at least one is a numeric without a precision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NumericFunction {
    /// a operator b
    Arithmetic(ArithmeticOp),
    /// - a
    Negate,
    /// div(a, b): the quotient cut to a whole number
    DivideWhole,
    /// log(base, a), or log(a), whose base is 10
    Logarithm,
    /// trim_scale(a)
    Trim,
    /// factorial(a)
    Factorial,
    /// scale(a)
    Scale,
    /// min_scale(a)
    LeastScale,
}

/// Functions of templates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TemplateFunction {
    /// to_char(number or time, template)
    ToChar,
    /// to_date(text, template)
    ToDate,
    /// to_timestamp(text, template)
    ToTimestamp,
    /// to_timestamp(double precision): seconds since 1970
    OfEpoch,
    /// to_number(text, template)
    ToNumber,
}

/// Trigonometric and related functions of double precision, which give such.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RealFunction {
    /// sine of radians
    Sin,
    /// cosine of radians
    Cos,
    /// tangent of radians
    Tan,
    /// cotangent of radians
    Cot,
    /// arc sine
    Asin,
    /// arc cosine
    Acos,
    /// arc tangent
    Atan,
    /// atan2(y, x)
    AtanOfTwo,
    /// sine of degrees
    SinOfDegrees,
    /// cosine of degrees
    CosOfDegrees,
    /// tangent of degrees
    TanOfDegrees,
    /// cotangent of degrees
    CotOfDegrees,
    /// arc sine in degrees
    AsinInDegrees,
    /// arc cosine in degrees
    AcosInDegrees,
    /// arc tangent in degrees
    AtanInDegrees,
    /// atan2(y, x) in degrees
    AtanOfTwoInDegrees,
    /// hyperbolic sine
    Sinh,
    /// hyperbolic cosine
    Cosh,
    /// hyperbolic tangent
    Tanh,
    /// its inverse
    Asinh,
    /// that of the hyperbolic cosine
    Acosh,
    /// that of the hyperbolic tangent
    Atanh,
    /// radians as degrees
    Degrees,
    /// degrees as radians
    Radians,
    /// cube root
    CubeRoot,
    /// logarithm to the base 10
    Log10,
    /// logarithm: (base, of)
    LogOf,
}

/// Functions of whole numbers, of the result's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WholeFunction {
    /// greatest common divisor
    Gcd,
    /// least common multiple
    Lcm,
}

/// Functions that write texts and bytes in other ways.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextFunction {
    /// translate(text, from, to): character by character
    Translate,
    /// whether a text begins with another
    StartsWith,
    /// words with capitals
    InitCap,
    /// the character with a number
    Character,
    /// the number of the first character
    Code,
    /// an integer in hexadecimal
    Hex32,
    /// a bigint in hexadecimal
    Hex64,
    /// bits in a text or bytea
    BitLength,
    /// digest, in hexadecimal
    Md5,
    /// digest
    Sha224,
    /// digest
    Sha256,
    /// digest
    Sha384,
    /// digest
    Sha512,
    /// digest(data, name of the digest)
    Digest,
    /// hmac(data, key, name of the digest)
    Hmac,
    /// encode(bytea, format)
    Encode,
    /// decode(text, format)
    Decode,
    /// get_byte(bytea, number)
    GetByte,
    /// as many bytes as are asked for, computed from a random value: gen_random_bytes(number)
    RandomBytes,
}

/// How far an array reaches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// array_length(array, 1)
    Length,
    /// array_upper(array, 1)
    Upper,
    /// array_lower(array, 1)
    Lower,
    /// array_ndims(array)
    Dimensions,
    /// array_dims(array)
    Text,
}

/// What is done with rows of a composite type. Fields that are arrays are packed; each field of
/// NULL is NULL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowFunction {
    /// a row of the result's type, of its fields in their order
    Make,
    /// the field at a place
    Field(u16),
    /// the row with another value in the field at a place: (row, value)
    With(u16),
}

/// Functions of arrays, whose elements lie in a list, but for those that are packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArrayFunction {
    /// `ARRAY[a, b, ...]`, of values of one type
    Of,
    /// `ARRAY[a, b, ...]`, of arrays
    Nest,
    /// the slices of an array of so many dimensions, each in one piece
    Slices,
    /// the array in one piece, as columns have it
    Pack,
    /// the elements of an array in one piece
    Unpack,
    /// array_prepend(element, array); NULL counts as an empty array
    Prepend,
    /// array_cat(array, array)
    Concat,
    /// `array[index]`, with a subscript for each dimension
    Element,
    /// the array behind `array[index] := value`, with a subscript for each dimension
    Set,
    /// the array behind `array[from:to] := array`, with two bounds for each dimension
    SetSlice,
    /// `array[from:to]`, with two bounds for each dimension; the least or greatest integer
    /// stands for one that is not written
    Slice,
    /// trim_array(array, n)
    Trim,
    /// array_remove(array, element)
    Remove,
    /// array_replace(array, old, new)
    Replace,
    /// array_position(array, element [, from])
    Position,
    /// array_positions(array, element)
    Positions,
    /// array_length and its kin; NULL for an empty one
    Extent(Extent),
    /// `array @> array`
    Contains,
    /// `array <@ array`
    ContainedBy,
    /// `array && array`
    Overlaps,
    /// `value < ANY (array)` and its kin, with elements that compare with the value as they are
    Any(CompareOp),
    /// `value < ALL (array)` and its kin
    All(CompareOp),
    /// array_to_string(array, separator [, for NULL])
    Join,
    /// string_to_array(text, separator [, NULL])
    Split,
    /// array_fill(value, ARRAY[count, ...] [, ARRAY[lower, ...]])
    Fill,
}

impl ArrayFunction {
    /// Its name in SQL; of those that are written as operators or subscripts, what they do.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of | Self::Nest => "array",
            Self::Slices => "slices",
            Self::Pack => "pack",
            Self::Unpack => "unpack",
            Self::Prepend => "array_prepend",
            Self::Concat => "array_cat",
            Self::Element => "element",
            Self::Set => "set_element",
            Self::SetSlice => "set_slice",
            Self::Slice => "slice",
            Self::Trim => "trim_array",
            Self::Remove => "array_remove",
            Self::Replace => "array_replace",
            Self::Position => "array_position",
            Self::Positions => "array_positions",
            Self::Extent(Extent::Length) => "array_length",
            Self::Extent(Extent::Upper) => "array_upper",
            Self::Extent(Extent::Lower) => "array_lower",
            Self::Extent(Extent::Dimensions) => "array_ndims",
            Self::Extent(Extent::Text) => "array_dims",
            Self::Contains => "contains",
            Self::ContainedBy => "contained_by",
            Self::Overlaps => "overlaps",
            Self::Any(_) => "any",
            Self::All(_) => "all",
            Self::Join => "array_to_string",
            Self::Split => "string_to_array",
            Self::Fill => "array_fill",
        }
    }
}

/// Scalar functions, each with argument and result types already fixed by the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    /// of double precision
    Real(RealFunction),
    /// of whole numbers
    Whole(WholeFunction),
    /// of numerics of any number of digits
    Numeric(NumericFunction),
    /// texts and bytes in other ways
    Recode(TextFunction),
    /// absolute value
    Abs,
    /// largest whole number not above
    Floor,
    /// smallest whole number not below
    Ceil,
    /// round half away from zero; with a second argument, to that many digits
    Round,
    /// cut towards zero; with a second argument, to that many digits
    Trunc,
    /// -1, 0, 1
    Sign,
    /// square root; double precision
    Sqrt,
    /// power; double precision
    Power,
    /// natural exponential; double precision
    Exp,
    /// natural logarithm; double precision
    Ln,
    /// modulo as a function
    Mod,
    /// the first argument where the second is true, else an error: (value, condition, its SQLSTATE,
    /// its message)
    Require,
    /// whether a row is in a partition by HASH: (number, modulus, remainder, values of the key ...)
    SatisfiesHash,
    /// greatest non-NULL argument
    Greatest,
    /// least non-NULL argument
    Least,
    /// NULL when both arguments are equal, else the first
    NullIf,
    /// characters in a text
    Length,
    /// bytes in a text or bytea
    OctetLength,
    /// lower case
    Lower,
    /// upper case
    Upper,
    /// substring(text or bytea, start [, count])
    Substring,
    /// left(text, n)
    Left,
    /// right(text, n)
    Right,
    /// position(needle in text): arguments (text, needle)
    Position,
    /// trim both ends [of these characters]
    Trim,
    /// trim the left end
    LTrim,
    /// trim the right end
    RTrim,
    /// lpad(text, n [, fill])
    LPad,
    /// rpad(text, n [, fill])
    RPad,
    /// replace(text, from, to)
    Replace,
    /// repeat(text, n)
    Repeat,
    /// reverse(text)
    Reverse,
    /// concat(...): NULLs count as empty
    Concat,
    /// concat_ws(separator, ...): texts joined, without those that are NULL
    ConcatWs,
    /// format(text, ...), of values that are texts
    Format,
    /// text LIKE pattern
    Like,
    /// text ~ pattern ([`crate::pattern`])
    Matches,
    /// text ~* pattern
    MatchesAnyCase,
    /// extract(field from date/timestamp): arguments (value, field code as integer)
    Extract,
    /// date_trunc(field, timestamp [, zone]): arguments (field code as integer, value [, zone])
    DateTrunc,
    /// date + days
    DateAdd,
    /// date - date, in days
    DateDiff,
    /// timestamp + interval
    TimestampAdd,
    /// timestamp - timestamp, an interval
    TimestampDiff,
    /// age(timestamp, timestamp)
    Age,
    /// of intervals alone
    Interval(IntervalFunction),
    /// texts of numbers and times, and back
    Template(TemplateFunction),
    /// make_date(year, month, day)
    MakeDate,
    /// make_time(hour, minute, second)
    MakeTime,
    /// make_timestamp(year, month, day, hour, minute, second [, zone])
    MakeTimestamp,
    /// date_bin(stride, timestamp, origin)
    DateBin,
    /// isfinite(date, timestamp or interval)
    IsFinite,
    /// a timestamp as a zone's clock shows it, or when that shows one: (the zone's
    /// name, or an interval that it is ahead of UTC, time)
    InZone,
    /// elements in an array: 0 for an empty one
    Cardinality,
    /// an array with a value behind its elements; NULL counts as an empty one
    ArrayAppend,
    /// an array with its elements converted to another type; with a number, they are texts that are
    /// cut to so many characters
    ArrayCast,
    /// value = ANY (array), with elements that compare with the value as they are; false for an
    /// empty array
    ElementOf,
    /// of arrays
    Array(ArrayFunction),
    /// of the bits of integers: of one type, but for how far they are shifted, which is an integer
    Bits(BitFunction),
    /// of json and jsonb
    Json(JsonFunction),
    /// of ranges
    Range(RangeFunction),
    /// of rows of a composite type
    Row(RowFunction),
    /// of addresses, bit strings and times with a zone
    Encoded(EncodedFunction),
    /// random values: arguments (the call's seed, place, turn, time); without any in a column's
    /// DEFAULT, where whatever inserts puts its own
    Random(Randomness),
    /// current_user in a column's DEFAULT, where whatever inserts puts what its session says
    CurrentUser,
    /// session_user, in the same way
    SessionUser,
    /// what the call leaves to its caller to do before COMMIT ([`crate::invocation::Leaves`]): 0
    /// nothing, 1 what is declared INITIALLY DEFERRED, 2 all that can be deferred
    Leaves,
}
