//! Functions that write texts and bytes in other ways: characters by their numbers, digests,
//! hexadecimal, base64.
//!
//! Source       PostgreSQL 15, 9.4 and 9.5

use std::collections::HashMap;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use hotrow_base::datum::Datum;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::fault::Fault;
use crate::frame::Machine;
use crate::program::TextFunction as T;

/// Padding may be left out, as PostgreSQL takes it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);
/// Characters of a line of base64.
const LINE: usize = 76;

/// Calls a function of texts or bytes; no argument is NULL.
pub(super) fn call(
    machine: &mut Machine,
    function: T,
    arguments: &[Datum],
) -> Result<Datum, Fault> {
    let first = arguments[0];
    let int = |at: usize| arguments.get(at).map_or(0, |argument| argument.as_int());
    match function {
        T::Character => return character(machine, first.as_int()),
        T::Hex32 => return made(machine, format!("{:x}", first.as_int() as u32).into_bytes()),
        T::Hex64 => return made(machine, format!("{:x}", first.as_int()).into_bytes()),
        _ => {}
    }
    let length = first.as_range().len as usize;
    // Tables of characters are made of the other arguments.
    let others = arguments.iter().skip(1).filter(|_| function == T::Translate);
    let others: usize = others.map(|other| other.as_range().len as usize).sum();
    machine.went(length + others)?;
    let _table = machine.borrow(16 * others)?;
    // What is made of it is not longer than this.
    let _made = machine.borrow(4 * length + 256)?;
    let bytes = machine.bytes(first);
    let text = || String::from_utf8_lossy(bytes);
    let hex = |digest: &[u8]| hexadecimal(digest);
    let new = match function {
        T::Code => {
            let code = text().chars().next().map_or(0, |c| i64::from(u32::from(c)));
            return Ok(Datum::int(code));
        }
        T::BitLength => return Ok(Datum::int(8 * length as i64)),
        T::StartsWith => {
            return Ok(Datum::bool(bytes.starts_with(machine.bytes(arguments[1]))));
        }
        T::GetByte => {
            let at = usize::try_from(int(1)).ok().and_then(|at| bytes.get(at));
            return match at {
                Some(byte) => Ok(Datum::int(i64::from(*byte))),
                None => Err(out_of_range(int(1), length)),
            };
        }
        T::Translate => {
            let (from, to) = (machine.bytes(arguments[1]), machine.bytes(arguments[2]));
            translated(&text(), &String::from_utf8_lossy(from), &String::from_utf8_lossy(to))
        }
        T::InitCap => initial_capitals(&text()),
        T::Md5 => hex(&Md5::digest(bytes)),
        T::Sha224 => Sha224::digest(bytes).to_vec(),
        T::Sha256 => Sha256::digest(bytes).to_vec(),
        T::Sha384 => Sha384::digest(bytes).to_vec(),
        T::Sha512 => Sha512::digest(bytes).to_vec(),
        T::Digest => {
            let name = String::from_utf8_lossy(machine.bytes(arguments[1]));
            Algorithm::named(&name)?.digest(bytes)
        }
        T::Hmac => {
            let name = String::from_utf8_lossy(machine.bytes(arguments[2]));
            Algorithm::named(&name)?.code(bytes, machine.bytes(arguments[1]))
        }
        T::RandomBytes => random_bytes(bytes, int(1))?,
        T::Encode => encoded(bytes, &String::from_utf8_lossy(machine.bytes(arguments[1])))?,
        T::Decode => decoded(bytes, &String::from_utf8_lossy(machine.bytes(arguments[1])))?,
        T::Character | T::Hex32 | T::Hex64 => Vec::new(),
    };
    made(machine, new)
}

/// Digests by name.
#[derive(Clone, Copy)]
enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    fn named(name: &str) -> Result<Self, Fault> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "md5" => Self::Md5,
            "sha1" => Self::Sha1,
            "sha224" => Self::Sha224,
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            _ => {
                let message = format!("Cannot use \"{name}\": No such hash algorithm");
                return Err(Fault::new(b"22023", message));
            }
        })
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Md5 => Md5::digest(bytes).to_vec(),
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha224 => Sha224::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
        }
    }

    /// The code by which who has the key knows the data (RFC 2104).
    fn code(self, bytes: &[u8], key: &[u8]) -> Vec<u8> {
        fn code<M: Mac + KeyInit>(bytes: &[u8], key: &[u8]) -> Vec<u8> {
            let mut code =
                <M as KeyInit>::new_from_slice(key).expect("a key of any length will do");
            code.update(bytes);
            code.finalize().into_bytes().to_vec()
        }
        match self {
            Self::Md5 => code::<Hmac<Md5>>(bytes, key),
            Self::Sha1 => code::<Hmac<Sha1>>(bytes, key),
            Self::Sha224 => code::<Hmac<Sha224>>(bytes, key),
            Self::Sha256 => code::<Hmac<Sha256>>(bytes, key),
            Self::Sha384 => code::<Hmac<Sha384>>(bytes, key),
            Self::Sha512 => code::<Hmac<Sha512>>(bytes, key),
        }
    }
}

fn made(machine: &mut Machine, bytes: Vec<u8>) -> Result<Datum, Fault> {
    machine.reserve(bytes.len())?;
    Ok(machine.keep(&bytes))
}

