//! Rights: who owns what, and who may do what with it.
//!
//! Role         kept in the catalog as what GRANT, REVOKE and OWNER TO have said; asked for each
//!              role once, for all that a statement or a procedure needs ([`crate::needs`])
//! Invariants   I1 what has no owner in here is the database's maker's, and so every superuser's
//!              I2 what has no list of grants in here has the list that things of its kind begin
//!                 with; an owner's own rights are in a list, too, but for the maker's
//!              I3 of a grant's rights, those that may be passed on are among those there are
//! Source       PostgreSQL 15, "Privileges", and acl.c

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use rpds::RedBlackTreeMapSync;

use super::role::{Actor, Membership, Role};
use super::schemas::{self, PUBLIC};
use super::session_setting::{SessionSettings, SettingScope};

/// Something that belongs to somebody.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Object {
    /// the database
    Database,
    /// a schema, by its name
    Schema(Arc<str>),
    /// a table or a sequence
    Table(TableId),
    /// a view, by its number
    View(u32),
    /// a function or a procedure, by its name
    Function(Arc<str>),
    /// a type or a domain, by the key of its name
    Type(Arc<str>),
}

/// What may be done with things of a kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectKind {
    /// the database
    Database,
    /// schemas
    Schema,
    /// tables and views
    Table,
    /// sequences
    Sequence,
    /// functions and procedures
    Function,
    /// types and domains
    Type,
}

impl Object {
    /// A type by its name in a schema.
    pub fn type_in(schema: &str, name: &str) -> Self {
        Self::Type(schemas::key_in(schema, name).as_ref().into())
    }
}

impl ObjectKind {
    /// All rights that there are for it.
    pub const fn all(self) -> Privileges {
        use Privileges as P;
        match self {
            Self::Database => P(P::CREATE.0 | P::TEMPORARY.0 | P::CONNECT.0),
            Self::Schema => P(P::USAGE.0 | P::CREATE.0),
            Self::Table => P(0b111_1111),
            Self::Sequence => P(P::USAGE.0 | P::SELECT.0 | P::UPDATE.0),
            Self::Function => P::EXECUTE,
            Self::Type => P::USAGE,
        }
    }

    /// What everybody may with one that nobody has said anything of.
    const fn of_everybody(self) -> Privileges {
        use Privileges as P;
        match self {
            Self::Database => P(P::TEMPORARY.0 | P::CONNECT.0),
            Self::Schema | Self::Table | Self::Sequence => P::NONE,
            Self::Function => P::EXECUTE,
            Self::Type => P::USAGE,
        }
    }
}

/// Rights, as bits; their order is that in which PostgreSQL shows them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Privileges(u16);

impl Privileges {
    /// none
    pub const NONE: Self = Self(0);
    /// INSERT
    pub const INSERT: Self = Self(1);
    /// SELECT
    pub const SELECT: Self = Self(1 << 1);
    /// UPDATE
    pub const UPDATE: Self = Self(1 << 2);
    /// DELETE
    pub const DELETE: Self = Self(1 << 3);
    /// TRUNCATE
    pub const TRUNCATE: Self = Self(1 << 4);
    /// REFERENCES
    pub const REFERENCES: Self = Self(1 << 5);
    /// TRIGGER
    pub const TRIGGER: Self = Self(1 << 6);
    /// EXECUTE
    pub const EXECUTE: Self = Self(1 << 7);
    /// USAGE
    pub const USAGE: Self = Self(1 << 8);
    /// CREATE
    pub const CREATE: Self = Self(1 << 9);
    /// TEMPORARY
    pub const TEMPORARY: Self = Self(1 << 10);
    /// CONNECT
    pub const CONNECT: Self = Self(1 << 11);

