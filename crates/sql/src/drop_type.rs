//! DROP TYPE and DROP DOMAIN, and what depends on a type.
//!
//! Role         CASCADE takes columns along; functions and views go with what else was changed, as
//!              they would no longer compile
//! Source       PostgreSQL 15, "DROP TYPE". We differ: a field of a composite type does not go

use hotrow_base::types::DataType;
use hotrow_transaction::catalog::{Catalog, NamedType, Table, local};
use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::apply::apply;
use crate::changes::{CatalogChange, left_out};
use crate::columns_of_domain::columns_of_domain;
use crate::compiled::Compiled;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::named_type::{asks, no_type};
use crate::scope::Compiler;
use crate::written::object_name;

/// What has values of a type, or is made from it.
struct Dependent {
    /// as it is told
    what: String,
    /// of which table, by its name with its schema, and which column; none: it is no column
    column: Option<(String, String)>,
}

impl Compiler<'_> {
    /// DROP DOMAIN.
    pub(crate) fn drop_domain(&self, written: &ast::DropDomain) -> Result<Compiled> {
        let place = place_in(&written.name, self.place);
        let name = object_name(&written.name, place)?;
        let cascades = written.drop_behavior == Some(ast::DropBehavior::Cascade);
        let how = (written.if_exists, cascades);
        let mut changes = self.drop_type("domain", (&name, place), how)?;
        if cascades {
            changes.extend(self.gone_by_cascade(&changes)?);
        }
        Ok(Compiled::Catalog(changes))
    }

    /// DROP TYPE or DOMAIN, of one; `kind` is the word.
    pub(crate) fn drop_type(
        &self,
        kind: &str,
        (name, place): (&str, Place),
        (if_exists, cascades): (bool, bool),
    ) -> Result<Vec<CatalogChange>> {
        let Some(named) = self.type_named(name) else {
            return match if_exists {
                true => Ok(vec![CatalogChange::Nothing(left_out(format!(
                    "{kind} \"{name}\" does not exist, skipping"
                )))]),
                false => Err(no_type(kind, name, place)),
            };
        };
        if kind == "domain" && !matches!(**named, NamedType::Domain(_)) {
            return Err(error(b"42809", place, format!("\"{name}\" is not a domain")));
        }
        let dropped = self.found_type_name(name)?;
        let dependents = self.dependents_of_type(self.catalog, (&dropped, named));
        // Columns kept what a domain had asked of them when older versions dropped it.
        if self.is_own && !cascades {
            return Ok(vec![CatalogChange::DropType(dropped)]);
        }
        if !dependents.is_empty() && !cascades {
            let name = local(name);
            let message = format!("cannot drop type {name} because other objects depend on it");
            let detail = dependents.iter().map(|of| format!("{} depends on type {name}", of.what));
            return Err(error(b"2BP01", place, message)
                .detail(detail.collect::<Vec<_>>().join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let mut changes = Vec::new();
        let mut catalog = self.catalog.clone();
        for Dependent { what, column } in dependents {
            let Some((table, column)) = column else {
                let hint = "drop that first, or ALTER TYPE ... DROP ATTRIBUTE";
                return Err(unsupported(place, format!("CASCADE to {what}"), hint));
            };
            let gone = self.without_column(&catalog, (&table, &column), place)?;
            gone.iter().try_for_each(|change| apply(&mut catalog, change))?;
            changes.extend(gone);
            changes.push(CatalogChange::Nothing(left_out(format!("drop cascades to {what}"))));
        }
        changes.push(CatalogChange::DropType(dropped));
        Ok(changes)
    }

    /// What becomes of a table in a catalog that loses a column.
    fn without_column(
        &self,
        catalog: &Catalog,
        (table, column): (&str, &str),
        place: Place,
    ) -> Result<Vec<CatalogChange>> {
        let Some(table) = catalog.table_named(table) else { return Ok(Vec::new()) };
        let compiler = Compiler::new(catalog).seeing(&self.path);
        let mut altered = compiler.draft_of(table, place);
        altered.drop_column(catalog, &ast::Ident::with_quote('"', column), (false, true))?;
        Ok(compiler.changes_of(altered))
    }

    /// The columns and fields that have values of a type, or values with such in them.
    fn dependents_of_type(
        &self,
        catalog: &Catalog,
        (name, named): (&str, &NamedType),
    ) -> Vec<Dependent> {
        let of_column = |table: &Table, column: &str| Dependent {
            what: format!("column {column} of table {}", table.name),
            column: Some((table.qualified_name(), column.to_owned())),
        };
        // Not those that are kept for sessions to come: they are made anew for another type.
        let is_seen = |table: &Table| self.path.shows(&table.schema, &table.name);
        let of = match named {
            NamedType::Enum(of) => DataType::Enum(*of),
            NamedType::Composite(of) => DataType::Composite(*of),
            NamedType::Domain(_) => {
                let columns = columns_of_domain(catalog, name).filter(|of| is_seen(of.table));
                return columns.map(|of| of_column(of.table, &of.column().name)).collect();
            }
        };
        let fields = catalog.types().flat_map(|(_, other, named)| {
            let fields = match **named {
                NamedType::Composite(row) => row.fields(),
                NamedType::Enum(_) | NamedType::Domain(_) => &[],
            };
            let fields = fields.iter().filter(|(_, field)| asks(*field, of));
            fields.map(move |(field, _)| Dependent {
                what: format!("column {field} of composite type {other}"),
                column: None,
            })
        });
        let domains = catalog.types().filter_map(|(_, name, named)| match &**named {
            NamedType::Domain(domain) if asks(domain.of, of) => {
                Some(Dependent { what: format!("type {name}"), column: None })
            }
            _ => None,
        });
        let tables = catalog.tables().iter().filter(|table| is_seen(table));
        let columns = tables.flat_map(|table| {
            let columns = table.shown().iter().filter(|column| asks(column.data_type, of));
            columns.map(move |column| of_column(table, &column.name))
        });
        fields.chain(domains).chain(columns).collect()
    }

    /// What goes by CASCADE behind these changes: policies, views, and what would not compile.
    pub(crate) fn gone_by_cascade(&self, changes: &[CatalogChange]) -> Result<Vec<CatalogChange>> {
        let mut gone = self.views_lost(changes)?;
        let does_any = |change: &CatalogChange| !matches!(change, CatalogChange::Nothing(_));
        gone.extend(changes.iter().any(does_any).then_some(CatalogChange::DropDependents));
        Ok(gone)
    }
}
