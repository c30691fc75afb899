//! Segments: pieces of code that are joined at the end, and the labels their jumps name.

use crate::bytecode::{NO_CODE, Op, Program};
use crate::program::Place;

/// A position that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Label(pub(super) u32);

#[derive(Default)]
struct Segment {
    ops: Vec<Op>,
    /// first instruction and its place, where the place changes
    places: Vec<(u32, Place)>,
}

/// All code so far.
#[derive(Default)]
pub(super) struct Segments {
    segments: Vec<Segment>,
    /// segments being written, innermost last
    open: Vec<usize>,
    /// segment and offset
    labels: Vec<Option<(usize, usize)>>,
    /// segments of the entries
    pub(super) entries: Vec<usize>,
    /// where the statement being lowered stands
    pub(super) place: Place,
}

impl Segments {
    /// Starts a new segment, to which everything goes until `close`.
    pub(super) fn open(&mut self) -> usize {
        self.segments.push(Segment::default());
        self.open.push(self.segments.len() - 1);
        self.segments.len() - 1
    }

    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    fn current(&self) -> usize {
        *self.open.last().expect("code is emitted into an open segment")
    }

    pub(super) fn emit(&mut self, op: Op) {
        let place = self.place;
        let current = self.current();
        let segment = &mut self.segments[current];
        if segment.places.last().is_none_or(|&(_, last)| last != place) {
            segment.places.push((segment.ops.len() as u32, place));
        }
        segment.ops.push(op);
    }

    /// Has the last instruction leave its numeric in `dst`, with fewer digits, if it is arithmetic
    /// that leaves it in the temporary `a` and nothing jumps behind it.
    pub(super) fn narrow_last(&mut self, a: u16, to: u16, digits: u8) -> bool {
        let current = self.current();
        let ops = &mut self.segments[current].ops;
        if self.labels.contains(&Some((current, ops.len()))) {
            return false;
        }
        match ops.last_mut() {
            Some(
                Op::NumericAdd { dst, precision, .. }
                | Op::NumericSubtract { dst, precision, .. }
                | Op::NumericMultiply { dst, precision, .. },
            ) if *dst == a => {
                *dst = to;
                *precision = digits.min(*precision);
                true
            }
            _ => false,
        }
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Says that a label is here.
    pub(super) fn place_label(&mut self, label: Label) {
        let current = self.current();
        self.labels[label.0 as usize] = Some((current, self.segments[current].ops.len()));
    }

    /// Puts the segments one after another and resolves labels and segment numbers.
    pub(super) fn join(self, program: &mut Program) {
        let mut starts = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            let start = program.code.len() as u32;
            starts.push(start);
            program.code.extend_from_slice(&segment.ops);
            program.places.extend(segment.places.iter().map(|&(at, place)| (at + start, place)));
        }
        let position = |label: u32| {
            let (segment, offset) =
                self.labels[label as usize].expect("every label that is named is placed");
            starts[segment] + offset as u32
        };
        for op in &mut program.code {
            if let Some(to) = target(op) {
                *to = position(*to);
            }
        }
        for switch in &mut program.switches {
            for to in switch.targets.iter_mut().chain([&mut switch.otherwise]) {
                *to = position(*to);
            }
        }
        for block in &mut program.protected {
            for handler in &mut block.handlers {
                handler.to = position(handler.to);
            }
        }
        for &entry in &self.entries {
            let end = starts.get(entry + 1).copied().unwrap_or(program.code.len() as u32);
            program.entries.push(starts[entry]..end);
        }
        for access in &mut program.access {
            for code in [&mut access.visit, &mut access.change, &mut access.returning] {
                if *code != NO_CODE {
                    *code = starts[*code as usize];
                }
            }
        }
    }
}

/// The jump target of an instruction.
fn target(op: &mut Op) -> Option<&mut u32> {
    match op {
        Op::Jump { to }
        | Op::JumpIfTrue { to, .. }
        | Op::JumpIfNotTrue { to, .. }
        | Op::JumpIfFalse { to, .. }
        | Op::JumpIfNull { to, .. }
        | Op::JumpIfNotNull { to, .. }
        | Op::JumpUnlessEqual { to, .. }
        | Op::JumpUnlessNotEqual { to, .. }
        | Op::JumpUnlessLess { to, .. }
        | Op::JumpUnlessLessOrEqual { to, .. }
        | Op::RangeBegin { to, .. }
        | Op::RangeNext { to, .. }
        | Op::EachBegin { to, .. }
        | Op::EachNext { to, .. }
        | Op::Again { to }
        | Op::Recur { to, .. }
        | Op::RowsBegin { to, .. }
        | Op::RowsNext { to, .. }
        | Op::Point { missing: to, .. }
        | Op::Bump { missing: to, .. }
        | Op::Visit { missing: to, .. }
        | Op::VisitEnd { missing: to, .. }
        | Op::Insert { conflict: to, .. } => Some(to),
        _ => None,
    }
}
