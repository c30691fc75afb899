//! Functions that choose among values, draw numbers, know the session, or are refused.

use hotrow_query::{HostFunction as H, SystemFunction as S};
use hotrow_transaction::program::Function as F;
use hotrow_transaction::random::Randomness as R;

use super::encoded::INET;
use super::row::Evaluation::{Constant, Host, Random, Refused, Syntax, Values};
use super::row::{
    Constant as C, FunctionGroup, FunctionRow, Labels, SyntaxForm, ValueForm as V, Volatility,
    functions,
};
use super::signature::{
    ANY, ARRAY, BIGINT, BOOLEAN, BYTEA, DOUBLE, ELEMENT, INTEGER, INTEGERS, OID, RELATION, TEXT,
    UUID, VOID, many, opt,
};

pub(super) const CHOICES: FunctionGroup = functions! { "Choices":
    coalesce(ANY, many(ANY)) -> ANY, Immutable, Syntax(SyntaxForm::Coalesce),
        "the first that is not NULL; those behind it are not evaluated",
        "coalesce(NULL, 'a', 'b')", "a";
    nullif(ANY, ANY) -> ANY, Immutable, Values(V::NullIf),
        "NULL if both are equal, else the first", "nullif(3, 4)", "3";
    greatest(ANY, many(ANY)) -> ANY, Immutable, Values(V::Extreme(F::Greatest)),
        "the greatest, NULL left out", "greatest(1, NULL, 3)", "3";
    least(ANY, many(ANY)) -> ANY, Immutable, Values(V::Extreme(F::Least)),
        "the least, NULL left out", "least(1, NULL, 3)", "1";
    num_nulls(ANY, many(ANY)) -> INTEGER, Immutable, Values(V::CountNulls { is_null: true }),
        "how many are NULL", "num_nulls(1, NULL, 3)", "1";
    num_nonnulls(ANY, many(ANY)) -> INTEGER, Immutable, Values(V::CountNulls { is_null: false }),
        "how many are not NULL", "num_nonnulls(1, NULL, 3)", "2";
    enum_first(ANY) -> ELEMENT, Immutable, Values(V::Labels(Labels::First)),
        "the first value of an enum's type, whatever value is given",
        "enum_first(NULL::mood)", "sad";
    enum_last(ANY) -> ELEMENT, Immutable, Values(V::Labels(Labels::Last)),
        "the last value of an enum's type", "enum_last(NULL::mood)", "happy";
    enum_range(ANY) -> ARRAY, Immutable, Values(V::Labels(Labels::All)),
        "all values of an enum's type, in their order", "enum_range(NULL::mood)", "{sad,ok,happy}";
};

pub(super) const DRAWN: FunctionGroup = functions! { "Sequences and random values":
    nextval(RELATION) -> BIGINT, Volatile, Syntax(SyntaxForm::NextNumber),
        "the sequence's next number", "nextval('numbers') > 0", "true";
    currval(RELATION) -> BIGINT, Volatile, Host(H::System(S::CurrentValue)),
        "what the session last took from the sequence", "currval('numbers') > 0", "true";
    lastval() -> BIGINT, Volatile, Host(H::System(S::LastValue)),
        "what the session last took from any sequence", "lastval() > 0", "true";
    setval(RELATION, BIGINT, opt(BOOLEAN)) -> BIGINT, Volatile, Host(H::System(S::SetValue)),
        "goes on behind that number; at it, if the last argument is false",
        "setval('numbers', 41)", "41";
    random() -> DOUBLE, Volatile, Random(R::Double),
        "from 0 to below 1", "random() < 1", "true";
    gen_random_uuid | uuid_generate_v4() -> UUID, Volatile, Random(R::Uuid),
        "a random UUID", "length(gen_random_uuid()::text)", "36";
    gen_random_bytes(INTEGER) -> BYTEA, Volatile, Syntax(SyntaxForm::RandomBytes),
        "so many random bytes, 1024 at most", "length(gen_random_bytes(20))", "20";
    uuidv7() -> UUID, Volatile, Random(R::OrderedUuid),
        "a UUID that begins with the time", "substr(uuidv7()::text, 15, 1)", "7";
};

