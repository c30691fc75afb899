//! Texts whose letters count the same in either case: citext.
//!
//! Role         their order, and the bytes that stand in it: those of the same text in small
//!              letters. What a text is shown as is no matter of either
//! Invariants   I1 two texts are equal exactly where [`append`] gives the same bytes, and those
//!                 compare as [`compare`] says
//!              I2 reading is total: what is no UTF-8 is read as U+FFFD
//! Source       PostgreSQL 15, extension citext, which compares what `lower` gives. A letter is
//!              folded by itself, as `lower` does here

use std::cmp::Ordering;

/// A letter in its small form, which is one letter.
pub fn small(letter: char) -> char {
    match letter.is_ascii() {
        true => letter.to_ascii_lowercase(),
        false => letter.to_lowercase().next().unwrap_or(letter),
    }
}

/// The letters of a text, in their small form.
pub fn letters(text: &[u8]) -> impl Iterator<Item = char> + '_ {
    let letters = text.utf8_chunks().flat_map(|chunk| {
        let broken = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chunk.valid().chars().chain(broken)
    });
    letters.map(small)
}

/// Orders two texts.
pub fn compare(one: &[u8], other: &[u8]) -> Ordering {
    // The order of UTF-8 is that of its letters' numbers.
    letters(one).cmp(letters(other))
}

/// Appends a text in small letters.
pub fn append(text: &[u8], out: &mut Vec<u8>) {
    for letter in letters(text) {
        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        append(text.as_bytes(), &mut out);
        out
    }

    #[test]
    fn texts_differ_in_more_than_their_case() {
        for (one, other) in [("Ann@X.org", "ann@x.ORG"), ("ÄÖ", "äö"), ("", "")] {
            assert_eq!(compare(one.as_bytes(), other.as_bytes()), Ordering::Equal, "{one}");
            assert_eq!(bytes(one), bytes(other));
        }
        assert_eq!(compare(b"a", b"B"), Ordering::Less);
        assert_eq!(compare(b"B", b"a"), Ordering::Greater);
        assert_eq!(compare(b"_", b"A"), Ordering::Less);
    }

    proptest! {
        #[test]
        fn the_bytes_compare_as_the_texts(one in ".{0,12}", other in ".{0,12}") {
            let ordering = compare(one.as_bytes(), other.as_bytes());
            prop_assert_eq!(bytes(&one).cmp(&bytes(&other)), ordering);
        }
    }
}
