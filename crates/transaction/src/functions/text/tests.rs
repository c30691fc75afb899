use super::find;

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
