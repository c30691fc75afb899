//! Materialized views: CREATE, REFRESH and DROP.
//!
//! Role         a materialized view is three things of one schema: the view that users name, which
//!              reads a table; the table, `name kept`, which has its rows and indexes; and another
//!              view, `name query`, which is its query, so that what that reads is its owner's to
//!              read, and cannot be dropped. REFRESH is one program: all rows go, and those that
//!              the query gives come
//! Invariants   I1 nobody but these statements changes the table (`Compiler::target` refuses)
//! Source       PostgreSQL 15, "CREATE MATERIALIZED VIEW" and "REFRESH MATERIALIZED VIEW"

use hotrow_base::types::SqlType;
use hotrow_transaction::catalog::{
    IndexKind, Object, Table, View, ViewCheck, ViewKind, kept_name, local, qualified, query_name,
};
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::alter_syntax::{RefreshSyntax, has_data, is_no_data, options_of};
use crate::changes::{CatalogChange, TableDefinition, is_there, left_out};
use crate::compiled::Refresh;
use crate::definition::Draft;
use crate::error::{Advice, Result, error, place_in, syntax, unsupported};
use crate::scope::Compiler;
use crate::token::quoted;
use crate::written::object_name;

/// The query by which a materialized view is read.
pub(crate) fn rows_of(view: &View) -> String {
    format!("SELECT * FROM {}.{}", quoted(&view.schema), quoted(&kept_name(&view.name)))
}

