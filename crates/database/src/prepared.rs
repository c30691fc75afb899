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
use hotrow_base::memory::MemoryAccount;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::{Value, ValueError};
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_sql::{
    Compiled, Naming, ScriptStatement, compile, compile_with_literals, compile_with_parameters,
    parse_script, place_in_text, with_literals,
};
use hotrow_transaction::draw::Draw;
use hotrow_transaction::invocation::Arguments;
use hotrow_transaction::needs::Needs;
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::program::{Place, Procedure};

use crate::arguments::refusal;
use crate::context::Context;
use crate::elsewhere::Elsewhere;
use crate::error::{Error, advised, changing};
use crate::keeping::Keeping;
use crate::lookup::registered;
use crate::role_in_force::{RoleInForce, is_same};
use crate::rows::Rows;
use crate::work::{Work, columns_of, is_work};

/// A statement to be executed again and again, with values for its parameters `$1`, `$2` ...
/// ([`crate::Session::prepare`]).
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
    /// what it means with the path that was in force when it was last executed, if that is another
    /// one
    elsewhere: RefCell<Option<Box<Elsewhere>>>,
}

/// What was found out when a statement was prepared.
pub(crate) struct Takes {
    parameters: Vec<SqlType>,
    columns: Vec<(String, SqlType)>,
    /// where its parameters are its literals: the types of those that are
    literals: Option<Vec<Option<SqlType>>>,
}

/// A compiled statement.
pub(crate) struct Known {
    generation: u64,
    work: Work,
    /// what all its results share: the types of their columns, and which columns of tables they are
    types: Arc<[SqlType]>,
    origins: Arc<[(u32, i16)]>,
    /// what whoever runs it needs the right to do
    needs: Needs,
    /// who was seen to have that
    allowed: RefCell<RoleInForce>,
}

impl Known {
    /// What a statement compiles to, if that is kept; inside: what is not.
    fn of(
        schema: &Schema,
        generation: u64,
        compiled: Compiled,
    ) -> Result<Result<Self, Compiled>, SqlError> {
        Ok(match is_work(&compiled) {
            true => {
                let needs = compiled.needs().cloned().unwrap_or_default();
                let work = Work::of(schema, compiled)?;
                let (types, origins) = (work.result_types(), work.origins());
                let allowed = RefCell::default();
                Ok(Self { generation, work, types, origins, needs, allowed })
            }
            false => Err(compiled),
        })
    }
}

/// Compiles a statement with parameters, whose types are given as far as they are known.
pub(crate) fn compile_taking(
    schema: &Schema,
    generation: u64,
    statement: &ScriptStatement,
    types: &[Option<SqlType>],
) -> Result<(Takes, Option<Known>), SqlError> {
    apart(|| {
        let (compiled, parameters) =
            compile_with_parameters(&schema.catalog, &registered(schema), statement, types)?;
        let columns = columns_of(schema, &compiled);
        let known = Known::of(schema, generation, compiled)?.ok();
        Ok((Takes { parameters, columns, literals: None }, known))
    })
}

impl Prepared {
    /// A statement with parameters, as it was compiled.
    pub(crate) fn with_parameters(
        statement: ScriptStatement,
        (takes, known): (Takes, Option<Known>),
    ) -> Self {
        Self::new(statement, Some(takes), known)
    }

    /// A statement without parameters that was compiled for the schema of this number.
    pub(crate) fn compiled(
        schema: &Schema,
        generation: u64,
        statement: ScriptStatement,
        compiled: Compiled,
    ) -> Result<Self, SqlError> {
        let columns = columns_of(schema, &compiled);
        let known = apart(|| Known::of(schema, generation, compiled))?.ok();
        let takes = Takes { parameters: Vec::new(), columns, literals: None };
        Ok(Self::new(statement, Some(takes), known))
    }

