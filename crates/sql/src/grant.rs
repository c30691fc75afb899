//! GRANT, REVOKE and what has to do with owners, as they are written.
//!
//! ```text
//! GRANT {privilege [(column, ...)], ... | ALL [PRIVILEGES]} ON things TO who, ...
//!     [WITH GRANT OPTION] [GRANTED BY role]
//! REVOKE [GRANT OPTION FOR] ... ON things FROM who, ... [CASCADE | RESTRICT]
//! GRANT role, ... TO role, ... [WITH ADMIN OPTION]
//! REVOKE [ADMIN OPTION FOR] role, ... FROM role, ...
//!   things   [TABLE] name, ... | SEQUENCE name, ... | SCHEMA name, ... | DATABASE name
//!            | {FUNCTION | PROCEDURE | ROUTINE} name [(types)], ... | {TYPE | DOMAIN} name, ...
//!            | ALL {TABLES | SEQUENCES | FUNCTIONS | PROCEDURES | ROUTINES} IN SCHEMA name, ...
//!   who      role | PUBLIC | CURRENT_USER
//! ALTER DEFAULT PRIVILEGES [FOR ROLE role, ...] [IN SCHEMA name, ...]
//!     {GRANT | REVOKE} ... ON {TABLES | SEQUENCES | FUNCTIONS | TYPES | SCHEMAS} ...
//! ALTER {TABLE | SEQUENCE | VIEW | INDEX | SCHEMA | FUNCTION | ...} name OWNER TO role
//! REASSIGN OWNED BY role, ... TO role     DROP OWNED BY role, ...
//! ```

use hotrow_transaction::catalog::{ObjectKind, Privileges};
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, error, syntax, unsupported};
use crate::role::{RoleName, listed, role_name};
use crate::token::Cursor;

/// A name, and where it stands.
type Named = (String, Place);

/// Something that is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thing {
    pub(crate) name: String,
    pub(crate) place: Place,
    /// of a routine: its parameters as they are written in brackets, if they are
    pub(crate) parameters: Option<Vec<TokenWithSpan>>,
}

/// One of these statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum GrantSyntax {
    Rights { given: Given, on: On },
    Roles { roles: Vec<(String, Place)>, given: Given },
    Defaults { of: Vec<(RoleName, Place)>, schemas: Vec<Named>, kind: Kind, given: Given },
    Owner { kind: Kind, thing: Thing, if_exists: bool, to: (RoleName, Place) },
    Reassign { from: Vec<(RoleName, Place)>, to: (RoleName, Place) },
    DropOwned { of: Vec<(RoleName, Place)>, cascades: bool },
}

/// What is given or taken, to whom or from whom, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Given {
    pub(crate) is_grant: bool,
    /// none of them: ALL
    pub(crate) privileges: Vec<Given1>,
    pub(crate) to: Vec<(Grantee, Place)>,
    /// WITH GRANT OPTION, GRANT OPTION FOR, and the same of ADMIN
    pub(crate) option: bool,
    pub(crate) cascades: bool,
    /// GRANTED BY, which only says who does it in any case
    pub(crate) by: Option<(RoleName, Place)>,
    pub(crate) place: Place,
}

/// One of the rights, perhaps of columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Given1 {
    /// none: ALL
    pub(crate) privilege: Option<Privileges>,
    pub(crate) columns: Vec<(String, Place)>,
    pub(crate) place: Place,
}

/// To whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Grantee {
    Public,
    Role(RoleName),
}

/// Of what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum On {
    Named(Kind, Vec<Thing>),
    AllIn(Kind, Vec<(String, Place)>),
}

/// Kinds of things, as they are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// a table, a view or a sequence
    Relation,
    Sequence,
    View,
    Index,
    Schema,
    Database,
    Routine,
    Type,
}

impl Kind {
    /// What may be done with things of this kind.
    pub(crate) fn object_kind(self) -> ObjectKind {
        match self {
            Self::Relation | Self::View | Self::Index => ObjectKind::Table,
            Self::Sequence => ObjectKind::Sequence,
            Self::Schema => ObjectKind::Schema,
            Self::Database => ObjectKind::Database,
            Self::Routine => ObjectKind::Function,
            Self::Type => ObjectKind::Type,
        }
    }
}

