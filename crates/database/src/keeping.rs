//! What a prepared statement remembers of being kept as a procedure ([`crate::kept`]).

use std::cell::{Cell, OnceCell};

use hotrow_base::types::SqlType;
use hotrow_sql::{Shape, split_path};

use crate::definition::{statement_name, statement_source};

/// The longest text that is kept, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// What is known of a prepared statement as a procedure.
#[derive(Default)]
pub(crate) struct Keeping {
    statement: OnceCell<Option<KeptStatement>>,
    /// with the schema of this generation it is kept
    pub(crate) kept: Cell<Option<u64>>,
    pub(crate) executions: Cell<u32>,
    /// with the schema of this generation it was refused
    pub(crate) refused: Cell<Option<u64>>,
}

impl Keeping {
    /// The statement to be kept, of whose prepared form this is; none if it cannot be.
    pub(crate) fn statement(
        &self,
        text: &str,
        parameters: &[SqlType],
        literals: &[Option<SqlType>],
    ) -> Option<&KeptStatement> {
        let of = || KeptStatement::of(text, parameters, literals);
        self.statement.get_or_init(of).as_ref()
    }
}

/// A statement to be kept.
pub(crate) struct KeptStatement {
    /// what the procedure is called
    pub(crate) name: String,
    /// its definition
    pub(crate) source: String,
    /// which of the values are its arguments
    pub(crate) is_argument: Vec<bool>,
}

impl KeptStatement {
    /// Of a statement's text, the types of its parameters, and those of its literals where these
    /// are its parameters.
    fn of(text: &str, parameters: &[SqlType], literals: &[Option<SqlType>]) -> Option<Self> {
        let (path, text) = split_path(text);
        let (text, types, is_argument): (_, Vec<SqlType>, _) = if literals.is_empty() {
            let all = vec![true; parameters.len()];
            (text.to_owned(), parameters.to_vec(), all)
        } else {
            let mut shape = Shape::default();
            if !shape.read(text) {
                return None;
            }
            let is_argument: Vec<bool> = literals.iter().map(Option::is_some).collect();
            let text = shape.with_parameters(text, &is_argument);
            (text, literals.iter().copied().flatten().collect(), is_argument)
        };
        let text = format!("{path}{}", text.trim());
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (name, source) = (statement_name(&text, &types), statement_source(&text, &types));
        Some(Self { name, source, is_argument })
    }
}
