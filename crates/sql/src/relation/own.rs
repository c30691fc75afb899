//! Queries of the compiler's own, for what clients ask of the catalog in FROM.

use hotrow_transaction::catalog::Table;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::error::{Result, error};
use crate::relation::level::Bound;
use crate::scope::Compiler;
use crate::token::{parse_statement, tokenize};

impl Compiler<'_> {
    /// The one row of a sequence.
    pub(super) fn sequence_row(&mut self, sequence: &Table, place: Place) -> Result<Bound> {
        let quoted = |name: &str| format!("'{}'", name.replace('\'', "''"));
        let text = format!(
            "SELECT coalesce(last_value, start_value) AS last_value, 0::bigint AS log_cnt, \
             last_value IS NOT NULL AS is_called FROM pg_catalog.pg_sequences \
             WHERE schemaname = {} AND sequencename = {}",
            quoted(&sequence.schema),
            quoted(&sequence.name)
        );
        self.own_query(&text, place)
    }

    /// Compiles a query of the compiler's own, which sees nothing of the statement's.
    fn own_query(&mut self, text: &str, place: Place) -> Result<Bound> {
        let tokens = tokenize(text, place)?;
        let ast::Statement::Query(query) = parse_statement(&tokens, place)? else {
            return Err(error(b"XX000", place, "a query of the compiler's own is none"));
        };
        let path = self.path.clone();
        self.apart_from_statement(&path, |this| this.query_plan(&query))
    }

    /// What `pg_options_to_table` gives: foreign tables, whose options they are, there are none.
    pub(super) fn no_options(&mut self, place: Place) -> Result<Bound> {
        let none = "SELECT NULL::text AS option_name, NULL::text AS option_value WHERE false";
        self.own_query(none, place)
    }
}
