//! Splitting: an access that gives values of columns which nobody changes, beside others.
//!
//! Role         asked by [`super::cut`] for each access that becomes a leaf. New-Order changes a
//!              row of stock and takes the text for its order line from it, which nobody writes:
//!              the line would wait for the stock. In two leaves, one reads the text, holds nothing
//!              and runs wherever it is wanted; the other does the rest
//! Invariants   I1 both, one after the other, are the access: the same values, the same error. What
//!              is read first cannot fail, leaves nothing that the rest looks at, and finds a row
//!              where the rest finds one, since none comes or goes
//!              I2 it is done only where it saves waiting: an access to another table, which holds
//!              granules, takes such values of this one and nothing else that comes from it
//! Source       partitioned.txt 5.5: stock is divided by columns, and those that are only read lie
//!              in every partition. We differ: nobody divides tables; what to divide follows from
//!              the procedures

use std::collections::BTreeSet;

use hotrow_base::ids::TableId;

use crate::catalog::Catalog;
use crate::granule::Granules;
use crate::locks;
use crate::program::{
    Access, Consume, Effect, Expr, ExprKind, Path, Slot, SlotId, Statement, StatementKind,
};
use crate::walk::{self, Site};

type Slots = BTreeSet<SlotId>;

/// An access in two, to be run in this order.
pub(super) struct Split {
    /// reads what nobody changes
    pub(super) read: Access,
    /// what that gives
    pub(super) given: Slots,
    /// does the rest
    pub(super) rest: Access,
}

/// A statement of a procedure, by itself.
struct Step<'a> {
    /// what it computes from, and what decides whether it runs
    takes: Slots,
    gives: Slots,
    access: Option<&'a Access>,
    /// the table of which it holds granules
    holds: Option<TableId>,
}

/// The statements of a procedure, as far as dividing its accesses is concerned.
pub(super) struct Splitter<'a> {
    catalog: &'a Catalog,
    granules: &'a Granules,
    steps: Vec<Step<'a>>,
}

impl<'a> Splitter<'a> {
    /// That of a procedure's body.
    pub(super) fn new(catalog: &'a Catalog, granules: &'a Granules, body: &'a [Statement]) -> Self {
        let mut splitter = Self { catalog, granules, steps: Vec::new() };
        splitter.block(body, &Slots::new());
        splitter
    }

    fn block(&mut self, block: &'a [Statement], control: &Slots) {
        for statement in block {
            let mut takes = control.clone();
            let mut gives = Slots::new();
            walk::uses(statement, &mut |slot| {
                takes.insert(slot);
            });
            walk::defines(statement, &mut |slot| {
                gives.insert(slot);
            });
            let mut inner = takes.clone();
            match &statement.kind {
                // Rows decide how often the body runs.
                StatementKind::ForQuery { into, .. } => inner.extend(into),
                StatementKind::ForOperators(of) => inner.extend(gives.iter().chain(&of.into)),
                _ => {}
            }
            for nested in walk::blocks(statement) {
                self.block(nested, &inner);
            }
            let site = walk::own_site(statement);
            let holds = site.filter(|site| self.holds(site)).map(|site| site.table());
            let access = match &statement.kind {
                StatementKind::Access(access) => Some(&**access),
                _ => None,
            };
            self.steps.push(Step { takes, gives, access, holds });
        }
    }

    fn holds(&self, site: &Site<'_>) -> bool {
        let locks = locks::site_locks(self.catalog, self.granules, site);
        !locks.given.is_empty() || locks.rows.is_some()
    }

    /// Divides an access of the body, if that saves waiting. `slots`: the procedure's, to which new
    /// ones are added.
    pub(super) fn split(&self, access: &'a Access, slots: &mut Vec<Slot>) -> Option<Split> {
        let Consume::First { into, strict, offset: None, .. } = access.effect.consume() else {
            return None;
        };
        let (Path::Point { key, .. }, None) = (&access.path, &access.filter) else { return None };
        let is_safe = !key.iter().any(walk::can_fail);
        let is_held = self.holds(&Site::Access(access));
        if !is_safe || !is_held || matches!(access.effect, Effect::Delete { .. }) {
            return None;
        }
        let can_move = |(target, value): &&(SlotId, Expr)| {
            into.iter().filter(|(other, _)| other == target).count() == 1
                && self.is_fixed(access, slots, (*target, value))
        };
        let fixed: Slots = into.iter().filter(can_move).map(|(target, _)| *target).collect();
        let given = self.saving(access, &fixed);
        let (moved, kept): (Vec<_>, Vec<_>) =
            into.iter().cloned().partition(|(target, _)| given.contains(target));
        if moved.is_empty() {
            return None;
        }
        let mut own = Vec::new();
        let read = read_of(access, moved, slots, &mut own);
        let rest = rest_of(access, kept, *strict);
        let mut meets = false;
        [&read, &rest].into_iter().for_each(|part| {
            walk::access_uses(part, &mut |slot| meets |= given.contains(&slot));
        });
        if meets || !self.granules.reads_unchanged(self.catalog, &read) {
            return None;
        }
        slots.append(&mut own);
        Some(Split { read, given, rest })
    }

