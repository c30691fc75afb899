//! WITH RECURSIVE: a query that reads what it gave before.
//!
//! Role         compiles `start UNION [ALL] next`, where `next` names the query itself: there that
//!              means the rows of the last round. Where the name means no more than another query,
//!              it is one
//! Invariants   I1 `next` names it once, where each of its rows counts by itself: not in a subquery
//!              of an expression, not under an aggregate, not where an outer join fills up
//!              I2 types are those of `start`; of numerics, those that a second look gives

use hotrow_base::types::SqlType;
use hotrow_query::{JoinKind, Plan, Recursion, SetOperation, Step, StepKind};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Place, SlotId};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};

use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::relation::level::{Bound, Common, Level, Within};
use crate::scope::Compiler;
use crate::typing::{cast, common_type};

const OTHER_FORM: &str = "does not have the form non-recursive-term UNION [ALL] recursive-term";
const IN_START: &str = "must not appear within its non-recursive term";

impl Compiler<'_> {
    /// A query of WITH RECURSIVE.
    pub(super) fn recursive_plan(&mut self, common: &Common) -> Result<Bound> {
        let place = place_in(&*common.query, self.place);
        let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } =
            &*common.query.body
        else {
            let query = common.query.clone();
            let inside = Within::Refused(OTHER_FORM);
            return self.within(common, inside, |compiler| compiler.query_plan(&query));
        };
        let all = match set_quantifier {
            SetQuantifier::All => true,
            SetQuantifier::Distinct | SetQuantifier::None => false,
            _ => return Err(unsupported(place, "BY NAME", "list the columns in one order")),
        };
        self.part()?;
        self.levels.push(Level::default());
        let compiled = self.rounds(common, all, (left, right), place);
        self.levels.pop();
        match compiled? {
            Some(bound) => Ok(bound),
            None => self.query_plan(&common.query),
        }
    }

    /// Start and rounds; none: it does not name itself.
    fn rounds(
        &mut self,
        common: &Common,
        all: bool,
        (left, right): (&SetExpr, &SetExpr),
        place: Place,
    ) -> Result<Option<Bound>> {
        let query = common.query.clone();
        if let Some(with) = &query.with {
            self.with(with, place)?;
        }
        let inside = Within::Refused(IN_START);
        let start = self.within(common, inside, |compiler| compiler.body_plan(left, place))?;
        let table = self.parts;
        let mut columns: Vec<(String, SqlType)> = Vec::new();
        for (at, (name, slot)) in start.outputs.iter().enumerate() {
            let name = common.columns.get(at).unwrap_or(name).clone();
            columns.push((name, self.slot_type(*slot)));
        }
        let mut next = self.round(common, (table, &columns), right, place)?;
        let count = naming(&next.plan, table);
        if count == 0 {
            return Ok(None);
        }
        refuse_clauses(&query, place)?;
        if count > 1 {
            return Err(misplaced(common, "must not appear more than once", place));
        }
        refuse_misplaced(&next.plan, table, common, place)?;
        if self.widened(common, &mut columns, &next, place)? {
            next = self.round(common, (table, &columns), right, place)?;
        }
        let (mut firsts, mut nexts, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        let pairs = start.outputs.iter().zip(&next.outputs);
        for ((name, sql_type), ((_, first), (_, next))) in columns.iter().zip(pairs) {
            let to = |slot: SlotId| cast(self.slot_expr(slot), sql_type.packed());
            firsts.push(to(*first));
            nexts.push(to(*next));
            outputs.push((name.clone(), self.temporary(name, sql_type.packed())?));
        }
        let start = self.computed(start.plan, &firsts)?;
        let next = self.computed(next.plan, &nexts)?;
        let slots = outputs.iter().map(|(_, slot)| *slot).collect();
        let plan = Plan::Recursion(Box::new(Recursion { table, all, start, next, outputs: slots }));
        Ok(Some(Bound { plan, outputs }))
    }

    /// Compiles a part of a query in which the query's own name means this.
    fn within<T>(
        &mut self,
        common: &Common,
        within: Within,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let known = Common { within: Some(within), ..common.clone() };
        let before = self.levels[common.depth].common.len();
        self.levels[common.depth].common.push(known);
        let compiled = compile(self);
        self.levels[common.depth].common.truncate(before);
        compiled
    }

    fn round(
        &mut self,
        common: &Common,
        (table, columns): (usize, &[(String, SqlType)]),
        right: &SetExpr,
        place: Place,
    ) -> Result<Bound> {
        let inside = Within::Rows { table, columns: columns.to_vec() };
        let next = self.within(common, inside, |compiler| compiler.body_plan(right, place))?;
        if next.outputs.len() != columns.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(error(b"42601", place, message));
        }
        Ok(next)
    }

    /// Whether numerics had to be given another scale. Fails with 42804 where other types differ.
    fn widened(
        &self,
        common: &Common,
        columns: &mut [(String, SqlType)],
        next: &Bound,
        place: Place,
    ) -> Result<bool> {
        let mut is_other = false;
        for (at, ((_, of), (_, slot))) in columns.iter_mut().zip(&next.outputs).enumerate() {
            let given = self.slot_type(*slot);
            let (one, two) = (of.packed(), given.packed());
            let overall = match (*of, given) {
                (SqlType::Scalar(_), SqlType::Scalar(_)) => common_type(one, two),
                _ => (one == two).then_some(one),
            };
            match overall {
                Some(overall) if overall == one => {}
                Some(overall) if one.is_numeric() && overall.is_numeric() => {
                    (*of, is_other) = (SqlType::Scalar(overall), true);
                }
                overall => {
                    let (name, number) = (&common.name, at + 1);
                    let overall = overall.unwrap_or(two);
                    let message = format!(
                        "recursive query \"{name}\" column {number} has type {one} in \
                         non-recursive term but type {overall} overall"
                    );
                    let hint = "Cast the output of the non-recursive term to the correct type.";
                    return Err(error(b"42804", place, message).hint(hint));
                }
            }
        }
        Ok(is_other)
    }

    /// What a query's own name stands for inside of it.
    pub(super) fn own_rows(
        &mut self,
        common: &Common,
        within: &Within,
        place: Place,
    ) -> Result<Bound> {
        let (table, columns) = match within {
            Within::Refused(why) => return Err(misplaced(common, why, place)),
            Within::Rows { table, columns } => (*table, columns),
        };
        let mut outputs = Vec::new();
        for (name, sql_type) in columns {
            outputs.push((name.clone(), self.temporary(name, sql_type.packed())?));
        }
        let slots = outputs.iter().map(|(_, slot)| *slot).collect();
        Ok(Bound { plan: Plan::Round { table, outputs: slots }, outputs })
    }
}