/// Bytes computed from a random value, which they do not tell: checksums of it and their numbers.
fn random_bytes(value: &[u8], count: i64) -> Result<Vec<u8>, Fault> {
    const COUNT_MAX: i64 = 1024;
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(Fault::new(b"39000", "Length not in range"));
    }
    let checksum = |number: u64| -> [u8; 32] {
        let hash = Sha256::new().chain_update(value).chain_update(number.to_le_bytes());
        hash.finalize().into()
    };
    Ok((0..).flat_map(checksum).take(count as usize).collect())
}

fn character(machine: &mut Machine, code: i64) -> Result<Datum, Fault> {
    if code == 0 {
        return Err(Fault::new(b"54000", "null character not permitted"));
    }
    if code < 0 {
        return Err(Fault::new(b"22023", "character number must be positive"));
    }
    let character = u32::try_from(code).ok().and_then(char::from_u32);
    let Some(character) = character else {
        let message = format!("requested character too large for encoding: {code}");
        return Err(Fault::new(b"54000", message));
    };
    made(machine, character.to_string().into_bytes())
}

/// Each character of `from` becomes that at its place in `to`; there is none: it goes.
fn translated(text: &str, from: &str, to: &str) -> Vec<u8> {
    let mut becomes: HashMap<char, Option<char>> = HashMap::new();
    let mut to = to.chars();
    for c in from.chars() {
        let new = to.next();
        becomes.entry(c).or_insert(new); // the first one counts
    }
    let new = text.chars().filter_map(|c| becomes.get(&c).map_or(Some(c), |new| *new));
    new.collect::<String>().into_bytes()
}

fn initial_capitals(text: &str) -> Vec<u8> {
    let mut is_within = false;
    let mut new = String::with_capacity(text.len());
    for c in text.chars() {
        match is_within {
            true => new.extend(c.to_lowercase()),
            false => new.extend(c.to_uppercase()),
        }
        is_within = c.is_alphanumeric();
    }
    new.into_bytes()
}

fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).collect()
}

fn encoded(bytes: &[u8], format: &str) -> Result<Vec<u8>, Fault> {
    Ok(match format.to_ascii_lowercase().as_str() {
        "hex" => hexadecimal(bytes),
        "base64" => {
            let text = BASE64.encode(bytes).into_bytes();
            text.chunks(LINE).collect::<Vec<_>>().join(&b'\n')
        }
        "escape" => {
            let mut new = Vec::with_capacity(bytes.len());
            for &byte in bytes {
                match byte {
                    b'\\' => new.extend_from_slice(b"\\\\"),
                    0 | 128.. => new.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
                    _ => new.push(byte),
                }
            }
            new
        }
        _ => return Err(unknown_format(format)),
    })
}

fn decoded(text: &[u8], format: &str) -> Result<Vec<u8>, Fault> {
    let without_spaces =
        || -> Vec<u8> { text.iter().copied().filter(|b| !b" \n\t\r".contains(b)).collect() };
    match format.to_ascii_lowercase().as_str() {
        "hex" => of_hexadecimal(&without_spaces()),
        "base64" => BASE64.decode(without_spaces()).map_err(|_| {
            let is_known = |b: &u8| b.is_ascii_alphanumeric() || b"+/=".contains(b);
            match without_spaces().iter().find(|b| !is_known(b)) {
                Some(&other) => {
                    let other = char::from(other);
                    let message =
                        format!("invalid symbol \"{other}\" found while decoding base64 sequence");
                    Fault::new(b"22023", message)
                }
                None => Fault::new(b"22023", "invalid base64 end sequence"),
            }
        }),
        "escape" => of_escapes(text),
        _ => Err(unknown_format(format)),
    }
}

fn of_hexadecimal(text: &[u8]) -> Result<Vec<u8>, Fault> {
    let digit = |byte: u8| {
        char::from(byte).to_digit(16).map(|digit| digit as u8).ok_or_else(|| {
            let message = format!("invalid hexadecimal digit: \"{}\"", char::from(byte));
            Fault::new(b"22023", message)
        })
    };
    let mut new = Vec::with_capacity(text.len() / 2);
    for pair in text.chunks(2) {
        let high = digit(pair[0])?;
        let Some(&low) = pair.get(1) else {
            return Err(Fault::new(b"22023", "invalid hexadecimal data: odd number of digits"));
        };
        new.push(high << 4 | digit(low)?);
    }
    Ok(new)
}

fn of_escapes(text: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut new = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let octal =
            |at: usize| text.get(at).filter(|b| (b'0'..=b'7').contains(b)).map(|b| b - b'0');
        match (text[at], text.get(at + 1)) {
            (b'\\', Some(b'\\')) => {
                new.push(b'\\');
                at += 2;
            }
            (b'\\', _) => {
                let digits =
                    (octal(at + 1).filter(|first| *first < 4), octal(at + 2), octal(at + 3));
                let (Some(a), Some(b), Some(c)) = digits else {
                    return Err(Fault::new(b"22P02", "invalid input syntax for type bytea"));
                };
                new.push(a << 6 | b << 3 | c);
                at += 4;
            }
            (byte, _) => {
                new.push(byte);
                at += 1;
            }
        }
    }
    Ok(new)
}

fn unknown_format(format: &str) -> Fault {
    Fault::new(b"22023", format!("unrecognized encoding: \"{format}\""))
}

fn out_of_range(at: i64, length: usize) -> Fault {
    Fault::new(b"2202E", format!("index {at} out of valid range, 0..{}", length as i64 - 1))
}