    /// Whether a value that an access gives is computed from columns that nobody changes, and
    /// cannot fail.
    fn is_fixed(&self, access: &Access, slots: &[Slot], (target, value): (SlotId, &Expr)) -> bool {
        let changed = self.granules.table(access.table).changed;
        let column = |slot: SlotId| {
            let bound = access.bind.iter().find(|(_, bound)| *bound == slot);
            bound.map(|(column, _)| column.index())
        };
        let is_changed = |slot| column(slot).is_some_and(|column| changed.may_contain(column));
        walk::reads_any(value, |slot| column(slot).is_some())
            && !walk::reads_any(value, is_changed)
            && !walk::can_fail(value)
            && slots[target.index()].sql_type == value.sql_type
    }

    /// Those of an access's `fixed` values that others wait for and for nothing else of it.
    fn saving(&self, access: &Access, fixed: &Slots) -> Slots {
        let mut saving = Slots::new();
        if fixed.is_empty() {
            return saving;
        }
        let takers = self.steps.iter().filter(|step| {
            step.holds.is_some_and(|table| table != access.table) && !step.is(access)
        });
        for taker in takers {
            let needed = self.needed_by(taker, access);
            let mut given = Slots::new();
            walk::access_defines(access, &mut |slot| {
                given.insert(slot);
            });
            let taken: Slots = given.intersection(&needed).copied().collect();
            if taken.is_subset(fixed) {
                saving.extend(taken);
            }
        }
        saving
    }

    /// All that a statement needs, through others, but not through this access.
    fn needed_by(&self, taker: &Step<'_>, access: &Access) -> Slots {
        let mut needed = taker.takes.clone();
        let mut open: Vec<SlotId> = needed.iter().copied().collect();
        while let Some(slot) = open.pop() {
            let makers = self.steps.iter().filter(|step| step.gives.contains(&slot));
            for maker in makers.filter(|step| !step.is(access)) {
                open.extend(maker.takes.iter().copied().filter(|slot| needed.insert(*slot)));
            }
        }
        needed
    }
}

impl Step<'_> {
    /// Whether it is this very access.
    fn is(&self, access: &Access) -> bool {
        self.access.is_some_and(|own| std::ptr::eq(own, access))
    }
}

/// The access as a read of these values, with bound columns of its own: slots behind the
/// procedure's.
fn read_of(
    access: &Access,
    mut moved: Vec<(SlotId, Expr)>,
    slots: &[Slot],
    own: &mut Vec<Slot>,
) -> Access {
    let mut bind = Vec::new();
    for &(column, bound) in &access.bind {
        if !moved.iter().any(|(_, value)| walk::reads_any(value, |slot| slot == bound)) {
            continue;
        }
        let Slot { name, sql_type } = slots[bound.index()].clone();
        let new = SlotId((slots.len() + own.len()) as u16);
        own.push(Slot { name, sql_type });
        bind.push((column, new));
        let value = Expr { kind: ExprKind::Slot(new), sql_type };
        moved.iter_mut().for_each(|(_, moved)| walk::substitute(moved, &[(bound, &value)]));
    }
    let consume = Consume::First { into: moved, strict: false, order_by: Vec::new(), offset: None };
    let (table, path) = (access.table, access.path.clone());
    Access { table, path, bind, filter: None, effect: Effect::Read(consume) }
}

/// The access without the values that were moved away.
fn rest_of(access: &Access, kept: Vec<(SlotId, Expr)>, strict: bool) -> Access {
    let mut rest = access.clone();
    let (Effect::Read(consume) | Effect::Update { consume, .. } | Effect::Delete { consume }) =
        &mut rest.effect;
    *consume = match kept.is_empty() && !strict {
        true => Consume::Discard,
        false => Consume::First { into: kept, strict, order_by: Vec::new(), offset: None },
    };
    let mut bind = std::mem::take(&mut rest.bind);
    let exprs = walk::row_exprs(&rest);
    bind.retain(|(_, slot)| exprs.iter().any(|expr| walk::reads_any(expr, |s| s == *slot)));
    rest.bind = bind;
    rest
}
