//! MERGE: each row of a source changes, or becomes, a row of a table.
//!
//! Role         a query joins the source with the table and says of each row which WHEN clause is
//!              the first that fits, and with which values; the clause is then an UPDATE, DELETE or
//!              INSERT of that row, by key. The query is over before the first row is changed
//! Source       PostgreSQL 15, MERGE. We differ: the table may not be a view; subqueries among the
//!              values of a clause are computed for rows that it is not for, too

use hotrow_base::types::DataType;
use hotrow_query::{Plan, Window, WindowFunction};
use hotrow_transaction::catalog::TriggerEvent;
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, Place, SlotId, Statement, StatementKind,
};
use sqlparser::ast::{self, MergeAction, MergeClauseKind, MergeInsertKind, MergeUpdateKind};

use crate::assignment::{ColumnValue, one_by_one};
use crate::change::Receiver;
use crate::comparison::negated;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::relation::level::Bound;
use crate::scope::Compiler;
use crate::through::Target;
use crate::token::{parse_statement, tokenize};
use crate::typing::{integer, null, scalar};

use super::change::{FoundMerge, FoundRow, Taken, TakenMerge, TakenValue};

impl<'c> Compiler<'c> {
    /// The table that MERGE changes.
    pub(crate) fn merge_target(&self, merge: &ast::Merge) -> Result<Target<'c>> {
        let target = self.changed_table(&alone(&merge.table), TriggerEvent::Update)?;
        if target.through.is_some() {
            let place = place_in(&merge.table, self.place);
            let message = format!("cannot execute MERGE on relation \"{}\"", target.name());
            return Err(error(b"42809", place, message)
                .detail("This operation is not supported for views."));
        }
        self.refuse_secured_merge(target.table, place_in(&merge.table, self.place))?;
        Ok(target)
    }

    /// The statements that the clauses of MERGE are; none: DO NOTHING.
    pub(crate) fn merge_changes(&self, merge: &ast::Merge) -> Result<Vec<Option<ast::Statement>>> {
        let place = place_in(&merge.table, self.place);
        if merge.output.is_some() {
            return Err(unsupported(place, "RETURNING of MERGE", "read the rows with SELECT"));
        }
        let mut ended = [false; 2];
        let mut changes = Vec::new();
        for clause in &merge.clauses {
            let matched = match clause.clause_kind {
                MergeClauseKind::Matched => true,
                MergeClauseKind::NotMatched => false,
                _ => {
                    return Err(syntax(place, "this kind of WHEN is not PostgreSQL 15's")
                        .hint("write WHEN MATCHED or WHEN NOT MATCHED"));
                }
            };
            if ended[usize::from(matched)] {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return Err(syntax(place, message));
            }
            ended[usize::from(matched)] |= clause.predicate.is_none();
            changes.push(change_of(merge, &clause.action, place)?);
        }
        Ok(changes)
    }

    pub(super) fn rows_to_merge(
        &mut self,
        (merge, with): (&ast::Merge, Option<&ast::With>),
        assigned: &[SlotId],
        place: Place,
    ) -> Result<(Bound, Taken)> {
        let target = self.merge_target(merge)?;
        let changes = self.merge_changes(merge)?;
        let on = ast::JoinConstraint::On((*merge.on).clone());
        let mut joined = alone(&merge.table);
        joined.joins.push(ast::Join {
            relation: merge.source.clone(),
            global: false,
            join_operator: ast::JoinOperator::RightOuter(on),
        });
        let mut taken = Taken::default();
        let (mut clauses, mut action, mut is_change) = (Vec::new(), 0, 0);
        let from = (None, &[&joined][..], None);
        let mut bound = self.rows_from(with, from, |this, wanted| {
            let mut columns = Vec::new();
            taken.key = this.key_of_target((&target, wanted), assigned, &mut columns)?;
            let is_missing = Box::new(columns[0].clone());
            let is_missing = scalar(ExprKind::IsNull(is_missing), DataType::Boolean);
            let is_there = negated(is_missing.clone());
            let mut conditions = Vec::new();
            for clause in &merge.clauses {
                let side = match clause.clause_kind {
                    MergeClauseKind::Matched => &is_there,
                    _ => &is_missing,
                };
                conditions.push(match &clause.predicate {
                    None => side.clone(),
                    Some(written) => {
                        let asked = this.as_clause(clause, |this| this.condition(written, "WHEN"));
                        let both = (side.clone(), asked?);
                        let kind = ExprKind::And(Box::new(both.0), Box::new(both.1));
                        scalar(kind, DataType::Boolean)
                    }
                });
            }
            for (at, (change, clause)) in changes.iter().zip(&merge.clauses).enumerate() {
                let (before, own) = (&conditions[..at], &conditions[at]);
                let mut values = Vec::new();
                for given in change.as_ref().map_or(Ok(Vec::new()), |of| given(of, place))? {
                    let stays = match &given {
                        ColumnValue::Written(of) => this.stays_in_change(of),
                        _ => false,
                    };
                    values.push((!stays).then_some(TakenValue::Column(columns.len())));
                    if !stays {
                        let value = this.as_clause(clause, |this| this.value_given(&given))?;
                        columns.push(chosen(before, own, value));
                    }
                }
                clauses.push(values);
            }
            action = columns.len();
            columns.push(first_of(&conditions));
            is_change = columns.len();
            let changing = conditions.iter().zip(&changes).map(|(condition, change)| {
                let changes =
                    matches!(change, Some(ast::Statement::Update(_) | ast::Statement::Delete(_)));
                (condition.clone(), integer(i32::from(changes)))
            });
            columns.push(case(changing.collect(), integer(0)));
            Ok(columns)
        })?;
        // A row may be changed once: the changes of each are numbered.
        let again = self.temporary("again", DataType::BigInt)?;
        let key = taken.key.iter().filter_map(|of| match of {
            TakenValue::Column(at) => Some(bound.outputs[*at].1),
            TakenValue::Fixed(_) => None,
        });
        let partition = key.chain([bound.outputs[is_change].1]).collect();
        bound.plan = Plan::Window(Box::new(Window {
            input: bound.plan,
            partition,
            order: Vec::new(),
            frame: None,
            functions: vec![(WindowFunction::RowNumber, again)],
        }));
        bound.outputs.push((String::new(), again));
        let again = bound.outputs.len() - 1;
        taken.merge = Some(TakenMerge { action, again, clauses });
        Ok((bound, taken))
    }

    /// Compiles something of a clause: where no row of the table is matched, none can be named.
    fn as_clause<T>(
        &mut self,
        clause: &ast::MergeClause,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if clause.clause_kind == MergeClauseKind::Matched {
            return compile(self);
        }
        let target = &mut self.level().relations[0];
        let (shown, name) = (std::mem::take(&mut target.shown), std::mem::take(&mut target.name));
        let compiled = compile(self);
        let target = &mut self.level().relations[0];
        (target.shown, target.name) = (shown, name);
        compiled
    }

    /// What the clause of a row does.
    pub(crate) fn merge_row(
        &mut self,
        out: &mut Vec<Statement>,
        (merge, found): (&ast::Merge, &FoundRow),
        into: Receiver<'_>,
    ) -> Result<()> {
        let changes = self.merge_changes(merge)?;
        let Some(FoundMerge { action, again, clauses }) = &found.merge else { return Ok(()) };
        let mut ways = Vec::new();
        for (number, (change, values)) in (1..).zip(changes.iter().zip(clauses)) {
            let mut then = Vec::new();
            match change {
                None => self.emit_touched(&mut then, 0),
                Some(change) => {
                    if !matches!(change, ast::Statement::Insert(_)) {
                        self.emit_once(&mut then, again);
                    }
                    let (key, values) = (found.key.clone(), values.clone());
                    let (beside, merge, again) = (Vec::new(), None, None);
                    let row = FoundRow { key, values, beside, merge, again };
                    self.change_statement(&mut then, change, Some(&row), into)?;
                }
            }
            let is_it = (Box::new(action.clone()), Box::new(integer(number)));
            let kind = ExprKind::Compare(CompareOp::Equal, is_it.0, is_it.1);
            ways.push((scalar(kind, DataType::Boolean), then));
        }
        let mut otherwise = Vec::new();
        self.emit_touched(&mut otherwise, 0);
        for (condition, then) in ways.into_iter().rev() {
            let mut chain = Vec::new();
            self.emit(&mut chain, StatementKind::If { condition, then, otherwise });
            otherwise = chain;
        }
        out.append(&mut otherwise);
        Ok(())
    }

    /// Fails at the second change of a row.
    fn emit_once(&mut self, out: &mut Vec<Statement>, again: &Expr) {
        let one = Box::new(crate::typing::bigint(1));
        let kind = ExprKind::Compare(CompareOp::Greater, Box::new(again.clone()), one);
        let mut then = Vec::new();
        let message = "MERGE command cannot affect row a second time".to_owned();
        self.emit_raise(&mut then, b"21000", message, None);
        let condition = scalar(kind, DataType::Boolean);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }
}

