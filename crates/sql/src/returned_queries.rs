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
use hotrow_transaction::catalog::{Table, View, local};
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
use crate::token::{parse_statement, quoted, selection_of, tokenize};
use crate::typing::{call, integer, scalar};
use crate::written::{alias_of, ident_name, is_query, object_name, returned};

/// Under which name the changed rows are kept; no user's table is called so.
const CHANGED: &str = "?changed?";

impl Compiler<'_> {
    /// Compiles a change whose RETURNING has subqueries; `with`: what stands before it.
    pub(crate) fn change_shown_by_query(
        &mut self,
        out: &mut Vec<Statement>,
        (statement, with): (&ast::Statement, Option<&ast::With>),
        into: Receiver<'_>,
    ) -> Result<()> {
        let (relations, change) = self.named_in_returning(statement, with)?;
        let mut items = returned(statement).cloned().unwrap_or_default();
        for item in &mut items {
            if let SelectItem::UnnamedExpr(expr) = item {
                let alias = ast::Ident::with_quote('"', column_name(expr));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        let around = self.keeping.clone();
        let compiled = self.shown_rows(out, ((&change, with), &relations), items, into);
        // Of one in WITH its own rows are kept, too.
        let open = self.keeping.open.take();
        self.keeping = Keeping { open, ..around };
        compiled
    }

    fn shown_rows(
        &mut self,
        out: &mut Vec<Statement>,
        ((change, with), relations): ((&ast::Statement, Option<&ast::With>), &[Named]),
        mut items: Vec<SelectItem>,
        into: Receiver<'_>,
    ) -> Result<()> {
        let place = self.place;
        self.compute_before_change(out, &mut items)?;
        let begin = out.len();
        let columns = relations.iter().flat_map(|relation| &relation.columns);
        let numbers = (1..=columns.count()).map(number_of).collect();
        self.keep_rows(out, (CHANGED.to_owned(), numbers), |this, out| match with {
            Some(_) => this.change_of_rows(out, (change, with), None),
            None => this.sql(change, None, out),
        })?;
        if into.is_some() {
            self.refuse_several(out);
        }
        self.note_changed(&out[begin..]);
        self.keeping.changes_return = true;
        let mut query = query_of(&text_of(relations), place)?;
        query.with = with.cloned();
        if let ast::SetExpr::Select(select) = &mut *query.body {
            let all = std::mem::replace(&mut select.projection, items);
            if let Some(at) = select.projection.iter().position(is_all).filter(|_| all.len() > 1) {
                select.projection.splice(at..=at, all);
            }
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

/// A relation whose columns RETURNING may name.
struct Named {
    name: String,
    /// none: it is alone, and all that is returned is of it
    columns: Vec<String>,
}

fn is_all(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_))
}

/// What column `number` of the kept rows is called, where these are of several relations.
fn number_of(number: usize) -> String {
    format!("?{number}?")
}

/// A query of all columns of relations that the kept rows are made of.
fn text_of(relations: &[Named]) -> String {
    let changed = quoted(CHANGED);
    if let [only] = relations {
        return format!("SELECT * FROM {changed} AS {}", quoted(&only.name));
    }
    let all: Vec<String> = relations.iter().map(|of| format!("{}.*", quoted(&of.name))).collect();
    let mut text = format!("SELECT {} FROM {changed}", all.join(", "));
    let mut numbers = 1..;
    for relation in relations {
        let columns = relation.columns.iter().zip(numbers.by_ref());
        let columns = columns.map(|(name, number)| {
            format!("{changed}.{} AS {}", quoted(&number_of(number)), quoted(name))
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let name = quoted(&relation.name);
        text += &format!(" CROSS JOIN LATERAL (SELECT {columns}) AS {name}");
    }
    text
}

impl Compiler<'_> {
    /// The relations that RETURNING may name, and the change that returns all their columns.
    fn named_in_returning(
        &self,
        statement: &ast::Statement,
        with: Option<&ast::With>,
    ) -> Result<(Vec<Named>, ast::Statement)> {
        let mut change = statement.clone();
        let all = Some(vec![SelectItem::Wildcard(ast::WildcardAdditionalOptions::default())]);
        let (target, others): (&ast::TableWithJoins, &[ast::TableWithJoins]) = match statement {
            ast::Statement::Insert(insert) => {
                let name = match (&insert.table_alias, &insert.table) {
                    (Some(alias), _) => ident_name(&alias.alias),
                    (None, TableObject::TableName(name)) => {
                        local(&object_name(name, self.place)?).to_owned()
                    }
                    (None, _) => return Err(self.refuse_returned()),
                };
                if let ast::Statement::Insert(insert) = &mut change {
                    insert.returning = all;
                }
                return Ok((vec![Named { name, columns: Vec::new() }], change));
            }
            ast::Statement::Update(update) => {
                use ast::UpdateTableFromKind::{AfterSet, BeforeSet};
                let others = match &update.from {
                    None => &[][..],
                    Some(BeforeSet(more) | AfterSet(more)) => more.as_slice(),
                };
                (&update.table, others)
            }
            ast::Statement::Delete(delete) => {
                let (ast::FromTable::WithFromKeyword(of) | ast::FromTable::WithoutKeyword(of)) =
                    &delete.from;
                let [target] = of.as_slice() else { return Err(self.refuse_returned()) };
                (target, delete.using.as_deref().unwrap_or_default())
            }
            _ => return Err(self.refuse_returned()),
        };
        match &mut change {
            ast::Statement::Update(update) => update.returning = all,
            ast::Statement::Delete(delete) => delete.returning = all,
            _ => {}
        }
        let mut relations = Vec::new();
        for table in std::iter::once(target).chain(others) {
            relations.push(self.named_of(table, with, others.is_empty())?);
        }
        Ok((relations, change))
    }

    /// A table or view in FROM, with its columns unless it is alone there.
    fn named_of(
        &self,
        table: &ast::TableWithJoins,
        with: Option<&ast::With>,
        is_alone: bool,
    ) -> Result<Named> {
        let TableFactor::Table { name, alias, args: None, .. } = &table.relation else {
            return Err(self.refuse_returned());
        };
        let written = object_name(name, self.place)?;
        let (name, aliases) = alias_of(alias.as_ref(), local(&written));
        if is_alone {
            return Ok(Named { name, columns: Vec::new() });
        }
        let mut queries = with.iter().flat_map(|with| &with.cte_tables);
        let is_query = queries.any(|query| ident_name(&query.alias.name) == written);
        let of_view = |view: &View| view.columns.iter().map(|(name, _)| name.clone()).collect();
        let of_table = |of: &Table| of.shown().iter().map(|column| column.name.clone()).collect();
        let columns = self.view_named(&written).map(|view| of_view(view));
        let columns = columns.or_else(|| self.table_named(&written).map(of_table));
        let known = columns.filter(|_| !is_query && table.joins.is_empty());
        let mut columns: Vec<String> = known.ok_or_else(|| self.refuse_returned())?;
        for (column, alias) in columns.iter_mut().zip(aliases) {
            *column = alias;
        }
        Ok(Named { name, columns })
    }

    fn refuse_returned(&self) -> SqlError {
        let hint = "have the change return columns, in WITH, and write the subquery behind it";
        unsupported(self.place, "a subquery in RETURNING of such a change", hint)
    }
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
                let query = selection_of(vec![SelectItem::UnnamedExpr(whole.clone())], place)?;
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
