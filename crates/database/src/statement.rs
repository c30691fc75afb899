//! Executing statements: what a statement is, whatever the transaction allows, and what is told.

use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::TableId;
use hotrow_base::panics;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_query::Profile;
use hotrow_sql::{
    Analyzed, AnalyzedRun, CatalogChange, Compiled, Maintenance, Refresh, ScriptStatement,
    Temporary, TemporaryKind, compile_for, explain as explain_statement, parse_script,
    refuse_not_entitled, split_path,
};
use hotrow_transaction::catalog::{Attribute, qualified};
use hotrow_transaction::outcome::{Notice, NoticeLevel, SqlError};

use crate::context::Context;
use crate::cursors;
use crate::defining::define;
use crate::definition;
use crate::error::{Error, advised};
use crate::explain::explain;
use crate::keyless::with_keys;
use crate::lock_out::{self, refuse_lock_out};
use crate::lookup::registered;
use crate::prepare::{prepare, prepare_compiled, prepare_own};
use crate::prepared::Prepared;
use crate::result::{StatementResult, shown, tag};
use crate::rows::Rows;
use crate::run::{Runner, given};
use crate::session_settings::{control_transaction, execute_setting, settle_limits};
use crate::temporary::{self, Before};
use crate::transaction::notice_locks;
use crate::work::EXPLAINED;

