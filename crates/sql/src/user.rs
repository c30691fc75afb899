//! Users: CREATE, ALTER and DROP USER or ROLE, which are the same here.
//!
//! ```text
//! CREATE {USER | ROLE} name [WITH] [LOGIN | SUPERUSER | ...]
//!     [[ENCRYPTED] PASSWORD {'text' | NULL}]
//! ALTER {USER | ROLE} name [WITH] ...
//! DROP {USER | ROLE} [IF EXISTS] name, ...
//! ```
//!
//! Role         parses them, and gives a password out once, to whoever makes a verifier of it
//! Invariants   I1 no password is in an error, in what Debug shows, or in a text that is logged:
//!              a statement with one is compiled only when it was concealed
//!              I2 what is kept of a password is in the log of changes and in checkpoints, which
//!              need it, and nowhere else: who shows a statement's text shows it by [`shown`]

use std::borrow::Cow;
use std::fmt;

use hotrow_transaction::catalog::USERS_MAX;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::Token;

use crate::changes::{CatalogChange, left_out};
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::scope::Compiler;
use crate::syntax::{ScriptStatement, Syntax};
use crate::token::{Cursor, quoted};

/// Bytes of a user's name, as PostgreSQL has it.
const NAME_BYTES_MAX: usize = 63;
/// What is shown in place of a password, as the catalog does.
const HIDDEN: &str = "********";
/// What every user is and may, so that saying so changes nothing.
const TRUE_OF_ALL: &[&str] = &[
    "login",
    "superuser",
    "createdb",
    "createrole",
    "inherit",
    "bypassrls",
    "replication",
    "noreplication",
];

/// A statement about users.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum UserSyntax {
    Create { name: String, place: Place, password: Option<Secret> },
    Alter { name: String, place: Place, change: Option<Password> },
    Drop { names: Vec<(String, Place)>, if_exists: bool },
}

/// What ALTER makes of a password; none: there is none.
type Password = Option<Secret>;

/// A password, or what is kept of one.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    Plain(String),
    Verifier(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl UserSyntax {
    fn secret_mut(&mut self) -> Option<&mut Secret> {
        match self {
            Self::Create { password, .. } => password.as_mut(),
            Self::Alter { change, .. } => change.as_mut()?.as_mut(),
            Self::Drop { .. } => None,
        }
    }
}

impl ScriptStatement {
    /// The password in it, plain or a verifier, if it has one that was not concealed yet.
    pub fn password(&self) -> Option<&str> {
        let Syntax::User(user) = &self.syntax else { return None };
        let secret = match user {
            UserSyntax::Create { password, .. } => password.as_ref(),
            UserSyntax::Alter { change, .. } => change.as_ref()?.as_ref(),
            UserSyntax::Drop { .. } => None,
        };
        match secret? {
            Secret::Plain(password) => Some(password),
            Secret::Verifier(_) => None,
        }
    }

    /// The statement with a verifier in place of its password, in its text, too (I1).
    pub fn concealed(mut self, verifier: &str) -> Self {
        let Syntax::User(user) = &mut self.syntax else { return self };
        let Some(secret) = user.secret_mut() else { return self };
        *secret = Secret::Verifier(verifier.to_owned());
        let (verb, name) = match user {
            UserSyntax::Create { name, .. } => ("CREATE", name.clone()),
            UserSyntax::Alter { name, .. } => ("ALTER", name.clone()),
            UserSyntax::Drop { .. } => return self,
        };
        let (name, verifier) = (quoted(&name), verifier.replace('\'', "''"));
        self.text = format!("{verb} ROLE {name} PASSWORD '{verifier}'");
        self
    }
}

impl ScriptStatement {
    /// Its text, without its password and without what is kept of it (I2).
    pub fn shown(&self) -> Cow<'_, str> {
        let Syntax::User(user) = &self.syntax else { return Cow::Borrowed(&self.text) };
        let (verb, name) = match user {
            UserSyntax::Create { name, password: Some(_), .. } => ("CREATE", name),
            UserSyntax::Alter { name, change: Some(Some(_)), .. } => ("ALTER", name),
            _ => return Cow::Borrowed(&self.text),
        };
        Cow::Owned(format!("{verb} ROLE {} PASSWORD '{HIDDEN}'", quoted(name)))
    }
}

/// The text of statements, without their passwords and without what is kept of them (I2).
pub fn shown(text: &str) -> Cow<'_, str> {
    let word = b"password";
    if !text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word)) {
        return Cow::Borrowed(text);
    }
    let Ok(statements) = crate::parse_script(text) else { return Cow::Borrowed(HIDDEN) };
    match statements.iter().any(|statement| matches!(statement.syntax, Syntax::User(_))) {
        true => {
            Cow::Owned(statements.iter().map(ScriptStatement::shown).collect::<Vec<_>>().join("; "))
        }
        false => Cow::Borrowed(text),
    }
}

