//! Operators for random procedures: a join by key of two reads.

use hotrow_base::value::Value;
use hotrow_transaction::operators::{Around, Operators, ReadRows, Unfinished};
use hotrow_transaction::outcome::SqlError;

/// Each row of the first read with each of the second one, which is asked by the first one's last
/// column; of both the columns, and a value of the procedure.
#[derive(Debug)]
pub struct Pairs {
    /// a first value that is an error
    pub fails_at: i32,
}

impl Operators for Pairs {
    fn rows(
        &self,
        values: &[Value],
        _: &Around,
        read: &mut ReadRows<'_>,
    ) -> Result<Vec<Value>, Unfinished> {
        let mut rows = Vec::new();
        let mut ask = |number, values: &[Value]| read(number, values).map_err(Unfinished::Stopped);
        for left in ask(0, &[])?.chunks(2) {
            if left[0] == Value::Int(self.fails_at) {
                return Err(SqlError::new(b"22012", "division by zero").into());
            }
            for right in ask(1, &left[1..])?.chunks(2) {
                rows.extend([left[0].clone(), right[1].clone(), values[0].clone()]);
            }
        }
        Ok(rows)
    }
}
