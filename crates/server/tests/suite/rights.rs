//! Two users of one server, each with the rights that he was granted.

use hotrow_server::ServerOptions;
use postgres::{Client, Error, NoTls};

use crate::running::Running;

fn connect(server: &Running, user: &str, password: &str) -> Result<Client, Error> {
    let mut config = Client::configure();
    config.host("127.0.0.1").port(server.address.port()).user(user).password(password);
    config.connect(NoTls)
}

fn told(result: Result<impl Sized, Error>) -> String {
    match result {
        Ok(_) => "done".to_owned(),
        Err(error) => match error.as_db_error() {
            Some(error) => format!("{} {}", error.code().code(), error.message()),
            None => error.to_string(),
        },
    }
}

#[test]
fn what_one_user_may_another_may_not() {
    let server = Running::start(ServerOptions::default());
    let mut boss = server.client();
    boss.batch_execute(
        "CREATE USER boss SUPERUSER PASSWORD 'b'; CREATE USER ann PASSWORD 'a' CONNECTION LIMIT 2;
         CREATE USER bob PASSWORD 'c'; CREATE ROLE group_of_all PASSWORD 'd';
         CREATE USER past PASSWORD 'p' VALID UNTIL '2001-01-01';
         CREATE TABLE item (id bigint PRIMARY KEY, stock bigint NOT NULL);
         INSERT INTO item VALUES (1, 5);
         CREATE FUNCTION sell(i bigint) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE left_over bigint; BEGIN
           UPDATE item SET stock = stock - 1 WHERE id = i RETURNING stock INTO left_over;
           RETURN left_over; END $$;
         GRANT SELECT, UPDATE ON item TO ann",
    )
    .expect("they are new");
    let mut ann = connect(&server, "ann", "a").expect("she is let in");
    let mut bob = connect(&server, "bob", "c").expect("he is let in");
    let denied = "42501 permission denied for table item";
    // Texts, prepared statements and calls; what one has prepared is not the other one's.
    for _ in 0..3 {
        let sold = ann.query_one("SELECT sell($1)", &[&1_i64]).expect("she may");
        assert!(sold.get::<_, i64>(0) < 5);
        assert_eq!(told(bob.query_one("SELECT sell($1)", &[&1_i64])), denied);
        ann.query_one("SELECT stock FROM item WHERE id = $1", &[&1_i64]).expect("she may");
        assert_eq!(told(bob.query("SELECT stock FROM item WHERE id = $1", &[&1_i64])), denied);
        assert_eq!(told(bob.simple_query("SELECT stock FROM item")), denied);
    }
    assert_eq!(told(ann.batch_execute("DELETE FROM item")), denied);
    assert_eq!(told(ann.batch_execute("DROP TABLE item")), "42501 must be owner of table item");
    assert_eq!(told(bob.copy_out("COPY item TO STDOUT")), denied);
    let reading = bob.prepare("SELECT stock FROM item").expect("nothing is read yet");
    assert_eq!(told(bob.query(&reading, &[])), denied);
    boss.batch_execute("GRANT SELECT ON item TO bob; REVOKE UPDATE ON item FROM ann").expect("may");
    assert_eq!(bob.query(&reading, &[]).expect("he may now").len(), 1);
    assert_eq!(told(ann.query_one("SELECT sell($1)", &[&1_i64])), denied);
    // Who gets in at all.
    let second = connect(&server, "ann", "a").expect("two are allowed");
    let third = connect(&server, "ann", "a").map(drop);
    assert_eq!(told(third), "53300 too many connections for role \"ann\"");
    drop(second);
    let group = connect(&server, "group_of_all", "d").map(drop);
    assert_eq!(told(group), "28000 role \"group_of_all\" is not permitted to log in");
    let past = connect(&server, "past", "p").map(drop);
    assert_eq!(told(past), "28P01 password authentication failed for user \"past\"");
    // Whom somebody may interrupt.
    let pid = |client: &mut Client| -> i32 {
        client.query_one("SELECT pg_backend_pid()", &[]).expect("it is right").get(0)
    };
    let of_ann = pid(&mut ann);
    assert!(told(bob.query("SELECT pg_terminate_backend($1)", &[&of_ann])).starts_with("42501"));
    boss.query("SELECT pg_terminate_backend($1)", &[&of_ann]).expect("a superuser may");
    // Her session ends when it hears of it, which may be behind a statement.
    let is_gone = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        ann.simple_query("SELECT 1").is_err()
    });
    assert!(is_gone, "she is gone");
}

