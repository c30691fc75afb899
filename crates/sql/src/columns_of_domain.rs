//! The columns that are of a domain, in the catalog.

use std::sync::Arc;

use hotrow_base::ids::ColumnId;
use hotrow_transaction::catalog::{Catalog, Column, Domain, OfDomain, Table};

use crate::changes::CatalogChange;

/// A column of a domain.
#[derive(Clone, Copy)]
pub(crate) struct DomainColumn<'c> {
    pub(crate) table: &'c Table,
    pub(crate) id: ColumnId,
    pub(crate) of: &'c OfDomain,
}

impl<'c> DomainColumn<'c> {
    pub(crate) fn column(&self) -> &'c Column {
        &self.table.columns[self.id.index()]
    }

    /// Whether it is one of arrays of the domain.
    pub(crate) fn is_array(&self, domain: &Domain) -> bool {
        self.column().data_type != domain.of
    }

    /// What a constraint of the domain is called as one of the table.
    pub(crate) fn check(&self, own: &str) -> Option<&'c str> {
        let mut checks = self.of.checks.iter();
        checks.find(|(known, _)| known == own).map(|(_, check)| &**check)
    }

    /// That it has something else of its domain from now on.
    pub(crate) fn set(&self, of: OfDomain) -> CatalogChange {
        let (table, column) = (self.table.id, self.id);
        CatalogChange::SetColumnDomain { table, column, domain: Some(Arc::new(of)) }
    }
}

/// The columns of a domain, by the name that it has with its schema.
pub(crate) fn columns_of_domain<'c>(
    catalog: &'c Catalog,
    name: &str,
) -> impl Iterator<Item = DomainColumn<'c>> {
    let of_table = move |table: &'c Table| {
        table.columns.iter().zip(0..).filter_map(move |(column, at)| {
            let of = column.domain.as_deref()?;
            Some(DomainColumn { table, id: ColumnId(at), of })
        })
    };
    let name = name.to_owned();
    catalog.tables().iter().flat_map(of_table).filter(move |column| column.of.name == name)
}

/// What a domain's constraint is called as one of a table.
pub(crate) fn name_in_table(table: &str, column: &str, own: &str) -> String {
    format!("{table}_{column}_{own}")
}

/// Has the columns of a domain be of it under its next name; both names have their schemas.
pub(crate) fn rename_domain(catalog: &mut Catalog, name: &str, to: &str) {
    let columns = columns_of_domain(catalog, name).map(|of| (of.table.id, of.id));
    for (table, column) in columns.collect::<Vec<_>>() {
        if let Some(of) = &mut catalog.table_mut(table).columns[column.index()].domain {
            to.clone_into(&mut Arc::make_mut(of).name);
        }
    }
}
