//! Which blocks hold definitions.

use sqlparser::ast;

use crate::anonymous::{DEFINING, DefinitionSyntax, Holds};
use crate::error::Result;
use crate::syntax::{Block, BlockStatement, BlockStatementKind as Kind};
use crate::written::object_name;

/// What a text that is executed is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Text {
    /// a query, or a change of rows
    Query,
    Definition,
    /// nobody knows before it is there
    Open,
}

/// What begins statements that a program can have.
const QUERIES: [&str; 9] =
    ["select", "insert", "update", "delete", "merge", "with", "values", "notify", "table"];

pub(crate) fn of_block(block: &Block) -> Holds {
    let mut own = Vec::new();
    each_in_block(block, &mut |statement, _| own.extend(made_table(statement)));
    let mut holds = Holds::Nothing;
    each_in_block(block, &mut |statement, is_protected| match of_statement(statement, &own) {
        Text::Query => {}
        // A handler might take the refusal of a definition for an error of its own.
        Text::Open if !is_protected => {
            if holds == Holds::Nothing {
                holds = Holds::Perhaps;
            }
        }
        Text::Open | Text::Definition => holds = Holds::Definitions,
    });
    holds
}

/// Whether a block has statements that are definitions, whatever texts it executes besides.
pub(crate) fn has_definitions(block: &Block) -> bool {
    let (mut own, mut found) = (Vec::new(), false);
    each_in_block(block, &mut |statement, _| own.extend(made_table(statement)));
    each_in_block(block, &mut |statement, _| {
        found |= match &statement.kind {
            // Another text may be wrong, and is compiled to say so.
            Kind::Execute { statement, .. } => {
                let begins = first_literal(&statement.text).unwrap_or_default();
                let word = begins.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
                word.is_some_and(|word| DEFINING.iter().any(|of| word.eq_ignore_ascii_case(of)))
            }
            _ => of_statement(statement, &own) == Text::Definition,
        };
    });
    found
}

/// The table that a statement makes for its block.
fn made_table(statement: &BlockStatement) -> Option<String> {
    let Kind::Sql { statement, .. } = &statement.kind else { return None };
    let ast::Statement::CreateTable(table) = &**statement else { return None };
    object_name(&table.name, Default::default()).ok()
}

/// What a statement by itself, without those in it, is; `own`: tables that the block makes for
/// itself.
fn of_statement(statement: &BlockStatement, own: &[String]) -> Text {
    match &statement.kind {
        Kind::Definition(_) => Text::Definition,
        Kind::Execute { statement, .. } => text_of(&statement.text),
        Kind::Sql { statement, .. } => match &**statement {
            ast::Statement::Drop { names, .. } => {
                let is_own = |name: &ast::ObjectName| {
                    object_name(name, Default::default()).is_ok_and(|name| own.contains(&name))
                };
                if names.iter().all(is_own) { Text::Query } else { Text::Definition }
            }
            _ => Text::Query,
        },
        _ => Text::Query,
    }
}

/// What a text is, told by the literal that it begins with.
fn text_of(written: &ast::Expr) -> Text {
    let Some(literal) = first_literal(written) else { return Text::Open };
    let literal = literal.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let word: String = literal.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    if word.is_empty() || literal.len() == word.len() && !is_whole(written) {
        return Text::Open;
    }
    let is_query = QUERIES.iter().any(|query| word.eq_ignore_ascii_case(query));
    if is_query { Text::Query } else { Text::Definition }
}

/// Whether a text is a literal as it stands.
fn is_whole(written: &ast::Expr) -> bool {
    matches!(written, ast::Expr::Value(_))
}

fn first_literal(written: &ast::Expr) -> Option<&str> {
    match written {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) | ast::Value::EscapedStringLiteral(text) => {
                Some(text)
            }
            ast::Value::DollarQuotedString(text) => Some(&text.value),
            _ => None,
        },
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::StringConcat, .. } => {
            first_literal(left)
        }
        ast::Expr::Nested(inner) | ast::Expr::Cast { expr: inner, .. } => first_literal(inner),
        ast::Expr::Function(function) => {
            let name = function.name.to_string().to_lowercase();
            let ast::FunctionArguments::List(list) = &function.args else { return None };
            match list.args.first()? {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(first))
                    if matches!(name.as_str(), "format" | "concat") =>
                {
                    first_literal(first)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Visits the statements of a block, and whether handlers stand around each.
pub(crate) fn each_in_block<'b>(block: &'b Block, visit: &mut dyn FnMut(&'b BlockStatement, bool)) {
    within_block(block, false, visit);
}

fn within_block<'b>(
    block: &'b Block,
    is_protected: bool,
    visit: &mut dyn FnMut(&'b BlockStatement, bool),
) {
    within(&block.statements, is_protected || !block.handlers.is_empty(), visit);
    for handler in &block.handlers {
        within(&handler.statements, is_protected, visit);
    }
}

fn within<'b>(
    statements: &'b [BlockStatement],
    is_protected: bool,
    visit: &mut dyn FnMut(&'b BlockStatement, bool),
) {
    for statement in statements {
        visit(statement, is_protected);
        match &statement.kind {
            Kind::Block(block) => within_block(block, is_protected, visit),
            kind => bodies(kind).into_iter().for_each(|body| within(body, is_protected, visit)),
        }
    }
}

/// The bodies of a statement that is no block.
pub(crate) fn bodies(kind: &Kind) -> Vec<&[BlockStatement]> {
    match kind {
        Kind::If { arms, otherwise } => {
            let arms = arms.iter().map(|(_, body)| body.as_slice());
            arms.chain([otherwise.as_slice()]).collect()
        }
        Kind::Case { arms, otherwise, .. } => {
            let arms = arms.iter().map(|(_, body)| body.as_slice());
            arms.chain(otherwise.iter().map(Vec::as_slice)).collect()
        }
        Kind::ForRange(written) => vec![&written.body.statements],
        Kind::ForEach { body, .. }
        | Kind::ForQuery { body, .. }
        | Kind::ForCursor { body, .. }
        | Kind::Loop { body, .. } => vec![&body.statements],
        _ => Vec::new(),
    }
}

/// Visits the definitions of a block up to the first error.
pub(crate) fn each_definition(
    block: &Block,
    visit: &mut dyn FnMut(&DefinitionSyntax) -> Result<()>,
) -> Result<()> {
    let mut done = Ok(());
    each_in_block(block, &mut |statement, _| {
        if let Kind::Definition(definition) = &statement.kind
            && done.is_ok()
        {
            done = visit(definition);
        }
    });
    done
}
