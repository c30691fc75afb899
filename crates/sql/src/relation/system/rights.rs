//! Roles, owners and grants as the system catalog shows them, and who has which right.
//!
//! Source       PostgreSQL 15, "System Catalogs", "Access Privilege Inquiry Functions" (acl.c)

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_query::RightOf;
use hotrow_transaction::catalog::{
    Actor, Attribute, Attributes, BOOTSTRAP, Object, ObjectKind, PUBLIC, Privileges, Role,
    SettingScope, shown_grants,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Place, Procedure};
use sqlparser::tokenizer::Token;

use crate::error::error;
use crate::overload::means;
use crate::routine::parameters;
use crate::scope::Compiler;
use crate::token::{Cursor, tokenize};
use crate::written::name_in_text;

use super::cells::{schema_number, text};
use super::numbers::{DATABASE, Number, PROCEDURES, TABLES, VIEWS, id};
use super::{Fields, SystemContext, settings_of_roles};

/// The number of who made the database.
pub(super) const MAKER: i64 = 10;
/// The role whose schema `public` is, unless somebody else was given it, and its number: as
/// PostgreSQL 15 has it. Dumps leave out what this role has.
const DATABASE_OWNER: (i64, &str) = (6171, "pg_database_owner");
const ROLES: Number = Number(650_000_000);

/// What is shown of passwords, be there one or none.
const HIDDEN: &str = "********";

/// A role's number, by its name; of none: the database's maker's.
pub(super) fn role_number(context: &SystemContext<'_>, name: Option<&str>) -> i64 {
    let role = name.filter(|name| *name != context.maker);
    let role = role.and_then(|name| context.catalog.rights().role(name));
    role.map_or(MAKER, |role| ROLES.of(role.number as usize))
}

/// The name of the role with a number.
pub(super) fn role_name(context: &SystemContext<'_>, number: i64) -> String {
    if number == MAKER {
        return context.maker.to_owned();
    }
    if number == DATABASE_OWNER.0 {
        return DATABASE_OWNER.1.to_owned();
    }
    let mut roles = context.catalog.rights().roles();
    let found = roles.find(|(_, role)| ROLES.of(role.number as usize) == number);
    found.map_or_else(|| format!("unknown (OID={number})"), |(name, _)| name.to_string())
}

/// The number of something's owner.
pub(super) fn owner(context: &SystemContext<'_>, object: &Object) -> Value {
    let name = context.catalog.rights().owner(object);
    if name.is_none() && is_public(object) {
        return Value::BigInt(DATABASE_OWNER.0);
    }
    Value::BigInt(role_number(context, name.map(|name| &**name)))
}

/// The name of something's owner.
pub(super) fn owner_name(context: &SystemContext<'_>, object: &Object) -> Value {
    text(owner_of(context, object))
}

fn owner_of<'c>(context: &SystemContext<'c>, object: &Object) -> &'c str {
    let nobody = if is_public(object) { DATABASE_OWNER.1 } else { context.maker };
    context.catalog.rights().owner(object).map_or(nobody, |name| &**name)
}

fn is_public(object: &Object) -> bool {
    matches!(object, Object::Schema(name) if &**name == PUBLIC)
}

/// What has been given of something; NULL: what things of its kind begin with.
pub(super) fn acl(context: &SystemContext<'_>, object: &Object) -> Value {
    let rights = context.catalog.rights();
    if !rights.has_grants(object) {
        return Value::Null;
    }
    let kind = context.catalog.kind_of(object);
    let grants = rights.grants(object, kind);
    let mut shown: Vec<_> = shown_grants(&grants, context.maker).map(text).collect();
    if rights.owner(object).is_none() {
        let letters = Privileges::NAMED.iter().filter(|(one, ..)| kind.all().has_all(*one));
        let letters: String = letters.map(|(.., letter)| letter).collect();
        let maker = context.maker;
        shown.insert(0, text(format!("{maker}={letters}/{maker}")));
    }
    Value::Array(shown)
}

/// What schema `public` begins with: everybody may use what is in it.
pub(super) fn acl_of_public(context: &SystemContext<'_>, object: &Object) -> Value {
    let owner = owner_of(context, object);
    Value::Array(vec![text(format!("{owner}=UC/{owner}")), text(format!("=U/{owner}"))])
}

