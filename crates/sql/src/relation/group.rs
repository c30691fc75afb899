//! Aggregates and groups.

use std::collections::{HashMap, HashSet};

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Aggregation, Group, GroupAggregate, Plan, Regression, SortKey, Step};
use hotrow_transaction::program::{Expr, ExprKind, FIRST_PARAMETER, Place, SlotId};
use hotrow_transaction::walk::{expr_slots, operands_mut};
use sqlparser::ast;

use crate::aggregate::{json_aggregate, regression, result_type, statistic};
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::functions::{aggregate_named, is_aggregate};
use crate::relation::level::{AskedAggregates, AskedWindow, RelationKind};
use crate::scope::Compiler;
use crate::typing::{cast, check_equality, order_of, spread};

use super::grouping::Grouping;
use super::level::extended;
use super::order::sort_key;
use super::ordered_set::ordered_set;

/// The groups of a SELECT.
struct Keys {
    /// values that are equal within a group, as they are written
    exprs: Vec<Expr>,
    /// and their slots
    slots: Vec<SlotId>,
}

impl Compiler<'_> {
    /// An aggregate's result; none: it is another function.
    pub(super) fn group_aggregate(
        &mut self,
        name: &str,
        written: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        if name == "grouping" {
            return self.grouping(written, place).map(Some);
        }
        if !is_aggregate(name) && written.within_group.is_empty() {
            return Ok(None);
        }
        let Some(mut asked) = self.level().aggregates.take() else {
            let message = format!("aggregate functions are not allowed here: {name}");
            return Err(error(b"42803", place, message)
                .hint("they stand in the select list, in HAVING and in ORDER BY"));
        };
        let (before, windows) = (self.level().steps.len(), self.windows_asked());
        let aggregate = self.compiled_aggregate(name, written, &mut asked.computed, place);
        if aggregate.is_ok() && self.windows_asked() > windows {
            let message = "aggregate function calls cannot contain window function calls";
            return Err(error(b"42803", place, message));
        }
        let steps = self.level().steps.split_off(before);
        asked.steps.extend(steps);
        let compiled = aggregate.map(|aggregate| {
            let output = aggregate.output;
            asked.aggregates.push(aggregate);
            output
        });
        self.level().aggregates = Some(asked);
        compiled.map(|output| Some(spread(self.slot_expr(output))))
    }

    /// How many window functions the innermost level has asked for.
    fn windows_asked(&mut self) -> usize {
        self.level().windows.as_ref().map_or(0, Vec::len)
    }

    /// Whether an aggregate reads rows of queries around this one, and none of its own: in what
    /// its arguments, its FILTER and its ORDER BY are, in slots or `computed`, and in the level's
    /// steps from this one on, which give what subqueries in them find.
    fn reads_only_around<'e>(
        &self,
        arguments: impl Iterator<Item = &'e Expr>,
        slots: impl Iterator<Item = SlotId>,
        computed: &'e [(Expr, SlotId)],
        from: usize,
    ) -> bool {
        let mut read: Vec<SlotId> = slots.collect();
        let exprs = arguments.chain(computed.iter().map(|(value, _)| value));
        exprs.for_each(|expr| expr_slots(expr, &mut |slot| read.push(slot)));
        let steps = &self.levels.last().expect("a query is being compiled").steps[from..];
        read.extend(steps.iter().flat_map(Step::inputs));
        read.retain(|slot| {
            let is_given = steps.iter().any(|step| step.outputs.contains(slot))
                || computed.iter().any(|(_, given)| given == slot);
            slot.0 >= FIRST_PARAMETER && !self.parameters.contains(slot) && !is_given
        });
        !read.is_empty() && read.iter().all(|slot| self.is_around(*slot))
    }

    /// Whether a slot is one of a query around this one.
    fn is_around(&self, slot: SlotId) -> bool {
        let outer = self.levels[..self.levels.len() - 1].iter();
        let mut relations = outer.flat_map(|level| &level.relations);
        relations.any(|relation| relation.slots().any(|known| known == slot))
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
        let (steps_before, computed_before) = (self.level().steps.len(), computed.len());
        if !written.within_group.is_empty() || ordered_set(name).is_some() {
            let filter = self.aggregate_filter(written, computed)?;
            return self.ordered_aggregate((name, written), list, filter, computed, place);
        }
        let distinct = matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct));
        let mut order = Vec::new();
        for clause in &list.clauses {
            let ast::FunctionArgumentClause::OrderBy(keys) = clause else {
                return Err(unsupported(place, "this clause of an aggregate", "leave it out"));
            };
            for key in keys {
                let value = order_of(self.row_expr(&key.expr)?);
                let of = value.sql_type;
                let slot = self.slot_of(value, computed)?;
                order.push(sort_key(slot, of, key, place)?);
            }
        }
        let filter = self.aggregate_filter(written, computed)?;
        let mut arguments = Vec::new();
        let (mut counts_all, mut are_rows) = (false, false);
        for argument in &list.args {
            match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) if name == "count" => {
                    counts_all = true;
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => {
                    let place = place_in(value, place);
                    let row = match json_aggregate(name) {
                        Some(_) => self.row_as_json(value)?,
                        None => None,
                    };
                    are_rows = row.is_some();
                    let value = row.map_or_else(|| self.row_expr(value), Ok)?;
                    arguments.push((value, place));
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => {
                    return Err(error(
                        b"42883",
                        place,
                        format!("function {name}() does not exist"),
                    ));
                }
                _ => return Err(unsupported(place, "this argument", "write the value alone")),
            }
        }
        if counts_all && distinct {
            return Err(error(b"42601", place, "count(DISTINCT *) counts nothing: name a column"));
        }
        let values = arguments.iter().map(|(value, _)| value);
        let slots = filter.into_iter().chain(order.iter().map(|key| key.slot));
        if self.reads_only_around(values, slots, &computed[computed_before..], steps_before) {
            // By the standard it is one of the query around, which has those rows.
            let advice = "write it in the query that has the rows, and name its result";
            return Err(unsupported(place, "an aggregate of a query around", advice));
        }
        let takes = match name {
            "string_agg" | "json_object_agg" | "jsonb_object_agg" => 2,
            name if regression(name).is_some() => 2,
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
                    _ if are_rows && to == DataType::Json => (Aggregation::JsonRows, gives),
                    _ => (Aggregation::JsonArray(to), gives),
                }
            }
            ("array_agg", of) => match of.spread() {
                SqlType::Scalar(of) => (Aggregation::Array, SqlType::Array(of)),
                nested => (Aggregation::Array, nested),
            },
            ("bool_and" | "every", SqlType::Scalar(DataType::Boolean)) => (Aggregation::All, of),
            ("bool_or", SqlType::Scalar(DataType::Boolean)) => (Aggregation::Any, of),
            ("string_agg", SqlType::Scalar(given)) if given.is_text() => {
                let text = SqlType::Scalar(DataType::Text);
                argument = argument.map(|(value, place)| (cast(value, DataType::Text), place));
                of = text;
                let (separator, _) = separator.expect("there are two");
                let separator = self.slot_of(cast(separator, DataType::Text), computed)?;
                (Aggregation::Text(separator), text)
            }
            (name, SqlType::Scalar(given)) if regression(name).is_some() => {
                let [y, x] = [argument.take(), separator].map(|pair| {
                    let number = pair.filter(|(value, _)| value.data_type().is_number());
                    number.map(|(value, place)| (cast(value, DataType::Double), place))
                });
                let (x, _) = x.filter(|_| given.is_number()).ok_or_else(|| no_function(of))?;
                let function = regression(name).expect("it was asked");
                let x = self.slot_of(x, computed)?;
                (argument, of) = (y, SqlType::Scalar(DataType::Double));
                let is_count = function == Regression::Count;
                let gives = if is_count { DataType::BigInt } else { DataType::Double };
                (Aggregation::Pair(function, x), SqlType::Scalar(gives))
            }
            (name, SqlType::Scalar(given)) if statistic(name, given).is_some() => {
                let (function, gives) = statistic(name, given).expect("it was asked");
                (function, SqlType::Scalar(gives))
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
        let data_type = gives.packed();
        let shows_order = matches!(
            function,
            Aggregation::Text(_) | Aggregation::Array | Aggregation::JsonArray(_)
        );
        if let (true, Some(slot)) = (distinct && shows_order && order.is_empty(), argument) {
            // Duplicates are found side by side, so that the values come in their order.
            order.push(SortKey { slot, descending: false, nulls_first: false });
        }
        let direct = Vec::new();
        Ok(GroupAggregate {
            function,
            argument,
            of,
            distinct,
            filter,
            order,
            direct,
            output,
            data_type,
        })
    }

    /// The slot of a value, which is to be computed if it has none in the rows: those of parameters
    /// and of queries around are elsewhere.
    pub(super) fn slot_of(
        &mut self,
        value: Expr,
        computed: &mut Vec<(Expr, SlotId)>,
    ) -> Result<SlotId> {
        if let ExprKind::Slot(slot) = value.kind
            && slot.0 >= FIRST_PARAMETER
            && !self.parameters.contains(&slot)
            && !self.is_around(slot)
        {
            return Ok(slot);
        }
        let slot = self.slot("$argument", value.sql_type)?;
        computed.push((value, slot));
        Ok(slot)
    }

    /// A column of the innermost level.
    pub(super) fn own_column(&mut self, name: &str, place: Place) -> Result<Option<Expr>> {
        let level = self.levels.last().expect("a query is being compiled");
        let is_own = level.relations.iter().any(|relation| relation.column(name).is_some());
        if is_own { self.relation_column(name, place) } else { Ok(None) }
    }

    /// Groups, of which `after`, the steps and the windows are computed then. `places`: which of
    /// `after` are a column of the select list, and which.
    pub(super) fn grouped(
        &mut self,
        input: Plan,
        Grouping { exprs, columns, sets }: Grouping,
        asked: AskedAggregates,
        (after, places): (&mut Vec<Expr>, &[(usize, usize)]),
        (steps, windows): (&[Step], &mut [AskedWindow]),
    ) -> Result<Plan> {
        let input = extended(input, asked.steps);
        let (mut input, mut slots) = self.computed(input, &exprs)?;
        if sets.is_some() {
            input = self.told_apart(input, &mut slots)?;
            // A column that is a key is NULL where a grouping leaves it out, a constant one, too.
            let keys = columns.iter().zip(&slots).filter_map(|(at, slot)| Some(((*at)?, *slot)));
            let keys: HashMap<usize, SlotId> = keys.collect();
            for (at, column) in places {
                if let Some(slot) = keys.get(column) {
                    after[*at].kind = ExprKind::Slot(*slot);
                }
            }
        }
        let direct = asked.aggregates.iter().flat_map(|aggregate| &aggregate.direct);
        let mut direct: Vec<Expr> = direct
            .map(|slot| match asked.computed.iter().find(|(_, known)| known == slot) {
                Some((value, _)) => value.clone(),
                None => self.slot_expr(*slot),
            })
            .collect();
        if !asked.computed.is_empty() {
            let (values, outputs): (Vec<_>, Vec<_>) = asked.computed.into_iter().unzip();
            let scalars = self.scalars(&values)?;
            input = Plan::Compute { input: Box::new(input), scalars, outputs };
        }
        let mut keys = Keys { exprs, slots };
        let mut results: Vec<_> = asked.aggregates.iter().map(|a| a.output).collect();
        results.extend(asked.groupings.iter().map(|(_, slot)| *slot));
        let groupings = grouping_keys(&asked.groupings, &keys, self.place)?;
        let own = keys.slots.len();
        let steps_give = steps.iter().flat_map(|step| step.outputs.iter().copied());
        results.extend(steps_give);
        results.extend(windows.iter().map(|window| window.output));
        let count = after.len();
        for window in &mut *windows {
            after.extend(window.computed.iter().map(|(value, _)| value.clone()));
            results.extend(window.computed.iter().map(|(_, slot)| *slot));
        }
        let computed = after.len();
        let read: Vec<_> = windows.iter().flat_map(AskedWindow::reads).collect();
        after.extend(read.into_iter().map(|slot| self.slot_expr(slot)));
        self.of_groups(&mut direct, &[], &mut keys, &results)?;
        self.of_groups(after, steps, &mut keys, &results)?;
        after.truncate(computed);
        let mut replaced = after.split_off(count).into_iter();
        for window in windows {
            for ((value, _), new) in window.computed.iter_mut().zip(&mut replaced) {
                *value = new;
            }
        }
        if sets.is_some() && keys.slots.len() > own {
            // What the primary key decides differs where a grouping leaves the key out.
            let message =
                "a column must appear in GROUPING SETS or be used in an aggregate function";
            return Err(error(b"42803", self.place, message));
        }
        let mut seen = Vec::new();
        keys.slots.retain(|slot| {
            let is_new = !seen.contains(slot);
            seen.push(*slot);
            is_new
        });
        let has_keys = !keys.exprs.is_empty();
        let keys = if has_keys { keys.slots } else { Vec::new() };
        let aggregates = asked.aggregates;
        Ok(Plan::Group(Box::new(Group { input, keys, sets, groupings, aggregates })))
    }

    /// Gives each key a slot of its own: of two that are the same value, a grouping may leave out
    /// one only.
    fn told_apart(&mut self, input: Plan, slots: &mut [SlotId]) -> Result<Plan> {
        let mut seen = HashSet::new();
        let (mut values, mut outputs) = (Vec::new(), Vec::new());
        for slot in slots {
            if !seen.insert(*slot) {
                let value = self.slot_expr(*slot);
                *slot = self.slot("$key", value.sql_type)?;
                values.push(value);
                outputs.push(*slot);
            }
        }
        if values.is_empty() {
            return Ok(input);
        }
        let scalars = self.scalars(&values)?;
        Ok(Plan::Compute { input: Box::new(input), scalars, outputs })
    }

    /// Fails with 42803 where one of these reads a column of the rows that are aggregated.
    pub(super) fn refuse_ungrouped(
        &mut self,
        exprs: impl Iterator<Item = Expr>,
        results: &[SlotId],
    ) -> Result<()> {
        let mut none = Keys { exprs: Vec::new(), slots: Vec::new() };
        self.of_groups(&mut exprs.collect::<Vec<_>>(), &[], &mut none, results)
    }

    /// Puts the slots of groups where their values are written, and fails with 42803 where a
    /// column is read that differs within a group. One that the primary key decides joins the keys.
    fn of_groups(
        &mut self,
        exprs: &mut [Expr],
        steps: &[Step],
        keys: &mut Keys,
        results: &[SlotId],
    ) -> Result<()> {
        for expr in &mut *exprs {
            replace(expr, &keys.exprs, &keys.slots);
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
                let mut columns = relation.columns.iter();
                let column = columns.find(|column| column.slot == Some(slot));
                let name = column.map(|column| column.name.clone());
                let whole = || (relation.presence == Some(slot)).then(|| "*".to_owned());
                Some((relation, name.or_else(whole)?))
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

/// The numbers of the keys that GROUPING asks for.
fn grouping_keys(
    asked: &[(Vec<Expr>, SlotId)],
    keys: &Keys,
    place: Place,
) -> Result<Vec<(Vec<usize>, SlotId)>> {
    let number = |key: &Expr| {
        let at = keys.exprs.iter().position(|known| known == key);
        at.ok_or_else(|| {
            let message =
                "arguments to GROUPING must be grouping expressions of the associated query level";
            error(b"42803", place, message)
        })
    };
    let one = |(asked, slot): &(Vec<Expr>, SlotId)| {
        Ok((asked.iter().map(number).collect::<Result<Vec<_>>>()?, *slot))
    };
    asked.iter().map(one).collect()
}

/// Puts slots where expressions stand that are written so.
fn replace(expr: &mut Expr, written: &[Expr], slots: &[SlotId]) {
    if !matches!(expr.kind, ExprKind::Constant(_))
        && let Some(at) = written.iter().position(|known| known == expr)
    {
        expr.kind = ExprKind::Slot(slots[at]);
        return;
    }
    operands_mut(expr, &mut |operand| replace(operand, written, slots));
}
