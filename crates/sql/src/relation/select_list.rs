//! A select list: what each item stands for, and what its column is called.

use hotrow_transaction::catalog::local;
use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast::{self, SelectItem};

use crate::error::{Result, error, place_in, unsupported};
use crate::scope::Compiler;
use crate::star_syntax::starred;
use crate::token::folded;
use crate::typing::for_rows;
use crate::written::{bare, dotted, ident_name, object_name};

impl Compiler<'_> {
    /// The select list.
    pub(crate) fn listed_columns(&mut self, items: &[SelectItem]) -> Result<Vec<(String, Expr)>> {
        let mut columns = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(written) if let Some(root) = starred(written) => {
                    let place = place_in(written, self.place);
                    columns.extend(self.columns_of_star(root, place)?);
                }
                SelectItem::UnnamedExpr(written) => {
                    columns.push((column_name(written), self.row_expr(written)?));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    columns.push((ident_name(alias), self.row_expr(expr)?));
                }
                SelectItem::Wildcard(_) => {
                    if self.level().relations.iter().all(|relation| relation.columns.is_empty()) {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(error(b"42601", place_in(item, self.place), message));
                    }
                    let shown = self.level().shown.clone();
                    self.note_star(item, &shown);
                    self.all_columns(&mut columns, shown)?;
                }
                SelectItem::QualifiedWildcard(kind, _) => {
                    let place = place_in(item, self.place);
                    let names: Vec<String> = match kind {
                        ast::SelectItemQualifiedWildcardKind::ObjectName(name) => {
                            let parts = name.0.iter().filter_map(|part| part.as_ident());
                            parts.map(ident_name).collect()
                        }
                        ast::SelectItemQualifiedWildcardKind::Expr(_) => Vec::new(),
                    };
                    let name = names.last().cloned().unwrap_or_default();
                    let relations = &self.level().relations;
                    let Some(at) = relations.iter().position(|known| known.name == name) else {
                        if let Some(fields) = self.star_of_variable(&names) {
                            let shown = fields.into_iter();
                            columns.extend(shown.map(|(name, value)| (name, for_rows(value))));
                            continue;
                        }
                        let message = format!("missing FROM-clause entry for table \"{name}\"");
                        return Err(error(b"42P01", place, message));
                    };
                    let own = relations[at].starred();
                    let own: Vec<_> = own.into_iter().map(|column| (at, column)).collect();
                    self.note_star(item, &own);
                    self.all_columns(&mut columns, own)?;
                }
                other => {
                    let place = place_in(other, self.place);
                    return Err(unsupported(place, "this select item", "name one column each"));
                }
            }
        }
        Ok(columns)
    }

    fn all_columns(
        &mut self,
        columns: &mut Vec<(String, Expr)>,
        shown: Vec<(usize, usize)>,
    ) -> Result<()> {
        let depth = self.levels.len() - 1;
        for (relation, column) in shown {
            let name = self.levels[depth].relations[relation].columns[column].name.clone();
            self.need_column(depth, relation, column)?;
            columns.push((name, for_rows(self.slot_of_column(depth, relation, column)?)));
        }
        Ok(())
    }
}

/// The name PostgreSQL gives a column without AS.
pub(crate) fn column_name(written: &ast::Expr) -> String {
    match written {
        ast::Expr::Identifier(ident) => folded(&ident.value, ident.quote_style.is_some()),
        ast::Expr::CompoundIdentifier(idents) => dotted(idents).pop().unwrap_or_default(),
        ast::Expr::Function(function) => local(&crate::written::function_name(function)).to_owned(),
        ast::Expr::Nested(inner) => column_name(inner),
        ast::Expr::AtTimeZone { .. } => "timezone".to_owned(),
        ast::Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                ast::AccessExpr::Dot(ast::Expr::Identifier(name)) => Some(ident_name(name)),
                _ => None,
            });
            field.unwrap_or_else(|| column_name(root))
        }
        ast::Expr::Array(_) => "array".to_owned(),
        ast::Expr::Tuple(_) => "row".to_owned(),
        ast::Expr::Cast { expr: inner, data_type, .. } => {
            let own = column_name(inner);
            // The name of a type gives way to that of another one around it.
            let is_weak = matches!(own.as_str(), "?column?" | "case")
                || matches!(bare(inner), ast::Expr::Cast { .. } | ast::Expr::TypedString(_));
            match is_weak {
                true => type_name(data_type).unwrap_or(own),
                false => own,
            }
        }
        ast::Expr::TypedString(literal) => {
            type_name(&literal.data_type).unwrap_or_else(|| "?column?".to_owned())
        }
        ast::Expr::Exists { negated: false, .. } => "exists".to_owned(),
        ast::Expr::Subquery(query) => first_column_name(&query.body),
        ast::Expr::Case { else_result: Some(last), .. } => match column_name(last) {
            unnamed if unnamed == "?column?" => "case".to_owned(),
            named => named,
        },
        ast::Expr::Case { .. } => "case".to_owned(),
        ast::Expr::Interval(_) => "interval".to_owned(),
        ast::Expr::Extract { .. } => "extract".to_owned(),
        ast::Expr::Substring { shorthand: true, .. } => "substr".to_owned(),
        ast::Expr::Substring { .. } => "substring".to_owned(),
        ast::Expr::Overlay { .. } => "overlay".to_owned(),
        ast::Expr::Trim { trim_where, .. } => match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim".to_owned(),
            Some(ast::TrimWhereField::Trailing) => "rtrim".to_owned(),
            _ => "btrim".to_owned(),
        },
        ast::Expr::Position { .. } => "position".to_owned(),
        ast::Expr::Ceil { .. } => "ceil".to_owned(),
        ast::Expr::Floor { .. } => "floor".to_owned(),
        _ => "?column?".to_owned(),
    }
}

/// The name of a query's first column, as far as its text tells it.
fn first_column_name(body: &ast::SetExpr) -> String {
    let item = match body {
        ast::SetExpr::Select(select) => select.projection.first(),
        ast::SetExpr::Query(query) => return first_column_name(&query.body),
        ast::SetExpr::SetOperation { left, .. } => return first_column_name(left),
        ast::SetExpr::Values(_) => return "column1".to_owned(),
        _ => None,
    };
    match item {
        Some(ast::SelectItem::UnnamedExpr(written)) => column_name(written),
        Some(ast::SelectItem::ExprWithAlias { alias, .. }) => {
            folded(&alias.value, alias.quote_style.is_some())
        }
        _ => "?column?".to_owned(),
    }
}

/// PostgreSQL's own name of a type, which a cast column without another name has.
fn type_name(written: &ast::DataType) -> Option<String> {
    match written {
        ast::DataType::Custom(name, _) => {
            object_name(name, Place::default()).ok().map(|name| local(&name).to_owned())
        }
        ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(element, _)) => {
            type_name(element)
        }
        scalar => {
            let of = crate::types::built_in(scalar, Place::default()).ok()?;
            Some(super::system::short_name(of).to_owned())
        }
    }
}
