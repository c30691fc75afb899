//! The clauses of a SELECT: which there are, and what is refused.

use hotrow_transaction::program::Place;
use sqlparser::ast::{self, SetExpr, TableFactor};

use crate::error::{Advice, Result, place_in, syntax, unsupported};
use crate::scope::Compiler;
use crate::token::folded;
use crate::written::object_name;

impl Compiler<'_> {
    /// Takes a query apart; refuses what is not there.
    pub(crate) fn parts<'q>(&self, query: &'q ast::Query) -> Result<Parts<'q>> {
        let place = place_in(query, self.place);
        if query.with.is_some() {
            return Err(unsupported(
                place,
                "WITH",
                "store the first query's result in variables, or write a FOR loop over it",
            ));
        }
        let select = match &*query.body {
            SetExpr::Select(select) => &**select,
            SetExpr::Query(inner) if query.order_by.is_none() && query.limit_clause.is_none() => {
                return self.parts(inner);
            }
            SetExpr::SetOperation { op, .. } => {
                return Err(unsupported(
                    place,
                    op.to_string(),
                    "write one statement per part, for example two RETURN QUERY",
                ));
            }
            SetExpr::Values(_) => {
                return Err(unsupported(place, "VALUES as a query", "write SELECT"));
            }
            _ => return Err(unsupported(place, "this query", "write SELECT ... FROM one table")),
        };
        self.refuse_clauses(query, select, place)?;
        let order_by = match query.order_by.as_ref().map(|o| &o.kind) {
            None => Vec::new(),
            Some(ast::OrderByKind::Expressions(keys)) => keys.iter().collect(),
            Some(ast::OrderByKind::All(_)) => {
                return Err(unsupported(place, "ORDER BY ALL", "name the columns"));
            }
        };
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(ast::LimitClause::LimitOffset { limit: l, offset: o, .. }) => {
                limit = l.as_ref();
                offset = o.as_ref().map(|o| &o.value);
            }
            Some(ast::LimitClause::OffsetCommaLimit { .. }) => {
                return Err(unsupported(place, "LIMIT a, b", "write LIMIT b OFFSET a"));
            }
        }
        if let Some(fetch) = &query.fetch {
            if fetch.percent || fetch.with_ties {
                return Err(unsupported(place, "FETCH ... PERCENT or WITH TIES", "write LIMIT"));
            }
            limit = fetch.quantity.as_ref();
            if limit.is_none() {
                return Err(unsupported(place, "FETCH without a number", "write LIMIT 1"));
            }
        }
        Ok(Parts { select, order_by, limit, offset })
    }

    pub(crate) fn refuse_clauses(
        &self,
        query: &ast::Query,
        select: &ast::Select,
        place: Place,
    ) -> Result<()> {
        let grouped = match &select.group_by {
            ast::GroupByExpr::All(_) => true,
            ast::GroupByExpr::Expressions(keys, modifiers) => {
                !keys.is_empty() || !modifiers.is_empty()
            }
        };
        if grouped {
            return Err(unsupported(
                place,
                "GROUP BY",
                "loop over the groups (FOR r IN SELECT DISTINCT ...) and aggregate each with \
                 SELECT ... INTO",
            ));
        }
        if select.having.is_some() {
            return Err(unsupported(place, "HAVING", "test the aggregate with IF"));
        }
        if !select.named_window.is_empty() {
            return Err(unsupported(place, "WINDOW", "keep running values in variables"));
        }
        if matches!(select.distinct, Some(ast::Distinct::On(_))) {
            return Err(unsupported(
                place,
                "DISTINCT ON",
                "loop in order and remember the last key in a variable",
            ));
        }
        let other = select.top.is_some()
            || select.into.is_some()
            || select.qualify.is_some()
            || !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !query.pipe_operators.is_empty()
            || query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some();
        if other {
            return Err(syntax(place, "this form of SELECT is not PostgreSQL's")
                .hint("write SELECT ... FROM table WHERE ... ORDER BY ... LIMIT ..."));
        }
        Ok(())
    }

    /// The one table of FROM and its alias.
    pub(crate) fn from(
        &self,
        select: &ast::Select,
    ) -> Result<Option<(hotrow_base::ids::TableId, String)>> {
        match select.from.as_slice() {
            [] => Ok(None),
            [table] => self.one_table(table).map(Some),
            [_, second, ..] => Err(join_refused(place_in(second, self.place))),
        }
    }

    /// A table reference without joins: its id and the name its columns are qualified with.
    pub(crate) fn one_table(
        &self,
        table: &ast::TableWithJoins,
    ) -> Result<(hotrow_base::ids::TableId, String)> {
        let place = place_in(table, self.place);
        if !table.joins.is_empty() {
            return Err(join_refused(place));
        }
        match &table.relation {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                let name = object_name(name, place)?;
                let id = self.table(&name, place)?.id;
                let alias = match alias {
                    None => name,
                    Some(alias) if alias.columns.is_empty() => {
                        folded(&alias.name.value, alias.name.quote_style.is_some())
                    }
                    Some(_) => {
                        return Err(unsupported(
                            place,
                            "column aliases in FROM",
                            "use AS in SELECT",
                        ));
                    }
                };
                Ok((id, alias))
            }
            TableFactor::Derived { .. } => Err(unsupported(
                place,
                "a subquery in FROM",
                "loop over it: FOR r IN SELECT ... LOOP",
            )),
            TableFactor::NestedJoin { .. } => Err(join_refused(place)),
            _ => Err(unsupported(
                place,
                "a function in FROM",
                "FOR i IN 1..n replaces generate_series, FOREACH x IN ARRAY a replaces unnest",
            )),
        }
    }
}

pub(crate) fn join_refused(place: Place) -> hotrow_transaction::outcome::SqlError {
    unsupported(
        place,
        "a join",
        "write a FOR loop over the first table's rows and SELECT ... INTO from the second by key",
    )
}

/// The parts of a SELECT that are used.
pub(crate) struct Parts<'q> {
    pub(crate) select: &'q ast::Select,
    pub(crate) order_by: Vec<&'q ast::OrderByExpr>,
    pub(crate) limit: Option<&'q ast::Expr>,
    pub(crate) offset: Option<&'q ast::Expr>,
}
