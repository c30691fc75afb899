//! What a session's statements and its server do with its settings.

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::panics;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::AdvisoryLevel;
use hotrow_sql::{Setting, TransactionAccess, TransactionControl, TransactionModes};
use hotrow_transaction::outcome::{Notice, NoticeLevel, SqlError};
use hotrow_transaction::program::ResultColumn;

use crate::error::{Error, advised};
use crate::prepared::Prepared;
use crate::rows::Rows;
use crate::session::Session;
use crate::settings::{TransactionStep, canonical};
use crate::statement::StatementResult;
use crate::talk::Said;
use crate::transaction::{TransactionState, notice_serializable, outside};

impl Session {
    /// Begins with what a client asks for: PostgreSQL's startup parameters, and who it is. A time
    /// zone other than UTC is left aside.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42704 for an unknown name, 22023 for a value that it cannot have, 55P02.
    pub fn start_settings<'a>(
        &self,
        user: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Error> {
        let mut settings = self.settings();
        settings.start_fixed("session_authorization", user);
        for (name, value) in parameters {
            settings.start(name, value)?;
        }
        drop(settings);
        self.settle_limits();
        Ok(())
    }

    /// The settings that clients are told of, as far as they have changed since this was called
    /// last: at first all of them.
    pub fn changed_settings(&self) -> Vec<(&'static str, String)> {
        self.settings().take_changed()
    }

    /// Whether `client_min_messages` lets a client hear what matters so much.
    pub fn hears(&self, level: NoticeLevel) -> bool {
        let least = self.settings().get("client_min_messages");
        let least = match least.as_deref().unwrap_or_default() {
            "log" => NoticeLevel::Log,
            "info" | "notice" => NoticeLevel::Notice,
            "warning" => NoticeLevel::Warning,
            "error" => NoticeLevel::Info,
            _ => NoticeLevel::Debug,
        };
        level >= least
    }

    /// DISCARD ALL, as far as it is the session's: settings. Fails with 25001 in a transaction.
    ///
    /// # Errors
    ///
    /// As said.
    pub fn discard_all(&self) -> Result<(), Error> {
        let _guard = panics::guard();
        let refused = self.talk().refuse_inside("DISCARD ALL");
        refused.inspect_err(|_| self.talk().fail())?;
        self.settings().reset_all();
        self.drawn().forget();
        self.advisory().release(AdvisoryLevel::Session);
        self.settle_limits();
        Ok(())
    }

    /// BEGIN, COMMIT and the like; settings go with the transaction.
    pub(crate) fn control(
        &self,
        control: TransactionControl,
    ) -> Result<(Said, Vec<Notice>), Error> {
        let mut notices = Vec::new();
        let mut control = control;
        if let TransactionControl::Begin(modes) = &mut control {
            if modes.is_weaker {
                notices.push(notice_serializable());
            }
            if self.settings().is_on("default_transaction_read_only") {
                modes.access.get_or_insert(TransactionAccess::ReadOnly);
            }
        }
        let before = self.transaction_state();
        let step = match &control {
            TransactionControl::Begin(_) => TransactionStep::Begun,
            TransactionControl::Commit if before == TransactionState::Open => {
                TransactionStep::Committed
            }
            TransactionControl::Commit | TransactionControl::Rollback => {
                TransactionStep::RolledBack
            }
            TransactionControl::Savepoint(name) => TransactionStep::Savepoint(name.clone()),
            TransactionControl::RollbackTo(name, _) => TransactionStep::RolledBackTo(name.clone()),
            TransactionControl::Release(name, _) => TransactionStep::Released(name.clone()),
        };
        let said = self.talk().control(self, control);
        let is_over =
            before != TransactionState::Idle && self.transaction_state() == TransactionState::Idle;
        match (&said, step) {
            (Ok(_), TransactionStep::Begun) if before != TransactionState::Idle => {}
            (Ok(_), step) => self.settings().step(step),
            (Err(_), _) if is_over => self.settings().step(TransactionStep::RolledBack),
            (Err(_), _) => {}
        }
        Ok((said?, notices))
    }

    /// SET, SHOW, RESET.
    pub(crate) fn setting(&self, setting: &Setting) -> Result<StatementResult, Error> {
        match setting {
            Setting::Set { name, value, local } => self.set(name, value.as_deref(), *local),
            Setting::Reset(name) => {
                self.settings().set(name, None, false)?;
                Ok(StatementResult::of_tag("RESET"))
            }
            Setting::ResetAll => {
                self.settings().reset_all();
                Ok(StatementResult::of_tag("RESET"))
            }
            Setting::Transaction(modes) => Ok(self.set_transaction(*modes)),
            Setting::Characteristics(modes) => {
                if let Some(access) = modes.access {
                    let on = if access == TransactionAccess::ReadOnly { "on" } else { "off" };
                    self.settings().set("default_transaction_read_only", Some(on), false)?;
                }
                Ok(StatementResult {
                    notices: weaker(modes.is_weaker),
                    ..StatementResult::of_tag("SET")
                })
            }
            Setting::Constraints => Ok(StatementResult::of_tag("SET CONSTRAINTS")),
            Setting::DiscardNothing => Ok(StatementResult::of_tag("DISCARD")),
            Setting::Show(name) => {
                let value = self.shown(name)?;
                Ok(rows_of(setting, vec![Value::Text(value)]))
            }
            Setting::ShowAll => {
                let all = self.settings().all().into_iter().flatten().map(Value::Text).collect();
                Ok(rows_of(setting, all))
            }
        }
    }

