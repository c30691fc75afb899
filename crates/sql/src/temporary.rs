//! What CREATE TEMP TABLE says beside what CREATE TABLE does.

/// What CREATE TEMP TABLE says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Temporary {
    /// its name in its schema
    pub name: String,
    /// ON COMMIT
    pub at_commit: AtCommit,
    /// AS, whose columns depend on more than the text
    pub is_query: bool,
}

/// What becomes of a temporary table at the end of each transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtCommit {
    /// it stays with its rows
    Stays,
    /// it loses its rows
    Empties,
    /// it goes
    Goes,
}
