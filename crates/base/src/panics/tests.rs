use super::{SECTION, Section, contained, count, guard};

#[test]
fn a_contained_panic_is_an_error() {
    let before = count();
    let inside = contained(|| {
        let _guard = guard();
        contained(|| -> () { panic!("number {}", 7) })
    });
    let panicked = inside.expect("the outer one has not panicked").unwrap_err();
    assert_eq!(panicked.message, "number 7");
    assert_eq!(panicked.to_string(), "internal error: number 7");
    assert!(count() > before);
    assert_eq!(SECTION.get(), Section::Foreign, "sections are left as they were entered");
    assert_eq!(contained(|| 1), Ok(1));
}
