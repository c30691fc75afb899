//! Conversations made up by chance: a beginning, messages of all kinds, and what spoils them.

use super::mutation::{Corpus, Random};
use super::running::raw::message;

/// Statements that take values, for pipelines that make sense.
const WITH_VALUES: &[(&str, usize)] = &[
    ("SELECT $1::bigint + 1", 1),
    ("SELECT pay($1, $2)", 2),
    ("SELECT id, balance, open, note FROM account WHERE id = $1", 1),
    ("INSERT INTO line VALUES ($1, $2, $3, $4, $5, $6)", 6),
    ("UPDATE account SET note = $2 WHERE id = $1 RETURNING *", 2),
    ("SELECT total($1)", 1),
    ("SELECT generate_series(1, $1::int), now(), $2::text, $3::numeric(9,3)", 3),
    ("COPY event (what) FROM STDIN", 0),
    ("SELECT * FROM account", 0),
    ("BEGIN", 0),
    ("COMMIT", 0),
    ("", 0),
];
const NAMES: &[&str] = &["", "", "", "s", "p", "S_1", "\u{E9}"];
const VALUES: &[&[u8]] = &[
    b"1",
    b"-7",
    b"0.5",
    b"ann",
    b"2024-02-30",
    b"{1,2,NULL}",
    b"",
    b"\0\0\0\0\0\0\0\x07",
    b"\0\0\0\x07",
    b"\0\x01",
    b"\x01",
    b"\xff\xfe",
    // numeric: more digits than there are, and a length that lies
    b"\x7f\xff\x00\x01\x00\x00\x00\x02\x00\x01",
    // an array of int8 that says to have two thousand million elements
    b"\0\0\0\x01\0\0\0\0\0\0\0\x14\x7f\xff\xff\xff\0\0\0\x01",
    b"NaN",
    b"99999999999999999999999999",
];
/// Rows of a COPY, and what are none.
const COPIED: &[&[u8]] = &[b"1\tann\t2\n", b"\\.\n", b"\\x\n1,\"", b"x\ny\n\n"];
/// OIDs of parameters: bigint, text, numeric, bigint[], and what is none.
const TYPES: &[&[u32]] = &[&[], &[20], &[25, 0], &[1700], &[4_000_000_000], &[1016]];
/// What a length is overwritten with.
const LENGTHS: &[i32] = &[-1, 0, 1, 3, 4, 5, 8, 255, 70_000, 16 << 20, i32::MAX, i32::MIN];
const FORMATS: &[&[i16]] = &[&[], &[0], &[1], &[0, 1], &[2], &[-1], &[1, 1, 1, 1, 1, 1]];

/// All that a client sends.
pub fn conversation(corpus: &Corpus, random: &mut Random) -> Vec<u8> {
    let mut bytes = beginning(random);
    for _ in 0..random.below(14) {
        let start = bytes.len();
        match random.below(10) {
            0 => bytes.extend(noise(random)),
            1..=3 => bytes.extend(pipeline(random)),
            _ => bytes.extend(any_message(corpus, random)),
        }
        if random.below(8) == 0 {
            spoil(&mut bytes, start, random);
        }
    }
    if random.below(8) == 0 {
        bytes.truncate(random.below(bytes.len() + 1));
    }
    bytes
}

fn packet(code: u32, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len() as u32).to_be_bytes();
    [&length[..], &code.to_be_bytes(), body].concat()
}

fn beginning(random: &mut Random) -> Vec<u8> {
    const SESSION: u32 = 196_608;
    let body = b"user\0fuzz\0database\0app\0options\0-c statement_timeout=2s\0\0";
    let mut usual = packet(SESSION, body);
    match random.below(24) {
        0 => noise(random),
        1 => {
            spoil(&mut usual, 0, random);
            usual
        }
        // TLS, GSS, and what a cancel request begins with
        2 => [packet(*random.one(&[80_877_103, 80_877_104, 80_877_102]), b""), usual].concat(),
        3 => packet(80_877_102, &noise(random)),
        4 => packet(*random.one(&[SESSION + 9, 131_072, 0, u32::MAX]), body),
        5 => packet(SESSION, &noise(random)),
        6 => packet(SESSION, b"user\0fuzz\0_pq_.x\x001\0options\0-c --x= -c\0DateStyle\0\0\0"),
        _ => usual,
    }
}

