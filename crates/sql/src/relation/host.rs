//! Functions that programs do not have: of arrays, names, patterns and the session.
//!
//! Role         names and types; `hotrow-query` evaluates those of values alone, and asks whoever
//!              runs it for those of catalog and session

use hotrow_base::json::{JsonFunction, JsonRows};
use hotrow_base::types::{DataType, SqlType};

/// A function that is evaluated beside programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostFunction {
    /// array_to_string(array, separator [, for NULL])
    ArrayToString,
    /// string_to_array(text, separator)
    StringToArray,
    /// array_position(array, text)
    ArrayPosition,
    /// ARRAY[...], of texts
    ArrayOf,
    /// array || array, array || element
    ArrayConcat,
    /// CASE of arrays: the array that the first argument counts, from 1 on; NULL counts none
    ArrayChoice,
    /// COALESCE of arrays
    ArrayCoalesce,
    /// array = array
    ArrayEqual,
    /// array[index]
    ArrayElement,
    /// array_length(array, 1), array_upper(array, 1)
    ArrayLength,
    /// text ~ pattern
    Matches,
    /// text ~* pattern
    MatchesAnyCase,
    /// regexp_replace(text, pattern, replacement [, flags])
    RegexpReplace,
    /// split_part(text, separator, n)
    SplitPart,
    /// integer & integer
    BitAnd,
    /// a function of json or jsonb with arrays among its arguments, and what it gives
    Json(JsonFunction, DataType),
    /// a function of json or jsonb that gives rows
    JsonRows(JsonRows),
    /// pg_size_pretty(bytes)
    SizePretty,
    /// quote_ident(text)
    QuoteIdent,
    /// quote_literal(text)
    QuoteLiteral,
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

/// A function of catalog or session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemFunction {
    /// current_user, session_user, user
    CurrentUser,
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
    /// pg_get_indexdef(oid [, column, pretty])
    IndexDefinition,
    /// pg_get_constraintdef(oid [, pretty])
    ConstraintDefinition,
    /// pg_get_function_result(oid)
    FunctionResult,
    /// pg_get_function_arguments(oid), pg_get_function_identity_arguments(oid)
    FunctionArguments,
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
    /// pg_relation_size(oid) and its kin
    RelationSize,
    /// pg_get_serial_sequence(table, column)
    SerialSequence,
    /// pg_table_is_visible(oid)
    RelationVisible,
    /// set_config(name, value, is_local)
    SetConfig,
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

/// What a function takes and gives.
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) function: HostFunction,
    /// the least number of arguments
    pub(crate) least: usize,
    /// types of all arguments
    pub(crate) takes: &'static [SqlType],
    pub(crate) gives: SqlType,
}

const TEXT: SqlType = SqlType::Scalar(DataType::Text);
const INT: SqlType = SqlType::Scalar(DataType::Integer);
const OID: SqlType = SqlType::Scalar(DataType::BigInt);
const DOUBLE: SqlType = SqlType::Scalar(DataType::Double);
const TRUTH: SqlType = SqlType::Scalar(DataType::Boolean);
const TEXTS: SqlType = SqlType::Array(DataType::Text);
const INTS: SqlType = SqlType::Array(DataType::Integer);

