//! The query of a view as its reader has to write it: what his path does not lead to is named with
//! its schema. `pg_dump` reads with an empty path, so that its text means the same everywhere. And
//! what a view names, which has to be there before it.

use hotrow_base::quote::identifier as quoted;
use std::ops::ControlFlow;

use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Object, PUBLIC, SearchPath, View, ViewKind, qualified, split};
use sqlparser::ast::{self, ObjectName, ObjectNamePart, VisitMut, VisitorMut};

use crate::token::folded;
use crate::view::query_of;

use super::cells::{dependency, text};
use super::descriptions::{number_of, number_of_view};
use super::numbers::RULES;
use super::{Fields, SystemContext};

/// A view's query.
pub(super) fn definition_of(context: &SystemContext<'_>, view: &View) -> String {
    let text = read(context, view).map(|(query, _)| query.to_string());
    format!(" {};", text.as_deref().unwrap_or(&view.text))
}

/// Rows of `pg_rewrite`: each view's rule, which gives its rows.
pub(super) fn rules(context: &SystemContext<'_>) -> Vec<Fields> {
    let row = |view: &View| {
        vec![
            ("oid", Value::BigInt(RULES.of(view.id as usize))),
            ("rulename", text("_RETURN")),
            ("ev_class", Value::BigInt(number_of_view(context, view))),
            ("ev_type", text("1")),
            ("ev_enabled", text("O")),
            ("is_instead", Value::Bool(true)),
        ]
    };
    with_rules(context).map(row).collect()
}

/// Rows of `pg_depend`: what views' rules name. Dumps make it before them.
pub(super) fn dependencies(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for view in with_rules(context) {
        let Some((_, named)) = read(context, view) else { continue };
        all.extend(
            named.iter().filter_map(|object| number_of(context, object)).map(|referred| {
                dependency(("pg_rewrite", RULES.of(view.id as usize)), referred, "n")
            }),
        );
    }
    all
}

/// Views and materialized views: the rows of a partition are told by its bounds.
fn with_rules<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c View> {
    let all = context.catalog.views().map(|view| &**view);
    all.filter(|view| matches!(view.kind, ViewKind::Plain | ViewKind::Kept { .. }))
}

/// A view's query with the names that its reader needs, and what it names.
fn read(context: &SystemContext<'_>, view: &View) -> Option<(ast::Query, Vec<Object>)> {
    if view.kind == ViewKind::Partition {
        return None;
    }
    let mut query = query_of(&view.text).ok().flatten()?;
    let mut names = Names { context, path: &view.path, with: Vec::new(), found: Vec::new() };
    let _ = query.visit(&mut names);
    Some((*query, names.found))
}

/// Puts schemas before names.
struct Names<'c> {
    context: &'c SystemContext<'c>,
    /// where the view looks names up
    path: &'c SearchPath,
    /// what WITH names, of the queries around: these are no relations. A name of WITH that means a
    /// table in its own query stays as it is, and is missed where the path does not lead to it.
    with: Vec<Vec<String>>,
    /// what is named
    found: Vec<Object>,
}

impl Names<'_> {
    /// Puts its schema before a name that the reader would not find, or would find elsewhere. Gives
    /// the name with the schema where the view finds it; none: it does not.
    fn qualify(&self, name: &mut ObjectName, is_there: impl Fn(&str) -> bool) -> Option<String> {
        let part = |part: &ObjectNamePart| {
            let name = part.as_ident()?;
            Some(folded(&name.value, name.quote_style.is_some()))
        };
        let own = match name.0.as_slice() {
            [bare] => part(bare)?,
            [schema, bare] => {
                let name = qualified(&part(schema)?, &part(bare)?);
                return is_there(&name).then_some(name);
            }
            _ => return None,
        };
        if self.path.has_temporary(&own) {
            return None;
        }
        let schema = |path: &SearchPath| {
            let found = path.schemas().find(|schema| is_there(&qualified(schema, &own)));
            found.map(str::to_owned)
        };
        let of_view = schema(self.path)?;
        let found = qualified(&of_view, &own);
        if schema(self.context.path).as_ref() != Some(&of_view) {
            let schema = match quoted(&of_view) == of_view {
                true => ast::Ident::new(of_view),
                false => ast::Ident::with_quote('"', of_view),
            };
            name.0.insert(0, ObjectNamePart::Identifier(schema));
        }
        Some(found)
    }

    fn qualify_relation(&mut self, name: &mut ObjectName) {
        if let [ObjectNamePart::Identifier(bare)] = name.0.as_slice() {
            let bare = folded(&bare.value, bare.quote_style.is_some());
            if self.with.iter().flatten().any(|of_with| *of_with == bare) {
                return;
            }
        }
        let catalog = self.context.catalog;
        let is_there =
            |name: &str| catalog.table_named(name).is_some() || catalog.view(name).is_some();
        let Some(name) = self.qualify(name, is_there) else { return };
        let view = catalog.view(&name).map(|view| Object::View(view.id));
        let table = || catalog.table_named(&name).map(|table| Object::Table(table.id));
        self.found.extend(view.or_else(table));
    }

    fn qualify_routine(&mut self, name: &mut ObjectName) {
        let all = &self.context.procedures;
        let named = |name: &str| {
            let (schema, name) = split(name);
            let all = all.iter().filter(|(_, of, _)| of.shown_name() == name);
            let all = all.filter(|(_, of, _)| schema == Some(of.schema()));
            all.map(|(_, of, _)| Object::Function(of.name.as_str().into())).collect::<Vec<_>>()
        };
        let Some(name) = self.qualify(name, |name| !named(name).is_empty()) else { return };
        self.found.extend(named(&name));
    }

    fn qualify_type(&mut self, data_type: &mut ast::DataType) {
        match data_type {
            ast::DataType::Custom(name, _) => {
                let (catalog, path) = (self.context.catalog, self.path);
                let found = self.qualify(name, |name| catalog.type_seen(path, name).is_some());
                self.found.extend(found.map(|name| {
                    let (schema, name) = split(&name);
                    Object::type_in(schema.unwrap_or(PUBLIC), name)
                }));
            }
            ast::DataType::Array(
                ast::ArrayElemTypeDef::SquareBracket(of, _)
                | ast::ArrayElemTypeDef::AngleBracket(of)
                | ast::ArrayElemTypeDef::Parenthesis(of),
            ) => self.qualify_type(of),
            _ => {}
        }
    }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let name =
            |of: &ast::Cte| folded(&of.alias.name.value, of.alias.name.quote_style.is_some());
        self.with.push(tables.map(name).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.with.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<()> {
        match factor {
            ast::TableFactor::Table { name, args: None, .. } => self.qualify_relation(name),
            ast::TableFactor::Table { name, .. } | ast::TableFactor::Function { name, .. } => {
                self.qualify_routine(name);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::Function(call) => self.qualify_routine(&mut call.name),
            ast::Expr::Cast { data_type, .. } => self.qualify_type(data_type),
            ast::Expr::TypedString(typed) => self.qualify_type(&mut typed.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
