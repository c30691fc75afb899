//! What statements are answered with: notices, rows, and what was done.

use std::ops::Range;

use bytes::BufMut;
use hotrow::{CopyOut, Notice, Session, SqlType, StatementResult};
use hotrow_base::panics;

use crate::connection::Outgoing;
use crate::report::notice;
use crate::wire::{self, Format};

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
        let names = result.rows.columns().iter().map(String::as_str);
        let columns = names.zip(result.types.iter().copied());
        describe_rows(out, columns, origins, |_| Format::Text);
        let _entered = session.enter();
        send_rows(out, result, 0..result.rows.len(), |_| Format::Text);
    }
    say_tag(out, result, result.rows.len());
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
pub(crate) fn say_rows(out: &mut Outgoing, session: &Session, copy: CopyOut) {
    let _entered = session.enter();
    say_copy(out, b'H', copy.columns(), Format::of_copy(copy.is_binary()));
    copy.for_each_piece(|line| out.say_by(b'd', |body| body.put_slice(line)));
    out.say_by(b'c', |_| ());
    say_text(out, &copy.finish().tag);
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

/// CommandComplete, with a result's command tag, as [`tag`] has it.
pub(crate) fn say_tag(out: &mut Outgoing, result: &StatementResult, sent: usize) {
    match result.tag.starts_with("SELECT ") && sent != result.rows.len() {
        true => say_text(out, &tag(result, sent)),
        false => say_text(out, &result.tag),
    }
}

/// CommandComplete.
pub(crate) fn say_text(out: &mut Outgoing, tag: &str) {
    out.say_by(b'C', |body| {
        body.put_slice(tag.as_bytes());
        body.put_u8(0);
    });
}

/// RowDescription: `format` by number of the column.
pub(crate) fn describe_rows<'a>(
    out: &mut Outgoing,
    columns: impl ExactSizeIterator<Item = (&'a str, SqlType)>,
    origins: &[(u32, i16)],
    format: impl Fn(usize) -> Format,
) {
    out.say_by(b'T', |body| {
        body.put_u16(columns.len() as u16); // a table has fewer than 2,000
        for (at, (name, of)) in columns.enumerate() {
            let (table, column) = origins.get(at).copied().unwrap_or((0, 0));
            body.put_slice(name.as_bytes());
            body.put_u8(0);
            body.put_u32(table);
            body.put_i16(column);
            body.put_u32(wire::oid(of));
            body.put_i16(wire::size(of));
            body.put_i32(wire::modifier(of));
            body.put_i16(format(at).code());
        }
    });
}

/// DataRows: `which` of a result's rows. Whoever sends them has entered the session.
pub(crate) fn send_rows(
    out: &mut Outgoing,
    result: &StatementResult,
    which: Range<usize>,
    format: impl Fn(usize) -> Format,
) {
    for row in result.rows.iter().skip(which.start).take(which.len()) {
        out.say_by(b'D', |body| {
            body.put_u16(row.len() as u16);
            for (at, (value, of)) in row.iter().zip(&*result.types).enumerate() {
                wire::write_with_length(value, format(at), *of, body);
            }
        });
    }
}
