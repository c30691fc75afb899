//! EXECUTE: statements whose text an expression gives.
//!
//! Role         compiles such a statement with the procedure, as if it were written there. So its
//!              text has to be known then: a literal, or made of literals by `||`, format() and
//!              their kin. Values come by USING, whatever they are
//! Source       PostgreSQL 15, 43.5.4. We differ: there the text is made when the call runs, which
//!              is too late for planning it; and a name that no table has may be a variable here

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::program::{ExprKind, Place, Statement};
use hotrow_transaction::walk::reads_any;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::block::targets;
use crate::consume::Sink;
use crate::error::{Result, error, place_in, place_of, unsupported};
use crate::operand::Operand;
use crate::relation::one_access::Wanted;
use crate::scope::Compiler;
use crate::state::{Names, Variable};
use crate::syntax::{BlockStatementKind as Kind, ExecuteSyntax, Into, StatementSource};
use crate::token::{Cursor, is_word, parse_expression, parse_statement, tokenize};
use crate::typing::{Coercion, assign};

/// `EXECUTE text [INTO [STRICT] targets] [USING values];`
pub(crate) fn execute_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let tokens = cursor.take_until(|_, token| *token == Token::SemiColon);
    let (statement, into) = execute(&mut cursor.inside(tokens))?;
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Execute { statement: Box::new(statement), into })
}

/// As [`execute_statement`], without what ends it.
pub(crate) fn execute(cursor: &mut Cursor<'_>) -> Result<(ExecuteSyntax, Option<Into>)> {
    cursor.expect("execute")?;
    let place = cursor.place();
    let is_end = |_: &Cursor<'_>, token: &Token| is_word(token, "into") || is_word(token, "using");
    let tokens = cursor.take_until(is_end);
    let text = parse_expression(tokens, cursor.place())?;
    let (mut into, mut using) = (None, Vec::new());
    while !cursor.at_end() {
        if into.is_none() && cursor.accept("into") {
            let strict = cursor.accept("strict");
            into = Some(Into { strict, targets: targets(cursor)? });
        } else if using.is_empty() && cursor.accept("using") {
            let tokens = cursor.take_until(|_, token| is_word(token, "into"));
            for mut item in cursor.inside(tokens).split_commas() {
                let end = item.place();
                using.push(parse_expression(item.rest(), end)?);
            }
        } else {
            return Err(cursor.unexpected("INTO, USING or a semicolon"));
        }
    }
    Ok((ExecuteSyntax { text, using, place }, into))
}

/// Has `$1`, `$2` ... be names: `name` gives those that there are.
pub(crate) fn name_parameters(
    tokens: &mut [TokenWithSpan],
    name: impl Fn(usize) -> Option<String>,
) {
    for token in tokens {
        let Token::Placeholder(written) = &token.token else { continue };
        let number = written.strip_prefix('$').and_then(|digits| digits.parse().ok());
        if let Some(value) = number.and_then(&name) {
            let keyword = sqlparser::keywords::Keyword::NoKeyword;
            token.token = Token::Word(Word { value, quote_style: Some('"'), keyword });
        }
    }
}

impl Compiler<'_> {
    /// Has a statement compiled, as it is written or by EXECUTE.
    pub(crate) fn with_statement<T>(
        &mut self,
        source: &StatementSource,
        out: &mut Vec<Statement>,
        compile: impl FnOnce(&mut Self, &ast::Statement, &mut Vec<Statement>) -> Result<T>,
    ) -> Result<T> {
        match source {
            StatementSource::Written(statement) => compile(self, statement, out),
            StatementSource::Execute(written) => {
                let statement = self.executed(written, out)?;
                let compiled = compile(self, &statement, out);
                self.names.pop();
                compiled
            }
        }
    }

    /// EXECUTE as a statement.
    pub(crate) fn execute(
        &mut self,
        written: &ExecuteSyntax,
        into: Option<&Into>,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let statement = self.executed(written, out)?;
        // PostgreSQL's leaves FOUND alone.
        let compiled = self.leaving_found(out, |this, out| match &statement {
            ast::Statement::Query(query) if into.is_none() => {
                this.emit_query(out, query, Wanted::Any, |_, _| Ok(Sink::Discard))
            }
            statement => this.sql(statement, into, out),
        });
        self.names.pop();
        compiled?;
        if let Some(into) = into {
            self.emit_not_null_checks(out, &into.targets);
        }
        Ok(())
    }

    /// The statement that EXECUTE names; its parameters are variables from here on, in a scope of
    /// their own.
    fn executed(
        &mut self,
        written: &ExecuteSyntax,
        out: &mut Vec<Statement>,
    ) -> Result<ast::Statement> {
        let place = place_in(&written.text, written.place);
        let text = self.known_text(&written.text, place)?;
        let mut names = Names::default();
        for (at, value) in written.using.iter().enumerate() {
            let at_value = place_in(value, place);
            let value = match self.operand(value)? {
                Operand::Typed(value) => value,
                open => self.settle(open, DataType::Text, at_value)?,
            };
            let name = parameter_name(at + 1);
            let slot = self.slot(&name, value.sql_type)?;
            self.emit_assign(out, slot, value);
            let variable = Variable::Scalar { slot, constant: true, not_null: false };
            names.variables.push((name, variable));
        }
        let mut tokens = tokenize(&text, Place { line: place.line, column: place.column + 1 })?;
        while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
            tokens.pop();
        }
        let count = written.using.len();
        name_parameters(&mut tokens, |at| (1..=count).contains(&at).then(|| parameter_name(at)));
        let is_left = |token: &&TokenWithSpan| matches!(token.token, Token::Placeholder(_));
        if let Some(left) = tokens.iter().find(is_left) {
            let message = format!("there is no parameter {}", left.token);
            return Err(error(b"42P02", place_of(left.span.start), message));
        }
        let statement = parse_statement(&tokens, place)?;
        self.names.push(names);
        Ok(statement)
    }

    /// What an expression of constants gives, as text.
    fn known_text(&mut self, written: &ast::Expr, place: Place) -> Result<String> {
        let operand = self.operand(written)?;
        let text = DataType::Text;
        let value = self.settle(operand, text, place)?;
        let value = assign(value, text, Coercion::Explicit, place, || "EXECUTE".to_owned())?;
        let value = match value.kind {
            ExprKind::Constant(value) => value,
            _ if reads_any(&value, |_| true) => {
                let what = "EXECUTE of a text that is known only when the call runs";
                let advice = "a call is planned before it runs: write the statement out, with an \
                              IF or CASE around its kinds, and give values by USING";
                return Err(unsupported(place, what, advice));
            }
            _ => evaluate(&value, 0)?,
        };
        match value {
            Value::Text(text) => Ok(text),
            _ => Err(error(b"22004", place, "query string argument of EXECUTE is null")),
        }
    }
}

/// What a parameter of EXECUTE is called: no name of SQL has a question mark.
fn parameter_name(number: usize) -> String {
    format!("?{number}")
}