    /// Compiles a statement whose parameters are its literals ([`Prepared::literals`]).
    pub(crate) fn shaped(
        schema: &Schema,
        generation: u64,
        statement: ScriptStatement,
    ) -> Result<Self, SqlError> {
        apart(|| {
            let (compiled, literals) =
                compile_with_literals(&schema.catalog, &registered(schema), &statement)?;
            let columns = columns_of(schema, &compiled);
            let known = match Known::of(schema, generation, compiled)? {
                Ok(known) => Some(known),
                Err(Compiled::Transaction(_)) => None,
                Err(_) => return Err(SqlError::new(b"0A000", "there is nothing to keep")),
            };
            // One that is none has no value that anybody looks at.
            let open = SqlType::Scalar(DataType::Text);
            let parameters = literals.iter().map(|known| known.unwrap_or(open)).collect();
            let takes = Some(Takes { parameters, columns, literals: Some(literals) });
            Ok(Self::new(statement, takes, known))
        })
    }

    /// DECLARE, which takes the parameters of its query.
    pub(crate) fn declaring(statement: ScriptStatement, query: &Self) -> Self {
        let parameters = query.parameters().to_vec();
        let takes = Some(Takes { parameters, columns: Vec::new(), literals: None });
        Self::new(statement, takes, None)
    }

    /// Has what it takes be paid for by an account that outlives the statement that makes it.
    pub(crate) fn keep_for(&mut self, memory: &Arc<MemoryAccount>) {
        self.statement.keep_for(memory);
    }

    /// Whether compiling it for the schema of this number would give the same.
    pub(crate) fn is_of(&self, generation: u64) -> bool {
        match &*self.known.borrow() {
            Some(known) => known.generation == generation,
            None => self.statement.is_transaction_control(),
        }
    }

    /// A statement of a script, which has no parameters.
    pub(crate) fn of_script(statement: ScriptStatement) -> Self {
        Self::new(statement, None, None)
    }

    fn new(statement: ScriptStatement, takes: Option<Takes>, known: Option<Known>) -> Self {
        let (known, kept) = (RefCell::new(known), Keeping::default());
        Self { statement, takes, known, kept, elsewhere: RefCell::default() }
    }

    /// Whether it is executed again later, when its names may be looked for elsewhere.
    pub(crate) fn may_move(&self) -> bool {
        let is_kept = self.takes.as_ref().is_some_and(|takes| takes.literals.is_none());
        is_kept && !self.statement.is_transaction_control()
    }

    pub(crate) fn take_elsewhere(&self) -> Option<Box<Elsewhere>> {
        self.elsewhere.take()
    }

