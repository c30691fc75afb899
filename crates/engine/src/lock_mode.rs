//! Lock modes: what a lock protects, and the tables that follow from it.
//!
//! Role         for engines that lock: table locks, granule locks and key-range locks have their
//!              modes from here. Every mode is described by [`Parts`] alone; which modes go
//!              together, what two of them make and which include which is computed from that at
//!              compile time, so no table is written by hand
//! Source       key-range modes: locking.txt 2.2, table 2 (Graefe's orthogonal modes, prior-key
//!              locking); coarse modes: locking.txt 3.1, table 4 (Gray). We differ: both tables are
//!              one, because a coarse S or X protects what key and gap of a key-range lock are
//!              parts of
//!
//! A key-range lock stands for the half-open interval from a key to the next one: its first letter
//! says how the *key* is held, its second how the *gap* behind it. `S` means `SS`, `X` means `XX`.
//! `UN` is System R's update lock, on a key: readers go with it, a second one does not, so that two
//! who read a row to change it do not both get to hold it and then wait for each other.

use hotrow_transaction::granule::LockMode;

/// How strongly one thing is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Strength {
    /// not at all
    None,
    /// for reading
    Shared,
    /// for reading beside others who read, by the only one who may write it next
    Update,
    /// for writing
    Exclusive,
}

/// All strengths, by number.
const STRENGTHS: [Strength; 4] =
    [Strength::None, Strength::Shared, Strength::Update, Strength::Exclusive];

impl Strength {
    /// Whether two transactions may hold one thing so.
    const fn compatible(self, other: Self) -> bool {
        use Strength::{None, Shared, Update};
        matches!(
            (self, other),
            (None, _) | (_, None) | (Shared, Shared | Update) | (Update, Shared)
        )
    }

    const fn max(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

/// What a mode protects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// the key
    pub key: Strength,
    /// the gap between the key and the next one
    pub gap: Strength,
    /// what the owner locks more finely below, of what the lock stands for
    pub below: Strength,
}

impl Parts {
    const fn new(key: Strength, gap: Strength, below: Strength) -> Self {
        Self { key, gap, below }
    }

    const fn compatible(self, other: Self) -> bool {
        let wholes = self.key.compatible(other.key) && self.gap.compatible(other.gap);
        // Two who announce finer locks meet there; who announces them meets whoever holds it all.
        wholes && self.below.compatible(other.whole()) && self.whole().compatible(other.below)
    }

    /// How strongly something of it is held without finer locks.
    const fn whole(self) -> Strength {
        self.key.max(self.gap)
    }

    const fn join(self, other: Self) -> Self {
        Self {
            key: self.key.max(other.key),
            gap: self.gap.max(other.gap),
            below: self.below.max(other.below),
        }
    }

    /// Whether holding `self` includes what `other` grants. Who holds key and gap needs no finer
    /// locks.
    const fn covers(self, other: Self) -> bool {
        let all = if (self.key as u8) < self.gap as u8 { self.key } else { self.gap };
        self.key as u8 >= other.key as u8
            && self.gap as u8 >= other.gap as u8
            && self.below.max(all) as u8 >= other.below as u8
    }
}

/// A lock mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Mode {
    /// parts of it are read under finer locks
    IS,
    /// parts of it are written under finer locks
    IX,
    /// all of it is read, parts are written under finer locks
    SIX,
    /// key and gap are read; all of a granule or table
    S,
    /// key and gap are written; all of a granule or table
    X,
    /// the gap is read: it stays empty
    NS,
    /// the gap is written
    NX,
    /// the key is read
    SN,
    /// the key is read, the gap written
    SX,
    /// the key is written
    XN,
    /// the key is written, the gap read
    XS,
    /// the key is read, and most probably written next: who reads so is the only one
    UN,
}

/// How many modes there are.
pub const MODES: usize = 12;

impl Mode {
    /// All modes, by number.
    pub const ALL: [Self; MODES] = [
        Self::IS,
        Self::IX,
        Self::SIX,
        Self::S,
        Self::X,
        Self::NS,
        Self::NX,
        Self::SN,
        Self::SX,
        Self::XN,
        Self::XS,
        Self::UN,
    ];

