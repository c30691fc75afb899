//! ORDER BY, LIMIT and OFFSET.

use hotrow_query::{Plan, SortKey};
use hotrow_transaction::program::{Expr, Place, SlotId};
use sqlparser::ast::{self, SetExpr};

use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::relation::level::Bound;
use crate::scope::Compiler;
use crate::typing::order_of;
use crate::written::ident_name;

use super::group::sort_key;
use super::select::extended;

/// What stands around the body of a query.
pub(super) struct Around<'q> {
    pub(super) order_by: Vec<&'q ast::OrderByExpr>,
    pub(super) limit: Option<&'q ast::Expr>,
    pub(super) offset: Option<&'q ast::Expr>,
}

impl Compiler<'_> {
    /// ORDER BY: names and numbers of the select list, or expressions.
    pub(super) fn order_keys(
        &mut self,
        keys: &[&ast::OrderByExpr],
        columns: &[(String, Expr)],
    ) -> Result<Vec<(Expr, SortKey)>> {
        let mut all = Vec::new();
        for key in keys {
            let place = place_in(&key.expr, self.place);
            let value = match self.listed(&key.expr, columns, "ORDER BY", place)? {
                Some(value) => value,
                None => self.row_expr(&key.expr)?,
            };
            let value = order_of(value);
            let of = value.sql_type;
            all.push((value, sort_key(SlotId(0), of, key, place)?));
        }
        Ok(all)
    }

    /// What a name or number of the select list stands for.
    pub(super) fn listed(
        &self,
        written: &ast::Expr,
        columns: &[(String, Expr)],
        clause: &str,
        place: Place,
    ) -> Result<Option<Expr>> {
        match written {
            ast::Expr::Identifier(ident) => {
                let name = ident_name(ident);
                let mut named = columns.iter().filter(|(column, _)| *column == name);
                let first = named.next();
                if first.is_some_and(|first| named.any(|other| other.1 != first.1)) {
                    let message = format!("{clause} \"{name}\" is ambiguous");
                    return Err(error(b"42702", place, message));
                }
                Ok(first.map(|(_, value)| value.clone()))
            }
            ast::Expr::Value(value) => {
                let ast::Value::Number(digits, _) = &value.value else {
                    return Err(syntax(place, format!("non-integer constant in {clause}")));
                };
                let at = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let column = at.and_then(|at| columns.get(at)).ok_or_else(|| {
                    let message = format!("{clause} position {digits} is not in select list");
                    error(b"42P10", place, message)
                })?;
                Ok(Some(column.1.clone()))
            }
            _ => Ok(None),
        }
    }

    /// ORDER BY and LIMIT behind what is no SELECT: names are those of the result's columns, and
    /// behind set operations there are no expressions.
    pub(super) fn ordered(
        &mut self,
        bound: Bound,
        around: &Around<'_>,
        (body, place): (&SetExpr, Place),
    ) -> Result<Bound> {
        let counts = self.row_counts(around)?;
        let Bound { plan, outputs } = bound;
        let columns = outputs.iter().map(|(name, slot)| (name.clone(), self.slot_expr(*slot)));
        let columns: Vec<_> = columns.collect();
        let result = Bound { plan: Plan::One, outputs: outputs.clone() };
        let result = self.planned(String::new(), &[], result, place)?;
        self.level().relations.push(result);
        let keys = self.order_keys(&around.order_by, &columns)?;
        let is_column = |value: &Expr| columns.iter().any(|(_, column)| column == value);
        if matches!(body, SetExpr::SetOperation { .. })
            && !keys.iter().all(|(value, _)| is_column(value))
        {
            return Err(error(b"0A000", place, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Move the UNION into a FROM clause."));
        }
        let steps = std::mem::take(&mut self.level().steps);
        let values: Vec<Expr> = keys.iter().map(|(value, _)| value.clone()).collect();
        let (plan, computed) = self.computed(extended(plan, steps), &values)?;
        let keys = keys.iter().zip(computed).map(|((_, key), slot)| SortKey { slot, ..*key });
        let plan = self.limited(sorted(plan, keys.collect()), counts)?;
        Ok(Bound { plan: self.behind_given(plan), outputs })
    }

    /// LIMIT and OFFSET, which read no row of the query.
    pub(super) fn row_counts(&mut self, around: &Around<'_>) -> Result<[Option<Expr>; 2]> {
        let mut counts = [None, None];
        for (count, (written, clause)) in
            counts.iter_mut().zip([(around.limit, "LIMIT"), (around.offset, "OFFSET")])
        {
            let Some(written) = written else { continue };
            let value = self.row_count(written, clause)?;
            self.hoist();
            if !self.level().steps.is_empty() || !self.level_slots(&value).is_empty() {
                let message = format!("argument of {clause} must not contain variables");
                return Err(error(b"42P10", place_in(written, self.place), message));
            }
            *count = Some(value);
        }
        Ok(counts)
    }

    pub(super) fn limited(
        &mut self,
        plan: Plan,
        [limit, offset]: [Option<Expr>; 2],
    ) -> Result<Plan> {
        if limit.is_none() && offset.is_none() {
            return Ok(plan);
        }
        let mut scalars = |count: Option<Expr>| count.map(|c| self.scalars(&[c])).transpose();
        let (limit, offset) = (scalars(limit)?, scalars(offset)?);
        Ok(Plan::Limit { input: Box::new(plan), limit, offset })
    }
}

pub(super) fn sorted(plan: Plan, keys: Vec<SortKey>) -> Plan {
    if keys.is_empty() { plan } else { Plan::Sort { input: Box::new(plan), keys } }
}

/// ORDER BY, LIMIT and OFFSET of a query.
pub(super) fn around(query: &ast::Query, place: Place) -> Result<Around<'_>> {
    let order_by = match query.order_by.as_ref().map(|order| &order.kind) {
        None => Vec::new(),
        Some(ast::OrderByKind::Expressions(keys)) => keys.iter().collect(),
        Some(ast::OrderByKind::All(_)) => {
            return Err(unsupported(place, "ORDER BY ALL", "name the columns"));
        }
    };
    let (mut limit, mut offset) = (None, None);
    match &query.limit_clause {
        None => {}
        Some(ast::LimitClause::LimitOffset { limit: count, offset: skipped, .. }) => {
            limit = count.as_ref();
            offset = skipped.as_ref().map(|skipped| &skipped.value);
        }
        Some(ast::LimitClause::OffsetCommaLimit { .. }) => {
            return Err(unsupported(place, "LIMIT a, b", "write LIMIT b OFFSET a"));
        }
    }
    let other = !query.pipe_operators.is_empty()
        || query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some();
    if other {
        return Err(syntax(place, "this form of SELECT is not PostgreSQL's"));
    }
    if let Some(fetch) = &query.fetch {
        if fetch.percent || fetch.with_ties || fetch.quantity.is_none() {
            return Err(unsupported(place, "this form of FETCH", "write LIMIT"));
        }
        limit = fetch.quantity.as_ref();
    }
    Ok(Around { order_by, limit, offset })
}
