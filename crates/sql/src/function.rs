//! Scalar functions: names and arguments to [`Function`], with the types PostgreSQL gives them.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::HostFunction;
use hotrow_transaction::program::{ArithmeticOp, Expr, ExprKind, Function, NOW, Place};
use hotrow_transaction::random::Randomness;
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, unknown_function, unsupported};
use crate::operand::{Arguments, Operand};
use crate::operator::numbers;
use crate::scope::Compiler;
use crate::typing::{Coercion, call, cast, comparable, constant, integer, scalar};
use crate::written::{arguments, function_name};

/// Functions that would not give the same result when a call is replayed from the log.
const NOT_REPLAYABLE: &[&str] = &[
    "nextval",
    "currval",
    "setval",
    "lastval",
    "timeofday",
    "txid_current",
    "pg_backend_pid",
    "random_normal",
];

/// Text functions: name, function, smallest and largest number of arguments, the types of the
/// arguments after the first, which is text, and the result's.
type TextFunction = (&'static str, Function, usize, usize, &'static [DataType], DataType);
const TEXT: &[TextFunction] = &[
    ("length", Function::Length, 1, 1, &[], DataType::Integer),
    ("char_length", Function::Length, 1, 1, &[], DataType::Integer),
    ("character_length", Function::Length, 1, 1, &[], DataType::Integer),
    ("lower", Function::Lower, 1, 1, &[], DataType::Text),
    ("upper", Function::Upper, 1, 1, &[], DataType::Text),
    ("substring", Function::Substring, 2, 3, &[DataType::Integer; 2], DataType::Text),
    ("substr", Function::Substring, 2, 3, &[DataType::Integer; 2], DataType::Text),
    ("left", Function::Left, 2, 2, &[DataType::Integer], DataType::Text),
    ("right", Function::Right, 2, 2, &[DataType::Integer], DataType::Text),
    ("strpos", Function::Position, 2, 2, &[DataType::Text], DataType::Integer),
    ("btrim", Function::Trim, 1, 2, &[DataType::Text], DataType::Text),
    ("trim", Function::Trim, 1, 2, &[DataType::Text], DataType::Text),
    ("ltrim", Function::LTrim, 1, 2, &[DataType::Text], DataType::Text),
    ("rtrim", Function::RTrim, 1, 2, &[DataType::Text], DataType::Text),
    ("lpad", Function::LPad, 2, 3, &[DataType::Integer, DataType::Text], DataType::Text),
    ("rpad", Function::RPad, 2, 3, &[DataType::Integer, DataType::Text], DataType::Text),
    ("replace", Function::Replace, 3, 3, &[DataType::Text; 2], DataType::Text),
    ("repeat", Function::Repeat, 2, 2, &[DataType::Integer], DataType::Text),
    ("reverse", Function::Reverse, 1, 1, &[], DataType::Text),
];

/// Functions of doubles.
const DOUBLES: &[(&str, Function, usize)] = &[
    ("sqrt", Function::Sqrt, 1),
    ("exp", Function::Exp, 1),
    ("ln", Function::Ln, 1),
    ("power", Function::Power, 2),
    ("pow", Function::Power, 2),
];

/// What a function draws.
pub(crate) fn random_function(name: &str) -> Option<Randomness> {
    Some(match name {
        "random" => Randomness::Double,
        "gen_random_uuid" | "uuid_generate_v4" => Randomness::Uuid,
        "uuidv7" => Randomness::OrderedUuid,
        _ => return None,
    })
}