impl Runner<'_> {
    /// Executes one statement.
    pub(crate) fn execute(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<StatementResult, Error> {
        let _guard = panics::guard();
        let context = self.context;
        let _running = context.interrupt.begin();
        let _entered = context.enter();
        let began = context.core.config.slow_statement.map(|_| Ticks::now());
        let done = self.execute_in_state(prepared, values);
        if done.is_err() {
            self.transaction.fail();
        }
        context.books.note_statement(done.is_ok());
        if let Some(began) = began {
            tell_if_slow(context, prepared.statement(), began);
        }
        if let Ok(result) = &done {
            log_notices(context, &result.notices);
        }
        settle_limits(context, self.transaction);
        self.transaction.settle_advisory(context);
        if done.is_ok() && !self.transaction.is_open() {
            context.commit_notifications();
        }
        if done.is_err() {
            return settle_error(context, prepared, done);
        }
        done
    }

    fn execute_in_state(
        &mut self,
        prepared: &Prepared,
        values: &[Value],
    ) -> Result<StatementResult, Error> {
        let context = self.context;
        let (core, statement) = (&context.core, prepared.statement());
        let mut generation = core.schema.generation();
        let compile = || match statement.depends_on_role() {
            true => compile_as_role(context, statement).map(Some),
            false => prepared.compile_now(&core.schema),
        };
        let compiled = compile();
        let place = statement.place;
        if let Ok(Some(Compiled::Transaction(control))) = compiled {
            let (said, notices) = control_transaction(context, self.transaction, control)?;
            let said_first = split_path(&statement.text).1.get(..5);
            let is_start = said_first.is_some_and(|word| word.eq_ignore_ascii_case("start"));
            let tag = if is_start { "START TRANSACTION" } else { said.tag };
            let (tag, rows, types) = (tag.to_owned(), Rows::default(), Arc::default());
            let notices = said.notices.into_iter().chain(notices).collect();
            return Ok(StatementResult { tag, rows, types, place, notices });
        }
        self.transaction.refuse_failed()?;
        prepared.check_count(values)?;
        let (mut types, mut notices) = (Arc::default(), Vec::new());
        let text = || Arc::new([SqlType::Scalar(DataType::Text)]);
        let mut is_filled = false;
        let compiled = with_keys(context, self.transaction, compiled, || {
            generation = core.schema.generation();
            compile()
        })??;
        if let Some(compiled) = &compiled {
            refuse_without(context, compiled)?;
        }
        let rows = match compiled {
            Some(Compiled::Interpreted) => return self.interpret(prepared),
            Some(called @ Compiled::InterpretedCall { .. }) => {
                return self.interpret_call(prepared, &called, values);
            }
            None => {
                let Some(rows) = self.run_unless_defining(prepared, values)? else {
                    return self.interpret(prepared);
                };
                // Behind the run, which compiles again where the schema has changed.
                types = prepared.result_types();
                rows
            }
            Some(Compiled::Explained { lines, .. }) => {
                types = text();
                context.settle_found(Ok(shown(EXPLAINED, lines.iter().map(String::as_str))))?
            }
            Some(Compiled::Analyzed(analyzed)) => {
                types = text();
                self.analyze(*analyzed, generation, values)?
            }
            Some(Compiled::ExplainProcedure { name, arguments }) => {
                let arguments = arguments.map(|written| given(&written, values)).transpose()?;
                if arguments.is_some() {
                    self.transaction.refuse_beside_definitions("EXPLAIN of a call")?;
                }
                types = text();
                explain(context, &name, arguments)?
            }
            Some(Compiled::Maintenance(maintenance)) => {
                match maintenance {
                    Maintenance::Checkpoint => {
                        refuse_checkpoint(context)?;
                        self.transaction.refuse_beside_definitions("CHECKPOINT")?;
                        core.checkpoint(&|_| ()).map(drop)?;
                    }
                    Maintenance::Reindex { concurrently, .. } => {
                        if concurrently {
                            self.transaction.refuse_inside("REINDEX CONCURRENTLY")?;
                        }
                    }
                    Maintenance::Lock(_) => {
                        self.transaction.refuse_outside("LOCK TABLE")?;
                        notices.push(notice_locks());
                    }
                    Maintenance::Listen(channel) => context.listen(channel),
                    Maintenance::Unlisten(channel) => context.unlisten(channel),
                    Maintenance::Vacuum(tables) | Maintenance::Analyze(tables) => {
                        let tag = tag(&statement.text, &Rows::default());
                        if tag == "VACUUM" {
                            self.transaction.refuse_inside(&tag)?;
                        }
                        notices.extend(context.not_his(&tag.to_lowercase(), &tables));
                    }
                }
                Rows::default()
            }
            Some(Compiled::Setting(setting)) => {
                let done = execute_setting(context, self.transaction, &setting)?;
                return Ok(StatementResult { place, ..done });
            }
            Some(Compiled::Naming(naming)) => {
                let done = cursors::name(context, &naming)?;
                return Ok(StatementResult { place, ..done });
            }
            Some(Compiled::Copy(_)) => {
                let hint = "Embedded, use Session::copy_in and Session::copy_out; a client of the \
                        server sends or takes the rows.";
                let message = "COPY needs somebody to send or take rows".to_owned();
                return Err(advised(b"0A000", message, hint).into());
            }
            Some(Compiled::Refresh(refresh)) => self.refresh(prepared, &refresh)?,
            Some(Compiled::Truncate(truncation)) => {
                notices.extend_from_slice(&truncation.notices);
                let fires = truncation.fires(&core.schema.current().catalog) && !statement.is_own();
                if fires && !self.transaction.is_open() {
                    return self.truncate_as_block(prepared);
                }
                let rows = self.truncate(prepared, &truncation, &mut notices)?;
                for (sequence, start) in &truncation.restarted {
                    context.set_number(*sequence, *start, false)?;
                }
                rows
            }
            Some(definition)
                if let Some(wanted) = statement.temporary()
                    && wanted.kind != TemporaryKind::Routine =>
            {
                notices.extend(definition.notices().into_iter().cloned());
                let rows = self.create_temporary(prepared, &definition, &wanted)?;
                is_filled = wanted.is_query && notices.is_empty();
                rows
            }
            Some(definition) => {
                refuse_lock_out(context, &definition)?;
                refuse_lacking(context, &definition)?;
                let dropped = temporary::dropped_by(&core.schema.current().catalog, &definition);
                let may_be_read = context.temporary().has_views();
                if let Some(names) = dropped.filter(|_| !may_be_read) {
                    self.transaction.refuse_failed()?;
                    context.temporary().let_go(&names);
                    let (tag, rows) = (tag(&statement.text, &Rows::default()), Rows::default());
                    return Ok(StatementResult { tag, rows, types, place, notices });
                }
                notices.extend(definition.notices().into_iter().cloned());
                let what = tag(&statement.text, &Rows::default());
                self.transaction.begin_definitions(context, &what)?;
                let temporary = statement.temporary();
                if temporary.is_some() {
                    self.make_temporary_schema()?;
                }
                // Compiled again: the catalog may be another one by then.
                let rows = self.transaction.define(context, statement)?;
                let schema = core.schema.current();
                if let Some(routine) = temporary {
                    let how = (statement.text.as_str(), self.transaction.is_open());
                    context.temporary().note(core, &schema.catalog, &routine, how);
                }
                context.temporary().look_again(core, &schema, &definition);
                for (sequence, number) in definition::restarted(&definition) {
                    context.set_number(sequence, number, false)?;
                }
                notices.extend(definition::warnings(&schema, &definition));
                notices.extend(lock_out::warning(&schema.catalog, &definition));
                match statement.filled() {
                    Some(filled) if created(&schema, &definition).next().is_some() => {
                        is_filled = true;
                        self.fill_or_drop(&filled)?
                    }
                    _ => rows,
                }
            }
        };
        let tag = match statement.changed_by_with() {
            _ if is_filled => format!("SELECT {}", rows.touched()),
            Some(verb) => tag(verb, &rows),
            None if statement.is_table_of_query() => "CREATE TABLE AS".to_owned(),
            None => tag(&statement.text, &rows),
        };
        notices.extend_from_slice(rows.notices());
        Ok(StatementResult { tag, rows, types, place, notices })
    }

    /// Runs a statement that was compiled for the schema of this number, or a later one, and tells
    /// what its operators took in place of its rows.
    fn analyze(
        &mut self,
        analyzed: Analyzed,
        generation: u64,
        values: &[Value],
    ) -> Result<Rows, Error> {
        let (context, Analyzed { text, compiled, form }) = (self.context, analyzed);
        if !values.is_empty() {
            let message = "EXPLAIN ANALYZE with parameters is not supported".to_owned();
            return Err(advised(b"0A000", message, "Write values in their places.").into());
        }
        let compiled_for = (generation, compiled.clone());
        let prepared = prepare_compiled(context, self.transaction, &text, compiled_for)?;
        let began = Ticks::now();
        context.measure(Some(Profile::default()));
        let done = self.run(&prepared, &[]);
        let profile = context.measure(None).unwrap_or_default();
        let done = done?;
        let rows = match prepared.returns_rows() {
            true => done.len() as u64,
            false => done.touched(),
        };
        let run = AnalyzedRun { profile, rows, took: began.elapsed() };
        let lines =
            explain_statement(&context.core.schema.current().catalog, &compiled, form, Some(&run));
        let lines = lines.unwrap_or_default();
        context.settle_found(Ok(shown(EXPLAINED, lines.iter().map(String::as_str))))
    }

    /// Makes the schema of what is temporary, where it is not there yet.
    fn make_temporary_schema(&mut self) -> Result<(), Error> {
        let context = self.context;
        let catalog = &context.core.schema.current().catalog;
        let text = context.temporary().schema_to_make(catalog);
        for statement in parse_script(text.as_deref().unwrap_or_default())? {
            self.transaction.define(context, &statement.as_own())?;
        }
        Ok(())
    }

    /// CREATE TEMP TABLE: takes one that is kept, or makes one.
    fn create_temporary(
        &mut self,
        prepared: &Prepared,
        definition: &Compiled,
        wanted: &Temporary,
    ) -> Result<Rows, Error> {
        let (context, statement) = (self.context, prepared.statement());
        let core = &context.core;
        let text = split_path(&statement.text).1;
        let is_nothing = |change: &CatalogChange| matches!(change, CatalogChange::Nothing(_));
        if matches!(definition, Compiled::Catalog(changes) if changes.iter().all(is_nothing)) {
            return Ok(Rows::default());
        }
        let schema = core.schema.current();
        let before = context.temporary().look(core, &schema.catalog, wanted, (text, definition));
        let is_made = !matches!(before, Before::TakeKept | Before::Delete(_));
        if is_made {
            self.transaction.make_way(context, &tag(&statement.text, &Rows::default()))?;
        }
        match before {
            Before::Nothing | Before::TakeKept => {}
            Before::Delete(delete) => {
                let delete = prepare_own(context, self.transaction, &delete, &[])?;
                self.run(&delete, &[])?;
            }
            Before::Drop(drop) => {
                for drop in parse_script(&drop)? {
                    self.transaction.define(context, &drop.as_own())?;
                }
            }
        }
        if is_made {
            self.transaction.define(context, statement)?;
        }
        let schema = core.schema.current();
        if is_made {
            self.transaction.has_created(created(&schema, definition));
        }
        let is_open = self.transaction.is_open();
        context.temporary().note(core, &schema.catalog, wanted, (text, is_open));
        let Some((_, insert)) = statement.filled() else { return Ok(Rows::default()) };
        let filled = self.fill(&insert);
        if filled.is_err() {
            context.temporary().let_go(std::slice::from_ref(&wanted.name));
        }
        filled
    }

    /// Makes the rows of a materialized view anew.
    fn refresh(&mut self, prepared: &Prepared, refresh: &Refresh) -> Result<Rows, Error> {
        let (context, statement) = (self.context, prepared.statement());
        let core = &context.core;
        let schema = core.schema.current();
        let role = context.role().clone();
        let asked = (statement, &Compiled::Refresh(refresh.clone()));
        refuse_not_entitled(&schema.catalog, &registered(&schema), role.as_deref(), asked)?;
        let block = prepare(context, self.transaction, &refresh.text, &[])?;
        self.run(&block, &[])?;
        if !refresh.changes.is_empty() {
            self.transaction.begin_definitions(context, "REFRESH MATERIALIZED VIEW")?;
            self.transaction.define(context, statement)?;
        }
        Ok(Rows::default())
    }

    /// Gives a table that CREATE TABLE ... AS has made its rows; where that fails, there is none.
    fn fill_or_drop(&mut self, (drop, insert): &(String, String)) -> Result<Rows, Error> {
        let filled = self.fill(insert);
        if filled.is_err() && !self.transaction.is_open() {
            for drop in parse_script(drop)? {
                define(self.context, &drop.in_path(&self.context.path()))?;
            }
        }
        filled
    }

    /// Gives a table that has just been made the rows that CREATE TABLE ... AS asks for.
    fn fill(&mut self, insert: &str) -> Result<Rows, Error> {
        let insert = prepare(self.context, self.transaction, insert, &[])?;
        self.run(&insert, &[])
    }
}