    /// Each with its name and the letter that it is shown as.
    pub const NAMED: [(Self, &'static str, char); 12] = [
        (Self::INSERT, "INSERT", 'a'),
        (Self::SELECT, "SELECT", 'r'),
        (Self::UPDATE, "UPDATE", 'w'),
        (Self::DELETE, "DELETE", 'd'),
        (Self::TRUNCATE, "TRUNCATE", 'D'),
        (Self::REFERENCES, "REFERENCES", 'x'),
        (Self::TRIGGER, "TRIGGER", 't'),
        (Self::EXECUTE, "EXECUTE", 'X'),
        (Self::USAGE, "USAGE", 'U'),
        (Self::CREATE, "CREATE", 'C'),
        (Self::TEMPORARY, "TEMPORARY", 'T'),
        (Self::CONNECT, "CONNECT", 'c'),
    ];

    /// Those that columns have of their own.
    pub const OF_COLUMNS: Self =
        Self(Self::INSERT.0 | Self::SELECT.0 | Self::UPDATE.0 | Self::REFERENCES.0);

    /// The one with this name, in any case of letters.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("temp") { "temporary" } else { name };
        let mut all = Self::NAMED.iter();
        all.find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(one, ..)| *one)
    }

    /// Those of both.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those that are among others, too.
    #[must_use]
    pub const fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Without some.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of some are among them.
    pub const fn has_all(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Whether one of some is among them.
    pub const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Self::NAMED.into_iter();
        all.filter(move |(one, ..)| self.has_all(*one)).map(|(_, name, _)| name)
    }
}

/// Rights that somebody has given to somebody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// to whom; none: PUBLIC
    pub grantee: Option<Arc<str>>,
    /// by whom; none: the database's maker
    pub grantor: Option<Arc<str>>,
    /// which
    pub privileges: Privileges,
    /// WITH GRANT OPTION: those that he may pass on (I3)
    pub grantable: Privileges,
}

/// What has been given of one thing.
pub type Grants = Vec<Grant>;

/// Of whom, and in which schema (none: in all), what is made of a kind begins with other rights.
type DefaultsKey = (Option<Arc<str>>, Option<Arc<str>>, ObjectKind);

/// Roles, memberships, owners and grants; a clone shares what is the same.
#[derive(Clone, Default, Debug)]
pub struct Rights {
    roles: RedBlackTreeMapSync<Arc<str>, Arc<Role>>,
    roles_made: u32,
    had_passwords: bool,
    /// by member, and the role that it is in
    members: RedBlackTreeMapSync<(Arc<str>, Arc<str>), Arc<Membership>>,
    owners: RedBlackTreeMapSync<Object, Arc<str>>,
    grants: RedBlackTreeMapSync<Object, Arc<Grants>>,
    column_grants: RedBlackTreeMapSync<(Object, ColumnId), Arc<Grants>>,
    defaults: RedBlackTreeMapSync<DefaultsKey, Arc<Grants>>,
    pub(super) session_settings: RedBlackTreeMapSync<SettingScope, Arc<SessionSettings>>,
}

impl Rights {
    /// All roles, by name.
    pub fn roles(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Arc<Role>)> {
        self.roles.iter()
    }

    /// The role with this name.
    pub fn role(&self, name: &str) -> Option<&Arc<Role>> {
        self.roles.get(name)
    }

    /// The name of a role as all that name it share it; none: there is no such role.
    pub fn role_name(&self, name: &str) -> Option<Arc<str>> {
        self.roles.get_key_value(name).map(|(name, _)| Arc::clone(name))
    }

    /// Whether any role has, or ever had, a password: then nobody is let in without one any more.
    /// The definitions that were made since the beginning tell it, those of roles since dropped
    /// included, so whoever shortens that list has to keep one.
    pub fn had_passwords(&self) -> bool {
        self.had_passwords
    }

    pub(super) fn set_role(&mut self, name: &str, mut role: Role) {
        self.had_passwords |= role.verifier.is_some();
        role.number = match self.roles.get(name) {
            Some(known) => known.number,
            None => {
                self.roles_made += 1;
                self.roles_made
            }
        };
        self.roles.insert_mut(name.into(), Arc::new(role));
    }

    /// Takes a role away that owns nothing, and all that was granted to it.
    pub(super) fn drop_role(&mut self, name: &str) {
        self.roles.remove_mut(name);
        let keys: Vec<_> = self.members.keys().cloned().collect();
        for key in keys.into_iter().filter(|(member, of)| **member == *name || **of == *name) {
            self.members.remove_mut(&key);
        }
        let defaults: Vec<_> = self.defaults.keys().cloned().collect();
        for key in defaults.into_iter().filter(|(of, ..)| of.as_deref() == Some(name)) {
            self.defaults.remove_mut(&key);
        }
        self.forget_session_settings(name);
    }

