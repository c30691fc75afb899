//! The beginning of a connection: encryption, version, user and its password; then what clients
//! are told.
//!
//! Invariants   I1 where anybody has a password, nobody gets a session without proving one; who
//!                 fails hears the same, whether there is such a user or not
//!              I2 nothing that came before encryption began is taken for something that came
//!                 encrypted (CVE-2021-23222)
//! Source       PostgreSQL 15, "Start-up", "SASL Authentication" and "SSL Session Encryption"

use std::time::Duration;

use hotrow::{Database, Session, SqlError, Verifier};
use pgwire::messages::response::{ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey,
};

use crate::attempts::Attempts;
use crate::connection::{Ended, Incoming, Outgoing};
use crate::frontend::{Malformed, sasl_response, startup_parameters};
use crate::listening::Origin;
use crate::report::{Severity, response, sql_error};
use crate::scram::{Exchange, Failed, MECHANISM, MECHANISM_PLUS};
use crate::server::Plain;
use crate::tls::Tls;

/// Bytes of a startup packet, as PostgreSQL has it.
const PACKET_BYTES_MAX: usize = 10_000;
/// What a client may ask before it starts: encryption of two kinds, each once.
const REQUESTS_MAX: usize = 3;
/// Bytes of a message before anybody is known.
const PROOF_BYTES_MAX: usize = 2048;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;
const MAJOR: u16 = 3;

/// What a connection is for.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// a session
    Session,
    /// has the statement of the connection with this number and this secret cancelled
    Cancel(i32, i32),
    /// it has ended: what it asked for is done, or was refused
    Over,
    /// it has ended: it is not the user that it says it is
    Refused {
        /// who that would be
        user: String,
    },
}

/// Who is let in.
pub(crate) struct Door {
    pub(crate) db: Database,
    /// nobody without a password, even if nobody has one
    pub(crate) is_locked: bool,
    /// nobody is asked for a password
    pub(crate) asks_nobody: bool,
    /// who has failed to prove one lately
    pub(crate) attempts: Attempts,
    /// what verifiers of unknown users are made up from
    pub(crate) secret: [u8; 32],
    pub(crate) tls: Option<Tls>,
    pub(crate) plain: Plain,
}

/// Who wants to be.
pub(crate) struct Caller<'a> {
    pub(crate) session: &'a Session,
    /// the number and the secret that a cancel request would name
    pub(crate) keys: (i32, i32),
    pub(crate) from: Origin,
    /// gives a user the place of a session, or tells why there is none
    pub(crate) begin_session: &'a dyn Fn(&str) -> Result<(), SqlError>,
}

