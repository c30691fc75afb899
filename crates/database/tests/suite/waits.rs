//! Who waits for whom is told by the names that people gave.

use std::time::Duration;

use hotrow::{Config, Database, Error};

#[test]
fn a_wait_is_told_with_its_key_and_both_parties() -> Result<(), Error> {
    for ranges in ["granules", "orthogonal"] {
        let config =
            Config::default().threads(1).engine("two_phase_locking").setting("ranges", ranges);
        let db = Database::open_in_memory(config)?;
        let session = db.session();
        session.execute(
            "CREATE TABLE counter (id bigint PRIMARY KEY, n bigint NOT NULL);
             INSERT INTO counter VALUES (7, 0), (8, 0);
             CREATE PROCEDURE bump(which bigint) AS $$
             BEGIN UPDATE counter SET n = n + 1 WHERE id = which; END $$ LANGUAGE plpgsql;",
        )?;
        assert_eq!(db.waits(10), []);
        session.execute("BEGIN; UPDATE counter SET n = 5 WHERE id = 7")?;
        std::thread::scope(|scope| {
            let caller = db.session();
            let call = scope.spawn(move || caller.call("bump", (7_i64,)).map(|_| ()));
            std::thread::sleep(Duration::from_millis(30)); // time for the call to begin to wait
            session.execute("COMMIT")?;
            call.join().expect("the call ends")
        })?;
        let waits = db.waits(10);
        assert_eq!(waits.len(), 1, "{waits:?}");
        let wait = &waits[0];
        assert_eq!((wait.table.as_str(), wait.key.as_str()), ("counter", "id=7"), "{ranges}");
        assert_eq!((wait.waiter.as_str(), wait.holder.as_str()), ("bump", "a session"));
        assert!(wait.count == 1 && wait.longest == wait.total, "{wait}");
        assert!(wait.to_string().starts_with("counter (id=7): bump for a session, 1 times, "));
    }
    Ok(())
}
