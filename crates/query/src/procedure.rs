//! Queries inside procedures: the rows of tables come from the procedure's own reads.

use hotrow_base::value::Value;
use hotrow_transaction::operators::{Around, Operators, ReadRows, Unfinished};
use hotrow_transaction::outcome::SqlError;

use crate::memory::charge_of;
use crate::{Fetched, Ground, Limits, Query, Row, STEPS_BETWEEN_LOOKS, SystemFunction, run};

impl Operators for Query {
    fn rows(
        &self,
        values: &[Value],
        around: &Around,
        read: &mut ReadRows<'_>,
    ) -> Result<Vec<Value>, Unfinished> {
        let limits = Limits { bytes_max: around.bytes_max, interrupt: around.interrupt.clone() };
        let ground = &mut Reads { read, around, steps: 0 };
        let _conventions = around.conventions.enter();
        let fetched = run(self, values, around.now_us, limits, ground)?;
        Ok(fetched.values)
    }
}

/// The reads of a procedure.
struct Reads<'r, 'f> {
    read: &'r mut ReadRows<'f>,
    around: &'r Around,
    /// so far, at least
    steps: u64,
}

impl Ground for Reads<'_, '_> {
    type Error = Unfinished;

    fn fetch(&mut self, fetch: usize, values: &[Value]) -> Result<Fetched, Unfinished> {
        let values = (self.read)(fetch, values).map_err(Unfinished::Stopped)?;
        let mut charge = charge_of(self.around.interrupt.as_ref());
        charge.add(values.len() * size_of::<Value>()).map_err(SqlError::from)?;
        Ok(Fetched { values, charge })
    }

    fn hold(&mut self, _: usize, _: &[Value]) -> Result<Option<Vec<Value>>, Unfinished> {
        Err(not_here("SKIP LOCKED").into())
    }

    fn system_rows(&mut self, _: &str) -> Vec<Row> {
        Vec::new() // refused when the procedure is compiled
    }

    fn system_function(&mut self, _: SystemFunction, _: &[Value]) -> Result<Value, SqlError> {
        Err(not_here("a function of catalog or session"))
    }

    fn go_on(&mut self) -> Result<(), Unfinished> {
        self.steps += STEPS_BETWEEN_LOOKS as u64;
        if self.steps > self.around.steps {
            return Err(Unfinished::TooManySteps);
        }
        let interrupt = self.around.interrupt.as_ref();
        interrupt.map_or(Ok(()), |interrupt| interrupt.check()).map_err(SqlError::from)?;
        Ok(())
    }
}

fn not_here(what: &str) -> SqlError {
    SqlError::new(b"0A000", format!("{what} in a query of a procedure"))
}
