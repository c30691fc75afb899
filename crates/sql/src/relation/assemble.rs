//! Operators for FROM and WHERE: which rows are read how, and joined in which order.
//!
//! Role         conditions go down to the reads that decide them; of joins whose order is free,
//!              the read that an index narrows most comes first, and then what is joined to it by
//!              equality. No statistics are asked: the same text gives the same plan

use std::collections::BTreeMap;

use hotrow_base::ids::ColumnId;
use hotrow_query::{Join, JoinKind, LateCondition, Plan, Scalar, ScalarProgram, Scalars};
use hotrow_transaction::lower::lower;
use hotrow_transaction::program::{
    Access, CompareOp, Consume, Effect, Expr, ExprKind, FIRST_PARAMETER, Path, Procedure, RangeEnd,
    ResultColumn, RowLocks, RowsTo, Slot, SlotId, Statement, StatementKind,
};
use hotrow_transaction::walk::{expr_slots, operands_mut};

use crate::error::Result;
use crate::path::{choose, truth};
use crate::relation::level::{Late, ReadWish, RelationKind, WishedRead};
use crate::scope::Compiler;
use crate::state::Row;
use crate::typing::{for_rows, joined};

use super::from::Tree;
use super::join_order::Item;
use super::level::extended;

/// Slots of a query renumbered as those of one program.
pub(super) struct Renumbering<'a> {
    slots: Vec<Slot>,
    inputs: Vec<SlotId>,
    known: BTreeMap<SlotId, SlotId>,
    of: &'a [Slot],
}

impl<'a> Renumbering<'a> {
    pub(super) fn new(of: &'a [Slot]) -> Self {
        let slots = of[..FIRST_PARAMETER as usize].to_vec();
        Self { slots, inputs: Vec::new(), known: BTreeMap::new(), of }
    }

    /// A slot of its own for one of the query's.
    pub(super) fn add(&mut self, slot: SlotId) -> SlotId {
        self.slots.push(self.of[slot.index()].clone());
        let new = SlotId((self.slots.len() - 1) as u16);
        self.known.insert(slot, new);
        new
    }

    /// Slots for the columns of a row that are bound.
    pub(super) fn bind(&mut self, row: &Row) -> Vec<(ColumnId, SlotId)> {
        row.bound.iter().map(|&(column, slot)| (column, self.add(slot))).collect()
    }

    pub(super) fn into_slots(self) -> Vec<Slot> {
        self.slots
    }

    /// Makes parameters of what an expression reads.
    fn note(&mut self, expr: &Expr) {
        expr_slots(expr, &mut |slot| {
            if slot.0 >= FIRST_PARAMETER && !self.known.contains_key(&slot) {
                self.inputs.push(slot);
                self.add(slot);
            }
        });
    }

    fn slot(&self, slot: SlotId) -> SlotId {
        self.known.get(&slot).copied().unwrap_or(slot)
    }

    fn expr(&self, mut expr: Expr) -> Expr {
        self.renumber(&mut expr);
        expr
    }

    fn renumber(&self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Slot(slot) | ExprKind::ArrayLength(slot) => *slot = self.slot(*slot),
            ExprKind::Element(slot, _) => *slot = self.slot(*slot),
            _ => {}
        }
        operands_mut(expr, &mut |operand| self.renumber(operand));
    }
}

/// Splits off those for which `is_one` holds.
fn take<T>(all: &mut Vec<T>, is_one: impl Fn(&T) -> bool) -> Vec<T> {
    let (taken, rest) = std::mem::take(all).into_iter().partition(is_one);
    *all = rest;
    taken
}

