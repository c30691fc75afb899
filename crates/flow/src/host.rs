//! A thread that hosts nodes: its turns, its rests, its end.
//!
//! States       turns, each of which takes the messages there are, works, and fetches a few calls
//!              -> when a turn has had nothing to do, it rests: until a message or a call comes
//! Invariants   I1 the thread goes on until no home has calls: others need its nodes as long

use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_engine::schema::Memory;
use hotrow_engine::statistics::{Activity, Stopwatch, turns_between_books};

use crate::exchange::Exchange;
use crate::intake::Intake;
use crate::roster::Roster;

/// Turns between two housekeepings.
const TURNS_PER_HOUSEKEEPING: u32 = turns_between_books(64);
/// How long a thread sleeps whose source cannot call it, before it looks for calls.
const GLANCE: Duration = Duration::from_micros(200);
/// How long it sleeps otherwise.
const NAP: Duration = Duration::from_millis(10);
/// Rests in a row with nothing on its way after which a source without a bell is waited for: it may
/// have to be told that the log has failed.
const RESTS_MAX: u32 = 50;

/// What a thread does, apart from waiting.
pub trait Member {
    /// what nodes tell each other
    type Message: Send + 'static;

    /// Its place among the nodes, and where its calls come in.
    fn ends(&mut self) -> (&mut Exchange<Self::Message>, &mut Intake);

    /// What it has spent its time on.
    fn watch(&mut self) -> &mut Stopwatch;

    /// One turn; whether there was anything to do. Records are touched under a pin in `memory`.
    fn turn(&mut self, memory: &Memory) -> bool;

    /// Whether nobody works on its calls any more: it may go outside the gate.
    fn has_all_back(&mut self) -> bool;

    /// Publishes what it has counted, and lets go of what it keeps: now and then.
    fn keep_house(&mut self);
}

/// Whether a thread might fetch a call now.
pub fn may_fetch(roster: &Roster, intake: &Intake) -> bool {
    intake.may_fetch() && !roster.is_ending() && roster.has_room()
}

/// Runs a thread until the engine ends.
pub fn run(mut member: impl Member, roster: &Roster) {
    let (exchange, intake) = member.ends();
    let has_bell = intake.set_bell(exchange);
    let (mut turns, mut rests, mut has_home) = (0_u32, 0, true);
    while !roster.is_over() {
        let intake = member.ends().1;
        if !intake.is_inside() && may_fetch(roster, intake) {
            intake.go_inside();
        }
        let has_moved = member.turn(&roster.memory);
        member.ends().0.publish();
        turns = turns.wrapping_add(1);
        let wants_quiet = || roster.ground.schema.gate().wants_quiet();
        if (!has_moved || wants_quiet()) && member.has_all_back() {
            member.ends().1.go_outside();
        }
        let intake = member.ends().1;
        if has_home && (intake.is_closed() || roster.is_ending()) && !intake.is_inside() {
            has_home = false;
            if roster.leave_home() {
                member.ends().0.wake_all(); // I1
            }
        }
        if !has_moved || turns.is_multiple_of(TURNS_PER_HOUSEKEEPING) {
            member.keep_house();
        }
        match has_moved {
            true => rests = 0,
            false => {
                rests += 1;
                rest(&mut member, roster, has_bell, rests);
            }
        }
    }
    member.keep_house();
}

/// Waits until there may be something to do.
fn rest(member: &mut impl Member, roster: &Roster, has_bell: bool, rests: u32) {
    let is_busy = member.ends().1.is_busy();
    member.watch().switch(if is_busy { Activity::Wait } else { Activity::Idle });
    let looks = may_fetch(roster, member.ends().1);
    // Where calls may come it is there that is waited, also while some are on their way: the bell
    // tells of messages.
    if looks && !member.ends().1.is_kept_out() {
        if has_bell {
            let (exchange, intake) = member.ends();
            if exchange.wait_elsewhere(|| intake.wait_at_source()) {
                return;
            }
        } else if !is_busy && rests > RESTS_MAX {
            return member.ends().1.wait_at_source();
        }
    }
    let span = if looks || !roster.has_room() { GLANCE } else { NAP };
    member.ends().0.wait(Some(Ticks::from_now(span)), || roster.is_over());
}
