//! EXCEPTION: handlers, what they are told of the error, RAISE and GET STACKED DIAGNOSTICS in them.

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::program::{
    Catch, ErrorPart, Expr, ExprKind, Handler, Protected, ROW_COUNT, Raise, SlotId, Statement,
    StatementKind,
};
use sqlparser::tokenizer::Token;

use crate::block::{Depth, body, target};
use crate::condition::{caught_by_name, caught_by_state};
use crate::error::{Result, error, unsupported};
use crate::scope::Compiler;
use crate::state::{Diagnostic, Names, Variable};
use crate::syntax::{Block, BlockStatementKind as Kind, HandlerSyntax, Target};
use crate::token::Cursor;
use crate::typing::{Coercion, assign, constant, scalar};

/// What GET STACKED DIAGNOSTICS can be asked for.
const ITEMS: &[(&str, ErrorPart)] = &[
    ("returned_sqlstate", ErrorPart::State),
    ("message_text", ErrorPart::Message),
    ("pg_exception_detail", ErrorPart::Detail),
    ("pg_exception_hint", ErrorPart::Hint),
    ("constraint_name", ErrorPart::Constraint),
    ("table_name", ErrorPart::Table),
    ("column_name", ErrorPart::Column),
    ("schema_name", ErrorPart::Schema),
    ("pg_datatype_name", ErrorPart::DataType),
    ("pg_exception_context", ErrorPart::Context),
];

/// `EXCEPTION WHEN ... THEN ...`, up to END; nothing where there is no EXCEPTION.
pub(crate) fn handlers(cursor: &mut Cursor<'_>, depth: Depth) -> Result<Vec<HandlerSyntax>> {
    let mut all = Vec::new();
    if !cursor.accept("exception") {
        return Ok(all);
    }
    while cursor.accept("when") {
        let mut catches = conditions(cursor)?;
        while cursor.accept("or") {
            catches.append(&mut conditions(cursor)?);
        }
        cursor.expect("then")?;
        let statements = body(cursor, &["when", "end"], depth)?;
        all.push(HandlerSyntax { catches, statements });
    }
    if all.is_empty() { Err(cursor.unexpected("WHEN")) } else { Ok(all) }
}

fn conditions(cursor: &mut Cursor<'_>) -> Result<Vec<Catch>> {
    if cursor.accept("sqlstate") {
        let place = cursor.place();
        let Some(Token::SingleQuotedString(code)) = cursor.peek() else {
            return Err(cursor.unexpected("a code in quotes"));
        };
        cursor.bump();
        return Ok(vec![caught_by_state(code, place)?]);
    }
    let place = cursor.place();
    caught_by_name(&cursor.identifier()?, place)
}

/// `STACKED DIAGNOSTICS variable = item, ...;`
pub(crate) fn stacked_diagnostics(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("stacked")?;
    cursor.expect("diagnostics")?;
    let mut items = Vec::new();
    loop {
        let target = target(cursor)?;
        if !cursor.accept_token(&Token::Assignment) {
            cursor.expect_token(&Token::Eq)?;
        }
        let place = cursor.place();
        let name = cursor.identifier()?;
        let Some((_, part)) = ITEMS.iter().find(|(item, _)| *item == name) else {
            let names: Vec<_> = ITEMS.iter().map(|(item, _)| item.to_uppercase()).collect();
            let advice = format!("it can be one of {}", names.join(", "));
            return Err(unsupported(place, format!("diagnostics item \"{name}\""), advice));
        };
        items.push((target, *part));
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Stacked(items))
}

