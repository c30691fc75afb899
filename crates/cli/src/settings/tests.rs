use super::file::{Fault, parse};
use super::table::{RULES, Rule};
use super::*;
use std::collections::BTreeSet;

#[test]
fn settings_have_names_of_their_own_and_rules_are_about_settings() {
    let names: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), SETTINGS.len());
    for rule in RULES {
        let (Rule::Excludes(one, other) | Rule::Needs(one, other)) = rule;
        assert!(names.contains(one) && names.contains(other), "{rule:?}");
    }
    let mut headings: Vec<_> = SETTINGS.iter().map(|setting| setting.heading).collect();
    headings.dedup();
    let different: BTreeSet<_> = headings.iter().collect();
    assert_eq!(different.len(), headings.len(), "what belongs together stands together");
}

/// I2
#[test]
fn defaults_are_those_of_the_libraries() {
    let mut serving = Serving::default();
    for setting in SETTINGS {
        if let Otherwise::Value(text) = setting.otherwise {
            setting.form.put(&mut serving, text).expect("a default can be said");
        }
    }
    assert_eq!(format!("{serving:?}"), format!("{:?}", Serving::default()));
}

/// Whatever a setting is, saying something else than its default changes something.
#[test]
fn every_setting_goes_somewhere() {
    let mut shown = BTreeSet::from([format!("{:?}", Serving::default())]);
    for setting in SETTINGS {
        let text = match setting.form {
            Form::Switch(_) => "true",
            Form::Whole(..) => "7",
            Form::Size(..) => "17MiB", // above every least size, and no default
            Form::Span(..) => "7min",
            Form::Text(..) => match setting.name {
                "durability" => "buffered",
                "listen" | "http" => "[::1]:1",
                "log-format" => "json",
                "log-level" => "warn",
                "engine" => hotrow::engines().iter().map(|entry| entry.name).min().expect("some"),
                _ => "x",
            },
        };
        let mut serving = Serving::default();
        setting.form.put(&mut serving, text).expect("it can be said");
        assert!(shown.insert(format!("{serving:?}")), "{}", setting.name);
    }
}

#[test]
fn sizes_and_spans_have_units() {
    let sizes = [("0B", 0), ("7B", 7), ("64 KiB", 64 << 10), ("256MiB", 256 << 20)];
    for (text, bytes) in sizes {
        assert_eq!(SIZES.read(text), Some(bytes), "{text}");
    }
    for (text, milliseconds) in [("5ms", 5), ("10s", 10_000), ("2min", 120_000), ("1d", 86_400_000)]
    {
        assert_eq!(SPANS.read(text), Some(milliseconds), "{text}");
        assert_eq!(SPANS.show(milliseconds), text);
    }
    for text in ["", "5", "MiB", "-1MiB", "1.5GiB", "1MB", "1 M iB", "99999999999TiB", "１MiB"] {
        assert_eq!(SIZES.read(text), None, "{text}");
    }
    assert_eq!((SIZES.show(3 << 20), SIZES.show(1025)), ("3MiB".to_owned(), "1025B".to_owned()));
}

fn faults(text: &str) -> Vec<String> {
    let told = |(at, what): Fault| format!("{at}: {what}");
    parse(text).expect_err("it is wrong").into_iter().map(told).collect()
}

#[test]
fn a_file_says_settings_in_any_order() {
    let said = parse("# a\nmemory = false\n\n'connections' = 0x10\nmessage_bytes_max = 65_536\n");
    let mut said: Vec<_> = said.expect("it is right").into_iter().collect();
    said.sort_by_key(|said| said.line);
    let said: Vec<_> =
        said.iter().map(|said| (said.setting.name, said.value.as_str(), said.line)).collect();
    let expected =
        [("memory", "false", 2), ("connections", "16", 4), ("message-bytes-max", "65536", 5)];
    assert_eq!(said, expected);
}

#[test]
fn everything_wrong_in_a_file_is_told_in_its_order() {
    let text = "conections = 5\nthreads = \"two\"\nsend_patience = 5\n[tls]\ncert = 'x'\n";
    assert_eq!(
        faults(text),
        [
            "0: there is no setting conections; the nearest is connections",
            "25: threads: expected a whole number from 1 to 1024, found: string",
            "47: send_patience: expected a span of time from 1ms to 1d, in ms, s, min, h, d, \
             found: integer",
            "50: there is no setting tls; settings do not stand in tables",
        ]
    );
    assert_eq!(
        faults("connections = 0\nweather = 'mild'"),
        [
            "14: connections: \"0\" is not a whole number from 1 to 100000",
            "16: there is no setting weather; \"hotrow config print\" lists them",
        ]
    );
    assert!(faults("connections = \n")[0].contains("not TOML"));
    assert!(faults("threads = 1\nthreads = 2\n")[0].contains("duplicate key"));
}

#[test]
fn the_nearest_name_is_found_in_any_spelling() {
    let name = |text| nearest(text).map(|setting| setting.name);
    assert_eq!(name("CONECTIONS"), Some("connections"));
    assert_eq!(name("tls_certificate"), Some("tls-cert"));
    assert_eq!(name("password"), Some("password-file"));
    assert_eq!(name("SERVICE_HOST"), None);
}
