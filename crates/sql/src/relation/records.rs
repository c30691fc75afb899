//! Objects of json as rows: `json_to_record(...) AS r (a integer, b text)`, whose columns the query
//! defines, and `json_populate_record(NULL::account, ...)`, whose columns a type of rows has.
//!
//! Role         in FROM an operator gives the texts of an object's fields, and says which are
//!              there; elsewhere each field is an expression of its own. What the texts say is read
//!              as what the columns are; a field that is not there has the base row's value

use hotrow_base::json::{FieldForm, JsonFunction, JsonRecords};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::{HostFunction, Plan};
use hotrow_transaction::program::{Expr, ExprKind, Function, Place, ResultColumn, SlotId};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in};
use crate::functions::{self, Evaluation, type_text};
use crate::relation::from::Tree;
use crate::relation::level::{Bound, ExpandedBy, Expansion};
use crate::scope::Compiler;
use crate::syntax::{TypeName, TypeNameKind};
use crate::typing::{call, cast, constant, packed, scalar};
use crate::written::{arguments, bare, function_name, ident_name, row_values};

use super::level::extended;

const TEXT: DataType = DataType::Text;

/// The first argument: the row that an object is laid over.
enum BaseRow {
    /// of a type of rows; its values, unless it is NULL
    Named(Vec<(String, SqlType)>, Option<Vec<Expr>>),
    /// `NULL::record`, `ROW(1, 2)`: the query defines the columns
    Record(Option<Vec<Expr>>),
}

/// A column: its name, its type, and what it has where an object has no such field.
struct RecordColumn {
    name: String,
    of: SqlType,
    otherwise: Option<Expr>,
}

/// A call in FROM.
pub(super) struct RecordCall<'q> {
    pub(super) function: JsonRecords,
    pub(super) name: &'q str,
    pub(super) arguments: &'q [&'q ast::Expr],
    pub(super) alias: Option<&'q ast::TableAlias>,
    pub(super) ordinality: bool,
}

