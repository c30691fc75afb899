//! Queries of more than one access to one table, run in a session's transaction.
//!
//! Role         gives [`hotrow_query`] its ground: each read of a table is a statement of the
//!              transaction, so that a query sees one state and is serialized like anything else;
//!              the system catalog is that of the schema it was compiled for

use std::cell::LazyCell;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::ids::TableId;
use hotrow_base::memory::Charge;
use hotrow_base::panics;
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_query::{
    Advisory, AdvisoryStep, Fetched, Ground, Limits, Profile, Row, SystemFunction, drawn,
};
use hotrow_sql::{SystemContext, has_right, sequence_named, system_function, system_rows};
use hotrow_transaction::catalog::{
    BOOTSTRAP, Catalog, Object, Privileges, SearchPath, is_temporary,
};
use hotrow_transaction::invocation::{Invocation, Leaves};
use hotrow_transaction::needs::By;
use hotrow_transaction::outcome::{SqlError, apart};
use hotrow_transaction::random::{Randomness, Spot};

use crate::arguments::bind_all;
use crate::asker::{Asker, own_policies};
use crate::context::Context;
use crate::core::Core;
use crate::drawing::{give_all_back, put_drawn, seed};
use crate::error::{Error, advised};
use crate::rows::Rows;
use crate::session_settings::is_of_roles;
use crate::transaction::{NEXT_NUMBER, read_only};
use crate::work::{ChangeWork, QueryWork, StatementProgram};
use crate::{numbers, views};

/// Executes a change for each of its rows, with values for its parameters and the numbers that it
/// draws; none when it must be compiled again. What it has done by then is the caller's to undo.
pub(crate) fn apply(
    work: &ChangeWork,
    (values, rows, numbers): (&[Value], &Rows, &[i64]),
    around: &Around<'_>,
    execute: Execute<'_>,
) -> Result<Option<Rows>, Error> {
    let mut invocation = around.invocation();
    let columns = work.apply.procedure.result.iter().map(|column| column.name.clone()).collect();
    let (mut returned, mut touched) = (Vec::new(), 0);
    let mut charge = Charge::new(around.context.interrupt.memory());
    let mut numbers = numbers.iter().copied();
    for row in rows.iter() {
        let values: Vec<&Value> = values.iter().chain(row).collect();
        bind_all(&work.apply.procedure, &*values, &mut invocation)?;
        let asked: (&Core, &dyn Asker) = (&around.context.core, around.context);
        put_drawn(asked, &work.apply.procedure, &mut invocation.arguments, &mut numbers)?;
        let Some(changed) = execute(&work.apply, &invocation)? else { return Ok(None) };
        touched += changed.touched();
        charge.add(changed.bytes()).map_err(SqlError::from)?;
        returned.extend_from_slice(changed.values());
    }
    Ok(Some(Rows::new(columns, returned, touched).charged(charge)))
}

/// What a query is run with.
pub(crate) struct Around<'a> {
    pub(crate) core: &'a Core,
    pub(crate) schema: &'a Schema,
    pub(crate) context: &'a Context,
    pub(crate) now_us: i64,
    /// what it may leave to be checked before COMMIT
    pub(crate) leaves: Leaves,
    /// nothing else runs beside it
    pub(crate) is_alone: bool,
}

impl Around<'_> {
    /// Of its parts, but for their arguments.
    fn invocation(&self) -> Invocation {
        Invocation { leaves: self.leaves, ..Invocation::at(self.now_us) }
    }
}

/// Executes a statement of one table; none when the schema is another one.
pub(crate) type Execute<'a> =
    &'a mut dyn FnMut(&StatementProgram, &Invocation) -> Result<Option<Rows>, Error>;

