//! Row security where statements are compiled: which rows they find, and which they may make.
//!
//! Role         asked by whatever reads or changes rows of a table that somebody has written. All
//!              policies stand in the program, whoever runs it: `all of them OR (those of mine)`,
//!              where which are mine is a number that is drawn before the program runs, or asked
//!              for where a session's query runs as operators
//! Invariants   I1 a program is good for every role: what depends on the role is among its
//!                 parameters, so neither cached statements nor the log know roles
//!              I2 policies come before the statement's own conditions, so that these are not
//!                 asked of rows that are not shown
//!              I3 what the database adds by itself (foreign keys, keys) sees all rows
//! Source       PostgreSQL 15, rowsecurity.c. We differ: MERGE of such a table is refused

use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};
use hotrow_query::{HostFunction, SystemFunction};
use hotrow_transaction::catalog::{
    ALL_ROWS, Object, Policy, PolicyCommand, Privileges, SearchPath, Table, TriggerEvent,
};
use hotrow_transaction::draw::{Draw, SessionDraw};
use hotrow_transaction::needs::By;
use hotrow_transaction::program::{Expr, Function, Place, SlotId, Statement, StatementKind};
use sqlparser::ast;

use crate::error::{Result, error, unsupported};
use crate::functions::{Evaluation, FunctionRow, with_count};
use crate::scope::Compiler;
use crate::state::{Names, Variable};
use crate::token::{expression_of_text, quoted};
use crate::typing::{bigint, call};
use crate::written::arguments;

/// What is known of row security while a statement is compiled.
#[derive(Default)]
pub(crate) struct Security {
    /// what is compiled is for nobody's rows: a condition that is looked at when it is made
    pub(crate) is_off: bool,
    /// what is compiled is changed by the database itself (I3)
    pub(crate) is_foreign_keys: bool,
    /// a condition on one row of a program: what it asks of the session is drawn
    is_of_program: bool,
    /// tables whose policies are compiled, one in the other
    within: Vec<TableId>,
}

/// A condition of a table's policies.
pub(crate) struct SecurityCondition {
    pub(crate) table: TableId,
    pub(crate) written: ast::Expr,
    pub(crate) path: SearchPath,
}

/// By which policies' WITH CHECK, or USING, is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Using,
    Check,
}

/// In the text of a condition: the number of the policies that are of whoever asks.
const OWN_POLICIES: &str = "row security";

impl<'c> Compiler<'c> {
    /// Whether a table's rows are not everybody's.
    pub(crate) fn is_secured(&self, table: &Table) -> bool {
        table.security.is_enabled && !self.security.is_off && !self.security.is_foreign_keys
    }

    /// Whether rows that come to be in this way are looked at.
    pub(crate) fn checks_new_rows(&self, table: &Table, event: TriggerEvent) -> bool {
        self.is_secured(table) && event != TriggerEvent::Delete
    }

    /// The condition on rows that a statement finds; none: they are everybody's.
    pub(crate) fn rows_shown(
        &self,
        table: &Table,
        commands: &[PolicyCommand],
    ) -> Result<Option<SecurityCondition>> {
        self.condition_by(table, Part::Using, commands)
    }

    fn condition_by(
        &self,
        table: &Table,
        part: Part,
        commands: &[PolicyCommand],
    ) -> Result<Option<SecurityCondition>> {
        let all = commands.iter().flat_map(|command| passes(table, part, *command));
        let all: Vec<_> = all.map(|(text, _)| text).collect();
        self.condition_of_policies(table, &all.join(" AND "))
    }

    /// What a table's policies ask of who does not see all rows; none: they are everybody's.
    fn condition_of_policies(
        &self,
        table: &Table,
        asked: &str,
    ) -> Result<Option<SecurityCondition>> {
        if !self.is_secured(table) {
            return Ok(None);
        }
        if self.security.within.contains(&table.id) {
            let message =
                format!("infinite recursion detected in policy for relation \"{}\"", table.name);
            return Err(error(b"42P17", self.place, message));
        }
        let text = format!("\"{OWN_POLICIES}\"() = {ALL_ROWS} OR ({asked})");
        // Names are looked for where the first policy was made: mostly one path serves all.
        let path = table.security.policies.first().map(|policy| policy.path.clone());
        let written = expression_of_text(&text, self.place)?;
        Ok(Some(SecurityCondition { table: table.id, written, path: path.unwrap_or_default() }))
    }

    /// Compiles a condition of policies, as `compile` does.
    pub(crate) fn as_security<T>(
        &mut self,
        condition: &SecurityCondition,
        compile: impl FnOnce(&mut Self, &ast::Expr) -> Result<T>,
    ) -> Result<T> {
        self.security.within.push(condition.table);
        let place = self.place;
        let compiled = compile(self, &condition.written);
        self.place = place;
        self.security.within.pop();
        compiled
    }

    /// As [`Compiler::as_security`], of a condition that a program asks of a row.
    pub(crate) fn as_program_security<T>(
        &mut self,
        condition: &SecurityCondition,
        compile: impl FnOnce(&mut Self, &ast::Expr) -> Result<T>,
    ) -> Result<T> {
        let around = std::mem::replace(&mut self.security.is_of_program, true);
        let compiled = self.as_security(condition, compile);
        self.security.is_of_program = around;
        compiled
    }