/// What is given of a kind of things that nobody has given or taken anything of, as an array's
/// text; the kind is a letter, as acldefault has them.
pub(super) fn default_acl(kind: &str, owner: &str) -> String {
    let (own, everybodys) = match kind {
        "c" => ("", ""),
        "r" => ("arwdDxt", ""),
        "s" => ("rwU", ""),
        "d" => ("CTc", "Tc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("rw", ""),
        "n" => ("UC", ""),
        "t" => ("C", ""),
        "p" => ("sA", ""),
        _ => ("U", ""), // foreign-data wrappers and servers
    };
    let mut all = Vec::new();
    if !everybodys.is_empty() {
        all.push(format!("={everybodys}/{owner}"));
    }
    if !own.is_empty() {
        all.push(format!("{owner}={own}/{owner}"));
    }
    format!("{{{}}}", all.join(","))
}

/// What has been given of a column by itself.
pub(super) fn column_acl(context: &SystemContext<'_>, object: &Object, column: usize) -> Value {
    let column = ColumnId(column as u16);
    match context.catalog.rights().column_grants(object, column) {
        [] => Value::Null,
        grants => Value::Array(shown_grants(grants, context.maker).map(text).collect()),
    }
}

/// pg_roles, pg_authid.
pub(super) fn roles(context: &SystemContext<'_>) -> Vec<Fields> {
    let all = all_roles(context).into_iter();
    let with_settings = |(number, name, role): (i64, &str, Role)| {
        let mut fields = shown(number, name, &role);
        fields.push(("rolconfig", settings_of_roles::of_role(context, name)));
        fields
    };
    all.map(with_settings).collect()
}

/// All roles, the maker's first: everything is his that nobody else has.
fn all_roles<'c>(context: &'c SystemContext<'_>) -> Vec<(i64, &'c str, Role)> {
    let rights = context.catalog.rights();
    let mut all = Vec::new();
    let with = |attributes| {
        let (verifier, connections_max, valid_until_us) = (None, -1, None);
        Role { number: 0, attributes, verifier, connections_max, valid_until_us }
    };
    if rights.role(context.maker).is_none() {
        all.push((MAKER, context.maker, with(Attributes::ALL)));
    }
    let attributes = Attributes::default().with(Attribute::Inherit, true);
    all.push((DATABASE_OWNER.0, DATABASE_OWNER.1, with(attributes)));
    let own = rights
        .roles()
        .map(|(name, role)| (role_number(context, Some(name)), &**name, Role::clone(role)));
    all.extend(own);
    all
}

fn shown(number: i64, name: &str, role: &Role) -> Fields {
    let has = |attribute| Value::Bool(role.attributes.has(attribute));
    let until = role.valid_until_us.map_or(Value::Null, Value::TimestampTz);
    vec![
        ("oid", Value::BigInt(number)),
        ("rolname", text(name)),
        ("rolsuper", has(Attribute::Superuser)),
        ("rolinherit", has(Attribute::Inherit)),
        ("rolcreaterole", has(Attribute::CreateRole)),
        ("rolcreatedb", has(Attribute::CreateDb)),
        ("rolcanlogin", has(Attribute::Login)),
        ("rolreplication", has(Attribute::Replication)),
        ("rolbypassrls", has(Attribute::BypassRls)),
        ("rolconnlimit", Value::Int(role.connections_max)),
        ("rolvaliduntil", until),
        ("rolpassword", text(HIDDEN)),
    ]
}

/// pg_user: roles that can log in.
pub(super) fn users(context: &SystemContext<'_>) -> Vec<Fields> {
    let all = all_roles(context).into_iter();
    let users = all.filter(|(.., role)| role.attributes.has(Attribute::Login));
    let fields = users.map(|(number, name, role)| {
        let has = |attribute| Value::Bool(role.attributes.has(attribute));
        vec![
            ("usename", text(name)),
            ("usesysid", Value::BigInt(number)),
            ("usecreatedb", has(Attribute::CreateDb)),
            ("usesuper", has(Attribute::Superuser)),
            ("userepl", has(Attribute::Replication)),
            ("usebypassrls", has(Attribute::BypassRls)),
            ("passwd", text(HIDDEN)),
            ("useconfig", settings_of_roles::of_role(context, name)),
        ]
    });
    fields.collect()
}

/// pg_auth_members.
pub(super) fn members(context: &SystemContext<'_>) -> Vec<Fields> {
    let number = |name: &str| Value::BigInt(role_number(context, Some(name)));
    let all = context.catalog.rights().memberships();
    let fields = all.map(|(role, member, how)| {
        let grantor = role_number(context, how.grantor.as_deref());
        vec![
            ("roleid", number(role)),
            ("member", number(member)),
            ("grantor", Value::BigInt(grantor)),
            ("admin_option", Value::Bool(how.is_admin)),
        ]
    });
    fields.collect()
}

