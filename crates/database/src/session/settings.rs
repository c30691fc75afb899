//! Settings of a session, as its callers begin and ask for them.

use std::time::Duration;

use hotrow_base::panics;
use hotrow_query::AdvisoryLevel;
use hotrow_transaction::outcome::NoticeLevel;

use super::Session;
use crate::error::Error;
use crate::session_settings::settle_limits;
use crate::settings::{AUTHORIZATION, ROLE};
use crate::transaction::TransactionState;

impl Session {
    /// Begins with what the role's and the database's sessions are to begin with (ALTER ROLE ...
    /// SET), and with what a client asks for: PostgreSQL's startup parameters, and who it is.
    ///
    /// # Errors
    ///
    /// [`Error::Sql`]: 42704 for an unknown name, 22023 for a value that it cannot have, 55P02.
    pub fn start_settings<'a>(
        &self,
        user: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), Error> {
        self.context.settings().start_fixed("session_authorization", user);
        self.start_kept_settings();
        let mut settings = self.context.settings();
        for (name, value) in parameters {
            settings.start(name, value)?;
        }
        drop(settings);
        settle_limits(&self.context, &mut self.transaction());
        Ok(())
    }

    /// Begins with what ALTER ROLE and ALTER DATABASE have said. What cannot be any more is passed
    /// over, so that a session begins in any case.
    fn start_kept_settings(&self) {
        let schema = self.context.core.schema.current();
        let rights = schema.catalog.rights();
        let role = self.context.identity().role.clone();
        for (name, value) in rights.session_settings_of(role.as_deref()) {
            let _ = match name.as_str() {
                ROLE => self.context.set_role(ROLE, Some(value), false),
                name => self.context.settings().start(name, value),
            };
        }
    }

    /// The settings that clients are told of, as far as they have changed since this was called
    /// last: at first all of them.
    pub fn changed_settings(&self) -> Vec<(&'static str, String)> {
        self.context.settings().take_changed()
    }

    /// Whether `client_min_messages` lets a client hear what matters so much.
    pub fn hears(&self, level: NoticeLevel) -> bool {
        let least = self.context.settings().get("client_min_messages");
        let least = match least.as_deref().unwrap_or_default() {
            "log" => NoticeLevel::Log,
            "info" | "notice" => NoticeLevel::Notice,
            "warning" => NoticeLevel::Warning,
            "error" => NoticeLevel::Info,
            _ => NoticeLevel::Debug,
        };
        level >= least
    }

    /// DISCARD ALL, as far as it is the session's: settings, temporary tables. Fails with 25001 in
    /// a transaction.
    ///
    /// # Errors
    ///
    /// As said.
    pub fn discard_all(&self) -> Result<(), Error> {
        let _guard = panics::guard();
        let refused = self.transaction().refuse_inside("DISCARD ALL");
        refused.inspect_err(|_| self.transaction().fail())?;
        self.context.settings().reset_all();
        self.context.settings().say(AUTHORIZATION, None, false);
        self.context.settings().say(ROLE, None, false);
        self.context.drawn().forget();
        self.drop_temporary_tables();
        self.context.unlisten(None);
        self.settle_notifications();
        self.context.advisory.release(AdvisoryLevel::Session);
        settle_limits(&self.context, &mut self.transaction());
        Ok(())
    }

    /// How long a client may say nothing before its connection ends, by the settings: in a
    /// transaction, or outside. None: for ever.
    pub fn idle_limit(&self) -> Option<Duration> {
        let limits = self.context.settings().often_asked();
        match self.transaction_state() {
            TransactionState::Idle => limits.idle_outside,
            TransactionState::Open | TransactionState::Failed => limits.idle_in_transaction,
        }
    }
}
