//! SELECT: one table, a path, a residual filter, a select list, aggregates, order and limit.
//!
//! Role         compiles a query to a [`Selected`]; `consume` decides where its rows go
//! Invariants   I1 what the program cannot do is refused here, with a place and advice, never
//!              when a call runs

use hotrow_base::ids::ColumnId;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{
    Aggregate, AggregateFunction, Expr, ExprKind, OrderKey, Path, Place, RowLocks, SlotId,
};
use hotrow_transaction::walk::expr_slots;
use sqlparser::ast::{self, SelectItem};

use crate::clauses::Parts;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::path::{ColumnOrder, choose, conjuncts};
use crate::relation::refuse_not_waiting;
use crate::row_order::is_ordered;
use crate::scope::Compiler;
use crate::source::Source;
use crate::state::Row;
use crate::token::folded;
use crate::typing::{check_equality, check_order, scalar};
use crate::written::{dotted, object_name};

/// A compiled SELECT.
pub(crate) struct Selected {
    pub(crate) columns: Vec<(String, Expr)>,
    pub(crate) kind: SelectedKind,
}

/// Where a SELECT's values come from.
pub(crate) enum SelectedKind {
    /// no FROM: one row
    Values,
    /// aggregates: one row
    Aggregated { source: Source, aggregates: Vec<Aggregate> },
    /// min or max that the first row of the path in its order decides: one row
    Extreme { source: Source, result: SlotId, argument: Expr },
    Rows {
        source: Source,
        distinct: bool,
        order_by: Vec<OrderKey>,
        limit: Option<Expr>,
        offset: Option<Expr>,
    },
}

