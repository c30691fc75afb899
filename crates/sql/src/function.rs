//! Calls of functions, as the table of them ([`crate::functions`]) says that they are evaluated.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::{HostFunction, SystemFunction};
use hotrow_transaction::program::{
    ArithmeticOp, ArrayFunction, Expr, ExprKind, Extent, Function, NOW, Place,
};
use sqlparser::ast;

use crate::choices::labels_given;
use crate::error::{Result, error, place_in, unsupported};
use crate::functions::{self, Constant, Evaluation, FunctionRow, SyntaxForm, Type, ValueForm};
use crate::named_arguments::call_in_order;
use crate::operand::{Arguments, Operand, range_kind_of, types_of};
use crate::operator::{as_numeric, numbers};
use crate::overlay::overlaid;
use crate::ranges::element_in;
use crate::relation::array::array_of;
use crate::rounding::{number_of_template, rounded, rounded_to};
use crate::scope::Compiler;
use crate::subscripts::is_assignment;
use crate::temporal::at_time_zone;
use crate::type_table::kept_as;
use crate::type_table::known_type;
use crate::typing::{
    Coercion, array_cast, call, cast, common_type, comparable, constant, explicit_cast, integer,
    null, scalar, spread,
};
use crate::written::{argument_count, arguments, function_name};

