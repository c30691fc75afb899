//! ALTER FUNCTION, PROCEDURE and ROUTINE: RENAME TO, SET SCHEMA, and its options.
//!
//! Role         reads the statement, finds the routine that it means, and writes the text of
//!              CREATE that the routine has from then on ([`altered_text`]); whoever has the text
//!              compiles that. OWNER TO is one of [`crate::grant`]
//! Invariants   I1 the new text is the old one but for its name, or for the options that are named:
//!                 the body stands where it stood, and places in it stay what they were
//! Source       PostgreSQL 15, "ALTER FUNCTION", functioncmds.c, alter.c

use std::ops::Range;

use hotrow_transaction::catalog::{SearchPath, key_in, local, shown};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{OVERLOAD_MARK, Place, Procedure, STATEMENT_MARK, routine_name};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::compiled::Compiled;
use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::overload::{listed, types_of};
use crate::relation::quoted_if_needed as quoted;
use crate::routine::{is_strict_here, parameters, path_of_body, security};
use crate::schema::no_schema;
use crate::scope::Compiler;
use crate::script::Offsets;
use crate::syntax::{DroppedRoutine, Syntax};
use crate::token::{Cursor, is_word, tokenize};

/// What ALTER, or the text of a CREATE, says that a routine is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoutineKind {
    /// FUNCTION
    Function,
    /// PROCEDURE
    Procedure,
    /// ROUTINE: either
    Either,
}

impl RoutineKind {
    fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Either => "routine",
        }
    }

    /// What it is called where there is none.
    fn missing(self) -> &'static str {
        if self == Self::Procedure { "procedure" } else { "function" }
    }
}

/// ALTER FUNCTION, PROCEDURE or ROUTINE, as it is written.
#[derive(Debug)]
pub(crate) struct AlterRoutineSyntax {
    kind: RoutineKind,
    routine: DroppedRoutine,
    what: RoutineChange,
}

/// What becomes of a routine.
#[derive(Clone, Debug)]
pub enum RoutineChange {
    /// RENAME TO: its name in its schema
    Name(String),
    /// SET SCHEMA
    Schema(String),
    /// options, each of another kind
    Options(Vec<RoutineOption>),
}

/// An option of a routine, in place of the one of its kind that there is.
#[derive(Clone, Debug)]
pub struct RoutineOption {
    kind: OptionKind,
    place: Place,
    /// as CREATE writes it; empty: there is none from then on
    text: String,
}

/// The kinds of options, of which each stands in a CREATE once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OptionKind {
    Volatility,
    Strict,
    Security,
    Leakproof,
    Parallel,
    Cost,
    Rows,
    /// SET search_path
    Path,
    /// RESET of what is never set
    Unset,
}

impl OptionKind {
    /// Whether procedures have none such.
    fn is_of_functions(self) -> bool {
        !matches!(self, Self::Security | Self::Path | Self::Unset)
    }
}

/// A routine that ALTER has found.
#[derive(Clone, Debug)]
pub struct AlteredRoutine {
    /// its key
    pub name: String,
    /// where it is named
    pub place: Place,
    /// what it has to be
    pub kind: RoutineKind,
    /// what becomes of it
    pub change: RoutineChange,
    /// it and the types of its parameters, for people
    pub shown: String,
    /// the schema that it stands in from then on, where it gets a name there
    pub schema: Option<String>,
}

/// ALTER of a routine, but for OWNER TO; none: it is another statement.
pub(crate) fn alter_routine(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    let kinds = [
        ("function", RoutineKind::Function),
        ("procedure", RoutineKind::Procedure),
        ("routine", RoutineKind::Either),
    ];
    let found = kinds.into_iter().find(|(word, _)| cursor.accept_all(&["alter", word]));
    let Some((_, kind)) = found else { return Ok(None) };
    let place = cursor.place();
    let name = cursor.routine_name()?;
    let taken = match cursor.peek() {
        Some(Token::LParen) => Some(parameters(cursor)?),
        _ => None,
    };
    if cursor.is("owner") {
        return Ok(None);
    }
    let what = match () {
        () if cursor.accept_all(&["rename", "to"]) => RoutineChange::Name(cursor.identifier()?),
        () if cursor.accept_all(&["set", "schema"]) => RoutineChange::Schema(cursor.identifier()?),
        () if cursor.is("depends") || cursor.is("no") => {
            let hint = "an extension has nothing here that depends on it: leave it out";
            return Err(unsupported(cursor.place(), "DEPENDS ON EXTENSION", hint));
        }
        () => RoutineChange::Options(options(cursor)?),
    };
    match cursor.at_end() {
        true => {
            let written = AlterRoutineSyntax { kind, routine: (name, place, taken), what };
            Ok(Some(Syntax::AlterRoutine(Box::new(written))))
        }
        false => Err(cursor.unexpected("the end")),
    }
}

