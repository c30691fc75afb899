//! Conditions: comparisons and what is made of them, brought to one type.
//!
//! Role         both sides of a comparison are converted here, constants at once; chains of AND
//!              and OR become balanced trees, so that long ones stay shallow

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::SubqueryKind;
use hotrow_transaction::program::{CompareOp, Expr, ExprKind, Function, Place};
use sqlparser::ast::{self, BinaryOperator};

use crate::error::{Advice, Result, error, place_in, syntax, too_complex, unsupported};
use crate::operand::{Operand, is_array};
use crate::row_fields::is_null_row;
use crate::scope::Compiler;
use crate::typing::{cast, comparable, compared_type, constant, joined, order_of, scalar};
use crate::written::{bare, row_values};

/// Values of rows that are compared by their order: each lies in what is computed of those before.
const ORDERED_MAX: usize = 64;

impl Compiler<'_> {
    pub(crate) fn is_null(&mut self, written: &ast::Expr) -> Result<Expr> {
        self.each_value(written, |this, value| {
            let expr = this.row_expr(value)?;
            if let Some(is_null) = is_null_row(&expr, true) {
                return Ok(is_null);
            }
            Ok(scalar(ExprKind::IsNull(Box::new(expr)), DataType::Boolean))
        })
    }

    /// IS NOT NULL: of a row, that none of its values is.
    pub(crate) fn is_not_null(&mut self, written: &ast::Expr) -> Result<Expr> {
        self.each_value(written, |this, value| {
            let expr = this.row_expr(value)?;
            if let Some(is_not_null) = is_null_row(&expr, false) {
                return Ok(is_not_null);
            }
            Ok(negated(scalar(ExprKind::IsNull(Box::new(expr)), DataType::Boolean)))
        })
    }

    /// Whether something is true of a value, or of all values of a row.
    fn each_value(
        &mut self,
        written: &ast::Expr,
        mut is_true: impl FnMut(&mut Self, &ast::Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        let Some(values) = row_values(written) else { return is_true(self, written) };
        let all = values.into_iter().map(|value| is_true(self, value));
        some_row(joined(all.collect::<Result<_>>()?, ExprKind::And), self.place)
    }

    pub(crate) fn is_boolean(&mut self, written: &ast::Expr, value: bool) -> Result<Expr> {
        let expr = self.condition(written, if value { "IS TRUE" } else { "IS FALSE" })?;
        let value = constant(Value::Bool(value), DataType::Boolean);
        Ok(scalar(ExprKind::NotDistinct(Box::new(expr), Box::new(value)), DataType::Boolean))
    }

    pub(crate) fn not_distinct(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        if let (Some(lefts), Some(rights)) = (row_values(left), row_values(right))
            && lefts.len() == rights.len()
        {
            let pairs = lefts.into_iter().zip(rights);
            let same = pairs.map(|(left, right)| self.not_distinct(left, right));
            return some_row(joined(same.collect::<Result<_>>()?, ExprKind::And), self.place);
        }
        let (left, right) = self.same_type(left, right, "=")?;
        Ok(scalar(ExprKind::NotDistinct(Box::new(left), Box::new(right)), DataType::Boolean))
    }

    pub(crate) fn between(
        &mut self,
        expr: &ast::Expr,
        not: bool,
        low: &ast::Expr,
        high: &ast::Expr,
    ) -> Result<Expr> {
        let above = self.comparison(expr, CompareOp::GreaterOrEqual, low)?;
        let below = self.comparison(expr, CompareOp::LessOrEqual, high)?;
        let both = scalar(ExprKind::And(Box::new(above), Box::new(below)), DataType::Boolean);
        Ok(if not { negated(both) } else { both })
    }

    pub(crate) fn in_list(
        &mut self,
        expr: &ast::Expr,
        list: &[ast::Expr],
        not: bool,
    ) -> Result<Expr> {
        let equal = list
            .iter()
            .map(|item| self.comparison(expr, CompareOp::Equal, item))
            .collect::<Result<Vec<_>>>()?;
        let any = joined(equal, ExprKind::Or)
            .ok_or_else(|| syntax(self.place, "IN needs at least one value"))?;
        Ok(if not { negated(any) } else { any })
    }

    pub(crate) fn like(
        &mut self,
        expr: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        not: bool,
        fold: Option<Function>,
    ) -> Result<Expr> {
        let place = place_in(expr, self.place);
        let escape = escape.map(|written| escape_character(written, place)).transpose()?;
        let (mut fold, mut arguments) = (fold, Vec::new());
        for side in [expr, pattern] {
            let side_place = place_in(side, self.place);
            let text = self.expr(side)?;
            if !text.data_type().is_text() || matches!(text.sql_type, SqlType::Array(_)) {
                return Err(error(
                    b"42883",
                    side_place,
                    format!("operator does not exist: {} ~~ text", text.sql_type),
                ));
            }
            if text.data_type().is_folded() {
                fold = Some(Function::Lower);
            }
            let text = cast(text, DataType::Text);
            arguments.push(match (escape, std::ptr::eq(side, pattern)) {
                (Some(escape), true) => with_backslashes(text, escape),
                _ => text,
            });
        }
        if let Some(function) = fold {
            let folded = |text| scalar(ExprKind::Call(function, vec![text]), DataType::Text);
            arguments = arguments.into_iter().map(folded).collect();
        }
        let like = scalar(ExprKind::Call(Function::Like, arguments), DataType::Boolean);
        Ok(if not { negated(like) } else { like })
    }

    /// Compiles both sides of a comparison and converts them to their common type.
    pub(crate) fn comparison(
        &mut self,
        left: &ast::Expr,
        op: CompareOp,
        right: &ast::Expr,
    ) -> Result<Expr> {
        if let Some(lefts) = row_values(left) {
            if let Some(rights) = row_values(right) {
                return self.row_comparison(&lefts, op, &rights);
            }
            if let ast::Expr::Subquery(query) = bare(right) {
                let how = (op, SubqueryKind::Scalar);
                return self.compared_subquery(left, query, how, place_in(right, self.place));
            }
        }
        let (left, right) = self.same_type(left, right, op.symbol())?;
        Ok(scalar(ExprKind::Compare(op, Box::new(left), Box::new(right)), DataType::Boolean))
    }

    pub(crate) fn row_comparison(
        &mut self,
        lefts: &[&ast::Expr],
        op: CompareOp,
        rights: &[&ast::Expr],
    ) -> Result<Expr> {
        if lefts.len() != rights.len() {
            let message = "unequal number of entries in row expressions";
            return Err(error(b"42601", self.place, message));
        }
        let pairs = lefts.iter().zip(rights);
        if op == CompareOp::Equal {
            let equal = pairs.map(|(left, right)| self.comparison(left, op, right));
            return some_row(joined(equal.collect::<Result<_>>()?, ExprKind::And), self.place);
        }
        let pairs = pairs.map(|(left, right)| self.same_type(left, right, op.symbol()));
        rows_compared(op, pairs.collect::<Result<_>>()?, self.place)
    }

    pub(crate) fn same_type(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        sign: &str,
    ) -> Result<(Expr, Expr)> {
        if let Some(rows) = self.row_sides(left, right, sign)? {
            return Ok(rows);
        }
        let (left_place, right_place) = (place_in(left, self.place), place_in(right, self.place));
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        if is_array(&left) || is_array(&right) {
            return self.array_sides([left, right], sign, [left_place, right_place]);
        }
        let known = |operand: &Operand| match operand {
            Operand::Typed(expr) => Some(expr.data_type()),
            _ => None,
        };
        let wanted = known(&left).or(known(&right)).unwrap_or(DataType::Text);
        // char(n) compares without its padding, so a literal meets it as text
        let is_plain = wanted.is_text() && !wanted.is_folded();
        let wanted = if is_plain { DataType::Text } else { wanted };
        let left = self.settle(left, wanted, left_place)?;
        let right = self.settle(right, wanted, right_place)?;
        let left_type = self.scalar_type(&left, left_place)?;
        let right_type = self.scalar_type(&right, right_place)?;
        self.note_compared(&left, &right);
        if let Some(narrow) = narrowed(&left, right_type) {
            return Ok((narrow, right));
        }
        if let Some(narrow) = narrowed(&right, left_type) {
            return Ok((left, narrow));
        }
        let common = compared_type(left_type, right_type).ok_or_else(|| {
            error(
                b"42883",
                left_place,
                format!("operator does not exist: {left_type} {sign} {right_type}"),
            )
            .hint("You might need to add explicit type casts.")
        })?;
        if common == DataType::Jsonb && !matches!(sign, "=" | "<>") {
            return Ok((order_of(cast(left, common)), order_of(cast(right, common))));
        }
        comparable(common, sign, left_place)?;
        let common = match common {
            of if of.is_text() && !of.is_folded() => DataType::Text,
            of if of.is_any_numeric() => DataType::AnyNumeric,
            DataType::Numeric { scale, .. } => {
                // operands that differ in precision only compare as they are
                return Ok((rescaled(left, scale), rescaled(right, scale)));
            }
            other => other,
        };
        Ok((cast(left, common), cast(right, common)))
    }

    /// A chain of ANDs or ORs, however long, as a balanced tree.
    pub(crate) fn logic(
        &mut self,
        written: &ast::Expr,
        operator: &BinaryOperator,
        name: &str,
        join: impl Fn(Box<Expr>, Box<Expr>) -> ExprKind,
    ) -> Result<Operand> {
        let mut operands = Vec::new();
        let mut rest = written;
        while let ast::Expr::BinaryOp { left, op, right } = rest
            && op == operator
        {
            operands.push(&**right);
            rest = left;
        }
        operands.push(rest);
        operands.reverse();
        let is_lazy = self.may_call(operands.iter().skip(1).copied());
        let is_or = *operator == BinaryOperator::Or;
        if !is_lazy && !self.levels.is_empty() && (is_or || self.stands_in_a_part()) {
            let compiled = self.logic_of_a_row(operands, (is_or, name))?;
            let joined = joined(compiled, join).ok_or_else(|| syntax(self.place, "no operands"))?;
            return Ok(Operand::Typed(joined));
        }
        let mut parts = Vec::with_capacity(operands.len());
        for operand in operands {
            parts.push(self.apart(is_lazy, |this| this.condition(operand, name))?);
        }
        if is_lazy {
            return self.emit_lazy_logic(parts, is_or, &join).map(Operand::Typed);
        }
        let compiled = parts.into_iter().map(|(condition, _)| condition).collect();
        let joined = joined(compiled, join).ok_or_else(|| syntax(self.place, "no operands"))?;
        Ok(Operand::Typed(joined))
    }
}