fn misplaced(common: &Common, why: &str, place: Place) -> SqlError {
    let name = &common.name;
    let subject = match why {
        OTHER_FORM => "recursive query",
        _ => "recursive reference to query",
    };
    error(b"42P19", place, format!("{subject} \"{name}\" {why}"))
}

/// How often a plan reads the rows of the last round.
fn naming(plan: &Plan, table: usize) -> usize {
    let mut count = 0;
    plan.walk(&mut |plan| {
        count += usize::from(matches!(plan, Plan::Round { table: of, .. } if *of == table));
    });
    count
}

fn refuse_misplaced(plan: &Plan, table: usize, common: &Common, place: Place) -> Result<()> {
    let names = |plan: &Plan| naming(plan, table) > 0;
    let in_step =
        |step: &Step| matches!(&step.kind, StepKind::Subquery { plan, .. } if names(plan));
    let mut refused = Ok(());
    plan.walk(&mut |plan| {
        let why = match plan {
            plan if plan.steps().iter().any(in_step) => "must not appear within a subquery",
            Plan::Join(join) if join.kind != JoinKind::Inner && names(&join.right) => {
                "must not appear within an outer join"
            }
            Plan::Join(join) if join.kind == JoinKind::Full && names(&join.left) => {
                "must not appear within an outer join"
            }
            Plan::Set { operation: SetOperation::Except, right, .. } if names(&right.0) => {
                "must not appear within EXCEPT"
            }
            Plan::Group(group) if !group.aggregates.is_empty() && names(&group.input) => {
                let message =
                    "aggregate functions are not allowed in a recursive query's recursive term";
                refused = Err(error(b"42P19", place, message));
                return;
            }
            _ => return,
        };
        refused = Err(misplaced(common, why, place));
    });
    refused
}

fn refuse_clauses(query: &ast::Query, place: Place) -> Result<()> {
    let clause = match (&query.order_by, &query.limit_clause, &query.fetch) {
        (Some(_), ..) => "ORDER BY in a recursive query",
        (_, Some(_), _) | (_, _, Some(_)) => "LIMIT or OFFSET in a recursive query",
        _ => return Ok(()),
    };
    Err(unsupported(place, clause, "write it where the query is named"))
}
