//! ORDER BY, LIMIT and OFFSET.

use std::sync::LazyLock;

use hotrow_base::types::SqlType;
use hotrow_query::{Plan, SortKey};
use hotrow_transaction::program::{Expr, Place, SlotId};
use sqlparser::ast::{self, SetExpr};

use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::relation::level::Bound;
use crate::scope::Compiler;
use crate::typing::{check_order, order_of};
use crate::written::ident_name;

use super::level::extended;

/// What stands around the body of a query.
pub(super) struct Around<'q> {
    pub(super) order_by: Vec<&'q ast::OrderByExpr>,
    pub(super) limit: Option<&'q ast::Expr>,
    pub(super) offset: Option<&'q ast::Expr>,
    /// FETCH FIRST ... WITH TIES
    pub(super) with_ties: bool,
}

/// A value that rows are ordered by or told apart by.
pub(super) struct Listed {
    pub(super) value: Expr,
    /// the column of the select list that was named
    pub(super) column: Option<usize>,
}

impl Compiler<'_> {
    /// ORDER BY: names and numbers of the select list, or expressions.
    pub(super) fn order_keys(
        &mut self,
        keys: &[&ast::OrderByExpr],
        columns: &[(String, Expr)],
    ) -> Result<Vec<(Listed, SortKey)>> {
        let mut all = Vec::new();
        for key in keys {
            let place = place_in(&key.expr, self.place);
            let mut listed = self.listed_or_new(&key.expr, columns, "ORDER BY", place)?;
            listed.value = order_of(listed.value);
            let of = listed.value.sql_type;
            all.push((listed, sort_key(SlotId(0), of, key, place)?));
        }
        Ok(all)
    }

    /// What a name or number of the select list stands for, or else an expression of its own.
    pub(super) fn listed_or_new(
        &mut self,
        written: &ast::Expr,
        columns: &[(String, Expr)],
        clause: &str,
        place: Place,
    ) -> Result<Listed> {
        let column = self.listed(written, columns, clause, place)?;
        let value = match column {
            Some(at) => columns[at].1.clone(),
            None => self.row_expr(written)?,
        };
        Ok(Listed { value, column })
    }

    /// Which column of the select list a name or a number stands for.
    pub(super) fn listed(
        &self,
        written: &ast::Expr,
        columns: &[(String, Expr)],
        clause: &str,
        place: Place,
    ) -> Result<Option<usize>> {
        match written {
            ast::Expr::Identifier(ident) => {
                let name = ident_name(ident);
                let mut named = columns.iter().enumerate().filter(|(_, (of, _))| *of == name);
                let first = named.next();
                if first.is_some_and(|(_, first)| named.any(|(_, other)| other.1 != first.1)) {
                    let message = format!("{clause} \"{name}\" is ambiguous");
                    return Err(error(b"42702", place, message));
                }
                Ok(first.map(|(at, _)| at))
            }
            ast::Expr::Value(value) => {
                let ast::Value::Number(digits, _) = &value.value else {
                    return Err(syntax(place, format!("non-integer constant in {clause}")));
                };
                let at = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let at = at.filter(|at| *at < columns.len()).ok_or_else(|| {
                    let message = format!("{clause} position {digits} is not in select list");
                    error(b"42P10", place, message)
                })?;
                Ok(Some(at))
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
            && !keys.iter().all(|(of, _)| is_column(&of.value))
        {
            return Err(error(b"0A000", place, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Move the UNION into a FROM clause."));
        }
        let steps = std::mem::take(&mut self.level().steps);
        let values: Vec<Expr> = keys.iter().map(|(listed, _)| listed.value.clone()).collect();
        let (plan, computed) = self.computed(extended(plan, steps), &values)?;
        let keys = keys.iter().zip(computed).map(|((_, key), slot)| SortKey { slot, ..*key });
        let keys: Vec<_> = keys.collect();
        let ties = if around.with_ties { keys.clone() } else { Vec::new() };
        let plan = self.limited(sorted(plan, keys), counts, ties)?;
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
        ties: Vec<SortKey>,
    ) -> Result<Plan> {
        if limit.is_none() && offset.is_none() {
            return Ok(plan);
        }
        let mut scalars = |count: Option<Expr>| count.map(|c| self.scalars(&[c])).transpose();
        let (limit, offset) = (scalars(limit)?, scalars(offset)?);
        Ok(Plan::Limit { input: Box::new(plan), limit, offset, ties })
    }
}

pub(super) fn sorted(plan: Plan, keys: Vec<SortKey>) -> Plan {
    if keys.is_empty() { plan } else { Plan::Sort { input: Box::new(plan), keys } }
}

/// The count of `FETCH FIRST ROW ONLY`.
static ONE: LazyLock<ast::Expr> =
    LazyLock::new(|| ast::Expr::value(ast::Value::Number("1".to_owned(), false)));

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
        if fetch.percent {
            return Err(syntax(place, "syntax error at or near \"PERCENT\""));
        }
        if fetch.with_ties && order_by.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(syntax(place, message));
        }
        limit = Some(fetch.quantity.as_ref().unwrap_or(&ONE));
    }
    let with_ties = query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties);
    Ok(Around { order_by, limit, offset, with_ties })
}

/// A key of an order.
pub(super) fn sort_key(
    slot: SlotId,
    of: SqlType,
    key: &ast::OrderByExpr,
    place: Place,
) -> Result<SortKey> {
    check_order(of, place)?;
    if matches!(key.options.sort, Some(ast::OrderBySort::Using(_))) {
        return Err(unsupported(place, "ORDER BY ... USING", "write ASC or DESC"));
    }
    let descending = matches!(key.options.sort, Some(ast::OrderBySort::Desc));
    let nulls_first = key.options.nulls_first.unwrap_or(descending);
    Ok(SortKey { slot, descending, nulls_first })
}