/// A comparison of rows, of pairs of their values: the first that differ decide.
pub(crate) fn rows_compared(op: CompareOp, pairs: Vec<(Expr, Expr)>, place: Place) -> Result<Expr> {
    let compare = |op, (left, right)| {
        scalar(ExprKind::Compare(op, Box::new(left), Box::new(right)), DataType::Boolean)
    };
    let each = |op, pairs: Vec<_>| pairs.into_iter().map(|pair| compare(op, pair)).collect();
    let strictly = match op {
        CompareOp::Equal => return some_row(joined(each(op, pairs), ExprKind::And), place),
        CompareOp::NotEqual => return some_row(joined(each(op, pairs), ExprKind::Or), place),
        CompareOp::Less | CompareOp::LessOrEqual => CompareOp::Less,
        CompareOp::Greater | CompareOp::GreaterOrEqual => CompareOp::Greater,
    };
    if pairs.len() > ORDERED_MAX {
        return Err(too_complex(place, "rows of so many values are compared by their order"));
    }
    let mut pairs = pairs.into_iter().rev();
    let last = pairs.next().map(|pair| compare(op, pair));
    let both = |left, right, join: fn(Box<Expr>, Box<Expr>) -> ExprKind| {
        scalar(join(Box::new(left), Box::new(right)), DataType::Boolean)
    };
    let decided = |later, pair: (Expr, Expr)| {
        let equal = compare(CompareOp::Equal, pair.clone());
        both(compare(strictly, pair), both(equal, later, ExprKind::And), ExprKind::Or)
    };
    some_row(last.map(|last| pairs.fold(last, decided)), place)
}

