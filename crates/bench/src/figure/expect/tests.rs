//! What fits a figure is read, what does not is refused with what to do.

use super::read::KINDS;
use super::*;
use crate::figure::{figures, parse};

/// A figure with one entry of `expect`.
fn with_entry(entry: &str) -> Result<Vec<Claim>, String> {
    let text = format!("{}\n[[figure.expect]]\n{entry}", super::super::tests::MADE_UP);
    let figures = parse(&text).map_err(|error| error.to_string())?;
    claims(&figures[0]).map_err(|error| error.to_string())
}

/// What is said of an entry that does not fit.
fn refused(entry: &str) -> String {
    let entry = format!("says = \"so it is\"\n{entry}");
    let told = with_entry(&entry).expect_err(&entry);
    let place = "figure made-up, expect entry 1 (\"so it is\"): ";
    told.strip_prefix(place).unwrap_or_else(|| panic!("{told}")).to_owned()
}

fn check(entry: &str, words: &str) {
    let claims = with_entry(&format!("says = \"so it is\"\n{entry}"));
    assert_eq!(claims.expect(entry)[0].to_string(), words, "{entry}");
}

#[test]
fn every_kind_is_read_and_told_in_words() {
    check(
        "kind = \"order\"\nseries = [\"A\", [\"B\", \"C\"]]\ntolerance = 0.05\nat = [4, 1]",
        "txn/s: A > B, C (less 5 %); at 4, 1",
    );
    check(
        "kind = \"ratio\"\nof = { series = \"A\" }\nto = { series = \"B\" }\nnear = 2\n\
         tolerance = 0.25\nthreads = [80]\nneeds_cores = 80",
        "txn/s: A / B: 1.5 to 2.5; 80 threads; from 80 cores on",
    );
    check(
        "kind = \"ratio\"\nof = { series = \"A\", x = 8, threads = 2 }\n\
         to = { x = 1, threads = 1 }\nat_most = 3",
        "txn/s: A at 8 with 2 threads / itself at 1 with 1 thread: at most 3",
    );
    check(
        "kind = \"value\"\nmetric = \"undone\"\nplus = [\"txn/s\"]\nseries = [\"A\"]\nat_most = 0",
        "undone + txn/s: A: at most 0",
    );
    check(
        "kind = \"flat\"\nseries = [\"A\"]\ntolerance = 0.1\nat_most_cores = 4",
        "txn/s: A flat within 10 %; up to 4 cores",
    );
    check("kind = \"falls\"\nseries = [\"A\"]\nfactor = 2", "txn/s: A falls 2 times");
    check(
        "kind = \"rises\"\nseries = [\"A\"]\nmonotone_within = 0.1",
        "txn/s: A rises, no step back by more than 10 %",
    );
    check(
        "kind = \"knee\"\nseries = [\"A\"]\nbetween = [2, 4]\nbefore = \"falls\"",
        "txn/s: A falls up to a knee between 2 and 4",
    );
    check("because = \"no charts are compared\"", "not checked");
}

