//! Subscripts as they are written: `[i][j]`, `[1:2][3]`, `[:2]`.
//!
//! Role         says whether they lead to an element or to a slice, of which each dimension has two
//!              bounds then: `a[1:2][3]` is `a[1:2][1:3]`. A bound that is not written is a name
//!              that nobody else has, as a statement is written in terms of statements here

use hotrow_base::shape::DIMENSIONS_MAX;
use hotrow_transaction::program::Place;
use sqlparser::ast::{self, AccessExpr, Ident, Subscript};

use crate::error::{Result, error, syntax};

/// The name of a bound that is not written.
const NO_BOUND: &str = "\u{3}";

/// Where subscripts lead.
#[derive(Clone, Debug)]
pub(crate) struct Subscripts {
    /// what stands between the brackets: one each of an element, two of a slice
    pub(crate) bounds: Vec<ast::Expr>,
    pub(crate) is_slice: bool,
}

impl Subscripts {
    /// Those of a chain that has nothing else; none: it has.
    pub(crate) fn of_chain(chain: &[AccessExpr], place: Place) -> Result<Option<Self>> {
        let subscript = |access: &AccessExpr| match access {
            AccessExpr::Subscript(subscript) => Some(subscript.clone()),
            AccessExpr::Dot(_) => None,
        };
        let all: Option<Vec<_>> = chain.iter().map(subscript).collect();
        all.filter(|all| !all.is_empty()).map(|all| Self::new(all, place)).transpose()
    }

    fn new(all: Vec<Subscript>, place: Place) -> Result<Self> {
        let count = all.len();
        if count > DIMENSIONS_MAX {
            let message = format!(
                "number of array dimensions ({count}) exceeds the maximum allowed \
                 ({DIMENSIONS_MAX})"
            );
            return Err(error(b"54000", place, message));
        }
        let is_slice = all.iter().any(is_slice);
        let mut bounds = Vec::with_capacity(2 * count);
        let or_none = |bound: Option<ast::Expr>| bound.unwrap_or_else(no_bound);
        for subscript in all {
            match subscript {
                Subscript::Index { index } if is_slice => {
                    bounds.extend([ast::Expr::value(ast::Value::Number("1".into(), false)), index]);
                }
                Subscript::Index { index } => bounds.push(index),
                Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                    bounds.extend([or_none(lower_bound), or_none(upper_bound)]);
                }
                Subscript::Slice { .. } => return Err(syntax(place, "a slice has two bounds")),
            }
        }
        Ok(Self { bounds, is_slice })
    }
}

/// Whether a subscript has a colon.
pub(crate) const fn is_slice(subscript: &Subscript) -> bool {
    matches!(subscript, Subscript::Slice { .. })
}

fn no_bound() -> ast::Expr {
    ast::Expr::Identifier(Ident::with_quote('"', NO_BOUND))
}

/// Whether this stands for a bound that is not written.
pub(crate) fn is_no_bound(written: &ast::Expr) -> bool {
    matches!(written, ast::Expr::Identifier(name) if name.value == NO_BOUND)
}
