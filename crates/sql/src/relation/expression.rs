//! Expressions that only queries of any shape have: functions beside programs, arrays, patterns,
//! the names of the system catalog.

use hotrow_base::json::JsonRecords;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::{HostFunction, Plan, Step, StepKind, SubqueryKind, SystemFunction};
use hotrow_transaction::program::{ArrayFunction, CompareOp, Expr, ExprKind, Place, SlotId};
use hotrow_transaction::random::Randomness;
use sqlparser::ast::{self, BinaryOperator};

use crate::comparison::negated;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::functions::{Evaluation, FunctionRow, SyntaxForm, named};
use crate::operand::{OpenText, Operand, is_array, range_kind_of, types_of};
use crate::relation::array::{array_of, is_empty_list, nested_array};
use crate::relation::level::{ExpandedBy, Expansion};
use crate::scope::Compiler;
use crate::type_table::{is_known, kept_as};
use crate::typing::{
    Coercion, array_call, array_cast, cast, comparable, compared_type, constant, constant_array,
    cut_texts, explicit_array_cast, is_assignable, parse_literal, spread,
};
use crate::written::{arguments, bare, dotted};

impl Compiler<'_> {
    /// Registers a step of the innermost level; the values it gives.
    pub(super) fn step(
        &mut self,
        kind: StepKind,
        arguments: &[Expr],
        gives: SqlType,
    ) -> Result<Expr> {
        self.part()?;
        let output = self.slot_of_step(kind, arguments, gives)?;
        Ok(spread(self.slot_expr(output)))
    }

    /// Registers a step of one value; the slot that has it.
    pub(super) fn slot_of_step(
        &mut self,
        kind: StepKind,
        arguments: &[Expr],
        gives: SqlType,
    ) -> Result<SlotId> {
        let arguments = self.scalars(arguments)?;
        let output = self.slot("$step", gives)?;
        self.level().steps.push(Step::new(arguments, kind, vec![output]));
        Ok(output)
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
            ast::Expr::Array(array)
                if any
                    && op == CompareOp::Equal
                    && !array.elem.is_empty()
                    && !self.has_arrays(array)? =>
            {
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
                        self.array_literal(&open, element, place)?
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
                let sign = op.symbol();
                comparable(common, sign, place)?;
                // Elements are compared as values are, whatever their widths.
                let of = vec![cast(left, common), array_cast(array, common)];
                let function = match any {
                    true => ArrayFunction::Any(op),
                    false => ArrayFunction::All(op),
                };
                Ok(array_call(function, of, SqlType::Scalar(DataType::Boolean)))
            }
        }
    }

    /// The elements of an array as rows.
    pub(super) fn elements_of(&mut self, array: Expr) -> Result<(Plan, SlotId)> {
        let element = array.data_type();
        let column = self.temporary("element", element)?;
        let unnest = Expansion {
            by: ExpandedBy::Function(HostFunction::Unnest),
            arguments: vec![array],
            names: Vec::new(),
            outputs: vec![column],
            is_numbered: false,
        };
        let step = self.expansion_step(&[unnest])?;
        Ok((Plan::Extend { input: Box::new(Plan::One), step: Box::new(step) }, column))
    }

    fn array_literal(&mut self, open: &OpenText, element: DataType, place: Place) -> Result<Expr> {
        if let Some(at) = open.literal {
            return Ok(spread(self.literal_parameter(at, SqlType::Scalar(element.array()))));
        }
        parse_literal(&open.text, element.array(), place).map(spread)
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
        if operands.iter().any(|(value, _)| is_array(value)) {
            return self.array_of_arrays(operands, place);
        }
        let (values, element) = self.unified(operands, "ARRAY", place)?;
        Ok(array_of(values, element))
    }

    fn array_of_arrays(&mut self, parts: Vec<(Operand, Place)>, place: Place) -> Result<Expr> {
        let scalar = parts.iter().find_map(|(part, at)| match part {
            Operand::Typed(Expr { sql_type: SqlType::Scalar(of), .. }) => Some((*of, *at)),
            _ => None,
        });
        let (parts, sql_type) = match scalar {
            Some((of, at)) => {
                let message = format!("ARRAY types array and {of} cannot be matched");
                return Err(error(b"42804", at, message));
            }
            None => self.unified_or_arrays(parts, "ARRAY", place)?,
        };
        let SqlType::Array(element) = sql_type else { return Ok(array_of(parts, DataType::Text)) };
        Ok(nested_array(parts, element))
    }

    /// Operators that programs do not have.
    pub(crate) fn relational_binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
    ) -> Result<Option<Operand>> {
        let sign = match op {
            BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned(),
            BinaryOperator::StringConcat => return self.array_concat(left, right),
            other => Some(other.to_string()),
        };
        let sign = sign.unwrap_or_default();
        if let Some(op) = compare_op(op) {
            for of in ["regtype", "regclass"] {
                if let (Some(own), Some(other)) = (cast_to(left, of), cast_to(right, of)) {
                    // By numbers, whatever they are shown as.
                    let (left, right) = (number_of(own, left), number_of(other, right));
                    return Ok(Some(Operand::Typed(self.comparison(left, op, right)?)));
                }
            }
        }
        if named(&sign).is_empty() {
            return Ok(None);
        }
        let place = place_in(left, self.place);
        let operands = self.operands(&[left, right])?;
        let is_folded =
            |given: &Option<SqlType>| matches!(given, Some(SqlType::Scalar(of)) if of.is_folded());
        let sign = match sign.as_str() {
            // As its letters count the same in either case.
            "~" | "!~" if types_of(&operands).iter().any(is_folded) => sign + "*",
            _ => sign,
        };
        let value = match op {
            BinaryOperator::AtArrow | BinaryOperator::ArrowAt
                if !operands
                    .iter()
                    .any(|(operand, _)| is_array(operand) || range_kind_of(operand).is_some()) =>
            {
                self.json_contains(op, operands)?
            }
            _ => self.named(&sign, operands, place)?,
        };
        Ok(Some(Operand::Typed(value)))
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
            if self.is_procedure && self.stands_alone() {
                return Ok(None); // a call becomes statements of its own
            }
            return self.called(name, function, place);
        };
        if let Evaluation::Syntax(SyntaxForm::MakeInterval) = row.evaluation {
            return Ok(None); // Its arguments may have names.
        }
        let (_, written) = arguments(function, place)?;
        match (row.evaluation, written.as_slice()) {
            (Evaluation::Random(what), _) => self.random_for_rows(what).map(Some),
            (Evaluation::Rows(HostFunction::JsonRecords(JsonRecords::One)), [_, _]) => {
                self.populated_value(function, place)
            }
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
            ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _))
                if !matches!(**element, ast::DataType::Array(_)) =>
            {
                if element.to_string().trim_start_matches("pg_catalog.") == "regtype" {
                    return self.type_names_of(written, place).map(|e| Some(Operand::Typed(e)));
                }
                let names = self.type_names();
                if let Ok(DataType::Composite(of)) = crate::types::data_type(element, names, place)
                    && let Some(rows) = self.cast_to_composites(written, of, place)?
                {
                    return Ok(Some(Operand::Typed(rows)));
                }
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
        if let (ast::Expr::Value(of), "regnamespace") = (bare(written), name.as_str())
            && let ast::Value::SingleQuotedString(named) = &of.value
        {
            let number = super::system::schema_number(self.catalog, named);
            return Ok(Some(Operand::Typed(constant(Value::BigInt(number), DataType::Oid))));
        }
        if let (Some(named), "oid") = (cast_to(written, "regproc"), name.as_str()) {
            let operand = self.operand(named)?;
            let text = cast(self.settle(operand, DataType::Text, place)?, DataType::Text);
            let function = HostFunction::System(SystemFunction::ProcedureOid);
            let number = self.host(function, &[text], SqlType::Scalar(DataType::Oid))?;
            return Ok(Some(Operand::Typed(number)));
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
        self.registered_value(operand, is_class, place)
    }

    /// The number of a relation, which a literal may name.
    pub(crate) fn relation_number(&mut self, operand: Operand, place: Place) -> Result<Expr> {
        match &operand {
            Operand::Unknown(Some(open)) if open.text.parse::<u32>().is_err() => {
                self.registered_value(operand, true, place)
            }
            _ => Ok(cast(self.settle(operand, DataType::Oid, place)?, DataType::Oid)),
        }
    }

    fn registered_value(&mut self, operand: Operand, is_class: bool, place: Place) -> Result<Expr> {
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

    /// `numbers::regtype[]` are the names of types.
    fn type_names_of(&mut self, written: &ast::Expr, place: Place) -> Result<Expr> {
        let operand = self.operand(written)?;
        let numbers = self.array_value(operand, DataType::BigInt, place)?;
        let numbers = array_cast(numbers, DataType::BigInt);
        let function = HostFunction::System(SystemFunction::TypeName);
        self.host(function, &[numbers], SqlType::Array(DataType::Text))
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
                match crate::types::data_type(element, self.type_names(), place) {
                    Ok(of) => of,
                    Err(problem) if !is_known(bare) => return Err(problem),
                    Err(_) => kept_as(bare).unwrap_or(DataType::Text),
                }
            }
            element => crate::types::data_type(element, self.type_names(), place)?,
        };
        if is_empty_list(written) {
            return Ok(Some(Operand::Typed(array_of(Vec::new(), to))));
        }
        if let ast::Expr::Array(list) = bare(written)
            && list.elem.iter().any(is_literal)
            && !list.elem.iter().all(is_literal)
            && !self.has_arrays(list)?
        {
            // Literals are of the type that is written, whatever stands beside them.
            let mut values = Vec::with_capacity(list.elem.len());
            for value in &list.elem {
                let operand = self.operand(value)?;
                let value = self.settle(operand, to, place_in(value, place))?;
                values.push(crate::typing::explicit_cast(value, to, place)?);
            }
            return Ok(Some(Operand::Typed(array_of(values, to))));
        }
        let operand = self.operand(written)?;
        self.cast_to_array(operand, to, place).map(Some)
    }

    /// A written cast to an array of such elements.
    pub(crate) fn cast_to_array(
        &mut self,
        operand: Operand,
        to: DataType,
        place: Place,
    ) -> Result<Operand> {
        if let Operand::Typed(text) = &operand
            && text.sql_type == SqlType::Scalar(DataType::Text)
        {
            let read = if let Some(of) = cut_texts(to) { of } else { to };
            let array = spread(cast(text.clone(), read.array()));
            return Ok(Operand::Typed(explicit_array_cast(array, to)));
        }
        if let (Some(of), Operand::Unknown(Some(_))) = (cut_texts(to), &operand) {
            let array = self.array_value(operand, of, place)?;
            return Ok(Operand::Typed(explicit_array_cast(array, to)));
        }
        let array = self.array_value(operand, to, place)?;
        let from = array.data_type();
        if !is_assignable(from, to, Coercion::Explicit) {
            let message = format!("cannot cast type {from}[] to {to}[]");
            return Err(error(b"42846", place, message));
        }
        Ok(Operand::Typed(explicit_array_cast(array, to)))
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
            Operand::Unknown(Some(open)) => self.array_literal(&open, element, place)?,
            Operand::Unknown(None) => constant_array(Value::Null, element),
            Operand::Typed(expr) if matches!(expr.sql_type, SqlType::Array(_)) => expr,
            Operand::Typed(_) => {
                let message = format!("cannot cast this to {element}[]");
                let hint = "write the array as '{1,2}' or ARRAY[1,2]";
                return Err(error(b"42846", place, message).hint(hint));
            }
        })
    }
}

fn is_literal(written: &ast::Expr) -> bool {
    let ast::Expr::Value(value) = bare(written) else { return false };
    matches!(value.value, ast::Value::SingleQuotedString(_))
}

/// What an expression casts to a type of this name, if it does.
fn cast_to<'e>(written: &'e ast::Expr, name: &str) -> Option<&'e ast::Expr> {
    let ast::Expr::Cast { expr, data_type, .. } = bare(written) else { return None };
    let is_it = match data_type {
        ast::DataType::Regclass => name == "regclass",
        ast::DataType::Custom(of, _) => {
            of.0.last().and_then(|part| part.as_ident()).is_some_and(|last| last.value == name)
        }
        _ => false,
    };
    is_it.then_some(&**expr)
}

/// What a cast to a name of the catalog is as a number: the cast, of a text; else what it casts.
fn number_of<'e>(own: &'e ast::Expr, cast: &'e ast::Expr) -> &'e ast::Expr {
    match bare(own) {
        ast::Expr::Value(_) => cast,
        _ => own,
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
