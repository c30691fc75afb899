//! SQL and PL/pgSQL text to catalog changes and procedures.
//!
//! Should I be using this? To embed Hotrow, use the crate `hotrow`, whose sessions take text.
//! Read this one to learn what the text becomes: [`parse_script`] splits and parses a script,
//! [`compile`] looks names up, types every expression, chooses access paths and gives a
//! [`Compiled`]: a change of the catalog, a procedure to register, or a statement to run, itself
//! an anonymous procedure. Everything outside the subset (docs/plpgsql-subset.md) is refused
//! here, with a place and what to write instead, never when a call runs.
//!
//! Reading order: `token`, `syntax`, `script`, `routine`, `block` (text to trees), `compile`,
//! `scope`, `expression`, `query`, `path`, `change`, `foreign_key`, `statement` (trees to
//! programs), `definition`, `apply` (tables and indexes).
//!
//! Architecture invariants: this crate knows no storage, no engine and no thread. Hostile text
//! gets an error: lengths and nesting are bounded before anything recurses (`token`, I2).

#![forbid(unsafe_code)]

mod aggregate;
mod apply;
mod block;
mod call;
mod change;
mod compile;
mod consume;
mod definition;
mod error;
mod expression;
mod foreign_key;
mod function;
mod interval;
mod operator;
mod path;
mod query;
mod raise;
mod routine;
mod scope;
mod script;
mod statement;
mod syntax;
mod token;
mod types;
mod typing;

pub use apply::{CatalogChange, apply};
pub use compile::{Compiled, Dropped, ProcedureNames, compile};
pub use definition::{ForeignKeyDefinition, TableDefinition};
pub use script::parse_script;
pub use syntax::ScriptStatement;
pub use token::{CHAIN_TOKENS_MAX, NESTING_MAX, TEXT_BYTES_MAX};
pub use types::BARE_NUMERIC;