    /// THE description.
    pub const fn parts(self) -> Parts {
        use Strength::{Exclusive as X, None as N, Shared as S, Update as U};
        match self {
            Self::IS => Parts::new(N, N, S),
            Self::IX => Parts::new(N, N, X),
            Self::SIX => Parts::new(S, S, X),
            Self::S => Parts::new(S, S, N),
            Self::X => Parts::new(X, X, N),
            Self::NS => Parts::new(N, S, N),
            Self::NX => Parts::new(N, X, N),
            Self::SN => Parts::new(S, N, N),
            Self::SX => Parts::new(S, X, N),
            Self::XN => Parts::new(X, N, N),
            Self::XS => Parts::new(X, S, N),
            Self::UN => Parts::new(U, N, N),
        }
    }

    /// The mode of a key-range lock; none when neither key nor gap is held.
    #[inline]
    pub const fn of_range(key: Strength, gap: Strength) -> Option<Self> {
        RANGES[key as usize][gap as usize]
    }

    /// Whether two transactions may hold these modes of one lock at once.
    #[inline]
    pub const fn compatible(self, other: Self) -> bool {
        CONFLICTS[self as usize] & 1 << other as u16 == 0
    }

    /// The weakest mode that grants what both grant.
    #[inline]
    pub const fn join(self, other: Self) -> Self {
        JOINS[self as usize][other as usize]
    }

    /// Whether holding `self` includes what `other` grants.
    #[inline]
    pub const fn covers(self, other: Self) -> bool {
        self.join(other) as u8 == self as u8
    }

    /// Whether it announces finer locks.
    #[inline]
    pub const fn is_intent(self) -> bool {
        matches!(self, Self::IS | Self::IX | Self::SIX)
    }

    /// Whether anything may be changed under it, here or below.
    #[inline]
    pub const fn is_exclusive(self) -> bool {
        let Parts { key, gap, below } = self.parts();
        matches!(key.max(gap).max(below), Strength::Exclusive)
    }

    /// As [`Self::ALL`] numbers it and the papers write it.
    pub const fn name(self) -> &'static str {
        ["IS", "IX", "SIX", "S", "X", "NS", "NX", "SN", "SX", "XN", "XS", "UN"][self as usize]
    }
}

impl From<LockMode> for Mode {
    #[inline]
    fn from(mode: LockMode) -> Self {
        match mode {
            LockMode::IntentShared => Self::IS,
            LockMode::IntentExclusive => Self::IX,
            LockMode::Shared => Self::S,
            LockMode::Exclusive => Self::X,
        }
    }
}

/// Per mode, the set of those it does not go together with, a bit each.
pub const CONFLICTS: [u16; MODES] = {
    let mut table = [0; MODES];
    let mut one = 0;
    while one < MODES {
        let mut other = 0;
        while other < MODES {
            if !Mode::ALL[one].parts().compatible(Mode::ALL[other].parts()) {
                table[one] |= 1 << other;
            }
            other += 1;
        }
        one += 1;
    }
    table
};

const JOINS: [[Mode; MODES]; MODES] = {
    let mut table = [[Mode::X; MODES]; MODES];
    let mut one = 0;
    while one < MODES {
        assert!(Mode::ALL[one] as usize == one, "modes are numbered as listed");
        let mut other = 0;
        while other < MODES {
            let both = Mode::ALL[one].parts().join(Mode::ALL[other].parts());
            if let Some(mode) = weakest(both) {
                table[one][other] = mode;
            }
            other += 1;
        }
        one += 1;
    }
    table
};

/// Per strength of a key, and of the gap behind it, the mode of a key-range lock.
const RANGES: [[Option<Mode>; STRENGTHS.len()]; STRENGTHS.len()] = {
    let mut table = [[None; STRENGTHS.len()]; STRENGTHS.len()];
    let mut key = 0;
    while key < STRENGTHS.len() {
        assert!(STRENGTHS[key] as usize == key, "strengths are numbered as listed");
        let mut gap = 0;
        while gap < STRENGTHS.len() {
            table[key][gap] = weakest(Parts::new(STRENGTHS[key], STRENGTHS[gap], Strength::None));
            gap += 1;
        }
        key += 1;
    }
    table
};

/// The weakest mode that includes what `parts` says: the one that conflicts with the fewest.
const fn weakest(parts: Parts) -> Option<Mode> {
    if parts.whole() as u8 == 0 && parts.below as u8 == 0 {
        return None;
    }
    let mut best = Mode::X;
    let mut at = 0;
    while at < MODES {
        let mode = Mode::ALL[at];
        if mode.parts().covers(parts) && best.parts().covers(mode.parts()) {
            best = mode;
        }
        at += 1;
    }
    Some(best)
}

#[cfg(test)]
mod tests;
