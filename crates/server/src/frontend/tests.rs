use super::*;

fn bind() -> Vec<u8> {
    let mut body = b"p\0s\0".to_vec();
    body.extend([0, 1, 0, 1]); // one format: binary
    body.extend([0, 2]); // two values
    body.extend([0, 0, 0, 2, b'h', b'i', 255, 255, 255, 255]);
    body.extend([0, 0]); // text results
    body
}

#[test]
fn messages_are_read_as_they_were_sent() {
    assert_eq!(Frontend::read(b'Q', b"select 1\0"), Ok(Frontend::Query("select 1")));
    let parse = b"a\0select $1\0\0\x01\0\0\0\x14";
    let expected = Frontend::Parse { name: "a", text: "select $1", types: vec![20] };
    assert_eq!(Frontend::read(b'P', parse), Ok(expected));
    let expected = Bind {
        portal: "p",
        statement: "s",
        formats: vec![1],
        values: vec![Some(b"hi"), None],
        result_formats: vec![],
    };
    assert_eq!(Frontend::read(b'B', &bind()), Ok(Frontend::Bind(expected)));
    let execute = Frontend::Execute { portal: "", rows: 5 };
    assert_eq!(Frontend::read(b'E', b"\0\0\0\0\x05"), Ok(execute));
    assert_eq!(Frontend::read(b'D', b"Sx\0"), Ok(Frontend::Describe(Target::Statement("x"))));
    assert_eq!(Frontend::read(b'C', b"P\0"), Ok(Frontend::Close(Target::Portal(""))));
    assert_eq!(Frontend::read(b'S', b""), Ok(Frontend::Sync));
}

/// Every prefix of a message, and every one with a byte changed, is read or refused.
#[test]
fn what_is_cut_short_or_changed_does_no_harm() {
    let whole: [(u8, &[u8]); 6] = [
        (b'Q', b"select 1\0"),
        (b'P', b"a\0select $1\0\0\x01\0\0\0\x14"),
        (b'B', &bind()),
        (b'E', b"\0\0\0\0\x05"),
        (b'D', b"Sx\0"),
        (b'C', b"P\0"),
    ];
    for (kind, body) in whole {
        for end in 0..body.len() {
            assert!(Frontend::read(kind, &body[..end]).is_err(), "{kind} cut to {end}");
        }
        for at in 0..body.len() {
            for byte in [0, 1, 127, 128, 255] {
                let mut changed = body.to_vec();
                changed[at] = byte;
                let _ = Frontend::read(kind, &changed);
            }
        }
    }
    assert!(Frontend::read(b'B', b"\0\0\xff\xff").is_err(), "65535 formats, none there");
    assert!(Frontend::read(b'!', b"").is_err());
    assert!(Frontend::read(b'Q', b"\xff\0").is_err());
}

#[test]
fn startup_parameters_end_with_an_empty_name() {
    let read = startup_parameters(b"user\0me\0database\0\0\0");
    assert_eq!(read, Ok(vec![("user", "me"), ("database", "")]));
    assert!(startup_parameters(b"user\0me\0").is_err());
    assert!(startup_parameters(b"").is_err());
}
