//! What gives a query its rows.

use hotrow_base::memory::Charge;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use crate::{Row, SystemFunction};

/// Where the rows of tables come from.
pub trait Ground {
    /// what ends a query
    type Error: From<SqlError>;

    /// The rows of a read, value after value; `values` are those of its parameters.
    ///
    /// # Errors
    ///
    /// Why there are none.
    fn fetch(&mut self, fetch: usize, values: &[Value]) -> Result<Fetched, Self::Error>;

    /// As [`Ground::fetch`], of a row that is to be held; none if somebody else holds it.
    ///
    /// # Errors
    ///
    /// Why neither is known.
    fn hold(&mut self, fetch: usize, key: &[Value]) -> Result<Option<Vec<Value>>, Self::Error>;

    /// The rows of a relation of the system catalog, all columns of each.
    fn system_rows(&mut self, relation: &str) -> Vec<Row>;

    /// The value of a function of catalog or session.
    ///
    /// # Errors
    ///
    /// It has none for these arguments.
    fn system_function(
        &mut self,
        function: SystemFunction,
        arguments: &[Value],
    ) -> Result<Value, SqlError>;

    /// Asked again and again while rows are computed: whether to go on.
    ///
    /// # Errors
    ///
    /// Why not.
    fn go_on(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Rows, value after value, and what they are charged to as long as somebody has them.
#[derive(Default, Debug)]
pub struct Fetched {
    /// row after row
    pub values: Vec<Value>,
    /// what they take
    pub charge: Charge,
}