/// Parses such a statement; none when it is another one.
pub(crate) fn user(cursor: &mut Cursor<'_>) -> Result<Option<UserSyntax>> {
    let verbs = ["create", "alter", "drop"];
    let Some(verb) = verbs.into_iter().find(|verb| cursor.is(verb)) else { return Ok(None) };
    if !(cursor.is_at(1, "user") || cursor.is_at(1, "role")) {
        return Ok(None);
    }
    cursor.bump();
    cursor.bump();
    let user = match verb {
        "drop" => {
            let if_exists = cursor.accept_all(&["if", "exists"]);
            let mut names = vec![name(cursor)?];
            while cursor.accept_token(&Token::Comma) {
                names.push(name(cursor)?);
            }
            UserSyntax::Drop { names, if_exists }
        }
        "alter" => {
            let (name, place) = name(cursor)?;
            let change = options(cursor)?;
            UserSyntax::Alter { name, place, change }
        }
        _ => {
            let (name, place) = new_name(cursor)?;
            let password = options(cursor)?.flatten();
            UserSyntax::Create { name, place, password }
        }
    };
    if cursor.at_end() { Ok(Some(user)) } else { Err(cursor.unexpected("the end")) }
}

fn name(cursor: &mut Cursor<'_>) -> Result<(String, Place)> {
    let place = cursor.place();
    Ok((cursor.identifier()?, place))
}

fn new_name(cursor: &mut Cursor<'_>) -> Result<(String, Place)> {
    let (name, place) = name(cursor)?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let message = format!("a user's name has 1 to {NAME_BYTES_MAX} bytes");
        return Err(error(b"42622", place, message));
    }
    let means_others = ["public", "none", "current_user", "session_user", "current_role", "user"]
        .contains(&&*name);
    if means_others || name.starts_with("pg_") {
        return Err(error(b"42939", place, format!("role name \"{name}\" is reserved")));
    }
    Ok((name, place))
}

/// What follows a name; none: nothing is said of a password.
fn options(cursor: &mut Cursor<'_>) -> Result<Option<Password>> {
    cursor.accept("with");
    let mut password = None;
    while !cursor.at_end() {
        let place = cursor.place();
        if TRUE_OF_ALL.iter().any(|word| cursor.accept(word)) {
            continue;
        }
        cursor.accept("encrypted");
        if !cursor.accept("password") {
            return Err(unsupported(
                place,
                "this option of a user",
                "all users may do everything; PASSWORD '...' is what they have of their own",
            ));
        }
        if password.is_some() {
            return Err(syntax(place, "conflicting or redundant options"));
        }
        password = Some(secret(cursor)?);
    }
    Ok(password)
}

fn secret(cursor: &mut Cursor<'_>) -> Result<Password> {
    let place = cursor.place();
    if cursor.accept("null") {
        return Ok(None);
    }
    let text = match cursor.peek() {
        Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => text.clone(),
        Some(Token::DollarQuotedString(quoted)) => quoted.value.clone(),
        // It may be one that lacks its quotes (I1).
        _ => return Err(syntax(place, "a password is written in quotes: PASSWORD '...'")),
    };
    cursor.bump();
    Ok(Some(Secret::Plain(text)))
}

impl Compiler<'_> {
    /// CREATE, ALTER, DROP.
    pub(crate) fn user(&self, written: &UserSyntax) -> Result<Compiled> {
        let exists = |name: &str| self.catalog.users().contains_key(name);
        let unknown =
            |name: &str, place| error(b"42704", place, format!("role \"{name}\" does not exist"));
        let changes = match written {
            UserSyntax::Create { name, place, password } => {
                if exists(name) {
                    return Err(error(b"42710", *place, format!("role \"{name}\" already exists")));
                }
                if self.catalog.users().size() >= USERS_MAX {
                    return Err(error(b"54000", *place, format!("there are {USERS_MAX} users")));
                }
                let verifier = password.as_ref().map(verifier).transpose()?;
                vec![CatalogChange::SetUser { name: name.clone(), verifier }]
            }
            UserSyntax::Alter { name, place, change } => {
                if !exists(name) {
                    return Err(unknown(name, *place));
                }
                let Some(password) = change else {
                    let notice = left_out("all users may do everything already".to_owned());
                    return Ok(Compiled::Catalog(vec![CatalogChange::Nothing(notice)]));
                };
                let verifier = password.as_ref().map(verifier).transpose()?;
                vec![CatalogChange::SetUser { name: name.clone(), verifier }]
            }
            UserSyntax::Drop { names, if_exists } => {
                let change = |(name, place): &(String, Place)| match (exists(name), *if_exists) {
                    (true, _) => Ok(CatalogChange::DropUser(name.clone())),
                    (false, true) => Ok(CatalogChange::Nothing(left_out(format!(
                        "role \"{name}\" does not exist, skipping"
                    )))),
                    (false, false) => Err(unknown(name, *place)),
                };
                names.iter().map(change).collect::<Result<_>>()?
            }
        };
        Ok(Compiled::Catalog(changes))
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

#[cfg(test)]
mod tests;