    /// What a function asks of the session, in a program: drawn before it runs. None: it asks
    /// nothing, or is asked where the session is.
    pub(crate) fn asked_of_session(
        &mut self,
        name: &str,
        row: Option<&FunctionRow>,
        function: Option<&ast::Function>,
        place: Place,
    ) -> Result<Option<Expr>> {
        if self.is_default
            && let Some(FunctionRow {
                evaluation: Evaluation::Host(HostFunction::System(of)), ..
            }) = row
        {
            let asks = match of {
                SystemFunction::CurrentUser => Function::CurrentUser,
                SystemFunction::SessionUser => Function::SessionUser,
                _ => return Ok(None),
            };
            return Ok(Some(call(asks, Vec::new(), DataType::Text)));
        }
        let in_policy = !self.security.within.is_empty();
        let in_program = self.reads.is_some() || self.is_procedure || self.security.is_of_program;
        if let Some(table) = self.security.within.last()
            && name == OWN_POLICIES
        {
            return self.own_policies(*table, in_program).map(Some);
        }
        let is_said = in_policy || !self.ad_hoc || !self.triggers.is_empty();
        let Some(FunctionRow { evaluation: Evaluation::Host(HostFunction::System(of)), .. }) = row
        else {
            return Ok(None);
        };
        if !in_program || !is_said {
            return Ok(None);
        }
        let by = self.runs_as.clone();
        let draw = match of {
            SystemFunction::CurrentUser => SessionDraw::CurrentUser(by),
            SystemFunction::SessionUser => SessionDraw::SessionUser,
            SystemFunction::CurrentSetting => {
                let Some(function) = function else { return Ok(None) };
                let (_, written) = arguments(function, place)?;
                let Some(setting) = written.first().and_then(|of| literal(of)) else {
                    let advice = "write the setting's name as a literal";
                    return Err(unsupported(place, "this current_setting in a program", advice));
                };
                SessionDraw::Setting(setting.into(), written.len() > 1)
            }
            _ => return Ok(None),
        };
        self.session_value(draw).map(Some)
    }

    /// current_role, which the parser takes for a column.
    pub(crate) fn current_role(&mut self, place: Place) -> Result<Expr> {
        let (name, arguments) = ("current_role", Vec::new());
        let asked = self.asked_of_session(name, with_count(name, 0), None, place)?;
        asked.map_or_else(|| self.named(name, arguments, place), Ok)
    }

    pub(crate) fn session_value(&mut self, draw: SessionDraw) -> Result<Expr> {
        let slot = self.shared_parameter(Draw::Session(draw))?;
        Ok(self.slot_expr(slot))
    }

    /// Which policies are of whoever asks.
    fn own_policies(&mut self, table: TableId, in_program: bool) -> Result<Expr> {
        if in_program {
            let version = self.catalog.table(table).security.version;
            let draw = SessionDraw::Policies { table, version, by: self.by.clone() };
            return self.session_value(draw);
        }
        let view = match self.by {
            By::View(view) => i64::from(view),
            _ => -1,
        };
        let given = [bigint(i64::from(table.0)), bigint(view)];
        let function = HostFunction::System(SystemFunction::OwnPolicies);
        self.host(function, &given, SqlType::Scalar(DataType::BigInt))
    }

    /// Has a row that comes to be fail where policies do not let it pass. `is_read`: the statement
    /// reads rows, too, so that those which it makes have to be shown to whoever makes them.
    pub(crate) fn check_new_row(
        &mut self,
        out: &mut Vec<Statement>,
        (table, event): (&Table, TriggerEvent),
        (new, is_read): (&[SlotId], bool),
    ) -> Result<()> {
        if !self.checks_new_rows(table, event) {
            return Ok(());
        }
        let command = match event {
            TriggerEvent::Insert => PolicyCommand::Insert,
            _ => PolicyCommand::Update,
        };
        let mut asked = passes(table, Part::Check, command);
        if is_read {
            asked.extend(passes(table, Part::Using, PolicyCommand::Select));
        }
        for (text, policy) in asked {
            let Some(condition) = self.condition_of_policies(table, &text)? else { continue };
            let (before, passes) = self.condition_on_new(table, &condition, new)?;
            out.extend(before);
            let named = policy.map_or_else(String::new, |name| format!(" \"{name}\""));
            let of = &table.name;
            let message =
                format!("new row violates row-level security policy{named} for table \"{of}\"");
            let mut raise = Vec::new();
            self.emit_raise(&mut raise, b"42501", message, None);
            // NULL is no condition that passes.
            let kind = StatementKind::If { condition: passes, then: Vec::new(), otherwise: raise };
            self.emit(out, kind);
        }
        Ok(())
    }

    /// Whether something of the program reads a table that somebody has named.
    pub(crate) fn has_read(&self, table: &Table) -> bool {
        self.needs.has_any_by(&Object::Table(table.id), Privileges::SELECT)
    }

