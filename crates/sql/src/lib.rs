//! SQL and PL/pgSQL text to catalog changes and procedures.
//!
//! Should I be using this? To embed Hotrow, use the crate `hotrow`, whose sessions take text.
//! Read this one to learn what the text becomes: [`parse_script`] splits and parses a script,
//! [`compile`] looks names up, types every expression, chooses access paths and gives a
//! [`Compiled`]: a change of the catalog, a procedure to register, or a statement to run, itself
//! an anonymous procedure. Everything outside the subset (docs/plpgsql-subset.md) is refused
//! here, with a place and what to write instead, never when a call runs.
//!
//! Reading order: `token`, `syntax`, `script`, `routine`, `transaction_control`, `block` (text to
//! trees); `compile`,
//! `create`, `scope`, `typing`, `expression`, `query`, `path`, `consume`, `row_order`, `change`,
//! `foreign_key`, `statement`, `loops` (trees to programs); `definition`, `constraint`, `index`,
//! `alter`, `apply` (tables and indexes); `maintenance` (TRUNCATE, VACUUM and the like); `copy`;
//! `setting`; `parameters`, `literals` (values that come when a statement is run).
//!
//! Architecture invariants: this crate knows no storage, no engine and no thread. Hostile text
//! gets an error: lengths and nesting are bounded before anything recurses (`token`, I2).

#![forbid(unsafe_code)]

mod aggregate;
mod alter;
mod apply;
mod block;
mod block_loop;
mod call;
mod cascade;
mod change;
mod clauses;
mod comparison;
mod compile;
mod condition;
mod conflict;
mod constraint;
mod consume;
mod copy;
mod create;
mod definition;
mod drop;
mod element;
mod error;
mod exception;
mod explain;
mod expression;
mod foreign_key;
mod function;
mod grant;
mod index;
mod inline;
mod interval;
mod json;
mod key_change;
mod key_list;
mod leave;
mod literals;
mod loops;
mod maintenance;
pub mod mention;
mod named_type;
mod operator;
mod operators;
mod parameters;
mod path;
mod query;
mod raise;
mod relation;
mod rounding;
mod routine;
mod row_order;
mod scope;
mod script;
mod sequence;
mod setting;
mod statement;
mod syntax;
mod token;
mod transaction_control;
mod types;
mod typing;
mod user;
mod view;

pub use apply::{CatalogChange, Columns, Filled, apply};
pub use call::Argument;
pub use compile::{
    Compiled, Dropped, ProcedureNames, compile, compile_with_literals, compile_with_parameters,
};
pub use copy::{Columns as CopyColumns, Copied, Copy, CopyForm};
pub use definition::{ForeignKeyDefinition, TableDefinition};
pub use literals::{Shape, parse_shaped, place_in_text};
pub use maintenance::{Maintenance, Truncation};
pub use parameters::{with_literals, without_parameters};
pub use relation::{
    Change, Fields, KnownType, SystemContext, enum_with_oid, known_type, sequence_named,
    system_function, system_rows, table_number,
};
pub use script::{Script, parse_script};
pub use sequence::SequenceDefinition;
pub use setting::{Direction, Naming, Setting, WrittenType, look_up_types};
pub use syntax::ScriptStatement;
pub use token::{CHAIN_TOKENS_MAX, NESTING_MAX, TEXT_BYTES_MAX, quoted};
pub use transaction_control::{TransactionAccess, TransactionControl, TransactionModes};
pub use types::BARE_NUMERIC;
pub use user::shown;
pub use view::{broken_view, changed_names};
