//! Transactions that run one behind the other while none of them is decided.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::{self, KeyBuffer};
use hotrow_base::types::DataType;
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, Reads, RecordAccess};
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::outcome::{Conflict, Stop};

use super::{InPlace, Part, Scratch};
use crate::protection::{Ahead, Alone};
use crate::schema::{Memory, QUIET_WORKER, Schema};

const ROW: TableId = TableId(0);
const UNDECIDED: Result<Inserted, Stop> = Err(Stop::Conflict(Conflict::Undecided));

/// A table with a number, a group in a hash index, and a unique code in a B+-tree.
struct World {
    schema: Schema,
    scratch: Scratch,
    primary: IndexId,
    group: IndexId,
}

impl World {
    fn new() -> Self {
        let mut catalog = Catalog::default();
        let bigint = |name: &str| Column {
            name: name.into(),
            data_type: DataType::BigInt,
            nullable: false,
            default: None,
            draws: None,
            domain: None,
        };
        let index = |name: &str, column, unique, kind| IndexDefinition {
            name: name.into(),
            columns: vec![ColumnId(column)],
            descending: Vec::new(),
            unique,
            kind,
            is_constraint: false,
            deferral: Deferral::Never,
        };
        let columns = ["number", "group", "code"].map(bigint).into();
        let primary = index("primary", 0, true, IndexKind::Hash);
        catalog.add_table("row", columns, Some(primary)).expect("a legal table");
        let group = index("group", 1, false, IndexKind::Hash);
        let group = catalog.add_index(ROW, group).expect("a legal index");
        let code = index("code", 2, true, IndexKind::BTree);
        catalog.add_index(ROW, code).expect("a legal index");
        let primary = catalog.table(ROW).primary.expect("it has one");
        let mut schema = Schema::empty(Arc::new(Memory::new(1, 1 << 26)));
        schema.adopt_all(catalog, Vec::new()).expect("a legal schema");
        Self { schema, scratch: Scratch::new(QUIET_WORKER), primary, group }
    }

    fn key(&self, index: IndexId, value: i64) -> Vec<u8> {
        let mut key = KeyBuffer::new();
        let layout = &self.schema.catalog.index(index).key;
        layout.encode_part(0, Datum::int(value), &[], &mut key).expect("a legal key");
        key.as_slice().to_vec()
    }

    /// Does something as the transaction of a part.
    fn within<R>(
        &mut self,
        part: &mut Part,
        run: impl FnOnce(&mut InPlace<'_, Ahead<Alone>>) -> R,
    ) -> R {
        self.scratch.exchange(part);
        let done = run(&mut InPlace::resume(&self.schema, &mut self.scratch, Ahead(Alone)));
        self.scratch.exchange(part);
        done
    }

    fn commit(&mut self, mut part: Part) {
        self.scratch.exchange(&mut part);
        InPlace::resume(&self.schema, &mut self.scratch, Ahead(Alone)).commit();
    }

    fn undo(&mut self, mut part: Part) {
        self.scratch.exchange(&mut part);
        InPlace::resume(&self.schema, &mut self.scratch, Ahead(Alone)).undo();
    }

    fn insert(&mut self, part: &mut Part, values: [i64; 3]) -> Result<Inserted, Stop> {
        let mut row = Vec::new();
        let layout = &self.schema.catalog.table(ROW).layout;
        layout.build(&values.map(Datum::int), &[], &mut row).expect("a legal row");
        let (index, key) = (self.primary, self.key(self.primary, values[0]));
        let at = at(index, &key);
        self.within(part, |access| access.insert(ROW, &row, Some(&at)))
    }

    /// Changes a column of a row; removes the row, if that is none.
    fn change(&mut self, part: &mut Part, number: i64, change: Option<(u16, i64)>) {
        let (index, key) = (self.primary, self.key(self.primary, number));
        let at = at(index, &key);
        self.within(part, |access| {
            let record = access.find(&at, Intent::Write).expect("nothing fails");
            let record = record.expect("it is there");
            match change {
                None => access.remove(ROW, record).expect("nothing fails"),
                Some((column, value)) => {
                    let changes = [(ColumnId(column), Datum::int(value))];
                    let changed = access.update(ROW, record, &changes, &[]);
                    assert_eq!(changed, Ok(Inserted::Yes));
                }
            }
        });
    }

    fn is_there(&mut self, number: i64) -> bool {
        let (index, key) = (self.primary, self.key(self.primary, number));
        let at = at(index, &key);
        let find =
            |access: &mut InPlace<'_, _>| access.find(&at, Intent::Read).map(|r| r.is_some());
        self.within(&mut Part::default(), find).expect("nothing fails")
    }

    /// How many rows of a group whoever runs now finds.
    fn count(&mut self, group: i64) -> usize {
        let (index, key) = (self.group, self.key(self.group, group));
        let range = RangeAt {
            table: ROW,
            index,
            prefix: &key,
            prefix_parts: 1,
            lower: Bound::Included(&key),
            upper: Bound::Included(&key),
            descending: false,
            reads: Reads::Rows,
            entry: None,
        };
        let mut rows = 0;
        self.within(&mut Part::default(), |access| {
            access.scan(&range, Intent::Read, |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            })
        })
        .expect("nothing fails");
        rows
    }
}

