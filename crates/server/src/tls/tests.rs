use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    SignatureAlgorithm,
};
use sha2::{Digest, Sha256, Sha384};

use super::{Tls, TlsIdentity, element, signature_algorithm};

fn identity(algorithm: &'static SignatureAlgorithm) -> (TlsIdentity, Vec<u8>) {
    let key = KeyPair::generate_for(algorithm).expect("it is known");
    let names = vec!["localhost".to_owned()];
    let parameters = CertificateParams::new(names).expect("it is a name");
    let certificate = parameters.self_signed(&key).expect("it signs");
    let (certificates, key) = (certificate.pem().into_bytes(), key.serialize_pem().into_bytes());
    (TlsIdentity { certificates, key }, certificate.der().to_vec())
}

#[test]
fn a_channel_is_bound_to_the_hash_that_the_signature_names() {
    let (of, der) = identity(&PKCS_ECDSA_P256_SHA256);
    assert_eq!(Tls::new(&of).expect("it is right").binding, Some(Sha256::digest(&der).to_vec()));
    let (of, der) = identity(&PKCS_ECDSA_P384_SHA384);
    assert_eq!(Tls::new(&of).expect("it is right").binding, Some(Sha384::digest(&der).to_vec()));
    let (of, _) = identity(&PKCS_ED25519);
    assert_eq!(Tls::new(&of).expect("it is right").binding, None);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let (one, _) = identity(&PKCS_ECDSA_P256_SHA256);
    let (other, _) = identity(&PKCS_ECDSA_P256_SHA256);
    let refused = |certificates: &[u8], key: &[u8]| {
        let of = TlsIdentity { certificates: certificates.to_vec(), key: key.to_vec() };
        Tls::new(&of).map(drop).expect_err("it is wrong")
    };
    assert!(refused(&one.certificates, &other.key).contains("do not go together"));
    assert!(refused(&one.key, &one.key).contains("holds none"));
    assert!(refused(b"", &one.key).contains("holds none"));
    assert!(refused(&one.certificates, b"nonsense").contains("private key"));
    assert!(!format!("{one:?}").contains("PRIVATE"));
}

#[test]
fn no_bytes_are_believed() {
    let (_, der) = identity(&PKCS_ECDSA_P256_SHA256);
    let end = der.len() - element(0x30, &der).expect("it is one").0.len();
    for length in 0..der.len() {
        // It is told from the algorithm on, and nothing panics before.
        let cut = signature_algorithm(&der[..length]);
        assert!(cut.is_none(), "{length} of {} behind {end}", der.len());
    }
    assert!(signature_algorithm(&der).is_some());
    for wrong in [&[0x30, 0x85, 1, 1, 1, 1, 1][..], &[0x30, 0xff], &[0x30, 0x84, 0xff, 0xff, 0xff]]
    {
        assert_eq!(signature_algorithm(wrong), None);
    }
}
