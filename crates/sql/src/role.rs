//! Roles: CREATE, ALTER and DROP ROLE, USER and GROUP, which are the same but for LOGIN.
//!
//! ```text
//! CREATE {ROLE | USER | GROUP} name [WITH] [option ...]
//! ALTER {ROLE | USER | GROUP} {name | CURRENT_USER} [WITH] option ...
//! ALTER {ROLE | USER | GROUP} name {ADD | DROP} USER name, ...
//! ALTER {ROLE | USER} ... SET and RESET, ALTER DATABASE: `session_setting_syntax`
//! DROP {ROLE | USER | GROUP} [IF EXISTS] name, ...
//!   option   [NO] {SUPERUSER | CREATEDB | CREATEROLE | INHERIT | LOGIN | REPLICATION | BYPASSRLS}
//!            | CONNECTION LIMIT n | [ENCRYPTED] PASSWORD {'text' | NULL} | VALID UNTIL 'time'
//!            | IN {ROLE | GROUP} name, ... | {ROLE | USER} name, ... | ADMIN name, ...
//! ```
//!
//! Role         parses them, and gives a password out once, to whoever makes a verifier of it
//! Invariants   I1 no password is in an error, in what Debug shows, or in a text that is logged:
//!              a statement with one is compiled only when it was concealed
//!              I2 what is kept of a password is in the log of changes and in checkpoints, which
//!              need it, and nowhere else: who shows a statement's text shows it by [`shown`]
//!              I3 a text that is logged says of each attribute whether a new role has it. Where it
//!              does not, it is an older version's, of which all roles were superusers

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use hotrow_base::types::{DataType, NAME_BYTES_MAX};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::Attribute;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::Token;

use crate::error::{Result, error, syntax, unsupported};
use crate::mention::may_name;
use crate::script_statement::ScriptStatement;
use crate::session_setting_syntax::{SessionSettingSyntax, database_setting, role_setting};
use crate::syntax::Syntax;
use crate::token::{Cursor, quoted};

/// What is shown in place of a password, as the catalog does.
const HIDDEN: &str = "********";

/// A role as it is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RoleName {
    Named(String),
    /// whoever sends the statement
    Current,
}

/// A statement about roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RoleSyntax {
    Create {
        name: String,
        place: Place,
        options: Box<Options>,
    },
    Alter {
        name: RoleName,
        place: Place,
        options: Box<Options>,
    },
    Drop {
        names: Vec<(RoleName, Place)>,
        if_exists: bool,
    },
    /// ALTER GROUP ... ADD and DROP USER
    Members {
        name: String,
        members: Vec<(String, Place)>,
        adds: bool,
        place: Place,
    },
    /// ALTER ROLE and ALTER DATABASE ... SET and RESET
    Setting(SessionSettingSyntax),
}

/// What is said of a role.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Options {
    pub(crate) attributes: Vec<(Attribute, bool)>,
    pub(crate) password: Option<Password>,
    pub(crate) connections_max: Option<i32>,
    /// in microseconds; none: for ever
    pub(crate) valid_until_us: Option<Option<i64>>,
    /// as it was written
    valid_until: String,
    /// roles that it is to be in
    pub(crate) groups: Vec<(String, Place)>,
    /// who is to be in it
    pub(crate) members: Vec<(String, Place)>,
    /// and may put others in it
    pub(crate) admins: Vec<(String, Place)>,
}

/// What becomes of a password; none: there is none.
pub(crate) type Password = Option<Secret>;

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

impl Options {
    fn attribute(&self, attribute: Attribute) -> Option<bool> {
        self.attributes.iter().find(|(known, _)| *known == attribute).map(|(_, is_so)| *is_so)
    }

    /// As they are written; the password as it is shown.
    fn written(&self, shown: impl Fn(&Secret) -> String) -> String {
        let mut text = String::new();
        for (attribute, is_so) in &self.attributes {
            let no = if *is_so { "" } else { "NO" };
            let _ = write!(text, " {no}{}", attribute.name()); // a String takes everything
        }
        if let Some(most) = self.connections_max {
            let _ = write!(text, " CONNECTION LIMIT {most}");
        }
        if self.valid_until_us.is_some() {
            let _ = write!(text, " VALID UNTIL '{}'", self.valid_until.replace('\'', "''"));
        }
        match &self.password {
            Some(Some(secret)) => {
                let _ = write!(text, " PASSWORD '{}'", shown(secret).replace('\'', "''"));
            }
            Some(None) => text.push_str(" PASSWORD NULL"),
            None => {}
        }
        let lists = [(" IN ROLE ", &self.groups), (" ROLE ", &self.members)];
        for (words, names) in lists.into_iter().chain([(" ADMIN ", &self.admins)]) {
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|(name, _)| quoted(name)).collect();
                let _ = write!(text, "{words}{}", names.join(", "));
            }
        }
        text
    }
}

