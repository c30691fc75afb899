//! GRANT: all users may do everything, so there is nothing to grant, and what was meant is so.
//!
//! Role         scripts that set a database up say it; users and tables that are not there are
//!              told. REVOKE is refused: it would promise what does not hold

use sqlparser::ast;

use crate::changes::{CatalogChange, left_out};
use crate::error::{Result, error, place_in, unsupported};
use crate::scope::Compiler;
use crate::written::object_name;

impl Compiler<'_> {
    /// GRANT privileges ON objects TO users.
    pub(crate) fn grant(&self, written: &ast::Grant) -> Result<CatalogChange> {
        let Some(objects) = &written.objects else {
            let hint = "all users may do everything: leave it out";
            return Err(unsupported(self.place, "GRANT of a role", hint));
        };
        if let ast::GrantObjects::Tables(names) = objects {
            for name in names {
                let place = place_in(name, self.place);
                let name = object_name(name, place)?;
                let is_there = self.table_named(&name).is_some();
                if !is_there && self.view_named(&name).is_none() {
                    let message = format!("relation \"{name}\" does not exist");
                    return Err(error(b"42P01", place, message));
                }
            }
        }
        for grantee in &written.grantees {
            if matches!(grantee.grantee_type, ast::GranteesType::Public) {
                continue;
            }
            let Some(ast::GranteeName::ObjectName(name)) = &grantee.name else {
                return Err(unsupported(self.place, "GRANT to this", "name a user, or PUBLIC"));
            };
            let place = place_in(name, self.place);
            let name = object_name(name, place)?;
            let is_somebody = ["public", "current_user", "session_user"].contains(&name.as_str());
            if !is_somebody && !self.catalog.users().contains_key(&name) {
                let message = format!("role \"{name}\" does not exist");
                return Err(error(b"42704", place, message));
            }
        }
        let text = "all users may do everything: nothing had to be granted".to_owned();
        Ok(CatalogChange::Nothing(left_out(text)))
    }
}
