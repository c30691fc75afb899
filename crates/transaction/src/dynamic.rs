//! Statements whose text is known only when a call runs (EXECUTE), as far as the procedure is
//! concerned.
//!
//! Role         the interpreter knows programs and no SQL; whoever does (`hotrow-sql`) stands above
//!              this crate and is called through [`DynamicStatement`]. What it makes of the text
//!              runs on the call's own access path, so that its rows are protected, undone and
//!              logged as the call's others are
//! States       the text's value is there -> it is compiled under the definitions in force ->
//!              whoever asks has the rights that it needs -> what it draws is taken from what the
//!              call has drawn -> it runs, in a frame of its own -> its rows are the loop's
//! Invariants   I1 what a text compiles to depends on nothing but the text, the definitions in
//!              force and the values that it takes: a call that is repeated from a log of calls
//!              does what it did
//!              I2 what a text touches is planned by the text's own slice, run as part of the
//!              call's: a guess like those of other trial reads
//! Source       PostgreSQL 15, 43.5.4: there, too, such a text is compiled each time

use std::fmt;

use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::outcome::SqlError;
use crate::program::Procedure;

/// What the values are that a loop over a text's rows takes, before those of USING.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// the text
    Text,
    /// the role whose rights it runs with
    Role,
    /// the user of the session
    SessionUser,
    /// what random values are computed from
    Seed,
    /// numbers of sequences: pairs of a sequence and its next number, in the order in which they
    /// were drawn
    Numbers,
}

impl Taken {
    /// All of them, in their order.
    pub const ALL: [Self; 5] =
        [Self::Text, Self::Role, Self::SessionUser, Self::Seed, Self::Numbers];
}

/// What is defined while a call runs.
pub trait Definitions {
    /// Tables, views, types and rights.
    fn catalog(&self) -> &Catalog;

    /// Granules, and who is known to change what.
    fn granules(&self) -> &Granules;

    /// The procedure with this key.
    fn procedure(&self, key: &str) -> Option<&Procedure>;

    /// All procedures of this name, which differ in the types of their parameters.
    fn overloads(&self, name: &str) -> Vec<&Procedure>;

    /// The keys of all that there are.
    fn procedure_names(&self) -> Vec<String>;
}

/// What makes a program of a text, in the place where EXECUTE stands.
pub trait DynamicStatement: fmt::Debug + Send + Sync {
    /// Compiles the text: to a procedure whose given parameters are the values of USING, and whose
    /// result are the columns that the loop takes, of their types.
    ///
    /// # Errors
    ///
    /// As those of statements that are sent.
    fn compile(&self, text: &str, definitions: &dyn Definitions) -> Result<Procedure, SqlError>;
}
