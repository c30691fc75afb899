//! Objects of json as rows of FROM, whose columns the query defines: `json_to_record(...) AS r (a
//! integer, b text)`.

use hotrow_base::json::{FieldForm, JsonRecords};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::{HostFunction, Plan};
use hotrow_transaction::program::{Expr, Place, SlotId};
use sqlparser::ast;

use crate::error::{Advice, Result, error};
use crate::functions;
use crate::relation::from::Tree;
use crate::relation::level::{Bound, Expansion};
use crate::scope::Compiler;
use crate::typing::{cast, constant};
use crate::written::ident_name;

/// A column: its name, its type, and the text that it is read from.
type Column = (String, SqlType, SlotId);

const TEXT: DataType = DataType::Text;

impl Compiler<'_> {
    /// Brings the rows of such a function into the innermost level; `before` is where the steps of
    /// its argument begin.
    pub(super) fn bind_records(
        &mut self,
        function: JsonRecords,
        (name, json): (&str, &ast::Expr),
        alias: Option<&ast::TableAlias>,
        place: Place,
    ) -> Result<Tree> {
        let before = self.level().steps.len();
        let of = if name.starts_with("jsonb") { DataType::Jsonb } else { DataType::Json };
        let json = self.fixed_argument(json, SqlType::Scalar(of), place)?;
        if json.sql_type != SqlType::Scalar(of) {
            return Err(functions::no_function(name, &[Some(json.sql_type)], place));
        }
        let columns = self.defined_columns(alias, place)?;
        let mut arguments = vec![json];
        let word = |text: &str| constant(Value::Text(text.to_owned()), TEXT);
        for (name, of, _) in &columns {
            let form = match of {
                SqlType::Array(_) => FieldForm::Array,
                SqlType::Scalar(of) if of.is_json() => FieldForm::Json,
                SqlType::Scalar(_) => FieldForm::Text,
            };
            arguments.extend([word(name), word(form.name())]);
        }
        let texts = columns.iter().map(|(.., text)| *text).collect();
        let function = HostFunction::JsonRecords(function);
        let rows = Expansion {
            function,
            arguments,
            names: Vec::new(),
            outputs: texts,
            is_numbered: false,
        };
        let step = self.expansion_step(&[rows])?;
        let mut plan = Plan::One;
        for earlier in self.level().steps.split_off(before) {
            plan = Plan::Extend { input: Box::new(plan), step: Box::new(earlier) };
        }
        plan = Plan::Extend { input: Box::new(plan), step: Box::new(step) };
        let bound = self.read_columns(plan, columns)?;
        let shown = alias.map_or_else(|| name.to_owned(), |alias| ident_name(&alias.name));
        let relation = self.planned(shown, &[], bound, place)?;
        self.enter(relation, place)
    }

    fn defined_columns(
        &mut self,
        alias: Option<&ast::TableAlias>,
        place: Place,
    ) -> Result<Vec<Column>> {
        let undefined = || {
            let message = "a column definition list is required for functions returning \"record\"";
            error(b"42601", place, message).hint("write AS r (a integer, b text)")
        };
        let defined = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
        if defined.is_empty() {
            return Err(undefined());
        }
        let mut columns = Vec::new();
        for column in defined {
            let of = column.data_type.as_ref().ok_or_else(undefined)?;
            let of = crate::types::sql_type(of, self.type_names(), place)?;
            let text = self.temporary("field", TEXT)?;
            columns.push((ident_name(&column.name), of, text));
        }
        Ok(columns)
    }

    /// Rows with their texts read as what the columns are.
    fn read_columns(&mut self, mut plan: Plan, columns: Vec<Column>) -> Result<Bound> {
        let (mut values, mut slots) = (Vec::<Expr>::new(), Vec::new());
        let mut outputs = Vec::new();
        for (name, of, text) in columns {
            let text = self.slot_expr(text);
            let slot = self.slot(&format!("${name}"), of)?;
            values.push(cast(text, of.packed()));
            slots.push(slot);
            outputs.push((name, slot));
        }
        let scalars = self.scalars(&values)?;
        plan = Plan::Compute { input: Box::new(plan), scalars, outputs: slots };
        Ok(Bound { plan, outputs })
    }
}
