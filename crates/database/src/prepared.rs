//! Statements with parameters, compiled once and executed with values.
//!
//! Role         what a session executes: a statement of a script, or one that was prepared
//! Invariants   I1 what is kept was compiled for the schema of its number, and is only used while
//!              that is in force; with another one the statement is compiled again, and has to take
//!              the same parameters and to return the same columns

use std::cell::{Ref, RefCell};

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_sql::{
    Argument, Compiled, ScriptStatement, compile, compile_with_parameters, parse_script,
    with_literals,
};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::invocation::Arguments;
use hotrow_transaction::lower;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Procedure, ResultColumn};

use crate::arguments::bind_all;
use crate::database::Inner;
use crate::definition::{Registered, procedure_named};
use crate::error::{Error, advised};
use crate::rows::Rows;
use crate::session::Session;
use crate::session_settings::shown_columns;
use crate::statement::{self, StatementResult};

/// A statement to be executed again and again, with values for its parameters `$1`, `$2` ...
/// ([`Session::prepare`]).
///
/// ```
/// use hotrow::{Config, Database, Value};
///
/// let db = Database::open_in_memory(Config::default().threads(1))?;
/// let session = db.session();
/// session.execute("CREATE TABLE stock (item bigint PRIMARY KEY, pieces integer NOT NULL)")?;
/// let insert = session.prepare("INSERT INTO stock VALUES ($1, $2)", &[])?;
/// for item in 1..=3 {
///     session.execute_prepared(&insert, &[Value::BigInt(item), Value::Int(10)])?;
/// }
/// let count = session.prepare("SELECT pieces FROM stock WHERE item = $1", &[])?;
/// assert_eq!(count.parameters()[0].to_string(), "bigint");
/// let found = session.execute_prepared(&count, &[Value::from("2")])?;
/// assert_eq!(found.rows.one::<i32>()?, 10);
/// # Ok::<(), hotrow::Error>(())
/// ```
pub struct Prepared {
    statement: ScriptStatement,
    /// none: `$1` is no parameter here
    takes: Option<Takes>,
    known: RefCell<Option<Known>>,
}

/// What was found out when a statement was prepared.
struct Takes {
    parameters: Vec<SqlType>,
    columns: Vec<ResultColumn>,
}

/// A compiled statement.
struct Known {
    generation: u64,
    work: Work,
}

/// What a statement does that is compiled once.
pub(crate) enum Work {
    /// calls a procedure
    Call { name: String, arguments: Vec<Argument>, types: Vec<DataType> },
    /// runs a program
    Program(Box<StatementProgram>),
}

/// The program of a statement.
pub(crate) struct StatementProgram {
    /// its parameters and columns; its body is gone
    pub(crate) procedure: Procedure,
    pub(crate) program: Program,
    /// how it uses tables
    pub(crate) uses: Vec<(TableId, TableUse)>,
}

impl Session {
    /// Prepares a statement. `types` are those of its first parameters, as far as the caller wants
    /// them so; the others follow from where they stand: `n` in `WHERE id = $1` where `id` is of
    /// that type, text where nothing says more.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42601 if the text is not one statement, 42P18 for a parameter whose type
    /// nothing tells, and what compiling says.
    pub fn prepare(&self, text: &str, types: &[Option<SqlType>]) -> Result<Prepared, Error> {
        let prepared = self.prepare_parsed(text, types);
        prepared.inspect_err(|_| self.talk().fail())
    }

