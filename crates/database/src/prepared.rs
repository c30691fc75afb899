//! Statements with parameters, compiled once and executed with values.
//!
//! Role         what a session executes: a statement of a script, or one that was prepared
//! Invariants   I1 what is kept was compiled for the schema of its number, and is only used while
//!              that is in force; with another one the statement is compiled again, and has to take
//!              the same parameters and to return the same columns

use std::cell::{Ref, RefCell};
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::TableId;
use hotrow_base::panics;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_sql::{
    Argument, Compiled, Naming, ScriptStatement, compile, compile_with_literals,
    compile_with_parameters, parse_script, place_in_text, table_number, with_literals,
};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::invocation::Arguments;
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::{Place, Procedure, ResultColumn};

use crate::arguments::refusal;
use crate::core::Core;
use crate::error::{Error, advised};
use crate::kept::Keeping;
use crate::lookup::{Registered, procedure_named};
use crate::query::{ChangeWork, QueryWork};
use crate::rows::Rows;
use crate::session::Session;
use crate::session_settings::shown_columns;
use crate::statement::EXPLAINED;
use crate::statement::{self, StatementResult};
use crate::transaction::TransactionState;
use crate::verifier::conceal;

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
    /// as what a planned engine runs it
    kept: Keeping,
}

/// What was found out when a statement was prepared.
struct Takes {
    parameters: Vec<SqlType>,
    columns: Vec<(String, SqlType)>,
    /// where its parameters are its literals: the types of those that are
    literals: Option<Vec<Option<SqlType>>>,
}

/// A compiled statement.
struct Known {
    generation: u64,
    work: Work,
}

/// What a statement does that is compiled once.
pub(crate) enum Work {
    /// calls a procedure
    Call { name: String, arguments: Vec<Argument>, types: Vec<SqlType>, label: Option<String> },
    /// runs a program
    Program(Box<StatementProgram>),
    /// runs several, and computes its rows from theirs
    Query(Box<QueryWork>),
    /// runs a query, and a program for each of its rows
    Change(Box<ChangeWork>),
}

impl Known {
    /// What a statement compiles to, if that is kept; inside: what is not.
    fn of(
        schema: &Schema,
        generation: u64,
        compiled: Compiled,
    ) -> Result<Result<Self, Compiled>, SqlError> {
        Ok(match is_work(&compiled) {
            true => Ok(Self { generation, work: Work::of(schema, compiled)? }),
            false => Err(compiled),
        })
    }
}

/// Whether what a statement compiles to is kept and run in transactions.
fn is_work(compiled: &Compiled) -> bool {
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
}