#[test]
fn an_entry_that_does_not_fit_is_refused_with_what_to_do() {
    let order = |more: &str| refused(&format!("kind = \"order\"\n{more}"));
    let told = order("series = [\"A\", \"D\"]");
    assert_eq!(told, "there is no series \"D\"; the figure has \"A\", \"B\", \"C\"");
    let told = order("series = [\"A\", \"B\"]\nat = [3]");
    assert_eq!(told, "x is never 3; its values are 1, 2, 4, 8");
    assert!(order("series = [\"A\"]").contains("two series or more"));
    assert!(order("series = [\"A\", [\"B\", \"A\"]]").contains("\"A\" stands twice"));
    let told = order("series = [\"A\", \"B\"]\nthreads = [3]");
    assert!(told.contains("with 3 threads, but with 1, 2; name one of these"), "{told}");
    let told = order("series = [\"A\", \"B\"]\nmetric = \"waits\"");
    assert_eq!(told, "the figure does not show \"waits\"; add it to its `show`");
    let told = order("series = [\"A\", \"B\"]\nfactor = 2");
    assert!(told.contains("kind \"order\" has no `factor`; remove it"), "{told}");
    assert!(order("series = [\"A\", \"B\"]\ntolerance = 5").contains("write a share from 0"));
    assert!(order("series = [\"A\", \"B\"]\nneeds_cores = 0").contains("write 1 or more"));
    let told = order("series = [\"A\", \"B\"]\nneeds_cores = 4\nat_most_cores = 2");
    assert!(told.contains("no machine has both"), "{told}");

    let places = "of = { series = \"A\" }\nto = { series = \"B\" }";
    let ratio = |more: &str| refused(&format!("kind = \"ratio\"\n{places}\n{more}"));
    assert!(ratio("").contains("both bounds are missing; write `at_least`, `at_most` or `near`"));
    assert!(ratio("near = 2").contains("`near` needs a `tolerance`"));
    assert!(ratio("near = 2\ntolerance = 0.1\nat_most = 3").contains("remove one"));
    assert!(ratio("at_least = 2\nat_most = 1").contains("exchange them"));
    assert!(ratio("at_least = 2\ntolerance = 0.1").contains("`tolerance` belongs to `near`"));
    assert!(ratio("at_least = -2").contains("`at_least` is no number from 0 on"));
    assert!(refused("kind = \"ratio\"\nat_least = 2").contains("needs `of` and `to`"));
    let told = refused("kind = \"ratio\"\nof = { series = \"A\" }\nto = {}\nat_least = 2");
    assert!(told.contains("are the same place"), "{told}");
    let told = refused("kind = \"ratio\"\nof = { series = \"A\", x = 3 }\nto = {}\nat_least = 2");
    assert!(told.contains("x is never 3"), "{told}");

    assert!(refused("kind = \"flat\"\nseries = [\"A\"]").contains("`tolerance` is missing"));
    assert!(refused("kind = \"falls\"").contains("`series` is missing"));
    let told = refused("kind = \"falls\"\nseries = [\"A\"]\nat = [1]");
    assert!(told.contains("two values of x or more"), "{told}");
    let told = refused("kind = \"rises\"\nseries = [\"A\"]\nfactor = 0.5");
    assert!(told.contains("`factor` is 0.5; write a number from 1 on"), "{told}");

    let knee = |more: &str| refused(&format!("kind = \"knee\"\nseries = [\"A\"]\n{more}"));
    assert!(knee("").contains("`between` is missing"));
    assert!(knee("between = [4, 2]").contains("not ascending"));
    assert!(knee("between = [1, 4]").contains("there are 1 before and 2 behind it"));

    let told = refused("kind = \"chess\"");
    assert_eq!(told, format!("there is no kind \"chess\"; write one of {KINDS}"));
    assert!(refused("").contains("`kind` is missing; write one of order"));
    assert!(refused("kind = \"order\"\ncolour = 3").contains("`colour` is no field of an entry"));
    let told = with_entry("kind = \"order\"").expect_err("it says nothing");
    assert!(told.contains("`says` is missing; quote the claim"), "{told}");
}

#[test]
fn threads_that_no_figure_has_by_itself_need_a_machine_that_has_them() {
    let entry = "says = \"so\"\nkind = \"falls\"\nseries = [\"A\"]\nat = [2, 40]";
    let by_threads = |entry: &str| {
        let axis = "x = { by = \"threads\", label = \"threads\", values = [1, 2] }";
        let text = super::super::tests::MADE_UP
            .replace("x = { by = \"set.hot\", label = \"hot\", values = [1, 2, 4, 8] }", axis)
            .replace("threads = [1, 2]\n", "");
        let text = format!("{text}\n[[figure.expect]]\n{entry}");
        parse(&text).map(drop).map_err(|error| error.to_string())
    };
    let told = by_threads(entry).expect_err("2 threads are the most");
    assert!(told.contains("x is never 40; its values are 1, 2"), "{told}");
    by_threads(&format!("{entry}\nneeds_cores = 80")).expect("--threads 2,40 runs it");
    let told = by_threads(&format!("{entry}\nneeds_cores = 80\nthreads = [2]"));
    let told = told.expect_err("threads are x");
    assert!(told.contains("x is the number of threads; name it in `at`"), "{told}");
}

#[test]
fn all_figures_have_claims_that_fit_and_no_two_alike() {
    for figure in figures() {
        let claims = claims(&figure).expect("they were checked when they were read");
        // What predictions are held against is no paper's.
        let is_beside = figure.source == crate::figure::prediction::BESIDE;
        assert!(!claims.is_empty() || is_beside, "{} has no claim", figure.name);
        for (at, claim) in claims.iter().enumerate() {
            let is_same =
                |other: &Claim| other.says == claim.says && other.to_string() == claim.to_string();
            assert!(!claims[..at].iter().any(is_same), "{}: {claim} twice", figure.name);
        }
        assert!(!figure.look.is_empty(), "{}", figure.name);
    }
}
