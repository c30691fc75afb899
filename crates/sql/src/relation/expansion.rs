//! Functions of a select list that give rows.

use hotrow_base::json::JsonRows;
use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{Expanding, HostFunction, Plan, Step, StepKind};
use hotrow_transaction::program::{Expr, Place, SlotId};
use hotrow_transaction::walk::reads_any;
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::functions::{self, Evaluation, Type};
use crate::operand::{Operand, types_of};
use crate::relation::level::{ExpandedBy, Expansion};
use crate::row_fields::{composite_type_of, fields_of_value, nameless_row};
use crate::scope::Compiler;
use crate::typing::{cast, packed};

impl Compiler<'_> {
    /// A function that gives rows, in a select list.
    pub(super) fn expanded(
        &mut self,
        function: &ast::Function,
        name: &str,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Expr> {
        let text = function.to_string();
        let known = self.level().expansions.iter().find(|(known, _)| *known == text);
        let slots = match known {
            Some((_, slots)) => slots.clone(),
            None => {
                let expansion = self.expansion(name, written, false, place)?;
                let expansion = expansion.ok_or_else(|| {
                    functions::no_function(name, &vec![None; written.len()], place)
                })?;
                let slots = expansion.outputs.clone();
                self.level().expanding.push(expansion);
                self.level().expansions.push((text, slots.clone()));
                slots
            }
        };
        let all = &self.level().expanding;
        let one = all.iter().find(|one| one.outputs == slots).map(|one| (one.by, &one.names));
        let is_last = |by| matches!(by, ExpandedBy::Function(HostFunction::ExpandArray));
        match one {
            // Its last column is the whole.
            Some((by, names)) if slots.len() > 1 && !is_last(by) => {
                let named = names.clone().into_iter().zip(&slots);
                let fields = named.map(|(name, slot)| (name, self.slot_expr(*slot))).collect();
                nameless_row(fields, place)
            }
            _ => Ok(self.slot_expr(*slots.last().expect("it has a column"))),
        }
    }

    /// What a function gives that gives rows; none: there is no such function.
    pub(super) fn expansion(
        &mut self,
        name: &str,
        written: &[&ast::Expr],
        ordinality: bool,
        place: Place,
    ) -> Result<Option<Expansion>> {
        let integer = SqlType::Scalar(DataType::Integer);
        let row = functions::with_count(name, written.len());
        let Some(Evaluation::Rows(of)) = row.map(|row| row.evaluation) else { return Ok(None) };
        let (function, arguments, columns) = match (of, written) {
            (HostFunction::Series, _) => {
                let (values, of) = self.series(written, place)?;
                (HostFunction::Series, values, vec![(name, SqlType::Scalar(of))])
            }
            (HostFunction::Unnest, [array, ..]) => {
                let array = self.expr(array)?;
                if let SqlType::Scalar(of) = array.sql_type {
                    let message = format!("function unnest({of}) does not exist");
                    return Err(error(b"42883", place, message));
                }
                let element = SqlType::Scalar(array.data_type());
                (HostFunction::Unnest, vec![array], vec![(name, element)])
            }
            (HostFunction::Itself, [relation, ..]) => {
                let relation =
                    self.fixed_argument(relation, SqlType::Scalar(DataType::BigInt), place)?;
                let columns = vec![("relid", SqlType::Scalar(DataType::BigInt))];
                (HostFunction::Itself, vec![relation], columns)
            }
            (HostFunction::JsonRows(function), [json, ..]) => {
                let of = match row.map(|row| row.argument(0)) {
                    Some(Type::Is(SqlType::Scalar(of))) => of,
                    _ => DataType::Json,
                };
                let json = self.fixed_argument(json, SqlType::Scalar(of), place)?;
                if json.sql_type != SqlType::Scalar(of) {
                    return Ok(None);
                }
                let text = SqlType::Scalar(DataType::Text);
                let columns = match function {
                    JsonRows::Elements => vec![("value", SqlType::Scalar(of))],
                    JsonRows::ElementsText => vec![("value", text)],
                    JsonRows::Each => vec![("key", text), ("value", SqlType::Scalar(of))],
                    JsonRows::EachText => vec![("key", text), ("value", text)],
                    JsonRows::Keys => vec![(name, text)],
                };
                (HostFunction::JsonRows(function), vec![json], columns)
            }
            (
                HostFunction::PatternRows(_)
                | HostFunction::JsonPath(_)
                | HostFunction::Parts
                | HostFunction::Subscripts,
                _,
            ) => {
                let operands = self.operands(written)?;
                let row = functions::resolve(name, &types_of(&operands), place)?;
                let arguments = self.arguments_for(row, operands)?;
                let Type::Is(gives) = row.result else { return Ok(None) };
                (of, arguments, vec![(name, gives)])
            }
            (HostFunction::JsonRecords(_), [_, _]) => {
                let advice = "write SELECT ... FROM it, (it).*, (it).field or row_to_json(it)";
                return Err(unsupported(place, format!("a row of {name} as a value"), advice));
            }
            (HostFunction::JsonRecords(_), _) => {
                let message = format!("could not determine row type for result of {name}");
                return Err(error(b"0A000", place, message)
                    .hint("call it in the FROM clause, AS r (a integer, b text)"));
            }
            (HostFunction::Keywords, []) => {
                let [text, truth] = [DataType::Text, DataType::Boolean].map(SqlType::Scalar);
                let columns = vec![
                    ("word", text),
                    ("catcode", text),
                    ("barelabel", truth),
                    ("catdesc", text),
                    ("baredesc", text),
                ];
                (HostFunction::Keywords, vec![], columns)
            }
            (HostFunction::ExpandArray, [array, ..]) => {
                let array = self.expr(array)?;
                let of = array.data_type();
                let columns =
                    vec![("x", SqlType::Scalar(of)), ("n", integer), (name, SqlType::Array(of))];
                (HostFunction::ExpandArray, vec![array], columns)
            }
            _ => return Ok(None),
        };
        let mut columns = columns;
        if ordinality {
            columns.push(("ordinality", SqlType::Scalar(DataType::BigInt)));
        }
        let mut outputs = Vec::new();
        for (name, sql_type) in &columns {
            outputs.push(self.slot(&format!("${name}"), *sql_type)?);
        }
        let names = columns.into_iter().map(|(name, _)| name.to_owned()).collect();
        let by = ExpandedBy::Function(function);
        Ok(Some(Expansion { by, arguments, names, outputs, is_numbered: ordinality }))
    }

    /// Of arrays of rows, the fields of each in columns of their own.
    pub(super) fn with_rows_apart(
        &mut self,
        plan: Plan,
        names: &mut Vec<String>,
        outputs: Vec<SlotId>,
    ) -> Result<(Plan, Vec<SlotId>)> {
        let is_row = |slot: &SlotId| composite_type_of(&self.slot_expr(*slot)).is_some();
        if !outputs.iter().any(is_row) {
            return Ok((plan, outputs));
        }
        let (mut all, mut slots) = (Vec::new(), Vec::new());
        let (mut values, mut computed) = (Vec::new(), Vec::new());
        for (name, output) in std::mem::take(names).into_iter().zip(outputs) {
            let Some(fields) = fields_of_value(&self.slot_expr(output)) else {
                all.push(name);
                slots.push(output);
                continue;
            };
            for (name, field) in fields {
                let field = packed(field);
                let slot = self.slot(&format!("${name}"), field.sql_type)?;
                values.push(field);
                computed.push(slot);
                slots.push(slot);
                all.push(name);
            }
        }
        *names = all;
        let scalars = self.scalars(&values)?;
        Ok((Plan::Compute { input: Box::new(plan), scalars, outputs: computed }, slots))
    }

    /// Functions that give rows, behind those whose rows they are asked of; others side by side.
    pub(super) fn expansion_steps(&mut self, all: Vec<Expansion>) -> Result<Vec<Step>> {
        let is_call = |one: &Expansion| matches!(one.by, ExpandedBy::Call(_));
        if all.len() > 1 && all.iter().any(is_call) {
            let what = "functions that give rows side by side, one of which was created here,";
            return Err(unsupported(self.place, what, "write them in FROM"));
        }
        let mut rounds: Vec<Vec<Expansion>> = Vec::new();
        for one in all {
            let asks = |round: &Vec<Expansion>| {
                let mut given = round.iter().flat_map(|other| &other.outputs);
                given.any(|slot| one.arguments.iter().any(|of| reads_any(of, |s| s == *slot)))
            };
            let behind = rounds.iter().rposition(asks).map_or(0, |round| round + 1);
            match rounds.get_mut(behind) {
                Some(round) => round.push(one),
                None => rounds.push(vec![one]),
            }
        }
        rounds.iter().map(|round| self.expansion_step(round)).collect()
    }

    /// Functions that give rows, side by side.
    pub(crate) fn expansion_step(&mut self, all: &[Expansion]) -> Result<Step> {
        let arguments: Vec<Expr> = all.iter().flat_map(|one| one.arguments.clone()).collect();
        let expanding = |one: &Expansion| match one.by {
            ExpandedBy::Function(function) => Some(Expanding {
                function,
                arguments: one.arguments.len(),
                columns: one.outputs.len() - usize::from(one.is_numbered),
            }),
            ExpandedBy::Call(_) => None,
        };
        let kind = match all {
            [Expansion { by: ExpandedBy::Call(fetch), .. }] => StepKind::CallRows { fetch: *fetch },
            all => StepKind::Expand(all.iter().filter_map(expanding).collect()),
        };
        let outputs = all.iter().flat_map(|one| one.outputs.iter().copied()).collect();
        Ok(Step::new(self.scalars(&arguments)?, kind, outputs))
    }

    /// The arguments of generate_series, and the type of what it gives.
    fn series(&mut self, written: &[&ast::Expr], place: Place) -> Result<(Vec<Expr>, DataType)> {
        let mut operands = Vec::new();
        for value in written {
            operands.push((self.operand(value)?, place_in(*value, place)));
        }
        let given = types_of(&operands);
        let no_function = || functions::no_function("generate_series", &given, place);
        if let Some(of) = moments(&given) {
            let mut values = Vec::new();
            for ((operand, place), of) in operands.into_iter().zip([of, of, DataType::Interval]) {
                let value = self.settle(operand, of, place)?;
                let is_time = matches!(
                    value.data_type(),
                    DataType::Date | DataType::Timestamp(_) | DataType::TimestampTz(_)
                );
                if value.data_type() != of && !(of != DataType::Interval && is_time) {
                    return Err(no_function());
                }
                values.push(cast(value, of));
            }
            return if values.len() == 3 { Ok((values, of)) } else { Err(no_function()) };
        }
        let mut known = Vec::new();
        for (operand, place) in operands {
            known.push(match operand {
                Operand::Unknown(_) | Operand::Parameter(_) => {
                    (Operand::Typed(self.settle(operand, DataType::Integer, place)?), place)
                }
                typed => (typed, place),
            });
        }
        let (values, of) = self.unified(known, "generate_series", place)?;
        let of = match of {
            of if of.is_integer() => of,
            of if of.is_numeric() => DataType::AnyNumeric,
            _ => return Err(no_function()),
        };
        Ok((values.into_iter().map(|value| cast(value, of)).collect(), of))
    }
}

/// The type of a series whose ends are moments; none: they are not.
fn moments(given: &[Option<SqlType>]) -> Option<DataType> {
    use DataType as T;
    let mut ends = given.iter().take(2).flatten().peekable();
    let _ = ends.peek()?;
    let is = |of: &SqlType, wanted: T| match of {
        SqlType::Scalar(of) => of.with_all_digits() == wanted,
        SqlType::Array(_) => false,
    };
    let mut result = T::TIMESTAMP;
    for end in ends {
        match end {
            // Dates become what PostgreSQL prefers among moments.
            of if is(of, T::Date) || is(of, T::TIMESTAMPTZ) => result = T::TIMESTAMPTZ,
            of if is(of, T::TIMESTAMP) => {}
            _ => return None,
        }
    }
    Some(result)
}
