//! Notifications: what sessions that LISTEN are sent by those that NOTIFY.
//!
//! Role         a statement or a call says notifications among its notices; its session takes them
//!              out ([`Context::note_notifications`]) and keeps them with what it has begun to
//!              listen to, until its transaction has ended. Then they lie in the inboxes of those
//!              who listen, each with the epoch of the log in which everything is durable that had
//!              been committed by then. A replay has no session, so it sends nothing
//! Invariants   I1 nobody is given a notification before its epoch is durable
//!              I2 all who listen find notifications in one order; those of one transaction come in
//!                 the order in which they were said, each text once
//!              I3 an inbox has at most [`INBOX_BYTES_MAX`]. Where one would have more, it is
//!                 emptied, and whoever has it fails with 54000: a call that has committed cannot
//! Concurrency  the list of inboxes is under one mutex, which is held while one transaction's
//!              notifications are delivered (I2); each inbox is under another one
//! Source       PostgreSQL 15, NOTIFY. We differ in I3: PostgreSQL's queue is one for all, and
//!              NOTIFY fails when it is full

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};

use hotrow_engine::journal::Journal;
use hotrow_transaction::outcome::{Notice, NoticeLevel, SqlError};
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::advised;
use crate::settings::TransactionStep;

/// Bytes of the notifications that wait for one session.
const INBOX_BYTES_MAX: usize = 16 << 20;

/// Something that a session was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// the number of the session that has sent it
    pub sender: i32,
    /// to which channel
    pub channel: String,
    /// with which text
    pub payload: String,
}

/// The inboxes of all sessions that listen.
#[derive(Default)]
pub(crate) struct Notifications {
    inboxes: Mutex<Vec<Weak<Inbox>>>,
}

/// What a session has been sent.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<Received>);

#[derive(Default)]
struct Received {
    channels: BTreeSet<String>,
    /// each with the epoch in which it may be told
    waiting: VecDeque<(u64, Notification)>,
    bytes: usize,
    /// some were lost (I3)
    is_overrun: bool,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// What is done at the end of a transaction.
enum AtCommit {
    Notify(String, String),
    Listen(String),
    /// none: to nothing any more
    Unlisten(Option<String>),
}

/// What a session listens to, and what its transaction is to send.
#[derive(Default)]
pub(crate) struct Notifying {
    inbox: Option<Arc<Inbox>>,
    steps: Vec<AtCommit>,
    /// the texts among them
    said: HashSet<(String, String)>,
    /// savepoints, and how many steps were before them
    savepoints: Vec<(String, usize)>,
}

impl Notifying {
    fn notify(&mut self, channel: String, payload: String) {
        if self.said.insert((channel.clone(), payload.clone())) {
            self.steps.push(AtCommit::Notify(channel, payload));
        }
    }

    fn forget_behind(&mut self, steps: usize) {
        for step in self.steps.drain(steps.min(self.steps.len())..) {
            if let AtCommit::Notify(channel, payload) = step {
                self.said.remove(&(channel, payload));
            }
        }
    }

    fn forget(&mut self) {
        self.steps.clear();
        self.said.clear();
        self.savepoints.clear();
    }
}

impl Notifications {
    /// Delivers what one transaction has said, which may be told in an epoch.
    fn deliver(&self, epoch: u64, all: Vec<Notification>) {
        let mut inboxes = self.inboxes.lock();
        inboxes.retain(|inbox| {
            let inbox = inbox.upgrade();
            inbox.inspect(|inbox| inbox.take_in(epoch, &all)).is_some()
        });
    }

    /// Sends what one transaction has said, which has committed.
    pub(crate) fn send(&self, journal: &Journal, all: Vec<Notification>) {
        if !all.is_empty() && !self.inboxes.lock().is_empty() {
            self.deliver(journal.entered(), all);
        }
    }
}

/// Takes the notifications out of what a call of no session has said, each once.
pub(crate) fn notifications_of(notices: &mut Vec<Notice>, sender: i32) -> Vec<Notification> {
    let mut all: Vec<Notification> = Vec::new();
    for SqlError { detail, hint, .. } in taken_out(notices) {
        let (channel, payload) = (detail.unwrap_or_default(), hint.unwrap_or_default());
        let next = Notification { sender, channel, payload };
        if !all.contains(&next) {
            all.push(next);
        }
    }
    all
}

fn taken_out(notices: &mut Vec<Notice>) -> impl Iterator<Item = SqlError> + '_ {
    notices.extract_if(.., |notice| !is_notice(notice)).map(|notice| notice.said)
}

impl Inbox {
    fn take_in(&self, epoch: u64, all: &[Notification]) {
        let mut received = self.0.lock();
        let before = received.waiting.len();
        for notification in all {
            if received.channels.contains(&notification.channel) {
                received.bytes += bytes_of(notification);
                received.waiting.push_back((epoch, notification.clone()));
            }
        }
        let is_new = received.waiting.len() > before;
        if received.bytes > INBOX_BYTES_MAX {
            received.waiting = VecDeque::new();
            (received.bytes, received.is_overrun) = (0, true); // I3
        }
        let wake = received.wake.clone().filter(|_| is_new);
        drop(received);
        wake.inspect(|wake| wake());
    }
}

fn bytes_of(notification: &Notification) -> usize {
    size_of::<(u64, Notification)>() + notification.channel.len() + notification.payload.len()
}

/// Whether a notice is one for clients, and no notification.
pub(crate) fn is_notice(notice: &Notice) -> bool {
    notice.level != NoticeLevel::Notification
}

