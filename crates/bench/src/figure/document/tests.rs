//! The document says what table and records say.

use super::super::figures;
use super::super::report::{Panel, Point};
use super::*;
use crate::figure::parse;

const DOCUMENT: &str = include_str!("../../../../../docs/figures.md");
const RECORDS: &str = include_str!("../../../../../docs/figures-verdicts.json");

#[test]
fn the_document_is_what_table_and_records_make_it() {
    let records = Records::read(RECORDS).expect("the file of records is right");
    let written = document(DOCUMENT, &figures(), &records).expect("the document has its marks");
    let same = written == DOCUMENT;
    assert!(same, "write it anew: hotrow bench figure --document docs/figures.md");
    assert_eq!(records.write().expect("it is text"), RECORDS);
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
    let mut records = Records::default();
    let unrun = document(&text, &figures, &records).expect("it has marks");
    assert!(unrun.starts_with("before\n") && unrun.ends_with("\nbehind\n"));
    assert!(!unrun.contains("old") && unrun.contains("0 of 1 figures have been run"), "{unrun}");
    assert!(unrun.contains("| A \\| first | txn/s: A > B | not yet run |"), "{unrun}");
    assert!(unrun.contains("| later | not checked | **not to be seen here**: no charts |"));

    records.keep(Record { commit: "older".to_owned(), ..record.clone() });
    records.keep(record);
    assert_eq!(records.records.len(), 1, "the newest of a figure");
    let read = Records::read(&records.write().expect("it is text")).expect("it was written");
    assert_eq!(read, records);
    let run = document(&unrun, &figures, &records).expect("it has marks");
    let told = "**shown**; A / B, hot = 1, 2 threads: 1.5 (1.5 to 1.5), wanted at least 1; holds";
    assert!(run.contains(told), "{run}");
    let how = "Run at commit abc1234 on 2 cores, 5 repeats:\n\n    \
               hotrow bench figure made-up --repeat 5\n";
    assert!(run.contains(how), "{run}");
    assert_eq!(document(&run, &figures, &records).expect("it has marks"), run);
}

#[test]
fn a_record_of_other_claims_and_a_document_without_marks_are_refused() {
    let (figures, record) = made_up();
    let text = format!("{BEGIN}\n{END}\n");
    let refused = |text: &str, record: Record| {
        let records = Records { records: vec![record] };
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
