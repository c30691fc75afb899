//! Functions that programs do not have: of arrays, names, patterns and the session.
//!
//! Role         which there are; [`super::host`] evaluates those of values alone, and whoever runs
//!              a query is asked for those of catalog and session

use crate::dissected::DissectedFunction;
use hotrow_base::json::{JsonFunction, JsonRecords, JsonRows, PathFunction};
use hotrow_base::types::DataType;
use hotrow_transaction::random::Randomness;

/// A function that is evaluated beside programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostFunction {
    /// another function of regular expressions
    Pattern(PatternFunction),
    /// a function of regular expressions that gives rows
    PatternRows(PatternRows),
    /// split_part(text, separator, n)
    SplitPart,
    /// a function of json or jsonb with arrays among its arguments, and what it gives
    Json(JsonFunction, DataType),
    /// a function of json or jsonb that gives rows
    JsonRows(JsonRows),
    /// a function of json or jsonb that gives objects as rows
    JsonRecords(JsonRecords),
    /// a function of a path in a jsonb
    JsonPath(PathFunction),
    /// a path as PostgreSQL shows it: `text::jsonpath`
    JsonPathText,
    /// a function that takes a text apart
    Dissected(DissectedFunction),
    /// string_to_table(text, separator [, null])
    Parts,
    /// pg_size_pretty(bytes)
    SizePretty,
    /// quote_ident(text)
    QuoteIdent,
    /// quote_literal(text)
    QuoteLiteral,
    /// a random value of a procedure's query: the call's seed, place, turn and time
    Random(Randomness),
    /// what the session or the catalog knows
    System(SystemFunction),
    /// pg_get_keywords()
    Keywords,
    /// generate_series(from, to [, step])
    Series,
    /// unnest(array): its elements
    Unnest,
    /// generate_subscripts(array, 1)
    Subscripts,
    /// its argument in one row: pg_partition_ancestors(oid), of tables without partitions
    Itself,
    /// information_schema._pg_expandarray(array): elements and their numbers
    ExpandArray,
}

/// A function of regular expressions that gives a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternFunction {
    /// regexp_like(text, pattern [, flags])
    Like,
    /// regexp_match(text, pattern [, flags])
    Match,
    /// regexp_split_to_array(text, pattern [, flags])
    SplitToArray,
    /// regexp_count(text, pattern [, start [, flags]])
    Count,
    /// regexp_instr(text, pattern [, start [, n [, end [, flags [, group]]]]])
    Place,
    /// regexp_substr(text, pattern [, start [, n [, flags [, group]]]])
    Part,
    /// regexp_replace(text, pattern, new [, flags]), or with start [, n [, flags]]
    Replace,
    /// substring(text FROM pattern)
    Substring,
    /// similar_to_escape(pattern [, escape]), of SIMILAR TO
    SimilarToEscape,
    /// substring(text SIMILAR pattern ESCAPE character)
    SimilarSubstring,
}

/// A function of regular expressions that gives rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternRows {
    /// regexp_matches(text, pattern [, flags])
    Matches,
    /// regexp_split_to_table(text, pattern [, flags])
    Split,
}

/// By what a comment is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DescribedBy {
    /// obj_description(oid [, relation of the system catalog]), shobj_description
    Class,
    /// col_description(oid, column)
    Column,
}

/// Of what `has_..._privilege` tells whether somebody has rights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RightOf {
    /// has_table_privilege
    Table,
    /// has_any_column_privilege
    AnyColumn,
    /// has_column_privilege
    Column,
    /// has_sequence_privilege
    Sequence,
    /// has_schema_privilege
    Schema,
    /// has_function_privilege
    Function,
    /// has_database_privilege
    Database,
    /// has_type_privilege
    Type,
    /// pg_has_role
    Role,
}

/// A function of catalog or session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemFunction {
    /// current_user, user, current_role
    CurrentUser,
    /// session_user
    SessionUser,
    /// which policies of a table are of whoever asks, or of a view's owner
    OwnPolicies,
    /// pg_get_userbyid(oid)
    UserName,
    /// whether somebody has rights of something
    HasRight(RightOf),
    /// the comment on something
    Described(DescribedBy),
    /// current_database(), current_catalog
    CurrentDatabase,
    /// current_setting(name [, missing_ok])
    CurrentSetting,
    /// pg_backend_pid()
    BackendPid,
    /// format_type(oid, typmod)
    FormatType,
    /// pg_get_viewdef(oid [, pretty])
    ViewDefinition,
    /// pg_get_partkeydef(oid)
    PartitionKey,
    /// pg_get_indexdef(oid [, column, pretty])
    IndexDefinition,
    /// pg_get_constraintdef(oid [, pretty])
    ConstraintDefinition,
    /// pg_get_triggerdef(oid [, pretty])
    TriggerDefinition,
    /// pg_get_function_result(oid)
    FunctionResult,
    /// pg_get_function_identity_arguments(oid)
    FunctionArguments,
    /// pg_get_function_arguments(oid)
    FunctionParameters,
    /// acldefault(kind, owner)
    AclDefault,
    /// pg_get_functiondef(oid)
    FunctionDefinition,
    /// oid::regclass, as text
    RelationName,
    /// oid::regtype, as text
    TypeName,
    /// name::regclass, as oid; to_regclass(name)
    RelationOid,
    /// name::regtype, as oid
    TypeOid,
    /// name::regproc::oid
    ProcedureOid,
    /// pg_relation_size(oid) and its kin
    RelationSize,
    /// pg_get_serial_sequence(table, column)
    SerialSequence,
    /// pg_table_is_visible(oid)
    RelationVisible,
    /// set_config(name, value, is_local)
    SetConfig,
    /// a random value of a session's query
    Random(Randomness),
    /// nextval(sequence)
    NextValue,
    /// currval(sequence)
    CurrentValue,
    /// lastval()
    LastValue,
    /// setval(sequence, number [, is_called])
    SetValue,
    /// pg_sleep(seconds)
    Sleep,
    /// pg_cancel_backend(number)
    CancelBackend,
    /// pg_terminate_backend(number)
    TerminateBackend,
    /// pg_advisory_lock(key) and its kin
    Advisory(Advisory),
    /// pg_isolation_test_session_is_blocked(number, numbers): whether that session waits for a
    /// lock, whoever holds it
    IsBlocked,
}

/// A function of advisory locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advisory {
    /// what it does
    pub step: AdvisoryStep,
    /// who else may have the lock
    pub mode: AdvisoryMode,
    /// what it ends with
    pub level: AdvisoryLevel,
}

/// What is done with an advisory lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvisoryStep {
    /// taken, when it is free
    Lock,
    /// taken, if it is free
    Try,
    /// given back
    Unlock,
    /// all of the session's are given back
    UnlockAll,
}

/// Who may have an advisory lock at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvisoryMode {
    /// others that share it
    Shared,
    /// nobody
    Exclusive,
}

/// How long an advisory lock is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdvisoryLevel {
    /// until it is given back, or the session ends
    Session,
    /// until the transaction ends
    Transaction,
}
