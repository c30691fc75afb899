//! What a frame knows of statements whose text is known only when the call runs.
//!
//! Role         each such statement has a frame of its own, within the one of the call that it is
//!              part of; what it uses up of the call's is taken off here
//! Source       [`crate::dynamic`]

use hotrow_base::ids::TableId;

use crate::draw::{Draw, NUMBERS_TAKEN, Numbered, taken_by};
use crate::fault::Fault;
use crate::granule::TableUse;
use crate::outcome::{Notice, NoticeLevel, SqlError};

use super::{Frame, SpareFrame};

/// What texts have drawn, how deep they are nested, and what they do with tables.
#[derive(Default, Debug)]
pub(crate) struct Texts {
    /// how many numbers of each sequence are used
    numbers: Vec<(TableId, usize)>,
    /// how many texts have asked for random values
    pub(crate) seeds: u32,
    /// what the last one does with tables that those who run at the same time do not know of
    pub(crate) unknown_uses: Vec<(TableId, TableUse)>,
    /// so many frames are around this one
    pub(crate) depth: u8,
    /// a block around one of them catches errors
    is_protected: bool,
}

impl Texts {
    /// Another call begins.
    pub(super) fn begin(&mut self) {
        self.numbers.clear();
        self.unknown_uses.clear();
        self.seeds = 0;
    }

    /// Notes that so many more numbers of a sequence are used.
    pub(crate) fn note(&mut self, sequence: TableId, count: usize) {
        match self.numbers.iter_mut().find(|(of, _)| *of == sequence) {
            Some((_, used)) => *used += count,
            None => self.numbers.push((sequence, count)),
        }
    }

    /// How many numbers of a sequence are used.
    pub(crate) fn used_of(&self, sequence: TableId) -> usize {
        let used = self.numbers.iter().find(|(of, _)| *of == sequence);
        used.map_or(0, |(_, used)| *used)
    }
}

impl Frame {
    /// What it knows of texts.
    pub(crate) fn texts(&mut self) -> &mut Texts {
        self.texts.get_or_insert_default()
    }

    /// Takes what the call was not known to do with tables, for whoever runs it: where there is
    /// such a thing, the call has ended with [`Stop::Replan`](crate::outcome::Stop::Replan).
    pub fn take_unknown_uses(&mut self) -> Vec<(TableId, TableUse)> {
        self.texts.as_mut().map_or_else(Vec::new, |texts| std::mem::take(&mut texts.unknown_uses))
    }

    /// Whether the call has ended because it may not run beside others as things are.
    pub fn has_unknown_uses(&self) -> bool {
        self.texts.as_ref().is_some_and(|texts| !texts.unknown_uses.is_empty())
    }

    /// Whether a block around what runs catches errors.
    pub(crate) fn is_protected(&self) -> bool {
        let is_around = self.texts.as_ref().is_some_and(|texts| texts.is_protected);
        is_around || !self.machine.protected.is_empty()
    }

    /// A frame for a text of the call in this one, with the steps that are left.
    pub(crate) fn within(&mut self) -> SpareFrame {
        let is_protected = self.is_protected();
        let depth = self.texts().depth + 1;
        let mut inner = SpareFrame::take();
        inner.step_budget = self.machine.steps();
        inner.machine.rows_max = self.machine.rows_max;
        *inner.texts() = Texts { depth, is_protected, ..Texts::default() };
        inner
    }

    /// A text has run: takes what it has said, and takes off what it has used of what it drew.
    pub(crate) fn end_within(&mut self, inner: &mut Self, draws: &[Draw]) -> Result<(), Fault> {
        self.machine.give_steps(inner.machine.steps());
        let used = std::mem::take(&mut inner.texts().numbers);
        used.into_iter().for_each(|(sequence, count)| self.texts().note(sequence, count));
        for notice in std::mem::take(&mut inner.machine.notices.0) {
            match taken_by(&notice) {
                Some((Numbered::Draw(draw), count)) => {
                    let sequence = draws.get(draw).and_then(Draw::sequence);
                    sequence.into_iter().for_each(|of| self.texts().note(of, count));
                }
                Some((Numbered::Of(_), _)) => {} // a text in this one, whose numbers are counted
                None => self.machine.tell(notice)?,
            }
        }
        self.tell_numbers()
    }

    /// Tells how many numbers the texts have used so far, as a call's own code does.
    fn tell_numbers(&mut self) -> Result<(), Fault> {
        for at in 0..self.texts().numbers.len() {
            let (sequence, count) = self.texts().numbers[at];
            let message = format!("{} {count}", Numbered::Of(sequence).told());
            let said = SqlError::new(&NUMBERS_TAKEN, message);
            self.machine.tell(Notice { level: NoticeLevel::Debug, said })?;
        }
        Ok(())
    }
}