fn some_row(compared: Option<Expr>, place: Place) -> Result<Expr> {
    let refused = || unsupported(place, "a comparison of rows without values", "leave it out");
    compared.ok_or_else(refused)
}

/// An integer constant in the narrower integer type of the other side, where it fits: that saves
/// a conversion of the other side for every row.
pub(crate) fn narrowed(expr: &Expr, other: DataType) -> Option<Expr> {
    let constant = matches!(expr.kind, ExprKind::Constant(_));
    if !constant || !expr.data_type().is_integer() || !other.is_integer() {
        return None;
    }
    let narrow = cast(expr.clone(), other);
    matches!(narrow.kind, ExprKind::Constant(_)).then_some(narrow)
}

pub(crate) fn rescaled(expr: Expr, scale: u8) -> Expr {
    match expr.data_type() {
        DataType::Numeric { scale: own, .. } if own == scale => expr,
        DataType::Numeric { precision, scale: own } => {
            let precision = (precision - own + scale).min(38);
            cast(expr, DataType::Numeric { precision, scale })
        }
        other => {
            let digits = crate::typing::digits(other).map_or(38, |d| d.0);
            cast(expr, DataType::Numeric { precision: (digits + scale).min(38), scale })
        }
    }
}

/// NOT.
pub(crate) fn negated(expr: Expr) -> Expr {
    scalar(ExprKind::Not(Box::new(expr)), DataType::Boolean)
}

/// The character in ESCAPE; none: there is no such character.
fn escape_character(written: &ast::Expr, place: Place) -> Result<Option<char>> {
    let text = match bare(written) {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text.as_str()),
            _ => None,
        },
        _ => None,
    };
    let Some(text) = text else {
        return Err(unsupported(place, "this ESCAPE", "write the character in quotes"));
    };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(error(b"22025", place, "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}

/// A text with another one in every place of one.
pub(crate) fn replaced(whole: Expr, old: &str, new: &str) -> Expr {
    let text = |text: &str| constant(Value::Text(text.to_owned()), DataType::Text);
    scalar(ExprKind::Call(Function::Replace, vec![whole, text(old), text(new)]), DataType::Text)
}

/// A pattern that escapes by another character as one that escapes by a backslash.
fn with_backslashes(pattern: Expr, escape: Option<char>) -> Expr {
    /// stands for the character itself meanwhile: it is nobody's
    const KEPT: &str = "\u{f8ff}";
    if escape == Some('\\') {
        return pattern;
    }
    let plain = replaced(pattern, "\\", "\\\\");
    let Some(escape) = escape else { return plain };
    let escape = escape.to_string();
    let kept = replaced(plain, &escape.repeat(2), KEPT);
    // The character itself, even where it is a wildcard.
    replaced(replaced(kept, &escape, "\\"), KEPT, &format!("\\{escape}"))
}
