use super::*;

fn found(text: &str) -> Vec<(PieceKind, &str)> {
    pieces(text).iter().map(|piece| (piece.kind, piece.text)).collect()
}

#[test]
fn statements_end_at_semicolons_outside_of_quotes() {
    use PieceKind::Statement;
    let text =
        "SELECT ';', \";\", E'\\';' -- ;\n; /* ; */ DO $a$ BEGIN; $$;$$ END $a$;\nSELECT a$b;1";
    let expected =
        ["SELECT ';', \";\", E'\\';' -- ;", "DO $a$ BEGIN; $$;$$ END $a$", "SELECT a$b", "1"];
    assert_eq!(found(text), expected.map(|text| (Statement, text)));
    assert_eq!(found("SELECT 'a; SELECT 2"), [(Statement, "SELECT 'a; SELECT 2")]);
    assert_eq!(found(" -- nothing\n;;"), []);
}

#[test]
fn what_is_psqls_own_is_told_apart() {
    use PieceKind::{MetaCommand, Rows, Statement};
    let text =
        "\\set ON_ERROR_STOP on\nCOPY t (a) FROM stdin;\n1;\n\\.\nSELECT 1 \\gset\nSELECT 2;";
    let expected = [
        (MetaCommand, "\\set ON_ERROR_STOP on"),
        (Statement, "COPY t (a) FROM stdin"),
        (Rows, "\n1;\n\\.\n"),
        (Statement, "SELECT 1"),
        (MetaCommand, "\\gset"),
        (Statement, "SELECT 2"),
    ];
    assert_eq!(found(text), expected);
    let places: Vec<_> = pieces(text).iter().map(|piece| &text[piece.at..][..1]).collect();
    assert_eq!(places, ["\\", "C", "\n", "S", "\\", "S"]);
}
