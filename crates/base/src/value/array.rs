//! Arrays. As parameters their elements lie in a list; in columns they are
//! [packed](crate::packed).

use std::fmt;

use super::array_text::{checked_shape, is_space};
use super::{Value, ValueError};
use crate::datum::Datum;
use crate::interrupt::current;
use crate::memory::{Charge, OutOfMemory};
use crate::shape::{ArrayShape, Dimension};
use crate::types::SqlType;

impl Value {
    /// An array with these elements, as many as its shape has.
    pub fn shaped(elements: Vec<Self>, shape: &ArrayShape) -> Self {
        match shape.is_plain() {
            true => Self::Array(elements),
            false => Self::Shaped(Box::new(*shape), elements),
        }
    }

    /// The elements of an array of any shape; none: it is something else.
    pub fn elements(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) | Self::Shaped(_, elements) => Some(elements),
            _ => None,
        }
    }

    /// The shape of an array: an empty one of something else.
    pub fn shape(&self) -> ArrayShape {
        match self {
            Self::Array(elements) => ArrayShape::plain(elements.len()),
            Self::Shaped(shape, _) => **shape,
            _ => ArrayShape::EMPTY,
        }
    }

    /// An array of arrays, as `array_agg` makes it, which is an array with one dimension more; no
    /// arrays make an empty one.
    ///
    /// # Errors
    ///
    /// 22004 and 2202E: one is NULL, empty or of another shape than the first one.
    pub fn nested(parts: &[Self]) -> Result<Self, ValueError> {
        let Some(inner) = parts.first().map(Self::shape) else {
            return Ok(Self::Array(Vec::new()));
        };
        let mut all = Vec::with_capacity(parts.len() * inner.elements());
        for part in parts {
            match part.elements() {
                None => return Err(ValueError::null_part()),
                Some([]) => return Err(ValueError::no_part("empty arrays")),
                Some(_) if part.shape() != inner => {
                    return Err(ValueError::no_part("arrays of different dimensionality"));
                }
                Some(elements) => all.extend_from_slice(elements),
            }
        }
        let mut dimensions = vec![Dimension::from_one(parts.len() as u32)];
        dimensions.extend(inner.dimensions());
        Ok(Self::shaped(all, &checked_shape(&dimensions)?))
    }

    /// The slices of an array that have so many dimensions, as FOREACH takes them.
    ///
    /// # Errors
    ///
    /// 2202E: the array has fewer.
    pub fn slices(&self, wanted: i32) -> Result<Vec<Self>, ValueError> {
        let (shape, values) = (self.shape(), self.elements().unwrap_or_default());
        let count = shape.dimensions().len();
        let within = usize::try_from(wanted).ok().and_then(|wanted| count.checked_sub(wanted));
        let within = within.ok_or_else(|| ValueError::slice_range(wanted, count))?;
        let shape = checked_shape(&shape.dimensions()[within..])?;
        let slices = values.chunks(shape.elements().max(1));
        Ok(slices.map(|part| Self::shaped(part.to_vec(), &shape)).collect())
    }

    /// The value as a datum of a parameter's type: a scalar as [`Value::to_datum`] makes it, an
    /// array as a range of `elements`, to which its elements are appended. A text is read as an
    /// array literal.
    pub fn to_parameter(
        &self,
        sql_type: SqlType,
        heap: &mut Vec<u8>,
        elements: &mut Vec<Datum>,
    ) -> Result<Datum, ValueError> {
        let (element, values) = match (sql_type, self) {
            (SqlType::Scalar(data_type), _) => return self.to_datum(data_type, heap),
            (_, Self::Null) => return Ok(Datum::NULL),
            (SqlType::Array(element), Self::Array(values) | Self::Shaped(_, values)) => {
                (element, values)
            }
            (SqlType::Array(element), Self::Text(text)) => {
                let array = Self::parse_array(element, text)?;
                return array.to_parameter(sql_type, heap, elements);
            }
            _ => return Err(ValueError::no_cast(self.type_name(), sql_type)),
        };
        let start = elements.len();
        for value in values {
            elements.push(value.to_datum(element, heap)?);
        }
        Ok(self.shape().array_of_list(start, elements))
    }

    /// The value of a datum of a parameter's type.
    pub fn from_parameter(
        datum: Datum,
        sql_type: SqlType,
        heap: &[u8],
        elements: &[Datum],
    ) -> Self {
        match sql_type {
            SqlType::Scalar(data_type) => Self::from_datum(datum, data_type, heap),
            SqlType::Array(_) if datum.is_null() => Self::Null,
            SqlType::Array(element) => {
                let values = elements[datum.as_range().range()].iter();
                let values = values.map(|datum| Self::from_datum(*datum, element, heap));
                Self::shaped(values.collect(), &ArrayShape::of_list(datum, elements))
            }
        }
    }
}

/// A list that nobody knows of before it is read costs nobody anything up to here.
const FREE_BYTES: usize = 64 << 10;

/// The charge of a list of so many values with so many bytes of texts, which grows: none of a small
/// one.
///
/// # Errors
///
/// There is no room for it.
pub fn charged_list(values: usize, text_bytes: usize) -> Result<Charge, OutOfMemory> {
    let bytes = values.saturating_mul(size_of::<Value>()).saturating_mul(3) / 2;
    let bytes = bytes.saturating_add(text_bytes);
    if bytes <= FREE_BYTES {
        return Ok(Charge::default());
    }
    let mut charge = current::charge();
    charge.add(bytes)?;
    Ok(charge)
}

pub(super) fn write_array(
    shape: &ArrayShape,
    elements: &[Value],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let dimensions = shape.dimensions();
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        write!(f, "{shape}=")?;
    }
    if dimensions.is_empty() {
        return f.write_str("{}");
    }
    write_part(dimensions, elements, f)
}

/// Writes what lies in so many dimensions, six at most.
fn write_part(
    dimensions: &[Dimension],
    elements: &[Value],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let [outer, inner @ ..] = dimensions else {
        return elements.first().map_or(Ok(()), |element| write_element(element, f));
    };
    f.write_str("{")?;
    let each = (elements.len() / outer.length.max(1) as usize).max(1);
    for (i, part) in elements.chunks(each).enumerate() {
        f.write_str(if i > 0 { "," } else { "" })?;
        write_part(inner, part, f)?;
    }
    f.write_str("}")
}

fn write_element(element: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = element.to_string();
    if element.is_null() || !needs_quotes(&text) {
        return f.write_str(&text);
    }
    write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn needs_quotes(text: &str) -> bool {
    let special = |c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || is_space(c);
    text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(special)
}