fn options(cursor: &mut Cursor<'_>) -> Result<Vec<RoutineOption>> {
    let mut all: Vec<RoutineOption> = Vec::new();
    loop {
        let place = cursor.place();
        let before = cursor.rest_ahead();
        let option = option(cursor)?;
        let words = &before[..before.len() - cursor.rest_ahead().len()];
        let Some((kind, text)) = option else { break };
        match kind {
            // The last one says how it is.
            OptionKind::Path | OptionKind::Unset => all.retain(|known| known.kind != kind),
            _ if all.iter().any(|known| known.kind == kind) => {
                return Err(syntax(place, "conflicting or redundant options"));
            }
            _ => {}
        }
        let text = text.unwrap_or_else(|| {
            let words = words.iter().map(|word| word.token.to_string());
            words.collect::<Vec<_>>().join(" ")
        });
        all.push(RoutineOption { kind, place, text });
    }
    if all.is_empty() {
        return Err(cursor.unexpected("RENAME TO, SET SCHEMA, OWNER TO or an option"));
    }
    cursor.accept("restrict");
    Ok(all)
}

/// The option that stands here, and its text where that is not what is written; none: no option.
fn option(cursor: &mut Cursor<'_>) -> Result<Option<(OptionKind, Option<String>)>> {
    let place = cursor.place();
    if cursor.accept("reset") {
        let kind = match cursor.identifier()?.as_str() {
            "all" | "search_path" => OptionKind::Path,
            _ => OptionKind::Unset,
        };
        return Ok(Some((kind, Some(String::new()))));
    }
    if cursor.accept("set") {
        let is_default = cursor.is("search_path")
            && (cursor.is_at(1, "to") || cursor.peek_at(1) == Some(&Token::Eq))
            && cursor.is_at(2, "default");
        if is_default {
            cursor.take(3);
            return Ok(Some((OptionKind::Path, Some(String::new()))));
        }
        let text = match path_of_body(cursor)? {
            None => "SET search_path FROM CURRENT".to_owned(),
            Some(path) => path_text(&path),
        };
        return Ok(Some((OptionKind::Path, Some(text))));
    }
    let Some((kind, count)) = option_at(cursor.rest_ahead()) else { return Ok(None) };
    let words = cursor.take(count);
    if matches!(kind, OptionKind::Cost | OptionKind::Rows)
        && !is_positive(words.last().map(|word| &word.token))
    {
        let name = if kind == OptionKind::Cost { "COST" } else { "ROWS" };
        return Err(error(b"22023", place, format!("{name} must be positive")));
    }
    Ok(Some((kind, None)))
}

fn is_positive(token: Option<&Token>) -> bool {
    let Some(Token::Number(digits, _)) = token else { return false };
    digits.parse::<f64>().is_ok_and(|number| number > 0.0)
}

fn path_text(path: &SearchPath) -> String {
    let schemas: Vec<String> = path.schemas().map(quoted).collect();
    match schemas.is_empty() {
        true => "SET search_path TO ''".to_owned(),
        false => format!("SET search_path TO {}", schemas.join(", ")),
    }
}

/// The option that tokens begin with, and of how many of them it is made.
fn option_at(tokens: &[TokenWithSpan]) -> Option<(OptionKind, usize)> {
    let end = Place::default();
    let count = |read: &dyn Fn(&mut Cursor<'_>) -> bool| {
        let mut cursor = Cursor::new(tokens, end);
        read(&mut cursor).then(|| tokens.len() - cursor.rest_ahead().len())
    };
    let one_of = |words: &[&str]| count(&|cursor| words.iter().any(|word| cursor.accept(word)));
    let valued = |word: &str| {
        count(&|cursor| {
            let found = cursor.accept(word);
            // A negative number is read, to be refused.
            cursor.accept_token(&Token::Minus);
            found && cursor.take(1).len() == 1
        })
    };
    let strict = count(&|cursor| {
        is_strict_here(cursor) || cursor.accept_all(&["called", "on", "null", "input"])
    });
    let path = count(&|cursor| cursor.accept("set") && path_of_body(cursor).is_ok());
    let found = [
        (OptionKind::Volatility, one_of(&["immutable", "stable", "volatile"])),
        (OptionKind::Strict, strict),
        (OptionKind::Security, count(&|cursor| security(cursor).is_some())),
        (OptionKind::Leakproof, one_of(&["leakproof"])),
        (OptionKind::Leakproof, count(&|cursor| cursor.accept_all(&["not", "leakproof"]))),
        (OptionKind::Parallel, valued("parallel")),
        (OptionKind::Cost, valued("cost")),
        (OptionKind::Rows, valued("rows")),
        (OptionKind::Path, path),
    ];
    found.into_iter().find_map(|(kind, count)| Some((kind, count?)))
}

