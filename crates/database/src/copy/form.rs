//! Rows as COPY TO writes them.

use std::fmt::Write as _;

use hotrow_base::value::Value;
use hotrow_sql::CopyForm;

/// Appends a row and its end of line; `is_forced` tells which columns are quoted in any case.
pub(super) fn write_row(
    row: &[Value],
    is_forced: impl Fn(usize) -> bool,
    form: &CopyForm,
    out: &mut Vec<u8>,
) {
    let mut text = String::new();
    for (at, value) in row.iter().enumerate() {
        if at > 0 {
            out.push(form.delimiter);
        }
        if value.is_null() {
            out.extend_from_slice(form.null.as_bytes());
            continue;
        }
        text.clear();
        let _ = write!(text, "{value}"); // a String takes everything
        if form.is_csv {
            let is_quoted = is_forced(at) || needs_quotes(&text, form, row.len() == 1);
            write_csv(&text, is_quoted, form, out);
        } else {
            write_text(&text, form, out);
        }
    }
    out.push(b'\n');
}

fn write_text(text: &str, form: &CopyForm, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        let letter = match byte {
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            byte if byte == form.delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

/// Whether a value could be read as something else without quotes.
fn needs_quotes(text: &str, form: &CopyForm, is_only: bool) -> bool {
    let is_special =
        |&byte: &u8| byte == form.delimiter || byte == form.quote || matches!(byte, b'\n' | b'\r');
    text == form.null || (is_only && text == "\\.") || text.as_bytes().iter().any(is_special)
}

fn write_csv(text: &str, is_quoted: bool, form: &CopyForm, out: &mut Vec<u8>) {
    if !is_quoted {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(form.quote);
    for &byte in text.as_bytes() {
        if byte == form.quote || byte == form.escape {
            out.push(form.escape);
        }
        out.push(byte);
    }
    out.push(form.quote);
}
