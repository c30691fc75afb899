//! What statements say about transactions.

use hotrow_sql::{
    Compiled, TransactionAccess, TransactionControl, TransactionModes, compile, parse_script,
};
use hotrow_transaction::catalog::Catalog;

/// What a statement says about transactions, without places; else the code of its error.
fn control(text: &str) -> Result<TransactionControl, String> {
    let code = |error: hotrow_transaction::outcome::SqlError| error.code().to_owned();
    let statements = parse_script(text).map_err(code)?;
    match compile(&Catalog::default(), &(), &statements[0]).map_err(code)? {
        Compiled::Transaction(control) => Ok(control),
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn every_spelling_is_understood() {
    let begin =
        |access, is_weaker| Ok(TransactionControl::Begin(TransactionModes { access, is_weaker }));
    let (write, read) = (TransactionAccess::ReadWrite, Some(TransactionAccess::ReadOnly));
    for text in ["BEGIN", "begin work", "BEGIN TRANSACTION", "START TRANSACTION"] {
        assert_eq!(control(text), begin(None, false), "{text}");
    }
    for text in [
        "BEGIN READ ONLY",
        "START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE",
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    ] {
        let is_weaker = text.contains("REPEATABLE");
        assert_eq!(control(text), begin(read, is_weaker), "{text}");
    }
    assert_eq!(control("BEGIN READ ONLY, READ WRITE NOT DEFERRABLE"), begin(Some(write), false));
    for text in ["COMMIT", "commit work", "END", "END TRANSACTION", "COMMIT AND NO CHAIN"] {
        assert_eq!(control(text), Ok(TransactionControl::Commit), "{text}");
    }
    for text in ["ROLLBACK", "ROLLBACK WORK", "ABORT"] {
        assert_eq!(control(text), Ok(TransactionControl::Rollback), "{text}");
    }
    for (text, ended) in [
        ("COMMIT AND CHAIN", TransactionControl::Commit),
        ("rollback work and chain", TransactionControl::Rollback),
    ] {
        assert_eq!(control(text), Ok(TransactionControl::Chain(Box::new(ended))), "{text}");
    }
    assert_eq!(control("SAVEPOINT One"), Ok(TransactionControl::Savepoint("one".to_owned())));
    for (text, name) in [
        ("ROLLBACK TO a", "a"),
        ("ROLLBACK WORK TO SAVEPOINT \"B c\"", "B c"),
        ("ROLLBACK TO savepoint", "savepoint"),
    ] {
        let found = control(text);
        assert!(
            matches!(&found, Ok(TransactionControl::RollbackTo(n, _)) if n == name),
            "{found:?}"
        );
    }
    for text in ["RELEASE a", "RELEASE SAVEPOINT a"] {
        let found = control(text);
        assert!(matches!(&found, Ok(TransactionControl::Release(n, _)) if n == "a"), "{found:?}");
    }
}

#[test]
fn what_is_no_such_statement_is_refused() {
    for (text, code) in [
        ("BEGIN ISOLATION LEVEL CHAOS", "42601"),
        ("BEGIN READ", "42601"),
        ("COMMIT NOW", "42601"),
        ("COMMIT AND CHAIN NOW", "42601"),
        ("ROLLBACK TO", "42601"),
        ("SAVEPOINT", "42601"),
        ("SAVEPOINT a b", "42601"),
    ] {
        assert_eq!(control(text), Err(code.to_owned()), "{text}");
    }
}
