//! CREATE, ALTER and DROP ROLE, and who is in whom: what they change in the catalog.
//!
//! Role         looks names up, and refuses what would leave something without an owner. Whether
//!              whoever asks may have it so is asked elsewhere (`entitled`)

use std::sync::Arc;

use hotrow_transaction::catalog::{
    Attributes, BOOTSTRAP, Membership, Object, ROLES_MAX, Rights, Role,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::changes::{CatalogChange, left_out, warned};
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error};
use crate::role::{Options, RoleName, RoleSyntax, Secret};
use crate::scope::Compiler;

/// 42704
pub(crate) fn no_role(name: &str, place: Place) -> SqlError {
    error(b"42704", place, format!("role \"{name}\" does not exist"))
}

impl Compiler<'_> {
    fn rights(&self) -> &Rights {
        self.catalog.rights()
    }

    /// The role that a name is of; none: the database's maker.
    pub(crate) fn role_of(&self, name: &RoleName, place: Place) -> Result<Option<Arc<str>>> {
        match name {
            RoleName::Current => Ok(self.role.clone()),
            RoleName::Named(name) => match self.rights().role(name) {
                Some(_) => Ok(Some(name.as_str().into())),
                // Who made the database is somebody without a role of this name.
                None if self.is_maker(name) => Ok(None),
                None => Err(no_role(name, place)),
            },
        }
    }

    fn known_role(&self, name: &str, place: Place) -> Result<()> {
        self.rights().role(name).map_or_else(|| Err(no_role(name, place)), |_| Ok(()))
    }

    /// CREATE, ALTER, DROP.
    pub(crate) fn role_statement(&self, written: &RoleSyntax) -> Result<Compiled> {
        match written {
            RoleSyntax::Create { name, place, options } => self.create_role(name, *place, options),
            RoleSyntax::Alter { name, place, options } => {
                let Some(name) = self.role_of(name, *place)? else {
                    return Err(no_role(BOOTSTRAP, *place));
                };
                let known = self.rights().role(&name).ok_or_else(|| no_role(&name, *place))?;
                let role = self.with_options(Role::clone(known), options)?;
                let change = CatalogChange::SetRole { name: name.to_string(), role };
                Ok(Compiled::Catalog(vec![change]))
            }
            RoleSyntax::Setting(written) => self.session_setting(written),
            RoleSyntax::Drop { names, if_exists } => self.drop_roles(names, *if_exists),
            RoleSyntax::Members { name, members, adds, place } => {
                self.known_role(name, *place)?;
                let change = |(member, place): &(String, Place)| {
                    self.member_change((name, *place), member, (*adds).then_some(false))
                };
                let changes = members.iter().map(change);
                Ok(Compiled::Catalog(changes.collect::<Result<Vec<_>>>()?))
            }
        }
    }

    fn create_role(&self, name: &str, place: Place, options: &Options) -> Result<Compiled> {
        if self.rights().role(name).is_some() {
            return Err(error(b"42710", place, format!("role \"{name}\" already exists")));
        }
        if self.rights().roles().len() >= ROLES_MAX {
            return Err(error(b"54000", place, format!("there are {ROLES_MAX} roles")));
        }
        let (attributes, verifier) = (Attributes::ALL, None); // I3
        let (connections_max, valid_until_us) = (-1, None);
        let role = Role { number: 0, attributes, verifier, connections_max, valid_until_us };
        let role = self.with_options(role, options)?;
        let mut changes = vec![CatalogChange::SetRole { name: name.to_owned(), role }];
        for (group, place) in &options.groups {
            self.known_role(group, *place)?;
            changes.push(self.membership(group, name, false));
        }
        let members = options.members.iter().map(|member| (member, false));
        for ((member, place), is_admin) in
            members.chain(options.admins.iter().map(|admin| (admin, true)))
        {
            self.known_role(member, *place)?;
            changes.push(self.membership(name, member, is_admin));
        }
        Ok(Compiled::Catalog(changes))
    }

    fn with_options(&self, mut role: Role, options: &Options) -> Result<Role> {
        for (attribute, is_so) in &options.attributes {
            role.attributes = role.attributes.with(*attribute, *is_so);
        }
        if let Some(password) = &options.password {
            role.verifier = password.as_ref().map(verifier).transpose()?;
        }
        role.connections_max = options.connections_max.unwrap_or(role.connections_max);
        role.valid_until_us = options.valid_until_us.unwrap_or(role.valid_until_us);
        Ok(role)
    }

    fn drop_roles(&self, names: &[(RoleName, Place)], if_exists: bool) -> Result<Compiled> {
        let mut changes = Vec::new();
        for (name, place) in names {
            let RoleName::Named(name) = name else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(error(b"22023", *place, message));
            };
            if self.rights().role(name).is_none() {
                if !if_exists {
                    return Err(no_role(name, *place));
                }
                let text = format!("role \"{name}\" does not exist, skipping");
                changes.push(CatalogChange::Nothing(left_out(text)));
                continue;
            }
            let needed = self.needed_for(name);
            if !needed.is_empty() {
                let message =
                    format!("role \"{name}\" cannot be dropped because some objects depend on it");
                return Err(error(b"2BP01", *place, message).detail(needed.join("\n")));
            }
            changes.push(CatalogChange::DropRole(name.clone()));
        }
        Ok(Compiled::Catalog(changes))
    }

    /// What a role owns, and what it was granted or has granted.
    fn needed_for(&self, name: &str) -> Vec<String> {
        let described = |object: &Object| {
            let (what, name) = self.catalog.described(object);
            format!("{what} {name}")
        };
        let rights = self.rights();
        let owned = rights.owned().filter(|(_, owner)| ***owner == *name);
        let mut all: Vec<_> =
            owned.map(|(object, _)| format!("owner of {}", described(object))).collect();
        for (object, _, grants) in rights.granted() {
            let is_own = rights.owner(object).is_some_and(|owner| **owner == *name);
            let is_named = |role: &Option<Arc<str>>| role.as_deref() == Some(name);
            let is_any = grants.iter().any(|one| is_named(&one.grantee) || is_named(&one.grantor));
            if is_any && !is_own {
                all.push(format!("privileges for {}", described(object)));
            }
        }
        for (table, policy) in self.catalog.tables_with_policies_for(name) {
            all.push(format!("target of policy {} on table {}", policy.name, table.name));
        }
        for ((_, _), _, grants) in rights.defaults() {
            if grants.iter().any(|one| one.grantee.as_deref() == Some(name)) {
                all.push("default privileges".to_owned());
            }
        }
        all.dedup();
        all
    }

    fn membership(&self, role: &str, member: &str, is_admin: bool) -> CatalogChange {
        let how = Some(Membership { grantor: self.role.clone(), is_admin });
        CatalogChange::SetMembership { role: role.to_owned(), member: member.to_owned(), how }
    }

    /// Puts a role in another one, perhaps as one who may put others in it; none: takes it out.
    pub(crate) fn member_change(
        &self,
        (role, place): (&str, Place),
        member: &str,
        adds: Option<bool>,
    ) -> Result<CatalogChange> {
        self.known_role(role, place)?;
        self.known_role(member, place)?;
        let known = self.rights().membership(role, member);
        match (adds, known) {
            (Some(_), _) if self.rights().is_member(role, member) => {
                let message = format!("role \"{role}\" is a member of role \"{member}\"");
                Err(error(b"0LP01", place, message))
            }
            (Some(is_admin), Some(known)) if known.is_admin || !is_admin => {
                let text = format!("role \"{member}\" is already a member of role \"{role}\"");
                Ok(CatalogChange::Nothing(left_out(text)))
            }
            (Some(is_admin), _) => Ok(self.membership(role, member, is_admin)),
            (None, Some(_)) => {
                let (role, member) = (role.to_owned(), member.to_owned());
                Ok(CatalogChange::SetMembership { role, member, how: None })
            }
            (None, None) => {
                let text = format!("role \"{member}\" is not a member of role \"{role}\"");
                Ok(CatalogChange::Nothing(warned(b"01000", text)))
            }
        }
    }

    /// Takes from a member that it may put others in a role.
    pub(crate) fn without_admin(
        &self,
        (role, place): (&str, Place),
        member: &str,
    ) -> Result<CatalogChange> {
        self.known_role(role, place)?;
        self.known_role(member, place)?;
        let known = self.rights().membership(role, member).cloned();
        let (role, member) = (role.to_owned(), member.to_owned());
        let how = known.map(|known| Membership { is_admin: false, ..known });
        Ok(CatalogChange::SetMembership { role, member, how })
    }
}

/// What is kept of a password (I1).
fn verifier(secret: &Secret) -> Result<String> {
    match secret {
        Secret::Verifier(verifier) => Ok(verifier.clone()),
        Secret::Plain(_) => Err(error(b"XX000", Place::default(), "a password was not concealed")
            .hint("This is a bug in Hotrow.")),
    }
}
