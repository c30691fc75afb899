//! Expressions that only queries of any shape have: functions beside programs, arrays, patterns,
//! the names of the system catalog.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::{HostFunction, Plan, Step, StepKind, SubqueryKind, SystemFunction};
use hotrow_transaction::program::{CompareOp, Expr, ExprKind, Function, Place, SlotId};
use hotrow_transaction::random::Randomness;
use sqlparser::ast::{self, BinaryOperator};

use crate::comparison::negated;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::functions::{Evaluation, FunctionRow, SyntaxForm, named};
use crate::operand::Operand;
use crate::relation::level::Expansion;
use crate::scope::Compiler;
use crate::syntax::CallArgument;
use crate::type_table::kept_as;
use crate::typing::{call, cast, compared_type, constant, scalar};
use crate::written::{arguments, bare, dotted, ident_name};

impl Compiler<'_> {
    /// Registers a step of the innermost level; the values it gives.
    pub(super) fn step(
        &mut self,
        kind: StepKind,
        arguments: &[Expr],
        gives: SqlType,
    ) -> Result<Expr> {
        self.part()?;
        let arguments = self.scalars(arguments)?;
        let output = self.slot("$step", gives)?;
        self.level().steps.push(Step { arguments, kind, outputs: vec![output] });
        Ok(self.slot_expr(output))
    }

    pub(crate) fn host(
        &mut self,
        function: HostFunction,
        of: &[Expr],
        gives: SqlType,
    ) -> Result<Expr> {
        self.step(StepKind::Function(function), of, gives)
    }

    /// What programs do not have; none: it is not one of those.
    pub(crate) fn relational_expr(
        &mut self,
        written: &ast::Expr,
        place: Place,
    ) -> Result<Option<Operand>> {
        use ast::Expr as E;
        let typed = match written {
            E::Subquery(query) => self.subquery(query, SubqueryKind::Scalar, place)?,
            E::Exists { subquery, negated: not } => {
                let exists = self.subquery(subquery, SubqueryKind::Exists, place)?;
                if *not { negated(exists) } else { exists }
            }
            E::InSubquery { expr, subquery, negated: not } => {
                let how = (CompareOp::Equal, SubqueryKind::Any(CompareOp::Equal));
                let any = self.compared_subquery(expr, subquery, how, place)?;
                if *not { negated(any) } else { any }
            }
            E::AnyOp { left, compare_op, right, .. } => {
                self.over_array(left, compare_op, right, true, place)?
            }
            E::AllOp { left, compare_op, right } => {
                self.over_array(left, compare_op, right, false, place)?
            }
            E::Array(array) => self.array_of(&array.elem, place)?,
            E::Collate { expr, .. } => return self.operand(expr).map(Some),
            _ => return Ok(None),
        };
        Ok(Some(Operand::Typed(typed)))
    }

    /// `left op ANY (right)`, of a subquery or of an array.
    fn over_array(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        any: bool,
        place: Place,
    ) -> Result<Expr> {
        let Some(op) = compare_op(op) else {
            return Err(unsupported(
                place,
                format!("operator {op} with ANY"),
                "use = <> < > <= >=",
            ));
        };
        let kind = if any { SubqueryKind::Any(op) } else { SubqueryKind::All(op) };
        match bare(right) {
            ast::Expr::Subquery(query) => self.compared_subquery(left, query, (op, kind), place),
            // = ANY (ARRAY[...]) is IN (...)
            ast::Expr::Array(array) if any && op == CompareOp::Equal && !array.elem.is_empty() => {
                self.in_list(left, &array.elem, false)
            }
            array => {
                let left_operand = self.operand(left)?;
                let array_operand = self.operand(array)?;
                let known = match &left_operand {
                    Operand::Typed(expr) => Some(expr.data_type()),
                    _ => None,
                };
                let array = match array_operand {
                    Operand::Typed(expr) if matches!(expr.sql_type, SqlType::Array(_)) => expr,
                    Operand::Parameter(at) => {
                        let element = known.unwrap_or(DataType::Text);
                        self.give(at, SqlType::Array(element));
                        self.slot_expr(self.parameters[at])
                    }
                    Operand::Unknown(Some(open)) => {
                        let element = known.unwrap_or(DataType::Text);
                        self.array_literal(&open.text, element, place)?
                    }
                    _ => {
                        let message = "op ANY/ALL (array) requires array on right side";
                        return Err(error(b"42809", place, message));
                    }
                };
                let element = array.data_type();
                let left = self.settle(left_operand, element, place_in(left, place))?;
                let left_type = self.scalar_type(&left, place)?;
                let common = compared_type(left_type, element).ok_or_else(|| {
                    let message = format!("operator does not exist: {left_type} = {element}");
                    error(b"42883", place, message)
                })?;
                // Elements are compared as values are, whatever their widths.
                let left = cast(left, common);
                // Of no array nothing is known; of one without elements it is.
                let is_there =
                    negated(scalar(ExprKind::IsNull(Box::new(array.clone())), DataType::Boolean));
                let (plan, column) = self.elements_of(array)?;
                let inputs = plan.free_slots_with(&[column]);
                let kind = StepKind::Subquery { plan, kind, column, inputs };
                let truth = self.step(kind, &[left], SqlType::Scalar(DataType::Boolean))?;
                let kind = ExprKind::Case { arms: vec![(is_there, truth)], otherwise: None };
                Ok(scalar(kind, DataType::Boolean))
            }
        }
    }

    /// The elements of an array as rows.
    pub(super) fn elements_of(&mut self, array: Expr) -> Result<(Plan, SlotId)> {
        let element = array.data_type();
        let column = self.temporary("element", element)?;
        let unnest = Expansion {
            function: HostFunction::Unnest,
            arguments: vec![array],
            names: Vec::new(),
            outputs: vec![column],
            is_numbered: false,
        };
        let step = self.expansion_step(&[unnest])?;
        Ok((Plan::Extend { input: Box::new(Plan::One), step: Box::new(step) }, column))
    }

    fn array_literal(&mut self, text: &str, element: DataType, place: Place) -> Result<Expr> {
        let array = Value::parse_array(element, text);
        let Value::Array(values) = array.map_err(|e| crate::typing::value_error(&e, place))? else {
            return Err(error(b"22P02", place, format!("malformed array literal: \"{text}\"")));
        };
        let parts: Vec<_> = values.into_iter().map(|value| constant(value, element)).collect();
        self.host(HostFunction::ArrayOf, &parts, SqlType::Array(element))
    }

    fn array_of(&mut self, elements: &[ast::Expr], place: Place) -> Result<Expr> {
        let mut operands = Vec::new();
        for element in elements {
            operands.push((self.operand(element)?, place_in(element, place)));
        }
        if operands.is_empty() {
            return Err(error(b"42P18", place, "cannot determine type of empty array")
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let (values, element) = self.unified(operands, "ARRAY", place)?;
        self.host(HostFunction::ArrayOf, &values, SqlType::Array(element))
    }

    /// Operators that programs do not have.
    pub(crate) fn relational_binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Option<Operand>> {
        if let BinaryOperator::Eq | BinaryOperator::NotEq = op
            && (self.is_array(left)? || self.is_array(right)?)
        {
            let places = [left, right].map(|side| place_in(side, self.place));
            let sides = [self.operand(left)?, self.operand(right)?];
            let element = sides.iter().find_map(|side| match side {
                Operand::Typed(Expr { sql_type: SqlType::Array(element), .. }) => Some(*element),
                _ => None,
            });
            let element = element.unwrap_or(DataType::Text);
            let [one, other] = sides;
            let array = self.array_value(one, element, places[0])?;
            let other = self.array_value(other, element, places[1])?;
            let truth = SqlType::Scalar(DataType::Boolean);
            let equal = self.host(HostFunction::ArrayEqual, &[array, other], truth)?;
            let not = *op == BinaryOperator::NotEq;
            return Ok(Some(Operand::Typed(if not { negated(equal) } else { equal })));
        }
        let sign = match op {
            BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned(),
            BinaryOperator::StringConcat => return self.array_concat(left, right),
            other => Some(other.to_string()),
        };
        let sign = sign.unwrap_or_default();
        if sign == "=" && matches!(op, BinaryOperator::PGCustomBinaryOperator(_)) {
            let equal = self.comparison(left, CompareOp::Equal, right)?;
            return Ok(Some(Operand::Typed(equal)));
        }
        if named(&sign).is_empty() {
            return Ok(None);
        }
        let place = place_in(left, self.place);
        let operands = self.operands(&[left, right])?;
        self.named(&sign, operands, place).map(|value| Some(Operand::Typed(value)))
    }

    /// A column that holds arrays; none: it is something else.
    pub(super) fn array_column(&mut self, written: &ast::Expr) -> Result<Option<Expr>> {
        let place = place_in(written, self.place);
        let column = match written {
            ast::Expr::Identifier(name) => self.relation_column(&ident_name(name), place)?,
            ast::Expr::CompoundIdentifier(names) => {
                self.qualified_relation_column(&dotted(names), place)?
            }
            _ => None,
        };
        Ok(column.filter(|column| matches!(column.sql_type, SqlType::Array(_))))
    }

    /// `||` of an array and another one, or an element; none: it is of texts.
    fn array_concat(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<Option<Operand>> {
        if !self.is_array(left)? && !self.is_array(right)? {
            return Ok(None);
        }
        let places = [left, right].map(|side| place_in(side, self.place));
        let sides = [self.operand(left)?, self.operand(right)?];
        let element_of = |side: &Operand| match side {
            Operand::Typed(Expr { sql_type: SqlType::Array(element), .. }) => Some(*element),
            _ => None,
        };
        let elements = [element_of(&sides[0]), element_of(&sides[1])];
        let name = match elements {
            [Some(_), Some(_)] => "array_cat",
            [Some(_), None] if !matches!(sides[1], Operand::Typed(_)) => "array_cat",
            [None, Some(_)] if !matches!(sides[0], Operand::Typed(_)) => "array_cat",
            [Some(_), None] => "array_append",
            _ => "array_prepend",
        };
        let arguments = sides.into_iter().zip(places).collect();
        self.named(name, arguments, places[1]).map(|array| Some(Operand::Typed(array)))
    }

    /// Whether an expression is an array, as far as it can be told before it is compiled.
    pub(super) fn is_array(&mut self, written: &ast::Expr) -> Result<bool> {
        Ok(match crate::written::bare(written) {
            ast::Expr::Array(_) => true,
            ast::Expr::Function(function) => {
                let name = crate::written::function_name(function);
                name == "array" || name == "array_agg" || crate::functions::gives_array(&name)
            }
            ast::Expr::Cast { data_type, .. } => matches!(data_type, ast::DataType::Array(_)),
            ast::Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
                self.is_array(left)? || self.is_array(right)?
            }
            other => self.is_array_of_program(other) || self.array_column(other)?.is_some(),
        })
    }

    /// A function of the session, the catalog or arrays; an aggregate; a window function; a
    /// function that gives rows. None: it is not one of those.
    pub(crate) fn relational_function(
        &mut self,
        name: &str,
        row: Option<&FunctionRow>,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        if let Some(over) = &function.over {
            return self.window_function(name, function, over, place).map(Some);
        }
        if let Some(aggregate) = self.group_aggregate(name, function, place)? {
            return Ok(Some(aggregate));
        }
        if let ("array", ast::FunctionArguments::Subquery(query)) = (name, &function.args) {
            return self.subquery(query, SubqueryKind::Array, place).map(Some);
        }
        let Some(row) = row else {
            if self.is_procedure {
                return Ok(None); // a call becomes statements of its own
            }
            let (_, written) = arguments(function, place)?;
            return self.called(name, &written, place);
        };
        if let Evaluation::Syntax(SyntaxForm::MakeInterval) = row.evaluation {
            return Ok(None); // Its arguments may have names.
        }
        let (_, written) = arguments(function, place)?;
        match (row.evaluation, written.as_slice()) {
            (Evaluation::Random(what), _) => self.random_for_rows(what).map(Some),
            (Evaluation::Rows(_), _) => self.expanded(function, name, &written, place).map(Some),
            (Evaluation::Syntax(SyntaxForm::NextNumber), _) if self.reads.is_some() => {
                self.sequence_in(function, place)?;
                let hint = "loop over the rows, and write v := nextval('sequence')";
                let what = "nextval() for each row of a procedure's query";
                Err(unsupported(place, what, hint))
            }
            (Evaluation::Host(HostFunction::System(SystemFunction::CurrentValue)), _)
                if self.reads.is_some() =>
            {
                self.sequence_in(function, place).map(|_| None)
            }
            (Evaluation::Syntax(SyntaxForm::ArrayLength), [array, _]) if !is_name(array) => {
                let array = self.expr(array)?;
                let gives = SqlType::Scalar(DataType::Integer);
                self.host(HostFunction::ArrayLength, &[array], gives).map(Some)
            }
            (Evaluation::Syntax(SyntaxForm::Cardinality), [array]) if !is_name(array) => {
                let array = self.expr(array)?;
                Ok(Some(call(Function::Cardinality, vec![array], DataType::Integer)))
            }
            _ => Ok(None),
        }
    }

    /// A random value for each row.
    fn random_for_rows(&mut self, what: Randomness) -> Result<Expr> {
        let gives = match what {
            Randomness::Double => DataType::Double,
            Randomness::Uuid | Randomness::OrderedUuid => DataType::Uuid,
        };
        let (function, spot) = match self.reads.is_some() {
            true => (HostFunction::Random(what), self.spot(what)?),
            false => (HostFunction::System(SystemFunction::Random(what)), Vec::new()),
        };
        self.host(function, &spot, SqlType::Scalar(gives))
    }

    /// The value of a registered procedure; none: there is no such procedure.
    fn called(&mut self, name: &str, written: &[&ast::Expr], place: Place) -> Result<Option<Expr>> {
        let Some((fetch, values)) = self.call_of(name, written, place)? else { return Ok(None) };
        let called = &self.fetches[fetch];
        if called.returns_set || called.result.len() > 1 {
            let hint = format!("write SELECT ... FROM {name}(...)");
            return Err(unsupported(place, "a function that gives rows here", hint));
        }
        let gives = called.result.first().map_or(DataType::Text, |column| column.data_type);
        self.step(StepKind::Call { fetch }, &values, SqlType::Scalar(gives)).map(Some)
    }

    /// A registered procedure as one of the query's, and its arguments; none: there is none.
    pub(super) fn call_of(
        &mut self,
        name: &str,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Option<(usize, Vec<Expr>)>> {
        let arguments = written.iter().map(|of| CallArgument {
            name: None,
            value: (*of).clone(),
            place: place_in(*of, place),
        });
        let arguments: Vec<_> = arguments.collect();
        let Some(procedure) = self.routine_meant(name, &arguments, place)? else {
            return Ok(None);
        };
        if !procedure.takes(written.len()) {
            return Err(crate::call::other_count(procedure, name, written.len(), place));
        }
        let mut values = Vec::new();
        for (written, parameter) in written.iter().zip(procedure.given()) {
            values.push(self.fixed_argument(written, parameter.sql_type, place)?);
        }
        for at in written.len()..procedure.given().len() {
            let (of, default) = (procedure.given()[at].sql_type, procedure.default_of(at));
            let default = default.cloned().unwrap_or_default();
            values.push(match of {
                SqlType::Scalar(of) => constant(default, of),
                SqlType::Array(of) => {
                    let Value::Array(elements) = default else {
                        let advice = "pass an array, or NULL::text[]";
                        return Err(unsupported(place, "a default of NULL for an array", advice));
                    };
                    let elements = elements.into_iter().map(|value| constant(value, of));
                    let elements: Vec<_> = elements.collect();
                    self.host(HostFunction::ArrayOf, &elements, SqlType::Array(of))?
                }
            });
        }
        if self.reads.is_some() {
            let what = format!("a call of {name} in a query of a procedure");
            return Err(unsupported(place, what, "assign it to a variable before, and use that"));
        }
        self.part()?;
        self.fetches.push(procedure.clone());
        Ok(Some((self.fetches.len() - 1, values)))
    }

    /// An argument of a function with fixed types.
    pub(super) fn fixed_argument(
        &mut self,
        written: &ast::Expr,
        to: SqlType,
        place: Place,
    ) -> Result<Expr> {
        let place = place_in(written, place);
        let operand = self.operand(written)?;
        let expr = self.settle(operand, scalar_or_text(to), place)?;
        Ok(match (expr.sql_type, to) {
            (SqlType::Scalar(_), SqlType::Scalar(to)) => cast(expr, to),
            _ => expr,
        })
    }

    /// Casts to the names of PostgreSQL's catalog. None: it is another type.
    pub(crate) fn relational_cast(
        &mut self,
        written: &ast::Expr,
        to: &ast::DataType,
        place: Place,
    ) -> Result<Option<Operand>> {
        let name = match to {
            ast::DataType::Custom(name, _) => {
                let idents = name.0.iter().filter_map(|part| part.as_ident().cloned());
                dotted(&idents.collect::<Vec<_>>()).pop().unwrap_or_default()
            }
            ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => {
                return self.array_cast(written, element, place);
            }
            ast::DataType::Regclass => "regclass".to_owned(),
            _ => return Ok(None),
        };
        if let "regclass" | "regtype" = name.as_str() {
            let is_class = name == "regclass";
            return self.registered(written, is_class, place).map(|e| Some(Operand::Typed(e)));
        }
        if name == "jsonpath" {
            let operand = self.operand(written)?;
            let text = cast(self.settle(operand, DataType::Text, place)?, DataType::Text);
            let gives = SqlType::Scalar(DataType::Text);
            let path = self.host(HostFunction::JsonPathText, &[text], gives)?;
            return Ok(Some(Operand::Typed(path)));
        }
        let Some(to) = kept_as(&name) else { return Ok(None) };
        let operand = self.operand(written)?;
        if let (Operand::Unknown(Some(open)), "regproc") = (&operand, name.as_str()) {
            let bare = open.text.strip_prefix("pg_catalog.").unwrap_or(&open.text).to_owned();
            return Ok(Some(Operand::Typed(constant(Value::Text(bare), DataType::Text))));
        }
        let expr = self.settle(operand, to, place)?;
        if let SqlType::Array(_) = expr.sql_type {
            return Ok(Some(Operand::Typed(expr)));
        }
        crate::typing::explicit_cast(expr, to, place).map(|expr| Some(Operand::Typed(expr)))
    }

    /// `'name'::regclass` is the relation's number; `number::regclass` its name.
    fn registered(&mut self, written: &ast::Expr, is_class: bool, place: Place) -> Result<Expr> {
        let operand = self.closed(|compiler| compiler.operand(written))?;
        let expr = self.settle(operand, DataType::Text, place)?;
        if let (ExprKind::Constant(Value::Text(name)), true) = (&expr.kind, is_class) {
            let number = super::system::relation_number(self.catalog, &self.path, name);
            let number = number.ok_or_else(|| {
                error(b"42P01", place, format!("relation \"{name}\" does not exist"))
            })?;
            return Ok(constant(Value::BigInt(number), DataType::Oid));
        }
        let (function, gives) = match (expr.data_type().is_text(), is_class) {
            (true, true) => (SystemFunction::RelationOid, DataType::Oid),
            (true, false) => (SystemFunction::TypeOid, DataType::Oid),
            (false, true) => (SystemFunction::RelationName, DataType::Text),
            (false, false) => (SystemFunction::TypeName, DataType::Text),
        };
        let of = if expr.data_type().is_text() { DataType::Text } else { DataType::BigInt };
        let mut arguments = vec![cast(expr, of)];
        if function == SystemFunction::RelationOid {
            // It has to exist, which it need not for to_regclass.
            arguments.push(constant(Value::Bool(true), DataType::Boolean));
        }
        self.host(HostFunction::System(function), &arguments, SqlType::Scalar(gives))
    }

    fn array_cast(
        &mut self,
        written: &ast::Expr,
        element: &ast::DataType,
        place: Place,
    ) -> Result<Option<Operand>> {
        let to = match element {
            ast::DataType::Custom(name, _) => {
                let name = name.to_string();
                let bare = name.strip_prefix("pg_catalog.").unwrap_or(&name);
                kept_as(bare).unwrap_or(DataType::Text)
            }
            element => crate::types::data_type(element, self.type_names(), place)?,
        };
        if let ast::Expr::Array(array) = bare(written)
            && array.elem.is_empty()
        {
            let array = self.host(HostFunction::ArrayOf, &[], SqlType::Array(to))?;
            return Ok(Some(Operand::Typed(array)));
        }
        // ARRAY[1.5]::integer[] casts the elements.
        if let ast::Expr::Array(array) = bare(written) {
            let cast = |value: &ast::Expr| ast::Expr::Cast {
                kind: ast::CastKind::DoubleColon,
                expr: Box::new(value.clone()),
                data_type: element.clone(),
                format: None,
            };
            let elements: Vec<_> = array.elem.iter().map(cast).collect();
            return self.array_of(&elements, place).map(|array| Some(Operand::Typed(array)));
        }
        let operand = self.operand(written)?;
        let array = self.array_value(operand, to, place)?;
        let from = array.data_type();
        if from.is_number() && !from.is_integer() && (to.is_integer() || to == DataType::Boolean) {
            let advice = "write ARRAY(SELECT x::integer FROM unnest(...) AS x)";
            return Err(unsupported(place, "a cast that rounds elements", advice));
        }
        Ok(Some(Operand::Typed(array)))
    }

    /// A value as an array of such elements.
    pub(crate) fn array_value(
        &mut self,
        operand: Operand,
        element: DataType,
        place: Place,
    ) -> Result<Expr> {
        Ok(match operand {
            Operand::Parameter(at) => {
                self.give(at, SqlType::Array(element));
                self.slot_expr(self.parameters[at])
            }
            Operand::Unknown(Some(open)) => self.array_literal(&open.text, element, place)?,
            // A slot that nobody gives a value is NULL.
            Operand::Unknown(None) => {
                let slot = self.slot("$null", SqlType::Array(element))?;
                self.slot_expr(slot)
            }
            Operand::Typed(expr) if matches!(expr.sql_type, SqlType::Array(_)) => expr,
            Operand::Typed(_) => {
                let message = format!("cannot cast this to {element}[]");
                let hint = "write the array as '{1,2}' or ARRAY[1,2]";
                return Err(error(b"42846", place, message).hint(hint));
            }
        })
    }
}

const fn is_name(written: &ast::Expr) -> bool {
    matches!(written, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
}

/// The type that a literal for it has.
fn scalar_or_text(sql_type: SqlType) -> DataType {
    match sql_type {
        SqlType::Scalar(data_type) => data_type,
        SqlType::Array(_) => DataType::Text,
    }
}

pub(super) fn compare_op(op: &BinaryOperator) -> Option<CompareOp> {
    Some(match op {
        BinaryOperator::Eq => CompareOp::Equal,
        BinaryOperator::NotEq => CompareOp::NotEqual,
        BinaryOperator::Lt => CompareOp::Less,
        BinaryOperator::LtEq => CompareOp::LessOrEqual,
        BinaryOperator::Gt => CompareOp::Greater,
        BinaryOperator::GtEq => CompareOp::GreaterOrEqual,
        _ => return None,
    })
}
