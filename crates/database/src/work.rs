//! What a statement is compiled to and kept as: programs, queries, and changes of a query's rows.
//!
//! Role         data, and what can be told from it; knows no session and runs nothing

use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_engine::interactive::{Runs, Statement};
use hotrow_engine::schema::Schema;
use hotrow_query::Query;
use hotrow_sql::{Argument, Change, Compiled, record_type, table_number};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::lower;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Procedure, ResultColumn, RowLocks};

use crate::lookup::procedure_named;
use crate::settings::shown_columns;

/// What the only column of EXPLAIN is called, as in PostgreSQL.
pub(crate) const EXPLAINED: &str = "QUERY PLAN";

/// What a statement does that is compiled once.
pub(crate) enum Work {
    /// calls a procedure
    Call { name: String, arguments: Vec<Argument>, types: Arc<[SqlType]>, label: Option<String> },
    /// runs a program
    Program(Box<StatementProgram>),
    /// runs several, and computes its rows from theirs
    Query(Box<QueryWork>),
    /// runs a query, and a program for each of its rows
    Change(Box<ChangeWork>),
}

/// Whether what a statement compiles to is kept and run in transactions.
pub(crate) fn is_work(compiled: &Compiled) -> bool {
    use Compiled as C;
    matches!(compiled, C::Call { .. } | C::Statement(_) | C::Query(_) | C::Change(_))
}

/// The program of a statement.
pub(crate) struct StatementProgram {
    /// its parameters and columns; its body is gone
    pub(crate) procedure: Procedure,
    pub(crate) program: Arc<Program>,
    /// how it uses tables
    pub(crate) uses: Vec<(TableId, TableUse)>,
    /// what its columns are called
    pub(crate) columns: Arc<[String]>,
}

/// A compiled query.
pub(crate) struct QueryWork {
    pub(crate) query: Arc<Query>,
    /// its reads of tables
    pub(crate) fetches: Vec<StatementProgram>,
    pub(crate) columns: Arc<[String]>,
}

impl QueryWork {
    pub(crate) fn of(schema: &Schema, query: Arc<Query>) -> Result<Self, SqlError> {
        let fetch = |procedure: &Procedure| StatementProgram::of(schema, procedure.clone());
        let fetches = query.fetches.iter().map(fetch).collect::<Result<_, _>>()?;
        let columns = query.columns.iter().map(|column| column.name.clone()).collect();
        Ok(Self { query, fetches, columns })
    }

    /// Its reads of tables, and the procedures that it calls.
    pub(crate) fn reads(&self) -> &[StatementProgram] {
        &self.fetches
    }

    /// Whether it calls procedures that change something.
    pub(crate) fn writes(&self) -> bool {
        self.fetches.iter().any(|read| read.uses.iter().any(|(_, usage)| usage.is_written()))
    }

    /// Whether it draws numbers of sequences.
    pub(crate) fn draws(&self) -> bool {
        self.query.draws() || self.query.fetches.iter().any(|called| !called.draws.is_empty())
    }

    /// Names and types of its columns.
    pub(crate) fn columns(query: &Query) -> impl Iterator<Item = (String, SqlType)> {
        let named = query.columns.iter().zip(&query.outputs);
        named.map(|(column, slot)| (column.name.clone(), query.slots[slot.index()].sql_type))
    }
}

/// A compiled change of rows that a query gives.
pub(crate) struct ChangeWork {
    pub(crate) rows: QueryWork,
    /// executed for each of them
    pub(crate) apply: StatementProgram,
}

impl ChangeWork {
    pub(crate) fn of(schema: &Schema, change: Change) -> Result<Self, SqlError> {
        let rows = QueryWork::of(schema, change.query)?;
        Ok(Self { rows, apply: StatementProgram::of(schema, change.apply)? })
    }
}

impl StatementProgram {
    /// As a statement of a schema.
    pub(crate) fn as_of(&self, generation: u64) -> Statement<'_> {
        Statement { runs: Runs::Program(&self.program), uses: &self.uses, generation }
    }

    /// Lowers a statement for a schema.
    pub(crate) fn of(schema: &Schema, mut procedure: Procedure) -> Result<Self, SqlError> {
        let program = Arc::new(lower::lower(&schema.catalog, &procedure)?);
        let uses = schema.granules.uses_of(&schema.catalog, &procedure);
        procedure.body = Vec::new();
        let columns = program.result.iter().map(|column| column.name.clone()).collect();
        Ok(Self { procedure, program, uses, columns })
    }
}

impl Work {
    /// Whether the parts of it that read do nothing else, such as drawing numbers.
    pub(crate) fn reads_tables_only(&self) -> bool {
        match self {
            Self::Query(work) => !work.draws() && !work.reads().is_empty(),
            Self::Change(work) => !work.rows.draws() && !work.rows.reads().is_empty(),
            Self::Call { .. } | Self::Program(_) => false,
        }
    }

    /// Keeps what a statement compiles to.
    pub(crate) fn of(schema: &Schema, compiled: Compiled) -> Result<Self, SqlError> {
        match compiled {
            Compiled::Call { name, arguments, label } => {
                let columns = columns_of_call(schema, &name, label.as_deref());
                let types = columns.into_iter().map(|(_, of)| of).collect();
                Ok(Self::Call { name, arguments, types, label })
            }
            Compiled::Statement(procedure) => {
                Ok(Self::Program(Box::new(StatementProgram::of(schema, *procedure)?)))
            }
            Compiled::Query(query) => Ok(Self::Query(Box::new(QueryWork::of(schema, query)?))),
            Compiled::Change(change) => {
                Ok(Self::Change(Box::new(ChangeWork::of(schema, *change)?)))
            }
            other => Err(SqlError::new(b"XX000", format!("no work to keep: {other:?}"))),
        }
    }
}

