//! Expressions: `sqlparser`'s trees to typed trees over slots.
//!
//! Role         names are resolved by `scope`, operators typed by `operator`, functions by
//!              `function`; string literals and NULL have no type of their own until an operator,
//!              a function or an assignment gives them one

use hotrow_base::interrupt::current;
use hotrow_base::stack::deeper;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{CompareOp, Expr, ExprKind, Function, Place};
use sqlparser::ast::{self, BinaryOperator};

use crate::comparison::negated;
use crate::encoded::bits_literal;
use crate::error::{Advice, Result, error, exhausted, place_in, syntax, too_complex, unsupported};
use crate::like_any::one_per_pattern;
use crate::operand::{Arguments, OpenText, Operand, WrittenCase};
use crate::operator::oid_as_bigint;
use crate::parameters::parameter_number;
use crate::relation::array::array_assigned;
use crate::scope::Compiler;
use crate::script::FREE_BYTES;
use crate::subscripts::{assigned_to_nothing, called};
use crate::temporal;
use crate::token::folded;
use crate::types::sql_type;
use crate::typing::{
    Coercion, assign, cast, common_type, constant, explicit_cast, for_rows, integer,
    literal_in_zone, null, packed, parse_literal, scalar, spread,
};
use crate::written::{complement_bound_looser, dotted, plain_operator, sign_bound_tighter};

/// Expressions compiled one in the other.
const DEPTH_MAX: usize = 200;
/// Expressions compiled for one statement. A text of 1 MiB has half as many; more come of parts
/// that are compiled where they are named, and of those that mean several (CASE x WHEN ...), whose
/// number grows exponentially where they nest.
const EXPRESSIONS_MAX: usize = 1_000_000;
/// What one takes while a statement is compiled, beside its [tree](crate::ScriptStatement).
const EXPRESSION_BYTES: usize = 512;
/// Expressions between two looks whether to go on.
const EXPRESSIONS_BETWEEN_LOOKS: usize = 256;

