//! GRANT, REVOKE and OWNER TO: what they change in the catalog.
//!
//! Role         looks names up, finds out who gives what (as an owner, or as somebody who may pass
//!              it on), and works out the lists of grants that there are then
//! Invariants   I1 one statement's changes build on each other: they are made in a copy first
//! Source       PostgreSQL 15, aclchk.c

use std::collections::BTreeSet;
use std::sync::Arc;

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{
    BOOTSTRAP, Grant, Grants, Object, ObjectKind, Privileges, Rights, ViewKind, add, local,
    qualified, query_name, split, take,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::changes::{CatalogChange, left_out, warned};
use crate::error::{Advice, Result, error};
use crate::grant::{Given, GrantSyntax, Grantee, Kind, On, Thing};
use crate::role::RoleName;
use crate::routine::parameter;
use crate::scope::Compiler;
use crate::token::Cursor;

/// What a statement has changed so far (I1).
struct Granting {
    rights: Rights,
    touched: BTreeSet<(Object, Option<ColumnId>)>,
    told: Vec<CatalogChange>,
}

impl Compiler<'_> {
    /// GRANT, REVOKE, ALTER DEFAULT PRIVILEGES, OWNER TO, REASSIGN and DROP OWNED.
    pub(crate) fn grant_statement(&self, written: &GrantSyntax) -> Result<Vec<CatalogChange>> {
        if let GrantSyntax::Rights { given, .. } | GrantSyntax::Roles { given, .. } = written
            && let Some((name, place)) = &given.by
            && self.role_of(name, *place)? != self.role
        {
            return Err(error(b"0A000", *place, "grantor must be current user"));
        }
        match written {
            GrantSyntax::Rights { given, on } => self.grant_rights(given, on),
            GrantSyntax::Roles { roles, given } => self.grant_roles(roles, given),
            GrantSyntax::Defaults { of, schemas, kind, given } => {
                self.grant_defaults(of, schemas, *kind, given)
            }
            GrantSyntax::Owner { kind, thing, if_exists, to } => {
                let owner = self.role_of(&to.0, to.1)?;
                let objects = match self.thing(*kind, thing) {
                    Err(error) if *if_exists && error.sqlstate != *b"42725" => {
                        let name = &thing.name;
                        let text = format!("relation \"{}\" does not exist, skipping", local(name));
                        return Ok(vec![CatalogChange::Nothing(left_out(text))]);
                    }
                    object => self.with_sequences(object?),
                };
                let change = |object| CatalogChange::SetOwner { object, owner: owner.clone() };
                Ok(objects.into_iter().map(change).collect())
            }
            GrantSyntax::Reassign { from, to } => {
                let to = self.role_of(&to.0, to.1)?;
                let mut changes = Vec::new();
                for (from, place) in from {
                    let from = self.role_of(from, *place)?;
                    let owned = self.catalog.rights().owned();
                    let own = owned.filter(|(_, owner)| Some(*owner) == from.as_ref());
                    changes.extend(own.map(|(object, _)| {
                        let (object, owner) = (object.clone(), to.clone());
                        CatalogChange::SetOwner { object, owner }
                    }));
                }
                Ok(changes)
            }
            GrantSyntax::DropOwned { of, cascades: _ } => self.drop_owned(of),
        }
    }

    /// A table with the sequences that go with it.
    fn with_sequences(&self, object: Object) -> Vec<Object> {
        let mut all = vec![object];
        if let Object::Table(table) = all[0] {
            let owned = crate::sequence::owned_by(self.catalog, self.catalog.table(table));
            all.extend(owned.map(Object::Table));
        }
        if let Object::View(number) = all[0]
            && let Some(view) = self.catalog.views().find(|view| view.id == number)
            && let ViewKind::Kept { .. } = view.kind
        {
            let query = qualified(&view.schema, &query_name(&view.name));
            all.extend(self.catalog.view(&query).map(|query| Object::View(query.id)));
            all.extend(self.rows_kept(view).map(|table| Object::Table(table.id)));
        }
        all
    }

    /// DROP OWNED: what was granted to somebody goes. What he owns stays: dropping it is asked for
    /// by name.
    fn drop_owned(&self, of: &[(RoleName, Place)]) -> Result<Vec<CatalogChange>> {
        let mut granting = Granting::new(self.catalog.rights());
        for (name, place) in of {
            let role = self.role_of(name, *place)?;
            let owned = self.catalog.rights().owned();
            if let Some((object, _)) = owned.into_iter().find(|(_, by)| Some(*by) == role.as_ref())
            {
                let (what, name) = self.catalog.described(object);
                let what = format!("DROP OWNED of who owns something ({what} {name})");
                let hint = "REASSIGN OWNED BY role TO another one first, or drop it by name";
                return Err(crate::error::unsupported(*place, what, hint));
            }
            let all: Vec<_> =
                self.catalog.rights().granted().map(|(o, c, _)| (o.clone(), c)).collect();
            for (object, column) in all {
                let mut grants = granting.grants(&object, column, self.catalog.kind_of(&object));
                let before = grants.len();
                grants.retain(|one| one.grantee != role || role.is_none());
                if grants.len() < before {
                    granting.set(object, column, grants);
                }
            }
            let defaults: Vec<_> = granting
                .rights
                .defaults()
                .map(|((of, schema), kind, grants)| {
                    let key = (of.map(Arc::from), schema.map(Arc::from), kind);
                    let kept = grants.iter().filter(|one| one.grantee != role || role.is_none());
                    (key, kept.cloned().collect::<Grants>())
                })
                .collect();
            for ((of, schema, kind), grants) in defaults {
                let change = CatalogChange::SetDefaults { of, schema, kind, grants };
                granting.told.push(change);
            }
        }
        Ok(granting.changes())
    }

    fn grant_roles(&self, roles: &[(String, Place)], given: &Given) -> Result<Vec<CatalogChange>> {
        let mut changes = Vec::new();
        for (role, place) in roles {
            for (to, at) in &given.to {
                let member = match to {
                    Grantee::Public => {
                        let message = "role \"public\" does not exist";
                        return Err(error(b"42704", *at, message));
                    }
                    Grantee::Role(name) => self.role_of(name, *at)?,
                };
                let member = member.as_deref().unwrap_or(BOOTSTRAP);
                changes.push(match (given.is_grant, given.option) {
                    (false, true) => self.without_admin((role, *place), member)?,
                    (true, option) => self.member_change((role, *place), member, Some(option))?,
                    (false, false) => self.member_change((role, *place), member, None)?,
                });
            }
        }
        Ok(changes)
    }

    fn grant_rights(&self, given: &Given, on: &On) -> Result<Vec<CatalogChange>> {
        let mut granting = Granting::new(self.catalog.rights());
        let things = match on {
            On::Named(kind, names) => {
                names.iter().map(|thing| self.thing(*kind, thing)).collect::<Result<Vec<_>>>()?
            }
            On::AllIn(kind, schemas) => {
                let mut all = Vec::new();
                for (schema, place) in schemas {
                    all.extend(self.things_in(*kind, schema, *place)?);
                }
                all
            }
        };
        for object in things {
            let kind = self.catalog.kind_of(&object);
            for one in &given.privileges {
                let named = one.privilege.unwrap_or_else(|| kind.all());
                if !kind.all().has_all(named) {
                    return Err(invalid_privilege(named, kind, one.place));
                }
                if one.columns.is_empty() {
                    continue; // below, with all others of its kind
                }
                let of_columns = one.privilege.unwrap_or(Privileges::OF_COLUMNS);
                if kind != ObjectKind::Table {
                    let message = "column privileges are only valid for relations";
                    return Err(error(b"0LP01", one.place, message));
                }
                if !Privileges::OF_COLUMNS.has_all(of_columns) {
                    let name = of_columns.names().next().unwrap_or_default();
                    let message = format!("invalid privilege type {name} for column");
                    return Err(error(b"0LP01", one.place, message));
                }
                for (column, place) in &one.columns {
                    let column = self.column_of_thing(&object, column, *place)?;
                    let of = Some(of_columns);
                    self.grant_one(&mut granting, given, (&object, Some(column)), of)?;
                }
            }
            let mut whole = given.privileges.iter().filter(|one| one.columns.is_empty()).peekable();
            if whole.peek().is_some() {
                // All of them together, so that what is said is said once.
                let of = whole.try_fold(Privileges::NONE, |all, one| Some(all.and(one.privilege?)));
                self.grant_one(&mut granting, given, (&object, None), of)?;
            }
        }
        Ok(granting.changes())
    }

    /// Gives or takes one right (none: all) of one thing, to or from all that are named.
    fn grant_one(
        &self,
        granting: &mut Granting,
        given: &Given,
        (object, column): (&Object, Option<ColumnId>),
        privilege: Option<Privileges>,
    ) -> Result<()> {
        let kind = self.catalog.kind_of(object);
        let all = if column.is_some() { Privileges::OF_COLUMNS } else { kind.all() };
        let wanted = privilege.unwrap_or(all);
        let (grantor, may) = self.grantor_of(granting, (object, column), kind, wanted);
        let (_, name) = self.catalog.described(object);
        if may.is_empty() {
            let actor = granting.rights.actor(self.role.as_deref());
            let mut held = actor.rights_by(&granting.rights.grants(object, kind));
            held = held.and(column.map_or(Privileges::NONE, |column| {
                actor.rights_by(granting.rights.column_grants(object, column))
            }));
            if held.among(all).is_empty() {
                return Err(self.catalog.permission_denied(object));
            }
        }
        let privileges = wanted.among(may);
        let is_part = privilege.is_some() && privileges != wanted;
        if privileges.is_empty() || is_part {
            let (which, code) = match (privileges.is_empty(), given.is_grant) {
                (true, true) => ("no privileges were granted", b"01007"),
                (false, true) => ("not all privileges were granted", b"01007"),
                (true, false) => ("no privileges could be revoked", b"01006"),
                (false, false) => ("not all privileges could be revoked", b"01006"),
            };
            let text = format!("{which} for \"{name}\"");
            granting.told.push(CatalogChange::Nothing(warned(code, text)));
        }
        if privileges.is_empty() {
            return Ok(());
        }
        for (to, place) in &given.to {
            let grantee = self.grantee(to, *place, given)?;
            let Some(grantee) = grantee else { continue };
            let grantable = if given.option { privileges } else { Privileges::NONE };
            let one = Grant { grantee, grantor: grantor.clone(), privileges, grantable };
            let mut keys = vec![column];
            if column.is_none() && !given.is_grant {
                let of_columns = granting.rights.columns_of(object);
                keys.extend(of_columns.into_iter().map(|(column, _)| Some(column)));
            }
            for key in keys {
                let mut grants = granting.grants(object, key, kind);
                apply(&mut grants, &one, given)?;
                granting.set(object.clone(), key, grants);
            }
        }
        Ok(())
    }

    /// To whom; none: to the database's maker, who has all rights already.
    fn grantee(
        &self,
        to: &Grantee,
        place: Place,
        given: &Given,
    ) -> Result<Option<Option<Arc<str>>>> {
        match to {
            Grantee::Public if given.is_grant && given.option => {
                let message = "grant options can only be granted to roles";
                Err(error(b"0LP01", place, message))
            }
            Grantee::Public => Ok(Some(None)),
            Grantee::Role(name) => Ok(self.role_of(name, place)?.map(Some)),
        }
    }

    /// Who gives, and which of the wanted rights he may give.
    fn grantor_of(
        &self,
        granting: &Granting,
        (object, column): (&Object, Option<ColumnId>),
        kind: ObjectKind,
        wanted: Privileges,
    ) -> (Option<Arc<str>>, Privileges) {
        let rights = &granting.rights;
        let actor = rights.actor(self.role.as_deref());
        if actor.owns(object) {
            return (rights.owner(object).cloned(), wanted);
        }
        let of_whole = rights.grants(object, kind);
        let of_column = column.map(|column| rights.column_grants(object, column));
        let by = |role: &str| {
            let as_it = rights.actor_alone(role);
            let whole = as_it.grantable_by(&of_whole);
            of_column.map_or(whole, |grants| whole.and(as_it.grantable_by(grants))).among(wanted)
        };
        let best = actor.names().map(|role| (by(role), role));
        let own = self.role.as_deref().map(|role| (by(role), role));
        // Himself, where that is enough.
        let best = own.filter(|(may, _)| *may == wanted).or_else(|| {
            best.max_by_key(|(may, role)| {
                (may.names().count(), Some(*role) == self.role.as_deref())
            })
        });
        match best {
            Some((may, role)) => (Some(role.into()), may),
            None => (None, Privileges::NONE),
        }
    }

    /// ALTER DEFAULT PRIVILEGES.
    fn grant_defaults(
        &self,
        of: &[(RoleName, Place)],
        schemas: &[(String, Place)],
        kind: Kind,
        given: &Given,
    ) -> Result<Vec<CatalogChange>> {
        let own = [(RoleName::Current, self.place)];
        let of = if of.is_empty() { &own[..] } else { of };
        let kind = kind.object_kind();
        let mut changes = Vec::new();
        for (name, place) in of {
            let role = self.role_of(name, *place)?;
            let mut places: Vec<Option<Arc<str>>> = Vec::new();
            for (schema, place) in schemas {
                self.known_schema(schema, *place)?;
                places.push(Some(schema.as_str().into()));
            }
            if places.is_empty() {
                places.push(None);
            }
            for schema in places {
                let maker = (role.as_deref(), schema.as_deref());
                let mut grants = self.catalog.rights().defaults_of(maker, kind);
                for one in &given.privileges {
                    let privileges = one.privilege.unwrap_or_else(|| kind.all());
                    if !kind.all().has_all(privileges) {
                        return Err(invalid_privilege(privileges, kind, one.place));
                    }
                    if let Some((_, place)) = one.columns.first() {
                        let message = "default privileges cannot be set for columns";
                        return Err(error(b"0LP01", *place, message));
                    }
                    for (to, place) in &given.to {
                        let Some(grantee) = self.grantee(to, *place, given)? else { continue };
                        let grantable = if given.option { privileges } else { Privileges::NONE };
                        let grantor = role.clone();
                        let one = Grant { grantee, grantor, privileges, grantable };
                        apply(&mut grants, &one, given)?;
                    }
                }
                let of = role.clone();
                changes.push(CatalogChange::SetDefaults { of, schema, kind, grants });
            }
        }
        Ok(changes)
    }

    /// What who made the database is called.
    pub(crate) fn maker_name(&self) -> &str {
        self.maker.as_deref().unwrap_or(BOOTSTRAP)
    }

    /// Whether a name is that of who made the database, where no role has it.
    pub(crate) fn is_maker(&self, name: &str) -> bool {
        self.maker.as_deref() == Some(name) || [BOOTSTRAP, "postgres"].contains(&name)
    }

    fn known_schema(&self, schema: &str, place: Place) -> Result<()> {
        match self.catalog.has_schema(schema) {
            true => Ok(()),
            false => Err(error(b"3F000", place, format!("schema \"{schema}\" does not exist"))),
        }
    }

    /// Something by its name.
    pub(crate) fn thing(&self, kind: Kind, thing: &Thing) -> Result<Object> {
        let (name, place) = (thing.name.as_str(), thing.place);
        match kind {
            Kind::Relation | Kind::View => {
                if let Some(view) = self.view_named(name) {
                    return Ok(Object::View(view.id));
                }
                match self.table_named(name) {
                    Some(table) => Ok(Object::Table(table.id)),
                    None => self.table(name, place).map(|table| Object::Table(table.id)),
                }
            }
            Kind::Sequence => self.sequence_named(name, place).map(|it| Object::Table(it.id)),
            Kind::Index => match self.index_named(name) {
                Some(index) => Ok(Object::Table(index.table)),
                None => {
                    let message = format!("relation \"{}\" does not exist", local(name));
                    Err(error(b"42P01", place, message))
                }
            },
            Kind::Schema => {
                self.known_schema(name, place)?;
                Ok(Object::Schema(name.into()))
            }
            Kind::Database => Ok(Object::Database),
            Kind::Routine => self.routine_thing(thing),
            Kind::Type => {
                let found = self.catalog.types().find(|(schema, known, _)| {
                    let (of, wanted) = split(name);
                    *known == wanted
                        && of.map_or_else(
                            || self.path.schemas().any(|seen| seen == *schema),
                            |of| of == *schema,
                        )
                });
                match found {
                    Some((schema, name, _)) => Ok(Object::type_in(schema, name)),
                    None => {
                        let message = format!("type \"{}\" does not exist", local(name));
                        Err(error(b"42704", place, message))
                    }
                }
            }
        }
    }

    /// A routine by its name, and the types of its parameters where these are told.
    fn routine_thing(&self, thing: &Thing) -> Result<Object> {
        let Thing { name, place, parameters } = thing;
        let parameters = parameters.as_ref().map(|list| {
            let items = Cursor::new(list, *place).split_commas();
            items.into_iter().map(parameter).collect::<Result<Vec<_>>>()
        });
        let is_told = parameters.is_some();
        let written = (name.clone(), *place, parameters.transpose()?);
        let key = self.routine_dropped(&written)?.name;
        match self.procedures.and_then(|all| all.procedure(&key)) {
            Some(routine) => Ok(Object::Function(routine.name.as_str().into())),
            None if is_told => {
                Err(error(b"42883", *place, format!("function {key} does not exist")))
            }
            None => {
                let message = format!("could not find a function named \"{name}\"");
                Err(error(b"42883", *place, message))
            }
        }
    }

    /// All things of a kind in a schema.
    fn things_in(&self, kind: Kind, schema: &str, place: Place) -> Result<Vec<Object>> {
        self.known_schema(schema, place)?;
        let wants_sequences = kind == Kind::Sequence;
        Ok(match kind {
            Kind::Routine => {
                let names = self.routines_in(schema).into_iter();
                names.map(|name| Object::Function(name.into())).collect()
            }
            _ => {
                let tables = self.catalog.tables().iter();
                let own = tables.filter(|table| {
                    &*table.schema == schema && table.sequence.is_some() == wants_sequences
                });
                let views = self.catalog.views().filter(|view| view.schema == schema);
                let views = views.filter(|_| !wants_sequences).map(|view| Object::View(view.id));
                own.map(|table| Object::Table(table.id)).chain(views).collect()
            }
        })
    }

    fn column_of_thing(&self, object: &Object, name: &str, place: Place) -> Result<ColumnId> {
        let found = match object {
            Object::Table(table) => self.catalog.table(*table).column(name),
            Object::View(number) => {
                let view = self.catalog.views().find(|view| view.id == *number);
                let columns = view.map(|view| view.columns.as_slice()).unwrap_or_default();
                let at = columns.iter().position(|(known, _)| known == name);
                at.map(|at| ColumnId(at as u16))
            }
            _ => None,
        };
        found.ok_or_else(|| {
            let (_, relation) = self.catalog.described(object);
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            error(b"42703", place, message)
        })
    }
}

