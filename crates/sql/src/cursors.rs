//! Cursors of PL/pgSQL: DECLARE ... CURSOR, OPEN, FETCH, MOVE, CLOSE, and FOR over a cursor.
//!
//! Role         the rows of an opened cursor are kept in arrays, one for each column, as those of
//!              a temporary table are ([`crate::kept_rows`]), and a number says where it stands.
//!              So a cursor is variables of the procedure: planned, undone and repeated with it
//! Invariants   I1 a cursor stands at 0, before its rows, at one of them, or right behind them
//!              I2 its query knows the names that are known where it is written
//! Source       PostgreSQL 15, 43.7. We differ: the query runs as a whole when it is opened, so
//!              the call holds what all of it reads. Where a cursor is a value, which is given
//!              on, the routine is no program ([`is_of_cursor_value`])

use std::sync::Arc;

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{
    ArithmeticOp, CompareOp, Expr, ExprKind, FOUND, Function, Place, ROW_COUNT, Raise, SlotId,
    Statement, StatementKind,
};
use sqlparser::ast;

use crate::block_loop::goes_over_nothing;
use crate::call_syntax::CallArgument;
use crate::comparison::negated;
use crate::consume::{Sink, types_of};
use crate::current_row::is_key;
use crate::dynamic_text::no_cursor;
use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::path::truth;
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{CursorVariable, KeptColumn, KeptRows, Names, Variable};
use crate::statement::as_query;
use crate::syntax::{
    CursorStep, CursorSyntax, FetchSyntax, LoopBody, OpenOf, OpenSyntax, StatementSource, Target,
};
use crate::token::{parse_statement, quoted, tokenize};
use crate::typing::{Coercion, bigint, call, constant, integer, scalar};

/// Whether something is refused since a program cannot have it of a cursor: it is a value that is
/// handed on, was opened elsewhere, or has other columns each time.
pub(crate) fn is_of_cursor_value(refused: &SqlError) -> bool {
    let begins = |what: &str| refused.message.starts_with(what);
    &refused.sqlstate == b"0A000" && (begins("cursor \"") || begins(NAME_AS_VALUE))
}

/// What a variable of type refcursor with a value is.
pub(crate) const NAME_AS_VALUE: &str = "a name of a cursor as a value";