    /// All memberships: the role, who is in it, and how.
    pub fn memberships(&self) -> impl Iterator<Item = (&str, &str, &Membership)> {
        self.members.iter().map(|((member, of), how)| (&**of, &**member, &**how))
    }

    /// The roles that a role is in by itself.
    pub fn groups_of<'r>(
        &'r self,
        member: &'r str,
    ) -> impl Iterator<Item = (&'r str, &'r Membership)> {
        let from: (Arc<str>, Arc<str>) = (member.into(), "".into());
        let all = self.members.range(from..);
        all.take_while(move |((of, _), _)| **of == *member).map(|((_, of), how)| (&**of, &**how))
    }

    /// How a role is in another one by itself.
    pub fn membership(&self, role: &str, member: &str) -> Option<&Membership> {
        self.members.get(&(member.into(), role.into())).map(|how| &**how)
    }

    /// Puts a role in another one, or takes it out.
    pub fn set_membership(&mut self, role: &str, member: &str, how: Option<Membership>) {
        let key = (member.into(), role.into());
        match how {
            Some(how) => self.members.insert_mut(key, Arc::new(how)),
            None => {
                self.members.remove_mut(&key);
            }
        }
    }

    /// Who owns something; none: the database's maker (I1).
    pub fn owner(&self, object: &Object) -> Option<&Arc<str>> {
        self.owners.get(object)
    }

    /// All that has an owner of its own.
    pub fn owned(&self) -> impl Iterator<Item = (&Object, &Arc<str>)> {
        self.owners.iter()
    }

    /// All that somebody has been given something of, and by columns of it.
    pub fn granted(&self) -> impl Iterator<Item = (&Object, Option<ColumnId>, &Grants)> {
        let all = self.grants.iter().map(|(of, grants)| (of, None, &**grants));
        let columns = self.column_grants.iter();
        all.chain(columns.map(|((of, column), grants)| (of, Some(*column), &**grants)))
    }

    /// Gives something another owner: the grants of the old one are the new one's.
    pub fn set_owner(&mut self, object: &Object, kind: ObjectKind, owner: Option<&str>) {
        let old = self.owners.get(object).cloned();
        match owner {
            Some(owner) => self.owners.insert_mut(object.clone(), owner.into()),
            None => {
                self.owners.remove_mut(object);
            }
        }
        let owner: Option<Arc<str>> = owner.map(Into::into);
        if let Some(grants) = self.grants.get(object) {
            let mut next = passed_on(grants, old.as_ref(), owner.as_ref());
            if old.is_none() && owner.is_some() {
                // The maker's rights are in no list (I2).
                let (grantee, grantor) = (owner.clone(), owner.clone());
                let grantable = Privileges::NONE;
                let own = Grant { grantee, grantor, privileges: kind.all(), grantable };
                next.insert(0, own);
            }
            self.grants.insert_mut(object.clone(), Arc::new(next));
        }
        for (column, grants) in self.columns_of(object) {
            let next = passed_on(&grants, old.as_ref(), owner.as_ref());
            self.column_grants.insert_mut((object.clone(), column), Arc::new(next));
        }
    }

    /// What has just been made is somebody's, and begins with the rights that such things of his
    /// begin with.
    pub fn set_maker(&mut self, object: &Object, kind: ObjectKind, (owner, schema): Maker<'_>) {
        if let Some(owner) = owner {
            self.owners.insert_mut(object.clone(), owner.into());
        }
        let key = |schema: Option<&str>| (owner.map(Into::into), schema.map(Into::into), kind);
        let everywhere = self.defaults.get(&key(None));
        let here = schema.and_then(|schema| self.defaults.get(&key(Some(schema))));
        if everywhere.is_none() && here.is_none() {
            return;
        }
        let mut grants = match everywhere {
            Some(grants) => Grants::clone(grants),
            None => self.begins_with(kind, owner.map(Into::into), object),
        };
        for one in here.iter().flat_map(|grants| grants.iter()) {
            add(&mut grants, one);
        }
        self.grants.insert_mut(object.clone(), Arc::new(grants));
    }

    /// What has been given of something (I2).
    pub fn grants(&self, object: &Object, kind: ObjectKind) -> Cow<'_, Grants> {
        match self.grants.get(object) {
            Some(grants) => Cow::Borrowed(grants),
            None => Cow::Owned(self.begins_with(kind, self.owners.get(object).cloned(), object)),
        }
    }

    /// Whether something has a list of grants of its own.
    pub fn has_grants(&self, object: &Object) -> bool {
        self.grants.get(object).is_some()
    }

    /// What has been given of a column by itself.
    pub fn column_grants(&self, object: &Object, column: ColumnId) -> &[Grant] {
        let key = (object.clone(), column);
        self.column_grants.get(&key).map_or(&[], |grants| grants.as_slice())
    }

    /// The columns of which something has been given by itself, and what.
    pub fn columns_of(&self, object: &Object) -> Vec<(ColumnId, Arc<Grants>)> {
        let all = self.column_grants.range((object.clone(), ColumnId(0))..);
        let own = all.take_while(|((of, _), _)| of == object);
        own.map(|((_, column), grants)| (*column, Arc::clone(grants))).collect()
    }

    /// Sets what has been given of something, or of a column of it.
    pub fn set_grants(&mut self, object: &Object, column: Option<ColumnId>, grants: Grants) {
        match column {
            None => self.grants.insert_mut(object.clone(), Arc::new(grants)),
            Some(column) if grants.is_empty() => {
                self.column_grants.remove_mut(&(object.clone(), column));
            }
            Some(column) => {
                self.column_grants.insert_mut((object.clone(), column), Arc::new(grants));
            }
        }
    }

    /// ALTER DEFAULT PRIVILEGES: what has been said.
    pub fn defaults(&self) -> impl Iterator<Item = (Maker<'_>, ObjectKind, &Grants)> {
        self.defaults.iter().map(|((of, schema, kind), grants)| {
            ((of.as_deref(), schema.as_deref()), *kind, &**grants)
        })
    }

    /// The rights with which things of a kind begin that somebody makes; in one schema: those
    /// beside those that they have everywhere.
    pub fn defaults_of(&self, (of, schema): Maker<'_>, kind: ObjectKind) -> Grants {
        let key = (of.map(Into::into), schema.map(Into::into), kind);
        match (self.defaults.get(&key), schema) {
            (Some(grants), _) => Grants::clone(grants),
            (None, Some(_)) => Grants::new(),
            (None, None) => self.begins_with(kind, of.map(Into::into), &Object::Table(NO_TABLE)),
        }
    }

    /// Sets them.
    pub fn set_defaults(&mut self, (of, schema): Maker<'_>, kind: ObjectKind, grants: Grants) {
        let key = (of.map(Into::into), schema.map(Into::into), kind);
        match schema.is_some() && grants.is_empty() {
            true => {
                self.defaults.remove_mut(&key);
            }
            false => self.defaults.insert_mut(key, Arc::new(grants)),
        }
    }

    /// Has default privileges in a schema be those of its next name.
    pub(super) fn rename_schema(&mut self, from: &str, to: &str) {
        let is_there = |key: &&(_, Option<Arc<str>>, _)| key.1.as_deref() == Some(from);
        let keys: Vec<_> = self.defaults.keys().filter(is_there).cloned().collect();
        for key in keys {
            if let Some(grants) = self.defaults.get(&key).cloned() {
                self.defaults.insert_mut((key.0.clone(), Some(to.into()), key.2), grants);
            }
            self.defaults.remove_mut(&key);
        }
    }

    /// Forgets what there is no more.
    pub fn forget(&mut self, object: &Object) {
        self.owners.remove_mut(object);
        self.grants.remove_mut(object);
        for (column, _) in self.columns_of(object) {
            self.column_grants.remove_mut(&(object.clone(), column));
        }
    }

    /// Has a thing that got another name be whose it was, with what has been given of it.
    pub(super) fn move_to(&mut self, object: &Object, next: &Object) {
        if let Some(owner) = self.owners.get(object).cloned() {
            self.owners.insert_mut(next.clone(), owner);
        }
        if let Some(grants) = self.grants.get(object).cloned() {
            self.grants.insert_mut(next.clone(), grants);
        }
        for (column, grants) in self.columns_of(object) {
            self.column_grants.insert_mut((next.clone(), column), grants);
        }
        self.forget(object);
    }

    /// Has columns' rights stand where the columns do; none: one is gone.
    pub(super) fn move_columns(&mut self, object: &Object, now_at: &[Option<ColumnId>]) {
        let all = self.columns_of(object);
        for (column, _) in &all {
            self.column_grants.remove_mut(&(object.clone(), *column));
        }
        for (column, grants) in all {
            if let Some(Some(next)) = now_at.get(column.index()) {
                self.column_grants.insert_mut((object.clone(), *next), grants);
            }
        }
    }

    /// What things of a kind begin with.
    fn begins_with(&self, kind: ObjectKind, owner: Option<Arc<str>>, object: &Object) -> Grants {
        let mut grants = Grants::new();
        let mut everybody = kind.of_everybody();
        if matches!(object, Object::Schema(name) if **name == *PUBLIC) {
            everybody = Privileges::USAGE;
        }
        let grant = |grantee, privileges| Grant {
            grantee,
            grantor: owner.clone(),
            privileges,
            grantable: Privileges::NONE,
        };
        if !everybody.is_empty() {
            grants.push(grant(None, everybody));
        }
        if owner.is_some() {
            grants.push(grant(owner.clone(), kind.all()));
        }
        grants
    }
}

