//! Operands: expressions whose types may still be open.

use hotrow_base::types::{DataType, RangeKind, SqlType};
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

/// An expression whose type may still be open.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// an expression with a type
    Typed(Expr),
    /// a string literal, or NULL
    Unknown(Option<OpenText>),
    /// a parameter of a statement, by its place among them, that has had no type yet
    Parameter(usize),
}

/// A string literal whose type is open.
#[derive(Clone, Debug)]
pub(crate) struct OpenText {
    pub(crate) text: String,
    /// its number among the statement's literals, if it may be a parameter
    pub(crate) literal: Option<usize>,
}

/// A CASE as it is written.
pub(crate) struct WrittenCase<'a> {
    /// what conditions are compared with, if they are values
    pub(crate) operand: Option<&'a ast::Expr>,
    pub(crate) arms: &'a [ast::CaseWhen],
    pub(crate) otherwise: Option<&'a ast::Expr>,
    pub(crate) whole: &'a ast::Expr,
}

impl<'a> WrittenCase<'a> {
    /// What it may come to.
    pub(crate) fn values(&self) -> impl Iterator<Item = &'a ast::Expr> {
        self.arms.iter().map(|arm| &arm.result).chain(self.otherwise)
    }
}

/// Operands, and where they stand.
pub(crate) type Arguments = Vec<(Operand, Place)>;

/// The types of arguments; none: it is open.
pub(crate) fn types_of(arguments: &[(Operand, Place)]) -> Vec<Option<SqlType>> {
    let of = |(operand, _): &(Operand, Place)| match operand {
        Operand::Typed(expr) => Some(expr.sql_type),
        Operand::Unknown(_) | Operand::Parameter(_) => None,
    };
    arguments.iter().map(of).collect()
}

/// Whether an operand is an array.
pub(crate) fn is_array(operand: &Operand) -> bool {
    matches!(operand, Operand::Typed(Expr { sql_type: SqlType::Array(_), .. }))
}

/// Whether an operand is a jsonb.
pub(crate) fn is_jsonb(operand: &Operand) -> bool {
    match operand {
        Operand::Typed(expr) => expr.sql_type == SqlType::Scalar(DataType::Jsonb),
        Operand::Unknown(_) | Operand::Parameter(_) => false,
    }
}

/// The kind of the range that an operand is; none: it is another value.
pub(crate) fn range_kind_of(operand: &Operand) -> Option<RangeKind> {
    match operand {
        Operand::Typed(Expr { sql_type: SqlType::Scalar(of), .. }) => of.range_kind(),
        _ => None,
    }
}

/// Whether `||` of these is one of jsonb: one of them is, and the other one, too, or open.
pub(crate) fn is_json_concat([left, right]: &[Operand; 2]) -> bool {
    let may_be = |operand: &Operand| is_jsonb(operand) || !matches!(operand, Operand::Typed(_));
    is_jsonb(left) && may_be(right) || is_jsonb(right) && may_be(left)
}