impl<'c> Compiler<'c> {
    /// CREATE MATERIALIZED VIEW
    pub(crate) fn create_materialized(
        &mut self,
        written: &ast::CreateView,
    ) -> Result<Vec<CatalogChange>> {
        let place = place_in(&written.name, self.place);
        if written.or_replace {
            return Err(syntax(place, "syntax error at or near \"MATERIALIZED\""));
        }
        let known = |option: &ast::SqlOption| {
            let text = option.to_string().to_lowercase();
            is_no_data(option) || text.starts_with("fillfactor") || text.starts_with("autovacuum_")
        };
        if let Some(other) = options_of(written).iter().find(|option| !known(option)) {
            let what = format!("option {other} of a materialized view");
            return Err(unsupported(place, what, "leave it out"));
        }
        let name = self.new_name(&object_name(&written.name, place)?, place)?;
        if self.is_there(&name, written.if_not_exists, place)? {
            return Ok(vec![CatalogChange::Nothing(is_there(local(&name)))]);
        }
        let view = self.view(name, written, ViewCheck::None, place)?;
        let (own, schema) = (view.name.clone(), view.schema.clone());
        for other in [kept_name(&own), query_name(&own)] {
            self.is_there(&qualified(&schema, &other), false, place)?;
        }
        let table = TableDefinition {
            name: kept_name(&own),
            schema,
            is_kept: true,
            ..TableDefinition::default()
        };
        let mut draft = Draft::of(table, IndexKind::BTree, place);
        self.columns_of_query(&mut draft, &[], &written.query)?;
        for (column, (name, _)) in draft.table.columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(name);
        }
        let is_filled = has_data(written);
        let query = View { name: query_name(&own), kind: ViewKind::Definition, ..view.clone() };
        let given = view.columns.iter().map(|(name, _)| name.clone()).collect();
        // What is kept has the types of a table's columns: a sum of numerics, say, any digits.
        let kept = view.columns.iter().zip(&draft.table.columns);
        let columns = kept.map(|((name, of), column)| match of {
            SqlType::Scalar(_) => (name.clone(), SqlType::Scalar(column.data_type)),
            SqlType::Array(_) => (name.clone(), *of),
        });
        let columns = columns.collect();
        let shown = View { kind: ViewKind::Kept { is_filled }, given, columns, ..view };
        Ok(vec![
            CatalogChange::SetView(query),
            CatalogChange::CreateTable(draft.table),
            CatalogChange::SetView(shown),
        ])
    }

    /// The materialized view with a name.
    pub(crate) fn materialized_named(&self, name: &str) -> Option<&'c View> {
        let view = self.view_named(name)?;
        matches!(view.kind, ViewKind::Kept { .. }).then_some(&**view)
    }

    /// The table that has a materialized view's rows.
    pub(crate) fn rows_kept(&self, view: &View) -> Option<&'c Table> {
        self.catalog.table_named(&qualified(&view.schema, &kept_name(&view.name)))
    }

    /// The table, or the materialized view's table, with a name.
    pub(crate) fn table_to_index(&self, name: &str, place: Place) -> Result<&'c Table> {
        let kept = self.materialized_named(name).and_then(|view| self.rows_kept(view));
        kept.map_or_else(|| self.table(name, place), Ok)
    }

    /// REFRESH MATERIALIZED VIEW
    pub(crate) fn refresh(&self, written: &RefreshSyntax) -> Result<Refresh> {
        let RefreshSyntax { name, place, concurrently, is_filled } = written;
        let Some(view) = self.materialized_named(name) else {
            let is_other = self.table_named(name).is_some()
                || self.view_named(name).is_some()
                || self.index_named(name).is_some();
            if is_other {
                let message = format!("\"{}\" is not a materialized view", local(name));
                return Err(error(b"0A000", *place, message));
            }
            self.check_schema(name, *place)?;
            return Err(error(b"42P01", *place, format!("relation \"{name}\" does not exist")));
        };
        let was_filled = view.kind == (ViewKind::Kept { is_filled: true });
        if *concurrently {
            self.refuse_concurrently(view, (*is_filled, was_filled), *place)?;
        }
        let of = |own: String| format!("{}.{}", quoted(&view.schema), quoted(&own));
        let (rows, query) = (of(kept_name(&view.name)), of(query_name(&view.name)));
        let delete = format!("DELETE FROM {rows}");
        let fill = match is_filled {
            true => format!("{delete}; INSERT INTO {rows} SELECT * FROM {query}; "),
            false => format!("{delete}; "),
        };
        let tag = "$refresh$";
        let name = view.qualified_name();
        let changes = match was_filled == *is_filled {
            true => Vec::new(),
            false => vec![CatalogChange::SetFilled { name, is_filled: *is_filled }],
        };
        let text = format!("DO {tag} BEGIN {fill}END {tag}");
        Ok(Refresh { object: Object::View(view.id), text, changes })
    }

    fn refuse_concurrently(
        &self,
        view: &View,
        (is_filled, was_filled): (bool, bool),
        place: Place,
    ) -> Result<()> {
        if !was_filled {
            let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
            return Err(error(b"0A000", place, message));
        }
        if !is_filled {
            let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(error(b"42601", place, message));
        }
        let is_whole = |table: &Table| {
            let mut all = table.secondary.iter().map(|id| self.catalog.index(*id));
            all.any(|of| of.unique && of.columns.iter().all(|c| table.hidden(*c).is_none()))
        };
        if self.rows_kept(view).is_some_and(is_whole) {
            return Ok(());
        }
        let name = format!("{}.{}", view.schema, view.name);
        let message = format!("cannot refresh materialized view \"{name}\" concurrently");
        let hint = "Create a unique index with no WHERE clause on one or more columns of the \
                    materialized view.";
        Err(error(b"55000", place, message).hint(hint))
    }

    /// DROP MATERIALIZED VIEW, of one.
    pub(crate) fn drop_materialized(
        &self,
        (name, place): (&str, Place),
        if_exists: bool,
    ) -> Result<Vec<CatalogChange>> {
        if let Some(view) = self.materialized_named(name) {
            return Ok(self.materialized_gone(view));
        }
        let hint = match () {
            () if self.view_named(name).is_some() => "Use DROP VIEW to remove a view.",
            () if self.table_named(name).is_some() => "Use DROP TABLE to remove a table.",
            () if if_exists => {
                let text = format!("materialized view \"{name}\" does not exist, skipping");
                return Ok(vec![CatalogChange::Nothing(left_out(text))]);
            }
            () => {
                let message = format!("materialized view \"{name}\" does not exist");
                return Err(error(b"42P01", place, message));
            }
        };
        let message = format!("\"{}\" is not a materialized view", local(name));
        Err(error(b"42809", place, message).hint(hint))
    }

    /// The changes with which a materialized view goes.
    pub(crate) fn materialized_gone(&self, view: &View) -> Vec<CatalogChange> {
        let query = qualified(&view.schema, &query_name(&view.name));
        let mut changes =
            vec![CatalogChange::DropView(view.qualified_name()), CatalogChange::DropView(query)];
        changes.extend(self.rows_kept(view).map(|table| CatalogChange::DropTable(table.id)));
        changes
    }

    /// The changes that give a materialized view another name.
    pub(crate) fn rename_materialized(&self, view: &View, to: &str) -> Vec<CatalogChange> {
        let name = qualified(&view.schema, &query_name(&view.name));
        let mut changes = vec![CatalogChange::RenameView { name, to: query_name(to) }];
        changes.extend(
            self.rows_kept(view)
                .map(|table| CatalogChange::RenameTable { table: table.id, name: kept_name(to) }),
        );
        let (name, to) = (view.qualified_name(), to.to_owned());
        changes.push(CatalogChange::RenameView { name, to });
        changes
    }
}
