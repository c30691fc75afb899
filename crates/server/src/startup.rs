//! The beginning of a connection: encryption refused, version, user; then what clients are told.
//!
//! Source       PostgreSQL 15, "Start-up" and "SSL Session Encryption"

use hotrow::SqlError;
use pgwire::messages::response::{ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};

use crate::connection::{Ended, Incoming, Outgoing};
use crate::frontend::{Malformed, startup_parameters};
use crate::report::{Severity, response};

/// Bytes of a startup packet, as PostgreSQL has it.
const PACKET_BYTES_MAX: usize = 10_000;
/// What a client may ask before it starts: encryption of two kinds, each once.
const REQUESTS_MAX: usize = 3;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
const MAJOR: u16 = 3;

/// What a connection is for.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// a session of this user, in a database of this name
    Session { user: String, database: String },
    /// it has ended: what it asked for is done, or was refused
    Over,
}

/// The version that clients hear: that of the PostgreSQL whose behaviour they may expect.
pub(crate) const SERVER_VERSION: &str = concat!("15.0 (Hotrow ", env!("CARGO_PKG_VERSION"), ")");

/// Leads a connection to its session. `keys` are the number and the secret that a cancel request
/// would name; none: there are too many connections, and this one is told so.
pub(crate) fn start(
    incoming: &mut Incoming,
    out: &mut Outgoing,
    keys: Option<(i32, i32)>,
) -> Result<Start, Ended> {
    for _ in 0..REQUESTS_MAX {
        let packet = incoming.packet(PACKET_BYTES_MAX, out)?;
        let Some((code, body)) = packet.split_first_chunk::<4>() else {
            return Err(Ended::Malformed("invalid length of startup packet".to_owned()));
        };
        match u32::from_be_bytes(*code) {
            SSL_REQUEST | GSS_REQUEST => out.say_byte(b'N'),
            CANCEL_REQUEST => return Ok(Start::Over),
            version if (version >> 16) as u16 == MAJOR => {
                if let Some(keys) = keys {
                    return begin(version as u16, body, out, keys);
                }
                // Behind its startup packet: a connection that is closed with something unread
                // loses what was said on it.
                refuse(out, b"53300", "sorry, too many clients already".to_owned(), "");
                return Ok(Start::Over);
            }
            version => {
                let (major, minor) = (version >> 16, version & 0xffff);
                let message = format!("unsupported frontend protocol {major}.{minor}");
                refuse(out, b"0A000", message, "Hotrow speaks version 3.0.");
                return Ok(Start::Over);
            }
        }
    }
    Err(Ended::Malformed("no startup packet".to_owned()))
}

fn begin(
    minor: u16,
    body: &[u8],
    out: &mut Outgoing,
    (number, secret): (i32, i32),
) -> Result<Start, Ended> {
    let parameters = startup_parameters(body).map_err(|Malformed(what)| Ended::Malformed(what))?;
    let named = |wanted: &str| parameters.iter().find(|(name, _)| *name == wanted);
    let Some((_, user)) = named("user").filter(|(_, user)| !user.is_empty()) else {
        let message = "no PostgreSQL user name specified in startup packet".to_owned();
        refuse(out, b"28000", message, "Give the connection a user, any name.");
        return Ok(Start::Over);
    };
    if let Some((_, encoding)) = named("client_encoding") {
        let plain: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
        if !matches!(plain.to_ascii_lowercase().as_str(), "utf8" | "unicode") {
            let message =
                format!("invalid value for parameter \"client_encoding\": \"{encoding}\"");
            refuse(out, b"22023", message, "Hotrow speaks UTF8.");
            return Ok(Start::Over);
        }
    }
    // Protocol options of later versions, by their prefix.
    let unknown: Vec<_> = parameters
        .iter()
        .filter(|(name, _)| name.starts_with("_pq_."))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    if minor > 0 || !unknown.is_empty() {
        out.say(&NegotiateProtocolVersion::new(i32::from(MAJOR) << 16, unknown));
    }
    out.say(&Authentication::Ok);
    let application = named("application_name").map_or("", |(_, name)| *name);
    for (name, value) in [
        ("server_version", SERVER_VERSION),
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("application_name", application),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("TimeZone", "UTC"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("is_superuser", "on"),
        ("session_authorization", user),
        ("default_transaction_read_only", "off"),
        ("in_hot_standby", "off"),
    ] {
        out.say(&ParameterStatus::new(name.to_owned(), value.to_owned()));
    }
    out.say(&BackendKeyData::new(number, SecretKey::I32(secret)));
    out.say(&ReadyForQuery::new(TransactionStatus::Idle));
    // As in PostgreSQL, the database is that of the user's name where none is given.
    let database = named("database").map_or(*user, |(_, name)| *name);
    Ok(Start::Session { user: (*user).to_owned(), database: database.to_owned() })
}

/// Ends a connection with an error.
pub(crate) fn refuse(out: &mut Outgoing, code: &[u8; 5], message: String, hint: &str) {
    let mut error = SqlError::new(code, message);
    error.hint = (!hint.is_empty()).then(|| hint.to_owned());
    out.say(&response(&error, Severity::Fatal, ""));
    let _ = out.flush(); // it ends in any case
}
