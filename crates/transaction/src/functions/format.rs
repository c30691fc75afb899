//! format(text, ...): values put into a text.
//!
//! Source       PostgreSQL 15, "format" among the string functions. `%[n$][-][width]type`, where
//!              the type is s, I or L, and the width a number, `*`, or `*n$`; `%%` is a percent
//!              sign. Values come as texts

use std::borrow::Cow;

use hotrow_base::datum::Datum;
use hotrow_base::quote;

use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::Machine;
use crate::outcome::SqlError;

/// What a specifier asks for.
#[derive(Clone, Copy, Default, Debug)]
struct Specifier {
    /// which value, from 1; none: the one behind the last
    value: Option<usize>,
    is_left: bool,
    width: Width,
    /// s, I or L
    kind: u8,
}

/// The least number of characters.
#[derive(Clone, Copy, Default, Debug)]
enum Width {
    #[default]
    Any,
    Least(i64),
    /// a value's, from 1; none: the one behind the last
    Of(Option<usize>),
}

/// Reads a format from a place on.
struct Reader<'f> {
    format: &'f [u8],
    at: usize,
}

impl Reader<'_> {
    /// The byte here, which has to be there.
    fn byte(&self) -> Result<u8, Fault> {
        self.format.get(self.at).copied().ok_or_else(|| {
            let mut error = SqlError::new(b"22023", "unterminated format() type specifier");
            error.hint = Some("For a single \"%\" use \"%%\".".to_owned());
            Fault::Error(Box::new(error))
        })
    }

    fn accept(&mut self, wanted: u8) -> Result<bool, Fault> {
        let is_it = self.byte()? == wanted;
        self.at += usize::from(is_it);
        Ok(is_it)
    }

    /// A number, if one stands here.
    fn number(&mut self) -> Result<Option<i64>, Fault> {
        let start = self.at;
        let mut number = 0_i64;
        while self.byte()?.is_ascii_digit() {
            number = number * 10 + i64::from(self.byte()? - b'0');
            if number > i64::from(i32::MAX) {
                return Err(out_of_range());
            }
            self.at += 1;
        }
        Ok((self.at > start).then_some(number))
    }

    /// What follows a percent sign.
    fn specifier(&mut self) -> Result<Specifier, Fault> {
        let mut found = Specifier::default();
        if let Some(number) = self.number()? {
            if !self.accept(b'$')? {
                found.width = Width::Least(number);
                found.kind = self.kind()?;
                return Ok(found);
            }
            found.value = Some(position(number)?);
        }
        while self.accept(b'-')? {
            found.is_left = true;
        }
        if self.accept(b'*')? {
            let of = self.number()?.map(position).transpose()?;
            if of.is_some() && !self.accept(b'$')? {
                let message = "width argument position must be ended by \"$\"";
                return Err(Fault::new(b"22023", message));
            }
            found.width = Width::Of(of);
        } else if let Some(number) = self.number()? {
            found.width = Width::Least(number);
        }
        found.kind = self.kind()?;
        Ok(found)
    }

    fn kind(&mut self) -> Result<u8, Fault> {
        let kind = self.byte()?;
        if matches!(kind, b's' | b'I' | b'L') {
            self.at += 1;
            return Ok(kind);
        }
        let rest = String::from_utf8_lossy(&self.format[self.at..]);
        let shown = rest.chars().next().unwrap_or('?');
        let message = format!("unrecognized format() type specifier \"{shown}\"");
        let mut error = SqlError::new(b"22023", message);
        error.hint = Some("For a single \"%\" use \"%%\".".to_owned());
        Err(Fault::Error(Box::new(error)))
    }
}

fn position(number: i64) -> Result<usize, Fault> {
    match usize::try_from(number) {
        Ok(number @ 1..) => Ok(number),
        _ => {
            let message = "format specifies argument 0, but arguments are numbered from 1";
            Err(Fault::new(b"22023", message))
        }
    }
}

fn out_of_range() -> Fault {
    Fault::new(b"22003", "number is out of range")
}

