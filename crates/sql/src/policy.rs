//! CREATE, ALTER and DROP POLICY, and ROW LEVEL SECURITY of ALTER TABLE.
//!
//! Role         makes of them what the table's description says of its row security
//! Invariants   I1 a condition compiles over the table's rows when it is made
//! Source       PostgreSQL 15, CREATE POLICY, and policy.c

use std::sync::Arc;

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{POLICIES_MAX, Policy, PolicyCommand, RowSecurity, Table, local};
use hotrow_transaction::program::Place;
use sqlparser::ast::AlterTableOperation as Operation;

use crate::apply::apply;
use crate::changes::{CatalogChange, left_out};
use crate::error::{Advice, Result, error};
use crate::keyless::lacks_key;
use crate::mention::may_name;
use crate::policy_syntax::{PolicyAction, PolicyParts, PolicySyntax, WrittenCondition};
use crate::role::RoleName;
use crate::scope::Compiler;
use crate::token::{parse_expression, tokenize};

impl Compiler<'_> {
    /// CREATE, ALTER and DROP POLICY.
    pub(crate) fn policy_statement(&mut self, written: &PolicySyntax) -> Result<CatalogChange> {
        let PolicySyntax { name, place, table: (table_name, at), what } = written;
        if let PolicyAction::Drop { if_exists: true } = what
            && self.table_named(table_name).is_none()
        {
            let text = format!("relation \"{table_name}\" does not exist, skipping");
            return Ok(CatalogChange::Nothing(left_out(text)));
        }
        if let Some(view) = self.view_named(table_name) {
            let message = format!("\"{}\" is not a table", view.name);
            return Err(error(b"42809", *at, message));
        }
        let table = self.table(table_name, *at)?;
        let known = table.security.policies.iter().find(|policy| policy.name == *name);
        let missing = || {
            let message = format!("policy \"{name}\" for table \"{}\" does not exist", table.name);
            error(b"42704", *place, message)
        };
        let is_there = |name: &str| {
            let message = format!("policy \"{name}\" for table \"{}\" already exists", table.name);
            error(b"42710", *place, message)
        };
        let mut security = table.security.clone();
        match what {
            PolicyAction::Drop { if_exists } => match known {
                Some(_) => security.drop(name),
                None if *if_exists => {
                    let of = &table.name;
                    let text =
                        format!("policy \"{name}\" for relation \"{of}\" does not exist, skipping");
                    return Ok(CatalogChange::Nothing(left_out(text)));
                }
                None => return Err(missing()),
            },
            PolicyAction::Rename(to) => {
                let policy = known.ok_or_else(missing)?.clone();
                if security.policies.iter().any(|other| other.name == *to) {
                    return Err(is_there(to));
                }
                security.drop(name);
                security.set(Policy { name: to.clone(), ..policy });
            }
            PolicyAction::Alter(parts) => {
                let policy = known.ok_or_else(missing)?.clone();
                security.set(self.with_parts(table, policy, parts, *place)?);
            }
            PolicyAction::Create { is_permissive, command, parts } => {
                if known.is_some() {
                    return Err(is_there(name));
                }
                if security.policies.len() >= POLICIES_MAX {
                    let message = format!("a table has at most {POLICIES_MAX} policies");
                    return Err(error(b"54000", *place, message));
                }
                let policy = Policy {
                    name: name.clone(),
                    is_permissive: *is_permissive,
                    command: *command,
                    roles: Vec::new(),
                    using: None,
                    check: None,
                    path: self.path.clone(),
                };
                security.set(self.with_parts(table, policy, parts, *place)?);
            }
        }
        Ok(CatalogChange::SetSecurity { table: table.id, security })
    }

    /// A policy with what a statement says of it.
    fn with_parts(
        &self,
        table: &Table,
        mut policy: Policy,
        PolicyParts { roles, using, check }: &PolicyParts,
        place: Place,
    ) -> Result<Policy> {
        use PolicyCommand::{Delete, Insert, Select};
        if check.is_some() && matches!(policy.command, Some(Select | Delete)) {
            let message = "WITH CHECK cannot be applied to SELECT or DELETE";
            return Err(error(b"42601", place, message));
        }
        if using.is_some() && policy.command == Some(Insert) {
            return Err(error(b"42601", place, "only WITH CHECK expression allowed for INSERT"));
        }
        if let Some(roles) = roles {
            policy.roles = self.policy_roles(roles)?;
        }
        for (written, own) in [(using, &mut policy.using), (check, &mut policy.check)] {
            if let Some(written) = written {
                self.check_policy(table, written)?;
                *own = Some(written.0.clone());
            }
        }
        Ok(policy)
    }

    /// What becomes of policies that name what these changes drop: with CASCADE they go, else it is
    /// 2BP01.
    pub(crate) fn policies_gone(
        &self,
        changes: &[CatalogChange],
        cascades: bool,
    ) -> Result<Vec<CatalogChange>> {
        let dropped: Vec<&str> = changes.iter().filter_map(|of| self.relation_gone(of)).collect();
        let mut gone = Vec::new();
        let names = |policy: &Policy| {
            let mut conditions = policy.using.iter().chain(&policy.check);
            conditions.any(|text| dropped.iter().any(|name| may_name(text, name)))
        };
        let secured = self.catalog.tables().iter();
        if !secured.clone().any(|table| table.security.policies.iter().any(names)) {
            return Ok(gone);
        }
        let mut next = self.catalog.clone();
        changes.iter().try_for_each(|change| apply(&mut next, change))?;
        for table in next.tables().iter() {
            let mut security = table.security.clone();
            for policy in table.security.policies.iter().filter(|policy| names(policy)) {
                let mut compiler = Compiler::new(&next).seeing(&policy.path);
                compiler.procedures = self.procedures;
                let conditions = policy.using.iter().chain(&policy.check);
                let mut conditions = conditions.map(|text| (text.clone(), self.place));
                let check = |written| compiler.check_policy(table, &written);
                match conditions.try_for_each(check) {
                    Ok(()) => continue,
                    Err(refused) if refused.is_refusal() => return Err(refused),
                    Err(_) => {}
                }
                let (of, what) = (&policy.name, dropped.first().copied().unwrap_or_default());
                let told = format!("policy {of} on table {}", table.name);
                if !cascades {
                    let message =
                        format!("cannot drop table {what} because other objects depend on it");
                    return Err(error(b"2BP01", self.place, message)
                        .detail(format!("{told} depends on table {what}"))
                        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
                }
                security.drop(of);
                gone.push(CatalogChange::Nothing(left_out(format!("drop cascades to {told}"))));
            }
            if security != table.security {
                gone.push(CatalogChange::SetSecurity { table: table.id, security });
            }
        }
        Ok(gone)
    }

    /// The name of a table or a view that goes.
    fn relation_gone<'n>(&'n self, change: &'n CatalogChange) -> Option<&'n str> {
        match change {
            CatalogChange::DropTable(table) => Some(&self.catalog.table(*table).name),
            CatalogChange::DropView(name) => Some(local(name)),
            _ => None,
        }
    }

    /// Roles of TO. The database's maker sees all rows in any case, and needs no place there.
    fn policy_roles(&self, written: &[(RoleName, Place)]) -> Result<Vec<Arc<str>>> {
        let mut roles: Vec<Arc<str>> = Vec::new();
        for (name, place) in written {
            let role = self.role_of(name, *place)?;
            let role = role.unwrap_or_else(|| hotrow_transaction::catalog::BOOTSTRAP.into());
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        Ok(roles)
    }

    /// I1. Policies of the tables that it reads are looked at where it is used.
    fn check_policy(&self, table: &Table, (text, place): &WrittenCondition) -> Result<()> {
        let tokens = tokenize(text, *place)?;
        let written = parse_expression(&tokens, *place)?;
        let mut compiler = Compiler::new(self.catalog).seeing(&self.path);
        (compiler.place, compiler.procedures) = (*place, self.procedures);
        compiler.ad_hoc = true;
        compiler.security.is_off = true;
        let row = compiler.row_of(table.id, &table.name);
        let compiled = compiler.with_row(row, |this| this.condition(&written, "POLICY"));
        compiled.map(drop).map_err(|error| error.or_at(*place))
    }
}

/// What ALTER TABLE ... ROW LEVEL SECURITY makes of what a table's row security was.
pub(crate) fn switched_security(
    table: &Table,
    (mut security, operation): (RowSecurity, &Operation),
    place: Place,
) -> Result<RowSecurity> {
    match operation {
        Operation::EnableRowLevelSecurity => security.is_enabled = true,
        Operation::DisableRowLevelSecurity => security.is_enabled = false,
        Operation::ForceRowLevelSecurity => security.is_forced = true,
        _ => security.is_forced = false,
    }
    if security.is_enabled && table.primary.is_none() {
        return Err(lacks_key(table, "row security", place));
    }
    Ok(security)
}

/// The policy of a table that a column is needed by.
pub(crate) fn policy_with(table: &Table, column: ColumnId) -> Option<&Policy> {
    let name = &table.columns[column.index()].name;
    table.security.policies.iter().find(|policy| {
        let mut conditions = policy.using.iter().chain(&policy.check);
        conditions.any(|text| may_name(text, name))
    })
}
