//! SCRAM-SHA-256: how a client proves that it knows its password, and the server its verifier.
//!
//! Role         two answers to two messages; knows no connection
//! States       begun -> challenged (a nonce was told) -> proved, or failed
//! Invariants   I1 an unknown user, one without a password and a wrong password take the same
//!                 steps, the same work and the same answers: the check fails at the very end
//!              I2 a client that could bind the channel, and was kept from it, is refused
//! Source       RFC 5802, RFC 7677, RFC 5929 (tls-server-end-point); PostgreSQL 15, auth-scram.c

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use hotrow::Verifier;
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What is offered over a channel that it can be bound to.
pub(crate) const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";
/// What is offered in any case.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";
/// Random bytes of the server's nonce.
const NONCE_BYTES: usize = 18;
const BINDING: &str = "tls-server-end-point";

/// Why somebody is not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failed {
    /// the proof is none
    Wrong,
    /// what came is no message of this protocol
    Malformed(&'static str),
}

/// An exchange that has begun.
pub(crate) struct Exchange {
    verifier: Verifier,
    is_known: bool,
    /// `n,,`, `y,,` or `p=...,,`, and behind it what the channel is bound to
    bound: Vec<u8>,
    nonce: String,
    /// client-first-message-bare, comma, server-first-message, comma
    so_far: String,
}

impl Exchange {
    /// Reads a client's first message; gives the server's. `channel` is what tells the channel from
    /// others, where there is such a thing.
    pub(crate) fn begin(
        mechanism: &str,
        message: &[u8],
        channel: Option<&[u8]>,
        (verifier, is_known): (Verifier, bool),
    ) -> Result<(Self, String), Failed> {
        let mut random = [0; NONCE_BYTES];
        let filled = OsRng.try_fill_bytes(&mut random);
        filled.map_err(|_| Failed::Malformed("the system gives no random numbers"))?;
        let known = (verifier, is_known);
        Self::begin_with(mechanism, message, channel, known, &STANDARD.encode(random))
    }

    fn begin_with(
        mechanism: &str,
        message: &[u8],
        channel: Option<&[u8]>,
        (verifier, is_known): (Verifier, bool),
        own_nonce: &str,
    ) -> Result<(Self, String), Failed> {
        let message = text(message)?;
        let (flag, rest) = message.split_once(',').ok_or(MALFORMED)?;
        let (authorization, bare) = rest.split_once(',').ok_or(MALFORMED)?;
        if !authorization.is_empty() {
            return Err(Failed::Malformed(
                "client uses authorization identity, which is not there",
            ));
        }
        let is_plus = mechanism == MECHANISM_PLUS;
        let mut bound = format!("{flag},,").into_bytes();
        match (flag, is_plus, channel) {
            ("n", false, _) | ("y", false, None) => {}
            ("y", false, Some(_)) => {
                // I2: it was told of no binding, though there is one.
                return Err(Failed::Malformed("SCRAM channel binding negotiation error"));
            }
            (flag, true, Some(channel)) if flag.strip_prefix("p=") == Some(BINDING) => {
                bound.extend_from_slice(channel);
            }
            _ => return Err(Failed::Malformed("unexpected SCRAM channel-binding")),
        }
        // The user is the one of the startup packet; `m=` would be an extension that has to be
        // understood.
        let mut attributes = bare.split(',');
        let (name, nonce) = (attributes.next(), attributes.next());
        let nonce = nonce.and_then(|nonce| nonce.strip_prefix("r=")).ok_or(MALFORMED)?;
        let is_printable = |byte: u8| (0x21..=0x7e).contains(&byte);
        if !name.is_some_and(|name| name.starts_with("n="))
            || nonce.is_empty()
            || !nonce.bytes().all(is_printable)
        {
            return Err(MALFORMED);
        }
        let nonce = format!("{nonce}{own_nonce}");
        let salt = STANDARD.encode(verifier.salt());
        let answer = format!("r={nonce},s={salt},i={}", verifier.iterations());
        let so_far = format!("{bare},{answer},");
        Ok((Self { verifier, is_known, bound, nonce, so_far }, answer))
    }

    /// Reads a client's last message; gives the server's, which proves that it has the verifier.
    pub(crate) fn end(self, message: &[u8]) -> Result<String, Failed> {
        let message = text(message)?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(MALFORMED)?;
        let mut attributes = without_proof.split(',');
        let bound = attributes.next().and_then(|bound| bound.strip_prefix("c="));
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        let bound = bound.and_then(|bound| STANDARD.decode(bound).ok()).ok_or(MALFORMED)?;
        if bound != self.bound {
            return Err(Failed::Malformed("SCRAM channel binding check failed"));
        }
        if nonce != Some(&*self.nonce) {
            return Err(Failed::Malformed("the SCRAM nonce is another one"));
        }
        let proof: [u8; 32] =
            STANDARD.decode(proof).ok().and_then(|proof| proof.try_into().ok()).ok_or(MALFORMED)?;
        let said = format!("{}{without_proof}", self.so_far);
        let signature = mac(self.verifier.stored_key(), said.as_bytes());
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(byte, mask)| *byte ^= mask);
        let is_right = Sha256::digest(client_key).as_slice().ct_eq(self.verifier.stored_key());
        // I1: both are found out before either is looked at.
        if !(bool::from(is_right) & self.is_known) {
            return Err(Failed::Wrong);
        }
        Ok(format!("v={}", STANDARD.encode(mac(self.verifier.server_key(), said.as_bytes()))))
    }
}

const MALFORMED: Failed = Failed::Malformed("malformed SCRAM message");

fn text(message: &[u8]) -> Result<&str, Failed> {
    std::str::from_utf8(message).map_err(|_| MALFORMED)
}

fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests;
