//! What nests, chains and doubles: worked, or refused with 54001 and what to do. On a thread with
//! a small stack, as an embedder's may be.

#[path = "../../../../tests/torture/stack.rs"]
mod torture;

use hotrow::{Config, Database, Error};

/// Smaller than what any walk over a tree may take; bigger than what the engine takes beside it.
const STACK_BYTES: usize = 256 << 10;

fn on_small_stack(body: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, body).expect("there is room for a thread");
        thread.join().expect("it ends by itself");
    });
}

fn open() -> Database {
    Database::open_in_memory(Config::default().threads(2)).expect("it opens")
}

#[test]
fn depth_is_an_error_and_never_a_signal() {
    let db = open();
    db.session().execute(torture::SETUP).expect("tables are made");
    for case in torture::cases() {
        on_small_stack(|| {
            let session = db.session();
            // Some give more rows than anybody waits for; the others end, also on a busy machine.
            let seconds = if case.codes.contains(&"57014") { 3 } else { 60 };
            let limit = format!("SET statement_timeout = '{seconds}s'");
            session.execute(&limit).expect("it is set");
            for text in &case.statements {
                let Err(error) = session.execute(text) else { continue };
                let code = error.sqlstate().unwrap_or_default().to_owned();
                assert!(case.codes.contains(&code.as_str()), "{}: {error}", case.name);
                if let Error::Sql(error) = &error
                    && code == "54001"
                {
                    assert!(error.hint.is_some(), "{}: {error} does not say what to do", case.name);
                }
            }
        });
    }
}

/// What was worked before stays so: these are no hostile statements.
#[test]
fn what_is_long_but_not_deep_is_worked() {
    let db = open();
    db.session().execute(torture::SETUP).expect("tables are made");
    on_small_stack(|| {
        let session = db.session();
        for text in torture::worked() {
            let start: String = text.chars().take(80).collect();
            session.execute(&text).unwrap_or_else(|error| panic!("{start}: {error}"));
        }
    });
}