/// A statement that may be done in parts, where there are transactions to hold them together.
pub(crate) fn in_parts(session: &Session, statement: ScriptStatement) -> ScriptStatement {
    let core = session.core();
    match core.interactive {
        Some(_) if core.locks_as_it_goes => statement.in_parts(),
        // One program can be kept, and is run once; parts make a transaction.
        Some(_) => statement.in_parts_if_need_be(),
        None => statement,
    }
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
        let prepared = self.settle_found(self.prepare_parsed(text, types));
        prepared.inspect_err(|_| self.talk().fail())
    }

    /// Prepares a statement that may use the tables of sequences.
    pub(crate) fn prepare_own(&self, text: &str) -> Result<Prepared, Error> {
        self.prepare_one(parsed(text)?.as_own(), &[])
    }

    fn prepare_parsed(&self, text: &str, types: &[Option<SqlType>]) -> Result<Prepared, Error> {
        let _guard = panics::guard();
        let _running = self.interrupt().begin();
        let _entered = self.enter();
        let mut prepared = self.prepare_one(parsed(text)?, types)?;
        // It outlives the statement that makes it.
        prepared.statement.keep_for(self.memory());
        Ok(prepared)
    }

    fn prepare_one(
        &self,
        statement: ScriptStatement,
        types: &[Option<SqlType>],
    ) -> Result<Prepared, Error> {
        let statement = in_parts(self, conceal(statement)?);
        if let Some(Naming::Declare { text, .. }) = statement.naming() {
            let declared = self.prepare_parsed(text, types)?;
            let parameters = declared.parameters().to_vec();
            let takes = Some(Takes { parameters, columns: Vec::new(), literals: None });
            return Ok(Prepared::new(statement, takes, None));
        }
        if !statement.is_transaction_control() {
            self.talk().refuse_failed()?;
        }
        let generation = self.core().schema.generation();
        let schema = self.core().schema.current();
        let registered = Registered(&schema);
        let (takes, known) = apart(|| {
            let (compiled, parameters) =
                compile_with_parameters(&schema.catalog, &registered, &statement, types)?;
            let columns = columns_of(&schema, &compiled);
            let known = Known::of(&schema, generation, compiled)?.ok();
            Ok::<_, SqlError>((Some(Takes { parameters, columns, literals: None }), known))
        })?;
        Ok(Prepared::new(statement, takes, known))
    }

    /// Prepares a statement whose parameters are its literals ([`Prepared::literals`]).
    pub(crate) fn prepare_shaped(
        &self,
        mut statement: ScriptStatement,
    ) -> Result<Prepared, SqlError> {
        statement.keep_for(self.memory()); // it outlives the statement that makes it
        let generation = self.core().schema.generation();
        let schema = self.core().schema.current();
        let registered = Registered(&schema);
        apart(|| {
            let (compiled, literals) =
                compile_with_literals(&schema.catalog, &registered, &statement)?;
            let columns = columns_of(&schema, &compiled);
            let known = match Known::of(&schema, generation, compiled)? {
                Ok(known) => Some(known),
                Err(Compiled::Transaction(_)) => None,
                Err(_) => return Err(SqlError::new(b"0A000", "there is nothing to keep")),
            };
            // One that is none has no value that anybody looks at.
            let open = SqlType::Scalar(DataType::Text);
            let parameters = literals.iter().map(|known| known.unwrap_or(open)).collect();
            let takes = Some(Takes { parameters, columns, literals: Some(literals) });
            Ok(Prepared::new(statement, takes, known))
        })
    }

    /// Whether preparing the same text with the same types now would give the same.
    pub fn is_as_new(&self, prepared: &Prepared) -> bool {
        if self.transaction_state() == TransactionState::Failed {
            return false; // which refuses most
        }
        let generation = self.core().schema.generation();
        let known = prepared.known.borrow();
        match &*known {
            Some(known) => known.generation == generation,
            None => prepared.statement.is_transaction_control(),
        }
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

fn parsed(text: &str) -> Result<ScriptStatement, SqlError> {
    let mut statements = apart(|| parse_script(text))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => {
            let message = "a prepared statement is one statement".to_owned();
            Err(advised(b"42601", message, "Prepare them one by one."))
        }
    }
}

impl Prepared {
    /// A statement of a script, which has no parameters.
    pub(crate) fn of_script(statement: ScriptStatement) -> Self {
        Self::new(statement, None, None)
    }

    fn new(statement: ScriptStatement, takes: Option<Takes>, known: Option<Known>) -> Self {
        Self { statement, takes, known: RefCell::new(known), kept: Keeping::default() }
    }

    /// Whether its text is all that is known of it: it is executed once.
    pub(crate) fn is_of_script(&self) -> bool {
        self.takes.is_none()
    }

    /// How it is kept as a procedure, where it can be.
    pub(crate) fn kept(&self) -> &Keeping {
        &self.kept
    }

    /// What it takes, estimated.
    pub fn bytes(&self) -> usize {
        self.statement.bytes()
    }

    /// The types of its parameters.
    pub fn parameters(&self) -> &[SqlType] {
        self.takes.as_ref().map_or(&[], |takes| &takes.parameters)
    }

