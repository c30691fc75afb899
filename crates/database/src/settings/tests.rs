use super::known::{KNOWN, all};
use super::without_effect::WITHOUT_EFFECT;
use super::{Settings, TransactionStep};

fn set(settings: &mut Settings, name: &str, value: &str) -> Result<String, String> {
    let code = |error: hotrow_transaction::outcome::SqlError| error.code().to_owned();
    settings.set(name, Some(value), false).map_err(code)?;
    settings.get(name).map_err(code)
}

#[test]
fn values_are_checked_and_shown_as_postgresql_shows_them() {
    let mut settings = Settings::default();
    for (name, value, expected) in [
        ("application_name", "me", Ok("me")),
        ("datestyle", "iso, mdy", Ok("ISO, MDY")),
        ("datestyle", "German", Ok("German, DMY")),
        ("datestyle", "mdy", Ok("German, MDY")),
        ("datestyle", "iso, x", Err("22023")),
        ("intervalstyle", "SQL_Standard", Ok("sql_standard")),
        ("bytea_output", "base64", Err("22023")),
        ("timezone", "etc/utc", Ok("Etc/UTC")),
        ("timezone", "europe/berlin", Ok("Europe/Berlin")),
        ("timezone", "CEST", Err("22023")),
        ("client_encoding", "'latin1'", Err("22023")),
        ("client_encoding", "unicode", Ok("UTF8")),
        ("client_encoding", "'utf-8'", Ok("UTF8")),
        ("statement_timeout", "90000", Ok("90s")),
        ("statement_timeout", "1.5 min", Ok("90s")),
        ("statement_timeout", "2h", Ok("2h")),
        ("statement_timeout", "-1", Err("22023")),
        ("statement_timeout", "1 year", Err("22023")),
        ("extra_float_digits", "3", Ok("3")),
        ("extra_float_digits", "4", Err("22023")),
        ("server_version", "16", Err("55P02")),
        ("default_transaction_read_only", "TRUE", Ok("on")),
        ("default_transaction_isolation", "read committed", Ok("serializable")),
        ("search_path", "public, pg_catalog", Ok("public, pg_catalog")),
        ("search_path", "mine", Ok("mine")),
        ("nobody_knows", "1", Err("42704")),
        ("mine.own", "x", Ok("x")),
        ("enable_seqscan", "no", Ok("off")),
        ("enable_seqscan", "perhaps", Err("22023")),
        ("random_page_cost", "1.1", Ok("1.1")),
        ("random_page_cost", "-1", Err("22023")),
        ("maintenance_work_mem", "64MB", Ok("64MB")),
        ("maintenance_work_mem", "much", Err("22023")),
        ("plan_cache_mode", "force_generic_plan", Ok("force_generic_plan")),
    ] {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(set(&mut settings, name, value), expected, "{name} = {value}");
    }
}

#[test]
fn defaults_are_values_and_names_are_in_order() {
    for table in [KNOWN, WITHOUT_EFFECT] {
        let names: Vec<String> = table.iter().map(|known| known.name.to_lowercase()).collect();
        assert!(names.is_sorted());
    }
    for known in all() {
        if let Ok(kept) = known.check(known.default) {
            assert_eq!(kept, known.default, "{}", known.name);
        } else {
            assert!(known.refuse_fixed().is_err(), "{}", known.name);
        }
    }
}

#[test]
fn transactions_take_settings_back() {
    let mut settings = Settings::default();
    let name = "application_name";
    let get = |settings: &Settings| settings.get(name).expect("it is known");
    settings.start(name, "start").expect("it is known");
    settings.start("DateStyle", "German").expect("there is one");
    assert_eq!(settings.get("datestyle"), Ok("German, DMY".to_owned()));
    settings.start("TimeZone", "Europe/Berlin").expect("there is one");
    assert_eq!(settings.get("timezone"), Ok("Europe/Berlin".to_owned()));
    assert_eq!(set(&mut settings, name, "a"), Ok("a".to_owned()));
    settings.step(TransactionStep::Begun);
    settings.set(name, Some("b"), false).expect("it is known");
    settings.set(name, Some("c"), true).expect("it is known");
    assert_eq!(get(&settings), "c");
    settings.step(TransactionStep::Committed);
    assert_eq!(get(&settings), "b");
    settings.step(TransactionStep::Begun);
    settings.set(name, Some("d"), false).expect("it is known");
    settings.step(TransactionStep::Savepoint("s".to_owned()));
    settings.set(name, Some("e"), false).expect("it is known");
    settings.step(TransactionStep::RolledBackTo("s".to_owned()));
    assert_eq!(get(&settings), "d");
    settings.take_changed();
    settings.step(TransactionStep::RolledBack);
    assert_eq!(settings.take_changed(), [(name, "b".to_owned())]);
    settings.set(name, None, false).expect("it is known");
    assert_eq!(get(&settings), "start");
    settings.reset_all();
    assert_eq!(get(&settings), "start");
}

#[test]
fn many_savepoints_take_back_one_by_one() {
    let mut settings = Settings::default();
    settings.step(TransactionStep::Begun);
    let shown = |settings: &Settings| settings.get("mine.n").ok();
    for n in 0..1_000 {
        settings.step(TransactionStep::Savepoint(format!("s{n}")));
        settings.set("mine.n", Some(&n.to_string()), n % 2 == 0).expect("it is our own");
    }
    for n in (0..1_000).rev() {
        assert_eq!(shown(&settings), Some(n.to_string()));
        settings.step(TransactionStep::RolledBackTo(format!("s{n}")));
    }
    assert_eq!(shown(&settings), None);
    settings.step(TransactionStep::Committed);
    assert!(settings.replaced.is_none() && settings.marks.is_empty(), "nothing is kept");
}

#[test]
fn what_a_transaction_replaces_is_bounded() {
    let mut settings = Settings::default();
    settings.step(TransactionStep::Begun);
    let long = "x".repeat(60_000);
    let refused = (0..10_000).find_map(|_| settings.set("mine.own", Some(&long), false).err());
    assert_eq!(refused.expect("it is never enough").code(), "54000");
    settings.step(TransactionStep::RolledBack);
    settings.set("mine.own", Some("y"), false).expect("there is room again");
}