/// Fails with 42501 where what a statement was compiled to, and is not kept, needs a right that the
/// session's role has not.
fn refuse_without(context: &Context, compiled: &Compiled) -> Result<(), SqlError> {
    let needs = match compiled {
        Compiled::Explained { needs, .. } => needs,
        Compiled::Truncate(truncation) => &truncation.needs,
        _ => return Ok(()),
    };
    context.refuse_without(&context.core.schema.current().catalog, needs)
}

/// What a statement means for the role that the session has now; it may have been prepared when
/// that was another one.
fn compile_as_role(context: &Context, statement: &ScriptStatement) -> Result<Compiled, SqlError> {
    let schema = context.core.schema.current();
    let role = context.role().clone();
    compile_for(&schema.catalog, &registered(&schema), statement, role.as_ref())
}

/// CHECKPOINT is for superusers.
fn refuse_checkpoint(context: &Context) -> Result<(), SqlError> {
    if context.has_attribute(Attribute::Superuser) {
        return Ok(());
    }
    let message = "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT";
    Err(SqlError::new(b"42501", message))
}

/// Bytes of a slow statement's text that are written to the log.
const TOLD_BYTES_MAX: usize = 1024;

/// Tells an error when what it has seen is durable.
#[cold]
fn settle_error(
    context: &Context,
    prepared: &Prepared,
    done: Result<StatementResult, Error>,
) -> Result<StatementResult, Error> {
    if let Err(error) = &done {
        error.as_sql().iter().for_each(|error| log_notices(context, &error.notices));
    }
    context.settle_found(done).map_err(|error| prepared.placed(error))
}