    /// Names and types of the columns that it returns.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, SqlType)> {
        let columns: &[(String, SqlType)] = self.takes.as_ref().map_or(&[], |takes| &takes.columns);
        columns.iter().map(|(name, sql_type)| (name.as_str(), *sql_type))
    }

    /// For each column that it returns the table, by its number in the system catalog, and the
    /// column, from 1, that it is; zeros for what is computed. Nothing before it was compiled.
    pub fn origins(&self) -> Vec<(u32, i16)> {
        let known = self.known.borrow();
        let columns: &[ResultColumn] = match known.as_ref().map(|known| &known.work) {
            Some(Work::Program(work)) => &work.procedure.result,
            Some(Work::Change(work)) => &work.apply.procedure.result,
            Some(Work::Query(work)) => &work.query.columns,
            Some(Work::Call { .. }) | None => &[],
        };
        let numbers = |column: &ResultColumn| match column.origin {
            Some((table, column)) => (table_number(table) as u32, column.0 as i16 + 1),
            None => (0, 0),
        };
        columns.iter().map(numbers).collect()
    }

    /// Whether it returns rows, be they none.
    pub fn returns_rows(&self) -> bool {
        self.columns().len() > 0
    }

    /// PREPARE, DECLARE, FETCH and the like, which are for who has statements and cursors by name.
    pub fn naming(&self) -> Option<&Naming> {
        self.statement.naming()
    }

    pub(crate) fn statement(&self) -> &ScriptStatement {
        &self.statement
    }

    /// The types of its literals where these are its parameters; none: one is part of what was
    /// compiled.
    pub(crate) fn literals(&self) -> &[Option<SqlType>] {
        self.takes.as_ref().and_then(|takes| takes.literals.as_deref()).unwrap_or_default()
    }

    /// Takes another text, which differs in literals that are parameters.
    pub(crate) fn set_text(&mut self, text: &str) {
        text.clone_into(&mut self.statement.text);
    }

    /// The error, with a place in its text.
    pub(crate) fn placed(&self, mut error: Error) -> Error {
        if let Error::Sql(sql) = &mut error {
            sql.place = match sql.place == Place::default() {
                true => self.statement.place,
                false => place_in_text(&self.statement, sql.place),
            };
        }
        error
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
        apart(|| self.compile_anew(schema, generation))
    }

    fn compile_anew(&self, schema: &Schema, generation: u64) -> Result<Option<Compiled>, SqlError> {
        let registered = Registered(schema);
        let compiled = match &self.takes {
            None => compile(&schema.catalog, &registered, &self.statement)?,
            Some(Takes { columns, literals: Some(known), .. }) => {
                let (catalog, statement) = (&schema.catalog, &self.statement);
                let (compiled, literals) = compile_with_literals(catalog, &registered, statement)?;
                if columns_of(schema, &compiled) != *columns || literals != *known {
                    let message = "definitions changed while the statement was read";
                    return Err(advised(b"0A000", message.to_owned(), "Send it again."));
                }
                compiled
            }
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
        Ok(match Known::of(schema, generation, compiled)? {
            Ok(known) => {
                *self.known.borrow_mut() = Some(known);
                None
            }
            Err(other) => Some(other),
        })
    }

    /// What it does, behind a [`Prepared::compile`] that gave nothing.
    pub(crate) fn work(&self) -> Ref<'_, Work> {
        Ref::map(self.known.borrow(), |known| {
            &known.as_ref().expect("it is kept when it is compiled").work
        })
    }

    /// The types of the columns that it returns, behind a [`Prepared::compile`] that gave nothing.
    pub(crate) fn result_types(&self) -> Vec<SqlType> {
        let scalar = |column: &ResultColumn| SqlType::Scalar(column.data_type);
        match &*self.work() {
            Work::Call { types, .. } => types.clone(),
            Work::Program(work) => work.procedure.result.iter().map(scalar).collect(),
            Work::Query(work) => {
                QueryWork::columns(&work.query).map(|(_, sql_type)| sql_type).collect()
            }
            Work::Change(work) => work.apply.procedure.result.iter().map(scalar).collect(),
        }
    }

    /// Whether it changes rows by several programs, which only a transaction holds together.
    pub(crate) fn has_parts(&self) -> bool {
        match &*self.work() {
            Work::Change(_) => true,
            Work::Query(work) => work.writes(),
            Work::Call { .. } | Work::Program(_) => false,
        }
    }

    /// Whether it takes numbers of sequences, which its text does not tell, and which are drawn in
    /// transactions of their own, not at a quiet point.
    pub(crate) fn draws(&self) -> bool {
        match &*self.work() {
            Work::Program(work) => !work.procedure.draws.is_empty(),
            Work::Query(work) => work.draws(),
            Work::Change(_) | Work::Call { .. } => false,
        }
    }

    /// Whether it may be begun anew on a snapshot; see [`Work::is_report`].
    pub(crate) fn is_report(&self) -> bool {
        let has_effects =
            |work: &Work| matches!(work, Work::Query(work) if work.query.has_effects());
        let work = self.work();
        work.is_report() && !has_effects(&work) && !self.draws()
    }

    /// Whether it is a query that reads no table, but perhaps the system catalog.
    pub(crate) fn reads_no_tables(&self) -> bool {
        matches!(&*self.work(), Work::Query(work) if work.query.fetches.is_empty())
    }

    /// Whether it changes rows; not said of calls.
    pub(crate) fn writes(&self) -> bool {
        match &*self.work() {
            Work::Program(work) => work.uses.iter().any(|(_, usage)| usage.is_written()),
            Work::Change(_) => true,
            Work::Query(work) => work.writes(),
            Work::Call { .. } => false,
        }
    }

    /// Values as those of its parameters' types.
    pub(crate) fn bound(&self, values: &[Value]) -> Result<Vec<Value>, SqlError> {
        let mut bound = Arguments::default();
        for (at, (sql_type, value)) in self.parameters().iter().zip(values).enumerate() {
            bound.push_value(*sql_type, value).map_err(|error| {
                let code = refusal(&error);
                SqlError::new(&code, format!("parameter ${} of type {sql_type}: {error}", at + 1))
            })?;
        }
        let Arguments { datums, elements, heap } = &bound;
        let value = |(sql_type, datum): (&SqlType, &Datum)| match *sql_type {
            SqlType::Scalar(of) => Value::from_datum(*datum, of, heap),
            SqlType::Array(_) if datum.is_null() => Value::Null,
            SqlType::Array(of) => {
                let elements = elements[datum.as_range().range()].iter();
                Value::Array(elements.map(|datum| Value::from_datum(*datum, of, heap)).collect())
            }
        };
        Ok(self.parameters().iter().zip(datums).map(value).collect())
    }

    /// A program's statement as one without parameters; none if it has none.
    pub(crate) fn with_literals(&self, values: &[Value]) -> Result<Option<Self>, SqlError> {
        if values.is_empty() {
            return Ok(None);
        }
        if self.parameters().iter().any(|of| matches!(of, SqlType::Array(_))) {
            let message = "this engine's statements take no arrays".to_owned();
            return Err(advised(
                b"0A000",
                message,
                "Write a procedure, and CALL it with the array.",
            ));
        }
        // As they are bound where there is no need for a text.
        let bound = self.bound(values)?;
        let text = with_literals(&self.statement, self.parameters(), &bound)?;
        let mut statements = apart(|| parse_script(&text))?;
        let (Some(mut statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(SqlError::new(b"XX000", "a statement with values is not one statement"));
        };
        statement.place = self.statement.place;
        // What was compiled before may be compiled again.
        Ok(Some(Self::of_script(statement.as_own())))
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

    fn of(schema: &Schema, compiled: Compiled) -> Result<Self, SqlError> {
        match compiled {
            Compiled::Call { name, arguments, label } => {
                let types = called_columns(schema, &name);
                let types = types.map(|column| SqlType::Scalar(column.data_type)).collect();
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

fn columns_of(schema: &Schema, compiled: &Compiled) -> Vec<(String, SqlType)> {
    let scalar = |column: &ResultColumn| (column.name.clone(), SqlType::Scalar(column.data_type));
    match compiled {
        Compiled::Statement(procedure) => procedure.result.iter().map(scalar).collect(),
        Compiled::Query(query) => QueryWork::columns(query).collect(),
        Compiled::Change(change) => change.apply.result.iter().map(scalar).collect(),
        Compiled::Call { name, label, .. } => {
            let columns = called_columns(schema, name).map(scalar);
            columns.map(|(name, of)| (label.clone().unwrap_or(name), of)).collect()
        }
        Compiled::ExplainProcedure { .. } => {
            vec![("plan".to_owned(), SqlType::Scalar(DataType::Text))]
        }
        Compiled::Explained(_) => {
            vec![(EXPLAINED.to_owned(), SqlType::Scalar(DataType::Text))]
        }
        Compiled::Setting(setting) => shown_columns(setting).iter().map(scalar).collect(),
        _ => Vec::new(),
    }
}

/// The columns that a procedure returns.
fn called_columns<'a>(schema: &'a Schema, name: &str) -> impl Iterator<Item = &'a ResultColumn> {
    procedure_named(schema, name).into_iter().flat_map(|(_, called)| &called.procedure.result)
}

/// Runs what a statement does by `run`, compiled again while that finds it outdated.
pub(crate) fn run_compiled(
    core: &Core,
    prepared: &Prepared,
    mut run: impl FnMut(&Work, &Schema, u64) -> Result<Option<Rows>, Error>,
) -> Result<Rows, Error> {
    for _ in 0..COMPILATIONS_MAX {
        // In this order: a schema that is newer than its number is only compiled for again.
        let generation = core.schema.generation();
        let schema = core.schema.current();
        if prepared.compile(&schema, generation)?.is_some() {
            break;
        }
        if let Some(rows) = run(&prepared.work(), &schema, generation)? {
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
        f.debug_struct("Prepared").field("text", &self.statement.shown()).finish_non_exhaustive()
    }
}
