//! What is kept of a password: a verifier of SCRAM-SHA-256, in PostgreSQL's form.
//!
//! Role         made where a statement with a password is parsed, so that everything behind that,
//!              the log included, has the verifier only; read by whoever lets users in
//! Invariants   I1 who has a verifier can check a proof of the password, and cannot make one
//!              I2 the work that a verifier asks of a client is bounded
//! Source       RFC 5802, RFC 7677; PostgreSQL 15, scram-common.c and `build_scram_secret`

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use hotrow_sql::ScriptStatement;
use hotrow_transaction::outcome::SqlError;
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};

use crate::error::advised;
use crate::settings::Settings;

/// Iterations for a password that comes plain: RFC 7677's least, and PostgreSQL's.
const ITERATIONS: u32 = 4096;
/// Those of a verifier that is given: fewer protect nothing, more hold clients up (I2).
const ITERATIONS_GIVEN: std::ops::RangeInclusive<u32> = 4096..=1_000_000;
const SALT_BYTES: usize = 16;
/// Longest salt of a verifier that is given.
const SALT_BYTES_MAX: usize = 64;
/// Longest password: hashing is work.
const PASSWORD_BYTES_MAX: usize = 1024;
const MECHANISM: &str = "SCRAM-SHA-256";

type Key = [u8; 32];

/// A verifier of SCRAM-SHA-256.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    salt: Vec<u8>,
    iterations: u32,
    stored_key: Key,
    server_key: Key,
}

impl Verifier {
    /// One for a password, with a salt of its own.
    pub(crate) fn of_password(password: &str) -> Result<Self, SqlError> {
        if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
            let message = format!("a password has 1 to {PASSWORD_BYTES_MAX} bytes");
            return Err(SqlError::new(b"22023", message));
        }
        let mut salt = vec![0; SALT_BYTES];
        OsRng.try_fill_bytes(&mut salt).map_err(|_| {
            SqlError::new(b"58000", "the system gives no random numbers for a password's salt")
        })?;
        Ok(Self::salted(password, salt, ITERATIONS))
    }

    fn salted(password: &str, salt: Vec<u8>, iterations: u32) -> Self {
        // As PostgreSQL does with one that cannot be normalised: its bytes as they are.
        let prepared = stringprep::saslprep(password);
        let password = prepared.as_deref().unwrap_or(password);
        let salted = stretched(password.as_bytes(), &salt, iterations);
        let client_key = mac(&salted, &[b"Client Key"]);
        let stored_key = Sha256::digest(client_key).into();
        Self { salt, iterations, stored_key, server_key: mac(&salted, &[b"Server Key"]) }
    }

    /// One that nobody has a password for, the same for the same name and secret: who asks for an
    /// unknown user must not notice.
    pub fn of_nobody(user: &str, secret: &[u8; 32]) -> Self {
        let part = |what: &[u8]| mac(secret, &[what, user.as_bytes()]);
        Self {
            salt: part(b"salt")[..SALT_BYTES].to_vec(),
            iterations: ITERATIONS,
            stored_key: part(b"stored key"),
            server_key: part(b"server key"),
        }
    }

    /// Reads `SCRAM-SHA-256$iterations:salt$stored key:server key`; none when it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('$');
        if parts.next() != Some(MECHANISM) {
            return None;
        }
        let (iterations, salt) = parts.next()?.split_once(':')?;
        let (stored, server) = parts.next()?.split_once(':')?;
        let decoded = |text: &str| STANDARD.decode(text).ok();
        let salt = decoded(salt).filter(|salt| (1..=SALT_BYTES_MAX).contains(&salt.len()))?;
        let key = |text: &str| decoded(text)?.try_into().ok();
        let iterations = iterations.parse().ok()?;
        let is_whole = parts.next().is_none();
        is_whole.then_some(Self {
            salt,
            iterations,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// Whether it was made of this password.
    pub fn is_of(&self, password: &str) -> bool {
        *self == Self::salted(password, self.salt.clone(), self.iterations)
    }

    /// Random bytes that were hashed with the password.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// How often they were.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// The hash of the client's key.
    pub fn stored_key(&self) -> &[u8; 32] {
        &self.stored_key
    }

    /// What the server proves to know.
    pub fn server_key(&self) -> &[u8; 32] {
        &self.server_key
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { salt, iterations, stored_key, server_key } = self;
        let [salt, stored, server] =
            [salt.as_slice(), stored_key, server_key].map(|bytes| STANDARD.encode(bytes));
        write!(f, "{MECHANISM}${iterations}:{salt}${stored}:{server}")
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

/// A statement with what is kept of its password in place of it, whose setting for sessions to
/// come, if it names one, is one that they can begin with.
pub(crate) fn conceal(statement: ScriptStatement) -> Result<ScriptStatement, SqlError> {
    let statement = statement.with_attributes();
    let statement = statement.with_setting_checked(Settings::check_for_others)?;
    let Some(password) = statement.password() else { return Ok(statement) };
    let verifier = match Verifier::parse(password) {
        Some(given) => given,
        None => {
            refuse_hash(password)?;
            Verifier::of_password(password)?
        }
    };
    if !ITERATIONS_GIVEN.contains(&verifier.iterations) {
        let (least, most) = (ITERATIONS_GIVEN.start(), ITERATIONS_GIVEN.end());
        let message = format!("a verifier has {least} to {most} iterations");
        return Err(SqlError::new(b"22023", message));
    }
    Ok(statement.concealed(&verifier.to_string()))
}

/// Fails where a password looks like a hash that we cannot use: it would be taken for a password.
fn refuse_hash(password: &str) -> Result<(), SqlError> {
    let is_md5 = password.len() == 35
        && password
            .strip_prefix("md5")
            .is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if !is_md5 && !password.starts_with(MECHANISM) {
        return Ok(());
    }
    let message = "this hash of a password cannot be used".to_owned();
    Err(advised(b"22023", message, "Give the password, or a whole verifier of SCRAM-SHA-256."))
}

/// PBKDF2 with HMAC-SHA-256, of one block.
fn stretched(password: &[u8], salt: &[u8], iterations: u32) -> Key {
    let mut last = mac(password, &[salt, &1_u32.to_be_bytes()]);
    let mut sum = last;
    for _ in 1..iterations {
        last = mac(password, &[&last]);
        sum.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Key {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests;