/// Parses such a statement; none when it is another one.
pub(crate) fn grant(cursor: &mut Cursor<'_>) -> Result<Option<GrantSyntax>> {
    let written = if cursor.accept("grant") {
        rights(cursor, true)?
    } else if cursor.accept("revoke") {
        rights(cursor, false)?
    } else if cursor.accept_all(&["alter", "default", "privileges"]) {
        defaults(cursor)?
    } else if cursor.accept_all(&["reassign", "owned", "by"]) {
        let from = listed(cursor, role_name)?;
        cursor.expect("to")?;
        GrantSyntax::Reassign { from, to: role_name(cursor)? }
    } else if cursor.accept_all(&["drop", "owned", "by"]) {
        let of = listed(cursor, role_name)?;
        GrantSyntax::DropOwned { of, cascades: cascades(cursor) }
    } else if cursor.is("alter") {
        match owner(cursor)? {
            Some(owner) => owner,
            None => return Ok(None),
        }
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(written)) } else { Err(cursor.unexpected("the end")) }
}

/// What stands behind GRANT or REVOKE.
fn rights(cursor: &mut Cursor<'_>, is_grant: bool) -> Result<GrantSyntax> {
    let (mut given, names) = privileges(cursor, is_grant)?;
    if !cursor.accept("on") {
        ends(cursor, &mut given, "admin")?;
        let roles = names.into_iter().map(|name| match name {
            (Some(name), place) => Ok((name, place)),
            (None, place) => Err(syntax(place, "a role's name was expected")),
        });
        return Ok(GrantSyntax::Roles { roles: roles.collect::<Result<_>>()?, given });
    }
    refuse_unknown(&names, &given)?;
    let on = things(cursor)?;
    ends(cursor, &mut given, "grant")?;
    Ok(GrantSyntax::Rights { given, on })
}

/// Names of rights or of roles: what they are is seen behind them.
type Names = Vec<(Option<String>, Place)>;

fn privileges(cursor: &mut Cursor<'_>, is_grant: bool) -> Result<(Given, Names)> {
    let place = cursor.place();
    let option = !is_grant
        && (cursor.accept_all(&["grant", "option", "for"])
            || cursor.accept_all(&["admin", "option", "for"]));
    let (mut privileges, mut names) = (Vec::new(), Vec::new());
    if cursor.accept("all") {
        cursor.accept("privileges");
        privileges.push(Given1 { privilege: None, columns: columns(cursor)?, place });
        names.push((None, place));
    } else {
        loop {
            let place = cursor.place();
            let name = cursor.identifier()?;
            let privilege = Privileges::named(&name);
            let columns = columns(cursor)?;
            privileges.push(Given1 { privilege, columns, place });
            names.push((Some(name), place));
            if !cursor.accept_token(&Token::Comma) {
                break;
            }
        }
    }
    let (to, cascades, by) = (Vec::new(), false, None);
    Ok((Given { is_grant, privileges, to, option, cascades, by, place }, names))
}

/// Fails where one of the names is no right's.
fn refuse_unknown(names: &Names, given: &Given) -> Result<()> {
    for ((name, place), one) in names.iter().zip(&given.privileges) {
        if let (Some(name), None) = (name, one.privilege) {
            return Err(syntax(*place, format!("unrecognized privilege type \"{name}\"")));
        }
    }
    Ok(())
}