/// Leads a connection to its session.
pub(crate) fn start(
    incoming: &mut Incoming,
    out: &mut Outgoing,
    door: &Door,
    caller: &Caller<'_>,
) -> Result<Start, Ended> {
    for _ in 0..REQUESTS_MAX {
        let packet = incoming.packet(PACKET_BYTES_MAX, out)?;
        let Some((code, body)) = packet.split_first_chunk::<4>() else {
            return Err(Ended::Malformed("invalid length of startup packet".to_owned()));
        };
        match u32::from_be_bytes(*code) {
            SSL_REQUEST => match &door.tls {
                Some(tls) => encrypt(incoming, out, tls)?,
                None => out.say_byte(b'N'),
            },
            GSS_REQUEST => out.say_byte(b'N'),
            CANCEL_REQUEST => {
                let [number, secret] =
                    [body.first_chunk(), body.get(4..).and_then(<[u8]>::first_chunk)];
                return Ok(match (number, secret) {
                    (Some(number), Some(secret)) => {
                        Start::Cancel(i32::from_be_bytes(*number), i32::from_be_bytes(*secret))
                    }
                    _ => Start::Over,
                });
            }
            version if (version >> 16) as u16 == MAJOR => {
                let body = body.to_vec(); // more will be read
                let hello = (version as u16, body.as_slice());
                return begin(hello, (incoming, out), (door, caller), caller.keys);
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
    (minor, body): (u16, &[u8]),
    (incoming, out): (&mut Incoming, &mut Outgoing),
    (door, caller): (&Door, &Caller<'_>),
    (number, secret): (i32, i32),
) -> Result<Start, Ended> {
    let session = caller.session;
    let may_be_plain = match door.plain {
        Plain::Nobody => false,
        Plain::OwnMachine => caller.from.is_near(),
        Plain::Anybody => true,
    };
    // PostgreSQL's clients do not even ask for encryption on a local socket: nobody is on the way.
    if !may_be_plain && !out.is_encrypted() && !caller.from.is_local() {
        let message = "this server wants connections to be encrypted".to_owned();
        refuse(out, b"28000", message, "Connect with sslmode=require.");
        return Ok(Start::Over);
    }
    let parameters = startup_parameters(body).map_err(|Malformed(what)| Ended::Malformed(what))?;
    let named = |wanted: &str| parameters.iter().find(|(name, _)| *name == wanted);
    let Some((_, user)) = named("user").filter(|(_, user)| !user.is_empty()) else {
        let message = "no PostgreSQL user name specified in startup packet".to_owned();
        refuse(out, b"28000", message, "Give the connection a user.");
        return Ok(Start::Over);
    };
    let asks = door.is_locked || (door.db.asks_for_passwords() && !door.asks_nobody);
    if asks {
        if let Err(wait) = door.attempts.begin(caller.from, user) {
            refuse(out, b"28000", too_often(user, wait), "");
            return Ok(Start::Refused { user: (*user).to_owned() });
        }
        let proved = proves(user, incoming, out, door);
        door.attempts.end(caller.from, user, proved.as_ref().ok().copied());
        if !proved? {
            return Ok(Start::Refused { user: (*user).to_owned() });
        }
    }
    if let Err(error) = door.db.may_log_in(user) {
        out.say(&response(&error, Severity::Fatal, ""));
        let _ = out.flush(); // it ends in any case
        return Ok(Start::Over);
    }
    if let Err(error) = (caller.begin_session)(user) {
        out.say(&response(&error, Severity::Fatal, ""));
        let _ = out.flush(); // it ends in any case
        return Ok(Start::Over);
    }
    // As in PostgreSQL, the database is that of the user's name where none is given.
    let database = named("database").map_or(*user, |(_, name)| *name);
    session.identify(user, database, number);
    if let Err(error) = settings(session, user, &parameters) {
        out.say(&response(&sql_error(error), Severity::Fatal, ""));
        let _ = out.flush(); // it ends in any case
        return Ok(Start::Over);
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
    for (name, value) in session.changed_settings() {
        out.say(&ParameterStatus::new(name.to_owned(), value));
    }
    out.say(&BackendKeyData::new(number, SecretKey::I32(secret)));
    out.say(&ReadyForQuery::new(TransactionStatus::Idle));
    Ok(Start::Session)
}

fn too_often(user: &str, wait: Duration) -> String {
    let ms = wait.as_millis().max(1);
    format!("too many failed logins of user \"{user}\" from this address: try again in {ms} ms")
}

/// Begins encryption.
fn encrypt(incoming: &mut Incoming, out: &mut Outgoing, tls: &Tls) -> Result<(), Ended> {
    if incoming.has_more() {
        // I2: somebody on the way may have put it there.
        return Err(Ended::Malformed("received unencrypted data after SSL request".to_owned()));
    }
    if !out.is_encrypted() {
        out.say_byte(b'S');
        out.flush().map_err(|_| Ended::Failed)?;
    }
    out.encrypt(&tls.config)
}

/// Has a client prove its password; false when it was told that it failed (I1).
fn proves(
    user: &str,
    incoming: &mut Incoming,
    out: &mut Outgoing,
    door: &Door,
) -> Result<bool, Ended> {
    let known = door.db.verifier_of(user);
    let is_known = known.is_some();
    let nobody = Verifier::of_nobody(user, &door.secret);
    let verifier = known.unwrap_or(nobody);
    let binding = door.tls.as_ref().and_then(|tls| tls.binding.as_deref());
    let binding = binding.filter(|_| out.is_encrypted());
    let plus = binding.map(|_| MECHANISM_PLUS);
    let mechanisms: Vec<_> = plus.into_iter().chain([MECHANISM]).collect();
    out.say(&Authentication::SASL(mechanisms.iter().copied().map(str::to_owned).collect()));
    let body = incoming.proof(PROOF_BYTES_MAX, out)?;
    let (mechanism, first) =
        sasl_response(body).map_err(|Malformed(what)| Ended::Malformed(what))?;
    if !mechanisms.contains(&mechanism) {
        let what = "client selected an invalid SASL authentication mechanism";
        return Err(Ended::Malformed(what.to_owned()));
    }
    let proved = match Exchange::begin(mechanism, first, binding, (verifier, is_known)) {
        Ok((exchange, answer)) => {
            out.say(&Authentication::SASLContinue(answer.into()));
            exchange.end(incoming.proof(PROOF_BYTES_MAX, out)?)
        }
        Err(failed) => Err(failed),
    };
    match proved {
        Ok(last) => {
            out.say(&Authentication::SASLFinal(last.into()));
            Ok(true)
        }
        Err(Failed::Malformed(what)) => Err(Ended::Malformed(what.to_owned())),
        Err(Failed::Wrong) => {
            let message = format!("password authentication failed for user \"{user}\"");
            refuse(out, b"28P01", message, "");
            Ok(false)
        }
    }
}

/// Has a session begin with what a client asks for.
fn settings(
    session: &Session,
    user: &str,
    parameters: &[(&str, &str)],
) -> Result<(), hotrow::Error> {
    let is_of_protocol =
        |name: &str| name.starts_with("_pq_.") || matches!(name, "user" | "database" | "options");
    let plain = parameters.iter().filter(|(name, _)| !is_of_protocol(name)).copied();
    let options = parameters.iter().filter(|(name, _)| *name == "options");
    // `-c name=value` and `--name=value`, as the server's command line has them in PostgreSQL.
    let options = options.flat_map(|(_, options)| options.split_ascii_whitespace());
    let options = options.filter_map(|option| {
        let option = option.strip_prefix("--").or(option.strip_prefix("-c")).unwrap_or(option);
        option.split_once('=')
    });
    session.start_settings(user, plain.chain(options))
}

/// Ends a connection with an error.
pub(crate) fn refuse(out: &mut Outgoing, code: &[u8; 5], message: String, hint: &str) {
    let mut error = SqlError::new(code, message);
    error.hint = (!hint.is_empty()).then(|| hint.to_owned());
    out.say(&response(&error, Severity::Fatal, ""));
    let _ = out.flush(); // it ends in any case
}
