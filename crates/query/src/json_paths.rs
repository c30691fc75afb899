//! Functions of SQL/JSON paths.
//!
//! Role         reads a path once for many rows, and gives what [`hotrow_base::json`] finds by it,
//!              which has patterns of `like_regex` matched here

use std::cell::RefCell;
use std::rc::Rc;

use hotrow_base::json::{Like, Path, PathFunction, PathTarget, evaluate_path};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::pattern::{self, Flags};

/// The longest text of a path that a thread keeps: the path takes some twenty times as much.
const KEPT_BYTES_MAX: usize = 4 << 10;

thread_local! {
    /// the path that was used last, and its text
    static KEPT: RefCell<Option<(String, Rc<Path>)>> = const { RefCell::new(None) };
}

/// What a path gives for a jsonb; variables and silence may be left out. NULL where an argument is
/// NULL, and no rows of those that give rows.
pub(crate) fn values(function: PathFunction, arguments: &[Value]) -> Result<Vec<Value>, SqlError> {
    let (json, text, rest) = match arguments {
        [Value::Jsonb(json), Value::Text(text), rest @ ..] if !rest.iter().any(Value::is_null) => {
            (json, text, rest)
        }
        _ if function == PathFunction::Query => return Ok(Vec::new()),
        _ => return Ok(vec![Value::Null]),
    };
    let path = read(text)?;
    let variables = match rest.first() {
        Some(Value::Jsonb(variables)) => variables.as_str(),
        _ => "{}",
    };
    let is_silent = rest.get(1) == Some(&Value::Bool(true));
    let target = PathTarget { json, variables, is_silent };
    evaluate_path(function, &path, target, &mut |like, text| {
        pattern::with(&like.pattern, flags_of(like), text, |it| it.is_in(text))
    })
}

fn read(text: &str) -> Result<Rc<Path>, SqlError> {
    let known = KEPT.with_borrow(|kept| {
        kept.as_ref().filter(|(known, _)| known == text).map(|(_, path)| path.clone())
    });
    if let Some(path) = known {
        return Ok(path);
    }
    let path = Rc::new(Path::read(text)?);
    for like in path.likes() {
        pattern::with(&like.pattern, flags_of(like), "", |_| Ok(()))?;
    }
    if text.len() <= KEPT_BYTES_MAX {
        KEPT.set(Some((text.to_owned(), path.clone())));
    }
    Ok(path)
}

fn flags_of(like: &Like) -> Flags {
    Flags::of_like(&like.flags)
}
