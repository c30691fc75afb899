//! What statements do with a session's settings: SET, SHOW, and BEGIN and COMMIT, which settings
//! follow.

use std::sync::Arc;

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::{Setting, TransactionAccess, TransactionControl, TransactionModes};
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::ResultColumn;

use crate::context::Context;
use crate::error::Error;
use crate::result::StatementResult;
use crate::rows::Rows;
use crate::session_transaction::{Said, SessionTransaction};
use crate::settings::{
    AUTHORIZATION, ROLE, TransactionStep, is_without_effect, no_effect, shown_columns,
};
use crate::transaction::{TransactionState, notice_serializable, outside};

/// BEGIN, COMMIT and the like; settings go with the transaction.
pub(crate) fn control_transaction(
    context: &Context,
    transaction: &mut SessionTransaction,
    control: TransactionControl,
) -> Result<(Said, Vec<Notice>), Error> {
    let mut notices = Vec::new();
    let mut control = control;
    if let TransactionControl::Chain(end) = control {
        return chain(context, transaction, *end);
    }
    if let TransactionControl::Begin(modes) = &mut control {
        if modes.is_weaker {
            notices.push(notice_serializable());
        }
        if context.settings().often_asked().is_read_only {
            modes.access.get_or_insert(TransactionAccess::ReadOnly);
        }
    }
    let before = transaction.state();
    let step = match &control {
        TransactionControl::Begin(_) => TransactionStep::Begun,
        TransactionControl::Commit if before == TransactionState::Open => {
            TransactionStep::Committed
        }
        TransactionControl::Commit
        | TransactionControl::Rollback
        | TransactionControl::Chain(_) => TransactionStep::RolledBack,
        TransactionControl::Savepoint(name) => TransactionStep::Savepoint(name.clone()),
        TransactionControl::RollbackTo(name, _) => TransactionStep::RolledBackTo(name.clone()),
        TransactionControl::Release(name, _) => TransactionStep::Released(name.clone()),
    };
    let said = transaction.control(context, control);
    let is_over = before != TransactionState::Idle && transaction.state() == TransactionState::Idle;
    match (&said, step) {
        (Ok(_), TransactionStep::Begun) if before != TransactionState::Idle => {}
        (Ok(_), step) => context.step(step),
        (Err(_), _) if is_over => context.step(TransactionStep::RolledBack),
        (Err(_), _) => {}
    }
    Ok((said?, notices))
}

/// COMMIT AND CHAIN and ROLLBACK AND CHAIN: the next transaction begins with the end of this one.
fn chain(
    context: &Context,
    transaction: &mut SessionTransaction,
    end: TransactionControl,
) -> Result<(Said, Vec<Notice>), Error> {
    if !transaction.is_block() {
        let verb = if end == TransactionControl::Commit { "COMMIT" } else { "ROLLBACK" };
        let message = format!("{verb} AND CHAIN can only be used in transaction blocks");
        return Err(SqlError::new(b"25P01", message).into());
    }
    let access = match transaction.is_read_only() {
        Some(true) => TransactionAccess::ReadOnly,
        _ => TransactionAccess::ReadWrite,
    };
    let (said, mut notices) = control_transaction(context, transaction, end)?;
    // What others listen to is told before the next one begins, which may be long.
    context.commit_notifications();
    transaction.settle_advisory(context);
    let modes = TransactionModes { access: Some(access), is_weaker: false };
    let begin = TransactionControl::Begin(modes);
    let (_, mut begun) = control_transaction(context, transaction, begin)?;
    notices.append(&mut begun);
    Ok((said, notices))
}

/// SET, SHOW, RESET.
pub(crate) fn execute_setting(
    context: &Context,
    transaction: &mut SessionTransaction,
    setting: &Setting,
) -> Result<StatementResult, Error> {
    match setting {
        Setting::Set { name, value, local } => {
            set(context, transaction, name, value.as_deref(), *local)
        }
        Setting::Reset(name) if is_of_roles(name) => {
            context.set_role(name, None, false)?;
            Ok(StatementResult::of_tag("RESET"))
        }
        Setting::Reset(name) => {
            context.settings().set(name, None, false)?;
            Ok(StatementResult::of_tag("RESET"))
        }
        Setting::ResetAll => {
            context.settings().reset_all();
            Ok(StatementResult::of_tag("RESET"))
        }
        Setting::Transaction(modes) => set_transaction(transaction, *modes),
        Setting::Characteristics(modes) => {
            if let Some(access) = modes.access {
                let on = if access == TransactionAccess::ReadOnly { "on" } else { "off" };
                context.settings().set("default_transaction_read_only", Some(on), false)?;
            }
            Ok(StatementResult {
                notices: weaker(modes.is_weaker),
                ..StatementResult::of_tag("SET")
            })
        }
        Setting::Constraints { names, is_deferred } => {
            let is_set = transaction.set_constraints(context, names, *is_deferred)?;
            let mut notices = transaction.take_said();
            context.note_notifications(&mut notices);
            notices.extend((!is_set).then(|| Notice::warning(outside("SET CONSTRAINTS"))));
            Ok(StatementResult { notices, ..StatementResult::of_tag("SET CONSTRAINTS") })
        }
        Setting::DiscardTemporary => {
            context.temporary().let_go_of_all();
            Ok(StatementResult::of_tag("DISCARD TEMP"))
        }
        Setting::DiscardNothing(tag) => Ok(StatementResult::of_tag(tag)),
        Setting::Show(name) => {
            let value = shown(context, transaction, name)?;
            Ok(rows_of(setting, vec![Value::Text(value)]))
        }
        Setting::ShowAll => {
            let all = context.settings().all().into_iter().flatten().map(Value::Text).collect();
            Ok(rows_of(setting, all))
        }
    }
}

