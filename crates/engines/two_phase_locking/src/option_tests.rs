use super::*;

fn parse(settings: &[(&str, &str)]) -> Result<Acquisition, String> {
    let settings =
        settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    Acquisition::from_settings(&settings).map_err(|error| error.to_string())
}

#[test]
fn settings_choose_the_acquisition() {
    assert_eq!(parse(&[]), Ok(Acquisition::Ordered));
    assert_eq!(parse(&[("acquisition", "ordered")]), Ok(Acquisition::Ordered));
    assert_eq!(parse(&[("acquisition", "no-wait")]), Ok(Acquisition::Dynamic(Policy::NoWait)));
    assert_eq!(parse(&[("acquisition", "wait-die")]), Ok(Acquisition::Dynamic(Policy::WaitDie)));
}

#[test]
fn other_settings_are_refused_with_what_there_is() {
    assert_eq!(
        parse(&[("acquisition", "hope")]),
        Err("setting acquisition of engine two_phase_locking cannot be \"hope\"; \
             it can be: ordered, no-wait, wait-die"
            .to_owned())
    );
    assert_eq!(
        parse(&[("locks", "none")]),
        Err("engine two_phase_locking has no setting \"locks\"; it has: acquisition".to_owned())
    );
}

#[test]
fn every_variant_is_a_setting_that_exists() {
    for variant in ENTRY.variants {
        assert!(parse(variant).is_ok(), "{variant:?}");
    }
}