fn columns(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Place)>> {
    if !cursor.accept_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let columns = listed(cursor, |cursor| {
        let place = cursor.place();
        Ok((cursor.identifier()?, place))
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(columns)
}

fn things(cursor: &mut Cursor<'_>) -> Result<On> {
    let place = cursor.place();
    if cursor.accept("all") {
        let kinds = [
            ("tables", Kind::Relation),
            ("sequences", Kind::Sequence),
            ("functions", Kind::Routine),
            ("procedures", Kind::Routine),
            ("routines", Kind::Routine),
        ];
        let Some((_, kind)) = kinds.into_iter().find(|(word, _)| cursor.accept(word)) else {
            return Err(cursor.unexpected("TABLES, SEQUENCES, FUNCTIONS or PROCEDURES"));
        };
        cursor.expect("in")?;
        cursor.expect("schema")?;
        return Ok(On::AllIn(kind, listed(cursor, named)?));
    }
    for other in ["language", "large", "tablespace", "foreign", "parameter"] {
        if cursor.is(other) && matches!(cursor.peek_at(1), Some(Token::Word(_))) {
            let what = format!("GRANT and REVOKE ON {}", other.to_uppercase());
            return Err(unsupported(place, what, "there is nothing to allow or to forbid"));
        }
    }
    let kind = kind(cursor).unwrap_or(Kind::Relation);
    Ok(On::Named(kind, listed(cursor, |cursor| named_as(cursor, kind))?))
}

/// A kind, where one is said: its word stands before a name.
pub(crate) fn kind(cursor: &mut Cursor<'_>) -> Option<Kind> {
    let kinds = [
        ("table", Kind::Relation),
        ("sequence", Kind::Sequence),
        ("view", Kind::View),
        ("index", Kind::Index),
        ("schema", Kind::Schema),
        ("database", Kind::Database),
        ("function", Kind::Routine),
        ("procedure", Kind::Routine),
        ("routine", Kind::Routine),
        ("type", Kind::Type),
        ("domain", Kind::Type),
    ];
    // A thing may be called as kinds are: GRANT SELECT ON type TO ann.
    let is_before_name = matches!(cursor.peek_at(1), Some(Token::Word(_)))
        && !["to", "from"].iter().any(|word| cursor.is_at(1, word));
    let found = kinds.into_iter().find(|(word, _)| is_before_name && cursor.accept(word));
    found.map(|(_, kind)| kind)
}

fn named(cursor: &mut Cursor<'_>) -> Result<(String, Place)> {
    let place = cursor.place();
    Ok((cursor.object_name()?, place))
}

/// The name of something of a kind; behind a routine's may stand types.
pub(crate) fn named_as(cursor: &mut Cursor<'_>, kind: Kind) -> Result<Thing> {
    if kind != Kind::Routine {
        let (name, place) = named(cursor)?;
        return Ok(Thing { name, place, parameters: None });
    }
    let place = cursor.place();
    let name = cursor.routine_name()?;
    let parameters = match cursor.peek() {
        Some(Token::LParen) => Some(cursor.take_brackets()?.to_vec()),
        _ => None,
    };
    Ok(Thing { name, place, parameters })
}

/// To whom, and how.
fn ends(cursor: &mut Cursor<'_>, given: &mut Given, option: &str) -> Result<()> {
    cursor.expect(if given.is_grant { "to" } else { "from" })?;
    given.to = listed(cursor, |cursor| {
        let place = cursor.place();
        cursor.accept("group");
        Ok(match cursor.accept("public") {
            true => (Grantee::Public, place),
            false => (Grantee::Role(role_name(cursor)?.0), place),
        })
    })?;
    if given.is_grant && cursor.accept_all(&["with", option, "option"]) {
        given.option = true;
    }
    if cursor.accept_all(&["granted", "by"]) {
        given.by = Some(role_name(cursor)?);
    }
    if !given.is_grant {
        given.cascades = cascades(cursor);
    }
    Ok(())
}

fn cascades(cursor: &mut Cursor<'_>) -> bool {
    !cursor.accept("restrict") && cursor.accept("cascade")
}

fn defaults(cursor: &mut Cursor<'_>) -> Result<GrantSyntax> {
    let (mut of, mut schemas) = (Vec::new(), Vec::new());
    loop {
        if cursor.accept_all(&["for", "role"]) || cursor.accept_all(&["for", "user"]) {
            of = listed(cursor, role_name)?;
        } else if cursor.accept_all(&["in", "schema"]) {
            schemas = listed(cursor, named)?;
        } else {
            break;
        }
    }
    let is_grant = cursor.accept("grant");
    if !is_grant {
        cursor.expect("revoke")?;
    }
    let (mut given, names) = privileges(cursor, is_grant)?;
    refuse_unknown(&names, &given)?;
    cursor.expect("on")?;
    let kinds = [
        ("tables", Kind::Relation),
        ("sequences", Kind::Sequence),
        ("functions", Kind::Routine),
        ("routines", Kind::Routine),
        ("types", Kind::Type),
        ("schemas", Kind::Schema),
    ];
    let Some((_, kind)) = kinds.into_iter().find(|(word, _)| cursor.accept(word)) else {
        return Err(cursor.unexpected("TABLES, SEQUENCES, FUNCTIONS, TYPES or SCHEMAS"));
    };
    if kind == Kind::Schema && !schemas.is_empty() {
        let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
        return Err(error(b"0LP01", given.place, message));
    }
    ends(cursor, &mut given, "grant")?;
    Ok(GrantSyntax::Defaults { of, schemas, kind, given })
}

/// ALTER ... OWNER TO; none: it is another one.
fn owner(cursor: &mut Cursor<'_>) -> Result<Option<GrantSyntax>> {
    cursor.bump();
    let Some(kind) = kind(cursor) else { return Ok(None) };
    let if_exists = cursor.accept_all(&["if", "exists"]);
    cursor.accept("only");
    // Another statement may name what this one could not.
    let Ok(thing) = named_as(cursor, kind) else { return Ok(None) };
    if !cursor.accept_all(&["owner", "to"]) {
        return Ok(None);
    }
    let to = role_name(cursor)?;
    Ok(Some(GrantSyntax::Owner { kind, thing, if_exists, to }))
}
