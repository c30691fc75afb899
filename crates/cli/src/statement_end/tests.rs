use super::*;

#[test]
fn statements_end_with_a_semicolon_of_their_own() {
    for (text, expected) in [
        ("", Typed::Nothing),
        (" \n -- hm;\n /* ; */", Typed::Nothing),
        ("SELECT 1", Typed::Open),
        ("SELECT 1;", Typed::Whole),
        ("SELECT 1; -- done\n", Typed::Whole),
        ("SELECT 1; SELECT 2", Typed::Open),
        ("SELECT ';'", Typed::Open),
        ("SELECT 'it''s;';", Typed::Whole),
        ("SELECT 'open;", Typed::Open),
        ("SELECT \"a;b\"", Typed::Open),
        ("/* /* ; */ ; */", Typed::Nothing),
        ("/* open ; */ /*", Typed::Open),
        ("AS $$ BEGIN x; END; ", Typed::Open),
        ("AS $$ BEGIN x; END; $$", Typed::Open),
        ("AS $$ BEGIN x; END; $$;", Typed::Whole),
        ("AS $f$ a; $$ b; $f$;", Typed::Whole),
        ("AS $f$ a; $$;", Typed::Open),
        ("SELECT $1;", Typed::Whole),
        ("SELECT $1 + $2;", Typed::Whole),
        ("SELECT 'é$ß';", Typed::Whole),
    ] {
        assert_eq!(typed(text), expected, "{text:?}");
    }
}