/// `pg_stat_activity`: who does what, and since when, told to who may interrupt it.
#[test]
fn sessions_are_seen_by_who_may_interrupt_them() {
    let server = Running::start(ServerOptions::default());
    let mut boss = server.client();
    boss.batch_execute(
        "CREATE USER boss SUPERUSER PASSWORD 'b'; CREATE USER ann PASSWORD 'a';
         CREATE USER bob PASSWORD 'c'; CREATE TABLE item (id bigint PRIMARY KEY)",
    )
    .expect("they are new");
    let mut ann = connect(&server, "ann", "a").expect("she is let in");
    let mut bob = connect(&server, "bob", "c").expect("he is let in");
    let pid = ann.query_one("SELECT pg_backend_pid()", &[]).expect("it is right").get::<_, i32>(0);
    let seen = |client: &mut Client| -> (Option<String>, String) {
        let of_ann = "SELECT state, query FROM pg_stat_activity WHERE pid = $1";
        let row = client.query_one(of_ann, &[&pid]).expect("she is there");
        (row.get(0), row.get(1))
    };
    let idle = ("idle".to_owned(), "SELECT pg_backend_pid()".to_owned());
    assert_eq!(seen(&mut boss), (Some(idle.0.clone()), idle.1));
    assert_eq!(seen(&mut bob), (None, "<insufficient privilege>".to_owned()));
    let sleeping = "SELECT pg_sleep(60)";
    let sleeper = std::thread::spawn(move || {
        let told = told(ann.query_one(sleeping, &[]));
        (ann, told)
    });
    let is_seen = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        seen(&mut boss) == (Some("active".to_owned()), sleeping.to_owned())
    });
    assert!(is_seen, "her statement runs");
    let times = "SELECT backend_start <= xact_start AND xact_start <= query_start
                   AND query_start <= state_change AND state_change <= now(),
                        usename || ' ' || backend_type
                 FROM pg_stat_activity WHERE pid = $1";
    let row = boss.query_one(times, &[&pid]).expect("she is there");
    assert!(row.get::<_, bool>(0));
    assert_eq!(row.get::<_, &str>(1), "ann client backend");
    boss.query("SELECT pg_cancel_backend($1)", &[&pid]).expect("he may");
    let (mut ann, told) = sleeper.join().expect("no panic");
    assert!(told.starts_with("57014"), "{told}");
    ann.batch_execute("BEGIN").expect("it begins");
    assert_eq!(seen(&mut boss).0.as_deref(), Some("idle in transaction"));
    ann.batch_execute("SELECT nothing").expect_err("there is no such column");
    assert_eq!(seen(&mut boss).0.as_deref(), Some("idle in transaction (aborted)"));
    ann.batch_execute("ROLLBACK; ALTER USER ann PASSWORD 'not to be seen'").expect("she may");
    let (state, query) = seen(&mut boss);
    assert_eq!(state.as_deref(), Some("idle"));
    assert_eq!(query, "ALTER ROLE \"ann\" PASSWORD '********'");
    let named = |client: &mut Client, sql: &str| -> Option<String> {
        client.batch_execute(sql).expect("it is right");
        let of_client =
            "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        client.query_one(of_client, &[]).expect("it is there").get(0)
    };
    assert_eq!(named(&mut ann, "").as_deref(), Some(""));
    assert_eq!(named(&mut ann, "SET application_name = 'shop'").as_deref(), Some("shop"));
    let local = "BEGIN; SET LOCAL application_name = 'till'";
    assert_eq!(named(&mut ann, local).as_deref(), Some("till"));
    assert_eq!(named(&mut ann, "ROLLBACK").as_deref(), Some("shop"));
    let of_ann = "SELECT application_name FROM pg_stat_activity WHERE pid = $1";
    let to_bob = bob.query_one(of_ann, &[&pid]).expect("she is there");
    assert_eq!(to_bob.get::<_, &str>(0), "shop", "all see that");
    let own = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_stat_activity%'";
    assert_eq!(bob.query_one(own, &[]).expect("it is right").get::<_, i64>(0), 1);
}