impl Work {
    /// The programs that read tables for it.
    fn reads(&self) -> &[StatementProgram] {
        match self {
            Self::Program(work) => std::slice::from_ref(work),
            Self::Query(work) => work.reads(),
            Self::Call { .. } | Self::Change(_) => &[],
        }
    }

    /// Whether it holds rows as writers do: FOR UPDATE.
    pub(crate) fn holds_rows(&self) -> bool {
        self.reads().iter().any(|read| read.procedure.row_locks != RowLocks::Shared)
    }

    /// Whether it is a report: it changes and holds nothing and visits a table as a whole.
    pub(crate) fn is_report(&self) -> bool {
        if self.holds_rows() {
            return false;
        }
        let mut uses = self.reads().iter().flat_map(|read| &read.uses).map(|(_, usage)| usage);
        uses.clone().any(|usage| usage.coarse) && !uses.any(|usage| usage.is_written())
    }

    /// The types of the columns that it returns.
    pub(crate) fn result_types(&self) -> Arc<[SqlType]> {
        let scalar = |column: &ResultColumn| SqlType::Scalar(column.data_type);
        match self {
            Self::Call { types, .. } => Arc::clone(types),
            Self::Program(work) => work.procedure.result.iter().map(scalar).collect(),
            Self::Query(work) => QueryWork::columns(&work.query).map(|(_, of)| of).collect(),
            Self::Change(work) => work.apply.procedure.result.iter().map(scalar).collect(),
        }
    }

    /// For each of these columns the table, by its number in the system catalog, and the column,
    /// from 1, that it is; zeros for what is computed.
    pub(crate) fn origins(&self) -> Arc<[(u32, i16)]> {
        let columns: &[ResultColumn] = match self {
            Self::Program(work) => &work.procedure.result,
            Self::Change(work) => &work.apply.procedure.result,
            Self::Query(work) => &work.query.columns,
            Self::Call { .. } => &[],
        };
        let numbers = |column: &ResultColumn| match column.origin {
            Some((table, column)) => (table_number(table) as u32, column.0 as i16 + 1),
            None => (0, 0),
        };
        columns.iter().map(numbers).collect()
    }

    /// The tables that it reads.
    pub(crate) fn tables(&self) -> Vec<TableId> {
        let uses = self.reads().iter().flat_map(|read| &read.uses);
        let mut tables: Vec<TableId> = uses.map(|(table, _)| *table).collect();
        tables.sort_unstable();
        tables.dedup();
        tables
    }
}

/// Names and types of the columns that a statement returns.
pub(crate) fn columns_of(schema: &Schema, compiled: &Compiled) -> Vec<(String, SqlType)> {
    let scalar = |column: &ResultColumn| (column.name.clone(), SqlType::Scalar(column.data_type));
    match compiled {
        Compiled::Statement(procedure) => procedure.result.iter().map(scalar).collect(),
        Compiled::Query(query) => QueryWork::columns(query).collect(),
        Compiled::Change(change) => change.apply.result.iter().map(scalar).collect(),
        Compiled::Call { name, label, .. } => columns_of_call(schema, name, label.as_deref()),
        Compiled::InterpretedCall { name, label, .. } => {
            columns_of_call(schema, name, label.as_deref())
        }
        Compiled::ExplainProcedure { .. } => {
            vec![("plan".to_owned(), SqlType::Scalar(DataType::Text))]
        }
        Compiled::Explained { .. } | Compiled::Analyzed(_) => {
            vec![(EXPLAINED.to_owned(), SqlType::Scalar(DataType::Text))]
        }
        Compiled::Setting(setting) => shown_columns(setting).iter().map(scalar).collect(),
        _ => Vec::new(),
    }
}

/// Names and types of the columns that a call gives; with a label, it is a query of one value: of a
/// function that returns nothing, that is an empty text, and of one that gives rows, each of them.
fn columns_of_call(schema: &Schema, name: &str, label: Option<&str>) -> Vec<(String, SqlType)> {
    let named = |column: &ResultColumn| {
        let name = label.map_or_else(|| column.name.clone(), str::to_owned);
        (name, SqlType::Scalar(column.data_type))
    };
    let columns: Vec<_> = called_columns(schema, name).map(named).collect();
    match label {
        Some(label) if columns.len() > 1 => {
            let columns: Vec<_> = called_columns(schema, name).cloned().collect();
            let row = DataType::Composite(record_type(&schema.catalog, &columns));
            vec![(label.to_owned(), SqlType::Scalar(row))]
        }
        Some(label) if columns.is_empty() => {
            vec![(label.to_owned(), SqlType::Scalar(DataType::Text))]
        }
        _ => columns,
    }
}

/// The columns that a procedure returns.
fn called_columns<'a>(schema: &'a Schema, name: &str) -> impl Iterator<Item = &'a ResultColumn> {
    procedure_named(schema, name).into_iter().flat_map(|(_, called)| &called.procedure.result)
}