/// Runs a query; none when it must be compiled again.
pub(crate) fn run(
    work: &QueryWork,
    values: &[Value],
    around: &Around<'_>,
    execute: Execute<'_>,
) -> Result<Option<Rows>, Error> {
    let invocation = around.invocation();
    let mut ground = Reads { work, around, execute, invocation, random: None };
    let interrupt = Some(Arc::clone(&around.context.interrupt));
    let limits = Limits { bytes_max: around.core.config.result_bytes_max, interrupt };
    // What the ground does is guarded again.
    let run = || {
        panics::point::reach("query");
        let (query, now_us) = (&work.query, around.now_us);
        if around.context.measure(None).is_none() {
            return hotrow_query::run(query, values, now_us, limits, &mut ground);
        }
        let mut profile = Profile::new(query); // of this run alone, if there was one before
        let to = (&mut ground, &mut profile);
        let fetched = hotrow_query::run_measured(query, values, now_us, limits, to);
        around.context.measure(Some(profile));
        fetched
    };
    match apart(run) {
        Ok(Fetched { values, charge }) => {
            let count = values.len() / work.columns.len().max(1);
            let rows = Rows::new(Arc::clone(&work.columns), values, count as u64);
            Ok(Some(rows.charged(charge)))
        }
        Err(Halt::Outdated) => Ok(None),
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// What ends a query early.
enum Halt {
    Outdated,
    Failed(Error),
}

impl From<SqlError> for Halt {
    fn from(error: SqlError) -> Self {
        Self::Failed(error.into())
    }
}

struct Reads<'a, 'f> {
    work: &'a QueryWork,
    around: &'a Around<'a>,
    execute: Execute<'f>,
    invocation: Invocation,
    /// the seed of its random values, once there is one, and how many there were
    random: Option<([u8; 16], u64)>,
}

impl Reads<'_, '_> {
    fn random(&mut self, what: Randomness) -> Result<Value, SqlError> {
        let (seed, row) = self.random.map_or_else(|| Ok((seed()?, 0)), Ok::<_, SqlError>)?;
        self.random = Some((seed, row + 1));
        let spot = Spot { seed: &seed, place: 0, turn: 0, row };
        Ok(drawn(what, spot, self.around.now_us))
    }
}

impl Reads<'_, '_> {
    fn with_context<T>(&self, ask: impl FnOnce(&SystemContext<'_>) -> T) -> T {
        let Around { core, schema, context, .. } = self.around;
        let identity = context.identity();
        let sources = LazyCell::new(|| core.sources.read());
        let procedures = schema
            .named_procedures()
            .map(|(id, compiled)| (id.0, &compiled.procedure, sources.text(id)));
        let setting = |name: &str| context.settings().get(&name.to_lowercase()).ok();
        let settings = context.settings().all().into_iter();
        let settings = settings.map(|[name, value, description]| (name, value, description));
        let last_number = |id| numbers::last(core, id);
        ask(&SystemContext {
            last_number: &last_number,
            catalog: &schema.catalog,
            path: &context.path(),
            procedures: procedures.collect(),
            user: &context.current_user(),
            session_user: &context.session_user(),
            maker: if identity.role.is_none() { &identity.user } else { BOOTSTRAP },
            role: context.role().as_deref(),
            database: &identity.database,
            session: identity.number,
            setting: &setting,
            settings: settings.collect(),
            own: &|view| match view {
                "pg_catalog.pg_prepared_statements" => context.names().rows(),
                "pg_catalog.pg_stat_activity" => views::sessions(context),
                view => views::rows(core, view),
            },
        })
    }
}

impl Reads<'_, '_> {
    /// Functions that change something of the session or of a sequence; none: another one.
    fn session_function(
        &self,
        function: SystemFunction,
        arguments: &[Value],
    ) -> Result<Option<Value>, SqlError> {
        use SystemFunction as F;
        let Around { schema, context, .. } = self.around;
        if let F::Advisory(function) = function {
            return self.advisory(function, arguments).map(Some);
        }
        if let (F::OwnPolicies, [Value::BigInt(table), Value::BigInt(view)]) = (function, arguments)
        {
            // The compiler gives a table's number, and a view's or -1.
            let Ok(table) = u16::try_from(*table) else { return Ok(Some(Value::BigInt(0))) };
            let by = u32::try_from(*view).map_or(By::Caller, By::View);
            return own_policies(&schema.catalog, *context, (TableId(table), &by)).map(Some);
        }
        if function == F::LastValue {
            return context.last_number().map(|number| Some(Value::BigInt(number)));
        }
        if function == F::SetConfig {
            let [Value::Text(name), Value::Text(value), is_local] = arguments else {
                return Ok(Some(Value::Null));
            };
            let is_local = *is_local == Value::Bool(true);
            return configure(context, &name.to_lowercase(), value, is_local).map(Some);
        }
        if !matches!(function, F::NextValue | F::CurrentValue | F::SetValue) {
            return Ok(None);
        }
        let Some(Value::Text(name)) = arguments.first() else { return Ok(Some(Value::Null)) };
        let Some(table) = sequence_named(&schema.catalog, &context.path(), name) else {
            return Err(match relation_exists(&schema.catalog, &context.path(), name) {
                true => SqlError::new(b"42809", format!("\"{name}\" is not a sequence")),
                false => SqlError::new(b"42P01", format!("relation \"{name}\" does not exist")),
            });
        };
        let one_of = match function {
            F::NextValue => Privileges::USAGE.and(Privileges::UPDATE),
            F::CurrentValue => Privileges::USAGE.and(Privileges::SELECT),
            _ => Privileges::UPDATE,
        };
        context.refuse_sequence(&schema.catalog, &Object::Table(table.id), one_of)?;
        if context.only_reads.get() && function != F::CurrentValue && !is_temporary(&table.schema) {
            let what = if function == F::SetValue { "setval()" } else { NEXT_NUMBER };
            return Err(read_only(what));
        }
        let number = match (function, arguments) {
            (F::NextValue, _) => context.next_number(table.id).map_err(as_sql)?,
            (F::CurrentValue, _) => context.current_number(table.id, &table.name)?,
            (_, [_, Value::BigInt(number), rest @ ..]) => {
                let is_called = !matches!(rest, [Value::Bool(false)]);
                context.set_number(table.id, *number, is_called).map_err(as_sql)?;
                *number
            }
            _ => return Ok(Some(Value::Null)),
        };
        Ok(Some(Value::BigInt(number)))
    }
}

/// `set_config`
fn configure(
    context: &Context,
    name: &str,
    value: &str,
    is_local: bool,
) -> Result<Value, SqlError> {
    match is_of_roles(name) {
        true => context.set_role(name, Some(value), is_local)?,
        false => context.settings().set(name, Some(value), is_local)?,
    }
    context.settings().get(name).map(Value::Text)
}

fn relation_exists(catalog: &Catalog, path: &SearchPath, name: &str) -> bool {
    catalog.table_seen(path, &name.replacen('.', "\0", 1)).is_some()
}

/// An error of a transaction that another one needs.
fn as_sql(error: Error) -> SqlError {
    match error {
        Error::Sql(error) => *error,
        other => SqlError::new(b"58030", other.to_string()),
    }
}

/// Longest sleep: what `Duration` and a clock of nanoseconds hold, and more than anybody waits.
const SLEEP_SECONDS_MAX: f64 = 1e9;

impl Reads<'_, '_> {
    fn advisory(&self, function: Advisory, arguments: &[Value]) -> Result<Value, SqlError> {
        if self.around.is_alone && function.step == AdvisoryStep::Lock {
            let message = "an advisory lock beside tables would hold everybody up on this engine";
            let advice = "SELECT pg_advisory_lock(...) alone.";
            return Err(advised(b"0A000", message.to_owned(), advice));
        }
        let context = self.around.context;
        let given = context.advisory.call(function, arguments, &context.interrupt)?;
        Ok(given.unwrap_or_default())
    }

    fn sleep(&self, seconds: f64) -> Result<Value, SqlError> {
        if self.around.is_alone {
            self.around.context.interrupt.give_up_attempt()?;
            let message = "pg_sleep beside tables would hold everybody up on this engine";
            return Err(advised(b"0A000", message.to_owned(), "SELECT pg_sleep(...) alone."));
        }
        if seconds > 0.0 {
            let span = Duration::from_secs_f64(seconds.min(SLEEP_SECONDS_MAX));
            self.around.context.interrupt.sleep(span)?;
        }
        Ok(Value::Text(String::new()))
    }
}

impl Ground for Reads<'_, '_> {
    type Error = Halt;

    fn go_on(&mut self) -> Result<(), Halt> {
        let _guard = panics::guard();
        Ok(self.around.context.interrupt.check().map_err(SqlError::from)?)
    }

    fn fetch(&mut self, fetch: usize, values: &[Value]) -> Result<Fetched, Halt> {
        let _guard = panics::guard();
        let read = &self.work.fetches[fetch];
        bind_all(&read.procedure, values, &mut self.invocation)?;
        let arguments = &mut self.invocation.arguments;
        self.around.context.draw_for(&read.procedure, arguments).map_err(Halt::Failed)?;
        let rows = loop {
            let mut rows = (self.execute)(read, &self.invocation);
            let (context, arguments) = (self.around.context, &mut self.invocation.arguments);
            let draws = context.draws_more(&read.procedure, arguments, &mut rows, || {});
            if !draws.map_err(Halt::Failed)? {
                break rows.map_err(Halt::Failed)?;
            }
        };
        let Some((values, charge)) = rows.map(Rows::into_parts) else {
            let arguments = &self.invocation.arguments;
            give_all_back(&self.around.context.core, &read.procedure, arguments);
            return Err(Halt::Outdated);
        };
        Ok(Fetched { values, charge })
    }

    fn hold(&mut self, fetch: usize, key: &[Value]) -> Result<Option<Vec<Value>>, Halt> {
        match self.fetch(fetch, key) {
            Err(Halt::Failed(Error::Sql(error))) if error.sqlstate == *b"55P03" => Ok(None),
            fetched => fetched.map(|fetched| Some(fetched.values)),
        }
    }

    fn system_rows(&mut self, relation: &str) -> Vec<Row> {
        let _guard = panics::guard();
        self.with_context(|context| system_rows(context, relation))
    }

    fn system_function(
        &mut self,
        function: SystemFunction,
        arguments: &[Value],
    ) -> Result<Value, SqlError> {
        let _guard = panics::guard();
        if let Some(value) = self.session_function(function, arguments)? {
            return Ok(value);
        }
        match (function, arguments) {
            (SystemFunction::Random(what), _) => return self.random(what),
            (SystemFunction::Sleep, [Value::Double(seconds)]) => return self.sleep(*seconds),
            (
                SystemFunction::CancelBackend | SystemFunction::TerminateBackend,
                [Value::Int(number)],
            ) if let Some(other) = self.around.core.cancellers.role_of(*number)
                && let Err(refused) = self.around.context.may_interrupt(&other) =>
            {
                return Err(refused);
            }
            (SystemFunction::CancelBackend, [Value::Int(number)]) => {
                return Ok(Value::Bool(self.around.core.cancellers.cancel(*number)));
            }
            // Whom it waits for is not asked: see its documentation.
            (SystemFunction::IsBlocked, [Value::Int(number), ..]) => {
                return Ok(Value::Bool(self.around.core.cancellers.is_waiting(*number)));
            }
            (SystemFunction::TerminateBackend, [Value::Int(number)]) => {
                return Ok(Value::Bool(self.around.core.cancellers.terminate(*number)));
            }
            _ => {}
        }
        if let SystemFunction::HasRight(of) = function {
            return self.with_context(|context| has_right(context, of, arguments));
        }
        let value = self.with_context(|context| system_function(context, function, arguments));
        let must_exist = matches!(
            (function, arguments),
            (SystemFunction::CurrentSetting, [Value::Text(_)])
                | (SystemFunction::RelationOid, [Value::Text(_), Value::Bool(true)])
                | (SystemFunction::ProcedureOid, [Value::Text(_)])
        );
        match (value, arguments.first()) {
            (Value::Null, Some(Value::Text(name))) if must_exist => Err(match function {
                SystemFunction::CurrentSetting => {
                    let message = format!("unrecognized configuration parameter \"{name}\"");
                    SqlError::new(b"42704", message)
                }
                SystemFunction::ProcedureOid => {
                    SqlError::new(b"42883", format!("function \"{name}\" does not exist"))
                }
                _ => SqlError::new(b"42P01", format!("relation \"{name}\" does not exist")),
            }),
            (value, _) => Ok(value),
        }
    }
}
