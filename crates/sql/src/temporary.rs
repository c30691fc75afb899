//! What CREATE TEMP TABLE, VIEW and SEQUENCE say beside what they say without TEMP.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use hotrow_transaction::catalog::{SearchPath, local, split};
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::script_statement::ScriptStatement;
use crate::syntax::Syntax;
use crate::written::object_name;

/// What CREATE TEMP says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Temporary {
    /// its name in its schema
    pub name: String,
    /// what it is
    pub kind: TemporaryKind,
    /// ON COMMIT
    pub at_commit: AtCommit,
    /// AS, whose columns depend on more than the text
    pub is_query: bool,
}

/// What is temporary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TemporaryKind {
    /// CREATE TEMP TABLE
    Table,
    /// CREATE TEMP SEQUENCE
    Sequence,
    /// CREATE TEMP VIEW, or a view that reads what is temporary: the names of these
    View(BTreeSet<String>),
    /// CREATE FUNCTION pg_temp.name
    Routine,
}

/// What becomes of a temporary table at the end of each transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtCommit {
    /// it stays with its rows
    Stays,
    /// it loses its rows
    Empties,
    /// it goes
    Goes,
}

impl ScriptStatement {
    /// The temporary table, view, sequence or routine that it creates, by its name in its schema,
    /// and what becomes of that when a transaction ends.
    pub fn temporary(&self) -> Option<Temporary> {
        let stays = AtCommit::Stays;
        let statement = match &self.syntax {
            Syntax::Sql(statement) => statement,
            Syntax::Routine(routine) => {
                let (schema, name) = split(&routine.name);
                let schema = self.path.schema_meant(schema?);
                let (kind, name) = (TemporaryKind::Routine, name.to_owned());
                let is_one = schema == "pg_temp" || self.path.temporary_schema() == Some(schema);
                return is_one.then_some(Temporary {
                    name,
                    kind,
                    at_commit: stays,
                    is_query: false,
                });
            }
            _ => return None,
        };
        let (name, kind, at_commit) = match &**statement {
            ast::Statement::CreateTable(table) if table.temporary => {
                let at_commit = match table.on_commit {
                    None | Some(ast::OnCommit::PreserveRows) => stays,
                    Some(ast::OnCommit::DeleteRows) => AtCommit::Empties,
                    Some(ast::OnCommit::Drop) => AtCommit::Goes,
                };
                (&table.name, TemporaryKind::Table, at_commit)
            }
            ast::Statement::CreateSequence { temporary: true, name, .. } => {
                (name, TemporaryKind::Sequence, stays)
            }
            ast::Statement::CreateView(view) if is_temporary_view(view, &self.path) => {
                let reads = temporary_names(&view.query, &self.path);
                (&view.name, TemporaryKind::View(reads), stays)
            }
            _ => return None,
        };
        let name = object_name(name, self.place).ok()?;
        let is_query = kind == TemporaryKind::Table && self.filled().is_some();
        Some(Temporary { name: local(&name).to_owned(), kind, at_commit, is_query })
    }
}

/// Whether a view is its session's alone: as it is written, or since it reads what is that.
pub(crate) fn is_temporary_view(view: &ast::CreateView, path: &SearchPath) -> bool {
    !view.materialized && (view.temporary || !temporary_names(&view.query, path).is_empty())
}

/// The temporary relations that a query names.
fn temporary_names(query: &ast::Query, path: &SearchPath) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Some(own) = path.temporary_schema() else { return names };
    let _ = ast::visit_relations(query, |name| {
        if let Ok(written) = object_name(name, Place::default())
            && let (schema, name) = split(&written)
            && schema.is_none_or(|schema| schema == own || schema == "pg_temp")
            && path.has_temporary(name)
        {
            names.insert(name.to_owned());
        }
        ControlFlow::<()>::Continue(())
    });
    names
}