impl Compiler<'_> {
    /// The call's time, for names that need no brackets.
    pub(crate) fn time_keyword(&self, name: &str) -> Option<Expr> {
        match functions::named(name).first()?.evaluation {
            Evaluation::Time(of) => Some(cast(self.slot_expr(NOW), of)),
            _ => None,
        }
    }

    /// Functions, among them those with a syntax of their own; everything else is refused.
    pub(crate) fn call_or_refuse(&mut self, written: &ast::Expr, place: Place) -> Result<Operand> {
        use ast::Expr as E;
        // The literals of a subquery are looked at no more than those around it.
        if matches!(written, E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. }) {
            return self.call_or_refuse_open(written, place);
        }
        self.closed(|compiler| compiler.call_or_refuse_open(written, place))
    }

    fn call_or_refuse_open(&mut self, written: &ast::Expr, place: Place) -> Result<Operand> {
        use ast::Expr as E;
        if let Some(operand) = self.relational_expr(written, place)? {
            return Ok(operand);
        }
        let typed = match written {
            E::Function(function) => match self.time_in_digits(function, place)? {
                Some(time) => time,
                None => self.function(function, place)?,
            },
            E::Ceil { expr, field } => self.rounding("ceil", expr, field, place)?,
            E::Floor { expr, field } => self.rounding("floor", expr, field, place)?,
            E::Extract { field, expr, .. } => {
                let name = field.to_string();
                self.extract(&name, expr, place)?
            }
            E::Position { expr, r#in } => {
                let arguments = self.operands(&[r#in, expr])?;
                self.named("strpos", arguments, place)?
            }
            E::Substring { expr, substring_from, substring_for, .. } => {
                let from = match substring_from {
                    Some(from) => (self.operand(from)?, place_in(&**from, place)),
                    None => (Operand::Typed(integer(1)), place),
                };
                let mut arguments = self.operands(&[expr])?;
                arguments.push(from);
                if let Some(count) = substring_for {
                    arguments.push((self.operand(count)?, place_in(&**count, place)));
                }
                self.named("substring", arguments, place)?
            }
            E::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut written = vec![&**expr, &**overlay_what, &**overlay_from];
                written.extend(overlay_for.as_deref());
                let arguments = self.operands(&written)?;
                self.named("overlay", arguments, place)?
            }
            E::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let what = trim_what.as_deref().or(trim_characters.iter().flatten().next());
                let mut arguments = self.operands(&[expr])?;
                if let Some(what) = what {
                    arguments.push((self.operand(what)?, place_in(what, place)));
                }
                self.named(name, arguments, place)?
            }
            E::AtTimeZone { timestamp, time_zone } => {
                let arguments = self.operands(&[time_zone, timestamp])?;
                self.named("timezone", arguments, place)?
            }
            E::SimilarTo { negated: not, expr, pattern, escape_char } => {
                let mut text = self.operands(&[expr])?;
                let written = std::iter::once(&**pattern).chain(escape_char.as_deref());
                let pattern = self.operands(&written.collect::<Vec<_>>())?;
                let pattern = self.named("similar_to_escape", pattern, place)?;
                text.push((Operand::Typed(pattern), place));
                self.named(if *not { "!~" } else { "~" }, text, place)?
            }
            E::RLike { .. } => {
                return Err(unsupported(place, "a regular expression", "use LIKE"));
            }
            E::Like { .. } | E::ILike { .. } => {
                let advice = "write the patterns as ARRAY[...], or one LIKE per pattern";
                return Err(unsupported(place, "LIKE ANY of a computed array", advice));
            }
            E::Tuple(values) => self.row_without_name(&values.iter().collect::<Vec<_>>())?,
            other => {
                let text = other.to_string();
                let short: String = text.chars().take(40).collect();
                return Err(unsupported(
                    place,
                    format!("expression {short}"),
                    "docs/sql.md lists what expressions may hold",
                ));
            }
        };
        Ok(Operand::Typed(typed))
    }

    pub(crate) fn operands(&mut self, written: &[&ast::Expr]) -> Result<Arguments> {
        written.iter().map(|written| self.placed_operand(written)).collect()
    }

    fn function(&mut self, function: &ast::Function, place: Place) -> Result<Expr> {
        if is_assignment(function) {
            return self.assigned_elements(function, None, place);
        }
        if let Some(called) = self.variadic_call(function, place)? {
            return Ok(called);
        }
        let ordered = call_in_order(function, place)?;
        let function = ordered.as_ref().unwrap_or(function);
        let name = function_name(function);
        if name == "row" {
            return self.row_without_name(&arguments(function, place)?.1);
        }
        if name == "pg_trigger_depth" && argument_count(function) == 0 {
            return Ok(self.trigger_depth());
        }
        let row = functions::with_count(&name, argument_count(function));
        if let Some(asked) = self.asked_of_session(&name, row, Some(function), place)? {
            return Ok(asked);
        }
        if let Some(row) = row
            && let Some(drawn) = self.drawn_by(row, function, place)?
        {
            return Ok(drawn);
        }
        if let Some(expr) = self.relational_function(&name, row, function, place)? {
            return Ok(expr);
        }
        if function.filter.is_some() && !functions::named(&name).is_empty() {
            let message = format!("FILTER specified, but {name} is not an aggregate function");
            return Err(error(b"42809", place, message));
        }
        if function.filter.is_some() || !function.within_group.is_empty() {
            return Err(unsupported(place, "FILTER or WITHIN GROUP", "use WHERE"));
        }
        if let Some(Evaluation::Syntax(SyntaxForm::MakeInterval)) = row.map(|row| row.evaluation) {
            return self.make_interval(function, place);
        }
        if row.is_none()
            && let Some(value) = self.inlined_value(function, place)?
        {
            return Ok(value);
        }
        let (distinct, written) = arguments(function, place)?;
        if distinct {
            return Err(error(
                b"42809",
                place,
                format!("DISTINCT specified, but {name} is not an aggregate function"),
            ));
        }
        // `float8(n)` is a cast.
        if let (None, [value], Some(to)) = (row, written.as_slice(), kept_as(&name)) {
            let operand = self.operand(value)?;
            return explicit_cast(self.settle(operand, to, place)?, to, place);
        }
        let arguments = match row.map(|row| row.evaluation) {
            Some(Evaluation::Syntax(SyntaxForm::Coalesce)) => {
                return self.coalesce(&written, place);
            }
            Some(Evaluation::Syntax(form)) => {
                return self.syntax_function(form, &name, &written, place);
            }
            // Whatever they are asked: columns of catalogs that are not there, too.
            Some(Evaluation::Constant(constant)) => {
                return self.constant_function(constant, row, &written);
            }
            Some(Evaluation::Refused(advice)) => {
                return Err(unsupported(place, format!("function {name}()"), advice));
            }
            Some(Evaluation::Rows(_) | Evaluation::Aggregate(_)) => {
                return Err(unsupported(place, format!("{name} here"), "write it in a query"));
            }
            Some(Evaluation::Window(_)) => {
                let message = format!("window function {name} requires an OVER clause");
                return Err(error(b"42809", place, message));
            }
            Some(Evaluation::Values(ValueForm::ToJson(_) | ValueForm::BuildJson(..))) => {
                self.json_operands(&written)?
            }
            _ => self.operands(&written)?,
        };
        self.named(&name, arguments, place)
    }

    /// What is drawn once, before the statement; none: it is another function, or one of many rows.
    fn drawn_by(
        &mut self,
        row: &FunctionRow,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let draws_once = self.draws_once && self.levels.len() == 1; // no row of a subquery
        match row.evaluation {
            Evaluation::Syntax(SyntaxForm::NextNumber)
                if self.may_draw() || draws_once && !self.ad_hoc =>
            {
                let sequence = self.sequence_in(function, place)?;
                let number =
                    |this: &mut Self| this.next_number(sequence, place, || "a number".to_owned());
                self.computed_so_far(number).map(Some)
            }
            Evaluation::Random(what) if self.may_draw() || draws_once || self.is_default => {
                self.computed_so_far(|this| this.random(what)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What the compiler writes out of arguments as they are written.
    fn syntax_function(
        &mut self,
        form: SyntaxForm,
        name: &str,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Expr> {
        match (form, written) {
            (SyntaxForm::Extract, [field, value]) => match field {
                ast::Expr::Value(ast::ValueWithSpan {
                    value: ast::Value::SingleQuotedString(field),
                    ..
                }) if name == "date_part" => self.date_part(field, value, place),
                ast::Expr::Value(ast::ValueWithSpan {
                    value: ast::Value::SingleQuotedString(field),
                    ..
                }) => self.extract(field, value, place),
                _ => Err(unsupported(place, format!("{name} of a computed field"), FIELD)),
            },
            (SyntaxForm::DateTrunc, [unit, value, rest @ ..]) => {
                self.date_trunc(unit, (value, rest.first().copied()), place)
            }
            (SyntaxForm::JsonChange(of, flag), _) => self.json_change(of, flag, written, place),
            (SyntaxForm::First, [first, ..]) => self.expr(first),
            (SyntaxForm::TypeName, [value]) => self.type_name(value),
            (SyntaxForm::NextNumber, [sequence]) => {
                let place = place_in(*sequence, place);
                let sequence = self.expr(sequence)?;
                let next = HostFunction::System(SystemFunction::NextValue);
                let gives = SqlType::Scalar(DataType::BigInt);
                self.scalar_type(&sequence, place)?;
                self.host(next, &[cast(sequence, DataType::Text)], gives)
            }
            (SyntaxForm::RandomBytes, [count]) => self.random_bytes(name, count, place),
            _ => Err(functions::no_function(name, &vec![None; written.len()], place)),
        }
    }

    /// The name of a value's type, as the standard writes it.
    fn type_name(&mut self, written: &ast::Expr) -> Result<Expr> {
        let name = match self.operand(written)? {
            Operand::Unknown(_) => "unknown".to_owned(),
            Operand::Typed(value @ Expr { sql_type: SqlType::Array(of), .. }) => self
                .domain_told(written, &value)
                .unwrap_or_else(|| format!("{}[]", known_type(of).standard)),
            Operand::Typed(value) => self
                .domain_told(written, &value)
                .unwrap_or_else(|| known_type(value.data_type()).standard.to_owned()),
            Operand::Parameter(at) => {
                let place = place_in(written, self.place);
                let message = format!("could not determine data type of parameter ${}", at + 1);
                return Err(error(b"42P18", place, message));
            }
        };
        Ok(constant(Value::Text(name), DataType::Text))
    }

    fn constant_function(
        &mut self,
        of: Constant,
        row: Option<&FunctionRow>,
        written: &[&ast::Expr],
    ) -> Result<Expr> {
        Ok(match of {
            Constant::Text(text) => constant(Value::Text(text.to_owned()), DataType::Text),
            Constant::Truth(truth) => constant(Value::Bool(truth), DataType::Boolean),
            Constant::Null => match row.map(|row| row.result) {
                Some(Type::Is(SqlType::Scalar(of))) => null(of),
                _ => null(DataType::Text),
            },
            Constant::Schemas => {
                let own = self.path.schemas().filter(|schema| self.catalog.has_schema(schema));
                let is_false = |argument: &&&ast::Expr| argument.to_string() == "false";
                let system = written.first().filter(is_false).map_or(Some("pg_catalog"), |_| None);
                let schemas = system.into_iter().chain(own);
                let schemas: Vec<_> = schemas
                    .map(|schema| constant(Value::Text(schema.to_owned()), DataType::Text))
                    .collect();
                array_of(schemas, DataType::Text)
            }
            Constant::Schema => {
                let mut schemas = self.path.schemas();
                match schemas.find(|schema| self.catalog.has_schema(schema)) {
                    Some(first) => constant(Value::Text(first.to_owned()), DataType::Text),
                    None => null(DataType::Text),
                }
            }
        })
    }

    fn coalesce(&mut self, written: &[&ast::Expr], place: Place) -> Result<Expr> {
        let (mut arguments, mut befores) = (Arguments::new(), Vec::new());
        let is_lazy = self.may_call(written.iter().skip(1).copied());
        if !is_lazy && !self.levels.is_empty() {
            return self.coalesce_of_a_row(written, place);
        }
        for written in written {
            let (value, before) = self.apart(is_lazy, |this| this.placed_operand(written))?;
            arguments.push(value);
            befores.push(before);
        }
        let (mut values, sql_type) = self.unified_or_arrays(arguments, "COALESCE", place)?;
        if is_lazy {
            values = self.emit_lazy_coalesce(values, befores)?;
        }
        Ok(Expr { kind: ExprKind::Coalesce(values), sql_type })
    }

    /// A function of values: that of this name which takes such.
    pub(crate) fn named(&mut self, name: &str, arguments: Arguments, place: Place) -> Result<Expr> {
        let row = functions::resolve(name, &types_of(&arguments), place)?;
        match row.evaluation {
            Evaluation::Program(function) => {
                let values = self.arguments_for(row, arguments)?;
                let mut given = values.iter().map(|value| value.sql_type);
                let gives = match row.result {
                    Type::Is(of) => of,
                    Type::AnyArray => match given.find(|of| matches!(of, SqlType::Array(_))) {
                        Some(array) if function != Function::Array(ArrayFunction::Fill) => array,
                        _ => SqlType::Array(values.first().map_or(DataType::Text, Expr::data_type)),
                    },
                    Type::RangeElement => SqlType::Scalar(element_in(&values)),
                    _ => SqlType::Scalar(values.first().map_or(DataType::Text, Expr::data_type)),
                };
                let kind = match (function, values.as_slice()) {
                    // These have an instruction of their own.
                    (
                        Function::Array(ArrayFunction::Extent(Extent::Length)),
                        [Expr { kind: ExprKind::Slot(slot), .. }, dimension],
                    ) if *dimension == integer(1) => ExprKind::ArrayLength(*slot),
                    _ => ExprKind::Call(function, values),
                };
                Ok(Expr { kind, sql_type: gives })
            }
            Evaluation::Host(_) if self.reads.is_some() && !row.is_in_procedures() => {
                self.without_session(row, place)
            }
            Evaluation::Host(function) => {
                let values = self.arguments_for(row, arguments)?;
                let array = values
                    .iter()
                    .map(|value| value.sql_type)
                    .find(|of| matches!(of, SqlType::Array(_)));
                let gives = match (row.result, array) {
                    (Type::Is(of), _) | (Type::AnyArray, Some(of)) => of,
                    _ => SqlType::Scalar(DataType::Text),
                };
                self.host(function, &values, gives)
            }
            Evaluation::Time(of) => Ok(cast(self.slot_expr(NOW), of)),
            Evaluation::Values(form) => self.value_function(form, row, arguments, place),
            _ => Err(unsupported(place, format!("{name} here"), "write it as a call")),
        }
    }

    /// What the compiler writes out of values.
    fn value_function(
        &mut self,
        form: ValueForm,
        row: &FunctionRow,
        arguments: Arguments,
        place: Place,
    ) -> Result<Expr> {
        match form {
            ValueForm::Extreme(function) => {
                let name = row.name.to_uppercase();
                let (values, data_type) = self.unified_values(arguments, &name, place)?;
                comparable(data_type, "<", place)?;
                Ok(spread(call(function, values, data_type)))
            }
            ValueForm::NullIf => {
                // It compares: what cannot be compared is told as of an operator.
                if let [Some(one), Some(other)] = types_of(&arguments)[..]
                    && let (SqlType::Scalar(a), SqlType::Scalar(b)) = (one, other)
                    && common_type(a, b).is_none()
                {
                    let message = format!("operator does not exist: {a} = {b}");
                    return Err(error(b"42883", arguments[1].1, message));
                }
                let (values, data_type) = self.unified_values(arguments, "NULLIF", place)?;
                comparable(data_type, "=", place)?;
                Ok(spread(call(Function::NullIf, values, data_type)))
            }
            ValueForm::CountNulls { is_null } => self.count_nulls(arguments, is_null),
            ValueForm::Labels(which) => labels_given(row.name, which, &arguments, place),
            ValueForm::Not(function) => {
                let values = self.arguments_for(row, arguments)?;
                Ok(crate::comparison::negated(call(function, values, DataType::Boolean)))
            }
            ValueForm::Concat(function) => {
                let mut texts = Vec::new();
                for (operand, place) in arguments {
                    texts.push(self.as_shown(operand, place)?);
                }
                Ok(call(function, texts, DataType::Text))
            }
            ValueForm::Format => {
                let mut texts = Vec::new();
                for (operand, place) in arguments {
                    texts.push(self.as_shown(operand, place)?);
                }
                Ok(call(Function::Format, texts, DataType::Text))
            }
            ValueForm::Modulo => {
                let mut values = self.arguments_for(row, arguments)?;
                match (values.pop(), values.pop()) {
                    (Some(right), Some(left)) => numbers(ArithmeticOp::Modulo, left, right, place),
                    _ => Err(functions::no_function(row.name, &[], place)),
                }
            }
            ValueForm::Round(function) => {
                let values = self.arguments_for(row, arguments)?;
                Ok(rounded(function, values))
            }
            ValueForm::RoundTo(function) => {
                let values = self.arguments_for(row, arguments)?;
                Ok(rounded_to(function, values))
            }
            ValueForm::Overlay => self.arguments_for(row, arguments).map(overlaid),
            ValueForm::QuoteLiteral => {
                let values = self.arguments_for(row, arguments)?;
                let texts: Vec<_> =
                    values.into_iter().map(|value| cast(value, DataType::Text)).collect();
                self.host(HostFunction::QuoteLiteral, &texts, SqlType::Scalar(DataType::Text))
            }
            ValueForm::QuoteNullable => {
                let quoted = self.named("quote_literal", arguments, place)?;
                let none = constant(Value::Text("NULL".to_owned()), DataType::Text);
                Ok(scalar(ExprKind::Coalesce(vec![quoted, none]), DataType::Text))
            }
            ValueForm::Age => {
                let values = self.arguments_for(row, arguments)?;
                Ok(self.age(values))
            }
            ValueForm::ToNumber => {
                let values = self.arguments_for(row, arguments)?;
                Ok(number_of_template(values))
            }
            ValueForm::AtTimeZone => {
                let values = self.arguments_for(row, arguments)?;
                at_time_zone(row.name, values, place)
            }
            ValueForm::Path(function) => {
                let mut values = self.arguments_for(row, arguments)?;
                values.push(constant(Value::Jsonb("{}".to_owned()), DataType::Jsonb));
                values.push(constant(Value::Bool(true), DataType::Boolean));
                let truth = SqlType::Scalar(DataType::Boolean);
                self.host(HostFunction::JsonPath(function), &values, truth)
            }
            ValueForm::ToJson(of) => self.json_of(row, of, arguments),
            ValueForm::BuildJson(function, of) => {
                self.built_json(row.name, function, of, arguments, place)
            }
        }
    }

    /// The arguments as a function takes them, which was chosen by their types.
    pub(crate) fn arguments_for(
        &mut self,
        row: &FunctionRow,
        arguments: Arguments,
    ) -> Result<Vec<Expr>> {
        let of_array = |(operand, _): &(Operand, Place)| match operand {
            Operand::Typed(Expr { sql_type: SqlType::Array(element), .. }) => Some(*element),
            _ => None,
        };
        let given = types_of(&arguments);
        let element = match row.evaluation {
            Evaluation::Program(Function::Array(_) | Function::ArrayAppend) => {
                let common = common_element(row, &arguments);
                common.ok_or_else(|| functions::no_function(row.name, &given, self.place))?
            }
            _ => arguments.iter().find_map(of_array).unwrap_or(DataType::Text),
        };
        let kind = arguments.iter().find_map(|(operand, _)| range_kind_of(operand));
        let mut values = Vec::<Expr>::new();
        for (at, (operand, place)) in arguments.into_iter().enumerate() {
            let value = match row.argument(at) {
                Type::Is(SqlType::Scalar(to)) => cast(self.settle(operand, to, place)?, to),
                Type::Is(SqlType::Array(of)) => {
                    array_cast(self.array_value(operand, of, place)?, of)
                }
                Type::AnyArray => array_cast(self.array_value(operand, element, place)?, element),
                Type::Relation => {
                    cast(self.settle(operand, DataType::Text, place)?, DataType::Text)
                }
                Type::RelationNumber => self.relation_number(operand, place)?,
                Type::Number => self.settle(operand, DataType::Double, place)?,
                Type::Numeric => as_numeric(self.settle(operand, DataType::AnyNumeric, place)?),
                Type::AnyElement => {
                    let value = self.settle(operand, element, place)?;
                    match common_type(value.data_type(), element) {
                        Some(common) if common == element => cast(value, element),
                        _ if row.result == Type::AnyArray => {
                            return Err(functions::no_function(row.name, &given, place));
                        }
                        _ => value,
                    }
                }
                of @ (Type::AnyRange | Type::RangeElement) => {
                    let found = self.range_argument(operand, of, kind, place)?;
                    found.ok_or_else(|| functions::no_function(row.name, &given, place))?
                }
                Type::Any | Type::Record | Type::Void => {
                    self.settle(operand, DataType::Text, place)?
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    /// A value as the text that clients are shown.
    pub(crate) fn as_shown(&mut self, operand: Operand, place: Place) -> Result<Expr> {
        let expr = self.settle(operand, DataType::Text, place)?;
        let expr = self.text_of(expr)?;
        if expr.data_type() != DataType::Boolean {
            return Ok(cast(expr, DataType::Text));
        }
        let letter = |letter: &str| constant(Value::Text(letter.to_owned()), DataType::Text);
        let is_false = scalar(ExprKind::Not(Box::new(expr.clone())), DataType::Boolean);
        let arms = vec![(expr, letter("t")), (is_false, letter("f"))];
        Ok(scalar(ExprKind::Case { arms, otherwise: None }, DataType::Text))
    }

    /// A number of rows: LIMIT, OFFSET.
    pub(crate) fn row_count(&mut self, written: &ast::Expr, clause: &str) -> Result<Expr> {
        self.value_for(written, DataType::BigInt, Coercion::Assignment, || {
            format!("argument of {clause}")
        })
    }
}

/// The type of the elements of all arrays, and of the values that are to be such, among a
/// function's arguments. None: there is none that they have in common.
fn common_element(row: &FunctionRow, arguments: &Arguments) -> Option<DataType> {
    let mut common = None;
    for (at, (operand, _)) in arguments.iter().enumerate() {
        let Operand::Typed(Expr { sql_type, .. }) = operand else { continue };
        let own = match (row.argument(at), sql_type) {
            (Type::AnyArray, SqlType::Array(of)) | (Type::AnyElement, SqlType::Scalar(of)) => *of,
            (Type::AnyArray | Type::AnyElement, _) => return None,
            _ => continue,
        };
        common = Some(common.map_or(Some(own), |known| common_type(known, own))?);
    }
    Some(common.unwrap_or(DataType::Text))
}

/// What to write in place of a field that is known only when the call runs.
const FIELD: &str = "write the field as a literal: extract('year', at)";