impl Compiler<'_> {
    /// The call's time, for names that need no brackets.
    pub(crate) fn time_keyword(&self, name: &str) -> Option<Expr> {
        let now = self.slot_expr(NOW);
        Some(match name {
            // Time is decided once per call, and logged with it: the clock that goes on while a
            // call runs would show another time when it is replayed.
            "current_timestamp"
            | "now"
            | "transaction_timestamp"
            | "statement_timestamp"
            | "clock_timestamp" => now,
            "localtimestamp" => cast(now, DataType::Timestamp),
            "current_date" => cast(now, DataType::Date),
            _ => return None,
        })
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
            E::Function(function) => self.function(function, place)?,
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
            E::AtTimeZone { .. } => {
                return Err(unsupported(place, "AT TIME ZONE", "all times are UTC: leave it out"));
            }
            E::SimilarTo { .. } | E::RLike { .. } => {
                return Err(unsupported(place, "a regular expression", "use LIKE"));
            }
            E::Like { .. } | E::ILike { .. } => {
                return Err(unsupported(place, "LIKE ANY", "write one LIKE per pattern"));
            }
            E::Tuple(_) => {
                return Err(unsupported(place, "a row as a value", "compare column by column"));
            }
            other => {
                let text = other.to_string();
                let short: String = text.chars().take(40).collect();
                return Err(unsupported(
                    place,
                    format!("expression {short}"),
                    "docs/plpgsql-subset.md lists what expressions may hold",
                ));
            }
        };
        Ok(Operand::Typed(typed))
    }

    pub(crate) fn operands(&mut self, written: &[&ast::Expr]) -> Result<Arguments> {
        written.iter().map(|e| Ok((self.operand(e)?, place_in(*e, self.place)))).collect()
    }

    fn function(&mut self, function: &ast::Function, place: Place) -> Result<Expr> {
        let name = function_name(function);
        if let Some(drawn) = self.drawn_by(&name, function, place)? {
            return Ok(drawn);
        }
        if let Some(expr) = self.relational_function(function, place)? {
            return Ok(expr);
        }
        if function.filter.is_some() || !function.within_group.is_empty() {
            return Err(unsupported(place, "FILTER or WITHIN GROUP", "use WHERE"));
        }
        if name == "setseed" {
            let hint = "random values are drawn from a seed of each call: leave it out";
            return Err(unsupported(place, "function setseed()", hint));
        }
        if NOT_REPLAYABLE.contains(&name.as_str()) {
            return Err(unsupported(
                place,
                format!("function {name}()"),
                "a procedure must do the same when it is replayed from the log: pass the value as \
                 a parameter (for time, now() is decided once per call)",
            ));
        }
        if name == "make_interval" {
            return self.make_interval(function, place);
        }
        if !is_known(&name)
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
        match (name.as_str(), written.as_slice()) {
            ("array_length" | "array_upper" | "cardinality", [array, ..]) => {
                return self.array_function(&name, array, &written, place);
            }
            ("extract" | "date_part", [field, value]) => {
                if let ast::Expr::Value(field) = field
                    && let ast::Value::SingleQuotedString(field) = &field.value
                {
                    return self.extract(field, value, place);
                }
            }
            ("date_trunc", [unit, value]) => return self.date_trunc(unit, value, place),
            _ => {
                if let Some(changed) = self.json_change(&name, &written, place)? {
                    return Ok(changed);
                }
            }
        }
        let arguments = match name.as_str() {
            "coalesce" => self.operands_of_coalesce(&written)?,
            _ => self.operands(&written)?,
        };
        self.named(&name, arguments, place)
    }

    /// What is drawn once, before the statement; none: it is another function, or one of many rows.
    fn drawn_by(
        &mut self,
        name: &str,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let draws_once = self.draws_once && self.levels.len() == 1; // no row of a subquery
        if name == "nextval" && (self.may_draw() || draws_once && !self.ad_hoc) {
            let sequence = self.sequence_in(function, place)?;
            let number =
                |this: &mut Self| this.next_number(sequence, place, || "a number".to_owned());
            return self.computed_so_far(number).map(Some);
        }
        if let Some(what) = random_function(name)
            && (self.may_draw() || draws_once || self.is_default)
            && arguments(function, place)?.1.is_empty()
        {
            return self.computed_so_far(|this| this.random(what)).map(Some);
        }
        Ok(None)
    }

    /// Those behind the first one may not be evaluated.
    fn operands_of_coalesce(&mut self, written: &[&ast::Expr]) -> Result<Arguments> {
        let (first, rest) = written.split_at(written.len().min(1));
        let mut arguments = self.operands(first)?;
        arguments.extend(self.conditionally(|this| this.operands(rest))?);
        Ok(arguments)
    }

    fn array_function(
        &mut self,
        name: &str,
        array: &ast::Expr,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<Expr> {
        let (slot, element) = self.array(array)?;
        if name == "cardinality" {
            let array = Expr { kind: ExprKind::Slot(slot), sql_type: SqlType::Array(element) };
            return Ok(call(Function::Cardinality, vec![array], DataType::Integer));
        }
        let first_dimension = matches!(
            written.get(1),
            Some(ast::Expr::Value(v)) if matches!(&v.value, ast::Value::Number(n, _) if n == "1")
        );
        if written.len() != 2 || !first_dimension {
            return Err(unsupported(
                place,
                format!("{name} of another dimension than 1"),
                format!("write {name}(a, 1) or cardinality(a)"),
            ));
        }
        Ok(scalar(ExprKind::ArrayLength(slot), DataType::Integer))
    }

    /// Functions called in the ordinary way.
    pub(crate) fn named(&mut self, name: &str, arguments: Arguments, place: Place) -> Result<Expr> {
        if let Some(row) = TEXT.iter().find(|row| row.0 == name)
            && (row.2..=row.3).contains(&arguments.len())
        {
            return self.text_function(row.1, row.4, row.5, name, arguments);
        }
        if let Some((_, function, count)) = DOUBLES.iter().find(|row| row.0 == name)
            && arguments.len() == *count
        {
            let arguments = self.converted(arguments, name, &[DataType::Double; 2])?;
            return Ok(call(*function, arguments, DataType::Double));
        }
        if name.contains("json") {
            let found = self.json_function(name, arguments, place)?;
            return found.ok_or_else(|| unknown_function(name, place));
        }
        if arguments.is_empty()
            && let Some(expr) = self.time_keyword(name)
        {
            return Ok(expr);
        }
        match (name, arguments.len()) {
            ("coalesce", 1..) => {
                let (values, sql_type) = self.unified_or_arrays(arguments, "COALESCE", place)?;
                if let SqlType::Array(_) = sql_type {
                    return self.host(HostFunction::ArrayCoalesce, &values, sql_type);
                }
                Ok(Expr { kind: ExprKind::Coalesce(values), sql_type })
            }
            ("greatest", 1..) => self.extreme(Function::Greatest, "GREATEST", arguments, place),
            ("least", 1..) => self.extreme(Function::Least, "LEAST", arguments, place),
            ("nullif", 2) => {
                let (values, data_type) = self.unified(arguments, "NULLIF", place)?;
                comparable(data_type, "=", place)?;
                Ok(call(Function::NullIf, values, data_type))
            }
            ("concat", 1..) => {
                let mut texts = Vec::new();
                for (operand, place) in arguments {
                    let expr = self.settle(operand, DataType::Text, place)?;
                    self.scalar_type(&expr, place)?;
                    texts.push(cast(expr, DataType::Text));
                }
                Ok(call(Function::Concat, texts, DataType::Text))
            }
            ("format", 1..) => {
                let mut texts = Vec::new();
                for (operand, place) in arguments {
                    texts.push(self.as_shown(operand, place)?);
                }
                Ok(call(Function::Format, texts, DataType::Text))
            }
            ("justify_hours" | "justify_days" | "justify_interval", 1) | ("age", 1 | 2) => {
                self.interval_function(name, arguments, place)
            }
            ("octet_length", 1) => self.octet_length(arguments, place),
            ("mod", 2) => {
                let mut numbers_ = self.numbers_of(arguments, name)?;
                match (numbers_.pop(), numbers_.pop()) {
                    (Some(right), Some(left)) => numbers(ArithmeticOp::Modulo, left, right, place),
                    _ => Err(unknown_function(name, place)),
                }
            }
            ("abs" | "sign" | "ceil" | "ceiling" | "floor", 1) | ("round" | "trunc", 1 | 2) => {
                self.rounding_function(name, arguments, place)
            }
            _ => Err(unknown_function(name, place)),
        }
    }

    /// A value as the text that clients are shown.
    fn as_shown(&mut self, operand: Operand, place: Place) -> Result<Expr> {
        let expr = self.settle(operand, DataType::Text, place)?;
        if self.scalar_type(&expr, place)? != DataType::Boolean {
            return Ok(cast(expr, DataType::Text));
        }
        let letter = |letter: &str| constant(Value::Text(letter.to_owned()), DataType::Text);
        let is_false = scalar(ExprKind::Not(Box::new(expr.clone())), DataType::Boolean);
        let arms = vec![(expr, letter("t")), (is_false, letter("f"))];
        Ok(scalar(ExprKind::Case { arms, otherwise: None }, DataType::Text))
    }

    fn extreme(
        &mut self,
        function: Function,
        name: &str,
        arguments: Arguments,
        place: Place,
    ) -> Result<Expr> {
        let (values, data_type) = self.unified(arguments, name, place)?;
        comparable(data_type, "<", place)?;
        Ok(call(function, values, data_type))
    }

    pub(crate) fn converted(
        &mut self,
        arguments: Arguments,
        name: &str,
        types: &[DataType],
    ) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        for ((operand, place), to) in arguments.into_iter().zip(types) {
            let expr = self.settle(operand, *to, place)?;
            let from = self.scalar_type(&expr, place)?;
            let fits = from == *to
                || from.is_text() && to.is_text()
                || from.is_integer() && to.is_integer()
                || from.is_number() && *to == DataType::Double;
            if !fits {
                return Err(error(
                    b"42883",
                    place,
                    format!("function {name} does not take {from} here, but {to}"),
                )
                .hint("You might need to add explicit type casts."));
            }
            all.push(cast(expr, *to));
        }
        Ok(all)
    }

    fn text_function(
        &mut self,
        function: Function,
        types: &[DataType],
        result: DataType,
        name: &str,
        arguments: Arguments,
    ) -> Result<Expr> {
        let mut all = vec![DataType::Text];
        all.extend_from_slice(types);
        // length(bytea) counts bytes
        if function == Function::Length
            && let Some((Operand::Typed(expr), place)) = arguments.first()
            && expr.sql_type == SqlType::Scalar(DataType::Bytea)
        {
            let place = *place;
            return self.octet_length(arguments, place);
        }
        let arguments = self.converted(arguments, name, &all)?;
        Ok(call(function, arguments, result))
    }

    fn octet_length(&mut self, mut arguments: Arguments, place: Place) -> Result<Expr> {
        let Some((operand, at)) = arguments.pop() else {
            return Err(unknown_function("octet_length", place));
        };
        let expr = self.settle(operand, DataType::Text, at)?;
        let data_type = self.scalar_type(&expr, at)?;
        if data_type != DataType::Bytea && !data_type.is_text() {
            return Err(error(b"42883", at, format!("octet_length does not take {data_type}")));
        }
        Ok(call(Function::OctetLength, vec![expr], DataType::Integer))
    }

    /// A number of rows: LIMIT, OFFSET.
    pub(crate) fn row_count(&mut self, written: &ast::Expr, clause: &str) -> Result<Expr> {
        self.value_for(written, DataType::BigInt, Coercion::Assignment, || {
            format!("argument of {clause}")
        })
    }
}

/// Whether a function of this name is one of the database's own, for programs.
fn is_known(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "abs",
        "age",
        "array_length",
        "array_upper",
        "cardinality",
        "ceil",
        "ceiling",
        "coalesce",
        "concat",
        "date_part",
        "date_trunc",
        "extract",
        "floor",
        "greatest",
        "justify_days",
        "justify_hours",
        "justify_interval",
        "least",
        "mod",
        "now",
        "nullif",
        "octet_length",
        "round",
        "sign",
        "trunc",
    ];
    OTHERS.contains(&name)
        || TEXT.iter().any(|row| row.0 == name)
        || DOUBLES.iter().any(|row| row.0 == name)
}
