//! Functions that programs do not have, by their names: of arrays, names, patterns and the session.

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{HostFunction, SystemFunction};

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
