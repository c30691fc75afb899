//! The protocol's productions: each message again and again, before one Sync.

use crate::inputs::Input;
use crate::raw::message;

const MANY: usize = 20_000;

fn text(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.bytes().chain([0])).collect()
}

/// A Parse that leaves types open.
pub fn parse(name: &str, statement: &str) -> Vec<u8> {
    message(b'P', &[text(&[name, statement]), vec![0, 0]].concat())
}

/// A Bind without values.
pub fn bind(portal: &str, statement: &str) -> Vec<u8> {
    message(b'B', &[text(&[portal, statement]), vec![0; 6]].concat())
}

/// An Execute of all rows.
pub fn execute(portal: &str) -> Vec<u8> {
    message(b'E', &[text(&[portal]), vec![0; 4]].concat())
}

/// A Sync.
pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// A Bind of so many values, each this one.
pub fn bind_values(count: u16, value: &[u8]) -> Vec<u8> {
    let mut body = text(&["", ""]);
    body.extend(0_u16.to_be_bytes());
    body.extend(count.to_be_bytes());
    for _ in 0..count {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend(value);
    }
    body.extend(0_u16.to_be_bytes());
    message(b'B', &body)
}

/// All of them.
pub fn all() -> Vec<Input> {
    let many = |of: &dyn Fn(usize) -> Vec<u8>| (0..MANY).flat_map(of).collect::<Vec<u8>>();
    let up_to_sync = |name: &str, messages: &[Vec<u8>]| Input {
        name: format!("protocol: {name}"),
        bytes: [messages.concat(), sync()].concat(),
        answers: 1,
    };
    let one = parse("", "SELECT 1");
    let places: Vec<String> = (1..=u16::MAX).map(|n| format!("${n}")).collect();
    let sum = parse("", &format!("SELECT {}::integer", places.join("::integer + ")));
    let rows = parse("", "SELECT n FROM bystander");
    let change = parse("", "UPDATE bystander SET n = n + 1 WHERE id = 3");
    let copied: Vec<Vec<u8>> = vec![
        crate::raw::query("COPY heap FROM STDIN"),
        many(&|_| message(b'd', b"1\tx\n")),
        message(b'c', b""),
    ];
    vec![
        up_to_sync("Parse, named", &[many(&|n| parse(&format!("s{n}"), "SELECT 1"))]),
        up_to_sync("Parse, unnamed", &[many(&|_| one.clone())]),
        up_to_sync("Bind, named", &[one.clone(), many(&|n| bind(&format!("p{n}"), ""))]),
        up_to_sync("Bind, unnamed", &[one.clone(), many(&|_| bind("", ""))]),
        up_to_sync(
            "Bind, Execute",
            &[one.clone(), many(&|_| [bind("", ""), execute("")].concat())],
        ),
        up_to_sync(
            "Bind, Execute of rows",
            &[rows, many(&|_| [bind("", ""), execute("")].concat())],
        ),
        up_to_sync(
            "Bind, Execute of changes",
            &[change, many(&|_| [bind("", ""), execute("")].concat())],
        ),
        up_to_sync("Execute", &[one.clone(), bind("", ""), many(&|_| execute(""))]),
        up_to_sync("Describe", &[one.clone(), many(&|_| message(b'D', b"S\0"))]),
        up_to_sync("Close", &[many(&|_| message(b'C', b"Sx\0"))]),
        up_to_sync("Flush", &[many(&|_| message(b'H', b""))]),
        up_to_sync("behind an error", &[parse("", "nonsense"), many(&|_| one.clone())]),
        up_to_sync(
            "as many parameters as can be",
            &[sum.clone(), bind_values(u16::MAX, b"1"), execute("")],
        ),
        up_to_sync(
            "long parameters",
            &[
                parse("", "SELECT length($1 || $2 || $3 || $4)"),
                bind_values(4, &vec![b'x'; 3 << 20]),
                execute(""),
            ],
        ),
        up_to_sync("a long name", &[parse(&"s".repeat(1 << 20), "SELECT 1")]),
        Input {
            name: "protocol: rows copied one by one".into(),
            bytes: copied.concat(),
            answers: 1,
        },
        Input { name: "protocol: Sync".into(), bytes: many(&|_| sync()), answers: MANY },
        Input {
            name: "protocol: scripts".into(),
            bytes: many(&|_| crate::raw::query("SELECT 1")),
            answers: MANY,
        },
        Input {
            name: "protocol: calls".into(),
            bytes: many(&|_| crate::raw::query("SELECT ask(3)")),
            answers: MANY,
        },
    ]
}
