//! Numbers by templates: to_char and to_number.
//!
//! ```text
//! template    { pattern | "text" | character }
//! pattern     9 0 . , D G V EEEE S MI PL SG PR RN TH th L FM B; capitals or small letters
//! ```
//!
//! Role         pure functions on values and texts; the calls of SQL are elsewhere
//! Stages       template -> picture, which tells of all of it (how many digits, which sign);
//!              to_char makes a number's digits for the picture, then goes over the template again
//!              and writes; to_number goes over both template and text, and gathers digits
//! Invariants   I1 no template, number or text panics
//!              I2 a text has at most 12 bytes per byte of its template, and 512: RN has 15 for 2,
//!                 EEEE the number's own
//! Source       PostgreSQL 15, table 9.29 and formatting.c, in the C locale: the point is `.`, the
//!              separator `,`, the currency a blank

mod digits;
mod picture;
mod read;
mod write;

#[cfg(test)]
mod fuzz_tests;
#[cfg(test)]
mod tests;

use super::Decimal;
use crate::template::TemplateError;
use picture::Picture;

/// A number of one of SQL's types, which differ in what they do with digits.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// integer
    Int(i32),
    /// bigint
    BigInt(i64),
    /// numeric
    Numeric(Decimal),
    /// real
    Real(f32),
    /// double precision
    Double(f64),
}

/// `to_char(number, template)`.
///
/// # Errors
///
/// 42601 where the template has patterns that do not go together, 22003 where V makes a bigint too
/// great, or RN is to show a number beyond 32 bits, 22P02 where TH follows what is no digit.
pub fn number_to_text(number: Number, template: &str) -> Result<String, TemplateError> {
    if template.is_empty() {
        return Ok(String::new());
    }
    let mut picture = Picture::of(template)?;
    let digits = digits::of(number, &mut picture)?;
    write::text_of(&digits, picture, template)
}

/// `to_number(text, template)`; NULL if the template is empty.
///
/// # Errors
///
/// 42601 as in [`number_to_text`], 0A000 for EEEE and RN, 22P02 where there are no digits, 22003
/// where there are more than the template has, or more than a numeric.
pub fn text_to_number(text: &str, template: &str) -> Result<Option<Decimal>, TemplateError> {
    if template.is_empty() {
        return Ok(None);
    }
    let picture = Picture::of(template)?;
    read::number_of(text, &picture, template).map(Some)
}

/// How many digits behind the point a number that is read by a template may have; none if the
/// template is not one.
pub fn scale_of_template(template: &str) -> Option<u8> {
    let picture = Picture::of(template).ok()?;
    u8::try_from(picture.fraction + picture.shift).ok().filter(|scale| *scale <= super::DIGITS_MAX)
}
