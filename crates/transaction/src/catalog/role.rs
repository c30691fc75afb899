//! Roles: who there is, what each may be, and who is in whom.
//!
//! Role         kept in the catalog as what CREATE ROLE and GRANT role have said. Users and groups
//!              are roles
//! Invariants   I1 nobody is in himself, by whatever way
//!              I2 who a database was made by has no name in here: what has no owner is its, and so
//!                 every superuser's

use std::collections::BTreeSet;
use std::sync::Arc;

use super::rights::Rights;

/// How many roles there can be.
pub const ROLES_MAX: usize = 10_000;

/// What the role that made the database is called where a name is asked for (I2).
pub const BOOTSTRAP: &str = "hotrow";

/// What a role may be, beside what it is granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// everything
    Superuser,
    /// INHERIT: what the roles may that it is in, without SET ROLE
    Inherit,
    /// make and change other roles
    CreateRole,
    /// make databases, if there were more than one
    CreateDb,
    /// begin a session
    Login,
    /// follow the log, if that could be followed
    Replication,
    /// see all rows of tables with row security
    BypassRls,
}

impl Attribute {
    /// In the order in which they are written.
    pub const ALL: [Self; 7] = [
        Self::Superuser,
        Self::Inherit,
        Self::CreateRole,
        Self::CreateDb,
        Self::Login,
        Self::Replication,
        Self::BypassRls,
    ];

    /// As CREATE ROLE has it; with NO before it where it is not so.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Superuser => "SUPERUSER",
            Self::Inherit => "INHERIT",
            Self::CreateRole => "CREATEROLE",
            Self::CreateDb => "CREATEDB",
            Self::Login => "LOGIN",
            Self::Replication => "REPLICATION",
            Self::BypassRls => "BYPASSRLS",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Some of the [`Attribute`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Attributes(u8);

impl Attributes {
    /// All of them.
    pub const ALL: Self = Self(u8::MAX);

    /// Whether one is among them.
    pub const fn has(self, attribute: Attribute) -> bool {
        self.0 & attribute.bit() != 0
    }

    /// With one more, or without it.
    #[must_use]
    pub const fn with(self, attribute: Attribute, is_so: bool) -> Self {
        match is_so {
            true => Self(self.0 | attribute.bit()),
            false => Self(self.0 & !attribute.bit()),
        }
    }
}

/// A role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// no other role ever had it; given by [`super::Catalog::set_role`]
    pub number: u32,
    /// what it may be
    pub attributes: Attributes,
    /// what is kept of its password; none: it has none, and cannot log in where one is asked for
    pub verifier: Option<String>,
    /// how many sessions it may have; -1: as many as there can be
    pub connections_max: i32,
    /// until when its password is good, in microseconds of the epoch; none: for ever
    pub valid_until_us: Option<i64>,
}

/// That a role is in another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    /// who has said so; none: the database's maker
    pub grantor: Option<Arc<str>>,
    /// WITH ADMIN OPTION: it may say so of others
    pub is_admin: bool,
}

/// Somebody who wants something, with all that he is because of roles that he is in.
pub struct Actor<'r> {
    pub(super) rights: &'r Rights,
    /// none: the database's maker
    name: Option<&'r str>,
    is_superuser: bool,
    /// whose rights are his, himself among them
    roles: BTreeSet<&'r str>,
}

impl<'r> Actor<'r> {
    /// Whether nothing is forbidden to him.
    pub fn is_superuser(&self) -> bool {
        self.is_superuser
    }

