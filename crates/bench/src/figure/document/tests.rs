//! The document says what table and records say.

use super::super::report::{Panel, Point};
use super::super::{Evidence, EvidenceByFigure, PageHead, figures, write_page};
use super::*;
use crate::figure::parse;

const DOCUMENT: &str = include_str!("../../../../../docs/figures.md");
const RECORDS: &str = include_str!("../../../../../docs/figures-verdicts.json");

const SIMULATED_RECORDS: &str = include_str!("../../../../../docs/figures-verdicts-virtual.json");

#[test]
fn the_document_is_what_table_and_records_make_it() {
    let read = |text| Records::read(text).expect("the file of records is right");
    let records = RecordsByCores { real: read(RECORDS), simulated: read(SIMULATED_RECORDS) };
    let written = document(DOCUMENT, &figures(), &records).expect("the document has its marks");
    let same = written == DOCUMENT;
    assert!(same, "write it anew: hotrow bench figure --document docs/figures.md");
    assert_eq!(records.real.write().expect("it is text"), RECORDS);
    assert_eq!(records.simulated.write().expect("it is text"), SIMULATED_RECORDS);
}

fn made_up() -> (Vec<Figure>, Record) {
    let entry =
        "[[figure.expect]]\nsays = \"A | first\"\nkind = \"order\"\nseries = [\"A\", \"B\"]";
    let more = "[[figure.expect]]\nsays = \"later\"\nbecause = \"no charts\"";
    let text = format!("{}\n{entry}\n{more}", super::super::tests::MADE_UP);
    let figures = parse(&text).expect("it is right");
    let figure = &figures[0];
    let point = |series: &str, value: f64| Point {
        x: "1".to_owned(),
        series: series.to_owned(),
        runs: Vec::new(),
        measured: vec![value; 5],
    };
    let points = vec![point("A", 3.0), point("B", 2.0)];
    let mut report = FigureReport::new(figure, vec![Panel { threads: Some(2), points }]);
    let claims = claims(figure).expect("they were checked");
    report.judge(&claims, 2).expect("all points are there");
    let record = Record::new(&report, "abc1234", "--repeat 5");
    (figures, record)
}

#[test]
fn verdicts_stand_in_the_document_with_what_was_measured() {
    let (figures, record) = made_up();
    let text = format!("before\n{BEGIN}\nold\n{END}\nbehind\n");
    let mut records = RecordsByCores::default();
    let unrun = document(&text, &figures, &records).expect("it has marks");
    assert!(unrun.starts_with("before\n") && unrun.ends_with("\nbehind\n"));
    assert!(!unrun.contains("old") && unrun.contains("0 on real cores, 0 on virtual"), "{unrun}");
    assert!(
        unrun.contains("| A \\| first | txn/s: A > B | not yet run | not yet run |"),
        "{unrun}"
    );
    let declared = "**not to be seen here**: no charts";
    assert!(unrun.contains(&format!("| later | not checked | {declared} | {declared} |")));

    let real = &mut records.real;
    real.keep(Record { commit: "older".to_owned(), ..record.clone() });
    real.keep(record.clone());
    assert_eq!(real.records.len(), 1, "the newest of a figure");
    let read = Records::read(&real.write().expect("it is text")).expect("it was written");
    assert_eq!(read, *real);
    let run = document(&unrun, &figures, &records).expect("it has marks");
    let told = "**shown**; A / B, hot = 1, 2 threads: 1.5 (1.5 to 1.5), wanted at least 1; holds";
    assert!(run.contains(told), "{run}");
    let how = "On 2 real cores, at commit abc1234, 5 repeats:\n\n    \
               hotrow bench figure made-up --repeat 5\n";
    assert!(run.contains(how) && run.contains("On virtual cores: not yet run"), "{run}");
    records.simulated.keep(record);
    let both = document(&run, &figures, &records).expect("it has marks");
    assert_eq!(both.matches(told).count(), 2, "on cores of both kinds: {both}");
    assert_eq!(document(&both, &figures, &records).expect("it has marks"), both);
}

#[test]
fn a_record_of_other_claims_and_a_document_without_marks_are_refused() {
    let (figures, record) = made_up();
    let text = format!("{BEGIN}\n{END}\n");
    let refused = |text: &str, record: Record| {
        let simulated = Records { records: vec![record] };
        let records = RecordsByCores { simulated, ..RecordsByCores::default() };
        document(text, &figures, &records).expect_err("it is wrong").to_string()
    };
    let mut changed = record.clone();
    changed.claims[0].check = "txn/s: B > A".to_owned();
    let told = refused(&text, changed);
    assert!(told.contains("figure made-up: ") && told.contains("run the figure again"), "{told}");
    let told = refused(&text, Record { figure: "chess-1".to_owned(), ..record.clone() });
    assert!(told.contains("\"chess-1\""), "{told}");
    assert!(refused("nothing", record).contains("the document has no line"));
    let told = Records::read("{ \"records\": [ {} ] }").expect_err("it is empty").to_string();
    assert!(told.contains("missing field"), "{told}");
}

#[test]
fn the_page_has_claims_with_both_verdicts_and_escapes_what_is_written() {
    let (mut figures, record) = made_up();
    figures[0].claim = "more than <half>".to_owned();
    let name = figures[0].name.clone();
    let evidence = |record: &Record| {
        let svg = Some("<svg></svg>".to_owned());
        EvidenceByFigure::from([(
            name.clone(),
            Evidence { record: record.clone(), svg, csv: "a,b\n1,2\n".to_owned() },
        )])
    };
    let head = PageHead {
        commit: "abc1234".to_owned(),
        machine: "2 cores".to_owned(),
        machines: vec![("big".to_owned(), "80 cores".to_owned())],
    };
    let mut other = record.clone();
    other.claims[0].verdict = Verdict::Contrary;
    other.claims[0].reason = Some("lines are dear".to_owned());
    let page = write_page(&figures, &evidence(&record), &evidence(&other), &head).expect("a page");
    for part in [
        "more than &lt;half&gt;",
        "<svg></svg>",
        "a,b\n1,2",
        "<span class=\"verdict shown\">shown</span>",
        "<span class=\"verdict contrary\">contrary</span>: lines are dear",
        "no charts",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}
