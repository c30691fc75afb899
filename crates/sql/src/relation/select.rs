//! A SELECT: from its clauses to operators.
//!
//! Role         compiles all expressions first, each against what is in scope where it stands, and
//!              then stacks the operators: FROM and WHERE, groups, HAVING, windows, functions that
//!              give rows, select list, DISTINCT, ORDER BY, LIMIT

use std::rc::Rc;

use hotrow_base::stack::deeper;
use hotrow_query::{Plan, SortKey, Step};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, Place, SlotId};
use hotrow_transaction::walk;
use sqlparser::ast::{self, SetExpr};

use crate::error::{Advice, Result, error, exhausted, place_in, syntax, unsupported};
use crate::path::conjuncts;
use crate::relation::level::{
    AskedAggregates, AskedWindow, Bound, Common, Expansion, Level, Relation, RelationKind, extended,
};
use crate::scope::Compiler;
use crate::typing::check_equality;
use crate::written::ident_name;

use super::from::Tree;
use super::grouping::Grouping;
use super::lists::{self, Compared};
use super::locks;
use super::one_access::{Rows, Wanted};
use super::order::{Around, Listed, around, sorted};
use super::put_off::PutOff;

/// Queries one in the other.
const QUERIES_MAX: usize = 64;

/// WHERE, compiled.
#[derive(Default)]
pub(super) struct Where {
    /// conditions on relations
    pub(super) conditions: Vec<Expr>,
    /// and on what steps give
    pub(super) late: Vec<Expr>,
    pub(super) steps: Vec<Step>,
}

impl Where {
    /// What is wanted, too.
    pub(super) fn extend(&mut self, other: Self) {
        self.conditions.extend(other.conditions);
        self.late.extend(other.late);
        self.steps.extend(other.steps);
    }
}

