//! Who has a place: how many sessions, how many that want to be one, how many descriptors.
//!
//! Role         arithmetic of [`Server`](crate::Server)'s limits, and who has to go when one who
//!              has just come needs a place
//! Invariants   I1 connections that have not begun a session take no session's place, and are
//!                 bounded themselves: where there are too many, one that has been silent for
//!                 longest, of the address that has most, is told so and goes
//!              I2 connections never take the descriptors that the log and checkpoints need

use std::net::IpAddr;
use std::time::Duration;

use hotrow::SqlError;
use rustix::process::{Resource, getrlimit};
use socket2::{Socket, TcpKeepalive};

use crate::server::{ServerError, ServerOptions};

/// Descriptors that are kept back: a log's segments, a checkpoint's files for each of its threads,
/// the eight requests over HTTP, and some that nobody thought of.
const KEPT_BACK: u64 = 48;
/// Fewer connections are no server.
const CONNECTIONS_MIN: u64 = 8;

/// When a silent connection is asked whether there is anybody any more, and how often, as
/// PostgreSQL's `tcp_keepalives_idle`, `_interval` and `_count` have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keepalive {
    /// silence before the first question
    pub idle: Duration,
    /// between two of them
    pub interval: Duration,
    /// unanswered ones after which it is given up
    pub count: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        let (idle, interval) = (Duration::from_secs(60), Duration::from_secs(10));
        Self { idle, interval, count: 6 }
    }
}

impl Keepalive {
    /// Asks so on a connection.
    pub(crate) fn set(&self, stream: &Socket) {
        let Self { idle, interval, count } = *self;
        let asks = TcpKeepalive::new().with_time(idle).with_interval(interval).with_retries(count);
        let _ = stream.set_tcp_keepalive(&asks); // who is gone is found out later then
    }
}

/// How many there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// sessions
    pub(crate) sessions: usize,
    /// of them those that only administrators get
    pub(crate) reserved: usize,
    /// connections that have not begun a session
    pub(crate) half_open: usize,
}

impl Places {
    /// As many as were asked for, as far as there are descriptors for them (I2).
    pub(crate) fn new(options: &ServerOptions) -> Result<Self, ServerError> {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let left = limit.saturating_sub(open_now()).saturating_sub(KEPT_BACK);
        if left < CONNECTIONS_MIN {
            return Err(ServerError::Descriptors(limit));
        }
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        // Half-open ones count twice: those that have to go have not gone yet.
        let half_open = options.half_open_max.clamp(1, (left / 4).max(1));
        let sessions = options.connections_max.min(left - 2 * half_open);
        let reserved = options.reserved_connections.min(sessions / 4);
        Ok(Self { sessions, reserved, half_open })
    }

    /// Connections of all kinds, those included that have been told to go; no more are accepted
    /// until one has gone, and whoever comes waits in the listener's queue.
    pub(crate) fn in_all(&self) -> usize {
        self.sessions + 2 * self.half_open
    }

    /// Whether one more may have a session beside so many.
    pub(crate) fn admit(&self, sessions: usize, is_administrator: bool) -> Result<(), SqlError> {
        let message = match () {
            () if sessions >= self.sessions => "sorry, too many clients already",
            () if sessions >= self.sessions - self.reserved && !is_administrator => {
                "remaining connection slots are reserved for administrators"
            }
            () => return Ok(()),
        };
        Err(SqlError::new(b"53300", message))
    }
}

/// A connection that has not begun a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfOpen {
    /// connections are numbered as they come
    pub(crate) number: i32,
    /// where it is from; none: the local socket
    pub(crate) address: Option<IpAddr>,
}

/// Which of these has to go (I1): the oldest of the address that has most of them, so that whoever
/// fills all places at their beginning drives out his own.
pub(crate) fn one_too_many(half_open: &[HalfOpen]) -> Option<i32> {
    let of =
        |address: Option<IpAddr>| half_open.iter().filter(|one| one.address == address).count();
    let oldest = |one: &&HalfOpen| (of(one.address), std::cmp::Reverse(one.number));
    half_open.iter().max_by_key(oldest).map(|one| one.number)
}

/// Descriptors that the process has open; where the system does not tell, a guess.
fn open_now() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(32, |open| open.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn administrators_have_places_of_their_own() {
        let places = Places { sessions: 10, reserved: 2, half_open: 4 };
        assert!(places.admit(7, false).is_ok() && places.admit(9, true).is_ok());
        let refused = [places.admit(8, false), places.admit(10, true)].map(|refused| {
            let refused = refused.expect_err("there are too many");
            assert_eq!(refused.code(), "53300");
            refused.message
        });
        assert!(refused[0].contains("reserved") && refused[1].contains("too many clients"));
        assert_eq!(places.in_all(), 18);
    }

    #[test]
    fn who_crowds_drives_out_his_own() {
        let at = |number, last: u8| HalfOpen { number, address: Some([10, 0, 0, last].into()) };
        assert_eq!(one_too_many(&[]), None);
        assert_eq!(one_too_many(&[at(1, 1), at(2, 2), at(3, 2), at(4, 1), at(5, 2)]), Some(2));
        assert_eq!(one_too_many(&[at(4, 1), at(3, 1)]), Some(3));
    }
}