impl Compiler<'_> {
    /// The statements of a block with handlers.
    pub(crate) fn protected(&mut self, block: &Block, out: &mut Vec<Statement>) -> Result<()> {
        let place = self.place;
        let mut body = Vec::new();
        self.endings.protected += 1;
        self.statements(&block.statements, &mut body)?;
        self.endings.protected -= 1;
        let put_back = self.keep_events(out, &body)?;
        let state = self.temporary("sqlstate", DataType::Text)?;
        let message = self.temporary("sqlerrm", DataType::Text)?;
        let constant = |slot| Variable::Scalar { slot, constant: true, not_null: false };
        let variables = vec![
            ("sqlstate".to_owned(), constant(state)),
            ("sqlerrm".to_owned(), constant(message)),
        ];
        self.names.push(Names { label: None, variables });
        self.caught.push(vec![(ErrorPart::State, state), (ErrorPart::Message, message)]);
        let mut handlers = Vec::new();
        for written in &block.handlers {
            let mut body = put_back.clone();
            self.statements(&written.statements, &mut body)?;
            handlers.push(Handler { catches: written.catches.clone(), body });
        }
        let told = self.caught.pop().unwrap_or_default();
        self.names.pop();
        self.place = place;
        self.emit(out, StatementKind::Protected(Box::new(Protected { body, handlers, told })));
        Ok(())
    }

    /// RAISE;
    pub(crate) fn raise_again(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        if self.caught.is_empty() {
            let message = "RAISE without parameters cannot be used outside an exception handler";
            return Err(error(b"0Z002", self.place, message));
        }
        let raise = Raise {
            sqlstate: *b"P0001",
            message: Vec::new(),
            arguments: Vec::new(),
            detail: None,
            hint: None,
            of: None,
            is_again: true,
            parts: Vec::new(),
        };
        self.emit(out, StatementKind::Raise(raise));
        Ok(())
    }

    /// GET STACKED DIAGNOSTICS
    pub(crate) fn stacked(
        &mut self,
        items: &[(Target, ErrorPart)],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        for (target, part) in items {
            let from = self.caught_part(*part)?;
            let mut value = self.slot_expr(from);
            if *part == ErrorPart::Context {
                let of = constant(Value::Text(self.context_of_routine()), DataType::Text);
                let kind = ExprKind::Concat(Box::new(of), Box::new(value));
                value = scalar(kind, DataType::Text);
            }
            self.assign_diagnostic(target, value, out)?;
        }
        Ok(())
    }

    /// GET DIAGNOSTICS. PG_CONTEXT is the routine and the line, without those that call it.
    pub(crate) fn diagnostics(
        &mut self,
        items: &[(Target, Diagnostic)],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        for (target, item) in items {
            let value = match item {
                Diagnostic::RowCount => self.slot_expr(ROW_COUNT),
                Diagnostic::Context => {
                    let (of, line) = (self.context_of_routine(), target.place.line);
                    let text = format!("{of}line {line} at GET DIAGNOSTICS");
                    constant(Value::Text(text), DataType::Text)
                }
            };
            self.assign_diagnostic(target, value, out)?;
        }
        Ok(())
    }

    fn assign_diagnostic(
        &mut self,
        target: &Target,
        value: Expr,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let slot = self.target_slot(target)?;
        let to = self.slot_expr(slot).data_type();
        let value = assign(value, to, Coercion::Explicit, target.place, || {
            format!("variable \"{}\"", target.parts.join("."))
        })?;
        self.emit_assign(out, slot, value);
        self.emit_checks_of_targets(out, std::slice::from_ref(target))
    }

    /// What a context says before its line.
    fn context_of_routine(&self) -> String {
        match self.names.iter().find_map(|names| names.label.as_ref()) {
            Some(name) => format!("PL/pgSQL function {name} "),
            None => "PL/pgSQL function inline_code_block ".to_owned(),
        }
    }

    /// The slot that has a part of what the innermost handler has caught.
    fn caught_part(&mut self, part: ErrorPart) -> Result<SlotId> {
        let Some(told) = self.caught.last() else {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(error(b"0Z002", self.place, message));
        };
        if let Some((_, slot)) = told.iter().find(|(known, _)| *known == part) {
            return Ok(*slot);
        }
        let slot = self.temporary("caught", DataType::Text)?;
        if let Some(told) = self.caught.last_mut() {
            told.push((part, slot));
        }
        Ok(slot)
    }
}
