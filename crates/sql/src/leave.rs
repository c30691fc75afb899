//! RETURN and RAISE, EXIT and CONTINUE.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::NoticeLevel;
use hotrow_transaction::program::{
    ErrorPart, Expr, FOUND, LabelId, Place, Raise, ResultColumn, Statement, StatementKind,
};
use hotrow_transaction::walk;
use sqlparser::ast;

use crate::condition::sqlstate;
use crate::error::{Advice, Result, error, syntax, too_complex};
use crate::raise::part_named;
use crate::scope::Compiler;
use crate::state::{Enclosing, EnclosingKind, Returning};
use crate::syntax::{Block, LeaveSyntax, RaiseSyntax, Way};
use crate::typing::{Coercion, cast, constant, packed};

impl Compiler<'_> {
    /// A label that no other block has.
    pub(crate) fn new_label(&mut self) -> Result<LabelId> {
        let label = LabelId(self.labels);
        self.labels = self.labels.checked_add(1).ok_or_else(|| {
            too_complex(self.place, "the procedure has too many loops")
                .hint("split it into several procedures")
        })?;
        Ok(label)
    }

    /// Emits statements: into a block of their own, if something in them leaves it. It begins with
    /// the first one that may: rows that decide about it do not decide about those before.
    pub(crate) fn emit_in_block(
        &mut self,
        out: &mut Vec<Statement>,
        label: Option<LabelId>,
        emit: impl FnOnce(&mut Self, &mut Vec<Statement>),
    ) {
        let Some(label) = label else { return emit(self, out) };
        let mut body = Vec::new();
        emit(self, &mut body);
        let leaves = |statement: &Statement| walk::is_left(label, std::slice::from_ref(statement));
        let before = body.iter().position(leaves).unwrap_or(body.len());
        out.extend(body.drain(..before));
        self.emit(out, StatementKind::Block { label, body });
    }

    /// The statements of a block that EXIT may leave.
    pub(crate) fn labelled(
        &mut self,
        label: &str,
        block: &Block,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut compiled = Vec::new();
        self.enclosing.push(Enclosing::new(Some(label.to_owned()), EnclosingKind::Block));
        self.statements_of(block, &mut compiled)?;
        let exit = self.enclosing.pop().and_then(|around| around.exit);
        self.emit_in_block(out, exit, |_, out| out.append(&mut compiled));
        Ok(())
    }

    /// EXIT and CONTINUE.
    pub(crate) fn leave(&mut self, written: &LeaveSyntax, out: &mut Vec<Statement>) -> Result<()> {
        let LeaveSyntax { way, label, condition } = written;
        let at = self.left_by(*way, label.as_ref())?;
        let condition = match condition {
            Some(condition) => {
                let what = if *way == Way::Exit { "EXIT" } else { "CONTINUE" };
                Some(self.condition(condition, what)?)
            }
            None => None,
        };
        out.append(&mut self.before);
        let known = match way {
            Way::Exit => self.enclosing[at].exit,
            Way::Continue => self.enclosing[at].next,
        };
        let label = known.map_or_else(|| self.new_label(), Ok)?;
        match way {
            Way::Exit => self.enclosing[at].exit = Some(label),
            Way::Continue => self.enclosing[at].next = Some(label),
        }
        let mut leaving = Vec::new();
        // Those that end here have all had a turn.
        let ended = self.enclosing.iter().skip(if *way == Way::Exit { at } else { at + 1 });
        if ended.into_iter().any(|around| around.kind == EnclosingKind::For) {
            self.emit_assign(&mut leaving, FOUND, constant(Value::Bool(true), DataType::Boolean));
        }
        self.emit(&mut leaving, StatementKind::Leave(label));
        match condition {
            None => out.append(&mut leaving),
            Some(condition) => {
                let otherwise = Vec::new();
                self.emit(out, StatementKind::If { condition, then: leaving, otherwise });
            }
        }
        Ok(())
    }

    /// Which of the loops and blocks around is left.
    fn left_by(&self, way: Way, label: Option<&(String, Place)>) -> Result<usize> {
        let Some((name, place)) = label else {
            let innermost = self.enclosing.iter().rposition(|one| one.kind != EnclosingKind::Block);
            return innermost.ok_or_else(|| {
                let message = match way {
                    Way::Exit => "EXIT cannot be used outside a loop, unless it has a label",
                    Way::Continue => "CONTINUE cannot be used outside a loop",
                };
                syntax(self.place, message)
            });
        };
        let found = self.enclosing.iter().rposition(|one| one.label.as_ref() == Some(name));
        match found {
            None => {
                let message = format!(
                    "there is no label \"{name}\" attached to any block or loop enclosing this \
                     statement"
                );
                Err(syntax(*place, message))
            }
            Some(at) if way == Way::Continue && self.enclosing[at].kind == EnclosingKind::Block => {
                let message = format!("block label \"{name}\" cannot be used in CONTINUE");
                Err(syntax(*place, message))
            }
            Some(at) => Ok(at),
        }
    }

    pub(crate) fn return_statement(
        &mut self,
        value: Option<&ast::Expr>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        if let Returning::Trigger(to) = self.returning.clone() {
            return self.return_of_trigger(&to, value, out);
        }
        let values = match (self.returning.clone(), value) {
            (Returning::Value(to), Some(value)) => {
                let what = || "RETURN".to_owned();
                let value = self.value_for(value, to, Coercion::Explicit, what)?;
                vec![self.of_returned_domain(value)?]
            }
            (Returning::Row, Some(value)) => self.row_returned(value, "RETURN")?,
            (Returning::Value(_) | Returning::Row, None) => {
                return Err(syntax(self.place, "missing expression after RETURN"));
            }
            (Returning::Outs(slots), None) => {
                slots.iter().map(|s| packed(self.slot_expr(*s))).collect()
            }
            (_, None) => Vec::new(),
            (Returning::Outs(_), Some(_)) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN cannot have a parameter in function with OUT parameters",
                ));
            }
            (Returning::Nothing, Some(_)) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN cannot have a parameter in a procedure or function returning void",
                ));
            }
            (_, Some(_)) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN cannot have a parameter in function returning set",
                )
                .hint("Use RETURN NEXT or RETURN QUERY."));
            }
        };
        self.emit(out, StatementKind::Return(values));
        Ok(())
    }

    /// A value that is returned, as one of the domain that it is to be of.
    fn of_returned_domain(&mut self, value: Expr) -> Result<Expr> {
        match self.domains.returned.clone() {
            Some(domain) => self.alone(|this| this.in_domain(value, &domain)).map(packed),
            None => Ok(value),
        }
    }

    /// A row that is returned: its values, of the types of the result's columns.
    fn row_returned(&mut self, written: &ast::Expr, how: &str) -> Result<Vec<Expr>> {
        let of = |column: &ResultColumn| (column.name.clone(), SqlType::Scalar(column.data_type));
        let wanted: Vec<_> = self.result.iter().map(of).collect();
        let row = self.row_value(written, &wanted, || how.to_owned())?;
        self.result_values(&row)
    }

    pub(crate) fn return_next(
        &mut self,
        value: Option<&ast::Expr>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let values = match (self.returning.clone(), value) {
            (Returning::SetOfValues(to), Some(value)) => {
                let what = || "RETURN NEXT".to_owned();
                let value = self.value_for(value, to, Coercion::Explicit, what)?;
                vec![self.of_returned_domain(value)?]
            }
            (Returning::SetOfRows(slots), None) if !slots.is_empty() => {
                slots.iter().map(|s| packed(self.slot_expr(*s))).collect()
            }
            (Returning::SetOfRows(slots), Some(value)) if slots.is_empty() => {
                self.row_returned(value, "RETURN NEXT")?
            }
            (Returning::SetOfRows(_) | Returning::SetOfValues(_), _) => {
                return Err(error(
                    b"42804",
                    self.place,
                    "RETURN NEXT does not fit what the function returns",
                )
                .hint("assign the columns of RETURNS TABLE and write RETURN NEXT; alone"));
            }
            _ => {
                return Err(error(
                    b"42804",
                    self.place,
                    "cannot use RETURN NEXT in a non-SETOF function",
                ));
            }
        };
        self.emit(out, StatementKind::ReturnNext(values));
        Ok(())
    }

    pub(crate) fn raise(&mut self, written: &RaiseSyntax, out: &mut Vec<Statement>) -> Result<()> {
        let mut condition = written.condition.clone();
        let mut message: Vec<String> = Vec::new();
        let mut arguments = Vec::new();
        if let Some(format) = &written.format {
            message = pieces(format);
            for argument in &written.arguments {
                let value = self.expr(argument)?;
                arguments.push(self.text_of(value)?);
            }
            if message.len() != arguments.len() + 1 {
                let problem = if message.len() > arguments.len() + 1 { "few" } else { "many" };
                return Err(syntax(
                    self.place,
                    format!("too {problem} parameters specified for RAISE"),
                ));
            }
        }
        let (mut detail, mut hint) = (None, None);
        let (mut parts, mut said) = (Vec::new(), Vec::new());
        for (option, value, place) in &written.options {
            if option == "errcode"
                && let ast::Expr::Value(literal) = value
            {
                let ast::Value::SingleQuotedString(text) = &literal.value else {
                    return Err(syntax(*place, "ERRCODE needs a code in quotes"));
                };
                condition = Some((text.clone(), sqlstate(text, *place)?));
                continue;
            }
            let value = cast(self.expr(value)?, DataType::Text);
            let part = (option == "errcode").then_some(ErrorPart::State);
            if let Some(part) = part.or_else(|| part_named(option)) {
                parts.push(part);
                said.push(value);
                continue;
            }
            match option.as_str() {
                "message" if message.is_empty() => {
                    message = vec![String::new(), String::new()];
                    arguments = vec![value];
                }
                "message" => {
                    return Err(syntax(*place, "RAISE option already specified: MESSAGE"));
                }
                "detail" => detail = Some(value),
                _ => hint = Some(value),
            }
        }
        let (name, sqlstate) = condition.unwrap_or_else(|| {
            let code = match written.level {
                None => "P0001",
                Some(NoticeLevel::Warning) => "01000",
                Some(_) => "00000",
            };
            (code.to_owned(), code.as_bytes().first_chunk().copied().unwrap_or_default())
        });
        if message.is_empty() {
            message = vec![name];
        }
        arguments.append(&mut said);
        let raise =
            Raise { sqlstate, message, arguments, detail, hint, of: None, is_again: false, parts };
        self.emit(
            out,
            match written.level {
                None => StatementKind::Raise(raise),
                Some(level) => StatementKind::Notice(level, raise),
            },
        );
        Ok(())
    }

    /// What a body that runs off its end does.
    pub(crate) fn emit_end(&mut self, out: &mut Vec<Statement>, end: Place) {
        if matches!(out.last().map(|s| &s.kind), Some(StatementKind::Return(_))) {
            return;
        }
        self.place = end;
        match self.returning.clone() {
            Returning::Value(_) | Returning::Row => {
                let message = "control reached end of function without RETURN".to_owned();
                self.emit_raise(out, b"2F005", message, None);
            }
            Returning::Outs(slots) => {
                let values = slots.iter().map(|slot| packed(self.slot_expr(*slot))).collect();
                self.emit(out, StatementKind::Return(values));
            }
            Returning::Trigger(_) => {
                let message = "control reached end of trigger procedure without RETURN".to_owned();
                self.emit_raise(out, b"2F005", message, None);
            }
            _ => {}
        }
    }
}

/// The text around the `%` of a format; `%%` is a percent sign.
pub(crate) fn pieces(format: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '%' && chars.peek() != Some(&'%') {
            pieces.push(String::new());
            continue;
        }
        if c == '%' {
            chars.next();
        }
        if let Some(last) = pieces.last_mut() {
            last.push(c);
        }
    }
    pieces
}
