//! SQL and PL/pgSQL text to catalog changes and procedures.
//!
//! Should I be using this? To embed Hotrow, use the crate `hotrow`, whose sessions take text.
//! Read this one to learn what the text becomes: [`parse_script`] splits and parses a script,
//! [`compile`] looks names up, types every expression, chooses access paths and gives a
//! [`Compiled`]: a change of the catalog, a procedure to register, or a statement to run, itself
//! an anonymous procedure. Everything outside the subset (docs/sql.md) is refused
//! here, with a place and what to write instead, never when a call runs.
//!
//! Reading order, from the ground up; a file imports those of its own line and of lines above it:
//!
//! | | |
//! |---|---|
//! | texts | `token`, `written`, `search_path`, `error` |
//! | what there is to call | `functions` |
//! | what a compilation keeps in mind | `state`, `relation::level`, `operand`, `open_literals`, `scope` |
//! | statements as trees | `syntax`, `script_statement`, `anonymous`, `holds`, `script`, `routine`, `block`, `transaction_control` |
//! | expressions | `typing`, `types`, `expression`, `function`, `operator`, `temporal`, `json` |
//! | accesses to one table | `path`, `source`, `relation::one_access`, `consume`, `emit`, `row_order`, `change`, `foreign_key` |
//! | which rows are for whom | `secured`, `policy` |
//! | what views do instead | `instead` |
//! | what whoever listens is sent | `notify` |
//! | partitions | `partition`, `partition_checks`, `partition_rows`, `partition_keys` |
//! | queries of any shape | `relation` and what is in it, `operators` |
//! | triggers | `fire`, `fire_later`, `fire_at_end`, `triggered`, `trigger_body` |
//! | programs | `statement`, `loops`, `leave`, `create` |
//! | calls of other routines | `inline`, `called_read`, `recursion`, `circle`, `polymorphic` |
//! | blocks that are run statement by statement | `interpreted` and what is in it, `open_cursors` |
//! | definitions | `schema`, `changes`, `definition`, `constraint`, `hidden`, `index`, `alter`, `altered`, `rename`, `domain_column`, `alter_domain`, `drop_type`, `like`, `materialized`, `apply` |
//! | the rest | `maintenance`, `truncated`, `copy`, `setting`, `parameters`, `literals` |
//! | what comes out | `compiled`, `compile` |
//!
//! Architecture invariants: this crate knows no storage, no engine and no thread. Hostile text
//! gets an error: lengths and nesting are bounded before anything recurses (`token`, I2).

#![forbid(unsafe_code)]

mod absent_syntax;
mod advisory;
mod aggregate;
mod alter;
mod alter_attributes;
mod alter_domain;
mod alter_routine;
mod alter_routine_syntax;
mod alter_syntax;
mod altered;
mod altered_routine;
mod altering;
mod ambiguity;
mod anonymous;
mod apply;
mod around;
mod assignment;
mod attribute_syntax;
mod block;
mod block_loop;
mod call;
mod call_syntax;
mod called_function;
mod called_read;
mod cascade;
mod change;
mod changes;
mod choices;
mod circle;
mod collation;
mod column_change;
mod column_syntax;
mod columns_of_domain;
mod comment;
mod comparison;
mod compile;
mod compiled;
mod composite;
mod computed_call;
mod condition;
mod conflict;
mod conflict_again;
mod conflict_query;
mod constraint;
mod consume;
mod copy;
mod create;
mod create_polymorphic;
mod current_row;
mod cursor_syntax;
mod cursors;
mod declaration;
mod definition;
mod domain;
mod domain_column;
mod domain_syntax;
mod drawn;
mod drop;
mod drop_type;
mod dynamic;
mod dynamic_syntax;
mod dynamic_text;
mod element;
mod emit;
mod encoded;
mod endings;
mod entitled;
mod enum_order;
mod error;
mod exception;
mod explain;
mod expression;
mod extension;
mod field_assignment;
mod fire;
mod fire_at_end;
mod fire_later;
mod foreign_key;
mod frame_syntax;
mod function;
mod functions;
mod generated;
mod grant;
mod granted;
mod grouping_syntax;
mod hidden;
mod holds;
mod index;
mod inline;
mod insert;
mod instead;
mod interpreted;
mod interval;
mod json;
mod json_subscripts;
mod kept_rows;
mod key_change;
mod key_list;
mod keyless;
mod known;
mod known_forms;
mod lacking;
mod lazy;
mod leave;
mod like;
mod like_any;
mod like_syntax;
mod literals;
mod loops;
mod maintenance;
mod marks;
mod materialized;
pub mod mention;
mod named_arguments;
mod named_type;
mod needs;
mod notify;
mod numbers_syntax;
mod open_cursors;
mod open_literals;
mod operand;
mod operator;
mod operators;
mod overlaps;
mod overlay;
mod overload;
mod parameters;
mod parser_order;
mod partition;
mod partition_checks;
mod partition_keys;
mod partition_rows;
mod path;
mod policy;
mod policy_syntax;
mod polymorphic;
mod raise;
mod random_bytes;
mod ranges;
mod recursion;
mod relation;
mod rename;
mod renamed_schema;
mod replaced_routine;
mod returned_queries;
mod role;
mod roles;
mod rounding;
mod routine;
mod routine_options;
mod row_fields;
mod row_json;
mod row_order;
mod row_star;
mod row_value;
mod schema;
mod schema_elements;
mod scope;
mod script;
mod script_statement;
mod search_path;
mod secured;
mod sequence;
mod session_setting;
mod session_setting_syntax;
mod setting;
mod source;
mod star_syntax;
mod state;
mod statement;
mod subscripts;
mod syntax;
mod table_syntax;
mod temporal;
mod temporary;
mod through;
mod token;
mod transaction_control;
mod trigger;
mod trigger_body;
mod trigger_records;
mod trigger_syntax;
mod triggered;
mod truncated;
mod type_table;
mod types;
mod typing;
mod variable_star;
mod variadic;
mod variadic_call;
mod view;
mod view_stars;
mod whole_row;
mod written;
mod written_subscripts;

