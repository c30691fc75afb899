//! Row security: which rows of a table are for whom.
//!
//! Role         told by CREATE POLICY and ALTER TABLE ... ROW LEVEL SECURITY. `sql` puts the
//!              conditions of all policies into every program that reads or changes the table's
//!              rows, whoever runs it; which of them are a role's, and whether any is, is one
//!              number ([`Catalog::policies_of`]), which is drawn before a call ([`crate::draw`])
//! Invariants   I1 a policy's place among its table's is its bit of that number, so there are
//!                 [`POLICIES_MAX`]; whatever changes places makes another version of them, which
//!                 a program's draws name: none is run with the number of another version
//! Source       PostgreSQL 15, "Row Security Policies"

use std::sync::Arc;

use hotrow_base::ids::TableId;

use super::rights::Object;
use super::role::Attribute;
use super::schemas::SearchPath;
use super::{Catalog, Table};

/// Policies that a table may have: bits of a number that has none for its sign.
pub const POLICIES_MAX: usize = 62;

/// The number of who sees all rows.
pub const ALL_ROWS: i64 = -1;

/// What a table says of who may see and change which of its rows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct RowSecurity {
    /// ENABLE ROW LEVEL SECURITY
    pub is_enabled: bool,
    /// FORCE ROW LEVEL SECURITY: the owner's, too
    pub is_forced: bool,
    /// in the order of their names
    pub policies: Vec<Policy>,
    /// how often policies have come, gone or changed (I1)
    pub version: u32,
}

/// A policy of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// its name; no other policy of the table has it
    pub name: String,
    /// PERMISSIVE: one of those has to let a row pass; RESTRICTIVE: each of those
    pub is_permissive: bool,
    /// FOR; none: ALL
    pub command: Option<PolicyCommand>,
    /// TO; none: PUBLIC
    pub roles: Vec<Arc<str>>,
    /// USING: a condition on rows that there are, as SQL
    pub using: Option<String>,
    /// WITH CHECK: one on rows that come to be
    pub check: Option<String>,
    /// where its bare names are looked for
    pub path: SearchPath,
}

/// What a policy is for, where that is not everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyCommand {
    /// SELECT
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl PolicyCommand {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

impl Policy {
    /// Whether it is for a command.
    pub fn is_for(&self, command: PolicyCommand) -> bool {
        self.command.is_none_or(|own| own == command)
    }

    /// What rows have to satisfy that come to be.
    pub fn check(&self) -> Option<&str> {
        self.check.as_deref().or(self.using.as_deref())
    }
}

impl RowSecurity {
    /// Puts a policy in place of one with its name, or among the others.
    pub fn set(&mut self, policy: Policy) {
        self.policies.retain(|other| other.name != policy.name);
        let at = self.policies.partition_point(|other| other.name < policy.name);
        self.policies.insert(at, policy);
        self.version += 1;
    }

    /// Takes a policy away.
    pub fn drop(&mut self, name: &str) {
        self.policies.retain(|policy| policy.name != name);
        self.version += 1;
    }
}

impl Catalog {
    /// Which policies of a table are for a role (none: the database's maker), as bits (I1);
    /// [`ALL_ROWS`]: no policy keeps rows from it.
    pub fn policies_of(&self, table: &Table, role: Option<&str>) -> i64 {
        let actor = self.rights().actor(role);
        let security = &table.security;
        let is_owner = !security.is_forced && actor.owns(&Object::Table(table.id));
        if !security.is_enabled || actor.has(Attribute::BypassRls) || is_owner {
            return ALL_ROWS;
        }
        let is_for = |policy: &Policy| {
            policy.roles.is_empty() || policy.roles.iter().any(|role| actor.is(Some(role)))
        };
        let own = (0..).zip(&security.policies).filter(|(_, policy)| is_for(policy));
        own.map(|(at, _)| 1_i64 << at).sum()
    }

    /// As [`Catalog::policies_of`]; of a table that is gone: none.
    pub fn policies_of_table(&self, table: TableId, role: Option<&str>) -> i64 {
        self.tables().at(table.index()).map_or(0, |table| self.policies_of(table, role))
    }

    /// Tables with policies that name a role.
    pub fn tables_with_policies_for<'c>(
        &'c self,
        role: &'c str,
    ) -> impl Iterator<Item = (&'c Table, &'c Policy)> {
        let all = self.tables().iter();
        let all = all.flat_map(|table| table.security.policies.iter().map(move |of| (table, of)));
        all.filter(move |(_, policy)| policy.roles.iter().any(|known| **known == *role))
    }
}
