//! `*` in the query of a view: the columns that it stands for when the view is made.
//!
//! Role         the compiler notes what each `*` stands for, by where it is written; the view's
//!              text is kept with these columns in its place, so that a column which comes later
//!              changes no view
//! Source       PostgreSQL 15, "CREATE VIEW", whose views keep their queries as trees

use std::ops::ControlFlow;

use hotrow_base::quote::identifier;
use sqlparser::ast::{self, Ident, SelectItem, SetExpr, VisitMut, VisitorMut};
use sqlparser::tokenizer::Location;

use crate::scope::Compiler;
use crate::state::WrittenStar;

impl Compiler<'_> {
    /// Notes what a `*` stands for, if a view is made.
    pub(crate) fn note_star(&mut self, item: &SelectItem, shown: &[(usize, usize)]) {
        if self.stars.is_none() {
            return;
        }
        let relations = &self.level().relations;
        let is_merged = |name: &str| {
            let mut all = relations.iter().flat_map(|relation| &relation.columns);
            all.any(|column| column.hidden && column.name == name)
        };
        let columns = shown.iter().map(|(relation, column)| {
            let relation = &relations[*relation];
            let name = &relation.columns[*column].name;
            match relation.name.is_empty() || is_merged(name) {
                true => ast::Expr::Identifier(ident(name)),
                false => ast::Expr::CompoundIdentifier(vec![ident(&relation.name), ident(name)]),
            }
        });
        let columns = columns.collect();
        if let (Some(at), Some(stars)) = (place_of_star(item), &mut self.stars) {
            stars.push((at, columns));
        }
    }
}

/// A name as it is written.
fn ident(name: &str) -> Ident {
    match identifier(name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    }
}

fn place_of_star(item: &SelectItem) -> Option<Location> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
            Some(options.wildcard_token.0.span.start)
        }
        _ => None,
    }
}

/// A query with columns in place of each `*` that is known.
pub(crate) fn with_columns(query: &ast::Query, stars: &[WrittenStar]) -> Box<ast::Query> {
    let mut query = Box::new(query.clone());
    if !stars.is_empty() {
        let _ = query.visit(&mut Expansion { stars });
    }
    query
}

struct Expansion<'s> {
    stars: &'s [WrittenStar],
}

impl VisitorMut for Expansion<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        self.expand(&mut query.body);
        ControlFlow::Continue(())
    }
}

impl Expansion<'_> {
    fn expand(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => {
                let items = std::mem::take(&mut select.projection);
                select.projection = items.into_iter().flat_map(|item| self.columns(item)).collect();
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.expand(left);
                self.expand(right);
            }
            _ => {}
        }
    }

    /// What stands in place of an item.
    fn columns(&self, item: SelectItem) -> Vec<SelectItem> {
        let known = place_of_star(&item)
            .and_then(|at| self.stars.iter().rev().find(|(known, _)| *known == at));
        match known {
            Some((_, columns)) => columns.iter().cloned().map(SelectItem::UnnamedExpr).collect(),
            None => vec![item],
        }
    }
}