impl Compiler<'_> {
    /// Brings the rows of such a function into the innermost level.
    pub(super) fn bind_records(&mut self, call: &RecordCall<'_>, place: Place) -> Result<Tree> {
        let before = self.level().steps.len();
        let RecordCall { function, name, alias, ordinality, .. } = *call;
        let (base, json) = self.record_arguments(name, call.arguments, place)?;
        let defined = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
        let is_defined = defined.iter().any(|column| column.data_type.is_some());
        if is_defined && ordinality {
            let message = "WITH ORDINALITY cannot be used with a column definition list";
            return Err(error(b"42601", place, message));
        }
        let (columns, aliases) = match base {
            BaseRow::Named(..) if is_defined => {
                let message = "a column definition list is redundant for a function returning a \
                               named composite type";
                return Err(error(b"42601", place, message));
            }
            BaseRow::Named(fields, values) => {
                let aliases = defined.iter().map(|column| ident_name(&column.name)).collect();
                (columns_of(fields, values), aliases)
            }
            BaseRow::Record(None) => {
                (columns_of(self.defined_columns(defined, place)?, None), Vec::new())
            }
            BaseRow::Record(Some(values)) => {
                let wanted = self.defined_columns(defined, place)?;
                numbered_columns(wanted, values, place)?
            }
        };
        let mut arguments = vec![json];
        let (mut texts, mut presences) = (Vec::new(), Vec::new());
        for column in &columns {
            arguments.extend(field_words(column, form_of(column.of)));
            texts.push(self.temporary("field", TEXT)?);
        }
        for column in columns.iter().filter(|column| column.otherwise.is_some()) {
            arguments.extend(field_words(column, FieldForm::Has));
            presences.push(self.temporary("present", DataType::Boolean)?);
        }
        let mut outputs = [texts.as_slice(), &presences].concat();
        let number = match ordinality {
            true => Some(self.temporary("ordinality", DataType::BigInt)?),
            false => None,
        };
        outputs.extend(number);
        let rows = Expansion {
            by: ExpandedBy::Function(HostFunction::JsonRecords(function)),
            arguments,
            names: Vec::new(),
            outputs,
            is_numbered: ordinality,
        };
        let step = self.expansion_step(&[rows])?;
        let mut steps = self.level().steps.split_off(before);
        steps.push(step);
        let plan = extended(Plan::One, steps);
        let mut bound = self.read_columns(plan, columns, (&texts, &presences))?;
        bound.outputs.extend(number.map(|slot| ("ordinality".to_owned(), slot)));
        let shown = alias.map_or_else(|| name.to_owned(), |alias| ident_name(&alias.name));
        let relation = self.planned(shown, &aliases, bound, place)?;
        self.enter(relation, place)
    }

    /// The fields of what `json_populate_record(base, json)` gives, where rows are no rows of FROM;
    /// none: it is another function.
    pub(crate) fn populated_row(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        let name = function_name(function);
        let Ok((_, written)) = arguments(function, place) else { return Ok(None) };
        let row = functions::with_count(&name, written.len());
        let of = row.map(|row| row.evaluation);
        let (Some(Evaluation::Rows(HostFunction::JsonRecords(JsonRecords::One))), [_, _]) =
            (of, written.as_slice())
        else {
            return Ok(None);
        };
        let (base, json) = self.record_arguments(&name, &written, place)?;
        let columns = match base {
            BaseRow::Named(fields, values) => columns_of(fields, values),
            BaseRow::Record(Some(values)) => {
                let numbered =
                    values.iter().zip(1..).map(|(value, at)| (format!("f{at}"), value.sql_type));
                columns_of(numbered.collect(), Some(values))
            }
            BaseRow::Record(None) => {
                let message = format!("could not determine row type for result of {name}");
                return Err(error(b"0A000", place, message)
                    .hint("call it in the FROM clause, AS r (a integer, b text)"));
            }
        };
        let mut fields = Vec::new();
        for column in columns {
            let mut of = |form, gives| {
                let given = std::iter::once(json.clone()).chain(field_words(&column, form));
                self.json_call(JsonFunction::Field, given.collect(), gives)
            };
            let text = of(form_of(column.of), TEXT)?;
            let present = match &column.otherwise {
                Some(_) => Some(of(FieldForm::Has, DataType::Boolean)?),
                None => None,
            };
            fields.push((column.name.clone(), field_value(&column, text, present)));
        }
        Ok(Some(fields))
    }

    /// What `json_populate_record(base, json)` gives, as a value; none: it is another function.
    pub(super) fn populated_value(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let Some(fields) = self.populated_row(function, place)? else { return Ok(None) };
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            let data_type = value.sql_type.packed();
            columns.push(ResultColumn { name, data_type, origin: None });
            values.push(packed(value));
        }
        Ok(Some(self.record_with(&columns, values)))
    }

    /// The base row, and the json that is laid over it.
    fn record_arguments(
        &mut self,
        name: &str,
        written: &[&ast::Expr],
        place: Place,
    ) -> Result<(BaseRow, Expr)> {
        let of = if name.starts_with("jsonb") { DataType::Jsonb } else { DataType::Json };
        let (base, json) = match written {
            [base, json] => (self.base_row(base, name, place)?, json),
            [json] => (BaseRow::Record(None), json),
            _ => return Err(functions::no_function(name, &vec![None; written.len()], place)),
        };
        let operand = self.operand(json)?;
        let json = self.settle(operand, of, place_in(*json, place))?;
        if json.sql_type != SqlType::Scalar(of) {
            let mut given = vec![None; written.len()];
            given[written.len() - 1] = Some(json.sql_type);
            return Err(functions::no_function(name, &given, place));
        }
        Ok((base, json))
    }

    fn base_row(&mut self, written: &ast::Expr, name: &str, place: Place) -> Result<BaseRow> {
        let place = place_in(written, place);
        let written = bare(written);
        if let ast::Expr::Cast { expr, data_type, .. } = written {
            let is_null = is_null(expr);
            let kind = TypeNameKind::Plain(Box::new(data_type.clone()));
            let Some(fields) = self.row_type(&TypeName { place, kind }) else {
                let is_record = data_type.to_string().eq_ignore_ascii_case("record");
                if is_record && is_null {
                    return Ok(BaseRow::Record(None));
                }
                crate::types::sql_type(data_type, self.type_names(), place)?;
                let message = format!("first argument of {name} must be a row type");
                return Err(error(b"42804", place, message));
            };
            if is_null {
                return Ok(BaseRow::Named(fields, None));
            }
            let values = self.cast_row(expr, &fields, &data_type.to_string(), place)?;
            return Ok(BaseRow::Named(fields, Some(values)));
        }
        if let Some(values) = row_values(written) {
            let values = values.into_iter().map(|value| self.expr(value));
            return Ok(BaseRow::Record(Some(values.collect::<Result<_>>()?)));
        }
        if is_null(written) || is_text(written) {
            let message = "could not determine polymorphic type because input has type unknown";
            return Err(error(b"42804", place, message).hint("cast it: NULL::table"));
        }
        if let Some(row) = self.whole_row(written)? {
            let fields = row.iter().map(|(name, value)| (name.clone(), value.sql_type));
            let fields = fields.collect();
            let values = row.into_iter().map(|(_, value)| value).collect();
            return Ok(BaseRow::Named(fields, Some(values)));
        }
        self.expr(written)?;
        let message = format!("first argument of {name} must be a row type");
        Err(error(b"42804", place, message))
    }

    fn defined_columns(
        &mut self,
        defined: &[ast::TableAliasColumnDef],
        place: Place,
    ) -> Result<Vec<(String, SqlType)>> {
        let undefined = || {
            let message = "a column definition list is required for functions returning \"record\"";
            error(b"42601", place, message).hint("write AS r (a integer, b text)")
        };
        if defined.is_empty() {
            return Err(undefined());
        }
        let mut columns = Vec::new();
        for column in defined {
            let of = column.data_type.as_ref().ok_or_else(undefined)?;
            let of = crate::types::sql_type(of, self.type_names(), place)?;
            columns.push((ident_name(&column.name), of));
        }
        Ok(columns)
    }

    /// Rows with their texts read as what the columns are.
    fn read_columns(
        &mut self,
        plan: Plan,
        columns: Vec<RecordColumn>,
        (texts, presences): (&[SlotId], &[SlotId]),
    ) -> Result<Bound> {
        let (mut values, mut slots) = (Vec::<Expr>::new(), Vec::new());
        let (mut outputs, mut presences) = (Vec::new(), presences.iter());
        for (column, text) in columns.into_iter().zip(texts) {
            let text = self.slot_expr(*text);
            let slot = self.slot(&format!("${}", column.name), column.of)?;
            let present = column.otherwise.as_ref().and_then(|_| presences.next());
            let present = present.map(|slot| self.slot_expr(*slot));
            values.push(field_value(&column, text, present));
            slots.push(slot);
            outputs.push((column.name, slot));
        }
        let scalars = self.scalars(&values)?;
        let plan = Plan::Compute { input: Box::new(plan), scalars, outputs: slots };
        Ok(Bound { plan, outputs })
    }
}

