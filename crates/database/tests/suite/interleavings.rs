//! DORA's interleavings (dora.txt 4.2): what calls do to each other while one of them is between
//! two of its parts. Threads are made far apart, so that it stays there for milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};

use hotrow::{Config, Database, Error, Session, Value};

/// Rows at first, with the numbers from [`NUMBER`] on; and rows that calls on them need elsewhere.
const ROWS: i64 = 12;
const NUMBER: i64 = 100;
/// What a row's number becomes, for a while.
const MOVED_BY: i64 = 500;
/// Identities of rows that come and go meanwhile.
const OTHERS: i64 = 1_000;

const DEFINITIONS: [&str; 9] = [
    "CREATE TABLE far (id bigint PRIMARY KEY, n bigint NOT NULL)",
    "CREATE TABLE entry (family bigint, id bigint, PRIMARY KEY (family, id))",
    "CREATE FUNCTION fill(rows bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
         FOR id IN 0..rows - 1 LOOP
             INSERT INTO item VALUES (id, 100 + id, id * 7);
             INSERT INTO far VALUES (id, 0);
         END LOOP;
     END $$",
    // What is far away is asked for what was read here, and only then does it fail.
    "CREATE FUNCTION remove_in_vain(a bigint, f bigint) RETURNS void LANGUAGE plpgsql AS $$
     DECLARE x bigint; BEGIN
         DELETE FROM item WHERE id = a RETURNING n INTO x;
         UPDATE far SET n = n + x - x WHERE id = f RETURNING n INTO x;
         IF x >= 0 THEN RAISE EXCEPTION 'no'; END IF;
     END $$",
    "CREATE FUNCTION move_in_vain(a bigint, f bigint) RETURNS void LANGUAGE plpgsql AS $$
     DECLARE x bigint; BEGIN
         UPDATE item SET nbr = nbr + 500 WHERE id = a RETURNING n INTO x;
         UPDATE far SET n = n + x - x WHERE id = f RETURNING n INTO x;
         IF x >= 0 THEN RAISE EXCEPTION 'no'; END IF;
     END $$",
    "CREATE FUNCTION add(a bigint, number bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO item VALUES (a, number, a * 7);
     END $$",
    "CREATE FUNCTION remove(a bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
         DELETE FROM item WHERE id = a;
     END $$",
    "CREATE FUNCTION find(number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
     DECLARE x bigint; BEGIN
         SELECT n INTO x FROM item WHERE nbr = number;
         RETURN x;
     END $$",
    "CREATE FUNCTION fetch(a bigint) RETURNS bigint LANGUAGE plpgsql AS $$
     DECLARE x bigint; BEGIN
         SELECT n INTO x FROM item WHERE id = a;
         RETURN x;
     END $$",
];

fn open(settings: &[(&str, &str)], index: &str) -> (Database, Session) {
    let near = [("spread", "tables"), ("executors", "2"), ("delay_us", "1000")];
    let settings = [&near, settings].concat();
    let config = Config::default().threads(2).engine("dora").variant(&settings);
    let db = Database::open_in_memory(config).expect("it opens");
    let session = db.session();
    let item = "CREATE TABLE item (id bigint PRIMARY KEY, nbr bigint NOT NULL, n bigint NOT NULL)";
    let by_number = format!("CREATE UNIQUE INDEX item_nbr ON item USING {index} (nbr)");
    for definition in [item, &by_number].into_iter().chain(DEFINITIONS) {
        session.execute(definition).expect("it is legal");
    }
    session.call("fill", (ROWS,)).expect("there is room");
    (db, session)
}

/// The only value that a call returns.
fn call(session: &Session, name: &str, argument: i64) -> Value {
    let rows = session.call(name, (argument,)).expect("nothing is wrong with it");
    rows.iter().next().expect("one row")[0].clone()
}

