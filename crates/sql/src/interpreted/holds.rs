//! Which blocks hold definitions, and which of their statements can be compiled as they are.

use sqlparser::ast;

use crate::error::Result;
use crate::interpreted::DefinitionSyntax;
use crate::syntax::{Block, BlockStatement, BlockStatementKind as Kind, StatementSource};
use crate::written::object_name;

/// What a DO block holds of definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// nothing
    Nothing,
    /// it executes texts that are known only when it runs, and may be definitions
    Perhaps,
    /// some
    Definitions,
}

/// What a text that is executed is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Text {
    /// a query, or a change of rows
    Query,
    Definition,
    /// nobody knows before it is there
    Open,
}

/// What begins statements that a program can have.
const QUERIES: [&str; 9] =
    ["select", "insert", "update", "delete", "merge", "with", "values", "notify", "table"];

pub(super) fn of_block(block: &Block) -> Holds {
    let mut own = Vec::new();
    each_in_block(block, &mut |statement, _| {
        if let Kind::Sql { statement, .. } = &statement.kind
            && let ast::Statement::CreateTable(table) = &**statement
        {
            own.extend(object_name(&table.name, Default::default()).ok());
        }
    });
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
fn each_in_block<'b>(block: &'b Block, visit: &mut dyn FnMut(&'b BlockStatement, bool)) {
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
fn bodies(kind: &Kind) -> Vec<&[BlockStatement]> {
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
pub(super) fn each_definition(
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

/// Whether a statement, with those in it, can be compiled as a part of the block (I1).
pub(super) fn is_part(statement: &BlockStatement) -> bool {
    let mut around = Vec::new();
    is_part_in(statement, &mut around)
}

fn is_part_in<'b>(statement: &'b BlockStatement, around: &mut Vec<Around<'b>>) -> bool {
    match &statement.kind {
        Kind::Definition(_)
        | Kind::Execute { .. }
        | Kind::Return(_)
        | Kind::ReturnNext(_)
        | Kind::ReturnQuery(_)
        | Kind::RaiseAgain
        | Kind::Stacked(_)
        | Kind::End { .. }
        | Kind::Open(_)
        | Kind::Fetch(_)
        | Kind::Close(_)
        | Kind::ForCursor { .. }
        | Kind::ForQuery { query: StatementSource::Execute(_), .. } => false,
        Kind::Sql { statement, .. } => {
            !matches!(**statement, ast::Statement::CreateTable(_) | ast::Statement::Drop { .. })
        }
        Kind::Leave(written) => match &written.label {
            None => around.iter().any(|of| of.is_loop),
            Some((label, _)) => around.iter().any(|of| of.label == Some(label)),
        },
        Kind::Block(block) => {
            around.push(Around { label: block.label.as_ref(), is_loop: false });
            // What handlers catch is compiled with them, as far as they do not ask for it.
            let handlers = block.handlers.iter().flat_map(|handler| &handler.statements);
            let is_all = block.declarations.iter().all(super::scopes::is_variable)
                && block.statements.iter().chain(handlers).all(|of| is_part_in(of, around));
            around.pop();
            is_all
        }
        kind => {
            let label = match kind {
                Kind::ForRange(written) => written.body.label.as_ref(),
                Kind::ForEach { body, .. }
                | Kind::ForQuery { body, .. }
                | Kind::Loop { body, .. } => body.label.as_ref(),
                _ => None,
            };
            let is_loop = !matches!(kind, Kind::If { .. } | Kind::Case { .. });
            around.push(Around { label, is_loop });
            let is_all =
                bodies(kind).into_iter().flatten().all(|statement| is_part_in(statement, around));
            around.pop();
            is_all
        }
    }
}

/// What stands around a statement.
struct Around<'b> {
    label: Option<&'b String>,
    is_loop: bool,
}

/// Whether a statement has others in it.
pub(super) fn has_bodies(kind: &Kind) -> bool {
    matches!(kind, Kind::Block(_)) || !bodies(kind).is_empty()
}
