use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::{self, KeyBuffer};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::access::{Inserted, Reads, RecordAccess};
use hotrow_transaction::catalog::{Catalog, Column, Deferral, IndexDefinition, IndexKind};
use hotrow_transaction::constant::special_slots;
use hotrow_transaction::granule::{LockMode, Space};
use hotrow_transaction::program::{
    Access, Consume, Effect, Expr, ExprKind, Path, Place, Procedure, RowLocks, Statement,
    StatementKind,
};

use crate::in_place::Scratch;
use crate::schema::{Memory, QUIET_WORKER};

use super::*;

const ROW: TableId = TableId(0);

/// What was asked of the protection, in order, as text; and how it answers.
#[derive(Default)]
struct Book {
    asked: Vec<String>,
    /// whether gaps may be divided, in order; afterwards they may
    may_divide: VecDeque<bool>,
    may_unite: bool,
}

/// Notes what is locked, by the numbers that keys are made of.
#[derive(Clone)]
struct Noted(Rc<RefCell<Book>>, Rc<Vec<(KeyLock, String)>>);

impl Noted {
    fn say(&self, text: String) {
        self.0.borrow_mut().asked.push(text);
    }

    fn name(&self, lock: KeyLock) -> &str {
        let named = self.1.iter().find(|(named, _)| *named == lock);
        named.map_or("?", |(_, name)| name)
    }
}

impl Protection for Noted {
    const ACTIVE: bool = true;
    const LOCKS_KEYS: bool = true;

    fn hold(&mut self, _: u64, space: Space, mode: LockMode) -> Result<(), Stop> {
        assert!(matches!(space, Space::Table(_)), "no granules are held");
        self.say(format!("table {}", mode.name()));
        Ok(())
    }

    fn hold_key(&mut self, lock: KeyLock, key: Strength, gap: Strength) -> Result<(), Stop> {
        let mode = crate::lock_mode::Mode::of_range(key, gap).expect("something is held");
        self.say(format!("{} {}", self.name(lock), mode.name()));
        Ok(())
    }

    fn may_divide(&mut self, gap: KeyLock, key: KeyLock) -> bool {
        let may = self.0.borrow_mut().may_divide.pop_front().unwrap_or(true);
        self.say(format!("divide {} by {}: {may}", self.name(gap), self.name(key)));
        may
    }

    fn wait_to_divide(&mut self) -> Result<(), Stop> {
        self.say("wait".to_owned());
        Ok(())
    }

    fn may_unite(&mut self, gap: KeyLock, key: KeyLock) -> bool {
        let may = self.0.borrow().may_unite;
        self.say(format!("unite {} and {}: {may}", self.name(gap), self.name(key)));
        may
    }
}

/// A table with a number, a unique code and a group, in B+-trees; and a label, in a hash index.
struct World {
    schema: Schema,
    scratch: Scratch,
    primary: IndexId,
    code: IndexId,
    label: IndexId,
    protection: Noted,
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
        let columns = ["number", "code", "label"].map(bigint).into();
        let primary = index("primary", 0, true, IndexKind::BTree);
        catalog.add_table("row", columns, Some(primary)).expect("a legal table");
        let code = index("code", 1, true, IndexKind::BTree);
        let code = catalog.add_index(ROW, code).expect("a legal index");
        let label = index("label", 2, true, IndexKind::Hash);
        let label = catalog.add_index(ROW, label).expect("a legal index");
        let primary = catalog.table(ROW).primary.expect("it has one");
        let mut schema = Schema::empty(Arc::new(Memory::new(1, 1 << 26)));
        schema.adopt_all(catalog, vec![Some(deletes(primary))]).expect("a legal procedure");
        schema.guard_gaps();
        let mut named = Vec::new();
        for (index, name) in [(primary, "p"), (code, "c"), (label, "l")] {
            let keys = schema.path(index).parts.all()[0].keys;
            named.push((keys.lock(&[]), format!("{name}-")));
            named.extend((0..100).map(|number| {
                (keys.lock(&number_key(&schema, index, number)), format!("{name}{number}"))
            }));
        }
        let book = Rc::new(RefCell::new(Book { may_unite: true, ..Book::default() }));
        let protection = Noted(book, Rc::new(named));
        let scratch = Scratch::new(QUIET_WORKER);
        Self { schema, scratch, primary, code, label, protection }
    }

    fn transaction(&mut self) -> InPlace<'_, Noted> {
        InPlace::new(&self.schema, &mut self.scratch, self.protection.clone())
    }

    /// What was asked since the last time.
    fn asked(&self) -> String {
        std::mem::take(&mut self.protection.0.borrow_mut().asked).join(", ")
    }

    fn find(&mut self, index: IndexId, number: i64, intent: Intent) -> bool {
        let key = number_key(&self.schema, index, number);
        let at = KeyAt {
            table: ROW,
            index,
            key: &key,
            hash: key::hash(&key),
            reads: Reads::Rows,
            entry: None,
        };
        let mut transaction = self.transaction();
        let found = transaction.find(&at, intent).expect("nobody is in the way").is_some();
        transaction.commit();
        found
    }

    fn row(&self, [number, code, label]: [i64; 3]) -> Vec<u64> {
        let mut row = Vec::new();
        let values = [number, code, label].map(Datum::int);
        let layout = &self.schema.catalog.table(ROW).layout;
        layout.build(&values, &[], &mut row).expect("a legal row");
        row
    }

    /// Inserts a row, and commits.
    fn insert(&mut self, values: [i64; 3]) -> Inserted {
        self.insert_and(values, Ends::Committed)
    }

    fn insert_and(&mut self, values: [i64; 3], ends: Ends) -> Inserted {
        let row = self.row(values);
        let key = number_key(&self.schema, self.primary, values[0]);
        let index = self.primary;
        let at = KeyAt { table: ROW, index, key: &key, hash: 0, reads: Reads::Rows, entry: None };
        let mut transaction = self.transaction();
        let inserted = transaction.insert(ROW, &row, Some(&at)).expect("nobody is in the way");
        match ends {
            Ends::Committed => transaction.commit(),
            Ends::Undone => transaction.undo(),
        }
        inserted
    }

    fn remove(&mut self, number: i64) {
        let key = number_key(&self.schema, self.primary, number);
        let index = self.primary;
        let at = KeyAt { table: ROW, index, key: &key, hash: 0, reads: Reads::Rows, entry: None };
        let mut transaction = self.transaction();
        let record = transaction.find(&at, Intent::Write).expect("nobody is in the way");
        transaction.remove(ROW, record.expect("it is there")).expect("nobody is in the way");
        transaction.commit();
    }

    fn entry(&self, index: IndexId, number: i64) -> Option<u64> {
        let key = number_key(&self.schema, index, number);
        self.schema.path(index).parts.of_key(&key).stored.as_btree().expect("a tree").get(&key)
    }
}