impl Compiler<'_> {
    /// Compiles an expression; a literal without a type becomes text.
    pub(crate) fn expr(&mut self, written: &ast::Expr) -> Result<Expr> {
        let operand = self.operand(written)?;
        self.settle(operand, DataType::Text, place_in(written, self.place))
    }

    /// Compiles an expression that is a value of a query's rows.
    pub(crate) fn row_expr(&mut self, written: &ast::Expr) -> Result<Expr> {
        self.expr(written).map(for_rows)
    }

    /// Compiles a condition.
    pub(crate) fn condition(&mut self, written: &ast::Expr, clause: &str) -> Result<Expr> {
        let place = place_in(written, self.place);
        let operand = self.operand(written)?;
        let expr = self.settle(operand, DataType::Boolean, place)?;
        if expr.sql_type == SqlType::Scalar(DataType::Boolean) {
            return Ok(expr);
        }
        Err(error(
            b"42804",
            place,
            format!("argument of {clause} must be type boolean, not type {}", expr.sql_type),
        ))
    }

    /// Compiles a value for a column or a variable.
    pub(crate) fn value_for(
        &mut self,
        written: &ast::Expr,
        to: DataType,
        coercion: Coercion,
        what: impl FnOnce() -> String,
    ) -> Result<Expr> {
        let place = place_in(written, self.place);
        if let Some(function) = assigned_to_nothing(written) {
            return self.assigned_elements(function, Some(to), place).map(packed);
        }
        if let DataType::Array(element) = to {
            let what = what();
            return match coercion {
                Coercion::Assignment => self.array_of_column(written, *element, || what.clone()),
                Coercion::Explicit => {
                    self.array_for(written, *element, || what.clone()).map(packed)
                }
            };
        }
        if let DataType::Composite(of) = to {
            return self.composite_for(written, of, what);
        }
        let operand = self.operand(written)?;
        let expr = self.settle(operand, to, place)?;
        assign(expr, to, coercion, place, what)
    }

    /// Gives an open literal, or an open parameter, a type.
    pub(crate) fn settle(
        &mut self,
        operand: Operand,
        wanted: DataType,
        place: Place,
    ) -> Result<Expr> {
        match operand {
            Operand::Typed(expr) => Ok(expr),
            Operand::Parameter(at) => Ok(self.settle_parameter(at, wanted)),
            Operand::Unknown(None) => Ok(spread(null(wanted))),
            Operand::Unknown(Some(OpenText { text, literal })) => {
                if let Some(moment) = self.moment(&text, wanted) {
                    // Another text would be no moment.
                    self.literals.is_refused |= literal.is_some();
                    return Ok(moment);
                }
                let mut as_type = |data_type| match literal {
                    Some(at) => Ok(self.literal_parameter(at, SqlType::Scalar(data_type))),
                    None if self.settles_times => parse_literal(&text, data_type, place),
                    None => literal_in_zone(&text, data_type, place),
                };
                match wanted {
                    // a literal for varchar(n) is text first: whether it fits is asked of the value
                    DataType::Varchar(_) | DataType::Char(_) => {
                        Ok(cast(as_type(DataType::Text)?, wanted))
                    }
                    DataType::Array(_) => Ok(spread(as_type(wanted)?)),
                    // and a time is one with all of its digits first
                    wanted => as_type(wanted.with_all_digits()),
                }
            }
        }
    }

    /// Compiles an expression whose type may stay open.
    pub(crate) fn operand(&mut self, written: &ast::Expr) -> Result<Operand> {
        if self.depth >= DEPTH_MAX {
            return Err(too_complex(self.place, "expression is nested too deeply")
                .hint("compute parts of it in variables first"));
        }
        self.expressions += 1;
        if self.expressions > EXPRESSIONS_MAX {
            let message = format!("the statement has more than {EXPRESSIONS_MAX} expressions");
            return Err(too_complex(self.place, message)
                .hint("compute parts of it in statements of their own"));
        }
        if self.expressions > FREE_BYTES / EXPRESSION_BYTES {
            self.charge.add(EXPRESSION_BYTES)?;
        }
        if self.expressions.is_multiple_of(EXPRESSIONS_BETWEEN_LOOKS) {
            current::check()?;
        }
        self.depth += 1;
        let operand = deeper(|| self.alone(|this| this.operand_inner(written)));
        self.depth -= 1;
        operand.map_err(|_| exhausted(self.place))?.map_err(|e| e.or_at(self.place))
    }

    /// An operand, and where it stands.
    pub(crate) fn placed_operand(&mut self, written: &ast::Expr) -> Result<(Operand, Place)> {
        Ok((self.operand(written)?, place_in(written, self.place)))
    }

    fn operand_inner(&mut self, written: &ast::Expr) -> Result<Operand> {
        use ast::Expr as E;
        let place = self.place;
        let typed = match written {
            E::Nested(inner) => return self.operand(inner),
            E::Value(value) => return self.literal(&value.value, place_in(written, place)),
            E::Identifier(ident) => {
                let name = folded(&ident.value, ident.quote_style.is_some());
                self.identifier(&name, place_in(written, place))?
            }
            E::CompoundIdentifier(idents) => {
                self.qualified(&dotted(idents), place_in(written, place))?
            }
            E::BinaryOp { left, op, right } => {
                return match complement_bound_looser(left, op, right) {
                    Some(regrouped) => self.operand(&regrouped),
                    None => self.binary(left, op, right, written),
                };
            }
            E::UnaryOp { op, expr } => {
                return match sign_bound_tighter(*op, expr) {
                    Some(regrouped) => self.operand(&regrouped),
                    None => self.unary(*op, expr),
                };
            }
            E::IsNull(e) => self.is_null(e)?,
            E::IsNotNull(e) => self.is_not_null(e)?,
            E::IsTrue(e) => self.is_boolean(e, true)?,
            E::IsNotTrue(e) => negated(self.is_boolean(e, true)?),
            E::IsFalse(e) => self.is_boolean(e, false)?,
            E::IsNotFalse(e) => negated(self.is_boolean(e, false)?),
            E::IsUnknown(e) => self.is_null(e)?,
            E::IsNotUnknown(e) => negated(self.is_null(e)?),
            E::IsDistinctFrom(a, b) => negated(self.not_distinct(a, b)?),
            E::IsNotDistinctFrom(a, b) => self.not_distinct(a, b)?,
            E::Between { expr, negated: not, low, high } => self.between(expr, *not, low, high)?,
            E::AnyOp { left, compare_op: ast::BinaryOperator::Eq, right, .. }
                if self.is_array_of_program(right) =>
            {
                self.any_element(left, right)?
            }
            E::AllOp { left, compare_op: ast::BinaryOperator::NotEq, right }
                if self.is_array_of_program(right) =>
            {
                negated(self.any_element(left, right)?)
            }
            E::InList { expr, list, negated: not } => self.in_list(expr, list, *not)?,
            E::Like { .. } | E::ILike { .. } if let Some(all) = one_per_pattern(written) => {
                return self.operand(&all);
            }
            E::Like { negated: not, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *not, None)?
            }
            E::ILike { negated: not, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *not, Some(Function::Lower))?
            }
            E::Case { operand, conditions, else_result, .. } => self.case(&WrittenCase {
                operand: operand.as_deref(),
                arms: conditions,
                otherwise: else_result.as_deref(),
                whole: written,
            })?,
            E::Cast {
                kind: ast::CastKind::Cast | ast::CastKind::DoubleColon,
                expr,
                data_type,
                ..
            } => {
                return self.written_cast(expr, data_type, place_in(written, place));
            }
            E::TypedString(literal) => {
                let place = place_in(written, place);
                let value = ast::Expr::Value(literal.value.clone());
                if let Some(interval) = self.cast_to_fields(&value, &literal.data_type, place)? {
                    return Ok(Operand::Typed(interval));
                }
                let to = crate::types::data_type(&literal.data_type, self.type_names(), place)?;
                // `bit '101'` has the bits that are written.
                let is_bit = matches!(literal.data_type, ast::DataType::Bit(None));
                let to = if is_bit { to.with_all_digits() } else { to };
                let operand = self.literal(&literal.value.value, place)?;
                spread(cast(self.settle(operand, to, place)?, to))
            }
            E::Interval(literal) => {
                let place = place_in(written, place);
                return Ok(Operand::Typed(temporal::literal(literal, place)?));
            }
            E::CompoundFieldAccess { root, access_chain } => {
                self.element(root, access_chain, place_in(written, place))?
            }
            other => return self.call_or_refuse(other, place_in(written, place)),
        };
        Ok(Operand::Typed(typed))
    }

    fn identifier(&mut self, name: &str, place: Place) -> Result<Expr> {
        let known = self.variable(name).is_some() || self.relation_column(name, place)?.is_some();
        if !known && let Some(expr) = self.time_keyword(name) {
            return Ok(expr);
        }
        self.name(name, place)
    }

    /// A literal token.
    pub(crate) fn literal(&mut self, value: &ast::Value, place: Place) -> Result<Operand> {
        use ast::Value as V;
        let expr = match value {
            V::Null => return Ok(Operand::Unknown(None)),
            V::SingleQuotedString(text) => {
                let (text, literal) = (text.clone(), self.literal_at(place));
                return Ok(Operand::Unknown(Some(OpenText { text, literal })));
            }
            V::EscapedStringLiteral(text)
            | V::UnicodeStringLiteral(text)
            | V::DollarQuotedString(ast::DollarQuotedString { value: text, .. }) => {
                let open = OpenText { text: text.clone(), literal: None };
                return Ok(Operand::Unknown(Some(open)));
            }
            V::Boolean(value) => constant(Value::Bool(*value), DataType::Boolean),
            V::Number(digits, _) => match self.literal_at(place) {
                Some(at) => self.literal_parameter(at, number(digits, place)?.sql_type),
                None => number(digits, place)?,
            },
            V::Placeholder(name) => return self.positional(name, place),
            V::SingleQuotedByteStringLiteral(bits) => bits_literal(&format!("b{bits}"), place)?,
            V::HexStringLiteral(digits) => bits_literal(&format!("x{digits}"), place)?,
            _ => {
                return Err(unsupported(
                    place,
                    "this kind of literal",
                    "write 'text', 12, 1.5, true or NULL; bytea as '\\x00ff'::bytea",
                ));
            }
        };
        Ok(Operand::Typed(expr))
    }

    fn positional(&mut self, name: &str, place: Place) -> Result<Operand> {
        let at = parameter_number(name).and_then(|number| number.checked_sub(1));
        match at.and_then(|at| Some((at, *self.parameters.get(at)?))) {
            Some((at, _)) if self.given.get(at) == Some(&None) => Ok(Operand::Parameter(at)),
            Some((_, slot)) => Ok(Operand::Typed(spread(self.slot_expr(slot)))),
            None => Err(error(b"42P02", place, format!("there is no parameter {name}"))),
        }
    }

    fn case(&mut self, case: &WrittenCase<'_>) -> Result<Expr> {
        // The first condition is asked in any case.
        let asked = case.arms.iter().skip(1).map(|arm| &arm.condition);
        let is_lazy = self.may_call(asked.chain(case.values()));
        if !is_lazy && !self.levels.is_empty() {
            return self.case_of_a_row(case);
        }
        let mut values = Vec::new();
        let mut arms = Vec::new();
        for arm in case.arms {
            let when = self.apart(is_lazy, |this| this.condition_of_arm(case, arm))?;
            let (value, before) = self.apart(is_lazy, |this| this.placed_operand(&arm.result))?;
            values.push(value);
            arms.push((when, before));
        }
        let mut last = Vec::new();
        if let Some(otherwise) = case.otherwise {
            let (value, before) = self.apart(is_lazy, |this| this.placed_operand(otherwise))?;
            last = before;
            values.push(value);
        }
        let whens = match is_lazy {
            true => self.emit_lazy_arms(arms, last)?,
            false => arms.into_iter().map(|((when, _), _)| when).collect(),
        };
        self.case_of(case, whens, values)
    }

    /// What decides whether an arm of a CASE is for a row.
    pub(crate) fn condition_of_arm(
        &mut self,
        case: &WrittenCase<'_>,
        arm: &ast::CaseWhen,
    ) -> Result<Expr> {
        match case.operand {
            None => self.condition(&arm.condition, "CASE/WHEN"),
            Some(operand) => self.comparison(operand, CompareOp::Equal, &arm.condition),
        }
    }

    /// CASE of conditions and values, the last of which is that of ELSE if there is one.
    pub(crate) fn case_of(
        &mut self,
        case: &WrittenCase<'_>,
        whens: Vec<Expr>,
        values: Arguments,
    ) -> Result<Expr> {
        let place = place_in(case.whole, self.place);
        let (mut values, sql_type) = self.unified_or_arrays(values, "CASE", place)?;
        let otherwise = case.otherwise.and_then(|_| values.pop().map(Box::new));
        let arms = whens.into_iter().zip(values).collect();
        Ok(Expr { kind: ExprKind::Case { arms, otherwise }, sql_type })
    }

    /// Converts all values to their common type; in a query they may be arrays, of one type.
    pub(crate) fn unified_or_arrays(
        &mut self,
        values: Vec<(Operand, Place)>,
        what: &str,
        place: Place,
    ) -> Result<(Vec<Expr>, SqlType)> {
        let elements = values.iter().filter_map(|(value, _)| match value {
            Operand::Typed(Expr { sql_type: SqlType::Array(element), .. }) => Some(*element),
            _ => None,
        });
        if let Some(element) = elements.reduce(|one, other| common_type(one, other).unwrap_or(one))
        {
            let arrays = values.into_iter().map(|(value, at)| {
                let array = self.array_value(value, element, at)?;
                array_assigned(array, element, at, || what.to_owned())
            });
            return Ok((arrays.collect::<Result<_>>()?, SqlType::Array(element)));
        }
        let (values, data_type) = self.unified(values, what, place)?;
        Ok((values, SqlType::Scalar(data_type)))
    }

    /// As [`Compiler::unified_or_arrays`], arrays in one piece.
    pub(crate) fn unified_values(
        &mut self,
        values: Vec<(Operand, Place)>,
        what: &str,
        place: Place,
    ) -> Result<(Vec<Expr>, DataType)> {
        let (values, sql_type) = self.unified_or_arrays(values, what, place)?;
        Ok((values.into_iter().map(packed).collect(), sql_type.packed()))
    }

    /// Converts all values to their common type.
    pub(crate) fn unified(
        &mut self,
        values: Vec<(Operand, Place)>,
        what: &str,
        place: Place,
    ) -> Result<(Vec<Expr>, DataType)> {
        let mut common: Option<DataType> = None;
        for (value, place) in &values {
            if let Operand::Typed(expr) = value {
                let found = self.scalar_type(expr, *place)?;
                common = Some(match common {
                    None => found,
                    Some(known) => common_type(known, found).ok_or_else(|| {
                        let message = format!("{what} types {known} and {found} cannot be matched");
                        error(b"42804", *place, message)
                    })?,
                });
            }
        }
        let common = common.unwrap_or(DataType::Text);
        let mut exprs = Vec::with_capacity(values.len());
        for (value, place) in values {
            exprs.push(cast(self.settle(value, common, place)?, common));
        }
        if exprs.is_empty() {
            return Err(syntax(place, format!("{what} needs at least one value")));
        }
        Ok((exprs, common))
    }

    /// A value that is to be shown as text: an array as `{1,2}`.
    pub(crate) fn text_of(&self, expr: Expr) -> Result<Expr> {
        if let SqlType::Scalar(_) = expr.sql_type {
            return Ok(expr);
        }
        Ok(cast(expr, DataType::Text))
    }

    pub(crate) fn cast_to_written(
        &mut self,
        expr: &ast::Expr,
        to: &ast::DataType,
        place: Place,
    ) -> Result<Operand> {
        if let Some(operand) = self.relational_cast(expr, to, place)? {
            return Ok(operand);
        }
        if let Some(interval) = self.cast_to_fields(expr, to, place)? {
            return Ok(Operand::Typed(interval));
        }
        let to = match sql_type(to, self.type_names(), place) {
            Ok(SqlType::Scalar(DataType::Composite(of))) => {
                return self.cast_to_composite(expr, of, place).map(Operand::Typed);
            }
            Ok(SqlType::Scalar(to)) => to,
            Ok(SqlType::Array(element)) => {
                let operand = self.operand(expr)?;
                return self.cast_to_array(operand, element, place);
            }
            Err(problem) => return Err(problem),
        };
        let operand = self.operand(expr)?;
        let place = place_in(expr, place);
        if let (Operand::Unknown(Some(open)), DataType::Varchar(_) | DataType::Char(_)) =
            (&operand, to)
        {
            let text = constant(Value::Text(open.text.clone()), DataType::Text);
            return Ok(Operand::Typed(explicit_cast(text, to, place)?));
        }
        let expr = self.settle(operand, to, place)?;
        if to.is_text() {
            let text = self.text_of(expr)?;
            return Ok(Operand::Typed(explicit_cast(text, to, place)?));
        }
        self.scalar_type(&expr, place)?;
        Ok(Operand::Typed(explicit_cast(expr, to, place)?))
    }

    fn unary(&mut self, op: ast::UnaryOperator, written: &ast::Expr) -> Result<Operand> {
        let place = place_in(written, self.place);
        match op {
            ast::UnaryOperator::Not => Ok(Operand::Typed(negated(self.condition(written, "NOT")?))),
            ast::UnaryOperator::Plus => {
                let operand = self.operand(written)?;
                let is_number = |of| matches!(of, SqlType::Scalar(of) if of.is_number());
                match &operand {
                    Operand::Typed(expr) if !is_number(expr.sql_type) => {
                        let message = format!("operator does not exist: + {}", expr.sql_type);
                        Err(error(b"42883", place, message))
                    }
                    _ => Ok(operand),
                }
            }
            ast::UnaryOperator::Minus => {
                // -9223372036854775808 and -32768::smallint are read as one literal
                if let ast::Expr::Value(value) = written
                    && let ast::Value::Number(digits, _) = &value.value
                    && self.literal_alone(written).is_none()
                {
                    let number = number(&format!("-{digits}"), place)?;
                    return Ok(Operand::Typed(match self.signed_literal_at(place) {
                        Some(at) => self.literal_parameter(at, number.sql_type),
                        None => number,
                    }));
                }
                let operand = self.operand(written)?;
                if let Some(negative) = self.negative_interval(&operand) {
                    return Ok(Operand::Typed(negative));
                }
                let expr = self.settle(operand, DataType::Double, place)?;
                let data_type = self.scalar_type(&expr, place)?;
                if !data_type.is_number() {
                    return Err(error(
                        b"42883",
                        place,
                        format!("operator does not exist: - {data_type}"),
                    ));
                }
                let expr = oid_as_bigint(expr);
                let data_type = expr.data_type();
                Ok(Operand::Typed(scalar(ExprKind::Negate(Box::new(expr)), data_type)))
            }
            ast::UnaryOperator::BitwiseNot => {
                let operands = self.operands(&[written])?;
                self.named("~", operands, place).map(Operand::Typed)
            }
            ast::UnaryOperator::PGAbs => self.operand(&called("abs", vec![written.clone()])),
            other => Err(unsupported(
                place,
                format!("operator {other}"),
                "docs/functions.md lists the operators",
            )),
        }
    }

    fn binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        written: &ast::Expr,
    ) -> Result<Operand> {
        use BinaryOperator as B;
        if let B::PGCustomBinaryOperator(parts) = op
            && let Some(op) = plain_operator(parts)
        {
            let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
            return self.operand(&ast::Expr::BinaryOp { left, op, right });
        }
        if let Some(operand) = self.relational_binary(left, op, right)? {
            return Ok(operand);
        }
        let compare = match op {
            B::Eq => Some(CompareOp::Equal),
            B::NotEq => Some(CompareOp::NotEqual),
            B::Lt => Some(CompareOp::Less),
            B::LtEq => Some(CompareOp::LessOrEqual),
            B::Gt => Some(CompareOp::Greater),
            B::GtEq => Some(CompareOp::GreaterOrEqual),
            _ => None,
        };
        if let Some(op) = compare {
            return Ok(Operand::Typed(self.comparison(left, op, right)?));
        }
        match op {
            B::And => self.logic(written, &B::And, "AND", ExprKind::And),
            B::Or => self.logic(written, &B::Or, "OR", ExprKind::Or),
            _ => self.arithmetic(left, op, right, written),
        }
    }
}

/// A number as PostgreSQL reads it: integer, bigint or numeric by size; exponents make a numeric
/// too, floats are written with a cast.
fn number(digits: &str, place: Place) -> Result<Expr> {
    if let Ok(value) = digits.parse::<i32>() {
        return Ok(integer(value));
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Ok(crate::typing::bigint(value));
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        None => (digits, 0),
        Some((mantissa, exponent)) => {
            (mantissa, exponent.parse::<i32>().unwrap_or(i32::MAX).clamp(-400, 400))
        }
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole_digits = whole.trim_start_matches(['-', '0']).len() as i32 + exponent.max(0);
    let scale = (fraction.len() as i32 - exponent).max(0);
    if scale > 38 || whole_digits + scale > 38 {
        return parse_literal(digits, DataType::AnyNumeric, place);
    }
    let precision = (whole_digits + scale).max(1) as u8;
    parse_literal(digits, DataType::Numeric { precision, scale: scale as u8 }, place)
}