impl<'c> Compiler<'c> {
    /// ALTER of a routine.
    pub(crate) fn alter_routine(&self, written: &AlterRoutineSyntax) -> Result<Compiled> {
        let AlterRoutineSyntax { kind, routine, what } = written;
        let place = routine.1;
        let found = self.routine_altered(*kind, routine)?;
        let mut change = what.clone();
        let mut schema = None;
        match &mut change {
            RoutineChange::Name(name) => {
                if name.contains([STATEMENT_MARK, OVERLOAD_MARK]) {
                    let message = "names of functions do not have control characters";
                    return Err(error(b"42602", place, message));
                }
                self.refuse_other(found, (found.schema(), name), place)?;
                schema = Some(found.schema().to_owned());
            }
            RoutineChange::Schema(to) => {
                if to.starts_with("pg_temp") {
                    let message = "cannot move objects into or out of temporary schemas";
                    return Err(error(b"0A000", place, message));
                }
                if !self.catalog.has_schema(to) {
                    return Err(no_schema(to, place));
                }
                if to == found.schema() {
                    return Ok(Compiled::Catalog(Vec::new()));
                }
                self.refuse_other(found, (to, found.shown_name()), place)?;
                schema = Some(to.clone());
            }
            RoutineChange::Options(options) => {
                let of_path = options.iter_mut().filter(|option| option.kind == OptionKind::Path);
                for option in of_path.filter(|option| option.text.ends_with("FROM CURRENT")) {
                    option.text = path_text(&self.path);
                }
                let rows = options.iter().find(|option| option.kind == OptionKind::Rows);
                if let Some(rows) = rows.filter(|_| !found.returns_set) {
                    let message = "ROWS is not applicable when function does not return a set";
                    return Err(error(b"22023", rows.place, message));
                }
            }
        }
        let shown = format!(
            "{}({})",
            found.shown_name(),
            listed(found.given().iter().map(|of| &of.sql_type))
        );
        let (name, kind) = (found.name.clone(), *kind);
        Ok(Compiled::AlterRoutine(AlteredRoutine { name, place, kind, change, shown, schema }))
    }

    /// The routine that ALTER means.
    ///
    /// Errors: 42883 where there is none, 42725 where there are several.
    fn routine_altered(
        &self,
        kind: RoutineKind,
        (name, place, taken): &DroppedRoutine,
    ) -> Result<&'c Procedure> {
        let mut seen = self.routines_seen(name);
        if let Some(taken) = taken {
            let types = self.types_taken(taken)?;
            let found = seen.into_iter().find(|of| types_of(of).eq(types.iter().copied()));
            return found.ok_or_else(|| {
                let called = format!("{}({})", shown(name.clone()), listed(types.iter()));
                error(b"42883", *place, format!("{} {called} does not exist", kind.missing()))
            });
        }
        match (seen.pop(), seen.is_empty()) {
            (Some(one), true) => Ok(one),
            (Some(_), false) => {
                let what = kind.name();
                let message = format!("{what} name \"{}\" is not unique", shown(name.clone()));
                let hint = format!("Specify the argument list to select the {what} unambiguously.");
                Err(error(b"42725", *place, message).hint(hint))
            }
            (None, _) => {
                let (what, name) = (kind.missing(), shown(name.clone()));
                Err(error(b"42883", *place, format!("could not find a {what} named \"{name}\"")))
            }
        }
    }

    /// Fails with 42723 where a routine with the same parameters has a name already.
    fn refuse_other(
        &self,
        routine: &Procedure,
        (schema, name): (&str, &str),
        place: Place,
    ) -> Result<()> {
        let key = key_in(schema, name);
        let all = self.procedures.map_or_else(Vec::new, |all| all.overloads(&key));
        if !all.iter().any(|of| types_of(of).eq(types_of(routine))) {
            return Ok(());
        }
        let types = listed(routine.given().iter().map(|of| &of.sql_type));
        let message = format!("function {name}({types}) already exists in schema \"{schema}\"");
        Err(error(b"42723", place, message))
    }
}