/// Who makes something, and in which schema.
pub type Maker<'m> = (Option<&'m str>, Option<&'m str>);

/// Stands for a table that is none.
const NO_TABLE: TableId = TableId(u16::MAX);

/// Grants of which one owner's are another one's.
fn passed_on(grants: &Grants, old: Option<&Arc<str>>, new: Option<&Arc<str>>) -> Grants {
    let mut next = Grants::new();
    for grant in grants {
        let mut grant = grant.clone();
        if grant.grantor.as_ref() == old {
            grant.grantor = new.cloned();
        }
        if grant.grantee.is_some() && grant.grantee.as_ref() == old {
            match new {
                Some(_) => grant.grantee = new.cloned(),
                None => continue, // who has all rights in any case
            }
        }
        add(&mut next, &grant);
    }
    next
}

/// Adds rights to those that the same one has given to the same one.
pub fn add(grants: &mut Grants, one: &Grant) {
    let same = |known: &&mut Grant| known.grantee == one.grantee && known.grantor == one.grantor;
    match grants.iter_mut().find(same) {
        Some(known) => {
            known.privileges = known.privileges.and(one.privileges);
            known.grantable = known.grantable.and(one.grantable);
        }
        None => grants.push(one.clone()),
    }
}

/// Takes rights away that somebody has given to somebody, or only that these may be passed on; and
/// from those to whom they were passed on then without right, where that is wanted. False: there
/// are such, and it is not.
pub fn take(grants: &mut Grants, one: &Grant, cascades: bool) -> bool {
    let mut left = vec![one.clone()];
    while let Some(one) = left.pop() {
        let same =
            |known: &&mut Grant| known.grantee == one.grantee && known.grantor == one.grantor;
        let Some(known) = grants.iter_mut().find(same) else { continue };
        let before = known.grantable;
        known.privileges = known.privileges.without(one.privileges);
        known.grantable =
            known.grantable.without(one.privileges).without(one.grantable).among(known.privileges);
        let lost = before.without(known.grantable);
        grants.retain(|known| !known.privileges.is_empty());
        // He may have the right to pass it on from another one.
        let held = grants.iter().filter(|known| known.grantee == one.grantee);
        let held = held.fold(Privileges::NONE, |all, known| all.and(known.grantable));
        let lost = lost.without(held);
        if lost.is_empty() || one.grantee.is_none() {
            continue;
        }
        for known in grants.iter().filter(|known| known.grantor == one.grantee) {
            let privileges = known.privileges.among(lost);
            if privileges.is_empty() {
                continue;
            }
            if !cascades {
                return false;
            }
            left.push(Grant { privileges, grantable: privileges, ..known.clone() });
        }
    }
    true
}

