//! Indexes and checks that are declared of one partition.
//!
//! Role         the rows of all partitions lie in one table, so that they are the table's: an index
//!              that is not unique has the rows of all partitions, a unique one is an index of the
//!              rows that the partition's bound says, and a CHECK is asked of these
//! Source       we differ from PostgreSQL, where a partition has indexes and checks of its own

use hotrow_transaction::catalog::{Partition, Table, View};
use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::ast::AlterTableOperation as Operation;

use crate::changes::{CatalogChange, left_out};
use crate::error::{Result, syntax};
use crate::partition_checks::partition_condition;
use crate::scope::Compiler;
use crate::token::{parse_expression, parse_statement, quoted, tokenize};
use crate::written::ident_name;

/// A partition, and what it is called.
type Named<'p> = (&'p View, &'p Partition);

impl Compiler<'_> {
    /// CREATE INDEX on a partition.
    pub(crate) fn index_of_partition(
        &mut self,
        written: &ast::CreateIndex,
        (view, partition): Named<'_>,
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let table = self.catalog.table(partition.table);
        let own = &view.name;
        if self.has_index_of(table, written) {
            let text = format!("partition \"{own}\" has this index of its table, skipping");
            return Ok(vec![CatalogChange::Nothing(left_out(text))]);
        }
        let mut written = ast::CreateIndex { table_name: name_of(table), ..written.clone() };
        if written.name.is_none() {
            let parts: Vec<_> =
                written.columns.iter().map(|of| named_by(&of.column.expr)).collect();
            let wanted = format!("{own}_{}_idx", parts.join("_"));
            let name = ast::Ident::with_quote('"', self.free_index_name(&table.schema, wanted));
            written.name = Some(ast::ObjectName(vec![ast::ObjectNamePart::Identifier(name)]));
        }
        let text = match written.unique {
            true => {
                let bound = self.bound_of(partition, place)?;
                written.predicate = Some(match written.predicate.take() {
                    Some(own) => both(bound, own),
                    None => bound,
                });
                format!("it is an index of \"{}\", of the rows of partition \"{own}\"", table.name)
            }
            false => {
                format!("it is an index of \"{}\", with the rows of all partitions", table.name)
            }
        };
        let mut changes = vec![CatalogChange::Nothing(left_out(text))];
        changes.extend(self.index_on(&written, table, place)?);
        Ok(changes)
    }

    /// Whether a table has an index of the columns that one of a partition is to have.
    fn has_index_of(&self, table: &Table, written: &ast::CreateIndex) -> bool {
        let wanted: Option<Vec<String>> =
            written.columns.iter().map(|of| column_of(&of.column.expr)).collect();
        let Some(wanted) = wanted.filter(|_| written.predicate.is_none()) else { return false };
        let mut indexes = table.declared_indexes().map(|id| self.catalog.index(id));
        indexes.any(|index| {
            let of = index.columns.iter().map(|column| &table.columns[column.index()].name);
            of.eq(wanted.iter()) && (index.unique || !written.unique)
        })
    }

    /// ALTER TABLE of a partition that adds a CHECK or a key, as what it is of the table; none: it
    /// is another one.
    pub(crate) fn added_to_partition(
        &mut self,
        written: &ast::AlterTable,
        (view, partition): Named<'_>,
        place: Place,
    ) -> Result<Option<ast::Statement>> {
        let [Operation::AddConstraint { constraint, not_valid }] = written.operations.as_slice()
        else {
            return Ok(None);
        };
        let table = self.catalog.table(partition.table);
        match constraint {
            ast::TableConstraint::Check(check) => {
                let bound = self.bound_of(partition, place)?;
                let outside = ast::Expr::IsNotTrue(Box::new(bound));
                let expr = Box::new(either(outside, (*check.expr).clone()));
                let name = check.name.clone().unwrap_or_else(|| free_check_name(table, &view.name));
                let check = ast::CheckConstraint { name: Some(name), expr, ..check.clone() };
                let constraint = ast::TableConstraint::Check(check);
                let operations =
                    vec![Operation::AddConstraint { constraint, not_valid: *not_valid }];
                let altered =
                    ast::AlterTable { name: name_of(table), operations, ..written.clone() };
                Ok(Some(ast::Statement::AlterTable(altered)))
            }
            ast::TableConstraint::Unique(key) => {
                let columns: Vec<_> =
                    key.columns.iter().map(|of| of.column.expr.to_string()).collect();
                let name = key
                    .name
                    .as_ref()
                    .map_or_else(|| format!("{}_{}_key", view.name, columns.join("_")), ident_name);
                let (name, of) = (quoted(&name), written.name.to_string());
                let text = format!("CREATE UNIQUE INDEX {name} ON {of} ({})", columns.join(", "));
                parse_statement(&tokenize(&text, place)?, place).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The condition that a partition's rows fulfil.
    fn bound_of(&self, partition: &Partition, place: Place) -> Result<ast::Expr> {
        let text = partition_condition(self.catalog, partition);
        let written = parse_expression(&tokenize(&text, place)?, place);
        written.map_err(|_| syntax(place, "a partition's bound is no condition"))
    }
}

fn name_of(table: &Table) -> ast::ObjectName {
    let part = |name: &str| ast::ObjectNamePart::Identifier(ast::Ident::with_quote('"', name));
    ast::ObjectName(vec![part(&table.schema), part(&table.name)])
}

fn both(left: ast::Expr, right: ast::Expr) -> ast::Expr {
    joined(left, ast::BinaryOperator::And, right)
}

fn either(left: ast::Expr, right: ast::Expr) -> ast::Expr {
    joined(left, ast::BinaryOperator::Or, right)
}

fn joined(left: ast::Expr, op: ast::BinaryOperator, right: ast::Expr) -> ast::Expr {
    let nested = |of| Box::new(ast::Expr::Nested(Box::new(of)));
    ast::Expr::BinaryOp { left: nested(left), op, right: nested(right) }
}

fn column_of(written: &ast::Expr) -> Option<String> {
    match written {
        ast::Expr::Identifier(name) => Some(ident_name(name)),
        _ => None,
    }
}

/// What an index is called by a part of its key.
fn named_by(written: &ast::Expr) -> String {
    column_of(written).unwrap_or_else(|| "expr".to_owned())
}

fn free_check_name(table: &Table, partition: &str) -> ast::Ident {
    let taken = |name: &String| table.checks.iter().any(|check| check.name == *name);
    let wanted = format!("{partition}_check");
    let others = (1..).map(|number| format!("{wanted}{number}"));
    let name = [wanted.clone()].into_iter().chain(others).find(|name| !taken(name));
    ast::Ident::with_quote('"', name.unwrap_or(wanted))
}