    fn prepare_parsed(&self, text: &str, types: &[Option<SqlType>]) -> Result<Prepared, Error> {
        let mut statements = parse_script(text)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            let message = "a prepared statement is one statement";
            return Err(advised(b"42601", message.to_owned(), "Prepare them one by one.").into());
        };
        if !statement.is_transaction_control() {
            self.talk().refuse_failed()?;
        }
        let generation = self.inner().schema.generation();
        let schema = self.inner().schema.current();
        let registered = Registered(&schema);
        let (compiled, parameters) =
            compile_with_parameters(&schema.catalog, &registered, &statement, types)?;
        let columns = columns_of(&schema, &compiled);
        let known = match compiled {
            Compiled::Call { .. } | Compiled::Statement(_) => {
                Some(Known { generation, work: Work::of(&schema, compiled)? })
            }
            _ => None,
        };
        let takes = Some(Takes { parameters, columns });
        Ok(Prepared { statement, takes, known: RefCell::new(known) })
    }

    /// Executes a statement with values for its parameters, each converted to the parameter's type
    /// as an assignment would.
    ///
    /// # Errors
    ///
    /// As [`Session::execute`]; 08P01 for another number of values than there are parameters, 0A000
    /// if definitions have changed so that it would return other columns now.
    pub fn execute_prepared(
        &self,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<StatementResult, Error> {
        statement::execute(self, prepared, values)
    }
}

impl Prepared {
    /// A statement of a script, which has no parameters.
    pub(crate) fn of_script(statement: ScriptStatement) -> Self {
        Self { statement, takes: None, known: RefCell::new(None) }
    }

    /// The types of its parameters.
    pub fn parameters(&self) -> &[SqlType] {
        self.takes.as_ref().map_or(&[], |takes| &takes.parameters)
    }

    /// Names and types of the columns that it returns.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, DataType)> {
        let columns: &[ResultColumn] = self.takes.as_ref().map_or(&[], |takes| &takes.columns);
        columns.iter().map(|column| (column.name.as_str(), column.data_type))
    }

    /// Whether it returns rows, be they none.
    pub fn returns_rows(&self) -> bool {
        self.columns().len() > 0
    }

    pub(crate) fn statement(&self) -> &ScriptStatement {
        &self.statement
    }

    /// Fails unless there is a value for each parameter.
    pub(crate) fn check_count(&self, values: &[Value]) -> Result<(), SqlError> {
        let wanted = self.parameters().len();
        if values.len() == wanted {
            return Ok(());
        }
        let given = values.len();
        Err(SqlError::new(b"08P01", format!("the statement takes {wanted} values, not {given}")))
    }

    /// What it does in a schema, where that is not kept: a definition, BEGIN and so on.
    pub(crate) fn compile(
        &self,
        schema: &Schema,
        generation: u64,
    ) -> Result<Option<Compiled>, SqlError> {
        let is_known = |known: &Known| known.generation == generation;
        if self.known.borrow().as_ref().is_some_and(is_known) {
            return Ok(None);
        }
        let registered = Registered(schema);
        let compiled = match &self.takes {
            None => compile(&schema.catalog, &registered, &self.statement)?,
            Some(takes) => {
                let types: Vec<_> = takes.parameters.iter().copied().map(Some).collect();
                let (catalog, statement) = (&schema.catalog, &self.statement);
                let (compiled, _) =
                    compile_with_parameters(catalog, &registered, statement, &types)?;
                if columns_of(schema, &compiled) != takes.columns {
                    let message = "cached plan must not change result type".to_owned();
                    return Err(advised(b"0A000", message, "Prepare the statement again."));
                }
                compiled
            }
        };
        match compiled {
            Compiled::Call { .. } | Compiled::Statement(_) => {
                let work = Work::of(schema, compiled)?;
                *self.known.borrow_mut() = Some(Known { generation, work });
                Ok(None)
            }
            other => Ok(Some(other)),
        }
    }

    /// What it does, behind a [`Prepared::compile`] that gave nothing.
    pub(crate) fn work(&self) -> Ref<'_, Work> {
        Ref::map(self.known.borrow(), |known| {
            &known.as_ref().expect("it is kept when it is compiled").work
        })
    }

    /// The types of the columns that it returns, behind a [`Prepared::compile`] that gave nothing.
    pub(crate) fn result_types(&self) -> Vec<DataType> {
        match &*self.work() {
            Work::Call { types, .. } => types.clone(),
            Work::Program(work) => {
                work.procedure.result.iter().map(|column| column.data_type).collect()
            }
        }
    }

    /// A program's statement as one without parameters; none if it has none.
    pub(crate) fn with_literals(&self, values: &[Value]) -> Result<Option<Self>, SqlError> {
        let known = self.known.borrow();
        let Some(Known { work: Work::Program(work), .. }) = &*known else { return Ok(None) };
        if values.is_empty() {
            return Ok(None);
        }
        // As they are bound where there is no need for a text.
        let mut bound = Arguments::default();
        bind_all(&work.procedure, values, &mut bound)?;
        let written =
            self.parameters().iter().zip(&bound.datums).map(|(sql_type, &datum)| match *sql_type {
                SqlType::Scalar(data_type) => Ok(Value::from_datum(datum, data_type, &bound.heap)),
                SqlType::Array(_) => {
                    let message = "this engine's statements take no arrays".to_owned();
                    Err(advised(
                        b"0A000",
                        message,
                        "Write a procedure, and CALL it with the array.",
                    ))
                }
            });
        let bound = written.collect::<Result<Vec<_>, _>>()?;
        let text = with_literals(&self.statement, self.parameters(), &bound)?;
        let mut statements = parse_script(&text)?;
        let (Some(mut statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(SqlError::new(b"XX000", "a statement with values is not one statement"));
        };
        statement.place = self.statement.place;
        Ok(Some(Self::of_script(statement)))
    }
}

