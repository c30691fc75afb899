//! The path and the role that a text tells before its statement.

use hotrow_base::conventions::{Conventions, Style};
use hotrow_base::temporal::TimeZone;
use hotrow_sql::{
    Sender, conventions_before, maker_before, path_before, role_before, split_path, with_path,
    with_sender,
};
use hotrow_transaction::catalog::SearchPath;

#[test]
fn a_path_is_read_as_it_was_written() {
    let usual = SearchPath::default();
    assert_eq!(with_path("SELECT 1", &usual), "SELECT 1");
    for names in [&["a", "public"][..], &["A \"b\"", "x*/ y", "c,d"], &[]] {
        let path = SearchPath::new(names.iter().map(|name| (*name).to_owned()));
        let text = with_path("SELECT 1", &path).into_owned();
        assert_eq!(path_before(&format!("\n  {text}")), Some(path), "{text}");
        assert_eq!(split_path(&text).1, "SELECT 1");
        let names = ["t", "a \"b\"; "].map(str::to_owned).into();
        let path = path_before(&text).expect("read above").with_temporary(3, names);
        let text = with_path("SELECT 1", &path).into_owned();
        assert_eq!(path_before(&text), Some(path), "{text}");
    }
    let role = "a*/ \"b";
    let path = SearchPath::new(["c".to_owned()]);
    let text = with_path("SELECT 1", &path).into_owned();
    let berlin = TimeZone::named("Europe/Berlin").expect("a region");
    let usual = Conventions::DEFAULT;
    let berlin = Conventions { zone: berlin, ..usual };
    let style = Style::of_settings("SQL, DMY", "sql_standard", "escape", "0");
    for (role, maker, conventions) in [
        (Some(role), None, usual),
        (Some("r"), Some("m"), berlin),
        (None, Some(role), Conventions { style, ..usual }),
        (None, None, Conventions { style, ..berlin }),
    ] {
        let sender = Sender { role, maker, conventions };
        let text = with_sender(&text, sender).into_owned();
        assert_eq!((role_before(&text).as_deref(), path_before(&text)), (role, Some(path.clone())));
        assert_eq!(maker_before(&text).as_deref(), maker);
        assert_eq!(
            conventions_before(&text).and_then(|it| Conventions::of_kept(&it)),
            (conventions != usual).then_some(conventions),
            "{text}"
        );
        assert_eq!(split_path(&text).1, "SELECT 1");
        assert_eq!(with_sender(&text, sender), text);
    }
    assert_eq!(with_sender("SELECT 1", Sender::default()), "SELECT 1");
    assert_eq!(path_before("SELECT 1"), None);
    assert_eq!(split_path("SELECT 1"), ("", "SELECT 1"));
}
