//! The order in which an inner join takes what it joins.
//!
//! Role         ranks reads by how far an index narrows them, and lets those wait that others help
//!              to find fewer rows

use hotrow_query::Plan;
use hotrow_transaction::program::{Expr, Path, SlotId};

use crate::path::choose;
use crate::relation::level::RelationKind;
use crate::scope::Compiler;

use super::from::Tree;

/// The rank of a read that an index narrows.
const RANK_RANGE: u8 = 1;
/// That of a query, or of rows that were kept.
const RANK_PLANNED: u8 = 2;

/// One of the things an inner join joins.
pub(super) struct Item {
    pub(super) tree: Tree,
    /// conditions on it alone
    pub(super) own: Vec<Expr>,
    pub(super) slots: Vec<SlotId>,
    /// slots of others that it reads
    pub(super) needs: Vec<SlotId>,
    /// the lower, the fewer rows
    pub(super) rank: u8,
}

impl Compiler<'_> {
    pub(super) fn rank(&self, tree: &Tree, own: &[Expr]) -> u8 {
        let Tree::Leaf(at) = tree else { return 3 };
        let relation = &self.levels.last().expect("a query is being compiled").relations[*at];
        match relation.kind {
            RelationKind::Table(table) => {
                let row = relation.row(table);
                match choose(self.catalog, &row, own.to_vec(), &[]).path {
                    Path::Point { .. } => 0,
                    Path::Range { .. } | Path::Lists { .. } => RANK_RANGE,
                    Path::Whole => 4,
                }
            }
            RelationKind::Planned(_) => RANK_PLANNED,
            RelationKind::System(_) => 3,
        }
    }

    /// Of several rows of a table one each is found by its whole key where another item tells that,
    /// and fewer of them where one that reads no table (an array's elements) tells more of a key:
    /// then the other one comes first, if it is narrow itself.
    pub(super) fn put_off_what_others_find(&self, items: &mut [Item], conditions: &[Expr]) {
        for at in 0..items.len() {
            let item = &items[at];
            let Tree::Leaf(leaf) = item.tree else { continue };
            let relation = &self.levels.last().expect("a query is being compiled").relations[leaf];
            let RelationKind::Table(table) = relation.kind else { continue };
            let row = relation.row(table);
            let path = |all: Vec<Expr>| choose(self.catalog, &row, all, &[]).path;
            let prefix = |path: &Path| match path {
                Path::Range { prefix, .. } => prefix.len(),
                _ => 0,
            };
            let is_found_by = |other: &Item| {
                let is_of_both = |c: &&Expr| self.sides(c, &other.slots, &item.slots).is_some();
                let equal = conditions.iter().filter(is_of_both);
                match path(item.own.iter().chain(equal).cloned().collect()) {
                    Path::Point { .. } => true,
                    found => {
                        self.reads_no_table(&other.tree)
                            && prefix(&found) > prefix(&path(item.own.clone()))
                    }
                }
            };
            let is_narrow = |other: &&Item| other.rank <= RANK_PLANNED && other.needs.is_empty();
            let others = items.iter().enumerate().filter(|(other, _)| *other != at);
            let mut others = others.map(|(_, other)| other).filter(is_narrow);
            if item.rank == RANK_RANGE && others.any(is_found_by) {
                items[at].rank = RANK_PLANNED + 1;
            }
        }
    }

    /// Whether it is a function's rows, or those of a query without tables.
    fn reads_no_table(&self, tree: &Tree) -> bool {
        let Tree::Leaf(leaf) = tree else { return false };
        let relation = &self.levels.last().expect("a query is being compiled").relations[*leaf];
        let RelationKind::Planned(Some(plan)) = &relation.kind else { return false };
        let mut reads = false;
        plan.walk(&mut |plan| reads |= matches!(plan, Plan::Fetch { .. } | Plan::System { .. }));
        !reads
    }

    pub(super) fn next_item(
        &self,
        items: &[Item],
        conditions: &[Expr],
        placed: &[SlotId],
    ) -> usize {
        let order = |item: &Item| {
            let waits = item.needs.iter().any(|slot| !placed.contains(slot));
            let is_joined = conditions
                .iter()
                .any(|condition| self.sides(condition, placed, &item.slots).is_some());
            (waits, !placed.is_empty() && !is_joined, item.rank)
        };
        (0..items.len()).min_by_key(|&at| order(&items[at])).expect("there is one")
    }
}
