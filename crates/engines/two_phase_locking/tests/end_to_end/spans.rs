//! Spans: rows with numbers in a small key space, and transactions that count what lies between
//! two numbers, twice, while others put rows in and take them out. Every phantom is a difference
//! between the two counts, or between the run and the same calls one after the other.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_engine::schema::{Memory, Schema};
use hotrow_transaction::catalog::{Catalog, IndexKind};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::program::{Expr, Path, Procedure, RangeEnd};

use crate::Random;
use crate::bank::call;
use crate::build::{Build, bigint, index, prefix, read};

/// Numbers are below this.
pub const NUMBERS: i64 = 60;
const LISTS: i64 = 2;

const PUT: u32 = 0;
const TAKE: u32 = 1;
const COUNT_UP: u32 = 2;
const COUNT_DOWN: u32 = 3;
const LOOK: u32 = 4;
const RENAME: u32 = 5;
const NAMED: u32 = 6;
const CLEAR: u32 = 7;
const COUNT_AND_PUT: u32 = 8;
const LOOK_AND_PUT: u32 = 9;
const COUNT_ALL: u32 = 10;
const LABELLED: u32 = 11;
/// The calls that read a span twice.
pub const COUNTS: [u32; 2] = [COUNT_UP, COUNT_DOWN];

const ROW: TableId = TableId(0);
const ALL: [ColumnId; 4] = [ColumnId(0), ColumnId(1), ColumnId(2), ColumnId(3)];

/// An empty table, for the workers `0..workers`.
pub fn schema(workers: usize) -> Schema {
    let mut catalog = Catalog::default();
    let columns = ["list", "number", "name", "label"].map(bigint).into();
    let key = index("row_pkey", &[0, 1], true, IndexKind::BTree);
    let row = catalog.add_table("row", columns, Some(key)).expect("a legal table");
    assert_eq!(row, ROW);
    let name = index("row_name", &[2], false, IndexKind::BTree);
    let name = catalog.add_index(ROW, name).expect("a legal index");
    let label = index("row_label", &[3], false, IndexKind::Hash);
    let label = catalog.add_index(ROW, label).expect("a legal index");
    let primary = catalog.table(ROW).primary.expect("it has a primary key");
    let mut schema = Schema::empty(Arc::new(Memory::new(workers, 1 << 30)));
    let trees = procedures(primary, name, label).into_iter().map(Some).collect();
    schema.adopt_all(catalog, trees).expect("legal procedures");
    schema
}

/// `list = .. AND number BETWEEN .. AND ..`
fn span(index: IndexId, [list, from, to]: [Expr; 3], descending: bool) -> Path {
    let end = |value, inclusive| Some(RangeEnd { value, inclusive });
    Path::Range {
        index,
        prefix: vec![list],
        lower: end(from, true),
        upper: end(to, descending),
        descending,
    }
}

fn procedures(primary: IndexId, name: IndexId, label: IndexId) -> Vec<Procedure> {
    let mut put = Build::new("put");
    let [list, number, named, rounds] = put.parameters();
    put.insert(ROW, [list, number, named, named].map(read).into());
    put.linger(read(rounds));

    let mut take = Build::new("take");
    let [list, number, rounds] = take.parameters();
    let key = vec![read(list), read(number)];
    take.delete(ROW, Path::Point { index: primary, key });
    take.linger(read(rounds));

    let count = |procedure: &str, descending| {
        let mut count = Build::new(procedure);
        let [list, from, to, rounds] = count.parameters();
        let path = || span(primary, [list, from, to].map(read), descending);
        count.query(ROW, path(), &ALL);
        count.linger(read(rounds));
        count.query(ROW, path(), &ALL);
        count
    };

    let mut look = Build::new("look");
    let [list, number, rounds] = look.parameters();
    let path = || Path::Point { index: primary, key: vec![read(list), read(number)] };
    look.query(ROW, path(), &ALL);
    look.linger(read(rounds));
    look.query(ROW, path(), &ALL);

    let mut rename = Build::new("rename");
    let [list, number, named] = rename.parameters();
    let key = vec![read(list), read(number)];
    rename.set(ROW, Path::Point { index: primary, key }, ColumnId(2), read(named));

    let mut by_name = Build::new("named");
    let [wanted] = by_name.parameters();
    by_name.query(ROW, prefix(name, vec![read(wanted)]), &ALL);

    let mut clear = Build::new("clear");
    let [list, from, to] = clear.parameters();
    clear.delete(ROW, span(primary, [list, from, to].map(read), false));

    let mut count_and_put = Build::new("count_and_put");
    let [list, from, to, rounds, other, number, named] = count_and_put.parameters();
    let path = || span(primary, [list, from, to].map(read), false);
    count_and_put.query(ROW, path(), &ALL);
    // It may come to stand in the span, and others behind it.
    count_and_put.insert(ROW, [other, number, named, named].map(read).into());
    count_and_put.linger(read(rounds));
    count_and_put.query(ROW, path(), &ALL);

    let mut look_and_put = Build::new("look_and_put");
    let [list, looked, number, rounds] = look_and_put.parameters();
    let path = Path::Point { index: primary, key: vec![read(list), read(looked)] };
    look_and_put.query(ROW, path, &ALL);
    look_and_put.linger(read(rounds));
    look_and_put.insert(ROW, [list, number, looked, looked].map(read).into());

    let mut count_all = Build::new("count_all");
    count_all.query(ROW, Path::Whole, &ALL);

    let mut labelled = Build::new("labelled");
    let [wanted] = labelled.parameters();
    labelled.query(ROW, prefix(label, vec![read(wanted)]), &ALL);

    vec![
        put.end(),
        take.end(),
        count("count_up", false).end(),
        count("count_down", true).end(),
        look.end(),
        rename.end(),
        by_name.end(),
        clear.end(),
        count_and_put.end(),
        look_and_put.end(),
        count_all.end(),
        labelled.end(),
    ]
}

/// A call, of all kinds.
pub fn mixed_call(random: &mut Random) -> Invocation {
    let list = random.below(LISTS);
    let (number, from) = (random.below(NUMBERS), random.below(NUMBERS));
    let to = from + random.below(12);
    let (name, rounds) = (random.below(5), random.below(3000));
    match random.below(32) {
        0..=6 => call(PUT, &[list, number, name, rounds]),
        7..=13 => call(TAKE, &[list, number, rounds]),
        14..=16 => call(COUNT_UP, &[list, from, to, rounds]),
        17..=19 => call(COUNT_DOWN, &[list, from, to, rounds]),
        20 | 21 => call(LOOK, &[list, number, rounds]),
        22 | 23 => call(RENAME, &[list, number, name]),
        24 => call(NAMED, &[name]),
        25 => call(CLEAR, &[list, from, to]),
        26..=28 => call(COUNT_AND_PUT, &[list, from, to, rounds, 0, from + random.below(12), name]),
        29 => call(LOOK_AND_PUT, &[list, from, number, rounds]),
        30 => call(LABELLED, &[name]),
        _ => call(COUNT_ALL, &[]),
    }
}

/// All rows.
pub fn everything() -> Invocation {
    call(COUNT_ALL, &[])
}
