//! Failed logins: who fails again and again has to wait, longer each time.
//!
//! Role         asked before a password is checked, told how the check ended
//! Invariants   I1 whoever comes from another address, or as another user, is not held up: nobody
//!                 can lock somebody out from elsewhere
//!              I2 nobody waits here: who comes too early is told when to come again, and holds
//!                 neither a thread nor a connection meanwhile
//!              I3 bounded: of so many the one that failed least, and longest ago, is forgotten
//! Concurrency  `table` -> latched for a look-up, by who begins or ends a check

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::sync::Latch;

use crate::listening::Origin;

/// Failures of a user at an address before anybody waits: a slip of the finger or two.
const USER_FREE: u32 = 5;
/// Failures at an address, whoever they were of.
const ADDRESS_FREE: u32 = 50;
/// The first wait; each failure doubles it.
const WAIT_MIN: Duration = Duration::from_millis(250);
/// The longest one.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// After so long without a failure all is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Pairs that are remembered.
const REMEMBERED_MAX: usize = 4096;

/// Who tries: an address, and the user it wants to be; none: any of its users.
type Who = (Option<IpAddr>, Option<String>);

/// How often somebody has failed.
struct Failures {
    count: u32,
    last: Ticks,
    /// a check is under way, which may be the next failure
    is_trying: bool,
}

/// Failures, by who has failed; shared by all connections.
#[derive(Default)]
pub(crate) struct Attempts {
    table: Latch<HashMap<Who, Failures>>,
}

impl Attempts {
    /// Whether a password may be checked now; else how long not.
    pub(crate) fn begin(&self, from: Origin, user: &str) -> Result<(), Duration> {
        self.begin_at(Ticks::now(), from, user)
    }

    fn begin_at(&self, now: Ticks, from: Origin, user: &str) -> Result<(), Duration> {
        let table = &mut *self.table.lock();
        let of_user = (address(from), Some(user.to_owned()));
        let waits = [(&of_user, USER_FREE), (&(address(from), None), ADDRESS_FREE)];
        let longest =
            waits.iter().filter_map(|(who, free)| table.get(*who)?.wait(*free, now)).max();
        if let Some(wait) = longest {
            return Err(wait);
        }
        if let Some(failures) = table.get_mut(&of_user) {
            failures.is_trying = true;
        }
        Ok(())
    }

    /// A check has ended; `None`: without a result, the client has gone.
    pub(crate) fn end(&self, from: Origin, user: &str, is_right: Option<bool>) {
        self.end_at(Ticks::now(), from, user, is_right);
    }

    fn end_at(&self, now: Ticks, from: Origin, user: &str, is_right: Option<bool>) {
        let table = &mut *self.table.lock();
        let whos = [(address(from), Some(user.to_owned())), (address(from), None)];
        for (who, free) in whos.into_iter().zip([USER_FREE, ADDRESS_FREE]) {
            if is_right == Some(false) {
                fail(table, who, now);
            } else if let Some(failures) = table.get_mut(&who) {
                failures.is_trying = false;
                if is_right == Some(true) {
                    // The next failure waits again: somebody else may be guessing beside.
                    failures.count = failures.count.min(free);
                }
            }
        }
    }
}

impl Failures {
    /// How long nothing is checked.
    fn wait(&self, free: u32, now: Ticks) -> Option<Duration> {
        let passed = passed(self.last, now);
        if passed > FORGOTTEN_AFTER {
            return None;
        }
        let over = self.count.checked_sub(free)?;
        let wait = WAIT_MIN.saturating_mul(1 << over.min(16)).min(WAIT_MAX);
        let left = wait.saturating_sub(passed);
        match left.is_zero() {
            // One at a time: a crowd that comes at once is as many guesses.
            true => self.is_trying.then_some(WAIT_MIN),
            false => Some(left),
        }
    }
}

/// How much time has passed from one moment to another.
fn passed(from: Ticks, to: Ticks) -> Duration {
    Duration::from_nanos(to.nanos_since(from))
}