/// Gives or takes what is given.
fn apply(grants: &mut Grants, one: &Grant, given: &Given) -> Result<()> {
    if given.is_grant {
        add(grants, one);
        return Ok(());
    }
    let one = match given.option {
        true => Grant { privileges: Privileges::NONE, ..one.clone() },
        false => Grant { grantable: Privileges::NONE, ..one.clone() },
    };
    match take(grants, &one, given.cascades) {
        true => Ok(()),
        false => Err(error(b"2BP01", given.place, "dependent privileges exist")
            .hint("Use CASCADE to revoke them too.")),
    }
}

fn invalid_privilege(privileges: Privileges, kind: ObjectKind, place: Place) -> SqlError {
    let wrong = privileges.without(kind.all());
    let name = wrong.names().next().unwrap_or_default();
    let what = match kind {
        ObjectKind::Database => "database",
        ObjectKind::Schema => "schema",
        // A right of sequences is looked at when it is seen to be a table.
        ObjectKind::Table if wrong == Privileges::USAGE => "table",
        ObjectKind::Table => "relation",
        ObjectKind::Sequence => "sequence",
        ObjectKind::Function => "function",
        ObjectKind::Type => "type",
    };
    error(b"0LP01", place, format!("invalid privilege type {name} for {what}"))
}

impl Granting {
    fn new(rights: &Rights) -> Self {
        Self { rights: rights.clone(), touched: BTreeSet::new(), told: Vec::new() }
    }

    fn grants(&self, object: &Object, column: Option<ColumnId>, kind: ObjectKind) -> Grants {
        match column {
            Some(column) => self.rights.column_grants(object, column).to_vec(),
            None => self.rights.grants(object, kind).into_owned(),
        }
    }

    fn set(&mut self, object: Object, column: Option<ColumnId>, grants: Grants) {
        self.rights.set_grants(&object, column, grants);
        self.touched.insert((object, column));
    }

    fn changes(self) -> Vec<CatalogChange> {
        let Self { rights, touched, mut told } = self;
        told.extend(touched.into_iter().map(|(object, column)| {
            let grants = match column {
                Some(column) => rights.column_grants(&object, column).to_vec(),
                None => rights.grants(&object, ObjectKind::Table).into_owned(),
            };
            CatalogChange::SetGrants { object, column, grants }
        }));
        told
    }
}
