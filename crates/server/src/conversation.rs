//! What is said on a connection once it has a session: simple and extended queries.
//!
//! States       talking -> skipping (an error in the extended protocol) -> talking at the next Sync
//! Invariants   I1 every Query and every Sync is answered by one ReadyForQuery, whatever came
//!                 before
//!              I2 a message is answered completely before the next one is read; its answer is
//!                 [held back](crate::held) until it is durable, and the next one is not
//!              I3 the statements of a Query, and what is executed up to a Sync, are one
//!                 transaction where no BEGIN has opened one, as far as
//!                 [`Session::begin_batch`] has it
//! Source       PostgreSQL 15, "Message Flow". We differ: definitions, and calls that come first,
//!              are transactions of their own; a portal's rows are all found when it is first
//!              executed

use std::cell::Cell;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hotrow::{
    CopyIn, Direction, NamedBy, Naming, Outcome, Prepared, Script, Session, SqlError, SqlType,
    StatementResult, TransactionState, Value,
};
use hotrow_base::clock::Ticks;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{
    BindComplete, CloseComplete, ParseComplete, PortalSuspended,
};
use pgwire::messages::response::{
    EmptyQueryResponse, NotificationResponse, ReadyForQuery, TransactionStatus,
};
use pgwire::messages::startup::ParameterStatus;

use crate::answer::{
    describe_rows, say_copy, say_notices, say_result, say_rows, say_tag, say_text, send_rows, tag,
};
use crate::connection::{Ended, Idle, Outgoing};
use crate::frontend::{Bind, Frontend, Target};
use crate::portal::{Portal, Portals, Progress, Statement, Statements};
use crate::report::{Severity, response, sql_error};
use crate::wire::{self, Format};

/// Prepared statements, and portals, that a connection may have.
const STATEMENTS_MAX: usize = 10_000;

/// Bytes of the texts of a connection's prepared statements, and of its portals' values.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// Between two looks at whether a notification that has come is durable.
const DURABLE_LOOKS_EVERY: Duration = Duration::from_millis(1);
/// Between two looks at whether a COPY was cancelled whose client is silent.
const COPY_LOOKS_EVERY: Duration = Duration::from_millis(100);

/// One client's conversation: its session, its prepared statements and its portals.
pub(crate) struct Conversation<'a> {
    session: Session,
    out: &'a mut Outgoing,
    statements: Statements,
    portals: Portals,
    /// until the next Sync
    skips: bool,
    /// rows that are to come
    copying: Option<Copying>,
    /// of one that listens: since when its client has said nothing
    quiet_since: Option<Ticks>,
    /// what wakes it where something has come that it listens to; none: it has not listened
    waker: Option<Arc<UnixStream>>,
    /// notifications were lost that its client has not been told of
    lost: Option<SqlError>,
    /// transactions that had ended when portals were last looked at
    ended: u64,
}

/// A COPY FROM STDIN that waits for rows.
struct Copying {
    copy: Box<CopyIn>,
    /// what was executed
    text: String,
    /// the statements behind it, of a script; none: it was a portal that was executed
    rest: Option<Script>,
}

/// Whether there is more to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Goes {
    On,
    Away,
}

impl<'a> Conversation<'a> {
    /// A conversation in a session.
    pub(crate) fn new(session: Session, out: &'a mut Outgoing) -> Self {
        out.hold_back(session.hold_back());
        let (statements, portals) = (Statements::default(), Portals::default());
        let (copying, quiet_since, waker, lost) = (None, None, None, None);
        let (skips, ended) = (false, session.transactions_ended());
        Self { session, out, statements, portals, skips, copying, quiet_since, waker, lost, ended }
    }

    /// What answers go to.
    pub(crate) fn out(&mut self) -> &mut Outgoing {
        self.out
    }

    /// How long its client may say nothing; none: for ever.
    pub(crate) fn patience(&mut self) -> Option<Duration> {
        if self.copying.is_some() {
            return Some(COPY_LOOKS_EVERY);
        }
        let (limit, listens) = (self.session.idle_limit(), self.session.listens());
        if limit.is_none() && !listens {
            return None;
        }
        let since = *self.quiet_since.get_or_insert_with(Ticks::now);
        let left = limit.map(|limit| limit.saturating_sub(since.elapsed()));
        match listens && self.may_be_told() && self.session.waits_for_notifications() {
            true => Some(left.map_or(DURABLE_LOOKS_EVERY, |left| left.min(DURABLE_LOOKS_EVERY))),
            false => left,
        }
    }

