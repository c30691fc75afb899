//! Objects of PostgreSQL that there are none of here: what is said of them.
//!
//! Role         CREATE of one is refused by its name; ALTER and DROP find that it does not exist,
//!              as they would in a database of PostgreSQL's without one, and DROP ... IF EXISTS
//!              passes over it

use sqlparser::tokenizer::Token;

use crate::error::{Result, error, unsupported};
use crate::syntax::Syntax;
use crate::token::Cursor;

/// Their kinds, the longer ones of those that begin alike first, and the SQLSTATE where one is not
/// there.
const KINDS: [(&[&str], &[u8; 5]); 20] = [
    (&["access", "method"], b"42704"),
    (&["aggregate"], b"42883"),
    (&["cast"], b"42704"),
    (&["conversion"], b"42704"),
    (&["event", "trigger"], b"42704"),
    (&["foreign", "data", "wrapper"], b"42704"),
    (&["foreign", "table"], b"42P01"),
    (&["operator", "class"], b"42704"),
    (&["operator", "family"], b"42704"),
    (&["operator"], b"42883"),
    (&["publication"], b"42704"),
    (&["rule"], b"42704"),
    (&["server"], b"42704"),
    (&["statistics"], b"42704"),
    (&["subscription"], b"42704"),
    (&["tablespace"], b"42704"),
    (&["text", "search"], b"42704"),
    (&["transform"], b"42704"),
    (&["user", "mapping"], b"42704"),
    (&["large", "object"], b"42704"),
];

/// CREATE, ALTER or DROP of such an object; none: another statement.
///
/// Errors: 0A000 for CREATE, that of what is not there for the others.
pub(crate) fn absent(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    let place = cursor.place();
    let verbs = ["create", "alter", "drop"];
    let Some(verb) = verbs.into_iter().find(|verb| cursor.accept(verb)) else { return Ok(None) };
    if verb == "create" {
        cursor.accept_all(&["or", "replace"]);
        let _ = cursor.accept("trusted") || cursor.accept("procedural");
    }
    let Some((kind, code)) = KINDS.into_iter().find(|(kind, _)| cursor.accept_all(kind)) else {
        return Ok(None);
    };
    let mut kind = kind.join(" ");
    if kind == "text search" {
        kind = format!("{kind} {}", cursor.identifier()?);
    }
    if verb == "create" && kind == "statistics" {
        let said = "plans need no statistics: nothing is made";
        cursor.rest();
        return Ok(Some(Syntax::Absent(said.to_owned())));
    }
    if verb == "create" {
        let what = format!("CREATE {}", kind.to_uppercase());
        return Err(unsupported(place, what, "leave it out: docs/sql.md lists what there is"));
    }
    let if_exists = cursor.accept_all(&["if", "exists"]);
    if cursor.at_end() {
        return Err(cursor.unexpected("a name"));
    }
    let (mut named, at) = (String::new(), cursor.place());
    while let Some(Token::Word(word)) = cursor.peek() {
        named.push_str(&word.value.to_lowercase());
        cursor.bump();
        match cursor.accept_token(&Token::Period) {
            true => named.push('.'),
            false => break,
        }
    }
    let message = format!("{kind} \"{named}\" does not exist");
    match if_exists && verb == "drop" {
        true => Ok(Some(Syntax::Absent(format!("{message}, skipping")))),
        false => Err(error(code, at, message)),
    }
}