impl Actor<'_> {
    /// The rights that somebody has of something, by its grants.
    pub fn rights_by(&self, grants: &[Grant]) -> Privileges {
        let own = grants.iter().filter(|grant| self.is_grantee(grant));
        own.fold(Privileges::NONE, |all, grant| all.and(grant.privileges))
    }

    /// Those of them that he may pass on.
    pub fn grantable_by(&self, grants: &[Grant]) -> Privileges {
        let own = grants.iter().filter(|grant| self.is_grantee(grant));
        own.fold(Privileges::NONE, |all, grant| all.and(grant.grantable))
    }

    fn is_grantee(&self, grant: &Grant) -> bool {
        grant.grantee.as_ref().is_none_or(|role| self.roles().contains(&**role))
    }

    /// Whether something is his.
    pub fn owns(&self, object: &Object) -> bool {
        self.is(self.rights.owner(object).map(|owner| &**owner))
    }

    /// Whether he may do one of these with something.
    pub fn may(&self, object: &Object, kind: ObjectKind, one_of: Privileges) -> bool {
        self.is_superuser() || self.rights_by(&self.rights.grants(object, kind)).has_any(one_of)
    }

    /// The columns of something of which rights have been given by themselves.
    pub fn rights_of_columns(&self, object: &Object) -> Vec<(ColumnId, Arc<Grants>)> {
        self.rights.columns_of(object)
    }

    /// Whether he may do one of these with a column of something.
    pub fn may_column(&self, object: &Object, column: ColumnId, one_of: Privileges) -> bool {
        let grants = self.rights.column_grants(object, column);
        self.is_superuser() || self.rights_by(grants).has_any(one_of)
    }
}

