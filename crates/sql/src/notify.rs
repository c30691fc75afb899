//! NOTIFY and pg_notify: what a call sends to whoever listens, once it has committed.
//!
//! Role         a statement like RAISE NOTICE, of a level of its own, so that it comes with what
//!              the call has said, from whatever engine runs it, and from no replay
//! Source       PostgreSQL 15, NOTIFY. We differ: pg_notify stands alone, in PERFORM or in SELECT,
//!              and in no other expression

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::NoticeLevel;
use hotrow_transaction::program::{
    CompareOp, Expr, ExprKind, Function, Raise, Statement, StatementKind,
};
use sqlparser::ast::{self, SelectItem, SetExpr};

use crate::error::Result;
use crate::scope::Compiler;
use crate::typing::{Coercion, call, constant, integer, scalar};
use crate::written::{arguments, function_name, ident_name};

/// The name of the function, and of what it gives.
const NAME: &str = "pg_notify";
/// Bytes of a channel's name: those of any name.
const CHANNEL_BYTES_MAX: i32 = 63;
/// Bytes of a payload.
const PAYLOAD_BYTES_MAX: i32 = 7999;

/// The channel and the payload, if a query is `SELECT pg_notify(channel, payload)` and no more.
pub(crate) fn notification(query: &ast::Query) -> Option<[&ast::Expr; 2]> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let [
        SelectItem::UnnamedExpr(ast::Expr::Function(function))
        | SelectItem::ExprWithAlias { expr: ast::Expr::Function(function), .. },
    ] = select.projection.as_slice()
    else {
        return None;
    };
    let is_alone = select.from.is_empty() && select.selection.is_none() && query.with.is_none();
    if !is_alone || function_name(function) != NAME {
        return None;
    }
    let (_, given) = arguments(function, Default::default()).ok()?;
    <[_; 2]>::try_from(given).ok()
}

impl Compiler<'_> {
    /// NOTIFY channel [, payload]
    pub(crate) fn notify_statement(
        &mut self,
        (channel, payload): (&ast::Ident, Option<&str>),
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let text = |text: &str| constant(Value::Text(text.to_owned()), DataType::Text);
        let mut name = ident_name(channel);
        name.truncate(name.floor_char_boundary(CHANNEL_BYTES_MAX as usize));
        let given = [text(&name), text(payload.unwrap_or_default())];
        self.emit_notification(given, out)
    }

    /// PERFORM pg_notify(channel, payload), and SELECT of it.
    pub(crate) fn notify(
        &mut self,
        [channel, payload]: [&ast::Expr; 2],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let mut given = Vec::new();
        for written in [channel, payload] {
            let what = || format!("an argument of {NAME}");
            let value = self.value_for(written, DataType::Text, Coercion::Assignment, what)?;
            let mut value = match &value.kind {
                ExprKind::Constant(Value::Text(_)) => value,
                _ => {
                    let nothing = constant(Value::Text(String::new()), DataType::Text);
                    scalar(ExprKind::Coalesce(vec![value, nothing]), DataType::Text)
                }
            };
            self.held(out, &mut value)?;
            given.push(value);
        }
        match <[_; 2]>::try_from(given) {
            Ok(given) => self.emit_notification(given, out),
            Err(_) => Ok(()),
        }
    }

    /// The row that SELECT pg_notify gives: void.
    pub(crate) fn emit_notified(&mut self, out: &mut Vec<Statement>) -> Result<()> {
        let nothing = constant(Value::Text(String::new()), DataType::Text);
        self.emit_result_row(out, &[(NAME.to_owned(), nothing)])
    }

    fn emit_notification(
        &mut self,
        [channel, payload]: [Expr; 2],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let is_known = |value: &Expr, most: i32, least: usize| match &value.kind {
            ExprKind::Constant(Value::Text(text)) => (least..=most as usize).contains(&text.len()),
            _ => false,
        };
        let is_channel = is_known(&channel, CHANNEL_BYTES_MAX, 1);
        let is_payload = is_known(&payload, PAYLOAD_BYTES_MAX, 0);
        for (is_known, value, op, than, message) in [
            (is_channel, &channel, CompareOp::Less, 1, "channel name cannot be empty"),
            (is_channel, &channel, CompareOp::Greater, CHANNEL_BYTES_MAX, "channel name too long"),
            (
                is_payload,
                &payload,
                CompareOp::Greater,
                PAYLOAD_BYTES_MAX,
                "payload string too long",
            ),
        ] {
            if is_known {
                continue;
            }
            let length = call(Function::OctetLength, vec![value.clone()], DataType::Integer);
            let kind = ExprKind::Compare(op, Box::new(length), Box::new(integer(than)));
            let condition = scalar(kind, DataType::Boolean);
            let (mut then, otherwise) = (Vec::new(), Vec::new());
            self.emit_raise(&mut then, b"22023", message.to_owned(), None);
            self.emit(out, StatementKind::If { condition, then, otherwise });
        }
        let raise = Raise {
            sqlstate: *b"00000",
            message: vec![String::new()],
            arguments: Vec::new(),
            detail: Some(channel),
            hint: Some(payload),
            of: None,
            is_again: false,
            parts: Vec::new(),
        };
        self.emit(out, StatementKind::Notice(NoticeLevel::Notification, raise));
        Ok(())
    }
}
