//! Views and types: what has a name and is no table.

use std::sync::Arc;

use hotrow_base::composite::CompositeType;
use hotrow_base::conventions::Conventions;
use hotrow_base::enumeration::EnumType;
use hotrow_base::ids::TableId;
use hotrow_base::types::{DataType, SqlType};

use super::partition::Partition;
use super::schemas::{self, SearchPath};
use super::trigger::Trigger;
use super::{Catalog, Column, Table, key_of, layout_of};
use crate::outcome::SqlError;
use crate::walk::expression::map_types;

/// A view: a query with a name.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    /// tells it from all others there ever were; given by [`super::Catalog::set_view`]
    pub id: u32,
    /// its name in its schema
    pub name: String,
    /// the schema that it is in
    pub schema: String,
    /// names and types of its columns
    pub columns: Vec<(String, SqlType)>,
    /// where its query finds bare names
    pub path: SearchPath,
    /// the query, as SQL
    pub text: String,
    /// of who made it: by which its literals are read
    pub conventions: Conventions,
    /// which rows may be written through it
    pub check: ViewCheck,
    /// what the query itself calls its columns: it has to go on giving these
    pub given: Vec<String>,
    /// whether it has to do with a materialized view
    pub kind: ViewKind,
    /// what its rows are changed by, in the order in which they fire: that of their names
    pub triggers: Vec<Trigger>,
    /// what it is a partition of, if it is one
    pub partition: Option<Arc<Partition>>,
}

/// What a view is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ViewKind {
    /// its query is run where it is read
    #[default]
    Plain,
    /// a materialized view: its rows are kept in a table, [`kept_name`]
    Kept {
        /// it has been given its rows
        is_filled: bool,
    },
    /// the query of a materialized view, [`query_name`]
    Definition,
    /// a partition: those of its table's rows that its bound says
    Partition,
}

/// What the table is called that has a materialized view's rows.
pub fn kept_name(view: &str) -> String {
    format!("{view}{KEPT}")
}

/// What the view is called that is a materialized view's query.
pub fn query_name(view: &str) -> String {
    format!("{view}{QUERY}")
}

const KEPT: &str = " kept";
const QUERY: &str = " query";

/// WITH CHECK OPTION: whether rows that are written through a view have to be rows of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ViewCheck {
    /// they need not
    #[default]
    None,
    /// they have to satisfy its own condition
    Local,
    /// and those of the views that it stands on
    Cascaded,
}

impl View {
    pub(super) fn key(&self) -> String {
        schemas::key_in(&self.schema, &self.name).into_owned()
    }

    /// Its name as statements find it whatever their path is.
    pub fn qualified_name(&self) -> String {
        schemas::qualified(&self.schema, &self.name)
    }
}

/// A type that has been given a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedType {
    /// CREATE TYPE ... AS ENUM
    Enum(EnumType),
    /// CREATE TYPE ... AS (...): names and types of its fields
    Composite(CompositeType),
    /// CREATE DOMAIN
    Domain(Domain),
}

impl NamedType {
    /// What its values say that they are of; none: values of a domain say their type.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::Enum(of) => Some(of.name()),
            Self::Composite(of) => Some(of.name()),
            Self::Domain(_) => None,
        }
    }
}

/// Another type, some of whose values are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// the type
    pub of: DataType,
    /// what a column has that is given nothing, as SQL
    pub default: Option<String>,
    /// whether a column can have none
    pub nullable: bool,
    /// names of constraints, and what holds for each `VALUE`, as SQL
    pub checks: Vec<(String, String)>,
    /// names of those that were added NOT VALID, and not validated since
    pub not_valid: Vec<String>,
    /// no other domain ever had it; given by [`Catalog::set_type`]
    pub number: u32,
}

/// That a column is of a domain, and what it has of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OfDomain {
    /// the domain's name with its schema
    pub name: String,
    /// the column is NOT NULL because the domain is, and for nothing else
    pub gives_not_null: bool,
    /// the column's default, or that it has none, is the domain's
    pub gives_default: bool,
    /// the domain's constraints, and what they are called as constraints of the table
    pub checks: Vec<(String, String)>,
}

impl OfDomain {
    /// Whether a constraint of the table is one of the domain's.
    pub fn has_check(&self, name: &str) -> bool {
        self.checks.iter().any(|(_, known)| known == name)
    }
}

impl Table {
    /// Whether one of its constraints is that of a column's domain, which users see of that.
    pub fn is_of_domain(&self, check: &str) -> bool {
        self.check_of_domain(check).is_some()
    }