impl Compiler<'_> {
    /// Compiles a SELECT.
    pub(crate) fn select(&mut self, query: &ast::Query) -> Result<Selected> {
        if !self.ad_hoc {
            refuse_not_waiting(query, self.place)?;
        }
        let parts = self.parts(query)?;
        let Some((table, alias)) = self.from(parts.select)? else {
            return self.select_values(&parts);
        };
        self.row = Some(self.row_of(table, &alias));
        let condition = match &parts.select.selection {
            Some(written) => Some(self.condition(written, "WHERE")?),
            None => None,
        };
        self.aggregates = Some(Vec::new());
        let columns = self.select_list(&parts.select.projection)?;
        let aggregates = self.aggregates.take().unwrap_or_default();
        let is_of_many = !aggregates.is_empty() || parts.select.distinct.is_some();
        if is_of_many && self.row_locks != RowLocks::Shared {
            return Err(unsupported(self.place, "FOR UPDATE of what is no row", "leave it out"));
        }
        if !aggregates.is_empty() {
            return self.select_aggregates(&parts, condition, columns, aggregates);
        }
        let order_by = self.order_by(&parts.order_by, &columns)?;
        let distinct = self.distinct(parts.select, &columns, &order_by)?;
        let row = self.row.take().expect("set above");
        let order = column_order(&row, &order_by).unwrap_or_default();
        let chosen = self.choose(&row, conjuncts(condition), &order, &[])?;
        let sorted = chosen.ordered
            && column_order(&row, &order_by).is_some()
            && is_ordered(self.catalog, &chosen.path);
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        let kind = SelectedKind::Rows {
            source,
            distinct,
            order_by: if sorted { Vec::new() } else { order_by },
            limit: parts.limit.map(|e| self.row_count(e, "LIMIT")).transpose()?,
            offset: parts.offset.map(|e| self.row_count(e, "OFFSET")).transpose()?,
        };
        Ok(Selected { columns, kind })
    }

    fn select_values(&mut self, parts: &Parts<'_>) -> Result<Selected> {
        let select = parts.select;
        if let Some(condition) = &select.selection {
            return Err(unsupported(
                place_in(condition, self.place),
                "WHERE without FROM",
                "write IF ... THEN around the statement",
            ));
        }
        let columns = self.select_list(&select.projection)?;
        Ok(Selected { columns, kind: SelectedKind::Values })
    }

    fn select_aggregates(
        &mut self,
        parts: &Parts<'_>,
        condition: Option<Expr>,
        columns: Vec<(String, Expr)>,
        aggregates: Vec<Aggregate>,
    ) -> Result<Selected> {
        let row = self.row.take().expect("aggregates stand in queries of a table");
        for (_, column) in &columns {
            let mut loose = None;
            expr_slots(column, &mut |slot| loose = loose.or(row.column_of(slot)));
            if let Some(column) = loose {
                let name = &row.columns[column.index()].name;
                return Err(error(
                    b"42803",
                    self.place,
                    format!(
                        "column \"{}.{name}\" must appear in the GROUP BY clause or be used in \
                         an aggregate function",
                        row.name
                    ),
                )
                .hint("there is no GROUP BY: SELECT the column INTO a variable by itself"));
            }
        }
        if let Some(limit) = parts.limit.or(parts.offset) {
            return Err(unsupported(
                place_in(limit, self.place),
                "LIMIT or OFFSET with aggregates",
                "there is exactly one row: leave it out",
            ));
        }
        let conjuncts = conjuncts(condition);
        let extreme = self.extreme_of(&row, &conjuncts, &aggregates);
        let chosen = self.choose(&row, conjuncts, &[], &[])?;
        if let Some(kind) = extreme.filter(|_| chosen.path.lists().is_empty()) {
            return Ok(Selected { columns, kind });
        }
        let source = Source { row, path: chosen.path, filter: chosen.filter };
        Ok(Selected { columns, kind: SelectedKind::Aggregated { source, aggregates } })
    }

    /// `min(column)` and `max(column)` that an index gives as its first row.
    fn extreme_of(
        &self,
        row: &Row,
        conjuncts: &[Expr],
        aggregates: &[Aggregate],
    ) -> Option<SelectedKind> {
        let [aggregate] = aggregates else {
            return None;
        };
        let descending = match aggregate.function {
            AggregateFunction::Min => false,
            AggregateFunction::Max => true,
            _ => return None,
        };
        let argument = aggregate.argument.clone()?;
        let ExprKind::Slot(slot) = argument.kind else {
            return None;
        };
        let column = row.column_of(slot)?;
        let mut conjuncts = conjuncts.to_vec();
        if descending && row.columns[column.index()].nullable {
            // NULLs are the greatest keys, but no maximum
            let null = scalar(ExprKind::IsNull(Box::new(argument.clone())), DataType::Boolean);
            conjuncts.push(crate::comparison::negated(null));
        }
        let chosen = choose(self.catalog, row, conjuncts, &[(column, descending)]);
        let orders = matches!(chosen.path, Path::Range { .. }) && chosen.ordered;
        orders.then(|| SelectedKind::Extreme {
            source: Source { row: row.clone(), path: chosen.path, filter: chosen.filter },
            result: aggregate.result,
            argument,
        })
    }

    /// A select list: names and values.
    pub(crate) fn select_list(&mut self, items: &[SelectItem]) -> Result<Vec<(String, Expr)>> {
        let mut columns = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(written) => {
                    columns.push((column_name(written), self.column(written)?));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let name = folded(&alias.value, alias.quote_style.is_some());
                    columns.push((name, self.column(expr)?));
                }
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                    self.wildcard(item, &mut columns)?;
                }
                other => {
                    let place = place_in(other, self.place);
                    return Err(unsupported(place, "this select item", "name one column each"));
                }
            }
        }
        Ok(columns)
    }

    fn column(&mut self, written: &ast::Expr) -> Result<Expr> {
        let expr = self.expr(written)?;
        self.scalar_type(&expr, place_in(written, self.place))?;
        Ok(expr)
    }

    fn wildcard(&mut self, item: &SelectItem, columns: &mut Vec<(String, Expr)>) -> Result<()> {
        let place = place_in(item, self.place);
        let Some(row) = &self.row else {
            return Err(error(b"42601", place, "SELECT * with no tables specified is not valid"));
        };
        if let SelectItem::QualifiedWildcard(kind, _) = item {
            let name = kind.to_string();
            let name = name.trim_end_matches(".*");
            if row.name != name.trim_matches('"') && row.name != name.to_lowercase() {
                return Err(error(
                    b"42P01",
                    place,
                    format!("missing FROM-clause entry for table \"{name}\""),
                ));
            }
        }
        let names: Vec<_> = row.columns.iter().map(|c| c.name.clone()).collect();
        for (i, name) in names.into_iter().enumerate() {
            columns.push((name, self.bind_column(ColumnId(i as u16))?));
        }
        Ok(())
    }

    fn order_by(
        &mut self,
        keys: &[&ast::OrderByExpr],
        columns: &[(String, Expr)],
    ) -> Result<Vec<OrderKey>> {
        let mut all = Vec::new();
        for key in keys {
            let place = place_in(&key.expr, self.place);
            if matches!(key.options.sort, Some(ast::OrderBySort::Using(_))) {
                return Err(unsupported(place, "ORDER BY ... USING", "write ASC or DESC"));
            }
            let descending = matches!(key.options.sort, Some(ast::OrderBySort::Desc));
            let value = match &key.expr {
                ast::Expr::Identifier(ident) => {
                    let name = folded(&ident.value, ident.quote_style.is_some());
                    match columns.iter().find(|(column, _)| *column == name) {
                        Some((_, value)) => value.clone(),
                        None => self.expr(&key.expr)?,
                    }
                }
                ast::Expr::Value(v) => self.ordinal(&v.value, columns, place)?,
                other => self.expr(other)?,
            };
            check_order(value.sql_type, place)?;
            let nulls_first = key.options.nulls_first.unwrap_or(descending);
            all.push(OrderKey { value, descending, nulls_first });
        }
        Ok(all)
    }

    fn ordinal(
        &self,
        value: &ast::Value,
        columns: &[(String, Expr)],
        place: Place,
    ) -> Result<Expr> {
        let ast::Value::Number(digits, _) = value else {
            return Err(syntax(place, "non-integer constant in ORDER BY"));
        };
        let position = digits.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        position.and_then(|i| columns.get(i)).map(|(_, value)| value.clone()).ok_or_else(|| {
            error(b"42P10", place, format!("ORDER BY position {digits} is not in select list"))
        })
    }

    fn distinct(
        &self,
        select: &ast::Select,
        columns: &[(String, Expr)],
        order_by: &[OrderKey],
    ) -> Result<bool> {
        if !matches!(select.distinct, Some(ast::Distinct::Distinct)) {
            return Ok(false);
        }
        for (_, value) in columns {
            check_equality(value.sql_type, self.place)?;
        }
        let listed = |key: &OrderKey| columns.iter().any(|(_, value)| *value == key.value);
        if order_by.iter().all(listed) {
            return Ok(true);
        }
        Err(error(
            b"42P10",
            self.place,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ))
    }
}

