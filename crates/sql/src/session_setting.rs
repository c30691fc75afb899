//! Settings that sessions begin with: ALTER ROLE and ALTER DATABASE ... SET and RESET.
//!
//! Role         looks the role up. Which settings there are is known to who has sessions, and is
//!              asked before the statement is compiled ([`ScriptStatement::with_setting_checked`])

use hotrow_transaction::catalog::SettingScope;

use crate::changes::{CatalogChange, left_out};
use crate::compiled::Compiled;
use crate::error::Result;
use crate::role::{RoleName, RoleSyntax};
use crate::roles::no_role;
use crate::scope::Compiler;
use crate::script_statement::ScriptStatement;
use crate::session_setting_syntax::SessionSettingSyntax;
use crate::syntax::Syntax;

impl ScriptStatement {
    /// A statement that names a setting for sessions to come, if it is one, when that was looked
    /// at: `check` gets its name and its value (none: it is forgotten), fails for what cannot be,
    /// and gives what is to be said of it. What took effect before is not looked at again.
    ///
    /// # Errors
    ///
    /// Those of `check`.
    pub fn with_setting_checked(
        mut self,
        check: impl Fn(&str, Option<&str>) -> Result<Option<String>>,
    ) -> Result<Self> {
        if !self.is_own
            && let Syntax::Role(RoleSyntax::Setting(written)) = &mut self.syntax
            && let Some(name) = &written.name
        {
            written.notice = check(name, written.value.as_deref())?;
        }
        Ok(self)
    }
}

impl Compiler<'_> {
    pub(crate) fn session_setting(&self, written: &SessionSettingSyntax) -> Result<Compiled> {
        let role = match &written.role {
            None => None,
            Some((name, place)) => {
                let maker = || match name {
                    RoleName::Named(name) => no_role(name, *place),
                    RoleName::Current => no_role(self.maker_name(), *place),
                };
                Some(self.role_of(name, *place)?.ok_or_else(maker)?)
            }
        };
        let scope = SettingScope { role, in_database: written.in_database };
        let (name, value) = (written.name.clone(), written.value.clone());
        let mut changes = vec![CatalogChange::SetSessionSetting { scope, name, value }];
        changes.extend(written.notice.clone().map(|text| CatalogChange::Nothing(left_out(text))));
        Ok(Compiled::Catalog(changes))
    }
}
