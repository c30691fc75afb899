use super::*;

fn names(text: &str) -> Vec<String> {
    let variants = select_engines(text).expect("the text names engines");
    variants.iter().map(Variant::to_string).collect()
}

#[test]
fn all_names_every_variant_of_every_engine() {
    let every: usize = engines().iter().map(|entry| entry.variants.len()).sum();
    assert_eq!(names("all").len(), every);
}

#[test]
fn what_a_variant_shows_selects_it_again() {
    for name in names("all") {
        assert_eq!(names(&name), [name]);
    }
}

#[test]
fn a_name_alone_is_every_variant_and_a_colon_is_the_defaults() {
    let entry = &engines()[1];
    assert_eq!(names(entry.name).len(), entry.variants.len());
    assert_eq!(names(&format!("{}:", entry.name)), [entry.name]);
}

#[test]
fn nonsense_is_refused_with_what_there_is() {
    let error = select_engines("steam").err().expect("there is no such engine").to_string();
    assert!(error.contains("steam") && error.contains(engines()[0].name), "{error}");
    let text = format!("{}:plan", engines()[0].name);
    assert!(select_engines(&text).is_err_and(|error| error.is_usage()));
}
