use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{Verifier, conceal, mac};

fn concealed(text: &str) -> Result<String, String> {
    let mut statements = hotrow_sql::parse_script(text).expect("it is a statement");
    let statement = statements.pop().expect("it is one");
    conceal(statement)
        .map(|statement| statement.text.clone())
        .map_err(|error| error.code().to_owned())
}

/// RFC 7677, section 3.
#[test]
fn it_is_that_of_the_standard() {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("it is base64");
    let verifier = Verifier::salted("pencil", salt, 4096);
    let messages = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
                    r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
                    c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let signature = mac(verifier.stored_key(), &[messages.as_bytes()]);
    let proof = STANDARD.decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    let proof = proof.expect("it is base64");
    let client_key: Vec<u8> = proof.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    assert_eq!(Sha256::digest(client_key).as_slice(), verifier.stored_key());
    let told = STANDARD.encode(mac(verifier.server_key(), &[messages.as_bytes()]));
    assert_eq!(told, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn it_is_read_as_it_is_written() {
    let verifier = Verifier::of_password("correct horse").expect("there are random numbers");
    assert_eq!(Verifier::parse(&verifier.to_string()), Some(verifier.clone()));
    let other = Verifier::of_password("correct horse").expect("there are random numbers");
    assert_ne!(verifier, other, "each has a salt of its own");
    assert_eq!(format!("{verifier:?}"), "Verifier { .. }");
    for wrong in ["", "SCRAM-SHA-256", "SCRAM-SHA-256$1:$:", "SCRAM-SHA-1$4096:YQ==$YQ==:YQ=="] {
        assert_eq!(Verifier::parse(wrong), None, "{wrong}");
    }
    assert_eq!(Verifier::parse(&format!("{verifier}$")), None);
}

#[test]
fn nobody_looks_like_somebody() {
    let nobody = Verifier::of_nobody("ann", &[7; 32]);
    assert_eq!(nobody, Verifier::of_nobody("ann", &[7; 32]), "asked twice, it says the same");
    assert_ne!(nobody.salt(), Verifier::of_nobody("bob", &[7; 32]).salt());
    assert_ne!(nobody.salt(), Verifier::of_nobody("ann", &[8; 32]).salt());
    assert_eq!((nobody.salt().len(), nobody.iterations()), (16, 4096));
}

#[test]
fn a_password_is_concealed_and_a_verifier_is_taken_as_it_is() {
    let text = concealed("CREATE USER ann PASSWORD 'pencil'").expect("it will do");
    assert!(text.starts_with("CREATE ROLE \"ann\" LOGIN "), "{text}");
    assert!(text.contains(" PASSWORD 'SCRAM-SHA-256$4096:"), "{text}");
    assert!(!text.contains("pencil"));
    let again = concealed(&text).expect("it is one");
    assert_eq!(again, text);
    let weak = text.replace("$4096:", "$1:");
    assert_eq!(concealed(&weak), Err("22023".to_owned()));
    let endless = text.replace("$4096:", "$99000000:");
    assert_eq!(concealed(&endless), Err("22023".to_owned()));
    let md5 = "ALTER USER ann PASSWORD 'md50123456789abcdef0123456789abcdef'";
    assert_eq!(concealed(md5), Err("22023".to_owned()));
    assert_eq!(concealed("ALTER USER ann PASSWORD 'SCRAM-SHA-256$x'"), Err("22023".to_owned()));
    assert_eq!(concealed("ALTER USER ann PASSWORD ''"), Err("22023".to_owned()));
    let long = format!("ALTER USER ann PASSWORD '{}'", "x".repeat(1025));
    assert_eq!(concealed(&long), Err("22023".to_owned()));
    assert_eq!(concealed("DROP USER ann"), Ok("DROP USER ann".to_owned()));
}
