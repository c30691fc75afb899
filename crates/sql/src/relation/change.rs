//! INSERT, UPDATE and DELETE of rows that a query gives.
//!
//! Role         splits such a statement in two: a query for the rows' keys and new values, and a
//!              statement by key that is executed for each of them, both in one transaction. The
//!              query is over before the first row is changed, so it meets no change of its own

use std::sync::Arc;

use hotrow_base::interrupt::current;
use hotrow_query::{Plan, Query};
use hotrow_transaction::program::{Place, Procedure};
use sqlparser::ast::{self, SelectItem, SetExpr};

use crate::change::{is_default, one_by_one};
use crate::compile::ad_hoc;
use crate::compiled::Compiled;
use crate::drawn::in_rounds;
use crate::error::{Result, error, unsupported};
use crate::operators::{ROW_NAME, row_field};
use crate::scope::Compiler;
use crate::syntax::ScriptStatement;

/// A change of many rows, found by a query.
#[derive(Clone, Debug)]
pub struct Change {
    /// the rows
    pub query: Arc<Query>,
    /// what is executed for each; takes the statement's parameters, and then the row's values
    pub apply: Procedure,
}

/// A statement by key.
pub(crate) struct Applied {
    pub(crate) statement: ast::Statement,
    /// how many values are the row's key: each key once
    key: usize,
}

impl Applied {
    /// Has a query give each key once, with the values that come with it first.
    pub(crate) fn take_each_once(&self, query: &mut Query) {
        if self.key > 0 {
            let on = query.outputs[..self.key].to_vec();
            let input = Box::new(std::mem::replace(&mut query.plan, Plan::One));
            query.plan = Plan::Distinct { input, on };
        }
    }
}

