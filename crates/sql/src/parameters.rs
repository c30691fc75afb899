//! Parameters of statements: `$1`, `$2` ... whose values are given when the statement is run.
//!
//! Role         [`Compiler`] is told the types that the caller knows; a parameter without one takes
//!              the type that a string literal would take where it first stands
//! Source       PostgreSQL 15, "Parameter types" of PREPARE and the protocol's Parse. We differ:
//!              for varchar(n) and char(n) a parameter is text, for numeric(p, s) it is numeric
//!              without a precision, since its value is not to be cut or rounded before it is
//!              compared

use hotrow_base::conventions::Style;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::error::{Advice, Result, error, place_in, place_of, too_complex};
use crate::scope::Compiler;
use crate::script::Offsets;
use crate::script_statement::ScriptStatement;
use crate::token::tokenize;

/// Parameters a statement may have: what the protocol can count in 16 bits, signed.
const PARAMETERS_MAX: usize = 32_767;

/// The number in `$number`.
pub(crate) fn parameter_number(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok()
}

/// The greatest number of a parameter in a text.
pub(crate) fn parameters_named(text: &str) -> Result<usize> {
    let mut most = 0;
    for token in tokenize(text, Place { line: 1, column: 1 })? {
        if let Token::Placeholder(name) = &token.token {
            let number = parameter_number(name).unwrap_or(0);
            if number == 0 || number > PARAMETERS_MAX {
                let place = place_of(token.span.start);
                return Err(error(b"42P02", place, format!("there is no parameter {name}"))
                    .hint(format!("parameters are $1 to ${PARAMETERS_MAX}")));
            }
            most = most.max(number);
        }
    }
    Ok(most)
}

impl Compiler<'_> {
    /// Makes room for parameters: as many as have a type, and at least `named`.
    pub(crate) fn take_parameters(
        &mut self,
        types: &[Option<SqlType>],
        named: usize,
    ) -> Result<()> {
        if types.len() > PARAMETERS_MAX {
            return Err(too_complex(self.place, "the statement has too many parameters"));
        }
        for at in 0..named.max(types.len()) {
            let known = types.get(at).copied().flatten();
            let open = SqlType::Scalar(DataType::Text);
            let slot = self.slot(&format!("${}", at + 1), known.unwrap_or(open))?;
            self.parameters.push(slot);
            self.given.push(known);
        }
        Ok(())
    }

    /// Gives a parameter the type that is wanted of it, if it has none.
    pub(crate) fn settle_parameter(&mut self, at: usize, wanted: DataType) -> Expr {
        let open = |wanted: DataType| match wanted {
            DataType::Varchar(_) | DataType::Char(_) => DataType::Text,
            DataType::Numeric { .. } | DataType::WideNumeric { .. } => DataType::AnyNumeric,
            DataType::Name => DataType::Text,
            other => other.with_all_digits(),
        };
        self.give(
            at,
            match wanted {
                DataType::Array(element) => SqlType::Array(open(*element)),
                scalar => SqlType::Scalar(open(scalar)),
            },
        );
        self.slot_expr(self.parameters[at])
    }

    /// A parameter that stands alone as an argument of a call; it takes the argument's type.
    pub(crate) fn parameter_alone(
        &mut self,
        written: &ast::Expr,
        sql_type: Option<SqlType>,
    ) -> Result<Option<usize>> {
        let at = match written {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Placeholder(name) => parameter_number(name),
                _ => None,
            },
            _ => None,
        };
        let Some(at) = at.and_then(|number| number.checked_sub(1)) else { return Ok(None) };
        if at >= self.parameters.len() {
            let place = place_in(written, self.place);
            return Err(error(b"42P02", place, format!("there is no parameter ${}", at + 1)));
        }
        self.give(at, sql_type.unwrap_or(SqlType::Scalar(DataType::Text)));
        Ok(Some(at))
    }

    pub(crate) fn give(&mut self, at: usize, sql_type: SqlType) {
        if self.given[at].is_none() {
            self.given[at] = Some(sql_type);
            let slot = self.parameters[at];
            self.slots[slot.index()].sql_type = sql_type;
        }
    }

    /// The types of all parameters.
    pub(crate) fn given_types(&self) -> Result<Vec<SqlType>> {
        let known = |(at, sql_type): (usize, &Option<SqlType>)| {
            sql_type.ok_or_else(|| {
                let message = format!("could not determine data type of parameter ${}", at + 1);
                error(b"42P18", self.place, message).hint("write a cast: $1::bigint")
            })
        };
        self.given.iter().enumerate().map(known).collect()
    }
}

/// The text of a statement with literals where its parameters stand: for where a statement is
/// known by its text only.
pub fn with_literals(
    statement: &ScriptStatement,
    types: &[SqlType],
    values: &[Value],
) -> std::result::Result<String, SqlError> {
    let _usual = Style::DEFAULT.enter(); // no text says another value in another style
    let text = &statement.text;
    let offsets = Offsets::new(text, Place { line: 1, column: 1 });
    let (mut whole, mut done) = (String::with_capacity(text.len()), 0);
    for token in tokenize(text, Place { line: 1, column: 1 })? {
        let Token::Placeholder(name) = &token.token else { continue };
        let at = parameter_number(name).and_then(|number| number.checked_sub(1));
        let given = at.and_then(|at| types.get(at).zip(values.get(at)));
        let Some((sql_type, value)) = given else { continue };
        whole.push_str(&text[done..offsets.of(token.span.start)]);
        match value {
            Value::Null => whole.push_str("(NULL"),
            value => {
                whole.push_str("('");
                whole.push_str(&value.to_string().replace('\'', "''"));
                whole.push('\'');
            }
        }
        whole.push_str(&format!("::{sql_type})"));
        done = offsets.of(token.span.end);
    }
    whole.push_str(&text[done..]);
    Ok(whole)
}

/// The text of a call without some of its parameters, which are numbered from 0; the others keep
/// their numbers. Fails as [`crate::parse_script`] does where the text cannot be read.
pub fn without_parameters(
    text: &str,
    is_left_out: impl Fn(usize) -> bool,
) -> std::result::Result<String, SqlError> {
    let offsets = Offsets::new(text, Place { line: 1, column: 1 });
    let tokens = tokenize(text, Place { line: 1, column: 1 })?;
    let (mut whole, mut done) = (String::with_capacity(text.len()), 0);
    for (at, token) in tokens.iter().enumerate() {
        let Token::Placeholder(name) = &token.token else { continue };
        let number = parameter_number(name).and_then(|number| number.checked_sub(1));
        if !number.is_some_and(&is_left_out) {
            continue;
        }
        // With the comma before it, or the one behind it where that one has gone already.
        let is_comma = |at: usize| tokens.get(at).is_some_and(|t| t.token == Token::Comma);
        let before = at.checked_sub(1).filter(|at| is_comma(*at));
        let before = before.map(|at| offsets.of(tokens[at].span.start));
        let own = offsets.of(token.span.start);
        let end = offsets.of(token.span.end);
        let (from, to) = match before.filter(|comma| *comma >= done) {
            Some(comma) => (comma, end),
            None if is_comma(at + 1) => (own, offsets.of(tokens[at + 1].span.end)),
            None => (own, end),
        };
        whole.push_str(&text[done..from]);
        done = to;
    }
    whole.push_str(&text[done..]);
    Ok(whole)
}