impl RoleSyntax {
    fn options(&self) -> Option<&Options> {
        match self {
            Self::Create { options, .. } | Self::Alter { options, .. } => Some(options),
            Self::Drop { .. } | Self::Members { .. } | Self::Setting(_) => None,
        }
    }

    fn secret(&self) -> Option<&Secret> {
        self.options()?.password.as_ref()?.as_ref()
    }

    /// The statement's text with its password as it is shown; none: it has no options.
    fn written(&self, shown: impl Fn(&Secret) -> String) -> Option<String> {
        let options = self.options()?.written(shown);
        Some(match self {
            Self::Create { name, .. } => format!("CREATE ROLE {}{options}", quoted(name)),
            Self::Alter { name: RoleName::Named(name), .. } => {
                format!("ALTER ROLE {}{options}", quoted(name))
            }
            _ => format!("ALTER ROLE CURRENT_USER{options}"),
        })
    }
}

impl ScriptStatement {
    /// The password in it, plain or a verifier, if it has one that was not concealed yet.
    pub fn password(&self) -> Option<&str> {
        let Syntax::Role(role) = &self.syntax else { return None };
        match role.secret()? {
            Secret::Plain(password) => Some(password),
            Secret::Verifier(_) => None,
        }
    }

    /// The statement with a verifier in place of its password, in its text, too (I1).
    pub fn concealed(mut self, verifier: &str) -> Self {
        let Syntax::Role(role) = &mut self.syntax else { return self };
        let (RoleSyntax::Create { options, .. } | RoleSyntax::Alter { options, .. }) = role else {
            return self;
        };
        if let Some(Some(secret)) = &mut options.password {
            *secret = Secret::Verifier(verifier.to_owned());
        }
        self.written_out()
    }

    /// See [`ScriptStatement::as_own`].
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// It is a role's; none: the database's maker's. And what the maker is called, where the
    /// sender knows.
    #[must_use]
    pub fn of_sender(mut self, role: Option<Arc<str>>, maker: Option<Arc<str>>) -> Self {
        if !self.is_own {
            (self.role, self.maker) = (role, maker);
        }
        self
    }

    /// What the database's maker is called, where the statement may name him.
    pub fn maker(&self) -> Option<&str> {
        self.maker.as_deref().filter(|maker| self.depends_on_role() && may_name(&self.text, maker))
    }

    /// Whether what it means depends on whose it is.
    pub fn depends_on_role(&self) -> bool {
        matches!(self.syntax, Syntax::Role(_) | Syntax::Grant(_))
    }

    /// A statement about roles that says what a new role is not, too (I3).
    #[must_use]
    pub fn with_attributes(mut self) -> Self {
        if self.is_own {
            return self;
        }
        if let Syntax::Role(RoleSyntax::Create { options, .. }) = &mut self.syntax {
            for attribute in Attribute::ALL {
                if options.attribute(attribute).is_none() {
                    let is_so = attribute == Attribute::Inherit;
                    options.attributes.push((attribute, is_so));
                }
            }
        }
        self.written_out()
    }

    /// With a text that says what its tree does.
    fn written_out(mut self) -> Self {
        let Syntax::Role(role) = &self.syntax else { return self };
        let plain = |secret: &Secret| match secret {
            Secret::Verifier(verifier) => verifier.clone(),
            Secret::Plain(_) => HIDDEN.to_owned(), // which is refused before it is logged
        };
        if let Some(text) = role.written(plain) {
            self.text = text;
        }
        self
    }

    /// Its text, without its password and without what is kept of it (I2).
    pub fn shown(&self) -> Cow<'_, str> {
        let Syntax::Role(role) = &self.syntax else { return Cow::Borrowed(&self.text) };
        let hidden = role.secret().and_then(|_| role.written(|_| HIDDEN.to_owned()));
        hidden.map_or(Cow::Borrowed(&self.text), Cow::Owned)
    }
}

