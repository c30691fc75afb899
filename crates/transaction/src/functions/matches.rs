//! `text ~ pattern`: whether a regular expression is found in a text ([`crate::pattern`]).

use hotrow_base::datum::Datum;
use hotrow_base::stack::with_room;

use crate::fault::Fault;
use crate::frame::Machine;
use crate::outcome::apart;
use crate::pattern::{self, Flags, Pattern};

/// Whether the pattern is found anywhere in the text; no argument is NULL.
pub(super) fn matches(
    machine: &mut Machine,
    arguments: &[Datum],
    any_case: bool,
) -> Result<bool, Fault> {
    let [text, pattern] = arguments else { return Ok(false) };
    machine.went((text.as_range().len as usize).saturating_add(pattern.as_range().len as usize))?;
    let _entered = machine.enter();
    // Texts were checked when they came in.
    let of = |datum: &Datum| std::str::from_utf8(machine.bytes(*datum)).unwrap_or_default();
    let flags = Flags::of_case(any_case);
    // A pattern may nest, and is read by recursion: the thread's stack may be a small one.
    with_room(|| {
        apart(|| {
            let found = |compiled: &mut Pattern| compiled.is_in(of(text));
            Ok(pattern::with(of(pattern), flags, of(text), found)?)
        })
    })
}
