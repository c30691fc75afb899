//! Literals that may be parameters of what is compiled.

use std::sync::Arc;

/// What a literal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Integer,
    BigInt,
    Text,
}

impl Kind {
    /// What stands in a key for a literal of the kind: no text that has a shape contains it.
    pub(crate) const fn mark(self) -> u8 {
        match self {
            Self::Integer => 1,
            Self::BigInt => 2,
            Self::Text => 3,
        }
    }
}

/// A literal of a statement that the compiler may make a parameter of.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// the number of its token
    pub(crate) token: u64,
    /// whether a minus of its own stands before that
    pub(crate) is_signed: bool,
}

/// Literals that may become parameters, in their order.
#[derive(Clone, Debug)]
pub(crate) struct OpenLiterals(pub(crate) Arc<[Open]>);

/// What the compiler knows of literals.
#[derive(Default, Debug)]
pub(crate) struct Literals {
    pub(crate) open: Option<OpenLiterals>,
    /// of how many expressions around the current one the values are looked at
    pub(crate) closed: usize,
    /// one would need two types, or a plan that depends on it
    pub(crate) is_refused: bool,
}

impl Literals {
    pub(crate) fn new(open: Option<OpenLiterals>) -> Self {
        Self { open, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.0.len())
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }
}
