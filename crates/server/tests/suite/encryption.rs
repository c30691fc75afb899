//! Encrypted connections: who gets one, what they are bound to, and who must have one.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::running::Running;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use hotrow::{Config, Database};
use hotrow_server::{Plain, Server, ServerError, ServerOptions, TlsIdentity};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sha2::{Digest, Sha256};

const LONG: Duration = Duration::from_secs(30);
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A certificate for 127.0.0.1, signed by its own key.
fn identity() -> (TlsIdentity, CertificateDer<'static>) {
    let names = vec!["127.0.0.1".to_owned()];
    let own = rcgen::generate_simple_self_signed(names).expect("it is a name");
    let (certificates, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    let identity = TlsIdentity { certificates: certificates.into(), key: key.into() };
    (identity, own.cert.der().clone())
}

fn encrypting(plain: Plain) -> (Running, CertificateDer<'static>) {
    let (identity, certificate) = identity();
    let options = ServerOptions { tls: Some(identity), plain, ..ServerOptions::default() };
    (Running::start(options), certificate)
}

fn socket(server: &Running) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("it can be set");
    stream
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// An encrypted stream to a server that has this certificate.
fn encrypted(server: &Running, certificate: &CertificateDer<'static>) -> Encrypted {
    let mut stream = socket(server);
    stream.write_all(&SSL_REQUEST).expect("it reads");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(answer, *b"S");
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("it is one");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("they are known")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "127.0.0.1".try_into().expect("it is a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("it is configured");
    StreamOwned::new(connection, stream)
}

fn send(stream: &mut impl Write, kind: Option<u8>, body: &[u8]) {
    let length = (body.len() as u32 + 4).to_be_bytes();
    let message = [kind.as_slice(), &length, body].concat();
    stream.write_all(&message).expect("it reads");
    stream.flush().expect("it reads");
}

fn start(stream: &mut impl Write, user: &str) {
    let body = [&196_608_u32.to_be_bytes()[..], b"user\0", user.as_bytes(), b"\0\0"].concat();
    send(stream, None, &body);
}

/// The next message: its kind and body.
fn receive(stream: &mut impl Read) -> (u8, Vec<u8>) {
    let mut head = [0; 5];
    stream.read_exact(&mut head).expect("a message");
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut body = vec![0; length as usize - 4];
    stream.read_exact(&mut body).expect("its body");
    (head[0], body)
}

/// Reads up to a message of this kind; an error's code otherwise.
fn until(stream: &mut impl Read, kind: u8) -> Result<Vec<u8>, String> {
    loop {
        match receive(stream) {
            (found, body) if found == kind => return Ok(body),
            (b'E', body) => return Err(code(&body)),
            _ => {}
        }
    }
}

fn code(error: &[u8]) -> String {
    let mut fields = error.split(|byte| *byte == 0);
    let field = fields.find(|field| field.first() == Some(&b'C')).expect("it has a code");
    String::from_utf8_lossy(&field[1..]).into_owned()
}

fn mac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key will do");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// A client's side of SCRAM-SHA-256-PLUS; up to ReadyForQuery.
fn prove(stream: &mut Encrypted, password: &str, binding: &[u8]) -> Result<(), String> {
    let offered = until(stream, b'R')?;
    let offered = String::from_utf8_lossy(&offered[4..]).into_owned();
    assert!(offered.starts_with("SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"), "{offered:?}");
    let (header, bare) = ("p=tls-server-end-point,,", "n=,r=abc");
    let first = format!("{header}{bare}");
    let length = (first.len() as u32).to_be_bytes();
    let body = [b"SCRAM-SHA-256-PLUS\0", &length[..], first.as_bytes()].concat();
    send(stream, Some(b'p'), &body);
    let challenge = until(stream, b'R')?;
    let challenge = String::from_utf8_lossy(&challenge[4..]).into_owned();
    let part = |at: usize| challenge.split(',').nth(at).expect("it has three")[2..].to_owned();
    let (nonce, salt) = (part(0), STANDARD.decode(part(1)).expect("it is base64"));
    let mut salted = mac(password.as_bytes(), &[&salt[..], &[0, 0, 0, 1]].concat());
    let mut last = salted;
    for _ in 1..part(2).parse().expect("a number") {
        last = mac(password.as_bytes(), &last);
        salted.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
    }
    let bound = STANDARD.encode([header.as_bytes(), binding].concat());
    let without_proof = format!("c={bound},r={nonce}");
    let said = format!("{bare},{challenge},{without_proof}");
    let client_key = mac(&salted, b"Client Key");
    let signature = mac(&Sha256::digest(client_key), said.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    let answer = format!("{without_proof},p={}", STANDARD.encode(proof));
    send(stream, Some(b'p'), answer.as_bytes());
    let told = until(stream, b'R')?;
    let server = STANDARD.encode(mac(&mac(&salted, b"Server Key"), said.as_bytes()));
    assert_eq!(String::from_utf8_lossy(&told[4..]), format!("v={server}"));
    until(stream, b'Z').map(drop)
}

#[test]
fn a_connection_is_encrypted_and_its_password_is_bound_to_it() {
    let (server, certificate) = encrypting(Plain::OwnMachine);
    let mut stream = encrypted(&server, &certificate);
    start(&mut stream, "anybody");
    until(&mut stream, b'Z').expect("nobody has a password");
    send(&mut stream, Some(b'Q'), b"CREATE USER ann PASSWORD 'pencil'\0");
    until(&mut stream, b'Z').expect("it is new");
    // More than a record of TLS, there and back.
    let long = "x".repeat(100_000);
    send(&mut stream, Some(b'Q'), format!("SELECT '{long}'\0").as_bytes());
    let row = until(&mut stream, b'D').expect("it is a row");
    assert!(row.ends_with(long.as_bytes()));
    until(&mut stream, b'Z').expect("it is right");

    let binding = Sha256::digest(&certificate);
    let mut stream = encrypted(&server, &certificate);
    start(&mut stream, "ann");
    prove(&mut stream, "pencil", &binding).expect("it is hers");
    send(&mut stream, Some(b'Q'), b"SELECT current_user\0");
    let row = until(&mut stream, b'D').expect("it is a row");
    assert!(row.ends_with(b"ann"));

    let mut stream = encrypted(&server, &certificate);
    start(&mut stream, "ann");
    let wrong = prove(&mut stream, "pen", &binding);
    assert_eq!(wrong, Err("28P01".to_owned()));
    // Somebody in the middle has another certificate.
    let mut stream = encrypted(&server, &certificate);
    start(&mut stream, "ann");
    let bound_elsewhere = prove(&mut stream, "pencil", &Sha256::digest(b"another"));
    assert_eq!(bound_elsewhere, Err("08P01".to_owned()));
}

#[test]
fn who_must_encrypt_is_told_so() {
    let (server, certificate) = encrypting(Plain::Nobody);
    let mut stream = socket(&server);
    start(&mut stream, "me");
    assert_eq!(until(&mut stream, b'Z'), Err("28000".to_owned()));
    let mut stream = encrypted(&server, &certificate);
    start(&mut stream, "me");
    until(&mut stream, b'Z').expect("it is encrypted");
    drop(server);
    // From its own machine nobody must, if that is not asked for.
    let (server, _) = encrypting(Plain::OwnMachine);
    server.client().batch_execute("SELECT 1").expect("it is let in");
    drop(server);
    // Without a certificate clients are told to go on without.
    let server = Running::start(ServerOptions::default());
    let mut stream = socket(&server);
    stream.write_all(&SSL_REQUEST).expect("it reads");
    let mut answer = [0];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(answer, *b"N");
    start(&mut stream, "me");
    until(&mut stream, b'Z').expect("it goes on");
}

#[test]
fn nothing_that_was_said_before_encryption_counts() {
    let (server, _) = encrypting(Plain::OwnMachine);
    let mut stream = socket(&server);
    let query = b"Q\0\0\0\x0dSELECT 1\0";
    stream.write_all(&[&SSL_REQUEST[..], query].concat()).expect("it reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer.first(), Some(&b'E'), "{answer:?}");
    assert_eq!(code(&answer[5..]), "08P01");
}

#[test]
fn a_handshake_that_does_not_end_is_cut_off() {
    let (identity, _) = identity();
    let startup_patience = Duration::from_millis(200);
    let options =
        ServerOptions { tls: Some(identity), startup_patience, ..ServerOptions::default() };
    let server = Running::start(options);
    let mut stream = socket(&server);
    stream.write_all(&SSL_REQUEST).expect("it reads");
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("it can be set");
    let began = Instant::now();
    // A byte now and then, of a record that claims to be long.
    let mut hello = [22, 3, 1, 0x3f, 0xff].into_iter().chain(std::iter::repeat(1));
    loop {
        assert!(began.elapsed() < LONG, "it is not cut off");
        let sent = stream.write_all(&[hello.next().expect("it is endless")]);
        let read = stream.read(&mut [0; 64]);
        let is_cut = match (&sent, &read) {
            (Err(_), _) | (_, Ok(0)) => true,
            (Ok(()), Ok(_)) => false,
            (Ok(()), Err(error)) => {
                !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
            }
        };
        if is_cut {
            break;
        }
    }
    server.client().batch_execute("SELECT 1").expect("the server goes on");
}

#[test]
fn others_than_this_machine_need_passwords_and_encryption() {
    let db = Database::open_in_memory(Config::default().threads(1)).expect("it opens");
    let everywhere =
        || ServerOptions { address: ([0, 0, 0, 0], 0).into(), ..ServerOptions::default() };
    let bind = |options| Server::bind(db.clone(), options).map(drop);
    let (identity, _) = identity();
    let tls = || Some(identity.clone());
    let refused = bind(ServerOptions { tls: tls(), ..everywhere() });
    assert!(matches!(refused, Err(ServerError::NoPassword(_))), "{refused:?}");
    db.session().execute("CREATE USER ann PASSWORD 'pencil'").expect("it is new");
    let refused = bind(everywhere());
    assert!(matches!(refused, Err(ServerError::NoEncryption(_))), "{refused:?}");
    let refused = bind(ServerOptions { plain: Plain::Nobody, ..everywhere() });
    assert!(matches!(refused, Err(ServerError::NoCertificate)), "{refused:?}");
    let nonsense = TlsIdentity { certificates: b"nonsense".to_vec(), key: Vec::new() };
    let refused = bind(ServerOptions { tls: Some(nonsense), ..everywhere() });
    assert!(matches!(refused, Err(ServerError::Tls(_))), "{refused:?}");
    bind(ServerOptions { tls: tls(), ..everywhere() }).expect("both are there");
    bind(ServerOptions { plain: Plain::Anybody, ..everywhere() }).expect("it was asked for");
}
