//! Views: CREATE VIEW, and a view that FROM names.
//!
//! Role         a view is the text of its query, compiled where it is named as a subquery would be
//! Invariants   I1 every view compiles for the catalog in force: a definition that one would not
//!                 survive is refused, or takes the view with it (CASCADE)
//!              I2 a view has the columns that it was made with: `*` is replaced by columns when a
//!                 view is made ([`crate::view_stars`])
//!              I3 a view sees nothing of the query that names it, and nests no deeper than
//!                 subqueries may

use std::collections::BTreeSet;
use std::sync::Arc;

use hotrow_base::conventions::Conventions;
use hotrow_base::types::SqlType;
use hotrow_transaction::catalog::{
    Catalog, PUBLIC, SearchPath, View, ViewCheck, ViewKind, local, qualified, query_name, split,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::options_of;
use crate::apply::apply;
use crate::changes::{CatalogChange, is_there, left_out};
use crate::compile::compile;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::materialized::rows_of;
use crate::mention::may_name;
use crate::scope::Compiler;
use crate::script::parse_script;
use crate::script_statement::ScriptStatement;
use crate::state::ProcedureNames;
use crate::syntax::Syntax;
use crate::temporary::is_temporary_view;
use crate::token::{folded, quoted};
use crate::view_stars::with_columns;
use crate::written::object_name;

impl Compiler<'_> {
    /// CREATE [OR REPLACE] VIEW.
    pub(crate) fn create_view(&mut self, written: &ast::CreateView) -> Result<Vec<CatalogChange>> {
        let place = place_in(&written.name, self.place);
        refuse_clauses(written, place)?;
        let named = object_name(&written.name, place)?;
        let is_temporary = is_temporary_view(written, &self.path);
        let name = match is_temporary {
            true => self.temporary_name(&named, place)?,
            false => self.new_name(&named, place)?,
        };
        // Others are let go of, and make room.
        let is_seen = !is_temporary || self.path.has_temporary(local(&name));
        let old = self.view_named(&name).filter(|_| written.or_replace && is_seen).cloned();
        if old.as_ref().is_some_and(|old| old.kind != ViewKind::Plain) {
            return Err(error(b"42809", place, format!("\"{}\" is not a view", local(&name))));
        }
        if old.is_none() && is_seen && self.is_there(&name, written.if_not_exists, place)? {
            return Ok(vec![CatalogChange::Nothing(is_there(local(&name)))]);
        }
        let made = self.temporary_schema_made(&name).filter(|_| is_temporary);
        let mut changes: Vec<_> = made.into_iter().collect();
        if is_temporary && !written.temporary {
            let text = format!("view \"{}\" will be a temporary view", local(&name));
            changes.push(CatalogChange::Nothing(left_out(text)));
        }
        let ViewOptions { check, is_barrier } = ViewOptions::read(options_of(written), place)?;
        let mut view = self.view(name, written, check, place)?;
        if let Some(old) = old {
            view.triggers.clone_from(&old.triggers);
            refuse_other_columns(&old, &view, place)?;
        }
        changes.push(CatalogChange::SetView(view));
        if is_barrier {
            let text = "security_barrier has no effect: conditions around the view may be \
                        evaluated before its own, and their errors may tell of rows that it does \
                        not show";
            changes.push(CatalogChange::Nothing(left_out(text.to_owned())));
        }
        Ok(changes)
    }

    pub(crate) fn view(
        &mut self,
        name: String,
        written: &ast::CreateView,
        check: ViewCheck,
        place: Place,
    ) -> Result<View> {
        let mark = self.mark();
        self.stars = Some(Vec::new());
        let compiled = self.relational(&written.query);
        let stars = self.stars.take().unwrap_or_default();
        let compiled = compiled?;
        self.back_to(&mark);
        if !compiled.parameters.is_empty() {
            return Err(error(b"42P02", place, "a view has no parameters".to_owned()));
        }
        let types = compiled.outputs.iter().map(|slot| compiled.slots[slot.index()].sql_type);
        let named = compiled.columns.iter().map(|column| column.name.clone());
        let mut columns: Vec<(String, SqlType)> = named.zip(types).collect();
        let given = columns.iter().map(|(name, _)| name.clone()).collect();
        if written.columns.len() > columns.len() {
            let message = match written.materialized {
                true => "too many column names were specified",
                false => "CREATE VIEW specifies more column names than columns",
            };
            return Err(error(b"42601", place, message));
        }
        for (column, given) in columns.iter_mut().zip(&written.columns) {
            column.0 = folded(&given.name.value, given.name.quote_style.is_some());
        }
        for (at, (column, _)) in columns.iter().enumerate() {
            if columns[..at].iter().any(|(other, _)| other == column) {
                let message = format!("column \"{column}\" specified more than once");
                return Err(error(b"42701", place, message));
            }
        }
        // The text of a query that means the same when it is read again.
        let query = with_columns(&written.query, &stars);
        let text = query.to_string();
        let same = query_of(&text)?.is_some_and(|read| *read == *query);
        if !same {
            return Err(unsupported(place, "this query in a view", "write it in another way"));
        }
        let (schema, name) = split(&name);
        let (schema, name) = (schema.unwrap_or(PUBLIC).to_owned(), name.to_owned());
        let (path, kind) = (self.path.clone(), ViewKind::Plain);
        let triggers = Vec::new();
        let partition = None;
        let view = View {
            id: 0,
            name,
            schema,
            columns,
            path,
            text,
            conventions: Conventions::current(),
            check,
            given,
            kind,
            triggers,
            partition,
        };
        if check != ViewCheck::None {
            self.refuse_check(&view, place)?;
        }
        Ok(view)
    }

    /// The query of a view.
    pub(crate) fn view_query(&self, view: &View, place: Place) -> Result<Box<ast::Query>> {
        let kept;
        let text = match view.kind {
            ViewKind::Plain | ViewKind::Definition | ViewKind::Partition => &view.text,
            ViewKind::Kept { is_filled: true } => {
                kept = rows_of(view);
                &kept
            }
            ViewKind::Kept { is_filled: false } => {
                let message = format!("materialized view \"{}\" has not been populated", view.name);
                let hint = "Use the REFRESH MATERIALIZED VIEW command.";
                return Err(error(b"55000", place, message).hint(hint));
            }
        };
        query_of(text)?.ok_or_else(|| {
            let message = format!("the text of view \"{}\" is no query", view.name);
            error(b"XX000", place, message)
        })
    }

    /// Compiles something of a view, which sees nothing of what is around the view's name (I3).
    pub(crate) fn apart_from_statement<T>(
        &mut self,
        path: &SearchPath,
        compile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let (levels, names) = (std::mem::take(&mut self.levels), std::mem::take(&mut self.names));
        self.levels_around += levels.len();
        let path = std::mem::replace(&mut self.path, path.clone());
        let stars = self.stars.take(); // of another text
        let compiled = compile(self);
        self.stars = stars;
        self.path = path;
        self.levels_around -= levels.len();
        (self.levels, self.names) = (levels, names);
        compiled
    }

    /// DROP VIEW name, ...
    pub(crate) fn drop_view(
        &self,
        (name, place): (&str, Place),
        if_exists: bool,
    ) -> Result<CatalogChange> {
        if let Some(view) = self.view_named(name) {
            if view.kind != ViewKind::Plain {
                let hint = match view.kind {
                    ViewKind::Partition => "Use DROP TABLE to remove a table.",
                    _ => "Use DROP MATERIALIZED VIEW to remove a materialized view.",
                };
                let message = format!("\"{name}\" is not a view");
                return Err(error(b"42809", place, message).hint(hint));
            }
            return Ok(CatalogChange::DropView(view.qualified_name()));
        }
        if self.table_named(name).is_some() {
            return Err(error(b"42809", place, format!("\"{name}\" is not a view"))
                .hint("Use DROP TABLE to remove a table."));
        }
        if if_exists {
            let text = format!("view \"{name}\" does not exist, skipping");
            return Ok(CatalogChange::Nothing(left_out(text)));
        }
        Err(error(b"42P01", place, format!("view \"{name}\" does not exist")))
    }

    /// What goes with these changes by CASCADE: the views that would not survive them.
    pub(crate) fn views_lost(&self, changes: &[CatalogChange]) -> Result<Vec<CatalogChange>> {
        let Some(procedures) = self.procedures else { return Ok(Vec::new()) };
        let mut catalog = self.catalog.clone();
        changes.iter().try_for_each(|change| apply(&mut catalog, change))?;
        let concerned = self.views_concerned(&catalog, changes);
        let mut lost = Vec::new();
        // One may stand on another.
        while let Some((name, _)) = broken_view(&catalog, procedures, &concerned)? {
            let gone = self.gone_with_view(name);
            gone.iter().try_for_each(|change| apply(&mut catalog, change))?;
            lost.extend(gone);
        }
        Ok(lost)
    }

    /// What goes when a view goes: the whole of a materialized view with its query.
    fn gone_with_view(&self, name: String) -> Vec<CatalogChange> {
        let of = |view: &&Arc<View>| {
            matches!(view.kind, ViewKind::Kept { .. })
                && (view.qualified_name() == name
                    || qualified(&view.schema, &query_name(&view.name)) == name)
        };
        match self.catalog.views().find(of) {
            Some(view) => self.materialized_gone(view),
            None => vec![CatalogChange::DropView(name)],
        }
    }

    /// The views that changes may concern, by their texts.
    fn views_concerned(&self, next: &Catalog, changes: &[CatalogChange]) -> BTreeSet<String> {
        let views = changes.iter().filter_map(|change| match change {
            CatalogChange::DropView(name) => Some(local(name).to_owned()),
            _ => None,
        });
        let mut names: Vec<String> = changed_names(self.catalog, next).chain(views).collect();
        let mut concerned = BTreeSet::new();
        while let Some(name) = names.pop() {
            for view in self.catalog.views() {
                if !concerned.contains(&view.qualified_name()) && may_name(&view.text, &name) {
                    concerned.insert(view.qualified_name());
                    names.push(view.name.clone());
                }
            }
        }
        concerned
    }
}

