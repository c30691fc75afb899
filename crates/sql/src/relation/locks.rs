//! FOR UPDATE, FOR SHARE, NOWAIT and SKIP LOCKED.
//!
//! Role         says how each table of a query is read: that of FOR UPDATE as a writer would hold
//!              its rows, so that a change of them that follows does not deadlock with another
//!              reader's. SKIP LOCKED looks for rows without holding any, and then holds, one by
//!              one, those that are still wanted and are free ([`Plan::Lock`])
//! Source       PostgreSQL 15, SELECT, "The Locking Clause". We differ: other keyed reads of a
//!              serializable transaction are held, too, as readers hold them; FOR SHARE that does
//!              not wait is FOR UPDATE

use hotrow_base::ids::ColumnId;
use hotrow_query::{LockedRows, Plan};
use hotrow_transaction::program::{Expr, ExprKind, Path, Place, RowLocks, SlotId};
use sqlparser::ast;

use crate::error::{Result, error, place_in, unsupported};
use crate::keyless::lacks_key;
use crate::relation::level::{Clause, How, Relation, RelationKind};
use crate::scope::Compiler;
use crate::written::ident_name;

use super::assemble::Renumbering;

/// The locking clauses of a query.
pub(super) fn clauses(query: &ast::Query) -> Result<Vec<Clause>> {
    let clause = |lock: &ast::LockClause| {
        let how = match (&lock.lock_type, &lock.nonblock) {
            (_, Some(ast::NonBlock::Nowait)) => How::NoWait,
            (_, Some(ast::NonBlock::SkipLocked)) => How::SkipLocked,
            (ast::LockType::Share, None) => How::Share,
            (ast::LockType::Update, None) => How::Wait,
        };
        let of = lock.of.as_ref().map(|name| match name.0.as_slice() {
            [ast::ObjectNamePart::Identifier(name)] => Ok(ident_name(name)),
            _ => {
                let message = "FOR UPDATE must specify unqualified relation names";
                Err(error(b"42601", place_in(name, Place::default()), message))
            }
        });
        Ok(Clause { of: of.transpose()?, how })
    };
    query.locks.iter().map(clause).collect()
}

/// What all of these clauses ask for: as in PostgreSQL, NOWAIT prevails over SKIP LOCKED, and that
/// over waiting.
pub(super) fn strongest<'c>(clauses: impl IntoIterator<Item = &'c Clause>) -> RowLocks {
    clauses.into_iter().fold(RowLocks::Shared, |strongest, clause| match (clause.how, strongest) {
        (How::SkipLocked, RowLocks::ExclusiveAtOnce) => strongest,
        (How::SkipLocked, _) => RowLocks::Free,
        (How::NoWait, _) => RowLocks::ExclusiveAtOnce,
        (How::Wait, RowLocks::Shared) => RowLocks::Exclusive,
        (How::Wait | How::Share, _) => strongest,
    })
}

/// Fails where a procedure is not to wait for rows. SKIP LOCKED may skip, and need not: a call
/// finds no row that another call holds.
pub(super) fn refuse_not_waiting(query: &ast::Query, place: Place) -> Result<()> {
    let mut ways = query.locks.iter().filter_map(|lock| lock.nonblock.as_ref());
    if !ways.any(|way| matches!(way, ast::NonBlock::Nowait)) {
        return Ok(());
    }
    let what = "NOWAIT in a procedure";
    let hint = "leave it out: calls are planned, each waits for its turn, and none can be in the \
                way of itself or of another one for long";
    Err(unsupported(place, what, hint))
}

/// Fails where rows cannot be told apart any more.
pub(super) fn refuse_with(query: &ast::Query, what: &str, place: Place) -> Result<()> {
    if query.locks.is_empty() { Ok(()) } else { Err(not_allowed(what, place)) }
}

fn not_allowed(what: &str, place: Place) -> hotrow_transaction::outcome::SqlError {
    let what = format!("FOR UPDATE with {what}");
    unsupported(place, what, "lock the rows by a SELECT of their own, in the same transaction")
}