    pub(crate) fn keep_elsewhere(&self, elsewhere: Box<Elsewhere>) {
        *self.elsewhere.borrow_mut() = Some(elsewhere);
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
    pub fn origins(&self) -> Arc<[(u32, i16)]> {
        self.known.borrow().as_ref().map_or_else(Arc::default, |known| Arc::clone(&known.origins))
    }

    /// Whether it is a query with a change in its WITH.
    pub fn has_changes_in_with(&self) -> bool {
        self.statement.has_changes_in_with()
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
        if self.is_known(generation) {
            return Ok(None);
        }
        apart(|| self.compile_anew(schema, generation))
    }

    /// As [`Prepared::compile`], in the schema that is in force. Where that is the one it was
    /// compiled for, this takes no share of it: their count is one for all threads.
    pub(crate) fn compile_now(&self, shared: &SharedSchema) -> Result<Option<Compiled>, SqlError> {
        // In this order: a schema that is newer than its number is only compiled for again.
        let generation = shared.generation();
        match self.is_known(generation) {
            true => Ok(None),
            false => self.compile(&shared.current(), generation),
        }
    }

    fn is_known(&self, generation: u64) -> bool {
        self.known.borrow().as_ref().is_some_and(|known| known.generation == generation)
    }

    fn compile_anew(&self, schema: &Schema, generation: u64) -> Result<Option<Compiled>, SqlError> {
        let registered = registered(schema);
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
                    return Err(result_changed());
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

    /// Whether a role was seen to have all rights that it needs.
    pub(crate) fn is_allowed(&self, role: &RoleInForce) -> bool {
        let known = self.known.borrow();
        known.as_ref().is_some_and(|known| is_same(&known.allowed.borrow(), role))
    }

    /// Notes that a role has all rights that it needs.
    pub(crate) fn allow(&self, role: RoleInForce) {
        if let Some(known) = &*self.known.borrow() {
            *known.allowed.borrow_mut() = role;
        }
    }

    /// What whoever runs it needs the right to do, for a look.
    pub(crate) fn with_needs<T>(&self, look: impl FnOnce(&Needs) -> T) -> T {
        match &*self.known.borrow() {
            Some(known) => look(&known.needs),
            None => look(&Needs::default()),
        }
    }

    /// The types of the columns that it returns, behind a [`Prepared::compile`] that gave nothing.
    pub(crate) fn result_types(&self) -> Arc<[SqlType]> {
        self.known.borrow().as_ref().map_or_else(Arc::default, |known| Arc::clone(&known.types))
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

    /// Whether it draws numbers of sequences for which `is_asked` holds, with its arguments; not
    /// said of calls, nor of what a query draws for each row.
    pub(crate) fn draws_numbers(&self, is_asked: impl Fn(TableId) -> bool) -> bool {
        let draws = |of: &Procedure| {
            of.draws.iter().any(|draw| match draw {
                Draw::Number(of) | Draw::Numbers(of) => is_asked(*of),
                _ => false,
            })
        };
        match &*self.work() {
            Work::Program(work) => draws(&work.procedure),
            Work::Query(work) => work.query.fetches.iter().any(draws),
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

    /// Whether it may leave violated constraints to be checked by COMMIT; not said of calls.
    pub(crate) fn may_defer(&self) -> bool {
        match &*self.work() {
            Work::Program(work) => work.program.may_defer(),
            Work::Change(work) => work.apply.program.may_defer(),
            Work::Query(work) => work.fetches.iter().any(|part| part.program.may_defer()),
            Work::Call { .. } => false,
        }
    }

    /// Whether it changes rows; not said of calls.
    pub(crate) fn writes(&self) -> bool {
        match &*self.work() {
            Work::Program(work) => {
                work.uses.iter().any(|(_, usage)| usage.is_written()) || work.program.has_dynamic()
            }
            Work::Change(_) => true,
            Work::Query(work) => work.writes(),
            Work::Call { .. } => false,
        }
    }

    /// Values as those of its parameters' types.
    pub(crate) fn bound(&self, values: &[Value]) -> Result<Vec<Value>, SqlError> {
        let mut bound = Arguments::default();
        for (at, (sql_type, value)) in self.parameters().iter().zip(values).enumerate() {
            bound.push_value(*sql_type, value).map_err(|error| refused(at, *sql_type, &error))?;
        }
        let Arguments { datums, elements, heap } = &bound;
        let value = |(sql_type, datum): (&SqlType, &Datum)| {
            Value::from_parameter(*datum, *sql_type, heap, elements)
        };
        Ok(self.parameters().iter().zip(datums).map(value).collect())
    }

    /// A program's statement as one without parameters; none if it has none.
    pub(crate) fn with_literals(&self, values: &[Value]) -> Result<Option<Self>, SqlError> {
        if values.is_empty() {
            return Ok(None);
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

/// The error of a value that a parameter does not take.
pub(crate) fn refused(at: usize, sql_type: SqlType, error: &ValueError) -> SqlError {
    SqlError::new(&refusal(error), format!("parameter ${} of type {sql_type}: {error}", at + 1))
}

/// Runs what a statement does by `run`, compiled again while that finds it outdated.
pub(crate) fn run_compiled(
    context: &Context,
    prepared: &Prepared,
    mut run: impl FnMut(&Work, &Schema, u64) -> Result<Option<Rows>, Error>,
) -> Result<Rows, Error> {
    let core = &context.core;
    for _ in 0..COMPILATIONS_MAX {
        // In this order: a schema that is newer than its number is only compiled for again.
        let generation = core.schema.generation();
        let schema = core.schema.current();
        if prepared.compile(&schema, generation)?.is_some() {
            break;
        }
        prepared.refuse_without(context)?;
        if let Some(rows) = run(&prepared.work(), &schema, generation)? {
            return Ok(rows);
        }
    }
    Err(changing().into())
}

/// A prepared statement would return other columns than it was said to.
pub(crate) fn result_changed() -> SqlError {
    let message = "cached plan must not change result type".to_owned();
    advised(b"0A000", message, "Prepare the statement again.")
}

/// Times a statement is compiled again because definitions come in between.
pub(crate) const COMPILATIONS_MAX: u32 = 1000;

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("text", &self.statement.shown()).finish_non_exhaustive()
    }
}