/// The text of statements, without their passwords and without what is kept of them (I2).
pub fn shown(text: &str) -> Cow<'_, str> {
    let word = b"password";
    if !text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word)) {
        return Cow::Borrowed(text);
    }
    let Ok(statements) = crate::parse_script(text) else { return Cow::Borrowed(HIDDEN) };
    match statements.iter().any(|statement| matches!(statement.syntax, Syntax::Role(_))) {
        true => {
            Cow::Owned(statements.iter().map(ScriptStatement::shown).collect::<Vec<_>>().join("; "))
        }
        false => Cow::Borrowed(text),
    }
}

/// Parses such a statement; none when it is another one.
pub(crate) fn role(cursor: &mut Cursor<'_>) -> Result<Option<RoleSyntax>> {
    if let Some(setting) = database_setting(&mut cursor.clone())? {
        return Ok(Some(RoleSyntax::Setting(setting)));
    }
    let verbs = ["create", "alter", "drop"];
    let Some(verb) = verbs.into_iter().find(|verb| cursor.is(verb)) else { return Ok(None) };
    let kinds = ["user", "role", "group"];
    let Some(kind) = kinds.into_iter().find(|kind| cursor.is_at(1, kind)) else { return Ok(None) };
    if cursor.is_at(2, "mapping") {
        return Ok(None);
    }
    cursor.bump();
    cursor.bump();
    let role = match verb {
        "drop" => {
            let if_exists = cursor.accept_all(&["if", "exists"]);
            RoleSyntax::Drop { names: listed(cursor, role_name)?, if_exists }
        }
        "alter" => altered(cursor)?,
        _ => {
            let (name, place) = new_name(cursor)?;
            let mut options = options(cursor)?;
            if kind == "user" && options.attribute(Attribute::Login).is_none() {
                options.attributes.push((Attribute::Login, true));
            }
            RoleSyntax::Create { name, place, options: Box::new(options) }
        }
    };
    if cursor.at_end() { Ok(Some(role)) } else { Err(cursor.unexpected("the end")) }
}

fn altered(cursor: &mut Cursor<'_>) -> Result<RoleSyntax> {
    if let Some(setting) = role_setting(&mut cursor.clone())? {
        cursor.rest();
        return Ok(RoleSyntax::Setting(setting));
    }
    let (name, place) = role_name(cursor)?;
    if let RoleName::Named(name) = &name
        && (cursor.is("add") || cursor.is("drop"))
    {
        let adds = cursor.is("add");
        cursor.bump();
        cursor.expect("user")?;
        let members = listed(cursor, plain_name)?;
        return Ok(RoleSyntax::Members { name: name.clone(), members, adds, place });
    }
    let refused = |what: &str, hint: &str| Err(unsupported(place, what, hint));
    if cursor.is("rename") {
        return refused("RENAME of a role", "create another one, and GRANT it this one");
    }
    let options = options(cursor)?;
    if !(options.groups.is_empty() && options.members.is_empty() && options.admins.is_empty()) {
        return refused("a list of roles in ALTER ROLE", "GRANT role TO role");
    }
    Ok(RoleSyntax::Alter { name, place, options: Box::new(options) })
}

/// Names, separated by commas.
pub(crate) fn listed<T>(
    cursor: &mut Cursor<'_>,
    read: impl Fn(&mut Cursor<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut names = vec![read(cursor)?];
    while cursor.accept_token(&Token::Comma) {
        names.push(read(cursor)?);
    }
    Ok(names)
}

/// A role that is named, or whoever sends the statement.
pub(crate) fn role_name(cursor: &mut Cursor<'_>) -> Result<(RoleName, Place)> {
    let place = cursor.place();
    let is_quoted = matches!(cursor.peek(), Some(Token::Word(word)) if word.quote_style.is_some());
    if !is_quoted {
        if cursor.accept("current_user") || cursor.accept("current_role") || cursor.accept("user") {
            return Ok((RoleName::Current, place));
        }
        if cursor.is("session_user") {
            let hint = "name the role";
            return Err(unsupported(place, "SESSION_USER here", hint));
        }
    }
    let (name, place) = plain_name(cursor)?;
    Ok((RoleName::Named(name), place))
}

fn plain_name(cursor: &mut Cursor<'_>) -> Result<(String, Place)> {
    let place = cursor.place();
    Ok((cursor.identifier()?, place))
}

fn new_name(cursor: &mut Cursor<'_>) -> Result<(String, Place)> {
    let (name, place) = plain_name(cursor)?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let message = format!("a role's name has 1 to {NAME_BYTES_MAX} bytes");
        return Err(error(b"42622", place, message));
    }
    let means_others = ["public", "none", "current_user", "session_user", "current_role", "user"]
        .contains(&&*name);
    if means_others || name.starts_with("pg_") {
        return Err(error(b"42939", place, format!("role name \"{name}\" is reserved")));
    }
    Ok((name, place))
}

