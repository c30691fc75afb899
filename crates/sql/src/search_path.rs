//! Who has sent a statement, and where its bare names are looked for, told by its text.
//!
//! Role         a text that is read again, from the log, by a checkpoint, or to be compiled anew,
//!              has to mean what it meant to whoever sent it. A path other than the usual one, and
//!              of a definition the role whose it is, stand before the statement as comments, so
//!              that the text is one that everybody can read

use std::borrow::Cow;

use hotrow_transaction::catalog::SearchPath;
use sqlparser::ast;

use crate::setting::Naming;
use crate::syntax::{ScriptStatement, Syntax};

const BEGINS: &str = "/*@search_path ";
const ROLE_BEGINS: &str = "/*@role ";
const ENDS: &str = "*/ ";

/// A statement's text with its path before it, unless that is the usual one.
pub fn with_path<'t>(text: &'t str, path: &SearchPath) -> Cow<'t, str> {
    match path.is_default() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{BEGINS}{}{ENDS}{text}", escaped(path))),
    }
}

/// A statement's text with the role before it whose it is; none: the database's maker's.
pub fn with_role<'t>(text: &'t str, role: Option<&str>) -> Cow<'t, str> {
    let text = split_role(text);
    match role {
        None => Cow::Borrowed(text),
        Some(role) => {
            Cow::Owned(format!("{ROLE_BEGINS}{}{ENDS}{text}", role.replace("*/", "*\\/")))
        }
    }
}

/// The text without the role before it.
fn split_role(text: &str) -> &str {
    let rest = text.strip_prefix(ROLE_BEGINS).and_then(|rest| rest.split_once(ENDS));
    rest.map_or(text, |(_, statement)| statement)
}

/// The role that a text tells before its statement; blanks may stand before it.
pub fn role_before(text: &str) -> Option<String> {
    let (role, _) = text.trim_start().strip_prefix(ROLE_BEGINS)?.split_once(ENDS)?;
    Some(role.replace("*\\/", "*/"))
}

/// What stands before a statement to tell its path, nothing if it is the usual one; and the
/// statement.
pub fn split_path(text: &str) -> (&str, &str) {
    let text = split_role(text);
    match text.strip_prefix(BEGINS).and_then(|rest| rest.split_once(ENDS)) {
        Some((_, statement)) => text.split_at(text.len() - statement.len()),
        None => ("", text),
    }
}

/// The path that a text tells before its statement; blanks may stand before it.
pub fn path_before(text: &str) -> Option<SearchPath> {
    let (path, _) = split_role(text.trim_start()).strip_prefix(BEGINS)?.split_once(ENDS)?;
    SearchPath::read_displayed(&path.replace("*\\/", "*/"))
}

impl ScriptStatement {
    /// Has bare names looked for in a path, which its text tells from here on: whoever reads that
    /// again looks for them there, too.
    #[must_use]
    pub fn in_path(mut self, path: &SearchPath) -> Self {
        // What others see must not change with what a session has.
        let is_for_all = match &self.syntax {
            Syntax::Routine(_) => true,
            Syntax::Sql(statement) => matches!(**statement, ast::Statement::CreateView(_)),
            _ => false,
        };
        let path = &if is_for_all { path.without_temporary() } else { path.clone() };
        if self.path == *path {
            return self;
        }
        let told = |text: &str| with_path(split_path(text).1, path).into_owned();
        self.text = told(&self.text);
        if let Syntax::Naming(Naming::Prepare { text, .. }) = &mut self.syntax {
            *text = told(text);
        }
        self.path = path.clone();
        self
    }
}

/// So that no name ends the comment.
fn escaped(path: &SearchPath) -> String {
    path.to_string().replace("*/", "*\\/")
}
