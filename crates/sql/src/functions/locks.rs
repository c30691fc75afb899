//! Functions of advisory locks.

use hotrow_query::{
    Advisory, AdvisoryLevel as Level, AdvisoryMode as Mode, AdvisoryStep as Step, HostFunction,
    SystemFunction,
};

use super::row::{Evaluation, FunctionGroup, FunctionRow, Volatility, functions};
use super::signature::{BIGINT, BOOLEAN, INTEGER, VOID};

const fn advisory(step: Step, mode: Mode, level: Level) -> Evaluation {
    let of = Advisory { step, mode, level };
    Evaluation::Host(HostFunction::System(SystemFunction::Advisory(of)))
}

const LOCK: Evaluation = advisory(Step::Lock, Mode::Exclusive, Level::Session);
const LOCK_SHARED: Evaluation = advisory(Step::Lock, Mode::Shared, Level::Session);
const LOCK_XACT: Evaluation = advisory(Step::Lock, Mode::Exclusive, Level::Transaction);
const LOCK_XACT_SHARED: Evaluation = advisory(Step::Lock, Mode::Shared, Level::Transaction);
const TRY: Evaluation = advisory(Step::Try, Mode::Exclusive, Level::Session);
const TRY_SHARED: Evaluation = advisory(Step::Try, Mode::Shared, Level::Session);
const TRY_XACT: Evaluation = advisory(Step::Try, Mode::Exclusive, Level::Transaction);
const TRY_XACT_SHARED: Evaluation = advisory(Step::Try, Mode::Shared, Level::Transaction);
const UNLOCK: Evaluation = advisory(Step::Unlock, Mode::Exclusive, Level::Session);
const UNLOCK_SHARED: Evaluation = advisory(Step::Unlock, Mode::Shared, Level::Session);
const UNLOCK_ALL: Evaluation = advisory(Step::UnlockAll, Mode::Exclusive, Level::Session);

/// A lock has a key of 64 bits, or two of 32 bits each.
pub(super) const ADVISORY_LOCKS: FunctionGroup = functions! { "Advisory locks":
    pg_advisory_lock(BIGINT) -> VOID, Volatile, LOCK,
        "waits for a lock of the session", "pg_advisory_lock(1)", "";
    pg_advisory_lock(INTEGER, INTEGER) -> VOID, Volatile, LOCK,
        "waits for a lock of the session", "pg_advisory_lock(1, 2)", "";
    pg_advisory_lock_shared(BIGINT) -> VOID, Volatile, LOCK_SHARED,
        "waits for a lock of the session that others may share", "pg_advisory_lock_shared(2)", "";
    pg_advisory_lock_shared(INTEGER, INTEGER) -> VOID, Volatile, LOCK_SHARED,
        "waits for a lock of the session that others may share", "pg_advisory_lock_shared(2, 2)",
        "";
    pg_advisory_xact_lock(BIGINT) -> VOID, Volatile, LOCK_XACT,
        "waits for a lock of the transaction", "pg_advisory_xact_lock(3)", "";
    pg_advisory_xact_lock(INTEGER, INTEGER) -> VOID, Volatile, LOCK_XACT,
        "waits for a lock of the transaction", "pg_advisory_xact_lock(3, 2)", "";
    pg_advisory_xact_lock_shared(BIGINT) -> VOID, Volatile, LOCK_XACT_SHARED,
        "waits for a lock of the transaction that others may share",
        "pg_advisory_xact_lock_shared(4)", "";
    pg_advisory_xact_lock_shared(INTEGER, INTEGER) -> VOID, Volatile, LOCK_XACT_SHARED,
        "waits for a lock of the transaction that others may share",
        "pg_advisory_xact_lock_shared(4, 2)", "";
    pg_try_advisory_lock(BIGINT) -> BOOLEAN, Volatile, TRY,
        "takes a lock of the session, if it is free", "pg_try_advisory_lock(5)", "true";
    pg_try_advisory_lock(INTEGER, INTEGER) -> BOOLEAN, Volatile, TRY,
        "takes a lock of the session, if it is free", "pg_try_advisory_lock(5, 2)", "true";
    pg_try_advisory_lock_shared(BIGINT) -> BOOLEAN, Volatile, TRY_SHARED,
        "shares a lock of the session, if it may", "pg_try_advisory_lock_shared(6)", "true";
    pg_try_advisory_lock_shared(INTEGER, INTEGER) -> BOOLEAN, Volatile, TRY_SHARED,
        "shares a lock of the session, if it may", "pg_try_advisory_lock_shared(6, 2)", "true";
    pg_try_advisory_xact_lock(BIGINT) -> BOOLEAN, Volatile, TRY_XACT,
        "takes a lock of the transaction, if it is free", "pg_try_advisory_xact_lock(7)", "true";
    pg_try_advisory_xact_lock(INTEGER, INTEGER) -> BOOLEAN, Volatile, TRY_XACT,
        "takes a lock of the transaction, if it is free", "pg_try_advisory_xact_lock(7, 2)",
        "true";
    pg_try_advisory_xact_lock_shared(BIGINT) -> BOOLEAN, Volatile, TRY_XACT_SHARED,
        "shares a lock of the transaction, if it may", "pg_try_advisory_xact_lock_shared(8)",
        "true";
    pg_try_advisory_xact_lock_shared(INTEGER, INTEGER) -> BOOLEAN, Volatile, TRY_XACT_SHARED,
        "shares a lock of the transaction, if it may", "pg_try_advisory_xact_lock_shared(8, 2)",
        "true";
    pg_advisory_unlock(BIGINT) -> BOOLEAN, Volatile, UNLOCK,
        "gives a lock of the session back, if it has it", "pg_advisory_unlock(1)", "true";
    pg_advisory_unlock(INTEGER, INTEGER) -> BOOLEAN, Volatile, UNLOCK,
        "gives a lock of the session back, if it has it", "pg_advisory_unlock(1, 2)", "true";
    pg_advisory_unlock_shared(BIGINT) -> BOOLEAN, Volatile, UNLOCK_SHARED,
        "gives a shared lock of the session back, if it has it", "pg_advisory_unlock_shared(2)",
        "true";
    pg_advisory_unlock_shared(INTEGER, INTEGER) -> BOOLEAN, Volatile, UNLOCK_SHARED,
        "gives a shared lock of the session back, if it has it",
        "pg_advisory_unlock_shared(2, 2)", "true";
    pg_advisory_unlock_all() -> VOID, Volatile, UNLOCK_ALL,
        "gives all locks of the session back", "pg_advisory_unlock_all()", "";
};