/// See [`OpenOf`].
enum OpenedFor<'a> {
    Arguments(&'a [CallArgument]),
    Query(&'a StatementSource),
}

impl Compiler<'_> {
    /// A cursor in DECLARE; `of`: its query, if that is known.
    pub(crate) fn declare_cursor(
        &mut self,
        (name, place): (&str, Place),
        of: Option<&CursorSyntax>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let is_open = self.temporary("is_open", DataType::Boolean)?;
        let at = self.temporary("at", DataType::Integer)?;
        if self.loops > 0 {
            self.emit_nulls(out, &[is_open]); // a block in a loop starts with fresh ones
        }
        let scope = (self.names.len(), self.names.last().map_or(0, |names| names.variables.len()));
        let mut parameters = Vec::new();
        for parameter in of.into_iter().flat_map(|of| &of.parameters) {
            let sql_type = self.type_of(&parameter.type_name)?;
            parameters.push((parameter.name.clone(), self.slot(&parameter.name, sql_type)?));
        }
        let name = name.to_owned();
        self.declare(&name, Variable::Cursor(self.cursors.len()), place)?;
        let scrolls = of.is_none_or(|of| of.scrolls);
        self.cursors.push(CursorVariable {
            name,
            of: of.map(|of| Arc::clone(&of.query)),
            scrolls,
            scope,
            parameters,
            is_open,
            at,
            columns: None,
            key_of: None,
        });
        Ok(())
    }

    /// The number of a cursor that was declared.
    pub(crate) fn cursor_named(&self, target: &Target) -> Result<usize> {
        let name = target.parts.join(".");
        match self.qualified_variable(&target.parts) {
            Some(Variable::Cursor(at)) => Ok(*at),
            Some(_) => {
                let message = format!("variable \"{name}\" must be of type cursor or refcursor");
                Err(error(b"42804", target.place, message))
            }
            None => {
                let message = format!("\"{name}\" is not a known variable");
                Err(error(b"42601", target.place, message)
                    .hint(format!("declare it: {name} CURSOR FOR SELECT ...;")))
            }
        }
    }

    /// OPEN
    pub(crate) fn open_cursor(
        &mut self,
        written: &OpenSyntax,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let number = self.cursor_named(&written.cursor)?;
        let of = match &written.of {
            OpenOf::Arguments(arguments) => OpenedFor::Arguments(arguments),
            OpenOf::Query(source) => OpenedFor::Query(source),
        };
        let rows = self.opened_rows(number, of, out)?;
        self.cursors[number].scrolls &= written.scrolls;
        let cursor = self.cursors[number].clone();
        match &cursor.columns {
            None => self.cursors[number].columns = Some(rows.columns),
            Some(known) => {
                let of = |columns: &[KeptColumn]| -> Vec<_> {
                    columns.iter().map(|column| self.slot_expr(column.slot).sql_type).collect()
                };
                if of(known) != of(&rows.columns) {
                    let what = format!("cursor \"{}\" for a query with other columns", cursor.name);
                    let advice = "declare a cursor for each of the queries";
                    return Err(unsupported(written.cursor.place, what, advice));
                }
                for (known, opened) in known.iter().zip(&rows.columns) {
                    self.emit_assign(out, known.slot, self.slot_expr(opened.slot));
                }
            }
        }
        self.emit_assign(out, cursor.is_open, truth(true));
        self.emit_assign(out, cursor.at, integer(0));
        Ok(())
    }

    /// Runs a cursor's query, and keeps its rows.
    fn opened_rows(
        &mut self,
        number: usize,
        of: OpenedFor<'_>,
        out: &mut Vec<Statement>,
    ) -> Result<KeptRows> {
        let cursor = self.cursors[number].clone();
        let name = &cursor.name;
        let mut refused = Vec::new();
        self.emit_raise(&mut refused, b"42P03", format!("cursor \"{name}\" already in use"), None);
        let is_open = self.slot_expr(cursor.is_open);
        let kind = StatementKind::If { condition: is_open, then: refused, otherwise: Vec::new() };
        self.emit(out, kind);
        match (&cursor.of, of) {
            (Some(written), OpenedFor::Arguments(arguments)) => {
                self.assign_arguments(&cursor, arguments, out)?;
                // I2
                let own = Names { label: Some(name.clone()), variables: cursor.variables() };
                let around = self.names.split_off(cursor.scope.0);
                let hidden = match self.names.last_mut() {
                    Some(last) => last.variables.split_off(cursor.scope.1),
                    None => Vec::new(),
                };
                self.names.push(own);
                let rows = self.rows_of_cursor(number, written, out);
                self.names.pop();
                if let Some(last) = self.names.last_mut() {
                    last.variables.extend(hidden);
                }
                self.names.extend(around);
                rows
            }
            (None, OpenedFor::Query(source)) => {
                let known =
                    |this: &mut Self, written: &ast::Statement, out: &mut Vec<Statement>| {
                        this.rows_of_cursor(number, written, out)
                    };
                self.with_statement(source, out, known, |this, _, _| Err(no_cursor(this.place)))
            }
            (Some(_), OpenedFor::Query(_)) => {
                let message = format!("cursor \"{name}\" has a query of its own");
                Err(syntax(self.place, message).hint(format!("write OPEN {name};")))
            }
            (None, OpenedFor::Arguments(_)) => {
                let message = format!("cursor \"{name}\" has no query of its own");
                Err(syntax(self.place, message).hint(format!("write OPEN {name} FOR SELECT ...;")))
            }
        }
    }

    fn rows_of_cursor(
        &mut self,
        number: usize,
        written: &ast::Statement,
        out: &mut Vec<Statement>,
    ) -> Result<KeptRows> {
        let query = as_query(written, self.place)?;
        let (query, table) = self.with_keys(query);
        self.cursors[number].key_of = table;
        self.leaving_found(out, |this, out| {
            this.keep_rows(out, (String::new(), Vec::new()), |this, out| {
                this.emit_query(out, &query, Wanted::All, |_, _| Ok(Sink::Kept))
            })?;
            let rows = this.keeping.rows.pop();
            rows.ok_or_else(|| error(b"XX000", this.place, "a cursor keeps no rows"))
        })
    }

    /// Compiles statements that leave FOUND and the row count as they are.
    pub(crate) fn leaving_found<T>(
        &mut self,
        out: &mut Vec<Statement>,
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<T>,
    ) -> Result<T> {
        self.leaving(&[FOUND, ROW_COUNT], out, compile)
    }

    /// Compiles what leaves these of FOUND and ROW_COUNT as they are.
    pub(crate) fn leaving<T>(
        &mut self,
        left: &[SlotId],
        out: &mut Vec<Statement>,
        compile: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Result<T>,
    ) -> Result<T> {
        let mut kept = Vec::new();
        for (slot, is_mentioned) in [FOUND, ROW_COUNT].into_iter().zip(self.calls.mentions) {
            if is_mentioned && left.contains(&slot) {
                let held = self.temporary("held", self.slot_expr(slot).data_type())?;
                self.emit_assign(out, held, self.slot_expr(slot));
                kept.push((slot, held));
            }
        }
        let compiled = compile(self, out)?;
        for (slot, held) in kept {
            self.emit_assign(out, slot, self.slot_expr(held));
        }
        Ok(compiled)
    }

    /// The arguments of a cursor, given by position or by name.
    fn assign_arguments(
        &mut self,
        cursor: &CursorVariable,
        written: &[CallArgument],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let CursorVariable { name, parameters, .. } = cursor;
        if written.len() != parameters.len() {
            let problem = if written.len() < parameters.len() { "not enough" } else { "too many" };
            let message = format!("{problem} arguments for cursor \"{name}\"");
            return Err(syntax(self.place, message));
        }
        let mut given: Vec<SlotId> = Vec::new();
        for (position, argument) in written.iter().enumerate() {
            let (parameter, slot) = match &argument.name {
                None => &parameters[position],
                Some(wanted) => {
                    parameters.iter().find(|(known, _)| known == wanted).ok_or_else(|| {
                        let message =
                            format!("cursor \"{name}\" has no argument named \"{wanted}\"");
                        syntax(argument.place, message)
                    })?
                }
            };
            if given.contains(slot) {
                let message = format!(
                    "value for parameter \"{parameter}\" of cursor \"{name}\" specified \
                             more than once"
                );
                return Err(syntax(argument.place, message));
            }
            given.push(*slot);
            let what = || format!("argument \"{parameter}\" of cursor \"{name}\"");
            let value = self.value_of_slot(&argument.value, *slot, what)?;
            self.emit_assign(out, *slot, value);
        }
        Ok(())
    }

    /// Fails where a cursor is not open; the columns of its rows.
    fn emit_open_check(
        &mut self,
        cursor: &CursorVariable,
        out: &mut Vec<Statement>,
    ) -> Result<Vec<KeptColumn>> {
        let name = &cursor.name;
        let is_open = || self.slot_expr(cursor.is_open);
        let (mut closed, mut never) = (Vec::new(), Vec::new());
        self.emit_raise(&mut closed, b"34000", format!("cursor \"{name}\" does not exist"), None);
        match cursor.of {
            // It is called as its variable is, from the beginning.
            Some(_) => never.clone_from(&closed),
            None => {
                let message = format!("cursor variable \"{name}\" is null");
                self.emit_raise(&mut never, b"22004", message, None);
            }
        }
        let condition = negated(is_open());
        let kind = StatementKind::If { condition, then: closed, otherwise: Vec::new() };
        self.emit(out, kind);
        let condition = scalar(ExprKind::IsNull(Box::new(is_open())), DataType::Boolean);
        let kind = StatementKind::If { condition, then: never, otherwise: Vec::new() };
        self.emit(out, kind);
        cursor.columns.clone().ok_or_else(|| {
            let what = format!("cursor \"{name}\", which no OPEN before this opens,");
            unsupported(self.place, what, "write OPEN above it")
        })
    }

    /// How many rows an open cursor has.
    fn count_of(&self, columns: &[KeptColumn]) -> Expr {
        let count = |array| call(Function::Cardinality, vec![array], DataType::Integer);
        let first = columns.first().map(|column| count(self.slot_expr(column.slot)));
        let count = first.into_iter().chain([integer(0)]).collect();
        scalar(ExprKind::Coalesce(count), DataType::Integer)
    }

    /// FETCH and MOVE
    pub(crate) fn fetch_row(
        &mut self,
        written: &FetchSyntax,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let number = self.cursor_named(&written.cursor)?;
        let cursor = self.cursors[number].clone();
        let columns = self.emit_open_check(&cursor, out)?;
        let to = self.stepped(&cursor, &written.step, &columns, out)?;
        if !cursor.scrolls && !matches!(written.step, CursorStep::Next) {
            let mut then = Vec::new();
            let hint = "Declare it with SCROLL option to enable backward scan.".to_owned();
            let raise = Raise {
                sqlstate: *b"55000",
                message: vec!["cursor can only scan forward".to_owned()],
                arguments: Vec::new(),
                detail: None,
                hint: Some(constant(Value::Text(hint), DataType::Text)),
                of: None,
                is_again: false,
                parts: Vec::new(),
            };
            self.emit(&mut then, StatementKind::Raise(raise));
            let condition = compared(CompareOp::Less, to.clone(), self.slot_expr(cursor.at));
            self.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
        }
        self.emit_assign(out, cursor.at, to);
        let (at, count) = (self.slot_expr(cursor.at), self.count_of(&columns));
        let is_behind = compared(CompareOp::Greater, at.clone(), integer(0));
        let is_before = compared(CompareOp::LessOrEqual, at.clone(), count);
        let is_row =
            scalar(ExprKind::And(Box::new(is_behind), Box::new(is_before)), DataType::Boolean);
        self.emit_assign(out, FOUND, is_row);
        let rows = chosen(vec![(self.slot_expr(FOUND), bigint(1))], bigint(0));
        self.emit_assign(out, ROW_COUNT, rows);
        let Some(targets) = &written.targets else { return Ok(()) };
        let element = |column: &KeptColumn| {
            let of = self.slot_expr(column.slot).data_type();
            let element = ExprKind::Element(column.slot, Box::new(at.clone()));
            (column.name.clone(), scalar(element, of))
        };
        let shown = columns.iter().filter(|column| !is_key(&column.name));
        let row: Vec<(String, Expr)> = shown.map(element).collect();
        let slots = self.slots_of_into(targets, &types_of(&row))?;
        let pairs = self.fitted(&slots, &row)?;
        self.emit_assigns(out, pairs)?;
        self.emit_checks_of_targets(out, targets)?;
        Ok(())
    }

    /// Where a step leads to (I1).
    fn stepped(
        &mut self,
        cursor: &CursorVariable,
        step: &CursorStep,
        columns: &[KeptColumn],
        out: &mut Vec<Statement>,
    ) -> Result<Expr> {
        let (at, count) = (self.slot_expr(cursor.at), self.count_of(columns));
        let behind = sum(count.clone(), integer(1));
        let mut number = |this: &mut Self, written| {
            let number =
                this.value_for(written, DataType::Integer, Coercion::Assignment, || {
                    "where FETCH goes".to_owned()
                })?;
            let mut then = Vec::new();
            let message = "relative or absolute cursor position is null".to_owned();
            this.emit_raise(&mut then, b"22004", message, None);
            let condition = scalar(ExprKind::IsNull(Box::new(number.clone())), DataType::Boolean);
            this.emit(out, StatementKind::If { condition, then, otherwise: Vec::new() });
            Ok::<_, SqlError>(number)
        };
        Ok(match step {
            CursorStep::Next => least(sum(at, integer(1)), behind),
            CursorStep::Prior => greatest(sum(at, integer(-1)), integer(0)),
            CursorStep::First => integer(1),
            CursorStep::Last => count,
            CursorStep::Relative(by) => {
                let by = number(self, by)?;
                // First to within the rows: no number is too great then.
                let back = greatest(by.clone(), ended(sum(at.clone(), integer(1))));
                let by = least(back, behind.clone());
                greatest(least(sum(at, by), behind), integer(0))
            }
            CursorStep::Absolute(to) => {
                let to = number(self, to)?;
                let is_from_end = compared(CompareOp::Less, to.clone(), integer(0));
                let back = greatest(to.clone(), ended(behind.clone()));
                let from_end = sum(behind.clone(), back);
                chosen(vec![(is_from_end, from_end)], least(to, behind))
            }
        })
    }

    /// CLOSE
    pub(crate) fn close_cursor(&mut self, target: &Target, out: &mut Vec<Statement>) -> Result<()> {
        let number = self.cursor_named(target)?;
        let cursor = self.cursors[number].clone();
        let columns = self.emit_open_check(&cursor, out)?;
        let slots: Vec<SlotId> = columns.iter().map(|column| column.slot).collect();
        self.emit_nulls(out, &slots);
        self.emit_assign(out, cursor.is_open, truth(false));
        Ok(())
    }

    /// FOR record IN cursor(arguments) LOOP
    pub(crate) fn for_cursor(
        &mut self,
        (target, cursor): (&Target, &Target),
        arguments: &[CallArgument],
        (body, place): (&LoopBody, Place),
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let Some(Variable::Cursor(number)) = self.qualified_variable(&cursor.parts).cloned() else {
            return Err(goes_over_nothing(cursor.place));
        };
        let rows = self.opened_rows(number, OpenedFor::Arguments(arguments), out)?;
        // No name of SQL has a question mark, so nothing else is called so.
        let name = format!("?cursor{number}");
        let shown = rows.columns.iter().filter(|column| !is_key(&column.name));
        let shown = shown.map(|column| format!("\"{name}\".{}", quoted(&column.name)));
        let shown: Vec<_> = shown.collect();
        let text = format!("SELECT {} FROM \"{name}\"", shown.join(", "));
        let around = self.cursors[number].columns.replace(rows.columns.clone());
        self.keeping.rows.push(KeptRows { name: name.clone(), ..rows });
        let tokens = tokenize(&text, self.place)?;
        let query = StatementSource::Written(Box::new(parse_statement(&tokens, self.place)?));
        // So that CURRENT OF finds the row.
        let at = self.cursors[number].at;
        self.emit_assign(out, at, integer(0));
        self.counts_next_turns = Some(at);
        // The record is the loop's own.
        let record = Variable::Record { fields: Vec::new(), open: true, of: None };
        let own = target.parts.iter().map(|name| (name.clone(), record.clone())).collect();
        self.names.push(Names { label: None, variables: own });
        self.for_query(std::slice::from_ref(target), &query, body, place, out)?;
        self.names.pop();
        self.keeping.forget(&name);
        self.cursors[number].columns = around;
        Ok(())
    }
}

impl CursorVariable {
    fn variables(&self) -> Vec<(String, Variable)> {
        let variable = |(name, slot): &(String, SlotId)| {
            (name.clone(), Variable::Scalar { slot: *slot, constant: true, not_null: false })
        };
        self.parameters.iter().map(variable).collect()
    }
}

fn sum(a: Expr, b: Expr) -> Expr {
    let kind = ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(a), Box::new(b));
    scalar(kind, DataType::Integer)
}

/// `-a`
fn ended(a: Expr) -> Expr {
    scalar(ExprKind::Negate(Box::new(a)), DataType::Integer)
}

fn compared(op: CompareOp, a: Expr, b: Expr) -> Expr {
    scalar(ExprKind::Compare(op, Box::new(a), Box::new(b)), DataType::Boolean)
}

fn chosen(arms: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let data_type = otherwise.data_type();
    scalar(ExprKind::Case { arms, otherwise: Some(Box::new(otherwise)) }, data_type)
}

fn least(a: Expr, b: Expr) -> Expr {
    call(Function::Least, vec![a, b], DataType::Integer)
}

fn greatest(a: Expr, b: Expr) -> Expr {
    call(Function::Greatest, vec![a, b], DataType::Integer)
}
