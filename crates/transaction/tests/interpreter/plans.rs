//! Parts, marks and keys handed out by a hook.

use hotrow_base::key;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret::{Hook, NoHook, PlannedKey, run};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::lower::{lower, lower_parts};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::program::*;

use crate::build::*;

/// Hands out one key for every access of site 1, and remembers what it was asked and told.
#[derive(Default)]
struct Script {
    key: Vec<u8>,
    asked: Vec<u16>,
    marks: Vec<(u32, i64)>,
    watched: u16,
    replan_at: Option<u32>,
}

impl Hook for Script {
    fn next_key(&mut self, site: u16) -> Option<PlannedKey<'_>> {
        self.asked.push(site);
        Some(PlannedKey { key: &self.key, hash: key::hash(&self.key), entry: 7 })
    }

    fn mark(&mut self, id: u32, frame: &mut Frame) -> Result<(), Stop> {
        self.marks.push((id, frame.slot(SlotId(self.watched)).as_int()));
        if self.replan_at == Some(id) { Err(Stop::Replan) } else { Ok(()) }
    }
}

fn two_reads() -> (Build, SlotId) {
    let mut build = Build::new();
    let (id, seen) = (build.slot(INT), build.slot(INT));
    for (number, wanted) in [1, 2].into_iter().enumerate() {
        let access = Access {
            table: ACCOUNT,
            path: account_at(int(wanted)),
            bind: vec![(ID, id)],
            filter: None,
            effect: Effect::Read(into(vec![(seen, build.read(id))])),
        };
        build.say(StatementKind::Access(Box::new(access)));
        build.say(StatementKind::Mark(number as u32));
    }
    (build, seen)
}

#[test]
fn planned_sites_take_their_keys_from_the_hook() {
    let (build, seen) = two_reads();
    let mut world = World::with_accounts(5);
    let mut program = world.lower(&build.procedure);
    program.set_planned(1, true);
    let mut planned_key = key::KeyBuffer::new();
    let layout = &world.catalog.index(ACCOUNT_KEY).key;
    layout
        .encode_part(0, hotrow_base::datum::Datum::int(5), &[], &mut planned_key)
        .expect("an integer is a key");
    let mut hook = Script { key: planned_key.to_vec(), watched: seen.0, ..Script::default() };
    let frame = &mut world.frame;
    frame.begin(&program, &Invocation::default());
    assert_eq!(run(&program, 0, frame, &mut world.store, &mut hook), Ok(()));
    assert_eq!(hook.asked, [1]);
    assert_eq!(hook.marks, [(0, 1), (1, 5)]);
    // An empty key matches nothing.
    let mut hook = Script { watched: seen.0, ..Script::default() };
    frame.begin(&program, &Invocation::default());
    assert_eq!(run(&program, 0, frame, &mut world.store, &mut hook), Ok(()));
    assert!(frame.slot(seen).is_null());
}

#[test]
fn a_mark_may_stop_the_run() {
    let (build, seen) = two_reads();
    let mut world = World::with_accounts(5);
    let program = world.lower(&build.procedure);
    let mut hook = Script { watched: seen.0, replan_at: Some(0), ..Script::default() };
    world.frame.begin(&program, &Invocation::default());
    let stopped = run(&program, 0, &mut world.frame, &mut world.store, &mut hook);
    assert_eq!(stopped, Err(Stop::Replan));
    assert_eq!(hook.marks, [(0, 1)]);
    assert!(world.frame.error().is_none());
}

#[test]
fn parts_share_slots_and_number_sites_in_order() {
    let (build, seen) = two_reads();
    let mut world = World::with_accounts(5);
    let (first, second) = build.procedure.body.split_at(2);
    let parts = lower_parts(&world.catalog, &build.procedure, &[second, first]).expect("it lowers");
    assert_eq!((parts.entries.len(), parts.access.len()), (2, 2));
    world.frame.begin(&parts, &Invocation::default());
    let frame = &mut world.frame;
    assert_eq!(run(&parts, 1, frame, &mut world.store, &mut NoHook), Ok(()));
    assert_eq!(frame.slot(seen).as_int(), 1);
    assert_eq!(run(&parts, 0, frame, &mut world.store, &mut NoHook), Ok(()));
    assert_eq!(frame.slot(seen).as_int(), 2);
}

#[test]
fn too_many_slots_are_refused() {
    let mut build = Build::new();
    let slot = build.slot(INT);
    for i in 0..70_000 {
        build.assign(slot, int(i));
    }
    let error = lower(&World::new().catalog, &build.procedure).expect_err("too many constants");
    assert_eq!(error.code(), "54000");
}