impl Compiler<'_> {
    /// Fails where a clause names what is not in FROM, or what cannot be locked.
    pub(super) fn check_locks(&mut self, place: Place) -> Result<()> {
        let depth = self.levels.len() - 1;
        for clause in self.level().locks.clone() {
            let Some(of) = &clause.of else { continue };
            if !self.level().relations.iter().any(|relation| relation.name == *of) {
                let message =
                    format!("relation \"{of}\" in FOR UPDATE clause not found in FROM clause");
                return Err(error(b"42P01", place, message));
            }
        }
        for at in 0..self.level().relations.len() {
            let relation = &self.levels[depth].relations[at];
            let RelationKind::Table(table) = relation.kind else { continue };
            if self.row_locks_of(relation) != RowLocks::Free {
                continue;
            }
            let table = self.catalog.table(table);
            let Some(primary) = table.primary else {
                return Err(lacks_key(table, "SKIP LOCKED", place));
            };
            // So that they are read with the rest.
            for column in self.catalog.index(primary).columns.clone() {
                self.slot_of_column(depth, at, column.index())?;
            }
        }
        Ok(())
    }

    /// Fails where a query with locks has one of these clauses.
    pub(super) fn refuse_locks(&mut self, clauses: &[(&str, bool)], place: Place) -> Result<()> {
        let has_locks = !self.level().locks.is_empty();
        match clauses.iter().find(|(_, is_there)| has_locks && *is_there) {
            Some((what, _)) => Err(not_allowed(what, place)),
            None => Ok(()),
        }
    }

    /// How the rows of a relation of the innermost level are held while they are read.
    pub(super) fn row_locks_of(&self, relation: &Relation) -> RowLocks {
        if self.reads.is_some() {
            return RowLocks::Shared; // a call holds what it is planned to touch
        }
        let level = self.levels.last().expect("a query is being compiled");
        let is_for = |clause: &&Clause| match &clause.of {
            None => true,
            Some(of) => *of == relation.name,
        };
        strongest(level.locks.iter().filter(is_for))
    }

    /// The rows of the innermost level, those of SKIP LOCKED as far as they can be held.
    pub(super) fn locked(&mut self, input: Plan) -> Result<Plan> {
        let depth = self.levels.len() - 1;
        let mut locks = Vec::new();
        for at in 0..self.level().relations.len() {
            let relation = &self.levels[depth].relations[at];
            if let RelationKind::Table(_) = relation.kind
                && self.row_locks_of(relation) == RowLocks::Free
            {
                locks.push(self.locked_rows(depth, at));
            }
        }
        match locks.is_empty() {
            true => Ok(input),
            false => {
                let by_parts = self.level().read_by_parts.take();
                Ok(Plan::Lock { input: Box::new(input), locks, by_parts })
            }
        }
    }

    /// A read of one row by its primary key, which holds it at once or fails.
    fn locked_rows(&mut self, depth: usize, at: usize) -> LockedRows {
        let relation = &self.levels[depth].relations[at];
        let RelationKind::Table(table) = relation.kind else { unreachable!("of tables only") };
        let row = relation.row(table);
        let primary = self.catalog.table(table).primary.expect("it has been looked for");
        let slot_of = |column: &ColumnId| {
            let bound = row.bound.iter().find(|(bound, _)| bound == column);
            bound.expect("keys are read with the rest").1
        };
        let key: Vec<SlotId> = self.catalog.index(primary).columns.iter().map(slot_of).collect();
        let columns: Vec<SlotId> = row.bound.iter().map(|(_, slot)| *slot).collect();
        let mut renumbering = Renumbering::new(&self.slots);
        let typed = |slot: SlotId, of: SlotId| Expr {
            kind: ExprKind::Slot(slot),
            sql_type: self.slots[of.index()].sql_type,
        };
        let given = key.iter().map(|slot| typed(renumbering.add(*slot), *slot)).collect();
        let bind = renumbering.bind(&row);
        let slots = renumbering.into_slots();
        let path = Path::Point { index: primary, key: given };
        let row_locks = RowLocks::ExclusiveAtOnce;
        let fetch = self.add_fetch(&row, (path, bind, None), (slots, key.len()), (row_locks, None));
        LockedRows { fetch, key, columns }
    }
}