pub(super) const SESSION: FunctionGroup = functions! { "The session":
    current_user | user | current_role() -> TEXT, Stable, Host(H::System(S::CurrentUser)),
        "the role that statements are run with", "current_user = user", "true";
    session_user() -> TEXT, Stable, Host(H::System(S::SessionUser)),
        "the session's user", "session_user = current_user", "true";
    current_database | current_catalog() -> TEXT, Stable, Host(H::System(S::CurrentDatabase)),
        "the database", "current_database() = current_catalog", "true";
    current_schema() -> TEXT, Immutable, Constant(C::Schema),
        "the schema in which names are looked up first", "current_schema()", "public";
    current_schemas(opt(BOOLEAN)) -> ARRAY, Immutable, Constant(C::Schemas),
        "all such schemas", "array_to_string(current_schemas(true), ' ')", "pg_catalog public";
    current_setting(TEXT, opt(BOOLEAN)) -> TEXT, Stable, Host(H::System(S::CurrentSetting)),
        "a setting; if the last argument is true, NULL for one that there is not",
        "current_setting('server_encoding')", "UTF8";
    set_config(TEXT, TEXT, BOOLEAN) -> TEXT, Volatile, Host(H::System(S::SetConfig)),
        "sets a setting; if the last argument is true, for the transaction",
        "set_config('application_name', 'shop', false)", "shop";
    version() -> TEXT, Immutable, Constant(C::Text(VERSION)),
        "which database it is", "left(version(), 10)", "PostgreSQL";
    pg_client_encoding | getdatabaseencoding() -> TEXT, Immutable, Constant(C::Text("UTF8")),
        "how texts are encoded", "pg_client_encoding()", "UTF8";
    pg_backend_pid() -> INTEGER, Stable, Host(H::System(S::BackendPid)),
        "the session's number", "pg_backend_pid() = pg_backend_pid()", "true";
    pg_cancel_backend(INTEGER) -> BOOLEAN, Volatile, Host(H::System(S::CancelBackend)),
        "ends what that session does", "pg_cancel_backend(0)", "false";
    pg_terminate_backend(INTEGER) -> BOOLEAN, Volatile, Host(H::System(S::TerminateBackend)),
        "ends that session", "pg_terminate_backend(0)", "false";
    pg_isolation_test_session_is_blocked(INTEGER, INTEGERS) -> BOOLEAN, Volatile,
        Host(H::System(S::IsBlocked)),
        "whether that session waits for a lock",
        "pg_isolation_test_session_is_blocked(0, '{}')", "false";
    pg_sleep(DOUBLE) -> VOID, Volatile, Host(H::System(S::Sleep)),
        "waits so many seconds", "pg_sleep(0)", "";
    pg_is_in_recovery() -> BOOLEAN, Immutable, Constant(C::Truth(false)),
        "false: there are no standbys", "pg_is_in_recovery()", "false";
    inet_server_addr | inet_client_addr() -> INET, Immutable, Constant(C::Null),
        "NULL", "inet_server_addr() IS NULL", "true";
    pg_my_temp_schema() -> OID, Immutable, Constant(C::Null),
        "NULL: its number is not told", "pg_my_temp_schema() IS NULL", "true";
};

/// Functions of PostgreSQL's that a replay of the log could not repeat.
pub(super) const REFUSED: FunctionGroup = functions! { "Refused":
    setseed(DOUBLE) -> VOID, Volatile,
        Refused("random values are drawn from a seed of each call: leave it out"),
        "sets the seed of random()", "setseed(0.5)", "";
    timeofday() -> TEXT, Volatile, Refused(PASS_VALUE), "the clock as text", "timeofday()", "";
    txid_current() -> BIGINT, Volatile, Refused(PASS_VALUE),
        "the transaction's number", "txid_current()", "";
    pg_notify(TEXT, TEXT) -> VOID, Volatile, Refused(NOTIFY_ALONE),
        "sends a text to whoever listens to a channel; alone in PERFORM or SELECT it is there",
        "pg_notify('orders', '17')", "";
    random_normal(opt(DOUBLE), opt(DOUBLE)) -> DOUBLE, Volatile, Refused(PASS_VALUE),
        "a random value of a normal distribution", "random_normal()", "";
};

/// Where `pg_notify` stands.
const NOTIFY_ALONE: &str = "write PERFORM pg_notify(channel, payload), or SELECT of it, alone";

/// What to do in place of a function whose value a replay would not find again.
pub(crate) const PASS_VALUE: &str = "a procedure must do the same when it is replayed from the \
    log: pass the value as a parameter (for time, now() is decided once per call)";

/// What `version()` says: clients read PostgreSQL's number out of it.
const VERSION: &str = concat!("PostgreSQL 15.0 (Hotrow ", env!("CARGO_PKG_VERSION"), ")");