/// What follows a name.
fn options(cursor: &mut Cursor<'_>) -> Result<Options> {
    cursor.accept("with");
    let mut options = Options::default();
    while !cursor.at_end() {
        let place = cursor.place();
        let twice = || syntax(place, "conflicting or redundant options");
        if let Some((attribute, is_so)) = attribute(cursor) {
            if options.attribute(attribute).is_some() {
                return Err(twice());
            }
            options.attributes.push((attribute, is_so));
        } else if cursor.accept_all(&["connection", "limit"]) {
            let most = signed(cursor)?;
            if options.connections_max.replace(most).is_some() {
                return Err(twice());
            }
            if most < -1 {
                return Err(error(b"22023", place, format!("invalid connection limit: {most}")));
            }
        } else if cursor.accept_all(&["valid", "until"]) {
            let Some(Token::SingleQuotedString(text)) = cursor.peek() else {
                return Err(cursor.unexpected("a time in quotes"));
            };
            cursor.bump();
            if options.valid_until_us.replace(until(text, place)?).is_some() {
                return Err(twice());
            }
            options.valid_until.clone_from(text);
        } else if cursor.accept_all(&["in", "role"]) || cursor.accept_all(&["in", "group"]) {
            options.groups.extend(listed(cursor, plain_name)?);
        } else if cursor.accept("role") || cursor.accept("user") {
            options.members.extend(listed(cursor, plain_name)?);
        } else if cursor.accept("admin") {
            options.admins.extend(listed(cursor, plain_name)?);
        } else if cursor.accept("sysid") {
            signed(cursor)?; // which PostgreSQL reads and leaves aside, too
        } else {
            cursor.accept("encrypted");
            if !cursor.accept("password") {
                return Err(match cursor.peek() {
                    Some(Token::Word(word)) => {
                        let word = word.value.to_lowercase();
                        syntax(place, format!("unrecognized role option \"{word}\""))
                    }
                    _ => cursor.unexpected("an option of a role"),
                });
            }
            if options.password.is_some() {
                return Err(twice());
            }
            options.password = Some(secret(cursor)?);
        }
    }
    Ok(options)
}

fn attribute(cursor: &mut Cursor<'_>) -> Option<(Attribute, bool)> {
    let Some(Token::Word(word)) = cursor.peek() else { return None };
    let word = word.value.to_ascii_uppercase();
    let is_it = |attribute: &Attribute, is_so: bool| match is_so {
        true => word == attribute.name(),
        false => word.strip_prefix("NO") == Some(attribute.name()),
    };
    let all = Attribute::ALL.into_iter().flat_map(|one| [(one, true), (one, false)]);
    let found = all.into_iter().find(|(attribute, is_so)| is_it(attribute, *is_so));
    if found.is_some() {
        cursor.bump();
    }
    found
}

fn signed(cursor: &mut Cursor<'_>) -> Result<i32> {
    let minus = cursor.accept_token(&Token::Minus);
    let Some(Token::Number(text, _)) = cursor.peek() else {
        return Err(cursor.unexpected("a number"));
    };
    let Ok(number) = text.parse::<i32>() else { return Err(cursor.unexpected("an integer")) };
    cursor.bump();
    Ok(if minus { -number } else { number })
}

/// VALID UNTIL; none: for ever.
fn until(text: &str, place: Place) -> Result<Option<i64>> {
    if text.trim().eq_ignore_ascii_case("infinity") {
        return Ok(None);
    }
    match Value::parse(DataType::TIMESTAMPTZ, text) {
        Ok(Value::TimestampTz(us)) => Ok(Some(us)),
        _ => {
            let message =
                format!("invalid input syntax for type timestamp with time zone: \"{text}\"");
            Err(error(b"22007", place, message))
        }
    }
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
