//! Options of functions and procedures, as CREATE and ALTER say them alike.

use hotrow_transaction::catalog::SearchPath;
use sqlparser::tokenizer::Token;

use crate::error::{Result, unsupported};
use crate::token::Cursor;

/// What stands behind SET in CREATE FUNCTION: the path of the body's bare names; none: FROM
/// CURRENT, which they have anyway.
pub(crate) fn path_of_body(cursor: &mut Cursor<'_>) -> Result<Option<SearchPath>> {
    let place = cursor.place();
    if !cursor.accept("search_path") {
        let what = format!("SET {} in CREATE FUNCTION", cursor.identifier()?);
        return Err(unsupported(place, what, "leave it out, or set it in the session"));
    }
    if cursor.accept_all(&["from", "current"]) {
        return Ok(None);
    }
    if !cursor.accept_token(&Token::Eq) {
        cursor.expect("to")?;
    }
    let mut schemas = Vec::new();
    loop {
        schemas.push(cursor.identifier_or_string()?);
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    // An empty text stands for no schema.
    schemas.retain(|schema| !schema.is_empty() && schema != "$user" && schema != "pg_catalog");
    Ok(Some(SearchPath::new(schemas)))
}

/// SECURITY DEFINER or INVOKER; none: it is something else.
pub(crate) fn security(cursor: &mut Cursor<'_>) -> Option<bool> {
    cursor.accept("external");
    [("definer", true), ("invoker", false)]
        .into_iter()
        .find(|(word, _)| cursor.accept_all(&["security", word]))
        .map(|(_, is_definer)| is_definer)
}

/// STRICT, or RETURNS NULL ON NULL INPUT.
pub(crate) fn is_strict_here(cursor: &mut Cursor<'_>) -> bool {
    cursor.accept("strict") || cursor.accept_all(&["returns", "null", "on", "null", "input"])
}

impl Cursor<'_> {
    /// A name, or a text in its place.
    pub(crate) fn identifier_or_string(&mut self) -> Result<String> {
        if let Some(Token::SingleQuotedString(text)) = self.peek() {
            self.bump();
            return Ok(text.clone());
        }
        self.identifier()
    }
}

/// Settings that are without effect in a routine: what is planned and held here does not depend on
/// them, and a time limit is that of the statement that calls.
const WITHOUT_EFFECT: &[&str] = &[
    "constraint_exclusion",
    "cursor_tuple_fraction",
    "default_statistics_target",
    "effective_cache_size",
    "effective_io_concurrency",
    "from_collapse_limit",
    "hash_mem_multiplier",
    "idle_in_transaction_session_timeout",
    "join_collapse_limit",
    "lock_timeout",
    "maintenance_work_mem",
    "max_parallel_workers_per_gather",
    "plan_cache_mode",
    "random_page_cost",
    "seq_page_cost",
    "statement_timeout",
    "temp_buffers",
    "work_mem",
];

/// `name {= | TO} value`, or FROM CURRENT, of a setting that is without effect behind SET: its
/// name; none: another setting, of which nothing was read.
pub(crate) fn setting_without_effect(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    let Some(Token::Word(word)) = cursor.peek() else { return Ok(None) };
    let name = word.value.to_ascii_lowercase();
    let is_of_planner = ["enable_", "jit", "geqo", "cpu_", "parallel_"];
    let is_known = WITHOUT_EFFECT.contains(&&*name)
        || is_of_planner.iter().any(|begins| name.starts_with(begins));
    if !is_known {
        return Ok(None);
    }
    cursor.bump();
    if !cursor.accept_all(&["from", "current"]) {
        if !cursor.accept_token(&Token::Eq) {
            cursor.expect("to")?;
        }
        cursor.accept_token(&Token::Minus);
        cursor.bump();
    }
    Ok(Some(name))
}
