//! What the compiler writes for num_nulls and num_nonnulls, enum_first, enum_last and enum_range.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{ArithmeticOp, Expr, ExprKind, Place};

use crate::error::Result;
use crate::functions::{Labels, no_function};
use crate::operand::{Operand, types_of};
use crate::operator::numbers;
use crate::scope::Compiler;
use crate::typing::{cast, constant, integer, scalar, spread};

impl Compiler<'_> {
    /// num_nulls, num_nonnulls
    pub(crate) fn count_nulls(
        &mut self,
        arguments: Vec<(Operand, Place)>,
        is_null: bool,
    ) -> Result<Expr> {
        let mut count = integer(0);
        for (operand, place) in arguments {
            let value = self.as_shown(operand, place)?;
            let null = scalar(ExprKind::IsNull(Box::new(value)), DataType::Boolean);
            let (yes, no) = if is_null { (1, 0) } else { (0, 1) };
            let (arms, otherwise) = (vec![(null, integer(yes))], Some(Box::new(integer(no))));
            let one = scalar(ExprKind::Case { arms, otherwise }, DataType::Integer);
            count = numbers(ArithmeticOp::Add, count, one, place)?;
        }
        Ok(count)
    }
}

/// enum_first, enum_last, enum_range: of the type of what is given, or 42883.
pub(crate) fn labels_given(
    name: &str,
    which: Labels,
    arguments: &[(Operand, Place)],
    place: Place,
) -> Result<Expr> {
    let given = types_of(arguments);
    let Some(Some(SqlType::Scalar(data_type @ DataType::Enum(of)))) = given.first().copied() else {
        return Err(no_function(name, &given, place));
    };
    let text = |text: String| constant(Value::Text(text), DataType::Text);
    let labels = of.labels();
    Ok(match which {
        Labels::First | Labels::Last => {
            let label = if which == Labels::First { labels.first() } else { labels.last() };
            cast(text(label.map_or(String::new(), |label| label.to_string())), data_type)
        }
        Labels::All => {
            let quote = |label: &str| label.replace('\\', "\\\\").replace('"', "\\\"");
            let quoted = labels.iter().map(|label| format!("\"{}\"", quote(label)));
            let all = format!("{{{}}}", quoted.collect::<Vec<_>>().join(","));
            spread(cast(text(all), data_type.array()))
        }
    })
}
