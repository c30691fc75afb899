//! Subqueries in RETURNING.
//!
//! Role         has a change keep its rows, as one in WITH does ([`crate::kept_rows`]), and what
//!              RETURNING says be a query of these. A subquery that names nothing of the rows is
//!              computed before the change
//! Invariants   I1 a subquery sees the tables as they were before the change: what is computed
//!                 behind it may not read a table that it has changed (0A000)
//! Source       PostgreSQL 15, 6.4 and 13.2.1: a statement sees what was there when it began

use std::ops::ControlFlow;

use hotrow_base::types::DataType;
use hotrow_transaction::catalog::local;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{CompareOp, ExprKind, Function, Place, Statement, StatementKind};
use sqlparser::ast::{self, SelectItem, TableFactor, TableObject, VisitMut, VisitorMut};

use crate::change::Receiver;
use crate::consume::Sink;
use crate::error::{Result, unsupported};
use crate::relation::column_name;
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::Keeping;
use crate::token::{parse_statement, quoted, tokenize};
use crate::typing::{call, integer, scalar};
use crate::written::{alias_of, ident_name, object_name};

/// Under which name the changed rows are kept; no user's table is called so.
const CHANGED: &str = "?changed?";

/// Whether RETURNING has a subquery.
pub(crate) fn returns_queries(statement: &ast::Statement) -> bool {
    let items = returned(statement).into_iter().flatten();
    items.into_iter().any(|item| {
        let found = ast::visit_expressions(item, |expr| match is_query(expr) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        found.is_break()
    })
}

fn is_query(written: &ast::Expr) -> bool {
    match written {
        ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => true,
        ast::Expr::Function(function) => {
            matches!(function.args, ast::FunctionArguments::Subquery(_))
        }
        _ => false,
    }
}

fn returned(statement: &ast::Statement) -> Option<&Vec<SelectItem>> {
    match statement {
        ast::Statement::Insert(insert) => insert.returning.as_ref(),
        ast::Statement::Update(update) => update.returning.as_ref(),
        ast::Statement::Delete(delete) => delete.returning.as_ref(),
        _ => None,
    }
}

impl Compiler<'_> {
    /// Compiles a change whose RETURNING has subqueries; `with`: what stands before it.
    pub(crate) fn change_shown_by_query(
        &mut self,
        out: &mut Vec<Statement>,
        (statement, with): (&ast::Statement, Option<&ast::With>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        let (name, change) = split(statement, place)?;
        let mut items = returned(statement).cloned().unwrap_or_default();
        for item in &mut items {
            if let SelectItem::UnnamedExpr(expr) = item {
                let alias = ast::Ident::with_quote('"', column_name(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        let around = self.keeping.clone();
        let compiled = self.shown_rows(out, ((&change, with), &name), items, into);
        // Of one in WITH its own rows are kept, too.
        let open = self.keeping.open.take();
        self.keeping = Keeping { open, ..around };
        compiled
    }

    fn shown_rows(
        &mut self,
        out: &mut Vec<Statement>,
        ((change, with), name): ((&ast::Statement, Option<&ast::With>), &str),
        mut items: Vec<SelectItem>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        self.compute_before_change(out, &mut items)?;
        let begin = out.len();
        self.keep_rows(out, (CHANGED.to_owned(), Vec::new()), |this, out| match with {
            Some(_) => this.change_of_rows(out, (change, with), None),
            None => this.sql(change, None, out),
        })?;
        if into.is_some() {
            self.refuse_several(out);
        }
        self.note_changed(&out[begin..]);
        self.keeping.changes_return = true;
        let text = format!("SELECT 1 FROM {} AS {}", quoted(CHANGED), quoted(name));
        let mut query = query_of(&text, place)?;
        query.with = with.cloned();
        if let ast::SetExpr::Select(select) = &mut *query.body {
            select.projection = items;
        }
        let wanted = if into.is_some() { Wanted::First } else { Wanted::All };
        self.emit_query(out, &query, wanted, |this, columns| this.receiver(into, columns))
    }

    /// Fails with P0003 where several rows were changed, of which INTO takes one.
    fn refuse_several(&self, out: &mut Vec<Statement>) {
        let first = self.keeping.rows.last().and_then(|kept| kept.columns.first());
        let Some(array) = first.map(|column| self.slot_expr(column.slot)) else { return };
        let count = call(Function::Cardinality, vec![array], DataType::Integer);
        let several = ExprKind::Compare(CompareOp::Greater, Box::new(count), Box::new(integer(1)));
        let condition = scalar(several, DataType::Boolean);
        let mut then = Vec::new();
        self.emit_raise(&mut then, b"P0003", "query returned more than one row".to_owned(), None);
        self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
    }

    /// Has subqueries that name nothing of the changed rows be computed before these change (I1),
    /// and the list name what they gave.
    fn compute_before_change(
        &mut self,
        out: &mut Vec<Statement>,
        items: &mut [SelectItem],
    ) -> Result<()> {
        let mut visitor = Before { compiler: self, out, depth: 0, count: 0 };
        for item in items {
            if let ControlFlow::Break(error) = item.visit(&mut visitor) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Keeps the rows of a query that nothing around it has to do with; none: something has.
    fn kept_before(
        &mut self,
        out: &mut Vec<Statement>,
        (name, query): (&str, &ast::Query),
    ) -> Result<Option<ast::Query>> {
        let (mark, names, begin) = (self.mark(), self.names.clone(), out.len());
        let keeping = self.keeping.clone();
        let kept = self.keep_rows(out, (name.to_owned(), Vec::new()), |this, out| {
            this.emit_query(out, query, Wanted::All, |_, _| Ok(Sink::Kept))
        });
        match kept {
            Ok(()) => query_of(&format!("SELECT * FROM {}", quoted(name)), self.place).map(Some),
            Err(error) if error.is_refusal() => Err(error),
            Err(_) => {
                self.back_to(&mark);
                (self.names, self.keeping) = (names, keeping);
                out.truncate(begin);
                Ok(None)
            }
        }
    }
}

/// What the changed rows are called in RETURNING, and the change that returns all of them.
fn split(statement: &ast::Statement, place: Place) -> Result<(String, ast::Statement)> {
    let mut change = statement.clone();
    let all = Some(vec![SelectItem::Wildcard(ast::WildcardAdditionalOptions::default())]);
    let refused = || {
        let hint = "have the change return columns, in WITH, and write the subquery behind it";
        unsupported(place, "a subquery in RETURNING of a change with FROM or USING", hint)
    };
    let named = |name: &ast::ObjectName, alias: Option<&ast::TableAlias>| -> Result<String> {
        let own = object_name(name, place)?;
        Ok(alias_of(alias, local(&own)).0)
    };
    let table = |factor: &TableFactor| match factor {
        TableFactor::Table { name, alias, .. } => named(name, alias.as_ref()),
        _ => Err(refused()),
    };
    let name = match &mut change {
        ast::Statement::Insert(insert) => {
            insert.returning = all;
            match (&insert.table_alias, &insert.table) {
                (Some(alias), _) => ident_name(&alias.alias),
                (None, TableObject::TableName(name)) => named(name, None)?,
                (None, _) => return Err(refused()),
            }
        }
        ast::Statement::Update(update) if update.from.is_none() => {
            update.returning = all;
            table(&update.table.relation)?
        }
        ast::Statement::Delete(delete) if delete.using.is_none() => {
            delete.returning = all;
            let (ast::FromTable::WithFromKeyword(of) | ast::FromTable::WithoutKeyword(of)) =
                &delete.from;
            match of.as_slice() {
                [one] => table(&one.relation)?,
                _ => return Err(refused()),
            }
        }
        _ => return Err(refused()),
    };
    Ok((name, change))
}

/// The query that a text of its own making is.
fn query_of(text: &str, place: Place) -> Result<ast::Query> {
    match parse_statement(&tokenize(text, place)?, place)? {
        ast::Statement::Query(query) => Ok(*query),
        _ => Err(SqlError::new(b"XX000", "a query's text is no query")),
    }
}

/// Puts what is computed before in the place of the outermost subqueries.
struct Before<'a, 'c> {
    compiler: &'a mut Compiler<'c>,
    out: &'a mut Vec<Statement>,
    /// of how many subqueries something is a part
    depth: usize,
    count: usize,
}

impl Before<'_, '_> {
    fn replace(&mut self, expr: &mut ast::Expr) -> Result<()> {
        self.count += 1;
        let name = format!("?returned{}?", self.count);
        let place = self.compiler.place;
        match expr {
            ast::Expr::InSubquery { subquery, .. } | ast::Expr::Subquery(subquery) => {
                if let Some(kept) = self.compiler.kept_before(self.out, (&name, subquery))? {
                    **subquery = kept;
                }
            }
            whole => {
                let mut query = query_of("SELECT 1", place)?;
                if let ast::SetExpr::Select(select) = &mut *query.body {
                    select.projection = vec![SelectItem::UnnamedExpr(whole.clone())];
                }
                if let Some(kept) = self.compiler.kept_before(self.out, (&name, &query))? {
                    *whole = ast::Expr::Subquery(Box::new(kept));
                }
            }
        }
        Ok(())
    }
}

impl VisitorMut for Before<'_, '_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<SqlError> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<SqlError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<SqlError> {
        match self.depth == 0 && is_query(expr) {
            true => self.replace(expr).map_or_else(ControlFlow::Break, ControlFlow::Continue),
            false => ControlFlow::Continue(()),
        }
    }
}