fn at(index: IndexId, key: &[u8]) -> KeyAt<'_> {
    KeyAt { table: ROW, index, key, hash: key::hash(key), reads: Reads::Rows, entry: None }
}

/// A world with two rows of group 1.
fn world() -> World {
    let mut world = World::new();
    let mut part = Part::default();
    for number in [1, 2] {
        assert_eq!(world.insert(&mut part, [number, 1, number]), Ok(Inserted::Yes));
    }
    world.commit(part);
    world
}

#[test]
fn a_row_that_somebody_undecided_moved_away_and_back_is_seen_once() {
    let mut world = world();
    let (mut first, mut second) = (Part::default(), Part::default());
    world.change(&mut first, 1, Some((1, 2)));
    assert_eq!((world.count(1), world.count(2)), (1, 1));
    world.change(&mut first, 1, Some((1, 1)));
    assert_eq!((world.count(1), world.count(2)), (2, 0));
    world.change(&mut second, 2, Some((1, 2)));
    world.change(&mut second, 2, Some((1, 1)));
    world.commit(first);
    assert_eq!(world.count(1), 2);
    world.undo(second);
    assert_eq!((world.count(1), world.count(2)), (2, 0));
}

#[test]
fn nobody_brings_back_what_somebody_undecided_has_removed() {
    let mut world = world();
    let (mut first, mut second) = (Part::default(), Part::default());
    world.change(&mut first, 1, None);
    assert!(!world.is_there(1));
    assert_eq!(world.insert(&mut second, [1, 7, 7]), UNDECIDED, "its record is a ghost");
    world.undo(second);
    let mut second = Part::default();
    assert_eq!(world.insert(&mut second, [3, 7, 1]), UNDECIDED, "its code is a ghost's");
    world.undo(second);
    assert_eq!(world.insert(&mut first, [1, 7, 1]), Ok(Inserted::Yes), "it may itself");
    world.commit(first);
    assert!(world.is_there(1));
    let mut third = Part::default();
    world.change(&mut third, 1, None);
    world.commit(third);
    let mut fourth = Part::default();
    assert_eq!(world.insert(&mut fourth, [1, 8, 1]), Ok(Inserted::Yes), "nobody is undecided");
    world.commit(fourth);
    assert_eq!((world.count(8), world.count(7)), (1, 0));
}

#[test]
fn a_key_that_somebody_undecided_has_left_is_not_taken() {
    let mut world = world();
    let (mut first, mut second) = (Part::default(), Part::default());
    world.change(&mut first, 1, Some((2, 10)));
    assert_eq!(world.insert(&mut second, [3, 1, 1]), UNDECIDED);
    world.undo(second);
    world.commit(first);
    let mut third = Part::default();
    assert_eq!(world.insert(&mut third, [3, 1, 1]), Ok(Inserted::Yes));
    world.commit(third);
}

#[test]
fn a_commit_frees_only_what_the_transaction_itself_removed_last() {
    let mut world = world();
    let (mut first, mut second) = (Part::default(), Part::default());
    world.change(&mut first, 1, None);
    assert_eq!(world.insert(&mut first, [1, 1, 1]), Ok(Inserted::Yes), "its own ghost");
    world.change(&mut second, 1, None);
    world.commit(first);
    assert!(!world.is_there(1));
    world.undo(second);
    assert!(world.is_there(1), "the first one brought it back");
    // The same with a key: away and back, and away again by another one.
    let (mut first, mut second) = (Part::default(), Part::default());
    world.change(&mut first, 2, Some((2, 20)));
    world.change(&mut first, 2, Some((2, 2)));
    world.change(&mut second, 2, Some((2, 21)));
    world.commit(first);
    world.undo(second);
    let mut third = Part::default();
    assert_eq!(
        world.insert(&mut third, [9, 1, 2]).map(|inserted| inserted != Inserted::Yes),
        Ok(true)
    );
    world.undo(third);
}