    /// Whether the client may be told of notifications now: in a transaction it hears of none.
    fn may_be_told(&self) -> bool {
        self.session.transaction_state() == TransactionState::Idle
    }

    /// Why its client may not go on: it has lost notifications.
    pub(crate) fn lost(&mut self) -> Option<SqlError> {
        self.lost.take()
    }

    /// Tells the notifications that have come.
    fn say_notifications(&mut self) {
        if !self.may_be_told() || !self.session.listens() {
            return;
        }
        if self.waker.is_none() {
            self.waker = self.out.waker();
        }
        if let Some(waker) = self.waker.clone() {
            self.session.on_notification(move || {
                // Full, it wakes all the same.
                let _ = (&*waker).write(&[0]);
            });
        }
        match self.session.notifications() {
            Ok(all) => all.into_iter().for_each(|of| {
                self.out.say(&NotificationResponse::new(of.sender, of.channel, of.payload));
            }),
            Err(lost) => self.lost = Some(sql_error(lost)),
        }
    }

    /// The client has said nothing for that long, or was woken, be it for a channel that it has
    /// left since: why the connection ends, if it does.
    pub(crate) fn time_out(&mut self) -> Option<Ended> {
        if let Some(copying) = &mut self.copying {
            // As if it had sent no rows: a COPY that was cancelled fails by that.
            if let Err(error) = copying.copy.write(&self.session, &[])
                && let Some(Copying { text, rest, .. }) = self.copying.take()
            {
                self.end_copy(text, rest, Err(error));
            }
            return None;
        }
        self.say_notifications();
        let limit = self.session.idle_limit()?;
        if self.quiet_since.is_none_or(|since| since.elapsed() < limit) {
            return None;
        }
        Some(Ended::Idle(match self.session.transaction_state() {
            TransactionState::Idle => Idle::Outside,
            TransactionState::Open | TransactionState::Failed => Idle::InTransaction,
        }))
    }

    /// Answers a message; `is_last` is of an Execute: the next one comes behind a Sync. `has_more`:
    /// another message has come already, before which nobody waits for this answer.
    pub(crate) fn answer(&mut self, message: Frontend<'_>, is_last: bool, has_more: bool) -> Goes {
        self.quiet_since = None;
        // One that ends a batch is waited for with those before it.
        self.session.set_patient(has_more || self.out.holds_any());
        let goes = self.answer_message(message, is_last);
        self.out.mark(false);
        goes
    }

    fn answer_message(&mut self, message: Frontend<'_>, is_last: bool) -> Goes {
        if self.copying.is_some() && !matches!(message, Frontend::Terminate) {
            if let Some(rest) = self.copied(message) {
                return self.answer_message(rest, is_last);
            }
            return Goes::On;
        }
        match message {
            Frontend::Terminate => return Goes::Away,
            Frontend::Query(script) => {
                self.skips = false;
                self.query(script);
            }
            Frontend::Sync => {
                if let Err(error) = self.session.end_batch(!self.skips) {
                    self.told(Err(sql_error(error)), "");
                }
                self.skips = false;
                self.ready();
            }
            // Answers are sent before the next message is waited for.
            Frontend::Flush => {}
            // What was sent before its sender knew that the COPY had failed.
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => {}
            _ if self.skips => {}
            Frontend::Parse { name, text, types } => {
                let parsed = self.parse(name, text, &types);
                self.told(parsed, text);
            }
            Frontend::Bind(bind) => {
                if let Err(error) = self.bind(&bind) {
                    self.tell_error(error, self.statements.get(bind.statement).map(Rc::clone));
                }
            }
            Frontend::Describe(target) => {
                let described = self.describe(target);
                self.told(described, "");
            }
            Frontend::Execute { portal, rows } => {
                if !is_last {
                    self.session.begin_batch(); // I3
                }
                if let Err(error) = self.execute(portal, rows) {
                    let of = self.portals.get(portal).map(|portal| Rc::clone(&portal.statement));
                    self.tell_error(error, of);
                }
            }
            Frontend::Close(target) => {
                match target {
                    Target::Statement(name) => self.statements.remove(&self.session, name),
                    Target::Portal(name) => {
                        self.portals.remove(name);
                    }
                }
                self.out.say(&CloseComplete::new());
            }
        }
        Goes::On
    }

