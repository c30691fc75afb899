//! Arrays from PostgreSQL's text: `{1,2,NULL}`, `{{"a b",c},{d,e}}`, `[0:1]={1,2}`.

use super::array::charged_list;
use super::{Value, ValueError};
use crate::interrupt::current::Pace;
use crate::shape::{ArrayShape, DIMENSIONS_MAX, Dimension, ELEMENTS_MAX};
use crate::types::DataType;

impl Value {
    /// The value of an array literal.
    ///
    /// # Errors
    ///
    /// 22P02 out of form, 2202E and 54000 of its dimensions; that of an element.
    pub fn parse_array(element: DataType, text: &str) -> Result<Self, ValueError> {
        let (given, rest) = written_dimensions(text)?;
        if !rest.starts_with('{') {
            let why = match given {
                Some(_) => "Array contents must start with \"{\".",
                None => "Array value must start with \"{\" or dimension information.",
            };
            return Err(ValueError::malformed_array(text, why));
        }
        // Until somebody has them all, who charges them then.
        let count = 1 + rest.bytes().filter(|byte| *byte == b',').count();
        let _list = charged_list(count, rest.len())?;
        let reader = Reader { element, text, rest, ..Reader::default() };
        let (values, mut dimensions) = reader.read()?;
        if let Some(given) = given {
            let lengths = |of: &[Dimension]| of.iter().map(|it| it.length).collect::<Vec<_>>();
            if lengths(&given) != lengths(&dimensions) {
                let why = "Specified array dimensions do not match array contents.";
                return Err(ValueError::malformed_array(text, why));
            }
            dimensions = given;
        }
        Ok(Self::shaped(values, &checked_shape(&dimensions)?))
    }
}

/// The shape of so many dimensions, if an array may have it.
///
/// # Errors
///
/// 54000
pub fn checked_shape(dimensions: &[Dimension]) -> Result<ArrayShape, ValueError> {
    ArrayShape::new(dimensions).ok_or_else(|| {
        let elements = dimensions.iter().map(|dimension| dimension.length as usize);
        let elements = elements.fold(1, usize::saturating_mul);
        let unreachable = dimensions.iter().find(|it| it.upper() >= i64::from(i32::MAX));
        ValueError::array_limit(match unreachable {
            _ if dimensions.len() > DIMENSIONS_MAX => {
                let given = dimensions.len();
                format!("number of array dimensions ({given}) exceeds {}", maximum(DIMENSIONS_MAX))
            }
            Some(dimension) if elements <= ELEMENTS_MAX => {
                format!("array lower bound is too large: {}", dimension.lower)
            }
            _ => format!("array size exceeds {}", maximum(ELEMENTS_MAX)),
        })
    })
}

fn maximum(of: usize) -> String {
    format!("the maximum allowed ({of})")
}

/// White space around elements; a vertical tab is one to PostgreSQL, though not to Rust.
pub(super) const fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// The dimensions before the first brace, if there are any, and what lies behind them.
fn written_dimensions(text: &str) -> Result<(Option<Vec<Dimension>>, &str), ValueError> {
    let malformed = |why: &str| ValueError::malformed_array(text, why);
    let mut rest = text.trim_start_matches(is_space);
    let mut dimensions = Vec::new();
    while let Some(inside) = rest.strip_prefix('[') {
        if dimensions.len() == DIMENSIONS_MAX {
            let all = vec![Dimension::from_one(1); DIMENSIONS_MAX + 1];
            return checked_shape(&all).map(|_| (None, rest));
        }
        let (first, behind) = number(inside).ok_or_else(|| {
            malformed("\"[\" must introduce explicitly-specified array dimensions.")
        })?;
        let (lower, upper, behind) = match behind.strip_prefix(':') {
            None => (1, first, behind),
            Some(behind) => {
                let missing = || malformed("Missing array dimension value.");
                let (upper, behind) = number(behind).ok_or_else(missing)?;
                (first, upper, behind)
            }
        };
        let behind = behind.strip_prefix(']');
        let behind = behind.ok_or_else(|| malformed("Missing \"]\" after array dimensions."))?;
        if upper < lower {
            return Err(ValueError::array_bounds());
        }
        let length = u32::try_from(i64::from(upper) - i64::from(lower) + 1).unwrap_or(u32::MAX);
        dimensions.push(Dimension { length, lower });
        rest = behind.trim_start_matches(is_space);
    }
    if dimensions.is_empty() {
        return Ok((None, rest));
    }
    let missing = || malformed("Missing \"=\" after array dimensions.");
    let contents = rest.strip_prefix('=').ok_or_else(missing)?;
    Ok((Some(dimensions), contents.trim_start_matches(is_space)))
}