    /// The domain of which one of its constraints is, and what that is called there.
    pub fn check_of_domain(&self, check: &str) -> Option<(&OfDomain, &str)> {
        let mut of_domains = self.columns.iter().filter_map(|column| column.domain.as_deref());
        of_domains.find_map(|of| {
            let (own, _) = of.checks.iter().find(|(_, known)| known == check)?;
            Some((of, own.as_str()))
        })
    }

    /// What users call it: a materialized view's table is called like that.
    pub fn user_name(&self) -> &str {
        let kept = self.name.strip_suffix(KEPT).filter(|_| self.is_kept);
        kept.unwrap_or(&self.name)
    }
}

impl Catalog {
    /// Adds a type in the schema that its name says, or in `public`; or puts it in the place of
    /// another one with its name.
    pub fn set_type(&mut self, name: &str, mut named: NamedType) {
        if let NamedType::Domain(domain) = &mut named
            && domain.number == 0
        {
            self.domains_made += 1;
            domain.number = self.domains_made;
        }
        self.types.insert_mut(key_of(name), Arc::new(named));
    }

    /// Has the columns of one type be of another one whose values are kept alike, and that has all
    /// of the first one's.
    pub fn replace_type(&mut self, before: DataType, next: DataType) {
        let (arrays, next_arrays) = (before.array(), next.array());
        let is_of = |of: DataType| of == before || of == arrays;
        let is_such = |table: &&Table| table.columns.iter().any(|c| is_of(c.data_type));
        let tables: Vec<_> = self.tables.iter().filter(is_such).map(|table| table.id).collect();
        let with_it = |of: SqlType| match of {
            SqlType::Scalar(of) if of == before => SqlType::Scalar(next),
            SqlType::Scalar(of) if of == arrays => SqlType::Scalar(next_arrays),
            SqlType::Array(of) if of == before => SqlType::Array(next),
            other => other,
        };
        for id in tables {
            let table = self.table_mut(id);
            for column in table.columns.iter_mut().filter(|column| is_of(column.data_type)) {
                column.data_type = if column.data_type == before { next } else { next_arrays };
                if let Some(default) = &mut column.default {
                    map_types(default, &with_it);
                }
            }
            let checks = table.all_checks_mut();
            checks.for_each(|check| map_types(&mut check.condition, &with_it));
            let generated = table.generated.iter_mut();
            generated.for_each(|generated| map_types(&mut generated.value, &with_it));
            self.lay_keys_out(id);
        }
        let views: Vec<_> = self.views.values().map(|view| View::clone(view)).collect();
        for mut view in views {
            view.columns.iter_mut().for_each(|(_, of)| *of = with_it(*of));
            self.views.insert_mut(view.key(), Arc::new(view));
        }
    }

    /// Gives a view another name in its schema.
    pub fn rename_view(&mut self, name: &str, to: &str) {
        let key = key_of(name);
        let Some(view) = self.views.get(&key).cloned() else { return };
        self.views.remove_mut(&key);
        let view = View { name: to.to_owned(), ..View::clone(&view) };
        self.views.insert_mut(view.key(), Arc::new(view));
    }

    /// Notes whether a materialized view has been given its rows.
    pub fn set_filled(&mut self, name: &str, is_filled: bool) {
        let key = key_of(name);
        let Some(view) = self.views.get(&key).cloned() else { return };
        let view = View { kind: ViewKind::Kept { is_filled }, ..View::clone(&view) };
        self.views.insert_mut(key, Arc::new(view));
    }
}

impl Table {
    /// A view's columns as those of a table that is none, for what its triggers are shown.
    pub fn like_view(view: &View) -> Result<Self, SqlError> {
        let column = |(name, of): &(String, SqlType)| Column::new(name.as_str(), of.packed());
        let columns: Vec<_> = view.columns.iter().map(column).collect();
        let layout = layout_of(&view.name, &columns)?;
        Ok(Self::bare(TableId(u16::MAX), &view.qualified_name(), columns, layout))
    }
}

impl View {
    /// The type of its rows as values: it is called as the view is. None: it has too many columns.
    pub fn row_type(&self) -> Option<CompositeType> {
        Table::like_view(self).ok().map(|table| table.row_type())
    }
}

impl Table {
    /// The type of its rows as values: it is called as the table is.
    pub fn row_type(&self) -> CompositeType {
        let field = |column: &Column| (column.name.as_str().into(), column.data_type);
        CompositeType::of(self.user_name(), &self.shown().iter().map(field).collect::<Vec<_>>())
    }
}
