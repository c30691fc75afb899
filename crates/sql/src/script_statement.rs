//! One statement of a script, with what holds for it alone.

use std::sync::Arc;

use hotrow_base::memory::{Charge, MemoryAccount};
use hotrow_base::stack::with_room;
use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::filling;
use crate::open_literals::OpenLiterals;
use crate::setting::Naming;
use crate::state::{Overriding, Programs};
use crate::syntax::Syntax;
use crate::written::{changed_by, has_changes};

/// A statement of a script, parsed but not yet looked up in a catalog.
#[derive(Debug)]
pub struct ScriptStatement {
    /// where it starts in the script
    pub place: Place,
    /// its text, without the final semicolon; before it, where bare names are looked for, unless
    /// that is as everywhere ([`ScriptStatement::in_path`])
    pub text: String,
    /// where bare names are looked for
    pub(crate) path: SearchPath,
    /// of a definition that was made before: whose it is; none: the database's maker's
    pub(crate) role: Option<Arc<str>>,
    /// what the database's maker is called, where it is his
    pub(crate) maker: Option<Arc<str>>,
    /// see [`ScriptStatement::conventions`]
    pub(crate) conventions: Option<Arc<str>>,
    /// see [`ScriptStatement::as_own`]
    pub(crate) is_own: bool,
    pub(crate) overriding: Overriding,
    /// into how many programs it may be compiled
    pub(crate) programs: Programs,
    pub(crate) syntax: Syntax,
    /// of a text with a shape: those that may be parameters
    pub(crate) literals: Option<OpenLiterals>,
    /// see [`ScriptStatement::bytes`]
    pub(crate) bytes: usize,
    /// these, unless they are few
    pub(crate) charge: Charge,
}

impl ScriptStatement {
    /// A statement as nothing around it says otherwise, whose tree takes nothing worth counting.
    pub(crate) fn new(text: String, syntax: Syntax) -> Self {
        Self {
            place: Place::default(),
            text,
            path: SearchPath::default(),
            role: None,
            maker: None,
            conventions: None,
            is_own: false,
            overriding: Overriding::Neither,
            programs: Programs::default(),
            syntax,
            literals: None,
            bytes: 0,
            charge: Charge::default(),
        }
    }

    /// What its tree takes, and what it compiles to, estimated.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// It is kept beyond the statement that runs: its memory is charged to this account.
    pub fn keep_for(&mut self, account: &Arc<MemoryAccount>) {
        if self.charge.bytes() > 0 {
            self.charge.move_to(account);
        }
    }

    /// As one of the database's own making, or one that took effect before: it may use the tables
    /// of sequences, and give columns values that are GENERATED ALWAYS.
    #[must_use]
    pub fn as_own(mut self) -> Self {
        self.is_own = true;
        self
    }

    /// It may become several programs, which only a transaction holds together, where that is
    /// faster; what can be done by one is done by one otherwise.
    #[must_use]
    pub fn in_parts(mut self) -> Self {
        self.programs = Programs::Several;
        self
    }

    /// It becomes several programs where one cannot do it.
    #[must_use]
    pub fn in_parts_if_need_be(mut self) -> Self {
        self.programs = Programs::IfNeedBe;
        self
    }

    /// It becomes one program, whatever its shape: it is to be planned as a call is.
    #[must_use]
    pub fn in_one_program(mut self) -> Self {
        self.programs = Programs::One;
        self
    }

    /// What it is, for who needs nothing else of it.
    pub(crate) fn into_syntax(mut self) -> Syntax {
        std::mem::replace(&mut self.syntax, Syntax::NONE)
    }

    /// Whether it is BEGIN, COMMIT, ROLLBACK or one of savepoints.
    pub fn is_transaction_control(&self) -> bool {
        matches!(self.syntax, Syntax::Transaction(_))
    }

    /// INSERT, UPDATE or DELETE, where a WITH stands before it.
    pub fn changed_by_with(&self) -> Option<&'static str> {
        let Syntax::Sql(statement) = &self.syntax else { return None };
        match &**statement {
            ast::Statement::Query(query) => changed_by(query).map(|(verb, _)| verb),
            _ => None,
        }
    }

    /// Whether it is a query with a change in its WITH.
    pub fn has_changes_in_with(&self) -> bool {
        let Syntax::Sql(statement) = &self.syntax else { return false };
        matches!(&**statement, ast::Statement::Query(query) if has_changes(query))
    }

    /// CREATE TABLE ... AS, and the table's query.
    fn table_of_query(&self) -> Option<(&ast::CreateTable, &ast::Query)> {
        let Syntax::Sql(statement) = &self.syntax else { return None };
        match &**statement {
            ast::Statement::CreateTable(table) => Some((table, table.query.as_deref()?)),
            _ => None,
        }
    }

    /// Whether it is CREATE TABLE ... AS.
    pub fn is_table_of_query(&self) -> bool {
        self.table_of_query().is_some()
    }

    /// CREATE TABLE ... AS, and of a materialized view: the INSERT that gives it its rows, if any,
    /// behind the DROP that takes it back.
    pub fn filled(&self) -> Option<(String, String)> {
        if let Syntax::Sql(statement) = &self.syntax
            && let ast::Statement::CreateView(view) = &**statement
        {
            return filling(view, self.place);
        }
        let (ast::CreateTable { name, with_data, .. }, query) = self.table_of_query()?;
        let is_filled = with_data.as_ref().is_none_or(|with| with.data);
        is_filled.then(|| (format!("DROP TABLE {name}"), format!("INSERT INTO {name} {query}")))
    }

    /// PREPARE, EXECUTE and the like, which are for who has prepared statements by name.
    pub fn naming(&self) -> Option<&Naming> {
        match &self.syntax {
            Syntax::Naming(naming) => Some(naming),
            _ => None,
        }
    }

    /// Whether it is COPY, which rows come or go beside.
    pub fn is_copy(&self) -> bool {
        matches!(self.syntax, Syntax::Copy(_))
    }
}

/// Trees of the parser are as deep as a statement may be, and dropped level by level.
impl Drop for ScriptStatement {
    fn drop(&mut self) {
        with_room(|| drop(std::mem::replace(&mut self.syntax, Syntax::NONE)));
    }
}
