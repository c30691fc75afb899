//! Where something stands in the text that a procedure came from.

/// Line and column (both from 1) in the text the procedure came from; 0, 0 when unknown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// line, from 1
    pub line: u32,
    /// column in characters, from 1
    pub column: u32,
}