    fn ready(&mut self) {
        self.settle_portals();
        if self.session.transaction_state() == TransactionState::Idle {
            self.portals.retain(|portal| portal.holds);
        }
        let status = match self.session.transaction_state() {
            TransactionState::Idle => TransactionStatus::Idle,
            TransactionState::Open => TransactionStatus::Transaction,
            TransactionState::Failed => TransactionStatus::Error,
        };
        for (name, value) in self.session.changed_settings() {
            self.out.say(&ParameterStatus::new(name.to_owned(), value));
        }
        self.say_notifications();
        self.out.say(&ReadyForQuery::new(status));
        self.out.mark(true);
    }

    /// Lets go of the portals of a transaction that has ended, where the next one has begun.
    fn settle_portals(&mut self) {
        let ended = self.session.transactions_ended();
        if std::mem::replace(&mut self.ended, ended) != ended {
            self.portals.retain(|portal| portal.holds);
        }
    }

    /// Tells an error of the extended protocol, behind which everything is skipped.
    fn told(&mut self, done: Result<(), SqlError>, text: &str) {
        if let Err(error) = done {
            self.say_error(&error, text);
            self.skips = true;
        }
    }

    /// As [`Conversation::told`], of a statement, if it is there.
    fn tell_error(&mut self, error: SqlError, of: Option<Rc<Statement>>) {
        self.told(Err(error), of.as_ref().map_or("", |statement| &statement.text));
    }

    /// What a statement had said, and the error that it came to.
    fn say_error(&mut self, error: &SqlError, text: &str) {
        say_notices(self.out, &self.session, &error.notices);
        self.out.say(&response(error, Severity::Error, text));
    }

    /// A script, answered statement by statement.
    fn query(&mut self, script: &str) {
        self.statements.remove(&self.session, "");
        self.portals.remove("");
        match self.session.parse(script) {
            Ok(statements) if statements.is_empty() => {
                self.out.say(&EmptyQueryResponse::new());
                self.ready();
            }
            Ok(statements) => {
                if statements.len() > 1 {
                    self.session.begin_batch(); // I3
                }
                self.run_script(script, statements);
            }
            Err(error) => self.end_script(script, Err(error)),
        }
    }

    /// Executes what is left of a script, up to where a COPY waits for rows.
    fn run_script(&mut self, script: &str, mut rest: Script) {
        while let Some(statement) = self.session.next_of(&mut rest) {
            let statement = match statement {
                Ok(statement) => statement,
                Err(error) => return self.end_script(script, Err(error)),
            };
            match self.session.perform_sent(&statement) {
                Ok(Outcome::Done(result)) => {
                    say_result(self.out, &self.session, &result, &statement.origins());
                }
                Ok(Outcome::CopyOut(copy)) => say_rows(self.out, &self.session, *copy),
                Ok(Outcome::CopyIn(copy)) => {
                    return self.copy_in(copy, script, Some(rest));
                }
                Ok(Outcome::Naming(naming)) => match self.name(naming, &[]) {
                    Ok(result) => say_result(self.out, &self.session, &result, &[]),
                    Err(error) => return self.end_script(script, Err(error)),
                },
                Err(error) => return self.end_script(script, Err(error)),
            }
        }
        self.end_script(script, Ok(()));
    }

    fn end_script(&mut self, script: &str, done: Result<(), hotrow::Error>) {
        let ended = self.session.end_batch(done.is_ok());
        if let Err(error) = done.and(ended) {
            self.say_error(&sql_error(error), script);
        }
        self.ready();
    }

    /// Asks the client for rows.
    fn copy_in(&mut self, copy: Box<CopyIn>, text: &str, rest: Option<Script>) {
        say_copy(self.out, b'G', copy.columns(), Format::of_copy(copy.is_binary()));
        self.copying = Some(Copying { copy, text: text.to_owned(), rest });
    }