/// pg_db_role_setting.
pub(super) fn session_settings(context: &SystemContext<'_>) -> Vec<Fields> {
    let all = context.catalog.rights().session_settings();
    let fields = all.map(|(SettingScope { role, in_database }, settings)| {
        let role = role.as_ref().map_or(0, |role| role_number(context, Some(role)));
        let database = if *in_database { DATABASE } else { 0 };
        vec![
            ("setdatabase", Value::BigInt(database)),
            ("setrole", Value::BigInt(role)),
            ("setconfig", settings_of_roles::shown(settings)),
        ]
    });
    fields.collect()
}

/// pg_default_acl.
pub(super) fn defaults(context: &SystemContext<'_>) -> Vec<Fields> {
    let all = context.catalog.rights().defaults().enumerate();
    let fields = all.map(|(at, ((of, schema), kind, grants))| {
        let schema = schema.map_or(0, |schema| schema_number(context.catalog, schema));
        let letter = match kind {
            ObjectKind::Table => "r",
            ObjectKind::Sequence => "S",
            ObjectKind::Function => "f",
            ObjectKind::Type => "T",
            ObjectKind::Schema | ObjectKind::Database => "n",
        };
        vec![
            ("oid", Value::BigInt(ROLES.0 + 1_000_000 + at as i64)),
            ("defaclrole", Value::BigInt(role_number(context, of))),
            ("defaclnamespace", Value::BigInt(schema)),
            ("defaclobjtype", text(letter)),
            ("defaclacl", Value::Array(shown_grants(grants, context.maker).map(text).collect())),
        ]
    });
    fields.collect()
}

/// information_schema.table_privileges and role_table_grants: of roles that are his who asks.
pub(super) fn table_privileges(context: &SystemContext<'_>, with_public: bool) -> Vec<Fields> {
    let catalog = context.catalog;
    let actor = catalog.rights().actor(context.role);
    let tables = super::cells::tables(context);
    let tables =
        tables.map(|table| (Object::Table(table.id), table.schema.to_string(), table.name.clone()));
    let views = super::cells::views(context);
    let views = views.map(|view| (Object::View(view.id), view.schema.clone(), view.name.clone()));
    let mut all = Vec::new();
    for (object, schema, name) in tables.chain(views) {
        let own = catalog.rights().owner(&object).map_or(context.maker, |owner| owner).to_owned();
        let maker = catalog.rights().owner(&object).is_none();
        let grants = catalog.rights().grants(&object, ObjectKind::Table).into_owned();
        let given = grants.iter().map(|one| {
            let grantee = one.grantee.as_deref().unwrap_or("PUBLIC").to_owned();
            let grantor = one.grantor.as_deref().unwrap_or(context.maker).to_owned();
            (grantee, grantor, one.privileges, one.grantable, one.grantee.is_none())
        });
        let all_of = ObjectKind::Table.all();
        let by_maker = maker.then(|| (own.clone(), own.clone(), all_of, all_of, false));
        for (grantee, grantor, privileges, grantable, is_public) in
            by_maker.into_iter().chain(given)
        {
            let is_his = actor.is(Some(&grantee)) || actor.is(Some(&grantor));
            if !(is_his || is_public && with_public) {
                continue;
            }
            for right in privileges.names() {
                let one = Privileges::named(right).unwrap_or_default();
                // An owner may pass his own rights on.
                let may_pass = grantable.has_all(one) || grantee == own;
                let yes = |is_so| text(if is_so { "YES" } else { "NO" });
                all.push(vec![
                    ("grantor", text(&*grantor)),
                    ("grantee", text(&*grantee)),
                    ("table_catalog", text(context.database)),
                    ("table_schema", text(&*schema)),
                    ("table_name", text(&*name)),
                    ("privilege_type", text(right)),
                    ("is_grantable", yes(may_pass)),
                    ("with_hierarchy", yes(one == Privileges::SELECT)),
                ]);
            }
        }
    }
    all
}