/// How a transaction ends.
#[derive(Clone, Copy)]
enum Ends {
    Committed,
    Undone,
}

/// A procedure that writes the table, which therefore needs locks.
fn deletes(primary: IndexId) -> Procedure {
    let kind = ExprKind::Constant(Value::BigInt(0));
    let key = Expr { kind, sql_type: SqlType::Scalar(DataType::BigInt) };
    let delete = StatementKind::Access(Box::new(Access {
        table: ROW,
        path: Path::Point { index: primary, key: vec![key] },
        bind: Vec::new(),
        filter: None,
        effect: Effect::Delete { consume: Consume::Discard },
    }));
    Procedure {
        name: "deletes".into(),
        parameters: 0,
        defaults: Vec::new(),
        draws: Vec::new(),
        slots: special_slots(),
        body: vec![Statement { kind: delete, place: Place { line: 1, column: 1 } }],
        result: Vec::new(),
        returns_set: false,
        row_sets: 0,
        row_locks: RowLocks::default(),
        inlined: Vec::new(),
        ends_transaction: false,
        is_variadic: false,
        outs: Vec::new(),
        lacks: None,
        interpreted: None,
        source: None,
        trigger: None,
        later: None,
        needs: Default::default(),
    }
}

fn number_key(schema: &Schema, index: IndexId, number: i64) -> Vec<u8> {
    let mut key = KeyBuffer::new();
    let layout = &schema.catalog.index(index).key;
    layout.encode_part(0, Datum::int(number), &[], &mut key).expect("a legal key");
    key.as_slice().to_vec()
}

#[test]
fn points_are_held_by_their_key_or_by_the_gap_they_are_missing_from() {
    let mut world = World::new();
    let (primary, code, label) = (world.primary, world.code, world.label);
    assert!(!world.find(primary, 5, Intent::Read));
    assert_eq!(world.asked(), "p- NS", "an empty tree is one gap");
    world.insert([10, 50, 7]);
    world.asked();
    assert!(world.find(primary, 10, Intent::Read) && world.find(primary, 10, Intent::Write));
    assert_eq!(world.asked(), "p10 SN, p10 XN");
    assert!(!world.find(primary, 9, Intent::Read) && !world.find(primary, 11, Intent::Write));
    assert_eq!(world.asked(), "p- NS, p10 NS");
    assert!(world.find(code, 50, Intent::Write));
    assert_eq!(world.asked(), "c50 SN, p10 XN", "the row is held by its primary key");
    assert!(world.find(label, 7, Intent::Read) && !world.find(label, 8, Intent::Read));
    assert_eq!(world.asked(), "l7 SN, p10 SN, l8 SN", "a hash index has no gaps");
}

#[test]
fn inserts_hold_their_keys_and_ask_for_their_gaps() {
    let mut world = World::new();
    assert_eq!(world.insert([10, 50, 7]), Inserted::Yes);
    assert_eq!(
        world.asked(),
        "p10 XN, divide p- by p10: true, c50 XN, divide c- by c50: true, l7 XN"
    );
    world.protection.0.borrow_mut().may_divide = [false, false, true].into();
    assert_eq!(world.insert([20, 40, 8]), Inserted::Yes);
    assert_eq!(
        world.asked(),
        "p20 XN, divide p10 by p20: false, wait, divide p10 by p20: false, wait, \
         divide p10 by p20: true, c40 XN, divide c- by c40: true, l8 XN"
    );
    assert_eq!(world.insert([20, 60, 9]), Inserted::Duplicate(world.primary));
    assert_eq!(world.asked(), "p20 XN");
}

