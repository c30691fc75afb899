//! What statements are answered with: notices, rows, and what was done.

use std::ops::Range;

use bytes::BufMut;
use hotrow::{CopyOut, Notice, Session, SqlType, StatementResult};
use hotrow_base::panics;
use pgwire::messages::data::{FieldDescription, RowDescription};
use pgwire::messages::response::CommandComplete;

use crate::connection::Outgoing;
use crate::report::notice;
use crate::wire::{self, Bigints, Format};

/// A statement's whole answer.
pub(crate) fn say_result(
    out: &mut Outgoing,
    session: &Session,
    result: &StatementResult,
    origins: &[(u32, i16)],
) {
    panics::point::reach("answer");
    say_notices(out, session, &result.notices);
    if !result.types.is_empty() {
        let columns = result.rows.columns().iter().cloned();
        let columns: Vec<_> = columns.zip(result.types.iter().copied()).collect();
        out.say(&row_description(&columns, origins, Bigints::Own, |_| Format::Text));
        send_rows(out, result, 0..result.rows.len(), Bigints::Own, |_| Format::Text);
    }
    out.say(&CommandComplete::new(result.tag.clone()));
}

/// CopyInResponse or CopyOutResponse: all columns are text.
pub(crate) fn say_copy(out: &mut Outgoing, kind: u8, columns: usize, format: Format) {
    out.say_by(kind, |body| {
        body.put_u8(format.code() as u8);
        body.put_u16(columns as u16); // a table has fewer than 2,000
        (0..columns).for_each(|_| body.put_i16(format.code()));
    });
}

/// The rows of a COPY TO STDOUT, and what was done.
pub(crate) fn say_rows(out: &mut Outgoing, copy: CopyOut) {
    say_copy(out, b'H', copy.columns(), Format::of_copy(copy.is_binary()));
    copy.for_each_piece(|line| out.say_by(b'd', |body| body.put_slice(line)));
    out.say_by(b'c', |_| ());
    out.say(&CommandComplete::new(copy.finish().tag));
}

/// What is said beside results, as far as the session wants to hear it.
pub(crate) fn say_notices(out: &mut Outgoing, session: &Session, notices: &[Notice]) {
    let heard = notices.iter().filter(|told| session.hears(told.level));
    heard.for_each(|told| out.say(&notice(told)));
}

/// A result's command tag; that of a query counts the rows that were sent with it.
pub(crate) fn tag(result: &StatementResult, sent: usize) -> String {
    match result.tag.starts_with("SELECT ") {
        true => format!("SELECT {sent}"),
        false => result.tag.clone(),
    }
}

/// RowDescription: `format` by number of the column.
pub(crate) fn row_description(
    columns: &[(String, SqlType)],
    origins: &[(u32, i16)],
    bigints: Bigints,
    format: impl Fn(usize) -> Format,
) -> RowDescription {
    let field = |(at, (name, of)): (usize, &(String, SqlType))| {
        let (oid, size, modifier) = (bigints.oid(*of), wire::size(*of), wire::modifier(*of));
        let (table, column) =
            origins.get(at).map_or((0, 0), |(table, column)| (*table as i32, *column));
        FieldDescription::new(name.clone(), table, column, oid, size, modifier, format(at).code())
    };
    RowDescription::new(columns.iter().enumerate().map(field).collect())
}

/// DataRows: `which` of a result's rows.
pub(crate) fn send_rows(
    out: &mut Outgoing,
    result: &StatementResult,
    which: Range<usize>,
    bigints: Bigints,
    format: impl Fn(usize) -> Format,
) {
    for row in result.rows.iter().skip(which.start).take(which.len()) {
        out.say_by(b'D', |body| {
            body.put_u16(row.len() as u16);
            for (at, (value, of)) in row.iter().zip(&result.types).enumerate() {
                bigints.write_with_length(value, format(at), *of, body);
            }
        });
    }
}