impl AlteredRoutine {
    /// The text of CREATE that the routine has from then on.
    ///
    /// Errors: 42809 where it is of another kind, 42P13 for an option that its kind does not have.
    pub fn text(&self, before: &str) -> Result<String> {
        let tokens = tokenize(before, Place { line: 1, column: 1 })?;
        let parts = Parts::of(&tokens)?;
        let is_other = match self.kind {
            RoutineKind::Function => !parts.is_function,
            RoutineKind::Procedure => parts.is_function,
            RoutineKind::Either => false,
        };
        if is_other {
            let what = if parts.is_function { "procedure" } else { "function" };
            let message = format!("{} is not a {what}", self.shown);
            return Err(error(b"42809", self.place, message));
        }
        let offsets = Offsets::new(before, Place { line: 1, column: 1 });
        let bytes = |range: Range<usize>| {
            let (first, last) = (&tokens[range.start].span, &tokens[range.end - 1].span);
            offsets.of(first.start)..offsets.of(last.end)
        };
        let named = |schema: &str, name: &str| format!("{}.{}", quoted(schema), quoted(name));
        let own = routine_name(&self.name);
        match &self.change {
            RoutineChange::Name(name) => {
                let schema = self.schema.as_deref().unwrap_or_default();
                Ok(spliced(before, vec![(bytes(parts.name), named(schema, name))]))
            }
            RoutineChange::Schema(schema) => {
                Ok(spliced(before, vec![(bytes(parts.name), named(schema, local(own)))]))
            }
            RoutineChange::Options(options) => {
                let wrong = options.iter().find(|of| of.kind.is_of_functions());
                if let Some(wrong) = wrong.filter(|_| !parts.is_function) {
                    let message = "invalid attribute in procedure definition";
                    return Err(error(b"42P13", wrong.place, message));
                }
                let replaced =
                    |(kind, _): &&(OptionKind, _)| options.iter().any(|of| of.kind == *kind);
                let gone = parts.options.iter().filter(replaced);
                let mut edits: Vec<_> =
                    gone.map(|(_, range)| (bytes(range.clone()), String::new())).collect();
                let new: Vec<&str> = options.iter().map(|option| &*option.text).collect();
                let new = new.join(" ");
                if !new.trim().is_empty() {
                    let at = bytes(parts.body..parts.body + 1).start;
                    edits.push((at..at, format!("{} ", new.trim())));
                }
                Ok(spliced(before, edits))
            }
        }
    }
}

/// A text with ranges of it replaced.
fn spliced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| std::cmp::Reverse((range.start, range.end)));
    let mut text = text.to_owned();
    for (range, new) in edits {
        text.replace_range(range, &new);
    }
    text
}

/// Where the parts of a CREATE FUNCTION or PROCEDURE stand among its tokens.
struct Parts {
    is_function: bool,
    name: Range<usize>,
    options: Vec<(OptionKind, Range<usize>)>,
    /// its first token: AS, RETURN or BEGIN
    body: usize,
}

impl Parts {
    fn of(tokens: &[TokenWithSpan]) -> Result<Self> {
        let broken = || SqlError::new(b"XX000", "a procedure's text is no CREATE");
        let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
        let kind = (0..tokens.len()).find(|at| is(*at, "function") || is(*at, "procedure"));
        let kind = kind.ok_or_else(broken)?;
        let list = tokens[kind..].iter().position(|t| t.token == Token::LParen);
        let list = kind + list.ok_or_else(broken)?;
        let mut parts = Self {
            is_function: is(kind, "function"),
            name: kind + 1..list,
            options: Vec::new(),
            body: 0,
        };
        let (mut at, mut depth) = (list, 0_usize);
        while at < tokens.len() {
            match &tokens[at].token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                token if is_word(token, "as") => {
                    parts.body = at;
                    at += 1;
                }
                token if is_word(token, "return") || is_word(token, "begin") => {
                    parts.body = at;
                    break;
                }
                _ => {
                    if let Some((kind, count)) = option_at(&tokens[at..]) {
                        parts.options.push((kind, at..at + count));
                        at += count;
                        continue;
                    }
                }
            }
            at += 1;
        }
        if parts.body == 0 { Err(broken()) } else { Ok(parts) }
    }
}
