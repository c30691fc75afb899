use std::sync::Arc;
use std::time::{Duration, Instant};

use hotrow_base::interrupt::{Interrupt, current};

use super::*;

/// A pattern as the library has it.
fn library(pattern: &str) -> String {
    let tree = Tree::read(pattern, Flags::default()).expect("it is one");
    let mut written = String::new();
    tree.write(tree.top(), Grouped::Yes, &mut written);
    written
}

/// Both ways on texts of all kinds: I1.
#[test]
fn a_long_text_is_searched_as_a_short_one_is() {
    let patterns = [
        "x",
        "xx*",
        "x|xy",
        "xy|x",
        "(x|y)+z",
        "",
        "y*",
        "^",
        "$",
        "^x",
        "z$",
        "\\mx",
        "x\\M",
        "\\y",
        "\\Y",
        "(x)(y?)",
        "[^x]",
        ".",
        "(?n).",
        "é+",
        "\\w+",
        "x{2,3}",
        "(a*)*b",
        "y+?",
        "(x|xy)(y|yx)*",
        "(x(y)?)+",
        "(y??)(x+)",
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
        let mut at_once = Pattern::new(pattern, Flags::default(), "").expect("it is one");
        let mut steps = Pattern::new(pattern, Flags::default(), "").expect("it is one");
        steps.steps = Steps::new(&library(pattern), false).map(Box::new);
        assert!(steps.steps.is_some());
        for text in texts {
            let found = |of: &mut Pattern| of.is_in(text).expect("nobody interrupts");
            assert_eq!(found(&mut at_once), found(&mut steps), "{pattern} in {text}");
            for (new, most) in [("-", Some(1)), ("-", None), ("<\\1\\&$>", None), ("", Some(2))] {
                let made =
                    |of: &mut Pattern| of.replaced(text, new, (0, most)).expect("it is short");
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
    let mut pattern =
        Pattern::new("(a|b)*a((a|b){200}){20}c", Flags::default(), &text).expect("it is one");
    let began = Instant::now();
    interrupt.cancel();
    let stopped = pattern.is_in(&text).expect_err("it was cancelled");
    assert_eq!(&stopped.sqlstate, b"57014");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

/// What PostgreSQL 15 says of these: the longest or shortest match, and its groups.
#[test]
fn matches_and_groups_are_those_of_postgresql() {
    for (pattern, text, expected) in [
        ("foo|foobar", "a foobar", "foobar"),
        ("(a|ab)(c|bcd)(d*)", "abcd", "abcd:ab:c:d"),
        ("Y*([0-9]{1,3})", "XY1234Z", "Y123:123"),
        ("Y*?([0-9]{1,3})", "XY1234Z", "Y1:1"),
        ("(?:(.*?)(\\d+)(.*)){1,1}", "abc01234xyz", "abc01234xyz:abc:01234:xyz"),
        ("(.*)(\\d+)(.*)", "abc01234xyz", "abc01234xyz:abc0123:4:xyz"),
        ("(a|b)*c", "xababc", "ababc:b"),
        ("(a(b)?)+", "aba", "aba:a:-"),
        ("(x*)*", "b", ":-"),
        ("a{0,1}(ab)?", "ab", "ab:ab"),
        ("(?i)(B|bc)D", "xBCd", "BCd:BC"),
        ("[[:<:]]b+[[:>:]]", "ab bb", "bb"),
    ] {
        let mut it = Pattern::new(pattern, Flags::default(), text).expect("it is one");
        let found = it.find(text, 0).expect("nobody interrupts").expect("it is there");
        let groups = it.groups_of(text, &found).expect("nobody interrupts");
        let shown = |group: Option<Range<usize>>| group.map_or("-", |range| &text[range]);
        let groups: Vec<_> = groups.into_iter().map(shown).collect();
        assert_eq!(groups.join(":"), expected, "{pattern} in {text}");
    }
}

#[test]
fn what_is_no_pattern_is_told() {
    for (pattern, expected) in [
        ("a**", "2201B quantifier operand invalid"),
        ("(a", "2201B parentheses () not balanced"),
        ("a)", "2201B parentheses () not balanced"),
        ("[a", "2201B brackets [] not balanced"),
        ("[[:no:]]", "2201B invalid character class"),
        ("[b-a]", "2201B invalid character range"),
        ("a{2,1}", "2201B invalid repetition count(s)"),
        ("a{256}", "2201B invalid repetition count(s)"),
        ("a{1", "2201B braces {} not balanced"),
        ("\\q", "2201B invalid escape \\ sequence"),
        ("\\1", "2201B invalid backreference number"),
        ("(?z)", "2201B invalid embedded option"),
        ("(a)\\1", "0A000 a regular expression with a back reference, \\1, is not supported"),
        ("((((a{255}){255}){255}){255}){255}", "2201B regular expression is too complex"),
    ] {
        let error = Pattern::new(pattern, Flags::default(), "").err().expect("it is none");
        let code = String::from_utf8_lossy(&error.sqlstate).into_owned();
        let reason = error.message.trim_start_matches("invalid regular expression: ");
        assert_eq!(format!("{code} {reason}"), expected, "{pattern}");
    }
    let deep = "(".repeat(100_000);
    assert!(Pattern::new(&deep, Flags::default(), "").is_err());
}