impl Compiler<'_> {
    /// Values of expressions, as slots and a program.
    pub(crate) fn scalars(&mut self, exprs: &[Expr]) -> Result<Scalars> {
        self.refuse_found(exprs)?;
        let (mut values, mut computed) = (Vec::new(), Vec::new());
        for expr in exprs {
            // Arrays are values of rows: their elements are nobody's but a program's.
            let expr = for_rows(expr.clone());
            match &expr.kind {
                ExprKind::Slot(slot) if slot.0 >= FIRST_PARAMETER => {
                    values.push(Scalar::Slot(*slot));
                }
                _ => {
                    values.push(Scalar::Computed(computed.len()));
                    computed.push(expr);
                }
            }
        }
        if computed.is_empty() {
            return Ok(Scalars { values, program: None });
        }
        let mut renumbering = Renumbering::new(&self.slots);
        computed.iter().for_each(|expr| renumbering.note(expr));
        let result = computed.iter().map(|expr| ResultColumn::new(String::new(), expr.data_type()));
        let result = result.collect();
        let values_of = computed.into_iter().map(|expr| renumbering.expr(expr)).collect();
        let kind = StatementKind::Return(values_of);
        let Renumbering { slots, inputs, .. } = renumbering;
        let types = inputs.iter().map(|slot| self.slot_type(*slot)).collect();
        let procedure = Procedure {
            name: String::new(),
            parameters: inputs.len() as u16,
            defaults: Vec::new(),
            draws: Vec::new(),
            slots,
            body: vec![Statement { kind, place: self.place }],
            result,
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
        };
        let program = lower(self.catalog, &procedure)?;
        Ok(Scalars { values, program: Some(Box::new(ScalarProgram { inputs, types, program })) })
    }

    /// Rows for which all conditions are true.
    pub(super) fn filtered(&mut self, input: Plan, conditions: Vec<Expr>) -> Result<Plan> {
        match joined(conditions, ExprKind::And) {
            None => Ok(input),
            Some(condition) => {
                let condition = self.scalars(&[condition])?;
                Ok(Plan::Filter { input: Box::new(input), condition })
            }
        }
    }

    /// The slots of the innermost level's relations that an expression reads.
    pub(super) fn level_slots(&self, expr: &Expr) -> Vec<SlotId> {
        let mut read = Vec::new();
        expr_slots(expr, &mut |slot| read.push(slot));
        self.of_level(read)
    }

    pub(super) fn of_level(&self, mut slots: Vec<SlotId>) -> Vec<SlotId> {
        let level = self.levels.last().expect("a query is being compiled");
        let own: Vec<_> =
            level.relations.iter().flat_map(crate::relation::level::Relation::slots).collect();
        slots.retain(|slot| own.contains(slot));
        slots
    }

    fn tree_slots(&self, tree: &Tree) -> Vec<SlotId> {
        let level = self.levels.last().expect("a query is being compiled");
        tree.leaves().into_iter().flat_map(|at| level.relations[at].slots()).collect()
    }

    /// Whether an expression reads something of the level, and of these slots only.
    fn reads_only(&self, expr: &Expr, slots: &[SlotId]) -> bool {
        let read = self.level_slots(expr);
        !read.is_empty() && read.iter().all(|slot| slots.contains(slot))
    }

    /// Rows of a tree for which all conditions are true.
    pub(super) fn assemble(&mut self, tree: Tree, conditions: Vec<Expr>) -> Result<Plan> {
        match tree {
            Tree::Leaf(at) => self.leaf(at, conditions),
            Tree::Inner { items, mut on, late } => {
                on.extend(conditions);
                let plan = extended(self.inner(items, on)?, late.steps);
                self.filtered(plan, late.conditions)
            }
            Tree::Outer { kind, left, right, on, late } => {
                self.outer(kind, (*left, *right), (on, late), conditions)
            }
            Tree::Merged { joined, values, .. } => {
                let input = Box::new(self.assemble(*joined, Vec::new())?);
                let (values, outputs): (Vec<_>, _) = values.into_iter().unzip();
                let scalars = self.scalars(&values)?;
                self.filtered(Plan::Compute { input, scalars, outputs }, conditions)
            }
        }
    }

    fn leaf(&mut self, at: usize, conditions: Vec<Expr>) -> Result<Plan> {
        let plan = self.leaf_rows(at, conditions)?;
        self.with_presence(at, plan)
    }

    /// Rows of a relation with what tells them from those that an outer join makes up, where it is
    /// asked for.
    fn with_presence(&mut self, at: usize, plan: Plan) -> Result<Plan> {
        let Some(presence) = self.level().relations[at].presence else { return Ok(plan) };
        let scalars = self.scalars(&[truth(true)])?;
        Ok(Plan::Compute { input: Box::new(plan), scalars, outputs: vec![presence] })
    }

    fn leaf_rows(&mut self, at: usize, conditions: Vec<Expr>) -> Result<Plan> {
        match &mut self.level().relations[at].kind {
            RelationKind::Table(_) => self.fetch(at, conditions),
            RelationKind::System(relation) => {
                let relation = *relation;
                let columns = self.level().relations[at].columns.iter().enumerate();
                let outputs = columns.filter_map(|(i, column)| Some((i, column.slot?))).collect();
                self.filtered(Plan::System { relation, outputs }, conditions)
            }
            RelationKind::Planned(plan) => {
                let plan = plan.take().unwrap_or(Plan::One);
                self.filtered(plan, conditions)
            }
        }
    }

    /// What a relation reads of others of its level.
    pub(super) fn needs(&self, tree: &Tree) -> Vec<SlotId> {
        let Tree::Leaf(at) = tree else { return Vec::new() };
        let level = self.levels.last().expect("a query is being compiled");
        match &level.relations[*at].kind {
            RelationKind::Planned(Some(plan)) => self.of_level(plan.free_slots()),
            _ => Vec::new(),
        }
    }

    /// Joins items in an order of our choice.
    fn inner(&mut self, trees: Vec<Tree>, mut conditions: Vec<Expr>) -> Result<Plan> {
        let mut items = Vec::new();
        for tree in trees {
            let slots = self.tree_slots(&tree);
            let mut within = slots.clone();
            if let Tree::Outer { kind, left, .. } = &tree {
                // Rows of the other side may become missing ones above.
                within = if *kind == JoinKind::Left { self.tree_slots(left) } else { Vec::new() };
            } else if let Tree::Merged { .. } = &tree {
                within = Vec::new();
            }
            let own = take(&mut conditions, |condition| self.reads_only(condition, &within));
            let (needs, rank) = (self.needs(&tree), self.rank(&tree, &own));
            items.push(Item { tree, own, slots, needs, rank });
        }
        self.put_off_what_others_find(&mut items, &conditions);
        let mut placed: Vec<SlotId> = Vec::new();
        let mut plan: Option<Plan> = None;
        while !items.is_empty() {
            let at = self.next_item(&items, &conditions, &placed);
            let item = items.remove(at);
            let slots = item.slots.clone();
            plan = Some(match plan {
                None => self.assemble(item.tree, item.own)?,
                Some(left) => self.inner_join(left, &placed, item, &mut conditions)?,
            });
            placed.extend(slots);
            let decided = take(&mut conditions, |condition| self.reads_only(condition, &placed));
            plan = plan.map(|plan| self.filtered(plan, decided)).transpose()?;
        }
        // What is left reads nothing of these relations.
        self.filtered(plan.unwrap_or(Plan::One), conditions)
    }

    /// Of `left = right`: the values on either side of a join.
    pub(super) fn sides(
        &self,
        condition: &Expr,
        left: &[SlotId],
        right: &[SlotId],
    ) -> Option<(Expr, Expr)> {
        let ExprKind::Compare(CompareOp::Equal, one, two) = &condition.kind else { return None };
        for (a, b) in [(one, two), (two, one)] {
            if self.reads_only(a, left) && self.reads_only(b, right) {
                return Some(((**a).clone(), (**b).clone()));
            }
        }
        None
    }

    /// Splits off equalities between both sides of a join.
    fn equalities(
        &mut self,
        conditions: &mut Vec<Expr>,
        left: &[SlotId],
        right: &[SlotId],
    ) -> (Vec<Expr>, Vec<(Expr, Expr)>) {
        let equal = take(conditions, |condition| self.sides(condition, left, right).is_some());
        let sides = equal.iter().filter_map(|c| self.sides(c, left, right)).collect();
        (equal, sides)
    }

    fn both(&mut self, sides: &[(Expr, Expr)]) -> Result<Option<(Scalars, Scalars)>> {
        if sides.is_empty() {
            return Ok(None);
        }
        let (lefts, rights): (Vec<_>, Vec<_>) = sides.iter().cloned().unzip();
        Ok(Some((self.scalars(&lefts)?, self.scalars(&rights)?)))
    }

    fn inner_join(
        &mut self,
        left: Plan,
        placed: &[SlotId],
        item: Item,
        conditions: &mut Vec<Expr>,
    ) -> Result<Plan> {
        let (equal, sides) = self.equalities(conditions, placed, &item.slots);
        let mut keyed = self.keyed(&item.tree, &item.own, &equal, placed)?;
        if let Some(right) = keyed.take_if(|_| self.reads.is_some()) {
            return Ok(Plan::Join(Box::new(by_key(JoinKind::Inner, left, right))));
        }
        let right = self.assemble(item.tree, item.own)?;
        let lateral = !item.needs.is_empty();
        let equal = self.both(&sides)?;
        let kind = JoinKind::Inner;
        let (condition, late) = (None, None);
        let join = Join { kind, left, right, lateral, keyed, equal, condition, late };
        Ok(Plan::Join(Box::new(join)))
    }

    fn outer(
        &mut self,
        kind: JoinKind,
        (left, right): (Tree, Tree),
        (mut on, late): (Vec<Expr>, Late),
        conditions: Vec<Expr>,
    ) -> Result<Plan> {
        let (lefts, rights) = (self.tree_slots(&left), self.tree_slots(&right));
        let mut above = conditions;
        let conditions = match kind {
            JoinKind::Full => Vec::new(),
            _ => take(&mut above, |condition| self.reads_only(condition, &lefts)),
        };
        let own = match kind {
            JoinKind::Full => Vec::new(),
            _ => take(&mut on, |condition| self.reads_only(condition, &rights)),
        };
        let (equal, sides) = self.equalities(&mut on, &lefts, &rights);
        let keyed = match kind {
            JoinKind::Full => None,
            _ => self.keyed(&right, &own, &equal, &lefts)?,
        };
        let lateral = !self.needs(&right).is_empty();
        let left = self.assemble(left, conditions)?;
        let mut join = match keyed {
            Some(right) if self.reads.is_some() => by_key(kind, left, right),
            keyed => {
                let right = self.assemble(right, own)?;
                let equal = self.both(&sides)?;
                let (condition, late) = (None, None);
                Join { kind, left, right, lateral, keyed, equal, condition, late }
            }
        };
        // What reads nothing of the right side only decides about rows of the left one.
        if let Some(condition) = joined(on, ExprKind::And) {
            join.condition = Some(self.scalars(&[condition])?);
        }
        if let Some(condition) = joined(late.conditions, ExprKind::And) {
            let condition = self.scalars(&[condition])?;
            join.late = Some(LateCondition { steps: late.steps, condition });
        }
        self.filtered(Plan::Join(Box::new(join)), above)
    }

    /// The read of a table by keys that rows of the other side give; none if no index does it.
    fn keyed(
        &mut self,
        tree: &Tree,
        own: &[Expr],
        equal: &[Expr],
        others: &[SlotId],
    ) -> Result<Option<Plan>> {
        let Tree::Leaf(at) = *tree else { return Ok(None) };
        let relation = &self.level().relations[at];
        let RelationKind::Table(table) = relation.kind else { return Ok(None) };
        let row = relation.row(table);
        let all: Vec<_> = own.iter().chain(equal).cloned().collect();
        let reads_others = |key: &[Expr]| {
            let mut found = false;
            for expr in key {
                expr_slots(expr, &mut |slot| found = found || others.contains(&slot));
            }
            found
        };
        let is_keyed = match choose(self.catalog, &row, all.clone(), &[]).path {
            Path::Point { key, .. } => reads_others(&key),
            Path::Range { prefix, .. } => reads_others(&prefix),
            Path::Whole | Path::Lists { .. } => false,
        };
        if !is_keyed {
            return Ok(None);
        }
        let plan = self.fetch(at, all)?;
        self.with_presence(at, plan).map(Some)
    }

    /// A one-table read of the columns that somebody wants.
    fn fetch(&mut self, at: usize, conditions: Vec<Expr>) -> Result<Plan> {
        let depth = self.levels.len() - 1;
        if self.level().relations[at].slots().next().is_none() {
            self.slot_of_column(depth, at, 0)?; // rows without columns could not be counted
        }
        let relation = &self.levels[depth].relations[at];
        let RelationKind::Table(table) = relation.kind else { unreachable!("of tables only") };
        let row_locks = self.row_locks_of(relation);
        let row = relation.row(table);
        let none = ReadWish { is_of_operators: true, ..ReadWish::default() };
        let wish = self.level().wish.take().unwrap_or(none);
        if self.reads.is_some() {
            self.refuse_found(&conditions)?;
        }
        let read = self.wished_read(&row, conditions, &wish)?;
        self.level().is_read_in_order = read.is_ordered && !wish.order.is_empty();
        self.level().read_by_parts = wish.by_parts.filter(|_| read.limit.is_some());
        if self.reads.is_some() {
            let outputs = row.bound.iter().map(|(_, slot)| *slot).collect();
            let (fetch, inputs) = self.procedure_read(row, read)?;
            return Ok(Plan::Fetch { fetch, inputs, outputs });
        }
        let WishedRead { chosen, limit, .. } = read;
        let mut renumbering = Renumbering::new(&self.slots);
        let own: Vec<SlotId> = row.bound.iter().map(|(_, slot)| *slot).collect();
        // Parameters come first: what is read and no column of this table.
        let mut note = |expr: &Expr| {
            expr_slots(expr, &mut |slot| {
                if slot.0 >= FIRST_PARAMETER
                    && !own.contains(&slot)
                    && !renumbering.known.contains_key(&slot)
                {
                    renumbering.inputs.push(slot);
                    renumbering.add(slot);
                }
            });
        };
        chosen.filter.iter().chain(&limit).for_each(&mut note);
        path_exprs(&chosen.path).into_iter().for_each(&mut note);
        let bind = renumbering.bind(&row);
        let path = renumbered_path(chosen.path, &renumbering);
        let filter = chosen.filter.map(|filter| renumbering.expr(filter));
        let most = limit.map(|limit| renumbering.expr(limit));
        let Renumbering { slots, inputs, .. } = renumbering;
        let parameters = (slots, inputs.len());
        let fetch = self.add_fetch(&row, (path, bind, filter), parameters, (row_locks, most));
        Ok(Plan::Fetch { fetch, inputs, outputs: own })
    }

    /// Adds a read of a table to those of the query: all that is bound, by this path, filtered.
    /// Among its slots the parameters come first. Its number.
    pub(super) fn add_fetch(
        &mut self,
        row: &Row,
        (path, bind, filter): (Path, Vec<(ColumnId, SlotId)>, Option<Expr>),
        (slots, parameters): (Vec<Slot>, usize),
        (row_locks, most): (RowLocks, Option<Expr>),
    ) -> usize {
        let (mut columns, mut result) = (Vec::new(), Vec::new());
        for &(column, slot) in &bind {
            let sql_type = slots[slot.index()].sql_type;
            columns.push(Expr { kind: ExprKind::Slot(slot), sql_type });
            let name = row.columns[column.index()].name.clone();
            result.push(ResultColumn::new(name, sql_type.packed()));
        }
        let effect = Effect::Read(Consume::first_rows(RowsTo::Result, columns, most));
        let access = Access { table: row.table, path, bind, filter, effect };
        let kind = StatementKind::Access(Box::new(access));
        self.fetches.push(Procedure {
            name: String::new(),
            parameters: parameters as u16,
            defaults: Vec::new(),
            draws: Vec::new(),
            slots,
            body: vec![Statement { kind, place: self.place }],
            result,
            returns_set: true,
            row_sets: 0,
            row_locks,
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
        });
        self.fetches.len() - 1
    }

    /// Appends the values of expressions; those that are slots already stay what they are.
    pub(super) fn computed(&mut self, input: Plan, exprs: &[Expr]) -> Result<(Plan, Vec<SlotId>)> {
        let (mut slots, mut new, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        let mut known: Vec<(Expr, SlotId)> = Vec::new();
        for expr in exprs {
            let expr = for_rows(expr.clone());
            match expr.kind {
                ExprKind::Slot(slot) if slot.0 >= FIRST_PARAMETER => slots.push(slot),
                _ => {
                    // Of a select list and ORDER BY: what is written alike is one value.
                    if let Some((_, slot)) = known.iter().find(|(written, _)| *written == expr) {
                        slots.push(*slot);
                        continue;
                    }
                    let slot = self.temporary("computed", expr.data_type())?;
                    slots.push(slot);
                    outputs.push(slot);
                    new.push(expr.clone());
                    known.push((expr, slot));
                }
            }
        }
        if new.is_empty() {
            return Ok((input, slots));
        }
        let scalars = self.scalars(&new)?;
        Ok((Plan::Compute { input: Box::new(input), scalars, outputs }, slots))
    }
}