    /// Who he is; none: the database's maker.
    pub fn name(&self) -> Option<&'r str> {
        self.name
    }

    /// Whether he has the rights of a role; none: those of the database's maker.
    pub fn is(&self, role: Option<&str>) -> bool {
        self.is_superuser || role.is_some_and(|role| self.roles.contains(role))
    }

    /// The roles whose rights are his.
    pub(super) fn roles(&self) -> &BTreeSet<&'r str> {
        &self.roles
    }

    /// The names of the roles whose rights are his.
    pub fn names(&self) -> impl Iterator<Item = &'r str> + '_ {
        self.roles.iter().copied()
    }

    /// Whether he is this.
    pub fn has(&self, attribute: Attribute) -> bool {
        let of = self.name.and_then(|name| self.rights.role(name));
        self.is_superuser || of.is_some_and(|role| role.attributes.has(attribute))
    }

    /// Whether he may put others in a role, and take them out.
    pub fn administers(&self, role: &str) -> bool {
        let is_super = self.rights.is_superuser(role);
        let is_admin = |member: &&str| {
            self.rights.membership(role, member).is_some_and(|membership| membership.is_admin)
        };
        self.is_superuser
            || !is_super && self.has(Attribute::CreateRole)
            || self.roles.iter().any(is_admin)
    }
}

impl Rights {
    /// Somebody, by his role; none: the database's maker. Who has no role any more is in none, and
    /// may what everybody may.
    pub fn actor<'r>(&'r self, role: Option<&'r str>) -> Actor<'r> {
        let is_superuser = role.is_none_or(|role| self.is_superuser(role));
        let inherits = |role: &str| {
            self.role(role).is_some_and(|role| role.attributes.has(Attribute::Inherit))
        };
        let roles = match role {
            Some(role) if !is_superuser => self.around(role, inherits),
            _ => role.into_iter().collect(),
        };
        Actor { rights: self, name: role, is_superuser, roles }
    }

    /// A role without those that it is in.
    pub fn actor_alone<'r>(&'r self, role: &'r str) -> Actor<'r> {
        let roles = BTreeSet::from([role]);
        Actor { rights: self, name: Some(role), is_superuser: false, roles }
    }

    /// A role and those that it is in by way of roles that let it.
    fn around<'r>(&'r self, role: &'r str, lets: impl Fn(&str) -> bool) -> BTreeSet<&'r str> {
        let mut all = BTreeSet::from([role]);
        let mut next = vec![role];
        while let Some(member) = next.pop() {
            if !lets(member) {
                continue;
            }
            for (of, _) in self.groups_of(member) {
                if all.insert(of) {
                    next.push(of);
                }
            }
        }
        all
    }

    /// Whether a role is another one or in it, be it through others.
    pub fn is_member(&self, member: &str, of: &str) -> bool {
        self.around(member, |_| true).contains(of)
    }

    /// Whether a role is a superuser.
    pub fn is_superuser(&self, role: &str) -> bool {
        self.role(role).is_some_and(|role| role.attributes.has(Attribute::Superuser))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn role(attributes: Attributes) -> Role {
        let (verifier, valid_until_us) = (None, None);
        Role { number: 0, attributes, verifier, connections_max: -1, valid_until_us }
    }

    #[test]
    fn who_does_not_inherit_is_in_a_role_and_has_none_of_its_rights() {
        let mut catalog = Catalog::default();
        let inherits = Attributes::default().with(Attribute::Inherit, true);
        catalog.set_role("group", role(inherits));
        catalog.set_role("team", role(inherits));
        catalog.set_role("ann", role(inherits));
        catalog.set_role("bob", role(Attributes::default()));
        let membership = Membership { grantor: None, is_admin: false };
        let rights = catalog.rights_mut();
        rights.set_membership("group", "team", Some(membership.clone()));
        rights.set_membership("team", "ann", Some(membership.clone()));
        rights.set_membership("team", "bob", Some(membership));
        assert!(rights.is_member("ann", "group") && rights.is_member("bob", "group"));
        assert!(rights.actor(Some("ann")).is(Some("group")));
        assert!(!rights.actor(Some("bob")).is(Some("team")));
        assert!(!rights.actor(Some("ann")).is(None));
        assert!(rights.actor(None).is(Some("ann")));
        assert!(!rights.actor(Some("gone")).is_superuser());
    }
}
