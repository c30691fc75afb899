//! Functions that come before what they name: with `check_function_bodies` off, as dumps set it.
//!
//! Role         PostgreSQL takes a function without looking at its body then, and dumps have
//!              functions before their tables. Here a function that is there can be called, so one
//!              whose body names what is not there is postponed: the session is told so, and it is
//!              made behind the definition that brings what it lacks. What concerns a postponed
//!              function (its owner, rights to it) is postponed with it
//! Invariants   I1 nothing is lost in silence: a NOTICE tells what is postponed and what it
//!                 lacks, a WARNING what cannot be made when that has come, and the log what is
//!                 left when its session ends
//!              I2 what is tried again is only what lacked a name that the definition says

use hotrow_sql::{ScriptStatement, parse_script};
use hotrow_transaction::outcome::{Notice, SqlError};

use crate::context::Context;
use crate::error::Error;
use crate::postponed::Definition;
use crate::result::{StatementResult, tag};
use crate::rows::Rows;
use crate::session_transaction::SessionTransaction;

/// Functions that a session can have postponed at a time.
const POSTPONED_MAX: usize = 10_000;
/// The errors of who names what is not there.
const LACKING: [&[u8; 5]; 4] = [b"42P01", b"42703", b"42704", b"42883"];

/// Postpones a definition that failed, if it is one of a function whose body need not be checked,
/// or concerns one that is postponed: what the session is told.
pub(crate) fn postponed(
    context: &Context,
    transaction: &SessionTransaction,
    statement: &ScriptStatement,
    failed: &SqlError,
) -> Option<StatementResult> {
    if !LACKING.contains(&&failed.sqlstate) || transaction.is_open() {
        return None;
    }
    let is_off = context.settings().get("check_function_bodies").is_ok_and(|value| value == "off");
    let lacks = lacking(&failed.message)?;
    let mut waiting = context.postponed();
    let concerns = || {
        let concerned = &failed.sqlstate == b"42883" && statement.concerns_routine();
        concerned && waiting.definitions.iter().any(|known| defines(&known.text, &lacks))
    };
    if !is_off || !(statement.is_routine() || concerns()) {
        return None;
    }
    if waiting.definitions.len() == POSTPONED_MAX {
        return None;
    }
    let message = format!("{}: it is made when that has come", failed.message);
    let notice = Notice::new(SqlError::new(b"00000", message));
    waiting.definitions.push(Definition { text: statement.text.clone(), lacks });
    let tag = tag(&statement.text, &Rows::default());
    Some(StatementResult { notices: vec![notice], ..StatementResult::of_tag(&tag) })
}

/// Makes what was postponed until a definition with this text, and what waited for that in turn;
/// what could not be made then is told.
pub(crate) fn make_postponed(
    context: &Context,
    transaction: &mut SessionTransaction,
    text: &str,
) -> Vec<Notice> {
    if context.postponed().definitions.is_empty() {
        return Vec::new(); // as it mostly is: this is asked behind each definition
    }
    let (mut told, mut come) = (Vec::new(), vec![text.to_lowercase()]);
    while let Some(text) = come.pop() {
        let names = |known: &mut Definition| text.contains(&known.lacks);
        let ready: Vec<_> = context.postponed().definitions.extract_if(.., names).collect();
        for Definition { text, lacks } in ready {
            match made(context, transaction, &text) {
                Ok(()) => come.push(text.to_lowercase()),
                Err(failed) => {
                    let lacks = match lacking(&failed.message) {
                        Some(other) if LACKING.contains(&&failed.sqlstate) => other,
                        // What has come is not yet all that it will be: dumps add keys to their
                        // tables later.
                        _ if failed.sqlstate == *b"0A000" || failed.is_refusal() => lacks,
                        _ => {
                            told.push(Notice::warning(failed));
                            continue;
                        }
                    };
                    context.postponed().definitions.push(Definition { text, lacks });
                }
            }
        }
    }
    told
}

fn made(
    context: &Context,
    transaction: &mut SessionTransaction,
    text: &str,
) -> Result<(), SqlError> {
    for statement in parse_script(text)? {
        let made = transaction.define(context, &statement).map(drop);
        made.map_err(|failed| match failed {
            Error::Sql(failed) => *failed,
            other => SqlError::new(b"XX000", other.to_string()),
        })?;
    }
    Ok(())
}

/// The name that an error says is not there: `relation "a.b" does not exist`, `function f(integer)
/// does not exist`.
fn lacking(message: &str) -> Option<String> {
    let quoted = message.split('"').nth(1);
    let called = || {
        let rest = ["function ", "procedure "].iter().find_map(|kind| message.split_once(kind))?.1;
        rest.split(['(', ' ']).next()
    };
    let name = quoted.or_else(called)?;
    let own = name.rsplit('.').next().unwrap_or(name);
    (!own.is_empty()).then(|| own.to_lowercase())
}

/// Whether a text is the definition of a routine of this name.
fn defines(text: &str, name: &str) -> bool {
    let head = text.split('(').next().unwrap_or_default().to_lowercase();
    head.ends_with(name) || head.ends_with(&format!("{name}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_named_by_errors() {
        for (message, name) in [
            ("relation \"Orders\" does not exist", Some("orders")),
            ("relation \"audit.log\" does not exist", Some("log")),
            ("function place(bigint,integer) does not exist", Some("place")),
            ("procedure \"clean\" does not exist", Some("clean")),
            ("division by zero", None),
        ] {
            assert_eq!(lacking(message).as_deref(), name, "{message}");
        }
        assert!(defines("CREATE FUNCTION public.place(a int) ...", "place"));
        assert!(!defines("CREATE FUNCTION public.replace(a int) ...", "place_"));
    }
}
