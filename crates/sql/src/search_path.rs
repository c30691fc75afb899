//! Who has sent a statement, and where its bare names are looked for, told by its text.
//!
//! Role         a text that is read again, from the log, by a checkpoint, or to be compiled anew,
//!              has to mean what it meant to whoever sent it. A path other than the usual one, the
//!              zone and style that its values are read in, and of a definition the role whose it
//!              is, stand before the statement as comments, so that the text is one that everybody
//!              can read

use std::borrow::Cow;

use hotrow_base::conventions::Conventions;
use hotrow_transaction::catalog::SearchPath;
use sqlparser::ast;

use crate::script_statement::ScriptStatement;
use crate::setting::Naming;
use crate::syntax::Syntax;
use crate::temporary::is_temporary_view;

const BEGINS: &str = "/*@search_path ";
const ROLE_BEGINS: &str = "/*@role ";
const MAKER_BEGINS: &str = "/*@maker ";
/// Older texts tell a zone only.
const CONVENTIONS_BEGIN: &str = "/*@zone ";
/// What tells the sender, in the order in which it stands there.
const SENDER_BEGINS: [&str; 3] = [ROLE_BEGINS, MAKER_BEGINS, CONVENTIONS_BEGIN];
const ENDS: &str = "*/ ";

/// A statement's text with its path before it, unless that is the usual one.
pub fn with_path<'t>(text: &'t str, path: &SearchPath) -> Cow<'t, str> {
    match path.is_default() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{BEGINS}{}{ENDS}{text}", escaped(path))),
    }
}

/// Who has sent a statement.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sender<'a> {
    /// the role whose it is; none: the database's maker
    pub role: Option<&'a str>,
    /// what the maker is called, where the text may name him: `OWNER TO` and its kin do
    pub maker: Option<&'a str>,
    /// by which values are read and written
    pub conventions: Conventions,
}

/// A statement's text with its sender before it; as it is, where that is nobody in particular.
pub fn with_sender<'t>(text: &'t str, sender: Sender<'_>) -> Cow<'t, str> {
    let text = split_sender(text);
    let Sender { role, maker, conventions } = sender;
    let kept = (conventions != Conventions::DEFAULT).then(|| conventions.kept());
    let told = [role, maker, kept.as_deref()];
    if told.iter().all(Option::is_none) {
        return Cow::Borrowed(text);
    }
    let mut all = String::new();
    for (begins, name) in SENDER_BEGINS.into_iter().zip(told) {
        if let Some(name) = name {
            all += &format!("{begins}{}{ENDS}", name.replace("*/", "*\\/"));
        }
    }
    Cow::Owned(all + text)
}

/// The text without the sender before it.
fn split_sender(text: &str) -> &str {
    // As of nearly all texts, which are asked each time they are sent.
    if !text.starts_with("/*@") {
        return text;
    }
    SENDER_BEGINS.iter().fold(text, |text, begins| split_name(text, begins).1)
}

/// A name that stands before a text, and the text behind it.
fn split_name<'t>(text: &'t str, begins: &str) -> (Option<String>, &'t str) {
    match text.strip_prefix(begins).and_then(|rest| rest.split_once(ENDS)) {
        Some((name, rest)) => (Some(name.replace("*\\/", "*/")), rest),
        None => (None, text),
    }
}

/// What a text tells of its sender by one of these; blanks may stand before it.
fn told_before(text: &str, wanted: &str) -> Option<String> {
    let mut text = text.trim_start();
    for begins in SENDER_BEGINS {
        let (name, rest) = split_name(text, begins);
        if begins == wanted {
            return name;
        }
        text = rest;
    }
    None
}

/// The role that a text tells before its statement.
pub fn role_before(text: &str) -> Option<String> {
    told_before(text, ROLE_BEGINS)
}

/// What the database's maker is called, as a text tells it before its statement.
pub fn maker_before(text: &str) -> Option<String> {
    told_before(text, MAKER_BEGINS)
}

/// The conventions of its sender, as a text tells them before its statement.
pub fn conventions_before(text: &str) -> Option<String> {
    told_before(text, CONVENTIONS_BEGIN)
}

/// What stands before a statement to tell its path, nothing if it is the usual one; and the
/// statement.
pub fn split_path(text: &str) -> (&str, &str) {
    let text = split_sender(text);
    match text.strip_prefix(BEGINS).and_then(|rest| rest.split_once(ENDS)) {
        Some((_, statement)) => text.split_at(text.len() - statement.len()),
        None => ("", text),
    }
}

/// The path that a text tells before its statement; blanks may stand before it.
pub fn path_before(text: &str) -> Option<SearchPath> {
    let (path, _) = split_sender(text.trim_start()).strip_prefix(BEGINS)?.split_once(ENDS)?;
    SearchPath::read_displayed(&path.replace("*\\/", "*/"))
}

/// A text whose path, if it tells one, has a schema's next name.
pub(crate) fn with_path_renamed(text: &str, from: &str, to: &str) -> String {
    let Some(path) = path_before(text) else { return text.to_owned() };
    let behind = split_sender(text.trim_start());
    let before = &text[..text.len() - behind.len()];
    format!("{before}{}", with_path(split_path(behind).1, &path.with_renamed(from, to)))
}

impl ScriptStatement {
    /// The conventions that its text tells, of who has sent it
    /// ([`Conventions::of_kept`](hotrow_base::conventions::Conventions::of_kept)); none: as
    /// sessions begin.
    pub fn conventions(&self) -> Option<&str> {
        self.conventions.as_deref()
    }

    /// Where bare names are looked for.
    pub fn path(&self) -> &SearchPath {
        &self.path
    }

    /// Has bare names looked for in a path, which its text tells from here on: whoever reads that
    /// again looks for them there, too.
    #[must_use]
    pub fn in_path(mut self, path: &SearchPath) -> Self {
        // What others see must not change with what a session has.
        let is_for_all = match &self.syntax {
            Syntax::Routine(_) => self.temporary().is_none(),
            Syntax::Sql(statement) => match &**statement {
                ast::Statement::CreateView(view) => !is_temporary_view(view, path),
                _ => false,
            },
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