/// A join that finds its right rows by key, whatever the number of left ones: in a procedure a read
/// of the whole table would have each call hold it.
fn by_key(kind: JoinKind, left: Plan, right: Plan) -> Join {
    let (keyed, equal, condition, late) = (None, None, None, None);
    Join { kind, left, right, lateral: true, keyed, equal, condition, late }
}

fn path_exprs(path: &Path) -> Vec<&Expr> {
    match path {
        Path::Point { key, .. } => key.iter().collect(),
        Path::Range { prefix, lower, upper, .. } => {
            let ends = lower.iter().chain(upper).map(|end| &end.value);
            prefix.iter().chain(ends).collect()
        }
        Path::Whole | Path::Lists { .. } => Vec::new(),
    }
}

fn renumbered_path(path: Path, renumbering: &Renumbering<'_>) -> Path {
    let all = |exprs: Vec<Expr>| exprs.into_iter().map(|e| renumbering.expr(e)).collect();
    let end = |end: Option<RangeEnd>| {
        end.map(|RangeEnd { value, inclusive }| RangeEnd {
            value: renumbering.expr(value),
            inclusive,
        })
    };
    match path {
        Path::Point { index, key } => Path::Point { index, key: all(key) },
        Path::Range { index, prefix, lower, upper, descending } => Path::Range {
            index,
            prefix: all(prefix),
            lower: end(lower),
            upper: end(upper),
            descending,
        },
        Path::Whole | Path::Lists { .. } => path, // no joined table is read through lists
    }
}
