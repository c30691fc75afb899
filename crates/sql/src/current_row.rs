//! WHERE CURRENT OF: changes of the row at which a cursor stands.
//!
//! Role         a cursor over one table keeps its rows' primary keys beside what it selects, if the
//!              routine changes current rows at all; a change of the current row is one by its key
//! Source       PostgreSQL 15, 43.7.3.3. We differ: the table needs a primary key, and a row whose
//!              key was changed since the cursor was opened is not found any more

use std::borrow::Cow;

use hotrow_base::ids::TableId;
use hotrow_base::types::DataType;
use hotrow_transaction::program::{ExprKind, Statement, StatementKind};
use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::{Result, error, place_in};
use crate::scope::Compiler;
use crate::state::{Names, Variable};
use crate::syntax::Target;
use crate::token::is_word;
use crate::typing::scalar;
use crate::written::{ident_name, object_name};

/// What stands for the row at which a cursor stands: no name of SQL has a question mark.
const CURRENT: &str = "?current";
/// What names of keys that a cursor keeps begin with.
const KEY: &str = "?key ";

/// Whether a column of a cursor is a key that is not shown.
pub(crate) fn is_key(column: &str) -> bool {
    column.starts_with(KEY)
}

/// Has `WHERE CURRENT OF cursor` be a comparison with the cursor, which the parser can read.
pub(crate) fn mark_current(tokens: &mut [TokenWithSpan]) {
    let is = |at: usize, word| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let found =
        (1..tokens.len()).find(|&at| is(at - 1, "where") && is(at, "current") && is(at + 1, "of"));
    let Some(at) = found else { return };
    let (value, quote_style) = (CURRENT.to_owned(), Some('"'));
    tokens[at].token = Token::Word(Word { value, quote_style, keyword: Keyword::NoKeyword });
    tokens[at + 1].token = Token::Eq;
}

fn ident(name: &str) -> ast::Ident {
    ast::Ident::with_quote('"', name)
}