/// A number and what lies behind it, as C reads one: what is out of range is its end.
fn number(text: &str) -> Option<(i32, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-');
    let (digits, behind) = text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()));
    if digits.is_empty() {
        return None;
    }
    let sign = digits.starts_with('-');
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    let end = unsigned.find(['+', '-']).unwrap_or(unsigned.len());
    let value = match &unsigned[..end] {
        "" => 0,
        digits => digits.parse::<i64>().unwrap_or(i64::MAX),
    };
    let value = if sign { -value } else { value };
    Some((value.clamp(i32::MIN.into(), i32::MAX.into()) as i32, behind))
}

/// What was read last.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Nothing,
    /// `{`
    Opened,
    /// an element
    Element,
    /// `}`
    Closed,
    /// a comma behind an element
    BehindElement,
    /// a comma behind `}`
    BehindClosed,
}

/// Reads what stands between braces.
struct Reader<'a> {
    element: DataType,
    text: &'a str,
    rest: &'a str,
    state: State,
    values: Vec<Value>,
    /// the items so far, per open brace
    open: Vec<u32>,
    /// the items that the first part of each depth had
    lengths: Vec<Option<u32>>,
    /// the depth of the elements
    leaves: Option<usize>,
    /// the first element that is none; told if the braces are in order
    failed: Option<ValueError>,
}

impl Default for Reader<'_> {
    fn default() -> Self {
        Self {
            element: DataType::Text,
            text: "",
            rest: "",
            state: State::Nothing,
            values: Vec::new(),
            open: Vec::new(),
            lengths: Vec::new(),
            leaves: None,
            failed: None,
        }
    }
}