#[test]
fn a_deleted_row_leaves_ghosts_where_its_keys_are_locked() {
    let mut world = World::new();
    world.insert([10, 50, 7]);
    world.asked();
    world.protection.0.borrow_mut().may_unite = false;
    world.remove(10);
    assert_eq!(
        world.asked(),
        "p10 XN, c50 XN, l7 XN, unite p- and p10: false, unite c- and c50: false, \
         unite p- and p10: false, unite c- and c50: false",
        "they are tried again at once, being the only ones"
    );
    let entries = [world.entry(world.primary, 10), world.entry(world.code, 50)];
    assert_eq!(entries, [Some(VACANT); 2]);
    assert!(!world.find(world.primary, 10, Intent::Read));
    assert!(world.asked().starts_with("p10 SN"), "a ghost is a key like all others");

    // One ghost is used again, the other one goes when nobody has locked it any more.
    world.protection.0.borrow_mut().may_unite = true;
    world.insert([10, 60, 7]);
    assert!(!world.asked().contains("divide p-"), "no gap is divided by a ghost's key");
    assert!(world.schema.memory.ghosts().is_empty());
    assert!(world.entry(world.primary, 10).is_some_and(|entry| entry != VACANT));
    assert_eq!(world.entry(world.code, 50), None);
    assert!(world.find(world.primary, 10, Intent::Read));
}

#[test]
fn an_undone_insert_leaves_as_a_deleted_row_does() {
    let mut world = World::new();
    world.protection.0.borrow_mut().may_unite = false;
    world.insert_and([10, 50, 7], Ends::Undone);
    let entries = [world.entry(world.primary, 10), world.entry(world.code, 50)];
    assert_eq!(entries, [Some(VACANT); 2]);
    world.protection.0.borrow_mut().may_unite = true;
    assert!(!world.find(world.label, 7, Intent::Read));
    let entries = [world.entry(world.primary, 10), world.entry(world.code, 50)];
    assert_eq!(entries, [None; 2], "any transaction's end tries again");
}

#[test]
fn what_is_undone_while_the_transaction_goes_on_stays_as_a_ghost() {
    let mut world = World::new();
    world.insert([10, 50, 7]);
    let row = world.row([20, 50, 8]);
    let key = number_key(&world.schema, world.primary, 20);
    let (index, code) = (world.primary, world.code);
    let at = KeyAt { table: ROW, index, key: &key, hash: 0, reads: Reads::Rows, entry: None };
    let mut transaction = world.transaction();
    let inserted = transaction.insert(ROW, &row, Some(&at));
    assert_eq!(inserted, Ok(Inserted::Duplicate(code)));
    let entry = transaction
        .schema
        .path(index)
        .parts
        .of_key(&key)
        .stored
        .as_btree()
        .expect("a tree")
        .get(&key);
    assert_eq!(entry, Some(VACANT), "the transaction may have locked the gap behind it");
    transaction.commit();
    assert_eq!(world.entry(world.primary, 20), None);
}

#[test]
fn ranges_are_held_by_table_3_and_whole_tables_as_such() {
    let mut world = World::new();
    for number in [10, 20, 30] {
        world.insert([number, 100 - number, number]);
    }
    world.asked();
    let mut visit = |index, ends: [Bound<i64>; 2], descending, intent| {
        let ends = ends.map(|end| end.map(|number| number_key(&world.schema, index, number)));
        let [lower, upper] = [&ends[0], &ends[1]].map(|end| end.as_ref().map(Vec::as_slice));
        let range = RangeAt {
            table: ROW,
            index,
            prefix: &[],
            prefix_parts: 0,
            lower,
            upper,
            descending,
            reads: Reads::Rows,
            entry: None,
        };
        let mut transaction =
            InPlace::new(&world.schema, &mut world.scratch, world.protection.clone());
        let mut rows = 0;
        let visited = transaction.scan(&range, intent, |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        });
        visited.expect("nobody is in the way");
        transaction.commit();
        let asked = std::mem::take(&mut world.protection.0.borrow_mut().asked);
        format!("{rows}: {}", asked.join(", "))
    };
    use Bound::{Excluded, Included, Unbounded};
    let (primary, code) = (world.primary, world.code);
    let (read, write) = (Intent::Read, Intent::Write);
    assert_eq!(visit(primary, [Included(10), Excluded(30)], false, read), "2: p10 S, p20 S");
    assert_eq!(visit(primary, [Included(15), Included(20)], false, write), "1: p10 NS, p20 XN");
    assert_eq!(visit(primary, [Excluded(10), Included(25)], true, read), "1: p20 S, p10 NS");
    assert_eq!(
        visit(code, [Included(75), Included(80)], false, write),
        "1: c70 NS, c80 SN, p20 XN",
        "an entry is read, its row is written"
    );
    assert_eq!(visit(primary, [Unbounded, Unbounded], false, read), "3: table S");
}