fn noise(random: &mut Random) -> Vec<u8> {
    (0..random.below(60)).map(|_| random.below(256) as u8).collect()
}

fn text(text: &str) -> Vec<u8> {
    let bytes = text.bytes().filter(|&byte| byte != 0);
    bytes.chain([0]).collect()
}

fn list(of: impl ExactSizeIterator<Item = Vec<u8>>) -> Vec<u8> {
    let count = (of.len() as u16).to_be_bytes();
    count.into_iter().chain(of.flatten()).collect()
}

fn formats(random: &mut Random) -> Vec<u8> {
    list(random.one(FORMATS).iter().map(|format| format.to_be_bytes().to_vec()))
}

fn value(random: &mut Random) -> Vec<u8> {
    if random.below(8) == 0 {
        return (-1_i32).to_be_bytes().to_vec();
    }
    let value = random.one(VALUES);
    [&(value.len() as i32).to_be_bytes()[..], value].concat()
}

fn parse(name: &str, statement: &str, types: &[u32]) -> Vec<u8> {
    let types = list(types.iter().map(|oid| oid.to_be_bytes().to_vec()));
    message(b'P', &[text(name), text(statement), types].concat())
}

fn bind(random: &mut Random, (portal, name): (&str, &str), values: usize) -> Vec<u8> {
    let head = [text(portal), text(name), formats(random)].concat();
    let values: Vec<_> = (0..values).map(|_| value(random)).collect();
    message(b'B', &[head, list(values.into_iter()), formats(random)].concat())
}

fn execute(random: &mut Random, portal: &str) -> Vec<u8> {
    let rows: i32 = *random.one(&[0, 0, 1, 3, -1, i32::MAX, i32::MIN]);
    message(b'E', &[text(portal), rows.to_be_bytes().to_vec()].concat())
}

fn about(random: &mut Random, kind: u8, name: &str) -> Vec<u8> {
    let what = *random.one(b"SPSPx");
    message(kind, &[vec![what], text(name)].concat())
}

/// Messages that belong together, mostly.
fn pipeline(random: &mut Random) -> Vec<u8> {
    let (statement, values) = *random.one(WITH_VALUES);
    let (name, portal) = (*random.one(NAMES), *random.one(NAMES));
    let types = *random.one(TYPES);
    let values = if random.below(8) == 0 { random.below(9) } else { values };
    let parts = [
        parse(name, statement, types),
        bind(random, (portal, name), values),
        about(random, b'D', portal),
        execute(random, portal),
        execute(random, portal),
        message(b'd', b"1\tx\n\\N\n"),
        message(b'c', b""),
        about(random, b'C', name),
        message(b'S', b""),
    ];
    parts.into_iter().filter(|_| random.below(6) > 0).flatten().collect()
}

fn any_message(corpus: &Corpus, random: &mut Random) -> Vec<u8> {
    let name = *random.one(NAMES);
    match random.below(16) {
        0..=4 => message(b'Q', &text(&corpus.case(random))),
        5 => parse(name, &corpus.case(random), &[]),
        6 => {
            let (portal, values) = (*random.one(NAMES), random.below(5));
            bind(random, (portal, name), values)
        }
        7 => execute(random, name),
        8 => about(random, b'D', name),
        9 => about(random, b'C', name),
        10 => message(*random.one(b"SSSH"), b""),
        11 => message(b'd', &noise(random)),
        12 => message(b'd', random.one::<&[u8]>(COPIED)),
        13 => message(*random.one(b"cf"), &text("enough")),
        14 => message(*random.one(b"pF"), &noise(random)),
        _ => message(*random.one(b"XSc"), b""),
    }
}

/// Changes bytes behind `start`.
fn spoil(bytes: &mut Vec<u8>, start: usize, random: &mut Random) {
    let length = bytes.len() - start;
    if length == 0 {
        return;
    }
    let at = start + random.below(length);
    match random.below(5) {
        0 => bytes[at] = random.below(256) as u8,
        1 => bytes[at] ^= 1 << random.below(8),
        2 => drop(bytes.drain(at..(at + random.below(9)).min(bytes.len()))),
        3 => drop(bytes.splice(at..at, noise(random)).count()),
        _ => {
            // the length of its first message, which lies behind its kind
            if let Some(four) = bytes.get_mut(start + 1..start + 5) {
                four.copy_from_slice(&random.one(LENGTHS).to_be_bytes());
            }
        }
    }
}
