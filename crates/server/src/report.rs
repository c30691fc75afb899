//! Errors and warnings as PostgreSQL's clients hear them.

use hotrow::{Error, Notice, SqlError};
use pgwire::messages::response::{ErrorResponse, NoticeResponse};
use tracing::{error, warn};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Severity {
    /// the statement failed
    Error,
    /// the connection ends
    Fatal,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }
}

/// An error of the database as one of SQL.
pub(crate) fn sql_error(error: Error) -> SqlError {
    match error {
        Error::Sql(error) => *error,
        Error::Closed => SqlError::new(b"57P01", "the database was shut down"),
        Error::Log(error) => SqlError::new(b"58030", error.to_string()),
        other => SqlError::new(b"XX000", other.to_string()),
    }
}

/// Writes errors to the log that are not the client's doing: whoever runs the server should know.
fn log(of: &SqlError) {
    let (code, message) = (of.code(), of.message.as_str());
    let detail = of.detail.as_deref().unwrap_or_default();
    match &code[..2] {
        // The system, the log, or a bug.
        "58" | "XX" => error!(code, message, detail, "a statement failed"),
        _ if code == "08007" => error!(code, message, detail, "a statement failed"),
        // Want of memory or disk. Calls that are refused for want of room are counted: they are as
        // many as an overload makes them.
        "53" if code != "53300" => warn!(code, message, detail, "a statement failed"),
        _ => {}
    }
}

/// The fields of a message; `text` is what was executed, for the position in it.
fn fields(error: &SqlError, severity: &str, text: &str) -> Vec<(u8, String)> {
    let mut fields = vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', error.code().to_owned()),
        (b'M', error.message.clone()),
    ];
    let mut add = |code: u8, value: &Option<String>| {
        fields.extend(value.as_ref().map(|value| (code, value.clone())));
    };
    add(b'D', &error.detail);
    add(b'H', &error.hint);
    add(b'W', &error.context);
    let schema = error.table.as_ref().map(|_| "public".to_owned());
    let named = error.named.as_deref().cloned().unwrap_or_default();
    add(b's', &named.schema.or(schema));
    add(b't', &error.table);
    add(b'c', &error.column);
    add(b'd', &named.data_type);
    add(b'n', &error.constraint);
    fields.push((b'R', routine(error).to_owned()));
    // Of what is wrong with the text itself; a statement's own failure has no place in it.
    let is_of_text = ["42", "0A", "54"].iter().any(|class| error.code().starts_with(class));
    if is_of_text && let Some(position) = position(text, error.place.line, error.place.column) {
        fields.push((b'P', position.to_string()));
    }
    fields
}

/// The routine of PostgreSQL's that says this; of what several say, the one that all of them call.
fn routine(error: &SqlError) -> &'static str {
    match error.code() {
        // Drivers prepare a statement anew where this is told.
        "0A000" if error.message == "cached plan must not change result type" => {
            "RevalidateCachedQuery"
        }
        "22003" if error.message.starts_with("numeric field") => "apply_typmod",
        "22012" => "int4div",
        "23502" | "23514" => "ExecConstraints",
        "23503" => "ri_ReportViolation",
        "23505" => "_bt_check_unique",
        "25P02" => "exec_simple_query",
        "42601" if error.message.starts_with("syntax error") => "scanner_yyerror",
        "42703" => "errorMissingColumn",
        "42883" => "ParseFuncOrColumn",
        "42P01" => "parserOpenTable",
        "57014" => "ProcessInterrupts",
        "P0001" => "exec_stmt_raise",
        _ => "errfinish",
    }
}

/// An ErrorResponse.
pub(crate) fn response(error: &SqlError, severity: Severity, text: &str) -> ErrorResponse {
    log(error);
    ErrorResponse::new(fields(error, severity.name(), text))
}

/// A NoticeResponse.
pub(crate) fn notice(notice: &Notice) -> NoticeResponse {
    NoticeResponse::new(fields(&notice.said, notice.level.name(), ""))
}

/// The character of a text, from 1, at a line and a column, both from 1.
fn position(text: &str, line: u32, column: u32) -> Option<usize> {
    let (line, column) = (line.checked_sub(1)? as usize, column.checked_sub(1)? as usize);
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines.by_ref().take(line).map(|line| line.chars().count()).sum();
    let own = lines.next()?.chars().count();
    (column <= own).then_some(before + column + 1)
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn positions_count_characters() {
        let text = "select ä,\n  nobody\nfrom t";
        assert_eq!(position(text, 1, 1), Some(1));
        assert_eq!(position(text, 2, 3), Some(13));
        assert_eq!(position(text, 3, 6), Some(25));
        assert_eq!(position(text, 9, 1), None);
        assert_eq!(position(text, 0, 0), None);
    }
}
