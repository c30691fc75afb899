//! ALTER FUNCTION, PROCEDURE and ROUTINE: RENAME TO, SET SCHEMA, and its options.
//!
//! Role         finds the routine that a statement means, and writes the text of CREATE that it has
//!              from then on ([`AlteredRoutine::text`]); whoever keeps the texts compiles that.
//!              OWNER TO is read by `grant`
//! Invariants   I1 the new text is the old one but for its name, or for the options that are named:
//!                 the body stands where it stood, and places in it stay what they were
//! Source       PostgreSQL 15, "ALTER FUNCTION", functioncmds.c, alter.c

use std::ops::Range;

use hotrow_base::quote::identifier as quoted;
use hotrow_transaction::catalog::{key_in, local, shown};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{OVERLOAD_MARK, Place, Procedure, STATEMENT_MARK, routine_name};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::alter_routine_syntax::{option_at, path_text};
use crate::altered_routine::{
    AlterRoutineSyntax, AlteredRoutine, OptionKind, RoutineChange, RoutineKind,
};
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error};
use crate::overload::{listed, types_of};
use crate::routine::parameter;
use crate::schema::no_schema;
use crate::scope::Compiler;
use crate::script::Offsets;
use crate::token::{Cursor, is_word, tokenize};

impl<'c> Compiler<'c> {
    /// ALTER of a routine.
    pub(crate) fn alter_routine(&self, written: &AlterRoutineSyntax) -> Result<Compiled> {
        let AlterRoutineSyntax { kind, place, what, .. } = written;
        let place = *place;
        let found = self.routine_altered(written)?;
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
    fn routine_altered(&self, written: &AlterRoutineSyntax) -> Result<&'c Procedure> {
        let AlterRoutineSyntax { kind, name, place, taken, .. } = written;
        let mut seen = self.routines_seen(name);
        if let Some(taken) = taken {
            let items = Cursor::new(taken, *place).split_commas();
            let taken = items.into_iter().map(parameter).collect::<Result<Vec<_>>>()?;
            let types = self.types_taken(&taken)?;
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
