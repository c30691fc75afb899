//! What a session that LISTENs is sent.

use std::sync::Arc;

use super::Session;
use crate::error::Error;
use crate::notifications::Notification;

impl Session {
    /// The notifications that have come since this was asked last, to channels that the session
    /// listens to: of transactions that are durable, in the order of their ends.
    ///
    /// ```
    /// # let db = hotrow::Database::open_in_memory(hotrow::Config::default().threads(1))?;
    /// let (one, other) = (db.session(), db.session());
    /// one.execute("LISTEN orders")?;
    /// other.execute("BEGIN; NOTIFY orders, '17'; NOTIFY orders, '18'")?;
    /// other.execute("NOTIFY orders, '17'; COMMIT")?;
    /// let payloads: Vec<_> = one.notifications()?.into_iter().map(|of| of.payload).collect();
    /// assert_eq!(payloads, ["17", "18"]);
    /// # Ok::<(), hotrow::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// 54000, once, where more came than is kept for a session: some were lost.
    pub fn notifications(&self) -> Result<Vec<Notification>, Error> {
        self.context.take_notifications().map_err(Error::from)
    }

    /// Whether the session listens to a channel, or has been sent something.
    pub fn listens(&self) -> bool {
        self.context.listens()
    }

    /// Whether something has come that [`Session::notifications`] does not give yet.
    pub fn waits_for_notifications(&self) -> bool {
        self.context.waits_for_notifications()
    }

    /// Has somebody be called when something comes, while the session listens: on the thread of
    /// whoever has sent it, so it must not take long. Asked again, it changes nothing.
    pub fn on_notification(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.context.on_notification(Arc::new(wake));
    }

    /// Sends what has been said, where no transaction is open any more.
    pub(super) fn settle_notifications(&self) {
        if !self.transaction().is_open() {
            self.context.commit_notifications();
        }
    }
}