/// Grants as PostgreSQL shows them: `grantee=rights/grantor`, with a star behind what may be passed
/// on; the database's maker is called as is said.
pub fn shown_grants<'g>(
    grants: &'g [Grant],
    maker: &'g str,
) -> impl Iterator<Item = String> + use<'g> {
    grants.iter().map(move |grant| {
        let mut text = grant.grantee.as_deref().map_or_else(String::new, shown_name);
        text.push('=');
        for (one, _, letter) in Privileges::NAMED {
            if grant.privileges.has_all(one) {
                text.push(letter);
                text.push_str(if grant.grantable.has_all(one) { "*" } else { "" });
            }
        }
        let grantor = grant.grantor.as_deref().unwrap_or(maker);
        let _ = write!(text, "/{}", shown_name(grantor));
        text
    })
}

fn shown_name(name: &str) -> String {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(grantee: &str, grantor: Option<&str>, grantable: bool) -> Grant {
        let privileges = Privileges::SELECT;
        let grantable = if grantable { privileges } else { Privileges::NONE };
        let grantee = Some(grantee.into());
        Grant { grantee, grantor: grantor.map(Into::into), privileges, grantable }
    }

    #[test]
    fn what_was_passed_on_goes_with_the_right_to_do_so() {
        let mut grants = Grants::new();
        add(&mut grants, &grant("ann", None, true));
        add(&mut grants, &grant("bob", Some("ann"), true));
        add(&mut grants, &grant("cid", Some("bob"), false));
        let shown: Vec<_> = shown_grants(&grants, "hotrow").collect();
        assert_eq!(shown, ["ann=r*/hotrow", "bob=r*/ann", "cid=r/bob"]);
        let mut kept = grants.clone();
        assert!(!take(&mut kept, &grant("ann", None, true), false));
        assert!(take(&mut grants, &grant("ann", None, true), true));
        assert!(grants.is_empty());
    }

    #[test]
    fn an_owner_s_rights_are_the_next_owner_s() {
        let object = Object::Schema("s".into());
        let mut rights = Rights::default();
        rights.set_maker(&object, ObjectKind::Schema, (Some("ann"), None));
        let mut grants = rights.grants(&object, ObjectKind::Schema).into_owned();
        add(
            &mut grants,
            &Grant { privileges: Privileges::USAGE, ..grant("bob", Some("ann"), false) },
        );
        rights.set_grants(&object, None, grants);
        rights.set_owner(&object, ObjectKind::Schema, Some("cid"));
        let grants = rights.grants(&object, ObjectKind::Schema);
        let shown: Vec<_> = shown_grants(&grants, "hotrow").collect();
        assert_eq!(shown, ["cid=UC/cid", "bob=U/cid"]);
        assert!(
            rights.actor(Some("cid")).owns(&object) && !rights.actor(Some("ann")).owns(&object)
        );
    }
}
