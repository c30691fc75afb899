//! Whether a role has the rights that a statement needs: asked once for each role, as long as the
//! statement is compiled for the definitions in force.

use crate::context::Context;
use crate::prepared::Prepared;
use hotrow_transaction::outcome::SqlError;

impl Prepared {
    /// Fails with 42501 where the session's role has not all that the statement needs, as it was
    /// compiled last. What the database does by itself needs nobody's right.
    pub(crate) fn refuse_without(&self, context: &Context) -> Result<(), SqlError> {
        let role = context.role();
        if role.is_none() || self.statement().is_own() || self.is_allowed(&role) {
            return Ok(());
        }
        let schema = context.core.schema.current();
        self.with_needs(|needs| context.refuse_without(&schema.catalog, needs))?;
        self.allow(role.clone());
        Ok(())
    }
}
