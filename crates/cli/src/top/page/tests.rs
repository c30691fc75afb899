use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_bench::ServerLevels;

use super::*;

/// Two looks, two seconds apart.
pub(crate) fn looks() -> (Look, Look) {
    let call = |procedure: &str, calls: u64, failed: u64, lock_us: f32| ServerCall {
        procedure: procedure.to_owned(),
        calls,
        failed,
        p50_us: 40.0,
        p99_us: 250.0,
        max_us: 900.0,
        phases_us: [8.0, 2.0, lock_us, 30.0, 5.0, 0.0],
    };
    let wait = |waiter: &str, waits: u64, total_ms: f32| ServerWait {
        table: "branch".to_owned(),
        key: "b_id=1".to_owned(),
        waiter: waiter.to_owned(),
        holder: waiter.to_owned(),
        waits,
        total_ms,
        longest_ms: 1.5,
    };
    let start = Ticks::now();
    let status = ServerStatus {
        engine: "fast".to_owned(),
        settings: "gear=5".to_owned(),
        durability: "durable".to_owned(),
        log_failure: None,
        sums: ServerSums { committed: 100, statements: 200, ..ServerSums::default() },
        levels: ServerLevels { threads: 2, uptime_s: 58, ..ServerLevels::default() },
    };
    let before = Look {
        at: start,
        status: status.clone(),
        calls: vec![call("buy", 100, 0, 10.0), call("look", 5, 0, 0.0)],
        hot_keys: vec![wait("", 10, 5.0)],
        waits: vec![],
    };
    let sums = ServerSums {
        committed: 24_100,
        failed: 100,
        undone: 1,
        statements: 25_200,
        session_commits: 10,
        execute_ms: 1_000,
        idle_ms: 3_000,
        log_bytes: 3 << 20,
        log_entries: 24_000,
        log_syncs: 800,
        log_sync_ms: 200,
        ..ServerSums::default()
    };
    let levels = ServerLevels {
        uptime_s: 60,
        running: 16,
        queued: 3,
        queue_capacity: 1_024,
        open_transactions: 1,
        open_transactions_max: 100,
        memory_bytes: 5 << 19,
        memory_limit_bytes: 16 << 30,
        ..status.levels
    };
    let after = Look {
        at: start.after(Duration::from_secs(2)),
        status: ServerStatus { sums, levels, ..status },
        calls: vec![call("buy", 24_100, 100, 10.0), call("look", 5, 0, 0.0)],
        hot_keys: vec![wait("", 30, 11.0)],
        waits: vec![wait("buy", 20, 6.0)],
    };
    (before, after)
}

fn text(sort: Sort, room: Extent) -> Vec<String> {
    let (before, after) = looks();
    let lines = lines(&Figures::between(&before, &after), "db:5433", sort, room);
    lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
}

#[test]
fn a_page_tells_what_was_between_two_looks() {
    let lines = text(Sort::Time, Extent::ALL);
    let expected = "\
hotrow db:5433  fast gear=5, 2 threads, durable, up 1:00  (2.0 s)
calls/s 12,050  failed/s 50.0  undone/s 0.50  replanned/s 0  statements/s 12,500  \
commits/s 12,005  rollbacks/s 0
running 16  queue 3 of 1024  refused/s 0  open transactions 1 of 100  \
memory 2.5 MiB of 16.0 GiB
log 1.5 MiB/s  entries/s 12,000  syncs/s 400 of 0.25 ms  0 B since the last checkpoint
threads  execute 25 %  plan 0 %  lock 0 %  wait 0 %  log 0 %  idle 75 %

procedure  * since start   calls/s  failed/s   mean us     queue      plan      lock   execute \
\x20   reply       log     p99 *
buy                         12,000      50.0      55.0       8.0       2.0      10.0      30.0 \
\x20     5.0         0       250
look                             0         0         0         0         0         0         0 \
\x20       0         0       250

hot key                                                         waits/s       ms/s longest ms
branch b_id=1                                                      10.0        3.0        1.5

wait                                                            waits/s       ms/s longest ms
buy for buy at branch b_id=1                                       10.0        3.0        1.5";
    assert_eq!(lines.join("\n"), expected);
}

#[test]
fn procedures_are_sorted_and_cut() {
    let first = |sort| {
        let lines = text(sort, Extent { columns: 80, lines: 15 });
        assert!(lines.len() <= 16, "{lines:#?}");
        lines[7].split_whitespace().next().map(str::to_owned)
    };
    let orders = [Sort::Time, Sort::Calls, Sort::Mean, Sort::Name];
    for sort in orders {
        assert_eq!(first(sort).as_deref(), Some("buy"));
    }
    assert_eq!(orders.map(Sort::next), [Sort::Calls, Sort::Mean, Sort::Name, Sort::Time]);
    let mut calls = [("a", 1, 9.0), ("b", 3, 2.0), ("c", 2, 1.0)].map(|(name, calls, us)| {
        let phases_us = [us, 0.0, 0.0, 0.0, 0.0, 0.0];
        ServerCall { procedure: name.to_owned(), calls, phases_us, ..ServerCall::default() }
    });
    for (sort, order) in
        [(Sort::Time, "abc"), (Sort::Calls, "bca"), (Sort::Mean, "abc"), (Sort::Name, "abc")]
    {
        calls.reverse();
        sort_calls(&mut calls, sort);
        let names: String = calls.iter().map(|call| call.procedure.as_str()).collect();
        assert_eq!(names, order, "{sort:?}");
    }
}

#[test]
fn figures_have_few_digits() {
    let rates = [0.0, 0.004, 0.5, 3.44, 99.96, 12_345.6, 1_234_567.0].map(rate);
    assert_eq!(rates, ["0", "0", "0.50", "3.4", "100", "12,346", "1,235k"]);
    let sizes = [0.0, 1_023.0, 1_536.0, 200.0 * 1_048_576.0, 1.5e15].map(bytes);
    assert_eq!(sizes, ["0 B", "1023 B", "1.5 KiB", "200 MiB", "1364 TiB"]);
    let spans = [5, 65, 7_205, 266_400].map(duration);
    assert_eq!(spans, ["5 s", "1:05", "2:00:05", "3 days 2:00"]);
    assert_eq!((cut("short", 5), cut("longer", 5)), ("short".to_owned(), "long…".to_owned()));
}