/// Makes the text; the first argument is the format, the others are texts, or one array of them.
pub(super) fn call(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let mut values = Vec::with_capacity(code.arguments.len());
    for (slot, of) in &code.arguments {
        let value = machine.slots[*slot];
        match of.element() {
            None => values.push(value),
            Some(_) if value.is_null() => {}
            Some(_) => values.extend_from_slice(&machine.elements[value.as_range().range()]),
        }
    }
    let Some(format) = values.first().filter(|format| !format.is_null()) else {
        return Ok(Datum::NULL);
    };
    let format = machine.bytes(*format).to_vec();
    machine.went(format.len())?;
    let start = machine.heap.len();
    let mut reader = Reader { format: &format, at: 0 };
    let mut last = 0;
    while let Some(length) = memchr::memchr(b'%', &format[reader.at..]) {
        append(machine, &format[reader.at..reader.at + length])?;
        reader.at += length + 1;
        if reader.accept(b'%')? {
            append(machine, b"%")?;
            continue;
        }
        let specifier = reader.specifier()?;
        let width = width_of(machine, specifier.width, &values, &mut last)?;
        let value = next(&values, specifier.value, &mut last)?;
        put(machine, specifier, width, value)?;
    }
    append(machine, &format[reader.at..])?;
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// The value that is named, or the one behind the last; 22023 where there is none.
fn next(values: &[Datum], named: Option<usize>, last: &mut usize) -> Result<Datum, Fault> {
    *last = named.unwrap_or(*last + 1);
    let value = values.get(*last).copied();
    value.ok_or_else(|| Fault::new(b"22023", "too few arguments for format()"))
}

/// The least number of characters; below 0: of a text that stands to the left.
fn width_of(
    machine: &Machine,
    width: Width,
    values: &[Datum],
    last: &mut usize,
) -> Result<i64, Fault> {
    let value = match width {
        Width::Any => return Ok(0),
        Width::Least(number) => return Ok(number),
        Width::Of(named) => next(values, named, last)?,
    };
    if value.is_null() {
        return Ok(0);
    }
    let text = String::from_utf8_lossy(machine.bytes(value));
    let number = text.trim().parse::<i64>().map_err(|_| {
        Fault::new(b"22P02", format!("invalid input syntax for type integer: \"{text}\""))
    })?;
    match i32::try_from(number) {
        Ok(number) if number > i32::MIN => Ok(i64::from(number)),
        _ => Err(out_of_range()),
    }
}

/// Appends a value.
fn put(machine: &mut Machine, specifier: Specifier, width: i64, value: Datum) -> Result<(), Fault> {
    let text = match (specifier.kind, value.is_null()) {
        (b's', true) => Cow::Borrowed(""),
        (b'L', true) => Cow::Borrowed("NULL"),
        (_, true) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(Fault::new(b"22004", message));
        }
        (kind, false) => {
            let text = String::from_utf8_lossy(machine.bytes(value));
            Cow::Owned(match kind {
                b'I' => quote::identifier(&text),
                b'L' => quote::literal(&text),
                _ => text.into_owned(),
            })
        }
    };
    let is_left = specifier.is_left || width < 0;
    let length = if width == 0 { 0 } else { text.chars().count() as u64 };
    let spaces = width.unsigned_abs().saturating_sub(length) as usize;
    if !is_left {
        pad(machine, spaces)?;
    }
    append(machine, text.as_bytes())?;
    if is_left { pad(machine, spaces) } else { Ok(()) }
}

fn append(machine: &mut Machine, bytes: &[u8]) -> Result<(), Fault> {
    machine.went(bytes.len())?;
    machine.reserve(bytes.len())?;
    machine.heap.extend_from_slice(bytes);
    Ok(())
}

fn pad(machine: &mut Machine, spaces: usize) -> Result<(), Fault> {
    machine.went(spaces)?;
    machine.reserve(spaces)?;
    machine.heap.resize(machine.heap.len() + spaces, b' ');
    Ok(())
}
