//! Functions of arrays, whose elements lie in the machine's list.
//!
//! Role         what needs no dimensions, and the short ways of plain arrays; the rest is in
//!              [`super::shaped`]
//! Invariants   I1 an array is a range of the list that nobody changes: another one is made behind
//!                 all others, but for one that grows where it ends ([`appended`])
//!              I2 bytes of elements are never copied but where an array is packed

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::packed;
use hotrow_base::shape::{DIMENSIONS_MAX, Dimension, ELEMENTS_MAX};
use hotrow_base::types::DataType;
use memchr::memmem;

use super::cast;
use super::shaped::End;
use crate::bytecode::{CallCode, CompareKind};
use crate::fault::Fault;
use crate::frame::Machine;
use crate::interpret::{compare, satisfies};
use crate::program::{ArrayFunction, CompareOp};

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    pub(super) code: &'a CallCode,
    pub(super) machine: &'a mut Machine,
}

/// Calls a function of arrays. The type of an argument that is an array is that of arrays.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    function: ArrayFunction,
) -> Result<Datum, Fault> {
    use ArrayFunction as F;
    let mut of = Arguments { code, machine };
    match function {
        F::Of => of.list(),
        F::Pack => of.pack(),
        F::Unpack => of.unpack(),
        F::Nest => of.nest(),
        F::Slices => of.slices(),
        F::Prepend => of.with_one_more(1, 0, End::First),
        F::Concat => of.concat(),
        F::Element => Ok(of.element()),
        F::Set => of.set(),
        F::SetSlice => of.set_slice(),
        F::Slice => of.slice(),
        F::Trim => of.trim(),
        F::Remove => of.kept(None),
        F::Replace => of.kept(Some(of.datum(2))),
        F::Position => of.position(),
        F::Positions => of.positions(),
        F::Extent(extent) => of.extent(extent),
        F::Contains => of.contains(0, 1),
        F::ContainedBy => of.contains(1, 0),
        F::Overlaps => of.overlaps(),
        F::Any(op) => of.quantified(op, true),
        F::All(op) => of.quantified(op, false),
        F::Join => of.join(),
        F::Split => of.split(),
        F::Fill => of.fill(),
    }
}

/// An array with one more element behind it.
pub(super) fn appended(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    Arguments { code, machine }.with_one_more(0, 1, End::Last)
}