fn fail(table: &mut HashMap<Who, Failures>, who: Who, now: Ticks) {
    if table.len() >= REMEMBERED_MAX && !table.contains_key(&who) {
        let least = table.iter().min_by_key(|(_, failures)| {
            (failures.count, std::cmp::Reverse(passed(failures.last, now)))
        });
        if let Some(least) = least.map(|(who, _)| who.clone()) {
            table.remove(&least); // I3
        }
    }
    let new = Failures { count: 0, last: now, is_trying: false };
    let failures = table.entry(who).or_insert(new);
    if passed(failures.last, now) > FORGOTTEN_AFTER {
        failures.count = 0;
    }
    failures.count = failures.count.saturating_add(1);
    failures.last = now;
    failures.is_trying = false;
}

/// What tells clients apart: the address, of IPv6 the network, which one host may have whole; none
/// for the local socket.
fn address(from: Origin) -> Option<IpAddr> {
    let Origin::Network(address) = from else { return None };
    Some(match address.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & !u128::from(u64::MAX)).into()),
        ip => ip,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> Origin {
        Origin::Network(([10, 0, 0, last], 1).into())
    }

    /// All at one moment, which does not go on while a busy machine does something else.
    fn fail(attempts: &Attempts, now: Ticks, last: u8, user: &str) -> bool {
        let may = attempts.begin_at(now, from(last), user).is_ok();
        if may {
            attempts.end_at(now, from(last), user, Some(false));
        }
        may
    }

    #[test]
    fn who_fails_waits_and_nobody_else_does() {
        let (attempts, now) = (Attempts::default(), Ticks::now());
        let begin = |from, user| attempts.begin_at(now, from, user);
        assert_eq!((0..400).filter(|_| fail(&attempts, now, 1, "ann")).count(), 5);
        let wait = begin(from(1), "ann").expect_err("she has failed too often");
        assert!(wait <= WAIT_MIN);
        begin(from(2), "ann").expect("from another address");
        begin(from(1), "bob").expect("another user");
        begin(Origin::Local, "ann").expect("from the machine itself");
        // An address that tries one user after the other.
        let tried = (0..400).filter(|n| fail(&attempts, now, 3, &format!("user {n}"))).count();
        assert_eq!(tried, 50);
        begin(from(3), "new").expect_err("all of that address");
        let later = now.after(2 * WAIT_MIN);
        attempts.begin_at(later, from(1), "ann").expect("she has waited");
    }

    #[test]
    fn it_doubles_and_ends_and_who_is_right_starts_anew() {
        let now = Ticks::now();
        let mut failures = Failures { count: 4, last: now, is_trying: false };
        assert_eq!(failures.wait(USER_FREE, now), None);
        let mut last = Duration::ZERO;
        for count in 5..12 {
            failures.count = count;
            let wait = failures.wait(USER_FREE, now).expect("it waits");
            assert!(wait > last, "{count}");
            last = wait;
        }
        failures.count = 1_000_000;
        assert!(failures.wait(USER_FREE, now).expect("it waits") <= WAIT_MAX);
        let attempts = Attempts::default();
        (0..4).for_each(|_| assert!(fail(&attempts, now, 1, "ann")));
        for _ in 0..100 {
            attempts.begin_at(now, from(1), "ann").expect("she has not failed too often");
            attempts.end_at(now, from(1), "ann", Some(true));
        }
    }

    #[test]
    fn only_so_many_are_remembered_and_who_failed_most_is_among_them() {
        let (attempts, now) = (Attempts::default(), Ticks::now());
        (0..5).for_each(|_| assert!(fail(&attempts, now, 1, "ann")));
        for n in 0..2 * REMEMBERED_MAX {
            let [.., high, low] = n.to_be_bytes();
            let from = Origin::Network(([11, 0, high, low], 1).into());
            attempts.end_at(now, from, "ann", Some(false));
        }
        assert!(attempts.table.lock().len() <= REMEMBERED_MAX);
        attempts.begin_at(now, from(1), "ann").expect_err("she is remembered");
    }
}