impl Reader<'_> {
    fn malformed<T>(&self, why: &str) -> Result<T, ValueError> {
        Err(ValueError::malformed_array(self.text, why))
    }

    fn unexpected<T>(&self, c: char) -> Result<T, ValueError> {
        self.malformed(&format!("Unexpected \"{c}\" character."))
    }

    fn ragged<T>(&self) -> Result<T, ValueError> {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    /// The elements, and the dimensions that the braces say, each of which begins at 1.
    fn read(mut self) -> Result<(Vec<Value>, Vec<Dimension>), ValueError> {
        let mut pace = Pace::new();
        loop {
            let before = self.rest.len();
            self.rest = self.rest.trim_start_matches(is_space);
            match self.rest.chars().next() {
                None => return self.malformed("Unexpected end of input."),
                Some('{') => self.open()?,
                Some('}') => {
                    self.close()?;
                    if self.open.is_empty() {
                        break;
                    }
                }
                Some(',') => {
                    self.state = match self.state {
                        State::Element => State::BehindElement,
                        State::Closed => State::BehindClosed,
                        _ => return self.unexpected(','),
                    };
                    self.rest = &self.rest[1..];
                }
                Some(_) => self.element()?,
            }
            pace.went(before - self.rest.len() + size_of::<Value>())?;
        }
        if !self.rest.chars().all(is_space) {
            return self.malformed("Junk after closing right brace.");
        }
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let lengths = if self.values.is_empty() { &[] } else { &*self.lengths };
        let dimensions = lengths.iter().map(|length| Dimension::from_one(length.unwrap_or(0)));
        let dimensions = dimensions.collect();
        Ok((self.values, dimensions))
    }

    fn open(&mut self) -> Result<(), ValueError> {
        if !matches!(self.state, State::Nothing | State::Opened | State::BehindClosed) {
            return self.unexpected('{');
        }
        if self.open.len() == DIMENSIONS_MAX {
            let all = vec![Dimension::from_one(1); DIMENSIONS_MAX + 1];
            return checked_shape(&all).map(drop);
        }
        self.open.push(0);
        if self.lengths.len() < self.open.len() {
            self.lengths.push(None);
        }
        self.state = State::Opened;
        self.rest = &self.rest[1..];
        Ok(())
    }

    fn close(&mut self) -> Result<(), ValueError> {
        let is_empty = self.state == State::Opened && self.open.len() == 1;
        if !is_empty && !matches!(self.state, State::Element | State::Closed) {
            return self.unexpected('}');
        }
        self.rest = &self.rest[1..];
        self.state = State::Closed;
        let Some(count) = self.open.pop() else { return self.unexpected('}') };
        let length = &mut self.lengths[self.open.len()];
        if *length.get_or_insert(count) != count {
            return self.ragged();
        }
        if let Some(outer) = self.open.last_mut() {
            *outer += 1;
        }
        Ok(())
    }

    fn element(&mut self) -> Result<(), ValueError> {
        if !matches!(self.state, State::Opened | State::BehindElement) {
            return self.malformed("Unexpected array element.");
        }
        if *self.leaves.get_or_insert(self.open.len()) != self.open.len() {
            return self.ragged();
        }
        if let Some(items) = self.open.last_mut() {
            *items += 1;
        }
        self.state = State::Element;
        let (word, is_null) = match self.rest.strip_prefix('"') {
            Some(quoted) => (self.quoted(quoted)?, false),
            None => self.bare()?,
        };
        if self.failed.is_none() {
            match if is_null { Ok(Value::Null) } else { Value::parse(self.element, &word) } {
                Ok(value) => self.values.push(value),
                Err(error) => self.failed = Some(error),
            }
        }
        Ok(())
    }

    fn quoted(&mut self, quoted: &str) -> Result<String, ValueError> {
        let (mut word, mut chars) = (String::new(), quoted.char_indices());
        loop {
            match chars.next() {
                Some((end, '"')) => {
                    self.rest = &self.rest[end + 2..];
                    return Ok(word);
                }
                Some((_, '\\')) => match chars.next() {
                    Some((_, c)) => word.push(c),
                    None => return self.malformed("Unexpected end of input."),
                },
                Some((_, c)) => word.push(c),
                None => return self.malformed("Unexpected end of input."),
            }
        }
    }

    /// A word up to a comma or brace, without the blanks behind it, and whether it is NULL.
    fn bare(&mut self) -> Result<(String, bool), ValueError> {
        let (mut word, mut chars) = (String::new(), self.rest.char_indices());
        let (mut kept, mut is_escaped) = (0, false);
        loop {
            match chars.next() {
                Some((end, ',' | '}')) => {
                    word.truncate(kept);
                    self.rest = &self.rest[end..];
                    let is_null = !is_escaped && word.eq_ignore_ascii_case("null");
                    return Ok((word, is_null));
                }
                Some((_, '\\')) => {
                    is_escaped = true;
                    match chars.next() {
                        Some((_, c)) => word.push(c),
                        None => return self.malformed("Unexpected end of input."),
                    }
                    kept = word.len();
                }
                Some((_, '"')) => return self.malformed("Unexpected array element."),
                Some((_, '{')) => return self.unexpected('{'),
                Some((_, c)) => {
                    word.push(c);
                    if !is_space(c) {
                        kept = word.len();
                    }
                }
                None => return self.malformed("Unexpected end of input."),
            }
        }
    }
}