    /// Takes a message while rows are waited for; gives it back where it ends that.
    fn copied<'m>(&mut self, message: Frontend<'m>) -> Option<Frontend<'m>> {
        let mut copying = self.copying.take()?;
        let session = &self.session;
        let done = match message {
            Frontend::CopyData(data) => match copying.copy.write(session, data) {
                Ok(()) => {
                    self.copying = Some(copying);
                    return None;
                }
                Err(error) => Err(error),
            },
            // As PostgreSQL has it: drivers send them with the Execute.
            Frontend::Sync | Frontend::Flush => {
                self.copying = Some(copying);
                return None;
            }
            Frontend::CopyDone => copying.copy.finish(session),
            Frontend::CopyFail(why) => Err(copying.copy.fail(session, why)),
            other => {
                let error = copying.copy.fail(session, "another message came in place of its rows");
                self.end_copy(copying.text, copying.rest, Err(error));
                return Some(other);
            }
        };
        self.end_copy(copying.text, copying.rest, done);
        None
    }

    fn end_copy(
        &mut self,
        text: String,
        rest: Option<Script>,
        done: Result<StatementResult, hotrow::Error>,
    ) {
        match (done, rest) {
            (Ok(result), rest) => {
                say_result(self.out, &self.session, &result, &[]);
                if let Some(rest) = rest {
                    self.run_script(&text, rest);
                }
            }
            (Err(error), Some(_)) => self.end_script(&text, Err(error)),
            (Err(error), None) => self.told(Err(sql_error(error)), &text),
        }
    }

    fn parse(&mut self, name: &str, text: &str, types: &[u32]) -> Result<(), SqlError> {
        self.refuse_name(name, text.len())?;
        if name.is_empty() && self.statements.parse_again(&self.session, text, types) {
            self.out.say(&ParseComplete::new());
            return Ok(());
        }
        let named = types.to_vec();
        let is_void = |at: usize| types.get(at) == Some(&wire::VOID);
        let without = match types.contains(&wire::VOID) {
            true => Some(hotrow::without_parameters(text, is_void)?),
            false => None,
        };
        let text = without.as_deref().unwrap_or(text);
        let types = types.iter().map(|&oid| wire::parameter_type(oid));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == ';');
        let is_comment = trimmed.starts_with("--") || trimmed.starts_with("/*");
        let is_empty = trimmed.is_empty()
            || is_comment && self.session.parse(text).is_ok_and(|found| found.is_empty());
        let prepared = match is_empty {
            true => None,
            false => Some(self.session.prepare(text, &types).map_err(sql_error)?),
        };
        let statement = Statement::new(text.to_owned(), named, prepared);
        self.refuse_bytes(statement.bytes())?;
        self.statements.insert(&self.session, name, statement, NamedBy::Protocol);
        self.out.say(&ParseComplete::new());
        Ok(())
    }

    /// PREPARE, EXECUTE and the like: the statements are those of the protocol's Parse, and cursors
    /// are its portals.
    fn name(&mut self, naming: Naming, values: &[Value]) -> Result<StatementResult, hotrow::Error> {
        self.settle_portals();
        let tag = match naming {
            Naming::Prepare { name, types, text } => {
                self.refuse_name(&name, text.len())?;
                let types = self.session.look_up_types(&types)?;
                let prepared = Some(self.session.prepare(&text, &types)?);
                let statement = Statement::new(text, Vec::new(), prepared);
                self.refuse_bytes(statement.bytes())?;
                self.statements.insert(&self.session, name, statement, NamedBy::Sql);
                "PREPARE"
            }
            Naming::Execute { name, values } => {
                let statement = Rc::clone(self.statement(&name)?);
                let Some(prepared) = &statement.prepared else {
                    return Err(SqlError::new(b"26000", "the statement is empty").into());
                };
                return self.session.execute_prepared(prepared, &values);
            }
            Naming::Deallocate(Some(name)) => {
                self.statement(&name)?;
                self.statements.remove(&self.session, &name);
                "DEALLOCATE"
            }
            Naming::Deallocate(None) => {
                self.statements.clear(&self.session);
                "DEALLOCATE ALL"
            }
            Naming::Declare { name, holds, is_binary, text } => {
                self.declare(&name, (holds, is_binary), text, values)?;
                "DECLARE CURSOR"
            }
            Naming::Fetch { name, direction, moves } if self.portals.contains_key(&name) => {
                return self.fetch(&name, direction, moves);
            }
            Naming::Close(Some(name)) if self.portals.remove(&name) => "CLOSE CURSOR",
            // Of a cursor that a routine has opened, if there is one.
            Naming::Fetch { .. } | Naming::Close(Some(_)) => {
                return self.session.name_cursor(&naming);
            }
            Naming::Close(None) => {
                self.session.name_cursor(&naming)?;
                let is_cursor = |portal: &Portal| matches!(portal.progress, Progress::Cursor(..));
                self.portals.retain(|portal| !is_cursor(portal));
                "CLOSE CURSOR ALL"
            }
            Naming::DiscardAll => {
                self.session.discard_all()?;
                self.session.name_cursor(&Naming::Close(None))?;
                let is_cursor = |portal: &Portal| matches!(portal.progress, Progress::Cursor(..));
                self.portals.retain(|portal| !is_cursor(portal));
                self.statements.clear(&self.session);
                "DISCARD ALL"
            }
        };
        Ok(StatementResult::of_tag(tag))
    }

    /// DECLARE: all rows are found now.
    fn declare(
        &mut self,
        name: &str,
        (holds, is_binary): (bool, bool),
        text: String,
        values: &[Value],
    ) -> Result<(), hotrow::Error> {
        if self.portals.contains_key(name) || self.session.cursor_columns(name).is_some() {
            let message = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(b"42P03", message).into());
        }
        self.refuse_portal()?;
        if !holds && self.session.transaction_state() == TransactionState::Idle {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            let hint = Some("Write BEGIN first, or DECLARE ... WITH HOLD.".to_owned());
            return Err(SqlError { hint, ..SqlError::new(b"25P01", message) }.into());
        }
        let prepared = self.session.prepare(&text, &[])?;
        if !prepared.returns_rows() {
            return Err(SqlError::new(b"42601", "a cursor needs a query").into());
        }
        if prepared.has_changes_in_with() {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(SqlError::new(b"0A000", message).into());
        }
        let rows = self.session.execute_prepared(&prepared, values)?;
        let format = if is_binary { Format::Binary } else { Format::Text };
        let statement = Statement::new(text, Vec::new(), Some(prepared));
        let portal = Portal::declared(Rc::new(statement), rows, format, holds);
        self.refuse_bytes(portal.bytes())?;
        self.portals.insert(name.to_owned(), portal);
        Ok(())
    }

    /// FETCH and MOVE. They go over the rows of portals that a Bind made, too, but only forwards.
    fn fetch(
        &mut self,
        name: &str,
        direction: Direction,
        moves: bool,
    ) -> Result<StatementResult, hotrow::Error> {
        self.run_bound(name)?;
        let portal = self.portals.get(name).ok_or_else(|| no_cursor(name))?;
        let (result, at, goes_back) = match &portal.progress {
            Progress::Cursor(result, at) => (result, at, true),
            Progress::Run(result, sent) => (result, sent, false),
            Progress::Ready | Progress::Over(_) => {
                let message = format!("portal \"{name}\" has no rows to fetch");
                return Err(SqlError::new(b"55000", message).into());
            }
        };
        let count = result.rows.len();
        let (rows, to) = direction.travelled(at.get(), count);
        if !goes_back && to < at.get() {
            let message = format!("portal \"{name}\" can only be read forwards");
            let hint = Some("Declare it with SCROLL.".to_owned());
            return Err(SqlError { hint, ..SqlError::new(b"55000", message) }.into());
        }
        at.set(if goes_back { to } else { to.min(count) });
        if moves {
            return Ok(StatementResult::of_tag(&format!("MOVE {}", rows.count())));
        }
        let rows: Vec<usize> = rows.collect();
        Ok(result.picked(format!("FETCH {}", rows.len()), rows.into_iter()))
    }

    /// Runs the query of a portal that was bound and not run yet, for FETCH and MOVE.
    fn run_bound(&mut self, name: &str) -> Result<(), hotrow::Error> {
        let Some(portal) = self.portals.get(name) else { return Ok(()) };
        let Some(prepared) = &portal.statement.prepared else { return Ok(()) };
        if !matches!(portal.progress, Progress::Ready) || !prepared.returns_rows() {
            return Ok(());
        }
        let result = self.session.execute_prepared(prepared, &portal.values)?;
        self.portals.set_progress(name, Progress::run(result));
        self.portals.count_rows(name);
        Ok(self.refuse_bytes(0)?)
    }

    /// The cursor that a statement fetches from.
    fn fetched_by(&self, statement: &Statement) -> Option<&Portal> {
        match statement.prepared.as_ref()?.naming()? {
            Naming::Fetch { name, moves: false, .. } => self.portals.get(name),
            _ => None,
        }
    }

    /// The columns of a cursor that a routine has opened, and a statement fetches from.
    fn fetched_from(&self, statement: &Statement) -> Option<Vec<(String, SqlType)>> {
        match statement.prepared.as_ref()?.naming()? {
            Naming::Fetch { name, moves: false, .. } => self.session.cursor_columns(name),
            _ => None,
        }
    }

    /// Fails where a statement with this name cannot be added.
    fn refuse_name(&self, name: &str, bytes: usize) -> Result<(), SqlError> {
        if !name.is_empty() && self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(b"42P05", message));
        }
        if self.statements.len() >= STATEMENTS_MAX {
            let message = format!("there are {STATEMENTS_MAX} prepared statements");
            return Err(SqlError { hint: close_some(), ..SqlError::new(b"54000", message) });
        }
        self.refuse_bytes(bytes)
    }

    /// Fails where there are as many portals as there can be.
    fn refuse_portal(&self) -> Result<(), SqlError> {
        if self.portals.len() < STATEMENTS_MAX {
            return Ok(());
        }
        let message = format!("there are {STATEMENTS_MAX} portals");
        Err(SqlError { hint: close_some(), ..SqlError::new(b"54000", message) })
    }

    /// Fails where so many bytes more would be too many to keep.
    fn refuse_bytes(&self, more: usize) -> Result<(), SqlError> {
        let kept = self.statements.bytes().saturating_add(self.portals.bytes());
        if kept.saturating_add(more) > KEPT_BYTES_MAX {
            let mebibytes = KEPT_BYTES_MAX >> 20;
            let message = format!(
                "prepared statements and portals of the connection take more than {mebibytes} MiB"
            );
            return Err(SqlError { hint: close_some(), ..SqlError::new(b"53200", message) });
        }
        Ok(())
    }

    fn statement(&self, name: &str) -> Result<&Rc<Statement>, SqlError> {
        self.statements.get(name).ok_or_else(|| {
            SqlError::new(b"26000", format!("prepared statement \"{name}\" does not exist"))
        })
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<(), SqlError> {
        self.settle_portals();
        let statement = Rc::clone(self.statement(bind.statement)?);
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            let message = format!("portal \"{}\" already exists", bind.portal);
            return Err(SqlError::new(b"42P03", message));
        }
        self.refuse_portal()?;
        let portal = {
            let _entered = self.session.enter();
            Portal::new(statement, bind)?
        };
        self.refuse_bytes(portal.bytes())?;
        self.portals.insert(bind.portal.to_owned(), portal);
        self.out.say(&BindComplete::new());
        Ok(())
    }

    fn describe(&mut self, target: Target<'_>) -> Result<(), SqlError> {
        let (described, formats): (Rc<Statement>, Option<&Portal>) = match target {
            Target::Statement(name) => {
                let statement = Rc::clone(self.statement(name)?);
                self.out.say(&ParameterDescription::new(statement.parameter_numbers()));
                let cursor = self.fetched_by(&statement);
                (cursor.map_or(statement, |cursor| Rc::clone(&cursor.statement)), None)
            }
            Target::Portal(name) => {
                let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                let cursor = self.fetched_by(&portal.statement);
                (Rc::clone(&cursor.unwrap_or(portal).statement), Some(portal))
            }
        };
        let opened = self.fetched_from(&described);
        let columns = opened.unwrap_or_else(|| described.columns());
        let origins = described.prepared.as_ref().map_or_else(Default::default, Prepared::origins);
        let format = |at| formats.map_or(Format::Text, |portal| portal.format(at));
        match columns.is_empty() {
            true => self.out.say(&NoData::new()),
            false => {
                let columns = columns.iter().map(|(name, of)| (name.as_str(), *of));
                describe_rows(self.out, columns, &origins, format);
            }
        }
        Ok(())
    }

    fn execute(&mut self, name: &str, rows: u32) -> Result<(), SqlError> {
        self.name_by_portal(name)?;
        if rows > 0 {
            self.refuse_bytes(KEPT_BYTES_MAX / STATEMENTS_MAX)?; // some may stay
        }
        let Self { session, out, portals, .. } = self;
        let portal = portals.get(name).ok_or_else(|| no_portal(name))?;
        let Some(prepared) = &portal.statement.prepared else {
            out.say(&EmptyQueryResponse::new());
            return Ok(());
        };
        if let Progress::Ready = portal.progress {
            let outcome = session.perform(prepared, &portal.values).map_err(sql_error)?;
            let result = match outcome {
                Outcome::Done(result) => result,
                Outcome::CopyOut(copy) => {
                    say_rows(out, session, *copy);
                    return Ok(());
                }
                // It was executed before.
                Outcome::Naming(_) => return Ok(()),
                Outcome::CopyIn(copy) => {
                    let text = portal.statement.text.clone();
                    self.copy_in(copy, &text, None);
                    return Ok(());
                }
            };
            say_notices(out, session, &result.notices);
            portals.set_progress(name, Progress::Run(result, Cell::new(0)));
        }
        let portal = portals.get(name).ok_or_else(|| no_portal(name))?;
        let (result, sent) = match &portal.progress {
            Progress::Run(result, sent) | Progress::Cursor(result, sent) => (result, sent),
            Progress::Over(tag) => {
                say_text(out, tag);
                return Ok(());
            }
            Progress::Ready => return Ok(()),
        };
        let (all, first) = (result.rows.len(), sent.get());
        let end = match rows {
            0 => all,
            rows => all.min(first + rows as usize),
        };
        if !result.types.is_empty() {
            let _entered = session.enter();
            send_rows(out, result, first..end, |at| portal.format(at));
        }
        if end < all {
            out.say(&PortalSuspended::new());
        } else {
            say_tag(out, result, end - first);
        }
        sent.set(end);
        if matches!(portal.progress, Progress::Run(..)) {
            if end == all {
                let over = Progress::Over(tag(result, 0));
                portals.set_progress(name, over); // its rows are not kept
            }
            if (first == 0) != (end == all) {
                portals.count_rows(name); // they begin to wait, or wait no more
            }
        }
        Ok(())
    }

    /// Runs what a portal has to do with names, if it has: its result is ready then.
    fn name_by_portal(&mut self, name: &str) -> Result<(), SqlError> {
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        let names = portal.statement.prepared.as_ref().is_some_and(|p| p.naming().is_some());
        if !names || !matches!(portal.progress, Progress::Ready) {
            return Ok(());
        }
        let statement = Rc::clone(&portal.statement);
        let Some(prepared) = &statement.prepared else { return Ok(()) };
        let values = portal.values.clone();
        let outcome = self.session.perform(prepared, &values).map_err(sql_error)?;
        let Outcome::Naming(naming) = outcome else { return Ok(()) };
        let result = self.name(naming, &values).map_err(sql_error)?;
        // A cursor of its own name may have taken its place, or CLOSE may have closed it.
        if self.portals.get(name).is_some_and(|p| Rc::ptr_eq(&p.statement, &statement)) {
            say_notices(self.out, &self.session, &result.notices);
            self.portals.set_progress(name, Progress::run(result));
        }
        Ok(())
    }
}

fn no_cursor(name: &str) -> SqlError {
    SqlError::new(b"34000", format!("cursor \"{name}\" does not exist"))
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(b"34000", format!("portal \"{name}\" does not exist"))
}

fn close_some() -> Option<String> {
    Some("Close those that are not used any more.".to_owned())
}
