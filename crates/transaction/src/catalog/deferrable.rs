//! Constraints that can be checked later.

use hotrow_base::ids::TableId;

use super::deferral::Deferral;
use super::{Catalog, Index, Table};

impl Catalog {
    /// The indexes of a table's UNIQUE constraints that can be deferred.
    pub fn deferrable_keys<'c>(&'c self, table: &'c Table) -> impl Iterator<Item = &'c Index> {
        let keys = table.secondary.iter().map(|id| self.index(*id));
        keys.filter(|index| index.deferral.is_deferrable())
    }

    /// The constraints of a table that can be deferred.
    pub fn deferrable_of(&self, table: TableId) -> impl Iterator<Item = (&str, Deferral)> {
        let table = self.tables().at(table.index());
        let all = table.into_iter().flat_map(|table| self.deferrals(table));
        all.filter(|(_, deferral)| deferral.is_deferrable())
    }

    /// The constraints of a schema with this name, CHECK too, each with its table and its own name:
    /// tables may have some of one name.
    pub fn constraints_named(&self, schema: &str, name: &str) -> Vec<(TableId, String, Deferral)> {
        let tables = self.tables().iter().filter(|table| &*table.schema == schema);
        let named = tables.flat_map(|table| {
            let all = self.deferrals(table).filter(|(of, _)| *of == name);
            all.map(|(of, deferral)| (table.id, of.to_owned(), deferral))
        });
        named.collect()
    }

    fn deferrals<'c>(&'c self, table: &'c Table) -> impl Iterator<Item = (&'c str, Deferral)> {
        let keys = table.declared_indexes().map(|id| self.index(id));
        let keys = keys.filter(|index| index.is_constraint);
        let references = table.foreign_keys.iter().map(|key| (&*key.name, key.deferral));
        let checks = table.checks.iter().map(|check| (&*check.name, Deferral::Never));
        let triggers = table.triggers.iter();
        let triggers = triggers.filter_map(|of| Some((&*of.name, of.constraint?)));
        let keys = keys.map(|index| (&*index.name, index.deferral));
        keys.chain(references).chain(checks).chain(triggers)
    }
}