impl Compiler<'_> {
    /// Compiles INSERT, UPDATE or DELETE of rows that a query gives, with names for queries before
    /// it.
    pub(crate) fn relational_change(
        &mut self,
        statement: &ast::Statement,
        with: Option<&ast::With>,
    ) -> Result<Change> {
        let place = self.place;
        let (query, applied) = self.split_change(statement, with)?;
        let mut query = self.relational(&query)?;
        applied.take_each_once(&mut query);
        let mut types = self.given.clone();
        types.extend(query.outputs.iter().map(|slot| Some(query.slots[slot.index()].sql_type)));
        let (compiler, apply) = in_rounds(|room| {
            let mut compiler = Compiler::new(self.catalog);
            (compiler.place, compiler.room) = (place, room);
            compiler.overrides = self.overrides;
            compiler.take_parameters(&types, 0)?;
            compiler.take_drawn_slots()?;
            let Compiled::Statement(apply) = ad_hoc(&mut compiler, &applied.statement)? else {
                return Err(unsupported(place, "this statement", "write it by key"));
            };
            Ok((apply.draws.clone(), (compiler, apply)))
        })?;
        // Parameters that only the second part knows the types of.
        for (at, known) in compiler.given.iter().take(self.given.len()).enumerate() {
            if let Some(known) = known {
                self.give(at, *known);
            }
        }
        query.slots.clone_from(&self.slots);
        Ok(Change { query: Arc::new(query), apply: *apply })
    }

    /// A change as a query for the rows that it is made for, and a change by key that is made for
    /// each of them.
    pub(crate) fn split_change(
        &mut self,
        statement: &ast::Statement,
        with: Option<&ast::With>,
    ) -> Result<(ast::Query, Applied)> {
        let place = self.place;
        let (query, applied) = match statement {
            ast::Statement::Insert(insert) => self.insert_of_query((insert, with), place)?,
            ast::Statement::Update(update) => self.update_of_query(update, place)?,
            ast::Statement::Delete(delete) => self.delete_of_query(delete, place)?,
            _ => return Err(unsupported(place, "this statement", "write SELECT, INSERT, UPDATE")),
        };
        Ok((under(with, query), applied))
    }

    /// What stands for one of the row's values: a placeholder, or in procedures a field.
    fn value_of_row(&self, at: usize) -> ast::Expr {
        if self.is_procedure {
            return column(ROW_NAME, &row_field(at));
        }
        let name = format!("${}", self.given.len() + at + 1);
        ast::Expr::Value(ast::Value::Placeholder(name).into())
    }

    fn insert_of_query(
        &mut self,
        (insert, with): (&ast::Insert, Option<&ast::With>),
        place: Place,
    ) -> Result<(ast::Query, Applied)> {
        let Some(source) = insert.source.as_deref() else {
            return Err(unsupported(place, "this INSERT", "write VALUES or SELECT"));
        };
        let mut query = match &*source.body {
            // Subqueries among the values of a row.
            SetExpr::Values(values) if values.rows.len() == 1 => {
                let items = values.rows[0].content.iter().cloned().map(SelectItem::UnnamedExpr);
                select_query(items.collect(), Vec::new(), None)
            }
            _ => source.clone(),
        };
        // Literals and parameters have the types of their columns: they go there by themselves.
        let mut own = Vec::new();
        if let SetExpr::Select(select) = &mut *query.body
            && !select.projection.iter().any(is_star)
        {
            let draws = self.is_procedure && select.distinct.is_none();
            let stays = |written: &ast::Expr| is_untyped(written) || draws && is_nextval(written);
            own = select.projection.iter_mut().map(|item| take_out(item, stays)).collect();
        }
        // How many columns there are is known when it is compiled: that is done twice.
        let mark = self.mark();
        let width = self.relational(&under(with, query.clone()))?.outputs.len();
        self.back_to(&mark);
        let value = |at: usize| match own.get(at) {
            Some(Some(own)) => own.clone(),
            _ => self.value_of_row(at),
        };
        let row = (0..width).map(value).collect();
        let mut applied = insert.clone();
        let rows = vec![ast::Parens::with_empty_span(row)];
        let values = ast::Values { explicit_row: false, value_keyword: false, rows };
        let mut source = template();
        *source.body = SetExpr::Values(values);
        applied.source = Some(Box::new(source));
        let statement = ast::Statement::Insert(applied);
        Ok((query, Applied { statement, key: 0 }))
    }

    /// The primary key of a table that is changed by key, and names for it.
    fn keys_of(&self, table: &ast::TableWithJoins, place: Place) -> Result<(String, Vec<String>)> {
        let (id, alias) = self.one_table(table)?;
        let table = self.catalog.table(id);
        let Some(primary) = table.primary else {
            let name = &table.name;
            return Err(unsupported(
                place,
                format!("this change of table \"{name}\", which has no primary key,"),
                "compare with values only, or give the table a primary key",
            ));
        };
        let columns = &self.catalog.index(primary).columns;
        let names = columns.iter().map(|column| table.columns[column.index()].name.clone());
        Ok((alias, names.collect()))
    }

    fn update_of_query(
        &mut self,
        update: &ast::Update,
        place: Place,
    ) -> Result<(ast::Query, Applied)> {
        let (alias, keys) = self.keys_of(&update.table, place)?;
        let mut from = vec![update.table.clone()];
        match &update.from {
            None => {}
            Some(
                ast::UpdateTableFromKind::BeforeSet(more)
                | ast::UpdateTableFromKind::AfterSet(more),
            ) => from.extend(more.iter().cloned()),
        }
        let mut items: Vec<_> = keys.iter().map(|key| column_item(&alias, key)).collect();
        let mut applied = update.clone();
        applied.assignments = one_by_one(&update.assignments, place)?;
        for assignment in &mut applied.assignments {
            let draws = self.is_procedure && is_nextval(&assignment.value);
            if draws || is_default(&assignment.value) || is_untyped(&assignment.value) {
                continue;
            }
            let value = self.value_of_row(items.len());
            let written = std::mem::replace(&mut assignment.value, value);
            items.push(SelectItem::UnnamedExpr(written));
        }
        let query = held_as(&alias, select_query(items, from, update.selection.clone()));
        applied.from = None;
        applied.selection = Some(self.by_key(&alias, &keys));
        let statement = ast::Statement::Update(applied);
        Ok((query, Applied { statement, key: keys.len() }))
    }

    fn delete_of_query(
        &mut self,
        delete: &ast::Delete,
        place: Place,
    ) -> Result<(ast::Query, Applied)> {
        let (ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables)) =
            &delete.from;
        let [table] = tables.as_slice() else {
            return Err(error(b"42601", place, "DELETE needs one table"));
        };
        let (alias, keys) = self.keys_of(table, place)?;
        let mut from = vec![table.clone()];
        from.extend(delete.using.iter().flatten().cloned());
        let items = keys.iter().map(|key| column_item(&alias, key)).collect();
        let query = held_as(&alias, select_query(items, from, delete.selection.clone()));
        let mut applied = delete.clone();
        applied.using = None;
        applied.selection = Some(self.by_key(&alias, &keys));
        let statement = ast::Statement::Delete(applied);
        Ok((query, Applied { statement, key: keys.len() }))
    }

    /// `key = value AND ...`, of the first values of a row.
    fn by_key(&self, alias: &str, keys: &[String]) -> ast::Expr {
        let equal = keys.iter().enumerate().map(|(at, key)| ast::Expr::BinaryOp {
            left: Box::new(column(alias, key)),
            op: ast::BinaryOperator::Eq,
            right: Box::new(self.value_of_row(at)),
        });
        let and = |left, right| ast::Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        };
        equal.reduce(and).expect("a key has columns")
    }
}