    fn set(&self, name: &str, value: Option<&str>, local: bool) -> Result<StatementResult, Error> {
        let is_isolation =
            matches!(name, "transaction_isolation" | "default_transaction_isolation");
        let asks_less = value.is_some_and(|value| !value.eq_ignore_ascii_case("serializable"));
        if name == "transaction_read_only" {
            let known = self.settings().set(name, value, true);
            let is_on = self.settings().is_on(name);
            self.settings().set(name, Some("off"), true)?;
            known?;
            let access =
                if is_on { TransactionAccess::ReadOnly } else { TransactionAccess::ReadWrite };
            let access = Some(access);
            return Ok(self.set_transaction(TransactionModes { access, is_weaker: false }));
        }
        let is_outside = local && self.transaction_state() == TransactionState::Idle;
        self.settings().set(name, value, local)?;
        if is_outside {
            // Over as soon as it is there, as PostgreSQL has it.
            self.settings().step(TransactionStep::Committed);
        }
        let warning = is_outside.then(|| Notice::warning(outside("SET LOCAL")));
        let notices = warning.into_iter().chain(weaker(is_isolation && asks_less)).collect();
        Ok(StatementResult { notices, ..StatementResult::of_tag("SET") })
    }

    /// set_config: what the setting is then.
    pub(crate) fn configure(
        &self,
        name: &str,
        value: &str,
        is_local: bool,
    ) -> Result<Value, SqlError> {
        self.settings().set(name, Some(value), is_local)?;
        self.settings().get(name).map(Value::Text)
    }

    fn set_transaction(&self, modes: TransactionModes) -> StatementResult {
        let is_inside = match modes.access {
            Some(access) => self.talk().set_read_only(access == TransactionAccess::ReadOnly),
            None => self.transaction_state() != TransactionState::Idle,
        };
        let warning = (!is_inside).then(|| Notice::warning(outside("SET TRANSACTION")));
        let notices = warning.into_iter().chain(weaker(modes.is_weaker)).collect();
        StatementResult { notices, ..StatementResult::of_tag("SET") }
    }

    fn shown(&self, name: &str) -> Result<String, SqlError> {
        if name == "transaction_read_only" {
            let open = self.talk().is_read_only();
            let is_on =
                open.unwrap_or_else(|| self.settings().is_on("default_transaction_read_only"));
            return Ok(if is_on { "on" } else { "off" }.to_owned());
        }
        self.settings().get(name)
    }

    /// Has the limits of time in force that the settings tell, if these have changed: behind each
    /// statement, whatever has changed them.
    pub(crate) fn settle_limits(&self) {
        let mut settings = self.settings();
        if !settings.take_due() {
            return;
        }
        self.interrupt().set_statement_time(settings.duration("statement_timeout"));
        self.interrupt().set_lock_time(settings.duration("lock_timeout"));
        let memory = settings.bytes("hotrow.statement_memory");
        let memory = memory.unwrap_or(self.core().config.statement_memory_bytes);
        self.interrupt().memory().set_limit(memory);
        let deadline = settings.duration("hotrow.call_deadline");
        self.call_deadline.set(deadline.or(self.core().config.call_deadline));
        self.talk().limit_idle(settings.duration("idle_in_transaction_session_timeout"));
    }

    /// How long a client may say nothing before its connection ends, by the settings: in a
    /// transaction, or outside. None: for ever.
    pub fn idle_limit(&self) -> Option<Duration> {
        self.settings().duration(match self.transaction_state() {
            TransactionState::Idle => "idle_session_timeout",
            TransactionState::Open | TransactionState::Failed => {
                "idle_in_transaction_session_timeout"
            }
        })
    }

    /// Fails with 25006 where a statement outside transactions writes and none is to.
    pub(crate) fn refuse_read_only(&self, prepared: &Prepared) -> Result<(), SqlError> {
        if !self.settings().is_on("default_transaction_read_only") {
            return Ok(());
        }
        if !prepared.writes() {
            return Ok(());
        }
        let message = "cannot write in a read-only transaction".to_owned();
        Err(advised(b"25006", message, "SET default_transaction_read_only = off."))
    }
}

fn weaker(is_weaker: bool) -> Vec<Notice> {
    is_weaker.then(notice_serializable).into_iter().collect()
}

fn rows_of(setting: &Setting, values: Vec<Value>) -> StatementResult {
    let columns: Vec<ResultColumn> = shown_columns(setting);
    let types = columns.iter().map(|column| SqlType::Scalar(column.data_type)).collect();
    let names: Arc<[String]> = columns.into_iter().map(|column| column.name).collect();
    StatementResult { rows: Rows::new(names, values, 0), types, ..StatementResult::of_tag("SHOW") }
}

/// The columns of SHOW; of other statements none.
pub(crate) fn shown_columns(setting: &Setting) -> Vec<ResultColumn> {
    let column = |name: String| ResultColumn::new(name, DataType::Text);
    match setting {
        Setting::Show(name) => vec![column(canonical(name))],
        Setting::ShowAll => {
            ["name", "setting", "description"].map(|name| column(name.to_owned())).into()
        }
        _ => Vec::new(),
    }
}
