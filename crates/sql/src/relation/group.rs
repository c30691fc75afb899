//! Aggregates and groups.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::program::{Expr, ExprKind, Place, SlotId};
use hotrow_transaction::walk::{expr_slots, operands_mut};
use sqlparser::ast;

use crate::aggregate::{aggregate_named, result_type};
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::scope::Compiler;
use crate::typing::{cast, check_equality, check_order};

use super::plan::{Aggregation, GroupAggregate, SortKey, Step};
use super::{RelationKind, scalar_of};

/// Aggregates that were asked for while a select list, HAVING and ORDER BY were compiled.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) aggregates: Vec<GroupAggregate>,
    /// arguments, filters and orders that are no slots yet, and their slots
    pub(super) computed: Vec<(Expr, SlotId)>,
    /// what those need first
    pub(super) steps: Vec<Step>,
}

/// The groups of a SELECT.
pub(super) struct Keys {
    /// values that are equal within a group, as they are written
    pub(super) exprs: Vec<Expr>,
    /// and their slots
    pub(super) slots: Vec<SlotId>,
}

impl Compiler<'_> {
    /// An aggregate's result; none: it is another function.
    pub(super) fn group_aggregate(
        &mut self,
        name: &str,
        written: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let is_one = aggregate_named(name).is_some()
            || matches!(name, "bool_and" | "bool_or" | "every" | "string_agg" | "array_agg")
            || json_aggregate(name).is_some();
        if !is_one {
            return Ok(None);
        }
        let Some(mut asked) = self.level().aggregates.take() else {
            let message = format!("aggregate functions are not allowed here: {name}");
            return Err(error(b"42803", place, message)
                .hint("they stand in the select list, in HAVING and in ORDER BY"));
        };
        let before = self.level().steps.len();
        let aggregate = self.compiled_aggregate(name, written, &mut asked.computed, place);
        let steps = self.level().steps.split_off(before);
        asked.steps.extend(steps);
        let compiled = aggregate.map(|aggregate| {
            let output = aggregate.output;
            asked.aggregates.push(aggregate);
            output
        });
        self.level().aggregates = Some(asked);
        compiled.map(|output| Some(self.slot_expr(output)))
    }

    /// An aggregate, whose arguments go into `computed` as far as they are no slots.
    pub(super) fn compiled_aggregate(
        &mut self,
        name: &str,
        written: &ast::Function,
        computed: &mut Vec<(Expr, SlotId)>,
        place: Place,
    ) -> Result<GroupAggregate> {
        let ast::FunctionArguments::List(list) = &written.args else {
            return Err(error(b"42883", place, format!("{name} needs an argument")));
        };
        let distinct = matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct));
        let mut order = Vec::new();
        for clause in &list.clauses {
            let ast::FunctionArgumentClause::OrderBy(keys) = clause else {
                return Err(unsupported(place, "this clause of an aggregate", "leave it out"));
            };
            for key in keys {
                let value = self.expr(&key.expr)?;
                let of = value.sql_type;
                let slot = self.slot_of(value, computed)?;
                order.push(sort_key(slot, of, key, place)?);
            }
        }
        if !written.within_group.is_empty() {
            let advice = "compute it in the client";
            return Err(unsupported(place, "WITHIN GROUP", advice));
        }
        let filter = match &written.filter {
            None => None,
            Some(filter) => {
                let condition = self.condition(filter, "FILTER")?;
                Some(self.slot_of(condition, computed)?)
            }
        };
        let mut arguments = Vec::new();
        let mut counts_all = false;
        for argument in &list.args {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) if name == "count" => {
                    counts_all = true;
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => {
                    let place = place_in(value, place);
                    arguments.push((self.expr(value)?, place));
                }
                _ => return Err(unsupported(place, "this argument", "write the value alone")),
            }
        }
        let takes = match name {
            "string_agg" | "json_object_agg" | "jsonb_object_agg" => 2,
            "count" if counts_all => 0,
            _ => 1,
        };
        if arguments.len() != takes {
            let message =
                format!("function {name} takes {takes} arguments, not {}", arguments.len());
            return Err(error(b"42883", place, message));
        }
        let mut arguments = arguments.into_iter();
        let (mut argument, separator) = (arguments.next(), arguments.next());
        let mut of =
            argument.as_ref().map_or(SqlType::Scalar(DataType::BigInt), |(a, _)| a.sql_type);
        let no_function = |of: SqlType| {
            error(b"42883", place, format!("function {name}({of}) does not exist"))
                .hint("You might need to add explicit type casts.")
        };
        let (function, gives) = match (name, of) {
            (name, _) if json_aggregate(name).is_some() => {
                let (to, is_object) = json_aggregate(name).expect("it was asked");
                let gives = SqlType::Scalar(to);
                match (is_object, separator) {
                    (true, Some(_)) if distinct => {
                        let advice = "take the duplicates out in a subquery";
                        return Err(unsupported(place, "DISTINCT here", advice));
                    }
                    (true, Some(value)) => {
                        let key = argument.replace(value).map(|(key, _)| cast(key, DataType::Text));
                        let key = key.ok_or_else(|| no_function(of))?;
                        (Aggregation::JsonObject(to, self.slot_of(key, computed)?), gives)
                    }
                    _ => (Aggregation::JsonArray(to), gives),
                }
            }
            ("array_agg", SqlType::Scalar(of)) => (Aggregation::Array, SqlType::Array(of)),
            ("bool_and" | "every", SqlType::Scalar(DataType::Boolean)) => (Aggregation::All, of),
            ("bool_or", SqlType::Scalar(DataType::Boolean)) => (Aggregation::Any, of),
            ("string_agg", SqlType::Scalar(_)) => {
                let text = SqlType::Scalar(DataType::Text);
                argument = argument.map(|(value, place)| (cast(value, DataType::Text), place));
                of = text;
                let (separator, _) = separator.expect("there are two");
                let separator = self.slot_of(cast(separator, DataType::Text), computed)?;
                (Aggregation::Text(separator), text)
            }
            (name, of) => {
                let plain = aggregate_named(name).ok_or_else(|| no_function(of))?;
                let SqlType::Scalar(data_type) = of else { return Err(no_function(of)) };
                let gives = result_type(plain, data_type).ok_or_else(|| no_function(of))?;
                (Aggregation::Plain(plain), SqlType::Scalar(gives))
            }
        };
        if let (true, Some((value, place))) = (distinct, &argument) {
            check_equality(value.sql_type, *place)?;
        }
        let argument = match argument {
            None => None,
            Some((value, _)) => Some(self.slot_of(value, computed)?),
        };
        let output = self.slot(&format!("${name}"), gives)?;
        let data_type = scalar_of(gives);
        Ok(GroupAggregate { function, argument, of, distinct, filter, order, output, data_type })
    }

    /// The slot of a value, which is to be computed if it has none.
    pub(super) fn slot_of(
        &mut self,
        value: Expr,
        computed: &mut Vec<(Expr, SlotId)>,
    ) -> Result<SlotId> {
        if let ExprKind::Slot(slot) = value.kind
            && slot.0 >= hotrow_transaction::program::FIRST_PARAMETER
        {
            return Ok(slot);
        }
        let slot = self.slot("$argument", value.sql_type)?;
        computed.push((value, slot));
        Ok(slot)
    }

    /// Puts the slots of groups where their values are written, and fails with 42803 where a
    /// column is read that differs within a group. One that the primary key decides joins the keys.
    pub(super) fn of_groups(
        &mut self,
        exprs: &mut [Expr],
        steps: &[Step],
        keys: &mut Keys,
        results: &[SlotId],
    ) -> Result<()> {
        let written: Vec<_> = keys.exprs.iter().map(|key| format!("{key:?}")).collect();
        for expr in &mut *exprs {
            replace(expr, &written, &keys.slots);
        }
        let mut read = Vec::new();
        for expr in &*exprs {
            expr_slots(expr, &mut |slot| read.push(slot));
        }
        for step in steps {
            read.extend(step.inputs());
        }
        for slot in read {
            if keys.slots.contains(&slot) || results.contains(&slot) {
                continue;
            }
            let level = self.levels.last().expect("a query is being compiled");
            let holder = level.relations.iter().find_map(|relation| {
                let column = relation.columns.iter().find(|column| column.slot == Some(slot))?;
                Some((relation, column.name.clone()))
            });
            let Some((relation, column)) = holder else { continue };
            let decided = match relation.kind {
                RelationKind::Table(table) => {
                    self.catalog.table(table).primary.is_some_and(|primary| {
                        self.catalog.index(primary).columns.iter().all(|key| {
                            let slot = relation.columns[key.index()].slot;
                            slot.is_some_and(|slot| keys.slots.contains(&slot))
                        })
                    })
                }
                _ => false,
            };
            if !decided {
                let name = &relation.name;
                let message = format!(
                    "column \"{name}.{column}\" must appear in the GROUP BY clause or be used in \
                     an aggregate function"
                );
                return Err(error(b"42803", self.place, message));
            }
            keys.slots.push(slot);
        }
        Ok(())
    }
}

/// Puts slots where expressions stand that are written so.
fn replace(expr: &mut Expr, written: &[String], slots: &[SlotId]) {
    if !matches!(expr.kind, ExprKind::Constant(_)) {
        let text = format!("{expr:?}");
        if let Some(at) = written.iter().position(|known| *known == text) {
            expr.kind = ExprKind::Slot(slots[at]);
            return;
        }
    }
    operands_mut(expr, &mut |operand| replace(operand, written, slots));
}

/// Whether an aggregate makes a json or a jsonb of its rows, and whether that is an object.
fn json_aggregate(name: &str) -> Option<(DataType, bool)> {
    Some(match name {
        "json_agg" => (DataType::Json, false),
        "jsonb_agg" => (DataType::Jsonb, false),
        "json_object_agg" => (DataType::Json, true),
        "jsonb_object_agg" => (DataType::Jsonb, true),
        _ => return None,
    })
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
