//! Fuzzed SQL: statements of a corpus, cut and joined by tokens, parsed and compiled.
//!
//! Whatever the text is, it is compiled or refused: no panic, no overflow of the stack that a
//! connection's thread has, and no case takes long. A failure names its seed:
//!
//! ```text
//! HOTROW_FUZZ_SEED=17 HOTROW_FUZZ_CASES=1 cargo test -p hotrow-sql --test suite fuzz # that case
//! HOTROW_FUZZ_SECONDS=600 cargo test -p hotrow-sql --test suite fuzz # a long run
//! HOTROW_FUZZ_TRACE=1 ... -- --nocapture     # tells each seed before: an overflow tells none
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::database::Database;
use crate::mutation::{Corpus, Random};
use hotrow_base::types::SqlType;
use hotrow_sql::{compile_with_parameters, parse_script};

/// What runs in CI.
const CASES: u64 = 30_000;
/// A case that takes longer has hung.
const CASE_TIME_MAX: Duration = Duration::from_secs(20);
/// The stack of a thread that is started without saying otherwise, as those of connections are.
const STACK_BYTES: usize = 2 << 20;
/// Cases change the catalog; after so many it is made anew.
const CASES_PER_CATALOG: u64 = 200;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Parses and compiles a text, with parameters and without.
fn compile_all(schema: &mut Database, text: &str) -> bool {
    let Ok(statements) = parse_script(text) else { return false };
    for statement in &statements {
        let types: [Option<SqlType>; 2] = [None, None];
        let _ = compile_with_parameters(&schema.catalog, &schema.procedures, statement, &types);
    }
    schema.try_run(text).is_ok()
}

#[test]
fn fuzzed_text_is_compiled_or_refused() {
    let first = setting("HOTROW_FUZZ_SEED").unwrap_or(1);
    let cases = setting("HOTROW_FUZZ_CASES").unwrap_or(CASES);
    let until = setting("HOTROW_FUZZ_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let goes_on = move |done: u64| match until {
        Some(until) => Instant::now() < until,
        None => done < cases,
    };
    let tells_each = setting("HOTROW_FUZZ_TRACE").is_some();
    let (tell, told) = channel();
    let run = move || {
        let corpus = Corpus::own();
        let mut schema = Database::default();
        let (mut done, mut compiled) = (0, 0_u64);
        while goes_on(done) {
            if done.is_multiple_of(CASES_PER_CATALOG) {
                schema = Database::with(crate::mutation::SCHEMA);
            }
            let seed = first + done;
            let text = corpus.case(&mut Random::of(seed));
            if tells_each {
                eprintln!("seed {seed}: {text}");
            }
            tell.send((seed, text.clone())).expect("somebody listens");
            let outcome = catch_unwind(AssertUnwindSafe(|| compile_all(&mut schema, &text)));
            compiled += u64::from(outcome.unwrap_or_else(|_| panic!("seed {seed}: {text}")));
            done += 1;
        }
        (done, compiled)
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    let thread = thread.expect("there is room for a thread");
    let mut last = None;
    loop {
        match told.recv_timeout(CASE_TIME_MAX) {
            Ok(case) => last = Some(case),
            Err(RecvTimeoutError::Timeout) => panic!("takes too long: {last:?}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let (done, compiled) = thread.join().expect("no case panics");
    eprintln!("{done} cases, {compiled} of them compiled");
    assert!(cases == 1 || compiled * 50 > done, "the mutations leave nothing intact: {compiled}");
}