impl Compiler<'_> {
    /// Rows of a query and the names of its columns.
    pub(crate) fn query_plan(&mut self, query: &ast::Query) -> Result<Bound> {
        match self.bound_rows(query, None)? {
            Rows::Operators(bound) => Ok(bound),
            Rows::Access(_) => unreachable!("nobody asked for one"),
        }
    }

    /// Binds a query; where one access gives the rows that are `wanted` of it, as that.
    pub(super) fn bound_rows(
        &mut self,
        query: &ast::Query,
        wanted: Option<Wanted>,
    ) -> Result<Rows<Bound>> {
        if self.levels_around + self.levels.len() >= QUERIES_MAX {
            return Err(crate::error::too_complex(self.place, "queries are nested too deeply")
                .hint("write parts of it as statements of their own"));
        }
        self.part()?;
        self.levels.push(Level::default());
        let bound = deeper(|| self.query_inside(query, wanted));
        self.levels.pop();
        bound.map_err(|_| exhausted(self.place))?
    }

    fn query_inside(&mut self, query: &ast::Query, wanted: Option<Wanted>) -> Result<Rows<Bound>> {
        let place = place_in(query, self.place);
        if let Some(with) = &query.with {
            self.with(with, place)?;
        }
        let around = around(query, place)?;
        let mut body = &*query.body;
        while let SetExpr::Query(inner) = body
            && is_bare(inner)
        {
            body = &inner.body; // brackets alone
        }
        match body {
            SetExpr::Select(select) => {
                if self.reads.is_some() && !self.ad_hoc {
                    locks::refuse_not_waiting(query, place)?;
                }
                self.level().locks = locks::clauses(query)?;
                let select = self.bind_select(select, &around)?;
                match wanted.is_some_and(|wanted| self.is_one_access(&select, wanted)) {
                    true => self.one_access(select).map(|of| Rows::Access(Box::new(of))),
                    false => self.assembled(select).map(Rows::Operators),
                }
            }
            SetExpr::Query(inner) if is_bare(query) => self.query_inside(inner, wanted),
            body => {
                locks::refuse_with(query, "UNION/INTERSECT/EXCEPT", place)?;
                let bound = self.body_plan(body, place)?;
                self.ordered(bound, &around, (body, place)).map(Rows::Operators)
            }
        }
    }

    pub(super) fn with(&mut self, with: &ast::With, place: Place) -> Result<()> {
        for cte in &with.cte_tables {
            if matches!(
                &*cte.query.body,
                SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
            ) {
                let message =
                    "WITH clause containing a data-modifying statement must be at the top level";
                return Err(error(b"0A000", place, message));
            }
            let depth = self.levels.len() - 1;
            let name = ident_name(&cte.alias.name);
            let columns = cte.alias.columns.iter().map(|column| ident_name(&column.name)).collect();
            let query = Rc::new((*cte.query).clone());
            let number = self.level().common.len();
            if self.level().common.iter().any(|known| known.name == name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                return Err(error(b"42712", place, message));
            }
            let recursive = with.recursive;
            let (shared, within) = (self.shared_number(&query, place)?, None);
            let known = Common { name, columns, query, depth, number, shared, recursive, within };
            self.level().common.push(known);
        }
        Ok(())
    }

    /// A part of a set operation, or the body of a query that is no SELECT.
    pub(super) fn body_plan(&mut self, body: &SetExpr, place: Place) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => {
                self.levels.push(Level::default());
                let none =
                    Around { order_by: Vec::new(), limit: None, offset: None, with_ties: false };
                let select = self.bind_select(select, &none);
                let bound = select.and_then(|select| self.assembled(select));
                self.levels.pop();
                bound
            }
            SetExpr::Query(query) => self.query_plan(query),
            SetExpr::SetOperation { op, set_quantifier, left, right } => {
                self.set_plan(*op, *set_quantifier, (left, right), place)
            }
            SetExpr::Values(values) => self.values_plan(values, place),
            SetExpr::Table(table) => {
                let name = table.table_name.as_deref().unwrap_or_default();
                Err(unsupported(place, "TABLE", format!("write SELECT * FROM {name}")))
            }
            _ => Err(unsupported(place, "this query", "write SELECT, VALUES or a set operation")),
        }
    }

    /// Binds a SELECT: relations, and all expressions against what is in scope where they stand.
    pub(super) fn bind_select(
        &mut self,
        select: &ast::Select,
        around: &Around<'_>,
    ) -> Result<BoundSelect> {
        let place = place_in(select, self.place);
        refuse(select, place)?;
        let mut tree = self.bind_from(&select.from)?;
        self.need_locks()?;
        self.check_locks(place)?;
        let wanted = self.wanted(select.selection.as_ref(), &mut tree)?;
        self.level().has_group_by = !matches!(
            &select.group_by,
            ast::GroupByExpr::Expressions(keys, more) if keys.is_empty() && more.is_empty()
        );
        self.level().aggregates = Some(AskedAggregates::default());
        self.level().windows = Some(Vec::new());
        self.named_windows(&select.named_window, place)?;
        let columns = self.listed_columns(&select.projection)?;
        let having = match &select.having {
            Some(written) => Some(self.condition(written, "HAVING")?),
            None => None,
        };
        let (distinct, distinct_on) = self.distinct_on(select, &columns)?;
        let order = self.order_keys(&around.order_by, &columns)?;
        let asked = self.level().aggregates.take().unwrap_or_default();
        let windows = self.level().windows.take().unwrap_or_default();
        let steps = std::mem::take(&mut self.level().steps);
        let keys = self.group_keys(&select.group_by, &columns, place)?;
        let is_aggregate = |slot| asked.aggregates.iter().any(|asked| asked.output == slot);
        if keys.exprs.iter().any(|key| walk::reads_any(key, is_aggregate)) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(error(b"42803", place, message));
        }
        let key_steps = std::mem::take(&mut self.level().steps);
        let counts = self.row_counts(around)?;
        let is_grouped = keys.groups() || asked.groups() || having.is_some();
        self.refuse_locks(
            &[
                ("DISTINCT clause", !matches!(distinct, Distinct::No)),
                ("GROUP BY clause or aggregate functions", is_grouped),
                ("window functions", !windows.is_empty()),
            ],
            place,
        )?;
        Ok(BoundSelect {
            place,
            tree,
            wanted,
            columns,
            having,
            distinct,
            distinct_on,
            order,
            asked,
            windows,
            steps,
            keys,
            key_steps,
            counts,
            with_ties: around.with_ties,
            is_grouped,
        })
    }

    /// Operators for a SELECT.
    pub(super) fn assembled(&mut self, select: BoundSelect) -> Result<Bound> {
        self.level().wish = self.wish_of(&select)?;
        let BoundSelect { place, tree, wanted, mut columns, having, distinct, is_grouped, .. } =
            select;
        let BoundSelect { distinct_on, order, asked, mut windows, steps, keys, counts, .. } =
            select;
        let mut having = conjuncts(having);
        let mut plan = self.narrowed(tree, wanted)?;
        let is_in_order = std::mem::take(&mut self.level().is_read_in_order);
        let expanding = std::mem::take(&mut self.level().expanding);
        let of_keys = |one: &Expansion| {
            keys.exprs.iter().any(|key| walk::reads_any(key, |slot| one.outputs.contains(&slot)))
        };
        // What rows are grouped by, each of them has before they are.
        let (below, expanding): (Vec<_>, Vec<_>) =
            expanding.into_iter().partition(|one| is_grouped && of_keys(one));
        let below = self.expansion_steps(below)?;
        let expansions = self.expansion_steps(expanding)?;
        let mut order_exprs: Vec<Expr> = order.iter().map(|(of, _)| of.value.clone()).collect();
        let named =
            order.iter().map(|(of, _)| of.column).chain(distinct_on.iter().map(|of| of.column));
        let named: Vec<Option<usize>> = named.collect();
        let mut distinct_on: Vec<Expr> = distinct_on.into_iter().map(|of| of.value).collect();
        let mut list: Vec<Expr> = columns.iter().map(|(_, value)| value.clone()).collect();
        if is_grouped {
            plan = extended(extended(plan, select.key_steps), below);
            let mut all =
                [list, having, order_exprs, distinct_on].map(|exprs| (exprs.len(), exprs));
            let mut flat: Vec<Expr> = all.iter_mut().flat_map(|(_, e)| std::mem::take(e)).collect();
            // Where the columns that ORDER BY and DISTINCT ON name stand among all of them.
            let from = flat.len() - named.len();
            let named = named.into_iter().enumerate();
            let places = named.filter_map(|(at, column)| Some((from + at, column?)));
            let places: Vec<_> = (0..columns.len()).map(|at| (at, at)).chain(places).collect();
            plan = self.grouped(plan, keys, asked, (&mut flat, &places), (&steps, &mut windows))?;
            let mut flat = flat.into_iter();
            [list, having, order_exprs, distinct_on] =
                all.map(|(count, _)| flat.by_ref().take(count).collect());
        }
        let is_cut = counts.iter().any(Option::is_some);
        let is_put_off = match distinct {
            Distinct::All => false,
            Distinct::No => is_cut || !order.is_empty(),
            Distinct::On => !order.is_empty(),
        };
        let before: Vec<&Expr> = having.iter().chain(&order_exprs).chain(&distinct_on).collect();
        let behind = match is_put_off {
            true => PutOff::of(steps, expansions, (&before, &windows)),
            false => PutOff { early: (steps, expansions), ..PutOff::default() },
        };
        let (steps, expansions) = behind.early;
        plan = extended(plan, steps);
        plan = self.filtered(plan, having)?;
        for window in windows {
            plan = self.windowed(plan, window)?;
        }
        plan = extended(plan, expansions);
        for ((_, column), value) in columns.iter_mut().zip(&list) {
            *column = value.clone();
        }
        let late: Vec<SlotId> = behind.late.iter().flat_map(|step| step.outputs.clone()).collect();
        let reads_late = |value: &Expr| walk::reads_any(value, |slot| late.contains(&slot));
        let are_late: Vec<bool> = list.iter().map(reads_late).collect();
        let (late_list, list): (Vec<_>, Vec<_>) = list.into_iter().partition(reads_late);
        let count = list.len();
        let keys_at = count + order_exprs.len();
        let all: Vec<_> = list.into_iter().chain(order_exprs).chain(distinct_on).collect();
        let (computed, slots) = self.computed(plan, &all)?;
        plan = computed;
        let order: Vec<SortKey> = order
            .iter()
            .zip(&slots[count..keys_at])
            .map(|((_, key), slot)| SortKey { slot: *slot, ..*key })
            .collect();
        let ties = if select.with_ties { order.clone() } else { Vec::new() };
        plan = match distinct {
            Distinct::No if is_in_order => plan,
            Distinct::No => sorted(plan, order),
            Distinct::All => {
                let on: Vec<SlotId> = slots[..count].to_vec(); // nothing is late
                on.iter().try_for_each(|slot| check_equality(self.slot_type(*slot), place))?;
                if order.iter().any(|key| !on.contains(&key.slot)) {
                    return Err(unlisted_order(place));
                }
                sorted(Plan::Distinct { input: Box::new(plan), on }, order)
            }
            Distinct::On => {
                let on = slots[keys_at..].to_vec();
                let first = order.iter().take(on.len());
                if first.clone().any(|key| !on.contains(&key.slot)) {
                    let message =
                        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    return Err(error(b"42P10", place, message));
                }
                Plan::Distinct { input: Box::new(sorted(plan, order)), on }
            }
        };
        plan = self.locked(plan)?;
        // Nothing is computed for rows that LIMIT leaves out, unless it makes rows of one.
        let is_cut_last = behind.gives_rows;
        let mut cut = Some((counts, ties));
        if let Some((counts, ties)) = cut.take_if(|_| !is_cut_last) {
            plan = self.limited(plan, counts, ties)?;
        }
        let (mut plan, late_slots) = self.computed(extended(plan, behind.late), &late_list)?;
        if let Some((counts, ties)) = cut {
            plan = self.limited(plan, counts, ties)?;
        }
        let (mut early, mut late) = (slots.into_iter(), late_slots.into_iter());
        let slots = are_late.into_iter().filter_map(|is_late| match is_late {
            true => late.next(),
            false => early.next(),
        });
        let outputs = columns.into_iter().map(|(name, _)| name).zip(slots).collect();
        Ok(Bound { plan: self.behind_given(plan), outputs })
    }

    /// A plan of the level behind what is computed once before it.
    pub(super) fn behind_given(&mut self, plan: Plan) -> Plan {
        match std::mem::take(&mut self.level().given) {
            steps if steps.is_empty() => plan,
            steps => Plan::Given { steps, input: Box::new(plan) },
        }
    }

    /// Takes out the steps that read nothing of the level's rows: they are computed once, and what
    /// they give is known to whoever reads tables, as a parameter is.
    pub(super) fn hoist(&mut self) {
        let mut later: Vec<Step> = Vec::new();
        for step in std::mem::take(&mut self.level().steps) {
            let inputs = step.inputs();
            let waits = later.iter().any(|l| l.outputs.iter().any(|slot| inputs.contains(slot)));
            let level = self.level();
            let reads =
                level.relations.iter().flat_map(Relation::slots).any(|s| inputs.contains(&s));
            if reads || waits || step.is_volatile() {
                later.push(step);
            } else {
                level.given.push(step);
            }
        }
        self.level().steps = later;
    }

    /// WHERE; what is a subquery that rows of the level do not decide joins them.
    pub(super) fn wanted(
        &mut self,
        selection: Option<&ast::Expr>,
        tree: &mut Tree,
    ) -> Result<Where> {
        let Some(written) = selection else { return Ok(Where::default()) };
        let parts = lists::parts(written);
        let compared = Compared::of(parts.iter().copied());
        let mut found = Where::default();
        let has_paths = self.has_paths_through_lists();
        for part in parts {
            let stays = has_paths && !matches!(part, ast::Expr::InSubquery { .. });
            let joined = if stays { None } else { self.semi_join(part, tree, &compared)? };
            let condition = match joined {
                Some(condition) => condition,
                None => self.condition(part, "WHERE")?,
            };
            self.hoist();
            let steps = std::mem::take(&mut self.level().steps);
            if steps.is_empty() {
                found.conditions.extend(conjuncts(Some(condition)));
            } else {
                found.steps.extend(steps);
                found.late.push(condition);
            }
        }
        Ok(found)
    }

    /// Whether lists of keys are left to the path of the one table: that of a procedure goes
    /// through them.
    fn has_paths_through_lists(&self) -> bool {
        let [level] = self.levels.as_slice() else { return false };
        let is_one = matches!(level.relations.as_slice(), [one] if is_table(one));
        is_one && self.levels_around == 0 && self.reads.is_some() && !self.ad_hoc
    }

    /// Rows of FROM for which WHERE is true.
    fn narrowed(&mut self, tree: Tree, wanted: Where) -> Result<Plan> {
        let plan = self.assemble(tree, wanted.conditions)?;
        let plan = extended(plan, wanted.steps);
        self.filtered(plan, wanted.late)
    }

    fn distinct_on(
        &mut self,
        select: &ast::Select,
        columns: &[(String, Expr)],
    ) -> Result<(Distinct, Vec<Listed>)> {
        match &select.distinct {
            None | Some(ast::Distinct::All) => Ok((Distinct::No, Vec::new())),
            Some(ast::Distinct::Distinct) => Ok((Distinct::All, Vec::new())),
            Some(ast::Distinct::On(keys)) => {
                let mut values = Vec::new();
                for key in keys {
                    let place = place_in(key, self.place);
                    values.push(self.listed_or_new(key, columns, "DISTINCT ON", place)?);
                }
                Ok((Distinct::On, values))
            }
        }
    }
}

