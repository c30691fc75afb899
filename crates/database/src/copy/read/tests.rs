use hotrow_sql::{CopyColumns, CopyForm};

use super::{Cells, Rows};

fn form(is_csv: bool) -> CopyForm {
    CopyForm {
        is_binary: false,
        is_csv,
        delimiter: if is_csv { b',' } else { b'\t' },
        null: if is_csv { String::new() } else { "\\N".to_owned() },
        header: false,
        header_matches: false,
        quote: b'"',
        escape: b'"',
        force_quote: CopyColumns::None,
        force_not_null: CopyColumns::None,
        force_null: CopyColumns::None,
    }
}

/// All rows, each as its cells; a NULL is `-`.
fn read(data: &[u8], cut: usize, form: &CopyForm) -> Vec<Vec<String>> {
    let (mut rows, mut cells, mut all) = (Rows::new(form), Cells::default(), Vec::new());
    let mut take = |rows: &mut Rows| {
        while let Some(row) = rows.next() {
            cells.split(row, form).expect("it is UTF-8");
            let shown = cells.iter().map(|cell| match cell.looks_null && !cell.is_quoted {
                true => "-".to_owned(),
                false => cell.text.to_owned(),
            });
            all.push(shown.collect());
        }
    };
    for piece in data.chunks(cut) {
        rows.push(piece);
        take(&mut rows);
    }
    rows.end();
    take(&mut rows);
    all
}

fn check(data: &str, is_csv: bool, expected: &[&[&str]]) {
    for cut in 1..=data.len() {
        assert_eq!(read(data.as_bytes(), cut, &form(is_csv)), expected, "{data:?} cut by {cut}");
    }
}

#[test]
fn text_is_cut_at_lines_and_delimiters_however_it_comes() {
    check("1\tä\\tb\n\\N\t\n", false, &[&["1", "ä\tb"], &["-", ""]]);
    check("a\\\nb\tc\r\nd\\\\\te", false, &[&["a\nb", "c"], &["d\\", "e"]]);
    check("\\101\\x41\\q\tN\n\\.\nnothing\n", false, &[&["AAq", "N"]]);
    check("\n\n", false, &[&[""], &[""]]);
}

#[test]
fn csv_tells_quoted_from_empty_and_keeps_lines_in_quotes() {
    check("1,\"\"\n,\"a,\"\"b\"\"\nc\"\r\n", true, &[&["1", ""], &["-", "a,\"b\"\nc"]]);
    check("x\"y,z\"w,2\n\\.\n9\n", true, &[&["xy,zw", "2"]]);
    check("1,2\n3,4", true, &[&["1", "2"], &["3", "4"]]);
}

#[test]
fn an_escape_of_its_own_keeps_quotes_inside() {
    let form = CopyForm { escape: b'\\', delimiter: b';', ..form(true) };
    for cut in 1..12 {
        assert_eq!(read(b"\"a\\\"\n;b\";c\n", cut, &form), [["a\"\n;b", "c"]]);
    }
}
