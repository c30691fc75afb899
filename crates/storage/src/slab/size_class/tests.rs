use super::*;

#[test]
fn every_size_gets_a_class_that_fits_and_wastes_less_than_a_sixteenth() {
    for words in 3..=(1 << 17) + 2 {
        let class = SizeClass::for_words(words);
        assert!(class.words() >= words, "{words} words in a slot of {}", class.words());
        assert!((class.words() - words) * 16 < words, "{words} words waste too much");
        assert_eq!(SizeClass::for_words(class.words()), class, "a class is a class of itself");
        assert_eq!(SizeClass::from_number(class.number()), class);
    }
}

#[test]
fn lines_stay_lines() {
    for words in (8..4_096).step_by(8) {
        assert_eq!(SizeClass::for_words(words).words() % 8, 0, "{words} words");
    }
}
