use hotrow::Verifier;

use super::{Exchange, Failed, MECHANISM, MECHANISM_PLUS};

/// That of RFC 7677, section 3: user `user`, password `pencil`.
const PENCIL: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==\
                      $WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=\
                      :wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
const FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

fn pencil() -> (Verifier, bool) {
    (Verifier::parse(PENCIL).expect("it is one"), true)
}

fn begin(first: &str) -> Result<(Exchange, String), Failed> {
    Exchange::begin_with(MECHANISM, first.as_bytes(), None, pencil(), NONCE)
}

#[test]
fn it_goes_as_in_the_standard() {
    let (exchange, answer) = begin(FIRST).expect("it begins");
    assert_eq!(
        answer,
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    );
    let last = exchange.end(LAST.as_bytes()).expect("the password is right");
    assert_eq!(last, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

#[test]
fn a_wrong_proof_and_an_unknown_user_fail_alike() {
    let wrong = LAST.replace("p=dHzb", "p=dHzc");
    let (exchange, _) = begin(FIRST).expect("it begins");
    assert_eq!(exchange.end(wrong.as_bytes()), Err(Failed::Wrong));
    // Even with a proof that fits what was made up.
    let unknown = (pencil().0, false);
    let begun = Exchange::begin_with(MECHANISM, FIRST.as_bytes(), None, unknown, NONCE);
    let (exchange, _) = begun.expect("it begins all the same");
    assert_eq!(exchange.end(LAST.as_bytes()), Err(Failed::Wrong));
}

#[test]
fn what_is_no_message_is_refused() {
    let malformed = |result: Result<_, Failed>| matches!(result, Err(Failed::Malformed(_)));
    for first in [
        "",
        "n",
        "n,,",
        "n,,n=user",
        "n,,r=abc,n=user",
        "n,,n=user,r=",
        "n,,n=user,r=a b",
        "n,a=other,n=user,r=abc",
        "n,,m=new,n=user,r=abc",
        "p=tls-unique,,n=user,r=abc",
        "p=tls-server-end-point,,n=user,r=abc",
        "x,,n=user,r=abc",
    ] {
        assert!(malformed(begin(first).map(drop)), "{first}");
    }
    assert!(malformed(
        Exchange::begin_with(MECHANISM, b"n,,n=\xff,r=abc", None, pencil(), NONCE).map(drop)
    ));
    for last in [
        "",
        "c=biws",
        "c=biws,r=other,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        &LAST.replace("c=biws", "c=eSws"),
        &LAST.replace("p=dHzb", "p=dH"),
        &LAST.replace("p=dHzb", "p=####"),
        &format!("{LAST},p="),
    ] {
        let (exchange, _) = begin(FIRST).expect("it begins");
        assert!(malformed(exchange.end(last.as_bytes()).map(drop)), "{last}");
    }
}

#[test]
fn a_channel_is_bound_where_there_is_one() {
    let channel = Some(&b"certificate's hash"[..]);
    let begin = |mechanism, flag: &str| {
        let first = format!("{flag},,n=user,r=abc");
        Exchange::begin_with(mechanism, first.as_bytes(), channel, pencil(), NONCE).map(|(e, _)| e)
    };
    assert!(begin(MECHANISM_PLUS, "n").is_err());
    assert!(begin(MECHANISM, "y").is_err(), "it was not told of the other mechanism: I2");
    assert!(begin(MECHANISM, "n").is_ok());
    let exchange = begin(MECHANISM_PLUS, "p=tls-server-end-point").expect("it begins");
    assert_eq!(exchange.bound, b"p=tls-server-end-point,,certificate's hash");
    assert!(matches!(exchange.end(LAST.as_bytes()), Err(Failed::Malformed(_))), "not bound");
}