/// The names, before and then, of tables that are not the same in a catalog that another one was
/// changed into.
pub fn changed_names<'c>(
    before: &'c Catalog,
    next: &'c Catalog,
) -> impl Iterator<Item = String> + 'c {
    before.tables_changed(next).flat_map(move |id| {
        let name = |catalog: &Catalog| Some(catalog.tables().at(id.index())?.name.clone());
        name(before).into_iter().chain(name(next))
    })
}

/// The query that a text is; none if it is something else.
pub(crate) fn query_of(text: &str) -> Result<Option<Box<ast::Query>>> {
    let mut statements = match parse_script(text) {
        Err(error) if error.is_refusal() => return Err(error),
        parsed => parsed.unwrap_or_default(),
    };
    let (last, is_alone) = (statements.pop(), statements.is_empty());
    Ok(match last.map(ScriptStatement::into_syntax) {
        Some(Syntax::Sql(statement)) if is_alone => match *statement {
            ast::Statement::Query(query) => Some(query),
            _ => None,
        },
        _ => None,
    })
}

/// One of these views, as far as they are there, that does not compile for a catalog, and why (I1).
///
/// # Errors
///
/// There was no time or no room to find out.
pub fn broken_view(
    catalog: &Catalog,
    procedures: &dyn ProcedureNames,
    names: &BTreeSet<String>,
) -> Result<Option<(String, SqlError)>> {
    let broken = |view: &Arc<View>| {
        let all = format!("SELECT * FROM {}.{}", quoted(&view.schema), quoted(&view.name));
        let compiled = parse_script(&all).and_then(|mut all| match (all.pop(), all.is_empty()) {
            // Of the database's own making: temporary ones are their session's alone.
            (Some(statement), true) => compile(catalog, &procedures, &statement.as_own()).map(drop),
            _ => Err(SqlError::new(b"XX000", "a view's name is not one name")),
        });
        compiled.err().map(|error| (view.qualified_name(), error))
    };
    // What a materialized view is read by is its own.
    let views = names.iter().filter_map(|name| catalog.view(name));
    let mut views = views.filter(|view| !matches!(view.kind, ViewKind::Kept { .. }));
    match views.find_map(broken) {
        Some((_, error)) if error.is_refusal() => Err(error),
        broken => Ok(broken),
    }
}

