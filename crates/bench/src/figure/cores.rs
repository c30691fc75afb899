//! Where the cores were that a figure was run on.

use std::fmt;

use hotrow_machine::hook;

/// Cores of a real machine, or of a virtual one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cores {
    /// of the machine that this runs on
    Real,
    /// in virtual time
    Virtual,
}

impl Cores {
    /// Both, in the order in which they are told of.
    pub const ALL: [Self; 2] = [Self::Real, Self::Virtual];

    /// Those that this thread runs on.
    pub fn here() -> Self {
        if hook::is_running() { Self::Virtual } else { Self::Real }
    }

    /// In a word, as files are named by it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Virtual => "virtual",
        }
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cores", self.name())
    }
}
