//! What a text may name.

use hotrow_sql::mention::may_name;

#[test]
fn a_name_is_found_however_it_is_written() {
    let found = [
        ("SELECT a FROM Orders", "orders"),
        ("SELECT \"a\"\"b\" FROM t", "a\"b"),
        ("SELECT * FROM \"My Table\"", "My Table"),
        ("SELECT nextval('s')", "s"),
        ("SELECT * FROM public.t", "t"),
        ("SELECT 1", "!"),
    ];
    for (text, name) in found {
        assert!(may_name(text, name), "{text} names {name}");
    }
    for (text, name) in [("SELECT * FROM orders_2", "orders"), ("SELECT tt", "t")] {
        assert!(!may_name(text, name), "{text} does not name {name}");
    }
}
