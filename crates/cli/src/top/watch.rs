//! The watcher: a thread that looks at a server again and again, and connects anew when it must.
//!
//! Role         a server that does not answer holds up this thread, and not the one that has the
//!              terminal
//! Concurrency  news go through a channel; the thread ends when nobody takes them any more

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::thread::{self, ThreadOptions};
use hotrow_bench::{BenchError, ServerAddress, ServerCall, ServerStatus, ServerWait};
use postgres::Client;

use crate::failure::Failure;

/// News that nobody has taken, at most: the watcher waits then.
const NEWS_MAX: usize = 4;

/// What a server told of itself at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) at: Ticks,
    pub(crate) status: ServerStatus,
    pub(crate) calls: Vec<ServerCall>,
    pub(crate) hot_keys: Vec<ServerWait>,
    pub(crate) waits: Vec<ServerWait>,
}

impl Look {
    pub(crate) fn take(client: &mut Client) -> Result<Self, BenchError> {
        Ok(Self {
            at: Ticks::now(),
            status: ServerStatus::take(client)?,
            calls: ServerCall::take(client)?,
            hot_keys: ServerWait::take_hot_keys(client)?,
            waits: ServerWait::take(client)?,
        })
    }
}

/// What the watcher has to tell.
#[derive(Debug)]
pub(crate) enum News {
    Looked(Box<Look>),
    /// there is no connection, because
    Lost(String),
}

/// A thread that looks.
pub(crate) struct Watcher {
    pub(crate) news: Receiver<News>,
}

impl Watcher {
    pub(crate) fn start(server: ServerAddress, every: Duration) -> Result<Self, Failure> {
        let (sender, news) = sync_channel(NEWS_MAX);
        // Not joined: it may hang in a server that does not answer, and holds nothing.
        ThreadOptions::named("watcher").spawn(move || while watch(&server, every, &sender) {})?;
        Ok(Self { news })
    }
}

/// Looks until the connection is lost; whether anybody still wants to know.
fn watch(server: &ServerAddress, every: Duration, news: &SyncSender<News>) -> bool {
    let mut next = Ticks::now();
    let lost = match server.connect() {
        Ok(mut client) => loop {
            let look = match Look::take(&mut client) {
                Ok(look) => look,
                Err(error) => break error,
            };
            if news.send(News::Looked(Box::new(look))).is_err() {
                return false;
            }
            // At even distances, however long a look takes.
            next = next.after(every).max(Ticks::now());
            thread::sleep(next.remaining());
        },
        Err(error) => error,
    };
    let is_wanted = news.send(News::Lost(lost.to_string())).is_ok();
    thread::sleep(every);
    is_wanted
}