pub use altered_routine::{AlteredRoutine, RoutineChange, RoutineKind, RoutineOption};
pub use anonymous::Holds;
pub use apply::{apply, tables_with, views_with};
pub use call::Argument;
pub use changes::{
    CatalogChange, Columns, Filled, ForeignKeyDefinition, Made, MadeName, MovedRows,
    SequenceDefinition, TableDefinition,
};
pub use compile::{compile, compile_for, compile_with_literals, compile_with_parameters};
pub use compiled::{Compiled, Dropped, Refresh};
pub use composite::record_type;
pub use copy::{Columns as CopyColumns, Copied, Copy, CopyForm};
pub use entitled::refuse_not_entitled;
pub use explain::{Analyzed, AnalyzedRun, ExplainForm, explain};
pub use fire_later::firing;
pub use functions::{
    EXAMPLE_TABLES, FUNCTIONS, FunctionGroup, FunctionKind, FunctionRow, Volatility,
    function_document, resolve as resolve_function,
};
pub use interpreted::{BlockHost, CompileStep, StepAnswer, is_refused_definition};
pub use keyless::key_lacked;
pub use lacking::compile_lacking;
pub use literals::{SHAPED_BYTES_MAX, SHAPED_LINE_FIRST, Shape, parse_shaped, place_in_text};
pub use maintenance::{EmptiedPartition, Maintenance, Truncation};
pub use open_cursors::{OpenCursor, OpenCursors, OpenRows};
pub use parameters::{with_literals, without_parameters};
pub use relation::{
    Change, Fields, SystemContext, has_right, is_function, sequence_named, system_function,
    system_rows, table_number,
};
pub use renamed_schema::{renamed_in_definition, renamed_in_text};
pub use replaced_routine::refuse_other_routine;
pub use role::shown;
pub use script::{Offsets, Script, TREES_MAX, parse_script};
pub use script_statement::ScriptStatement;
pub use search_path::{
    Sender, conventions_before, maker_before, path_before, role_before, split_path, with_path,
    with_sender,
};
pub use setting::{Direction, Naming, Setting, WrittenType, look_up_types};
pub use state::{ProcedureNames, Registered};
pub use temporary::{AtCommit, Temporary, TemporaryKind};
pub use token::{CHAIN_TOKENS_MAX, NESTING_MAX, TEXT_BYTES_MAX, quoted, quoted_name, tokenize};
pub use transaction_control::{TransactionAccess, TransactionControl, TransactionModes};
pub use truncated::compile_emptied;
pub use type_table::{
    KnownType, composite_with_oid, enum_with_oid, known_type, of_known_type, type_modifier,
};
pub use view::{broken_view, changed_names};