/// ORDER BY as plain columns, where an index could give it.
fn column_order(row: &Row, order_by: &[OrderKey]) -> Option<Vec<ColumnOrder>> {
    order_by
        .iter()
        .map(|key| match key.value.kind {
            ExprKind::Slot(slot) => {
                let column = row.column_of(slot)?;
                let nullable = row.columns[column.index()].nullable;
                let natural = key.nulls_first == key.descending || !nullable;
                natural.then_some((column, key.descending))
            }
            _ => None,
        })
        .collect()
}

/// The name PostgreSQL gives a column without AS.
pub(crate) fn column_name(written: &ast::Expr) -> String {
    match written {
        ast::Expr::Identifier(ident) => folded(&ident.value, ident.quote_style.is_some()),
        ast::Expr::CompoundIdentifier(idents) => dotted(idents).pop().unwrap_or_default(),
        ast::Expr::Function(function) => crate::written::function_name(function),
        ast::Expr::Nested(inner) => column_name(inner),
        ast::Expr::Cast { expr: inner, data_type, .. } => {
            let own = column_name(inner);
            match own.as_str() {
                "?column?" | "case" => type_name(data_type).unwrap_or(own),
                _ => own,
            }
        }
        ast::Expr::Case { else_result: Some(last), .. } => match column_name(last) {
            unnamed if unnamed == "?column?" => "case".to_owned(),
            named => named,
        },
        ast::Expr::Case { .. } => "case".to_owned(),
        ast::Expr::Interval(_) => "interval".to_owned(),
        ast::Expr::Extract { .. } => "extract".to_owned(),
        ast::Expr::Substring { .. } => "substring".to_owned(),
        ast::Expr::Position { .. } => "position".to_owned(),
        ast::Expr::Ceil { .. } => "ceil".to_owned(),
        ast::Expr::Floor { .. } => "floor".to_owned(),
        _ => "?column?".to_owned(),
    }
}

/// PostgreSQL's own name of a type, which a cast column without another name has.
fn type_name(written: &ast::DataType) -> Option<String> {
    match written {
        ast::DataType::Custom(name, _) => object_name(name, Place::default()).ok(),
        ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => {
            type_name(element)
        }
        scalar => {
            let of = crate::types::built_in(scalar, Place::default()).ok()?;
            Some(crate::relation::short_type_name(of).to_owned())
        }
    }
}

/// A LIMIT that is a constant of at least 1: the first row is always wanted.
pub(crate) fn admits_one(limit: &Expr) -> bool {
    matches!(limit.kind, ExprKind::Constant(Value::BigInt(n)) if n >= 1)
}