/// Functions with arguments of fixed types. Arrays are taken whatever their elements are.
pub(crate) const SIGNATURES: &[Signature] = {
    use HostFunction as H;
    use SystemFunction as S;
    const fn f(
        name: &'static str,
        function: HostFunction,
        least: usize,
        takes: &'static [SqlType],
        gives: SqlType,
    ) -> Signature {
        Signature { name, function, least, takes, gives }
    }
    &[
        f("array_to_string", H::ArrayToString, 2, &[TEXTS, TEXT, TEXT], TEXT),
        f("string_to_array", H::StringToArray, 2, &[TEXT, TEXT], TEXTS),
        f("array_position", H::ArrayPosition, 2, &[TEXTS, TEXT], INT),
        f("regexp_replace", H::RegexpReplace, 3, &[TEXT, TEXT, TEXT, TEXT], TEXT),
        f("regexp_like", H::Matches, 2, &[TEXT, TEXT], TRUTH),
        f("split_part", H::SplitPart, 3, &[TEXT, TEXT, INT], TEXT),
        f("pg_size_pretty", H::SizePretty, 1, &[OID], TEXT),
        f("quote_ident", H::QuoteIdent, 1, &[TEXT], TEXT),
        f("quote_literal", H::QuoteLiteral, 1, &[TEXT], TEXT),
        f("current_user", H::System(S::CurrentUser), 0, &[], TEXT),
        f("session_user", H::System(S::CurrentUser), 0, &[], TEXT),
        f("user", H::System(S::CurrentUser), 0, &[], TEXT),
        f("current_role", H::System(S::CurrentUser), 0, &[], TEXT),
        f("pg_get_userbyid", H::System(S::CurrentUser), 1, &[OID], TEXT),
        f("current_database", H::System(S::CurrentDatabase), 0, &[], TEXT),
        f("current_catalog", H::System(S::CurrentDatabase), 0, &[], TEXT),
        f("current_setting", H::System(S::CurrentSetting), 1, &[TEXT, TRUTH], TEXT),
        f("pg_backend_pid", H::System(S::BackendPid), 0, &[], INT),
        f("format_type", H::System(S::FormatType), 2, &[OID, INT], TEXT),
        f("pg_get_viewdef", H::System(S::ViewDefinition), 1, &[OID, TRUTH], TEXT),
        f("pg_get_indexdef", H::System(S::IndexDefinition), 1, &[OID, INT, TRUTH], TEXT),
        f("pg_get_constraintdef", H::System(S::ConstraintDefinition), 1, &[OID, TRUTH], TEXT),
        f("pg_get_function_result", H::System(S::FunctionResult), 1, &[OID], TEXT),
        f("pg_get_function_arguments", H::System(S::FunctionArguments), 1, &[OID], TEXT),
        f("pg_get_function_identity_arguments", H::System(S::FunctionArguments), 1, &[OID], TEXT),
        f("pg_get_functiondef", H::System(S::FunctionDefinition), 1, &[OID], TEXT),
        f("to_regclass", H::System(S::RelationOid), 1, &[TEXT], OID),
        f("to_regtype", H::System(S::TypeOid), 1, &[TEXT], OID),
        f("pg_sleep", H::System(S::Sleep), 1, &[DOUBLE], TEXT),
        f("pg_cancel_backend", H::System(S::CancelBackend), 1, &[INT], TRUTH),
        f("pg_terminate_backend", H::System(S::TerminateBackend), 1, &[INT], TRUTH),
        f("pg_isolation_test_session_is_blocked", H::System(S::IsBlocked), 2, &[INT, INTS], TRUTH),
        f("pg_relation_size", H::System(S::RelationSize), 1, &[OID], OID),
        f("pg_total_relation_size", H::System(S::RelationSize), 1, &[OID], OID),
        f("pg_database_size", H::System(S::RelationSize), 1, &[OID], OID),
        f("pg_tablespace_size", H::System(S::RelationSize), 1, &[OID], OID),
        f("pg_table_size", H::System(S::RelationSize), 1, &[OID], OID),
        f("pg_get_serial_sequence", H::System(S::SerialSequence), 2, &[TEXT, TEXT], TEXT),
        f("pg_table_is_visible", H::System(S::RelationVisible), 1, &[OID], TRUTH),
        f("set_config", H::System(S::SetConfig), 3, &[TEXT, TEXT, TRUTH], TEXT),
        f("nextval", H::System(S::NextValue), 1, &[TEXT], OID),
        f("currval", H::System(S::CurrentValue), 1, &[TEXT], OID),
        f("lastval", H::System(S::LastValue), 0, &[], OID),
        f("setval", H::System(S::SetValue), 2, &[TEXT, OID, TRUTH], OID),
    ]
};

/// Functions that say the same whatever they are asked: number of arguments and result.
pub(crate) enum Known {
    Text(&'static str),
    Truth(bool),
    Nothing,
    /// its first argument
    First,
}

/// What is known of a function by its name alone.
pub(crate) fn known(name: &str) -> Option<Known> {
    Some(match name {
        "version" => Known::Text(VERSION),
        "current_schema" => Known::Text("public"),
        "getdatabaseencoding" | "pg_encoding_to_char" => Known::Text("UTF8"),
        "pg_client_encoding" => Known::Text("UTF8"),
        "pg_type_is_visible"
        | "pg_function_is_visible"
        | "pg_opclass_is_visible"
        | "pg_operator_is_visible"
        | "pg_collation_is_visible"
        | "pg_conversion_is_visible"
        | "pg_opfamily_is_visible"
        | "pg_statistics_obj_is_visible"
        | "has_table_privilege"
        | "has_schema_privilege"
        | "has_database_privilege"
        | "has_column_privilege"
        | "has_any_column_privilege"
        | "has_sequence_privilege"
        | "has_function_privilege"
        | "pg_has_role" => Known::Truth(true),
        "pg_is_in_recovery" | "pg_relation_is_publishable" | "pg_is_other_temp_schema" => {
            Known::Truth(false)
        }
        "obj_description"
        | "col_description"
        | "shobj_description"
        | "pg_get_partkeydef"
        | "pg_get_function_sqlbody"
        | "pg_get_partition_constraintdef"
        | "pg_describe_object"
        | "oidvectortypes"
        | "pg_get_statisticsobjdef_columns"
        | "pg_get_triggerdef"
        | "pg_get_ruledef"
        | "pg_tablespace_location"
        | "inet_server_addr"
        | "inet_client_addr"
        | "pg_my_temp_schema" => Known::Nothing,
        // Defaults and conditions are kept as their text.
        "pg_get_expr" => Known::First,
        _ => return None,
    })
}

/// What `version()` says: clients read PostgreSQL's number out of it.
const VERSION: &str = concat!("PostgreSQL 15.0 (Hotrow ", env!("CARGO_PKG_VERSION"), ")");