/// Has two clients call procedures that fail in the end on all rows, each with all rows far away,
/// while another two do something else, again and again; how often each of these has.
fn while_calls_fail(
    db: &Database,
    names: &[&str],
    meanwhile: impl Fn(&Session, i64, i64) + Sync,
) -> Vec<i64> {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let failing: Vec<_> = (0..2)
            .map(|client| {
                scope.spawn(move || {
                    let session = db.session();
                    for (round, row) in
                        (0..5).flat_map(|round| (0..ROWS).map(move |at| (round, at)))
                    {
                        for name in names {
                            let far = (row + round + client) % ROWS;
                            let failed = session.call(name, (row, far)).expect_err("it fails");
                            assert_eq!(code(&failed), "P0001");
                        }
                    }
                })
            })
            .collect();
        let others: Vec<_> = (0..2)
            .map(|client| {
                let (meanwhile, ends) = (&meanwhile, &ends);
                scope.spawn(move || {
                    let session = db.session();
                    let mut count = 0;
                    while !ends.load(Ordering::Relaxed) {
                        meanwhile(&session, client, count);
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        failing.into_iter().for_each(|client| client.join().expect("it ends"));
        ends.store(true, Ordering::Relaxed);
        others.into_iter().map(|client| client.join().expect("it ends")).collect()
    })
}

fn code(error: &Error) -> &str {
    error.sqlstate().unwrap_or("none")
}

/// 4.2.1: T1 deletes a record, T2 inserts one while the slot might seem free, T1 aborts. Both rows
/// have to be there, whether slots are locked or not: a slot is given away only after the commit
/// that freed it.
#[test]
fn a_slot_freed_by_a_delete_that_aborts_is_not_given_to_an_insert() {
    for slots in ["free", "locked"] {
        let (db, session) = open(&[("slots", slots)], "hash");
        let identity = |client: i64, count: i64| OTHERS * (client + 1) + count;
        let counts = while_calls_fail(&db, &["remove_in_vain"], |session, client, count| {
            let id = identity(client, count);
            session.call("add", (id, id)).expect("its keys are its own");
            // Deletes that commit free slots, which later inserts get.
            if count % 3 == 2 {
                session.call("remove", (id - 1,)).expect("it is there");
            }
        });
        for id in 0..ROWS {
            assert_eq!(
                call(&session, "fetch", id),
                Value::BigInt(id * 7),
                "{slots}: it was undone"
            );
            assert_eq!(call(&session, "find", NUMBER + id), Value::BigInt(id * 7), "{slots}");
        }
        for (client, count) in (0..).zip(counts) {
            assert!(count > 20, "{slots}: {count} came meanwhile");
            for at in 0..count {
                let id = identity(client, at);
                let is_removed = at % 3 == 1 && at + 1 < count;
                let wanted = if is_removed { Value::Null } else { Value::BigInt(id * 7) };
                assert_eq!(call(&session, "fetch", id), wanted, "{slots}: row {at} of {count}");
            }
        }
    }
}

/// 4.2.2: T1 deletes a record and its entry in a secondary index, or moves it to another number; T2
/// looks it up there; T1 aborts. T2 has to find it, and nothing under the other number.
#[test]
fn an_entry_of_a_delete_that_aborts_is_found_by_others() {
    for index in ["hash", "btree"] {
        let (db, session) = open(&[], index);
        let names = ["remove_in_vain", "move_in_vain"];
        let counts = while_calls_fail(&db, &names, |session, client, count| {
            let row = (count * 5 + client) % ROWS;
            assert_eq!(call(session, "find", NUMBER + row), Value::BigInt(row * 7), "{index}");
            let moved = call(session, "find", NUMBER + MOVED_BY + row);
            assert_eq!(moved, Value::Null, "{index}: nobody has this number");
        });
        assert!(counts.iter().all(|&count| count > 20), "{index}: {counts:?}");
        // Once the delete has committed, the same keys may be given to another row.
        for row in 0..ROWS {
            session.call("remove", (row,)).expect("it is there");
            assert_eq!(call(&session, "find", NUMBER + row), Value::Null, "{index}");
            session.call("add", (row, NUMBER + row)).expect("nobody has its keys");
            assert_eq!(call(&session, "find", NUMBER + row), Value::BigInt(row * 7), "{index}");
        }
    }
}

/// Phantoms, which the paper lets in: a call counts a range twice, the second time when it has
/// heard from afar, while rows come to the range and go. It counts the same.
#[test]
fn rows_do_not_come_to_a_range_that_a_call_has_counted() {
    let (db, session) = open(&[], "hash");
    let definitions = [
        "CREATE FUNCTION count_twice(f bigint, a bigint) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE x bigint; v bigint; y bigint; BEGIN
             SELECT count(*) INTO x FROM entry WHERE family = f;
             SELECT n INTO v FROM far WHERE id = a;
             SELECT count(*) INTO y FROM entry WHERE family = f AND id >= v;
             RETURN y - x;
         END $$",
        "CREATE FUNCTION come(f bigint, at bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO entry VALUES (f, at);
         END $$",
        "CREATE FUNCTION go(f bigint, at bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             DELETE FROM entry WHERE family = f AND id = at;
         END $$",
    ];
    for definition in definitions {
        session.execute(definition).expect("it is legal");
    }
    let ends = AtomicBool::new(false);
    let changes = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|client| {
                let (db, ends) = (&db, &ends);
                scope.spawn(move || {
                    let session = db.session();
                    let mut count = 0_i64;
                    while !ends.load(Ordering::Relaxed) {
                        let (name, at) = (["come", "go"][count as usize % 2], OTHERS * client);
                        session.call(name, (count / 2 % 3, at)).expect("nothing is wrong");
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        for count in 0..120 {
            let counted = session.call("count_twice", (count % 3, count / 3 % ROWS));
            let counted = counted.expect("nothing is wrong with it");
            let difference = counted.iter().next().expect("one row")[0].clone();
            assert_eq!(difference, Value::BigInt(0), "count {count}");
        }
        ends.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().expect("it ends")).sum::<i64>()
    });
    assert!(changes > 40, "{changes} came meanwhile");
}
