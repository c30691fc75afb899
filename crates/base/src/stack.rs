//! Room on the stack for recursion that follows somebody's data.
//!
//! Role         whoever parses, compiles, explains or runs what a client wrote begins with
//!              [`with_room`] and goes one level deeper through [`deeper`]. Counts come first:
//!              every tree that is accepted has a bound on its depth, and says so with 54001. This
//!              is what stands behind the counts: a stack that nears its end is an error, not a
//!              signal
//! States       own stack -> segment 1 -> ... -> segment [`SEGMENTS_MAX`] -> [`Exhausted`]
//! Invariants   I1 what [`deeper`] and [`with_room`] call has at least [`ROOM_BYTES`] of stack:
//!                 enough for any walk without [`deeper`] over a tree of bounded depth (drop,
//!                 clone, comparison, debug form)
//!              I2 a thread takes at most [`SEGMENTS_MAX`] segments beside its own stack, whatever
//!                 size that has
//! Concurrency  the number of segments -> each thread has its own
//! Source       `stacker`, which the parser's own recursion uses

#[cfg(test)]
mod tests;

use std::cell::Cell;

/// Bytes that a walk without [`deeper`] may take. Statements nest 250 levels, expressions 1,000
/// tokens: at 1 KiB for each level that is what the deepest of these takes.
pub const ROOM_BYTES: usize = 1 << 20;
/// Bytes of a segment; only those that are touched cost memory, and they are given back.
const SEGMENT_BYTES: usize = 4 << 20;
/// Segments that a thread may have at a time.
const SEGMENTS_MAX: u32 = 8;

thread_local! {
    static SEGMENTS: Cell<u32> = const { Cell::new(0) };
}

/// The stack has come to its end: SQLSTATE 54001.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stack depth limit exceeded")]
pub struct Exhausted;

/// Goes one level deeper: on this stack as long as there is room, then on a new segment.
///
/// # Errors
///
/// [`Exhausted`] where the thread has all segments that it may have.
#[inline]
pub fn deeper<T>(body: impl FnOnce() -> T) -> Result<T, Exhausted> {
    if has_room() { Ok(body()) } else { on_segment(body).map_err(|_| Exhausted) }
}

/// Runs something that needs [`ROOM_BYTES`] at most, on a stack that has them.
#[inline]
pub fn with_room<T>(body: impl FnOnce() -> T) -> T {
    if has_room() {
        return body();
    }
    // A last segment beyond the limit: what is here does not recurse through here again.
    on_segment(body).unwrap_or_else(|body| stacker::grow(ROOM_BYTES * 2, body))
}

#[inline]
fn has_room() -> bool {
    stacker::remaining_stack().is_some_and(|left| left >= ROOM_BYTES)
}

/// Puts the number of segments back, also where a body panics.
struct Back(u32);

impl Drop for Back {
    fn drop(&mut self) {
        SEGMENTS.set(self.0);
    }
}

/// Gives the body back where there are too many segments.
#[cold]
fn on_segment<T, B: FnOnce() -> T>(body: B) -> Result<T, B> {
    let before = SEGMENTS.get();
    if before >= SEGMENTS_MAX {
        return Err(body);
    }
    let _back = Back(before);
    SEGMENTS.set(before + 1);
    Ok(stacker::grow(SEGMENT_BYTES, body))
}