impl Work {
    fn of(schema: &Schema, compiled: Compiled) -> Result<Self, SqlError> {
        match compiled {
            Compiled::Call { name, arguments } => {
                let types = called_columns(schema, &name).map(|column| column.data_type).collect();
                Ok(Self::Call { name, arguments, types })
            }
            Compiled::Statement(mut procedure) => {
                let program = lower::lower(&schema.catalog, &procedure)?;
                let uses = schema.granules.uses_of(&procedure);
                procedure.body = Vec::new();
                let procedure = *procedure;
                Ok(Self::Program(Box::new(StatementProgram { procedure, program, uses })))
            }
            other => Err(SqlError::new(b"XX000", format!("no work to keep: {other:?}"))),
        }
    }
}

fn columns_of(schema: &Schema, compiled: &Compiled) -> Vec<ResultColumn> {
    match compiled {
        Compiled::Statement(procedure) => procedure.result.clone(),
        Compiled::Call { name, .. } => called_columns(schema, name).cloned().collect(),
        Compiled::ExplainProcedure { .. } => {
            vec![ResultColumn { name: "plan".to_owned(), data_type: DataType::Text }]
        }
        Compiled::Setting(setting) => shown_columns(setting),
        _ => Vec::new(),
    }
}

/// The columns that a procedure returns.
fn called_columns<'a>(schema: &'a Schema, name: &str) -> impl Iterator<Item = &'a ResultColumn> {
    procedure_named(schema, name).into_iter().flat_map(|(_, called)| &called.procedure.result)
}

/// Runs what a statement does by `run`, compiled again while that finds it outdated.
pub(crate) fn run_compiled(
    inner: &Inner,
    prepared: &Prepared,
    mut run: impl FnMut(&StatementProgram, u64) -> Result<Option<Rows>, Error>,
) -> Result<Rows, Error> {
    for _ in 0..COMPILATIONS_MAX {
        // In this order: a schema that is newer than its number is only compiled for again.
        let generation = inner.schema.generation();
        if prepared.compile(&inner.schema.current(), generation)?.is_some() {
            break;
        }
        let Work::Program(work) = &*prepared.work() else { break };
        if let Some(rows) = run(work, generation)? {
            return Ok(rows);
        }
    }
    Err(changing().into())
}

/// Times a statement is compiled again because definitions come in between.
pub(crate) const COMPILATIONS_MAX: u32 = 1000;

/// Definitions came in between again and again.
pub(crate) fn changing() -> SqlError {
    let message = "definitions changed again and again while the statement was compiled";
    advised(b"40001", message.to_owned(), "Repeat the transaction.")
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("text", &self.statement.text).finish_non_exhaustive()
    }
}
