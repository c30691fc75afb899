//! What a program cannot have: asked, and sent, as the session's own statement.
//!
//! Role         the system catalog is for queries of sessions, and so are changes of rows that need
//!              several programs. A step that was refused is done in another way here, where there
//!              is one; else the refusal stands

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::error::{Advice, error, place_in};
use crate::interpreted::BlockHost;
use crate::interpreted::run::Run;
use crate::interpreted::step::{Made, Step};
use crate::syntax::{
    BlockStatement, BlockStatementKind as Kind, Declaration, Into, Target, VariableSyntax,
};
use crate::token::selection_of;

type Ended<T, H> = std::result::Result<T, <H as BlockHost>::Error>;

impl<'b, H: BlockHost> Run<'_, 'b, H> {
    /// A statement that is refused as a part of a program.
    pub(super) fn instead(
        &mut self,
        statement: &'b BlockStatement,
        refused: SqlError,
    ) -> Ended<(), H> {
        let place = statement.place;
        match &statement.kind {
            Kind::Assign { target, value } => self
                .assign_queried(target, value, place)
                .map_err(|failed| either::<H>(failed, refused)),
            Kind::Sql { statement, into } => {
                self.send_instead(statement, into.as_ref(), place, refused)
            }
            Kind::Perform(query) => {
                let (values, _) = self.sent(query, place, refused)?;
                self.found = !values.is_empty();
                Ok(())
            }
            _ => Err(refused.into()),
        }
    }

    /// A variable whose default is refused.
    pub(super) fn declare_instead(
        &mut self,
        written: &'b VariableSyntax,
        refused: SqlError,
    ) -> Ended<(), H> {
        let Some(default) = &written.default else { return Err(refused.into()) };
        let bare = VariableSyntax {
            name: written.name.clone(),
            place: written.place,
            constant: false,
            not_null: false,
            type_name: written.type_name.clone(),
            default: None,
        };
        let declaration = Declaration::Variable(Box::new(bare));
        let (values, made) = self.tried(Step::Declaration(&declaration), written.place)??;
        self.declared(written, values, made);
        let target = Target { parts: vec![written.name.clone()], place: written.place };
        self.assign_queried(&target, default, written.place)
            .map_err(|failed| either::<H>(failed, refused))?;
        self.settle_declared(written)
    }

    /// The value of an expression, as a query gives it, for a variable.
    fn assign_queried(&mut self, target: &Target, value: &ast::Expr, place: Place) -> Ended<(), H> {
        let (values, made) = self.queried(vec![value.clone()], place)?;
        let types: Vec<_> = made.columns.iter().map(|(_, of)| *of).collect();
        self.assign(std::slice::from_ref(target), &types, values, place)
    }

    /// Values that are refused in programs.
    pub(super) fn values_instead(
        &mut self,
        step: Step<'_>,
        place: Place,
        refused: SqlError,
    ) -> Ended<(Vec<Value>, Made), H> {
        let (written, condition) = match step {
            Step::Condition(condition, what) => (vec![condition.clone()], Some((condition, what))),
            Step::Equal(left, right) => {
                let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
                (vec![ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right }], None)
            }
            Step::Bounds(of) => {
                let bounds = [Some(&of.from), Some(&of.to), of.step.as_ref()].into_iter();
                (bounds.flatten().map(integer).collect(), None)
            }
            Step::Value(value) => (vec![value.clone()], None),
            Step::Text(of) => ([&of.text].into_iter().chain(&of.using).cloned().collect(), None),
            _ => return Err(refused.into()),
        };
        let (values, made) =
            self.queried(written, place).map_err(|failed| either::<H>(failed, refused))?;
        let of = made.columns.first().map(|(_, of)| *of);
        if let (Some((condition, what)), Some(of)) = (condition, of)
            && of != SqlType::Scalar(DataType::Boolean)
        {
            let message = format!("argument of {what} must be type boolean, not type {of}");
            return Err(error(b"42804", place_in(condition, place), message).into());
        }
        Ok((values, made))
    }

    /// The only row of a query that computes values.
    fn queried(&mut self, written: Vec<ast::Expr>, place: Place) -> Ended<(Vec<Value>, Made), H> {
        let items = written.into_iter().map(ast::SelectItem::UnnamedExpr).collect();
        let query = selection_of(items, place)?;
        let sent = ast::Statement::Query(query.clone());
        let count = self.row_count;
        let done = match self.tried(Step::Sent(&sent), place)? {
            Ok(done) => done,
            Err(refused) => {
                self.nested(&query, &refused, place)?.ok_or_else(|| H::Error::from(refused))?
            }
        };
        self.row_count = count; // no statement's
        Ok(done)
    }

    /// A statement's rows, as the session's own.
    fn sent(
        &mut self,
        statement: &ast::Statement,
        place: Place,
        refused: SqlError,
    ) -> Ended<(Vec<Value>, Made), H> {
        match (self.tried(Step::Sent(statement), place)?, statement) {
            (Ok(done), _) => Ok(done),
            (Err(again), ast::Statement::Query(query)) => {
                self.nested(query, &again, place)?.ok_or_else(|| refused.into())
            }
            (Err(_), _) => Err(refused.into()),
        }
    }

    /// A statement of SQL as the session's own, with what INTO names.
    pub(super) fn send_instead(
        &mut self,
        statement: &ast::Statement,
        into: Option<&Into>,
        place: Place,
        refused: SqlError,
    ) -> Ended<(), H> {
        let (values, made) = self.sent(statement, place, refused)?;
        let count = self.row_count;
        self.found = count > 0;
        let Some(into) = into else { return Ok(()) };
        let rows = made.rows(values);
        let is_change = !matches!(statement, ast::Statement::Query(_));
        match rows.len() {
            0 if into.strict => {
                return Err(error(b"P0002", place, "query returned no rows").into());
            }
            2.. if into.strict || is_change => {
                let hint = "Make sure the query returns a single row, or use LIMIT 1.";
                let message = "query returned more than one row";
                return Err(error(b"P0003", place, message).hint(hint).into());
            }
            _ => {}
        }
        let nulls = vec![Value::Null; rows.columns.len()];
        let row = if rows.len() == 0 { &nulls[..] } else { rows.row(0) };
        self.assign_row(&into.targets, &rows.columns, row, place)?;
        (self.found, self.row_count) = (rows.len() > 0, count.min(1));
        Ok(())
    }
}

/// The first refusal says it better than the second one.
fn either<H: BlockHost>(failed: H::Error, refused: SqlError) -> H::Error {
    match H::sql_error(failed) {
        Ok(failed) if &failed.sqlstate == b"0A000" => refused.into(),
        Ok(failed) => failed.into(),
        Err(failed) => failed,
    }
}

/// A bound of a loop.
fn integer(written: &ast::Expr) -> ast::Expr {
    ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(written.clone()),
        data_type: ast::DataType::Integer(None),
        format: None,
    }
}
