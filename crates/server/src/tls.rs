//! Encryption: a server's certificate and key, and what tells its channels from others'.
//!
//! Role         reads PEM, makes rustls's configuration; `connection` runs the streams
//! Source       RFC 5929, section 4 (tls-server-end-point)

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// A server's certificate and its private key, as PEM.
#[derive(Clone)]
pub struct TlsIdentity {
    /// the certificate, behind it those that vouch for it
    pub certificates: Vec<u8>,
    /// PKCS #8, PKCS #1 or SEC 1
    pub key: Vec<u8>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}

/// What encrypted streams are made with.
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// what a channel is bound to; none: the certificate's signature names no hash
    pub(crate) binding: Option<Vec<u8>>,
}

impl Tls {
    /// Of a certificate and its key; else what is wrong with them.
    pub(crate) fn new(identity: &TlsIdentity) -> Result<Self, String> {
        let wrong = |what: &str, error: &dyn std::fmt::Display| format!("the {what}: {error}");
        let certificates = CertificateDer::pem_slice_iter(&identity.certificates);
        let certificates = certificates
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| wrong("certificate cannot be read", &error))?;
        let Some(own) = certificates.first() else {
            return Err("the certificate file holds none".to_owned());
        };
        let binding = end_point(own);
        let key = PrivateKeyDer::from_pem_slice(&identity.key)
            .map_err(|error| wrong("private key cannot be read", &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong("protocol versions are unknown", &error))?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| wrong("certificate and its key do not go together", &error))?;
        Ok(Self { config: Arc::new(config), binding })
    }
}

/// The hash of a certificate by the function that its signature uses; SHA-256 in place of older
/// ones.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match signature_algorithm(certificate)? {
        // sha256WithRSAEncryption, ecdsa-with-SHA256; md5 and sha1 with RSA, ecdsa-with-SHA1
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 11 | 4 | 5]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 2]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 1] => Sha256::digest(certificate).to_vec(),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 12]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 3] => Sha384::digest(certificate).to_vec(),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 13]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 4] => Sha512::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// The object identifier of a certificate's signature:
/// `SEQUENCE { certificate SEQUENCE, algorithm SEQUENCE { OBJECT IDENTIFIER, ...}, ... }`.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (whole, _) = element(SEQUENCE, certificate)?;
    let (_, behind) = element(SEQUENCE, whole)?;
    let (algorithm, _) = element(SEQUENCE, behind)?;
    element(OBJECT_IDENTIFIER, algorithm).map(|(identifier, _)| identifier)
}

/// An element of DER with this tag: its content, and what follows it.
fn element(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, short], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    if short < 0x80 {
        return rest.split_at_checked(usize::from(short));
    }
    let (length, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
    if length.len() > 4 {
        return None;
    }
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests;