/// The cursor whose current row a statement changes, and the name of the statement's table.
fn changed_at(statement: &ast::Statement) -> Option<(&ast::Ident, &ast::TableWithJoins)> {
    let (table, selection) = match statement {
        ast::Statement::Update(update) => (&update.table, update.selection.as_ref()?),
        ast::Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables)) =
                &delete.from;
            (tables.first()?, delete.selection.as_ref()?)
        }
        _ => return None,
    };
    match selection {
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => {
            match (&**left, &**right) {
                (ast::Expr::Identifier(left), ast::Expr::Identifier(cursor))
                    if left.value == CURRENT =>
                {
                    Some((cursor, table))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The table of FROM, and what it is called there; none: it is no single table.
fn only_table<'q>(
    table: &'q ast::TableWithJoins,
    compiler: &Compiler<'_>,
) -> Option<(TableId, Cow<'q, ast::Ident>)> {
    let ast::TableFactor::Table { name, alias, args: None, .. } = &table.relation else {
        return None;
    };
    let named = object_name(name, compiler.place).ok()?;
    let known = compiler.table_named(&named)?;
    let called = match alias {
        Some(alias) => Cow::Borrowed(&alias.name),
        None => Cow::Owned(ident(&named)),
    };
    table.joins.is_empty().then_some((known.id, called))
}

impl Compiler<'_> {
    /// A query of a cursor with its table's keys behind its columns, if it is of one table and the
    /// routine may ask for them; which table that is.
    pub(crate) fn with_keys<'q>(
        &self,
        query: &'q ast::Query,
    ) -> (Cow<'q, ast::Query>, Option<TableId>) {
        let plain = || {
            let ast::SetExpr::Select(select) = &*query.body else { return None };
            let [table] = select.from.as_slice() else { return None };
            let (table, called) = only_table(table, self)?;
            let is_grouped = !matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _)
                if by.is_empty());
            let computes = |item: &ast::SelectItem| {
                matches!(
                    item,
                    ast::SelectItem::UnnamedExpr(ast::Expr::Function(_))
                        | ast::SelectItem::ExprWithAlias { expr: ast::Expr::Function(_), .. }
                )
            };
            let is_plain = select.distinct.is_none()
                && select.having.is_none()
                && !is_grouped
                && !select.projection.iter().any(computes);
            let keys = self.primary_key(table).filter(|_| is_plain)?;
            let mut with_keys = query.clone();
            if let ast::SetExpr::Select(select) = &mut *with_keys.body {
                select.projection.extend(keys.iter().map(|key| ast::SelectItem::ExprWithAlias {
                    expr: ast::Expr::CompoundIdentifier(vec![called.as_ref().clone(), ident(key)]),
                    alias: ident(&format!("{KEY}{key}")),
                }));
            }
            Some((with_keys, table))
        };
        match plain().filter(|_| self.calls.mentions_current) {
            Some((with_keys, table)) => (Cow::Owned(with_keys), Some(table)),
            None => (Cow::Borrowed(query), None),
        }
    }

    /// The names of a table's key columns.
    fn primary_key(&self, table: TableId) -> Option<Vec<String>> {
        let table = self.catalog.table(table);
        let key = &self.catalog.index(table.declared_primary()?).columns;
        Some(key.iter().map(|column| table.columns[column.index()].name.clone()).collect())
    }

    /// Compiles a statement; one of the row at which a cursor stands as one by that row's key.
    pub(crate) fn at_current_row(
        &mut self,
        statement: &ast::Statement,
        out: &mut Vec<Statement>,
        compile: impl FnOnce(&mut Self, &ast::Statement, &mut Vec<Statement>) -> Result<()>,
    ) -> Result<()> {
        let Some((cursor, table)) = changed_at(statement) else {
            return compile(self, statement, out);
        };
        let place = place_in(&ast::Expr::Identifier(cursor.clone()), self.place);
        let target = Target { parts: vec![ident_name(cursor)], place };
        let number = self.cursor_named(&target)?;
        let (of, name) = (self.cursors[number].clone(), &target.parts[0]);
        let changed = only_table(table, self);
        let keys: Vec<_> = of
            .columns
            .iter()
            .flatten()
            .filter_map(|column| Some((column.name.strip_prefix(KEY)?, column.slot)))
            .collect();
        let Some((_, called)) =
            changed.filter(|(table, _)| of.key_of == Some(*table) && !keys.is_empty())
        else {
            let message = format!(
                "cursor \"{name}\" is not a simply updatable scan of table \"{}\"",
                table.relation
            );
            return Err(error(b"24000", place, message));
        };
        let (mut names, mut condition) = (Names::default(), None);
        for (at, (key, array)) in keys.iter().enumerate() {
            let element = ExprKind::Element(*array, Box::new(self.slot_expr(of.at)));
            let element = scalar(element, self.slot_expr(*array).data_type());
            let slot = self.temporary("current", element.data_type())?;
            self.emit_assign(out, slot, element);
            if at == 0 {
                let mut then = Vec::new();
                let message = format!("cursor \"{name}\" is not positioned on a row");
                self.emit_raise(&mut then, b"24000", message, None);
                let is_none = ExprKind::IsNull(Box::new(self.slot_expr(slot)));
                let condition = scalar(is_none, DataType::Boolean);
                self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
            }
            let current = format!("{CURRENT}{at}");
            let column = vec![called.as_ref().clone(), ident(key)];
            let is_it = ast::Expr::BinaryOp {
                left: Box::new(ast::Expr::CompoundIdentifier(column)),
                op: ast::BinaryOperator::Eq,
                right: Box::new(ast::Expr::Identifier(ident(&current))),
            };
            condition = Some(match condition {
                None => is_it,
                Some(before) => ast::Expr::BinaryOp {
                    left: Box::new(before),
                    op: ast::BinaryOperator::And,
                    right: Box::new(is_it),
                },
            });
            let variable = Variable::Scalar { slot, constant: true, not_null: false };
            names.variables.push((current, variable));
        }
        let mut keyed = statement.clone();
        match &mut keyed {
            ast::Statement::Update(update) => update.selection = condition,
            ast::Statement::Delete(delete) => delete.selection = condition,
            _ => {}
        }
        self.names.push(names);
        let compiled = compile(self, &keyed, out);
        self.names.pop();
        compiled
    }
}