    /// A condition on a row that is in slots, and what is computed before it is asked.
    fn condition_on_new(
        &mut self,
        table: &Table,
        condition: &SecurityCondition,
        new: &[SlotId],
    ) -> Result<(Vec<Statement>, Expr)> {
        let fields = table.shown().iter().map(|column| column.name.clone()).zip(new.to_vec());
        let fields: Vec<_> = fields.collect();
        let (written, names) = match has_query(&condition.written) {
            // A subquery's own columns go before those of the row: it stands in a query of one.
            true => in_query(table, &condition.written, fields)?,
            false => {
                let variable = |slot| Variable::Scalar { slot, constant: true, not_null: false };
                let variables = fields.into_iter().map(|(name, slot)| (name, variable(slot)));
                let label = Some(table.name.clone());
                (condition.written.clone(), Names { label, variables: variables.collect() })
            }
        };
        let condition =
            SecurityCondition { table: table.id, written, path: condition.path.clone() };
        self.in_names_of_its_own(|this| {
            this.calls.mentions = [false; 2];
            this.names = vec![names];
            let path = std::mem::replace(&mut this.path, condition.path.clone());
            let compiled = this.as_program_security(&condition, |this, written| {
                this.condition(written, "WITH CHECK")
            });
            this.path = path;
            Ok((std::mem::take(&mut this.before), compiled?))
        })
    }

    /// Has what is compiled be what the database does by itself (I3).
    pub(crate) fn as_foreign_keys<T>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let around = std::mem::replace(&mut self.security.is_foreign_keys, true);
        let compiled = compile(self);
        self.security.is_foreign_keys = around;
        compiled
    }

    /// Fails where MERGE changes a table whose rows are not everybody's.
    pub(crate) fn refuse_secured_merge(&self, table: &Table, place: Place) -> Result<()> {
        if !self.is_secured(table) {
            return Ok(());
        }
        let what = format!("MERGE of table \"{}\", which has row security,", table.name);
        Err(unsupported(place, what, "write INSERT ... ON CONFLICT, or UPDATE and INSERT"))
    }
}

/// What is asked of rows for a command: to pass one of the permissive policies, and each
/// restrictive one, which errors name.
fn passes(table: &Table, part: Part, command: PolicyCommand) -> Vec<(String, Option<&str>)> {
    let all = (0_u32..).zip(&table.security.policies);
    let all: Vec<_> = all.filter(|(_, policy)| policy.is_for(command)).collect();
    let condition = |policy: &Policy| {
        let text = match part {
            Part::Using => policy.using.as_deref(),
            Part::Check => policy.check(),
        };
        // A comment may be the last of it.
        text.map_or_else(|| "true".to_owned(), |text| format!("({text}\n)"))
    };
    let is_own = |at: u32| format!("\"{OWN_POLICIES}\"() / {} % 2 = 1", 1_i64 << at);
    let permissive = all.iter().filter(|(_, policy)| policy.is_permissive);
    let permissive = permissive.map(|(at, policy)| match policy.roles.is_empty() {
        true => condition(policy),
        false => format!("({} AND {})", is_own(*at), condition(policy)),
    });
    let permissive: Vec<_> = permissive.collect();
    let mut asked = vec![match permissive.is_empty() {
        true => ("false".to_owned(), None),
        false => (format!("({})", permissive.join(" OR ")), None),
    }];
    for (at, policy) in all.iter().filter(|(_, policy)| !policy.is_permissive) {
        let text = match policy.roles.is_empty() {
            true => condition(policy),
            false => format!("(NOT {} OR {})", is_own(*at), condition(policy)),
        };
        asked.push((text, Some(policy.name.as_str())));
    }
    asked
}

/// The name of the record that a condition with subqueries reads: nobody's variable, as it has a
/// blank.
const NEW_ROW: &str = "new row";

/// A condition as a subquery over one row, which has the fields of a record.
fn in_query(
    table: &Table,
    written: &ast::Expr,
    fields: Vec<(String, SlotId)>,
) -> Result<(ast::Expr, Names)> {
    let columns = fields.iter().map(|(name, _)| {
        let name = quoted(name);
        format!("\"{NEW_ROW}\".{name} AS {name}")
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let of = quoted(&table.name);
    let text = format!("(SELECT true FROM (SELECT {columns}) AS {of})");
    let start = Place { line: 1, column: 1 };
    let mut query = expression_of_text(&text, start)?;
    if let ast::Expr::Subquery(query) = &mut query
        && let ast::SetExpr::Select(select) = &mut *query.body
    {
        select.projection = vec![ast::SelectItem::UnnamedExpr(written.clone())];
    }
    let variable = Variable::Record { fields, open: false, of: None };
    Ok((query, Names { label: None, variables: vec![(NEW_ROW.to_owned(), variable)] }))
}

/// Whether a subquery may stand in an expression; where a literal says so, it is none, and only
/// takes the other way.
fn has_query(written: &ast::Expr) -> bool {
    written.to_string().to_ascii_lowercase().contains("select")
}

fn literal(written: &ast::Expr) -> Option<&str> {
    match crate::written::bare(written) {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