/// A SELECT whose relations and expressions are bound, before it is decided what computes it.
pub(super) struct BoundSelect {
    pub(super) place: Place,
    pub(super) tree: Tree,
    pub(super) wanted: Where,
    /// names and values of the select list
    pub(super) columns: Vec<(String, Expr)>,
    pub(super) having: Option<Expr>,
    pub(super) distinct: Distinct,
    pub(super) distinct_on: Vec<Listed>,
    pub(super) order: Vec<(Listed, SortKey)>,
    pub(super) asked: AskedAggregates,
    pub(super) windows: Vec<AskedWindow>,
    /// what the select list, HAVING and ORDER BY need first
    pub(super) steps: Vec<Step>,
    pub(super) keys: Grouping,
    /// what the keys need first
    pub(super) key_steps: Vec<Step>,
    /// LIMIT and OFFSET
    pub(super) counts: [Option<Expr>; 2],
    /// FETCH FIRST ... WITH TIES
    pub(super) with_ties: bool,
    /// whether its rows are groups
    pub(super) is_grouped: bool,
}

impl BoundSelect {
    /// Values of rows as FROM and WHERE give them.
    pub(super) fn ungrouped(
        place: Place,
        (tree, wanted): (Tree, Where),
        (columns, steps): (Vec<(String, Expr)>, Vec<Step>),
    ) -> Self {
        Self {
            place,
            tree,
            wanted,
            columns,
            having: None,
            distinct: Distinct::No,
            distinct_on: Vec::new(),
            order: Vec::new(),
            asked: AskedAggregates::default(),
            windows: Vec::new(),
            steps,
            keys: Grouping::default(),
            key_steps: Vec::new(),
            counts: [None, None],
            with_ties: false,
            is_grouped: false,
        }
    }
}

/// DISTINCT.
#[derive(PartialEq, Eq)]
pub(super) enum Distinct {
    No,
    All,
    On,
}

/// ORDER BY of what DISTINCT leaves out.
pub(super) fn unlisted_order(place: Place) -> SqlError {
    let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
    error(b"42P10", place, message)
}

/// Whether a query is nothing but its body.
fn is_bare(query: &ast::Query) -> bool {
    let ast::Query { with, order_by, limit_clause, fetch, locks, .. } = query;
    with.is_none()
        && order_by.is_none()
        && limit_clause.is_none()
        && fetch.is_none()
        && locks.is_empty()
}

fn is_table(relation: &Relation) -> bool {
    matches!(relation.kind, RelationKind::Table(_))
}

fn refuse(select: &ast::Select, place: Place) -> Result<()> {
    if select.into.is_some() {
        return Err(unsupported(place, "SELECT INTO", "write CREATE TABLE and INSERT ... SELECT"));
    }
    let other = select.top.is_some()
        || select.qualify.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some();
    if other {
        return Err(syntax(place, "this form of SELECT is not PostgreSQL's"));
    }
    Ok(())
}
