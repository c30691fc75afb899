use super::*;

/// Two sockets of two cores; caches of four and of sixteen lines.
fn costs() -> Costs {
    Costs {
        sockets: 2,
        cores_per_socket: 2,
        instruction_ps: 200,
        word_ps: 0,
        atomic_ps: 10_000,
        pause_ps: 1_000,
        own_lines: 64,
        shared_lines: 1024,
        shared_ps: 20_000,
        memory_ps: 200_000,
        memory_far_ps: 300_000,
        dirty_ps: 50_000,
        dirty_far_ps: 150_000,
        stream_percent: 25,
        call_ps: 200_000,
        wake_ps: 1_000_000,
        wake_latency_ps: 4_000_000,
        switch_ps: 1_500_000,
        slice_ps: 1_000_000_000,
        timer_slack_ps: 50_000_000,
    }
}

/// What an access costs beside seven to nine eighths of chance, rounded to what it may be.
fn nearest(took: u64, of: &[u64]) -> u64 {
    let near = |ps: &&u64| took * 8 >= **ps * 7 && took * 8 <= **ps * 9;
    *of.iter().find(near).unwrap_or_else(|| panic!("{took} is none of {of:?}"))
}

const WORD: usize = 0x10_0040;

#[test]
fn a_line_costs_by_where_it_is() {
    let mut lines = Lines::new(&costs(), 1);
    let mut now = 1_000_000_000;
    let mut took = |core, access| {
        now += 1_000_000_000; // long after whatever was before
        lines.access(core, WORD, access, now) - now
    };
    assert_eq!(nearest(took(0, Access::Load), &[200_000, 300_000]), 200_000, "memory");
    assert_eq!(took(0, Access::Load), 0, "it has it");
    assert_eq!(nearest(took(1, Access::Load), &[20_000]), 20_000, "in the socket's cache");
    assert_eq!(nearest(took(2, Access::Load), &[150_000]), 150_000, "in another socket's");
    let change = took(0, Access::Change) - 10_000;
    assert_eq!(nearest(change, &[150_000]), 150_000, "those of two sockets lose it");
    assert_eq!(took(0, Access::Change), 10_000, "it is the owner");
    assert_eq!(nearest(took(1, Access::Load), &[50_000]), 50_000, "from its neighbour");
    assert_eq!(took(1, Access::Store), 0, "a store does not wait");
    assert_eq!(nearest(took(3, Access::Load), &[150_000]), 150_000, "from far");
    let counts = lines.counts();
    assert_eq!((counts.accesses, counts.memory, counts.dirty, counts.queued_ps), (9, 1, 1, 0));
}

#[test]
fn who_wants_a_line_at_once_stands_in_line() {
    let mut lines = Lines::new(&costs(), 1);
    let ends: Vec<u64> = (0..4).map(|core| lines.access(core, WORD, Access::Change, 0)).collect();
    assert!(ends.is_sorted(), "{ends:?}");
    assert!(ends[3] > 400_000, "memory, a neighbour, two times far: {ends:?}");
    assert!(lines.counts().queued_ps > 0);
}

#[test]
fn a_change_waits_for_the_stores_before_it() {
    let mut lines = Lines::new(&costs(), 1);
    lines.access(2, WORD, Access::Change, 0);
    let stored = lines.access(0, WORD, Access::Store, 10_000_000);
    assert_eq!(stored, 10_000_000);
    let other = WORD + 4096;
    lines.access(0, other, Access::Load, 5_000_000);
    let changed = lines.access(0, other, Access::Change, 10_000_000);
    assert!(changed >= 10_000_000 + 150_000 * 7 / 8, "{changed}: the store came from far");
    assert_eq!(lines.fence(0, 20_000_000), 20_010_000, "all stores have arrived");
}

#[test]
fn a_full_cache_gives_lines_back() {
    let mut lines = Lines::new(&costs(), 1);
    for turn in 0..2 {
        for at in 0..640 {
            lines.access(0, WORD + at * 128, Access::Store, turn * 1_000_000_000);
        }
    }
    let counts = lines.counts();
    assert!((640..700).contains(&counts.memory), "few push each other out: {counts:?}");
    assert!(counts.shared > 500, "the socket's cache has what the core's lost: {counts:?}");
    // I1, looked at from the directory.
    let owned = lines.lines.iter().filter(|line| line.sharers != 0).count();
    let held = lines.own[0].iter().filter(|line| **line != NONE).count();
    assert_eq!(owned, held);
}

#[test]
fn numbers_do_not_depend_on_addresses() {
    let run = |base: usize| {
        let mut lines = Lines::new(&costs(), 7);
        let mut random = 12_345_u64;
        let mut now = [0; 4];
        for _ in 0..50_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (core, at) = ((random >> 60) as usize % 4, (random >> 33) as usize % 4000);
            let access = [Access::Load, Access::Store, Access::Change][(random >> 20) as usize % 3];
            now[core] = lines.access(core, base + at * 64, access, now[core]);
        }
        (now, lines.counts())
    };
    assert_eq!(run(0x7f00_0000_0000), run(0x5555_0000_0000));
}
