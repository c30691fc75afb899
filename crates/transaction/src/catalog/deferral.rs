//! When constraints are checked.

/// When a constraint is checked that statements may violate for a while.
///
/// Source: PostgreSQL 15, CREATE TABLE (DEFERRABLE, INITIALLY) and SET CONSTRAINTS.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Deferral {
    /// NOT DEFERRABLE: by each statement
    #[default]
    Never,
    /// DEFERRABLE: by each statement, unless SET CONSTRAINTS says otherwise
    Immediate,
    /// INITIALLY DEFERRED: by COMMIT, unless SET CONSTRAINTS says otherwise
    Deferred,
}

impl Deferral {
    /// As a definition says it, behind all else; nothing for what cannot be deferred.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Never => "",
            Self::Immediate => " DEFERRABLE",
            Self::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        }
    }

    /// Whether SET CONSTRAINTS may name it.
    pub const fn is_deferrable(self) -> bool {
        !matches!(self, Self::Never)
    }
}