impl Context {
    /// Takes the notifications out of what a statement or a call has said that has ended well.
    pub(crate) fn note_notifications(&self, notices: &mut Vec<Notice>) {
        if notices.iter().all(is_notice) {
            return;
        }
        let mut notifying = self.notifying.borrow_mut();
        for SqlError { detail, hint, .. } in taken_out(notices) {
            notifying.notify(detail.unwrap_or_default(), hint.unwrap_or_default());
        }
    }

    /// LISTEN, from the end of the transaction on.
    pub(crate) fn listen(&self, channel: String) {
        self.notifying.borrow_mut().steps.push(AtCommit::Listen(channel));
    }

    /// UNLISTEN, of one channel or of all.
    pub(crate) fn unlisten(&self, channel: Option<String>) {
        self.notifying.borrow_mut().steps.push(AtCommit::Unlisten(channel));
    }

    /// What the end of a transaction, or of a part of one, means for what it has said.
    pub(crate) fn step_notifications(&self, step: &TransactionStep) {
        let mut notifying = self.notifying.borrow_mut();
        let find = |notifying: &Notifying, name: &str| {
            notifying.savepoints.iter().rposition(|(known, _)| known == name)
        };
        match step {
            TransactionStep::Begun => {}
            TransactionStep::Committed => {
                drop(notifying);
                self.commit_notifications();
            }
            TransactionStep::RolledBack => notifying.forget(),
            TransactionStep::Savepoint(name) => {
                let steps = notifying.steps.len();
                notifying.savepoints.push((name.clone(), steps));
            }
            TransactionStep::RolledBackTo(name) => {
                let Some(at) = find(&notifying, name) else { return };
                let steps = notifying.savepoints[at].1;
                notifying.savepoints.truncate(at + 1);
                notifying.forget_behind(steps);
            }
            TransactionStep::Released(name) => {
                let Some(at) = find(&notifying, name) else { return };
                notifying.savepoints.truncate(at);
            }
        }
    }

    /// Sends what a transaction has said that has committed, and listens to what it asks for.
    pub(crate) fn commit_notifications(&self) {
        let mut notifying = self.notifying.borrow_mut();
        if notifying.steps.is_empty() {
            notifying.forget();
            return;
        }
        let steps = std::mem::take(&mut notifying.steps);
        notifying.forget();
        let (hub, sender) = (&self.core.notifications, self.identity().number);
        let mut all = Vec::new();
        for step in steps {
            match step {
                AtCommit::Notify(channel, payload) => {
                    all.push(Notification { sender, channel, payload });
                }
                AtCommit::Listen(channel) => {
                    let inbox = notifying.inbox.get_or_insert_with(|| {
                        let inbox = Arc::new(Inbox::default());
                        hub.inboxes.lock().push(Arc::downgrade(&inbox));
                        inbox
                    });
                    inbox.0.lock().channels.insert(channel);
                }
                AtCommit::Unlisten(Some(channel)) => {
                    if let Some(inbox) = &notifying.inbox {
                        inbox.0.lock().channels.remove(&channel);
                    }
                }
                AtCommit::Unlisten(None) => {
                    if let Some(inbox) = &notifying.inbox {
                        inbox.0.lock().channels.clear();
                    }
                }
            }
        }
        drop(notifying);
        hub.send(&self.core.journal, all);
    }

    /// Whether the session listens to anything, or has been sent something.
    pub(crate) fn listens(&self) -> bool {
        let notifying = self.notifying.borrow();
        notifying.inbox.as_ref().is_some_and(|inbox| {
            let received = inbox.0.lock();
            !received.channels.is_empty() || !received.waiting.is_empty() || received.is_overrun
        })
    }

    /// Whether something has come that may not be told yet.
    pub(crate) fn waits_for_notifications(&self) -> bool {
        let notifying = self.notifying.borrow();
        notifying.inbox.as_ref().is_some_and(|inbox| !inbox.0.lock().waiting.is_empty())
    }

    /// What has come and may be told (I1), or 54000 where some was lost (I3).
    pub(crate) fn take_notifications(&self) -> Result<Vec<Notification>, SqlError> {
        let notifying = self.notifying.borrow();
        let Some(inbox) = &notifying.inbox else { return Ok(Vec::new()) };
        let mut received = inbox.0.lock();
        if std::mem::take(&mut received.is_overrun) {
            let message = "notifications were lost: too many have come that were not taken";
            let hint = "Take them as they come, and end transactions, in which none are told. \
                        LISTEN is in force; ask for all that may have changed.";
            return Err(advised(b"54000", message.to_owned(), hint));
        }
        let horizon = self.core.journal.log().map_or(u64::MAX, |log| log.horizon());
        let mut all = Vec::new();
        while let Some((_, notification)) =
            received.waiting.pop_front_if(|(epoch, _)| *epoch <= horizon)
        {
            received.bytes = received.bytes.saturating_sub(bytes_of(&notification));
            all.push(notification);
        }
        Ok(all)
    }

    /// Has somebody be called, on another session's thread, when something comes; it is asked for
    /// again where the session has begun to listen.
    pub(crate) fn on_notification(&self, wake: Arc<dyn Fn() + Send + Sync>) {
        if let Some(inbox) = &self.notifying.borrow().inbox {
            inbox.0.lock().wake.get_or_insert(wake);
        }
    }
}

impl fmt::Debug for Notifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifications").finish_non_exhaustive()
    }
}
