//! A bank: accounts with owners, aliases that point to accounts, and a journal of transfers.
//!
//! Between them its procedures have keys known from parameters, keys that another row tells, rows
//! reached through a secondary index whose entries move, inserts and range deletes, a visit of a
//! whole table, and user aborts after changes.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, IndexId, ProcedureId, TableId};
use hotrow_engine::schema::{Memory, Schema};
use hotrow_transaction::catalog::{Catalog, IndexKind};
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::program::{Path, Procedure, Raise, StatementKind};

use crate::build::{Build, add, at, bigint, divide, index, int, less, minus, prefix, read};

pub const OPEN: u32 = 0;
pub const OPEN_ALIAS: u32 = 1;
pub const TRANSFER: u32 = 2;
pub const PAY_ALIAS: u32 = 3;
pub const REPOINT: u32 = 4;
pub const TOTAL: u32 = 5;
pub const OWNED: u32 = 6;
pub const MOVE: u32 = 7;
pub const JOURNAL: u32 = 8;
pub const FORGET: u32 = 9;
pub const ALIASES: u32 = 10;
pub const COUNT_EACH: u32 = 11;
pub const COUNTS: u32 = 12;

const ACCOUNT: TableId = TableId(0);
const ALIAS: TableId = TableId(1);
const ENTRY: TableId = TableId(2);

const BALANCE: ColumnId = ColumnId(2);

struct Indexes {
    account: IndexId,
    owner: IndexId,
    alias: IndexId,
    entry: IndexId,
}

pub fn call(procedure: u32, arguments: &[i64]) -> Invocation {
    let mut invocation = Invocation { procedure: ProcedureId(procedure), ..Default::default() };
    arguments.iter().for_each(|&value| invocation.arguments.push_int(value));
    invocation
}

/// Adds `amount / (id - poison)` to the counts of accounts.
pub fn count_each(amount: i64, poison: i64, accounts: &[i64]) -> Invocation {
    let mut invocation = call(COUNT_EACH, &[amount, poison]);
    invocation.arguments.push_int_array(accounts.iter().copied());
    invocation
}

/// A bank without rows, for the workers `0..workers`.
pub fn schema(workers: usize) -> Schema {
    let mut catalog = Catalog::default();
    let columns = ["id", "owner", "balance", "transfers"].map(bigint).into();
    let key = index("account_pkey", &[0], true, IndexKind::Hash);
    let account = catalog.add_table("account", columns, Some(key)).expect("a legal table");
    let key = index("alias_pkey", &[0], true, IndexKind::BTree);
    let alias = ["id", "account"].map(bigint).into();
    let alias = catalog.add_table("alias", alias, Some(key)).expect("a legal table");
    let key = index("entry_pkey", &[0, 1], true, IndexKind::BTree);
    let entry = ["account", "number", "amount"].map(bigint).into();
    let entry = catalog.add_table("entry", entry, Some(key)).expect("a legal table");
    assert_eq!((account, alias, entry), (ACCOUNT, ALIAS, ENTRY));
    let owner = index("account_owner", &[1], false, IndexKind::BTree);
    let owner = catalog.add_index(ACCOUNT, owner).expect("a legal index");
    let primary = |table| catalog.table(table).primary.expect("every table has a primary key");
    let indexes =
        Indexes { account: primary(ACCOUNT), owner, alias: primary(ALIAS), entry: primary(ENTRY) };
    let memory = Arc::new(Memory::new(workers, 1 << 30));
    let mut schema = Schema::empty(memory);
    let trees = procedures(&indexes).into_iter().map(Some).collect();
    schema.adopt_all(catalog, trees).expect("legal procedures");
    schema
}