/// Fails where a view that replaces another one does not begin with the columns of that.
fn refuse_other_columns(old: &View, view: &View, place: Place) -> Result<()> {
    if view.columns.len() < old.columns.len() {
        return Err(error(b"42P16", place, "cannot drop columns from view"));
    }
    for ((was, of), (is, of_next)) in old.columns.iter().zip(&view.columns) {
        if was != is {
            let message = format!("cannot change name of view column \"{was}\" to \"{is}\"");
            let hint =
                "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(error(b"42P16", place, message).hint(hint));
        }
        if of != of_next {
            let message =
                format!("cannot change data type of view column \"{was}\" from {of} to {of_next}");
            return Err(error(b"42P16", place, message));
        }
    }
    Ok(())
}

/// What WITH says of a view.
struct ViewOptions {
    check: ViewCheck,
    /// security_barrier
    is_barrier: bool,
}

impl ViewOptions {
    fn read(options: &[ast::SqlOption], place: Place) -> Result<Self> {
        let (mut check, mut is_barrier) = (ViewCheck::None, false);
        for option in options {
            let ast::SqlOption::KeyValue { key, value } = option else {
                return Err(unsupported(place, "this option of a view", "write WITH CHECK OPTION"));
            };
            let value = value.to_string().trim_matches('\'').to_lowercase();
            check = match (folded(&key.value, key.quote_style.is_some()).as_str(), value.as_str()) {
                ("check_option", "local") => ViewCheck::Local,
                ("check_option", "cascaded") => ViewCheck::Cascaded,
                ("check_option", _) => {
                    let message =
                        format!("invalid value for enum option \"check_option\": {value}");
                    return Err(error(b"22023", place, message)
                        .detail("Valid values are \"local\" and \"cascaded\"."));
                }
                ("security_barrier", "true" | "on" | "1") => {
                    is_barrier = true;
                    continue;
                }
                ("security_barrier", "false" | "off" | "0") => {
                    is_barrier = false;
                    continue;
                }
                ("security_barrier", value) => {
                    let message =
                        format!("invalid value for boolean option \"security_barrier\": {value}");
                    return Err(error(b"22023", place, message));
                }
                ("security_invoker", "false" | "off" | "0") => continue,
                ("security_invoker", _) => {
                    let hint =
                        "give the readers rights to the view, and its owner those to the tables";
                    return Err(unsupported(place, "security_invoker", hint));
                }
                (other, _) => {
                    let what = format!("option \"{other}\" of a view");
                    return Err(unsupported(place, what, "leave it out"));
                }
            };
        }
        Ok(Self { check, is_barrier })
    }
}

fn refuse_clauses(written: &ast::CreateView, place: Place) -> Result<()> {
    let ast::CreateView { materialized, or_alter, secure, .. } = written;
    let what = match () {
        () if *materialized => "this form of a materialized view",
        () if *or_alter || *secure || written.to.is_some() || !written.cluster_by.is_empty() => {
            "this kind of view"
        }
        () if written.columns.iter().any(|column| column.data_type.is_some()) => {
            "the type of a view's column"
        }
        () => return Ok(()),
    };
    Err(unsupported(place, what, "write CREATE VIEW name AS query"))
}
