//! Loops of a block that is run statement by statement.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::error::error;
use crate::interpreted::BlockHost;
use crate::interpreted::run::{Flow, Run};
use crate::interpreted::scopes::{Held, Scope};
use crate::interpreted::step::Step;
use crate::open_cursors::OpenRows;
use crate::syntax::{ForRange, LoopBody, StatementSource, Target, Way};
use crate::typing::value_error;

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

/// Where a loop goes on behind a turn.
enum Turn<'b> {
    Next,
    /// it has ended, and where it goes on then
    Ended(Flow<'b>),
}

impl<'b, H: BlockHost> Run<'_, 'b, H> {
    /// One turn of a loop.
    fn turn(&mut self, body: &'b LoopBody) -> Ended<Turn<'b>, H> {
        self.count_step()?;
        let is_own = |label: Option<&String>| label.is_none() || label == body.label.as_ref();
        Ok(match self.body(&body.statements)? {
            Flow::Next => Turn::Next,
            Flow::Leave(Way::Continue, label) if is_own(label) => Turn::Next,
            Flow::Leave(Way::Exit, label) if is_own(label) => Turn::Ended(Flow::Next),
            flow => Turn::Ended(flow),
        })
    }

    /// LOOP and WHILE
    pub(super) fn unbounded(
        &mut self,
        condition: Option<&'b ast::Expr>,
        body: &'b LoopBody,
        place: Place,
    ) -> Ended<Flow<'b>, H> {
        loop {
            if let Some(condition) = condition
                && !self.holds(Step::Condition(condition, "WHILE"), place)?
            {
                return Ok(Flow::Next);
            }
            if let Turn::Ended(flow) = self.turn(body)? {
                return Ok(flow);
            }
        }
    }

    /// FOR over numbers
    pub(super) fn for_range(&mut self, written: &'b ForRange, place: Place) -> Ended<Flow<'b>, H> {
        let (bounds, _) = self.compiled(Step::Bounds(written), place)?;
        let mut numbers = [0, 0, 1];
        let names = ["lower bound", "upper bound", "BY value"];
        for ((number, bound), name) in numbers.iter_mut().zip(&bounds).zip(names) {
            let Value::Int(value) = bound else {
                let message = format!("{name} of FOR loop cannot be null");
                return Err(error(b"22004", place, message).into());
            };
            *number = i64::from(*value);
        }
        let [from, to, step] = numbers;
        if step <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(error(b"22023", place, message).into());
        }
        let (mut at, mut found, mut flow) = (from, false, Flow::Next);
        let around = self.scopes.len();
        // No number lies beyond what an integer has: one more step is none of the loop's.
        while if written.reverse { at >= to } else { at <= to } {
            let Ok(number) = i32::try_from(at) else { break };
            found = true;
            let held = Held::Scalar {
                sql_type: SqlType::Scalar(DataType::Integer),
                value: Value::Int(number),
                constant: false,
                not_null: false,
            };
            let variables = vec![(written.name.clone(), held)];
            self.scopes.push(Scope { label: written.body.label.as_ref(), variables });
            let turn = self.turn(&written.body);
            self.scopes.truncate(around);
            if let Turn::Ended(ended) = turn? {
                flow = ended;
                break;
            }
            at += if written.reverse { -step } else { step };
        }
        self.found = found;
        Ok(flow)
    }

    /// FOREACH
    pub(super) fn for_each(
        &mut self,
        (target, slice): (&'b Target, i32),
        array: &'b ast::Expr,
        body: &'b LoopBody,
        place: Place,
    ) -> Ended<Flow<'b>, H> {
        let (values, compiled) = self.compiled(Step::Value(array), place)?;
        let of = compiled.columns.first().map(|(_, of)| *of);
        let element = match of {
            Some(of @ SqlType::Array(_)) if slice != 0 => of,
            Some(SqlType::Array(element)) => SqlType::Scalar(element),
            other => {
                let of = other.map_or_else(|| "unknown".to_owned(), |of| of.to_string());
                let message = format!("FOREACH expression must yield an array, not type {of}");
                return Err(error(b"42804", place, message).into());
            }
        };
        let array = values.into_iter().next().unwrap_or_default();
        if array.is_null() {
            let message = "FOREACH expression must not be null";
            return Err(error(b"22004", place, message).into());
        }
        let elements = match slice {
            0 => array.elements().map(<[Value]>::to_vec).unwrap_or_default(),
            slice => array.slices(slice).map_err(|problem| value_error(&problem, place))?,
        };
        let (mut found, mut flow) = (false, Flow::Next);
        for value in elements {
            found = true;
            self.assign(std::slice::from_ref(target), &[element], vec![value], place)?;
            if let Turn::Ended(ended) = self.turn(body)? {
                flow = ended;
                break;
            }
        }
        self.found = found;
        Ok(flow)
    }

    /// FOR over the rows of a statement
    pub(super) fn for_query(
        &mut self,
        targets: &'b [Target],
        query: &'b StatementSource,
        body: &'b LoopBody,
        place: Place,
    ) -> Ended<Flow<'b>, H> {
        let rows = self.rows_of(query, place)?;
        self.for_rows(targets, rows, body, place)
    }

    /// FOR over rows that are there
    pub(super) fn for_rows(
        &mut self,
        targets: &'b [Target],
        rows: OpenRows,
        body: &'b LoopBody,
        place: Place,
    ) -> Ended<Flow<'b>, H> {
        let (mut found, mut flow) = (false, Flow::Next);
        for at in 0..rows.len() {
            found = true;
            self.assign_row(targets, &rows.columns, rows.row(at), place)?;
            if let Turn::Ended(ended) = self.turn(body)? {
                flow = ended;
                break;
            }
        }
        self.found = found;
        Ok(flow)
    }

    /// The rows of a statement.
    pub(super) fn rows_of(
        &mut self,
        query: &'b StatementSource,
        place: Place,
    ) -> Ended<OpenRows, H> {
        let (values, compiled) = match query {
            StatementSource::Written(statement) => self.compiled(Step::Sent(statement), place)?,
            StatementSource::Execute(written) => return self.rows_of_text(written, place),
        };
        Ok(compiled.rows(values))
    }

    /// Gives a row to variables.
    pub(super) fn assign_row(
        &mut self,
        targets: &[Target],
        columns: &[(String, SqlType)],
        row: &[Value],
        place: Place,
    ) -> Ended<(), H> {
        if let [target] = targets
            && let Some(Held::Record { fields, is_open: true, .. }) =
                self.scopes.find(&target.parts)
        {
            let of = columns.iter().zip(row);
            *fields = of.map(|((name, of), value)| (name.clone(), *of, value.clone())).collect();
            return Ok(());
        }
        let types: Vec<_> = columns.iter().map(|(_, of)| *of).collect();
        self.assign(targets, &types, row.to_vec(), place)
    }
}