/// `has_table_privilege` and its kin.
///
/// Errors: 42704 for a role that there is none of, 42P01 and the like for what there is none of,
/// 22023 for a right that is none.
pub(super) fn has_right(
    context: &SystemContext<'_>,
    of: RightOf,
    arguments: &[Value],
) -> Result<Value, SqlError> {
    if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    let takes = if of == RightOf::Column { 3 } else { 2 };
    let (who, rest) = match arguments.len() == takes + 1 {
        true => (Some(&arguments[0]), &arguments[1..]),
        false => (None, arguments),
    };
    if rest.len() != takes {
        let message = "has_..._privilege takes [a user,] a thing and a privilege";
        return Err(SqlError::new(b"42883", message));
    }
    let name;
    let role = match who {
        None => context.role,
        Some(who) => {
            name = role_given(context, who)?;
            name.as_deref()
        }
    };
    let actor = context.catalog.rights().actor(role);
    let wanted = words(&rest[takes - 1]);
    if of == RightOf::Role {
        return role_right(context, &actor, (&rest[0], &wanted));
    }
    let Some(object) = thing(context, of, &rest[0])? else { return Ok(Value::Null) };
    let column = match of {
        RightOf::Column => Some(column_given(context, &object, &rest[1])?),
        _ => None,
    };
    let kind = context.catalog.kind_of(&object);
    for word in wanted.split(',') {
        let (right, with_option) = right_named(word, kind)?;
        let may = |grants: &[_]| match with_option {
            true => actor.grantable_by(grants).has_any(right) || actor.owns(&object),
            false => actor.rights_by(grants).has_any(right),
        };
        let rights = context.catalog.rights();
        let on_whole = may(&rights.grants(&object, kind));
        let on_columns = || match (of, column) {
            (RightOf::Column, Some(column)) => may(rights.column_grants(&object, column)),
            (RightOf::AnyColumn, _) => {
                rights.columns_of(&object).iter().any(|(_, grants)| may(grants))
            }
            _ => false,
        };
        if actor.is_superuser() || on_whole || on_columns() {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn words(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One right, and whether it is asked whether it may be passed on.
fn right_named(word: &str, kind: ObjectKind) -> Result<(Privileges, bool), SqlError> {
    let word = word.trim();
    let upper = word.to_ascii_uppercase();
    let (name, with_option) = match upper.strip_suffix(" WITH GRANT OPTION") {
        Some(name) => (name.trim(), true),
        None => (upper.as_str(), false),
    };
    // A sequence may be asked as a table, and answers as what it is.
    let all = kind.all().and(match kind {
        ObjectKind::Sequence => ObjectKind::Table.all(),
        _ => Privileges::NONE,
    });
    match Privileges::named(name).filter(|right| all.has_all(*right)) {
        Some(right) => Ok((right, with_option)),
        None => Err(SqlError::new(b"22023", format!("unrecognized privilege type: \"{word}\""))),
    }
}

/// A role that an argument names; none: the database's maker.
fn role_given(context: &SystemContext<'_>, who: &Value) -> Result<Option<String>, SqlError> {
    let rights = context.catalog.rights();
    match who {
        Value::Text(name) if rights.role(name).is_some() => Ok(Some(name.clone())),
        Value::Text(name) if name == context.maker || name == BOOTSTRAP => Ok(None),
        // Who may what everybody may.
        Value::Text(name) if name == "public" => Ok(Some(String::new())),
        Value::Text(name) => {
            Err(SqlError::new(b"42704", format!("role \"{name}\" does not exist")))
        }
        Value::BigInt(number) => {
            let name = role_name(context, *number);
            Ok(Some(name).filter(|name| rights.role(name).is_some() || *number != MAKER))
        }
        _ => Ok(Some(String::new())),
    }
}

/// pg_has_role.
fn role_right(
    context: &SystemContext<'_>,
    actor: &Actor<'_>,
    (of, wanted): (&Value, &str),
) -> Result<Value, SqlError> {
    let rights = context.catalog.rights();
    let role = role_given(context, of)?;
    for word in wanted.split(',') {
        let upper = word.trim().to_ascii_uppercase();
        let (kind, with_admin) = match upper
            .strip_suffix(" WITH ADMIN OPTION")
            .or_else(|| upper.strip_suffix(" WITH GRANT OPTION"))
        {
            Some(kind) => (kind.trim(), true),
            None => (upper.as_str(), false),
        };
        let own = actor.name().unwrap_or_default();
        let has = match (kind, role.as_deref()) {
            _ if actor.is_superuser() => true,
            ("MEMBER" | "USAGE", Some(role)) if with_admin => {
                rights.membership(role, own).is_some_and(|how| how.is_admin)
            }
            ("MEMBER", Some(role)) => rights.is_member(own, role),
            ("USAGE", role) => actor.is(role),
            ("MEMBER", None) => false,
            _ => {
                let message = format!("unrecognized privilege type: \"{}\"", word.trim());
                return Err(SqlError::new(b"22023", message));
            }
        };
        if has {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// What an argument names, by its name or its number; none: there is nothing with that number.
fn thing(
    context: &SystemContext<'_>,
    of: RightOf,
    given: &Value,
) -> Result<Option<Object>, SqlError> {
    let catalog = context.catalog;
    let missing = |code: &[u8; 5], message: String| Err(SqlError::new(code, message));
    match (of, given) {
        (RightOf::Database, _) => Ok(Some(Object::Database)),
        (RightOf::Schema, Value::Text(name)) => match catalog.has_schema(name) || is_system(name) {
            true => Ok(Some(Object::Schema(name.as_str().into()))),
            false => missing(b"3F000", format!("schema \"{name}\" does not exist")),
        },
        (RightOf::Schema, Value::BigInt(number)) => {
            let mut names = catalog.schemas().map(|(name, _)| name).chain([PUBLIC]);
            let found = names.find(|name| schema_number(catalog, name) == *number);
            Ok(found.map(|name| Object::Schema(name.into())))
        }
        (RightOf::Function, Value::Text(written)) => {
            let (name, types) = routine_given(context, written)?;
            let is_it = |procedure: &&Procedure| {
                let own = procedure.given().iter().map(|parameter| parameter.sql_type);
                means(context.path, &name, procedure) && own.eq(types.iter().copied())
            };
            match context.procedures.iter().map(|(_, procedure, _)| *procedure).find(is_it) {
                Some(found) => Ok(Some(Object::Function(found.name.as_str().into()))),
                None => missing(b"42883", format!("function \"{written}\" does not exist")),
            }
        }
        (RightOf::Function, Value::BigInt(number)) => {
            let mut all = context.procedures.iter();
            let found = all.find(|(at, ..)| PROCEDURES.of(*at as usize) == *number);
            Ok(found.map(|(_, procedure, _)| Object::Function(procedure.name.as_str().into())))
        }
        (_, Value::BigInt(number)) => {
            let table = id(*number, TABLES).filter(|at| catalog.tables().at(*at).is_some());
            let table = table.map(|at| Object::Table(TableId(at as u16)));
            let view = || {
                let mut views = catalog.views();
                let found = views.find(|view| VIEWS.of(view.id as usize) == *number);
                found.map(|view| Object::View(view.id))
            };
            Ok(table.or_else(view))
        }
        (_, given) => {
            let written = words(given);
            let name = name_in_text(&written).unwrap_or_default();
            let table = catalog.table_seen(context.path, &name);
            let view = catalog.view_seen(context.path, &name);
            match (table, view) {
                (_, Some(view)) => Ok(Some(Object::View(view.id))),
                (Some(table), _) if of == RightOf::Sequence && table.sequence.is_none() => {
                    missing(b"42809", format!("\"{written}\" is not a sequence"))
                }
                (Some(table), _) => Ok(Some(Object::Table(table.id))),
                (None, None) => missing(b"42P01", format!("relation \"{written}\" does not exist")),
            }
        }
    }
}

/// The name of a routine and the types of its parameters, written as `f(integer)`.
fn routine_given(
    context: &SystemContext<'_>,
    written: &str,
) -> Result<(String, Vec<SqlType>), SqlError> {
    let place = Place::default();
    let tokens = tokenize(written, place)?;
    let mut cursor = Cursor::new(&tokens, place);
    let name = cursor.routine_name()?;
    if cursor.peek() != Some(&Token::LParen) {
        return Err(SqlError::new(b"22P02", "expected a left parenthesis"));
    }
    let compiler = Compiler::new(context.catalog).seeing(context.path);
    let types = parameters(&mut cursor)?.into_iter().map(|one| compiler.type_of(&one.type_name));
    Ok((name, types.collect::<Result<_, _>>()?))
}

fn is_system(schema: &str) -> bool {
    ["pg_catalog", "information_schema", "hotrow"].contains(&schema)
}

fn column_given(
    context: &SystemContext<'_>,
    object: &Object,
    given: &Value,
) -> Result<ColumnId, SqlError> {
    let names: Vec<String> = match object {
        Object::Table(table) => {
            let table = context.catalog.table(*table);
            table.shown().iter().map(|column| column.name.clone()).collect()
        }
        Object::View(number) => {
            let view = context.catalog.views().find(|view| view.id == *number);
            let columns = view.map(|view| view.columns.as_slice()).unwrap_or_default();
            columns.iter().map(|(name, _)| name.clone()).collect()
        }
        _ => Vec::new(),
    };
    let at = match given {
        Value::Text(name) => names.iter().position(|known| known == name),
        Value::SmallInt(number) => usize::try_from(*number - 1).ok(),
        Value::Int(number) => usize::try_from(*number - 1).ok(),
        _ => None,
    };
    match at.filter(|at| *at < names.len()) {
        Some(at) => Ok(ColumnId(at as u16)),
        None => {
            let (name, (_, relation)) = (words(given), context.catalog.described(object));
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            Err(error(b"42703", Place::default(), message))
        }
    }
}
