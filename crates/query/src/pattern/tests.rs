use std::sync::Arc;
use std::time::{Duration, Instant};

use hotrow_base::interrupt::{Interrupt, current};

use super::*;

/// Both ways on texts of all kinds: I1.
#[test]
fn a_long_text_is_searched_as_a_short_one_is() {
    let patterns = [
        "x", "xx*", "x|xy", "xy|x", "(x|y)+z", "", "y*", "^", "$", "^x", "z$", "\\bx", "x\\b",
        "\\B", "(x)(y?)", "[^x]", ".", "(?s:.)", "é+", "\\w+", "x{2,3}", "(a*)*b", "y+?",
        "nothing",
    ];
    let texts = [
        "",
        "x",
        "y",
        "xy",
        "xxyxyyz",
        "zzz",
        "x y xx yx",
        "éxé",
        "xéé yé",
        "é",
        "x\ny\nx",
        "☃x☃",
        "aaaaab",
        "xyxyxyxyz",
    ];
    for pattern in patterns {
        let mut at_once = Pattern::new(pattern, false, "").expect("it is one");
        let mut steps = Pattern::new(pattern, false, "").expect("it is one");
        steps.steps = Steps::new(pattern, false).map(Box::new);
        assert!(steps.steps.is_some());
        for text in texts {
            let found = |of: &mut Pattern| of.is_in(text).expect("nobody interrupts");
            assert_eq!(found(&mut at_once), found(&mut steps), "{pattern} in {text}");
            for (new, most) in [("-", 1), ("-", usize::MAX), ("<\\1\\&$>", usize::MAX), ("", 2)] {
                let made = |of: &mut Pattern| of.replaced(text, new, most).expect("it is short");
                assert_eq!(made(&mut at_once), made(&mut steps), "{pattern} in {text} by {new}");
            }
        }
    }
}

/// A pattern whose automaton grows with each byte: to the end it would take minutes, and an
/// interrupt is seen within some bytes. The bound only catches what goes on to the end.
#[test]
fn a_search_is_interrupted() {
    let interrupt = Arc::new(Interrupt::default());
    let _running = interrupt.begin();
    let _entered = current::enter(Some(&interrupt));
    let text = "ab".repeat(8 << 20);
    let mut pattern = Pattern::new("(a|b)*a(a|b){4000}c", false, &text).expect("it is one");
    let began = Instant::now();
    interrupt.cancel();
    let stopped = pattern.is_in(&text).expect_err("it was cancelled");
    assert_eq!(&stopped.sqlstate, b"57014");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