fn set(
    context: &Context,
    transaction: &mut SessionTransaction,
    name: &str,
    value: Option<&str>,
    local: bool,
) -> Result<StatementResult, Error> {
    let is_isolation = matches!(name, "transaction_isolation" | "default_transaction_isolation");
    let asks_less = value.is_some_and(|value| !value.eq_ignore_ascii_case("serializable"));
    if name == "transaction_read_only" {
        let known = context.settings().set(name, value, true);
        let is_on = context.settings().is_on(name);
        context.settings().set(name, Some("off"), true)?;
        known?;
        let access = if is_on { TransactionAccess::ReadOnly } else { TransactionAccess::ReadWrite };
        let access = Some(access);
        return set_transaction(transaction, TransactionModes { access, is_weaker: false });
    }
    let is_outside = local && transaction.state() == TransactionState::Idle;
    match is_of_roles(name) {
        true => context.set_role(name, value, local)?,
        false => context.settings().set(name, value, local)?,
    }
    if is_outside {
        // Over as soon as it is there, as PostgreSQL has it.
        context.settings().step(TransactionStep::Committed);
    }
    let warning = is_outside.then(|| Notice::warning(outside("SET LOCAL")));
    let idle = value
        .is_some_and(|_| is_without_effect(name))
        .then(|| Notice::new(SqlError::new(b"00000", no_effect(name))));
    let notices = warning.into_iter().chain(idle).chain(weaker(is_isolation && asks_less));
    let notices = notices.collect();
    Ok(StatementResult { notices, ..StatementResult::of_tag("SET") })
}

fn set_transaction(
    transaction: &mut SessionTransaction,
    modes: TransactionModes,
) -> Result<StatementResult, Error> {
    let is_inside = match modes.access {
        Some(access) => transaction.set_read_only(access == TransactionAccess::ReadOnly)?,
        None => transaction.state() != TransactionState::Idle,
    };
    let warning = (!is_inside).then(|| Notice::warning(outside("SET TRANSACTION")));
    let notices = warning.into_iter().chain(weaker(modes.is_weaker)).collect();
    Ok(StatementResult { notices, ..StatementResult::of_tag("SET") })
}

fn shown(
    context: &Context,
    transaction: &SessionTransaction,
    name: &str,
) -> Result<String, SqlError> {
    if name == "transaction_read_only" {
        let open = transaction.is_read_only();
        let is_on = open.unwrap_or_else(|| context.settings().often_asked().is_read_only);
        return Ok(if is_on { "on" } else { "off" }.to_owned());
    }
    context.settings().get(name)
}

/// Has the limits of time in force that the settings tell, and others see the session's name, if
/// these have changed: behind each statement, whatever has changed them.
pub(crate) fn settle_limits(context: &Context, transaction: &mut SessionTransaction) {
    let mut settings = context.settings();
    if !settings.take_due() {
        return;
    }
    drop(settings);
    context.settle_role();
    context.show_application();
    let settings = context.settings();
    context.interrupt.set_statement_time(settings.duration("statement_timeout"));
    context.interrupt.set_lock_time(settings.duration("lock_timeout"));
    let memory = settings.bytes("hotrow.statement_memory");
    let memory = memory.unwrap_or(context.core.config.statement_memory_bytes);
    context.interrupt.memory().set_limit(memory);
    let deadline = settings.duration("hotrow.call_deadline");
    context.call_deadline.set(deadline.or(context.core.config.call_deadline));
    transaction.limit_idle(settings.often_asked().idle_in_transaction);
}

/// Whether a setting is one of those that say which role a session has.
pub(crate) fn is_of_roles(name: &str) -> bool {
    matches!(name, ROLE | AUTHORIZATION)
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