/// A query to be filled in.
fn template() -> ast::Query {
    let _own = current::enter(None); // it is nobody's text, and nobody interrupts
    let script = crate::script::parse_script("SELECT 1").expect("it is a query");
    match script.into_iter().next().map(ScriptStatement::into_syntax) {
        Some(crate::syntax::Syntax::Sql(statement)) => match *statement {
            ast::Statement::Query(query) => *query,
            _ => unreachable!("SELECT is a query"),
        },
        _ => unreachable!("SELECT is a query"),
    }
}

pub(crate) fn select_query(
    items: Vec<SelectItem>,
    from: Vec<ast::TableWithJoins>,
    selection: Option<ast::Expr>,
) -> ast::Query {
    let mut query = template();
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = items;
        select.from = from;
        select.selection = selection;
    }
    query
}

/// A query with names for queries before it; its own come behind them.
fn under(with: Option<&ast::With>, mut query: ast::Query) -> ast::Query {
    if let Some(outer) = with {
        let mut all = outer.clone();
        for own in query.with.take().into_iter() {
            all.recursive |= own.recursive;
            all.cte_tables.extend(own.cte_tables);
        }
        query.with = Some(all);
    }
    query
}

/// The query, with the rows that will be changed held by writers' locks at once: two of them that
/// came as readers would both wait for the other one to let go.
fn held_as(alias: &str, mut query: ast::Query) -> ast::Query {
    let of = ast::ObjectName::from(vec![ast::Ident::with_quote('"', alias)]);
    let lock_type = ast::LockType::Update;
    query.locks = vec![ast::LockClause { lock_type, of: Some(of), nonblock: None }];
    query
}

fn column(alias: &str, name: &str) -> ast::Expr {
    let quoted = |name: &str| ast::Ident::with_quote('"', name);
    ast::Expr::CompoundIdentifier(vec![quoted(alias), quoted(name)])
}

fn column_item(alias: &str, name: &str) -> SelectItem {
    SelectItem::UnnamedExpr(column(alias, name))
}

/// Whether it is a literal or a parameter that has the type of what it is assigned to.
fn is_untyped(written: &ast::Expr) -> bool {
    match crate::written::bare(written) {
        ast::Expr::Value(value) => matches!(
            value.value,
            ast::Value::SingleQuotedString(_) | ast::Value::Null | ast::Value::Placeholder(_)
        ),
        _ => false,
    }
}

/// Whether a value is the next number of a sequence, which a change takes for each row.
fn is_nextval(written: &ast::Expr) -> bool {
    matches!(crate::written::bare(written), ast::Expr::Function(function)
        if crate::functions::takes_number(&crate::written::function_name(function)))
}

/// Takes a value out of a select list, in which its place stays, if it belongs to the change.
fn take_out(
    item: &mut SelectItem,
    is_of_change: impl FnOnce(&ast::Expr) -> bool,
) -> Option<ast::Expr> {
    let (SelectItem::UnnamedExpr(written) | SelectItem::ExprWithAlias { expr: written, .. }) = item
    else {
        return None;
    };
    let nothing = ast::Expr::Value(ast::Value::SingleQuotedString(String::new()).into());
    is_of_change(written).then(|| std::mem::replace(written, nothing))
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}
