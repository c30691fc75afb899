//! Functions of the system catalog, which clients ask when they look at a database.

use hotrow_query::{DescribedBy as D, HostFunction as H, RightOf as R, SystemFunction as S};

use super::row::Evaluation::{Constant, Host, Syntax};
use super::row::{
    Constant as C, FunctionGroup, FunctionRow, SyntaxForm as S_, Volatility, functions,
};
use super::signature::{ANY, BIGINT, BOOLEAN, INTEGER, OID, RELATION_NUMBER, TEXT, many, opt};

const YES: super::row::Evaluation = Constant(C::Truth(true));
const NO: super::row::Evaluation = Constant(C::Truth(false));
const NOTHING: super::row::Evaluation = Constant(C::Null);

pub(super) const CATALOG: FunctionGroup = functions! { "The system catalog":
    format_type(OID, INTEGER) -> TEXT, Stable, Host(H::System(S::FormatType)),
        "a type's name, with the modifier's digits", "format_type(23, NULL)", "integer";
    pg_get_viewdef(RELATION_NUMBER, opt(BOOLEAN)) -> TEXT, Stable,
        Host(H::System(S::ViewDefinition)),
        "a view's query", "pg_get_viewdef('cheap'::regclass) LIKE '%price%'", "true";
    pg_get_partkeydef(OID) -> TEXT, Stable, Host(H::System(S::PartitionKey)),
        "how a table is partitioned", "pg_get_partkeydef('item'::regclass) IS NULL", "true";
    pg_get_indexdef(OID, opt(INTEGER), opt(BOOLEAN)) -> TEXT, Stable,
        Host(H::System(S::IndexDefinition)),
        "CREATE INDEX of an index, or a column of it",
        "pg_get_indexdef('item_name_idx'::regclass, 1, true)", "name";
    pg_get_constraintdef(OID, opt(BOOLEAN)) -> TEXT, Stable,
        Host(H::System(S::ConstraintDefinition)),
        "a constraint as it is written",
        "(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'item_pkey')",
        "PRIMARY KEY (id)";
    pg_get_triggerdef(OID, opt(BOOLEAN)) -> TEXT, Stable,
        Host(H::System(S::TriggerDefinition)),
        "a trigger as it is written",
        "pg_get_triggerdef(1) IS NULL", "true";
    pg_get_function_result(OID) -> TEXT, Stable, Host(H::System(S::FunctionResult)),
        "what a function returns",
        "(SELECT pg_get_function_result(oid) FROM pg_proc WHERE proname = 'twice')", "integer";
    pg_get_function_arguments(OID) -> TEXT, Stable, Host(H::System(S::FunctionParameters)),
        "what a function takes, with modes and defaults",
        "(SELECT pg_get_function_arguments(oid) FROM pg_proc WHERE proname = 'twice')",
        "n integer";
    acldefault(ANY, OID) -> TEXT, Stable, Host(H::System(S::AclDefault)),
        "what is given of a kind of things at first", "acldefault('n', 10) LIKE '%=UC/%'", "true";
    pg_get_function_identity_arguments(OID) -> TEXT, Stable,
        Host(H::System(S::FunctionArguments)),
        "what a function takes",
        "(SELECT pg_get_function_identity_arguments(oid) FROM pg_proc WHERE proname = 'twice')",
        "n integer";
    pg_get_functiondef(OID) -> TEXT, Stable, Host(H::System(S::FunctionDefinition)),
        "CREATE FUNCTION of a function",
        "(SELECT left(pg_get_functiondef(oid), 6) FROM pg_proc WHERE proname = 'twice')",
        "CREATE";
    pg_get_serial_sequence(TEXT, TEXT) -> TEXT, Stable, Host(H::System(S::SerialSequence)),
        "the sequence of a column", "pg_get_serial_sequence('item', 'id')", "public.item_id_seq";
    pg_get_userbyid(OID) -> TEXT, Stable, Host(H::System(S::UserName)),
        "a user's name", "pg_get_userbyid(10) = current_user", "true";
    to_regclass(TEXT) -> OID, Stable, Host(H::System(S::RelationOid)),
        "a relation's number", "to_regclass('item') = 'item'::regclass", "true";
    to_regtype(TEXT) -> OID, Stable, Host(H::System(S::TypeOid)),
        "a type's number", "to_regtype('integer')", "23";
    pg_table_is_visible(OID) -> BOOLEAN, Stable, Host(H::System(S::RelationVisible)),
        "whether a relation is found by its name alone",
        "pg_table_is_visible('item'::regclass)", "true";
    pg_relation_size | pg_table_size | pg_total_relation_size(RELATION_NUMBER) -> BIGINT, Volatile,
        Host(H::System(S::RelationSize)),
        "bytes that its rows and indexes take", "pg_relation_size('item') >= 0", "true";
    pg_database_size | pg_tablespace_size(OID) -> BIGINT, Volatile,
        Host(H::System(S::RelationSize)),
        "bytes that its rows and indexes take", "pg_database_size(1) >= 0", "true";
    pg_get_expr(ANY, many(ANY)) -> ANY, Immutable, Syntax(S_::First),
        "its first argument: expressions are kept as texts", "pg_get_expr('1'::text, 0)", "1";
    pg_typeof(ANY) -> TEXT, Immutable, Syntax(S_::TypeName),
        "the name of its argument's type", "pg_typeof(1::oid)", "oid";
    pg_encoding_to_char(INTEGER) -> TEXT, Immutable, Constant(C::Text("UTF8")),
        "the name of an encoding", "pg_encoding_to_char(6)", "UTF8";
    pg_type_is_visible | pg_function_is_visible | pg_opclass_is_visible | pg_operator_is_visible
        | pg_collation_is_visible | pg_conversion_is_visible | pg_opfamily_is_visible
        | pg_statistics_obj_is_visible(ANY) -> BOOLEAN, Immutable, YES,
        "true: there is one schema", "pg_type_is_visible(23)", "true";
    has_table_privilege(ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::Table))),
        "whether a role, or one's own, may do something with a table or a view",
        "has_table_privilege('item', 'select')", "true";
    has_column_privilege(ANY, ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::Column))),
        "the same of a column",
        "has_column_privilege('item', 'name', 'update')", "true";
    has_any_column_privilege(ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::AnyColumn))),
        "the same of any column of a table",
        "has_any_column_privilege('item', 'insert')", "true";
    has_sequence_privilege(ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::Sequence))),
        "the same of a sequence",
        "has_sequence_privilege('item_id_seq', 'usage')", "true";
    has_schema_privilege(ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::Schema))),
        "the same of a schema", "has_schema_privilege('public', 'create')", "true";
    has_function_privilege(ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::Function))),
        "the same of a function",
        "has_function_privilege('twice(integer)', 'execute')", "true";
    has_database_privilege(ANY, ANY, many(ANY)) -> BOOLEAN, Stable,
        Host(H::System(S::HasRight(R::Database))),
        "the same of the database", "has_database_privilege('hotrow', 'connect')", "true";
    pg_has_role(ANY, ANY, many(ANY)) -> BOOLEAN, Stable, Host(H::System(S::HasRight(R::Role))),
        "whether a role, or one's own, is in a role (MEMBER), and has its rights (USAGE)",
        "pg_has_role(current_user, 'usage')", "true";
    pg_relation_is_publishable | pg_is_other_temp_schema(ANY) -> BOOLEAN, Immutable, NO,
        "false", "pg_relation_is_publishable(1)", "false";
    obj_description | shobj_description(OID, opt(TEXT)) -> TEXT, Stable,
        Host(H::System(S::Described(D::Class))),
        "what COMMENT says of something in a relation of the system catalog",
        "obj_description('public'::regnamespace, 'pg_namespace')", "standard public schema";
    col_description(OID, INTEGER) -> TEXT, Stable, Host(H::System(S::Described(D::Column))),
        "what COMMENT says of a column", "col_description('item'::regclass, 1) IS NULL", "true";
    pg_describe_object | pg_get_partition_constraintdef | pg_get_function_sqlbody
        | pg_get_statisticsobjdef_columns | pg_get_ruledef | oidvectortypes
        | pg_tablespace_location(ANY, many(ANY)) -> TEXT, Immutable, NOTHING,
        "NULL: there is nothing of the kind", "pg_get_ruledef(1) IS NULL", "true";
};