fn is_null(written: &ast::Expr) -> bool {
    matches!(bare(written), ast::Expr::Value(value) if matches!(value.value, ast::Value::Null))
}

fn is_text(written: &ast::Expr) -> bool {
    let ast::Expr::Value(value) = bare(written) else { return false };
    matches!(value.value, ast::Value::SingleQuotedString(_))
}

/// The columns over `ROW(1, 'a')`, whose names are f1 and f2, and what the query calls them.
fn numbered_columns(
    wanted: Vec<(String, SqlType)>,
    values: Vec<Expr>,
    place: Place,
) -> Result<(Vec<RecordColumn>, Vec<String>)> {
    let other = |detail: String| {
        let message = "function return row and query-specified return row do not match";
        error(b"42804", place, message).detail(detail)
    };
    if wanted.len() != values.len() {
        let (has, wants) = (values.len(), wanted.len());
        let s = if has == 1 { "" } else { "s" };
        let detail =
            format!("Returned row contains {has} attribute{s}, but query expects {wants}.");
        return Err(other(detail));
    }
    let (mut columns, mut names) = (Vec::new(), Vec::new());
    for ((name, of), (value, at)) in wanted.into_iter().zip(values.into_iter().zip(1..)) {
        let (has, wants) = (type_text(value.sql_type.spread()), type_text(of.spread()));
        if has != wants {
            let detail =
                format!("Returned type {has} at ordinal position {at}, but query expects {wants}.");
            return Err(other(detail));
        }
        columns.push(RecordColumn {
            name: format!("f{at}"),
            of: of.spread(),
            otherwise: Some(value),
        });
        names.push(name);
    }
    Ok((columns, names))
}

/// Columns with the values of the base row, if it has any.
fn columns_of(fields: Vec<(String, SqlType)>, values: Option<Vec<Expr>>) -> Vec<RecordColumn> {
    let mut values = values.into_iter().flatten();
    let column = |(name, of): (String, SqlType)| {
        let otherwise = values.next();
        RecordColumn { name, of: of.spread(), otherwise }
    };
    fields.into_iter().map(column).collect()
}

/// What a field has to become, so that a cast reads it as a value of this type.
fn form_of(of: SqlType) -> FieldForm {
    match of {
        of if is_populated(of) => FieldForm::Json,
        SqlType::Array(element) if element.is_json() => FieldForm::JsonArray,
        SqlType::Array(_) => FieldForm::Array,
        SqlType::Scalar(of) if of.is_json() => FieldForm::Json,
        SqlType::Scalar(_) => FieldForm::Text,
    }
}

/// Whether a value has rows in it, whose fields have types of their own.
const fn is_populated(of: SqlType) -> bool {
    matches!(of, SqlType::Scalar(DataType::Composite(_)) | SqlType::Array(DataType::Composite(_)))
}

/// A field's name and its form, as arguments.
fn field_words(column: &RecordColumn, form: FieldForm) -> [Expr; 2] {
    [column.name.as_str(), form.name()].map(|word| constant(Value::Text(word.to_owned()), TEXT))
}

/// The value of a column: what the text says, or, of a field that is not there, the base row's.
fn field_value(column: &RecordColumn, text: Expr, present: Option<Expr>) -> Expr {
    let of = column.of.packed();
    let value = match is_populated(column.of) {
        true => {
            let given = [text].into_iter().chain(column.otherwise.clone().map(packed)).collect();
            call(Function::Json(JsonFunction::Populate), given, of)
        }
        false => cast(text, of),
    };
    let (Some(present), Some(otherwise)) = (present, &column.otherwise) else { return value };
    let otherwise = Some(Box::new(cast(otherwise.clone(), of)));
    scalar(ExprKind::Case { arms: vec![(present, value)], otherwise }, of)
}