fn procedures(indexes: &Indexes) -> Vec<Procedure> {
    let account = (ACCOUNT, indexes.account);
    let alias = (ALIAS, indexes.alias);

    let mut open = Build::new("open");
    let [id, owner, balance] = open.parameters();
    open.insert(ACCOUNT, vec![read(id), read(owner), read(balance), int(0)]);

    let mut open_alias = Build::new("open_alias");
    let [id, target] = open_alias.parameters();
    open_alias.insert(ALIAS, vec![read(id), read(target)]);

    let mut repoint = Build::new("repoint");
    let [id, target] = repoint.parameters();
    repoint.update(alias, read(id), ColumnId(1), |_| read(target));

    let mut total = Build::new("total");
    total.query(ACCOUNT, Path::Whole, &[ColumnId(0), BALANCE]);

    let mut owned = Build::new("owned");
    let [owner] = owned.parameters();
    let path = prefix(indexes.owner, vec![read(owner)]);
    owned.query(ACCOUNT, path, &[ColumnId(0), ColumnId(1), BALANCE]);

    let mut moved = Build::new("move");
    let [id, owner] = moved.parameters();
    moved.update(account, read(id), ColumnId(1), |_| read(owner));

    let mut journal = Build::new("journal");
    let [id] = journal.parameters();
    let path = prefix(indexes.entry, vec![read(id)]);
    journal.query(ENTRY, path, &[ColumnId(0), ColumnId(1), ColumnId(2)]);

    let mut forget = Build::new("forget");
    let [id] = forget.parameters();
    forget.delete(ENTRY, prefix(indexes.entry, vec![read(id)]));

    let mut aliases = Build::new("aliases");
    aliases.query(ALIAS, Path::Whole, &[ColumnId(0), ColumnId(1)]);

    let mut count_each = Build::new("count_each");
    let [amount, poison] = count_each.parameters();
    let accounts = count_each.array_parameter();
    count_each.update_each(account, accounts, ColumnId(3), |count, id| {
        add(count, divide(read(amount), minus(id, read(poison))))
    });

    let mut counts = Build::new("counts");
    counts.query(ACCOUNT, Path::Whole, &[ColumnId(0), ColumnId(3)]);

    vec![
        open.end(),
        open_alias.end(),
        transfer(indexes),
        pay_alias(indexes),
        repoint.end(),
        total.end(),
        owned.end(),
        moved.end(),
        journal.end(),
        forget.end(),
        aliases.end(),
        count_each.end(),
        counts.end(),
    ]
}

/// Moves money and writes it down under a number that the account counts; then looks whether
/// there was enough.
fn transfer(indexes: &Indexes) -> Procedure {
    let account = (ACCOUNT, indexes.account);
    let mut build = Build::new("transfer");
    let [from, to, amount, rounds] = build.parameters();
    let left = build.update(account, read(from), BALANCE, |balance| minus(balance, read(amount)));
    build.linger(read(rounds));
    build.update(account, read(to), BALANCE, |balance| add(balance, read(amount)));
    let number = build.update(account, read(from), ColumnId(3), |count| add(count, int(1)));
    build.insert(ENTRY, vec![read(from), read(number), read(amount)]);
    refuse_debt(&mut build, left);
    build.end()
}

/// A transfer from the account that an alias points to.
fn pay_alias(indexes: &Indexes) -> Procedure {
    let account = (ACCOUNT, indexes.account);
    let mut build = Build::new("pay_alias");
    let [alias, to, amount, rounds] = build.parameters();
    let from = build.look_up((ALIAS, indexes.alias), read(alias), ColumnId(1));
    build.linger(read(rounds));
    let left = build.update(account, read(from), BALANCE, |balance| minus(balance, read(amount)));
    build.update(account, read(to), BALANCE, |balance| add(balance, read(amount)));
    refuse_debt(&mut build, left);
    build.end()
}

fn refuse_debt(build: &mut Build, left: hotrow_transaction::program::SlotId) {
    let raise = Raise {
        sqlstate: *b"P0001",
        message: vec!["not enough money".into()],
        arguments: Vec::new(),
        detail: None,
        hint: None,
        of: None,
        is_again: false,
        parts: Vec::new(),
    };
    build.say(StatementKind::If {
        condition: less(read(left), int(0)),
        then: vec![at(StatementKind::Raise(raise))],
        otherwise: Vec::new(),
    });
}
