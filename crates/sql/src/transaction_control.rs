//! BEGIN, COMMIT, ROLLBACK and savepoints, as PostgreSQL writes them.
//!
//! ```text
//! BEGIN | START TRANSACTION  [WORK | TRANSACTION] mode, ...
//!   mode        ISOLATION LEVEL any (all are serializable) | READ ONLY | READ WRITE
//!               | [NOT] DEFERRABLE (nothing ever defers)
//! COMMIT | END | ROLLBACK | ABORT  [WORK | TRANSACTION] [AND [NO] CHAIN]
//! ROLLBACK [WORK | TRANSACTION] TO [SAVEPOINT] name
//! SAVEPOINT name   RELEASE [SAVEPOINT] name
//! ```

use hotrow_transaction::program::Place;
use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::token::Cursor;

/// What a statement says about transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionControl {
    /// BEGIN, START TRANSACTION
    Begin(TransactionModes),
    /// COMMIT, END
    Commit,
    /// ROLLBACK, ABORT
    Rollback,
    /// COMMIT or ROLLBACK AND CHAIN: one of these, and the next transaction, with the modes of the
    /// one that ends
    Chain(Box<TransactionControl>),
    /// SAVEPOINT
    Savepoint(String),
    /// ROLLBACK TO SAVEPOINT
    RollbackTo(String, Place),
    /// RELEASE SAVEPOINT
    Release(String, Place),
}

/// What is said of a transaction when it begins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransactionModes {
    /// READ ONLY or READ WRITE; none: as the session has it
    pub access: Option<TransactionAccess>,
    /// an isolation level that asks for less than there is
    pub is_weaker: bool,
}

/// What a transaction may do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TransactionAccess {
    /// READ WRITE
    #[default]
    ReadWrite,
    /// READ ONLY: an attempt to write fails
    ReadOnly,
}

/// Parses such a statement; none when it is another one.
pub(crate) fn transaction_control(cursor: &mut Cursor<'_>) -> Result<Option<TransactionControl>> {
    let control = if cursor.accept("begin") {
        accept_noise(cursor);
        begin(cursor)?
    } else if cursor.accept_all(&["start", "transaction"]) {
        begin(cursor)?
    } else if cursor.accept("commit") || cursor.accept("end") {
        end(cursor, TransactionControl::Commit)?
    } else if cursor.accept("rollback") || cursor.accept("abort") {
        rollback(cursor)?
    } else if cursor.accept("savepoint") {
        TransactionControl::Savepoint(cursor.identifier()?)
    } else if cursor.accept("release") {
        let (name, place) = savepoint_name(cursor)?;
        TransactionControl::Release(name, place)
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(control)) } else { Err(cursor.unexpected("the end")) }
}

fn accept_noise(cursor: &mut Cursor<'_>) {
    let _ = cursor.accept("work") || cursor.accept("transaction");
}

fn begin(cursor: &mut Cursor<'_>) -> Result<TransactionControl> {
    transaction_modes(cursor).map(TransactionControl::Begin)
}

/// Modes, up to the end.
pub(crate) fn transaction_modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes> {
    const LEVELS: [&[&str]; 4] = [
        &["serializable"],
        &["repeatable", "read"],
        &["read", "committed"],
        &["read", "uncommitted"],
    ];
    let mut modes = TransactionModes::default();
    while !cursor.at_end() {
        if cursor.accept_all(&["isolation", "level"]) {
            let Some(level) = LEVELS.iter().position(|level| cursor.accept_all(level)) else {
                return Err(cursor.unexpected("an isolation level"));
            };
            modes.is_weaker = level > 0;
        } else if cursor.accept_all(&["read", "only"]) {
            modes.access = Some(TransactionAccess::ReadOnly);
        } else if cursor.accept_all(&["read", "write"]) {
            modes.access = Some(TransactionAccess::ReadWrite);
        } else if !cursor.accept_all(&["not", "deferrable"]) && !cursor.accept("deferrable") {
            return Err(cursor.unexpected("a transaction mode"));
        }
        cursor.accept_token(&Token::Comma);
    }
    Ok(modes)
}

fn rollback(cursor: &mut Cursor<'_>) -> Result<TransactionControl> {
    accept_noise(cursor);
    if cursor.accept("to") {
        let (name, place) = savepoint_name(cursor)?;
        return Ok(TransactionControl::RollbackTo(name, place));
    }
    end(cursor, TransactionControl::Rollback)
}

fn end(cursor: &mut Cursor<'_>, control: TransactionControl) -> Result<TransactionControl> {
    accept_noise(cursor);
    if cursor.accept_all(&["and", "chain"]) {
        return Ok(TransactionControl::Chain(Box::new(control)));
    }
    cursor.accept_all(&["and", "no", "chain"]);
    Ok(control)
}

fn savepoint_name(cursor: &mut Cursor<'_>) -> Result<(String, Place)> {
    // A savepoint may be called "savepoint".
    let _ = cursor.peek_at(1).is_some() && cursor.accept("savepoint");
    let place = cursor.place();
    Ok((cursor.identifier()?, place))
}
