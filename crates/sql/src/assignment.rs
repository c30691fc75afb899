//! What INSERT and UPDATE give to columns.

use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, syntax};
use crate::relation::FoundRow;
use crate::written::{bare, row_values};

/// What a column gets.
#[derive(Clone)]
pub(crate) enum ColumnValue<'q> {
    /// as it is written
    Written(&'q ast::Expr),
    /// one of so many columns of a subquery's row
    Column(&'q ast::Query, usize, usize),
    /// by a query
    Found(Expr),
}

impl ColumnValue<'_> {
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Written(written) if is_default(written))
    }

    pub(crate) fn place(&self, around: Place) -> Place {
        match self {
            Self::Written(written) => place_in(*written, around),
            Self::Column(..) | Self::Found(_) => around,
        }
    }
}

impl FoundRow {
    /// A value of the change; none: it is as it is written.
    pub(crate) fn value(&self, at: usize) -> Option<ColumnValue<'static>> {
        self.values.get(at).cloned().flatten().map(ColumnValue::Found)
    }
}

/// The error of `(a, b) = (1)`.
pub(crate) const OTHER_COUNT: &str = "number of columns does not match number of values";

pub(crate) fn is_default(written: &ast::Expr) -> bool {
    matches!(written, ast::Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Assignments of one column each: `(a, b) = (1, 2)`, `(a, b) = ROW (1, 2)` and
/// `(a, b) = (SELECT 1, 2)` are two of them.
pub(crate) fn one_by_one(
    assignments: &[ast::Assignment],
    place: Place,
) -> Result<Vec<(&ast::ObjectName, ColumnValue<'_>)>> {
    let mut all = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let names = match &assignment.target {
            ast::AssignmentTarget::ColumnName(name) => {
                all.push((name, ColumnValue::Written(&assignment.value)));
                continue;
            }
            ast::AssignmentTarget::Tuple(names) => names,
        };
        let place = place_in(assignment, place);
        let values: Vec<_> = match (bare(&assignment.value), row_values(&assignment.value)) {
            (_, Some(values)) => values.into_iter().map(ColumnValue::Written).collect(),
            (ast::Expr::Subquery(query), _) => {
                (0..names.len()).map(|at| ColumnValue::Column(query, at, names.len())).collect()
            }
            _ => {
                let message = "source for a multiple-column UPDATE item must be a sub-SELECT or \
                               ROW() expression";
                return Err(error(b"0A000", place, message).hint("write a value for each column"));
            }
        };
        if names.len() != values.len() {
            return Err(syntax(place, OTHER_COUNT));
        }
        all.extend(names.iter().zip(values));
    }
    Ok(all)
}
