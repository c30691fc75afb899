//! Roles: their definitions, and that passwords are shown to nobody.

use hotrow_sql::{CatalogChange, Compiled, ScriptStatement, apply, compile, parse_script, shown};
use hotrow_transaction::catalog::{Attribute, Catalog};

fn one(text: &str) -> ScriptStatement {
    let mut statements = parse_script(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(statements.len(), 1);
    statements.remove(0)
}

fn run(catalog: &mut Catalog, text: &str) -> Result<(), String> {
    let statement = one(text).concealed("SCRAM-SHA-256$...");
    match compile(catalog, &(), &statement).map_err(|error| error.code().to_owned())? {
        Compiled::Catalog(changes) => {
            changes.iter().for_each(|change| apply(catalog, change).expect("it was compiled"));
        }
        other => panic!("{text}: {other:?}"),
    }
    Ok(())
}

#[test]
fn a_password_is_in_nothing_but_where_it_is_asked_for() {
    let texts = [
        "CREATE USER ann PASSWORD 'geheim'",
        "create role ann with login superuser encrypted password E'geheim'",
        "CREATE USER ann PASSWORD $$geheim$$ LOGIN",
        "ALTER USER ann WITH PASSWORD 'geheim'",
    ];
    for text in texts {
        let statement = one(text);
        assert_eq!(statement.password(), Some("geheim"), "{text}");
        let refused = compile(&Catalog::default(), &(), &statement).expect_err("not concealed");
        assert!(!refused.to_string().contains("geheim"), "{refused}");
        let statement = statement.concealed("it's another");
        assert_eq!(statement.password(), None);
        assert!(!format!("{statement:?}").contains("geheim"), "{statement:?}");
        assert!(statement.text.contains("ROLE \"ann\""), "{}", statement.text);
        assert!(statement.text.ends_with(" PASSWORD 'it''s another'"), "{}", statement.text);
    }
    for text in ["CREATE USER ann PASSWORD geheim", "ALTER ROLE ann PASSWORD \"geheim\""] {
        let error = parse_script(text).expect_err("it is no string");
        assert_eq!(error.code(), "42601");
        assert!(!error.to_string().contains("geheim"), "{error}");
    }
}

fn has_password(catalog: &Catalog, role: &str) -> bool {
    catalog.rights().role(role).is_some_and(|role| role.verifier.is_some())
}

#[test]
fn users_come_change_and_go() {
    let catalog = &mut Catalog::default();
    run(catalog, "CREATE ROLE \"An\"\"n\" PASSWORD 'x'").expect("it is new");
    run(catalog, "CREATE USER bob").expect("it is new");
    let names: Vec<_> = catalog.rights().roles().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["An\"n", "bob"]);
    assert!(has_password(catalog, "An\"n") && !has_password(catalog, "bob"));
    assert_eq!(run(catalog, "CREATE USER bob PASSWORD 'y'"), Err("42710".to_owned()));
    run(catalog, "ALTER USER bob PASSWORD 'y'").expect("it is there");
    assert!(has_password(catalog, "bob"));
    run(catalog, "ALTER USER bob LOGIN").expect("it may already");
    assert!(has_password(catalog, "bob"));
    run(catalog, "ALTER ROLE bob PASSWORD NULL").expect("it is there");
    assert!(!has_password(catalog, "bob"));
    assert_eq!(run(catalog, "ALTER USER carl PASSWORD 'y'"), Err("42704".to_owned()));
    assert_eq!(run(catalog, "DROP USER bob, carl"), Err("42704".to_owned()));
    run(catalog, "DROP ROLE IF EXISTS bob, carl").expect("one is there");
    assert_eq!(catalog.rights().roles().len(), 1);
}

#[test]
fn what_would_be_untrue_is_refused() {
    let refused = |text: &str| parse_script(text).expect_err(text).code().to_owned();
    assert_eq!(refused("CREATE USER ann LOGIN NOLOGIN"), "42601");
    assert_eq!(refused("CREATE USER ann VALID UNTIL 'soon'"), "22007");
    assert_eq!(refused("CREATE USER ann CONNECTION LIMIT -2"), "22023");
    assert_eq!(refused("ALTER USER ann RENAME TO bob"), "0A000");
    assert_eq!(refused("ALTER USER ann SET work_mem FROM CURRENT"), "0A000");
    assert_eq!(refused("CREATE USER ann PASSWORD 'a' PASSWORD 'b'"), "42601");
    assert_eq!(refused("CREATE USER pg_ann"), "42939");
    assert_eq!(refused("CREATE USER public"), "42939");
    assert_eq!(refused(&format!("CREATE USER {}", "a".repeat(64))), "42622");
    assert_eq!(refused("GRANT SELECT ON LANGUAGE plpgsql TO ann"), "0A000");
    let catalog = &Catalog::default();
    let nothing = compile(catalog, &(), &one("DROP USER IF EXISTS ann")).expect("it is right");
    let Compiled::Catalog(changes) = nothing else { panic!("it is a definition") };
    assert!(matches!(changes.as_slice(), [CatalogChange::Nothing(_)]));
}

#[test]
fn a_new_role_may_nothing_and_one_of_an_older_log_everything() {
    let catalog = &mut Catalog::default();
    let is = |catalog: &Catalog, role: &str, attribute| {
        catalog.rights().role(role).is_some_and(|role| role.attributes.has(attribute))
    };
    run(catalog, "CREATE ROLE \"old\" PASSWORD 'x'").expect("as logs had it");
    assert!(is(catalog, "old", Attribute::Superuser) && is(catalog, "old", Attribute::Login));
    for (text, logs_in) in [("CREATE USER new", true), ("CREATE ROLE new", false)] {
        let statement = one(text).with_attributes();
        // What is logged says the same when it is read again.
        let again = one(&statement.text).as_own();
        for statement in [statement, again] {
            let compiled = compile(catalog, &(), &statement).expect("it is new");
            let Compiled::Catalog(changes) = compiled else { panic!("{text}") };
            let mut next = catalog.clone();
            changes.iter().for_each(|change| apply(&mut next, change).expect("it was compiled"));
            assert!(!is(&next, "new", Attribute::Superuser), "{}", statement.text);
            assert!(is(&next, "new", Attribute::Inherit), "{}", statement.text);
            assert_eq!(is(&next, "new", Attribute::Login), logs_in, "{}", statement.text);
        }
    }
}

#[test]
fn what_is_shown_has_neither_passwords_nor_what_is_kept_of_them() {
    let cases = [
        ("SELECT 'the password'", "SELECT 'the password'"),
        ("ALTER USER ann PASSWORD 'secret'", "ALTER ROLE \"ann\" PASSWORD '********'"),
        ("ALTER USER ann PASSWORD NULL", "ALTER USER ann PASSWORD NULL"),
        (
            "SELECT 1; create role \"B b\" login password 'SCRAM-SHA-256$1:a$b:c'",
            "SELECT 1; CREATE ROLE \"B b\" LOGIN PASSWORD '********'",
        ),
        ("ALTER USR ann PASSWORD 'secret'", "********"),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(text), expected);
    }
}
