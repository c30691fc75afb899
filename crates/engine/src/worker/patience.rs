//! How often a call is planned again before it runs alone.
//!
//! Role         a call whose plan was wrong is planned again, since the next guess is mostly right;
//!              but where many calls change what each of them looks for first, the best price of
//!              one symbol, every guess is wrong by the time its locks are there, and each costs as
//!              much as running alone does. So those that ended alone make calls of the same
//!              procedure give up earlier, and those that did not, later
//! Invariants   I1 no more wrong guesses are forgiven than [`REPLANS_MAX`], and each call has one
//!              I2 what is known is known to one place of calls alone: nothing is shared

use hotrow_base::ids::ProcedureId;

/// Wrong guesses of reconnaissance, at most, before a call runs alone.
const REPLANS_MAX: u8 = 32;

/// By procedure, how many guesses fewer its calls are given.
#[derive(Default)]
pub(super) struct Patience {
    /// by procedure, how many guesses fewer than [`REPLANS_MAX`]; grows where one ends alone
    lost: Vec<u8>,
}

impl Patience {
    /// Wrong guesses that a call of this procedure is forgiven before it runs alone.
    pub(super) fn replans(&self, of: ProcedureId) -> u32 {
        u32::from(REPLANS_MAX - self.lost.get(of.index()).copied().unwrap_or(0))
    }

    /// A call of this procedure runs alone: the next one has half as many guesses.
    pub(super) fn note_alone(&mut self, of: ProcedureId) {
        if self.lost.len() <= of.index() {
            self.lost.resize(of.index() + 1, 0);
        }
        let lost = &mut self.lost[of.index()];
        *lost = REPLANS_MAX - (REPLANS_MAX - *lost) / 2;
    }

    /// A call of this procedure ended as it was planned: the next one has one more.
    #[inline]
    pub(super) fn note_planned(&mut self, of: ProcedureId) {
        if let Some(lost) = self.lost.get_mut(of.index()) {
            *lost = lost.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_alone_gives_up_earlier_and_who_does_not_later() {
        let (mut patience, of) = (Patience::default(), ProcedureId(3));
        assert_eq!(patience.replans(of), 32);
        for expected in [16, 8, 4, 2, 1, 0, 0] {
            patience.note_alone(of);
            assert_eq!(patience.replans(of), expected);
        }
        assert_eq!(patience.replans(ProcedureId(2)), 32, "others are others");
        patience.note_planned(of);
        assert_eq!(patience.replans(of), 1);
        (0..100).for_each(|_| patience.note_planned(of));
        assert_eq!(patience.replans(of), 32);
    }
}