/// Writes to the log what procedures raise for whoever runs the database to know.
fn log_notices(context: &Context, notices: &[Notice]) {
    for Notice { level, said } in notices {
        let (identity, message) = (context.identity(), said.message.as_str());
        let (number, user, code) = (identity.number, identity.user.as_str(), said.code());
        match level {
            NoticeLevel::Log => tracing::info!(number, user, code, message, "LOG was raised"),
            NoticeLevel::Warning => tracing::warn!(number, user, code, message, "a warning"),
            NoticeLevel::Debug
            | NoticeLevel::Notice
            | NoticeLevel::Info
            | NoticeLevel::Notification
            | NoticeLevel::Violation
            | NoticeLevel::Event => {}
        }
    }
}

/// Writes a statement to the log that took too long; values of parameters are not told.
fn tell_if_slow(context: &Context, statement: &ScriptStatement, began: Ticks) {
    let Some(span) = context.core.config.slow_statement else { return };
    let took = began.elapsed();
    if took < span {
        return;
    }
    let text = statement.shown();
    let text = &text[..text.floor_char_boundary(TOLD_BYTES_MAX)];
    let identity = context.identity();
    let (number, user) = (identity.number, identity.user.as_str());
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::warn!(ms, number, user, text, "a slow statement");
}

/// The tables that a definition has made.
fn created(schema: &Schema, definition: &Compiled) -> impl Iterator<Item = TableId> {
    let changes: &[CatalogChange] = match definition {
        Compiled::Catalog(changes) => changes,
        _ => &[],
    };
    changes.iter().filter_map(|change| match change {
        CatalogChange::CreateTable(table) => {
            let name = qualified(&table.schema, &table.name);
            Some(schema.catalog.table_named(&name)?.id)
        }
        _ => None,
    })
}

/// Fails where a routine's text names what is not there and PostgreSQL looks at it now: those in
/// SQL, unless the session has that switched off, as dumps do.
fn refuse_lacking(context: &Context, definition: &Compiled) -> Result<(), SqlError> {
    let Compiled::CreateProcedure { procedure, .. } = definition else { return Ok(()) };
    let is_on = || context.settings().get("check_function_bodies").is_ok_and(|of| of == "on");
    match &procedure.lacks {
        Some(lacking) if lacking.is_looked_at && is_on() => Err(lacking.error.clone()),
        _ => Ok(()),
    }
}
