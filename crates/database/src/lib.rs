//! Hotrow, embedded: a serializable main-memory transaction engine for contended rows.
//!
//! Should I be using this? Yes, if many threads of one process change the same few rows (stock,
//! balances, seats, counters) and every change has rules. You write the rules as SQL procedures;
//! a call of one runs as a serializable transaction and never fails with a deadlock or a
//! serialization error. Data lives in memory, and its log in a directory.
//!
//! ```
//! use hotrow::{Config, Database};
//!
//! let db = Database::open_in_memory(Config::default().threads(2))?;
//! let session = db.session();
//! session.execute(
//!     "CREATE TABLE stock (item bigint PRIMARY KEY, left_over bigint NOT NULL);
//!      CREATE FUNCTION buy(wanted bigint, quantity bigint) RETURNS bigint AS $$
//!      DECLARE rest bigint;
//!      BEGIN
//!        UPDATE stock SET left_over = left_over - quantity
//!          WHERE item = wanted AND left_over >= quantity RETURNING left_over INTO rest;
//!        IF NOT FOUND THEN RAISE EXCEPTION 'sold out'; END IF;
//!        RETURN rest;
//!      END $$ LANGUAGE plpgsql;
//!      INSERT INTO stock VALUES (1, 100);",
//! )?;
//! let left: i64 = session.call("buy", (1_i64, 3_i64))?.one()?;
//! assert_eq!(left, 97);
//! # Ok::<(), hotrow::Error>(())
//! ```
//!
//! Reading order: [`Database`] and [`Config`], [`Session`] and [`Procedure`], [`IntoArguments`]
//! and [`Rows`], [`Error`]. For benchmarks: [`BulkLoader`], [`Database::start_engine`].
//!
//! Architecture invariants: this crate knows every engine only by its row in the engine table
//! (`engine_table.rs`); nothing here knows the network or the command line.

#![forbid(unsafe_code)]

mod accesses;
mod activity;
mod admission;
mod advisory;
mod allowed;
mod alone;
mod arguments;
mod asker;
pub mod binary;
mod books;
mod bugs;
mod bulk;
mod callers;
mod calls;
mod cancel;
mod checkpoint;
mod client;
mod config;
mod contents;
mod context;
mod copy;
mod core;
mod cursors;
mod data_directory;
mod database;
mod deferred;
mod defining;
mod definition;
mod describe;
mod drawing;
mod elsewhere;
mod engine_table;
mod error;
mod explain;
mod held_back;
mod inspect;
mod interpreting;
mod journal;
mod keeping;
mod kept;
mod keyless;
mod lock_names;
mod lock_out;
mod lookup;
mod memory;
mod mentions;
mod named;
mod notifications;
mod numbers;
mod once;
mod parts;
mod perform;
mod prepare;
mod prepared;
mod procedure;
mod query;
mod quietly;
mod recovery;
mod reply;
mod reports;
mod result;
mod rights;
mod role_in_force;
mod rows;
mod run;
mod savepoints;
mod scan;
mod script;
mod sequences;
mod session;
mod session_settings;
mod session_transaction;
mod settings;
mod settling;
mod shapes;
mod snapshots;
mod statement;
mod status;
mod temporary;
mod transaction;
mod truncating;
mod verifier;
mod views;
mod waits;
mod work;

pub use arguments::{Binder, IntoArgument, IntoArguments};
pub use books::{CallPhase, LatencyCounts, SessionSums};
pub use bulk::{BulkLoader, BulkPart};
pub use cancel::Canceller;
pub use checkpoint::{CheckpointProgress, CheckpointReport};
pub use client::Priority;
pub use config::{Config, Durability};
pub use copy::{CopyIn, CopyOut};
pub use database::Database;
pub use describe::{
    ColumnDescription, ForeignKeyDescription, IndexDescription, ProcedureDescription,
    TableDescription,
};
pub use engine_table::engines;
pub use error::Error;
pub use held_back::{Horizon, Owed};
pub use inspect::{LogLine, VerifyReport, dump_log, verify};
pub use memory::{IndexMemory, MemoryReport, TableMemory};
pub use named::NamedBy;
pub use notifications::Notification;
pub use perform::Outcome;
pub use prepared::Prepared;
pub use procedure::Procedure;
pub use recovery::{RecoveryProgress, RecoveryReport};
pub use result::StatementResult;
pub use rows::{FromRow, Rows};
pub use script::{Script, SentStatement};
pub use session::{Checked, Pending, Session};
pub use status::{CallFigures, EngineStatus, HotKey, LogStatus};
pub use transaction::TransactionState;
pub use verifier::Verifier;
pub use waits::Wait;

pub use hotrow_base::composite::CompositeType;
pub use hotrow_base::datum::Datum;
pub use hotrow_base::decimal::Decimal;
pub use hotrow_base::encoded::EncodedType;
pub use hotrow_base::ids::ProcedureId;
pub use hotrow_base::range::{Bound as RangeBound, Range};
pub use hotrow_base::temporal::Interval;
pub use hotrow_base::types::{DataType, RangeKind, SqlType};
pub use hotrow_base::value::{FromValue, Value, ValueError};
pub use hotrow_engine::accesses::RowAccess;
pub use hotrow_engine::contract::{
    EngineEntry, EngineOptions, Experiment, ExperimentOptions, OptionError, RunningEngine,
};
pub use hotrow_engine::journal::LogEntries;
pub use hotrow_engine::source::CallSource;
pub use hotrow_engine::statistics::{Activity, CallTime, LockKind, Statistics};
pub use hotrow_engine::trace::{SerialTrace, Traced};
pub use hotrow_sql::{
    Direction, EXAMPLE_TABLES, FUNCTIONS, FunctionGroup, FunctionKind, FunctionRow, KnownType,
    Naming, Volatility, WrittenType, composite_with_oid, enum_with_oid, function_document,
    of_known_type, type_modifier, without_parameters,
};
pub use hotrow_transaction::granule::LockMode;
pub use hotrow_transaction::holdings::{AccessHoldings, Doubt, Held, Holdings, Planning};
pub use hotrow_transaction::invocation::{Arguments, Invocation};
pub use hotrow_transaction::outcome::{Notice, NoticeLevel, SqlError};