impl Arguments<'_> {
    pub(super) fn datum(&self, at: usize) -> Datum {
        match self.code.arguments.get(at) {
            Some((slot, _)) => self.machine.slots[*slot],
            None => Datum::NULL,
        }
    }

    /// An integer that is not NULL.
    pub(super) fn int(&self, at: usize) -> Option<i64> {
        let datum = self.datum(at);
        (!datum.is_null()).then(|| datum.as_int())
    }

    /// Where the elements of an array lie; none: it is NULL.
    pub(super) fn range(&self, at: usize) -> Option<Range<usize>> {
        let datum = self.datum(at);
        (!datum.is_null()).then(|| datum.as_range().range())
    }

    /// The type of the elements of an argument, or of what is no array.
    pub(super) fn element_type(&self, at: usize) -> DataType {
        let of = self.code.arguments.get(at).map_or(self.code.result, |(_, of)| *of);
        of.element().unwrap_or(of)
    }

    fn kind(&self, at: usize) -> CompareKind {
        CompareKind::of(self.element_type(at))
    }

    /// Makes room for so many elements, whose number is checked.
    pub(super) fn room(&mut self, count: usize) -> Result<usize, Fault> {
        if count > ELEMENTS_MAX {
            return Err(too_many());
        }
        self.machine.room_for_elements(count)?;
        self.machine.went(count * size_of::<Datum>())?;
        Ok(self.machine.elements.len())
    }

    /// The array of the elements from `start` on.
    pub(super) fn made(&self, start: usize) -> Datum {
        Datum::range(start as u32, (self.machine.elements.len() - start) as u32)
    }

    fn list(&mut self) -> Result<Datum, Fault> {
        let start = self.room(self.code.arguments.len())?;
        for (slot, _) in &self.code.arguments {
            let value = self.machine.slots[*slot];
            self.machine.elements.push(value);
        }
        Ok(self.made(start))
    }

    fn pack(&mut self) -> Result<Datum, Fault> {
        let Some(range) = self.range(0) else { return Ok(Datum::NULL) };
        let of = self.element_type(0);
        let bytes = packed::packed_bytes(of, &self.machine.elements[range.clone()]);
        self.machine.reserve(bytes)?;
        self.machine.went(bytes)?;
        let shape = self.shape(0);
        let Machine { elements, heap, .. } = &mut *self.machine;
        Ok(packed::pack(of, &elements[range], &shape, heap))
    }

    fn unpack(&mut self) -> Result<Datum, Fault> {
        let array = self.datum(0);
        if array.is_null() {
            return Ok(array);
        }
        let packed = packed::elements(array, &self.machine.heap);
        let (count, shape) = (packed.len(), packed.shape());
        let start = self.room(count + DIMENSIONS_MAX)?;
        let Machine { elements, heap, .. } = &mut *self.machine;
        elements.extend(packed::elements(array, heap));
        Ok(self.made_of(start, &shape))
    }

    fn element(&self) -> Datum {
        if self.code.arguments.len() != 2 || !self.is_plain(0) {
            return self.element_within();
        }
        let (Some(range), Some(at)) = (self.range(0), self.int(1)) else { return Datum::NULL };
        let at = usize::try_from(at).ok().and_then(|at| at.checked_sub(1));
        at.and_then(|at| self.machine.elements[range].get(at)).copied().unwrap_or(Datum::NULL)
    }

    /// A subscript of what is assigned.
    pub(super) fn subscript(&self, at: usize) -> Result<i64, Fault> {
        let message = "array subscript in assignment must not be null";
        self.int(at).ok_or_else(|| Fault::new(b"22004", message))
    }

    /// Whether an argument is a plain array, or NULL.
    fn is_plain(&self, at: usize) -> bool {
        let array = self.datum(at);
        array.is_null() || array.dimensions() == 0
    }

    /// `array[i] := value`, where that is inside of a plain array.
    fn set(&mut self) -> Result<Datum, Fault> {
        let old = self.range(0).filter(|_| self.code.arguments.len() == 3 && self.is_plain(0));
        let at = self.subscript(1)?;
        let (Some(old), Some(at)) = (old, usize::try_from(at - 1).ok()) else {
            return self.set_within();
        };
        if at >= old.len() {
            return self.set_within();
        }
        let value = self.datum(2);
        let start = self.room(old.len())?;
        self.machine.elements.extend_from_within(old);
        self.machine.elements[start + at] = value;
        Ok(self.made(start))
    }

    /// Whether two values are not distinct.
    fn is_same(&self, kind: CompareKind, one: Datum, other: Datum) -> bool {
        match (one.is_null(), other.is_null()) {
            (false, false) => compare(kind, one, other, &self.machine.heap).is_eq(),
            (one, other) => one == other,
        }
    }

    /// The array without the elements that are the second argument, or with another one in their
    /// places.
    fn kept(&mut self, instead: Option<Datum>) -> Result<Datum, Fault> {
        let Some(range) = self.range(0) else { return Ok(Datum::NULL) };
        let shape = self.shape(0);
        let lower = match instead {
            None => self.first_of_one(0, "removing elements from")?,
            Some(_) => 1,
        };
        let (kind, value) = (self.kind(0), self.datum(1));
        let start = self.room(range.len() + DIMENSIONS_MAX)?;
        for at in range {
            let element = self.machine.elements[at];
            let kept = match self.is_same(kind, element, value) {
                true => instead,
                false => Some(element),
            };
            self.machine.elements.extend(kept);
        }
        let left = (self.machine.elements.len() - start) as u32;
        match instead {
            None => self.made_from(start, Dimension { length: left, lower: lower as i32 }),
            Some(_) => Ok(self.made_of(start, &shape)),
        }
    }

    fn position(&self) -> Result<Datum, Fault> {
        let Some(range) = self.range(0) else { return Ok(Datum::NULL) };
        let lower = self.first_of_one(0, "searching for elements in")?;
        let first = match (self.code.arguments.len(), self.int(2)) {
            (3, None) => {
                return Err(Fault::new(b"22004", "initial position must not be null"));
            }
            (_, first) => {
                let first = first.unwrap_or(lower).max(lower) - lower;
                usize::try_from(first).unwrap_or(usize::MAX)
            }
        };
        let (kind, value) = (self.kind(0), self.datum(1));
        let mut elements = self.machine.elements[range].iter().enumerate().skip(first);
        let found = elements.find(|(_, element)| self.is_same(kind, **element, value));
        Ok(found.map_or(Datum::NULL, |(at, _)| Datum::int(at as i64 + lower)))
    }

    fn positions(&mut self) -> Result<Datum, Fault> {
        let Some(range) = self.range(0) else { return Ok(Datum::NULL) };
        let lower = self.first_of_one(0, "searching for elements in")?;
        let (kind, value) = (self.kind(0), self.datum(1));
        let start = self.room(range.len())?;
        for (number, at) in (lower..).zip(range) {
            if self.is_same(kind, self.machine.elements[at], value) {
                self.machine.elements.push(Datum::int(number));
            }
        }
        Ok(self.made(start))
    }

    /// Whether a list of elements has one that equals a value that is not NULL.
    fn has(&self, kind: CompareKind, list: &[Datum], value: Datum) -> bool {
        let equals = |element: &&Datum| {
            !element.is_null() && compare(kind, **element, value, &self.machine.heap).is_eq()
        };
        !value.is_null() && list.iter().any(|element| equals(&element))
    }

    /// Whether one array has all elements of another one, none of which is NULL.
    fn contains(&mut self, whole: usize, part: usize) -> Result<Datum, Fault> {
        let (Some(whole), Some(part)) = (self.range(whole), self.range(part)) else {
            return Ok(Datum::NULL);
        };
        self.pairs(whole.len(), part.len())?;
        let kind = self.kind(0);
        let (whole, part) = (&self.machine.elements[whole], &self.machine.elements[part]);
        Ok(Datum::bool(part.iter().all(|value| self.has(kind, whole, *value))))
    }

    fn overlaps(&mut self) -> Result<Datum, Fault> {
        let (Some(left), Some(right)) = (self.range(0), self.range(1)) else {
            return Ok(Datum::NULL);
        };
        self.pairs(left.len(), right.len())?;
        let kind = self.kind(0);
        let (left, right) = (&self.machine.elements[left], &self.machine.elements[right]);
        Ok(Datum::bool(right.iter().any(|value| self.has(kind, left, *value))))
    }

    /// So many pairs are about to be compared.
    fn pairs(&mut self, one: usize, other: usize) -> Result<(), Fault> {
        self.machine.went(one.saturating_mul(other))
    }

    /// `value op ANY (array)`, or ALL: NULL where it is not decided and some comparison is NULL.
    fn quantified(&mut self, op: CompareOp, is_any: bool) -> Result<Datum, Fault> {
        let Some(range) = self.range(1) else { return Ok(Datum::NULL) };
        let (kind, value) = (self.kind(1), self.datum(0));
        self.machine.went(range.len())?;
        let mut is_open = false;
        for element in &self.machine.elements[range] {
            if value.is_null() || element.is_null() {
                is_open = true;
            } else if satisfies(op, compare(kind, value, *element, &self.machine.heap)) == is_any {
                return Ok(Datum::bool(is_any));
            }
        }
        Ok(if is_open { Datum::NULL } else { Datum::bool(!is_any) })
    }

    /// The elements as one text.
    fn join(&mut self) -> Result<Datum, Fault> {
        let separator = self.datum(1);
        let Some(range) = self.range(0).filter(|_| !separator.is_null()) else {
            return Ok(Datum::NULL);
        };
        let (null, of) = (self.datum(2), self.element_type(0));
        let mut texts = Vec::new();
        let _texts = self.machine.borrow(range.len() * size_of::<Datum>())?;
        for at in range {
            let element = self.machine.elements[at];
            texts.extend(match element.is_null() {
                true if null.is_null() => None,
                true => Some(null),
                false => Some(self.shown(element, of)?),
            });
        }
        let len = |text: Datum| text.as_range().len as usize;
        let between = texts.len().saturating_sub(1).saturating_mul(len(separator));
        let bytes = texts.iter().map(|text| len(*text)).fold(between, usize::saturating_add);
        self.machine.reserve(bytes)?;
        self.machine.went(bytes)?;
        let start = self.machine.heap.len();
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.machine.heap.extend_from_within(separator.as_range().range());
            }
            self.machine.heap.extend_from_within(text.as_range().range());
        }
        Ok(Datum::range(start as u32, (self.machine.heap.len() - start) as u32))
    }

    /// An element as clients are shown it.
    fn shown(&mut self, element: Datum, of: DataType) -> Result<Datum, Fault> {
        match of {
            DataType::Boolean => {
                let text: &[u8] = if element.is_true() { b"t" } else { b"f" };
                Ok(self.machine.keep(text))
            }
            _ if of.is_text() && !matches!(of, DataType::Char(_)) => Ok(element),
            _ => {
                self.machine.reserve(64)?;
                cast::to_text(self.machine, element, of)
            }
        }
    }

    /// The parts of a text between separators; without one, its characters.
    fn split(&mut self) -> Result<Datum, Fault> {
        let (text, separator, null) = (self.datum(0), self.datum(1), self.datum(2));
        if text.is_null() {
            return Ok(text);
        }
        let whole = text.as_range().range();
        let mut parts = Vec::new();
        let bytes = &self.machine.heap[whole.clone()];
        match (bytes, separator.is_null()) {
            ([], _) => {}
            (bytes, true) => {
                let text = String::from_utf8_lossy(bytes);
                let lens = text.chars().map(char::len_utf8);
                let mut at = 0;
                for len in lens {
                    parts.push(at..(at + len).min(bytes.len()));
                    at += len;
                }
            }
            (bytes, false) => match self.machine.bytes(separator) {
                [] => parts.push(0..bytes.len()),
                separator => {
                    let mut at = 0;
                    for found in memmem::find_iter(bytes, separator) {
                        parts.push(at..found);
                        at = found + separator.len();
                    }
                    parts.push(at..bytes.len());
                }
            },
        }
        self.machine.went(whole.len())?;
        let start = self.room(parts.len())?;
        for part in parts {
            let part = Datum::range((whole.start + part.start) as u32, part.len() as u32);
            let is_null = !null.is_null() && self.machine.bytes(null) == self.machine.bytes(part);
            self.machine.elements.push(if is_null { Datum::NULL } else { part });
        }
        Ok(self.made(start))
    }
}

#[cold]
pub(super) fn too_many() -> Fault {
    Fault::new(b"54000", format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})"))
}