/// The number of the first condition that is true, from 1; 0: none is.
fn first_of(conditions: &[Expr]) -> Expr {
    let arms = conditions.iter().cloned().zip((1..).map(integer));
    case(arms.collect(), integer(0))
}

/// A value where a condition is the first that is true.
fn chosen(before: &[Expr], own: &Expr, value: Expr) -> Expr {
    let none = || null(value.data_type());
    let mut arms: Vec<_> = before.iter().map(|other| (other.clone(), none())).collect();
    let otherwise = none();
    arms.push((own.clone(), value));
    case(arms, otherwise)
}

fn case(arms: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let sql_type = otherwise.sql_type;
    Expr { kind: ExprKind::Case { arms, otherwise: Some(Box::new(otherwise)) }, sql_type }
}

fn alone(table: &ast::TableFactor) -> ast::TableWithJoins {
    ast::TableWithJoins { relation: table.clone(), joins: Vec::new() }
}

/// The statement that an action is, of all rows; none: it does nothing.
fn change_of(
    merge: &ast::Merge,
    action: &MergeAction,
    place: Place,
) -> Result<Option<ast::Statement>> {
    let empty = |text: &str| parse_statement(&tokenize(text, place)?, place);
    let not_ours = || syntax(place, "this form of MERGE is not PostgreSQL's");
    match action {
        MergeAction::DoNothing { .. } => Ok(None),
        MergeAction::Delete { .. } => {
            let mut statement = empty("DELETE FROM t")?;
            if let ast::Statement::Delete(delete) = &mut statement {
                delete.from = ast::FromTable::WithFromKeyword(vec![alone(&merge.table)]);
            }
            Ok(Some(statement))
        }
        MergeAction::Update(written) => {
            let MergeUpdateKind::Set(assignments) = &written.kind else { return Err(not_ours()) };
            if written.update_predicate.is_some() || written.delete_predicate.is_some() {
                return Err(not_ours());
            }
            let mut statement = empty("UPDATE t SET a = 1")?;
            if let ast::Statement::Update(update) = &mut statement {
                update.table = alone(&merge.table);
                update.assignments.clone_from(assignments);
            }
            Ok(Some(statement))
        }
        MergeAction::Insert(written) => {
            let MergeInsertKind::Values(values) = &written.kind else { return Err(not_ours()) };
            let one_row = values.rows.len() == 1 && written.insert_predicate.is_none();
            let ast::TableFactor::Table { name, .. } = &merge.table else {
                return Err(not_ours());
            };
            if !one_row {
                return Err(not_ours());
            }
            let mut statement = empty("INSERT INTO t VALUES (1)")?;
            if let ast::Statement::Insert(insert) = &mut statement {
                insert.table = ast::TableObject::TableName(name.clone());
                insert.columns.clone_from(&written.columns);
                if let Some(source) = &mut insert.source {
                    *source.body = ast::SetExpr::Values(values.clone());
                }
            }
            Ok(Some(statement))
        }
    }
}

/// The values that a change is given.
fn given(change: &ast::Statement, place: Place) -> Result<Vec<ColumnValue<'_>>> {
    match change {
        ast::Statement::Insert(insert) => {
            let written = super::change::written_values(insert);
            Ok(written.into_iter().map(ColumnValue::Written).collect())
        }
        ast::Statement::Update(update) => {
            let all = one_by_one(&update.assignments, place)?;
            Ok(all.into_iter().map(|(_, value)| value).collect())
        }
        _ => Ok(Vec::new()),
    }
}
