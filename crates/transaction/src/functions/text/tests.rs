use super::{char_count, char_offset, find};

/// All short texts over a few bytes, among them such as make a wrong borrow between bytes show.
#[test]
fn find_is_what_windows_say() {
    let alphabet = [b'a', b'b', 0, 1, 0xff];
    let text = |mut number: usize, len: usize| -> Vec<u8> {
        let mut byte = || {
            let byte = alphabet[number % alphabet.len()];
            number /= alphabet.len();
            byte
        };
        (0..len).map(|_| byte()).collect()
    };
    for number in 0..5_usize.pow(6) {
        // Repeated, so that some lie behind the first 8 bytes.
        let mut bytes = text(number, 6).repeat(2);
        bytes.extend(text(number / 7, 5));
        for needle in [&b"a"[..], b"ab", b"\0\x01", b"\x01\0a", b"\xff\xffb"] {
            let expected = bytes.windows(needle.len()).position(|window| window == needle);
            assert_eq!(find(&bytes, needle), expected, "{needle:?} in {bytes:?}");
        }
    }
    assert_eq!((find(b"ab", b""), find(b"", b"a"), find(b"a", b"ab")), (Some(0), None, None));
}

/// A needle at every place of texts of every length, and one that is there twice.
#[test]
fn find_finds_the_first_at_every_place() {
    for len in 0..48 {
        for needle in [&b"O"[..], b"OR", b"ORIGINAL"] {
            let mut bytes = vec![b'O'; len];
            bytes.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = b'x');
            assert_eq!(find(&bytes, b"RI"), None);
            for at in (0..len).rev().filter(|at| at + needle.len() <= len) {
                bytes[at..at + needle.len()].copy_from_slice(needle);
                let expected = bytes.windows(needle.len()).position(|window| window == needle);
                assert_eq!(find(&bytes, needle), expected, "{needle:?} in {bytes:?}");
            }
        }
    }
}

#[test]
fn offsets_of_characters_are_those_of_the_string() {
    // One to four bytes a character, shifted against the words of 8 bytes.
    let alphabet = ['a', 'é', '€', '𝄞', 'b'];
    for shift in 0..9 {
        for step in 1..5 {
            let text: String = (0..30)
                .map(|i| if i < shift { 'x' } else { alphabet[i * step % alphabet.len()] })
                .collect();
            let offsets = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            for (n, expected) in offsets.enumerate() {
                assert_eq!(char_offset(text.as_bytes(), n), expected, "character {n} of {text}");
            }
            assert_eq!(char_offset(text.as_bytes(), 31), text.len());
            assert_eq!(char_count(text.as_bytes()), 30);
        }
    }
}
